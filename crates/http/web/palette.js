// The command palette: goes to a place, a session, a thread, a command or an id.
import { copy, Dialog, el, firstLine, href, nameOf, program, quiet, useData, useState, whereIs } from "./parts.js";

/** What only the command line does. To choose one is to copy it. */
const COMMANDS = {
  "heirloom doctor": "check the home, the programs, what connects them",
  "heirloom verify": "recompute everything that is stored",
  "heirloom import": "read what is new in the programs' sessions",
  "heirloom connect": "let programs tell and ask",
  "heirloom service status": "how the service is, what it watches",
  "heirloom backup DIR": "copy the whole memory, while programs run",
  "heirloom forget": "a session, turns, a person's name, a project, a text",
  "heirloom evolve": "learn from sessions that are over",
  "heirloom skill list": "procedures that recur",
  "heirloom judge": "how important what was said is, and why",
  "heirloom model": "a language model for summaries, and its budget",
  "heirloom profile": "what every session may know of you",
};

const ID = /^(t[0-9a-f]+|n[0-9a-f]+|[mlpusrkx]:\S+|[a-z-]+[:/]\S+)$/;
const HINT = "An id, a place, a session, a thread, a command";

export function Palette({ places, onClose }) {
  const [query, setQuery] = useState("");
  const [chosen, choose] = useState(0);
  const all = (path) => useData(path).body?.items ?? [];
  const known = [
    ...places.map(([name, label]) => [label, "place", href(name)]),
    ...all("/v1/threads?limit=40").map((t) => [t.label, "thread", href("threads", t.thread)]),
    ...all("/v1/sessions?limit=40").map((s) => [nameOf(s), program(s.harness), href("session", s.session)]),
  ];
  const listed = (words) => {
    const asked = words.trim();
    const has = ([name, what]) => `${name} ${what}`.toLowerCase().includes(asked.toLowerCase());
    return (!asked ? known : [
      ...(ID.test(asked) ? [[asked, "open", whereIs(asked)]] : []),
      ...[...known, ...Object.entries(COMMANDS)].filter(has),
      [`Search for ${asked}`, "search", href("search", "", { q: asked })],
    ]).slice(0, 12);
  };
  const entries = listed(query);
  const current = Math.min(chosen, entries.length - 1);
  const open = ([name, , to]) => {
    onClose();
    if (to) location.hash = to;
    else copy(name);
  };
  const onInput = (e) => {
    setQuery(e.target.value);
    choose(0);
  };
  const onKeyDown = (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) choose(Math.max(0, Math.min(entries.length - 1, current + by)));
    // Somebody who types fast presses it before the list of the last letters is drawn.
    else if (e.key === "Enter") open(e.target.value === query ? entries[current] : listed(e.target.value)[0]);
    else return;
    e.preventDefault();
  };
  const entry = (one, n) => el("li",
    { id: `entry${n}`, role: "option", "aria-selected": n === current, onClick: () => open(one) },
    el("span", firstLine(one[0], 80)), quiet(one[1]));
  return el(Dialog, { label: "Go to", onClose },
    el("input.wide", {
      type: "text", autofocus: true, role: "combobox", "aria-expanded": "true", "aria-controls": "entries",
      "aria-activedescendant": `entry${current}`, "aria-label": HINT, placeholder: HINT, value: query,
      onInput, onKeyDown,
    }),
    el("ul.entries", { id: "entries", role: "listbox", "aria-label": "Where to" }, entries.map(entry)));
}
