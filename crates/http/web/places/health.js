// Health: what is stored, what lags, what is wrong and what helps; connections, jobs, what a model used, who changed what. Each
// button does what the command beside it does.
import { html, useState } from "../vendor.js";
import { act, live, useData } from "../api.js";
import { bytes, Chip, Command, doing, Facts, Heading, many, number, Part, program, sayWrong, Shown, Table, When } from "../parts.js";
import { seen } from "../words.js";

/** Something that takes a while, with its command. */
function Does({ name, busy, command, does }) {
  const [runs, setRuns] = useState(false);
  const run = async () => {
    setRuns(true);
    await does().catch(sayWrong);
    setRuns(false);
  };
  return html`<span class="does"><button disabled=${runs} onClick=${run}>${runs ? busy : name}</button> <${Command}>${command}<//></span>`;
}

/** Everything recomputed, when somebody asks for it. */
function Sound() {
  const [found, setFound] = useState(null);
  const verify = async () => setFound(await act("/v1/verify"));
  return html`<${Part} id="sound" title="Is it what it was?">
    <p><${Does} name="Recompute everything" busy="Recomputing…" command="heirloom verify" does=${verify} /></p>
    <div role="status">${found && html`
      <p class=${found.ok ? "good" : "wrong"}>${found.ok ? "Nothing differs" : found.damaged ? "Stored data is not what it was" : "What is made of the stored data is off; heirloom reindex and heirloom work make it again"}: ${many(found.records, "record")}, ${many(found.turns, "turn")}, ${many(found.files, "file")}, ${many(found.audit_rows, "row")} of the audit, in ${found.seconds} s.</p>
      ${found.findings.length > 0 && html`<${Table} label="What differs" head=${["Where", "What", ""]} rows=${found.findings.slice(0, 200).map((f) => [seen(f.subject), seen(f.what), f.damaged && html`<${Chip} tone="late">damaged<//>`])} />${found.findings.length > 200 && html`<p class="quiet">and ${number(found.findings.length - 200)} more</p>`}`}`}</div><//>`;
}

/** What a language model may do and did today. */
function Model({ of: m }) {
  if (!m) return html`<p class="quiet">None is chosen; nothing is asked. <${Command}>heirloom model<//></p>`;
  const { budget, spent, pause } = m;
  const why = pause && { refused: pause.why, rests: html`<${When} at=${pause.until} />: ${seen(pause.why ?? "")}`, spent: "the budget of the day is spent" }[pause.state];
  return html`<${Facts} of=${[["Model", m.model], ["Asked today", `${number(spent.calls)} of ${number(budget.calls)}`], ["Tokens today", `${number(spent.tokens)} of ${number(budget.tokens)}`], ["Cost today", spent.cost > 0 && `${(spent.cost / 1e6).toFixed(2)} $`], ["Summaries in its words", number(m.summaries)], ["Still to ask for", number(m.due)], [pause?.state === "rests" ? "Rests until" : "Is not asked", why], ["Wrong", m.problem]]} />`;
}

export function Health() {
  const status = useData("/v1/status");
  const health = useData("/v1/health");
  const doctor = useData("/v1/doctor");
  const jobs = useData("/v1/jobs?limit=20");
  const audit = useData("/v1/audit?limit=40");
  const look = () => doing("/v1/import", {}, (done) => `Read: ${many(done.turns.new, "new turn")}.`);
  const card = (title, facts, more) => html`<section><h2>${title}</h2><${Facts} of=${facts} />${more}</section>`;
  return html`
    <${Heading} more=${html`<${Does} name="Read what is new" busy="Reading…" command="heirloom import" does=${look} />`}>Health<//>
    <${Shown} of=${status}>${(s) => html`
      ${s.wrong.length ? html`<div class="wrong" role="alert"><strong>${many(s.wrong.length, "thing")} to look at</strong><ul>${s.wrong.map((line) => html`<li>${seen(line)}</li>`)}</ul></div>` : html`<p class="good">Nothing is wrong.</p>`}
      <div class="cards">
        ${card("Stored", [["Sessions", number(s.sessions)], ["Turns", number(s.turns)], ["Records", number(s.records)], ["Set aside", s.set_aside > 0 && `${number(s.set_aside)}, their bytes kept`], ["First", html`<${When} at=${s.first_at} />`], ["Last", html`<${When} at=${s.last_at} />`], ["Projects", number(s.workspaces)]])}
        ${card("Sources", s.programs.map((p) => [program(p.program), `${many(p.sessions, "session")}, ${many(p.turns, "turn")}`]), !s.programs.length && html`<p class="quiet">None yet.</p>`)}
        ${card("Lag", [["Not in the index", s.not_indexed === null ? "it does not fit the ledger: heirloom reindex" : `${many(s.not_indexed, "turn")}, ${many(s.files_not_indexed ?? 0, "file")}`], ["Work due", number(s.jobs.due)], ["Running", number(s.jobs.running)], ["Later", number(s.jobs.later)], ["Failed for good", s.jobs.dead > 0 && number(s.jobs.dead)], ["Found by", s.embeddings.in_use ? "words and meaning" : "words alone"], ["Vectors", s.embeddings.model], ["Renewing", s.embeddings.renewing && `${number(s.embeddings.renewing.turns)} of ${number(s.embeddings.renewing.of_turns)}`], ["Wrong", s.embeddings.problem]])}
        <section><h2>Language model</h2><${Model} of=${s.language_model} /></section>
        ${card("Size", [["Ledger", bytes(s.ledger_bytes)], ["Index", bytes(s.index_bytes)], ["Read from", bytes(s.source_bytes)], ["Build", health.body?.build], ["Agent", health.body?.agent], ["Changes", live.value ? "told as they happen" : "not told now"]], html`<p class="quiet">${s.home}</p>`)}
        ${card("Files", s.assistant ? [...Object.entries(s.assistant.files).filter(([, n]) => n > 0).map(([kind, n]) => [kind, number(n)]), ["wait for a yes", number(s.assistant.pending_memory)]] : [], s.assistant ? s.assistant.notes.map((note) => html`<p class="quiet">${seen(note)}</p>`) : html`<p class="quiet">None yet, or out of reach.</p>`)}
      </div>`}<//>
    <${Part} id="checks" title=${html`Programs and connections <span class="quiet">heirloom doctor</span>`}><${Shown} of=${doctor}>${({ checks }) => html`<${Table} label="checks" head=${["What", "How it is", "What to do"]} rows=${checks.map((c) => [html`${c.subject} ${!c.ok && html`<${Chip} tone="late">look<//>`}`, seen(c.what), c.next && (/^heirloom [\w ./-]+$/.test(c.next) ? html`<${Command}>${c.next}<//>` : seen(c.next))])} />`}<//><//>
    <${Sound} />
    <${Part} id="jobs" title=${html`Scheduled jobs <span class="quiet">heirloom job list</span>`}><${Shown} of=${jobs} empty="None has run.">${({ items }) => html`<${Table} label="jobs" head=${["Job", "State", "Began", "What"]} rows=${items.map((job) => [seen(job.job), html`<${Chip} tone=${job.status === "failed" && !job.acknowledged ? "late" : ""}>${job.status}<//>`, html`<${When} at=${job.started_at} />`, html`<code>${seen(job.command)}</code>${job.error && html`<br />${seen(job.error)}`}`])} />`}<//><//>
    <${Part} id="audit" title=${html`Who changed what <span class="quiet">heirloom audit</span>`}><${Shown} of=${audit} empty="Nothing was changed yet.">${({ items }) => html`<${Table} label="audit" head=${["No", "When", "Who", "What"]} rows=${items.map((row) => [row.no, html`<${When} at=${row.at} />`, seen(row.actor), seen(row.action)])} />`}<//><//>`;
}
