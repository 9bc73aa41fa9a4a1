// Memory: the memories, their sources, and the memories they superseded.
import { act, asking, at, chip, choice, doing, Edit, facts, firstLine, go, Heading, href, html, List, Load, near, part, ref, refs, row, rows, say, scopeName, seen, sessionRef, tick, useData, useKeys, useState, when, Words } from "../parts.js";

const CLASSES = [["", "all"], "preference", "identity", "fact", "procedure", "blocker", "reference"];
const FROM = { user: "said by you", prompt: "read in a prompt", program: "proposed by a program", hand: "written by hand", distilled: "distilled from a conversation" };
/** Fields that stand elsewhere. */
const SHOWN = ["id", "class", "status", "title", "scope", "summary", "verified", "verification", "format", "flush", "pinned", "supersedes", "superseded_by", "confidence", "observed"];

const isPinned = (m) => m.fields?.pinned === true;
const isOver = (m) => m.status === "superseded";
const chips = (m) => html`${isPinned(m) && chip("in front", "user")}${chip(m.class)}${m.stale && chip("grew old", "late")}${m.status !== "active" && chip(m.status)}`;

export function Memory() {
  const { id, query } = at.value;
  const [words, setWords] = useState("");
  if (id) return html`<${One} key=${id} id=${id} />`;
  const wanted = words.trim().toLowerCase();
  const has = (m) => [m.title, m.path, m.fields?.summary, m.fields?.tags].join(" ").toLowerCase().includes(wanted);
  return html`
    <${Heading}>Memory<//>
    <div class="limits">${choice("Class", "class", CLASSES)}${tick("superseded", "superseded")}${tick("only what grew old", "stale")}
      <label>With the words <input type="search" value=${words} onInput=${(e) => setWords(e.target.value)} /></label></div>
    <${List} path=${asking("/v1/memory", { ...query, limit: 300 })} empty="Nothing is remembered here yet. heirloom remember TEXT, or a yes in Review, changes that.">${(items) => {
      const shown = items.filter(has);
      return html`${rows(shown, (m) => row(href("memory", m.id ?? m.path), firstLine(m.title), html`${chips(m)} ${scopeName(m.scope)}${m.fields?.observed && html` · ${near(String(m.fields.observed))}`}`, isOver(m)))}
      ${!shown.length && html`<p class="empty">None has these words.</p>`}`;
    }}<//>`;
}

function One({ id }) {
  const path = `/v1/memory/${part(id)}`;
  const source = useData(asking("/v1/expand", { id })).body?.source;
  const [form, setForm] = useState("");
  const onDone = () => setForm("");
  useKeys({ e: () => setForm("edit"), s: () => setForm("instead") });
  const edit = ([title, text], rests) => act(`${path}/edit`, { title, text }, rests).then(() => say("Changed; the old text is kept as a revision."));
  const instead = ([text]) => act(`${path}/supersede`, { text }).then((done) => {
    say("That holds now; the old one stays as history.");
    if (done.items?.[0]?.id) go("memory", done.items[0].id);
  });
  return html`<${Load} path=${path} of=${id}>${(m) => {
    const fields = m.fields ?? {};
    const more = Object.entries(fields).filter(([name, value]) => !SHOWN.includes(name) && ["string", "number"].includes(typeof value));
    return html`
      <${Heading} up=${[[href("memory"), "Memory"]]}>${firstLine(m.title, 300)}<//>
      <p>${chips(m)}</p>
      ${form === "edit" ? html`<${Edit} path=${path} texts=${(b) => [{ name: "Title", text: b.title, lines: 1 }, { name: "Text", text: b.text ?? b.body }]} save=${edit} onDone=${onDone} />` : html`<${Words} text=${m.text ?? m.body} />`}
      ${form === "instead" && html`<${Edit} path=${path} texts=${() => [{ name: "What holds now", text: "" }]} save=${instead} onDone=${onDone} />`}
      ${!form && html`<p class="act"><button onClick=${() => setForm("edit")}>Edit <kbd>e</kbd></button> ${!isOver(m) && html`<button onClick=${() => setForm("instead")}>Something else holds now <kbd>s</kbd></button>`} <button onClick=${() => doing(`${path}/verify`, {}, "It still holds.")}>It still holds</button> <button onClick=${() => doing(`${path}/pin`, { off: isPinned(m) }, isPinned(m) ? "No longer in front." : "Kept in front.")}>${isPinned(m) ? "Let go" : "Keep in front"}</button></p>`}
      <h2>Where it comes from</h2>
      ${facts({ How: source && (FROM[source.type] ?? source.type), "Said in": refs(source?.turns), Session: sessionRef(source?.session), Summary: ref(source?.node), Seen: fields.observed && when(String(fields.observed)), Sure: fields.confidence && `${Math.round(fields.confidence * 100)} %`, "By hand": m.by_hand && "a person changed it last" })}
      <h2>How it stands</h2>
      ${facts({ Holds: scopeName(m.scope), "Took the place of": refs(fields.supersedes, 20), "Superseded by": refs(fields.superseded_by), "Looked at": m.verification !== "none" && m.verification, "Good until": when(m.fresh_until), File: m.path, Wrong: m.problem, ...Object.fromEntries(more.map(([name, value]) => [name.replaceAll("_", " "), seen(String(value))])) })}`;
  }}<//>`;
}
