//! Finds the agent, session, lane and project of a turn, and creates them on first use.

use std::collections::HashMap;

use rusqlite::params;

use super::{Appender, Cursor, Lane};
use crate::error::Result;
use crate::event::NewTurn;
use crate::ledger::Write;
use crate::scope::{AgentId, AgentNo, LaneNo, SessionKey, SessionNo, WorkspaceNo};

impl Appender<'_> {
    /// Returns the project of a turn. It changes with a prompt, never with a tool's change of directory (R7.2).
    pub(super) fn turn_workspace(
        &mut self,
        tx: &Write,
        at: &Cursor,
        lane: Lane,
        turn: &NewTurn,
        prompt: bool,
    ) -> Result<Option<WorkspaceNo>> {
        let current = self.working_in.get(&lane.lane_no).copied().flatten();
        if current.is_some() && !prompt {
            return Ok(current);
        }
        let Some(cwd) = &turn.cwd else { return Ok(current) };
        let found = self.workspace(tx, at.agent_no, cwd)?;
        if let Some(workspace_no) = found {
            self.working_in.insert(lane.lane_no, Some(workspace_no));
            tx.prepare_cached(
                "UPDATE sessions SET workspace_no = coalesce(workspace_no, ?2), cwd = coalesce(cwd, ?3) WHERE session_no = ?1",
            )?
            .execute(params![lane.session_no, workspace_no, cwd])?;
        }
        Ok(found.or(current))
    }

    pub(super) fn session_cwd(&mut self, tx: &Write, at: &Cursor, session_no: SessionNo, cwd: &str) -> Result<()> {
        let workspace_no = self.workspace(tx, at.agent_no, cwd)?;
        tx.prepare_cached(
            "UPDATE sessions SET workspace_no = coalesce(workspace_no, ?2), cwd = coalesce(cwd, ?3) WHERE session_no = ?1",
        )?
        .execute(params![session_no, workspace_no, cwd])?;
        for lane in self.lanes.get(&session_no).into_iter().flat_map(HashMap::values) {
            let working_in = self.working_in.entry(lane.lane_no).or_default();
            *working_in = working_in.or(workspace_no);
        }
        Ok(())
    }

    /// Returns the session and lane of the stream, creating them on first use; from then on the stream belongs to them.
    pub(super) fn enter(&mut self, tx: &mut Write, at: &mut Cursor) -> Result<Lane> {
        if let (Some(session_no), true) = (at.session, at.settled) {
            return self.lane(tx, session_no, &at.lane.clone());
        }
        let session_no = self.session(tx, at.agent_no, at.origin.harness, &at.native.clone())?;
        at.session = Some(session_no);
        let lane = self.lane(tx, session_no, &at.lane.clone())?;
        if !at.settled {
            tx.prepare_cached("UPDATE streams SET session_no = ?2, lane_no = ?3 WHERE stream_no = ?1")?.execute((
                at.stream_no,
                session_no,
                lane.lane_no,
            ))?;
            at.settled = true;
            if let Some(cwd) = at.cwd.take() {
                self.session_cwd(tx, at, session_no, &cwd)?;
            }
        }
        Ok(lane)
    }

    /// Returns session and lane of the session a turn itself names, in a stream that mixes several sessions.
    pub(super) fn enter_other(&mut self, tx: &mut Write, at: &mut Cursor, native: &str) -> Result<Lane> {
        if native == at.native {
            return self.enter(tx, at);
        }
        if !at.settled {
            at.native = native.to_owned();
            return self.enter(tx, at);
        }
        let session_no = self.session(tx, at.agent_no, at.origin.harness, native)?;
        self.lane(tx, session_no, "")
    }

    pub(super) fn agent(&mut self, tx: &Write, agent: &AgentId) -> Result<AgentNo> {
        if let Some(no) = self.agents.get(agent) {
            return Ok(*no);
        }
        let no = crate::transcript::read::ensure_agent(tx, agent)?;
        self.agents.insert(agent.clone(), no);
        Ok(no)
    }

    pub(super) fn session(&mut self, tx: &Write, agent_no: AgentNo, harness: &str, native: &str) -> Result<SessionNo> {
        let key = SessionKey::new(harness, native);
        if let Some(no) = self.sessions.get(&(agent_no, key.as_str().to_owned())) {
            return Ok(*no);
        }
        tx.prepare_cached(
            "INSERT INTO sessions (agent_no, session_key, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![agent_no, key.as_str(), self.now])?;
        let no: SessionNo = tx
            .prepare_cached("SELECT session_no FROM sessions WHERE agent_no = ?1 AND session_key = ?2")?
            .query_row(params![agent_no, key.as_str()], |r| r.get(0))?;
        self.sessions.insert((agent_no, key.as_str().to_owned()), no);
        self.spans.entry(no).or_default();
        Ok(no)
    }

    pub(super) fn lane(&mut self, tx: &Write, session_no: SessionNo, lane: &str) -> Result<Lane> {
        if let Some(found) = self.lanes.get(&session_no).and_then(|lanes| lanes.get(lane)) {
            return Ok(*found);
        }
        tx.prepare_cached("INSERT INTO lanes (session_no, lane) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
            .execute(params![session_no, lane])?;
        let lane_no: LaneNo = tx
            .prepare_cached("SELECT lane_no FROM lanes WHERE session_no = ?1 AND lane = ?2")?
            .query_row(params![session_no, lane], |r| r.get(0))?;
        let workspace_no: Option<WorkspaceNo> = tx
            .prepare_cached(
                "SELECT coalesce(
                   (SELECT workspace_no FROM turns WHERE run_no = (SELECT max(run_no) FROM turn_results WHERE lane_no = ?1)
                    ORDER BY turn_no DESC LIMIT 1),
                   (SELECT workspace_no FROM sessions WHERE session_no = ?2))",
            )?
            .query_row((lane_no, session_no), |r| r.get(0))?;
        let found = Lane { session_no, lane_no };
        self.lanes.entry(session_no).or_default().insert(lane.to_owned(), found);
        self.working_in.insert(lane_no, workspace_no);
        Ok(found)
    }

    pub(super) fn workspace(&mut self, tx: &Write, agent_no: AgentNo, cwd: &str) -> Result<Option<WorkspaceNo>> {
        let Some(project) = self.projects.get(cwd).and_then(Option::as_ref) else { return Ok(None) };
        let key = (agent_no, project.workspace_id.clone());
        if let Some(no) = self.workspaces.get(&key) {
            return Ok(Some(*no));
        }
        let root = std::os::unix::ffi::OsStrExt::as_bytes(project.path.as_os_str());
        // Projects in folders of the same name are distinguished by the parent folder.
        let taken = tx
            .prepare_cached("SELECT 1 FROM workspaces WHERE agent_no = ?1 AND label = ?2 AND workspace_id != ?3")?
            .exists(params![agent_no, project.label, project.workspace_id])?;
        let parent = project.path.parent().and_then(|p| p.file_name()).filter(|_| taken);
        let label = match parent {
            Some(parent) => format!("{}/{}", parent.to_string_lossy(), project.label),
            None => project.label.clone(),
        };
        tx.prepare_cached(
            "INSERT INTO workspaces (agent_no, workspace_id, root, label, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![agent_no, project.workspace_id, root, label, self.now])?;
        let no: WorkspaceNo = tx
            .prepare_cached("SELECT workspace_no FROM workspaces WHERE agent_no = ?1 AND workspace_id = ?2")?
            .query_row(params![agent_no, project.workspace_id], |r| r.get(0))?;
        self.workspaces.insert(key, no);
        Ok(Some(no))
    }
}
