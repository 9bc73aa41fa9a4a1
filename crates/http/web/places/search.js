// Search: as you type. What was asked before is given up when something else is asked.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, changed, get } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Choice, Heading, many, Part, program, PROGRAMS, stepKeys, When, Wrong } from "../parts.js";
import { firstLine, seen } from "../words.js";

const ROLES = [["", "anyone"], "user", "assistant", "tool", "system"];
const SINCE = [["", "any time"], ["1d", "a day"], ["7d", "a week"], ["30d", "a month"], ["365d", "a year"]];
/** How long nothing is typed before it is asked. */
const PAUSE = 60;

/** A snippet with its matches: `[start, end]` in characters. */
function Snippet({ text, matches }) {
  const characters = [...text];
  const out = [];
  let from = 0;
  for (const [start, end] of matches ?? []) {
    if (start < from || end > characters.length) continue;
    out.push(seen(characters.slice(from, start).join("")), html`<mark>${seen(characters.slice(start, end).join(""))}</mark>`);
    from = end;
  }
  out.push(seen(characters.slice(from).join("")));
  return html`<p class="snippet" dir="auto">${out}</p>`;
}

/** Why a hit is one, in words. */
function why(hit) {
  const { matched, of, cosine, beside } = hit.why ?? {};
  const said = [];
  if (of) said.push(`${matched} of ${many(of, "word")}`);
  if (cosine > 0) said.push(`near in meaning (${cosine.toFixed(2)})`);
  if (beside) said.push(`found beside ${beside}`);
  if (hit.others?.length) said.push(`${many(hit.others.length, "copy", "copies")} of it`);
  return said.join(", ");
}

/** The parts of a score, where they were asked for. */
function Parts({ score }) {
  if (!score) return null;
  const shown = ["words", "cosine", "date", "neighbours", "people", "weight", "sum"].filter((name) => typeof score[name] === "number" && score[name] !== 0);
  return html`<table class="parts"><tbody>${shown.map((name) => html`<tr><th scope="row">${name}</th><td>${score[name].toFixed(3)}</td></tr>`)}</tbody></table>`;
}

const of = (query) => ({ q: query.q ?? "", role: query.role ?? "", harness: query.harness ?? "", since: query.since ?? "" });

export function Search() {
  const query = of(at.value.query);
  const [text, setText] = useState(query.q);
  const [got, setGot] = useState({ report: null, problem: null, busy: false });
  const field = useRef();
  const version = changed.value;
  useLayoutEffect(() => field.current.focus(), []);
  // An address somebody went to.
  useEffect(() => { if (query.q.trim() !== text.trim()) setText(query.q); }, [query.q]);
  const asked = asking("/v1/search", { ...query, q: text.trim(), limit: 20, explain: true });
  useEffect(() => {
    if (!text.trim()) {
      setGot({ report: null, problem: null, busy: false });
      return undefined;
    }
    const stop = new AbortController();
    setGot((old) => ({ ...old, busy: true }));
    const wait = setTimeout(() => {
      go("search", "", { ...query, q: text.trim() }, true);
      get(asked, stop.signal).then(
        (report) => setGot({ report, problem: null, busy: false }),
        (problem) => problem.name !== "AbortError" && setGot({ report: null, problem, busy: false }),
      );
    }, PAUSE);
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [asked, version]);
  useKeys(stepKeys());
  const limit = (name) => (value) => go("search", "", { ...query, q: text.trim(), [name]: value }, true);
  const { report, problem, busy } = got;
  const less = report ? [...(report.understood.widened ? ["nothing lies within these limits, so they were let go"] : []), ...report.less] : [];
  return html`
    <${Heading}>Search<//>
    <div class="ask" role="search">
      <input id="query" ref=${field} class="wide" type="search" autocomplete="off" spellcheck="false" aria-label="What to look for" placeholder='Words, "phrases", begin*, last week' value=${text} onInput=${(e) => setText(e.target.value)}
        onKeyDown=${(e) => { if (e.key === "ArrowDown") { e.preventDefault(); document.querySelector("main .step")?.focus(); } }} />
      <div class="limits">
        <${Choice} label="Said by" value=${query.role} of=${ROLES} onChange=${limit("role")} />
        <${Choice} label="In" value=${query.harness} of=${PROGRAMS} onChange=${limit("harness")} />
        <${Choice} label="Within" value=${query.since} of=${SINCE} onChange=${limit("since")} />
        <span class="quiet" role="status">${report ? `${report.hits.length + report.files.length} found in ${report.ms.toFixed(0)} ms` : busy ? "…" : ""}</span>
      </div>
    </div>
    ${problem && html`<${Wrong} problem=${problem} />`}
    ${less.map((line) => html`<p class="notice">${seen(line)}</p>`)}
    ${report && !report.hits.length && !report.files.length && html`<p class="empty">Nothing has these words${report.not_indexed ? `; ${many(report.not_indexed, "turn")} are not in the index yet` : ""}.</p>`}
    ${report && html`<div class=${busy ? "hits stale" : "hits"}>
      ${report.files.length > 0 && html`<${Part} id="files" title="Remembered"><ul class="hitlist">${report.files.map((file) => html`<li key=${file.path}>
        <a class="step main" href=${file.id ? href(file.kind === "memory" ? "memory" : file.kind === "loop" ? "loops" : "node", file.id) : href("node", file.path)}>${firstLine(file.title || file.path)}</a> <${Chip}>${file.kind}<//>${file.status && html`<${Chip}>${file.status}<//>`}
        <${Snippet} text=${file.snippet} matches=${file.matches} />
        <details class="why"><summary>Why: ${why(file)}</summary><${Parts} score=${report.explain?.files.find((score) => score.path === file.path)} /></details></li>`)}</ul><//>`}
      ${report.hits.length > 0 && html`<${Part} id="said-hits" title="Said"><ul class="hitlist">${report.hits.map((hit) => html`<li key=${hit.turn}>
        <a class="step main" href=${href("session", hit.session, { at: hit.turn })}><${Chip} tone=${hit.role}>${hit.speaker || hit.tool || hit.role}<//><${Snippet} text=${hit.snippet} matches=${hit.matches} /></a>
        <span class="quiet">${program(hit.harness)} · <${When} at=${hit.at} /> · ${hit.turn}</span>
        <details class="why"><summary>Why: ${why(hit)}</summary><${Parts} score=${report.explain?.hits.find((score) => score.turn === hit.turn)} /></details></li>`)}</ul><//>`}
    </div>`}
    ${!text.trim() && html`<p class="empty">Everything that was said, and everything that is remembered. Words in quotes stand together; a time such as <em>last tuesday</em> counts.</p>`}`;
}
