// Review: items that wait for a yes, one card at a time, with their source beside them. Each decision names the version
// of the card it was made on. A decision on several cards shows first what would change.
import {
  act, Acts, asking, at, button, chip, command, doing, Edit, el, Field, firstLine, go, Heading, href, joined, lines,
  Load, many, near, note, part, Problem, quiet, ref, rows, say, sayWrong, scopeName, section, seen, shown, small, undo,
  useData, useKeys, useState, Words,
} from "../parts.js";
import { turnCard } from "./reader.js";

const KINDS = {
  proposal: "Proposed", noticed: "Noticed", supersession: "In place of something older", edit: "Words kept aside",
  skill: "Procedure", matter: "What a model says of an open loop",
};
const kindOf = (item) => KINDS[item.kind] ?? item.kind;
/** An item as it was seen. */
const keyOf = (item) => `${item.id} ${item.version}`;
const pathOf = (item) => `/v1/${item.kind === "skill" ? "skills" : "proposals"}/${part(item.id)}`;

/** A procedure that recurs, as something that waits. */
const ofSkill = ({ id, name, draft, workspace, evidence, succeeded, runs, sessions, steps }) => ({
  id,
  kind: "skill",
  title: name,
  entries: [draft],
  scope: `workspace/${workspace}`,
  replaces: [],
  version: `${sessions}/${runs}`,
  turns: evidence.flatMap((run) => run.turns.slice(0, 1)),
  evidence: evidence.map((run) => `${run.session}: ${run.turns.join(" ")}`),
  about: `${succeeded} of ${runs} runs succeeded, in ${many(sessions, "session")}: ${steps.join(" → ")}`,
});

/** The way back from decisions. */
const takeBack = (ids) => () => doing("/v1/proposals/undo", { items: ids }, ({ items, refused: [no] }) => (no
  ? `${no.what} (${no.next})` : `Undone: ${items.length === 1 ? items[0].title : many(items.length, "decision")}`))
  .then(() => go("review", ids[0], {}, true));

const told = (verb, ids, title) => say(`${verb === "accept" ? "Accepted" : "Rejected"}: ${title}`, takeBack(ids));

const around = (id) => el(Load, { key: id, path: asking(`/v1/turns/${part(id)}`, { around: 1 }) }, ({ turns }) =>
  el("div.evidence", turns.map((turn) => {
    const isAt = turn.turn === id;
    const text = !isAt && turn.text.length > 400 ? `${turn.text.slice(0, 400)}…` : turn.text;
    return turnCard({ ...turn, text }, { is: isAt ? "at" : "beside", more: [near(turn.at), " ", ref(turn.turn)] });
  })));

/** What a yes adds and takes the place of. */
const change = ({ entries, replaces }) => [
  entries.map((text) => el("div.entry.added", el(Words, { text }))),
  replaces.map(({ id, text }) => el("div.entry.removed", note("in place of ", ref(id)), el(Words, { text }))),
];

/** Chooses what something takes the place of. */
function Older({ item, onDone }) {
  const [q, setWords] = useState(item.title);
  const { body, before } = useData(asking(q ? "/v1/memory/search" : "/v1/memory", { q, limit: 8 }));
  const found = body ?? before;
  const hits = found?.hits ?? found?.items ?? [];
  const onKeyDown = (e) => e.key === "Escape" && onDone();
  return el("div.edit",
    el("label", "In place of what? ", el(Field, { class: "wide", words: item.title, onWords: setWords, onKeyDown })),
    rows(hits, (m) => el("li",
      el("span", firstLine(m.title), " ", quiet(scopeName(m.scope))), small("This", () => onDone(m)))),
    found && !hits.length && note("Nothing remembered has these words."),
    el("p", button("Leave it", () => onDone(), "Esc")));
}

/** What several yeses would change, file by file. */
function Batch({ items, onYes, onBack }) {
  const fileOf = (item) => (item.kind === "edit" ? item.path ?? ""
    : `${scopeName(item.scope) || "everywhere"} · ${item.class ?? kindOf(item)}`);
  const line = (kind, mark, text) =>
    [el(`span.${kind}`, seen(mark + text.trim().replaceAll("\n", `\n${mark}`))), "\n"];
  return el("section.card", { "aria-label": "What would change" },
    el("h2", `What ${many(items.length, "yes", "yeses")} would change`),
    Object.entries(Object.groupBy(items, fileOf)).map(([file, of]) => [el("h3", file), el("pre.diff", of.map((item) => [
      item.replaces.map((older) => line("removed", "− ", older.text)),
      item.entries.map((text) => line("added", "+ ", text)),
    ]))]),
    el(Acts, { of: [[`Accept ${items.length}`, onYes, "y"], ["Back", onBack, "Esc"]] }));
}

export function Review() {
  const waiting = useData("/v1/proposals?limit=200");
  const skills = useData("/v1/skills").body?.items ?? [];
  const [gone, setGone] = useState([]);
  const [chosen, setChosen] = useState([]);
  const [form, setForm] = useState("");
  const known = (waiting.body?.items ?? []).filter((one) => one.kind !== "skill");
  const items = [...known, ...skills.map(ofSkill)].filter((one) => !gone.includes(keyOf(one)));
  const index = Math.max(0, items.findIndex((one) => one.id === at.value.id));
  const item = items[index];
  const batch = items.filter((one) => chosen.includes(keyOf(one)));
  const isSkill = item?.kind === "skill";
  const isMemory = ["proposal", "noticed"].includes(item?.kind) && item.class !== "profile";
  const mayEdit = item && !isSkill && item.kind !== "matter";
  const close = () => setForm("");
  const show = (one) => {
    go("review", one?.id, {}, true);
    close();
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
  const decide = (verb) => () => leave([item], async () => {
    const done = await act(`${pathOf(item)}/${verb}`, isSkill ? {} : { version: item.version });
    if (!isSkill) told(verb, [item.id], item.title);
    else say(verb === "accept" ? `Written: ${done.placed.join(", ")}` : `Rejected: ${item.title}`);
  });
  const decideAll = (answer) => () => leave(batch, async () => {
    const those = batch.map(({ id, version }) => ({ id, version }));
    const { items: done, refused } = await act("/v1/proposals/decide", { answer, items: those });
    if (done.length) told(answer, done.map((one) => one.id), many(done.length, "item"));
    const [no] = refused;
    if (no) throw new Problem({ detail: `${many(refused.length, "item")} not decided: ${no.what}`, next: no.next });
  });
  const inPlaceOf = (older) => (older ? leave([item], async () => {
    const by = (await act(`${pathOf(item)}/accept`, { version: item.version })).memories[0]?.id;
    if (!by) throw new Problem({ detail: "It was accepted, and is no memory that could take the place of one." });
    await act(`/v1/memory/${part(older.id)}/supersede`, { by });
    say(`Accepted, in place of: ${older.title}`);
  }) : close());
  const choose = (one) => {
    const key = keyOf(one);
    setChosen(chosen.includes(key) ? chosen.filter((other) => other !== key) : [...chosen, key]);
  };
  const [down, up] = [move(1), move(-1)];
  useKeys({ x: () => item && !isSkill && choose(item), j: down, k: up, ArrowDown: down, ArrowUp: up });
  const texts = ({ entries }) =>
    entries.map((text, n) => ({ name: entries.length > 1 ? `Text ${n + 1}` : "Text", text }));
  const save = (entries, rests) => act(`${pathOf(item)}/edit`, { entries }, rests)
    .then(() => say("Changed; it still waits for your yes."));
  const card = () => el("section.card", { "aria-label": "What waits" },
    el("p", chip(kindOf(item)), chip(item.class), chip(scopeName(item.scope)), quiet(joined([
      item.confidence != null && `${Math.round(item.confidence * 100)} % sure`,
      item.seen > 1 && `noticed ${many(item.seen, "time")}`,
    ], " · "))),
    el("h2", seen(item.title)),
    item.about && note(seen(item.about)),
    form === "edit" ? el(Edit, { path: pathOf(item), texts, save, onDone: close }) : change(item),
    item.problem && el("p.notice", seen(item.problem)),
    form === "older" && el(Older, { item, onDone: inPlaceOf }),
    !form && el(Acts, {
      of: [
        ["Accept", decide("accept"), "y"],
        ["Reject", decide("reject"), "n"],
        mayEdit && ["Edit", () => setForm("edit"), "e"],
        isMemory && ["In place of…", () => setForm("older"), "s"],
        ["Undo", undo, "z"],
      ],
    }),
    isSkill && note("A yes writes it into the project's folder of the memory. Where a program reads it: ",
      command(`heirloom skill accept ${item.id} --into claude`)),
    note(item.path && `${item.path} · `, item.since && ["waits since ", near(item.since)]));
  const line = (one) => el("li", { key: one.id }, el("span",
    el("input", {
      type: "checkbox", "aria-label": `Select ${one.title}`, disabled: one.kind === "skill",
      checked: chosen.includes(keyOf(one)), onChange: () => choose(one),
    }), " ",
    el("a", { href: href("review", one.id), "aria-current": one === item }, firstLine(one.title, 90)),
  ), quiet(kindOf(one)));
  const waits = () => [
    el("div.two.review", { key: item.id }, card(),
      el("aside", { "aria-label": "Where it was said" }, el("h2", "Where it was said"),
        item.evidence?.length > 0 && lines(item.evidence.slice(0, 8), seen),
        item.turns.length ? item.turns.slice(0, 4).map(around) : note("It was not said in a conversation."))),
    section("All that waits", el("div.waiting-list", rows(items, line))),
  ];
  const place = item && quiet(`${index + 1} of `, waiting.body?.next && "more than ", items.length);
  return [
    el(Heading, { more: place }, "Review"),
    batch.length > 0 && form !== "batch" && el("p.notice.row", el("span", many(batch.length, "item"), " selected"),
      el("span", small("See what a yes changes", () => setForm("batch")), " ",
        small("Reject all", decideAll("reject")), " ", small("Select none", () => setChosen([])))),
    form === "batch" && batch.length > 0 ? el(Batch, { items: batch, onYes: decideAll("accept"), onBack: close })
      : shown(waiting, () => (item ? waits() : el("p.empty", "Nothing waits for you."))),
  ];
}
