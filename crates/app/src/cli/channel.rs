//! `heirloom channel`

use heirloom_engine::continuity::channel;
use heirloom_engine::error::Result;
use heirloom_engine::report::channel::{AnsweredReport, RequestReport};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Channel pairing: requests of people to be let in on a channel, and your answers
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// List requests that wait for an answer, newest first
    Pending {
        /// Include answered requests
        #[arg(long)]
        all: bool,
        /// Maximum number of requests
        #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Record that a person asks to be let in; asking again while the request waits is the same request
    Ask {
        /// The channel, as its program names it: telegram
        #[arg(value_name = "CHANNEL")]
        channel: String,
        /// Id of the person, as the channel names them
        #[arg(value_name = "PEER")]
        peer: String,
        /// Name the person goes by
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Message the person sent with the request
        #[arg(long, value_name = "TEXT")]
        detail: Option<String>,
    },
    /// Let people in
    Approve {
        /// Numbers (c:17), or CHANNEL/PEER
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// Refuse people
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
            let engine = Context::create(global)?.acting_as(ACTOR);
            let asked =
                engine.act_unlocked(|at| channel::ask(at, &channel, &peer, name.as_deref(), detail.as_deref()))?;
            print_answered(global, &AnsweredReport::of(vec![asked]), "Waits for your answer")
        }
        Command::Approve { ids } => decide(global, &ids, true),
        Command::Deny { ids } => decide(global, &ids, false),
    }
}

fn decide(global: &Global, ids: &[String], yes: bool) -> Result<Exit> {
    let answered = Context::open(global)?.acting_as(ACTOR).act_unlocked(|at| channel::decide(at, ids, yes))?;
    print_answered(global, &AnsweredReport::of(answered), if yes { "Let in" } else { "Not let in" })
}

fn print_answered(global: &Global, report: &AnsweredReport, message: &str) -> Result<Exit> {
    Ok(print::answer(global.json, report, || {
        for request in &report.events {
            print::line(&format!("{message}: {} · {}", who(request), request.id));
        }
    }))
}

fn list(global: &Global, all: bool, limit: usize) -> Result<Exit> {
    let engine = Context::open(global)?.acting_as(ACTOR);
    let report = engine.requests(all, limit)?;
    Ok(print::answer(global.json, &report, || {
        if report.events.is_empty() {
            print::line(if all { "Nobody has asked yet." } else { "Nobody waits." });
        }
        let (now, paint) = (engine.now(), Paint::stdout());
        for request in &report.events {
            let state = if all { format!(" · {}", request.event.state.name()) } else { String::new() };
            let when = print::when(Some(request.event.at), now);
            print::line(&format!("{}   {} · {when}{state}", request.id, who(request)));
            if let Some(detail) = &request.event.detail {
                print::line(&paint.dim(&format!("  {}", print::cut(&print::safe_line(detail), 200))));
            }
        }
        let shown = report.events.len() as u64;
        if report.all > shown {
            print::line(&format!("… and {} more (-n {})", report.all - shown, report.all));
        }
    }))
}

/// Describes who asks: `Ada (4711) on telegram`.
fn who(request: &RequestReport) -> String {
    let (peer, channel) = (print::safe_line(&request.event.peer), print::safe_line(&request.event.channel));
    match &request.event.name {
        Some(name) => format!("{} ({peer}) on {channel}", print::safe_line(name)),
        None => format!("{peer} on {channel}"),
    }
}
