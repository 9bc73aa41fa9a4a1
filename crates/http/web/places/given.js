// Given: each context a program was given, word for word; the cost of each line, why it was chosen, and the omitted ones.
import { asking, at, chip, command, facts, Heading, href, html, List, Load, many, near, number, part, program, refs, row, rows, section, seen, sessionRef, when } from "../parts.js";

const EVENTS = { start: "At the beginning", prompt: "With a prompt", compact: "After a compaction", compaction: "After a compaction" };
const title = ({ event, can, session }) => `${EVENTS[event] ?? event}, to ${program(can?.program && can.program !== "cli" ? can.program : session.split(":")[0])}`;

export function Given() {
  const { id, query: { session } } = at.value;
  if (id) return html`<${Load} path=${`/v1/injections/${part(id)}`} of=${id}>${one}<//>`;
  return html`<${Heading}>Given<//>
    ${session && html`<p class="notice">To ${sessionRef(session)} only. <a href=${href("given")}>All</a></p>`}
    <${List} path=${asking("/v1/injections", { limit: 200, session })} empty="No program was given anything yet. heirloom connect lets them ask.">${(items) => rows(items, (g) => row(href("given", g.id), title(g), html`${many(g.tokens, "token")} ${g.sound === false && chip("damaged", "late")} · ${near(g.at)}`))}<//>`;
}

/** Why a line stands there. */
const why = ({ part: of, id, stage, score, why: said }) => html`<p class="quiet">${chip(of)}${refs([id ?? []].flat())} ${seen([stage, score != null && `score ${Number(score).toFixed(2)}`, said].flat().filter(Boolean).join("; "))}</p>`;

function one({ content, ...g }) {
  const { request, lines = [], dropped = [], dropped_more: more, degraded = [], block = "", profile = [] } = content ?? {};
  const reasons = Object.entries(Object.groupBy(dropped, (left) => left.why));
  const budget = request?.budget;
  return html`
    <${Heading} up=${[[href("given"), "Given"]]}>${title(g)}<//>
    ${facts({
      When: when(g.at),
      Session: sessionRef(g.session),
      Tokens: budget ? `${number(g.tokens)} of ${number(budget)}, ${number(budget - g.tokens)} left` : number(g.tokens),
      Context: g.epoch ? `cut ${many(g.epoch, "time")} before` : "not cut before",
      "As it was": g.sound ? "yes, by its digest" : g.sound === false ? "no: it was changed" : content ? "not known: it is from before there were digests" : "forgotten",
      Prompt: request?.prompt && seen(String(request.prompt).slice(0, 300)),
      Parts: profile.map((p) => `${p.part} ${number(p.tokens)}`).join(" · "),
    })}
    ${!content ? html`<p class="notice">Its words were forgotten.</p>` : html`
      ${degraded.map((less) => html`<p class="notice">Less than it could be: ${seen(typeof less === "string" ? less : JSON.stringify(less))}</p>`)}
      <div class="two">${section("What was given, line by line", html`<ol class="block">${block.replace(/\n$/, "").split("\n").map((line, n) => html`<li><span class="cost" title="tokens, about">${g.line_tokens?.[n]}</span><div><pre class="plain">${seen(line) || " "}</pre>${lines.filter((chosen) => chosen.line === n + 1).map(why)}</div></li>`)}</ol>
        <p class="quiet">The number is what the line cost, in tokens. Byte for byte: ${command(`heirloom expand ${g.id}`)}</p>`)}
      <aside aria-label="Left out"><h2>Left out</h2>
        ${reasons.map(([reason, left]) => html`<details open=${reasons.length < 8} class="left"><summary>${seen(reason)} <span class="quiet">${number(left.length)}</span></summary>${refs(left.map(({ id }) => id), 60)}</details>`)}
        ${more > 0 && html`<p class="quiet">and ${number(more)} more</p>`}${!dropped.length && html`<p class="empty">Nothing was left out.</p>`}</aside></div>`}`;
}
