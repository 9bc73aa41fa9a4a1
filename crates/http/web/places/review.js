// Review: what waits for a yes, one card at a time, with where it was said beside it. Nothing is decided that was not seen:
// each decision says which version of the card it rests on. Several are decided at once after a look at what would change.
import { html, useEffect, useState } from "../vendor.js";
import { at, go } from "../address.js";
import { act, asking, get, part, Problem, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Command, Edit, Heading, many, Part, Ref, Refs, say, sayWrong, scopeName, Shown, When } from "../parts.js";
import { firstLine, seen, Words } from "../words.js";

/** What was decided in this tab, newest last: the ids of each act. */
const decided = [];
const KINDS = { proposal: "Proposed", noticed: "Noticed", supersession: "In place of something older", edit: "Words kept aside", skill: "Procedure", matter: "What a model says of an open loop" };

async function undo(ids = decided.at(-1)) {
  if (!ids) return say("Nothing was decided in this tab.");
  decided.splice(decided.indexOf(ids), 1);
  try {
    const done = await act("/v1/proposals/undo", { items: ids });
    if (done.refused.length) throw new Problem({ detail: done.refused[0].what, next: done.refused[0].next });
    go("review", ids[0], {}, true);
    say(`Undone: ${done.items.length === 1 ? done.items[0].title : many(done.items.length, "decision")}`);
  } catch (problem) {
    sayWrong(problem);
  }
  return undefined;
}

/** A procedure that recurs, as something that waits. */
const ofSkill = (skill) => ({ id: skill.id, kind: "skill", title: skill.name, entries: [skill.draft], scope: `workspace/${skill.workspace}`, turns: skill.evidence.flatMap((run) => run.turns.slice(0, 1)), replaces: [], evidence: skill.evidence.map((run) => `${run.session}: ${run.turns.join(" ")}`), about: `${skill.succeeded} of ${skill.runs} runs succeeded, in ${many(skill.sessions, "session")}: ${skill.steps.join(" → ")}`, version: `${skill.sessions}/${skill.runs}` });

function Turn({ id }) {
  const said = useData(asking(`/v1/turns/${part(id)}`, { around: 1 }));
  return html`<${Shown} of=${said}>${({ turns }) => html`<div class="evidence">${turns.map((turn) => html`<article class=${`turn ${turn.role} ${turn.turn === id ? "at" : "beside"}`}>
    <header><${Chip} tone=${turn.role}>${seen(turn.speaker || turn.role)}<//><span class="right quiet"><${When} at=${turn.at} /> <${Ref} id=${turn.turn} /></span></header>
    <${Words} text=${turn.turn === id ? turn.text : turn.text.slice(0, 400) + (turn.text.length > 400 ? "…" : "")} plain=${turn.role === "tool"} /></article>`)}</div>`}<//>`;
}

const Evidence = ({ item: { turns, evidence = [] } }) => html`<h2>Where it was said</h2>
  ${evidence.length > 0 && html`<ul class="lines">${evidence.slice(0, 8).map((line) => html`<li>${seen(line)}</li>`)}</ul>`}
  ${turns.length ? turns.slice(0, 4).map((turn) => html`<${Turn} key=${turn} id=${turn} />`) : html`<p class="quiet">It was not said in a conversation.</p>`}`;

/** What a yes adds and takes the place of. */
const Change = ({ item }) => html`${item.entries.map((text) => html`<div class="entry added"><${Words} text=${text} /></div>`)}
  ${item.replaces.map((older) => html`<div class="entry removed"><p class="quiet">in place of <${Ref} id=${older.id} /></p><${Words} text=${older.text} /></div>`)}`;

/** Chooses what something takes the place of. */
function Older({ item, onDone }) {
  const [words, setWords] = useState(item.title);
  const [hits, setHits] = useState([]);
  useEffect(() => {
    const stop = new AbortController();
    const path = words.trim() ? asking("/v1/memory/search", { q: words.trim(), limit: 8 }) : "/v1/memory?limit=8";
    get(path, stop.signal).then((found) => setHits(found.hits ?? found.items), (e) => e.name !== "AbortError" && sayWrong(e));
    return () => stop.abort();
  }, [words]);
  return html`<div class="edit"><label>In place of what? <input class="wide" type="search" autofocus ref=${(box) => box && !box.dataset.was && (box.dataset.was = "1", box.focus())} value=${words} onInput=${(e) => setWords(e.target.value)} onKeyDown=${(e) => e.key === "Escape" && onDone(null)} /></label>
    <ul class="rows">${hits.map((m) => html`<li><span>${firstLine(m.title)} <span class="quiet">${scopeName(m.scope)}</span></span><button class="small" onClick=${() => onDone(m)}>This</button></li>`)}</ul>
    ${!hits.length && html`<p class="quiet">Nothing remembered has these words.</p>`}<p><button onClick=${() => onDone(null)}>Leave it <kbd>Esc</kbd></button></p></div>`;
}

/** What several yeses would change, file by file. */
function Batch({ items, onYes, onBack }) {
  useKeys({ y: onYes, Escape: onBack });
  const files = new Map();
  for (const item of items) {
    const file = item.kind === "edit" ? item.path ?? "" : `${scopeName(item.scope) || "everywhere"} · ${item.class ?? KINDS[item.kind]}`;
    files.set(file, [...(files.get(file) ?? []), item]);
  }
  return html`<section class="card" aria-label="What would change"><h2>What ${many(items.length, "yes", "yeses")} would change</h2>
    ${[...files].map(([file, of]) => html`<h3>${file}</h3><pre class="diff">${of.flatMap((item) => [...item.replaces.map((older) => ["removed", "− ", older.text]), ...item.entries.map((text) => ["added", "+ ", text])]).map(([kind, mark, text]) => html`<span class=${kind}>${seen(mark + text.trim().replaceAll("\n", `\n${mark}`))}</span>\n`)}</pre>`)}
    <p class="act"><button class="first" onClick=${onYes}>Accept ${items.length} <kbd>y</kbd></button> <button onClick=${onBack}>Back <kbd>Esc</kbd></button></p></section>`;
}

/** What sessions show and evolve has not proposed. */
function Found() {
  const found = useData("/v1/evolve?limit=50");
  const items = (found.body?.items ?? []).filter((one) => one.state === "waiting");
  return items.length > 0 && html`<details class="found"><summary>${many(items.length, "thing")} found in sessions, not proposed yet</summary><p class="quiet">What more sessions show is proposed, at most eight a day for a project. <${Command}>heirloom evolve<//></p>
    <ul class="lines">${items.map((one) => html`<li><${Chip}>${one.class}<//> ${seen(one.text)} <span class="quiet">${scopeName(one.workspace)}, ${many(one.sessions, "session")}</span> <${Refs} ids=${one.evidence.map((e) => e.turn)} /></li>`)}</ul></details>`;
}

export function Review() {
  const waiting = useData("/v1/proposals?limit=200");
  const skills = useData("/v1/skills");
  const [gone, setGone] = useState(new Set());
  const [chosen, setChosen] = useState(new Set());
  const [form, setForm] = useState("");
  const keyOf = (item) => `${item.id} ${item.version}`;
  const items = [...(waiting.body?.items ?? []).filter((item) => item.kind !== "skill"), ...(skills.body?.items ?? []).map(ofSkill)].filter((item) => !gone.has(keyOf(item)));
  const index = Math.max(0, items.findIndex((item) => item.id === at.value.id));
  const item = items[index];
  const batch = items.filter((one) => chosen.has(keyOf(one)));
  const show = (n) => {
    const next = items[Math.max(0, Math.min(items.length - 1, n))];
    if (next) go("review", next.id, {}, true);
    setForm("");
  };
  const mark = (keys, away) => setGone((old) => {
    const now = new Set(old);
    for (const key of keys) if (away) now.add(key); else now.delete(key);
    return now;
  });
  /** They leave at once, and come back where that is refused. */
  const leave = async (those, does) => {
    const keys = those.map(keyOf);
    const rest = items.filter((one) => !keys.includes(keyOf(one)));
    const next = items.slice(index + 1).find((one) => rest.includes(one)) ?? rest.at(-1);
    mark(keys, true);
    setForm("");
    go("review", next?.id ?? "", {}, true);
    try {
      await does();
      setChosen(new Set());
      // It may come back by an undo, as the same version.
      setTimeout(() => mark(keys, false), 1500);
    } catch (problem) {
      mark(keys, false);
      go("review", those[0].id, {}, true);
      sayWrong(problem);
    }
  };
  const told = (verb, ids, title) => {
    decided.push(ids);
    say(`${verb === "accept" ? "Accepted" : "Rejected"}: ${title}`, () => undo(ids));
  };
  const decide = (verb) => item && !form && leave([item], async () => {
    if (item.kind === "skill") {
      const done = await act(`/v1/skills/${part(item.id)}/${verb}`);
      say(verb === "accept" ? `Written: ${done.placed.join(", ")}` : `Rejected: ${item.title}`);
    } else {
      await act(`/v1/proposals/${part(item.id)}/${verb}`, { version: item.version });
      told(verb, [item.id], item.title);
    }
  });
  const decideAll = (answer) => leave(batch, async () => {
    const done = await act("/v1/proposals/decide", { answer, items: batch.filter((one) => one.kind !== "skill").map(({ id, version }) => ({ id, version })) });
    if (done.items.length) told(answer, done.items.map((one) => one.id), many(done.items.length, "item"));
    if (done.refused.length) throw new Problem({ detail: `${many(done.refused.length, "item")} not decided: ${done.refused[0].what}`, next: done.refused[0].next });
  });
  const inPlaceOf = (older) => (older ? leave([item], async () => {
    const done = await act(`/v1/proposals/${part(item.id)}/accept`, { version: item.version });
    const by = done.memories[0]?.id;
    if (!by) throw new Problem({ detail: "It was accepted, and is no memory that could take the place of one." });
    await act(`/v1/memory/${part(older.id)}/supersede`, { by });
    say(`Accepted, in place of: ${older.title}`);
  }) : setForm(""));
  const choose = (one) => setChosen((old) => {
    const now = new Set(old);
    if (!now.delete(keyOf(one))) now.add(keyOf(one));
    return now;
  });
  const isMemory = item && ["proposal", "noticed"].includes(item.kind) && item.class !== "profile";
  const open = (name, may) => () => may && !form && setForm(name);
  useKeys({ y: () => decide("accept"), n: () => decide("reject"), e: open("edit", item && item.kind !== "skill" && item.kind !== "matter"), s: open("older", isMemory), x: () => item && item.kind !== "skill" && choose(item), z: () => undo(), j: () => show(index + 1), k: () => show(index - 1), ArrowDown: () => show(index + 1), ArrowUp: () => show(index - 1), u: () => go("now") });
  return html`
    <${Heading} more=${item && html`<span class="quiet">${index + 1} of ${waiting.body?.next ? "more than " : ""}${items.length}</span>`}>Review<//>
    ${batch.length > 0 && form !== "batch" && html`<p class="notice row"><span>${many(batch.length, "item")} selected</span><span><button class="small" onClick=${() => setForm("batch")}>See what a yes changes</button> <button class="small" onClick=${() => decideAll("reject")}>Reject all</button> <button class="small" onClick=${() => setChosen(new Set())}>Select none</button></span></p>`}
    ${form === "batch" && batch.length > 0 ? html`<${Batch} items=${batch} onYes=${() => decideAll("accept")} onBack=${() => setForm("")} />` : html`
    <${Shown} of=${waiting}>${() => (!item ? html`<p class="empty">Nothing waits for you.${decided.length ? html` <button class="small" onClick=${() => undo()}>Undo the last <kbd>z</kbd></button>` : ""}</p>` : html`
      <div class="two review" key=${item.id}><section class="card" aria-label="What waits">
        <p><${Chip}>${KINDS[item.kind] ?? item.kind}<//> <${Chip}>${item.class ?? ""}<//> <${Chip}>${scopeName(item.scope)}<//>${item.confidence != null && html`<span class="quiet"> ${Math.round(item.confidence * 100)} % sure</span>`}${item.seen > 1 && html`<span class="quiet"> · noticed ${many(item.seen, "time")}</span>`}</p>
        <h2>${seen(item.title)}</h2>
        ${item.about && html`<p class="quiet">${seen(item.about)}</p>`}
        ${form === "edit" ? html`<${Edit} path=${`/v1/proposals/${part(item.id)}`} texts=${(body) => body.entries.map((text, n, all) => ({ name: all.length > 1 ? `Text ${n + 1}` : "Text", text }))} body=${(entries) => ({ entries })} done="Changed; it still waits for your yes." onDone=${() => setForm("")} />` : html`<${Change} item=${item} />`}
        ${item.problem && html`<p class="notice">${seen(item.problem)}</p>`}
        ${form === "older" && html`<${Older} item=${item} onDone=${inPlaceOf} />`}
        ${!form && html`<p class="act"><button class="first" onClick=${() => decide("accept")}>Accept <kbd>y</kbd></button> <button onClick=${() => decide("reject")}>Reject <kbd>n</kbd></button> ${item.kind !== "skill" && item.kind !== "matter" && html`<button onClick=${() => setForm("edit")}>Edit <kbd>e</kbd></button>`} ${isMemory && html`<button onClick=${() => setForm("older")}>In place of… <kbd>s</kbd></button>`} <button onClick=${() => undo()} disabled=${!decided.length}>Undo <kbd>z</kbd></button></p>`}
        ${item.kind === "skill" && html`<p class="quiet">A yes writes it into the project's folder of the memory. Where a program reads it: <${Command}>heirloom skill accept ${item.id} --into claude<//></p>`}
        <p class="quiet">${item.path && html`${item.path} · `}${item.since && html`waits since <${When} at=${item.since} form="near" />`}</p>
      </section><aside aria-label="Where it was said"><${Evidence} item=${item} /></aside></div>
      <${Part} id="all" title="All that waits"><ul class="rows waiting-list">${items.map((one) => html`<li key=${one.id}><span><input type="checkbox" aria-label=${`Select ${one.title}`} disabled=${one.kind === "skill"} checked=${chosen.has(keyOf(one))} onChange=${() => choose(one)} /> <a href=${`#/review/${part(one.id)}`} aria-current=${one === item ? "true" : null}>${firstLine(one.title, 90)}</a></span><span class="quiet">${KINDS[one.kind] ?? one.kind}</span></li>`)}</ul><//>`)}<//>`}
    <${Found} />`;
}
