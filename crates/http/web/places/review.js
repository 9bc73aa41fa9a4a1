// Review: items that wait for a yes, one card at a time, with their source beside them. Each decision names the version of
// the card it was made on. A decision on several cards shows first what would change.
import { act, asking, at, chip, command, doing, Edit, firstLine, go, Heading, href, html, Load, many, near, part, Problem, ref, rows, say, sayWrong, scopeName, section, seen, shown, undo, useData, useKeys, useLayoutEffect, useRef, useSettled, useState, Words } from "../parts.js";
import { turnCard } from "./reader.js";

const KINDS = { proposal: "Proposed", noticed: "Noticed", supersession: "In place of something older", edit: "Words kept aside", skill: "Procedure", matter: "What a model says of an open loop" };
const kindOf = (item) => KINDS[item.kind] ?? item.kind;
/** An item as it was seen. */
const keyOf = (item) => `${item.id} ${item.version}`;
const pathOf = (item) => `/v1/${item.kind === "skill" ? "skills" : "proposals"}/${part(item.id)}`;

/** A procedure that recurs, as something that waits. */
const ofSkill = ({ id, name, draft, workspace, evidence, succeeded, runs, sessions, steps }) => ({
  id, kind: "skill", title: name, entries: [draft], scope: `workspace/${workspace}`, replaces: [], version: `${sessions}/${runs}`,
  turns: evidence.flatMap((run) => run.turns.slice(0, 1)), evidence: evidence.map((run) => `${run.session}: ${run.turns.join(" ")}`),
  about: `${succeeded} of ${runs} runs succeeded, in ${many(sessions, "session")}: ${steps.join(" → ")}`,
});

/** The way back from decisions. */
const takeBack = (ids) => () => doing("/v1/proposals/undo", { items: ids }, ({ items, refused: [no] }) => (no ? `${no.what} (${no.next})` : `Undone: ${items.length === 1 ? items[0].title : many(items.length, "decision")}`)).then(() => go("review", ids[0], {}, true));

const told = (verb, ids, title) => say(`${verb === "accept" ? "Accepted" : "Rejected"}: ${title}`, takeBack(ids));

const around = (id) => html`<${Load} key=${id} path=${asking(`/v1/turns/${part(id)}`, { around: 1 })}>${({ turns }) => html`<div class="evidence">${turns.map((turn) => {
  const isAt = turn.turn === id;
  const more = !isAt && turn.text.length > 400;
  return turnCard({ ...turn, text: more ? `${turn.text.slice(0, 400)}…` : turn.text }, { is: isAt ? "at" : "beside", more: html`${near(turn.at)} ${ref(turn.turn)}` });
})}</div>`}<//>`;

/** What a yes adds and takes the place of. */
const change = ({ entries, replaces }) => html`${entries.map((text) => html`<div class="entry added"><${Words} text=${text} /></div>`)}${replaces.map((older) => html`<div class="entry removed"><p class="quiet">in place of ${ref(older.id)}</p><${Words} text=${older.text} /></div>`)}`;

/** Chooses what something takes the place of. */
function Older({ item, onDone }) {
  const [words, setWords] = useState(item.title);
  const field = useRef();
  useLayoutEffect(() => field.current.focus(), []);
  const q = useSettled(words.trim());
  const { body, before } = useData(asking(q ? "/v1/memory/search" : "/v1/memory", { q, limit: 8 }));
  const found = body ?? before;
  const hits = found?.hits ?? found?.items ?? [];
  return html`<div class="edit"><label>In place of what? <input class="wide" type="search" ref=${field} value=${words} onInput=${(e) => setWords(e.target.value)} onKeyDown=${(e) => e.key === "Escape" && onDone()} /></label>
    ${rows(hits, (m) => html`<li><span>${firstLine(m.title)} <span class="quiet">${scopeName(m.scope)}</span></span><button class="small" onClick=${() => onDone(m)}>This</button></li>`)}
    ${found && !hits.length && html`<p class="quiet">Nothing remembered has these words.</p>`}<p><button onClick=${() => onDone()}>Leave it <kbd>Esc</kbd></button></p></div>`;
}

/** What several yeses would change, file by file. */
function Batch({ items, onYes, onBack }) {
  useKeys({ y: onYes, Escape: onBack });
  const files = Object.groupBy(items, (item) => (item.kind === "edit" ? item.path ?? "" : `${scopeName(item.scope) || "everywhere"} · ${item.class ?? kindOf(item)}`));
  const line = (kind, mark, text) => html`<span class=${kind}>${seen(mark + text.trim().replaceAll("\n", `\n${mark}`))}</span>\n`;
  return html`<section class="card" aria-label="What would change"><h2>What ${many(items.length, "yes", "yeses")} would change</h2>
    ${Object.entries(files).map(([file, of]) => html`<h3>${file}</h3><pre class="diff">${of.map((item) => [item.replaces.map((older) => line("removed", "− ", older.text)), item.entries.map((text) => line("added", "+ ", text))])}</pre>`)}
    <p class="act"><button class="first" onClick=${onYes}>Accept ${items.length} <kbd>y</kbd></button> <button onClick=${onBack}>Back <kbd>Esc</kbd></button></p></section>`;
}

export function Review() {
  const waiting = useData("/v1/proposals?limit=200");
  const skills = useData("/v1/skills").body?.items ?? [];
  const [gone, setGone] = useState([]);
  const [chosen, setChosen] = useState([]);
  const [form, setForm] = useState("");
  const items = [...(waiting.body?.items ?? []).filter((one) => one.kind !== "skill"), ...skills.map(ofSkill)].filter((one) => !gone.includes(keyOf(one)));
  const index = Math.max(0, items.findIndex((one) => one.id === at.value.id));
  const item = items[index];
  const batch = items.filter((one) => chosen.includes(keyOf(one)));
  const isSkill = item?.kind === "skill";
  const isMemory = ["proposal", "noticed"].includes(item?.kind) && item.class !== "profile";
  const mayEdit = item && !isSkill && item.kind !== "matter";
  const show = (one) => {
    go("review", one?.id, {}, true);
    setForm("");
  };
  const move = (by) => () => show(items[index + by] ?? item);
  /** They leave at once, and come back where that is refused. */
  const leave = async (those, does) => {
    const keys = those.map(keyOf);
    const rest = (all) => all.filter((one) => !those.includes(one));
    setGone((old) => [...old, ...keys]);
    show(rest(items.slice(index + 1))[0] ?? rest(items).at(-1));
    const back = () => setGone((old) => old.filter((key) => !keys.includes(key)));
    try {
      await does();
      setChosen([]);
      // An undo may bring the card back as the same version.
      setTimeout(back, 1500);
    } catch (problem) {
      back();
      show(those[0]);
      sayWrong(problem);
    }
  };
  const decide = (verb) => () => item && !form && leave([item], async () => {
    const done = await act(`${pathOf(item)}/${verb}`, isSkill ? {} : { version: item.version });
    if (!isSkill) told(verb, [item.id], item.title);
    else say(verb === "accept" ? `Written: ${done.placed.join(", ")}` : `Rejected: ${item.title}`);
  });
  const decideAll = (answer) => () => leave(batch, async () => {
    const { items: done, refused } = await act("/v1/proposals/decide", { answer, items: batch.map(({ id, version }) => ({ id, version })) });
    if (done.length) told(answer, done.map((one) => one.id), many(done.length, "item"));
    if (refused.length) throw new Problem({ detail: `${many(refused.length, "item")} not decided: ${refused[0].what}`, next: refused[0].next });
  });
  const inPlaceOf = (older) => (older ? leave([item], async () => {
    const by = (await act(`${pathOf(item)}/accept`, { version: item.version })).memories[0]?.id;
    if (!by) throw new Problem({ detail: "It was accepted, and is no memory that could take the place of one." });
    await act(`/v1/memory/${part(older.id)}/supersede`, { by });
    say(`Accepted, in place of: ${older.title}`);
  }) : setForm(""));
  const choose = (one) => setChosen(chosen.includes(keyOf(one)) ? chosen.filter((key) => key !== keyOf(one)) : [...chosen, keyOf(one)]);
  const open = (name, may) => () => may && !form && setForm(name);
  useKeys({ y: decide("accept"), n: decide("reject"), e: open("edit", mayEdit), s: open("older", isMemory), x: () => item && !isSkill && choose(item), j: move(1), k: move(-1), ArrowDown: move(1), ArrowUp: move(-1) });
  const button = (words, key, does) => html`<button class=${key === "y" ? "first" : ""} onClick=${does}>${words} <kbd>${key}</kbd></button> `;
  const save = (entries, rests) => act(`${pathOf(item)}/edit`, { entries }, rests).then(() => say("Changed; it still waits for your yes."));
  const card = () => html`<div class="two review" key=${item.id}><section class="card" aria-label="What waits">
      <p>${chip(kindOf(item))}${chip(item.class)}${chip(scopeName(item.scope))}<span class="quiet">${[item.confidence != null && `${Math.round(item.confidence * 100)} % sure`, item.seen > 1 && `noticed ${many(item.seen, "time")}`].filter(Boolean).join(" · ")}</span></p>
      <h2>${seen(item.title)}</h2>
      ${item.about && html`<p class="quiet">${seen(item.about)}</p>`}
      ${form === "edit" ? html`<${Edit} path=${pathOf(item)} texts=${({ entries }) => entries.map((text, n) => ({ name: entries.length > 1 ? `Text ${n + 1}` : "Text", text }))} save=${save} onDone=${() => setForm("")} />` : change(item)}
      ${item.problem && html`<p class="notice">${seen(item.problem)}</p>`}
      ${form === "older" && html`<${Older} item=${item} onDone=${inPlaceOf} />`}
      ${!form && html`<p class="act">${button("Accept", "y", decide("accept"))}${button("Reject", "n", decide("reject"))}${mayEdit && button("Edit", "e", () => setForm("edit"))}${isMemory && button("In place of…", "s", () => setForm("older"))}${button("Undo", "z", undo)}</p>`}
      ${isSkill && html`<p class="quiet">A yes writes it into the project's folder of the memory. Where a program reads it: ${command(`heirloom skill accept ${item.id} --into claude`)}</p>`}
      <p class="quiet">${item.path && `${item.path} · `}${item.since && html`waits since ${near(item.since)}`}</p>
    </section><aside aria-label="Where it was said"><h2>Where it was said</h2>
      ${item.evidence?.length > 0 && html`<ul class="lines">${item.evidence.slice(0, 8).map((line) => html`<li>${seen(line)}</li>`)}</ul>`}
      ${item.turns.length ? item.turns.slice(0, 4).map(around) : html`<p class="quiet">It was not said in a conversation.</p>`}</aside></div>
    ${section("All that waits", html`<div class="waiting-list">${rows(items, (one) => html`<li key=${one.id}><span><input type="checkbox" aria-label=${`Select ${one.title}`} disabled=${one.kind === "skill"} checked=${chosen.includes(keyOf(one))} onChange=${() => choose(one)} /> <a href=${href("review", one.id)} aria-current=${one === item ? "true" : null}>${firstLine(one.title, 90)}</a></span><span class="quiet">${kindOf(one)}</span></li>`)}</div>`)}`;
  return html`
    <${Heading} more=${item && html`<span class="quiet">${index + 1} of ${waiting.body?.next && "more than "}${items.length}</span>`}>Review<//>
    ${batch.length > 0 && form !== "batch" && html`<p class="notice row"><span>${many(batch.length, "item")} selected</span><span><button class="small" onClick=${() => setForm("batch")}>See what a yes changes</button> <button class="small" onClick=${decideAll("reject")}>Reject all</button> <button class="small" onClick=${() => setChosen([])}>Select none</button></span></p>`}
    ${form === "batch" && batch.length > 0
      ? html`<${Batch} items=${batch} onYes=${decideAll("accept")} onBack=${() => setForm("")} />`
      : shown(waiting, () => (item ? card() : html`<p class="empty">Nothing waits for you.</p>`))}`;
}
