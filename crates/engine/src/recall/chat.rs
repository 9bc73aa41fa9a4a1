//! Ranking signals for conversations between two people (RETRIEVAL.md §3.5, §4): turns of the speaker who was asked
//! about rank higher, questions lower, longer lines higher, and turns of a session with many matches higher. They do
//! not apply to sessions of programs, where a person asks and one model answers in lines of any length.

use std::collections::{HashMap, HashSet};

use rusqlite::OptionalExtension;

use super::query::Query;
use super::search::Candidate;
use crate::error::Result;
use crate::event::Role;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::ledger::codes::USER;
use crate::scope::{BlockNo, SessionNo};

/// Number of the best candidates that are reweighed; the rest keep their rank.
const LOOKED_AT: usize = 300;

/// The weights of RETRIEVAL.md, chosen on conversations 0–4 of LoCoMo.
const SPEAKER: f64 = 0.3;
const QUESTION: f64 = -0.2;
const LENGTH: f64 = 0.2;
const SESSION: f64 = 0.2;
const SESSION_BEST: usize = 3;

/// Mean bytes of a word and its space.
const WORD_BYTES: f64 = 5.5;

/// The sessions that are conversations between two people.
#[derive(Default)]
pub(super) struct Chats(HashSet<SessionNo>);

impl Chats {
    /// Finds the conversations between two people among the sessions of the candidates: two take part, and neither is a
    /// model or a tool. A session in which the program has a name of its own ("user" and "aider") is not one of these.
    pub fn of(tx: &Read, candidates: &[Candidate]) -> Result<Chats> {
        let mut people = tx.prepare_cached(&format!(
            "SELECT count(*) = 2 AND NOT EXISTS (
               SELECT 1 FROM turns WHERE session_no = ?1 AND speaker_no IS NOT NULL AND role > {USER})
             FROM participants WHERE session_no = ?1"
        ))?;
        let mut known: HashMap<SessionNo, bool> = HashMap::new();
        for candidate in candidates {
            let two = match known.get(&candidate.session_no) {
                Some(two) => *two,
                None => people.query_row([candidate.session_no], |r| r.get(0))?,
            };
            known.insert(candidate.session_no, two && candidate.role == Role::User);
        }
        Ok(Chats(known.into_iter().filter_map(|(no, two)| two.then_some(no)).collect()))
    }

    pub fn has(&self, session_no: SessionNo) -> bool {
        self.0.contains(&session_no)
    }
}

/// Adds these signals to the candidates from conversations between two people. `ranked` is sorted best first. The mean
/// of all gains is subtracted again, so that a line of a chat does not outrank an answer in a session of a program only
/// for being in a chat.
pub(super) fn weigh(tx: &Read, opener: &Opener, query: &Query, chats: &Chats, ranked: &mut [Candidate]) -> Result<()> {
    if chats.0.is_empty() {
        return Ok(());
    }
    let mut turn = tx.prepare_cached(
        "SELECT n.name, block_no, text_offset, text_length FROM turns LEFT JOIN names n ON n.name_no = speaker_no
         WHERE turn_no = ?1",
    )?;
    let asked_about = match query.people.as_slice() {
        [one] => Some(one.name.as_str()),
        several => several.first().filter(|one| several.iter().all(|p| p.name == one.name)).map(|p| p.name.as_str()),
    };
    let looked_at = ranked.len().min(LOOKED_AT);
    let mut best: HashMap<SessionNo, Vec<f64>> = HashMap::new();
    let (mut added, mut weighed) = (0.0, 0usize);
    for candidate in &mut ranked[..looked_at] {
        if !chats.has(candidate.session_no) {
            continue;
        }
        let row: Option<(Option<String>, BlockNo, i64, i64)> =
            turn.query_row([candidate.turn_no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))).optional()?;
        let Some((speaker, block, offset, length)) = row else { continue };
        let alone = candidate.score;
        if asked_about.is_some() && speaker.as_deref() == asked_about {
            candidate.score += SPEAKER;
        }
        let last = length.min(4);
        let end = opener.slice(tx, block, offset + length - last, last).unwrap_or_default();
        if end.trim_ascii_end().ends_with(b"?") {
            candidate.score += QUESTION;
        }
        candidate.score += LENGTH * (1.0 + length as f64 / WORD_BYTES).ln();
        (added, weighed) = (added + candidate.score - alone, weighed + 1);
        best.entry(candidate.session_no).or_default().push(candidate.score);
    }
    for scores in best.values_mut() {
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.truncate(SESSION_BEST);
    }
    for candidate in &mut ranked[..looked_at] {
        if let Some(scores) = best.get(&candidate.session_no) {
            let gain = SESSION * scores.iter().sum::<f64>() / scores.len() as f64;
            (added, candidate.score) = (added + gain, candidate.score + gain);
        }
    }
    if ranked[..looked_at].iter().any(|c| !chats.has(c.session_no)) {
        let mean = added / weighed.max(1) as f64;
        ranked[..looked_at].iter_mut().filter(|c| chats.has(c.session_no)).for_each(|c| c.score -= mean);
    }
    Ok(())
}
