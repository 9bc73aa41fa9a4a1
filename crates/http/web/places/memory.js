// Memory: what is remembered, where that comes from, and what it took the place of.
import { html, useState } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, part, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Choice, doing, Edit, Facts, Heading, Ref, Refs, Row, scopeName, Shown, stepKeys, When } from "../parts.js";
import { firstLine, seen, Words } from "../words.js";

const CLASSES = ["preference", "identity", "fact", "procedure", "blocker", "reference"];
const FROM = { user: "said by you", prompt: "read in a prompt", program: "proposed by a program", hand: "written by hand", distilled: "distilled from a conversation" };
/** Fields that stand elsewhere. */
const SHOWN = ["id", "class", "status", "title", "scope", "summary", "verified", "verification", "format", "flush"];

export function Memory() {
  const { id } = at.value;
  return id ? html`<${One} key=${id} id=${id} />` : html`<${List} />`;
}

function List() {
  const { class: kind = "", superseded = "", stale = "" } = at.value.query;
  const [words, setWords] = useState("");
  const memory = useData(asking("/v1/memory", { class: kind, superseded, stale, limit: 300 }));
  useKeys(stepKeys());
  const limit = (name) => (value) => go("memory", "", { class: kind, superseded, stale, [name]: value }, true);
  const tick = (name, value, label) => html`<label><input type="checkbox" checked=${value === "true"} onChange=${(e) => limit(name)(e.target.checked ? "true" : "")} /> ${label}</label>`;
  const wanted = words.trim().toLowerCase();
  return html`
    <${Heading}>Memory<//>
    <div class="limits">
      <${Choice} label="Class" value=${kind} of=${[["", "all"], ...CLASSES]} onChange=${limit("class")} />
      ${tick("superseded", superseded, "superseded")}${tick("stale", stale, "only what grew old")}
      <label>With the words <input type="search" value=${words} onInput=${(e) => setWords(e.target.value)} /></label>
    </div>
    <${Shown} of=${memory} empty="Nothing is remembered here yet. heirloom remember TEXT, or a yes in Review, changes that.">${({ items, next }) => {
      const shown = items.filter((m) => !wanted || `${m.title} ${m.path} ${m.fields?.summary ?? ""} ${(m.fields?.tags ?? []).join?.(" ") ?? ""}`.toLowerCase().includes(wanted));
      return html`<ul class="rows">${shown.map((m) => html`<${Row} key=${m.path} to=${href("memory", m.id ?? m.path)} done=${m.status === "superseded"} title=${firstLine(m.title)}>
        ${m.fields?.pinned === true && html`<${Chip} tone="user">in front<//>`}<${Chip}>${m.class}<//>${m.stale && html`<${Chip} tone="late">grew old<//>`}${m.status === "superseded" && html`<${Chip}>superseded<//>`} ${scopeName(m.scope)}${m.fields?.observed && html` · <${When} at=${String(m.fields.observed)} form="near" />`}<//>`)}</ul>
      ${!shown.length && html`<p class="empty">None has these words.</p>`}${next && html`<p class="quiet">The first 300. Search finds the others.</p>`}`;
    }}<//>`;
}

/** Says what holds now, in place of something remembered. */
function Instead({ id, onDone }) {
  const [text, setText] = useState("");
  const save = async () => {
    const done = await doing(`/v1/memory/${part(id)}/supersede`, { text }, "That holds now; the old one stays as history.");
    if (!done) return;
    onDone();
    const now = done.items?.[0]?.id;
    if (now) go("memory", now);
  };
  return html`<div class="edit"><label>What holds now<textarea rows="4" autofocus value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${(e) => { if (e.key === "Escape") onDone(); else if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) save(); }}></textarea></label>
    <p><button class="first" disabled=${!text.trim()} onClick=${save}>Save <kbd>Ctrl Enter</kbd></button> <button onClick=${onDone}>Leave it <kbd>Esc</kbd></button></p></div>`;
}

function One({ id }) {
  const path = `/v1/memory/${part(id)}`;
  const memory = useData(path);
  const from = useData(asking("/v1/expand", { id }));
  const [form, setForm] = useState("");
  const close = () => setForm("");
  useKeys({ u: () => go("memory"), e: () => setForm("edit"), s: () => setForm("instead") });
  return html`<${Shown} of=${memory}>${(m) => {
    const { pinned, supersedes, superseded_by: by, confidence, observed, source: _, ...rest } = m.fields ?? {};
    const source = from.body?.source;
    const holds = m.status !== "superseded";
    const more = Object.entries(rest).filter(([name, value]) => !SHOWN.includes(name) && ["string", "number"].includes(typeof value));
    return html`
      <${Heading} up=${html`<a href=${href("memory")}>Memory</a>`}>${firstLine(m.title, 300)}<//>
      <p><${Chip}>${m.class}<//> <${Chip}>${m.status}<//> ${m.stale && html`<${Chip} tone="late">grew old<//>`} ${pinned === true && html`<${Chip} tone="user">in front<//>`}</p>
      ${form === "edit"
        ? html`<${Edit} path=${path} texts=${(b) => [{ name: "Title", text: b.title, rows: 1 }, { name: "Text", text: b.text ?? b.body, rows: 8 }]} body=${([title, text]) => ({ title, text })} done="Changed; the old text is kept as a revision." onDone=${close} />`
        : html`<${Words} text=${m.text ?? m.body} />`}
      ${form === "instead" && html`<${Instead} id=${id} onDone=${close} />`}
      ${!form && html`<p class="act"><button onClick=${() => setForm("edit")}>Edit <kbd>e</kbd></button> ${holds && html`<button onClick=${() => setForm("instead")}>Something else holds now <kbd>s</kbd></button>`} <button onClick=${() => doing(`${path}/verify`, {}, "It still holds.")}>It still holds</button> <button onClick=${() => doing(`${path}/pin`, { off: pinned === true }, pinned === true ? "No longer in front." : "Kept in front.")}>${pinned === true ? "Let go" : "Keep in front"}</button></p>`}
      <h2>Where it comes from</h2>
      <${Facts} of=${[["How", source && (FROM[source.type] ?? source.type)], ["Said in", source?.turns?.length > 0 && html`<${Refs} ids=${source.turns} />`], ["Session", source?.session && html`<${Ref} id=${source.session} />`], ["Summary", source?.node && html`<${Ref} id=${source.node} />`], ["Seen", observed && html`<${When} at=${String(observed)} />`], ["Sure", confidence != null && `${Math.round(confidence * 100)} %`], ["By hand", m.by_hand && "a person changed it last"]]} />
      <h2>How it stands</h2>
      <${Facts} of=${[["Holds", scopeName(m.scope)], ["Took the place of", supersedes && html`<${Refs} ids=${supersedes} most=${20} />`], ["Superseded by", by && html`<${Refs} ids=${by} />`], ["Looked at", m.verification], ["Good until", m.fresh_until && html`<${When} at=${m.fresh_until} />`], ["File", m.path], ["Wrong", m.problem], ...more.map(([name, value]) => [name.replaceAll("_", " "), seen(String(value))])]} />`;
  }}<//>`;
}
