// Now: what is being worked on, what is open, what waits, what was worked in last.
import { html } from "../vendor.js";
import { href, whereIs } from "../address.js";
import { useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Heading, many, nameOf, number, program, Shown, stepKeys, When } from "../parts.js";
import { firstLine, inline } from "../words.js";
import { LoopLine, loopKeys } from "./loops.js";

export function Now() {
  const now = useData("/v1/now");
  const loops = useData("/v1/loops?limit=12");
  const waiting = useData("/v1/proposals?limit=20");
  const sessions = useData("/v1/sessions?limit=6");
  useKeys({ ...stepKeys("main .step"), ...loopKeys() });
  const waits = waiting.body?.items.length ?? 0;
  return html`
    <${Heading}>Now<//>
    <${Shown} of=${now}>${({ now: lines, stored, threads }) => html`
      ${lines.length ? html`<ul class="lines">${lines.map((line) => html`<li>${line.reference ? html`<a class="step" href=${whereIs(line.reference)}>${inline(line.text)}</a>` : inline(line.text)}${line.open > 0 && html` <span class="quiet">${number(line.open)} open</span>`}</li>`)}</ul>` : html`<p class="empty">Nothing is being worked on.</p>`}
      <p class="quiet">${many(stored.sessions, "session")}, ${many(stored.turns, "turn")}, ${many(threads, "thread")}, since <${When} at=${stored.first_at} /></p>`}<//>
    ${waits > 0 && html`<p class="notice"><a class="step" href=${href("review")}>${waiting.body.next ? "More than " : ""}${many(waits, "item")} wait${waits === 1 ? "s" : ""} for your yes</a></p>`}
    <section aria-labelledby="open"><h2 id="open">Open <a class="quiet" href=${href("loops")}>all</a></h2>
      <${Shown} of=${loops} empty="Nothing is open.">${({ items }) => html`<ul class="rows">${items.map((item) => html`<${LoopLine} key=${item.id} item=${item} />`)}</ul>`}<//></section>
    <section aria-labelledby="last"><h2 id="last">Last worked in <a class="quiet" href=${href("timeline")}>all</a></h2>
      <${Shown} of=${sessions} empty="No conversation is stored yet. heirloom import reads those of your programs.">${({ items }) => html`<ul class="rows">${items.map((s) => html`<li><a class="step main" href=${href("session", s.session)}>${firstLine(nameOf(s))}</a><span class="quiet">${program(s.harness)} · ${many(s.turns, "turn")} · <${When} at=${s.last_at} form="near" /></span></li>`)}</ul>`}<//></section>`;
}
