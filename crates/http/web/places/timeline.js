// Timeline: sessions of all programs by day, the newest first; above them the activity of each day.
import {
  asking, at, byId, chip, choice, dayOf, el, folder, Heading, hour, href, List, many, monthOf, nameOf, program,
  PROGRAMS, row, rows, section, useData,
} from "../parts.js";

const DAY = 864e5;
/** The most days of the strip; how wide and high a day is, how far apart programs are, what is left and above. */
const [DAYS, CELL, HIGH, LINE, LEFT, TOP] = [182, 12, 12, 16, 84, 18];

const minute = (at) => at.slice(0, 16);
const dayId = (date) => `day-${new Date(date).toLocaleDateString("en-CA")}`;

export const sessionRow = (s, time) => row(href("session", s.session), nameOf(s), [
  chip(program(s.harness)), many(s.turns + s.shared_turns, "turn"), s.cwd && ` · ${folder(s.cwd)}`, " · ", time,
]);

/** Days from left to right, a row for each program: the more was said, the stronger. A click goes to the day. */
function heat(sessions) {
  const dated = sessions.filter((s) => s.last_at)
    .map((s) => ({ ...s, day: new Date(s.last_at).setHours(12, 0, 0, 0) }));
  if (!dated.length) return null;
  const last = Math.max(...dated.map((s) => s.day));
  const first = Math.max(last - (DAYS - 1) * DAY, Math.min(last - 27 * DAY, ...dated.map((s) => s.day)));
  const place = (day) => Math.round((day - first) / DAY);
  const names = [...new Set(dated.map((s) => s.harness))].sort();
  const x = (day) => LEFT + place(day) * CELL;
  const y = (name) => TOP + names.indexOf(name) * LINE;
  const byDay = Object.groupBy(dated.filter((s) => s.day >= first), (s) => `${s.harness} ${s.day}`);
  const cells = Object.values(byDay)
    .map((of) => ({ ...of[0], turns: of.reduce((sum, s) => sum + s.turns, 0), count: of.length }));
  const most = Math.max(1, ...cells.map((cell) => cell.turns));
  const days = Array.from({ length: place(last) + 1 }, (_, n) => first + n * DAY);
  // The first month has a label only if the next one is far enough away.
  const begins = (day, n) => new Date(day).getDate() === 1 || (n === 0 && new Date(day).getDate() < 27);
  const width = days.length * CELL;
  const bar = (kind, more, ...of) => el(`rect.${kind}`, { height: HIGH, rx: "2", ...more }, of);
  const cell = ({ harness, day, turns, count }) => bar("day", {
    x: x(day), y: y(harness), width: CELL - 2, "fill-opacity": 0.3 + 0.7 * Math.sqrt(turns / most),
    onClick: () => byId(dayId(day))?.scrollIntoView(),
  }, el("title", `${dayOf.format(day)}: ${program(harness)}, ${many(count, "session")}, ${many(turns, "turn")}`));
  const label = `${many(days.length, "day")}, ${names.map(program).join(", ")}; the list below says the same`;
  return el("div.scroll.heat", { tabindex: "0", role: "group", "aria-label": "Turns by day and program" },
    el("svg", { width: LEFT + width, height: TOP + names.length * LINE, role: "img", "aria-label": label },
      days.filter(begins).map((day) => el("text", { x: x(day), y: "10" }, monthOf.format(day))),
      names.map((name) => [el("text", { x: "0", y: y(name) + 10 }, program(name)),
        bar("none", { x: LEFT, y: y(name), width: width - 2 })]),
      cells.map(cell)));
}

function days(sessions) {
  const longest = Math.max(1, ...sessions.map((s) => s.turns));
  const bar = (s) => el("span.bar", { "aria-hidden": "true" },
    el("span", { style: { width: `${Math.max(2, Math.sqrt(s.turns / longest) * 100)}%` } }));
  const line = (day) => (s) => {
    const isLong = s.started_at && minute(s.started_at) !== minute(s.last_at) && dayId(s.started_at) === day;
    return sessionRow(s, [isLong && [hour(s.started_at), " – "], hour(s.last_at), " ", bar(s)]);
  };
  const byDay = Object.groupBy(sessions, (s) => (s.last_at ? dayId(s.last_at) : ""));
  return Object.entries(byDay).map(([day, of]) =>
    section(el("span", { id: day }, day ? dayOf.format(new Date(of[0].last_at)) : "No date"), rows(of, line(day))));
}

export function Timeline() {
  const { harness, workspace, since } = at.value.query;
  const known = useData("/v1/workspaces").body?.workspaces ?? [];
  const projects = [["", "all"], ...known.map((w) => [w.workspace, w.label])];
  const limits = el("div.limits", choice("In", "harness", PROGRAMS), choice("Project", "workspace", projects));
  return [
    el(Heading, { more: limits }, "Timeline"),
    el(List, {
      path: asking("/v1/timeline", { harness, workspace, since, limit: 200 }),
      empty: "No session lies within these limits.",
    }, (sessions) => [heat(sessions), days(sessions)]),
  ];
}
