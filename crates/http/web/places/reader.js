// The reader of a session of any length: sections of fifty turns with an estimated height, loaded when they come near.
// Each turn has an address; find in the session jumps to its hits.
import {
  asking, at, byId, chip, command, el, facts, Field, firstLine, folder, get, go, Heading, hour, href, joined, link,
  Load, many, nameOf, note, number, part, program, quiet, ref, seen, sessionRef, shown, small, useData, useEffect,
  useKeys, useLayoutEffect, useRef, useState, when, Words, wrong,
} from "../parts.js";
import { stretch } from "../code.js";
import { place, strata } from "./node.js";

/** An address of a turn alone: its session is looked up. */
export function Turn() {
  const { id } = at.value;
  const { body, problem } = useData(`/v1/turns/${part(id)}`);
  useEffect(() => { if (body) go("session", body.turns[0].session, { at: id }, true); }, [body]);
  return shown({ problem }, null, "", id);
}

/** Something that was said. `is`: what it is among others; `more`: what stands beside the name; `folds`: closed until
 * somebody opens it; `below`: what stands under it. */
export function turnCard(turn, { is, more, folds, below } = {}) {
  const { role, kind, text } = turn;
  const who = turn.speaker || turn.tool || role;
  const words = turn.forgotten ? note("Forgotten on ", turn.forgotten, ".")
    : el(Words, { text, plain: role === "tool" || /tool/.test(kind) });
  return el(`article.${joined(["turn", role, is, turn.failed && "failed"], ".")}`,
    { id: turn.turn, tabindex: -1, "aria-label": `${who}, ${turn.turn}` },
    el("header", chip(seen(who), role), kind !== "message" && quiet(kind), turn.failed && chip("failed", "late"),
      turn.lane && chip("sub-agent"), el("span.right.quiet", more)),
    folds ? el("details", el("summary", firstLine(text, 110)), words) : words, below);
}

const record = (id) => el("div.raw", el(Load, { path: `/v1/turns/${part(id)}/record` }, ({ text, bytes, cut }) => [
  note(`What the program wrote: ${many(bytes, "byte")}, credentials hidden. Byte for byte: `,
    command(`heirloom show --raw ${id}`)),
  el(Words, { text, language: /^\s*[{[]/.test(text) ? "json" : "text" }),
  cut && note("There is more of it."),
]));

function Said({ turn }) {
  const [raw, setRaw] = useState(false);
  const { turn: id, session, role, kind } = turn;
  const isAt = id === at.value.query.at;
  const titled = (to, title, words) => el("a", { href: to, title }, words);
  return turnCard(turn, {
    is: isAt && "at",
    folds: !isAt && (role === "tool" || /tool|thinking|machine/.test(kind)),
    more: [
      hour(turn.at), " ", titled(href("session", session, { at: id }), "The address of this turn", id), " ",
      titled(href("node", id), "The summaries it is part of", "up"), " ",
      el("button.link", { "aria-expanded": raw, onClick: () => setRaw(!raw) }, "raw"),
    ],
    below: raw && record(id),
  });
}

/** How high a section will probably be, in pixels. */
const height = ({ count, bytes }) => count * 62 + Math.min(bytes / 4, count * 600);

/** The heights that parts of sessions had when they were last seen. */
const heights = new Map();

/** Sections that are drawn where they are wanted or near what is seen. `children` gets them, and what keeps
 * their place until they are filled. */
function Near({ of, wanted, children }) {
  const box = useRef();
  const [near, setNear] = useState(false);
  const id = of[0].first + of.length;
  useEffect(() => {
    const watch = new IntersectionObserver(([{ isIntersecting, boundingClientRect }]) => {
      if (!isIntersecting) heights.set(id, boundingClientRect.height);
      setNear(isIntersecting);
    }, { rootMargin: `${of.length > 1 ? 6000 : 1200}px 0px` });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const minHeight = heights.get(id) ?? of.reduce((sum, one) => sum + height(one), 0);
  const space = el("div", { style: { minHeight } });
  return el("div", { ref: box }, near || wanted ? children(of, space) : space);
}

const near = (of, wanted, children) => el(Near, { key: of[0].first, of, wanted: of.includes(wanted) }, children);

function Turns({ name, section: { cursor, count }, space, wanted, onFilled }) {
  const [{ turns, problem }, set] = useState({});
  const fill = async (stop) => {
    const all = [];
    for (let from = cursor, page; all.length < count; from = page.next) {
      page = await get(asking(`/v1/sessions/${part(name)}/turns`, { limit: count - all.length, cursor: from }), stop);
      all.push(...page.items);
      if (!page.next) break;
    }
    set({ turns: all });
  };
  useLayoutEffect(() => {
    const stop = new AbortController();
    fill(stop.signal).catch((e) => stop.signal.aborted || set({ turns, problem: e }));
    return () => stop.abort();
  }, [count, cursor]);
  useLayoutEffect(() => { if (turns) onFilled(wanted); }, [turns, wanted]);
  return [wrong(problem), turns ? turns.map((turn) => el(Said, { key: turn.turn, turn })) : space];
}

/** So many sections are drawn, or left out, together: a thousand of them would take longer than the words. */
const TOGETHER = 20;

const together = (all, wanted, section) => all.map((_, n) => n % TOGETHER === 0 &&
  near(all.slice(n, n + TOGETHER), wanted, (of) => of.map((one) => near([one], wanted, section))));

let held = "";
for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) {
  addEventListener(kind, () => { held = ""; }, { passive: true });
}

/** Shows a turn and keeps it there until what is above it has its height, somebody scrolls, or another one is shown. */
function hold(id) {
  const until = performance.now() + 1500;
  held = id;
  const step = () => {
    const turn = byId(id);
    if (held !== id || !turn || performance.now() > until) return;
    const off = turn.getBoundingClientRect().top - innerHeight / 4;
    if (Math.abs(off) > 4) scrollBy(0, off);
    requestAnimationFrame(step);
  };
  byId(id)?.focus({ preventScroll: true });
  step();
}

function Find({ name, onClose }) {
  const [q, setWords] = useState("");
  const [now, setNow] = useState(-1);
  const found = useData(q && asking("/v1/search", { q, session: name, kind: "turn", limit: 200 }));
  const hits = (found.body?.hits ?? []).map((hit) => hit.turn).sort((a, b) => place(a) - place(b));
  useEffect(() => setNow(-1), [q]);
  const step = (by) => {
    if (!hits.length) return;
    const next = (now + by + hits.length) % hits.length;
    setNow(next);
    go("session", name, { at: hits[next] }, true);
  };
  useEffect(() => paint(q), [q, now]);
  useEffect(() => () => paint(""), []);
  const onKeyDown = (e) => {
    if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
    else if (e.key === "Escape") onClose();
    else return;
    e.preventDefault();
  };
  const label = "Find in this session";
  return el("div.find", { role: "search" },
    el(Field, { "aria-label": label, placeholder: label, onWords: setWords, onKeyDown }),
    el("span.quiet", { role: "status" },
      q && found.body && (hits.length ? `${now + 1 || "–"} of ${number(hits.length)}` : "none")),
    small("↑", () => step(-1), { "aria-label": "The one before" }),
    small("↓", () => step(1), { "aria-label": "The next one" }), small("Close", onClose));
}

/** Paints words in what is shown, without a change to it. */
function paint(text) {
  CSS.highlights?.delete("found");
  const words = text.split(/[\s"*]+/).filter((word) => word.length > 1);
  if (!words.length || !CSS.highlights) return;
  const any = new RegExp(words.map((word) => word.replace(/\W/g, "\\$&")).join("|"), "gi");
  // By then the target of the jump is loaded.
  setTimeout(() => {
    const painted = new Highlight();
    const walk = document.createTreeWalker(document.querySelector(".session") ?? new Text(), NodeFilter.SHOW_TEXT);
    while (walk.nextNode() && painted.size < 2000) {
      const node = walk.currentNode;
      for (const { index, 0: word } of node.data.matchAll(any)) painted.add(stretch(node, index, index + word.length));
    }
    CSS.highlights.set("found", painted);
  }, 250);
}

export function Reader() {
  const { id, query } = at.value;
  // The wanted turn is loaded first, and the summaries after it.
  const [isThere, setThere] = useState(!query.at);
  const path = `/v1/sessions/${part(id)}/outline`;
  const outline = useData(path);
  const above = useData(isThere && asking("/v1/expand", { id })).body;
  const [finds, setFinds] = useState(false);
  const shownLast = useRef("");
  const sections = outline.body?.sections;
  // Nearly always the ids of a session's turns rise. Where they do not, the section of the turn is asked for.
  const [missed, setMissed] = useState("");
  const guess = query.at && sections?.findLastIndex(({ first }) => place(first) <= place(query.at));
  const isMissed = guess < 0 || missed === query.at;
  const asked = useData(isMissed && asking(path, { at: query.at })).body;
  const wanted = isMissed ? asked?.at : guess;
  const onFilled = (isWanted) => {
    if (!query.at || shownLast.current === query.at) return;
    if (byId(query.at)) {
      shownLast.current = query.at;
      hold(query.at);
      setThere(true);
    } else if (isWanted) setMissed(query.at);
  };
  useEffect(() => {
    onFilled();
    if (outline.problem || wanted === null) setThere(true);
  }, [query.at, sections, wanted, outline.problem]);
  const find = () => setFinds(true);
  const scroll = (by) => () => scrollBy(0, innerHeight * by);
  const end = () => scrollTo(0, document.body.scrollHeight);
  useKeys({ "/": find, f: find, G: end, j: scroll(1 / 3), k: scroll(-1 / 3) });
  const head = ({ session: s, name, lanes }) => [
    el(Heading, { up: [[href("timeline"), "Timeline"]], more: small(["Find ", el("kbd", "f")], find) },
      nameOf({ ...s, name }, 300)),
    facts({
      Program: `${program(s.harness)} ${s.version ?? ""}`,
      Began: when(s.started_at),
      Last: when(s.last_at),
      Folder: s.cwd && el("span", { title: s.cwd }, folder(s.cwd)),
      Turns: number(s.turns + s.shared_turns),
      "Sub-agents": lanes.length > 1 && number(lanes.length - 1),
      "Copied from": sessionRef(s.fork_of),
      Thread: above?.thread && ref(above.thread.thread, above.thread.label),
      Key: s.session,
      "Given to it": link(href("given", "", { session: s.session }), "contexts"),
    }),
    s.resume && el("p", quiet("Go on with it:"), " ", command(s.resume)),
  ];
  return [
    el(Load, { path: isThere && asking(`/v1/sessions/${part(id)}`, { brief: true }) }, head),
    above && strata(above.nodes ?? []),
    finds && el(Find, { name: id, onClose: () => setFinds(false) }),
    wrong(outline.problem),
    query.at && wanted === null && el("p.notice", query.at, " is not in this session."),
    sections && el("div.session", together(sections, sections[wanted], ([section], space) => el(Turns, {
      name: id, section, space, wanted: section === sections[wanted] && query.at, onFilled,
    })), !sections.length && el("p.empty", "Nothing was said in it.")),
  ];
}
