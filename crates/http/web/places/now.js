// Now: what is being worked on, what is open, what waits, what was worked in last.
import { html } from "../vendor.js";
import { href, whereIs } from "../address.js";
import { useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Heading, many, nameOf, number, Part, program, Row, Shown, stepKeys, When } from "../parts.js";
import { firstLine, inline } from "../words.js";
import { LoopLine, loopKeys } from "./loops.js";

/** What has a day comes first, the oldest deadline before all. */
const byDay = (items) => items.toSorted((a, b) => (a.due ?? "9").localeCompare(b.due ?? "9"));

export function Now() {
  const now = useData("/v1/now");
  const loops = useData("/v1/loops?limit=12");
  const waiting = useData("/v1/proposals?limit=20");
  const sessions = useData("/v1/sessions?limit=6");
  useKeys({ ...stepKeys(), ...loopKeys() });
  const waits = waiting.body?.items.length ?? 0;
  const title = (text, place) => html`${text} <a class="quiet" href=${href(place)}>all</a>`;
  return html`
    <${Heading}>Now<//>
    <${Shown} of=${now}>${({ now: lines, stored, threads }) => html`
      ${lines.length ? html`<ul class="lines">${lines.map((line) => html`<li>${line.reference ? html`<a class="step" href=${whereIs(line.reference)}>${inline(line.text)}</a>` : inline(line.text)}${line.open > 0 && html` <span class="quiet">${number(line.open)} open</span>`}</li>`)}</ul>` : html`<p class="empty">Nothing is being worked on.</p>`}
      <p class="quiet">${many(stored.sessions, "session")}, ${many(stored.turns, "turn")}, ${many(threads, "thread")}${stored.first_at && html`, since <${When} at=${stored.first_at} />`}</p>`}<//>
    ${waits > 0 && html`<p class="notice"><a class="step" href=${href("review")}>${waiting.body.next ? "More than " : ""}${many(waits, "item")} wait${waits === 1 ? "s" : ""} for your yes</a></p>`}
    <${Part} id="open" title=${title("Open", "loops")}>
      <${Shown} of=${loops} empty="Nothing is open.">${({ items, next }) => html`<ul class="rows">${byDay(items).map((item) => html`<${LoopLine} key=${item.id} item=${item} />`)}</ul>${next && html`<p class="quiet"><a class="step" href=${href("loops")}>There are more.</a></p>`}`}<//><//>
    <${Part} id="last" title=${title("Last worked in", "timeline")}>
      <${Shown} of=${sessions} empty="No conversation is stored yet. heirloom import reads those of your programs.">${({ items }) => html`<ul class="rows">${items.map((s) => html`<${Row} to=${href("session", s.session)} title=${firstLine(nameOf(s), 110)}>${program(s.harness)} · ${many(s.turns, "turn")} · <${When} at=${s.last_at} form="near" /><//>`)}</ul>`}<//><//>`;
}
