// The reader of a session of any length: sections of fifty turns with an estimated height, loaded when they come near. Each
// turn has an address; find in the session jumps to its hits.
import { asking, at, chip, command, facts, firstLine, folder, get, go, Heading, hour, href, html, Load, many, nameOf, number, part, program, ref, seen, sessionRef, shown, useData, useEffect, useKeys, useLayoutEffect, useRef, useSettled, useState, when, Words, wrong } from "../parts.js";
import { stretch } from "../code.js";
import { place, strata } from "./node.js";

/** An address of a turn alone: its session is looked up. */
export function Turn() {
  const { id } = at.value;
  const { body, problem } = useData(`/v1/turns/${part(id)}`);
  useEffect(() => { if (body) go("session", body.turns[0].session, { at: id }, true); }, [body]);
  return shown({ problem }, null, "", id);
}

/** Something that was said. `is`: what it is among others; `more`: what stands beside the name; `folds`: what tools did, until
 * it is opened; `below`: what stands under it. */
export function turnCard(turn, { is, more, folds, below } = {}) {
  const who = turn.speaker || turn.tool || turn.role;
  const words = turn.forgotten ? html`<p class="quiet">Forgotten on ${turn.forgotten}.</p>` : html`<${Words} text=${turn.text} plain=${turn.role === "tool" || /tool/.test(turn.kind)} />`;
  return html`<article id=${turn.turn} class=${["turn", turn.role, is, turn.failed && "failed"].filter(Boolean).join(" ")} tabindex="-1" aria-label=${`${who}, ${turn.turn}`}>
    <header>${chip(seen(who), turn.role)}${turn.kind !== "message" && html`<span class="quiet">${turn.kind}</span>`}${turn.failed && chip("failed", "late")}${turn.lane && chip("sub-agent")}<span class="right quiet">${more}</span></header>
    ${folds ? html`<details><summary>${firstLine(turn.text, 110)}</summary>${words}</details>` : words}${below}
  </article>`;
}

const record = (id) => html`<div class="raw"><${Load} path=${`/v1/turns/${part(id)}/record`}>${({ text, bytes, cut }) => html`
  <p class="quiet">What the program wrote: ${many(bytes, "byte")}, credentials hidden. Byte for byte: ${command(`heirloom show --raw ${id}`)}</p><${Words} text=${text} language=${/^\s*[{[]/.test(text) ? "json" : "text"} />${cut && html`<p class="quiet">There is more of it.</p>`}`}<//></div>`;

function Said({ turn }) {
  const [raw, setRaw] = useState(false);
  const isAt = turn.turn === at.value.query.at;
  return turnCard(turn, {
    is: isAt && "at",
    folds: !isAt && (turn.role === "tool" || /tool|thinking|machine/.test(turn.kind)),
    more: html`${hour(turn.at)} <a href=${href("session", turn.session, { at: turn.turn })} title="The address of this turn">${turn.turn}</a> <a href=${href("node", turn.turn)} title="The summaries it is part of">up</a> <button class="link" aria-expanded=${raw} onClick=${() => setRaw(!raw)}>raw</button>`,
    below: raw && record(turn.turn),
  });
}

/** How high a section will probably be, in pixels. */
const height = ({ count, bytes }) => Math.round(count * 62 + Math.min(bytes / 4, count * 600));

function Section({ name, section, number: no, wanted, onFilled }) {
  const box = useRef();
  const [turns, setTurns] = useState(null);
  const [near, setNear] = useState(false);
  const [problem, setProblem] = useState(null);
  const was = useRef(height(section));
  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting && box.current) was.current = box.current.offsetHeight;
      setNear(entry.isIntersecting);
    }, { rootMargin: "1200px 0px" });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const isShown = near || wanted;
  const fill = async (stop) => {
    const all = [];
    for (let cursor = section.cursor, page; all.length < section.count; cursor = page.next) {
      page = await get(asking(`/v1/sessions/${part(name)}/turns`, { limit: section.count - all.length, cursor }), stop);
      all.push(...page.items);
      if (!page.next) break;
    }
    setTurns(all);
    setProblem(null);
  };
  useLayoutEffect(() => {
    if (!isShown || turns?.length >= section.count) return undefined;
    const stop = new AbortController();
    fill(stop.signal).catch((e) => stop.signal.aborted || setProblem(e));
    return () => stop.abort();
  }, [isShown, section.count, section.cursor]);
  useLayoutEffect(() => { if (isShown && turns) onFilled(); }, [isShown, turns]);
  const filled = isShown && turns;
  return html`<section ref=${box} class="section" aria-label=${`Section ${no + 1}`} style=${filled ? {} : { minHeight: `${was.current}px` }}>
    ${wrong(problem)}${filled && turns.map((turn) => html`<${Said} key=${turn.turn} turn=${turn} />`)}</section>`;
}

let held = "";
for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) addEventListener(kind, () => { held = ""; }, { passive: true });

/** Shows a turn and keeps it where it is until what is above it has its height, somebody scrolls, or another one is shown. */
function hold(id) {
  const until = performance.now() + 1500;
  held = id;
  const step = () => {
    const turn = document.getElementById(id);
    if (held !== id || !turn || performance.now() > until) return;
    const off = turn.getBoundingClientRect().top - innerHeight / 4;
    if (Math.abs(off) > 4) scrollBy(0, off);
    requestAnimationFrame(step);
  };
  document.getElementById(id)?.focus({ preventScroll: true });
  step();
}

function Find({ name, onClose }) {
  const [text, setText] = useState("");
  const [now, setNow] = useState(-1);
  const field = useRef();
  const q = useSettled(text.trim());
  const found = useData(q && asking("/v1/search", { q, session: name, kind: "turn", limit: 200 }));
  const hits = (found.body?.hits ?? []).map((hit) => hit.turn).sort((a, b) => place(a) - place(b));
  useLayoutEffect(() => field.current.focus(), []);
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
  return html`<div class="find" role="search"><input ref=${field} type="search" aria-label="Find in this session" placeholder="Find in this session" value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${onKeyDown} />
    <span class="quiet" role="status">${q && found.body && (hits.length ? `${now + 1 || "–"} of ${number(hits.length)}` : "none")}</span>
    <button class="small" onClick=${() => step(-1)} aria-label="The one before">↑</button><button class="small" onClick=${() => step(1)} aria-label="The next one">↓</button><button class="small" onClick=${onClose}>Close</button></div>`;
}

/** Paints words in what is shown, without a change to it. */
function paint(text) {
  CSS.highlights?.delete("found");
  const words = text.toLowerCase().split(/[\s"*]+/).filter((word) => word.length > 1);
  if (!words.length || !CSS.highlights) return;
  const any = new RegExp(words.map((word) => word.replace(/\W/g, "\\$&")).join("|"), "gi");
  // By then the target of the jump is loaded.
  setTimeout(() => {
    const painted = new Highlight();
    const walk = document.createTreeWalker(document.querySelector(".session") ?? new Text(), NodeFilter.SHOW_TEXT);
    while (walk.nextNode() && painted.size < 2000) {
      for (const { index, 0: word } of walk.currentNode.data.matchAll(any)) painted.add(stretch(walk.currentNode, index, index + word.length));
    }
    CSS.highlights.set("found", painted);
  }, 250);
}

export function Reader() {
  const { id, query } = at.value;
  // The wanted turn is loaded first, and the summaries after it.
  const [isThere, setThere] = useState(!query.at);
  const outline = useData(asking(`/v1/sessions/${part(id)}/outline`, { at: query.at }));
  const above = useData(isThere && asking("/v1/expand", { id })).body;
  const [finds, setFinds] = useState(false);
  const shownLast = useRef("");
  const sections = (outline.body ?? outline.before)?.sections;
  const wanted = outline.body?.at;
  const onFilled = () => {
    if (!query.at || shownLast.current === query.at || !document.getElementById(query.at)) return;
    shownLast.current = query.at;
    hold(query.at);
    setThere(true);
  };
  useEffect(() => {
    onFilled();
    if (outline.problem || wanted === null) setThere(true);
  }, [query.at, outline.body, outline.problem]);
  const find = () => setFinds(true);
  useKeys({ "/": find, f: find, G: () => scrollTo(0, document.body.scrollHeight), j: () => scrollBy(0, innerHeight / 3), k: () => scrollBy(0, -innerHeight / 3) });
  return html`
    <${Load} path=${isThere && asking(`/v1/sessions/${part(id)}`, { brief: true })}>${({ session: s, name, lanes }) => html`
      <${Heading} up=${[[href("timeline"), "Timeline"]]} more=${html`<button class="small" onClick=${find}>Find <kbd>f</kbd></button>`}>${nameOf({ ...s, name }, 300)}<//>
      ${facts({ Program: `${program(s.harness)} ${s.version ?? ""}`, Began: when(s.started_at), Last: when(s.last_at), Folder: s.cwd && html`<span title=${s.cwd}>${folder(s.cwd)}</span>`, Turns: number(s.turns + s.shared_turns), "Sub-agents": lanes.length > 1 && number(lanes.length - 1), "Copied from": sessionRef(s.fork_of), Thread: above?.thread && ref(above.thread.thread, above.thread.label), Key: s.session, "Given to it": html`<a href=${href("given", "", { session: s.session })}>contexts</a>` })}
      ${s.resume && html`<p><span class="quiet">Go on with it:</span> ${command(s.resume)}</p>`}`}<//>
    ${above && strata(above.nodes ?? [])}
    ${finds && html`<${Find} name=${id} onClose=${() => setFinds(false)} />`}
    ${wrong(outline.problem)}
    ${query.at && wanted === null && html`<p class="notice">${query.at} is not in this session.</p>`}
    ${sections && html`<div class="session">${sections.map((section, n) => html`<${Section} key=${section.first} name=${id} section=${section} number=${n} wanted=${n === wanted} onFilled=${onFilled} />`)}${!sections.length && html`<p class="empty">Nothing was said in it.</p>`}</div>`}`;
}
