//! `heirloom compact`

use heirloom_engine::distill::advance::Pass;
use heirloom_engine::distill::{compaction, handoff};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::scope::{AgentNo, TurnId};
use heirloom_engine::tokens::tokens;
use heirloom_engine::transcript::read::{self, SessionRow};
use serde_json::json;

use crate::config;
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::print::{self, Paint};

/// Compact a conversation: one handoff takes the place of what was said, the newest words stay
///
/// Before it stands, open loops and proposals in it are written as files. Nothing is deleted; every line of the handoff
/// leads back to the turns it came from (heirloom expand). Doing it again without anything new changes nothing.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The session; the beginning of its id is enough
    #[arg(long, value_name = "KEY")]
    session: String,

    /// The last turn the handoff takes the place of: a turn (t9c11) or its program's own id [default: all of it]
    #[arg(long, value_name = "ID")]
    until: Option<String>,

    /// Print the handoff as it would stand there, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let context = Context::open(global)?;
    let agent_no = context.agent_no()?;
    let session = context.read(|tx| read::session_named(tx, agent_no, &args.session))?;
    let until = args.until.as_deref().map(|id| turn(&context, agent_no, &session, id)).transpose()?;
    let limits = config::file(context.home())?.lineage.limits()?;
    if args.dry_run {
        let at = context.instance().assistant_as_it_is(context.agent(), "cli compact")?.ok_or_else(|| {
            Error::not_found("the assistant home of this agent is not there yet").hint("heirloom work makes it")
        })?;
        let pass = Pass::new(&at, limits);
        let newest = context.read(|tx| read::last_turn(tx, session.no))?;
        let Some(until) = until.or(newest) else { return nothing(&context, &session) };
        let distillate = compaction::preview(&pass, session.no, until)?;
        let text = handoff::render(&distillate, limits.handoff_tokens);
        if context.json {
            let value = json!({
                "agent_id": context.agent().as_str(), "session": session.key.as_str(), "until": until.to_string(),
                "dry_run": true, "tokens": tokens(&text), "handoff": text, "distillate": distillate,
            });
            print::line(&value.to_string());
        } else if text.is_empty() {
            print::line("There is nothing to hand on.");
        } else {
            print::out(&print::safe(&text));
        }
        return Ok(Exit::Ok);
    }
    let at = context.assistant("cli compact")?;
    let pass = Pass::new(&at, limits);
    let done = compaction::by_hand(&pass, session.no, until)?;
    context.instance().settle(&at);
    let Some(node) = done.nodes.last() else { return nothing(&context, &session) };
    let text = handoff::render(&node.distillate, limits.handoff_tokens);
    if context.json {
        let value = json!({
            "agent_id": context.agent().as_str(), "session": session.key.as_str(),
            "until": done.until.map(|t| t.to_string()), "epoch": done.epoch,
            "nodes": done.nodes.iter().map(|n| json!({
                "id": n.id.to_string(), "agent_id": n.agent, "thread": n.thread, "turns": [n.turns.0, n.turns.1],
                "count": n.count, "source": n.source.name(),
            })).collect::<Vec<_>>(),
            "preserved": done.preserved, "tokens": tokens(&text), "handoff": text, "distillate": node.distillate,
        });
        print::line(&value.to_string());
        return Ok(Exit::Ok);
    }
    let paint = Paint::stdout();
    print::out(&print::safe(&text));
    print::line("");
    let turns: u64 = done.nodes.iter().map(|n| n.count).sum();
    print::line(&format!(
        "{} in {}{} · heirloom expand {}",
        print::counted(turns, "turn"),
        paint.bold(&node.id.to_string()),
        done.until.map(|t| format!(", up to {t}")).unwrap_or_default(),
        node.id
    ));
    Ok(Exit::Ok)
}

fn nothing(context: &Context, session: &SessionRow) -> Result<Exit> {
    if context.json {
        let value = json!({
            "agent_id": context.agent().as_str(), "session": session.key.as_str(), "nodes": [], "handoff": null,
        });
        print::line(&value.to_string());
    } else {
        print::line(&format!("Nothing new in {} since the last compaction.", session.key));
    }
    Ok(Exit::Ok)
}

/// The turn an id stands for: ours, or the program's own for an entry of this session.
fn turn(context: &Context, agent_no: AgentNo, session: &SessionRow, id: &str) -> Result<TurnId> {
    let opener = Opener::default();
    context.read(|tx| {
        if let Some(id) = TurnId::parse(id)
            && let Some(turn) = read::find_turn(tx, &opener, agent_no, id)?
        {
            if turn.session_no != session.no {
                return Err(Error::not_found(format!("{id} is no turn of {}", session.key))
                    .hint(format!("heirloom show {}", session.key)));
            }
            return Ok(turn.id);
        }
        read::turn_of_entry(tx, session.no, id)?.ok_or_else(|| {
            Error::not_found(format!("{} has no turn or entry {}", session.key, print::safe_line(id)))
                .hint(format!("heirloom show {}", session.key))
        })
    })
}
