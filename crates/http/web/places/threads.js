// Threads: pieces of work across sessions and programs, and where each stands.
import { html } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, part, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Facts, Heading, many, number, program, Ref, Shown, stepKeys, When } from "../parts.js";
import { firstLine, inline, Words } from "../words.js";

export function Threads() {
  const { id, query } = at.value;
  return id ? html`<${Thread} key=${id} id=${id} />` : html`<${List} all=${query.all === "true"} />`;
}

function List({ all }) {
  const threads = useData(asking("/v1/threads", { limit: 200, all }));
  useKeys(stepKeys("main .step"));
  return html`
    <${Heading} more=${html`<div class="tabs"><a href=${href("threads")} aria-current=${all ? null : "true"}>Active</a> <a href=${href("threads", "", { all: true })} aria-current=${all ? "true" : null}>All</a></div>`}>Threads<//>
    <${Shown} of=${threads} empty="No thread is active.">${({ items }) => html`<ul class="rows">${items.map((thread) => html`<li key=${thread.thread}>
      <a class="step main" href=${href("threads", thread.thread)}>${firstLine(thread.label)}</a>
      <span class="quiet"><${Chip}>${thread.kind}<//>${thread.state !== "active" && html`<${Chip}>${thread.state}<//>`} ${many(thread.sessions, "session")} · ${many(thread.runs, "prompt")} · <${When} at=${thread.last_at} form="near" /></span></li>`)}</ul>`}<//>`;
}

const Lines = ({ title, items }) => (items.length ? html`<section><h2>${title}</h2><ul class="lines">${items.map((item) => html`<li>${inline(item.text)} <span class="refs">${item.turns.slice(-3).map((turn) => html`<${Ref} id=${turn} /> `)}</span></li>`)}</ul></section>` : null);

function Thread({ id }) {
  const thread = useData(`/v1/threads/${part(id)}`);
  const key = thread.body?.thread.thread;
  const head = useData(key ? `/v1/heads/${part(key)}` : null);
  useKeys({ ...stepKeys("main .step"), u: () => go("threads") });
  return html`<${Shown} of=${thread}>${(t) => html`
    <${Heading} up=${html`<a href=${href("threads")}>Threads</a>`}>${firstLine(t.thread.label, 300)}<//>
    <${Facts} of=${[["Key", t.thread.thread], ["State", t.thread.state], ["Last", html`<${When} at=${t.thread.last_at} />`], ["Programs", t.programs.map(program).join(", ")], ["Turns", number(t.thread.turns)], ["People", t.people.join(", ")], ["Also called", t.names.join(", ")], ["Page", t.thread.page], ["Linked", t.links.map((link) => html`<a href=${href("threads", link.thread)}>${link.label}</a> `)]]} />
    <div class="two"><div>
      ${t.state.goal && html`<section><h2>Goal</h2><p>${inline(t.state.goal.text)} <span class="refs">${t.state.goal.turns.map((turn) => html`<${Ref} id=${turn} /> `)}</span></p></section>`}
      <${Lines} title="Open" items=${t.state.open} /><${Lines} title="Next" items=${t.state.next} />
      ${t.sessions.length > 0 && html`<section><h2>Sessions</h2><ul class="rows">${t.sessions.map((s) => html`<li><a class="step main" href=${href("session", s.session, { at: s.last })}>${firstLine(s.title || s.session)}</a><span class="quiet">${many(s.runs, "prompt")} · <${When} at=${s.last_at} form="near" /></span></li>`)}</ul></section>`}
      ${t.nodes.length > 0 && html`<section><h2>Summaries</h2><ul class="rows">${t.nodes.map((n) => html`<li><a class="step main" href=${href("node", n.node)}>${firstLine(n.summary)}</a><span class="quiet"><${Chip}>${n.kind}<//> ${n.first}–${n.last} · <${When} at=${n.last_at} form="near" /></span></li>`)}</ul></section>`}
    </div><aside aria-label="The page of this thread">${head.body && html`<h2>Its page <span class="quiet">revision ${head.body.revision}</span></h2><${Words} text=${head.body.content} />`}</aside></div>`}<//>`;
}
