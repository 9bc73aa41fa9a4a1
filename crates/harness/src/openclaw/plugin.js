// Tells Heirloom what happens in OpenClaw, and hands the model what Heirloom gives back. Decides nothing, waits no longer
// than TIME, and never throws.
const PROGRAM = "openclaw"

/** @returns {Payload} */
const about = (event, ctx) => {
  const key = ctx?.sessionKey ?? event?.sessionKey ?? ""
  return {
    session: ctx?.sessionId ?? event?.sessionId,
    parent: key.includes(":subagent:") ? key : undefined,
    agent: ctx?.agentId,
    cwd: ctx?.workspaceDir,
    run: ctx?.runId ?? event?.runId,
    reason: event?.reason ?? ctx?.trigger,
  }
}

export default {
  id: "heirloom",
  name: "Heirloom",
  description: "One memory under your agent programs",
  register(api) {
    const on = (name, hook) =>
      api.on(name, async (event, ctx) => {
        try {
          return await hook(event, ctx)
        } catch {}
      })
    on("before_prompt_build", async (event, ctx) => {
      const context = await ask("before_prompt_build", { ...about(event, ctx), prompt: event?.prompt })
      if (context) return { prependContext: context }
    })
    for (const name of ["agent_end", "before_compaction", "after_compaction", "before_reset", "session_end"]) {
      on(name, (event, ctx) => tell(name, about(event, ctx)))
    }
  },
}
