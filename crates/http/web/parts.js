// Parts that all places share: headings, lists, times, links, errors, acts and their undo; and all other modules.
import { byId, el } from "./el.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./vendor.js";
import { at, go, href, signal, whereIs } from "./address.js";
import { act, changed, get, read, useData } from "./api.js";
import { useKeys } from "./keys.js";
import { firstLine, inline, number, seen, Words } from "./words.js";

export * from "./el.js";
export * from "./vendor.js";
export * from "./address.js";
export * from "./api.js";
export * from "./keys.js";
export * from "./words.js";

/** `3 sessions`, `1 session`. */
export const many = (n, noun, nouns = noun + "s") => `${number(n)} ${n === 1 ? noun : nouns}`;

export const joined = (all, by = ", ") => all.filter(Boolean).join(by);

const dates = (form) => new Intl.DateTimeFormat(undefined, form);
const [moment, clock] = [dates({ dateStyle: "medium", timeStyle: "short" }), dates({ timeStyle: "short" })];
const day = dates({ dateStyle: "medium" });
export const dayOf = dates({ weekday: "long", year: "numeric", month: "long", day: "numeric" });
export const monthOf = dates({ month: "short" });
const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

/** A time, the whole of it in its title. */
function time(at, said) {
  if (!at) return null;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(at);
  const date = new Date(isDay ? `${at}T00:00` : at);
  if (Number.isNaN(date.getTime())) return at;
  const title = (isDay ? day : moment).format(date);
  return el("time", { datetime: at, title }, said?.(date) ?? title);
}

export const when = (at) => time(at);
export const hour = (at) => time(at, (date) => clock.format(date));

const SPANS = [["day", 86400], ["hour", 3600], ["minute", 60]];

/** A time as people say it within a week, else its day. */
export const near = (at) => time(at, (date) => {
  const seconds = (date - Date.now()) / 1000;
  if (Math.abs(seconds) > 7 * 86400) return day.format(date);
  const [unit, of] = SPANS.find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", Infinity];
  return ago.format(Math.round(seconds / of), unit);
});

/** A remark, as a paragraph. */
export const note = (...words) => el("p.quiet", words);
export const quiet = (...words) => el("span.quiet", words);
export const link = (to, ...words) => el("a", { href: to }, words);

/** A link to whatever an id stands for. */
export const ref = (id, words = "") =>
  id && el(words ? "a" : "a.ref", { href: whereIs(`${id}`) }, words || seen(`${id}`));

export const refs = (ids, most = 4) =>
  ids?.length > 0 && el("span.refs", [ids].flat().slice(0, most).map((id) => [ref(id), " "]));

/** A name of a class, a program, a state. */
export const chip = (name, tone = "") => name && [el(`span.chip.${tone}`, name), " "];

export const section = (title, ...body) => el("section", el("h2", title), body);

export const rows = (items, row) => el("ul.rows", items.map(row));

export const row = (to, title, about, done) =>
  el("li", { key: to }, el(`a.step.main${done ? ".done" : ""}`, { href: to }, title), quiet(about));

/** Names and what they are; what is nothing is left out. */
export const facts = (of) => el("dl.facts", Object.entries(of).map(([name, value]) =>
  (value || value === 0) && el("div", el("dt", name), el("dd", value))));

/** The fields of something that are words or numbers, as facts. */
export const fieldsOf = (of, except = []) => Object.fromEntries(Object.entries(of)
  .filter(([name, value]) => !except.includes(name) && ["string", "number"].includes(typeof value))
  .map(([name, value]) => [name.replaceAll("_", " "), seen(String(value))]));

export const lines = (items, line) => el("ul.lines", items.map((item) => el("li", line(item))));

export const sayings = (title, items) => items?.length > 0 && section(title,
  lines(items, ({ text, turns, file }) => [inline(text), " ", refs(turns.slice(-4)), ref(file)]));

/** Puts what somebody chose into the address. */
export const limit = (name) => ({ target: { type, checked, value } }) =>
  go(at.value.place, at.value.id, { ...at.value.query, [name]: type === "checkbox" ? checked : value }, true);

/** A choice that stands in the address. `of`: `[value, name]`, or values that are their own names. */
export const choice = (label, name, of) => el("label", label, " ",
  el("select", { value: at.value.query[name] ?? "", onChange: limit(name) },
    of.map((one) => [one].flat()).map(([value, words = value]) => el("option", { value }, words))));
export const tick = (label, name) => el("label",
  el("input", { type: "checkbox", checked: at.value.query[name] === "true", onChange: limit(name) }), " ", label);

/** Two or more views of a place: `[address, name, whether it is shown]`, the last one true or false. */
export const tabs = (...of) => el("div.tabs", of.map(([to, name, isShown]) =>
  [el("a", { href: to, "aria-current": isShown }, name), " "]));

export const button = (words, onClick, key, more) =>
  el("button", { onClick, ...more }, key ? `${words} ` : words, key && el("kbd", key));
export const small = (words, onClick, more) => el("button.small", { onClick, ...more }, words);

/** What can be done, each by a button and its key: `[words, what does it, key]`. */
export function Acts({ of }) {
  const keyed = of.filter((one) => one?.[2]);
  useKeys(Object.fromEntries(keyed.map(([, does, key]) => [key === "Esc" ? "Escape" : key, does])));
  const draw = ([words, does, key]) => [button(words, does, key, key === "y" && { class: "first" }), " "];
  return el("p.act", of.map((one) => one && draw(one)));
}

/** A field for words to look for; it has the focus when it comes. `onWords` gets what is typed: at once after a pause,
 * and while letters follow each other quickly, once no other came for a moment. */
export function Field({ words = "", onWords, ...more }) {
  const field = useRef();
  const last = useRef({ words: "", at: 0 }).current;
  useLayoutEffect(() => {
    field.current.focus();
    return () => clearTimeout(last.wait);
  }, []);
  // Other words come by a link, or by going back.
  useLayoutEffect(() => { if (words !== last.words) field.current.value = last.words = words; }, [words]);
  const onInput = () => {
    const now = performance.now();
    clearTimeout(last.wait);
    last.words = field.current.value.trim();
    const isQuick = now - last.at < 60;
    last.at = now;
    if (isQuick) last.wait = setTimeout(() => onWords(last.words), 60);
    else onWords(last.words);
  };
  return el("input", { ref: field, type: "search", onInput, ...more });
}

/** The heading of a place. It takes the focus when somebody comes to the place. `up`: links to what this is part of. */
export function Heading({ children, more, up }) {
  const heading = useRef();
  useEffect(() => {
    const { activeElement: now, body } = document;
    if (!now || now === body || now.closest("nav")) heading.current.focus({ preventScroll: true });
  }, []);
  return el("header.top",
    up && el("nav.up", { "aria-label": "Where this is" }, up.map(([to, name], n) => [n > 0 && " › ", link(to, name)])),
    el("div.row", el("h1", { tabindex: "-1", ref: heading }, children), more && el("div.more", more)));
}

export const wrong = (problem, ...more) => problem && el("div.wrong", { role: "alert" },
  el("strong", seen(problem.detail || problem.message || "That did not work.")),
  problem.next && el("p", seen(problem.next)), more);

/** What a place shows of data that is on its way, wrong, or empty. `of`: the id of what a whole place shows, a heading
 * where there is no such thing. */
export function shown({ body, problem }, words, empty, of) {
  if (!body && problem) return [of && el(Heading, of), wrong(problem)];
  if (!body) return el("p.quiet.waiting", { "aria-busy": "true" }, "…");
  // That nobody answers stands above the place already.
  const more = problem?.status !== 0 && wrong(problem);
  return [more, empty && body.items?.length === 0 ? el("p.empty", empty) : words(body)];
}

export const Load = ({ path, of, empty, children }) => shown(useData(path), children, empty, of);

/** A list, page by page, from the first again when something changed: a `line` for each, or what shows all of them. */
export function List({ path, empty, line, children = (items) => rows(items, line) }) {
  const first = useData(path);
  const [more, setMore] = useState({});
  return shown(first, (body) => {
    const { items, next } = more.of === body ? more : body;
    const onMore = () => get(`${path}&cursor=${next}`)
      .then((page) => setMore({ of: body, items: [...items, ...page.items], next: page.next }), sayWrong);
    return [children(items), next && el("p", el("button.step", { onClick: onMore }, "More"))];
  }, empty);
}

export const said = signal(null);
const undos = [];
let gone = 0;

/** Says what was done. `undo`: the way back, which the key z goes, too. */
export function say(text, undo) {
  if (undo) undos.push(undo);
  said.value = { text, undo };
  byId("said").textContent = text;
  clearTimeout(gone);
  gone = setTimeout(() => { said.value = null; }, undo ? 12000 : 5000);
}

export const sayWrong = ({ detail, message, next }) => say(`${detail || message}${next ? ` (${next})` : ""}`);

export const undo = () => (undos.length ? undos.pop()() : say("Nothing was done in this tab that can be taken back."));

/** Does something and says so, or what was wrong. Answers what came of it, else nothing. */
export const doing = (path, body, words, back) => act(path, body).then((done) => {
  say(typeof words === "function" ? words(done) : words, back);
  return done;
}, sayWrong);

export const copy = (text) => navigator.clipboard.writeText(text).then(() => say(`Copied: ${text}`), () => say(text));

export const command = (text) => el("button.link", { title: "Copy", onClick: () => copy(text) }, el("code", text));

/** A dialog over the page; Escape and a click beside it close it, and the focus goes back. */
export function Dialog({ label, onClose, children }) {
  const dialog = useRef();
  // Before the browser paints: what is typed at once would go to the page behind it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  const onCancel = (e) => {
    e.preventDefault();
    onClose();
  };
  const onClick = (e) => e.target === dialog.current && onClose();
  return el("dialog", { ref: dialog, "aria-label": label, onCancel, onClick }, el("div.inside", children));
}

/** Words that are written where they stand. What is written rests on what was read; where that was changed meanwhile,
 * the newer words are shown, and a person chooses. `texts`: the words of a body, with their names; `save`: given the
 * words and the tag they rest on, it may fail. */
export function Edit({ path, texts, save, onDone }) {
  const [rests, setRests] = useState(null);
  const [words, setWords] = useState([]);
  const [newer, setNewer] = useState(null);
  const box = useRef();
  const take = (got) => {
    setRests(got.tag);
    setWords(texts(got.body));
  };
  useEffect(() => {
    read(path).then(take, sayWrong).then(() => box.current?.querySelector("textarea")?.focus());
  }, []);
  const choose = (does) => () => {
    does();
    setNewer(null);
  };
  const refused = async (problem) => (problem.status === 412 ? setNewer(await read(path)) : sayWrong(problem));
  const onSave = () => save(words.map(({ text }) => text), rests).then(onDone, refused);
  const onKeyDown = (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) onSave();
    else if (e.key === "Escape") {
      e.stopPropagation();
      onDone();
    }
  };
  const write = (n) => (e) => setWords(words.with(n, { ...words[n], text: e.target.value }));
  return el("div.edit", { ref: box, onKeyDown },
    newer && wrong({ detail: "It was changed meanwhile. It says now:" },
      texts(newer.body).map(({ text }) => el(Words, { text })),
      el("p", button("Keep mine", choose(() => setRests(newer.tag))), " ",
        button("Take the newer", choose(() => take(newer))))),
    words.map(({ name, text, lines: high = 6 }, n) =>
      el("label", name, el("textarea", { rows: high, value: text, onInput: write(n) }))),
    el("p", button("Save", onSave, "Ctrl Enter", { class: "first", disabled: !rests || newer }), " ",
      button("Leave it", onDone, "Esc")));
}

/** Moves the focus in the list of a place, so many lines. */
export const step = (by) => () => {
  const all = [...document.querySelectorAll("main .step")];
  if (!all.length) return false;
  const now = all.indexOf(document.activeElement);
  const next = all[Math.max(0, Math.min(all.length - 1, now < 0 ? 0 : now + by))];
  next.focus();
  return next.scrollIntoView({ block: "nearest" });
};

export const nameOf = (session, most = 110) => firstLine(session.name || session.title || session.session, most);

function Named({ id }) {
  const { body } = useData(`/v1/sessions/${encodeURIComponent(id)}?brief=true`);
  return ref(id, body && nameOf({ ...body.session, name: body.name }));
}

export const sessionRef = (id) => id && el(Named, { id });

/** A scope or a thread's key, for people: `lindenblatt-api` of `workspace/lindenblatt-api--70d06c86`. */
export const scopeName = (scope) =>
  (scope === "agent" ? "everywhere" : (scope ?? "").replace(/^[a-z]+\//, "").replace(/--[0-9a-f]{8,}$/, ""));

export const folder = (path) => path?.split("/").findLast(Boolean);

const NAMES = {
  "claude-code": "Claude Code", codex: "Codex", opencode: "OpenCode", openclaw: "OpenClaw", turns: "Plain turns",
};
export const program = (name) => NAMES[name] ?? name;
export const PROGRAMS = [["", "all programs"], ...Object.entries(NAMES)];
