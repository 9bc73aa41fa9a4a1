//! The judge: finds the category of a chunk of messages, and its importance from 1 to 10 (R11.2). Storey 3.
//!
//! [`score`] judges by words, which are data; [`model`] asks a language model, if one was chosen. A chunk is ten
//! messages, or those up to a silence of five minutes; the last chunk of a session is judged when the session is over
//! or idle. The importance only orders: which chunks are embedded first, which candidates evolve takes first, which of
//! two equal answers comes first. Nothing is withheld or deleted because of it.
//!
//! The importance of each category is a setting, shifted by people's decisions: see [`learned`].

pub mod decay;
pub mod learned;
pub mod model;
pub mod score;
mod shape;

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};

pub use self::learned::Learned;
pub use self::score::{Category, Verdict, Weights};
use crate::clock::Millis;
use crate::error::Result;
use crate::event::{Role, TurnKind};
use crate::ledger::blocks::Opener;
use crate::ledger::codes::{ASSISTANT, MESSAGE, USER};
use crate::ledger::{Read, Write};
use crate::recall::spoken;
use crate::scope::{AgentNo, SessionNo, TurnId};
use crate::transcript::{IDLE_MS, role_from_code};
use crate::tree::AssistantHome;

/// Maximum number of messages in a chunk.
pub const MESSAGES: usize = 10;

/// Silence after which a new chunk begins, in milliseconds.
pub const SILENCE_MS: Millis = 5 * 60_000;

/// Maximum number of messages judged in one transaction.
const AT_ONCE: usize = 2_000;

/// A judged chunk.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    pub session_no: SessionNo,
    pub turns: (TurnId, TurnId),
    pub category: Option<Category>,
    /// The importance by words alone.
    pub plain: u8,
    pub importance: u8,
    pub source: String,
    pub at: Option<Millis>,
}

/// A message to judge.
struct Said {
    turn: TurnId,
    at: Option<Millis>,
    text: String,
}

/// Reads up to `most` messages of a session after the turn `after`, in the main lane.
fn messages(tx: &Read, opener: &Opener, session_no: SessionNo, after: TurnId, most: usize) -> Result<Vec<Said>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT t.turn_no, t.role, t.at, t.block_no, t.text_offset, t.text_length FROM turns t JOIN lanes l USING (lane_no)
         WHERE t.session_no = ?1 AND t.turn_no > ?2 AND l.lane = '' AND t.kind = {MESSAGE} AND t.role IN ({USER}, {ASSISTANT})
           AND t.forgotten IS NULL ORDER BY t.turn_no LIMIT ?3"
    ))?;
    let mut rows = statement.query(params![session_no, after, most as i64])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let bytes = opener.slice(tx, r.get(3)?, r.get(4)?, r.get(5)?)?;
        let text = String::from_utf8_lossy(&bytes);
        let role: Role = role_from_code(r.get(1)?);
        // Text that a program wrote in a person's name, and text we injected, say nothing about importance.
        let text = spoken(role, TurnKind::Message, &text).map(|t| t.into_owned()).unwrap_or_default();
        out.push(Said { turn: r.get(0)?, at: r.get(2)?, text });
    }
    Ok(out)
}

/// Returns the ranges of the chunks of messages; the last chunk is left open unless the session is `over`.
fn chunks(said: &[Said], over: bool) -> Vec<std::ops::Range<usize>> {
    let (mut out, mut from) = (Vec::new(), 0);
    for at in 0..said.len() {
        let silent = |a: Option<Millis>, b: Option<Millis>| a.zip(b).is_some_and(|(a, b)| b - a > SILENCE_MS);
        let ends = at + 1 - from == MESSAGES || said.get(at + 1).is_some_and(|next| silent(said[at].at, next.at));
        if ends {
            out.push(from..at + 1);
            from = at + 1;
        }
    }
    if over && from < said.len() && said.len() < AT_ONCE {
        out.push(from..said.len());
    }
    out
}

/// Judges the messages stored since the last time, in every session of an agent. Returns the number of chunks judged.
pub fn catch_up(at: &AssistantHome, weights: &Weights, until: Option<std::time::Instant>) -> Result<u64> {
    let learned = learned::learned(at)?;
    let (now, mut done) = (at.ledger.now(), 0);
    for (session_no, after, over) in at.read(|tx| behind(tx, at.agent_no, now))? {
        if until.is_some_and(|until| std::time::Instant::now() >= until) {
            break;
        }
        let mut after = after;
        loop {
            let said = at.read(|tx| messages(tx, &Opener::default(), session_no, after, AT_ONCE))?;
            let ends = chunks(&said, over);
            let Some(last) = ends.last() else { break };
            after = said[last.end - 1].turn;
            at.write("judge.chunks", |tx| {
                for range in &ends {
                    put(tx, at.agent_no, session_no, &said[range.clone()], weights, &learned)?;
                }
                tx.note("session_no", session_no);
                tx.note("chunks", ends.len());
                Ok(())
            })?;
            done += ends.len() as u64;
            if said.len() < AT_ONCE {
                break;
            }
        }
    }
    Ok(done)
}

/// Returns the sessions with unjudged messages: the last judged turn of each, and whether the session is over.
fn behind(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<Vec<(SessionNo, TurnId, bool)>> {
    let mut statement = tx.prepare_cached(
        "SELECT s.session_no, coalesce((SELECT max(last_turn) FROM judged_chunks j WHERE j.session_no = s.session_no), 0) AS done,
                s.ended_at IS NOT NULL OR coalesce(s.last_at, 0) <= ?2
         FROM sessions s WHERE s.agent_no = ?1 AND s.forgotten IS NULL
           AND coalesce((SELECT max(turn_no) FROM turns t WHERE t.session_no = s.session_no), 0) > done
         ORDER BY s.last_at DESC",
    )?;
    let rows = statement.query_map(params![agent_no, now - IDLE_MS], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn put(
    tx: &Write,
    agent_no: AgentNo,
    session_no: SessionNo,
    said: &[Said],
    weights: &Weights,
    learned: &Learned,
) -> Result<()> {
    let verdict = score::chunk(said.iter().map(|s| s.text.as_str()), weights);
    let importance = verdict.category.map_or(verdict.importance, |c| learned.shifted(c, verdict.importance));
    tx.prepare_cached(
        "INSERT OR IGNORE INTO judged_chunks (agent_no, session_no, first_turn, last_turn, category, plain, importance, source,
                                              at, judged_at, front)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'words', ?8, ?9, ?10)",
    )?
    .execute(params![
        agent_no,
        session_no,
        said.first().map(|s| s.turn),
        said.last().map(|s| s.turn),
        verdict.category.map(Category::name),
        verdict.importance,
        importance,
        said.iter().filter_map(|s| s.at).max(),
        tx.now(),
        importance >= weights.keep_of(verdict.category)
    ])?;
    Ok(())
}

/// Returns the chunk a turn belongs to, if it is judged.
pub fn of_turn(tx: &Read, agent_no: AgentNo, turn: TurnId) -> Result<Option<Judged>> {
    let sql = "SELECT j.session_no, first_turn, last_turn, category, plain, importance, source, j.at FROM judged_chunks j
         WHERE j.agent_no = ?1 AND j.session_no = (SELECT session_no FROM turns WHERE turn_no = ?2) AND j.last_turn >= ?2
         ORDER BY j.last_turn LIMIT 1";
    let found = tx.prepare_cached(sql)?.query_row(params![agent_no, turn], row);
    Ok(found.optional()?)
}

/// Returns the messages of a chunk, oldest first, with the parts of their verdicts by words.
pub fn explained(
    tx: &Read,
    opener: &Opener,
    chunk: &Judged,
    weights: &Weights,
) -> Result<Vec<(TurnId, score::Explained)>> {
    let (first, last) = chunk.turns;
    let said = messages(tx, opener, chunk.session_no, TurnId(first.0 - 1), MESSAGES)?;
    let inside = said.into_iter().take_while(|m| m.turn <= last);
    Ok(inside.map(|m| (m.turn, score::explained(&m.text, weights))).collect())
}

/// Returns for each category the number of judged chunks, and how many of them are kept in front.
pub fn counts(tx: &Read, agent_no: AgentNo, weights: &Weights) -> Result<BTreeMap<Option<Category>, (u64, u64)>> {
    let mut statement = tx.prepare_cached(
        "SELECT category, importance, count(*) FROM judged_chunks WHERE agent_no = ?1 GROUP BY category, importance",
    )?;
    let mut rows = statement.query(params![agent_no])?;
    let mut out: BTreeMap<Option<Category>, (u64, u64)> = BTreeMap::new();
    while let Some(r) = rows.next()? {
        let category = r.get::<_, Option<String>>(0)?.and_then(|name| Category::named(&name));
        let entry = out.entry(category).or_default();
        let (importance, chunks): (u8, i64) = (r.get(1)?, r.get(2)?);
        let kept = if importance >= weights.keep_of(category) { chunks } else { 0 };
        *entry = (entry.0 + chunks as u64, entry.1 + kept as u64);
    }
    Ok(out)
}

/// Returns the number of chunks a model judged.
pub fn by_model(tx: &Read, agent_no: AgentNo) -> Result<u64> {
    let sql = "SELECT count(*) FROM judged_chunks WHERE agent_no = ?1 AND source != 'words'";
    Ok(tx.prepare_cached(sql)?.query_row([agent_no], |r| r.get::<_, i64>(0))? as u64)
}

/// Returns the chunks whose vectors may be dropped: with the last message before a time and below an importance, the
/// oldest first.
pub fn faded(tx: &Read, agent_no: AgentNo, before: Millis, below: u8) -> Result<Vec<Judged>> {
    list(tx, agent_no, &format!("importance < {below} AND at < {before}"))
}

/// Returns the chunks of an agent that meet a condition, the oldest first.
fn list(tx: &Read, agent_no: AgentNo, condition: &str) -> Result<Vec<Judged>> {
    let mut statement = tx.prepare(&format!(
        "SELECT session_no, first_turn, last_turn, category, plain, importance, source, at FROM judged_chunks
         WHERE agent_no = ?1 AND {condition} ORDER BY at, chunk_no"
    ))?;
    let rows = statement.query_map([agent_no], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn row(r: &Row) -> rusqlite::Result<Judged> {
    Ok(Judged {
        session_no: r.get(0)?,
        turns: (r.get(1)?, r.get(2)?),
        category: r.get::<_, Option<String>>(3)?.and_then(|name| Category::named(&name)),
        plain: r.get(4)?,
        importance: r.get(5)?,
        source: r.get(6)?,
        at: r.get(7)?,
    })
}
