// Tells Heirloom what happens in OpenCode, and hands the model what Heirloom gives back. Decides nothing, waits no longer
// than TIME, and never throws: a throw in chat.message would end the user's turn.
const PROGRAM = "opencode"

const safe = (hook) => async (input, output) => {
  try {
    await hook(input ?? {}, output ?? {})
  } catch {}
}

export const Heirloom = async ({ client, directory }) => {
  // What a session is given with every call of the model, until Heirloom says otherwise.
  const standing = new Map()
  const parents = new Map()
  // Whose sub-agent a session is that began in an earlier process, the program knows.
  const meet = async (session) => {
    if (parents.has(session)) return
    let timer
    const late = new Promise((done) => (timer = setTimeout(done, TIME / 2)))
    try {
      const met = await Promise.race([client.session.get({ path: { id: session } }), late])
      parents.set(session, met?.data?.parentID)
    } catch {}
    clearTimeout(timer)
  }
  const summarising = new Set()
  const about = (session) => ({ session, parent: parents.get(session), cwd: directory })
  const hold = (session, context) => {
    if (context !== undefined) standing.set(session, context)
  }
  return {
    "chat.message": safe(async (input, output) => {
      const [session, began] = [input.sessionID, Date.now()]
      // A compaction that failed may not have said so.
      summarising.delete(session)
      await meet(session)
      const typed = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = typed.map((part) => part.text).join("\n")
      const entry = typed.length === 1 ? typed[0].id : undefined
      const payload = { ...about(session), run: output.message?.id, prompt, entry }
      hold(session, await ask("chat.message", payload, TIME - (Date.now() - began)))
    }),
    "experimental.chat.system.transform": safe(async (input, output) => {
      const context = standing.get(input.sessionID)
      // Calls that make a title or a summary are no turns of the conversation.
      const isTitle = output.system?.[0]?.startsWith("You are a title generator")
      if (context && !isTitle && !summarising.has(input.sessionID)) output.system.push(context)
    }),
    "experimental.session.compacting": safe(async (input, output) => {
      summarising.add(input.sessionID)
      const context = await ask("experimental.session.compacting", about(input.sessionID))
      if (context) output.context.push(context)
    }),
    event: safe(async ({ event }) => {
      const { sessionID, info } = event?.properties ?? {}
      const session = sessionID ?? info?.id
      switch (event?.type) {
        case "session.created":
        case "session.updated":
          if (info && (info.parentID || event.type === "session.created")) parents.set(info.id, info.parentID)
          break
        case "session.idle":
          summarising.delete(session)
          tell("session.idle", about(session))
          break
        case "session.compacted":
          summarising.delete(session)
          hold(session, await ask("session.compacted", about(session)))
          break
        case "session.deleted":
          tell("session.deleted", about(session))
          for (const known of [standing, parents, summarising]) known.delete(session)
          break
      }
    }),
  }
}
