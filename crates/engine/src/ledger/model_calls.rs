//! Calls of language models: the purpose of each and the tokens it used, reserved before the call and settled after it
//! (R14.4). Questions and answers are not stored here.

use rusqlite::{Row, params};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{Millis, as_rfc3339};
use crate::error::Result;
use crate::ledger::{Read, Write};
use crate::model::Purpose;
use crate::scope::named;

named! {
    /// Outcome of a call of a language model.
    pub enum Outcome {
        /// The call is running, or its process died a moment ago.
        Asked = "asked",
        Answered = "answered",
        Unusable = "unusable",
        Later = "later",
        Refused = "refused",
        /// The process that made the call died.
        Lost = "lost",
        /// A further request of a question that has its outcome and its tokens in another row.
        Sent = "sent",
    }
}

/// The longest sentence about a failure, in bytes.
const LONGEST_WHY: usize = 300;

/// A call that is about to be made.
#[derive(Clone, Debug)]
pub struct NewCall<'c> {
    /// Day whose budget pays for the call, in the operator's zone.
    pub day: &'c str,
    pub purpose: Purpose,
    pub model: &'c str,
    /// A digest of the settings of the model.
    pub settings: &'c [u8],
    /// Whether the call is about material older than a day.
    pub backlog: bool,
    /// Most tokens the call may use.
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// Time after which an unsettled call counts as lost.
    pub until: Millis,
}

/// Reserves the tokens a call may use, and marks calls of processes that died as lost. Returns the number of the call.
pub fn reserve(tx: &Write, new: &NewCall) -> Result<i64> {
    tx.execute("UPDATE model_calls SET outcome = 'lost' WHERE outcome = 'asked' AND until < ?1", [tx.now()])?;
    tx.prepare_cached(
        "INSERT INTO model_calls (at, day, purpose, model, settings, backlog, outcome, tokens_in, tokens_out, until)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'asked', ?7, ?8, ?9)",
    )?
    .execute(params![
        tx.now(),
        new.day,
        new.purpose.name(),
        new.model,
        new.settings,
        new.backlog,
        new.tokens_in as i64,
        new.tokens_out as i64,
        new.until
    ])?;
    Ok(tx.last_insert_rowid())
}

/// Tokens a call used, and its outcome. `None` for tokens: the reserved number stays.
#[derive(Clone, Debug)]
pub struct Settled {
    pub outcome: Outcome,
    /// Number of requests that were sent.
    pub requests: u64,
    pub tokens_in: Option<u64>,
    pub tokens_out: Option<u64>,
    /// In millionths of a US dollar.
    pub cost: Option<u64>,
    pub ms: i64,
    pub again_at: Option<Millis>,
    pub why: Option<String>,
}

/// Settles a call, even one that was marked as lost and then answered after all.
pub fn settle(tx: &Write, call_no: i64, settled: &Settled) -> Result<()> {
    let why = settled.why.as_deref().map(|why| &why[..why.floor_char_boundary(LONGEST_WHY)]);
    tx.prepare_cached(
        "UPDATE model_calls SET outcome = ?2, tokens_in = coalesce(?3, tokens_in), tokens_out = coalesce(?4, tokens_out),
                cost = ?5, ms = ?6, again_at = ?7, why = ?8
         WHERE call_no = ?1 AND outcome IN ('asked', 'lost')",
    )?
    .execute(params![
        call_no,
        settled.outcome.name(),
        settled.tokens_in.map(|n| n as i64),
        settled.tokens_out.map(|n| n as i64),
        settled.cost.map(|n| n as i64),
        settled.ms,
        settled.again_at,
        why
    ])?;
    // The row of a call counts as a question if it used tokens; each other request gets a row.
    let counts = tx
        .prepare_cached("SELECT tokens_in + tokens_out > 0 FROM model_calls WHERE call_no = ?1")?
        .query_row([call_no], |r| r.get::<_, bool>(0))?;
    for _ in u64::from(counts)..settled.requests {
        tx.prepare_cached(
            "INSERT INTO model_calls (at, day, purpose, model, settings, backlog, outcome, tokens_in, tokens_out, until)
             SELECT at, day, purpose, model, settings, backlog, 'sent', 0, 0, until FROM model_calls WHERE call_no = ?1",
        )?
        .execute([call_no])?;
    }
    Ok(())
}

/// Sum of what several calls used.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Spent {
    pub calls: u64,
    /// Tokens of questions and answers; for running calls, the most they may use.
    pub tokens: u64,
    /// Cost in millionths of a US dollar, as far as the models reported it.
    pub cost: u64,
    /// Number of calls and of tokens that were about material older than a day.
    pub backlog_calls: u64,
    pub backlog_tokens: u64,
}

/// Returns what was used on a day by all models together. A call that never reached its model used nothing.
pub fn spent(tx: &Read, day: &str) -> Result<Spent> {
    let sql = "SELECT count(*) FILTER (WHERE counts), coalesce(sum(used), 0), coalesce(sum(cost), 0),
                      count(*) FILTER (WHERE counts AND backlog), coalesce(sum(used) FILTER (WHERE backlog), 0)
               FROM (SELECT tokens_in + tokens_out AS used, tokens_in + tokens_out > 0 OR outcome = 'sent' AS counts,
                     cost, backlog FROM model_calls WHERE day = ?1)";
    let number = |r: &Row, n: usize| r.get::<_, i64>(n).map(|n| n.max(0) as u64);
    Ok(tx.prepare_cached(sql)?.query_row([day], |r| {
        Ok(Spent {
            calls: number(r, 0)?,
            tokens: number(r, 1)?,
            cost: number(r, 2)?,
            backlog_calls: number(r, 3)?,
            backlog_tokens: number(r, 4)?,
        })
    })?)
}

/// A call of a language model that has an outcome.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Call {
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_rfc3339")]
    pub at: Millis,
    pub purpose: String,
    pub model: String,
    pub outcome: Outcome,
    /// Why the call got no answer.
    pub why: Option<String>,
    #[serde(skip)]
    pub again_at: Option<Millis>,
}

/// Returns the newest calls with these settings that have an outcome, newest first. Lost calls are left out: they say
/// nothing about the model.
pub fn newest(tx: &Read, settings: &[u8], most: usize) -> Result<Vec<Call>> {
    let mut statement = tx.prepare_cached(
        "SELECT at, purpose, model, outcome, why, again_at FROM model_calls
         WHERE settings = ?1 AND outcome NOT IN ('asked', 'lost', 'sent') ORDER BY call_no DESC LIMIT ?2",
    )?;
    let rows = statement.query_map(params![settings, most as i64], call)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the newest call for a purpose with these settings that has an outcome.
pub fn last(tx: &Read, settings: &[u8], purpose: Purpose) -> Result<Option<Call>> {
    let mut statement = tx.prepare_cached(
        "SELECT at, purpose, model, outcome, why, again_at FROM model_calls
         WHERE settings = ?1 AND purpose = ?2 AND outcome NOT IN ('asked', 'lost', 'sent') ORDER BY call_no DESC LIMIT 1",
    )?;
    let mut rows = statement.query_map(params![settings, purpose.name()], call)?;
    Ok(rows.next().transpose()?)
}

fn call(r: &Row) -> rusqlite::Result<Call> {
    let outcome: String = r.get(3)?;
    Ok(Call {
        at: r.get(0)?,
        purpose: r.get(1)?,
        model: r.get(2)?,
        outcome: Outcome::named(&outcome).unwrap_or(Outcome::Lost),
        why: r.get(4)?,
        again_at: r.get(5)?,
    })
}
