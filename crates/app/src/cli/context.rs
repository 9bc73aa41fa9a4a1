//! `heirloom context`

use std::io::Read as _;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::inject::{self, Ask, Capabilities, ContextId, Event, Given, Replayed};
use heirloom_engine::recall::{self, Hint, Question, Recalled};
use heirloom_engine::scope::SessionKey;
use heirloom_engine::thread;
use heirloom_engine::transcript::read;
use serde_json::{Value, json};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// What a program is given at the beginning of a session, with a prompt, or after a compaction
///
/// Puts together handoff, thread head, memory, pages and what recall finds, within a budget; fences it as data, and
/// remembers what was given, so that nothing is given twice until the context is cut. --dry-run only looks.
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
    /// Print a context that was given, byte for byte
    Replay(Replay),
    /// List what was given, newest first
    List(List),
}

#[derive(clap::Args, Debug)]
struct Give {
    /// The session: harness:id, or the beginning of one that is stored
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// What happens: start, resume, clear, compact, prompt [default: prompt with --prompt, else start]
    #[arg(long, value_name = "EVENT", value_parser = ["start", "resume", "clear", "compact", "prompt"])]
    event: Option<String>,

    /// The most tokens [default: 2250 at a start, 750 with a prompt]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(50..=1_000_000))]
    budget: Option<u32>,

    /// What the person says; - reads it from standard input
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// The project of a session nothing is stored of yet: its id, label or path [default: the current folder]
    #[arg(long, value_name = "W")]
    workspace: Option<String>,

    /// The thread it belongs to
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,

    /// The program keeps nothing of what it is given: everything of this epoch is printed again
    #[arg(long)]
    for_one_call: bool,

    /// The program keeps no turns: the newest are given, too
    #[arg(long)]
    with_tail: bool,

    /// Only show what would be given
    #[arg(long)]
    dry_run: bool,

    /// Say of every part and item why it is there, and what was left out
    #[arg(long)]
    explain: bool,
}

#[derive(clap::Args, Debug)]
struct Replay {
    /// Its id, as x:17
    id: String,

    /// Say why each part is there, and what was left out
    #[arg(long)]
    why: bool,
}

#[derive(clap::Args, Debug)]
struct List {
    /// Only what that session was given
    #[arg(long, value_name = "KEY")]
    session: Option<String>,

    /// How many
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

/// The longest prompt that is read: what is behind it names nothing the first megabyte did not.
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
    let looked;
    let made;
    let at = if args.dry_run {
        looked = context.look_at_assistant("cli context")?;
        match &looked {
            Some((at, _)) => at,
            None => return Err(Error::not_found("nothing is stored yet").hint("heirloom up")),
        }
    } else {
        made = context.assistant("cli context")?;
        &made
    };
    let key = session_key(&context, at.agent_no, session)?;
    let hint = Hint {
        workspace: match (&args.workspace, context.workspace_id(args.workspace.as_deref())) {
            (_, Ok(id)) => Some(id),
            // The current folder may be no project at all.
            (None, Err(_)) => None,
            (Some(_), Err(e)) => return Err(e),
        },
        thread: args
            .thread
            .as_deref()
            .map(|name| context.ledger.read(|tx| Ok(thread::named(tx, at.agent_no, name)?.no)))
            .transpose()?,
    };
    let ask = Ask {
        session: key,
        event,
        hint,
        prompt: prompt.as_deref(),
        budget: args.budget.map(|n| n as usize),
        can: Capabilities {
            program: "cli".into(),
            channel: "stdout".into(),
            stores: !args.for_one_call,
            keeps_tail: !args.with_tail,
            characters: usize::MAX,
        },
    };
    let recalled = match ask.prompt.filter(|p| !p.trim().is_empty()) {
        Some(text) => {
            let place = inject::place_of(at, &ask.session, &ask.hint)?;
            let question = Question { text, most: inject::budget::items(event, ask.budget), deep: false };
            match context.asked(Some(at), |index| recall::recall(at, index, Some(&place), &question)) {
                Ok(recalled) => recalled,
                // What does not need the index is given all the same.
                Err(e) => Recalled { degraded: vec![format!("nothing was recalled: {e}")], ..Recalled::default() },
            }
        }
        None => Recalled::default(),
    };
    let given = if args.dry_run { inject::assemble(at, &ask, recalled)? } else { inject::give(at, &ask, recalled)? };
    if context.json {
        print::line(&to_json(&context, &ask, &given).to_string());
        return Ok(Exit::Ok);
    }
    print::out(&print::safe(&given.block));
    for reason in given.degraded.iter().filter(|_| !args.explain) {
        print::note(&format!("less than it could be: {}", print::safe_line(reason)));
    }
    if given.block.is_empty() {
        print::note("nothing new to give: what there is was given before, or the memory is empty");
    }
    if args.explain {
        explain(&given);
    }
    Ok(Exit::Ok)
}

/// The key of a session: one that is stored, else as it was given.
fn session_key(context: &Context, agent_no: i64, name: &str) -> Result<SessionKey> {
    match context.ledger.read(|tx| read::session_named(tx, agent_no, name)) {
        Ok(row) => Ok(row.key),
        Err(e) if e.kind() == heirloom_engine::error::ErrorKind::NotFound => match name.split_once(':') {
            Some((harness, native)) if !harness.is_empty() && !native.is_empty() => {
                Ok(SessionKey::from(name.to_owned()))
            }
            _ => Err(e.hint("of a session nothing is stored of yet the whole key is needed: harness:id")),
        },
        Err(e) => Err(e),
    }
}

fn explain(given: &Given) {
    let paint = Paint::stdout();
    print::line("");
    let place = &given.place;
    let thread = place.thread.as_ref().map_or("no thread", |t| t.key.as_str());
    let id = given.id.map(|id| format!(" · {id}")).unwrap_or_default();
    print::line(&paint.dim(&format!("{} tokens · epoch {} · {thread}{id}", given.tokens, given.epoch)));
    for part in &given.parts {
        let items: Vec<&str> = part.items().collect();
        let cache = if part.cacheable { "cacheable" } else { "volatile" };
        print::line(&format!("  {:8} {:>5} tokens  {cache}  {}", part.part.name(), part.tokens, items.join(" ")));
    }
    for reason in &given.degraded {
        print::line(&format!("  less than it could be: {}", print::safe_line(reason)));
    }
    if !given.dropped.is_empty() {
        print::line("  left out:");
    }
    for dropped in &given.dropped {
        print::line(&format!("    {:24} {}", print::safe_line(&dropped.id), print::safe_line(&dropped.why)));
    }
}

fn to_json(context: &Context, ask: &Ask, given: &Given) -> Value {
    json!({
        "agent_id": context.agent().as_str(),
        "id": given.id.map(|id| id.to_string()),
        "session": ask.session.as_str(),
        "event": ask.event.name(),
        "epoch": given.epoch,
        "thread": given.place.thread.as_ref().map(|t| &t.key),
        "workspace": given.place.workspace,
        "tokens": given.tokens,
        "fingerprint": given.fingerprint,
        "block": given.block,
        "parts": given.parts.iter().map(|p| json!({
            "part": p.part.name(), "cacheable": p.cacheable, "tokens": p.tokens, "text": p.text,
            "items": p.items().collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "dropped": given.dropped.iter().map(|d| json!({"id": d.id, "why": d.why})).collect::<Vec<_>>(),
        "degraded": given.degraded,
    })
}

fn replay(global: &Global, args: &Replay) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let id = ContextId::parse(&args.id).ok_or_else(|| {
        Error::usage(format!("{} is no id of a context", print::safe_line(&args.id)))
            .hint("ids look like x:17: heirloom context list")
    })?;
    let replayed = context.ledger.read(|tx| inject::replay(tx, agent_no, id))?;
    if context.json {
        let mut value = of_replayed(&context, &replayed);
        value["content"] = json!(replayed.content);
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    let Some(block) = replayed.block() else {
        print::note("its words were forgotten; that it was given is still known");
        return Ok(Exit::Ok);
    };
    print::out(&print::safe(block));
    if args.why {
        let paint = Paint::stdout();
        print::line("");
        let about = format!(
            "{} · {} at {} · {} tokens · epoch {} · fingerprint {}",
            print::safe_line(replayed.session.as_str()),
            replayed.event,
            rfc3339(replayed.at),
            replayed.tokens,
            replayed.epoch,
            &replayed.fingerprint.get(..12).unwrap_or_default()
        );
        print::line(&paint.dim(&about));
        let content = replayed.content.as_ref();
        let list = |key: &str| content.and_then(|c| c.get(key)?.as_array().cloned()).unwrap_or_default();
        for part in list("profile") {
            let items: Vec<&str> =
                part["items"].as_array().map(|a| a.iter().filter_map(Value::as_str).collect()).unwrap_or_default();
            let cache = if part["cacheable"] == true { "cacheable" } else { "volatile" };
            let (name, tokens) = (part["part"].as_str().unwrap_or("?"), &part["tokens"]);
            print::line(&format!("  {name:8} {tokens:>5} tokens  {cache}  {}", items.join(" ")));
        }
        for dropped in list("dropped") {
            let (id, why) = (dropped["id"].as_str().unwrap_or("?"), dropped["why"].as_str().unwrap_or("?"));
            print::line(&format!("    left out {:24} {}", print::safe_line(id), print::safe_line(why)));
        }
    }
    Ok(Exit::Ok)
}

fn list(global: &Global, args: &List) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let session = args.session.as_deref().map(|name| session_key(&context, agent_no, name)).transpose()?;
    let all = context.ledger.read(|tx| inject::list(tx, agent_no, session.as_ref(), args.limit.into()))?;
    if context.json {
        let rows: Vec<Value> = all.iter().map(|r| of_replayed(&context, r)).collect();
        print::line(&json!({"agent_id": context.agent().as_str(), "contexts": rows}).to_string());
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        print::line("Nothing was given yet.");
    }
    let now = context.ledger.now();
    for r in &all {
        print::line(&format!(
            "{:>6}  {}  {:7}  {:>5} tokens  {}",
            r.id.to_string(),
            print::when(Some(r.at), now),
            r.event,
            r.tokens,
            print::safe_line(r.session.as_str())
        ));
    }
    Ok(Exit::Ok)
}

fn of_replayed(context: &Context, r: &Replayed) -> Value {
    json!({
        "agent_id": context.agent().as_str(), "id": r.id.to_string(), "session": r.session.as_str(), "event": r.event,
        "epoch": r.epoch, "at": rfc3339(r.at), "tokens": r.tokens, "fingerprint": r.fingerprint, "can": r.can,
    })
}
