// The address is the state: #/place/id?key=value. A person can copy it, go back, and reload.
import { signal } from "./signal.js";

/** A one-time code where an address would stand. */
const CODE = /^#(hlm_[A-Za-z0-9_-]+)$/;

function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/");
  return { place: parts[0] || "now", id: decoded(parts.slice(1).join("/")), query: Object.fromEntries(new URLSearchParams(query || "")) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Takes the code out of the address, so that it is neither seen nor kept in the history. The page stays where it was. */
export function takeCode() {
  const found = CODE.exec(location.hash);
  if (found) history.replaceState(null, "", href(at.value.place, at.value.id, at.value.query));
  return found?.[1];
}

export const at = signal(parse(CODE.test(location.hash) ? "" : location.hash));
addEventListener("hashchange", () => { if (!CODE.test(location.hash)) at.value = parse(location.hash); });

/** The address of something: `href("session", "codex:1", { at: "t1" })`. */
export function href(place, id = "", query = {}) {
  const set = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const asked = new URLSearchParams(set).toString();
  return `#/${place}${id ? "/" + encodeURIComponent(id) : ""}${asked ? "?" + asked : ""}`;
}

/** Goes there. `replaces`: back leads to what was before this place. */
export function go(place, id, query, replaces = false) {
  const to = href(place, id, query);
  if (replaces) {
    history.replaceState(null, "", to);
    at.value = parse(to);
  } else {
    location.hash = to;
  }
}

/** What the ids of each kind look like, and the place that shows them. */
const KINDS = [
  [/^t[0-9a-f]+$/, "turn"],
  [/^m:/, "memory"],
  [/^l:/, "loops"],
  [/^[pusrk]:/, "review"],
  [/^x:/, "given"],
  [/^(topic|lane|workspace|session|general)\//, "threads"],
  [/^[a-z][a-z-]+:\S+$/, "session"],
];

/** Where a reference of any kind is shown. */
export function whereIs(id) {
  const [, place] = KINDS.find(([kind]) => kind.test(id)) ?? [];
  return href(place ?? "node", id);
}
