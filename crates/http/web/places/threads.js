// Threads: pieces of work across sessions and programs, and the state of each.
import { asking, at, chip, facts, firstLine, Heading, href, html, List, Load, many, nameOf, near, number, part, program, refs, row, rows, sayings, section, tabs, useData, when, Words } from "../parts.js";
import { nodeRow } from "./node.js";

export function Threads() {
  const { id, query: { all } } = at.value;
  if (id) return html`<${Thread} id=${id} />`;
  return html`
    <${Heading} more=${tabs([href("threads"), "Active", !all], [href("threads", "", { all: true }), "All", all])}>Threads<//>
    <${List} path=${asking("/v1/threads", { limit: 200, all })} empty="No thread is active.">${(items) => rows(items, (t) => row(href("threads", t.thread), html`${firstLine(t.label)}${t.goal && t.goal !== t.label && html`<span class="goal">${firstLine(t.goal)}</span>`}`,
      html`${chip(t.kind)}${t.state !== "active" && chip(t.state)}${many(t.sessions, "session")} · ${many(t.runs, "prompt")} · ${near(t.last_at)}`))}<//>`;
}

function Thread({ id }) {
  return html`<${Load} path=${`/v1/threads/${part(id)}`} of=${id}>${({ thread: t, state, ...of }) => html`
    <${Heading} up=${[[href("threads"), "Threads"]]}>${firstLine(t.label, 300)}<//>
    ${facts({ Key: t.thread, State: t.state, Last: when(t.last_at), Programs: of.programs.map(program).join(", "), Turns: number(t.turns), People: of.people.join(", "), "Also called": of.names.join(", "), Page: t.page, Linked: of.links.length > 0 && of.links.map((link) => html`<a href=${href("threads", link.thread)}>${link.label}</a> `) })}
    <div class="two"><div>
      ${sayings("Goal", state.goal && [state.goal])}${sayings("Open", state.open)}${sayings("Next", state.next)}
      ${of.sessions.length > 0 && section("Sessions", rows(of.sessions, (s) => row(href("session", s.session, { at: s.last }), nameOf(s), html`${many(s.runs, "prompt")} · ${near(s.last_at)}`)))}
      ${of.nodes.length > 0 && section("Summaries", rows(of.nodes, (n) => nodeRow({ ...n, id: n.node }, html`${refs([n.first, n.last])} ${near(n.last_at)}`)))}
    </div><aside aria-label="The page of this thread"><${Page} of=${t.thread} /></aside></div>`}<//>`;
}

function Page({ of }) {
  const { body } = useData(`/v1/heads/${part(of)}`);
  return body && html`<h2>Its page <span class="quiet">revision ${body.revision}</span></h2><${Words} text=${body.content} />`;
}
