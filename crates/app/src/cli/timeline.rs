//! `heirloom timeline`

use heirloom_engine::error::Result;
use heirloom_engine::render::titles;
use heirloom_engine::transcript::read::{SessionFilter, SessionRow};

use super::times::{self, Edge};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// List sessions by day, newest first
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only in this project: its id, label or path
    #[arg(long, value_name = "W")]
    workspace: Option<String>,

    /// Only from this program
    #[arg(long, value_name = "NAME", value_parser = ["claude-code", "codex", "opencode", "openclaw", "turns"])]
    harness: Option<String>,

    /// Not before this time: 2026-11-21, 2026-11, yesterday, 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Not after this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Maximum number of sessions
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as("cli timeline");
    let now = engine.now();
    let filter = SessionFilter {
        harness: args.harness,
        workspaces: args.workspace.as_deref().map(|w| engine.workspaces_named(w)).transpose()?,
        since: args.since.as_deref().map(|t| times::parse(t, now, Edge::Since)).transpose()?,
        until: args.until.as_deref().map(|t| times::parse(t, now, Edge::Until)).transpose()?,
        limit: Some(args.limit),
        ..SessionFilter::default()
    };
    let report = engine.sessions(&filter)?;
    if global.json {
        print::report(&report);
        return Ok(Exit::Ok);
    }
    if report.sessions.is_empty() {
        print::line("No sessions in that time.");
        return Ok(Exit::Ok);
    }
    let names = engine.read(|tx| titles::names_of(tx, report.sessions.iter().map(|s| &s.row)))?;
    let paint = Paint::stdout();
    let mut day = None;
    for (session, name) in report.sessions.iter().map(|s| &s.row).zip(&names) {
        let this = session.last_at.map(print::day);
        if this != day {
            if day.is_some() {
                print::line("");
            }
            print::line(&paint.bold(this.as_deref().unwrap_or("no date")));
            day = this;
        }
        print::line(&row(session, &print::safe_line(name), paint));
    }
    if names.len() == args.limit {
        print::line(&paint.dim("More: --limit, --since, --until"));
    }
    Ok(Exit::Ok)
}

fn row(session: &SessionRow, title: &str, paint: Paint) -> String {
    let time = |at| print::local(at).map_or("  ?  ".into(), |z| z.strftime("%H:%M").to_string());
    let span = match (session.started_at, session.last_at) {
        (Some(from), Some(to)) if print::day(from) == print::day(to) => format!("{}–{}", time(from), time(to)),
        (_, Some(to)) => format!("    –{} ", time(to)),
        _ => " ".repeat(11),
    };
    let label = print::cut(&print::safe_line(session.workspace.as_deref().unwrap_or("no project")), 24);
    let turns = print::counted(session.turns + session.shared_turns, "turn");
    let head = format!("  {span}  {label:24}  {:12}  {turns:>12}  ", programs::title(&session.key));
    let key = paint.dim(session.key.as_str());
    match title {
        "" => format!("{head}{key}"),
        _ => format!("{head}{key}\n{:15}{}", "", print::cut(title, print::width().saturating_sub(15))),
    }
}
