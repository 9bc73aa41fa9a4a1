//! The update right after a turn's result is committed: the runtime pages of its project and the page of its session
//! (R5.2). One small transaction marks them; they are rendered like any other page (R7.5).

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

/// Age up to which an imported session gets pages: older sessions are rarely resumed, and their page is made when they
/// are.
pub(super) const RECENT_MS: Millis = 31 * 24 * 3_600_000;

/// Returns where a session is shown: on the pages of its project, and on its own page. `None` if the agent has no such
/// session.
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

/// Does the same as [`place_of_session`] for a session's key.
pub fn place_of_key(tx: &Read, agent_no: AgentNo, key: &str) -> Result<Option<SessionPlace>> {
    let session_no: Option<SessionNo> = tx
        .prepare_cached("SELECT session_no FROM sessions WHERE agent_no = ?1 AND session_key = ?2")?
        .query_row(params![agent_no, key], |r| r.get(0))
        .optional()?;
    session_no.map_or(Ok(None), |no| place_of_session(tx, agent_no, no))
}

/// Whether a session imported from a program's store was active recently enough to get pages.
pub fn recent_enough(now: Millis, last_at: Option<Millis>) -> bool {
    last_at.is_some_and(|last| last >= now - RECENT_MS)
}

/// Marks the pages of sessions whose runs were closed because no more events arrived, in the transaction that closed
/// them. Sessions that have been inactive for longer than [`RECENT_MS`] are left out.
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

/// Renders the pages of these sessions as of what was committed, whatever the sessions' age. A page that cannot be
/// written is audited and stays marked ([`refresh`]); if another process holds the tree lock, it or the next command
/// renders the pages. The turn results are stored in any case, so an error here belongs in the log and not in the
/// answer to the program.
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
    // The days to mark are marked in the same transaction.
    daily::mark_with(at, vec![Happened::ResultStored { sessions: places }])?;
    refresh(at, Occasion::Look).map(drop)
}
