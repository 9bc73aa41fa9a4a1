// Threads: pieces of work across sessions and programs, and where each stands.
import { html } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, part, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Facts, Heading, many, number, Part, program, Refs, Row, Said, Shown, stepKeys, Tabs, When } from "../parts.js";
import { firstLine, Words } from "../words.js";
import { NodeLine } from "./node.js";

export function Threads() {
  const { id, query } = at.value;
  return id ? html`<${Thread} key=${id} id=${id} />` : html`<${List} all=${query.all === "true"} />`;
}

function List({ all }) {
  const threads = useData(asking("/v1/threads", { limit: 200, all }));
  useKeys(stepKeys());
  return html`
    <${Heading} more=${html`<${Tabs} of=${[[href("threads"), "Active", !all], [href("threads", "", { all: true }), "All", all]]} />`}>Threads<//>
    <${Shown} of=${threads} empty="No thread is active.">${({ items, next }) => html`<ul class="rows">${items.map((thread) => html`<${Row} key=${thread.thread} to=${href("threads", thread.thread)} title=${firstLine(thread.label)}>
      <${Chip}>${thread.kind}<//>${thread.state !== "active" && html`<${Chip}>${thread.state}<//>`} ${many(thread.sessions, "session")} · ${many(thread.runs, "prompt")} · <${When} at=${thread.last_at} form="near" /><//>`)}</ul>${next && html`<p class="quiet">The 200 last worked in. heirloom thread list shows all.</p>`}`}<//>`;
}

function Thread({ id }) {
  const thread = useData(`/v1/threads/${part(id)}`);
  const key = thread.body?.thread.thread;
  const head = useData(key ? `/v1/heads/${part(key)}` : null);
  useKeys({ ...stepKeys(), u: () => go("threads") });
  return html`<${Shown} of=${thread}>${({ thread: t, ...of }) => html`
    <${Heading} up=${html`<a href=${href("threads")}>Threads</a>`}>${firstLine(t.label, 300)}<//>
    <${Facts} of=${[["Key", t.thread], ["State", t.state], ["Last", html`<${When} at=${t.last_at} />`], ["Programs", of.programs.map(program).join(", ")], ["Turns", number(t.turns)], ["People", of.people.join(", ")], ["Also called", of.names.join(", ")], ["Page", t.page], ["Linked", of.links.map((link) => html`<a href=${href("threads", link.thread)}>${link.label}</a> `)]]} />
    <div class="two"><div>
      <${Said} title="Goal" items=${of.state.goal && [of.state.goal]} /><${Said} title="Open" items=${of.state.open} /><${Said} title="Next" items=${of.state.next} />
      ${of.sessions.length > 0 && html`<${Part} title="Sessions"><ul class="rows">${of.sessions.map((s) => html`<${Row} to=${href("session", s.session, { at: s.last })} title=${firstLine(s.title || s.session)}>${many(s.runs, "prompt")} · <${When} at=${s.last_at} form="near" /><//>`)}</ul><//>`}
      ${of.nodes.length > 0 && html`<${Part} title="Summaries"><ul class="rows">${of.nodes.map((n) => html`<${NodeLine} node=${{ ...n, id: n.node }}><${Refs} ids=${[n.first, n.last]} /> <${When} at=${n.last_at} form="near" /><//>`)}</ul><//>`}
    </div><aside aria-label="The page of this thread">${head.body && html`<h2>Its page <span class="quiet">revision ${head.body.revision}</span></h2><${Words} text=${head.body.content} />`}</aside></div>`}<//>`;
}
