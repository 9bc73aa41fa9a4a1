// Health: sizes, delays, problems with their remedies, connections, jobs, use of a model, the audit. Each button runs the
// command beside it.
import { act, bytes, chip, command, doing, facts, Heading, html, live, Load, many, number, program, sayWrong, section, seen, table, useData, useState, when } from "../parts.js";

/** Something that takes a while, with its command. */
function Does({ name, busy, by, does }) {
  const [runs, setRuns] = useState(false);
  const onRun = () => {
    setRuns(true);
    does().catch(sayWrong).finally(() => setRuns(false));
  };
  return html`<span class="does"><button disabled=${runs} onClick=${onRun}>${runs ? busy : name}</button> ${command(by)}</span>`;
}

const MOST = 200;

/** Everything recomputed, when somebody asks for it. */
function Sound() {
  const [found, setFound] = useState(null);
  return section("Is it what it was?", html`
    <p><${Does} name="Recompute everything" busy="Recomputing…" by="heirloom verify" does=${() => act("/v1/verify").then(setFound)} /></p>
    <div role="status">${found && html`
      <p class=${found.ok ? "good" : "wrong"}>${found.ok ? "Nothing differs" : found.damaged ? "Stored data is not what it was" : "What is made of the stored data is off; heirloom reindex and heirloom work make it again"}: ${many(found.records, "record")}, ${many(found.turns, "turn")}, ${many(found.files, "file")}, ${many(found.audit_rows, "row")} of the audit, in ${found.seconds} s.</p>
      ${found.findings.length > 0 && table("What differs", ["Where", "What", ""], found.findings.slice(0, MOST).map((f) => [seen(f.subject), seen(f.what), f.damaged && chip("damaged", "late")]))}
      ${found.findings.length > MOST && html`<p class="quiet">and ${number(found.findings.length - MOST)} more</p>`}`}</div>`);
}

const ratio = (used, of) => `${number(used)} of ${number(of)}`;

/** What a language model may do and did today. */
function model(m) {
  if (!m) return html`<p class="quiet">None is chosen; nothing is asked. ${command("heirloom model")}</p>`;
  const { budget, spent, pause } = m;
  return facts({
    Model: m.model,
    "Asked today": ratio(spent.calls, budget.calls),
    "Tokens today": ratio(spent.tokens, budget.tokens),
    "Cost today": spent.cost > 0 && `${(spent.cost / 1e6).toFixed(2)} $`,
    "Summaries in its words": number(m.summaries),
    "Still to ask for": number(m.due),
    "Is not asked": pause && (pause.state === "spent" ? "the budget of the day is spent" : html`${pause.until && html`until ${when(pause.until)}: `}${seen(pause.why ?? "")}`),
    Wrong: m.problem,
  });
}

export function Health() {
  const health = useData("/v1/health").body;
  const card = (title, of, more) => html`<section><h2>${title}</h2>${facts(of)}${more}</section>`;
  const list = (title, by, path, head, cells, of = "items") => section(html`${title} <span class="quiet">${by}</span>`, html`<${Load} path=${path} empty="There is nothing yet.">${(body) => table(title, head, body[of].map(cells))}<//>`);
  return html`
    <${Heading} more=${html`<${Does} name="Read what is new" busy="Reading…" by="heirloom import" does=${() => doing("/v1/import", {}, ({ turns }) => `Read: ${many(turns.new, "new turn")}.`)} />`}>Health<//>
    <${Load} path="/v1/status">${(s) => html`
      ${s.wrong.length ? html`<div class="wrong" role="alert"><strong>${many(s.wrong.length, "thing")} to look at</strong><ul>${s.wrong.map((line) => html`<li>${seen(line)}</li>`)}</ul></div>` : html`<p class="good">Nothing is wrong.</p>`}
      <div class="cards">
        ${card("Stored", { Sessions: number(s.sessions), Turns: number(s.turns), Records: number(s.records), "Set aside": s.set_aside > 0 && `${number(s.set_aside)}, their bytes kept`, First: when(s.first_at), Last: when(s.last_at), Projects: number(s.workspaces) })}
        ${card("Sources", Object.fromEntries(s.programs.map((p) => [program(p.program), `${many(p.sessions, "session")}, ${many(p.turns, "turn")}`])), !s.programs.length && html`<p class="quiet">None yet.</p>`)}
        ${card("Lag", { "Not in the index": s.not_indexed === null ? "it does not fit the ledger: heirloom reindex" : `${many(s.not_indexed, "turn")}, ${many(s.files_not_indexed ?? 0, "file")}`, "Work due": number(s.jobs.due), Running: number(s.jobs.running), Later: number(s.jobs.later), "Failed for good": s.jobs.dead > 0 && number(s.jobs.dead), "Found by": s.embeddings.in_use ? "words and meaning" : "words alone", Vectors: s.embeddings.model, Renewing: s.embeddings.renewing && ratio(s.embeddings.renewing.turns, s.embeddings.renewing.of_turns), Wrong: s.embeddings.problem })}
        <section><h2>Language model</h2>${model(s.language_model)}</section>
        ${card("Size", { Ledger: bytes(s.ledger_bytes), Index: bytes(s.index_bytes), "Read from": bytes(s.source_bytes), Build: health?.build, Agent: health?.agent, Changes: live.value ? "told as they happen" : "not told now" }, html`<p class="quiet">${s.home}</p>`)}
        ${card("Files", s.assistant ? { ...Object.fromEntries(Object.entries(s.assistant.files).filter(([, n]) => n > 0)), "wait for a yes": s.assistant.pending_memory } : {}, s.assistant ? s.assistant.notes.map((note) => html`<p class="quiet">${seen(note)}</p>`) : html`<p class="quiet">None yet, or out of reach.</p>`)}
      </div>`}<//>
    ${list("Programs and connections", "heirloom doctor", "/v1/doctor", ["What", "How it is", "What to do"], (c) => [html`${c.subject} ${!c.ok && chip("look", "late")}`, seen(c.what), c.next && (/^heirloom [\w ./-]+$/.test(c.next) ? command(c.next) : seen(c.next))], "checks")}
    <${Sound} />
    ${list("Scheduled jobs", "heirloom job list", "/v1/jobs?limit=20", ["Job", "State", "Began", "What"], (job) => [seen(job.job), chip(job.status, job.status === "failed" && !job.acknowledged ? "late" : ""), when(job.started_at), html`<code>${seen(job.command)}</code>${job.error && html`<br />${seen(job.error)}`}`])}
    ${list("Who changed what", "heirloom audit", "/v1/audit?limit=40", ["No", "When", "Who", "What"], (done) => [done.no, when(done.at), seen(done.actor), seen(done.action)])}`;
}
