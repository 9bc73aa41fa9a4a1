// Timeline: sessions of all programs by day, the one last worked in first.
import { html, useEffect, useState } from "../vendor.js";
import { at, go, href } from "../address.js";
import { asking, get, useData } from "../api.js";
import { useKeys } from "../keys.js";
import { Chip, dayOf, folder, Heading, many, nameOf, program, sayWrong, Shown, stepKeys, When } from "../parts.js";
import { firstLine } from "../words.js";

export function Timeline() {
  const { harness = "", workspace = "", since = "" } = at.value.query;
  const path = asking("/v1/timeline", { harness, workspace, since, limit: 100 });
  const first = useData(path);
  const projects = useData("/v1/workspaces");
  const [more, setMore] = useState({ path, items: [], next: null });
  useEffect(() => setMore({ path, items: [], next: null }), [path, first.body]);
  useKeys(stepKeys("main .step"));
  const limit = (name) => (e) => go("timeline", "", { harness, workspace, since, [name]: e.target.value }, true);
  const labels = new Map((projects.body?.workspaces ?? []).map((w) => [w.workspace, w.label]));
  return html`
    <${Heading} more=${html`<div class="limits">
      <label>In <select value=${harness} onChange=${limit("harness")}><option value="">all programs</option>${["claude-code", "codex", "opencode", "openclaw", "turns"].map((name) => html`<option value=${name} selected=${name === harness}>${program(name)}</option>`)}</select></label>
      <label>Project <select value=${workspace} onChange=${limit("workspace")}><option value="">all</option>${[...labels].map(([id, label]) => html`<option value=${id} selected=${id === workspace}>${label}</option>`)}</select></label>
    </div>`}>Timeline<//>
    <${Shown} of=${first} empty="No session lies within these limits.">${({ items, next }) => {
      const extra = more.path === path ? more : { items: [], next: null };
      const all = [...items, ...extra.items];
      const goesOn = extra.items.length ? extra.next : next;
      const longest = Math.max(1, ...all.map((s) => s.turns));
      const days = new Map();
      for (const s of all) {
        const day = s.last_at ? dayOf.format(new Date(s.last_at)) : "No date";
        days.set(day, [...(days.get(day) ?? []), s]);
      }
      const onMore = () => get(asking(path, {}) + `&cursor=${goesOn}`).then((page) => setMore({ path, items: [...extra.items, ...page.items], next: page.next }), sayWrong);
      return html`${[...days].map(([day, sessions]) => html`<section key=${day}><h2>${day}</h2><ul class="rows">${sessions.map((s) => html`<li key=${s.session}>
        <a class="step main" href=${href("session", s.session)}>${firstLine(nameOf(s))}</a>
        <span class="bar" aria-hidden="true"><span style=${{ width: `${Math.max(2, Math.sqrt(s.turns / longest) * 100)}%` }}></span></span>
        <span class="quiet"><${Chip}>${program(s.harness)}<//> ${many(s.turns + s.shared_turns, "turn")}${s.cwd && ` · ${folder(s.cwd)}`} · ${s.started_at && dayOf.format(new Date(s.started_at)) === day && html`<${When} at=${s.started_at} form="hour" />–`}<${When} at=${s.last_at} form="hour" /></span></li>`)}</ul></section>`)}
        ${goesOn && html`<p><button onClick=${onMore}>More</button></p>`}`;
    }}<//>`;
}
