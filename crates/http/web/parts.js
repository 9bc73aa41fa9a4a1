// Parts that all places share: headings, lists, times, links to references, error and undo messages; and re-exports of
// the other modules.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor.js";
import { at, go, signal, whereIs } from "./address.js";
import { act, changed, get, read, useData } from "./api.js";
import { firstLine, inline, seen, Words } from "./words.js";

export * from "./vendor.js";
export * from "./address.js";
export * from "./api.js";
export * from "./keys.js";
export * from "./words.js";

const count = new Intl.NumberFormat();
export const number = (n) => (n == null ? "–" : count.format(n));

export function bytes(n) {
  for (const [unit, of] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (n >= of) return `${count.format(Math.round((n / of) * 10) / 10)} ${unit}`;
  return n == null ? "–" : `${n} bytes`;
}

/** `3 sessions`, `1 session`. */
export const many = (n, noun, nouns = noun + "s") => `${number(n)} ${n === 1 ? noun : nouns}`;

const dates = (form) => new Intl.DateTimeFormat(undefined, form);
const [moment, day, clock] = [dates({ dateStyle: "medium", timeStyle: "short" }), dates({ dateStyle: "medium" }), dates({ timeStyle: "short" })];
export const [dayOf, monthOf] = [dates({ weekday: "long", year: "numeric", month: "long", day: "numeric" }), dates({ month: "short" })];
const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

/** A time, the whole of it in its title. */
function time(at, said) {
  if (!at) return null;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(at);
  const date = new Date(isDay ? `${at}T00:00` : at);
  if (Number.isNaN(date.getTime())) return at;
  const whole = (isDay ? day : moment).format(date);
  return html`<time datetime=${at} title=${whole}>${said?.(date) ?? whole}</time>`;
}

export const when = (at) => time(at);
export const hour = (at) => time(at, (date) => clock.format(date));

/** A time as people say it within a week, else its day. */
export const near = (at) => time(at, (date) => {
  const seconds = (date - Date.now()) / 1000;
  if (Math.abs(seconds) > 7 * 86400) return day.format(date);
  const [unit, of] = [["day", 86400], ["hour", 3600], ["minute", 60]].find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", Infinity];
  return ago.format(Math.round(seconds / of), unit);
});

/** A link to whatever an id stands for. */
export const ref = (id, words) => id && html`<a class=${words ? "" : "ref"} href=${whereIs(String(id))}>${words ?? seen(String(id))}</a>`;

/** Links to some ids, one after the other. */
export const refs = (ids, most = 4) => ids?.length > 0 && html`<span class="refs">${[ids].flat().slice(0, most).map((id) => html`${ref(id)} `)}</span>`;

/** A name of a class, a program, a state. */
export const chip = (name, tone = "") => name && html`<span class=${`chip ${tone}`}>${name}</span> `;

/** A part of a place. */
export const section = (title, body) => html`<section><h2>${title}</h2>${body}</section>`;

export const rows = (items, row) => html`<ul class="rows">${items.map(row)}</ul>`;

/** A line of a list, that leads somewhere. */
export const row = (to, title, about, done) => html`<li key=${to}><a class=${`step main ${done ? "done" : ""}`} href=${to}>${title}</a><span class="quiet">${about}</span></li>`;

/** Names and what they are; what is nothing is left out. */
export const facts = (of) => html`<dl class="facts">${Object.entries(of).filter(([, value]) => value || value === 0).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** What is said, each with its turns. */
export const sayings = (title, items) => items?.length > 0 && section(title, html`<ul class="lines">${items.map(({ text, turns, file }) => html`<li>${inline(text)} ${refs(turns.slice(-4))}${ref(file)}</li>`)}</ul>`);

const limit = (name) => ({ target }) => go(at.value.place, at.value.id, { ...at.value.query, [name]: target.type === "checkbox" ? target.checked : target.value }, true);

/** A choice that stands in the address. `of`: `[value, name]`, or values that are their own names. */
export const choice = (label, name, of) => html`<label>${label} <select value=${at.value.query[name] ?? ""} onChange=${limit(name)}>${of.map((one) => [one].flat()).map(([value, words = value]) => html`<option value=${value}>${words}</option>`)}</select></label>`;
export const tick = (label, name) => html`<label><input type="checkbox" checked=${at.value.query[name] === "true"} onChange=${limit(name)} /> ${label}</label>`;

/** Two or more views of a place: `[address, name, whether it is shown]`. */
export const tabs = (...of) => html`<div class="tabs">${of.map(([to, name, shown]) => html`<a href=${to} aria-current=${shown ? "true" : null}>${name}</a> `)}</div>`;

/** The heading of a place. It takes the focus when somebody comes to the place. `up`: links to what this is part of. */
export function Heading({ children, more, up }) {
  const heading = useRef();
  useEffect(() => {
    const { activeElement: now, body } = document;
    if (!now || now === body || now.closest("nav")) heading.current.focus({ preventScroll: true });
  }, []);
  return html`<header class="top">
    ${up && html`<nav class="up" aria-label="Where this is">${up.map(([to, name], n) => html`${n ? " › " : ""}<a href=${to}>${name}</a>`)}</nav>`}
    <div class="row"><h1 tabindex="-1" ref=${heading}>${children}</h1>${more && html`<div class="more">${more}</div>`}</div>
  </header>`;
}

/** What is wrong, and what to do. */
export const wrong = (problem) => problem && html`<div class="wrong" role="alert"><strong>${seen(problem.detail || problem.message || "That did not work.")}</strong>${problem.next && html`<p>${seen(problem.next)}</p>`}</div>`;

/** What a place shows of data that is on its way, wrong, or empty. `of`: the id of what a whole place shows, its heading where
 * there is no such thing. */
export function shown({ body, problem }, words, empty, of) {
  if (!body) return problem ? html`${of && html`<${Heading}>${of}<//>`}${wrong(problem)}` : html`<p class="quiet waiting" aria-busy="true">…</p>`;
  // That nobody answers stands above the place already.
  return html`${problem?.status !== 0 && wrong(problem)}${empty && body.items?.length === 0 ? html`<p class="empty">${empty}</p>` : words(body)}`;
}

/** What a path gives. */
export const Load = ({ path, of, empty, children }) => shown(useData(path), children, empty, of);

/** A list, page by page, from the first again when something changed. */
export function List({ path, empty, children }) {
  const first = useData(path);
  const [more, setMore] = useState({});
  return shown(first, (body) => {
    const { items, next } = more.of === body ? more : body;
    const onMore = () => get(`${path}&cursor=${next}`).then((page) => setMore({ of: body, items: [...items, ...page.items], next: page.next }), sayWrong);
    return html`${children(items)}${next && html`<p><button class="step" onClick=${onMore}>More</button></p>`}`;
  }, empty);
}

/** What was just done. */
export const said = signal(null);
const undos = [];
let gone = 0;

/** Says what was done. `undo`: the way back, which the key z goes, too. */
export function say(text, undo) {
  if (undo) undos.push(undo);
  said.value = { text, undo };
  document.getElementById("said").textContent = text;
  clearTimeout(gone);
  gone = setTimeout(() => { said.value = null; }, undo ? 12000 : 5000);
}

export const sayWrong = (problem) => say(`${problem.detail || problem.message}${problem.next ? ` (${problem.next})` : ""}`);

/** Takes back what was done last in this tab. */
export const undo = () => (undos.length ? undos.pop()() : say("Nothing was done in this tab that can be taken back."));

/** Does something and says so, or what was wrong. Answers what came of it, else nothing. */
export const doing = (path, body, words, back) => act(path, body).then((done) => { say(typeof words === "function" ? words(done) : words, back); return done; }, sayWrong);

export const copy = (text) => navigator.clipboard.writeText(text).then(() => say(`Copied: ${text}`), () => say(text));

/** A command, which a click copies. */
export const command = (text) => html`<button class="link" title="Copy" onClick=${() => copy(text)}><code>${text}</code></button>`;

/** A dialog over the page; Escape and a click beside it close it, and the focus goes back. */
export function Dialog({ label, onClose, children }) {
  const dialog = useRef();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${dialog} aria-label=${label} onCancel=${(e) => { e.preventDefault(); onClose(); }} onClick=${(e) => e.target === dialog.current && onClose()}><div class="inside">${children}</div></dialog>`;
}

/** Words that are written where they stand. What is written rests on what was read; where that was changed meanwhile, the newer
 * words are shown, and a person chooses. `texts`: the words of a body, with their names; `save`: given the words and the tag
 * they rest on, it may fail. */
export function Edit({ path, texts, save, onDone }) {
  const [rests, setRests] = useState(null);
  const [words, setWords] = useState([]);
  const [newer, setNewer] = useState(null);
  const box = useRef();
  const take = (got) => {
    setRests(got.tag);
    setWords(texts(got.body));
  };
  useEffect(() => { read(path).then(take, sayWrong).then(() => box.current?.querySelector("textarea")?.focus()); }, []);
  const choose = (does) => () => {
    does();
    setNewer(null);
  };
  const onSave = () => save(words.map((w) => w.text), rests).then(onDone, async (problem) => (problem.status === 412 ? setNewer(await read(path)) : sayWrong(problem)));
  const onKeyDown = (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) onSave();
    else if (e.key === "Escape") {
      e.stopPropagation();
      onDone();
    }
  };
  return html`<div class="edit" ref=${box} onKeyDown=${onKeyDown}>
    ${newer && html`<div class="wrong" role="alert"><strong>It was changed meanwhile. It says now:</strong>${texts(newer.body).map(({ text }) => html`<${Words} text=${text} />`)}<p><button onClick=${choose(() => setRests(newer.tag))}>Keep mine</button> <button onClick=${choose(() => take(newer))}>Take the newer</button></p></div>`}
    ${words.map(({ name, text, lines = 6 }, n) => html`<label>${name}<textarea rows=${lines} value=${text} onInput=${(e) => setWords(words.with(n, { ...words[n], text: e.target.value }))}></textarea></label>`)}
    <p><button class="first" disabled=${!rests || newer} onClick=${onSave}>Save <kbd>Ctrl Enter</kbd></button> <button onClick=${onDone}>Leave it <kbd>Esc</kbd></button></p></div>`;
}

/** A value: at once after a pause, and while it changes quickly, once it has stayed the same for a moment. What is typed is not
 * asked for letter by letter. */
export function useSettled(value) {
  const [settled, set] = useState(value);
  const changedAt = useRef(0);
  useLayoutEffect(() => {
    const now = performance.now();
    const isQuick = now - changedAt.current < 60;
    changedAt.current = now;
    if (!isQuick) set(value);
    const wait = isQuick && setTimeout(set, 60, value);
    return () => clearTimeout(wait);
  }, [value]);
  return settled;
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

/** What a session is called. */
export const nameOf = (session, most = 110) => firstLine(session.name || session.title || session.session, most);

function Named({ id }) {
  const { body } = useData(`/v1/sessions/${encodeURIComponent(id)}?brief=true`);
  return ref(id, body && nameOf({ ...body.session, name: body.name }));
}

/** A link to a session, by its name. */
export const sessionRef = (id) => id && html`<${Named} id=${id} />`;

/** A scope or a thread's key, for people: `lindenblatt-api` of `workspace/lindenblatt-api--70d06c86`. */
export const scopeName = (scope) => (scope === "agent" ? "everywhere" : (scope ?? "").replace(/^[a-z]+\//, "").replace(/--[0-9a-f]{8,}$/, ""));

/** The last folder of a path. */
export const folder = (path) => path?.split("/").findLast(Boolean);

const NAMES = { "claude-code": "Claude Code", codex: "Codex", opencode: "OpenCode", openclaw: "OpenClaw", turns: "Plain turns" };
export const program = (name) => NAMES[name] ?? name;
/** All programs, to choose one. */
export const PROGRAMS = [["", "all programs"], ...Object.entries(NAMES)];
