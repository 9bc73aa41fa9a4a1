// Tells Heirloom what happens in OpenClaw, and hands the model what Heirloom gives back. Decides nothing, waits no longer
// than TIME, and never throws.
import { spawn, spawnSync } from "node:child_process"

const HEIRLOOM = ["heirloom"]
const TIME = 2000

/**
 * @typedef {{ session: string, parent?: string, agent?: string, cwd?: string, run?: string, prompt?: string,
 *   entry?: string, reason?: string }} Payload
 * @typedef {{ context: string }} Reply
 */

const words = (event) => [...HEIRLOOM.slice(1), "hook", "openclaw", event]

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
