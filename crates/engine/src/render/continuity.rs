//! What is written right after a turn's result is committed: the volatile pages of its project and the page of its
//! session (R5.2). One small transaction marks them; rendering is a refresh like any other (R7.5).

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, params};

use super::runs::NO_PROJECT;
use super::{Occasion, daily, refresh};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened, SessionPlace};
use crate::scope::{AgentNo, SessionNo, file_key};
use crate::tree::AssistantHome;

/// Sessions that come in with an import get their pages only if they were active within this time: resuming something
/// older is rare, and its page is made when it is touched.
pub(super) const RECENT_MS: Millis = 31 * 24 * 3_600_000;

/// Where a session is shown: on the pages of its project, and on its own. `None`: the agent has no such session.
pub fn place_of_session(tx: &Read, agent_no: AgentNo, session_no: SessionNo) -> Result<Option<SessionPlace>> {
    let found: Option<(String, Option<String>)> = tx
        .prepare_cached(
            "SELECT session_key, w.workspace_id FROM sessions s
             LEFT JOIN workspaces v ON v.workspace_no = s.workspace_no
             LEFT JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
             WHERE s.session_no = ?1 AND s.agent_no = ?2",
        )?
        .query_row(params![session_no, agent_no], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    let Some((key, workspace)) = found else { return Ok(None) };
    let workspace = workspace.unwrap_or_else(|| NO_PROJECT.to_owned());
    Ok(Some(SessionPlace { workspace, session_no, file: file_key(&key, key.as_bytes()) }))
}

/// Whether a session that just came in from a program's store is worth pages about the moment.
pub fn recent_enough(now: Millis, last_at: Option<Millis>) -> bool {
    last_at.is_some_and(|last| last >= now - RECENT_MS)
}

/// Marks the pages of sessions whose runs were closed because nothing came any more, in the transaction that closed them;
/// not of those that have been history for long.
pub fn mark_closed(tx: &Write, sessions: &BTreeSet<SessionNo>) -> Result<()> {
    let mut of =
        tx.prepare_cached("SELECT agent_no, coalesce(last_at, created_at) FROM sessions WHERE session_no = ?1")?;
    let mut places: BTreeMap<AgentNo, Vec<SessionPlace>> = BTreeMap::new();
    for session in sessions {
        let (agent_no, last_at): (AgentNo, Option<Millis>) = of.query_row([session], |r| Ok((r.get(0)?, r.get(1)?)))?;
        if recent_enough(tx.now(), last_at) {
            places.entry(agent_no).or_default().extend(place_of_session(tx, agent_no, *session)?);
        }
    }
    for (agent_no, sessions) in places {
        pages::mark(tx, agent_no, &Happened::RunsClosed { sessions })?;
    }
    Ok(())
}

/// Brings the pages of these sessions up to what was committed, whatever their age. A page that cannot be written is
/// audited and stays marked ([`refresh`]); where somebody else is changing files, they or the next command render it.
/// The turn results stand in any case: an error here is for the log, not for whoever spoke.
pub fn write_turn_continuity(at: &AssistantHome, sessions: &[SessionNo]) -> Result<()> {
    let mut places = Vec::new();
    at.read(|tx| {
        for session in sessions {
            places.extend(place_of_session(tx, at.agent_no, *session)?);
        }
        Ok(())
    })?;
    if places.is_empty() {
        return Ok(());
    }
    // With what the days have to be marked for, in one transaction.
    daily::mark_with(at, vec![Happened::ResultStored { sessions: places }])?;
    refresh(at, Occasion::Look).map(drop)
}
