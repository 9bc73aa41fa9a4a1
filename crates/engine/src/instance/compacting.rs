//! A compaction that a person or program asks for: one handoff replaces the earlier turns of a session.

use super::Instance;
use crate::distill::advance::Pass;
use crate::distill::compaction;
use crate::error::{Error, Result};
use crate::ledger::blocks::Opener;
use crate::next_step::See;
use crate::report::compact::{CompactReport, CompactedNode, Handoff, Outcome};
use crate::scope::{AgentId, AgentNo, TurnId};
use crate::transcript::read::{self, SessionRow};

impl Instance {
    /// Replaces the turns of a session with one handoff and renders the pages that show it. `until`: the last turn to
    /// replace (one of our ids, or the program's own); without it, all but the newest turns. `dry_run`: returns the
    /// handoff and changes nothing. `NotFound` for an unknown session or turn.
    pub fn compact(
        &self,
        agent: &AgentId,
        actor: &str,
        session: &str,
        until: Option<&str>,
        dry_run: bool,
    ) -> Result<CompactReport> {
        let agent_no = self.known_agent(agent)?;
        let (session, until) = self.ledger.read(|tx| {
            let session = read::session_named(tx, agent_no, session)?;
            let until = until.map(|id| turn_of(tx, agent_no, &session, id)).transpose()?;
            Ok((session, until))
        })?;
        let outcome = match dry_run {
            true => self.preview(agent, actor, &session, until)?,
            false => self.compact_now(agent, actor, &session, until)?,
        };
        let session = session.key.as_str().to_owned();
        Ok(CompactReport { agent_id: agent.as_str().to_owned(), session, outcome })
    }

    fn preview(&self, agent: &AgentId, actor: &str, session: &SessionRow, until: Option<TurnId>) -> Result<Outcome> {
        let limits = *self.settings.limits.as_ref().map_err(Error::from)?;
        let at = self.assistant_as_it_is(agent, actor)?.ok_or_else(|| {
            Error::not_found("the assistant home of this agent is not there yet")
                .hint(format!("{} makes it", See::new("work")))
        })?;
        let newest = self.ledger.read(|tx| read::last_turn(tx, session.no))?;
        let Some(until) = until.or(newest) else { return Ok(Outcome::nothing()) };
        let distillate = compaction::preview(&Pass::new(&at, limits), session.no, until)?;
        Ok(Outcome::Preview { until, dry_run: true, handoff: Handoff::of(&distillate, limits.handoff_tokens) })
    }

    fn compact_now(
        &self,
        agent: &AgentId,
        actor: &str,
        session: &SessionRow,
        until: Option<TurnId>,
    ) -> Result<Outcome> {
        let limits = *self.settings.limits.as_ref().map_err(Error::from)?;
        let at = self.assistant(agent, actor)?;
        let done = compaction::by_hand(&Pass::new(&at, limits), session.no, until)?;
        self.settle(&at);
        let Some(last) = done.nodes.last() else { return Ok(Outcome::nothing()) };
        Ok(Outcome::Made {
            until: done.until,
            epoch: done.epoch,
            nodes: done.nodes.iter().map(CompactedNode::from).collect(),
            handoff: Handoff::of_node(last, limits.handoff_tokens),
            preserved: done.preserved,
        })
    }
}

/// Returns the turn with this id: our own id, or the program's id of an entry in this session.
fn turn_of(tx: &crate::ledger::Read, agent_no: AgentNo, session: &SessionRow, id: &str) -> Result<TurnId> {
    let show = || See::of("show", session.key.as_str()).to_string();
    let ours = match TurnId::parse(id) {
        Some(id) => read::find_turn(tx, &Opener::default(), agent_no, id)?,
        None => None,
    };
    if let Some(turn) = ours {
        return match turn.session_no == session.no {
            true => Ok(turn.id),
            false => Err(Error::not_found(format!("{id} is no turn of {}", session.key)).hint(show())),
        };
    }
    let entry = read::turn_of_entry(tx, session.no, id)?;
    let shown: String = id.escape_debug().take(80).collect();
    entry.ok_or_else(|| Error::not_found(format!("{} has no turn or entry {shown}", session.key)).hint(show()))
}
