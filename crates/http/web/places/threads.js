// Threads: pieces of work across sessions and programs, and the state of each.
import {
  asking, at, chip, el, facts, firstLine, Heading, href, link, List, Load, many, nameOf, near, number, part, program,
  quiet, refs, row, rows, sayings, section, tabs, useData, when, Words,
} from "../parts.js";
import { nodeRow } from "./node.js";

const line = (t) => row(href("threads", t.thread),
  [firstLine(t.label), t.goal && t.goal !== t.label && el("span.goal", firstLine(t.goal))],
  [chip(t.kind), t.state !== "active" && chip(t.state), many(t.sessions, "session"), " · ", many(t.runs, "prompt"),
    " · ", near(t.last_at)]);

export function Threads() {
  const { all } = at.value.query;
  const views = tabs([href("threads"), "Active", !all], [href("threads", "", { all: true }), "All", all]);
  return [
    el(Heading, { more: views }, "Threads"),
    el(List, { path: asking("/v1/threads", { limit: 200, all }), line, empty: "No thread is active." }),
  ];
}

export function Thread() {
  const { id } = at.value;
  return el(Load, { path: `/v1/threads/${part(id)}`, of: id }, ({ thread: t, state, sessions, nodes, ...of }) => [
    el(Heading, { up: [[href("threads"), "Threads"]] }, firstLine(t.label, 300)),
    facts({
      Key: t.thread,
      State: t.state,
      Last: when(t.last_at),
      Programs: of.programs.map(program).join(", "),
      Turns: number(t.turns),
      People: of.people.join(", "),
      "Also called": of.names.join(", "),
      Page: t.page,
      Linked: of.links.length > 0 && of.links.map((other) => [link(href("threads", other.thread), other.label), " "]),
    }),
    el("div.two", el("div",
      sayings("Goal", state.goal && [state.goal]), sayings("Open", state.open), sayings("Next", state.next),
      sessions.length > 0 && section("Sessions", rows(sessions, (s) => row(href("session", s.session, { at: s.last }),
        nameOf(s), [many(s.runs, "prompt"), " · ", near(s.last_at)]))),
      nodes.length > 0 && section("Summaries", rows(nodes, (n) =>
        nodeRow({ ...n, id: n.node }, [refs([n.first, n.last]), " ", near(n.last_at)])))),
    el("aside", { "aria-label": "The page of this thread" }, el(Page, { of: t.thread }))),
  ]);
}

function Page({ of }) {
  const { body } = useData(`/v1/heads/${part(of)}`);
  return body && [el("h2", "Its page ", quiet("revision ", body.revision)), el(Words, { text: body.content })];
}
