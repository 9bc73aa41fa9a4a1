// Timeline: sessions of all programs by day, the newest first; above them the activity of each day.
import { asking, at, chip, choice, dayOf, folder, Heading, hour, href, html, List, many, monthOf, nameOf, program, PROGRAMS, row, rows, section, useData } from "../parts.js";

const DAY = 864e5;
/** The most days of the strip, how wide and how high one is, and what stands left of them. */
const [DAYS, CELL, LINE, LEFT] = [182, 12, 16, 84];

const minute = (at) => at.slice(0, 16);
const dayId = (date) => `day-${new Date(date).toLocaleDateString("en-CA")}`;

/** A session in a list. */
export const sessionRow = (s, time) => row(href("session", s.session), nameOf(s), html`${chip(program(s.harness))}${many(s.turns + s.shared_turns, "turn")}${s.cwd && ` · ${folder(s.cwd)}`} · ${time}`);

/** Days from left to right, a row for each program: the more was said, the stronger. A click goes to the day. */
function heat(sessions) {
  const dated = sessions.filter((s) => s.last_at).map((s) => ({ ...s, day: new Date(s.last_at).setHours(12, 0, 0, 0) }));
  if (!dated.length) return null;
  const last = Math.max(...dated.map((s) => s.day));
  const first = Math.max(last - (DAYS - 1) * DAY, Math.min(last - 27 * DAY, ...dated.map((s) => s.day)));
  const place = (day) => Math.round((day - first) / DAY);
  const x = (day) => LEFT + place(day) * CELL;
  const y = (name) => 18 + names.indexOf(name) * LINE;
  const names = [...new Set(dated.map((s) => s.harness))].sort();
  const cells = Object.values(Object.groupBy(dated.filter((s) => s.day >= first), (s) => `${s.harness} ${s.day}`)).map((of) => ({ ...of[0], turns: of.reduce((sum, s) => sum + s.turns, 0), sessions: of.length }));
  const most = Math.max(1, ...cells.map((cell) => cell.turns));
  const days = Array.from({ length: place(last) + 1 }, (_, n) => first + n * DAY);
  // The first month has a label only if the next one is far enough away.
  const months = days.filter((day, n) => new Date(day).getDate() === 1 || (n === 0 && new Date(day).getDate() < 27));
  const [width, height] = [days.length * CELL, 18 + names.length * LINE];
  return html`<div class="scroll heat" tabindex="0" role="group" aria-label="Turns by day and program"><svg width=${LEFT + width} height=${height} role="img" aria-label=${`${many(days.length, "day")}, ${names.map(program).join(", ")}; the list below says the same`}>
    ${months.map((day) => html`<text x=${x(day)} y="10">${monthOf.format(day)}</text>`)}
    ${names.map((name) => html`<text x="0" y=${y(name) + 10}>${program(name)}</text><rect class="none" x=${LEFT} y=${y(name)} width=${width - 2} height="12" rx="2" />`)}
    ${cells.map(({ harness, day, turns, sessions: n }) => html`<rect class="day" x=${x(day)} y=${y(harness)} width=${CELL - 2} height="12" rx="2" fill-opacity=${0.3 + 0.7 * Math.sqrt(turns / most)} onClick=${() => document.getElementById(dayId(day))?.scrollIntoView()}><title>${`${dayOf.format(day)}: ${program(harness)}, ${many(n, "session")}, ${many(turns, "turn")}`}</title></rect>`)}
  </svg></div>`;
}

function days(sessions) {
  const longest = Math.max(1, ...sessions.map((s) => s.turns));
  const bar = (s) => html`<span class="bar" aria-hidden="true"><span style=${{ width: `${Math.max(2, Math.sqrt(s.turns / longest) * 100)}%` }}></span></span>`;
  const byDay = Object.groupBy(sessions, (s) => (s.last_at ? dayId(s.last_at) : ""));
  return Object.entries(byDay).map(([day, of]) => section(html`<span id=${day}>${day ? dayOf.format(new Date(of[0].last_at)) : "No date"}</span>`, rows(of, (s) => sessionRow(s, html`${s.started_at && minute(s.started_at) !== minute(s.last_at) && dayId(s.started_at) === day && html`${hour(s.started_at)} – `}${hour(s.last_at)} ${bar(s)}`))));
}

export function Timeline() {
  const { harness, workspace, since } = at.value.query;
  const projects = useData("/v1/workspaces").body?.workspaces ?? [];
  return html`
    <${Heading} more=${html`<div class="limits">${choice("In", "harness", PROGRAMS)}${choice("Project", "workspace", [["", "all"], ...projects.map((w) => [w.workspace, w.label])])}</div>`}>Timeline<//>
    <${List} path=${asking("/v1/timeline", { harness, workspace, since, limit: 200 })} empty="No session lies within these limits.">${(sessions) => html`${heat(sessions)}${days(sessions)}`}<//>`;
}
