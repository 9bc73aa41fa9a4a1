//! Stores the results of evolve in the ledger: the sessions it has read, their findings, the candidates made of them,
//! and its passes.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{OptionalExtension, params};

use super::candidate::{Candidate, Evidence, Stored};
use super::reader::{By, Finding, Kind, READER};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::memory::Class;
use crate::scope::{AgentNo, CandidateNo, EvolveRunNo, SessionNo, TurnId, named};
use crate::transcript::IDLE_MS;

named! {
    /// The state of a candidate.
    #[derive(Default)]
    pub enum State {
        /// It waits for a pass that chooses it.
        #[default]
        Waiting = "waiting",
        /// It is a proposal waiting for a yes.
        Proposed = "proposed",
        /// It was written as a memory by evolve.
        Written = "written",
        /// A person accepted it, or it was known already.
        Known = "known",
        /// A person rejected or forgot it: it is not proposed again.
        Rejected = "rejected",
        /// It was written or proposed, and then undone.
        Undone = "undone",
    }
}

/// A candidate as it is stored.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub no: CandidateNo,
    pub workspace: String,
    pub candidate: Candidate,
    pub state: State,
    /// Id of the proposal or memory it became.
    pub item: Option<String>,
    pub run: Option<EvolveRunNo>,
    pub changed_at: Millis,
    /// Time of the pass that decided it.
    pub run_at: Option<Millis>,
}

/// A session to read, up to the turn `through`.
#[derive(Clone, PartialEq, Debug)]
pub struct Due {
    pub session_no: SessionNo,
    pub key: String,
    pub through: TurnId,
}

/// Condition for a session that is over or idle and has turns evolve has not read. A session without a project has
/// nothing to show about one.
const DUE: &str = "FROM sessions s LEFT JOIN evolve_sessions e USING (session_no)
    WHERE (?1 IS NULL OR s.agent_no = ?1) AND s.workspace_no IS NOT NULL AND s.forgotten IS NULL
      AND (s.ended_at IS NOT NULL OR coalesce(s.last_at, 0) <= ?2)
      AND coalesce((SELECT max(turn_no) FROM turns t WHERE t.session_no = s.session_no), 0)
          > CASE WHEN e.reader = ?3 THEN e.through ELSE 0 END";

/// Returns the sessions that are due, the oldest first.
pub fn due(tx: &Read, agent_no: AgentNo, now: Millis, limit: usize) -> Result<Vec<Due>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT s.session_no, s.session_key, (SELECT max(turn_no) FROM turns t WHERE t.session_no = s.session_no)
         {DUE} ORDER BY s.last_at, s.session_no LIMIT ?4"
    ))?;
    let rows = statement.query_map(params![agent_no, now - IDLE_MS, READER, limit as i64], |r| {
        Ok(Due { session_no: r.get(0)?, key: r.get(1)?, through: r.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the agents with sessions that are due.
pub fn agents_due(tx: &Read, now: Millis) -> Result<Vec<AgentNo>> {
    let mut statement = tx.prepare_cached(&format!("SELECT DISTINCT s.agent_no {DUE}"))?;
    let rows = statement.query_map(params![None::<i64>, now - IDLE_MS, READER], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Stores the findings of a session in place of its earlier ones. Findings of a model stay until a model reads the
/// session again.
pub fn put_findings(tx: &mut Write, agent_no: AgentNo, due: &Due, findings: &[Finding]) -> Result<()> {
    tx.prepare_cached("DELETE FROM findings WHERE session_no = ?1 AND model IS NULL")?.execute([due.session_no])?;
    insert(tx, agent_no, due.session_no, findings)?;
    tx.prepare_cached(
        "INSERT INTO evolve_sessions (session_no, agent_no, through, reader) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (session_no) DO UPDATE SET through = excluded.through, reader = excluded.reader",
    )?
    .execute(params![due.session_no, agent_no, due.through, READER])?;
    Ok(())
}

/// Stores a model's findings in a session, in place of a model's earlier findings from the turn `from` on.
pub fn put_model_findings(
    tx: &Write,
    agent_no: AgentNo,
    session_no: SessionNo,
    from: TurnId,
    findings: &[Finding],
) -> Result<()> {
    let mut statement =
        tx.prepare_cached("SELECT finding_no, turns FROM findings WHERE session_no = ?1 AND model IS NOT NULL")?;
    let rows = statement.query_map([session_no], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?)))?;
    let mut delete = tx.prepare_cached("DELETE FROM findings WHERE finding_no = ?1")?;
    for row in rows.collect::<rusqlite::Result<Vec<_>>>()? {
        if turns_of(&row.1).iter().max().is_none_or(|turn| *turn >= from) {
            delete.execute([row.0])?;
        }
    }
    insert(tx, agent_no, session_no, findings)
}

fn insert(tx: &Write, agent_no: AgentNo, session_no: SessionNo, findings: &[Finding]) -> Result<()> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO findings (agent_no, session_no, kind, subject, value, sentence, changed, times, turns, at, model,
                               confidence, contradicts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for f in findings.iter().filter(|f| f.times > 0) {
        insert.execute(params![
            agent_no,
            session_no,
            f.kind.name(),
            f.subject,
            f.value,
            f.sentence,
            f.changed,
            f.times,
            ids(&f.turns),
            f.at,
            f.by.as_ref().map(|by| by.model.as_str()),
            f.by.as_ref().map(|by| by.confidence),
            f.by.as_ref().and_then(|by| by.contradicts.as_deref()),
        ])?;
    }
    Ok(())
}

/// Formats turns as `t12 t40`.
fn ids(turns: &[TurnId]) -> String {
    turns.iter().map(TurnId::to_string).collect::<Vec<_>>().join(" ")
}

fn turns_of(ids: &str) -> Vec<TurnId> {
    ids.split(' ').filter_map(TurnId::parse).collect()
}

/// Returns the findings of each project, by the project's id. A project that was joined to another counts as that one.
pub fn findings(tx: &Read, agent_no: AgentNo) -> Result<BTreeMap<String, Vec<Stored>>> {
    // Tries of 0: a model has not read the session to its end yet.
    found(
        tx,
        agent_no,
        "f.model IS NULL OR f.session_no NOT IN (SELECT session_no FROM model_readings WHERE tries = 0)",
    )
}

/// Returns the findings like [`findings`], with those of a model in sessions that it has not read to their end.
pub fn all_findings(tx: &Read, agent_no: AgentNo) -> Result<BTreeMap<String, Vec<Stored>>> {
    found(tx, agent_no, "true")
}

fn found(tx: &Read, agent_no: AgentNo, which: &str) -> Result<BTreeMap<String, Vec<Stored>>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT w.workspace_id, f.session_no, s.session_key, f.kind, f.subject, f.value, f.sentence, f.changed, f.times, f.turns,
                f.at, f.model, f.confidence, f.contradicts
         FROM findings f JOIN sessions s USING (session_no) JOIN workspaces v ON v.workspace_no = s.workspace_no
         JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
         WHERE f.agent_no = ?1 AND ({which}) ORDER BY f.finding_no"
    ))?;
    let mut rows = statement.query([agent_no])?;
    let mut out: BTreeMap<String, Vec<Stored>> = BTreeMap::new();
    while let Some(r) = rows.next()? {
        let Some(kind) = Kind::named(&r.get::<_, String>(3)?) else { continue };
        let finding = Finding {
            kind,
            subject: r.get(4)?,
            value: r.get(5)?,
            sentence: r.get(6)?,
            changed: r.get(7)?,
            times: r.get(8)?,
            turns: turns_of(&r.get::<_, String>(9)?),
            at: r.get(10)?,
            by: match r.get::<_, Option<String>>(11)? {
                None => None,
                Some(model) => {
                    Some(By { model, confidence: r.get::<_, Option<f64>>(12)?.unwrap_or(0.0), contradicts: r.get(13)? })
                }
            },
        };
        let stored = Stored { session_no: r.get(1)?, source: r.get(1)?, session: r.get(2)?, finding };
        out.entry(r.get(0)?).or_default().push(stored);
    }
    Ok(out)
}

/// Returns the candidates of an agent, best first.
pub fn rows(tx: &Read, agent_no: AgentNo) -> Result<Vec<Row>> {
    let mut statement = tx.prepare_cached(
        "SELECT candidate_no, workspace_id, key, class, subject, text, confidence, sessions, evidence, state, item, run_no,
                changed_at, (SELECT at FROM evolve_runs r WHERE r.run_no = c.run_no), observed_at, model, contradicts
         FROM candidates c WHERE agent_no = ?1 ORDER BY confidence DESC, sessions DESC, observed_at DESC, key",
    )?;
    let mut rows = statement.query([agent_no])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let evidence: Vec<(String, String, String)> = serde_json::from_str(&r.get::<_, String>(8)?).unwrap_or_default();
        let evidence = evidence
            .into_iter()
            .filter_map(|(session, turn, text)| Some(Evidence { session, turn: TurnId::parse(&turn)?, text }));
        out.push(Row {
            no: r.get(0)?,
            workspace: r.get(1)?,
            candidate: Candidate {
                key: r.get(2)?,
                class: Class::parse(&r.get::<_, String>(3)?)?,
                subject: r.get(4)?,
                text: r.get(5)?,
                confidence: r.get(6)?,
                sessions: r.get::<_, i64>(7)? as usize,
                evidence: evidence.collect(),
                at: r.get(14)?,
                model: r.get(15)?,
                contradicts: serde_json::from_str(&r.get::<_, String>(16)?).unwrap_or_default(),
            },
            state: State::named(&r.get::<_, String>(9)?).unwrap_or_default(),
            item: r.get(10)?,
            run: r.get(11)?,
            changed_at: r.get(12)?,
            run_at: r.get(13)?,
        });
    }
    Ok(out)
}

/// Updates the candidates of an agent to its findings: new ones wait; waiting ones that no finding shows any more are
/// deleted.
pub fn put_candidates(tx: &Write, agent_no: AgentNo, now: &BTreeMap<String, Vec<Candidate>>) -> Result<()> {
    let mut put = tx.prepare_cached(
        "INSERT INTO candidates (agent_no, workspace_id, key, class, subject, text, confidence, sessions, evidence, turns,
                                 observed_at, state, created_at, changed_at, model, contradicts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?12, 'waiting', ?11, ?11, ?13, ?14)
         ON CONFLICT (agent_no, workspace_id, key) DO UPDATE SET text = excluded.text, confidence = excluded.confidence,
           sessions = excluded.sessions, evidence = excluded.evidence, turns = excluded.turns,
           observed_at = excluded.observed_at, model = excluded.model, contradicts = excluded.contradicts
         WHERE state = 'waiting' AND (text, confidence, sessions, evidence, contradicts)
           != (excluded.text, excluded.confidence, excluded.sessions, excluded.evidence, excluded.contradicts)",
    )?;
    for (workspace, candidates) in now {
        for c in candidates {
            let evidence: Vec<(&str, String, &str)> =
                c.evidence.iter().map(|e| (e.session.as_str(), e.turn.to_string(), e.text.as_str())).collect();
            let turns: Vec<TurnId> = c.evidence.iter().map(|e| e.turn).collect();
            put.execute(params![
                agent_no,
                workspace,
                c.key,
                c.class.name(),
                c.subject,
                c.text,
                c.confidence,
                c.sessions as i64,
                serde_json::to_string(&evidence).unwrap_or_default(),
                ids(&turns),
                tx.now(),
                c.at,
                c.model,
                serde_json::to_string(&c.contradicts).unwrap_or_default(),
            ])?;
        }
    }
    let mut delete = tx.prepare_cached("DELETE FROM candidates WHERE candidate_no = ?1 AND state = 'waiting'")?;
    for row in rows(tx, agent_no)?.into_iter().filter(|row| row.state == State::Waiting) {
        let shown = now.get(&row.workspace).is_some_and(|all| all.iter().any(|c| c.key == row.candidate.key));
        if !shown {
            delete.execute([row.no])?;
        }
    }
    Ok(())
}

/// Records a new state of a candidate.
pub fn decide(tx: &Write, no: CandidateNo, state: State, item: Option<&str>, run: Option<EvolveRunNo>) -> Result<()> {
    tx.prepare_cached(
        "UPDATE candidates SET state = ?2, item = coalesce(?3, item), run_no = coalesce(?4, run_no), changed_at = ?5
         WHERE candidate_no = ?1",
    )?
    .execute(params![no, state.name(), item, run, tx.now()])?;
    Ok(())
}

/// A pass that changed files.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub no: EvolveRunNo,
    pub at: Millis,
    pub flush: String,
}

/// Records a pass, and returns its number.
pub fn begin_run(tx: &Write, agent_no: AgentNo, kind: &str, flush: Option<&str>) -> Result<EvolveRunNo> {
    Ok(tx
        .prepare_cached(
            "INSERT INTO evolve_runs (agent_no, kind, at, flush_id) VALUES (?1, ?2, ?3, ?4) RETURNING run_no",
        )?
        .query_row(params![agent_no, kind, tx.now(), flush], |r| r.get(0))?)
}

/// Returns the passes that changed files and were not undone, newest first.
pub fn runs(tx: &Read, agent_no: AgentNo) -> Result<Vec<Run>> {
    let mut statement = tx.prepare_cached(
        "SELECT run_no, at, flush_id FROM evolve_runs
         WHERE agent_no = ?1 AND flush_id IS NOT NULL AND undone_at IS NULL ORDER BY run_no DESC LIMIT 100",
    )?;
    let rows = statement.query_map([agent_no], |r| Ok(Run { no: r.get(0)?, at: r.get(1)?, flush: r.get(2)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the time of the last pass of a kind.
pub fn last_run(tx: &Read, agent_no: AgentNo, kind: &str) -> Result<Option<Millis>> {
    Ok(tx
        .prepare_cached("SELECT max(at) FROM evolve_runs WHERE agent_no = ?1 AND kind = ?2")?
        .query_row(params![agent_no, kind], |r| r.get(0))?)
}

/// Records that passes were undone.
pub fn undone(tx: &Write, runs: &[Run]) -> Result<()> {
    let mut statement = tx.prepare_cached("UPDATE evolve_runs SET undone_at = ?2 WHERE run_no = ?1")?;
    for run in runs {
        statement.execute(params![run.no, tx.now()])?;
    }
    Ok(())
}

/// Deletes passes that changed nothing, except the last one of each kind.
pub fn prune_runs(tx: &Write, agent_no: AgentNo) -> Result<()> {
    tx.prepare_cached(
        "DELETE FROM evolve_runs WHERE agent_no = ?1 AND flush_id IS NULL AND run_no NOT IN
           (SELECT max(run_no) FROM evolve_runs WHERE agent_no = ?1 GROUP BY kind)
         AND run_no NOT IN (SELECT run_no FROM candidates WHERE run_no IS NOT NULL)",
    )?
    .execute([agent_no])?;
    Ok(())
}

/// Returns the number of candidates in each state.
pub fn counts(tx: &Read, agent_no: AgentNo) -> Result<HashMap<State, u64>> {
    let mut statement =
        tx.prepare_cached("SELECT state, count(*) FROM candidates WHERE agent_no = ?1 GROUP BY state")?;
    let mut rows = statement.query([agent_no])?;
    let mut out = HashMap::new();
    while let Some(r) = rows.next()? {
        if let Some(state) = State::named(&r.get::<_, String>(0)?) {
            out.insert(state, r.get::<_, i64>(1)? as u64);
        }
    }
    Ok(out)
}

/// Whether a session with this key is stored and not forgotten.
pub fn has_session(tx: &Read, agent_no: AgentNo, key: &str) -> Result<bool> {
    Ok(tx
        .prepare_cached("SELECT 1 FROM sessions WHERE agent_no = ?1 AND session_key = ?2 AND forgotten IS NULL")?
        .exists(params![agent_no, key])?)
}

/// Returns the id of the project a session worked in.
pub fn workspace_of(tx: &Read, session_no: SessionNo) -> Result<Option<String>> {
    Ok(tx
        .prepare_cached(
            "SELECT w.workspace_id FROM sessions s JOIN workspaces v ON v.workspace_no = s.workspace_no
             JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no) WHERE s.session_no = ?1",
        )?
        .query_row([session_no], |r| r.get(0))
        .optional()?)
}
