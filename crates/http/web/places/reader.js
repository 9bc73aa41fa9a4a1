// The reader of a session, however long: sections of fifty turns, each as high as it will probably be until it comes near,
// and then filled. A turn has an address; what is found in the session is gone to.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, get, part, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Command, Facts, folder, Heading, many, nameOf, number, program, Ref, sayWrong, Shown, When, Wrong } from "../parts.js";
import { Strata } from "./node.js";
import { firstLine, seen, Words } from "../words.js";

/** An address of a turn alone: its session is looked up. */
export function Turn() {
  const { id } = at.value;
  const turn = useData(`/v1/turns/${part(id)}`);
  const found = turn.body?.turns[0];
  useEffect(() => { if (found) go("session", found.session, { at: id }, true); }, [found]);
  return turn.problem ? html`<${Heading}>${id}<//><${Wrong} problem=${turn.problem} />` : html`<p class="quiet waiting">…</p>`;
}

function Record({ id }) {
  const record = useData(`/v1/turns/${part(id)}/record`);
  return html`<${Shown} of=${record}>${(r) => html`<p class="quiet">What the program wrote: ${many(r.bytes, "byte")}, credentials hidden. Byte for byte: heirloom show --raw ${id}</p><${Words} text=${r.text} language=${/^\s*[{[]/.test(r.text) ? "json" : "text"} />${r.cut && html`<p class="quiet">There is more of it.</p>`}`}<//>`;
}

const isAside = (turn) => turn.role === "tool" || /tool|thinking|machine/.test(turn.kind);

/** One thing that was said. What tools did is folded. */
function Said({ turn, isAt }) {
  const [raw, setRaw] = useState(false);
  const aside = isAside(turn);
  const who = turn.speaker || turn.tool || turn.role;
  const body = turn.forgotten ? html`<p class="quiet">Forgotten on ${turn.forgotten}.</p>` : html`<${Words} text=${turn.text} plain=${turn.role === "tool" || /tool/.test(turn.kind)} />`;
  return html`<article id=${turn.turn} class=${`turn ${turn.role} ${isAt ? "at" : ""} ${turn.failed ? "failed" : ""}`} tabindex="-1" aria-label=${`${who}, ${turn.turn}`}>
    <header><${Chip} tone=${turn.role}>${seen(who)}<//>${turn.kind !== "message" && html`<span class="quiet">${turn.kind}</span>`}${turn.failed && html`<${Chip} tone="late">failed<//>`}${turn.lane && html`<${Chip}>sub-agent<//>`}
      <span class="right quiet"><${When} at=${turn.at} form="hour" /> <a href=${href("session", turn.session, { at: turn.turn })} title="The address of this turn">${turn.turn}</a> <a href=${href("node", turn.turn)} title="The summaries it is part of">up</a> <button class="link" aria-expanded=${raw} onClick=${() => setRaw(!raw)}>raw</button></span></header>
    ${aside && !isAt ? html`<details><summary>${firstLine(turn.text, 110)}</summary>${body}</details>` : body}
    ${raw && html`<div class="raw"><${Record} id=${turn.turn} /></div>`}
  </article>`;
}

/** How high a section will probably be, in pixels. */
const height = ({ count, bytes }) => Math.round(count * 62 + Math.min(bytes / 4, count * 600));

function Section({ name, section, number: no, wanted, onFilled }) {
  const box = useRef();
  const [turns, setTurns] = useState(null);
  const [near, setNear] = useState(wanted);
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
  const shown = near || wanted;
  useEffect(() => {
    if (!shown || (turns && turns.length >= section.count)) return undefined;
    const stop = new AbortController();
    (async () => {
      const all = [];
      for (let cursor = section.cursor; all.length < section.count; ) {
        const page = await get(asking(`/v1/sessions/${part(name)}/turns`, { limit: section.count - all.length, cursor }), stop.signal);
        all.push(...page.items);
        cursor = page.next;
        if (!cursor || !page.items.length) break;
      }
      setTurns(all);
      setProblem(null);
    })().catch((e) => e.name !== "AbortError" && setProblem(e));
    return () => stop.abort();
  }, [shown, section.count, section.cursor]);
  useLayoutEffect(() => { if (shown && turns) onFilled?.(); }, [shown, turns]);
  return html`<section ref=${box} class="section" aria-label=${`Section ${no + 1}`} style=${shown && turns ? {} : { minHeight: `${was.current}px` }}>
    ${problem && html`<${Wrong} problem=${problem} />`}
    ${shown && turns && turns.map((turn) => html`<${Said} key=${turn.turn} turn=${turn} isAt=${turn.turn === at.value.query.at} />`)}
  </section>`;
}

/** Shows a turn and keeps it where it is until what is above it has its height, or somebody scrolls. */
function hold(id) {
  const until = performance.now() + 1500;
  let free = false;
  const stop = () => { free = true; };
  for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) addEventListener(kind, stop, { once: true, passive: true });
  const step = () => {
    const turn = document.getElementById(id);
    if (free || !turn || performance.now() > until) return;
    const off = turn.getBoundingClientRect().top - innerHeight / 4;
    if (Math.abs(off) > 4) scrollBy(0, off);
    requestAnimationFrame(step);
  };
  document.getElementById(id)?.focus({ preventScroll: true });
  step();
}

function Find({ name, onClose }) {
  const [text, setText] = useState("");
  const [hits, setHits] = useState([]);
  const [now, setNow] = useState(-1);
  const field = useRef();
  useLayoutEffect(() => field.current.focus(), []);
  useEffect(() => {
    if (!text.trim()) {
      setHits([]);
      return undefined;
    }
    const stop = new AbortController();
    const wait = setTimeout(() => get(asking("/v1/search", { q: text.trim(), session: name, kind: "turn", limit: 200 }), stop.signal).then(({ hits: found }) => {
      setHits(found.map((hit) => hit.turn).sort((a, b) => parseInt(a.slice(1), 16) - parseInt(b.slice(1), 16)));
      setNow(-1);
    }, (e) => e.name !== "AbortError" && sayWrong(e)), 120);
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [text]);
  const step = (by) => {
    if (!hits.length) return;
    const next = (now + by + hits.length) % hits.length;
    setNow(next);
    go("session", name, { at: hits[next] }, true);
  };
  useEffect(() => paint(text), [text, now]);
  useEffect(() => () => paint(""), []);
  return html`<div class="find" role="search"><input ref=${field} type="search" aria-label="Find in this session" placeholder="Find in this session" value=${text} onInput=${(e) => setText(e.target.value)}
    onKeyDown=${(e) => { if (e.key === "Enter") { e.preventDefault(); step(e.shiftKey ? -1 : 1); } else if (e.key === "Escape") { e.preventDefault(); onClose(); } }} />
    <span class="quiet" role="status">${text.trim() ? (hits.length ? `${now + 1 || "–"} of ${number(hits.length)}` : "none") : ""}</span>
    <button class="small" onClick=${() => step(-1)} aria-label="The one before">↑</button><button class="small" onClick=${() => step(1)} aria-label="The next one">↓</button><button class="small" onClick=${onClose}>Close</button></div>`;
}

/** Paints words in what is shown, without a change to it. */
function paint(text) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.delete("found");
  const words = text.toLowerCase().split(/[\s"*]+/).filter((word) => word.length > 1);
  if (!words.length) return;
  setTimeout(() => {
    const ranges = [];
    const walk = document.createTreeWalker(document.querySelector(".session") ?? document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode() && ranges.length < 2000) {
      const held = walk.currentNode.data.toLowerCase();
      for (const word of words) for (let from = held.indexOf(word); from >= 0 && ranges.length < 2000; from = held.indexOf(word, from + word.length)) {
        const range = new Range();
        range.setStart(walk.currentNode, from);
        range.setEnd(walk.currentNode, Math.min(from + word.length, walk.currentNode.length));
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }, 250);
}

export function Reader() {
  const { id, query } = at.value;
  // Words first: where a turn is wanted, the rest is asked for when it is there.
  const [isThere, setThere] = useState(!query.at);
  const details = useData(isThere ? asking(`/v1/sessions/${part(id)}`, { brief: true }) : null);
  const outline = useData(asking(`/v1/sessions/${part(id)}/outline`, { at: query.at }));
  const above = useData(isThere ? asking("/v1/expand", { id }) : null);
  const [finds, setFinds] = useState(false);
  const held = useRef(null);
  const sections = (outline.body ?? (outline.before?.sections ? outline.before : null))?.sections;
  const wanted = outline.body?.at;
  const filled = () => {
    if (query.at && held.current !== query.at && document.getElementById(query.at)) {
      held.current = query.at;
      hold(query.at);
      setThere(true);
    }
  };
  useEffect(() => {
    filled();
    if (outline.problem || (outline.body && wanted === null)) setThere(true);
  }, [query.at, outline.body, outline.problem]);
  useKeys({
    "/": () => setFinds(true),
    f: () => setFinds(true),
    u: () => go("timeline"),
    G: () => scrollTo(0, document.body.scrollHeight),
    j: () => scrollBy(0, innerHeight / 3),
    k: () => scrollBy(0, -innerHeight / 3),
  });
  const resume = details.body?.session.resume;
  return html`
    <${Shown} of=${details}>${({ session: s, name, lanes }) => html`
      <${Heading} up=${html`<a href=${href("timeline")}>Timeline</a>`} more=${html`<button class="small" onClick=${() => setFinds(true)}>Find <kbd>f</kbd></button>`}>${firstLine(nameOf({ ...s, name }), 300)}<//>
      <${Facts} of=${[["Program", `${program(s.harness)}${s.version ? " " + s.version : ""}`], ["Began", html`<${When} at=${s.started_at} />`], ["Last", html`<${When} at=${s.last_at} />`], ["Folder", s.cwd && html`<span title=${s.cwd}>${folder(s.cwd)}</span>`], ["Turns", number(s.turns + s.shared_turns)], ["Sub-agents", lanes.length > 1 && number(lanes.length - 1)], ["Copied from", s.fork_of && html`<${Ref} id=${s.fork_of} />`], ["Thread", above.body?.thread && html`<a href=${href("threads", above.body.thread.thread)}>${above.body.thread.label}</a>`], ["Key", s.session], ["Given to it", html`<a href=${href("given", "", { session: s.session })}>contexts</a>`]]} />
      ${resume && html`<p><span class="quiet">Go on with it:</span> <${Command}>${resume}<//></p>`}`}<//>
    ${above.body?.nodes?.length > 0 && html`<${Strata} nodes=${above.body.nodes} />`}
    ${finds && html`<${Find} name=${id} onClose=${() => setFinds(false)} />`}
    ${outline.problem && html`<${Wrong} problem=${outline.problem} />`}
    ${query.at && outline.body && wanted === null && html`<p class="notice">${query.at} is not in this session.</p>`}
    ${sections && html`<div class="session">${sections.map((section, n) => html`<${Section} key=${section.first} name=${id} section=${section} number=${n} wanted=${n === wanted} onFilled=${filled} />`)}${!sections.length && html`<p class="empty">Nothing was said in it.</p>`}</div>`}`;
}
