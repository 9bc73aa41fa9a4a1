// Review: what waits for a yes, one card at a time, with where it was said beside it. Nothing is decided that was not seen:
// each decision says which version of the card it rests on.
import { html, useEffect, useState } from "../vendor.js";
import { at, go } from "../address.js";
import { act, asking, part, Problem, read, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Heading, many, Ref, say, sayWrong, scopeName, Shown, When } from "../parts.js";
import { seen, Words } from "../words.js";

/** What was decided in this tab, newest last. */
const decided = [];
const KINDS = { proposal: "Proposed", noticed: "Noticed", supersession: "In place of something older", skill: "A procedure that recurs", matter: "What a model says of an open loop", edit: "Words kept aside" };

async function undo(ids) {
  const id = ids ?? decided.pop();
  if (ids) decided.splice(decided.indexOf(ids), 1);
  if (!id) {
    say("Nothing was decided in this tab.");
    return;
  }
  try {
    const done = await act("/v1/proposals/undo", { items: [id] });
    if (done.refused.length) throw new Problem({ detail: done.refused[0].what, next: done.refused[0].next });
    say(`Undone: ${done.items[0]?.title ?? id}`);
    go("review", id, {}, true);
  } catch (problem) {
    sayWrong(problem);
  }
}

function Evidence({ turns }) {
  if (!turns.length) return html`<p class="quiet">It was not said in a conversation.</p>`;
  return turns.slice(0, 4).map((turn) => html`<${Said} key=${turn} id=${turn} />`);
}

function Said({ id }) {
  const said = useData(asking(`/v1/turns/${part(id)}`, { around: 1 }));
  return html`<${Shown} of=${said}>${({ turns }) => html`<div class="evidence">${turns.map((turn) => html`<article class=${`turn ${turn.role} ${turn.turn === id ? "at" : "beside"}`}>
    <header><${Chip} tone=${turn.role}>${seen(turn.speaker || turn.role)}<//><span class="right quiet"><${When} at=${turn.at} /> <${Ref} id=${turn.turn} /></span></header>
    <${Words} text=${turn.turn === id ? turn.text : turn.text.slice(0, 400) + (turn.text.length > 400 ? "…" : "")} plain=${turn.role === "tool"} /></article>`)}</div>`}<//>`;
}

/** The texts of a card, to be changed before the yes. */
function Edit({ item, onDone }) {
  const [rests, setRests] = useState(null);
  const [texts, setTexts] = useState(item.entries);
  const [newer, setNewer] = useState(null);
  useEffect(() => {
    read(`/v1/proposals/${part(item.id)}`).then(({ body, tag }) => {
      setRests(tag);
      setTexts(body.entries);
    }, sayWrong);
    document.querySelector(".edit textarea")?.focus();
  }, []);
  const save = async () => {
    try {
      await act(`/v1/proposals/${part(item.id)}/edit`, { entries: texts }, rests);
      say("Changed; it still waits for your yes.");
      onDone();
    } catch (problem) {
      if (problem.status === 412) setNewer(await read(`/v1/proposals/${part(item.id)}`));
      else sayWrong(problem);
    }
  };
  return html`<div class="edit">
    ${newer && html`<div class="wrong" role="alert"><strong>It was changed meanwhile. It says now:</strong>${newer.body.entries.map((text) => html`<${Words} text=${text} />`)}<p><button onClick=${() => { setRests(newer.tag); setNewer(null); }}>Keep mine</button> <button onClick=${() => { setTexts(newer.body.entries); setRests(newer.tag); setNewer(null); }}>Take the newer</button></p></div>`}
    ${texts.map((text, n) => html`<label>Text ${texts.length > 1 ? n + 1 : ""}<textarea rows="6" value=${text} onInput=${(e) => setTexts(texts.map((old, k) => (k === n ? e.target.value : old)))}
      onKeyDown=${(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) save(); else if (e.key === "Escape") { e.stopPropagation(); onDone(); } }}></textarea></label>`)}
    <p><button class="first" disabled=${!rests || newer} onClick=${save}>Save <kbd>Ctrl Enter</kbd></button> <button onClick=${onDone}>Leave it <kbd>Esc</kbd></button></p></div>`;
}

export function Review() {
  const waiting = useData("/v1/proposals?limit=200");
  const [gone, setGone] = useState(new Set());
  const [edits, setEdits] = useState(false);
  const items = (waiting.body?.items ?? []).filter((item) => !gone.has(`${item.id} ${item.version}`));
  const named = items.findIndex((item) => item.id === at.value.id);
  const index = Math.max(0, named);
  const item = items[index];
  const show = (n) => {
    const next = items[Math.max(0, Math.min(items.length - 1, n))];
    if (next) go("review", next.id, {}, true);
    setEdits(false);
  };
  const decide = async (verb) => {
    if (!item || edits) return;
    const key = `${item.id} ${item.version}`;
    const next = items[index + 1] ?? items[index - 1];
    setGone(new Set([...gone, key]));
    go("review", next?.id ?? "", {}, true);
    try {
      await act(`/v1/proposals/${part(item.id)}/${verb}`, { version: item.version });
      decided.push(item.id);
      // It may come back by an undo, as the same version.
      setTimeout(() => setGone((old) => { const left = new Set(old); left.delete(key); return left; }), 1500);
      say(`${verb === "accept" ? "Accepted" : "Rejected"}: ${item.title}`, () => undo(item.id));
    } catch (problem) {
      setGone((old) => { const left = new Set(old); left.delete(key); return left; });
      go("review", item.id, {}, true);
      sayWrong(problem);
    }
  };
  useKeys({ y: () => decide("accept"), n: () => decide("reject"), e: () => item && setEdits(true), z: () => undo(), j: () => show(index + 1), k: () => show(index - 1), ArrowDown: () => show(index + 1), ArrowUp: () => show(index - 1), u: () => go("now") });
  return html`
    <${Heading} more=${item && html`<span class="quiet">${index + 1} of ${waiting.body?.next ? "more than " : ""}${items.length}</span>`}>Review<//>
    <${Shown} of=${waiting}>${() => (!item ? html`<p class="empty">Nothing waits for you.${decided.length ? html` <button class="small" onClick=${() => undo()}>Undo the last <kbd>z</kbd></button>` : ""}</p>` : html`
      <div class="two review" key=${item.id}><section class="card" aria-label="What waits">
        <p><${Chip}>${KINDS[item.kind] ?? item.kind}<//> <${Chip}>${item.class ?? ""}<//> <${Chip}>${scopeName(item.scope)}<//>${item.confidence != null && html`<span class="quiet"> ${Math.round(item.confidence * 100)} % sure</span>`}${item.seen > 1 && html`<span class="quiet"> · noticed ${many(item.seen, "time")}</span>`}</p>
        <h2>${seen(item.title)}</h2>
        ${edits ? html`<${Edit} item=${item} onDone=${() => setEdits(false)} />` : item.entries.map((text) => html`<div class="entry added"><${Words} text=${text} /></div>`)}
        ${item.replaces.map((older) => html`<div class="entry removed"><p class="quiet">in place of <${Ref} id=${older.id} /></p><${Words} text=${older.text} /></div>`)}
        ${item.problem && html`<p class="notice">${seen(item.problem)}</p>`}
        ${!edits && html`<p class="act"><button class="first" onClick=${() => decide("accept")}>Accept <kbd>y</kbd></button> <button onClick=${() => decide("reject")}>Reject <kbd>n</kbd></button> <button onClick=${() => setEdits(true)}>Edit <kbd>e</kbd></button> <button onClick=${() => undo()} disabled=${!decided.length}>Undo <kbd>z</kbd></button></p>`}
        <p class="quiet">${item.path && html`${item.path} · `}${item.since && html`waits since <${When} at=${item.since} form="near" />`}</p>
      </section><aside aria-label="Where it was said"><h2>Where it was said</h2><${Evidence} turns=${item.turns} /></aside></div>`)}<//>`;
}
