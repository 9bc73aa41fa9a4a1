//! Importance of stored messages, and the vectors that are dropped because of it.

use super::Instance;
use crate::clock::rfc3339;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::judge::decay::{self, Faded, Policy};
use crate::judge::{self, Category, Judged, Weights, learned, score};
use crate::ledger::blocks::Opener;
use crate::report::judge::{
    CategoryReport, CategoryWords, ChunkReport, DecayReport, FadedReport, JudgeReport, MessageReport,
};
use crate::scope::{AgentId, TurnId};
use crate::transcript::read;
use crate::tree::AssistantHome;

/// Largest number of chunks whose vectors are dropped or made again in one pass of work.
const AT_ONCE: usize = 500;

impl Instance {
    fn judged_by(&self) -> Result<&(Weights, Policy)> {
        self.settings.judge.as_ref().map_err(Error::from)
    }

    /// Judges new chunks, for every agent that has visible files.
    pub(super) fn judge_all(&self, actor: &str) -> Result<()> {
        let (weights, _) = self.judged_by()?;
        for agent in self.agents()? {
            if let Some(at) = self.assistant_as_it_is(&agent, actor)? {
                judge::catch_up(&at, weights, None)?;
            }
        }
        Ok(())
    }

    /// Drops the vectors that the policy lets go, and makes those again that it no longer lets go. Returns the number of
    /// agents for which it did.
    pub(super) fn fade_all(&self, index: &mut Index, actor: &str) -> Result<u64> {
        let (_, policy) = self.judged_by()?;
        let mut changed = 0;
        for agent in self.agents()? {
            let Some(at) = self.assistant_as_it_is(&agent, actor)? else { continue };
            let gone = decay::dropped(&at)?;
            if !policy.on && gone.is_empty() {
                continue;
            }
            let faded = if policy.on { decay::faded_chunks(&at, policy)? } else { Vec::new() };
            let goes: Vec<&Judged> = faded.iter().filter(|f| f.spared_by.is_none()).map(|f| &f.chunk).collect();
            let is_in = |all: &[&Judged], one: &Judged| {
                all.iter().any(|c| c.turns == one.turns && c.session_no == one.session_no)
            };
            let all: Vec<&Judged> = gone.iter().collect();
            let mut new: Vec<&Judged> = goes.iter().filter(|c| !is_in(&all, c)).take(AT_ONCE).copied().collect();
            // An index that was made again has the vectors of all chunks.
            let known: Vec<&Judged> = goes.iter().filter(|c| is_in(&all, c)).copied().collect();
            for some in known.chunks(AT_ONCE) {
                if index.having_vectors(at.agent_no, &decay::turns(&at, some)?)? > 0 {
                    new.extend(some);
                    break;
                }
            }
            let back: Vec<&Judged> = gone.iter().filter(|c| !is_in(&goes, c)).take(AT_ONCE).collect();
            let mut done = false;
            if !new.is_empty() && index.drop_vectors(at.agent_no, &decay::turns(&at, &new)?)?.is_some() {
                done = true;
                at.write("vectors.drop", |tx| {
                    tx.note("chunks", new.len());
                    decay::record(tx, at.agent_no, &new, true)
                })?;
            }
            if !back.is_empty() && index.make_vectors_again(&self.ledger, at.agent_no, &decay::turns(&at, &back)?)? {
                done = true;
                at.write("vectors.make", |tx| {
                    tx.note("chunks", back.len());
                    decay::record(tx, at.agent_no, &back, false)
                })?;
            }
            changed += u64::from(done);
        }
        Ok(changed)
    }

    fn judged_home(&self, agent: &AgentId, actor: &str) -> Result<AssistantHome<'_>> {
        self.known_agent(agent)?;
        let at = self.assistant(agent, actor)?;
        judge::catch_up(&at, &self.judged_by()?.0, None)?;
        Ok(at)
    }

    /// Reports the importance of each category, what was learned from decisions, and, for `turn`, the judgement of its
    /// chunk.
    pub fn explain_judge(&self, agent: &AgentId, actor: &str, turn: Option<TurnId>) -> Result<JudgeReport> {
        let at = self.judged_home(agent, actor)?;
        let (weights, _) = self.judged_by()?;
        let learned = learned::learned(&at)?;
        let counts = at.read(|tx| judge::counts(tx, at.agent_no, weights))?;
        let of = |category: Category| {
            let (votes, importance) = (learned.votes[category as usize], weights.of(category));
            let (chunks, kept) = counts.get(&Some(category)).copied().unwrap_or_default();
            CategoryReport {
                category,
                importance,
                keep: weights.keep_of(Some(category)),
                learned_importance: learned.shifted(category, importance),
                offset: (votes.offset() * 100.0).round() / 100.0,
                accepted: votes.accepted,
                rejected: votes.rejected,
                forgotten: votes.forgotten,
                chunks,
                kept,
            }
        };
        Ok(JudgeReport {
            keep: weights.keep_plain,
            by_model: at.read(|tx| judge::by_model(tx, at.agent_no))?,
            model_due: match self.settings.model {
                Some(_) => at.read(|tx| judge::model::waiting(tx, at.agent_no, at.ledger.now()))?,
                None => 0,
            },
            categories: Category::ALL.map(of).to_vec(),
            plain_chunks: counts.get(&None).map_or(0, |(chunks, _)| *chunks),
            chunk: turn.map(|turn| self.explain_chunk(&at, weights, turn)).transpose()?,
        })
    }

    fn explain_chunk(&self, at: &AssistantHome, weights: &Weights, turn: TurnId) -> Result<ChunkReport> {
        let learned = learned::learned(at)?;
        at.read(|tx| {
            let opener = Opener::default();
            let said = read::turn(tx, &opener, at.agent_no, turn)?;
            let chunk = judge::of_turn(tx, at.agent_no, turn)?.ok_or_else(|| {
                Error::not_found(format!("{turn} is not judged yet"))
                    .hint("its session goes on; a chunk is judged after ten messages or when it is quiet")
            })?;
            let messages = judge::explained(tx, &opener, &chunk, weights)?;
            let asked = messages.iter().find(|(id, _)| *id == turn);
            let decides = messages.iter().max_by_key(|(_, explained)| score::rank(&explained.verdict));
            Ok(ChunkReport {
                session: said.session.as_str().to_owned(),
                first_turn: chunk.turns.0.to_string(),
                last_turn: chunk.turns.1.to_string(),
                category: chunk.category,
                importance: chunk.importance,
                plain: chunk.plain,
                model: match self.settings.model {
                    Some(_) => Some(judge::model::standing(tx, at.agent_no, &chunk, at.ledger.now())?),
                    None => None,
                },
                category_importance: chunk.category.map(|c| weights.of(c)),
                offset: chunk.category.map(|c| (learned.votes[c as usize].offset() * 100.0).round() / 100.0),
                keep: weights.keep_of(chunk.category),
                kept: chunk.importance >= weights.keep_of(chunk.category),
                source: chunk.source,
                words: asked.map(|(_, explained)| explained.verdict.words.clone()).unwrap_or_default(),
                asked: asked.map(|(id, explained)| rated(*id, explained)),
                decided_by: decides.map(|(id, explained)| rated(*id, explained)),
            })
        })
    }

    /// Reports the vectors that the policy would drop, whether it is on or not.
    pub fn explain_decay(&self, agent: &AgentId, actor: &str) -> Result<DecayReport> {
        let at = self.judged_home(agent, actor)?;
        let (_, policy) = self.judged_by()?;
        let faded = decay::faded_chunks(&at, policy)?;
        let goes: Vec<&Judged> = faded.iter().filter(|f| f.spared_by.is_none()).map(|f| &f.chunk).collect();
        let index = self.index()?;
        let vectors = index.having_vectors(at.agent_no, &decay::turns(&at, &goes)?)?;
        let dropped = decay::dropped(&at)?.len() as u64;
        let Policy { on, after_days, below } = *policy;
        let chunks = faded.iter().map(|f| shown(f, policy)).collect();
        Ok(DecayReport { on, after_days, below, vectors, dropped, chunks })
    }
}

fn rated(turn: TurnId, explained: &score::Explained) -> MessageReport {
    let words =
        explained.found.iter().map(|(category, words)| CategoryWords { category: *category, words: words.clone() });
    MessageReport {
        turn: turn.to_string(),
        category: explained.verdict.category,
        importance: explained.verdict.importance,
        base: explained.base,
        more: explained.more,
        short: explained.short,
        words: words.collect(),
    }
}

fn shown(faded: &Faded, policy: &Policy) -> FadedReport {
    let chunk = &faded.chunk;
    let why = match &faded.spared_by {
        Some(id) => format!("stays: the pinned memory {id} came from it"),
        None => format!(
            "nothing said in it for {} days, and its importance {} is below {}",
            policy.after_days, chunk.importance, policy.below
        ),
    };
    FadedReport {
        session: faded.session.clone(),
        first_turn: chunk.turns.0.to_string(),
        last_turn: chunk.turns.1.to_string(),
        category: chunk.category,
        importance: chunk.importance,
        last: chunk.at.map(rfc3339),
        why,
        spared: faded.spared_by.is_some(),
    }
}
