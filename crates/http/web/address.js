// State outside of components, and the address, which holds that of a place: #/place/id?key=value. A person can copy
// it, go back, and reload.
let draw = null;
let due = false;

export const drawnBy = (drawing) => { draw = drawing; };

/** A value, whose changes draw the page again, once for those of a moment. */
export function signal(value) {
  return {
    get value() { return value; },
    set value(next) {
      if (next === value) return;
      value = next;
      if (due || !draw) return;
      due = true;
      queueMicrotask(() => {
        due = false;
        draw();
      });
    },
  };
}

/** A one-time code where an address would stand. */
const CODE = /^#(hlm_[\w-]+)$/;

function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const [place, ...rest] = path.split("/");
  let id = rest.join("/");
  try {
    id = decodeURIComponent(id);
  } catch {
    // Keep a percent sign that somebody typed.
  }
  return { place: place || "now", id, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** Takes the code out of the address: it is neither seen nor kept in the history. The page stays where it was. */
export function takeCode() {
  const found = CODE.exec(location.hash);
  if (found) history.replaceState(null, "", href(at.value.place, at.value.id, at.value.query));
  return found?.[1];
}

export const at = signal(parse(CODE.test(location.hash) ? "" : location.hash));
addEventListener("hashchange", () => { if (!CODE.test(location.hash)) at.value = parse(location.hash); });

/** A path with what is asked, without what is empty. */
export function asking(path, query) {
  const set = Object.entries(query).filter(([, value]) => value !== "" && value != null && value !== false);
  return set.length ? `${path}?${new URLSearchParams(set)}` : path;
}

/** The address of something: `href("session", "codex:1", { at: "t1" })`. */
export const href = (place, id = "", query = {}) => asking(`#/${place}${id && "/" + encodeURIComponent(id)}`, query);

/** Goes there. `replaces`: back leads to what was before this place. */
export function go(place, id, query, replaces = false) {
  const to = href(place, id, query);
  if (!replaces) location.hash = to;
  else {
    at.value = parse(to);
    // The history is slow: what is drawn asks for its data first.
    queueMicrotask(() => history.replaceState(null, "", to));
  }
}

/** What the ids of each kind look like, and the place that shows them. */
const KINDS = {
  turn: /^t[0-9a-f]+$/,
  memory: /^m:/,
  loops: /^l:/,
  review: /^[pusrk]:/,
  given: /^x:/,
  threads: /^(topic|lane|workspace|session|general)\//,
  session: /^[a-z][a-z-]+:\S+$/,
};

/** Where a reference of any kind is shown. */
export const whereIs = (id) => href(Object.keys(KINDS).find((place) => KINDS[place].test(id)) ?? "node", id);
