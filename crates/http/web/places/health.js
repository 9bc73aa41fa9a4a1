// Health: sizes, delays, problems with their remedies, connections, jobs, use of a model, the audit. Each button runs
// the command beside it.
import {
  act, button, bytes, chip, command, doing, el, facts, Heading, live, Load, many, note, number, program, quiet,
  sayWrong, section, seen, table, useData, useState, when, wrong,
} from "../parts.js";

/** Something that takes a while, with its command. */
function Does({ name, busy, by, does }) {
  const [runs, setRuns] = useState(false);
  const onClick = () => {
    setRuns(true);
    does().catch(sayWrong).finally(() => setRuns(false));
  };
  return el("span.does", button(runs ? busy : name, onClick, "", { disabled: runs }), " ", command(by));
}

const MOST = 200;

function Sound() {
  const [found, setFound] = useState(null);
  const does = () => act("/v1/verify").then(setFound);
  return section("Is it what it was?",
    el("p", el(Does, { name: "Recompute everything", busy: "Recomputing…", by: "heirloom verify", does })),
    el("div", { role: "status" }, found && verified(found)));
}

function verified({ ok, damaged, records, turns, files, audit_rows: rows, seconds, findings }) {
  const made = "What is made of the stored data is off; heirloom reindex and heirloom work make it again";
  const found = ok ? "Nothing differs" : damaged ? "Stored data is not what it was" : made;
  const all = [many(records, "record"), many(turns, "turn"), many(files, "file"), many(rows, "row")].join(", ");
  const line = (f) => [seen(f.subject), seen(f.what), f.damaged && chip("damaged", "late")];
  return [
    el(ok ? "p.good" : "p.wrong", `${found}: ${all} of the audit, in ${seconds} s.`),
    findings.length > 0 && table("What differs", ["Where", "What", ""], findings.slice(0, MOST).map(line)),
    findings.length > MOST && note("and ", number(findings.length - MOST), " more"),
  ];
}

const ratio = (used, of) => `${number(used)} of ${number(of)}`;
const some = (n, words = number(n)) => n > 0 && words;

/** What a language model may do and did today. */
function model(m) {
  if (!m) return note("None is chosen; nothing is asked. ", command("heirloom model"));
  const { budget, spent, pause } = m;
  const paused = () => [pause.until && ["until ", when(pause.until), ": "], seen(pause.why ?? "")];
  return facts({
    Model: m.model,
    "Asked today": ratio(spent.calls, budget.calls),
    "Tokens today": ratio(spent.tokens, budget.tokens),
    "Cost today": some(spent.cost, `${(spent.cost / 1e6).toFixed(2)} $`),
    "Summaries in its words": number(m.summaries),
    "Still to ask for": number(m.due),
    "Is not asked": pause && (pause.state === "spent" ? "the budget of the day is spent" : paused()),
    Wrong: m.problem,
  });
}

function cards(s, health) {
  const { jobs, embeddings: found, assistant } = s;
  const indexed = () => `${many(s.not_indexed, "turn")}, ${many(s.files_not_indexed ?? 0, "file")}`;
  const files = (of) => Object.entries(of.files).filter(([, n]) => n > 0);
  const source = (p) => [program(p.program), `${many(p.sessions, "session")}, ${many(p.turns, "turn")}`];
  return el("div.cards",
    section("Stored", facts({
      Sessions: number(s.sessions),
      Turns: number(s.turns),
      Records: number(s.records),
      "Set aside": some(s.set_aside, `${number(s.set_aside)}, their bytes kept`),
      First: when(s.first_at),
      Last: when(s.last_at),
      Projects: number(s.workspaces),
    })),
    section("Sources", facts(Object.fromEntries(s.programs.map(source))),
      !s.programs.length && note("None yet.")),
    section("Lag", facts({
      "Not in the index": s.not_indexed === null ? "it does not fit the ledger: heirloom reindex" : indexed(),
      "Work due": number(jobs.due),
      Running: number(jobs.running),
      Later: number(jobs.later),
      "Failed for good": some(jobs.dead),
      "Found by": found.in_use ? "words and meaning" : "words alone",
      Vectors: found.model,
      Renewing: found.renewing && ratio(found.renewing.turns, found.renewing.of_turns),
      Wrong: found.problem,
    })),
    section("Language model", model(s.language_model)),
    section("Size", facts({
      Ledger: bytes(s.ledger_bytes),
      Index: bytes(s.index_bytes),
      "Read from": bytes(s.source_bytes),
      Build: health?.build,
      Agent: health?.agent,
      Changes: live.value ? "told as they happen" : "not told now",
    }), note(s.home)),
    section("Files", assistant ? [
      facts({ ...Object.fromEntries(files(assistant)), "wait for a yes": assistant.pending_memory }),
      assistant.notes.map((one) => note(seen(one))),
    ] : [facts({}), note("None yet, or out of reach.")]));
}

const troubles = ({ wrong: all }) => wrong({ detail: `${many(all.length, "thing")} to look at` },
  el("ul", all.map((line) => el("li", seen(line)))));

/** Lists: title, command, path, the heads of its columns, a line of it, where its items are. */
const LISTS = [
  ["Programs and connections", "heirloom doctor", "/v1/doctor", ["What", "How it is", "What to do"], (c) => [
    [c.subject, " ", !c.ok && chip("look", "late")], seen(c.what),
    c.next && (/^heirloom [\w ./-]+$/.test(c.next) ? command(c.next) : seen(c.next)),
  ], "checks"],
  ["Scheduled jobs", "heirloom job list", "/v1/jobs?limit=20", ["Job", "State", "Began", "What"], (job) => [
    seen(job.job), chip(job.status, job.status === "failed" && !job.acknowledged ? "late" : ""), when(job.started_at),
    [el("code", seen(job.command)), job.error && [el("br"), seen(job.error)]],
  ], "items"],
  ["Who changed what", "heirloom audit", "/v1/audit?limit=40", ["No", "When", "Who", "What"],
    (done) => [done.no, when(done.at), seen(done.actor), seen(done.action)], "items"],
];
const list = ([title, by, path, head, line, of]) => section([title, " ", quiet(by)],
  el(Load, { path, empty: "There is nothing yet." }, (body) => table(title, head, body[of].map(line))));

export function Health() {
  const health = useData("/v1/health").body;
  const [doctor, ...others] = LISTS.map(list);
  const does = () => doing("/v1/import", {}, ({ turns }) => `Read: ${many(turns.new, "new turn")}.`);
  const reads = el(Does, { name: "Read what is new", busy: "Reading…", by: "heirloom import", does });
  return [
    el(Heading, { more: reads }, "Health"),
    el(Load, { path: "/v1/status" }, (s) =>
      [s.wrong.length ? troubles(s) : el("p.good", "Nothing is wrong."), cards(s, health)]),
    doctor,
    el(Sound),
    others,
  ];
}
