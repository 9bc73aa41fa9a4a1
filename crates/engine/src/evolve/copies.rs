//! Finds messages that came into several sessions by copying: a person who pastes a text twice says its sentences once, so
//! that evolve proposes them instead of writing them.

use std::collections::BTreeMap;

use super::candidate::Stored;
use super::reader::{Kind, TOLD};
use crate::error::Result;
use crate::event::unwrapped;
use crate::ledger::blocks::Opener;
use crate::scope::SessionNo;
use crate::text::plain::lower;
use crate::text::similarity::Bag;
use crate::transcript::read;
use crate::tree::AssistantHome;

/// Minimum number of words around a sentence from which a similar message counts as a copy. People say the same sentence
/// in nearly the same words, but not the same story around it.
const AROUND: usize = 3;

/// The message of a finding, as it is compared.
struct Message {
    words: String,
    bag: Bag,
    /// Number of its words beside the sentence.
    around: usize,
}

impl Message {
    fn of(text: &str, sentence: &str) -> Message {
        let words_of = |text: &str| {
            let mark = |c: char| !c.is_alphanumeric();
            let all = text.split_whitespace().map(|w| lower(w.trim_matches(mark)));
            all.filter(|w| !w.is_empty()).collect::<Vec<_>>()
        };
        let (words, said) = (words_of(text), words_of(sentence).len());
        Message { around: words.len().saturating_sub(said), words: words.join(" "), bag: Bag::of(text) }
    }

    fn is_copy_of(&self, other: &Message) -> bool {
        self.words == other.words || self.around.min(other.around) >= AROUND && self.bag.is_like(&other.bag)
    }
}

/// Sets the source of each finding in a person's words: of messages that are copies of each other, the oldest.
pub(super) fn mark(at: &AssistantHome, findings: &mut BTreeMap<String, Vec<Stored>>) -> Result<()> {
    for all in findings.values_mut() {
        let mut groups: BTreeMap<(&'static str, String, String), Vec<usize>> = BTreeMap::new();
        for (no, stored) in all.iter().enumerate() {
            let found = &stored.finding;
            if found.times > 0 && (found.kind == Kind::Fact || found.kind == Kind::Blocker && found.value == TOLD) {
                let key = (found.kind.name(), found.subject.clone(), found.value.clone());
                groups.entry(key).or_default().push(no);
            }
        }
        for mut group in groups.into_values().filter(|group| group.len() > 1) {
            group.sort_by_key(|no| (all[*no].finding.at, all[*no].session_no));
            let mut seen: Vec<(SessionNo, Message)> = Vec::new();
            for no in group {
                let (found, session_no) = (&all[no].finding, all[no].session_no);
                let Some(turn) = found.turns.last().copied() else { continue };
                let turn = at.read(|tx| read::find_turn(tx, &Opener::default(), at.agent_no, turn))?;
                let Some(turn) = turn else { continue };
                let message = Message::of(unwrapped(&turn.text), &found.sentence);
                let original = seen.iter().find(|(_, earlier)| message.is_copy_of(earlier)).map(|(source, _)| *source);
                all[no].source = original.unwrap_or(session_no);
                seen.push((all[no].source, message));
            }
        }
    }
    Ok(())
}
