// Health: what is stored, what lags, what is wrong, with the command that helps; jobs and the audit.
import { html, useState } from "../vendor.js";
import { act, live, useData } from "../api.js";
import { bytes, Chip, Facts, Heading, many, number, say, sayWrong, Shown, When } from "../parts.js";
import { seen } from "../words.js";

const COMMANDS = [["heirloom doctor", "checks the home, the programs and what connects them"], ["heirloom verify", "recomputes everything that is stored and names what differs"], ["heirloom service status", "how the service is and what it watches"], ["heirloom import", "reads what is new in the programs' sessions"]];

export function Health() {
  const status = useData("/v1/status");
  const health = useData("/v1/health");
  const jobs = useData("/v1/jobs?limit=20");
  const audit = useData("/v1/audit?limit=40");
  const [busy, setBusy] = useState(false);
  const look = async () => {
    setBusy(true);
    try {
      const done = await act("/v1/import", {});
      say(`Read: ${many(done.turns.new, "new turn")}.`);
    } catch (problem) {
      sayWrong(problem);
    }
    setBusy(false);
  };
  return html`
    <${Heading} more=${html`<button disabled=${busy} onClick=${look} title="heirloom import">${busy ? "Reading…" : "Read what is new"}</button>`}>Health<//>
    <${Shown} of=${status}>${(s) => html`
      ${s.wrong.length ? html`<div class="wrong" role="alert"><strong>${many(s.wrong.length, "thing")} to look at</strong><ul>${s.wrong.map((line) => html`<li>${seen(line)}</li>`)}</ul></div>` : html`<p class="good">Nothing is wrong.</p>`}
      <div class="cards">
        <section><h2>Stored</h2><${Facts} of=${[["Sessions", number(s.sessions)], ["Turns", number(s.turns)], ["Records", number(s.records)], ["Set aside", s.set_aside > 0 && `${number(s.set_aside)}, their bytes kept`], ["First", html`<${When} at=${s.first_at} />`], ["Last", html`<${When} at=${s.last_at} />`], ["Projects", number(s.workspaces)]]} /></section>
        <section><h2>Sources</h2><${Facts} of=${s.programs.map((p) => [p.program, `${many(p.sessions, "session")}, ${many(p.turns, "turn")}`])} />${!s.programs.length && html`<p class="empty">None yet.</p>`}</section>
        <section><h2>Index</h2><${Facts} of=${[["Not in it yet", s.not_indexed === null ? "it does not fit the ledger: heirloom reindex" : `${many(s.not_indexed, "turn")}, ${many(s.files_not_indexed ?? 0, "file")}`], ["Meaning", s.embeddings.in_use ?? "words alone"], ["Model", s.embeddings.model], ["Renewing", s.embeddings.renewing && `${number(s.embeddings.renewing.turns)} of ${number(s.embeddings.renewing.of_turns)}`], ["Wrong", s.embeddings.problem]]} /></section>
        <section><h2>Size</h2><${Facts} of=${[["Ledger", bytes(s.ledger_bytes)], ["Index", bytes(s.index_bytes)], ["Read from", bytes(s.source_bytes)], ["Home", s.home]]} /></section>
        <section><h2>Work</h2><${Facts} of=${[["Due", number(s.jobs.due)], ["Running", number(s.jobs.running)], ["Later", number(s.jobs.later)], ["Failed for good", s.jobs.dead > 0 && number(s.jobs.dead)]]} /></section>
        <section><h2>Files</h2>${s.assistant ? html`<${Facts} of=${[...Object.entries(s.assistant.files).filter(([, n]) => n > 0).map(([kind, n]) => [kind, number(n)]), ["Wait for a yes", number(s.assistant.pending_memory)]]} />${s.assistant.notes.map((note) => html`<p class="quiet">${seen(note)}</p>`)}` : html`<p class="quiet">None yet, or out of reach.</p>`}</section>
      </div>
      <section><h2>Service</h2><${Facts} of=${[["Build", health.body?.build], ["Answers for", health.body?.agent], ["Changes", live.value ? "told as they happen" : "not told now; asked again by itself"]]} /></section>`}<//>
    <section><h2>More, in a terminal</h2><dl class="keys">${COMMANDS.map(([command, what]) => html`<div><dt><code>${command}</code></dt><dd>${what}</dd></div>`)}</dl></section>
    <section><h2>Scheduled jobs</h2><${Shown} of=${jobs} empty="None has run.">${({ items }) => html`<div class="scroll" tabindex="0" role="group" aria-label="jobs"><table><thead><tr><th>Job</th><th>State</th><th>Began</th><th>What</th></tr></thead><tbody>${items.map((job) => html`<tr><td>${seen(job.job)}</td><td><${Chip} tone=${job.status === "failed" && !job.acknowledged ? "late" : ""}>${job.status}<//></td><td><${When} at=${job.started_at} /></td><td><code>${seen(job.command)}</code>${job.error && html`<br />${seen(job.error)}`}</td></tr>`)}</tbody></table></div>`}<//></section>
    <section><h2>Who changed what</h2><${Shown} of=${audit} empty="Nothing was changed yet.">${({ items }) => html`<div class="scroll" tabindex="0" role="group" aria-label="audit"><table><thead><tr><th>No</th><th>When</th><th>Who</th><th>What</th></tr></thead><tbody>${items.map((row) => html`<tr><td>${row.no}</td><td><${When} at=${row.at} /></td><td>${seen(row.actor)}</td><td>${seen(row.action)}</td></tr>`)}</tbody></table></div>`}<//></section>`;
}
