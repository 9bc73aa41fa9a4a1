// What every place is made of: headings, lists, times, links to references, what is wrong, what was done.
import { html, signal, useEffect, useRef } from "./vendor.js";
import { whereIs } from "./address.js";
import { seen } from "./words.js";

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const hour = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
export const dayOf = new Intl.DateTimeFormat(undefined, { weekday: "long", year: "numeric", month: "long", day: "numeric" });
const count = new Intl.NumberFormat();

export const number = (n) => (n == null ? "–" : count.format(n));

export function bytes(n) {
  if (n == null) return "–";
  for (const [unit, of] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (n >= of) return `${count.format(Math.round((n / of) * 10) / 10)} ${unit}`;
  return `${n} bytes`;
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
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return html`<span>${at}</span>`;
  const whole = moment.format(date);
  const text = form === "hour" ? hour.format(date) : form === "near" && Math.abs(Date.now() - date) < 7 * 864e5 ? near(date) : whole;
  return html`<time datetime=${at} title=${whole}>${text}</time>`;
}

/** A link to whatever an id stands for. */
export const Ref = ({ id, children }) => html`<a class="ref" href=${whereIs(id)}>${children ?? seen(id)}</a>`;

/** A name of a class, a program, a state. */
export const Chip = ({ children, tone }) => (children ? html`<span class=${"chip" + (tone ? " " + tone : "")}>${children}</span>` : null);

/** The heading of a place. It takes the focus when somebody comes to the place. */
export function Heading({ children, more, up }) {
  const heading = useRef();
  useEffect(() => {
    if (!document.activeElement || document.activeElement === document.body || document.activeElement.closest("nav")) heading.current?.focus({ preventScroll: true });
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

/** Names and what they are. */
export const Facts = ({ of }) => html`<dl class="facts">${of.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false && !(Array.isArray(value) && !value.length)).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

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

/** A list gone through by j and k. Answers the keys; the focus moves with them. */
export function stepKeys(selector) {
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

const PROGRAMS = { "claude-code": "Claude Code", codex: "Codex", opencode: "OpenCode", openclaw: "OpenClaw", turns: "Plain turns" };
export const program = (name) => PROGRAMS[name] ?? name;
