// Loops: what is owed. One key resolves, one takes it back.
import { html, useState } from "../vendor.js";
import { at, go, href } from "../address.js";
import { act, asking, part, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Facts, Heading, Ref, say, sayWrong, scopeName, Shown, stepKeys, When } from "../parts.js";
import { firstLine, Words } from "../words.js";

let last = null;

/** Takes the last resolve back. */
async function reopen() {
  if (!last) return;
  const { id, title } = last;
  last = null;
  try {
    await act(`/v1/loops/${part(id)}/reopen`);
    say(`Open again: ${title}`);
  } catch (problem) {
    sayWrong(problem);
  }
}

export async function resolve(item, note) {
  try {
    const done = await act(`/v1/loops/${part(item.id)}/resolve`, note ? { note } : {});
    last = { id: done.id || item.id, title: item.title };
    say(`Resolved: ${item.title}`, reopen);
    return true;
  } catch (problem) {
    sayWrong(problem);
    return false;
  }
}

/** Keys of a list with loops in it: r resolves the one that has the focus, z takes the last one back. */
export function loopKeys() {
  return {
    r: () => document.activeElement?.closest("[data-loop]")?.querySelector("button.resolve")?.click(),
    z: reopen,
  };
}

export function LoopLine({ item }) {
  const [goes, setGoes] = useState(false);
  const due = item.due ?? item.fields?.due;
  const late = due && due < new Date().toISOString().slice(0, 10);
  const done = async () => {
    setGoes(true);
    // Whatever has the focus goes with the line: the next one takes it.
    const all = [...document.querySelectorAll("[data-loop] .step")];
    const now = all.findIndex((step) => step.closest("[data-loop]").dataset.loop === item.id);
    (all[now + 1] ?? all[now - 1])?.focus();
    if (!(await resolve(item))) setGoes(false);
  };
  return html`<li data-loop=${item.id} class=${goes ? "going" : ""}>
    <a class="step main" href=${href("loops", item.id)}>${firstLine(item.title || item.text || item.id)}</a>
    <span class="quiet">${due && html`<${Chip} tone=${late ? "late" : ""}>due ${due}<//> `}${scopeName(item.scope ?? item.thread)}${item.since && html` · <${When} at=${item.since} form="near" />`}</span>
    <button class="small resolve" disabled=${goes} aria-label=${`Resolve ${item.title}`} onClick=${done}>Resolve <kbd aria-hidden="true">r</kbd></button></li>`;
}

export function Loops() {
  const { id, query } = at.value;
  return id ? html`<${Loop} key=${id} id=${id} />` : html`<${List} resolved=${query.resolved === "true"} />`;
}

function List({ resolved }) {
  const loops = useData(asking("/v1/loops", { limit: 200, resolved }));
  useKeys({ ...stepKeys("main .step"), ...loopKeys() });
  const tabs = html`<a href=${href("loops")} aria-current=${resolved ? null : "true"}>Open</a> <a href=${href("loops", "", { resolved: true })} aria-current=${resolved ? "true" : null}>With resolved</a>`;
  return html`<${Heading} more=${html`<div class="tabs">${tabs}</div>`}>Loops<//>
    <${Shown} of=${loops} empty="Nothing is open.">${({ items, next }) => html`
      <ul class="rows">${items.map((item) => (item.status === "resolved" ? html`<li key=${item.id}><a class="step main done" href=${href("loops", item.id)}>${firstLine(item.title)}</a><${Chip}>resolved<//></li>` : html`<${LoopLine} key=${item.id} item=${item} />`))}</ul>
      ${next && html`<p class="quiet">The newest 200. heirloom loop list shows all.</p>`}`}<//>`;
}

function Loop({ id }) {
  const loop = useData(`/v1/loops/${part(id)}`);
  const from = useData(asking("/v1/expand", { id }));
  const [note, setNote] = useState("");
  const up = () => go("loops");
  useKeys({ u: up, z: reopen, r: () => document.querySelector("button.resolve")?.click() });
  const end = async (item) => {
    if (await resolve(item, note.trim())) go("loops");
  };
  return html`<${Shown} of=${loop}>${(item) => html`
    <${Heading} up=${html`<a href=${href("loops")}>Loops</a>`}>${firstLine(item.title, 300)}<//>
    <${Facts} of=${[["State", item.status ?? "open, without a file yet"], ["Due", item.due ?? item.fields?.due], ["Where", scopeName(item.scope ?? item.thread)], ["File", item.path], ["Said in", (item.turns ?? from.body?.source?.turns ?? []).map((turn) => html`<${Ref} id=${turn} /> `)], ["Wrong", item.problem]]} />
    <${Words} text=${item.body ?? item.text ?? ""} />
    ${item.status === "resolved"
      ? html`<p><button onClick=${() => { last = { id, title: item.title }; reopen(); }}>Open again</button></p>`
      : html`<div class="act"><label>How it ended <input class="wide" value=${note} onInput=${(e) => setNote(e.target.value)} /></label><button class="resolve first" onClick=${() => end(item)}>Resolve <kbd>r</kbd></button></div>`}`}<//>`;
}
