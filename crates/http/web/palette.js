// Go to anything: a place, a session, a thread, or whatever an id stands for.
import { html, useEffect, useRef, useState } from "./vendor.js";
import { href, whereIs } from "./address.js";
import { get } from "./api.js";
import { Dialog, nameOf, program, say } from "./parts.js";
import { firstLine } from "./words.js";

/** What only the command line does. To choose one is to copy it. */
export const COMMANDS = [
  ["heirloom doctor", "check the home, the programs, what connects them"],
  ["heirloom verify", "recompute everything that is stored"],
  ["heirloom import", "read what is new in the programs' sessions"],
  ["heirloom connect", "let programs tell and ask"],
  ["heirloom service status", "how the service is, what it watches"],
  ["heirloom backup DIR", "copy the whole memory, while programs run"],
  ["heirloom forget", "a session, turns, a person's name, a project, a text"],
  ["heirloom evolve", "learn from sessions that are over"],
  ["heirloom skill list", "procedures that recur"],
  ["heirloom judge", "how important what was said is, and why"],
  ["heirloom model", "a language model for summaries, and its budget"],
  ["heirloom profile", "what every session may know of you"],
];

const ID = /^(t[0-9a-f]+|n[0-9a-f]+|[mlpusrkx]:\S+|[a-z-]+[:/]\S+)$/;

export function Palette({ places, onClose }) {
  const [query, setQuery] = useState("");
  const [more, setMore] = useState([]);
  const [chosen, choose] = useState(0);
  const list = useRef();
  useEffect(() => {
    const stop = new AbortController();
    const sessions = get("/v1/sessions?limit=40", stop.signal).then(({ items }) => items.map((s) => ({ name: nameOf(s), what: program(s.harness), to: href("session", s.session) })), () => []);
    const threads = get("/v1/threads?limit=40", stop.signal).then(({ items }) => items.map((t) => ({ name: t.label, what: "thread", to: href("threads", t.thread) })), () => []);
    Promise.all([threads, sessions]).then((all) => setMore(all.flat()));
    return () => stop.abort();
  }, []);
  const asked = query.trim().toLowerCase();
  const commands = COMMANDS.map(([name, what]) => ({ name, what, copies: true }));
  const known = [...places.map(([name, label]) => ({ name: label, what: "place", to: href(name) })), ...more];
  const all = asked
    ? [
        ...(ID.test(query.trim()) ? [{ name: query.trim(), what: "open", to: whereIs(query.trim()) }] : []),
        ...[...known, ...commands].filter((entry) => `${entry.name} ${entry.what}`.toLowerCase().includes(asked)),
        { name: `Search for ${query.trim()}`, what: "search", to: href("search", "", { q: query.trim() }) },
      ]
    : known;
  const entries = all.slice(0, 12);
  const current = Math.min(chosen, entries.length - 1);
  const open = (entry) => {
    onClose();
    if (entry.copies) navigator.clipboard.writeText(entry.name).then(() => say(`Copied: ${entry.name}`), () => say(entry.name));
    else location.hash = entry.to;
  };
  const onKeyDown = (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) choose(Math.max(0, Math.min(entries.length - 1, current + by)));
    else if (e.key === "Enter" && entries[current]) open(entries[current]);
    else return;
    e.preventDefault();
  };
  return html`<${Dialog} label="Go to" onClose=${onClose}>
    <input class="wide" type="text" autofocus role="combobox" aria-expanded="true" aria-controls="entries" aria-activedescendant=${`entry${current}`} aria-label="An id, a place, a session, a thread, a command"
      placeholder="An id, a place, a session, a thread, a command" value=${query} onInput=${(e) => { setQuery(e.target.value); choose(0); }} onKeyDown=${onKeyDown} />
    <ul class="entries" id="entries" role="listbox" aria-label="Where to" ref=${list}>
      ${entries.map((entry, n) => html`<li id=${`entry${n}`} role="option" aria-selected=${n === current} onClick=${() => open(entry)}><span>${firstLine(entry.name, 80)}</span><span class="quiet">${entry.what}</span></li>`)}
    </ul>
  <//>`;
}
