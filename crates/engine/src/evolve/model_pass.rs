//! Lets a language model read sessions that evolve has read, the newest first (R11.3). A session is read, the model is
//! asked with nothing locked, and a short transaction stores its findings unless another process was first: a session
//! asked about twice is stored once.

use std::time::Instant;

use rusqlite::{OptionalExtension, params};

use super::candidate::Stored;
use super::extraction::{self, Extracted, KnownMemory, Passage};
use super::reader::READER;
use super::store;
use crate::budget::{Budgeted, Pause};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::blocks::Opener;
use crate::ledger::codes::{MESSAGE, USER};
use crate::ledger::job_queue::{self, JobKind};
use crate::ledger::{Read, Write};
use crate::memory::{Scope, leaf};
use crate::model::{Ask, Failure, Model as _, Purpose};
use crate::scope::{AgentNo, SessionNo, TurnId};
use crate::transcript::read;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Kind, State};

/// Maximum age of a session that a model reads: facts of older ones have been repeated since, or are outdated.
const RECENT_MS: Millis = 14 * 24 * 60 * 60_000;

/// Maximum number of times a model is asked about a session.
const TRIES: i64 = 2;

/// Time to wait before the next question if the model does not name one, in milliseconds.
const AGAIN_MS: Millis = 30 * 60_000;

/// Maximum length of a stored reason, in bytes.
const LONGEST_WHY: usize = 200;

/// Result of a pass.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Told {
    /// Number of sessions a model has read.
    pub read: u64,
    /// Number of findings that were not found without the model.
    pub found: u64,
    /// Number of answers that could not be used.
    pub refused: u64,
    /// Time at which to ask again; `None`: no session waits.
    pub next: Option<Millis>,
}

/// A session that a model is to read.
struct Due {
    session_no: SessionNo,
    key: String,
    through: TurnId,
    last_at: Option<Millis>,
}

const DUE: &str =
    "FROM evolve_sessions e JOIN sessions s USING (session_no) LEFT JOIN model_readings m USING (session_no)
    WHERE e.agent_no = ?1 AND e.reader = ?2 AND s.forgotten IS NULL AND s.workspace_no IS NOT NULL AND s.last_at >= ?3
      AND (m.through IS NULL OR m.through < e.through OR (m.problem IS NOT NULL AND m.tries < ?4))";

fn due(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<Option<Due>> {
    let sql = format!(
        "SELECT session_no, s.session_key, e.through, s.last_at {DUE} ORDER BY s.last_at DESC, session_no DESC LIMIT 1"
    );
    let found = tx.prepare_cached(&sql)?.query_row(params![agent_no, READER, now - RECENT_MS, TRIES], |r| {
        Ok(Due { session_no: r.get(0)?, key: r.get(1)?, through: r.get(2)?, last_at: r.get(3)? })
    });
    Ok(found.optional()?)
}

/// Returns the number of sessions a model may still read.
pub fn waiting(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<u64> {
    let sql = format!("SELECT count(*) {DUE}");
    let count: i64 =
        tx.prepare_cached(&sql)?.query_row(params![agent_no, READER, now - RECENT_MS, TRIES], |r| r.get(0))?;
    Ok(count as u64)
}

/// Returns the number of sessions a model has read.
pub fn readings(tx: &Read, agent_no: AgentNo) -> Result<u64> {
    let sql = "SELECT count(*) FROM model_readings WHERE agent_no = ?1 AND problem IS NULL";
    Ok(tx.prepare_cached(sql)?.query_row([agent_no], |r| r.get::<_, i64>(0))? as u64)
}

/// Estimates the number of questions and tokens for reading the waiting sessions.
pub fn estimated(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<(u64, u64)> {
    let sql = format!(
        "SELECT (SELECT coalesce(sum(t.text_length), 0) FROM turns t
                 WHERE t.session_no = e.session_no AND t.role = {USER} AND t.kind = {MESSAGE}) {DUE}"
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let rows = statement.query_map(params![agent_no, READER, now - RECENT_MS, TRIES], |r| r.get::<_, i64>(0))?;
    let (mut calls, mut tokens) = (0, 0);
    for bytes in rows {
        // A token has about four bytes.
        if let Some(used) = extraction::estimated(bytes? as u64 / 4) {
            (calls, tokens) = (calls + 1, tokens + used);
        }
    }
    Ok((calls, tokens))
}

/// Returns the question about the newest session as the model would get it.
pub fn newest_question(at: &AssistantHome) -> Result<Option<String>> {
    let Some(due) = at.read(|tx| due(tx, at.agent_no, at.ledger.now()))? else { return Ok(None) };
    let material = Material::of(at, &due)?;
    Ok(extraction::question(&material.passages, &material.known).map(|(quoted, _)| quoted.question))
}

/// Asks about sessions until the budget, the model or the time ends it.
pub fn run(at: &AssistantHome, model: &Budgeted, until: Option<Instant>) -> Result<Told> {
    let mut told = Told::default();
    loop {
        let now = at.ledger.now();
        let Some(due) = at.read(|tx| due(tx, at.agent_no, now))? else { return Ok(told) };
        if until.is_some_and(|until| Instant::now() >= until) {
            told.next = Some(now);
            return Ok(told);
        }
        let material = Material::of(at, &due)?;
        let Some((quoted, from)) = extraction::question(&material.passages, &material.known) else {
            put(at, &due, model.name(), TurnId(0), &Ok(Extracted::default()))?;
            continue;
        };
        let schema = extraction::schema();
        let ask = Ask {
            purpose: Purpose::Extraction,
            system: extraction::PROMPT,
            input: &quoted.question,
            schema: &schema,
            max_output: extraction::MOST_ANSWERED,
        };
        let about = model.about(due.last_at);
        let answer = match about.answer(&ask) {
            Ok(answer) => {
                let Material { passages, known, others } = &material;
                let given = passages.iter().position(|p| p.turn >= from).unwrap_or(0);
                let passages = &passages[given..];
                extraction::read(&answer.text, model.name(), passages, known, others).map_err(str::to_owned)
            }
            Err(Failure::Unusable(why)) => Err(why),
            Err(_) => {
                told.next = match about.pause()? {
                    Some(Pause::Refused { .. }) => None,
                    Some(Pause::Rests { until, .. }) => Some(until),
                    Some(Pause::Spent) => Some(model.tomorrow()),
                    // The rest of the day's budget is reserved for summaries, or the model was busy once.
                    None if about.backlog => Some(model.tomorrow()),
                    None => Some(now + AGAIN_MS),
                };
                return Ok(told);
            }
        };
        if let Some(found) = put(at, &due, model.name(), from, &answer)? {
            told.found += found;
            told.read += u64::from(answer.is_ok());
            told.refused += u64::from(answer.is_err());
        }
    }
}

/// The model's input about a session, and the findings its answer is compared with.
struct Material {
    passages: Vec<Passage>,
    known: Vec<KnownMemory>,
    others: Vec<Stored>,
}

impl Material {
    fn of(at: &AssistantHome, due: &Due) -> Result<Material> {
        let mut passages: Vec<Passage> = Vec::new();
        let (workspace, others) = at.read(|tx| {
            let session = read::session_named(tx, at.agent_no, &due.key)?;
            let user: Option<String> = tx
                .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = 'name'")?
                .query_row([at.agent_no], |r| r.get(0))
                .optional()?;
            let user = user.map(|name| name.trim().to_lowercase());
            read::session_turns(tx, &Opener::default(), &session, None, |turn| {
                let others =
                    turn.speaker.as_ref().zip(user.as_ref()).is_some_and(|(s, u)| s.trim().to_lowercase() != *u);
                if turn.session_no == session.no && turn.id <= due.through && !others {
                    passages.extend(extraction::passage(&turn));
                }
                Ok(())
            })?;
            let workspace = store::workspace_of(tx, due.session_no)?.unwrap_or_default();
            let others = store::findings(tx, at.agent_no)?.remove(&workspace).unwrap_or_default();
            Ok((workspace, others))
        })?;
        let scope = Scope::Workspace(workspace);
        let mut known = Vec::new();
        for entry in at.read(|tx| file_table::list(tx, at.agent_no, Kind::Leaf, State::Active))? {
            if leaf::scope_of(&entry) != scope || leaf::superseded_by(&entry).is_some() {
                continue;
            }
            if let (Some(id), Ok(doc)) = (entry.item.clone(), leaf::read(at, &entry.path)) {
                known.push(KnownMemory { id, text: leaf::text_of(&doc) });
            }
        }
        Ok(Material { known: extraction::related(&passages, known), passages, others })
    }
}

/// Stores the result of an answer about the turns from `from` on. `None`: another process was first.
fn put(
    at: &AssistantHome,
    due: &Due,
    model: &str,
    from: TurnId,
    answer: &std::result::Result<Extracted, String>,
) -> Result<Option<u64>> {
    at.write("evolve.model", |tx| {
        tx.note("session_no", due.session_no);
        tx.note("model", model);
        if is_read(tx, due)? {
            return Ok(None);
        }
        let why = answer.as_ref().err().map(|why| crate::tokens::cut(why, LONGEST_WHY / 4));
        tx.prepare_cached(
            "INSERT INTO model_readings (session_no, agent_no, through, model, tries, problem, read_at)
             VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6)
             ON CONFLICT (session_no) DO UPDATE SET model = ?4, problem = ?5, read_at = ?6, through = ?3,
               tries = CASE WHEN through < ?3 THEN 1 ELSE tries + 1 END",
        )?
        .execute(params![due.session_no, at.agent_no, due.through, model, why, tx.now()])?;
        let Ok(extracted) = answer else { return Ok(Some(0)) };
        let dropped: usize = extracted.dropped.values().sum();
        tx.note("found", extracted.findings.len());
        tx.note("dropped", dropped);
        store::put_model_findings(tx, at.agent_no, due.session_no, from, &extracted.findings)?;
        if !extracted.findings.is_empty() {
            let payload = serde_json::json!({ "agent": at.agent.as_str() }).to_string();
            job_queue::enqueue(tx, JobKind::Evolve, at.agent.as_str(), &payload, tx.now())?;
        }
        Ok(Some(extracted.findings.len() as u64))
    })
}

fn is_read(tx: &Write, due: &Due) -> Result<bool> {
    let sql =
        "SELECT 1 FROM model_readings WHERE session_no = ?1 AND through >= ?2 AND (problem IS NULL OR tries >= ?3)";
    Ok(tx.prepare_cached(sql)?.exists(params![due.session_no, due.through, TRIES])?)
}
