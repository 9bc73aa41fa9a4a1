//! `heirloom channel`

use heirloom_engine::continuity::Change;
use heirloom_engine::continuity::channel::{self, Event};
use heirloom_engine::error::Result;
use heirloom_engine::redact::redact;
use serde_json::{Value, json};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Channel pairing: who asks to be let in, and what you said
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Who waits for an answer, newest first
    Pending {
        /// Those who were answered, too
        #[arg(long)]
        all: bool,
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Note that somebody asks; while they wait, asking again is the same request
    Ask {
        /// The channel, as its program names it: telegram
        #[arg(value_name = "CHANNEL")]
        channel: String,
        /// Who asks, as the channel names them
        #[arg(value_name = "PEER")]
        peer: String,
        /// What they call themselves
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// What else they say
        #[arg(long, value_name = "TEXT")]
        detail: Option<String>,
    },
    /// Let them in
    Approve {
        /// Numbers (c:17), or CHANNEL/PEER
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// Do not let them in
    Deny {
        /// Numbers (c:17), or CHANNEL/PEER
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
}

const ACTOR: &str = "cli channel";

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.command {
        Command::Pending { all, limit } => list(global, all, limit),
        Command::Ask { channel, peer, name, detail } => {
            let context = Context::create(global)?;
            let at = context.assistant(ACTOR)?;
            let asked = channel::ask(&at, &channel, &peer, name.as_deref(), detail.as_deref())?;
            context.instance().settle(&at);
            told(global, &[asked], "Waits for your answer")
        }
        Command::Approve { ids } => decide(global, &ids, true),
        Command::Deny { ids } => decide(global, &ids, false),
    }
}

fn decide(global: &Global, ids: &[String], yes: bool) -> Result<Exit> {
    let context = Context::open(global)?;
    let at = context.assistant(ACTOR)?;
    let answered = channel::decide(&at, ids, yes)?;
    context.instance().settle(&at);
    told(global, &answered, if yes { "Let in" } else { "Not let in" })
}

fn told(global: &Global, events: &[(Event, Change)], said: &str) -> Result<Exit> {
    if global.json {
        let with_change = |(event, change): &(Event, Change)| {
            let mut value = event_json(event);
            value["change"] = json!(change.name());
            value
        };
        print::line(&json!({"events": events.iter().map(with_change).collect::<Vec<_>>()}).to_string());
    } else {
        for (event, _) in events {
            print::line(&format!("{said}: {} on {} · {}", who(event), print::safe_line(&event.channel), event.id()));
        }
    }
    Ok(Exit::Ok)
}

fn list(global: &Global, all: bool, limit: usize) -> Result<Exit> {
    let context = Context::open(global)?;
    let (events, count) = match context.look_at_assistant(ACTOR)? {
        Some((at, _)) => at.read(|tx| channel::list(tx, at.agent_no, all, limit))?,
        None => (Vec::new(), 0),
    };
    if global.json {
        let list: Vec<Value> = events.iter().map(event_json).collect();
        print::line(&json!({"events": list, "all": count}).to_string());
        return Ok(Exit::Ok);
    }
    if events.is_empty() {
        print::line(if all { "Nobody has asked yet." } else { "Nobody waits." });
    }
    let (now, paint) = (context.now(), Paint::stdout());
    for event in &events {
        let state = if all { format!(" · {}", event.state.name()) } else { String::new() };
        let line = format!("{}   {} on {}", event.id(), who(event), print::safe_line(&event.channel));
        print::line(&format!("{line} · {}{state}", print::when(Some(event.at), now)));
        if let Some(detail) = &event.detail {
            print::line(&paint.dim(&format!("  {}", print::cut(&print::safe_line(&redact(detail)), 200))));
        }
    }
    if count > events.len() as u64 {
        print::line(&format!("… and {} more (-n {count})", count - events.len() as u64));
    }
    Ok(Exit::Ok)
}

fn who(event: &Event) -> String {
    let peer = print::safe_line(&event.peer);
    event.name.as_ref().map_or(peer.clone(), |name| format!("{} ({peer})", print::safe_line(&redact(name))))
}

/// A request, for programs.
fn event_json(event: &Event) -> Value {
    let clean = |text: &Option<String>| text.as_deref().map(|t| redact(t).into_owned());
    json!({"id": event.id(), "channel": event.channel, "peer": event.peer, "name": clean(&event.name),
           "detail": clean(&event.detail), "state": event.state.name(), "at": event.at, "decided_at": event.decided_at})
}
