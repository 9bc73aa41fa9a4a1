//! Learns importance from people's decisions: an accepted proposal or notice is a vote for the category of the chunk it
//! came from; a rejected or dismissed one, or a forgotten memory, is a vote against it (R11.2).
//!
//! Each category has an offset in log odds: with a prior of twenty votes, half for and half against, so that a few
//! decisions change little, and limited to 2 either way. The offset is computed from the decisions and stored nowhere,
//! so that an undone decision no longer counts.

use super::{Category, of_turn};
use crate::continuity::proposal::{self, Status};
use crate::error::Result;
use crate::memory::pending;
use crate::scope::TurnId;
use crate::tree::AssistantHome;
use crate::tree::provenance::Provenance;

/// Number of votes for, and of votes against, with which each category begins.
const PRIOR: f64 = 10.0;
/// The largest offset either way, in log odds.
const MOST: f64 = 2.0;

/// The decisions about a category.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Votes {
    pub accepted: u64,
    pub rejected: u64,
    pub forgotten: u64,
}

impl Votes {
    /// Returns the offset: between −2 and 2, and 0 without decisions.
    pub fn offset(&self) -> f64 {
        let (with, against) = (self.accepted as f64, (self.rejected + self.forgotten) as f64);
        ((PRIOR + with) / (PRIOR + against)).ln().clamp(-MOST, MOST)
    }
}

/// The votes of each category, in the order of [`Category::ALL`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Learned {
    pub votes: [Votes; 9],
}

impl Learned {
    /// Returns an importance from 1 to 10, shifted by the offset of its category.
    pub fn shifted(&self, category: Category, importance: u8) -> u8 {
        let share = ((f64::from(importance) - 1.0) / 9.0).clamp(0.02, 0.98);
        let odds = (share / (1.0 - share)).ln() + self.votes[category as usize].offset();
        (1.0 + 9.0 / (1.0 + (-odds).exp())).round().clamp(1.0, 10.0) as u8
    }
}

/// Counts the decisions that people have made so far.
pub fn learned(at: &AssistantHome) -> Result<Learned> {
    at.read(|tx| {
        let mut out = Learned::default();
        let mut count = |turns: &[TurnId], vote: &dyn Fn(&mut Votes)| -> Result<()> {
            for turn in turns.iter().take(1) {
                if let Some(category) = of_turn(tx, at.agent_no, *turn)?.and_then(|judged| judged.category) {
                    vote(&mut out.votes[category as usize]);
                }
            }
            Ok(())
        };
        for (status, yes) in [(Status::Merged, true), (Status::Rejected, false)] {
            for entry in proposal::list(tx, at.agent_no, status, None)? {
                let turns = Provenance::from_value(entry.fields.get("source")).turns;
                count(&turns, &|votes| if yes { votes.accepted += 1 } else { votes.rejected += 1 })?;
            }
        }
        for notice in pending::list(tx, at.agent_no, true)? {
            let turns: Vec<TurnId> = notice.turn.into_iter().collect();
            match notice.state {
                pending::State::Accepted => count(&turns, &|votes| votes.accepted += 1)?,
                pending::State::Dismissed => count(&turns, &|votes| votes.rejected += 1)?,
                pending::State::Pending => {}
            }
        }
        let mut forgotten = tx.prepare_cached(
            "SELECT category, count(*) FROM judged_chunks j WHERE agent_no = ?1 AND category IS NOT NULL AND EXISTS
               (SELECT 1 FROM turns t WHERE t.session_no = j.session_no AND t.turn_no BETWEEN j.first_turn AND j.last_turn
                  AND t.forgotten IS NOT NULL) GROUP BY category",
        )?;
        let mut rows = forgotten.query([at.agent_no])?;
        while let Some(r) = rows.next()? {
            if let Some(category) = Category::named(&r.get::<_, String>(0)?) {
                out.votes[category as usize].forgotten += r.get::<_, i64>(1)? as u64;
            }
        }
        Ok(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_decisions_change_little_and_many_no_more_than_two() {
        let of = |accepted, rejected| Votes { accepted, rejected, forgotten: 0 }.offset();
        assert_eq!(of(0, 0), 0.0);
        assert!(of(1, 0) > 0.0 && of(1, 0) < 0.1);
        assert_eq!(of(10_000, 0), 2.0);
        assert_eq!(of(0, 10_000), -2.0);
        let mut learned = Learned::default();
        assert_eq!(learned.shifted(Category::Issue, 7), 7, "nothing decided changes nothing");
        learned.votes[Category::Issue as usize].rejected = 200;
        assert!(learned.shifted(Category::Issue, 7) <= 3);
        learned.votes[Category::Issue as usize] = Votes { accepted: 200, ..Votes::default() };
        assert!(learned.shifted(Category::Issue, 7) >= 9);
    }
}
