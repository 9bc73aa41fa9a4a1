// Loops: what is owed. One key resolves, one takes it back.
import { html, useState } from "../vendor.js";
import { at, go, href } from "../address.js";
import { act, asking, get, part, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, doing, Facts, Heading, Ref, Refs, Row, say, sayWrong, scopeName, Shown, stepKeys, Tabs, When } from "../parts.js";
import { firstLine, Words } from "../words.js";

let last = null;

/** Takes the last resolve back. */
function reopen() {
  if (!last) return;
  const { id, title } = last;
  last = null;
  doing(`/v1/loops/${part(id)}/reopen`, {}, `Open again: ${title}`);
}

async function resolve(item, note) {
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
export const loopKeys = () => ({
  r: () => document.activeElement?.closest("[data-loop]")?.querySelector("button.resolve")?.click(),
  z: reopen,
});

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
    <span class="quiet">${due && html`<${Chip} tone=${late ? "late" : ""}>due <${When} at=${due} /><//> `}${scopeName(item.scope ?? item.thread)}${item.since && html` · <${When} at=${item.since} form="near" />`}</span>
    <button class="small resolve" disabled=${goes} aria-label=${`Resolve ${item.title}`} onClick=${done}>Resolve <kbd aria-hidden="true">r</kbd></button></li>`;
}

export function Loops() {
  const { id, query } = at.value;
  return id ? html`<${Loop} key=${id} id=${id} />` : html`<${List} resolved=${query.resolved === "true"} />`;
}

function List({ resolved }) {
  const path = asking("/v1/loops", { limit: 200, resolved });
  const loops = useData(path);
  const [more, setMore] = useState({ of: null, items: [], next: null });
  useKeys({ ...stepKeys(), ...loopKeys() });
  return html`<${Heading} more=${html`<${Tabs} of=${[[href("loops"), "Open", !resolved], [href("loops", "", { resolved: true }), "With resolved", resolved]]} />`}>Loops<//>
    <${Shown} of=${loops} empty="Nothing is open.">${(body) => {
      const extra = more.of === body ? more : { items: [], next: body.next };
      const onMore = () => get(`${path}&cursor=${extra.next}`).then((page) => setMore({ of: body, items: [...extra.items, ...page.items], next: page.next }), sayWrong);
      return html`
      <ul class="rows">${[...body.items, ...extra.items].map((item) => (item.status === "resolved" ? html`<${Row} key=${item.id} to=${href("loops", item.id)} title=${firstLine(item.title)} done=${true}><${Chip}>resolved<//><//>` : html`<${LoopLine} key=${item.id} item=${item} />`))}</ul>
      ${extra.next && html`<p><button class="step" onClick=${onMore}>More</button></p>`}`;
    }}<//>`;
}

function Loop({ id }) {
  const loop = useData(`/v1/loops/${part(id)}`);
  const from = useData(asking("/v1/expand", { id }));
  const [note, setNote] = useState("");
  useKeys({ u: () => go("loops"), z: reopen, r: () => document.querySelector("button.resolve")?.click() });
  const end = async (item) => {
    if (await resolve(item, note.trim())) go("loops");
  };
  const again = (item) => {
    last = { id, title: item.title };
    reopen();
  };
  return html`<${Shown} of=${loop}>${(item) => {
    const due = item.due ?? item.fields?.due;
    const turns = item.turns ?? from.body?.source?.turns ?? [];
    return html`
    <${Heading} up=${html`<a href=${href("loops")}>Loops</a>`}>${firstLine(item.title, 300)}<//>
    <${Facts} of=${[["State", item.status ?? "open, without a file yet"], ["Due", due && html`<${When} at=${due} />`], ["Where", scopeName(item.scope ?? item.thread)], ["File", item.path], ["Said in", turns.length > 0 && html`<${Refs} ids=${turns} />`], ["Session", from.body?.source?.session && html`<${Ref} id=${from.body.source.session} />`], ["Wrong", item.problem]]} />
    <${Words} text=${item.body ?? item.text ?? ""} />
    ${item.status === "resolved"
      ? html`<p><button onClick=${() => again(item)}>Open again</button></p>`
      : html`<div class="act"><label>How it ended <input class="wide" value=${note} onInput=${(e) => setNote(e.target.value)} /></label><button class="resolve first" onClick=${() => end(item)}>Resolve <kbd>r</kbd></button></div>`}`;
  }}<//>`;
}
