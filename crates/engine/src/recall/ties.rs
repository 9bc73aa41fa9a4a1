//! Orders equally good answers: the more important one by the judge's verdict comes first (R11.2).

use rusqlite::OptionalExtension;

use super::search::Candidate;
use crate::error::Result;
use crate::ledger::Read;

/// Number of the best candidates that are ordered; people rarely read further.
const BEST: usize = 50;

/// Orders candidates of equal scores by the importance of the chunk each was said in. Candidates found only by their
/// time keep the order of time, and nothing changes among ties of which one is not judged.
pub(super) fn by_importance(tx: &Read, ranked: &mut [Candidate]) -> Result<()> {
    let mut of_chunk = tx.prepare_cached(
        "SELECT importance FROM judged_chunks WHERE session_no = ?1 AND last_turn >= ?2 AND first_turn <= ?2
         ORDER BY last_turn LIMIT 1",
    )?;
    let best = ranked.len().min(BEST);
    let equal = |a: &Candidate, b: &Candidate| a.score == b.score && a.role == b.role && a.words > 0.0 && b.words > 0.0;
    for tied in ranked[..best].chunk_by_mut(equal).filter(|tied| tied.len() > 1) {
        let mut importance = Vec::with_capacity(tied.len());
        for candidate in tied.iter() {
            let found: Option<u8> =
                of_chunk.query_row((candidate.session_no, candidate.turn_no), |r| r.get(0)).optional()?;
            importance.push((candidate.turn_no, found));
        }
        if importance.iter().all(|(_, found)| found.is_some()) {
            let of = |c: &Candidate| importance.iter().find(|(no, _)| *no == c.turn_no).and_then(|(_, found)| *found);
            tied.sort_by_key(|c| std::cmp::Reverse(of(c)));
        }
    }
    Ok(())
}
