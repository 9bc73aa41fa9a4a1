// Given: what programs were given, word for word, what each part cost, why it was chosen, and what was left out.
import { html } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, part, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Facts, Heading, many, number, program, Ref, Shown, stepKeys, When } from "../parts.js";
import { seen, Words } from "../words.js";

export function Given() {
  const { id, query } = at.value;
  return id ? html`<${One} key=${id} id=${id} />` : html`<${List} session=${query.session} />`;
}

function List({ session }) {
  const given = useData(asking("/v1/injections", { limit: 200, session }));
  useKeys(stepKeys("main .step"));
  return html`<${Heading}>Given<//>
    <${Shown} of=${given} empty="No program was given anything yet. heirloom connect lets them ask.">${({ items }) => html`<ul class="rows">${items.map((one) => html`<li key=${one.id}>
      <a class="step main" href=${href("given", one.id)}>${one.event}, to ${program(one.session.split(":")[0])}</a>
      <span class="quiet">${many(one.tokens, "token")}${one.sound === false && html` <${Chip} tone="late">damaged<//>`} · <${When} at=${one.at} form="near" /></span></li>`)}</ul>`}<//>`;
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** A line that was given: its words, where they lead, why. The stored form is the engine's; what is not known is shown as it is. */
function Line({ line }) {
  if (typeof line !== "object" || line === null) return html`<li>${seen(String(line))}</li>`;
  const { part: section, id, item, text: words, why, reasons, score, tokens, ...rest } = line;
  const ids = [id ?? item ?? line.items ?? []].flat();
  const reason = [why ?? reasons ?? []].flat().map(text);
  const more = Object.entries(rest).filter(([name, value]) => name !== "items" && value !== null && value !== "" && !(Array.isArray(value) && !value.length));
  return html`<li class="given"><div class="row"><span>${section && html`<${Chip}>${section}<//> `}${words ? html`<${Words} text=${words} plain=${true} />` : ""}${ids.map((one) => html`<${Ref} id=${String(one)} /> `)}</span><span class="quiet">${tokens != null && many(tokens, "token")} ${score != null && `score ${Number(score).toFixed(2)}`}</span></div>
    ${reason.length > 0 && html`<p class="quiet">because: ${reason.map((r) => seen(r)).join?.("; ") ?? reason}</p>`}
    ${more.length > 0 && html`<p class="quiet">${more.map(([name, value]) => `${name.replaceAll("_", " ")}: ${text(value)}`).join(" · ")}</p>`}</li>`;
}

function One({ id }) {
  const given = useData(`/v1/injections/${part(id)}`);
  useKeys({ u: () => go("given") });
  return html`<${Shown} of=${given}>${(g) => {
    const { request, lines = [], dropped = [], dropped_more: moreDropped, degraded = [], block, profile } = g.content ?? {};
    const budget = request?.budget ?? profile?.budget;
    return html`
      <${Heading} up=${html`<a href=${href("given")}>Given</a>`}>${g.event}, to ${program(g.session.split(":")[0])}<//>
      <${Facts} of=${[["When", html`<${When} at=${g.at} />`], ["To", html`<a href=${href("session", g.session)}>${g.session}</a>`], ["Tokens", budget ? `${number(g.tokens)} of ${number(budget)}` : number(g.tokens)], ["Part of its context", `epoch ${g.epoch}`], ["As it was", g.sound === null ? (g.content ? "not known: it is from before there were digests" : "forgotten") : g.sound ? "yes, by its digest" : "no: it was changed"], ["Prompt", request?.prompt && seen(String(request.prompt).slice(0, 300))]]} />
      ${!g.content ? html`<p class="notice">Its words were forgotten.</p>` : html`
        ${degraded.map((why) => html`<p class="notice">Less than it could be: ${seen(text(why))}</p>`)}
        <div class="two"><section><h2>What was given</h2><div class="entry"><${Words} text=${block ?? ""} plain=${true} /></div></section>
        <aside aria-label="Why"><h2>Why each line</h2><ul class="lines">${lines.map((line) => html`<${Line} line=${line} />`)}</ul>
          ${dropped.length > 0 && html`<h2>Left out</h2><ul class="lines">${dropped.map((line) => html`<${Line} line=${line} />`)}</ul>`}${moreDropped > 0 && html`<p class="quiet">and ${number(moreDropped)} more</p>`}
          ${!lines.length && !dropped.length && html`<p class="empty">Nothing was chosen or left out.</p>`}</aside></div>`}`;
  }}<//>`;
}
