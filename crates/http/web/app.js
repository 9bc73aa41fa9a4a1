// The page: its places, its keys, and what is the same everywhere.
import { html, render, useEffect, useState } from "./vendor.js";
import { at, go, href, takeCode } from "./address.js";
import { hasToken, listen, live, openWith, state } from "./api.js";
import { drawnBy } from "./signal.js";
import { useKeys } from "./keys.js";
import { Palette } from "./palette.js";
import { Dialog, said, Wrong } from "./parts.js";
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
    <dl class="keys">${KEYS.map(([keys, what]) => html`<div><dt>${keys.split("  ").map((k) => html`<kbd>${k}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl>
    <p><button onClick=${onClose}>Close</button></p>
  <//>`;
}

const LOCKED = "A page is opened from the command line of this machine, with a code that is good once and for a minute:";

const Locked = () => html`<main class="locked"><h1>Heirloom</h1><p>This tab has no access. ${LOCKED}</p><pre class="plain">heirloom ui</pre></main>`;

/** What stands above a place while nothing can be asked. What was written into it stays. */
const Hindered = () => ({
  away: html`<${Wrong} problem=${{ detail: "The service does not answer. What is shown is from before.", next: "It is asked again by itself. If it does not run: heirloom service start" }} />`,
  locked: html`<${Wrong} problem=${{ detail: "This tab has no access any more. What is shown is from before, and what you wrote is still here.", next: "heirloom ui --no-open prints a new address: paste it into this tab" }} />`,
})[state.value];

function Page() {
  const [over, setOver] = useState(null);
  const { place } = at.value;
  const close = () => setOver(null);
  const chords = Object.fromEntries(PLACES.map(([name, , key]) => [`g ${key}`, () => go(name)]));
  useKeys({
    ...chords,
    "/": () => (place === "search" ? document.querySelector("#query")?.focus() : go("search")),
    "?": () => setOver("keys"),
    "mod+k": () => setOver("palette"),
    Escape: () => document.activeElement?.blur(),
  });
  const deeper = DEEPER[place];
  const found = PLACES.find(([name]) => name === place);
  const Shown = deeper?.[0] ?? found?.[3];
  const current = deeper?.[1] ?? place;
  useEffect(() => {
    document.title = `${found?.[1] ?? (at.value.id || "Heirloom")} · Heirloom`;
    scrollTo(0, 0);
  }, [place, at.value.id]);
  if (state.value === "locked" && !wasOpen) return html`<${Locked} />`;
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
      <${Hindered} />
      ${Shown ? html`<${Shown} key=${place + " " + (deeper ? at.value.id : "")} />` : html`<h1>There is no such place</h1><p><a href=${href("now")}>Now</a></p>`}
    </main>
    ${said.value && html`<div class="toast"><span>${said.value.text}</span>${said.value.undo && html`<button class="small" onClick=${() => { const { undo } = said.value; said.value = null; undo(); }}>Undo <kbd>z</kbd></button>`}<button class="small" aria-label="Close" onClick=${() => { said.value = null; }}>×</button></div>`}
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
  // A code pasted into an open tab.
  addEventListener("hashchange", take);
  if (wasOpen) listen();
}

begin();
