// Memory: what is remembered, where that comes from, and what it took the place of.
import { html, useEffect, useState } from "../vendor.js";
import { at, go, href } from "../address.js";
import { act, asking, part, read, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Facts, Heading, Ref, say, sayWrong, scopeName, Shown, stepKeys, When } from "../parts.js";
import { firstLine, seen, Words } from "../words.js";

const CLASSES = ["preference", "identity", "fact", "procedure", "blocker", "reference"];
const FROM = { user: "said by you", prompt: "read in a prompt", program: "proposed by a program", hand: "written by hand", distilled: "distilled from a conversation" };

export function Memory() {
  const { id } = at.value;
  return id ? html`<${One} key=${id} id=${id} />` : html`<${List} />`;
}

function List() {
  const { class: kind = "", superseded = "", stale = "" } = at.value.query;
  const [words, setWords] = useState("");
  const memory = useData(asking("/v1/memory", { class: kind, superseded, stale, limit: 300 }));
  useKeys(stepKeys("main .step"));
  const limit = (name, value) => go("memory", "", { class: kind, superseded, stale, [name]: value }, true);
  const wanted = words.trim().toLowerCase();
  return html`
    <${Heading}>Memory<//>
    <div class="limits">
      <label>Class <select value=${kind} onChange=${(e) => limit("class", e.target.value)}><option value="">all</option>${CLASSES.map((name) => html`<option value=${name} selected=${name === kind}>${name}</option>`)}</select></label>
      <label><input type="checkbox" checked=${superseded === "true"} onChange=${(e) => limit("superseded", e.target.checked ? "true" : "")} /> superseded, too</label>
      <label><input type="checkbox" checked=${stale === "true"} onChange=${(e) => limit("stale", e.target.checked ? "true" : "")} /> only what grew old</label>
      <label>With the words <input type="search" value=${words} onInput=${(e) => setWords(e.target.value)} /></label>
    </div>
    <${Shown} of=${memory} empty="Nothing is remembered yet. heirloom remember TEXT, or a yes in Review, changes that.">${({ items, next }) => {
      const shown = items.filter((m) => !wanted || `${m.title} ${m.path} ${m.fields?.summary ?? ""} ${(m.fields?.tags ?? []).join?.(" ") ?? ""}`.toLowerCase().includes(wanted));
      return html`<ul class="rows">${shown.map((m) => html`<li key=${m.path}>
        <a class=${"step main" + (m.status === "superseded" ? " done" : "")} href=${href("memory", m.id ?? m.path)}>${m.fields?.pinned === true && "📌 "}${firstLine(m.title)}</a>
        <span class="quiet"><${Chip}>${m.class}<//>${m.stale && html`<${Chip} tone="late">grew old<//>`}${m.status === "superseded" && html`<${Chip}>superseded<//>`} ${scopeName(m.scope)} ${m.fields?.observed ? html`· <${When} at=${String(m.fields.observed)} form="near" />` : ""}</span></li>`)}</ul>
      ${!shown.length && html`<p class="empty">None has these words.</p>`}${next && html`<p class="quiet">The first 300. Search finds the others.</p>`}`;
    }}<//>`;
}

function Edit({ id, onDone }) {
  const [rests, setRests] = useState(null);
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const [newer, setNewer] = useState(null);
  const take = ({ body, tag }) => {
    setRests(tag);
    setTitle(body.title);
    setText(body.text ?? body.body);
  };
  useEffect(() => { read(`/v1/memory/${part(id)}`).then(take, sayWrong); }, []);
  const save = async () => {
    try {
      await act(`/v1/memory/${part(id)}/edit`, { title, text }, rests);
      say("Changed; the old text is kept as a revision.");
      onDone();
    } catch (problem) {
      if (problem.status === 412) setNewer(await read(`/v1/memory/${part(id)}`));
      else sayWrong(problem);
    }
  };
  return html`<div class="edit">
    ${newer && html`<div class="wrong" role="alert"><strong>It was changed meanwhile. It says now:</strong><${Words} text=${newer.body.text ?? newer.body.body} /><p><button onClick=${() => { setRests(newer.tag); setNewer(null); }}>Keep mine</button> <button onClick=${() => { take(newer); setNewer(null); }}>Take the newer</button></p></div>`}
    <label>Title <input class="wide" value=${title} onInput=${(e) => setTitle(e.target.value)} /></label>
    <label>Text<textarea rows="8" value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) save(); else if (e.key === "Escape") { e.stopPropagation(); onDone(); } }}></textarea></label>
    <p><button class="first" disabled=${!rests || newer} onClick=${save}>Save <kbd>Ctrl Enter</kbd></button> <button onClick=${onDone}>Leave it <kbd>Esc</kbd></button></p></div>`;
}

function One({ id }) {
  const memory = useData(`/v1/memory/${part(id)}`);
  const from = useData(asking("/v1/expand", { id }));
  const [edits, setEdits] = useState(false);
  const doing = (verb, body, words) => act(`/v1/memory/${part(id)}/${verb}`, body).then(() => say(words), sayWrong);
  useKeys({ u: () => go("memory"), e: () => setEdits(true) });
  return html`<${Shown} of=${memory}>${(m) => {
    const { pinned, supersedes, superseded_by: by, confidence, observed, source: _, ...rest } = m.fields ?? {};
    const source = from.body?.source;
    const ids = (value) => (value ? [value].flat().map((one) => html`<${Ref} id=${String(one)} /> `) : null);
    const more = Object.entries(rest).filter(([name, value]) => !["id", "class", "status", "title", "scope", "summary", "verified", "verification", "format", "flush"].includes(name) && ["string", "number"].includes(typeof value));
    return html`
      <${Heading} up=${html`<a href=${href("memory")}>Memory</a>`}>${firstLine(m.title, 300)}<//>
      <p><${Chip}>${m.class}<//> <${Chip}>${m.status}<//> ${m.stale && html`<${Chip} tone="late">grew old<//>`} ${pinned === true && html`<${Chip}>pinned<//>`}</p>
      ${edits ? html`<${Edit} id=${id} onDone=${() => setEdits(false)} />` : html`<${Words} text=${m.text ?? m.body} />`}
      ${!edits && html`<p class="act"><button onClick=${() => setEdits(true)}>Edit <kbd>e</kbd></button> <button onClick=${() => doing("verify", {}, "It still holds.")}>It still holds</button> <button onClick=${() => doing("pin", { off: pinned === true }, pinned === true ? "No longer in front." : "Kept in front.")}>${pinned === true ? "Let go" : "Keep in front"}</button></p>`}
      <h2>Where it comes from</h2>
      <${Facts} of=${[["How", source && (FROM[source.type] ?? source.type)], ["Said in", source?.turns?.length > 0 && ids(source.turns)], ["Session", source?.session && html`<${Ref} id=${source.session} />`], ["Summary", source?.node && html`<${Ref} id=${source.node} />`], ["Seen", observed && html`<${When} at=${String(observed)} />`], ["Sure", confidence != null && `${Math.round(confidence * 100)} %`], ["By hand", m.by_hand && "a person changed it last"]]} />
      <h2>How it stands</h2>
      <${Facts} of=${[["Holds", scopeName(m.scope)], ["Took the place of", ids(supersedes)], ["Superseded by", ids(by)], ["Looked at", m.verification], ["Good until", m.fresh_until && html`<${When} at=${m.fresh_until} />`], ["File", m.path], ["Wrong", m.problem], ...more.map(([name, value]) => [name.replaceAll("_", " "), seen(String(value))])]} />`;
  }}<//>`;
}
