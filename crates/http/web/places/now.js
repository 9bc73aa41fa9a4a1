// Now: current work, open loops, waiting reviews, and the last projects.
import { Heading, href, html, inline, Load, many, near, number, rows, section, useData, when, whereIs } from "../parts.js";
import { LoopLine } from "./loops.js";
import { sessionRow } from "./timeline.js";

export function Now() {
  const waiting = useData("/v1/proposals?limit=20").body;
  const waits = waiting?.items.length;
  const titled = (title, place, list) => section(html`${title} <a class="quiet" href=${href(place)}>all</a>`, list);
  return html`
    <${Heading}>Now<//>
    <${Load} path="/v1/now">${({ now, stored, threads }) => html`
      ${now.length ? html`<ul class="lines">${now.map(({ text, reference, open }) => html`<li>${reference ? html`<a class="step" href=${whereIs(reference)}>${inline(text)}</a>` : inline(text)}${open > 0 && html` <span class="quiet">${number(open)} open</span>`}</li>`)}</ul>` : html`<p class="empty">Nothing is being worked on.</p>`}
      <p class="quiet">${many(stored.sessions, "session")}, ${many(stored.turns, "turn")}, ${many(threads, "thread")}${stored.first_at && html`, since ${when(stored.first_at)}`}</p>`}<//>
    ${waits > 0 && html`<p class="notice"><a class="step" href=${href("review")}>${waiting.next && "More than "}${many(waits, "item")} wait${waits === 1 && "s"} for your yes</a></p>`}
    ${titled("Open", "loops", html`<${Load} path="/v1/loops?limit=12" empty="Nothing is open.">${({ items, next }) => html`${rows(items, (item) => html`<${LoopLine} key=${item.id} item=${item} />`)}${next && html`<p class="quiet"><a class="step" href=${href("loops")}>There are more.</a></p>`}`}<//>`)}
    ${titled("Last worked in", "timeline", html`<${Load} path="/v1/sessions?limit=6" empty="No conversation is stored yet. heirloom import reads those of your programs.">${({ items }) => rows(items, (s) => sessionRow(s, near(s.last_at)))}<//>`)}`;
}
