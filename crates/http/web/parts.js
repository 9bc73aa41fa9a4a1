// What every place is made of: headings, lists, times, links to references, what is wrong, what was done.
import { html, useEffect, useRef, useState } from "./vendor.js";
import { whereIs } from "./address.js";
import { act, read } from "./api.js";
import { signal } from "./signal.js";
import { firstLine, inline, seen, Words } from "./words.js";

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const hour = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
export const dayOf = new Intl.DateTimeFormat(undefined, { weekday: "long", year: "numeric", month: "long", day: "numeric" });
const count = new Intl.NumberFormat();

export const number = (n) => (n == null ? "–" : count.format(n));

export function bytes(n) {
  for (const [unit, of] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (n >= of) return `${count.format(Math.round((n / of) * 10) / 10)} ${unit}`;
  return n == null ? "–" : `${n} bytes`;
}

/** `3 sessions`, `1 session`. */
export const many = (n, noun, nouns = noun + "s") => `${number(n)} ${n === 1 ? noun : nouns}`;

function near(date) {
  const seconds = (date - Date.now()) / 1000;
  for (const [unit, of] of [["day", 86400], ["hour", 3600], ["minute", 60]]) if (Math.abs(seconds) >= of) return ago.format(Math.round(seconds / of), unit);
  return ago.format(0, "minute");
}

/** A time as people say it; the whole of it in its title. `form`: `near`, `hour` or the whole. */
export function When({ at, form }) {
  if (!at) return null;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(at);
  const date = new Date(isDay ? `${at}T00:00` : at);
  if (Number.isNaN(date.getTime())) return html`<span>${at}</span>`;
  const whole = (isDay ? day : moment).format(date);
  const text = form === "hour" ? hour.format(date) : form === "near" && Math.abs(Date.now() - date) < 7 * 864e5 ? near(date) : whole;
  return html`<time datetime=${at} title=${whole}>${text}</time>`;
}

/** A link to whatever an id stands for. */
export const Ref = ({ id, children }) => html`<a class="ref" href=${whereIs(String(id))}>${children ?? seen(String(id))}</a>`;

/** Links to some ids, one after the other. */
export const Refs = ({ ids, most = 4 }) => html`<span class="refs">${[ids ?? []].flat().slice(0, most).map((id) => html`<${Ref} id=${id} /> `)}</span>`;

/** A name of a class, a program, a state. */
export const Chip = ({ children, tone }) => (children ? html`<span class=${"chip" + (tone ? " " + tone : "")}>${children}</span>` : null);

/** A part of a place, left out where it has nothing. */
export const Part = ({ title, id, children }) => html`<section aria-labelledby=${id}><h2 id=${id}>${title}</h2>${children}</section>`;

/** A line of a list, that leads somewhere. */
export const Row = ({ to, title, done, children }) => html`<li><a class=${"step main" + (done ? " done" : "")} href=${to}>${title}</a><span class="quiet">${children}</span></li>`;

/** A choice among values: `[value, name]`, or values that are their own names. */
export const Choice = ({ label, value, of, onChange }) => html`<label>${label} <select value=${value} onChange=${(e) => onChange(e.target.value)}>${of.map((one) => [one].flat()).map(([v, name = v]) => html`<option value=${v} selected=${v === value}>${name}</option>`)}</select></label>`;

/** Two or more views of a place: `[address, name, whether it is shown]`. */
export const Tabs = ({ of }) => html`<div class="tabs">${of.map(([to, name, shown]) => html`<a href=${to} aria-current=${shown ? "true" : null}>${name}</a> `)}</div>`;

/** What is said, each with its turns. */
export const Said = ({ title, items }) => items?.length > 0 && html`<${Part} title=${title}><ul class="lines">${items.map((item) => html`<li>${inline(item.text)} <${Refs} ids=${item.turns.slice(-4)} />${item.file && html`<${Ref} id=${item.file} />`}</li>`)}</ul><//>`;

/** A table; its cells are texts or nodes. */
export const Table = ({ label, head, rows }) => html`<div class="scroll" tabindex="0" role="group" aria-label=${label}><table><thead><tr>${head.map((name) => html`<th>${name}</th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;

/** The heading of a place. It takes the focus when somebody comes to the place. */
export function Heading({ children, more, up }) {
  const heading = useRef();
  useEffect(() => {
    const { activeElement } = document;
    if (!activeElement || activeElement === document.body || activeElement.closest("nav")) heading.current?.focus({ preventScroll: true });
  }, []);
  return html`<header class="top">
    ${up && html`<nav class="up" aria-label="Where this is">${up}</nav>`}
    <div class="row"><h1 tabindex="-1" ref=${heading}>${children}</h1>${more && html`<div class="more">${more}</div>`}</div>
  </header>`;
}

/** What is wrong, and what to do. */
export const Wrong = ({ problem }) => html`<div class="wrong" role="alert">
  <strong>${seen(problem.detail || problem.message || "That did not work.")}</strong>
  ${problem.next && html`<p>${seen(problem.next)}</p>`}
</div>`;

/** What a place shows of data that is on its way, wrong, or empty. */
export function Shown({ of: data, empty, children }) {
  if (!data.body) return data.problem ? html`<${Wrong} problem=${data.problem} />` : html`<p class="quiet waiting" aria-busy="true">…</p>`;
  const items = data.body.items;
  if (items && !items.length && empty) return html`<p class="empty">${empty}</p>`;
  return html`${data.problem && html`<${Wrong} problem=${data.problem} />`}${children(data.body)}`;
}

const isNothing = (value) => value == null || value === "" || value === false || (Array.isArray(value) && !value.length);

/** Names and what they are. */
export const Facts = ({ of }) => html`<dl class="facts">${of.filter(([, value]) => !isNothing(value)).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** What was just done, with a way back. */
export const said = signal(null);
let gone = 0;

export function say(text, undo) {
  said.value = { text, undo };
  document.getElementById("said").textContent = text;
  clearTimeout(gone);
  gone = setTimeout(() => { said.value = null; }, undo ? 12000 : 5000);
}

export const sayWrong = (problem) => say(`${problem.detail || problem.message}${problem.next ? ` (${problem.next})` : ""}`);

/** Does something and says so, or what was wrong. Answers what came of it, else nothing. */
export const doing = (path, body, words, undo) => act(path, body).then((done) => { say(typeof words === "function" ? words(done) : words, undo); return done; }, sayWrong);

/** A command, which a click copies. */
export const Command = ({ children }) => html`<button class="link" title="Copy" onClick=${() => navigator.clipboard.writeText(children).then(() => say(`Copied: ${children}`), () => say(children))}><code>${children}</code></button>`;

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

/** Words that are changed where they stand. An edit rests on what was read; where that was changed meanwhile, the newer
 * words are shown, and a person chooses. `texts`: the words of a body, with their names; `body`: what is sent of them. */
export function Edit({ path, texts, body, done, onDone }) {
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
  const save = async () => {
    try {
      await act(`${path}/edit`, body(words.map((w) => w.text)), rests);
      say(done);
      onDone();
    } catch (problem) {
      if (problem.status === 412) setNewer(await read(path));
      else sayWrong(problem);
    }
  };
  const choose = (does) => () => {
    does();
    setNewer(null);
  };
  const onKeyDown = (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) save();
    else if (e.key === "Escape") {
      e.stopPropagation();
      onDone();
    }
  };
  return html`<div class="edit" ref=${box} onKeyDown=${onKeyDown}>
    ${newer && html`<div class="wrong" role="alert"><strong>It was changed meanwhile. It says now:</strong>${texts(newer.body).map(({ text }) => html`<${Words} text=${text} />`)}<p><button onClick=${choose(() => setRests(newer.tag))}>Keep mine</button> <button onClick=${choose(() => take(newer))}>Take the newer</button></p></div>`}
    ${words.map(({ name, text, rows }, n) => html`<label>${name}<textarea rows=${rows ?? 6} value=${text} onInput=${(e) => setWords(words.map((w, k) => (k === n ? { ...w, text: e.target.value } : w)))}></textarea></label>`)}
    <p><button class="first" disabled=${!rests || newer} onClick=${save}>Save <kbd>Ctrl Enter</kbd></button> <button onClick=${onDone}>Leave it <kbd>Esc</kbd></button></p></div>`;
}

/** A list gone through by j and k. Answers the keys; the focus moves with them. */
export function stepKeys(selector = "main .step") {
  const move = (by) => () => {
    const all = [...document.querySelectorAll(selector)];
    if (!all.length) return;
    const now = all.indexOf(document.activeElement.closest?.(selector) ?? document.activeElement);
    const next = all[Math.max(0, Math.min(all.length - 1, now < 0 ? 0 : now + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  return { j: move(1), k: move(-1), ArrowDown: move(1), ArrowUp: move(-1) };
}

/** What a session is called. */
export const nameOf = (session) => session.name || session.title || session.session;

/** A scope or a thread's key, for people: `lindenblatt-api` of `workspace/lindenblatt-api--70d06c86`. */
export const scopeName = (scope) => (scope === "agent" ? "everywhere" : (scope ?? "").replace(/^[a-z]+\//, "").replace(/--[0-9a-f]{8,}$/, ""));

/** The last folder of a path. */
export const folder = (path) => (path ? path.replace(/\/+$/, "").split("/").pop() || path : "");

const NAMES = { "claude-code": "Claude Code", codex: "Codex", opencode: "OpenCode", openclaw: "OpenClaw", turns: "Plain turns" };
export const program = (name) => NAMES[name] ?? name;
/** All programs, to choose one. */
export const PROGRAMS = [["", "all programs"], ...Object.entries(NAMES)];
