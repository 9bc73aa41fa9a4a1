//! Limits how many calls and tokens a language model gets in a day. Storey 2 (R14.4).
//!
//! [`Budgeted`] wraps a model, so that all who ask it share the same limits. The tokens a call may use are reserved in
//! the ledger before it and settled after it, each in a short transaction of its own; no transaction is open while the
//! model answers. If the budget is spent, or the model rests after failures, the model is not asked and the answer is
//! [`Failure::Withheld`].

use std::time::Instant;

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{Millis, as_rfc3339};
use crate::error::{Error, Result};
use crate::ledger::model_calls::{self, NewCall, Outcome, Settled, Spent};
use crate::ledger::{Audit, Ledger, Read};
use crate::model::{Answer, Ask, Failure, Model, Purpose, Used};
use crate::next_step::See;
use crate::tokens::tokens;

/// Maximum tokens and calls in a day; configurable.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Budget {
    pub tokens: u64,
    pub calls: u64,
}

impl Default for Budget {
    /// About forty session summaries: a long day of work, and a tenth of what one hour of an agent uses.
    fn default() -> Budget {
        Budget { tokens: 300_000, calls: 60 }
    }
}

/// Most tokens or calls of a budget: more than any day uses, and few enough to calculate with.
const MOST: u64 = 1_000_000_000_000;

impl Budget {
    /// Refuses a budget with which no question can ever be asked, or that is beyond all measure. `needs`: tokens that the
    /// smallest question reserves.
    pub fn checked(&self, needs: u64) -> Result<()> {
        let usual = Budget::default();
        if self.calls == 0 {
            return Err(Error::usage("with a budget of no questions a day, the language model is never asked")
                .hint(format!("calls is at least 1, usually {}; to ask no model: ⟨model off⟩", usual.calls)));
        }
        if self.tokens < needs {
            return Err(Error::usage(format!(
                "a budget of {} tokens a day is too small for one question",
                self.tokens
            ))
            .hint(format!("tokens is at least {needs}, usually {}; to ask no model: ⟨model off⟩", usual.tokens)));
        }
        if self.tokens.max(self.calls) > MOST {
            return Err(Error::usage("the budget of the language model is larger than can be written down")
                .hint(format!("tokens and calls are at most {MOST}")));
        }
        Ok(())
    }
}

/// Returns the tokens that are reserved for a question of so many tokens: first its input, then its answer. An answer with
/// faults is asked for once more, and the model then gets it again.
pub fn reserved(tokens_in: u64, max_output: u64) -> (u64, u64) {
    (2 * tokens_in + max_output.min(REPEATED), 2 * max_output)
}

/// Share of the budget, in hundredths, after which only summaries of sessions and compactions are made.
const NEARLY_SPENT: u64 = 80;

/// Divisor of the budget for backlog: material older than a day uses at most a fourth of the day's budget.
const BACKLOG_SHARE: u64 = 4;

/// Number of failures in a row after which the model rests.
const FAILURES: usize = 3;

/// Time for which the model rests, in milliseconds (R11.2).
const REST_MS: Millis = 30 * 60_000;

/// Pause after a model could not answer and named no time, in milliseconds. It doubles each further time, up to the rest.
const PAUSE_MS: Millis = 60_000;

/// Number of earlier calls that are looked at for it: with so many failures, the pause is as long as the rest.
const DOUBLED: usize = 5;

const DAY_MS: Millis = 86_400_000;

/// Age from which material is backlog, in milliseconds.
const BACKLOG_MS: Millis = DAY_MS;

/// Most tokens of an answer that is shown to the model again, with its faults.
const REPEATED: u64 = 2_500;

/// Time in milliseconds before which a failed call of a model that does not count its requests cannot have reached it, so
/// that no tokens are counted.
const NEVER_REACHED_MS: i64 = 10_000;

/// Time in milliseconds after which a call without an outcome counts as lost, because its process died: longer than two
/// requests of the longest time the settings allow.
const LOST_MS: Millis = 15 * 60_000;

/// The reason why a model is not asked now.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Pause {
    /// The model refused, and asking again is useless until the settings change or a person tries it.
    Refused { why: String },
    /// The model failed a moment ago or several times, or said when to ask again.
    Rests {
        #[schemars(with = "String")]
        #[serde(serialize_with = "as_rfc3339")]
        until: Millis,
        why: String,
    },
    /// The budget of the day is spent.
    Spent,
}

/// The reason why some questions are not asked today, although the model is asked others.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum HeldBack {
    /// The rest of the day's budget is smaller than the smallest question.
    LittleLeft,
    /// The rest of the day's budget is reserved for summaries.
    ForSummaries,
    /// The part of the day's budget for older material is used up.
    Older,
    /// The part of each day's budget for older material is less than the smallest question needs. `tokens` and `calls`: the
    /// smallest budget of a day that leaves enough for it.
    OlderNever { tokens: u64, calls: u64 },
}

/// A model with a budget.
#[derive(Clone)]
pub struct Budgeted<'m> {
    pub model: &'m dyn Model,
    pub ledger: &'m Ledger,
    pub budget: Budget,
    /// Time zone of the operator, which decides where a day begins.
    pub zone: TimeZone,
    /// Digest of the model's settings: with other settings, a refusal no longer counts.
    pub settings: [u8; 16],
    /// Name under which the calls are audited.
    pub actor: String,
    /// Whether the question is about material older than a day.
    pub backlog: bool,
}

impl Budgeted<'_> {
    /// Returns the same model for questions about material of this time.
    pub fn about(&self, at: Option<Millis>) -> Self {
        let now = self.ledger.now();
        Budgeted { backlog: at.is_some_and(|at| now.saturating_sub(at) > BACKLOG_MS), ..self.clone() }
    }

    /// Returns the calls and tokens used today.
    pub fn spent(&self) -> Result<Spent> {
        self.ledger.read(|tx| model_calls::spent(tx, &day(self.ledger.now(), &self.zone)))
    }

    /// Returns the time at which the next day begins.
    pub fn tomorrow(&self) -> Millis {
        let now = jiff::Timestamp::from_millisecond(self.ledger.now()).unwrap_or_default();
        let today = now.to_zoned(self.zone.clone());
        let tomorrow = today.tomorrow().and_then(|day| day.start_of_day());
        tomorrow.map_or(self.ledger.now() + DAY_MS, |at| at.timestamp().as_millisecond())
    }

    /// Returns why the model is not asked now, or `None` if it may be asked.
    pub fn pause(&self) -> Result<Option<Pause>> {
        let now = self.ledger.now();
        self.ledger.read(|tx| {
            if let Some(pause) = rest(tx, &self.settings, now)? {
                return Ok(Some(pause));
            }
            let spent = model_calls::spent(tx, &day(now, &self.zone))?;
            Ok((spent.tokens >= self.budget.tokens || spent.calls >= self.budget.calls).then_some(Pause::Spent))
        })
    }

    /// Returns why some questions are not asked today. `needs`: tokens that the smallest question reserves.
    pub fn held_back(&self, needs: u64) -> Result<Option<HeldBack>> {
        let spent = self.spent()?;
        let Budget { tokens, calls } = self.budget;
        let older = (tokens / BACKLOG_SHARE, calls / BACKLOG_SHARE);
        Ok(if spent.tokens.saturating_add(needs) > tokens {
            Some(HeldBack::LittleLeft)
        } else if is_nearly_spent(&spent, &self.budget) {
            Some(HeldBack::ForSummaries)
        } else if older.0 < needs || older.1 == 0 {
            Some(HeldBack::OlderNever { tokens: needs * BACKLOG_SHARE, calls: BACKLOG_SHARE })
        } else if spent.backlog_tokens.saturating_add(needs) > older.0 || spent.backlog_calls >= older.1 {
            Some(HeldBack::Older)
        } else {
            None
        })
    }

    /// Returns why a question is not asked, or `None` if it may be. `needs`: the most tokens it may use.
    fn withheld(&self, tx: &Read, purpose: Purpose, needs: u64) -> Result<Option<String>> {
        // A person waits for a trial, which shows whether the model works again, so no limit applies.
        if purpose == Purpose::Trial {
            return Ok(None);
        }
        let now = self.ledger.now();
        match rest(tx, &self.settings, now)? {
            Some(Pause::Refused { why }) => return Ok(Some(format!("it is off: {why}"))),
            Some(Pause::Rests { why, .. }) => return Ok(Some(format!("it rests: {why}"))),
            _ => {}
        }
        let spent = model_calls::spent(tx, &day(now, &self.zone))?;
        let Budget { tokens, calls } = self.budget;
        if spent.calls >= calls || spent.tokens + needs > tokens {
            return Ok(Some("the budget of the day is spent".into()));
        }
        if is_nearly_spent(&spent, &self.budget) && !matches!(purpose, Purpose::Summary | Purpose::Compaction) {
            return Ok(Some("what is left of the day's budget is for summaries".into()));
        }
        let most = (tokens / BACKLOG_SHARE, calls / BACKLOG_SHARE);
        if self.backlog && (spent.backlog_tokens + needs > most.0 || spent.backlog_calls >= most.1) {
            return Ok(Some("the part of the day's budget for older material is spent".into()));
        }
        Ok(None)
    }

    /// Reserves a call. The inner error says why the call is not made.
    fn reserve(&self, ask: &Ask) -> Result<std::result::Result<i64, String>> {
        let tokens_in = tokens(ask.system) + tokens(ask.input) + tokens(&ask.schema.to_string());
        let (tokens_in, tokens_out) = reserved(tokens_in as u64, ask.max_output as u64);
        let needs = tokens_in + tokens_out;
        // The limits are checked without a write first, so that a withheld call causes no audit entry.
        if let Some(why) = self.ledger.read(|tx| self.withheld(tx, ask.purpose, needs))? {
            return Ok(Err(why));
        }
        self.ledger.write(Audit::new(&self.actor, "model.ask"), |tx| {
            if let Some(why) = self.withheld(tx, ask.purpose, needs)? {
                tx.note("withheld", why.as_str());
                return Ok(Err(why));
            }
            let now = tx.now();
            let new = NewCall {
                day: &day(now, &self.zone),
                purpose: ask.purpose,
                model: self.model.name(),
                settings: &self.settings,
                backlog: self.backlog,
                tokens_in,
                tokens_out,
                until: now + LOST_MS,
            };
            let call_no = model_calls::reserve(tx, &new)?;
            tx.note("call", call_no);
            tx.note("model", self.model.name());
            tx.note("purpose", ask.purpose.name());
            Ok(Ok(call_no))
        })
    }

    fn settle(&self, call_no: i64, settled: &Settled) -> Result<()> {
        self.ledger.write(Audit::new(&self.actor, "model.answer"), |tx| {
            tx.note("call", call_no);
            tx.note("outcome", settled.outcome.name());
            let mut settled = settled.clone();
            if settled.outcome == Outcome::Later && settled.again_at.is_none() {
                let before = model_calls::newest(tx, &self.settings, DOUBLED)?;
                let failed = before.iter().take_while(|call| call.outcome == Outcome::Later).count();
                settled.again_at = Some(tx.now().saturating_add((PAUSE_MS << failed).min(REST_MS)));
            }
            model_calls::settle(tx, call_no, &settled)
        })
    }
}

impl Model for Budgeted<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn answer(&self, ask: &Ask) -> std::result::Result<Answer, Failure> {
        let call_no = match self.reserve(ask) {
            Ok(Ok(call_no)) => call_no,
            Ok(Err(why)) => return Err(Failure::Withheld(why)),
            // If the reservation cannot be stored, the model is not asked, because the limit would not hold.
            Err(e) => return Err(Failure::Withheld(format!("its calls cannot be counted: {e}"))),
        };
        let began = Instant::now();
        let (answer, used) = self.model.counted(ask);
        let ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        let settled = settled(&answer, used, ms, self.ledger.now());
        match (self.settle(call_no, &settled), answer) {
            // If the call cannot be settled now, the reserved tokens stay spent.
            (_, Ok(answer)) => Ok(answer),
            (_, Err(failure)) => Err(failure),
        }
    }
}

fn settled(answer: &std::result::Result<Answer, Failure>, used: Option<Used>, ms: i64, now: Millis) -> Settled {
    let (outcome, again_at, why) = match answer {
        Ok(_) => (Outcome::Answered, None, None),
        Err(failure) => {
            let (outcome, again_at) = match failure {
                Failure::Unusable(_) => (Outcome::Unusable, None),
                Failure::Later { after, .. } | Failure::Unsent { after, .. } => {
                    // To ask again at once would be no pause.
                    let pause = after
                        .filter(|after| !after.is_zero())
                        .map(|after| i64::try_from(after.as_millis()).unwrap_or(REST_MS));
                    (Outcome::Later, pause.map(|ms| now.saturating_add(ms)))
                }
                Failure::Refused(_) | Failure::Withheld(_) => (Outcome::Refused, None),
            };
            (outcome, again_at, Some(failure.to_string()))
        }
    };
    let is_unsent = matches!(answer, Err(Failure::Unsent { .. }));
    let never_reached = is_unsent || (matches!(outcome, Outcome::Later | Outcome::Refused) && ms < NEVER_REACHED_MS);
    let nothing = never_reached.then_some(0);
    let answer = answer.as_ref().ok();
    if let Some(used) = used {
        let (tokens_in, tokens_out) = (Some(used.tokens_in), Some(used.tokens_out));
        return Settled { outcome, requests: used.requests, tokens_in, tokens_out, cost: used.cost, ms, again_at, why };
    }
    Settled {
        outcome,
        requests: u64::from(!never_reached),
        tokens_in: answer.and_then(|a| a.tokens_in).or(nothing),
        // Some providers report no usage: the tokens are then counted from the text.
        tokens_out: answer.map(|a| a.tokens_out.unwrap_or(tokens(&a.text) as u64)).or(nothing),
        cost: answer.and_then(|a| a.cost),
        ms,
        again_at,
        why,
    }
}

/// Whether what is left of a day's budget is for summaries.
fn is_nearly_spent(spent: &Spent, budget: &Budget) -> bool {
    let nearly = |spent: u64, most: u64| spent.saturating_mul(100) >= most.saturating_mul(NEARLY_SPENT);
    nearly(spent.calls, budget.calls) || nearly(spent.tokens, budget.tokens)
}

/// Returns why a model with these settings refuses, so that it is not asked until somebody acts.
pub fn refusal(tx: &Read, settings: &[u8], now: Millis) -> Result<Option<String>> {
    Ok(match rest(tx, settings, now)? {
        Some(Pause::Refused { why }) => Some(why),
        _ => None,
    })
}

/// Returns the sentence that says why a model is not asked until somebody acts, and what to do.
pub fn not_asked(why: &str) -> String {
    format!("the language model is not asked: {why}; once that is mended: {}", See::new("model test"))
}

/// Returns the pause of a model that its newest calls require.
fn rest(tx: &Read, settings: &[u8], now: Millis) -> Result<Option<Pause>> {
    let newest = model_calls::newest(tx, settings, FAILURES)?;
    let Some(last) = newest.first() else { return Ok(None) };
    let why = || last.why.clone().unwrap_or_default();
    if last.outcome == Outcome::Refused {
        return Ok(Some(Pause::Refused { why: why() }));
    }
    let all_failed =
        newest.len() == FAILURES && newest.iter().all(|c| matches!(c.outcome, Outcome::Unusable | Outcome::Later));
    let until = last.again_at.max(all_failed.then_some(last.at + REST_MS));
    Ok(until.filter(|until| *until > now).map(|until| Pause::Rests { until, why: why() }))
}

/// Returns the day of a time as it is stored: `2026-11-23`.
fn day(at: Millis, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    at.to_zoned(zone.clone()).date().to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_question_that_was_not_sent_costs_nothing_however_long_it_took() {
        let after = Some(Duration::from_secs(3_600));
        let why = || "its key cannot be read".to_owned();
        let of = |failure: Failure| settled(&Err(failure), None, 3 * NEVER_REACHED_MS, 1_000);
        let unsent = of(Failure::Unsent { why: why(), after });
        assert_eq!((unsent.outcome, unsent.tokens_in, unsent.tokens_out), (Outcome::Later, Some(0), Some(0)));
        assert_eq!(unsent.again_at, Some(3_601_000));
        // A request that failed after this time may have reached the model, so its reserved tokens stay spent.
        let later = of(Failure::Later { why: why(), after });
        assert_eq!((later.outcome, later.tokens_in, later.tokens_out), (Outcome::Later, None, None));
    }
}
