// Search: as you type.
import { asking, at, chip, choice, firstLine, go, Heading, href, html, many, program, PROGRAMS, section, seen, step, useData, useEffect, useLayoutEffect, useRef, useSettled, useState, when, whereIs, wrong } from "../parts.js";

const ROLES = [["", "anyone"], "user", "assistant", "tool", "system"];
const SINCE = [["", "any time"], ["1d", "a day"], ["7d", "a week"], ["30d", "a month"], ["365d", "a year"]];

/** A snippet with its matches: `[start, end]` in characters. */
function snippet({ snippet: text, matches = [] }) {
  const characters = [...text];
  const words = (start, end) => seen(characters.slice(start, end).join(""));
  let from = 0;
  const marked = matches.map(([start, end]) => {
    const before = words(from, start);
    from = end;
    return [before, html`<mark>${words(start, end)}</mark>`];
  });
  return html`<p class="snippet" dir="auto">${marked}${words(from)}</p>`;
}

/** Why a hit is one, in words. */
function why({ why: { matched, of, cosine, beside }, others }) {
  const said = [of && `${matched} of ${many(of, "word")}`, cosine > 0 && `near in meaning (${cosine.toFixed(2)})`, beside && `found beside ${beside}`, others?.length && `${many(others.length, "copy", "copies")} of it`];
  return html`<p class="why">Why: ${said.filter(Boolean).join(", ")}</p>`;
}

const fileHit = (file) => html`<li key=${file.path}><a class="step main" href=${file.id ? whereIs(file.id) : href("node", file.path)}>${firstLine(file.title || file.path)}</a> ${chip(file.kind)}${chip(file.status)}${snippet(file)}${why(file)}</li>`;

const turnHit = (hit) => html`<li key=${hit.turn}><a class="step main" href=${href("session", hit.session, { at: hit.turn })}>${chip(hit.speaker || hit.tool || hit.role, hit.role)}${snippet(hit)}</a>
  <span class="quiet">${program(hit.harness)} · ${when(hit.at)} · ${hit.turn}</span>${why(hit)}</li>`;

export function Search() {
  const { q = "" } = at.value.query;
  const [text, setText] = useState(q);
  const field = useRef();
  const typed = useRef(q);
  const settled = useSettled(text.trim());
  useLayoutEffect(() => field.current.focus(), []);
  useLayoutEffect(() => {
    typed.current = settled;
    go("search", "", { ...at.value.query, q: settled }, true);
  }, [settled]);
  // The address changed, by a link or by going back.
  useEffect(() => { if (q !== typed.current) setText(q); }, [q]);
  const { body, before, problem } = useData(q && asking("/v1/search", { ...at.value.query, limit: 20 }));
  const report = q && (body ?? before);
  const less = report ? [report.understood.widened && "nothing lies within these limits, so they were let go", ...report.less] : [];
  const found = report && report.hits.length + report.files.length;
  return html`
    <${Heading}>Search<//>
    <div class="ask" role="search">
      <input id="query" ref=${field} class="wide" type="search" autocomplete="off" spellcheck="false" aria-label="What to look for" placeholder='Words, "phrases", begin*, last week' value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${(e) => e.key === "ArrowDown" && (e.preventDefault(), step(0)())} />
      <div class="limits">${choice("Said by", "role", ROLES)}${choice("In", "harness", PROGRAMS)}${choice("Within", "since", SINCE)}<span class="quiet" role="status">${report && `${found} found in ${report.ms.toFixed(0)} ms`}</span></div>
    </div>
    ${wrong(problem)}
    ${less.map((line) => line && html`<p class="notice">${seen(line)}</p>`)}
    ${found === 0 && html`<p class="empty">Nothing has these words${report.not_indexed > 0 && `; ${many(report.not_indexed, "turn")} are not in the index yet`}.</p>`}
    ${found > 0 && html`<div class=${body ? "hits" : "hits stale"}>
      ${report.files.length > 0 && section("Remembered", html`<ul class="hitlist">${report.files.map(fileHit)}</ul>`)}
      ${report.hits.length > 0 && section("Said", html`<ul class="hitlist">${report.hits.map(turnHit)}</ul>`)}</div>`}
    ${!q && html`<p class="empty">Everything that was said, and everything that is remembered. Words in quotes stand together; a time such as <em>last tuesday</em> counts.</p>`}`;
}
