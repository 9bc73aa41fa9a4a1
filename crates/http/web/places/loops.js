// Loops: open commitments. One key resolves one, another undoes that.
import {
  asking, at, button, chip, doing, el, facts, firstLine, go, Heading, href, List, Load, near, part, quiet, refs, row,
  scopeName, sessionRef, tabs, useData, useState, when, Words,
} from "../parts.js";

const verb = (id, does) => `/v1/loops/${part(id)}/${does}`;
const reopen = ({ id, title }) => doing(verb(id, "reopen"), {}, `Open again: ${title}`);

function resolve(item, note) {
  let { id } = item;
  return doing(verb(id, "resolve"), note ? { note } : {}, (done) => {
    // An item without a file gets another id when it is resolved.
    id = done.id || id;
    return `Resolved: ${item.title}`;
  }, () => reopen({ ...item, id }));
}

const dueOf = (item) => item.due ?? item.fields?.due;
const where = (item) => scopeName(item.scope ?? item.thread);

export function LoopLine({ item }) {
  const [goes, setGoes] = useState(false);
  const due = dueOf(item);
  const isLate = due < new Date().toISOString().slice(0, 10);
  const onClick = async () => {
    setGoes(true);
    // The focused button vanishes with its line: the next line takes the focus.
    const all = [...document.querySelectorAll("[data-loop] .step")];
    const now = all.findIndex((step) => step.closest("[data-loop]").dataset.loop === item.id);
    (all[now + 1] ?? all[now - 1])?.focus();
    if (!(await resolve(item))) setGoes(false);
  };
  return el("li", { "data-loop": item.id, class: goes ? "going" : "" },
    el("a.step.main", { href: href("loops", item.id) }, firstLine(item.title || item.text || item.id)),
    quiet(due && chip(["due ", when(due)], isLate ? "late" : ""), where(item), item.since && [" · ", near(item.since)]),
    el("button.small.resolve", { disabled: goes, onClick },
      "Resolve ", el("span.unseen", item.title), el("kbd", { "aria-hidden": "true" }, "r")));
}

const line = (item) => (item.status === "resolved"
  ? row(href("loops", item.id), firstLine(item.title), chip("resolved"), true)
  : el(LoopLine, { key: item.id, item }));

export function Loops() {
  const { resolved } = at.value.query;
  const views = tabs([href("loops"), "Open", !resolved], [href("loops", "", { resolved: true }), "Resolved", resolved]);
  return [
    el(Heading, { more: views }, "Loops"),
    el(List, { path: asking("/v1/loops", { limit: 200, resolved }), line, empty: "Nothing is open." }),
  ];
}

export function Loop() {
  const { id } = at.value;
  const from = useData(asking("/v1/expand", { id })).body?.source;
  const [note, setNote] = useState("");
  const ends = (item) => async () => { if (await resolve(item, note.trim())) go("loops"); };
  return el(Load, { path: `/v1/loops/${part(id)}`, of: id }, (item) => [
    el(Heading, { up: [[href("loops"), "Loops"]] }, firstLine(item.title, 300)),
    facts({
      State: item.status ?? "open, without a file yet",
      Due: when(dueOf(item)),
      Where: where(item),
      File: item.path,
      "Said in": refs(item.turns ?? from?.turns),
      Session: sessionRef(from?.session),
      Wrong: item.problem,
    }),
    el(Words, { text: item.body ?? item.text ?? "" }),
    item.status === "resolved" ? el("p", button("Open again", () => reopen(item))) : el("div.act",
      el("label", "How it ended ", el("input.wide", { value: note, onInput: (e) => setNote(e.target.value) })),
      button("Resolve", ends(item), "r", { class: "resolve first" })),
  ]);
}
