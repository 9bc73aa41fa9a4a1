// Search: as you type.
import {
  asking, at, chip, choice, el, Field, firstLine, go, Heading, href, joined, many, program, PROGRAMS, quiet, section,
  seen, step, useData, when, whereIs, wrong,
} from "../parts.js";

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
    return [before, el("mark", words(start, end))];
  });
  return el("p.snippet", { dir: "auto" }, marked, words(from));
}

const why = ({ why: { matched, of, cosine, beside }, others }) => el("p.why", "Why: ", joined([
  of && `${matched} of ${many(of, "word")}`, cosine > 0 && `near in meaning (${cosine.toFixed(2)})`,
  beside && `found beside ${beside}`, others?.length && `${many(others.length, "copy", "copies")} of it`,
]));

const leads = (to, words) => el("a.step.main", { href: to }, words);
const fileHit = (file) => el("li", { key: file.path },
  leads(file.id ? whereIs(file.id) : href("node", file.path), firstLine(file.title || file.path)), " ",
  chip(file.kind), chip(file.status), snippet(file), why(file));
const turnHit = (hit) => el("li", { key: hit.turn },
  leads(href("session", hit.session, { at: hit.turn }),
    [chip(hit.speaker || hit.tool || hit.role, hit.role), snippet(hit)]),
  quiet(program(hit.harness), " · ", when(hit.at), " · ", hit.turn), why(hit));
const hits = (title, all, hit) => all.length > 0 && section(title, el("ul.hitlist", all.map(hit)));

export function Search() {
  const { q = "" } = at.value.query;
  const onWords = (words) => go("search", "", { ...at.value.query, q: words }, true);
  const { body, before, problem } = useData(q && asking("/v1/search", { ...at.value.query, limit: 20 }));
  const report = q && (body ?? before);
  const wide = report && report.understood.widened && "nothing lies within these limits, so they were let go";
  const found = report && report.hits.length + report.files.length;
  const late = report?.not_indexed > 0 && `; ${many(report.not_indexed, "turn")} are not in the index yet`;
  const onKeyDown = (e) => {
    if (e.key !== "ArrowDown") return;
    e.preventDefault();
    step(0)();
  };
  return [
    el(Heading, "Search"),
    el("div.ask", { role: "search" },
      el(Field, {
        id: "query", class: "wide", autocomplete: "off", spellcheck: false, "aria-label": "What to look for",
        placeholder: 'Words, "phrases", begin*, last week', words: q, onWords, onKeyDown,
      }),
      el("div.limits",
        choice("Said by", "role", ROLES), choice("In", "harness", PROGRAMS), choice("Within", "since", SINCE),
        el("span.quiet", { role: "status" }, report && `${found} found in ${report.ms.toFixed(0)} ms`))),
    wrong(problem),
    report && [wide, ...report.less].map((line) => line && el("p.notice", seen(line))),
    found === 0 && el("p.empty", "Nothing has these words", late, "."),
    found > 0 && el(body ? "div.hits" : "div.hits.stale",
      // Pages come last: they repeat what was said.
      hits("Remembered", report.files.filter((file) => !file.rendered), fileHit), hits("Said", report.hits, turnHit),
      hits("Pages", report.files.filter((file) => file.rendered), fileHit)),
    !q && el("p.empty", "Everything that was said, and everything that is remembered. Words in quotes stand together; " +
      "a time such as ", el("em", "last tuesday"), " counts."),
  ];
}
