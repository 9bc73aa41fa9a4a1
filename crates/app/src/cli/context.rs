//! `heirloom context`

use std::io::Read as _;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::engine::{ContextRequest, Engine};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::inject::{ContextId, Event};
use heirloom_engine::report::contexts::{ContextReport, PromptExplained, ReplayReport};

use super::explained::{self, Limits};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Print the context a program is given at the start of a session, with a prompt, or after a compaction
///
/// Assembles handoff, thread head, memory, pages and recalled items within a budget, fences them as data, and records
/// what was given, so that nothing is given twice until the context is cut. --dry-run records nothing.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    give: Give,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Print a context that was given earlier, byte for byte
    Replay(Replay),
    /// List contexts that were given, newest first
    List(List),
}

#[derive(clap::Args, Debug)]
struct Give {
    /// The session: harness:id, or the beginning of the id of a stored session
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// The event: start, resume, clear, compact, prompt [default: prompt with --prompt, else start]
    #[arg(long, value_name = "EVENT", value_parser = ["start", "resume", "clear", "compact", "prompt"])]
    event: Option<String>,

    /// Maximum number of tokens [default: 1999 at a start, 750 with a prompt]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(50..=1_000_000))]
    budget: Option<u32>,

    /// The person's prompt; - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// Project of a session of which nothing is stored yet: its id, label or path [default: the current folder]
    #[arg(long, value_name = "W")]
    workspace: Option<String>,

    /// Thread the session belongs to
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,

    /// The program does not keep the context it is given: everything of this epoch is printed again
    #[arg(long)]
    for_one_call: bool,

    /// The program does not keep turns: the newest ones are given as well
    #[arg(long)]
    with_tail: bool,

    /// Only show what would be given
    #[arg(long)]
    dry_run: bool,

    /// Print the reason for every part and item, and what was left out
    #[arg(long)]
    explain: bool,
}

#[derive(clap::Args, Debug)]
struct Replay {
    /// Id of the context, such as x:17
    id: String,

    /// Print why each line was chosen, and what was left out and why
    #[arg(long)]
    why: bool,
}

#[derive(clap::Args, Debug)]
struct List {
    /// Only contexts given to that session
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// Maximum number of contexts
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Some(Command::Replay(args)) => replay(global, &args),
        Some(Command::List(args)) => list(global, &args),
        None => give(global, args.give),
    }
}

/// The longest prompt that is read, in bytes; recall needs no more than its first megabyte.
const LONGEST_PROMPT: u64 = 1 << 20;

fn give(global: &Global, args: Give) -> Result<Exit> {
    let session = args.session.as_deref().ok_or_else(|| {
        Error::usage("which session?")
            .hint("heirloom context --session KEY; heirloom session list shows those there are")
    })?;
    let prompt = match args.prompt.as_deref() {
        Some("-") => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().take(LONGEST_PROMPT).read_to_end(&mut bytes);
            read.map_err(|e| Error::usage("the prompt cannot be read").because(e))?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        other => other.map(str::to_owned),
    };
    let event = match (args.event.as_deref(), &prompt) {
        (Some(event), _) => Event::parse(event)?,
        (None, Some(_)) => Event::Prompt,
        (None, None) => Event::Start,
    };
    if event == Event::Prompt && prompt.is_none() {
        return Err(Error::usage("a prompt event needs the prompt").hint("add --prompt TEXT, or --prompt - to read it"));
    }
    let context = if args.dry_run { Context::open(global)? } else { Context::create(global)? };
    let engine = context.acting_as("cli context");
    let workspace = match &args.workspace {
        Some(name) => Some(engine.workspace_id(name)?),
        // The current folder may be in no project; the context then has none.
        None => engine.workspace_id(".").ok(),
    };
    let mut request = ContextRequest {
        prompt,
        budget: args.budget.map(|n| n as usize),
        workspace,
        thread: args.thread,
        dry_run: args.dry_run,
        explain: args.explain,
        ..ContextRequest::new(session, event, "cli")
    };
    request.can.stores = !args.for_one_call;
    request.can.keeps_tail = !args.with_tail;
    let report = engine.context(&request)?;
    Ok(print::answer(global.json, &report, || {
        print::out(&print::safe(&report.block));
        for reason in report.degraded.iter().filter(|_| !args.explain) {
            print::note(&format!("less than it could be: {}", print::safe_line(reason)));
        }
        if report.block.is_empty() {
            print::note("nothing new to give: what there is was given before, or the memory is empty");
        }
        if args.explain {
            explain(&report);
        }
    }))
}

fn explain(report: &ContextReport) {
    let paint = Paint::stdout();
    print::line("");
    let thread = report.thread.as_deref().unwrap_or("no thread");
    let id = report.id.as_ref().map(|id| format!(" · {id}")).unwrap_or_default();
    print::line(&paint.dim(&format!("{} tokens · epoch {} · {thread}{id}", report.tokens, report.epoch)));
    for part in &report.parts {
        part_line(part.part, &part.tokens.to_string(), part.cacheable, part.items.iter().map(String::as_str));
    }
    if let Some(explained) = &report.explain {
        print::line("");
        prompt_explained(explained);
    }
    for reason in &report.degraded {
        print::line(&format!("  less than it could be: {}", print::safe_line(reason)));
    }
    explained::left_out(report.dropped.iter().map(|d| (d.id.as_str(), d.why.as_str())));
}

fn prompt_explained(explained: &PromptExplained) {
    explained::people(&explained.understood, None, &Limits::new());
    if !explained.recalled.is_empty() {
        print::line("Recalled");
    }
    for item in &explained.recalled {
        let why = explained::recalled(item.stage, item.score, &item.reasons);
        print::line(&format!("  {:24} {}", print::safe_line(&item.id), print::safe_line(&why)));
    }
}

/// Prints the tokens of a part and the ids its lines refer to, each once.
fn part_line<'i>(name: &str, tokens: &str, cacheable: bool, items: impl Iterator<Item = &'i str>) {
    let mut ids: Vec<&str> = Vec::new();
    for id in items.filter(|id| !id.is_empty()) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let cache = if cacheable { "cacheable" } else { "volatile " };
    let line = format!("  {name:8} {tokens} tokens  {cache}  {}", print::safe_line(&ids.join(" ")));
    print::line(line.trim_end());
}

fn replay(global: &Global, args: &Replay) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as("cli context");
    let id = ContextId::parse(&args.id).ok_or_else(|| {
        Error::usage(format!("{} is no id of a context", print::safe_line(&args.id)))
            .hint("ids look like x:17: heirloom context list")
    })?;
    show(&engine, global, id, args.why)
}

/// Prints a context that was given, byte for byte; with `why`, also the reason for each line and what was left out. If
/// the stored block does not match its digest, the exit code says "damaged".
pub fn show(engine: &Engine, global: &Global, id: ContextId, why: bool) -> Result<Exit> {
    let report = engine.replay(id)?;
    if global.json {
        print::report(&report);
        return Ok(if report.given.sound == Some(false) { Exit::Damaged } else { Exit::Ok });
    }
    let Some(block) = report.block() else {
        print::note("its words were forgotten; that it was given is still known");
        return Ok(Exit::Ok);
    };
    print::out(&print::safe(block));
    if why {
        let given = &report.given;
        print::line("");
        let about = format!(
            "{} · {} at {} · {} tokens · epoch {} · fingerprint {}",
            print::safe_line(given.session.as_str()),
            given.event,
            rfc3339(given.at),
            given.tokens,
            given.epoch,
            given.fingerprint.get(..12).unwrap_or_default()
        );
        print::line(&Paint::stdout().dim(&about));
        for part in report.list("profile") {
            let items = part["items"].as_array().into_iter().flatten().filter_map(|id| id.as_str());
            let tokens = part["tokens"].to_string();
            part_line(part["part"].as_str().unwrap_or("?"), &tokens, part["cacheable"] == true, items);
        }
        lines(block, &report);
        let dropped = report.list("dropped");
        explained::left_out(dropped.map(|d| (d["id"].as_str().unwrap_or("?"), d["why"].as_str().unwrap_or("?"))));
        match report.content.as_ref().and_then(|content| content["dropped_more"].as_u64()) {
            None | Some(0) => {}
            Some(more) => print::line(&format!("  and {} more, whose reasons were not stored", print::count(more))),
        }
        match report.given.sound {
            Some(true) => print::line(&Paint::stdout().dim("The record fits its digest.")),
            Some(false) => {}
            None => print::line("This record is older than its digests: why a line was chosen was not stored."),
        }
    }
    if report.given.sound == Some(false) {
        print::note("this record does not fit its digest: it is not what was stored when the context was given");
        return Ok(Exit::Damaged);
    }
    Ok(Exit::Ok)
}

/// Maximum number of columns of a line that is repeated above its reason.
const SHOWN: usize = 72;

/// Prints each line of a block with the reason why it was chosen.
fn lines(block: &str, report: &ReplayReport) {
    let paint = Paint::stdout();
    let text: Vec<&str> = block.lines().collect();
    let mut whose = "";
    for line in report.list("lines") {
        let part = line["part"].as_str().unwrap_or("?");
        if part != whose {
            whose = part;
            print::line("");
            print::line(&paint.bold(&print::safe_line(part)));
        }
        let said = line["line"].as_u64().and_then(|n| text.get(usize::try_from(n).ok()?.checked_sub(1)?));
        print::line(&format!("  {}", print::cut(&print::safe_line(said.map_or("?", |said| said.trim())), SHOWN)));
        let stage = line["stage"].as_str().map(str::to_owned);
        let score = line["score"].as_f64().map(|score| format!("score {score:.2}"));
        let why = line["why"].as_array().into_iter().flatten().filter_map(|why| why.as_str());
        let why = Some(why.collect::<Vec<_>>().join(", ")).filter(|why| !why.is_empty());
        let all: Vec<String> = [stage, score, why].into_iter().flatten().collect();
        print::line(&format!("      {}", paint.dim(&print::safe_line(&all.join(" · ")))));
    }
}

fn list(global: &Global, args: &List) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as("cli context");
    let report = engine.contexts(args.session.as_deref(), None, args.limit.into())?;
    Ok(print::answer(global.json, &report, || {
        if report.contexts.is_empty() {
            print::line("Nothing was given yet.");
        }
        let now = engine.now();
        for given in &report.contexts {
            print::line(&format!(
                "{:>6}  {}  {:7}  {:>5} tokens  {}",
                given.id.to_string(),
                print::when(Some(given.at), now),
                given.event,
                given.tokens,
                print::safe_line(given.session.as_str())
            ));
        }
    }))
}
