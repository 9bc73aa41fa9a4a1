//! `heirloom recall`

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use heirloom_engine::recall::{self, Audience, Hint, Question, Recalled};
use heirloom_engine::scope::AgentNo;
use heirloom_engine::thread;
use heirloom_engine::tokens;
use heirloom_engine::transcript::read;
use serde_json::json;

use super::explained::{self, Limits};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::programs;
use heirloom_engine::report::understood::Understood;

/// What is known that answers a question: memory and open loops first, then summaries, then the words themselves
///
/// Unlike search it chooses: the little that is worth reading, how old and how sure it is, nothing twice. For a person it
/// looks everywhere; with --session, --workspace or --thread it tells only what may be told there.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What you want to know
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    /// How many items
    #[arg(long, short = 'n', value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,

    /// As that session would be told
    #[arg(long, value_name = "KEY", conflicts_with_all = ["workspace", "thread"])]
    session: Option<String>,

    /// As a session in that project would be told: its id, label or path (. is the current one)
    #[arg(long, value_name = "W")]
    workspace: Option<String>,

    /// As a session in that thread would be told
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,

    /// The words themselves, too, even where something above answers
    #[arg(long)]
    deep: bool,

    /// Say of every item why it is there, and what was left out
    #[arg(long)]
    explain: bool,
}

/// Tokens of a question that are shown again.
const SHOWN: usize = 60;

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let looked = context.look_at_assistant("cli recall")?;
    let Some((at, _)) = looked.as_ref() else {
        return Err(Error::not_found("nothing is stored yet").hint("heirloom up"));
    };
    let audience = audience(&context, agent_no, &args)?;
    let query = args.query.join(" ");
    let question = Question { text: &query, most: args.limit.into(), deep: args.deep };
    let mut recalled =
        context.instance().asked(Some(at), |index| recall::recall(at, index, audience.as_ref(), &question))?;
    if context.json {
        recalled.degraded.extend(context.instance().without_model().map(|e| format!("by words only: {e}")));
    }
    let understood = args.explain.then(|| context.understand(&query)).transpose()?;
    if context.json {
        let mut value = json!({
            "agent_id": context.agent().as_str(), "query": query,
            "thread": audience.as_ref().and_then(|p| p.thread.as_ref()).map(|t| &t.key),
            "items": recalled.items.iter().map(|i| json!({
                "agent_id": context.agent().as_str(), "id": i.id, "stage": i.stage.name(), "kind": i.kind, "text": i.text, "thread": i.thread,
                "at": i.at.map(rfc3339), "score": i.score, "reasons": i.reasons, "marks": i.marks,
            })).collect::<Vec<_>>(),
            "dropped": recalled.dropped.iter().map(|d| json!({"id": d.id, "why": d.why})).collect::<Vec<_>>(),
            "degraded": recalled.degraded,
        });
        if let Some(understood) = &understood {
            value["understood"] = json!(understood);
        }
        print::line(&value.to_string());
    } else {
        people(&context, &query, &recalled, understood.as_ref());
    }
    Ok(Exit::Ok)
}

fn audience(context: &Context, agent_no: AgentNo, args: &Args) -> Result<Option<Audience>> {
    if args.session.is_none() && args.workspace.is_none() && args.thread.is_none() {
        return Ok(None);
    }
    let hint = Hint {
        workspace: args.workspace.as_deref().map(|name| context.workspace_id(Some(name))).transpose()?,
        thread: args
            .thread
            .as_deref()
            .map(|name| context.read(|tx| Ok(thread::named(tx, agent_no, name)?.no)))
            .transpose()?,
    };
    context.read(|tx| {
        let key = match args.session.as_deref() {
            Some(name) => read::session_named(tx, agent_no, name)?.key,
            None => heirloom_engine::scope::SessionKey::new("cli", "recall"),
        };
        Audience::of(tx, agent_no, &key, &hint).map(Some)
    })
}

fn people(context: &Context, query: &str, recalled: &Recalled, understood: Option<&Understood>) {
    let paint = Paint::stdout();
    let explain = understood.is_some();
    if let Some(understood) = understood {
        explained::people(understood, None, &Limits::new());
    }
    for reason in &recalled.degraded {
        print::note(&format!("less than it could be: {}", print::safe_line(reason)));
    }
    if recalled.items.is_empty() {
        let asked = match query.trim() {
            "" => "an empty question".to_owned(),
            asked => tokens::cut(&print::safe_line(asked), SHOWN),
        };
        print::line(&format!("Nothing is known that answers {asked}."));
        print::line("heirloom search looks at every word that was said.");
    }
    let now = context.now();
    let width = print::width();
    for (n, item) in recalled.items.iter().enumerate() {
        let mut head =
            vec![paint.bold(&format!("{:>2}", n + 1)), print::safe_line(&item.kind), print::when(item.at, now)];
        head.extend(item.thread.as_ref().map(|t| paint.accent(&print::safe_line(t))));
        head.extend(item.marks.iter().map(|m| paint.warn(m)));
        print::line(&head.join("  "));
        for line in super::search::wrap(&print::safe_line(&item.text), width.saturating_sub(4).max(20)).iter().take(6) {
            print::line(&format!("    {line}"));
        }
        let foot = format!("heirloom expand {}", programs::quoted(&item.id));
        print::line(&format!("    {}", paint.dim(&print::safe_line(&foot))));
        if explain {
            let why = format!("{} · score {:.2} · {}", item.stage, item.score, item.reasons.join(", "));
            print::line(&format!("    {}", paint.dim(&print::safe_line(&why))));
        }
    }
    if explain {
        explained::left_out(recalled.dropped.iter().map(|d| (d.id.as_str(), d.why.as_str())));
    }
}
