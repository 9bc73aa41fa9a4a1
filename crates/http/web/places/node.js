// What a reference stands for: a summary with what is above and below it, down to the words; and anything else an id names.
import { html } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Facts, Heading, many, number, Part, Ref, Refs, Row, Said, Shown, stepKeys, When, Wrong } from "../parts.js";
import { firstLine, seen, Words } from "../words.js";

const place = (turn) => parseInt(turn.slice(1), 16);

/** Summaries as strata over the turns they cover: further right is later, further up is made of what is below. */
export function Strata({ nodes, current }) {
  const shown = nodes.filter((node) => /^t[0-9a-f]+$/.test(node.turns?.[0] ?? "")).slice(0, 400);
  if (shown.length < 2) return shown.length ? html`<p class="quiet">Summary: <a href=${href("node", shown[0].id)}>${firstLine(shown[0].summary, 120) || shown[0].id}</a></p>` : null;
  const from = Math.min(...shown.map((node) => place(node.turns[0])));
  const width = Math.max(...shown.map((node) => place(node.turns[1]))) + 1 - from;
  // Each stands in the lowest row where nothing of its depth is in its way.
  const rows = [];
  for (const node of [...shown].sort((a, b) => a.depth - b.depth || place(a.turns[0]) - place(b.turns[0]))) {
    const [start, end] = node.turns.map(place);
    let row = rows.find((r) => r.depth === node.depth && r.end < start);
    if (!row) rows.push((row = { depth: node.depth, nodes: [] }));
    row.end = end;
    row.nodes.push({ node, start, end });
  }
  return html`<div class="strata" role="group" aria-label="Summaries over the turns, the broadest above">${rows.reverse().map((row) => html`<div class=${"stratum depth" + Math.min(row.depth, 3)}>${row.nodes.map(({ node, start, end }) => html`<a href=${href("node", node.id)} class=${node.kind} aria-current=${node.id === current ? "true" : null} aria-label=${`${node.kind}, ${many(node.count, "turn")}`}
    title=${`${node.kind} ${node.id}: ${many(node.count, "turn")}\n${node.summary.slice(0, 300)}`} style=${{ left: `${((start - from) / width) * 100}%`, width: `${Math.max(0.4, ((end + 1 - start) / width) * 100)}%` }}></a>`)}</div>`)}</div>`;
}

const PARTS = [["constraints", "Holds"], ["requirements", "Asked for"], ["decisions", "Decided"], ["done", "Done"], ["in_progress", "In progress"], ["blocked", "Blocked"], ["next_steps", "Next"], ["open_loops", "Open"], ["fixed", "Mended"], ["context", "To know"]];

/** What a summary says, item by item, each with its turns. */
const Distilled = ({ of }) => html`<${Said} title="Goal" items=${of.goal && [of.goal]} />${PARTS.map(([name, title]) => html`<${Said} title=${title} items=${of[name]} />`)}
  ${of.files?.length > 0 && html`<${Part} title="Files"><ul class="lines">${of.files.map((file) => html`<li><code>${seen(file.path)}</code> <span class="quiet">${file.touch}</span> <${Refs} ids=${file.turns.slice(-3)} /></li>`)}</ul><//>`}`;

const KINDS = { chunk: "Chunk", session: "Summary of a session", compaction: "Compaction" };

export const NodeLine = ({ node, children }) => html`<${Row} to=${href("node", node.id)} title=${firstLine(node.summary) || node.id}><${Chip}>${node.kind}<//> ${children ?? html`${many(node.count, "turn")} · <${When} at=${node.time?.[1]} form="near" />`}${node.abandoned && " · on a branch that was left"}<//>`;

function Summary({ body }) {
  const { node, ancestors, parents, children, siblings, neighbours, linked } = body;
  const up = parents[0];
  useKeys({ u: () => (up ? go("node", up.id) : node.session ? go("session", node.session) : go("threads", node.thread)) });
  const files = [...linked.memory, ...linked.open_loops, ...linked.proposals];
  const all = [...ancestors, ...parents, node, ...siblings, ...children];
  return html`
    <${Heading} up=${html`${node.session ? html`<a href=${href("session", node.session)}>Session</a>` : html`<a href=${href("threads", node.thread)}>Thread</a>`}${[...ancestors].reverse().concat(parents.slice(0, 1)).map((above) => html` › <a href=${href("node", above.id)}>${above.kind} ${above.id}</a>`)} › ${node.id}`}>
      ${KINDS[node.kind] ?? "Summary of summaries"}<//>
    <${Strata} nodes=${all} current=${node.id} />
    <${Facts} of=${[["Covers", html`${many(node.count, "turn")}: <${Ref} id=${node.turns[0]} /> to <${Ref} id=${node.turns[1]} />`], ["When", html`<${When} at=${node.time[0]} /> – <${When} at=${node.time[1]} />`], ["Made by", { harness: "its program", deterministic: "rules", model: "a model" }[node.source]], ["Tokens", `${number(node.tokens.source)} → ${number(node.tokens.summary)}`], ["In place of", node.replaces && html`<${Ref} id=${node.replaces} />`], ["Replaced by", node.replaced_by && html`<${Ref} id=${node.replaced_by} />`]]} />
    ${node.forgotten ? html`<p class="notice">Its words were forgotten; where it stood is kept.</p>` : html`<div class="two"><div><${Words} text=${node.summary} /></div><aside aria-label="What it says, with where it was said"><${Distilled} of=${node.distillate} /></aside></div>`}
    ${children.length > 0 && html`<section><h2>Made of</h2><ul class="rows">${children.map((child) => html`<${NodeLine} node=${child} />`)}</ul>${body.more_below && html`<p class="quiet">There are more.</p>`}</section>`}
    ${node.session && html`<p><a class="step button" href=${href("session", node.session, { at: node.turns[0] })}>Read the words</a></p>`}
    ${files.length > 0 && html`<section><h2>What came of it</h2><ul class="rows">${files.map((file) => html`<li><${Ref} id=${file.id ?? file.path}>${firstLine(file.title)}<//> <${Chip}>${file.class ?? file.status ?? ""}<//></li>`)}</ul></section>`}
    ${neighbours.before.length + neighbours.after.length > 0 && html`<p class="quiet">${neighbours.before.slice(-1).map((n) => html`<a href=${href("node", n.id)}>← before</a> `)}${neighbours.after.slice(0, 1).map((n) => html`<a href=${href("node", n.id)}>after →</a>`)}</p>`}`;
}

function OfTurn({ body, id }) {
  useKeys({ u: () => body.nodes[0] && go("node", body.nodes[0].id) });
  const said = body.transcript?.turns ?? [];
  return html`<${Heading} up=${html`<a href=${href("turn", id)}>In its session</a>`}>What ${id} is part of<//>
    ${said.map((turn) => html`<article class=${`turn ${turn.role}`}><header><${Chip} tone=${turn.role}>${seen(turn.speaker || turn.role)}<//></header><${Words} text=${turn.text} plain=${turn.role === "tool"} /></article>`)}
    ${body.nodes.length ? html`<${Strata} nodes=${body.nodes} /><ul class="rows">${body.nodes.map((node) => html`<${NodeLine} node=${node} />`)}</ul>` : html`<p class="empty">No summary covers it yet.</p>`}`;
}

/** Whatever else an id names, as fields. */
function Anything({ body, id }) {
  const file = body.file;
  const of = file ?? body.pending ?? body.channel ?? body.quarantine ?? body.thread ?? body;
  const fields = Object.entries(of).filter(([name, value]) => !["text", "agent_id"].includes(name) && (typeof value === "string" || typeof value === "number"));
  return html`<${Heading}>${firstLine(of.title ?? of.label ?? id, 300)}<//>
    <${Facts} of=${fields.map(([name, value]) => [name.replaceAll("_", " "), seen(String(value))])} />
    ${typeof of.text === "string" && html`<${Words} text=${of.text} />`}
    ${body.source?.turns?.length > 0 && html`<p>Said in <${Refs} ids=${body.source.turns} /></p>`}
    ${body.nodes?.length > 0 && html`<ul class="rows">${body.nodes.map((node) => html`<${NodeLine} node=${node} />`)}</ul>`}`;
}

export function Node() {
  const { id } = at.value;
  const found = useData(asking("/v1/expand", { id, transcript: /^t[0-9a-f]+$/.test(id) }));
  useKeys(stepKeys());
  if (found.problem && !found.body) return html`<${Heading}>${id}<//><${Wrong} problem=${found.problem} />`;
  return html`<${Shown} of=${found}>${(body) => (body.node ? html`<${Summary} body=${body} />` : body.turn && body.nodes ? html`<${OfTurn} body=${body} id=${id} />` : html`<${Anything} body=${body} id=${id} />`)}<//>`;
}
