//! Lets a language model judge chunks that were judged by words (R11.2). It changes their category and importance, and
//! so only the order of things; the verdict by words is kept beside it. If the model does not answer, the verdict by
//! words holds, and the model is asked again half an hour later.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use rusqlite::{OptionalExtension, params};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Category, Judged, MESSAGES, Weights, learned, messages};
use crate::budget::{Budgeted, Pause};
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::blocks::Opener;
use crate::ledger::model_calls;
use crate::ledger::{Read, Write};
use crate::model::{Ask, Failure, Model as _, Purpose};
use crate::quoting::Quoted;
use crate::scope::{AgentNo, TurnId, named};
use crate::tokens::{cut, tokens};
use crate::tree::AssistantHome;

const PROMPT: &str = include_str!("model_prompt.md");

/// Maximum number of chunks in one question, because a day has few questions.
const AT_ONCE: usize = 12;

/// Time that fewer chunks wait for others to fill a question, in milliseconds.
const GATHERED_MS: Millis = 60 * 60_000;

/// Maximum age of a chunk that a model judges: the order of older ones matters little.
const RECENT_MS: Millis = 7 * 24 * 60 * 60_000;

/// Time after a failed question during which only words judge (R11.2), in milliseconds.
pub const AGAIN_MS: Millis = 30 * 60_000;

/// Maximum number of times a model is asked about a chunk: after two useless answers, a third is unlikely to help.
const TRIES: i64 = 2;

/// Maximum tokens of a chunk, and of one message, that the model gets.
const CHUNK: usize = 350;
const MESSAGE: usize = 90;

/// Maximum tokens and bytes of an answer.
const MOST_ANSWERED: usize = 500;
const LARGEST_ANSWER: usize = 16 * 1024;

/// Result of a pass.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Told {
    /// Number of chunks that got a model's verdict.
    pub judged: u64,
    /// Time at which to ask again; `None`: no chunk waits.
    pub next: Option<Millis>,
}

/// A verdict in the model's answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    id: String,
    category: String,
    importance: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    chunks: Vec<Said>,
}

fn schema() -> Value {
    let mut names: Vec<&str> = Category::ALL.iter().map(|c| c.name()).collect();
    names.push("none");
    json!({
        "type": "object", "required": ["chunks"], "additionalProperties": false,
        "properties": {"chunks": {"type": "array", "maxItems": AT_ONCE, "items": {
            "type": "object", "required": ["id", "category", "importance"], "additionalProperties": false,
            "properties": {
                "id": {"type": "string", "maxLength": 8},
                "category": {"type": "string", "enum": names},
                "importance": {"type": "integer", "minimum": 1, "maximum": 10},
            },
        }}},
    })
}

/// A chunk to judge.
struct Due {
    no: i64,
    chunk: Judged,
    judged_at: Millis,
}

fn due(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<Vec<Due>> {
    let mut statement = tx.prepare_cached(
        "SELECT j.session_no, first_turn, last_turn, category, plain, importance, source, j.at, chunk_no, judged_at
         FROM judged_chunks j JOIN sessions s USING (session_no)
         WHERE j.agent_no = ?1 AND j.source = 'words' AND j.tries < ?2 AND j.at >= ?3 AND s.forgotten IS NULL
         ORDER BY j.at DESC, chunk_no DESC LIMIT ?4",
    )?;
    let rows = statement.query_map(params![agent_no, TRIES, now - RECENT_MS, AT_ONCE as i64], |r| {
        Ok(Due { no: r.get(8)?, chunk: super::row(r)?, judged_at: r.get(9)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the number of chunks a model may still judge.
pub fn waiting(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<u64> {
    let sql = "SELECT count(*) FROM judged_chunks WHERE agent_no = ?1 AND source = 'words' AND tries < ?2 AND at >= ?3";
    let count: i64 = tx.prepare_cached(sql)?.query_row(params![agent_no, TRIES, now - RECENT_MS], |r| r.get(0))?;
    Ok(count as u64)
}

const GIVEN_UP: &str = "agent_no = ?1 AND source = 'words' AND tries >= ?2 AND at >= ?3";

/// Returns the number of chunks a model is not asked about any more, because it gave no verdict on them.
pub fn given_up(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<u64> {
    let sql = format!("SELECT count(*) FROM judged_chunks WHERE {GIVEN_UP}");
    let count: i64 = tx.prepare_cached(&sql)?.query_row(params![agent_no, TRIES, now - RECENT_MS], |r| r.get(0))?;
    Ok(count as u64)
}

/// Lets a model be asked again about the chunks that were given up.
pub fn ask_again(tx: &Write, agent_no: AgentNo) -> Result<()> {
    tx.prepare_cached(&format!("UPDATE judged_chunks SET tries = 0 WHERE {GIVEN_UP}"))?.execute(params![
        agent_no,
        TRIES,
        tx.now() - RECENT_MS
    ])?;
    Ok(())
}

/// Estimates the number of questions for judging the chunks of the last days, and their tokens, and returns the number of
/// these days. A question has twelve chunks, or those of an hour.
pub fn estimated(tx: &Read, agent_no: AgentNo, now: Millis) -> Result<(u64, u64, u64)> {
    const ANSWER: u64 = 250;
    // A token has about four bytes.
    let sql = "SELECT coalesce((SELECT sum(t.text_length) FROM turns t WHERE t.session_no = j.session_no
                                AND t.turn_no BETWEEN j.first_turn AND j.last_turn), 0) / 4, at
               FROM judged_chunks j WHERE agent_no = ?1 AND at >= ?2 ORDER BY at";
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map(params![agent_no, now - RECENT_MS], |r| Ok((r.get::<_, i64>(0)?, r.get(1)?)))?;
    let (mut calls, mut given) = (0, 0);
    // Time of the first chunk of a question, and the number of its chunks.
    let mut open: Option<(Millis, usize)> = None;
    for row in rows {
        let (said, at): (i64, Millis) = row?;
        given += said.min(CHUNK as i64) as u64;
        open = match open {
            Some((first, chunks)) if chunks < AT_ONCE && at - first <= GATHERED_MS => Some((first, chunks + 1)),
            _ => {
                calls += 1;
                Some((at, 1))
            }
        };
    }
    let constant = (tokens(PROMPT) + tokens(&schema().to_string())) as u64 + ANSWER;
    Ok((calls, given + calls * constant, (RECENT_MS / (24 * 60 * 60_000)) as u64))
}

/// Asks about the newest chunks, as long as there are enough for a full question and the budget allows it.
pub fn run(at: &AssistantHome, model: &Budgeted, weights: &Weights, until: Option<Instant>) -> Result<Told> {
    let mut told = Told::default();
    loop {
        let now = at.ledger.now();
        let due = at.read(|tx| due(tx, at.agent_no, now))?;
        let Some(oldest) = due.iter().map(|d| d.judged_at).min() else { return Ok(told) };
        let last = at.read(|tx| model_calls::last(tx, &model.settings, Purpose::Judge))?;
        let failed = last.filter(|call| call.outcome != model_calls::Outcome::Answered).map(|call| call.at + AGAIN_MS);
        let gathers = (due.len() < AT_ONCE).then_some(oldest + GATHERED_MS);
        if let Some(next) = failed.into_iter().chain(gathers).max().filter(|next| *next > now) {
            told.next = Some(next);
            return Ok(told);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            told.next = Some(now);
            return Ok(told);
        }
        // The newest chunks come first: if these are old, all others are older.
        let about = model.about(due.iter().filter_map(|d| d.chunk.at).max());
        match ask(at, &about, &due)? {
            Ok(verdicts) => told.judged += store(at, model.name(), weights, &due, &verdicts)?,
            Err(Failure::Unusable(_)) => {
                at.write("judge.refused", |tx| due.iter().try_for_each(|d| tried(tx, d.no)))?;
                told.next = Some(now + AGAIN_MS);
                return Ok(told);
            }
            Err(_) => {
                told.next = match about.pause()? {
                    Some(Pause::Refused { .. }) => None,
                    Some(Pause::Rests { until, .. }) => Some(until.max(now + AGAIN_MS)),
                    Some(Pause::Spent) => Some(model.tomorrow()),
                    // The part of the day's budget for old chunks is used up, or the model was busy once.
                    None if about.backlog => Some(model.tomorrow()),
                    None => Some(now + AGAIN_MS),
                };
                return Ok(told);
            }
        }
    }
}

/// The model's verdict on each chunk, by the chunk's number in the question.
type Verdicts = BTreeMap<usize, (Option<Category>, u8)>;

fn ask(at: &AssistantHome, model: &Budgeted, due: &[Due]) -> Result<std::result::Result<Verdicts, Failure>> {
    let mut material = String::new();
    for (n, one) in due.iter().enumerate() {
        let _ = writeln!(material, "c{}:", n + 1);
        let (first, last) = one.chunk.turns;
        let before = TurnId(first.0 - 1);
        let said = at.read(|tx| messages(tx, &Opener::default(), one.chunk.session_no, before, MESSAGES))?;
        let mut text = String::new();
        for message in said.iter().take_while(|m| m.turn <= last) {
            let words = message.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(text, "- {}", cut(&words, MESSAGE));
        }
        material.push_str(&cut(&text, CHUNK));
        material.push('\n');
    }
    let quoted = Quoted::new("These are stretches of conversations, each behind its id.", &material);
    let schema = schema();
    let ask = Ask {
        purpose: Purpose::Judge,
        system: PROMPT,
        input: &quoted.question,
        schema: &schema,
        max_output: MOST_ANSWERED,
    };
    let answer = match model.answer(&ask) {
        Ok(answer) => answer,
        Err(failure) => return Ok(Err(failure)),
    };
    Ok(read(&answer.text, due.len()).map_err(|why| Failure::Unusable(why.into())))
}

/// Reads an answer. Verdicts on unknown chunks, and second verdicts on a chunk, are left out.
fn read(text: &str, chunks: usize) -> std::result::Result<Verdicts, &'static str> {
    if text.len() > LARGEST_ANSWER {
        return Err("it is longer than any verdict");
    }
    let answered: Answered = serde_json::from_str(text).map_err(|_| "it is not of the agreed form")?;
    let mut out = Verdicts::new();
    for said in answered.chunks {
        let number = said.id.strip_prefix('c').and_then(|n| n.parse::<usize>().ok());
        let Some(number) = number.filter(|n| (1..=chunks).contains(n)) else { continue };
        let category = Category::named(&said.category);
        if category.is_none() && said.category != "none" || !(1..=10).contains(&said.importance) {
            continue;
        }
        out.entry(number - 1).or_insert((category, said.importance));
    }
    if out.is_empty() { Err("it judges none of the chunks") } else { Ok(out) }
}

/// Stores verdicts, unless another process was first. A chunk without a verdict counts as tried.
fn store(at: &AssistantHome, model: &str, weights: &Weights, due: &[Due], verdicts: &Verdicts) -> Result<u64> {
    let learned = learned::learned(at)?;
    at.write("judge.model", |tx| {
        let mut stored = 0;
        for (n, one) in due.iter().enumerate() {
            let Some((category, importance)) = verdicts.get(&n) else {
                tried(tx, one.no)?;
                continue;
            };
            let importance = category.map_or(*importance, |c| learned.shifted(c, weights.leaning(c, *importance)));
            stored += tx
                .prepare_cached(
                    "UPDATE judged_chunks SET category = ?2, importance = ?3, source = ?4, judged_at = ?5, front = ?6
                     WHERE chunk_no = ?1 AND source = 'words'",
                )?
                .execute(params![
                    one.no,
                    category.map(Category::name),
                    importance,
                    model,
                    tx.now(),
                    importance >= weights.keep_of(*category)
                ])?;
        }
        tx.note("model", model);
        tx.note("chunks", stored);
        Ok(stored as u64)
    })
}

fn tried(tx: &Write, chunk: i64) -> Result<()> {
    tx.prepare_cached("UPDATE judged_chunks SET tries = tries + 1 WHERE chunk_no = ?1")?.execute([chunk])?;
    Ok(())
}

named! {
    /// The relation of a model to a chunk.
    pub enum Standing {
        /// The model judged the chunk.
        Judged = "judged",
        /// The model may still be asked.
        Waits = "waits",
        /// The model's answers could not be used, so the verdict by words holds.
        Unusable = "unusable",
        /// The chunk is too old for a model, so the verdict by words holds.
        Old = "old",
    }
}

/// Returns whether a model judged a chunk, or why not.
pub fn standing(tx: &Read, agent_no: AgentNo, chunk: &Judged, now: Millis) -> Result<Standing> {
    let sql = "SELECT tries FROM judged_chunks WHERE agent_no = ?1 AND session_no = ?2 AND last_turn = ?3";
    let tries = tx.prepare_cached(sql)?.query_row(params![agent_no, chunk.session_no, chunk.turns.1], |r| r.get(0));
    let tries: i64 = tries.optional()?.unwrap_or(0);
    Ok(match () {
        () if chunk.source != "words" => Standing::Judged,
        () if tries >= TRIES => Standing::Unusable,
        () if chunk.at.is_none_or(|at| at < now - RECENT_MS) => Standing::Old,
        () => Standing::Waits,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_no_form_is_no_verdict() {
        let of = |text: &str| read(text, 2).map(|v| v.into_iter().collect::<Vec<_>>());
        assert_eq!(of(r#"{"chunks":[{"id":"c1","category":"none","importance":2}]}"#), Ok(vec![(0, (None, 2))]));
        for bad in [
            "",
            "no",
            "{}",
            r#"{"chunks":[]}"#,
            r#"{"chunks":[{"id":"c3","category":"issue","importance":5}]}"#,
            r#"{"chunks":[{"id":"c1","category":"secret","importance":5}]}"#,
            r#"{"chunks":[{"id":"c1","category":"issue","importance":11}]}"#,
            r#"{"chunks":[{"id":"c1","category":"issue","importance":5,"do":"delete"}]}"#,
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
        assert!(read(&" ".repeat(LARGEST_ANSWER + 1), 2).is_err());
        let twice = r#"{"chunks":[{"id":"c1","category":"issue","importance":9},{"id":"c1","category":"none","importance":1}]}"#;
        assert_eq!(of(twice), Ok(vec![(0, (Some(Category::Issue), 9))]), "the first one holds");
    }
}
