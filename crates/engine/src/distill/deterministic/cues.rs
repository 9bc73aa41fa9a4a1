//! Cues: phrases that show the function of a sentence, in English, German, French and Spanish. The phrases are in
//! `text/language/cues.txt`, one list for each cue.

use std::sync::LazyLock;

use crate::text::language::{CUES, section};
use crate::text::patterns::Phrases;
use crate::text::words::Word;

/// The function of a phrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cue {
    /// "please", "also", "ok": without meaning of its own.
    Lead,
    /// "and also", "by the way": an addition.
    Besides,
    Negation,
    /// "if", "maybe", "would".
    Hypothesis,
    /// "he said", "according to".
    Reported,
    /// "can you", "I want", "we need to".
    Request,
    /// A verb for work that is asked for.
    Task,
    /// "don't", "never", "always", "make sure": a directive at the beginning of a clause.
    Directive,
    /// "must", "have to", "I'd prefer": a directive in any position.
    Rule,
    /// "forget what I said about".
    Retraction,
    /// A stated choice.
    Decision,
    /// A decision if the user says it: "let's use".
    Choice,
    /// Followed by what was rejected: "instead of", "drop".
    Rejected,
    /// Work that is done.
    Done,
    /// A participle that means done at the beginning of a statement: "Implemented …".
    Participle,
    /// Work that begins: "let me", "now".
    Start,
    /// Work for later.
    Later,
    /// What comes next.
    Next,
    Blocked,
    /// "the problem was", "it turns out".
    Finding,
    /// A question to the user.
    Ask,
}

/// A cue and the words it spans.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    pub cue: Cue,
    pub from: usize,
    pub to: usize,
}

static PHRASES: LazyLock<Phrases<Cue>> =
    LazyLock::new(|| Phrases::labelled(LISTS.iter().map(|(cue, list)| (*cue, section(CUES, list)))));

/// All cues of a sentence outside its quotations, in order.
pub fn find(words: &[Word]) -> Vec<Hit> {
    let phrases = &*PHRASES;
    (0..words.len())
        .flat_map(|from| phrases.begin(&words[from..]).map(move |(cue, taken)| Hit { cue, from, to: from + taken }))
        .collect()
}

const LISTS: [(Cue, &str); 21] = [
    (Cue::Lead, "lead"),
    (Cue::Besides, "besides"),
    (Cue::Negation, "negation"),
    (Cue::Hypothesis, "hypothesis"),
    (Cue::Reported, "reported"),
    (Cue::Request, "request"),
    (Cue::Task, "task"),
    (Cue::Directive, "directive"),
    (Cue::Rule, "rule"),
    (Cue::Retraction, "retraction"),
    (Cue::Decision, "decision"),
    (Cue::Choice, "choice"),
    (Cue::Rejected, "rejected"),
    (Cue::Done, "done"),
    (Cue::Participle, "participle"),
    (Cue::Start, "start"),
    (Cue::Later, "later"),
    (Cue::Next, "next"),
    (Cue::Blocked, "blocked"),
    (Cue::Finding, "finding"),
    (Cue::Ask, "ask"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::language::sections;

    #[test]
    fn every_list_is_of_a_cue() {
        let names: Vec<&str> = sections(CUES).map(|(name, _)| name).collect();
        assert_eq!(names, LISTS.map(|(_, name)| name));
    }
}
