// The page: its places, its keys, and the parts common to all places.
import { at, Dialog, drawnBy, go, hasToken, href, html, listen, live, openWith, render, said, state, step, takeCode, undo, useEffect, useKeys, useState, wrong } from "./parts.js";
import { Palette } from "./palette.js";
import { Now } from "./places/now.js";
import { Search } from "./places/search.js";
import { Timeline } from "./places/timeline.js";
import { Reader, Turn } from "./places/reader.js";
import { Threads } from "./places/threads.js";
import { Node } from "./places/node.js";
import { Review } from "./places/review.js";
import { Loops } from "./places/loops.js";
import { Memory } from "./places/memory.js";
import { Given } from "./places/given.js";
import { Health } from "./places/health.js";

/** Place, name, the key behind g, what shows it. */
const PLACES = [
  ["now", "Now", "n", Now],
  ["search", "Search", "s", Search],
  ["timeline", "Timeline", "t", Timeline],
  ["threads", "Threads", "h", Threads],
  ["review", "Review", "r", Review],
  ["loops", "Loops", "l", Loops],
  ["memory", "Memory", "m", Memory],
  ["given", "Given", "i", Given],
  ["health", "Health", "d", Health],
];
/** Places that only an address leads to, and where they belong. */
const DEEPER = { session: [Reader, "timeline"], turn: [Turn, "timeline"], node: [Node, "threads"] };

const KEYS = [
  ...PLACES.filter(([name]) => name !== "search").map(([, name, key]) => [`g ${key}`, name]),
  ["/", "Search; in a session, find in it"],
  ["Ctrl K  ⌘ K", "Go to an id, a place, a session, a thread"],
  ["j  k", "Down and up in a list"],
  ["y  n  e  s", "In Review: accept, reject, edit, accept in place of something older"],
  ["x", "In Review: select, to decide several at once"],
  ["e  s", "In a memory: edit, say what holds now"],
  ["r", "In Now and Loops: resolve"],
  ["z", "Undo what was just done"],
  ["f", "In a session: find"],
  ["u", "Up: to what this is part of"],
  ["Esc", "Close, leave a field"],
  ["?", "These keys"],
];

function Keys({ onClose }) {
  return html`<${Dialog} label="Keys" onClose=${onClose}>
    <h2>Keys</h2>
    <dl class="keys">${KEYS.map(([keys, what]) => html`<div><dt>${keys.split("  ").map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl>
    <p><button onClick=${onClose}>Close</button></p>
  <//>`;
}

/** What stands above a place while nothing can be asked. What was written into it stays. */
const HINDERED = {
  away: { detail: "The service does not answer. What is shown is from before.", next: "It is asked again by itself. If it does not run: heirloom service start" },
  locked: { detail: "This tab has no access any more. What is shown is from before, and what you wrote is still here.", next: "heirloom ui --no-open prints a new address: paste it into this tab" },
};

function Page() {
  const [over, setOver] = useState("");
  const { place, id } = at.value;
  const [Shown, current] = DEEPER[place] ?? [PLACES.find(([name]) => name === place)?.[3], place];
  const title = PLACES.find(([name]) => name === place)?.[1] ?? id;
  const close = () => setOver("");
  const resolve = () => (document.activeElement.closest("[data-loop]") ?? document.querySelector("main .act"))?.querySelector("button.resolve")?.click();
  useKeys({
    ...Object.fromEntries(PLACES.map(([name, , key]) => [`g ${key}`, () => go(name)])),
    "/": () => (place === "search" ? document.querySelector("#query").focus() : go("search")),
    "?": () => setOver("keys"),
    "mod+k": () => setOver("palette"),
    Escape: () => document.activeElement.blur(),
    j: step(1),
    k: step(-1),
    ArrowDown: step(1),
    ArrowUp: step(-1),
    u: () => [...document.querySelectorAll("nav.up a")].at(-1)?.click(),
    r: resolve,
    z: undo,
  });
  useEffect(() => {
    document.title = `${title || "Heirloom"} · Heirloom`;
    scrollTo(0, 0);
  }, [place, id]);
  if (state.value === "locked" && !wasOpen) return html`<main class="locked"><h1>Heirloom</h1><p>This tab has no access. A page is opened from the command line of this machine, with a code that is good once and for a minute:</p><pre class="plain">heirloom ui</pre></main>`;
  return html`
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.querySelector("main h1")?.focus(); }}>To the content</a>
    <nav class="rail" aria-label="Places">
      <a class="name" href=${href("now")} aria-label="Heirloom">Heirloom</a>
      <ul>${PLACES.map(([name, label, key]) => html`<li><a href=${href(name)} aria-current=${name === current ? "page" : null}><span>${label}</span><kbd aria-hidden="true">${name === "search" ? "/" : "g " + key}</kbd></a></li>`)}</ul>
      <div class="foot">
        <button class="small" onClick=${() => setOver("palette")}>Go to <kbd>Ctrl K</kbd></button>
        <button class="small" onClick=${() => setOver("keys")}>Keys <kbd>?</kbd></button>
        <span class="quiet">${live.value ? "live" : state.value === "away" ? "no answer" : "not live"}</span>
      </div>
    </nav>
    <main id="main">
      ${wrong(HINDERED[state.value])}
      ${Shown ? html`<${Shown} key=${place + (DEEPER[place] ? id : "")} />` : html`<h1>There is no such place</h1><p><a href=${href("now")}>Now</a></p>`}
    </main>
    ${said.value && html`<div class="toast"><span>${said.value.text}</span>${said.value.undo && html`<button class="small" onClick=${undo}>Undo <kbd>z</kbd></button>`}<button class="small" aria-label="Close" onClick=${() => { said.value = null; }}>×</button></div>`}
    ${over === "palette" && html`<${Palette} places=${PLACES} onClose=${close} />`}
    ${over === "keys" && html`<${Keys} onClose=${close} />`}`;
}

/** Whether this tab had access once: what it shows stays then. */
let wasOpen = false;

async function take() {
  const code = takeCode();
  if (code) await openWith(code).catch((problem) => hasToken() || console.info(problem.message));
}

async function begin() {
  const page = document.getElementById("page");
  await take();
  wasOpen = hasToken();
  state.value = wasOpen ? "open" : "locked";
  page.textContent = "";
  const draw = () => {
    wasOpen ||= hasToken();
    render(html`<${Page} />`, page);
  };
  drawnBy(draw);
  draw();
  // Somebody pasted a new one-time code into the address of an open tab.
  addEventListener("hashchange", take);
  if (wasOpen) listen();
}

begin();
