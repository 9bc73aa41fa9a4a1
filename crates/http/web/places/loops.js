// Loops: open commitments. One key resolves one, another undoes that.
import { asking, at, chip, doing, facts, firstLine, go, Heading, href, html, List, Load, near, part, refs, row, rows, scopeName, sessionRef, tabs, useData, useState, when, Words } from "../parts.js";

const verb = (id, does) => `/v1/loops/${part(id)}/${does}`;
const reopen = ({ id, title }) => doing(verb(id, "reopen"), {}, `Open again: ${title}`);
// An item without a file gets another id when it is resolved.
const resolve = (item, note) => {
  let { id } = item;
  return doing(verb(id, "resolve"), note ? { note } : {}, (done) => { id = done.id || id; return `Resolved: ${item.title}`; }, () => reopen({ ...item, id }));
};

const dueOf = (item) => item.due ?? item.fields?.due;
const where = (item) => scopeName(item.scope ?? item.thread);

export function LoopLine({ item }) {
  const [goes, setGoes] = useState(false);
  const due = dueOf(item);
  const onDone = async () => {
    setGoes(true);
    // The focused button vanishes with its line: the next line takes the focus.
    const all = [...document.querySelectorAll("[data-loop] .step")];
    const now = all.findIndex((step) => step.closest("[data-loop]").dataset.loop === item.id);
    (all[now + 1] ?? all[now - 1])?.focus();
    if (!(await resolve(item))) setGoes(false);
  };
  return html`<li data-loop=${item.id} class=${goes ? "going" : ""}>
    <a class="step main" href=${href("loops", item.id)}>${firstLine(item.title || item.text || item.id)}</a>
    <span class="quiet">${due && chip(html`due ${when(due)}`, due < new Date().toISOString().slice(0, 10) ? "late" : "")}${where(item)}${item.since && html` · ${near(item.since)}`}</span>
    <button class="small resolve" disabled=${goes} onClick=${onDone}>Resolve <span class="unseen">${item.title}</span><kbd aria-hidden="true">r</kbd></button></li>`;
}

export function Loops() {
  const { id, query: { resolved } } = at.value;
  if (id) return html`<${Loop} id=${id} />`;
  return html`<${Heading} more=${tabs([href("loops"), "Open", !resolved], [href("loops", "", { resolved: true }), "Resolved", resolved])}>Loops<//>
    <${List} path=${asking("/v1/loops", { limit: 200, resolved })} empty="Nothing is open.">${(items) => rows(items, (item) => (item.status === "resolved" ? row(href("loops", item.id), firstLine(item.title), chip("resolved"), true) : html`<${LoopLine} key=${item.id} item=${item} />`))}<//>`;
}

function Loop({ id }) {
  const from = useData(asking("/v1/expand", { id })).body?.source;
  const [note, setNote] = useState("");
  const onDone = async (item) => { if (await resolve(item, note.trim())) go("loops"); };
  return html`<${Load} path=${`/v1/loops/${part(id)}`} of=${id}>${(item) => html`
    <${Heading} up=${[[href("loops"), "Loops"]]}>${firstLine(item.title, 300)}<//>
    ${facts({ State: item.status ?? "open, without a file yet", Due: when(dueOf(item)), Where: where(item), File: item.path, "Said in": refs(item.turns ?? from?.turns), Session: sessionRef(from?.session), Wrong: item.problem })}
    <${Words} text=${item.body ?? item.text ?? ""} />
    ${item.status === "resolved"
      ? html`<p><button onClick=${() => reopen(item)}>Open again</button></p>`
      : html`<div class="act"><label>How it ended <input class="wide" value=${note} onInput=${(e) => setNote(e.target.value)} /></label><button class="resolve first" onClick=${() => onDone(item)}>Resolve <kbd>r</kbd></button></div>`}`}<//>`;
}
