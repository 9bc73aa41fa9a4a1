//! `heirloom context`

use std::io::Read as _;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::inject::{self, Ask, Capabilities, ContextId, Event, Given, Replayed};
use heirloom_engine::recall::{self, Hint, Question, Recalled};
use heirloom_engine::scope::{AgentNo, SessionKey};
use heirloom_engine::thread;
use heirloom_engine::transcript::read;
use serde_json::{Value, json};

use super::explained::{self, Limits};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use heirloom_engine::report::understood::Understood;

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

    /// The most tokens [default: 1999 at a start, 750 with a prompt]
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
            .map(|name| context.read(|tx| Ok(thread::named(tx, at.agent_no, name)?.no)))
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
            let audience = recall::Audience::at(at, &ask.session, &ask.hint)?;
            let question = Question { text, most: inject::budget::items(event, ask.budget), deep: false };
            match context.instance().asked(Some(at), |index| recall::recall(at, index, Some(&audience), &question)) {
                Ok(mut recalled) => {
                    recalled.degraded.extend(context.instance().without_model().map(|e| format!("by words only: {e}")));
                    recalled
                }
                // What does not need the index is given all the same.
                Err(e) => Recalled { degraded: vec![format!("nothing was recalled: {e}")], ..Recalled::default() },
            }
        }
        None => Recalled::default(),
    };
    let asked = match ask.prompt.filter(|p| args.explain && !p.trim().is_empty()) {
        Some(text) => {
            let understood = context.understand(text)?;
            Some(Asked { understood, recalled: recalled.items.clone() })
        }
        None => None,
    };
    let given = if args.dry_run { inject::assemble(at, &ask, recalled)? } else { inject::give(at, &ask, recalled)? };
    if context.json {
        let mut value = to_json(&context, &ask, &given);
        if let Some(asked) = &asked {
            value["explain"] = asked.to_json();
        }
        print::line(&value.to_string());
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
        explain(&given, asked.as_ref());
    }
    Ok(Exit::Ok)
}

/// The key of a session: one that is stored, else as it was given.
fn session_key(context: &Context, agent_no: AgentNo, name: &str) -> Result<SessionKey> {
    match context.read(|tx| read::session_named(tx, agent_no, name)) {
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

/// A prompt, and what was recalled for it, for whoever wants to know why.
struct Asked {
    understood: Understood,
    recalled: Vec<recall::Item>,
}

impl Asked {
    fn to_json(&self) -> Value {
        let recalled: Vec<Value> = self
            .recalled
            .iter()
            .map(|i| json!({"id": i.id, "stage": i.stage.name(), "score": i.score, "reasons": i.reasons, "marks": i.marks}))
            .collect();
        json!({"understood": json!(self.understood), "recalled": recalled})
    }

    fn people(&self) {
        explained::people(&self.understood, None, &Limits::new());
        if !self.recalled.is_empty() {
            print::line("Recalled");
        }
        for item in &self.recalled {
            let why = format!("{} · score {:.2} · {}", item.stage, item.score, item.reasons.join(", "));
            print::line(&format!("  {:24} {}", print::safe_line(&item.id), print::safe_line(&why)));
        }
    }
}

fn explain(given: &Given, asked: Option<&Asked>) {
    let paint = Paint::stdout();
    print::line("");
    let audience = &given.audience;
    let thread = audience.thread.as_ref().map_or("no thread", |t| t.key.as_str());
    let id = given.id.map(|id| format!(" · {id}")).unwrap_or_default();
    print::line(&paint.dim(&format!("{} tokens · epoch {} · {thread}{id}", given.tokens, given.epoch)));
    for part in &given.parts {
        part_line(part.part.name(), &json!(part.tokens), part.cacheable, part.items());
    }
    if let Some(asked) = asked {
        print::line("");
        asked.people();
    }
    for reason in &given.degraded {
        print::line(&format!("  less than it could be: {}", print::safe_line(reason)));
    }
    explained::left_out(given.dropped.iter().map(|d| (d.id.as_str(), d.why.as_str())));
}

/// What a part cost and what it leads to, each once.
fn part_line<'i>(name: &str, tokens: &Value, cacheable: bool, items: impl Iterator<Item = &'i str>) {
    let mut ids: Vec<&str> = Vec::new();
    for id in items.filter(|id| !id.is_empty()) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let cache = if cacheable { "cacheable" } else { "volatile " };
    let line = format!("  {name:8} {tokens:>5} tokens  {cache}  {}", print::safe_line(&ids.join(" ")));
    print::line(line.trim_end());
}

fn to_json(context: &Context, ask: &Ask, given: &Given) -> Value {
    json!({
        "agent_id": context.agent().as_str(),
        "id": given.id.map(|id| id.to_string()),
        "session": ask.session.as_str(),
        "event": ask.event.name(),
        "epoch": given.epoch,
        "thread": given.audience.thread.as_ref().map(|t| &t.key),
        "workspace": given.audience.workspace,
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
    show(&context, agent_no, id, args.why)
}

/// Prints a context that was given, byte for byte; with `why`, what is in it for what reason.
pub fn show(context: &Context, agent_no: AgentNo, id: ContextId, why: bool) -> Result<Exit> {
    let replayed = context.read(|tx| inject::replay(tx, agent_no, id))?;
    if context.json {
        let mut value = of_replayed(context.agent().as_str(), &replayed);
        value["content"] = json!(replayed.content);
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    let Some(block) = replayed.block() else {
        print::note("its words were forgotten; that it was given is still known");
        return Ok(Exit::Ok);
    };
    print::out(&print::safe(block));
    if why {
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
            let items = part["items"].as_array().into_iter().flatten().filter_map(Value::as_str);
            part_line(part["part"].as_str().unwrap_or("?"), &part["tokens"], part["cacheable"] == true, items);
        }
        let dropped = list("dropped");
        let each = dropped.iter().map(|d| (d["id"].as_str().unwrap_or("?"), d["why"].as_str().unwrap_or("?")));
        explained::left_out(each);
    }
    Ok(Exit::Ok)
}

fn list(global: &Global, args: &List) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let session = args.session.as_deref().map(|name| session_key(&context, agent_no, name)).transpose()?;
    let all = context.read(|tx| inject::list(tx, agent_no, session.as_ref(), args.limit.into()))?;
    if context.json {
        let rows: Vec<Value> = all.iter().map(|r| of_replayed(context.agent().as_str(), r)).collect();
        print::line(&json!({"agent_id": context.agent().as_str(), "contexts": rows}).to_string());
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        print::line("Nothing was given yet.");
    }
    let now = context.now();
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

/// A context that was given, for programs, without its words.
pub fn of_replayed(agent: &str, r: &Replayed) -> Value {
    json!({
        "agent_id": agent, "id": r.id.to_string(), "session": r.session.as_str(), "event": r.event,
        "epoch": r.epoch, "at": rfc3339(r.at), "tokens": r.tokens, "fingerprint": r.fingerprint, "can": r.can,
    })
}
