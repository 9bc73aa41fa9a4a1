// Sends requests to the local service with this tab's token. A repeated request carries the ETag of its last answer.
import { useLayoutEffect, useState } from "./vendor.js";
import { signal } from "./address.js";

const KEY = "heirloom-token";

/** `open`, `locked` (a new code is needed) or `away` (nobody answers). */
export const state = signal("open");
/** Counts up whenever something that is shown may have changed. */
export const changed = signal(0);
/** Whether changes are told as they happen. */
export const live = signal(false);

const known = new Map();
const MOST_KNOWN = 200;

/** What the service says is wrong: the fields of an RFC 9457 problem. */
export class Problem extends Error {
  constructor(said) {
    super(said.detail || said.title || "no answer");
    Object.assign(this, said);
  }
}

async function problemOf(answer) {
  const { status } = answer;
  return new Problem(await answer.json().catch(() => ({ status, detail: `the service answered ${status}` })));
}

const JSON_SENT = { "content-type": "application/json" };
const post = (body) => ({ method: "POST", body: JSON.stringify(body) });

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

/** Exchanges a code for the token of this tab. */
export async function openWith(code) {
  const answer = await fetch("/v1/session", { ...post({ code }), headers: JSON_SENT });
  if (!answer.ok) throw await problemOf(answer);
  sessionStorage.setItem(KEY, (await answer.json()).token);
  known.clear();
  state.value = "open";
  changed.value += 1;
  listen();
}

const AWAY = { status: 0, detail: "the service does not answer", next: "heirloom service start, then heirloom ui" };

async function ask(path, { headers, ...how } = {}) {
  const sent = { authorization: `Bearer ${sessionStorage.getItem(KEY)}`, ...JSON_SENT, ...headers };
  const answer = await fetch(path, { ...how, headers: sent, cache: "no-store" }).catch((e) => {
    if (e.name === "AbortError") throw e;
    state.value = "away";
    throw new Problem(AWAY);
  });
  if (answer.status === 401) {
    sessionStorage.removeItem(KEY);
    state.value = "locked";
  } else if (state.value === "away") {
    state.value = "open";
  }
  if (!answer.ok && answer.status !== 304) throw await problemOf(answer);
  return answer;
}

/** Reads something. Answers `{ body, tag }`. */
export async function read(path, stop) {
  const before = known.get(path);
  const answer = await ask(path, { headers: before && { "if-none-match": before.tag }, signal: stop });
  if (answer.status === 304) return before;
  const got = { body: await answer.json(), tag: answer.headers.get("etag") };
  if (got.tag) {
    if (known.size >= MOST_KNOWN) known.delete(known.keys().next().value);
    known.set(path, got);
  }
  return got;
}

export const get = async (path, stop) => (await read(path, stop)).body;

/** Does something. `restsOn`: the tag an edit rests on. */
export async function act(path, body = {}, restsOn) {
  const answer = await ask(path, { ...post(body), headers: restsOn && { "if-match": restsOn } });
  const got = await answer.json();
  changed.value += 1;
  return got;
}

export const part = encodeURIComponent;

/** Reads a path for a component, again whenever something changed. What was there stays until the new comes. */
export function useData(path) {
  const [got, set] = useState({});
  // Asked before the browser paints: an effect after it would begin a frame later.
  useLayoutEffect(() => {
    if (!path) return undefined;
    const stop = new AbortController();
    read(path, stop.signal).then(
      (answer) => stop.signal.aborted || set({ path, ...answer }),
      (problem) => stop.signal.aborted || set((old) => (
        // A thing that is gone is not shown any longer.
        { path, problem, body: old.path === path && problem.status !== 404 ? old.body : null })),
    );
    return () => stop.abort();
  }, [path, changed.value]);
  return got.path === path ? got : {};
}

let heard = "";
let listens = false;

/** Hears of changes until the tab or its token goes: server-sent events, read by hand because they need the token. */
export async function listen() {
  if (listens) return;
  listens = true;
  for (let wait = 500; state.value !== "locked"; wait = Math.min(wait * 2, 15000)) {
    try {
      const answer = await ask("/v1/events", { headers: heard && { "last-event-id": heard } });
      changed.value += 1;
      live.value = true;
      wait = 500;
      await hear(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch {
      // No service answers; this loop asks again.
    }
    live.value = false;
    await new Promise((done) => setTimeout(done, wait));
  }
  listens = false;
}

let due = 0;

async function hear(reader) {
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("id:")) heard = line.slice(3).trim();
      // Events may come in bursts: places reload at most twice a second.
      else if (line.startsWith("data:")) due ||= setTimeout(() => { due = 0; changed.value += 1; }, 400);
    }
  }
}
