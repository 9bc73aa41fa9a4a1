// Now: current work, open loops, waiting reviews, and the last projects.
import {
  el, Heading, href, inline, lines, Load, many, near, note, number, quiet, rows, section, useData, when, whereIs,
} from "../parts.js";
import { LoopLine } from "./loops.js";
import { sessionRow } from "./timeline.js";

const worked = ({ text, reference, open }) => [
  reference ? el("a.step", { href: whereIs(reference) }, inline(text)) : inline(text),
  open > 0 && [" ", quiet(number(open), " open")],
];
const open = ({ items, next }) => [
  rows(items, (item) => el(LoopLine, { key: item.id, item })),
  next && note(el("a.step", { href: href("loops") }, "There are more.")),
];
const titled = (title, place, list) => section([title, " ", el("a.quiet", { href: href(place) }, "all")], list);

export function Now() {
  const waiting = useData("/v1/proposals?limit=20").body;
  const waits = waiting?.items.length;
  return [
    el(Heading, "Now"),
    el(Load, { path: "/v1/now" }, ({ now, stored, threads }) => [
      now.length ? lines(now, worked) : el("p.empty", "Nothing is being worked on."),
      note(many(stored.sessions, "session"), ", ", many(stored.turns, "turn"), ", ", many(threads, "thread"),
        stored.first_at && [", since ", when(stored.first_at)]),
    ]),
    waits > 0 && el("p.notice", el("a.step", { href: href("review") },
      waiting.next && "More than ", many(waits, "item"), " wait", waits === 1 && "s", " for your yes")),
    titled("Open", "loops", el(Load, { path: "/v1/loops?limit=12", empty: "Nothing is open." }, open)),
    titled("Last worked in", "timeline", el(Load, {
      path: "/v1/sessions?limit=6",
      empty: "No conversation is stored yet. heirloom import reads those of your programs.",
    }, ({ items }) => rows(items, (s) => sessionRow(s, near(s.last_at))))),
  ];
}
