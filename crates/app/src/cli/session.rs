//! `heirloom session`

use heirloom_engine::engine::Engine;
use heirloom_engine::error::Result;
use heirloom_engine::render::titles;
use heirloom_engine::transcript::prepare::OriginForm;
use heirloom_engine::transcript::read::SessionFilter;

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
    /// List sessions, newest first
    List {
        /// Only in this project: its id, label or path
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
        /// Only from this program
        #[arg(long, value_name = "NAME", value_parser = ["claude-code", "codex", "opencode", "openclaw", "turns"])]
        harness: Option<String>,
        /// Maximum number of sessions
        #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
        limit: usize,
    },
    /// Show what is stored of one session: its files, records, runs and their results
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
    let engine = Context::open(global)?.acting_as("cli session");
    match args.command {
        Command::List { workspace, harness, limit } => {
            let workspaces = workspace.as_deref().map(|w| engine.workspaces_named(w)).transpose()?;
            let filter = SessionFilter { harness, workspaces, limit: Some(limit), ..SessionFilter::default() };
            list(&engine, global, &filter)
        }
        Command::Show { key } => show(&engine, global, &key),
        Command::End { key } => {
            let report = engine.end_session(&key)?;
            Ok(print::answer(global.json, &report, || {
                let word = if report.ended { "is over" } else { "was over already" };
                print::line(&format!("{} {word}.", report.session));
            }))
        }
    }
}

fn list(engine: &Engine, global: &Global, filter: &SessionFilter) -> Result<Exit> {
    let report = engine.sessions(filter)?;
    if global.json {
        print::report(&report);
        return Ok(Exit::Ok);
    }
    if report.sessions.is_empty() {
        print::line("No sessions.");
    }
    let now = engine.now();
    let sessions = || report.sessions.iter().map(|s| &s.row);
    let names = engine.read(|tx| titles::names_of(tx, sessions()))?;
    let rows: Vec<Vec<String>> = sessions()
        .zip(names)
        .map(|(s, name)| {
            vec![
                print::when(s.last_at, now),
                print::cut(&print::safe_line(s.workspace.as_deref().unwrap_or("no project")), 24),
                print::counted(s.turns + s.shared_turns, "turn"),
                s.key.to_string(),
                print::cut(&print::safe_line(&name), 48),
            ]
        })
        .collect();
    print::out(&print::table(&rows));
    Ok(Exit::Ok)
}

fn show(engine: &Engine, global: &Global, key: &str) -> Result<Exit> {
    let report = engine.session(key)?;
    if global.json {
        print::report(&report);
        return Ok(Exit::Ok);
    }
    let paint = Paint::stdout();
    let now = engine.now();
    let session = &report.session.row;
    print::line(&paint.bold(&print::safe_line(if report.name.is_empty() {
        session.key.as_str()
    } else {
        &report.name
    })));
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
    for lane in report.lanes.iter().filter(|l| !l.lane.is_empty()) {
        rows.push(vec![
            "Sub-agent".into(),
            format!("{}  {}", print::safe_line(&lane.lane), print::counted(lane.turns, "turn")),
        ]);
    }
    if let Some(resume) = &report.session.resume {
        rows.push(vec!["Resume".into(), resume.clone()]);
    }
    for s in report.sources.iter().filter(|s| s.stream.form == OriginForm::File) {
        let generations = if s.generations > 1 {
            format!(", rewritten {}", print::counted(s.generations as u64 - 1, "time"))
        } else {
            String::new()
        };
        rows.push(vec![
            "File".into(),
            format!(
                "{}  {}{generations}",
                print::safe_line(&s.stream.path.display().to_string()),
                print::bytes(s.stream.bytes)
            ),
        ]);
    }
    let mut table_rows = report.sources.iter().filter(|s| s.stream.form == OriginForm::Database && !s.mixed);
    if let Some(first) = table_rows.next() {
        let place = print::safe_line(&first.stream.path.display().to_string());
        rows.push(vec!["Rows".into(), format!("{} of {place}", print::count(1 + table_rows.count() as u64))]);
    }
    print::out(&print::table(&rows));
    print::line("\nRecords");
    let records = report.records.iter();
    let rows: Vec<Vec<String>> =
        records.map(|r| vec![format!("  {}", r.class), print::count(r.records), print::bytes(r.bytes)]).collect();
    print::out(&print::table(&rows));
    if !report.boundaries.is_empty() {
        print::line("\nBoundaries");
        for b in &report.boundaries {
            let reason = b.reason.as_deref().map_or(String::new(), |r| format!(" ({})", print::safe_line(r)));
            print::line(&format!("  {}{reason}  {}", b.kind, print::when(b.at, now)));
        }
    }
    if !report.runs.is_empty() {
        print::line("\nRuns");
        let rows: Vec<Vec<String>> = report
            .runs
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
