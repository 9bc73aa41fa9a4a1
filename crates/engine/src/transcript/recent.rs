//! Reads the end of a session in bounded time, however long the session is: its last runs, the results of their tools,
//! the beginning of a turn.

use rusqlite::{OptionalExtension, params};

use super::codes::kind_of;
use super::read::{RUN_COLUMNS, RunRow, run_of};
use crate::clock::Millis;
use crate::error::Result;
use crate::event::TurnKind;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::ledger::codes::{ASSISTANT, MESSAGE, TOOL_CALL, TOOL_RESULT};
use crate::scope::{AgentNo, BlockNo, RunNo, SessionKey, SessionNo, TurnId, WorkspaceNo};

/// A recently active session, in a list.
#[derive(Clone, PartialEq, Debug)]
pub struct RecentSession {
    pub no: SessionNo,
    pub key: SessionKey,
    pub last_at: Option<Millis>,
}

/// Returns the sessions of an agent in a project, last active first. `workspaces`: all numbers of the project; empty
/// for sessions without a project.
pub fn sessions(tx: &Read, agent_no: AgentNo, workspaces: &[WorkspaceNo], most: usize) -> Result<Vec<RecentSession>> {
    let mut statement = tx.prepare_cached(
        "SELECT session_no, session_key, last_at FROM sessions INDEXED BY sessions_workspace
         WHERE agent_no = ?1 AND workspace_no IS ?2 ORDER BY last_at DESC, session_no DESC LIMIT ?3",
    )?;
    let places: Vec<Option<WorkspaceNo>> = match workspaces {
        [] => vec![None],
        some => some.iter().map(|no| Some(*no)).collect(),
    };
    let mut out = Vec::new();
    for place in places {
        let rows = statement.query_map(params![agent_no, place, most as i64], |r| {
            Ok(RecentSession { no: r.get(0)?, key: SessionKey::from(r.get::<_, String>(1)?), last_at: r.get(2)? })
        })?;
        for row in rows {
            out.push(row?);
        }
    }
    out.sort_by_key(|s| std::cmp::Reverse((s.last_at, s.no)));
    out.truncate(most);
    Ok(out)
}

/// Returns the sessions of an agent that began in a folder and of which the last turn is an answer of a time in this
/// range, both ends included.
pub fn answered_at(tx: &Read, agent_no: AgentNo, cwd: &str, range: (Millis, Millis)) -> Result<Vec<SessionKey>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT session_key FROM sessions s INDEXED BY sessions_last
         WHERE agent_no = ?1 AND last_at BETWEEN ?2 AND ?3 AND cwd = ?4 AND forgotten IS NULL
           AND {ASSISTANT} = (SELECT role FROM turns t WHERE t.session_no = s.session_no ORDER BY turn_no DESC LIMIT 1)"
    ))?;
    let rows = statement.query_map(params![agent_no, range.0, range.1, cwd], |r| r.get::<_, String>(0))?;
    Ok(rows.map(|key| key.map(SessionKey::from)).collect::<rusqlite::Result<_>>()?)
}

/// Returns the last runs of a session's main line, newest first; abandoned branches are left out (R6.2).
pub fn runs(tx: &Read, session_no: SessionNo, most: usize) -> Result<Vec<RunRow>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {RUN_COLUMNS} FROM lanes l CROSS JOIN turn_results r INDEXED BY turn_results_newest USING (lane_no)
         LEFT JOIN names ON name_no = model_no
         WHERE l.session_no = ?1 AND l.lane = '' AND r.left_by IS NULL ORDER BY run_no DESC LIMIT ?2",
    ))?;
    let rows = statement.query_map(params![session_no, most as i64], run_of)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the session a turn was stored in, and whether the turn is the prompt its run began with. `None` also if the
/// turn belongs to another agent.
pub fn place_of(tx: &Read, agent_no: AgentNo, turn: TurnId) -> Result<Option<(SessionNo, bool)>> {
    Ok(tx
        .prepare_cached(
            "SELECT t.session_no, r.prompt_turn IS t.turn_no FROM turns t JOIN turn_results r USING (run_no)
             JOIN sessions s ON s.session_no = t.session_no WHERE t.turn_no = ?1 AND s.agent_no = ?2",
        )?
        .query_row((turn.0, agent_no), |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

/// A tool call or its result.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolTurn {
    pub id: TurnId,
    pub is_result: bool,
    pub tool: Option<String>,
    /// The id that joins a call with its result.
    pub call: Option<String>,
    pub failed: bool,
}

/// Returns the last tool calls and results of a run, oldest first.
pub fn tools(tx: &Read, run_no: RunNo, most: usize) -> Result<Vec<ToolTurn>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT turn_no, kind, name, call, failed FROM turns t INDEXED BY turns_run
         LEFT JOIN names ON name_no = tool_no
         WHERE run_no = ?1 AND kind IN ({TOOL_CALL}, {TOOL_RESULT}) ORDER BY turn_no DESC LIMIT ?2"
    ))?;
    let rows = statement.query_map(params![run_no, most as i64], |r| {
        Ok(ToolTurn {
            id: r.get(0)?,
            is_result: kind_of(r.get(1)?) == TurnKind::ToolResult,
            tool: r.get(2)?,
            call: r.get(3)?,
            failed: r.get(4)?,
        })
    })?;
    let mut out: Vec<ToolTurn> = rows.collect::<rusqlite::Result<_>>()?;
    out.reverse();
    Ok(out)
}

/// Returns the last messages of a session's main line after `behind`, oldest first: the part of a context that is not
/// distilled.
pub fn messages(tx: &Read, session_no: SessionNo, behind: TurnId, most: usize) -> Result<Vec<TurnId>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT turn_no FROM turns t INDEXED BY turns_session JOIN lanes l USING (lane_no)
         JOIN turn_results r USING (run_no)
         WHERE t.session_no = ?1 AND t.turn_no > ?2 AND l.lane = '' AND t.kind = {MESSAGE}
           AND t.forgotten IS NULL AND r.left_by IS NULL
         ORDER BY turn_no DESC LIMIT ?3"
    ))?;
    let rows = statement.query_map(params![session_no, behind.0, most as i64], |r| r.get(0))?;
    let mut out: Vec<TurnId> = rows.collect::<rusqlite::Result<_>>()?;
    out.reverse();
    Ok(out)
}

/// Returns the beginning of a turn: at most `most` bytes of its text. `None` if the agent has no such turn, or the turn
/// was forgotten.
pub fn beginning(tx: &Read, opener: &Opener, agent_no: AgentNo, id: TurnId, most: usize) -> Result<Option<String>> {
    let place: Option<(BlockNo, i64, i64)> = tx
        .prepare_cached(
            "SELECT block_no, text_offset, min(text_length, ?3) FROM turns JOIN sessions USING (session_no)
             WHERE turn_no = ?1 AND agent_no = ?2 AND turns.forgotten IS NULL",
        )?
        .query_row(params![id.0, agent_no, most as i64], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    let Some((block, offset, length)) = place else { return Ok(None) };
    let bytes = opener.slice(tx, block, offset, length)?;
    // The cut may fall within a character.
    Ok(Some(String::from_utf8_lossy(&bytes).trim_end_matches('\u{fffd}').to_owned()))
}
