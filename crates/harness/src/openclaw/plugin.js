// Tells Heirloom what happens in OpenClaw. Decides nothing, waits for nobody longer than TIME allows, and never throws.
import { spawn } from "node:child_process"

const HEIRLOOM = ["heirloom"]
const TIME = 2000
const EVENTS = [
  "session_start", "before_prompt_build", "agent_end", "before_compaction", "after_compaction", "before_reset",
  "session_end",
]

const tell = (name, event, ctx) =>
  new Promise((done) => {
    try {
      const [program, ...options] = HEIRLOOM
      const stdio = ["pipe", "ignore", "ignore"]
      const child = spawn(program, [...options, "hook", "openclaw", name], { stdio })
      const timer = setTimeout(() => (child.kill("SIGKILL"), done()), TIME)
      const end = () => (clearTimeout(timer), done())
      child.on("error", end)
      child.on("close", end)
      child.stdin.on("error", () => {})
      // What was said is in the program's own store, where Heirloom reads it.
      const { messages, ...rest } = event ?? {}
      const { sessionId, sessionKey, agentId, workspaceDir, runId, trigger } = ctx ?? {}
      child.stdin.end(JSON.stringify({ event: rest, ctx: { sessionId, sessionKey, agentId, workspaceDir, runId, trigger } }))
    } catch {
      done()
    }
  })

export default {
  id: "heirloom",
  name: "Heirloom",
  description: "One memory under your agent programs",
  register(api) {
    for (const name of EVENTS) api.on(name, (event, ctx) => tell(name, event, ctx).then(() => undefined))
  },
}
