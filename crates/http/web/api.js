// Asks the service of this machine, with the token of this tab. What was asked before is asked again with its tag.
import { useEffect, useRef, useState } from "./vendor.js";
import { signal } from "./signal.js";

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

/** Exchanges a code for the token of this tab. */
export async function openWith(code) {
  const answer = await fetch("/v1/session", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) });
  if (!answer.ok) throw new Problem(await said(answer));
  sessionStorage.setItem(KEY, (await answer.json()).token);
  known.clear();
  state.value = "open";
  changed.value += 1;
  listen();
}

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

async function said(answer) {
  try {
    return await answer.json();
  } catch {
    return { status: answer.status, detail: `the service answered ${answer.status}` };
  }
}

async function ask(method, path, { body, headers = {}, signal: stop } = {}) {
  const token = sessionStorage.getItem(KEY);
  if (!token) {
    state.value = "locked";
    throw new Problem({ status: 401, detail: "this tab has no token" });
  }
  const all = { authorization: `Bearer ${token}`, ...headers };
  if (body !== undefined) all["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers: all, body: body === undefined ? undefined : JSON.stringify(body), signal: stop, cache: "no-store" });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    state.value = "away";
    throw new Problem({ status: 0, detail: "the service does not answer", next: "heirloom service start, then heirloom ui" });
  }
  if (answer.status === 401) {
    sessionStorage.removeItem(KEY);
    state.value = "locked";
  } else if (state.value === "away") {
    state.value = "open";
  }
  return answer;
}

/** Reads something. Answers `{ body, tag }`. */
export async function read(path, stop) {
  const before = known.get(path);
  const answer = await ask("GET", path, { headers: before?.tag ? { "if-none-match": before.tag } : {}, signal: stop });
  if (answer.status === 304 && before) return before;
  if (!answer.ok) throw new Problem(await said(answer));
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
  const answer = await ask("POST", path, { body, headers: restsOn ? { "if-match": restsOn } : {} });
  if (!answer.ok) throw new Problem(await said(answer));
  const got = await answer.json();
  changed.value += 1;
  return got;
}

/** A path with what is asked, without what is empty. */
export function asking(path, query) {
  const set = Object.entries(query).filter(([, value]) => value !== "" && value != null && value !== false);
  return set.length ? `${path}?${new URLSearchParams(set)}` : path;
}

/** A part of a path. */
export const part = encodeURIComponent;

/** Reads a path for a component, again whenever something changed. What was there stays until the new comes. */
export function useData(path) {
  const [got, set] = useState({ path: null, body: null, tag: null, problem: null });
  const version = changed.value;
  const latest = useRef(path);
  latest.current = path;
  useEffect(() => {
    if (!path) return undefined;
    const stop = new AbortController();
    read(path, stop.signal).then(
      ({ body, tag }) => latest.current === path && set({ path, body, tag, problem: null }),
      (problem) => problem.name !== "AbortError" && latest.current === path && set((old) => ({ ...old, path, problem, body: old.path === path && problem.status !== 404 ? old.body : null })),
    );
    return () => stop.abort();
  }, [path, version]);
  const fits = got.path === path;
  return { body: fits ? got.body : null, tag: fits ? got.tag : null, problem: fits ? got.problem : null, before: got.body };
}

let heard = null;
let listens = false;

/** Hears of changes until the tab or its token goes: server-sent events, read by hand because they need the token. */
export async function listen() {
  if (listens) return;
  listens = true;
  for (let wait = 500; ; wait = Math.min(wait * 2, 15000)) {
    try {
      const answer = await ask("GET", "/v1/events", { headers: heard ? { "last-event-id": heard } : {} });
      if (answer.ok) {
        if (heard === null || wait > 500) changed.value += 1;
        live.value = true;
        wait = 500;
        await hear(answer.body.getReader());
      }
    } catch {
      // Nobody there; asked again below.
    }
    live.value = false;
    if (state.value === "locked") break;
    await new Promise((done) => setTimeout(done, wait));
  }
  listens = false;
}

let due = 0;

/** However much is told, places read again once a second at most. */
function soon() {
  if (due) return;
  due = setTimeout(() => {
    due = 0;
    changed.value += 1;
  }, 400);
}

async function hear(reader) {
  const text = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + text.decode(value, { stream: true })).split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("id:")) heard = line.slice(3).trim();
      else if (line.startsWith("data:")) soon();
    }
  }
}
