//! The newest runs of a project or a session, and the text of their turns, for the runtime pages.

use rusqlite::params;

use super::page::flat;
use super::titles;
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::redact::redact;
use crate::scope::{AgentNo, SessionKey, SessionNo, TurnId, WorkspaceNo};
use crate::tokens::cut;
use crate::transcript::read::RunRow;
use crate::transcript::recent;
use crate::tree::AssistantHome;

/// Path component used instead of a project id for sessions without a project.
pub const NO_PROJECT: &str = "no-project";

/// Largest number of sessions read: the last dozen runs of a project are in its last dozen sessions.
const SESSIONS: usize = 12;

/// Number of bytes read of a turn; they are redacted before they are cut, so that no half of a credential remains.
const READ: usize = 4_096;

/// A run and its session.
pub(super) struct Ran {
    pub session_no: SessionNo,
    pub session: SessionKey,
    pub run: RunRow,
    /// Time used for ordering: that of the run, or if it has none, the last known time of its session.
    about: Option<Millis>,
}

impl Ran {
    pub fn moment(&self) -> Option<Millis> {
        self.run.last_at.or(self.run.opened_at)
    }

    pub fn is_open(&self) -> bool {
        self.run.status == "open"
    }
}

/// Returns the workspace numbers of a project under all its names (R7.2); empty for [`NO_PROJECT`] and for a project
/// without conversations.
pub(super) fn names_of(tx: &Read, agent_no: AgentNo, workspace: &str) -> Result<Vec<WorkspaceNo>> {
    let mut statement = tx.prepare_cached(
        "SELECT w.workspace_no FROM workspaces w WHERE w.agent_no = ?1 AND (w.workspace_id = ?2 OR w.alias_of =
           (SELECT workspace_no FROM workspaces WHERE agent_no = ?1 AND workspace_id = ?2))",
    )?;
    let rows = statement.query_map(params![agent_no, workspace], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the newest runs of a project's main lines, newest first; runs on abandoned branches are left out.
pub(super) fn of_project(at: &AssistantHome, tx: &Read, workspace: &str, most: usize) -> Result<Vec<Ran>> {
    let names = names_of(tx, at.agent_no, workspace)?;
    if names.is_empty() && workspace != NO_PROJECT {
        return Ok(Vec::new());
    }
    let mut out: Vec<Ran> = Vec::new();
    for session in recent::sessions(tx, at.agent_no, &names, SESSIONS)? {
        // Once enough runs are newer than anything in this session, neither it nor the following ones can contribute.
        if out.len() >= most && out[most - 1].about >= session.last_at {
            break;
        }
        for run in recent::runs(tx, session.no, most)? {
            if run.prompt.is_some() || run.answer.is_some() {
                let about = run.last_at.or(run.opened_at).or(session.last_at);
                out.push(Ran { session_no: session.no, session: session.key.clone(), run, about });
            }
        }
        out.sort_by_key(|r| std::cmp::Reverse((r.about, r.run.no)));
        out.truncate(most);
    }
    Ok(out)
}

/// Reads the beginnings of turns.
pub(super) struct Words<'w> {
    at: &'w AssistantHome<'w>,
    tx: &'w Read<'w>,
    opener: Opener,
}

impl<'w> Words<'w> {
    pub fn new(at: &'w AssistantHome<'w>, tx: &'w Read<'w>) -> Words<'w> {
        Words { at, tx, opener: Opener::default() }
    }

    /// Returns the beginning of a turn as one line of at most `most` tokens, with credentials redacted; empty if there
    /// is no turn.
    pub fn of(&self, turn: Option<TurnId>, most: usize) -> Result<String> {
        Ok(short(&self.raw(turn)?, most))
    }

    /// Returns the name of a session: its title ([`titles`]), otherwise its key.
    pub fn name_of_session(&self, session_no: SessionNo) -> Result<String> {
        let (key, title): (String, Option<String>) = self
            .tx
            .prepare_cached("SELECT session_key, title FROM sessions WHERE session_no = ?1 AND agent_no = ?2")?
            .query_row((session_no, self.at.agent_no), |r| Ok((r.get(0)?, r.get(1)?)))?;
        let name = short(&titles::of_session(self.tx, &self.opener, session_no, title.as_deref())?, 16);
        Ok(if name.is_empty() { short(&key, 16) } else { name })
    }

    /// Returns the stored beginning of a turn.
    pub fn raw(&self, turn: Option<TurnId>) -> Result<String> {
        let Some(turn) = turn else { return Ok(String::new()) };
        let found = recent::beginning(self.tx, &self.opener, self.at.agent_no, turn, READ)?;
        Ok(found.unwrap_or_default())
    }
}

/// Returns a text as one line of at most `most` tokens. It is redacted before it is cut, because half a credential
/// would not be recognised.
pub(super) fn short(text: &str, most: usize) -> String {
    cut(&flat(&redact(text)), most)
}

/// Formats the turns that a line is about: ` [t12 t1f]`.
pub(super) fn refs(turns: &[TurnId]) -> String {
    match turns {
        [] => String::new(),
        turns => format!(" [{}]", turns.iter().map(TurnId::to_string).collect::<Vec<_>>().join(" ")),
    }
}
