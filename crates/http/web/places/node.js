// The page of a reference: a summary with its parents and children, down to the words; and anything else an id names.
import { asking, at, chip, facts, firstLine, go, Heading, href, html, many, near, number, ref, refs, row, rows, sayings, section, seen, shown, useData, useKeys, when, Words } from "../parts.js";
import { turnCard } from "./reader.js";

/** Where a turn stands among all. */
export const place = (turn) => parseInt(turn.slice(1), 16);

/** Summaries as strata over the turns they cover: further right is later, further up is made of what is below. */
export function strata(nodes, current) {
  const all = nodes.filter((node) => node.turns?.[0]).slice(0, 400).map((node) => ({ ...node, start: place(node.turns[0]), end: place(node.turns[1]) + 1 }));
  if (all.length < 2) return all.map(({ id, summary }) => html`<p class="quiet">Summary: <a href=${href("node", id)}>${firstLine(summary, 120) || id}</a></p>`);
  const from = Math.min(...all.map((node) => node.start));
  const percent = 100 / (Math.max(...all.map((node) => node.end)) - from);
  // A bar takes the lowest row that is free for its span; a session's bar is above its chunks.
  const level = ({ depth, kind }) => depth * 2 + (kind === "session" ? 1 : 0);
  const lines = [];
  for (const node of all.sort((a, b) => level(a) - level(b) || a.start - b.start)) {
    const line = lines.find((of) => level(of[0]) === level(node) && of.at(-1).end <= node.start);
    if (line) line.push(node);
    else lines.push([node]);
  }
  return html`<div class="strata" role="group" aria-label="Summaries over the turns, the broadest above">${lines.reverse().map((line) => html`<div class=${"stratum depth" + Math.min(line[0].depth, 3)}>${line.map(({ id, kind, count, summary, start, end }) => html`<a href=${href("node", id)} aria-current=${id === current ? "true" : null} aria-label=${`${kind}, ${many(count, "turn")}`}
    title=${`${kind} ${id}: ${many(count, "turn")}\n${summary.slice(0, 300)}`} style=${{ left: `${(start - from) * percent}%`, width: `${Math.max(0.4, (end - start) * percent)}%` }}></a>`)}</div>`)}</div>`;
}

const KINDS = { chunk: "Chunk", session: "Summary of a session", compaction: "Compaction" };
const PARTS = { constraints: "Holds", requirements: "Asked for", decisions: "Decided", done: "Done", in_progress: "In progress", blocked: "Blocked", next_steps: "Next", open_loops: "Open", fixed: "Mended", context: "To know" };

/** What a summary says, item by item, each with its turns. */
const distilled = (of) => html`${sayings("Goal", of.goal && [of.goal])}${Object.entries(PARTS).map(([name, title]) => sayings(title, of[name]))}
  ${of.files?.length > 0 && section("Files", html`<ul class="lines">${of.files.map((file) => html`<li><code>${seen(file.path)}</code> <span class="quiet">${file.touch}</span> ${refs(file.turns.slice(-3))}</li>`)}</ul>`)}`;

export const nodeRow = (node, about) => row(href("node", node.id), firstLine(node.summary) || node.id, html`${chip(node.kind)}${about ?? html`${many(node.count, "turn")} · ${near(node.time?.[1])}`}${node.abandoned && " · on a branch that was left"}`);

function summary({ node, ancestors, parents, children, siblings, neighbours, linked, more_below: more }) {
  const files = [...linked.memory, ...linked.open_loops, ...linked.proposals];
  const up = [node.session ? [href("session", node.session), "Session"] : [href("threads", node.thread), "Thread"], ...[...ancestors.toReversed(), ...parents.slice(0, 1)].map(({ id, kind }) => [href("node", id), `${kind} ${id}`])];
  const beside = (other, words) => other && html`<a href=${href("node", other.id)}>${words}</a> `;
  return html`
    <${Heading} up=${up}>${KINDS[node.kind] ?? "Summary of summaries"} <span class="quiet">${node.id}</span><//>
    ${strata([...ancestors, ...parents, node, ...siblings, ...children], node.id)}
    ${facts({ Covers: html`${many(node.count, "turn")}: ${ref(node.turns[0])} to ${ref(node.turns[1])}`, When: html`${when(node.time[0])} – ${when(node.time[1])}`, "Made by": { harness: "its program", deterministic: "rules", model: "a model" }[node.source], Tokens: `${number(node.tokens.source)} → ${number(node.tokens.summary)}`, "In place of": ref(node.replaces), "Replaced by": ref(node.replaced_by) })}
    ${node.forgotten ? html`<p class="notice">Its words were forgotten; where it stood is kept.</p>` : html`<div class="two"><div><${Words} text=${node.summary} /></div><aside aria-label="What it says, with where it was said">${distilled(node.distillate)}</aside></div>`}
    ${children.length > 0 && section("Made of", html`${rows(children, (child) => nodeRow(child))}${more && html`<p class="quiet">There are more.</p>`}`)}
    ${node.session && html`<p><a class="step button" href=${href("session", node.session, { at: node.turns[0] })}>Read the words</a></p>`}
    ${files.length > 0 && section("What came of it", rows(files, (file) => html`<li>${ref(file.id ?? file.path, firstLine(file.title))} ${chip(file.class ?? file.status)}</li>`))}
    <p class="quiet">${beside(neighbours.before.at(-1), "← before")}${beside(neighbours.after[0], "after →")}</p>`;
}

const ofTurn = ({ nodes, transcript }, id) => html`
  <${Heading} up=${[[href("turn", id), "In its session"]]}>What ${id} is part of<//>
  ${transcript?.turns.map((turn) => turnCard(turn))}
  ${nodes.length ? html`${strata(nodes)}${rows(nodes, (node) => nodeRow(node))}` : html`<p class="empty">No summary covers it yet.</p>`}`;

/** Whatever else an id names, as fields. */
function anything(body, id) {
  const { title, label, text, agent_id: _, ...of } = body.file ?? body.pending ?? body.channel ?? body.quarantine ?? body.thread ?? body;
  const fields = Object.entries(of).filter(([, value]) => ["string", "number"].includes(typeof value));
  return html`
    <${Heading}>${firstLine(title ?? label ?? id, 300)}<//>
    ${facts(Object.fromEntries(fields.map(([name, value]) => [name.replaceAll("_", " "), seen(String(value))])))}
    ${typeof text === "string" && html`<${Words} text=${text} />`}
    ${body.source?.turns?.length > 0 && html`<p>Said in ${refs(body.source.turns)}</p>`}
    ${body.nodes?.length > 0 && rows(body.nodes, (node) => nodeRow(node))}`;
}

export function Node() {
  const { id } = at.value;
  const found = useData(asking("/v1/expand", { id, transcript: /^t[0-9a-f]+$/.test(id) }));
  const above = found.body?.turn && found.body.nodes?.[0];
  useKeys({ u: () => (above ? go("node", above.id) : false) });
  return shown(found, (body) => (body.node ? summary(body) : body.turn && body.nodes ? ofTurn(body, id) : anything(body, id)), "", id);
}
