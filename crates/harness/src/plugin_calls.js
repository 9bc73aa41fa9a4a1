// A plugin of Heirloom. This part, the same in every one of them, calls it; what follows listens to the program.
import { spawn, spawnSync } from "node:child_process"

const HEIRLOOM = ["heirloom"]
const TIME = 2000

/**
 * @typedef {{ session: string, parent?: string, agent?: string, cwd?: string, run?: string, prompt?: string,
 *   entry?: string, reason?: string }} Payload
 * @typedef {{ context: string }} Reply
 */

const words = (event) => [...HEIRLOOM.slice(1), "hook", PROGRAM, event]

/** @returns {Promise<string | undefined>} what is to be given now; undefined: nobody knows */
const ask = (event, /** @type {Payload} */ payload, time = TIME) =>
  new Promise((done) => {
    try {
      const child = spawn(HEIRLOOM[0], words(event), { stdio: ["pipe", "pipe", "ignore"] })
      let said = ""
      // A whole answer is one even where something it started still holds its output open.
      const timer = setTimeout(() => (child.kill("SIGKILL"), end()), time)
      const end = () => {
        clearTimeout(timer)
        child.stdout.destroy()
        try {
          done(JSON.parse(said).context)
        } catch {
          done(undefined)
        }
      }
      child.stdout.setEncoding("utf8")
      child.stdout.on("error", () => {})
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

