//! `heirloom loop`

use heirloom_engine::clock::parse_rfc3339;
use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::continuity::{Change, Item};
use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::report::items::{EntryReport, ItemsReport, UnfiledReport};
use heirloom_engine::tree::file_table::Kind;
use heirloom_engine::tree::provenance::{Origin, Provenance};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Open loops: commitments that are not resolved yet
///
/// Each open loop is a file in continuity/open-loops/ that you can edit by hand; the file keeps the name made from its
/// first title.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List open loops, the earliest due first, then the newest; open items of pages that have no file yet come last
    List {
        /// List resolved loops instead of open ones
        #[arg(long)]
        resolved: bool,
        /// Only loops of this project: its id, label or path (. is the current one)
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
        /// Maximum number of loops
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Open a loop; text for a title that is open already is added to that loop
    Add {
        /// Title in a few words; the same title is the same loop
        #[arg(value_name = "TITLE")]
        title: String,
        /// Further text, as Markdown
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        text: Option<String>,
        /// Due date: YYYY-MM-DD
        #[arg(long, value_name = "DATE")]
        due: Option<String>,
        /// Project the loop belongs to: its id, label or path (. is the current one)
        #[arg(long, value_name = "W")]
        workspace: Option<String>,
    },
    /// Print a loop's file
    Show {
        /// Id (l:…), title or file
        #[arg(value_name = "LOOP")]
        name: String,
    },
    /// Close loops; their files go to the archive, and an open item without a file gets one there
    Resolve {
        /// Ids (l:…), titles or files
        #[arg(value_name = "LOOP", required = true)]
        names: Vec<String>,
        /// Note on how the loop ended
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        note: Option<String>,
    },
    /// Open resolved loops again
    Reopen {
        /// Ids (l:…), titles or files
        #[arg(value_name = "LOOP", required = true)]
        names: Vec<String>,
    },
}

const ACTOR: &str = "cli loop";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::List { resolved, workspace, limit } => list(global, resolved, workspace.as_deref(), limit),
        Command::Show { name } => show(global, &name),
        Command::Add { title, text, due, workspace } => {
            let engine = Context::create(global)?.acting_as(ACTOR);
            let scope = workspace.map(|name| scope_of(&engine, &name)).transpose()?;
            let source = Provenance { origin: Origin::User, ..Provenance::default() };
            let new = NewLoop { title, text, scope, due, source, ..NewLoop::default() };
            let item = engine.add_loop(&new)?;
            let message = match item.change {
                Change::New => "Open now",
                Change::Changed => "Was open; added to it",
                Change::Same => "Was open already, just so",
            };
            Ok(print_items(global, &[item], message))
        }
        Command::Resolve { names, note } => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            let items = engine.resolve_loops(&names, note.as_deref())?;
            Ok(print_items(global, &items, "Resolved"))
        }
        Command::Reopen { names } => {
            let engine = Context::open(global)?.acting_as(ACTOR);
            let items = engine.reopen_loops(&names)?;
            Ok(print_items(global, &items, "Open again"))
        }
    }
}

/// Returns the scope of a project: `workspace/<id>`.
pub fn scope_of(engine: &Engine, workspace: &str) -> Result<String> {
    Ok(format!("workspace/{}", engine.workspace_id(workspace)?))
}

/// Prints the items an act changed. `message` names the change.
pub fn print_items(global: &Global, items: &[Item], message: &str) -> Exit {
    print::answer(global.json, &ItemsReport { items }, || print_people(items, message))
}

/// Prints items for people, as [`print_items`] does without `--json`.
pub fn print_people(items: &[Item], message: &str) {
    for item in items {
        print::line(&format!("{message}: {} · {}", print::safe_line(&item.title), item.id));
        print::line(&Paint::stdout().dim(&format!("  {}", item.path)));
    }
}

fn list(global: &Global, resolved: bool, workspace: Option<&str>, limit: usize) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let scope = workspace.map(|name| scope_of(&engine, name)).transpose()?;
    let problems = engine.look()?.map(|(_, problems)| problems).unwrap_or_default();
    let report = engine.loops(resolved, scope.as_deref(), limit)?;
    let exit = print::answer(global.json, &report, || {
        if report.loops.is_empty() && report.unfiled.is_empty() {
            print::line(if resolved { "Nothing was resolved yet." } else { "Nothing is open." });
        }
        let now = engine.now();
        let row = |e: &EntryReport| {
            let due = e.entry.field("due").map(|d| format!("due {d}")).unwrap_or_default();
            vec![
                e.id.clone().unwrap_or_default(),
                print::cut(&print::safe_line(&e.title), 60),
                print::when(open_loop::day(&e.entry).and_then(parse_rfc3339), now),
                print::safe_line(&due),
            ]
        };
        let said = |u: &UnfiledReport| {
            let due = u.due.as_deref().map(|d| format!("due {d} · ")).unwrap_or_default();
            let from = if u.running { "from the running session" } else { "no file yet" };
            vec![
                u.id.clone(),
                print::cut(&print::safe_line(&u.title), 60),
                print::when(u.at, now),
                format!("{due}{from}"),
            ]
        };
        let rows: Vec<_> = report.loops.iter().map(row).chain(report.unfiled.iter().map(said)).collect();
        print::list(&rows, report.all);
    });
    // An unreadable folder may hold open loops: the list may be incomplete, so the exit code says so.
    for problem in &problems {
        print::note(&format!("not read: {problem}"));
    }
    Ok(if problems.is_empty() { exit } else { Exit::Problems })
}

fn show(global: &Global, name: &str) -> Result<Exit> {
    let none = Error::not_found("nothing is open yet").hint("heirloom loop add \"…\"");
    let e = match super::files::show_named(global, ACTOR, Kind::OpenLoop, name, none) {
        Err(e) if e.kind() == ErrorKind::NotFound => e,
        other => return other,
    };
    // The name may be that of an open item that has no file yet: its text and the turns it comes from are printed.
    let Some(item) = Context::open(global)?.acting_as(ACTOR).unfiled_loop(name)? else { return Err(e) };
    Ok(print::answer(global.json, &item, || {
        print::line(&print::safe_line(&item.text));
        let due = item.due.as_deref().map(|d| format!(" · due {d}")).unwrap_or_default();
        let place =
            format!("  said in {} [{}]{due} · no file yet", print::safe_line(&item.thread), item.turns.join(" "));
        print::line(&Paint::stdout().dim(&place));
    }))
}
