//! Lets a language model read sessions that evolve has read, the newest first (R11.3). A session is read, the model is
//! asked with nothing locked, and a short transaction stores its findings unless another process was first: a session
//! asked about twice is stored once.
//!
//! A long session is read in parts, oldest first, with one question each ([`extraction::parts`]). Each part is stored by
//! itself, so that a worker that dies, or a day whose budget is spent, loses none. The parts' findings are not merged by a
//! model: each is a sentence with its turn, and of two about the same subject the newer holds, as between sessions. With a
//! later part the model also gets the findings of the earlier ones, to say which no longer hold.

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
use crate::ledger::codes::SESSION;
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

/// Reason stored with a session that is read up to a part which is not its last; such a row has no tries.
const IN_PART: &str = "read in part";

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
    /// Last turn that evolve has read.
    through: TurnId,
    last_at: Option<Millis>,
    /// Last turn of the part a model was asked about last, and whether that is to be asked again.
    asked: Option<(TurnId, bool)>,
}

/// A part of a session to ask about.
struct Part {
    passages: Vec<Passage>,
    /// Turn up to which the session is read with this part.
    through: TurnId,
    is_last: bool,
}

impl Due {
    /// Returns the next part to ask about; `None`: nothing is left that is worth a question.
    fn next(&self, passages: &[Passage]) -> Option<Part> {
        let mut parts = extraction::parts(passages);
        let is_next = |part: &Vec<Passage>| match (self.asked, part.last()) {
            (Some((through, again)), Some(last)) => last.turn > through || again && last.turn == through,
            (None, _) => true,
            (_, None) => false,
        };
        // The last part of a session counts as read to its end, whoever spoke there.
        let again_at_end = |part: &Vec<Passage>| {
            self.asked.is_some_and(|(through, again)| again && part.last().is_some_and(|last| last.turn <= through))
        };
        let at = parts.iter().position(is_next).or_else(|| parts.iter().rposition(again_at_end))?;
        let is_last = at + 1 == parts.len();
        let passages = parts.swap_remove(at);
        let through = if is_last { self.through } else { passages.last()?.turn };
        Some(Part { passages, through, is_last })
    }
}

const DUE: &str =
    "FROM evolve_sessions e JOIN sessions s USING (session_no) LEFT JOIN model_readings m USING (session_no)
    WHERE e.agent_no = ?1 AND e.reader = ?2 AND s.forgotten IS NULL AND s.workspace_no IS NOT NULL AND s.last_at >= ?3
      AND (m.through IS NULL OR m.through < e.through OR (m.problem IS NOT NULL AND m.tries < ?4))";

fn due(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<Option<Due>> {
    let sql = format!(
        "SELECT session_no, s.session_key, e.through, s.last_at, m.through,
           m.problem IS NOT NULL AND m.tries > 0 AND m.tries < ?4 {DUE}
         ORDER BY s.last_at DESC, session_no DESC LIMIT 1"
    );
    let found = tx.prepare_cached(&sql)?.query_row(params![agent_no, READER, now - RECENT_MS, TRIES], |r| {
        let asked = r.get::<_, Option<TurnId>>(4)?.zip(r.get::<_, Option<bool>>(5)?);
        Ok(Due { session_no: r.get(0)?, key: r.get(1)?, through: r.get(2)?, last_at: r.get(3)?, asked })
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

const GIVEN_UP: &str = "SELECT session_no FROM model_readings m JOIN sessions s USING (session_no)
    WHERE m.agent_no = ?1 AND m.problem IS NOT NULL AND m.tries >= ?2 AND s.forgotten IS NULL AND s.last_at >= ?3";

/// Returns the number of sessions a model is not asked about any more, because its answers could not be used.
pub fn given_up(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<u64> {
    let sql = format!("SELECT count(*) FROM ({GIVEN_UP})");
    let count: i64 = tx.prepare_cached(&sql)?.query_row(params![agent_no, TRIES, now - RECENT_MS], |r| r.get(0))?;
    Ok(count as u64)
}

/// Lets a model be asked once more about each session that was given up.
pub fn ask_again(tx: &Write, agent_no: AgentNo) -> Result<()> {
    // A row without tries counts as read up to its part, and that part would be left out.
    tx.prepare_cached(&format!("UPDATE model_readings SET tries = ?2 - 1 WHERE session_no IN ({GIVEN_UP})"))?
        .execute(params![agent_no, TRIES, tx.now() - RECENT_MS])?;
    Ok(())
}

/// Returns the number of sessions a model has read.
pub fn readings(tx: &Read, agent_no: AgentNo) -> Result<u64> {
    let sql = "SELECT count(*) FROM model_readings WHERE agent_no = ?1 AND problem IS NULL";
    Ok(tx.prepare_cached(sql)?.query_row([agent_no], |r| r.get::<_, i64>(0))? as u64)
}

/// A session since a time, as an estimate needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Tokens of all its turns.
    pub said: u64,
    /// Whether a summary of it is stored.
    pub is_summed: bool,
    /// Number of questions for reading it, and their tokens.
    pub reading: (u64, u64),
}

/// Returns the sizes of the sessions since a time. Sessions of a project are read for it, as a model would get them.
pub fn lately(at: &AssistantHome, since: Millis) -> Result<Vec<Size>> {
    // A token has about four bytes.
    let sql = format!(
        "SELECT s.session_key, coalesce(sum(t.text_length), 0) / 4, s.workspace_no IS NOT NULL,
                EXISTS (SELECT 1 FROM nodes n WHERE n.session_no = s.session_no AND n.kind = {SESSION})
         FROM sessions s JOIN turns t USING (session_no)
         WHERE s.agent_no = ?1 AND s.forgotten IS NULL AND s.last_at >= ?2 GROUP BY session_no"
    );
    at.read(|tx| {
        let mut statement = tx.prepare_cached(&sql)?;
        let rows = statement.query_map(params![at.agent_no, since], |r| {
            Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)?.max(0) as u64, r.get::<_, bool>(2)?, r.get::<_, bool>(3)?))
        })?;
        let user = user(tx, at)?;
        let mut sizes = Vec::new();
        for row in rows {
            let (key, said, in_project, is_summed) = row?;
            let reading = match in_project {
                true => extraction::estimated(&passages(tx, at, &key, user.as_deref(), None)?),
                false => (0, 0),
            };
            sizes.push(Size { said, is_summed, reading });
        }
        Ok(sizes)
    })
}

/// Returns the name of the user, in lower case, if it is known.
fn user(tx: &Read, at: &AssistantHome) -> Result<Option<String>> {
    let user: Option<String> = tx
        .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = 'name'")?
        .query_row([at.agent_no], |r| r.get(0))
        .optional()?;
    Ok(user.map(|name| name.trim().to_lowercase()))
}

/// Returns what the user said in a session, up to a turn.
fn passages(
    tx: &Read,
    at: &AssistantHome,
    key: &str,
    user: Option<&str>,
    through: Option<TurnId>,
) -> Result<Vec<Passage>> {
    let mut passages = Vec::new();
    let session = read::session_named(tx, at.agent_no, key)?;
    read::session_turns(tx, &Opener::default(), &session, None, |turn| {
        let others = turn.speaker.as_ref().zip(user).is_some_and(|(s, u)| s.trim().to_lowercase() != u);
        if turn.session_no == session.no && through.is_none_or(|through| turn.id <= through) && !others {
            passages.extend(extraction::passage(&turn));
        }
        Ok(())
    })?;
    Ok(passages)
}

/// Returns the question about the newest session as the model would get it.
pub fn newest_question(at: &AssistantHome) -> Result<Option<String>> {
    let Some(due) = at.read(|tx| due(tx, at.agent_no, at.ledger.now()))? else { return Ok(None) };
    let material = Material::of(at, &due)?;
    let Some(part) = due.next(&material.passages) else { return Ok(None) };
    Ok(Some(extraction::question(&part.passages, &material.known(&due, &part)).question))
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
        let Some(part) = due.next(&material.passages) else {
            let nothing = Part { passages: Vec::new(), through: due.through, is_last: true };
            put(at, &due, &nothing, model.name(), &Ok(Extracted::default()))?;
            continue;
        };
        let known = material.known(&due, &part);
        let quoted = extraction::question(&part.passages, &known);
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
            Ok(answer) => extraction::read(&answer.text, model.name(), &part.passages, &known, &material.others)
                .map_err(str::to_owned),
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
        if let Some(found) = put(at, &due, &part, model.name(), &answer)? {
            told.found += found;
            told.read += u64::from(answer.is_ok() && part.is_last);
            told.refused += u64::from(answer.is_err());
        }
    }
}

/// The model's input about a session, and the findings its answer is compared with.
struct Material {
    passages: Vec<Passage>,
    memories: Vec<KnownMemory>,
    others: Vec<Stored>,
}

impl Material {
    /// Returns what the model is told with a part: related memories of the project, and the findings of earlier parts.
    fn known(&self, due: &Due, part: &Part) -> Vec<KnownMemory> {
        let first = part.passages.first().map_or(due.through, |p| p.turn);
        let mut known = extraction::earlier(&self.others, due.session_no, first);
        known.extend(self.memories.iter().cloned());
        extraction::related(&part.passages, known)
    }

    fn of(at: &AssistantHome, due: &Due) -> Result<Material> {
        let (passages, workspace, others) = at.read(|tx| {
            let passages = passages(tx, at, &due.key, user(tx, at)?.as_deref(), Some(due.through))?;
            let workspace = store::workspace_of(tx, due.session_no)?.unwrap_or_default();
            let others = store::all_findings(tx, at.agent_no)?.remove(&workspace).unwrap_or_default();
            Ok((passages, workspace, others))
        })?;
        let scope = Scope::Workspace(workspace);
        let mut memories = Vec::new();
        for entry in at.read(|tx| file_table::list(tx, at.agent_no, Kind::Leaf, State::Active))? {
            if leaf::scope_of(&entry) != scope || leaf::superseded_by(&entry).is_some() {
                continue;
            }
            if let (Some(id), Ok(doc)) = (entry.item.clone(), leaf::read(at, &entry.path)) {
                memories.push(KnownMemory { id, text: leaf::text_of(&doc) });
            }
        }
        Ok(Material { passages, memories, others })
    }
}

/// Stores the result of an answer about a part. `None`: another process was first.
fn put(
    at: &AssistantHome,
    due: &Due,
    part: &Part,
    model: &str,
    answer: &std::result::Result<Extracted, String>,
) -> Result<Option<u64>> {
    at.write("evolve.model", |tx| {
        tx.note("session_no", due.session_no);
        tx.note("model", model);
        if is_read(tx, due, part)? {
            return Ok(None);
        }
        let in_part = answer.is_ok() && !part.is_last;
        let why = answer.as_ref().err().map(|why| crate::tokens::cut(why, LONGEST_WHY / 4));
        let why = why.or(in_part.then(|| IN_PART.to_owned()));
        tx.prepare_cached(
            "INSERT INTO model_readings (session_no, agent_no, through, model, tries, problem, read_at)
             VALUES (?1, ?2, ?3, ?4, ?7, ?5, ?6)
             ON CONFLICT (session_no) DO UPDATE SET model = ?4, problem = ?5, read_at = ?6, through = ?3,
               tries = CASE WHEN ?7 = 0 THEN 0 WHEN through < ?3 THEN 1 ELSE tries + 1 END",
        )?
        .execute(params![due.session_no, at.agent_no, part.through, model, why, tx.now(), !in_part])?;
        let Ok(extracted) = answer else { return Ok(Some(0)) };
        let dropped: usize = extracted.dropped.values().sum();
        tx.note("found", extracted.findings.len());
        tx.note("dropped", dropped);
        if let Some(first) = part.passages.first() {
            store::put_model_findings(tx, at.agent_no, due.session_no, first.turn, &extracted.findings)?;
        }
        // Words of one part may be taken back in the next: until the last part is read, no finding of a model in this
        // session becomes a candidate.
        let mut any = tx.prepare_cached("SELECT 1 FROM findings WHERE session_no = ?1 AND model IS NOT NULL")?;
        if part.is_last && any.exists([due.session_no])? {
            let payload = serde_json::json!({ "agent": at.agent.as_str() }).to_string();
            job_queue::enqueue(tx, JobKind::Evolve, at.agent.as_str(), &payload, tx.now())?;
        }
        Ok(Some(extracted.findings.len() as u64))
    })
}

fn is_read(tx: &Write, due: &Due, part: &Part) -> Result<bool> {
    let sql = "SELECT 1 FROM model_readings WHERE session_no = ?1 AND through >= ?2
                 AND (problem IS NULL OR tries = 0 OR tries >= ?3)";
    Ok(tx.prepare_cached(sql)?.exists(params![due.session_no, part.through, TRIES])?)
}
