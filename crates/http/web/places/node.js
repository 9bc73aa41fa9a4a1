// The page of a reference: a summary with its parents and children, down to the words; and anything else an id names.
import {
  asking, at, chip, el, facts, fieldsOf, firstLine, go, Heading, href, lines, link, many, near, note, number, quiet,
  ref, refs, row, rows, sayings, section, seen, shown, useData, useKeys, when, Words,
} from "../parts.js";
import { turnCard } from "./reader.js";

/** Where a turn stands among all. */
export const place = (turn) => parseInt(turn.slice(1), 16);

// A session's bar is above its chunks.
const level = ({ depth, kind }) => depth * 2 + (kind === "session" ? 1 : 0);

/** Summaries as strata over the turns they cover: further right is later, further up is made of what is below. */
export function strata(nodes, current) {
  const all = nodes.filter((node) => node.turns?.[0]).slice(0, 400)
    .map((node) => ({ ...node, start: place(node.turns[0]), end: place(node.turns[1]) + 1 }));
  if (all.length < 2) {
    return all.map(({ id, summary }) =>
      note("Summary: ", link(href("node", id), firstLine(summary, 120) || id)));
  }
  const from = Math.min(...all.map((node) => node.start));
  const percent = 100 / (Math.max(...all.map((node) => node.end)) - from);
  // A bar takes the lowest row that is free for its span.
  const strata = [];
  for (const node of all.sort((a, b) => level(a) - level(b) || a.start - b.start)) {
    const free = strata.find((of) => level(of[0]) === level(node) && of.at(-1).end <= node.start);
    if (free) free.push(node);
    else strata.push([node]);
  }
  const bar = ({ id, kind, count, summary, start, end }) => el("a", {
    href: href("node", id),
    "aria-current": id === current,
    "aria-label": `${kind}, ${many(count, "turn")}`,
    title: `${kind} ${id}: ${many(count, "turn")}\n${summary.slice(0, 300)}`,
    style: { left: `${(start - from) * percent}%`, width: `${Math.max(0.4, (end - start) * percent)}%` },
  });
  return el("div.strata", { role: "group", "aria-label": "Summaries over the turns, the broadest above" },
    strata.reverse().map((of) => el(`div.stratum.depth${Math.min(of[0].depth, 3)}`, of.map(bar))));
}

const KINDS = { chunk: "Chunk", session: "Summary of a session", compaction: "Compaction" };
const SOURCES = { harness: "its program", deterministic: "rules", model: "a model" };
const PARTS = {
  constraints: "Holds", requirements: "Asked for", decisions: "Decided", done: "Done", in_progress: "In progress",
  blocked: "Blocked", next_steps: "Next", open_loops: "Open", fixed: "Mended", context: "To know",
};

/** What a summary says, item by item, each with its turns. */
const distilled = (of) => [
  sayings("Goal", of.goal && [of.goal]),
  Object.entries(PARTS).map(([name, title]) => sayings(title, of[name])),
  of.files?.length > 0 && section("Files", lines(of.files, ({ path, touch, turns }) =>
    [el("code", seen(path)), " ", quiet(touch), " ", refs(turns.slice(-3))])),
];

export const nodeRow = (node, about) => row(href("node", node.id), firstLine(node.summary) || node.id, [
  chip(node.kind), about ?? [many(node.count, "turn"), " · ", near(node.time?.[1])],
  node.abandoned && " · on a branch that was left",
]);
const nodeRows = (nodes) => rows(nodes, (node) => nodeRow(node));

function summary({ node, ancestors, parents, children, siblings, neighbours, linked, more_below: more }) {
  const files = [...linked.memory, ...linked.open_loops, ...linked.proposals];
  const above = [...ancestors.toReversed(), ...parents.slice(0, 1)];
  const up = [
    node.session ? [href("session", node.session), "Session"] : [href("threads", node.thread), "Thread"],
    ...above.map(({ id, kind }) => [href("node", id), `${kind} ${id}`]),
  ];
  const beside = (other, words) => other && [link(href("node", other.id), words), " "];
  return [
    el(Heading, { up }, KINDS[node.kind] ?? "Summary of summaries", " ", quiet(node.id)),
    strata([...ancestors, ...parents, node, ...siblings, ...children], node.id),
    facts({
      Covers: [many(node.count, "turn"), ": ", ref(node.turns[0]), " to ", ref(node.turns[1])],
      When: [when(node.time[0]), " – ", when(node.time[1])],
      "Made by": SOURCES[node.source],
      Tokens: `${number(node.tokens.source)} → ${number(node.tokens.summary)}`,
      "In place of": ref(node.replaces),
      "Replaced by": ref(node.replaced_by),
    }),
    node.forgotten ? el("p.notice", "Its words were forgotten; where it stood is kept.") : el("div.two",
      el("div", el(Words, { text: node.summary })),
      el("aside", { "aria-label": "What it says, with where it was said" }, distilled(node.distillate))),
    children.length > 0 && section("Made of", nodeRows(children), more && note("There are more.")),
    node.session && el("p",
      el("a.step.button", { href: href("session", node.session, { at: node.turns[0] }) }, "Read the words")),
    files.length > 0 && section("What came of it", rows(files, (file) =>
      el("li", ref(file.id ?? file.path, firstLine(file.title)), " ", chip(file.class ?? file.status)))),
    note(beside(neighbours.before.at(-1), "← before"), beside(neighbours.after[0], "after →")),
  ];
}

const ofTurn = ({ nodes, transcript }, id) => [
  el(Heading, { up: [[href("turn", id), "In its session"]] }, "What ", id, " is part of"),
  transcript?.turns.map((turn) => turnCard(turn)),
  nodes.length ? [strata(nodes), nodeRows(nodes)] : el("p.empty", "No summary covers it yet."),
];

/** Whatever else an id names, as fields. */
function anything(body, id) {
  const { file, pending, channel, quarantine, thread, source, nodes } = body;
  const { title, label, text, agent_id: _, ...of } = file ?? pending ?? channel ?? quarantine ?? thread ?? body;
  return [
    el(Heading, firstLine(title ?? label ?? id, 300)),
    facts(fieldsOf(of)),
    typeof text === "string" && el(Words, { text }),
    source?.turns?.length > 0 && el("p", "Said in ", refs(source.turns)),
    nodes?.length > 0 && nodeRows(nodes),
  ];
}

export function Node() {
  const { id } = at.value;
  const found = useData(asking("/v1/expand", { id, transcript: /^t[0-9a-f]+$/.test(id) }));
  const above = found.body?.turn && found.body.nodes?.[0];
  useKeys({ u: () => (above ? go("node", above.id) : false) });
  return shown(found, (body) => {
    if (body.node) return summary(body);
    return body.turn && body.nodes ? ofTurn(body, id) : anything(body, id);
  }, "", id);
}
