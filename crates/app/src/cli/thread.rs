//! `heirloom thread`

use heirloom_engine::engine::Engine;
use heirloom_engine::error::Result;
use heirloom_engine::report::threads::{StateItem, ThreadChanged, ThreadsChanged};
use heirloom_engine::scope::SessionKey;
use heirloom_engine::thread::ThreadRow;

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;

/// Threads: lanes of work across sessions and programs
///
/// A thread is a project, a person, a topic or a conversation of several people. T is its key, a present or former
/// name, or at least the first six characters of the part of its key behind the slash.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List threads, the one worked on last first
    List {
        /// Include closed and merged threads
        #[arg(long)]
        all: bool,
        /// Only threads that session has turns in
        #[arg(long, value_name = "KEY")]
        session: Option<String>,
        /// Maximum number of threads
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show where a thread stands: goal, open items, participants, its sessions, nodes and links
    Show {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
    },
    /// Rename a thread; its old names still lead to it
    Name {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
        /// New name in a few words
        #[arg(value_name = "NAME", allow_hyphen_values = true)]
        name: String,
    },
    /// Merge a thread into another one
    Merge {
        /// The thread that is merged
        #[arg(value_name = "FROM")]
        from: String,
        /// The thread it becomes part of
        #[arg(value_name = "INTO")]
        into: String,
    },
    /// Separate a merged thread again
    Unmerge {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
    },
    /// Close a thread: it leaves the list until something new happens in it
    Close {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
    },
    /// Reopen a closed thread, so that it is listed again
    Reopen {
        #[arg(value_name = "T", help = HELP_T)]
        thread: String,
    },
    /// Link two threads: each may be told about the other
    Link {
        #[arg(value_name = "A", help = HELP_T)]
        one: String,
        #[arg(value_name = "B", help = HELP_T)]
        other: String,
        /// Relation between the two threads
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        why: Option<String>,
    },
    /// Remove a link
    Unlink {
        #[arg(value_name = "A", help = HELP_T)]
        one: String,
        #[arg(value_name = "B", help = HELP_T)]
        other: String,
    },
    /// Assign a session to a thread, from its next prompt on
    Switch {
        /// The thread; a new key topic/… or lane/… creates it
        #[arg(value_name = "T", required_unless_present = "auto")]
        thread: Option<String>,
        /// Assign the thread that Heirloom chooses by itself
        #[arg(long, conflicts_with = "thread")]
        auto: bool,
        /// The session; the beginning of its id is enough
        #[arg(long, value_name = "KEY")]
        session: String,
    },
}

const HELP_T: &str = "A thread: its key, name or the beginning of its key";

const ACTOR: &str = "cli thread";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    match args.command {
        Command::List { all, session, limit } => list(&engine, global, all, session.as_deref(), limit),
        Command::Show { thread } => show(&engine, global, &thread),
        Command::Name { thread, name } => {
            let report = engine.rename_thread(&thread, &name)?;
            changed(global, &report, |row| format!("{} is now called {}", row.key, row.label))
        }
        Command::Merge { from, into } => {
            let (part, report) = engine.merge_thread(&from, &into)?;
            changed(global, &report, |row| format!("{part} is now part of {}", row.key))
        }
        Command::Unmerge { thread } => {
            let report = engine.unmerge_thread(&thread)?;
            changed(global, &report, |row| format!("{} is a thread of its own again", row.key))
        }
        Command::Close { thread } => {
            let report = engine.close_thread(&thread)?;
            let message = if report.changed { "is closed" } else { "was closed already" };
            changed(global, &report, |row| format!("{} {message}", row.key))
        }
        Command::Reopen { thread } => {
            let report = engine.reopen_thread(&thread)?;
            let message = if report.changed { "is open again" } else { "is open" };
            changed(global, &report, |row| format!("{} {message}", row.key))
        }
        Command::Link { one, other, why } => {
            let report = engine.link_threads(&one, &other, why.as_deref())?;
            both_changed(global, &report, if report.changed { "are linked now" } else { "are linked already" })
        }
        Command::Unlink { one, other } => {
            both_changed(global, &engine.unlink_threads(&one, &other)?, "are no longer linked")
        }
        Command::Switch { thread, session, .. } => switch(&engine, global, thread.as_deref(), &session),
    }
}

fn switch(engine: &Engine, global: &Global, name: Option<&str>, session: &str) -> Result<Exit> {
    let report = engine.switch_session(session, name)?;
    Ok(print::answer(global.json, &report, || {
        let to = match &report.thread {
            Some(thread) => format!("{} · {}", print::safe_line(&thread.row.label), thread.row.key),
            None => "the thread it belongs to by itself".into(),
        };
        print::line(&format!("From its next prompt on {} belongs to {to}", report.session));
    }))
}

/// Prints a thread after an act. `message` describes the act for people.
fn changed(global: &Global, report: &ThreadChanged, message: impl FnOnce(&ThreadRow) -> String) -> Result<Exit> {
    Ok(print::answer(global.json, report, || {
        print::line(&format!("{}.", print::safe_line(&message(&report.thread.row))))
    }))
}

fn both_changed(global: &Global, report: &ThreadsChanged, message: &str) -> Result<Exit> {
    Ok(print::answer(global.json, report, || {
        let keys: Vec<String> = report.threads.iter().map(|thread| print::safe_line(&thread.row.key)).collect();
        print::line(&format!("{} {message}.", keys.join(" and ")));
    }))
}

fn list(engine: &Engine, global: &Global, all: bool, session: Option<&str>, limit: usize) -> Result<Exit> {
    let report = engine.threads(all, session, limit)?;
    Ok(print::answer(global.json, &report, || {
        if report.all == 0 {
            print::line(match (session, all) {
                (Some(_), _) => "It is in no thread yet.",
                (None, true) => "No threads yet.",
                (None, false) => "Nothing is being worked on.",
            });
        }
        let now = engine.now();
        let table: Vec<Vec<String>> = report
            .threads
            .iter()
            .map(|listed| {
                let thread = &listed.thread;
                let spans: Vec<String> =
                    listed.in_session.iter().map(|s| format!("{} to {}", s.first, s.last)).collect();
                let note = match &listed.merged_into {
                    Some(key) => format!("part of {}", print::safe_line(key)),
                    None if thread.row.state == "closed" => "closed".into(),
                    None => print::cut(&spans.join(", "), 60),
                };
                vec![
                    print::when(thread.row.last_at, now),
                    print::cut(&print::safe_line(&thread.row.label), 40),
                    print::counted(listed.sessions, "session"),
                    print::counted(listed.runs, "run"),
                    print::safe_line(&thread.row.key),
                    note,
                ]
            })
            .collect();
        print::list(&table, report.all);
    }))
}

fn show(engine: &Engine, global: &Global, name: &str) -> Result<Exit> {
    let report = engine.thread(name)?;
    if global.json {
        print::report(&report);
        return Ok(Exit::Ok);
    }
    let now = engine.now();
    let thread = &report.thread.thread;
    print::line(&Paint::stdout().bold(&print::safe_line(&thread.row.label)));
    let counts = format!(
        "{} in {}, {}",
        print::counted(report.thread.runs, "run"),
        print::counted(report.thread.sessions, "session"),
        print::counted(report.thread.turns, "turn")
    );
    let titles: Vec<String> =
        report.programs.iter().map(|name| programs::title(&SessionKey::new(name, "")).to_owned()).collect();
    let merged: Vec<String> = report.merged.iter().map(|m| m.thread.clone()).collect();
    let mut rows = vec![
        vec!["Thread".to_owned(), print::safe_line(&thread.row.key)],
        vec!["State".into(), format!("{}, last worked in: {}", thread.row.state, print::when(thread.row.last_at, now))],
        vec!["Holds".into(), counts],
    ];
    let lists = [
        ("People", &report.people),
        ("Programs", &titles),
        ("Also called", &report.names),
        ("Merged into it", &merged),
    ];
    for (what, words) in lists.into_iter().filter(|(_, words)| !words.is_empty()) {
        let words: Vec<String> = words.iter().map(|word| print::safe_line(word)).collect();
        rows.push(vec![what.to_owned(), words.join(", ")]);
    }
    rows.push(vec!["Page".into(), thread.page.clone()]);
    print::out(&print::table(&rows));
    let state = &report.state;
    for (title, items) in [("Goal", state.goal.as_slice()), ("Open", &state.open), ("Next", &state.next)] {
        section(title, items.iter().map(state_line).collect());
    }
    let links = report.links.iter().map(|link| {
        let why = link.why.as_deref().map(print::safe_line).unwrap_or_default();
        vec![format!("  {}", print::safe_line(&link.label)), print::safe_line(&link.thread), why]
    });
    section("Linked", links.collect());
    let sessions = report.sessions.iter().map(|s| {
        vec![
            format!("  {}", print::when(s.last_at_ms, now)),
            print::counted(s.runs, "run"),
            print::safe_line(&s.session),
            print::cut(&print::safe_line(&s.title), 48),
        ]
    });
    section("Sessions", sessions.collect());
    let nodes = report.nodes.iter().map(|n| {
        vec![
            format!("  {}", n.node),
            n.kind.to_owned(),
            print::when(n.last_at_ms, now),
            print::cut(&print::safe_line(&n.summary), 72),
        ]
    });
    section("Newest nodes", nodes.collect());
    Ok(Exit::Ok)
}

fn state_line(item: &StateItem) -> Vec<String> {
    let from = item.turns.first().map(|turn| turn.to_string()).unwrap_or_default();
    vec![format!("  {}", print::cut(&print::safe_line(&item.text), 100)), from]
}

/// Prints a table with a title, unless it is empty.
fn section(title: &str, rows: Vec<Vec<String>>) {
    if !rows.is_empty() {
        print::line(&format!("\n{title}"));
        print::out(&print::table(&rows));
    }
}
