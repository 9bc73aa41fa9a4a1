// Tells Heirloom what happens in OpenCode. Decides nothing, waits for nobody longer than TIME allows, and never throws:
// a throw in chat.message would end the user's turn.
import { spawn } from "node:child_process"

const HEIRLOOM = ["heirloom"]
const TIME = 2000
const EVENTS = new Set(["session.created", "session.idle", "session.compacted", "session.deleted"])

const tell = (event, payload) =>
  new Promise((done) => {
    try {
      const [program, ...options] = HEIRLOOM
      const stdio = ["pipe", "ignore", "ignore"]
      const child = spawn(program, [...options, "hook", "opencode", event], { stdio })
      const timer = setTimeout(() => (child.kill("SIGKILL"), done()), TIME)
      const end = () => (clearTimeout(timer), done())
      child.on("error", end)
      child.on("close", end)
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      done()
    }
  })

export const Heirloom = async ({ directory, worktree }) => {
  const where = { directory, worktree }
  return {
    event: async ({ event }) => {
      if (EVENTS.has(event?.type)) void tell(event.type, { ...where, event })
    },
    "chat.message": async (input, output) => {
      await tell("chat.message", { ...where, input, output })
    },
  }
}
