// Tells Heirloom what happens in OpenCode, and hands the model what Heirloom gives back. Decides nothing, waits no longer
// than TIME, and never throws: a throw in chat.message would end the user's turn.
import { spawn, spawnSync } from "node:child_process"

const HEIRLOOM = ["heirloom"]
const TIME = 2000

/**
 * @typedef {{ session: string, parent?: string, agent?: string, cwd?: string, run?: string, prompt?: string,
 *   entry?: string, reason?: string }} Payload
 * @typedef {{ context: string }} Reply
 */

const words = (event) => [...HEIRLOOM.slice(1), "hook", "opencode", event]

/** @returns {Promise<string | undefined>} what is to be given now; undefined: nobody knows */
const ask = (event, /** @type {Payload} */ payload) =>
  new Promise((done) => {
    try {
      const child = spawn(HEIRLOOM[0], words(event), { stdio: ["pipe", "pipe", "ignore"] })
      let said = ""
      const timer = setTimeout(() => (child.kill("SIGKILL"), done(undefined)), TIME)
      const end = () => {
        clearTimeout(timer)
        try {
          done(JSON.parse(said).context)
        } catch {
          done(undefined)
        }
      }
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => (said += text))
      child.on("error", end)
      child.on("close", end)
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      done(undefined)
    }
  })

/** For what happens last in a process: when this returns, it was told. */
const tell = (event, /** @type {Payload} */ payload) => {
  try {
    const stdio = ["pipe", "ignore", "ignore"]
    spawnSync(HEIRLOOM[0], words(event), { input: JSON.stringify(payload), stdio, timeout: TIME, killSignal: "SIGKILL" })
  } catch {}
}

const safe = (hook) => async (input, output) => {
  try {
    await hook(input ?? {}, output ?? {})
  } catch {}
}

export const Heirloom = async ({ directory }) => {
  // What a session is given with every call of the model, until Heirloom says otherwise.
  const standing = new Map()
  const parents = new Map()
  const summarising = new Set()
  const about = (session) => ({ session, parent: parents.get(session), cwd: directory })
  const hold = (session, context) => {
    if (context !== undefined) standing.set(session, context)
  }
  return {
    "chat.message": safe(async (input, output) => {
      const session = input.sessionID
      const typed = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = typed.map((part) => part.text).join("\n")
      const entry = typed.length === 1 ? typed[0].id : undefined
      hold(session, await ask("chat.message", { ...about(session), run: output.message?.id, prompt, entry }))
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
          if (info?.parentID) parents.set(info.id, info.parentID)
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
