//! `heirloom forget`

use std::io::{BufRead, IsTerminal, Write};

use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::forget::{self, Plan, Preview, Request, Wish};
use heirloom_engine::scope::TurnId;
use serde_json::{Value, json};

use super::times::{self, Edge};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Forget what was said: a session, single turns, or every place where a text stands
///
/// Says first what would go. It goes from records and their bytes, turns, summaries, items made from it, pages, the
/// search index, logs and our own backups; its place stays, so that no import brings it back. Files of the programs
/// themselves, and what people wrote, are named and left alone.
#[derive(clap::Args, Debug)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["session", "turn", "text"])))]
pub struct Args {
    /// A whole session
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// Turns (t9c11)
    #[arg(long, value_name = "ID", num_args = 1..)]
    turn: Vec<String>,

    /// Everything that has this text, also as JSON quotes it; - reads it from standard input
    #[arg(long = "match", id = "text", value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// Whatever the case of its letters
    #[arg(long, requires = "text")]
    ignore_case: bool,

    /// Only what was said since: 2026-11-21, today, 7d
    #[arg(long, value_name = "TIME", requires = "text")]
    since: Option<String>,

    /// Only what was said until
    #[arg(long, value_name = "TIME", requires = "text")]
    until: Option<String>,

    /// Do it without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,

    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
}

const ACTOR: &str = "cli forget";

/// How often it is planned again where something is stored meanwhile.
const ATTEMPTS: usize = 5;

/// Ids and paths of one kind that people are shown.
const SHOWN: usize = 8;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let wish = wish(&context, &args)?;
    let at = context.assistant(ACTOR)?;
    // Edits by hand are taken in first: whether a person wrote in a file decides whether it goes.
    drop(at.lock()?);
    let plan = || -> Result<Plan> {
        let total = heirloom_engine::verify::bytes_to_check(context.ledger())?;
        let bar = print::bar(total * 2, "Looking", print::BYTES, global.json);
        let request = Request { wish: wish.clone(), global_ids: &global_ids };
        let planned = forget::plan(&at, &request, &mut |seen| bar.set_position(seen));
        bar.finish_and_clear();
        planned
    };
    let mut planned = plan()?;
    if planned.is_empty() {
        return nothing(&context, &planned.preview);
    }
    if !global.json {
        tell(&planned.preview);
    }
    if args.dry_run {
        return told(&context, &planned.preview, false, &[], Exit::Ok);
    }
    if !args.yes && !agreed(global)? {
        if global.json {
            print::line(&json(&planned.preview, false, &[]).to_string());
        } else {
            print::note("heirloom: refused: nothing was forgotten");
            print::note("          add --yes");
        }
        return Ok(Exit::Refused);
    }
    let mut kept = None;
    for _ in 0..ATTEMPTS {
        let lock = at.lock()?;
        match forget::carry_out(&lock, &planned) {
            Ok(files) => {
                kept = Some(files);
                break;
            }
            Err(e) if e.kind() == ErrorKind::Busy => {
                drop(lock);
                planned = plan()?;
            }
            Err(e) => return Err(e),
        }
    }
    let kept = kept.ok_or_else(|| {
        Error::new(ErrorKind::Busy, "conversations keep coming in; nothing was forgotten")
            .hint("run it again when the import has finished")
    })?;
    context.instance().finish_forgetting(agent_no)?;
    context.instance().settle(&at);
    told(&context, &planned.preview, true, &kept, Exit::Ok)
}

fn global_ids(harness: &str) -> bool {
    heirloom_harness::by_name(harness).is_some_and(|h| h.spec().global_ids)
}

fn wish(context: &Context, args: &Args) -> Result<Wish> {
    if let Some(session) = &args.session {
        return Ok(Wish::Session(session.clone()));
    }
    if let Some(text) = &args.text {
        let mut text = super::remember::text_of(text)?;
        // A line that was piped ends in a newline nobody meant.
        if args.text.as_deref() == Some("-") {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        let now = context.now();
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

/// Asks, where there is somebody to ask.
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

fn nothing(context: &Context, preview: &Preview) -> Result<Exit> {
    if context.json {
        print::line(&json(preview, false, &[]).to_string());
        return Ok(Exit::Ok);
    }
    print::line("Nothing that is stored has it, or it was forgotten before.");
    list("Files with the words that people wrote, which are left alone", &preview.by_hand);
    Ok(Exit::Ok)
}

fn told(context: &Context, preview: &Preview, done: bool, kept: &[String], exit: Exit) -> Result<Exit> {
    if context.json {
        print::line(&json(preview, done, kept).to_string());
        return Ok(exit);
    }
    if !done {
        print::line("Nothing was changed.");
        return Ok(exit);
    }
    print::line(&format!("Forgotten: {}.", print::counted(preview.turns, "turn")));
    list("Saved by somebody meanwhile, and left alone", kept);
    Ok(exit)
}

fn tell(preview: &Preview) {
    let paint = Paint::stdout();
    let counted = |n: u64, noun: &str| print::counted(n, noun);
    print::line(&paint.bold(&format!(
        "{} in {}, {} ({})",
        counted(preview.turns, "turn"),
        counted(preview.sessions.len() as u64, "session"),
        counted(preview.records + preview.ends, "source record"),
        print::bytes(preview.bytes)
    )));
    let sessions: Vec<String> =
        preview.sessions.iter().map(|(key, turns)| format!("{key}  {}", counted(*turns, "turn"))).collect();
    list("Sessions", &sessions);
    if preview.titles > 0 {
        print::line(&format!("{} cleared", counted(preview.titles, "session title")));
    }
    let items: Vec<String> = preview.items.iter().map(|(_, kind, path)| format!("{kind}  {path}")).collect();
    list("Items made from it, which go", &items);
    list("Pages that are rendered again", &preview.pages);
    let nodes: Vec<String> = preview.nodes.iter().map(ToString::to_string).collect();
    list("Summaries that are made again without it", &nodes);
    let rows: Vec<String> = preview.rows.iter().map(|(table, n)| format!("{table}  {n}")).collect();
    list("Other rows of the ledger", &rows);
    let backups: Vec<String> = preview.backups.iter().map(|p| p.display().to_string()).collect();
    list("Backups of ours, which are removed", &backups);
    list("Files with the words that people wrote, which are left alone", &preview.by_hand);
    let others: Vec<String> = preview.others.iter().map(ToString::to_string).collect();
    list("Other turns with the same words, which stay (--match TEXT takes them, too)", &others);
    let theirs: Vec<String> = preview.not_ours.iter().map(|p| p.display().to_string()).collect();
    list("Files of the programs, which still have it; they are not ours to change", &theirs);
}

fn list(title: &str, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    print::line(&format!("{title}:"));
    for entry in entries.iter().take(SHOWN) {
        print::line(&format!("  {}", print::safe_line(&heirloom_engine::redact::redact(entry))));
    }
    if entries.len() > SHOWN {
        print::line(&format!("  … and {} more (--json)", print::count((entries.len() - SHOWN) as u64)));
    }
}

fn json(preview: &Preview, done: bool, kept: &[String]) -> Value {
    let clean = |path: &str| heirloom_engine::redact::redact(path).into_owned();
    let paths =
        |paths: &[std::path::PathBuf]| -> Vec<String> { paths.iter().map(|p| p.display().to_string()).collect() };
    let sessions: Vec<Value> =
        preview.sessions.iter().map(|(key, turns)| json!({"session": key, "turns": turns})).collect();
    let items: Vec<Value> = preview
        .items
        .iter()
        .map(|(id, kind, path)| json!({"id": clean(id), "kind": kind, "path": clean(path)}))
        .collect();
    let rows: serde_json::Map<String, Value> =
        preview.rows.iter().map(|(table, n)| ((*table).to_owned(), json!(n))).collect();
    json!({
        "forgotten": done,
        "turns": preview.turns,
        "records": preview.records,
        "bytes": preview.bytes,
        "unterminated": preview.ends,
        "sessions": sessions,
        "titles": preview.titles,
        "items": items,
        "pages": preview.pages,
        "nodes": preview.nodes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "rows": rows,
        "backups": paths(&preview.backups),
        "by_hand": preview.by_hand.iter().map(|p| clean(p)).collect::<Vec<_>>(),
        "saved_meanwhile": kept,
        "other_turns": preview.others.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "not_ours": paths(&preview.not_ours),
    })
}
