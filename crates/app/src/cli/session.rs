//! `heirloom session`

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::Result;
use heirloom_engine::ledger::Audit;
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::lineage::marks;
use heirloom_engine::scope::AgentNo;
use heirloom_engine::transcript::prepare::OriginForm;
use heirloom_engine::transcript::read::{self, SessionFilter};
use heirloom_engine::transcript::{class_name, end_session, export};
use serde_json::json;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Sessions of all programs: list, show, end
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Newest first
    List {
        /// Only in this project: its id, label or path
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
        /// Only from this program
        #[arg(long, value_name = "NAME", value_parser = ["claude-code", "codex", "opencode", "openclaw", "turns"])]
        harness: Option<String>,
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
        limit: usize,
    },
    /// What is stored of one session: its files, records, runs and their results
    Show {
        /// The session; the beginning of its id is enough
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Mark a session as over
    End {
        /// The session; the beginning of its id is enough
        #[arg(value_name = "KEY")]
        key: String,
    },
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    match args.command {
        Command::List { workspace, harness, limit } => {
            let workspaces =
                workspace.as_deref().map(|w| context.instance().workspaces_named(agent_no, w)).transpose()?;
            let filter = SessionFilter { harness, workspaces, limit: Some(limit), ..SessionFilter::default() };
            list(&context, agent_no, &filter)
        }
        Command::Show { key } => show(&context, agent_no, &key),
        Command::End { key } => {
            let session = context.read(|tx| read::session_named(tx, agent_no, &key))?;
            let ended = context.ledger().write(Audit::new("cli session", "session.end").of_agent(agent_no), |tx| {
                tx.note("session", session.key.as_str());
                marks::mark(tx, &[session.no])?;
                end_session(tx, session.no)
            })?;
            context.instance().distil("cli session", Some(std::time::Duration::from_secs(2)))?;
            if ended {
                // It is over, whatever becomes of the pages that say so.
                let written = context
                    .assistant("cli session")
                    .and_then(|at| heirloom_engine::render::continuity::write_turn_continuity(&at, &[session.no]));
                if let Err(e) = written {
                    print::note(&format!("the pages could not be brought up to date: {e}"));
                }
            }
            if global.json {
                print::line(&json!({"session": session.key.as_str(), "ended": ended}).to_string());
            } else {
                let word = if ended { "is over" } else { "was over already" };
                print::line(&format!("{} {word}.", session.key));
            }
            Ok(Exit::Ok)
        }
    }
}

fn list(context: &Context, agent_no: AgentNo, filter: &SessionFilter) -> Result<Exit> {
    let sessions = context.read(|tx| read::sessions(tx, agent_no, filter))?;
    if context.json {
        let list: Vec<_> = sessions.iter().map(super::show::session_json).collect();
        print::line(&json!({"sessions": list}).to_string());
        return Ok(Exit::Ok);
    }
    if sessions.is_empty() {
        print::line("No sessions.");
    }
    let now = context.now();
    let opener = Opener::default();
    let names: Vec<String> = context
        .read(|tx| sessions.iter().map(|s| programs::name_of(tx, &opener, s)).collect::<Result<Vec<String>>>())?;
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .zip(names)
        .map(|(s, name)| {
            vec![
                print::when(s.last_at, now),
                print::cut(&print::safe_line(s.workspace.as_deref().unwrap_or("no project")), 24),
                print::counted(s.turns + s.shared_turns, "turn"),
                s.key.to_string(),
                print::cut(&name, 48),
            ]
        })
        .collect();
    print::out(&print::table(&rows));
    Ok(Exit::Ok)
}

fn show(context: &Context, agent_no: AgentNo, key: &str) -> Result<Exit> {
    let (session, lanes, streams, mixed, classes, runs, boundaries) = context.read(|tx| {
        let session = read::session_named(tx, agent_no, key)?;
        let no = session.no;
        Ok((
            session,
            read::lanes(tx, no)?,
            export::streams(tx, no)?,
            export::mixed_streams(tx, no)?,
            read::record_classes(tx, no)?,
            read::runs(tx, no)?,
            read::boundaries(tx, no)?,
        ))
    })?;
    if context.json {
        let value = json!({
            "session": super::show::session_json(&session),
            "lanes": lanes.iter().map(|l| json!({"lane": l.lane, "parent_call": l.parent_call, "turns": l.turns})).collect::<Vec<_>>(),
            "sources": streams.iter().chain(&mixed).map(|s| json!({
                "path": s.path.display().to_string(), "key": s.key, "lane": s.lane, "form": form_name(s.form),
                "generations": s.generation + 1, "bytes": s.bytes, "records": s.records,
            })).collect::<Vec<_>>(),
            "records": classes.iter().map(|(c, n, b)| json!({"class": class_name(*c), "records": n, "bytes": b})).collect::<Vec<_>>(),
            "runs": runs.iter().map(|r| json!({
                "run": r.no, "lane": r.lane, "key": r.key, "status": r.status, "stop_reason": r.stop_reason, "model": r.model,
                "usage": {"input": r.usage.input, "output": r.usage.output, "cache_read": r.usage.cache_read,
                          "cache_write": r.usage.cache_write},
                "prompt": r.prompt.map(|t| t.to_string()), "answer": r.answer.map(|t| t.to_string()),
                "request_fingerprint": r.request_fingerprint, "opened_at": r.opened_at.map(rfc3339),
                "last_at": r.last_at.map(rfc3339), "closed_by": r.closed_by,
            })).collect::<Vec<_>>(),
            "boundaries": boundaries.iter().map(|b| json!({"kind": b.kind, "reason": b.reason, "at": b.at.map(rfc3339)})).collect::<Vec<_>>(),
        });
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    let paint = Paint::stdout();
    let now = context.now();
    let name = context.read(|tx| programs::name_of(tx, &Opener::default(), &session))?;
    print::line(&paint.bold(if name.is_empty() { session.key.as_str() } else { &name }));
    let mut rows = vec![
        vec!["Session".to_owned(), session.key.to_string()],
        vec![
            "Program".into(),
            format!("{} {}", programs::title(&session.key), session.version.clone().unwrap_or_default()),
        ],
        vec![
            "Project".into(),
            match (&session.workspace, &session.cwd) {
                (Some(w), Some(cwd)) => print::safe_line(&format!("{w}  ({cwd})")),
                _ => "none".into(),
            },
        ],
        vec![
            "Time".into(),
            match (print::when(session.started_at, now), print::when(session.last_at, now)) {
                (from, to) if from == to => from,
                (from, to) => format!("{from} to {to}"),
            },
        ],
        vec![
            "Turns".into(),
            match session.shared_turns {
                0 => print::count(session.turns),
                shared => {
                    format!("{} of its own, {} shared with the session it was copied from", session.turns, shared)
                }
            },
        ],
    ];
    if let Some(parent) = &session.fork_of {
        rows.push(vec!["Copied from".into(), print::safe_line(parent)]);
    }
    for lane in lanes.iter().filter(|l| !l.lane.is_empty()) {
        rows.push(vec![
            "Sub-agent".into(),
            format!("{}  {}", print::safe_line(&lane.lane), print::counted(lane.turns, "turn")),
        ]);
    }
    if let Some(resume) = programs::resume(&session.key, session.cwd.as_deref()) {
        rows.push(vec!["Resume".into(), resume]);
    }
    for s in streams.iter().chain(&mixed).filter(|s| s.form == OriginForm::File) {
        let generations = if s.generation > 0 {
            format!(", rewritten {}", print::counted(s.generation as u64, "time"))
        } else {
            String::new()
        };
        rows.push(vec![
            "File".into(),
            format!("{}  {}{generations}", print::safe_line(&s.path.display().to_string()), print::bytes(s.bytes)),
        ]);
    }
    let mut table_rows = streams.iter().filter(|s| s.form == OriginForm::Database);
    if let Some(first) = table_rows.next() {
        let place = print::safe_line(&first.path.display().to_string());
        rows.push(vec!["Rows".into(), format!("{} of {place}", print::count(1 + table_rows.count() as u64))]);
    }
    print::out(&print::table(&rows));
    print::line("\nRecords");
    let rows: Vec<Vec<String>> = classes
        .iter()
        .map(|(c, n, b)| vec![format!("  {}", class_name(*c)), print::count(*n), print::bytes(*b)])
        .collect();
    print::out(&print::table(&rows));
    if !boundaries.is_empty() {
        print::line("\nBoundaries");
        for b in &boundaries {
            let reason = b.reason.as_deref().map_or(String::new(), |r| format!(" ({})", print::safe_line(r)));
            print::line(&format!("  {}{reason}  {}", b.kind, print::when(b.at, now)));
        }
    }
    if !runs.is_empty() {
        print::line("\nRuns");
        let rows: Vec<Vec<String>> = runs
            .iter()
            .map(|r| {
                let tokens = match (r.usage.input, r.usage.output) {
                    (None, None) => String::new(),
                    (i, o) => format!("{} in, {} out", print::count(i.unwrap_or(0)), print::count(o.unwrap_or(0))),
                };
                vec![
                    format!("  {}", print::when(r.opened_at, now)),
                    r.prompt.map_or(String::new(), |t| t.to_string()),
                    r.status.into(),
                    print::safe_line(r.stop_reason.as_deref().unwrap_or("")),
                    print::safe_line(r.model.as_deref().unwrap_or("")),
                    tokens,
                    print::safe_line(&r.lane),
                ]
            })
            .collect();
        print::out(&print::table(&rows));
    }
    Ok(Exit::Ok)
}

/// `file`, `database` or `live`.
fn form_name(form: OriginForm) -> &'static str {
    match form {
        OriginForm::File => "file",
        OriginForm::Database => "database",
        OriginForm::Live => "live",
        OriginForm::Hook => "hook",
    }
}
