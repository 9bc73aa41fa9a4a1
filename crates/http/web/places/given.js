// Given: what programs were given, word for word, what each line cost, why it was chosen, and what was left out.
import { html } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, part, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Command, Facts, Heading, many, number, Part, program, Ref, Refs, Row, Shown, stepKeys, When } from "../parts.js";
import { seen } from "../words.js";

const EVENTS = { start: "At the beginning", prompt: "With a prompt", compact: "After a compaction", compaction: "After a compaction" };
const title = (given) => `${EVENTS[given.event] ?? given.event}, to ${program(given.can?.program === "cli" ? given.session.split(":")[0] : given.can?.program ?? given.session.split(":")[0])}`;

export function Given() {
  const { id, query } = at.value;
  return id ? html`<${One} key=${id} id=${id} />` : html`<${List} session=${query.session} />`;
}

function List({ session }) {
  const given = useData(asking("/v1/injections", { limit: 200, session }));
  useKeys(stepKeys());
  return html`<${Heading}>Given<//>
    ${session && html`<p class="notice">To <${Ref} id=${session} /> only. <a href=${href("given")}>All</a></p>`}
    <${Shown} of=${given} empty="No program was given anything yet. heirloom connect lets them ask.">${({ items, next }) => html`<ul class="rows">${items.map((one) => html`<${Row} key=${one.id} to=${href("given", one.id)} title=${title(one)}>
      ${many(one.tokens, "token")}${one.sound === false && html` <${Chip} tone="late">damaged<//>`} · <${When} at=${one.at} form="near" /><//>`)}</ul>${next && html`<p class="quiet">The newest 200. Each session leads to its own.</p>`}`}<//>`;
}

/** Why a line stands there. */
const Why = ({ line: { part: section, id, stage, score, why } }) => html`<p class="quiet"><${Chip}>${section}<//>${id && html`<${Refs} ids=${id} />`}${[stage, score != null && `score ${Number(score).toFixed(2)}`, ...[why ?? []].flat()].filter(Boolean).map(seen).map((said, n) => [n ? "; " : "", said])}</p>`;

function One({ id }) {
  const given = useData(`/v1/injections/${part(id)}`);
  useKeys({ ...stepKeys(), u: () => go("given") });
  return html`<${Shown} of=${given}>${(g) => {
    const { request, lines = [], dropped = [], dropped_more: moreDropped, degraded = [], block = "", profile = [] } = g.content ?? {};
    const whys = new Map(lines.map((line) => [line.line, [...(lines.filter((other) => other.line === line.line))]]));
    const reasons = new Map();
    for (const { id: left, why } of dropped) reasons.set(why, [...(reasons.get(why) ?? []), left]);
    const budget = request?.budget;
    return html`
      <${Heading} up=${html`<a href=${href("given")}>Given</a>`}>${title(g)}<//>
      <${Facts} of=${[["When", html`<${When} at=${g.at} />`], ["Session", html`<${Ref} id=${g.session} />`], ["Tokens", budget ? `${number(g.tokens)} of ${number(budget)}, ${number(budget - g.tokens)} left` : number(g.tokens)], ["Context", g.epoch ? `cut ${many(g.epoch, "time")} before` : "not cut before"], ["As it was", g.sound == null ? (g.content ? "not known: it is from before there were digests" : "forgotten") : g.sound ? "yes, by its digest" : "no: it was changed"], ["Prompt", request?.prompt && seen(String(request.prompt).slice(0, 300))], ["Parts", profile.map((p) => `${p.part} ${number(p.tokens)}`).join(" · ")]]} />
      ${!g.content ? html`<p class="notice">Its words were forgotten.</p>` : html`
        ${degraded.map((why) => html`<p class="notice">Less than it could be: ${seen(typeof why === "string" ? why : JSON.stringify(why))}</p>`)}
        <div class="two"><${Part} id="words" title="What was given, line by line"><ol class="block">${block.replace(/\n$/, "").split("\n").map((line, n) => html`<li><span class="cost" title="tokens, about">${g.line_tokens?.[n] ?? ""}</span><div><pre class="plain">${seen(line) || " "}</pre>${whys.get(n + 1)?.map((why) => html`<${Why} line=${why} />`)}</div></li>`)}</ol><p class="quiet">The number is what the line cost, in tokens. Byte for byte: <${Command}>heirloom expand ${id}<//></p><//>
        <aside aria-label="Left out"><h2>Left out</h2>
          ${[...reasons].map(([why, ids]) => html`<details open=${reasons.size < 8} class="left"><summary>${seen(why)} <span class="quiet">${number(ids.length)}</span></summary><${Refs} ids=${ids} most=${60} /></details>`)}${moreDropped > 0 && html`<p class="quiet">and ${number(moreDropped)} more</p>`}
          ${!dropped.length && html`<p class="empty">Nothing was left out.</p>`}</aside></div>`}`;
  }}<//>`;
}
