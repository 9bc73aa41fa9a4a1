//! `heirloom recall`

use heirloom_engine::clock::Millis;
use heirloom_engine::engine::RecallRequest;
use heirloom_engine::error::Result;
use heirloom_engine::next_step::See;
use heirloom_engine::report::recalled::RecallReport;
use heirloom_engine::tokens;

use super::explained::{self, Limits};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Find what answers a question: memory and open loops first, then summaries, then turns
///
/// Unlike search, recall chooses: the few items worth reading, with their age and confidence, none of them twice. For a
/// person it looks everywhere; with --session, --workspace or --thread it shows only what may be told there. An id in
/// brackets, [t9c11] or [n4], brings that turn or summary first.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Your question
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    /// Maximum number of items
    #[arg(long, short = 'n', value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,

    /// Answer with what may be told in that session
    #[arg(long, value_name = "KEY", conflicts_with_all = ["workspace", "thread"])]
    session: Option<String>,

    /// Answer with what may be told in a session of this project: its id, label or path (. is the current one)
    #[arg(long, value_name = "W")]
    workspace: Option<String>,

    /// Answer with what may be told in a session of this thread
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,

    /// Include turns even if memory or summaries already answer
    #[arg(long)]
    deep: bool,

    /// Print why each item is there, and what was left out
    #[arg(long)]
    explain: bool,
}

/// Maximum number of tokens of the question that are repeated in the output.
const SHOWN: usize = 60;

/// Maximum number of lines of an item: a passage is whole in them where lines have 80 columns.
const LINES: usize = 12;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as("cli recall");
    let request = RecallRequest {
        query: args.query.join(" "),
        limit: args.limit.into(),
        deep: args.deep,
        explain: args.explain,
        session: args.session,
        workspace: args.workspace.map(|name| engine.workspace_id(&name)).transpose()?,
        thread: args.thread,
    };
    let mut report = engine.recall(&request)?;
    if global.json {
        // People are told about a missing model when the index is opened; the JSON report carries the same note.
        report.degraded.extend(engine.without_model().map(|e| format!("by words only: {e}")));
        print::report(&report);
    } else {
        people(&report, engine.now());
    }
    Ok(Exit::Ok)
}

fn people(report: &RecallReport, now: Millis) {
    let paint = Paint::stdout();
    let explain = report.understood.is_some();
    if let Some(understood) = &report.understood {
        explained::people(understood, None, &Limits::new());
    }
    for reason in &report.degraded {
        print::note(&format!("less than it could be: {}", print::safe_line(reason)));
    }
    if report.items.is_empty() {
        let asked = match report.query.trim() {
            "" => "an empty question".to_owned(),
            asked => tokens::cut(&print::safe_line(asked), SHOWN),
        };
        print::line(&format!("Nothing is known that answers {asked}."));
        print::line("heirloom search looks at every word that was said.");
    }
    let width = print::width();
    for (n, item) in report.items.iter().enumerate() {
        let mut head =
            vec![paint.bold(&format!("{:>2}", n + 1)), print::safe_line(&item.kind), print::when(item.at, now)];
        head.extend(item.thread.as_ref().map(|t| paint.accent(&print::safe_line(t))));
        head.extend(item.marks.iter().map(|m| paint.warn(m)));
        print::line(&head.join("  "));
        for line in super::search::wrap(&print::safe_line(&item.text), width.saturating_sub(4).max(20), LINES) {
            print::line(&format!("    {line}"));
        }
        let foot = See::of("expand", &item.id).to_string();
        print::line(&format!("    {}", paint.dim(&print::safe_line(&foot))));
        if explain {
            let why = explained::recalled(item.stage, item.score, &item.reasons);
            print::line(&format!("    {}", paint.dim(&print::safe_line(&why))));
        }
    }
    if explain {
        explained::left_out(report.dropped.iter().map(|d| (d.id.as_str(), d.why.as_str())));
    }
}
