//! `heirloom forget`

use std::fmt::Display;
use std::io::{BufRead, IsTerminal, Write};

use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::forget::{Preview, Wish};
use heirloom_engine::next_step::quoted;
use heirloom_engine::redact::redact;
use heirloom_engine::scope::TurnId;

use super::times::{self, Edge};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Forget a session, single turns, a person, a project, a thread, or every place where a text stands
///
/// Prints first what would be removed. It is removed from records and their bytes, turns, summaries, items made from
/// it, pages, the search index, names and ids, logs and our own backups; its place in the ledger stays, so that no
/// import brings it back. Files of the programs, and files with words that people wrote, are named and left alone. A
/// forget is of one agent: other agents that have it are named.
#[derive(clap::Args, Debug)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["session", "turn", "person", "project", "thread", "text"])))]
pub struct Args {
    /// A whole session
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// Turns (t9c11)
    #[arg(long, value_name = "ID", num_args = 1..)]
    turn: Vec<String>,

    /// A person: their turns, and every place where the name stands
    #[arg(long, value_name = "NAME")]
    person: Option<String>,

    /// A project: its sessions, its memory and its names, by id, label or path
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,

    /// A thread: its turns, and its names
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,

    /// Every place with this text, also as JSON quotes it; - reads it from standard input
    #[arg(long = "match", id = "text", value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// Match letters in upper and lower case alike
    #[arg(long, requires = "text")]
    ignore_case: bool,

    /// Only turns since this time: 2026-11-21, today, 7d
    #[arg(long, value_name = "TIME", requires = "text")]
    since: Option<String>,

    /// Only turns until this time
    #[arg(long, value_name = "TIME", requires = "text")]
    until: Option<String>,

    /// Forget without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Maximum number of ids or paths of one kind that are printed.
const SHOWN: usize = 8;

const BY_HAND: &str = "Files with the words that are left alone: yours, settings, names of tokens (heirloom token revoke); change or remove them";

const SET_ASIDE: &str =
    "Folders with an older state of the memory, which a restore set aside and forget does not reach; remove them";

const OTHER_AGENTS: &str = "Other agents have it, too; a forget is of one agent";

const AGENT_NAMES: &str = "Names of agents with it, which stay: an agent is not renamed";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as("cli forget");
    let wish = wish(&engine, &args)?;
    if args.yes {
        // The act is done although nobody reads the preview to its end (`| head`).
        print::go_on_unread();
    }
    let report = engine.forget(wish, |planned| {
        if !global.json {
            print_preview(&planned.preview);
        }
        Ok(args.yes || (!args.dry_run && agreed(global)?))
    })?;
    let refused = !(report.forgotten || report.is_nothing || args.dry_run);
    let exit = if refused { Exit::Refused } else { Exit::Ok };
    if global.json {
        print::report(&report);
    } else if report.forgotten {
        print::line(&format!("Forgotten: {}.", erased(&report.preview).join(", ")));
        list("Saved meanwhile, and left alone", &report.saved_meanwhile);
        print_left(&report.preview);
    } else if report.is_nothing {
        let nothing = match (report.preview.by_hand.is_empty(), report.preview.other_agents.is_empty()) {
            (false, _) => "Only files that Heirloom does not change have it, or it was forgotten before.",
            (true, true) => "Nothing that is stored has it, or it was forgotten before.",
            (true, false) => "Nothing that is stored of this agent has it, or it was forgotten before.",
        };
        print::line(nothing);
        print_left(&report.preview);
    } else if refused {
        print::note("heirloom: refused: nothing was forgotten");
        print::note("          add --yes");
    } else {
        print::line("Nothing was changed.");
    }
    Ok(exit)
}

fn wish(engine: &Engine, args: &Args) -> Result<Wish> {
    if let Some(session) = &args.session {
        return Ok(Wish::Session(session.clone()));
    }
    if let Some(name) = &args.person {
        return Ok(Wish::Person(name.clone()));
    }
    if let Some(name) = &args.project {
        return Ok(Wish::Project(name.clone()));
    }
    if let Some(name) = &args.thread {
        return Ok(Wish::Thread(name.clone()));
    }
    if let Some(text) = &args.text {
        let mut text = super::remember::text_of(text)?;
        // The newline at the end of piped input is not part of the text.
        if args.text.as_deref() == Some("-") {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        let now = engine.now();
        let time = |text: &Option<String>, edge| text.as_deref().map(|t| times::parse(t, now, edge)).transpose();
        let (since, until) = (time(&args.since, Edge::Since)?, time(&args.until, Edge::Until)?);
        return Ok(Wish::Match { text, ignore_case: args.ignore_case, since, until });
    }
    let ids = args.turn.iter().map(|id| {
        TurnId::parse(id).ok_or_else(|| {
            Error::usage(format!("{:?} is no turn id", print::cut(id, 40))).hint("ids look like t9c11: heirloom search")
        })
    });
    Ok(Wish::Turns(ids.collect::<Result<_>>()?))
}

/// Asks for confirmation if a person can be asked.
fn agreed(global: &Global) -> Result<bool> {
    if global.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    let mut asked = std::io::stderr().lock();
    let _ = write!(asked, "Forget this for good? [y/N] ").and_then(|()| asked.flush());
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(|e| Error::usage("no answer").because(e))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Counts what is erased, most telling first; kinds of which there is nothing are left out.
fn erased(preview: &Preview) -> Vec<String> {
    let counted = print::counted;
    let mut all = Vec::new();
    let mut add = |n: u64, what: &dyn Fn() -> String| {
        if n > 0 {
            all.push(what());
        }
    };
    let sessions = preview.sessions.len() as u64;
    let in_sessions = || format!("{} in {}", counted(preview.turns, "turn"), counted(sessions, "session"));
    match preview.turns {
        0 => add(sessions, &|| counted(sessions, "session")),
        turns => add(turns, &in_sessions),
    }
    let masked = preview.masked.len() as u64;
    let records = preview.records + preview.ends;
    add(records, &|| format!("{} ({})", counted(records, "source record"), print::bytes(preview.bytes)));
    add(preview.strays, &|| counted(preview.strays, "left-over text"));
    let items = preview.items.len() as u64;
    add(items, &|| counted(items, "item"));
    let names = preview.names.iter().map(|(_, n)| n).sum();
    add(names, &|| counted(names, "name"));
    add(preview.titles, &|| counted(preview.titles, "session title"));
    let rows = preview.rows.iter().map(|(_, n)| n).sum();
    add(rows, &|| counted(rows, "other row"));
    add(masked, &|| counted(masked, "file of Heirloom"));
    if all.is_empty() {
        all.push("what was left of it".to_owned());
    }
    all
}

/// Prints what `forget` removes and what it leaves in place, before the question whether to go on.
fn print_preview(preview: &Preview) {
    let counted = print::counted;
    print::line(&Paint::stdout().bold(&erased(preview).join(", ")));
    list("Sessions", preview.sessions.iter().map(|(key, turns)| format!("{key}  {}", counted(*turns, "turn"))));
    if preview.titles > 0 {
        print::line(&format!("{} cleared", counted(preview.titles, "session title")));
    }
    list("Items made from it, which go", preview.items.iter().map(|item| format!("{}  {}", item.kind, item.path)));
    list("Pages that are rendered again", &preview.pages);
    list("Summaries that are made again without it", &preview.nodes);
    list("Other rows of the ledger", preview.rows.iter().map(|(table, n)| format!("{table}  {n}")));
    list(
        "Names, ids and paths with it, which become a mark",
        preview.names.iter().map(|(table, n)| format!("{table}  {n}")),
    );
    list("Logs and unreadable calls of hooks, in which stars replace it", &preview.masked);
    list("Backups of ours, which are removed", preview.backups.iter().map(|path| path.display()));
    print_left(preview);
    list("Other turns with the same words, which stay (--match TEXT takes them, too)", &preview.others);
    list("Other files with the name, which stay (--match TEXT takes them, too)", &preview.kept);
    let theirs = preview.not_ours.iter().map(|path| path.display());
    list("Files of the programs, which still have it; they are not ours to change", theirs);
}

/// Prints what has the words and stays.
fn print_left(preview: &Preview) {
    list(BY_HAND, &preview.by_hand);
    let named = preview.agent_names.iter();
    list(AGENT_NAMES, named.map(|id| format!("{id}  (its row, workspaces/{id}, run/files-{id}.lock)")));
    list(OTHER_AGENTS, preview.other_agents.iter().map(|id| format!("agent {id} has it: --agent {id}")));
    list(SET_ASIDE, removals(preview));
}

/// Returns the command that removes each folder a restore set aside.
fn removals(preview: &Preview) -> impl Iterator<Item = String> {
    preview.set_aside.iter().map(|path| format!("rm -r {}", quoted(&path.display().to_string())))
}

fn list<T: Display>(title: &str, entries: impl IntoIterator<Item = T>) {
    let entries: Vec<String> = entries.into_iter().map(|entry| entry.to_string()).collect();
    if entries.is_empty() {
        return;
    }
    print::line(&format!("{title}:"));
    for entry in entries.iter().take(SHOWN) {
        print::line(&format!("  {}", print::safe_line(&redact(entry))));
    }
    if entries.len() > SHOWN {
        print::line(&format!("  … and {} more (--json)", print::count((entries.len() - SHOWN) as u64)));
    }
}
