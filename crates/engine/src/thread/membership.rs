//! Decides which thread a run belongs to (R7.2).
//!
//! The sources are tried in this order: an earlier decision; the run a sub-agent answers to; the thread a person
//! switched the session to; the thread its caller named; the run it was copied from, while it stays in that project;
//! the project of its prompt; the people taking part; otherwise the session itself. Reads only the ledger, with a
//! bounded number of indexed lookups.

use rusqlite::{OptionalExtension, params};

use super::{key, people, row};
use crate::error::{Error, Result};
use crate::ledger::blocks::Opener;
use crate::ledger::codes::{MESSAGE, TOOL_CALL, USER};
use crate::ledger::{Read, Write};
use crate::pages::{self, Happened};
use crate::scope::{
    AgentNo, BlockNo, LaneNo, NameNo, RunNo, SessionKey, SessionNo, ThreadKey, ThreadNo, TurnId, WorkspaceNo,
};

/// Number of levels of nested sub-agents that are followed.
const DEEPEST: usize = 8;

/// The thread a run belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    /// Key of the thread; for a merged thread, that of the one it was merged into.
    pub key: ThreadKey,
    /// Readable name: the label of an existing thread, or the label a new one will have.
    pub label: String,
    /// Thread that was decided earlier, which takes precedence.
    pub thread_no: Option<ThreadNo>,
}

/// Returns the thread a run belongs to, from what the ledger knows of the run and its session. The decision is made
/// once: the caller that puts the run into a chunk stores it with [`join`]. `NotFound` if there is no such run.
pub fn membership(tx: &Read, run_no: RunNo) -> Result<Membership> {
    derive(tx, run_no, 0)
}

/// The facts of a run and its session that the decision needs.
struct Run {
    run_no: RunNo,
    agent_no: AgentNo,
    session_no: SessionNo,
    session: SessionKey,
    title: Option<String>,
    lane_no: LaneNo,
    lane: String,
    parent_call: Option<String>,
    first_turn: TurnId,
    /// The prompt; if there is none, the first turn of the run.
    opening: TurnId,
}

fn derive(tx: &Read, run_no: RunNo, depth: usize) -> Result<Membership> {
    let kept: Option<ThreadNo> = tx
        .prepare_cached("SELECT thread_no FROM run_threads WHERE run_no = ?1")?
        .query_row([run_no], |r| r.get(0))
        .optional()?;
    if let Some(no) = kept {
        let found = of_thread(tx, no)?;
        return Ok(Membership { thread_no: Some(row::canonical(tx, no)?), ..found });
    }
    let run = Run::read(tx, run_no)?;
    if !run.lane.is_empty() {
        if depth < DEEPEST
            && let Some(parent) = run.parent(tx)?
        {
            // The parent's stored decision is not a stored decision for this run.
            return Ok(Membership { thread_no: None, ..derive(tx, parent, depth + 1)? });
        }
        if let Some(found) = run.of_project(tx)? {
            return Ok(found);
        }
    }
    let switched = run.switched_to(tx)?;
    if let Some(Some(thread)) = switched {
        return of_thread(tx, thread);
    }
    if let Some(found) = run.of_hint(tx)? {
        return Ok(found);
    }
    // Switching a session back to automatic assignment also undoes the assignment by the run it was copied from.
    if switched.is_none()
        && depth < DEEPEST
        && let Some(found) = run.of_origin(tx, depth)?
    {
        return Ok(found);
    }
    if let Some(found) = run.of_project(tx)? {
        return Ok(found);
    }
    if let Some(found) = run.of_people(tx)? {
        return Ok(found);
    }
    run.of_itself(tx)
}

impl Run {
    fn read(tx: &Read, run_no: RunNo) -> Result<Run> {
        tx.prepare_cached(
            "SELECT s.agent_no, r.session_no, s.session_key, s.title, r.lane_no, l.lane, l.parent_call, r.prompt_turn,
                    (SELECT min(turn_no) FROM turns t WHERE t.run_no = r.run_no)
             FROM turn_results r JOIN sessions s USING (session_no) JOIN lanes l USING (lane_no) WHERE r.run_no = ?1",
        )?
        .query_row([run_no], |r| {
            let (prompt, first): (Option<TurnId>, Option<TurnId>) = (r.get(7)?, r.get(8)?);
            Ok(Run {
                run_no,
                agent_no: r.get(0)?,
                session_no: r.get(1)?,
                session: SessionKey::from(r.get::<_, String>(2)?),
                title: r.get(3)?,
                lane_no: r.get(4)?,
                lane: r.get(5)?,
                parent_call: r.get(6)?,
                first_turn: first.unwrap_or_default(),
                opening: prompt.or(first).unwrap_or_default(),
            })
        })
        .optional()?
        .ok_or_else(|| Error::not_found(format!("there is no run {run_no}")).hint("see ⟨session show⟩"))
    }

    /// Returns the run whose tool call started this sub-agent.
    fn parent(&self, tx: &Read) -> Result<Option<RunNo>> {
        let Some(call) = &self.parent_call else { return Ok(None) };
        let found: Option<RunNo> = tx
            .prepare_cached(&format!(
                "SELECT run_no FROM turns INDEXED BY turns_call
                 WHERE session_no = ?1 AND call = ?2 AND kind = {TOOL_CALL} AND lane_no != ?3
                 ORDER BY turn_no LIMIT 1"
            ))?
            .query_row(params![self.session_no, call, self.lane_no], |r| r.get(0))
            .optional()?;
        Ok(found.filter(|parent| *parent != self.run_no))
    }

    /// Returns the thread a person switched the session to before this run began; an inner `None` means back to
    /// automatic assignment.
    fn switched_to(&self, tx: &Read) -> Result<Option<Option<ThreadNo>>> {
        Ok(tx
            .prepare_cached(
                "SELECT thread_no FROM thread_switches WHERE session_no = ?1 AND after_turn < ?2
                 ORDER BY after_turn DESC, switch_no DESC LIMIT 1",
            )?
            .query_row((self.session_no, self.first_turn), |r| r.get(0))
            .optional()?)
    }

    /// Returns, for a copied session, the thread of the run it was copied from, as long as it works in the same
    /// project. A thread that stands for a single conversation is not passed on (R7.2).
    fn of_origin(&self, tx: &Read, depth: usize) -> Result<Option<Membership>> {
        let Some(origin) = self.origin(tx)? else { return Ok(None) };
        if origin == self.run_no || project_of(tx, Run::read(tx, origin)?.opening)? != project_of(tx, self.opening)? {
            return Ok(None);
        }
        let found = derive(tx, origin, depth + 1)?;
        Ok((found.key.kind() != "session").then_some(Membership { thread_no: None, ..found }))
    }

    /// Returns the run of the original from which a copied session continues: the run of the last turn both contain,
    /// otherwise the newest one that began before the copy.
    fn origin(&self, tx: &Read) -> Result<Option<RunNo>> {
        let original: Option<SessionNo> = tx
            .prepare_cached(
                "SELECT o.session_no FROM sessions s JOIN sessions o ON o.agent_no = s.agent_no AND o.session_key = s.fork_of
                 WHERE s.session_no = ?1 AND o.session_no != s.session_no",
            )?
            .query_row([self.session_no], |r| r.get(0))
            .optional()?;
        let Some(original) = original else { return Ok(None) };
        let shared: Option<RunNo> = tx
            .prepare_cached(
                "SELECT t.run_no FROM turn_references f JOIN turns t ON t.turn_no = f.turn_no
                 WHERE f.session_no = ?1 AND t.session_no = ?2 ORDER BY f.turn_no DESC LIMIT 1",
            )?
            .query_row((self.session_no, original), |r| r.get(0))
            .optional()?;
        if shared.is_some() {
            return Ok(shared);
        }
        Ok(tx
            .prepare_cached(
                "SELECT r.run_no FROM lanes l JOIN turn_results r USING (lane_no)
                 WHERE l.session_no = ?1 AND l.lane = '' AND (r.opened_at IS NULL OR r.opened_at <=
                   (SELECT coalesce(min(opened_at), 9e18) FROM turn_results WHERE lane_no = ?2))
                 ORDER BY r.run_no DESC LIMIT 1",
            )?
            .query_row((original, self.lane_no), |r| r.get(0))
            .optional()?)
    }

    /// Returns the thread name given by its caller: on its prompt, on its first turn, or on an earlier prompt of the
    /// lane.
    fn hint(&self, tx: &Read) -> Result<Option<String>> {
        let own: Option<NameNo> = tx
            .prepare_cached(
                "SELECT thread_no FROM turns WHERE turn_no IN (?1, ?2) AND thread_no IS NOT NULL
                 ORDER BY turn_no = ?1 DESC LIMIT 1",
            )?
            .query_row([self.opening, self.first_turn], |r| r.get(0))
            .optional()?;
        let name_no = match own {
            Some(no) => Some(no),
            None => tx
                .prepare_cached(&format!(
                    "SELECT thread_no FROM turns INDEXED BY turns_hint
                     WHERE lane_no = ?1 AND turn_no < ?2 AND thread_no IS NOT NULL
                       AND role = {USER} AND kind = {MESSAGE}
                     ORDER BY turn_no DESC LIMIT 1"
                ))?
                .query_row((self.lane_no, self.opening), |r| r.get(0))
                .optional()?,
        };
        let Some(name_no) = name_no else { return Ok(None) };
        Ok(tx
            .prepare_cached("SELECT name FROM names WHERE name_no = ?1")?
            .query_row([name_no], |r| r.get(0))
            .optional()?)
    }

    fn of_hint(&self, tx: &Read) -> Result<Option<Membership>> {
        let Some(words) = self.hint(tx)? else { return Ok(None) };
        let words = words.trim();
        if let Ok(named) = ThreadKey::parse(words) {
            if named.kind() == "project"
                && let Some((id, label)) = project_named(tx, self.agent_no, named.rest())?
            {
                return placed(tx, self.agent_no, key::bounded("project", &id), || Ok(label)).map(Some);
            }
            return placed(tx, self.agent_no, key::written(&named), || Ok(named.rest().to_owned())).map(Some);
        }
        if let Some(no) = row::known_as(tx, self.agent_no, words)? {
            return of_thread(tx, no).map(Some);
        }
        // Words without visible characters name no topic.
        let Some(topic) = key::topic(words) else { return Ok(None) };
        placed(tx, self.agent_no, topic, || Ok(words.to_owned())).map(Some)
    }

    /// Returns the thread of the project of its prompt. A tool that changes its folder does not change the project of
    /// the run (R7.2).
    fn of_project(&self, tx: &Read) -> Result<Option<Membership>> {
        let found: Option<(String, String)> = tx
            .prepare_cached(
                "SELECT w.workspace_id, w.label FROM turns t JOIN workspaces v ON v.workspace_no = t.workspace_no
                 JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no) WHERE t.turn_no = ?1",
            )?
            .query_row([self.opening], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        let Some((id, label)) = found else { return Ok(None) };
        placed(tx, self.agent_no, key::bounded("project", &id), || Ok(label)).map(Some)
    }

    fn of_people(&self, tx: &Read) -> Result<Option<Membership>> {
        let people = people::others(tx, self.agent_no, self.session_no)?;
        match people.as_slice() {
            [] => Ok(None),
            [one] => placed(tx, self.agent_no, key::person(&self.session, one), || Ok(one.clone())).map(Some),
            _ => {
                let native = self.session.native();
                let label = || Ok(self.title.clone().unwrap_or_else(|| native.to_owned()));
                placed(tx, self.agent_no, key::lane(native), label).map(Some)
            }
        }
    }

    fn of_itself(&self, tx: &Read) -> Result<Membership> {
        placed(tx, self.agent_no, key::session(&self.session), || match &self.title {
            Some(title) => Ok(title.clone()),
            None => Ok(self.first_prompt(tx)?.unwrap_or_default()),
        })
    }

    /// Returns the text of the first prompt of the session.
    fn first_prompt(&self, tx: &Read) -> Result<Option<String>> {
        let place: Option<(BlockNo, i64, i64)> = tx
            .prepare_cached(&format!(
                "SELECT block_no, text_offset, text_length FROM turns
                 WHERE session_no = ?1 AND role = {USER} AND kind = {MESSAGE} AND forgotten IS NULL
                 ORDER BY turn_no LIMIT 1"
            ))?
            .query_row([self.session_no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .optional()?;
        let Some((block, offset, length)) = place else { return Ok(None) };
        Ok(String::from_utf8(Opener::default().slice(tx, block, offset, length)?).ok())
    }
}

/// Returns the project a turn was said in; for a moved one, its current project.
fn project_of(tx: &Read, turn: TurnId) -> Result<Option<WorkspaceNo>> {
    Ok(tx
        .prepare_cached(
            "SELECT coalesce(v.alias_of, v.workspace_no) FROM turns t JOIN workspaces v ON v.workspace_no = t.workspace_no
             WHERE t.turn_no = ?1",
        )?
        .query_row([turn], |r| r.get(0))
        .optional()?)
}

/// Returns the id and label of a project; for a moved project, the current ones.
fn project_named(tx: &Read, agent_no: AgentNo, id: &str) -> Result<Option<(String, String)>> {
    Ok(tx
        .prepare_cached(
            "SELECT w.workspace_id, w.label FROM workspaces v
             JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
             WHERE v.agent_no = ?1 AND v.workspace_id = ?2",
        )?
        .query_row(params![agent_no, id], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

/// Returns the membership in an existing thread, or in the one it was merged into.
fn of_thread(tx: &Read, thread_no: ThreadNo) -> Result<Membership> {
    let (key, label): (String, String) = tx
        .prepare_cached("SELECT thread_key, label FROM threads WHERE thread_no = ?1")?
        .query_row([row::canonical(tx, thread_no)?], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(Membership { key: ThreadKey::parse(&key)?, label, thread_no: None })
}

/// Returns the existing thread of a key, or the one to be created. The label is derived only for a new thread.
fn placed(tx: &Read, agent_no: AgentNo, key: ThreadKey, label: impl FnOnce() -> Result<String>) -> Result<Membership> {
    if let Some(no) = row::of_key(tx, agent_no, key.as_str())? {
        return of_thread(tx, no);
    }
    let label = key::label(&label()?);
    let label = if label.is_empty() { key.rest().to_owned() } else { label };
    Ok(Membership { key, label, thread_no: None })
}

/// Stores the thread a run belongs to, creating the thread if it is new. Returns the thread; for a merged one, the one
/// it was merged into. A run that began after its thread was closed reopens it.
pub fn join(tx: &Write, agent_no: AgentNo, run_no: RunNo, to: &Membership) -> Result<ThreadNo> {
    let no = match to.thread_no {
        Some(no) => no,
        None => ensure(tx, agent_no, &to.key, &to.label)?,
    };
    let no = row::canonical(tx, no)?;
    let new = tx
        .prepare_cached("INSERT INTO run_threads (run_no, thread_no) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute((run_no, no))?;
    if new > 0 {
        let after_closing = tx
            .prepare_cached(
                "SELECT 1 FROM threads t, turn_results r
                 WHERE t.thread_no = ?1 AND r.run_no = ?2 AND t.state = 'closed' AND (r.opened_at IS NULL OR r.opened_at > t.closed_at)",
            )?
            .exists((no, run_no))?;
        if after_closing {
            super::touch(tx, no)?;
        }
    }
    Ok(no)
}

/// Returns the thread of a key and creates it if it is new.
pub(super) fn ensure(tx: &Write, agent_no: AgentNo, key: &ThreadKey, label: &str) -> Result<ThreadNo> {
    let made = tx
        .prepare_cached(
            "INSERT INTO threads (agent_no, thread_key, file, label, state, created_at) VALUES (?1, ?2, ?3, ?4, 'active', ?5)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![agent_no, key.as_str(), key.file_stem(), label, tx.now()])?;
    if made > 0 {
        pages::mark(tx, agent_no, &Happened::ThreadMade)?;
    }
    row::of_key(tx, agent_no, key.as_str())?
        .ok_or_else(|| Error::refused(format!("{key} cannot be made: its page would have the name of another's")))
}
