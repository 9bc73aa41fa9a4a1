// Timeline: sessions of all programs by day, the one last worked in first; above them how much there was on which day.
import { html, useEffect, useState } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, get, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, Choice, dayOf, folder, Heading, many, nameOf, number, program, PROGRAMS, Row, sayWrong, Shown, stepKeys, When } from "../parts.js";
import { firstLine } from "../words.js";

const DAY = 864e5;
/** The most days of the strip, and how wide one is. */
const [DAYS, CELL] = [182, 12];

const local = new Intl.DateTimeFormat("en-CA");
const dayId = (date) => `day-${local.format(date)}`;
const monthOf = new Intl.DateTimeFormat(undefined, { month: "short" });

/** Days from left to right, a row for each program: the more was said, the stronger. A click goes to the day. */
function Heat({ sessions }) {
  const noon = (t) => new Date(t).setHours(12, 0, 0, 0);
  const dated = sessions.filter((s) => s.last_at).map((s) => ({ ...s, day: noon(s.last_at) }));
  if (!dated.length) return null;
  const last = Math.max(...dated.map((s) => s.day));
  const first = Math.max(last - (DAYS - 1) * DAY, Math.min(...dated.map((s) => s.day)));
  const days = Math.max(28, Math.round((last - first) / DAY) + 1);
  const column = (day) => days - 1 - Math.round((last - day) / DAY);
  const names = [...new Set(dated.map((s) => s.harness))].sort();
  const cells = new Map();
  for (const s of dated) {
    const key = `${s.harness} ${column(s.day)}`;
    const cell = cells.get(key) ?? { row: names.indexOf(s.harness), column: column(s.day), day: s.day, turns: 0, sessions: 0 };
    cells.set(key, { ...cell, turns: cell.turns + s.turns, sessions: cell.sessions + 1 });
  }
  const shown = [...cells.values()].filter((cell) => cell.column >= 0);
  const most = Math.max(1, ...shown.map((cell) => cell.turns));
  const months = Array.from({ length: days }, (_, n) => new Date(last - (days - 1 - n) * DAY)).map((date, n) => [date, n]).filter(([date, n]) => n === 0 || date.getDate() === 1);
  const width = 84 + days * CELL;
  const height = 18 + names.length * 16;
  const show = (day) => document.getElementById(dayId(day))?.scrollIntoView({ block: "start" });
  return html`<div class="scroll heat" tabindex="0" role="group" aria-label="Turns by day and program"><svg width=${width} height=${height} role="img" aria-label=${`${number(days)} days, ${names.map(program).join(", ")}; the list below says the same`}>
    ${months.filter(([, n], k) => k === 0 ? !(months[1] && months[1][1] < 4) : true).map(([date, n]) => html`<text x=${84 + n * CELL} y="10">${monthOf.format(date)}</text>`)}
    ${names.map((name, row) => html`<text x="0" y=${28 + row * 16}>${program(name)}</text><rect class="none" x="84" y=${18 + row * 16} width=${days * CELL - 2} height="12" rx="2" />`)}
    ${shown.map((cell) => html`<rect class="day" x=${84 + cell.column * CELL} y=${18 + cell.row * 16} width=${CELL - 2} height="12" rx="2" fill-opacity=${0.3 + 0.7 * Math.sqrt(cell.turns / most)} onClick=${() => show(cell.day)}><title>${`${dayOf.format(cell.day)}: ${program(names[cell.row])}, ${many(cell.sessions, "session")}, ${many(cell.turns, "turn")}`}</title></rect>`)}
  </svg></div>`;
}

export function Timeline() {
  const { harness = "", workspace = "", since = "" } = at.value.query;
  const path = asking("/v1/timeline", { harness, workspace, since, limit: 200 });
  const first = useData(path);
  const projects = useData("/v1/workspaces");
  const [more, setMore] = useState({ path, items: [], next: null });
  useEffect(() => setMore({ path, items: [], next: null }), [path, first.body]);
  useKeys(stepKeys());
  const limit = (name) => (value) => go("timeline", "", { harness, workspace, since, [name]: value }, true);
  return html`
    <${Heading} more=${html`<div class="limits">
      <${Choice} label="In" value=${harness} of=${PROGRAMS} onChange=${limit("harness")} />
      <${Choice} label="Project" value=${workspace} of=${[["", "all"], ...(projects.body?.workspaces ?? []).map((w) => [w.workspace, w.label])]} onChange=${limit("workspace")} />
    </div>`}>Timeline<//>
    <${Shown} of=${first} empty="No session lies within these limits.">${({ items, next }) => {
      const extra = more.path === path ? more : { items: [], next: null };
      const all = [...items, ...extra.items];
      const goesOn = extra.items.length ? extra.next : next;
      const longest = Math.max(1, ...all.map((s) => s.turns));
      const days = new Map();
      for (const s of all) {
        const day = s.last_at ? dayId(new Date(s.last_at)) : "";
        days.set(day, [...(days.get(day) ?? []), s]);
      }
      const onMore = () => get(asking(path, {}) + `&cursor=${goesOn}`).then((page) => setMore({ path, items: [...extra.items, ...page.items], next: page.next }), sayWrong);
      return html`<${Heat} sessions=${all} />${[...days].map(([day, sessions]) => html`<section key=${day}><h2 id=${day}>${day ? dayOf.format(new Date(sessions[0].last_at)) : "No date"}</h2><ul class="rows">${sessions.map((s) => html`<${Row} key=${s.session} to=${href("session", s.session)} title=${firstLine(nameOf(s), 110)}>
        <span class="bar" aria-hidden="true"><span style=${{ width: `${Math.max(2, Math.sqrt(s.turns / longest) * 100)}%` }}></span></span><${Chip}>${program(s.harness)}<//> ${many(s.turns + s.shared_turns, "turn")}${s.cwd && ` · ${folder(s.cwd)}`} · ${s.started_at && dayId(new Date(s.started_at)) === day && html`<${When} at=${s.started_at} form="hour" />–`}<${When} at=${s.last_at} form="hour" /><//>`)}</ul></section>`)}
        ${goesOn && html`<p><button onClick=${onMore}>More</button></p>`}`;
    }}<//>`;
}
