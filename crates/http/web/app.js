// The page: its places, its keys, and the parts common to all places.
import {
  at, button, byId, Dialog, drawnBy, el, go, hasToken, href, link, listen, live, openWith, quiet, render, said, small,
  state, step, takeCode, undo, useEffect, useKeys, useState, wrong,
} from "./parts.js";
import { Palette } from "./palette.js";
import { Now } from "./places/now.js";
import { Search } from "./places/search.js";
import { Timeline } from "./places/timeline.js";
import { Reader, Turn } from "./places/reader.js";
import { Thread, Threads } from "./places/threads.js";
import { Node } from "./places/node.js";
import { Review } from "./places/review.js";
import { Loop, Loops } from "./places/loops.js";
import { Memories, Memory } from "./places/memory.js";
import { Context, Given } from "./places/given.js";
import { Health } from "./places/health.js";

/** Place, name, the key behind g, what shows it, what shows one thing of it. */
const PLACES = [
  ["now", "Now", "n", Now],
  ["search", "Search", "s", Search],
  ["timeline", "Timeline", "t", Timeline],
  ["threads", "Threads", "h", Threads, Thread],
  ["review", "Review", "r", Review],
  ["loops", "Loops", "l", Loops, Loop],
  ["memory", "Memory", "m", Memories, Memory],
  ["given", "Given", "i", Given, Context],
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

const Keys = ({ onClose }) => el(Dialog, { label: "Keys", onClose }, el("h2", "Keys"),
  el("dl.keys", KEYS.map(([keys, what]) =>
    el("div", el("dt", keys.split("  ").map((key) => el("kbd", key))), el("dd", what)))),
  el("p", button("Close", onClose)));

/** What stands above a place while nothing can be asked. What was written into it stays. */
const HINDERED = {
  away: {
    detail: "The service does not answer. What is shown is from before.",
    next: "It is asked again by itself. If it does not run: heirloom service start",
  },
  locked: {
    detail: "This tab has no access any more. What is shown is from before, and what you wrote is still here.",
    next: "heirloom ui --no-open prints a new address: paste it into this tab",
  },
};

const Locked = () => el("main.locked", el("h1", "Heirloom"),
  el("p", "This tab has no access. A page is opened from the command line of this machine, with a code that is good " +
    "once and for a minute:"),
  el("pre.plain", "heirloom ui"));

const find = (selector) => document.querySelector(selector);

function resolve() {
  (document.activeElement.closest("[data-loop]") ?? find("main .act"))?.querySelector("button.resolve")?.click();
}

function Page() {
  const [over, setOver] = useState("");
  const { place, id } = at.value;
  const [, name, , All, One] = PLACES.find(([known]) => known === place) ?? [];
  const [Deep, current = place] = DEEPER[place] ?? [];
  const Shown = Deep ?? ((id && One) || All);
  const title = name ?? id;
  const close = () => setOver("");
  useKeys({
    ...Object.fromEntries(PLACES.map(([to, , key]) => [`g ${key}`, () => go(to)])),
    "/": () => (place === "search" ? find("#query").focus() : go("search")),
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
  if (state.value === "locked" && !wasOpen) return el(Locked);
  const skip = (e) => {
    e.preventDefault();
    find("main h1")?.focus();
  };
  const leads = ([to, label, key]) => el("li",
    el("a", { href: href(to), "aria-current": to === current ? "page" : null },
      el("span", label), el("kbd", { "aria-hidden": "true" }, to === "search" ? "/" : `g ${key}`)));
  const now = said.value;
  return [
    el("a.skip", { href: "#main", onClick: skip }, "To the content"),
    el("nav.rail", { "aria-label": "Places" },
      el("a.name", { href: href("now"), "aria-label": "Heirloom" }, "Heirloom"),
      el("ul", PLACES.map(leads)),
      el("div.foot", small(["Go to ", el("kbd", "Ctrl K")], () => setOver("palette")),
        small(["Keys ", el("kbd", "?")], () => setOver("keys")),
        quiet(live.value ? "live" : state.value === "away" ? "no answer" : "not live"))),
    el("main", { id: "main" }, wrong(HINDERED[state.value]),
      Shown ? el(Shown, { key: place + (Shown === All ? "" : id) })
        : [el("h1", "There is no such place"), el("p", link(href("now"), "Now"))]),
    now && el("div.toast", el("span", now.text), now.undo && small(["Undo ", el("kbd", "z")], undo),
      small("×", () => { said.value = null; }, { "aria-label": "Close" })),
    over === "palette" && el(Palette, { places: PLACES, onClose: close }),
    over === "keys" && el(Keys, { onClose: close }),
  ];
}

/** Whether this tab had access once: what it shows stays then. */
let wasOpen = false;

async function take() {
  const code = takeCode();
  if (code) await openWith(code).catch((problem) => hasToken() || console.info(problem.message));
}

async function begin() {
  const page = byId("page");
  await take();
  wasOpen = hasToken();
  state.value = wasOpen ? "open" : "locked";
  page.textContent = "";
  const draw = () => {
    wasOpen ||= hasToken();
    render(el(Page), page);
  };
  drawnBy(draw);
  draw();
  // Somebody pasted a new one-time code into the address of an open tab.
  addEventListener("hashchange", take);
  if (wasOpen) listen();
}

begin();
