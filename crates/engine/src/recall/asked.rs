//! Raises turns that can answer what a question asks about; it never filters. Questions about what a person said,
//! asked, wanted or decided raise that person's turns and the answers to them; a thread named in the question raises
//! the turns in it.
//!
//! A question about what failed is also asked for the words with which failures are reported, because people say "went
//! wrong" where a program says "fatal".
//!
//! Which questions are about a person and about failures is data, in [`asked.txt`](../text/language/asked.txt) and
//! [`failures.txt`](../text/language/failures.txt).

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rusqlite::OptionalExtension;

use super::query::Query;
use super::search::Candidate;
use crate::error::Result;
use crate::event::{Role, TurnKind};
use crate::ledger::Read;
use crate::scope::RunNo;
use crate::text::language::{ASKED, FAILURES, section, sections};
use crate::text::words::runs;
use crate::thread;
use crate::transcript::{kind_from_code, role_from_code};

/// Gain of a turn of the person: `SAID` times its own score, because a turn off the point is no answer whoever said it,
/// plus `SAID_ANYHOW` on a scale where the best turn by words has 1, because a short turn has few words of a question.
const SAID: f64 = 1.0;
const SAID_ANYHOW: f64 = 0.25;

/// Gain of an answer, as a share of its own score, if its prompt was found too.
const ANSWER: f64 = 0.25;

/// Gain of a turn in a thread that the question names.
const NAMED: f64 = 0.3;

/// Number of the best candidates that are raised; the rest keep their rank.
const LOOKED_AT: usize = 200;

/// Largest number of words that a `~` matches.
const GAP: usize = 8;

/// Largest number of words of a question that are examined.
const WORDS: usize = 200;

/// An element of a phrase.
enum Piece {
    /// One of these words; with `true`, any word that begins with it.
    Word(Vec<(&'static str, bool)>),
    Gap,
}

/// The phrases of a file, and those of scripts without spaces between words, which may be anywhere in a text.
struct Phrases {
    spaced: Vec<Vec<Piece>>,
    unspaced: Vec<&'static str>,
}

impl Phrases {
    fn of(file: &'static str) -> Phrases {
        let lists = sections(file).filter(|(name, _)| !matches!(*name, "unspaced" | "reports"));
        let lines = lists.flat_map(|(_, list)| list.lines()).filter(|line| !line.trim().is_empty());
        let spaced = lines.map(|line| line.split_whitespace().map(piece).collect()).collect();
        Phrases { spaced, unspaced: section(file, "unspaced").split_whitespace().collect() }
    }

    /// Returns the words of a text that match a phrase, in lower case; `None` if no phrase occurs.
    fn found(&self, text: &str) -> Option<Vec<String>> {
        let words: Vec<String> = runs(text, &[]).take(WORDS).map(|(_, word)| word.to_lowercase()).collect();
        let unspaced = self.unspaced.iter().filter(|phrase| text.contains(**phrase));
        let mut found: Vec<String> = unspaced.map(|phrase| (*phrase).to_owned()).collect();
        for at in 0..words.len() {
            found.extend(self.spaced.iter().filter_map(|phrase| stands(phrase, &words[at..])).flatten());
        }
        (!found.is_empty()).then_some(found)
    }
}

static OF_PERSON: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(ASKED));
static OF_FAILURE: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(FAILURES));

fn piece(text: &'static str) -> Piece {
    if text == "~" {
        return Piece::Gap;
    }
    Piece::Word(text.split('|').map(|word| word.strip_suffix('*').map_or((word, false), |stem| (stem, true))).collect())
}

/// Returns the words by which a text asks what a person said, asked, wanted or decided, in lower case; `None` if it
/// does not ask that.
pub(super) fn about_person(text: &str) -> Option<Vec<String>> {
    OF_PERSON.found(text)
}

/// Returns the words with which failures are reported, if a text asks what failed.
pub(super) fn reports_of_failure(text: &str) -> impl Iterator<Item = &'static str> {
    let asks = OF_FAILURE.found(text).is_some();
    section(FAILURES, "reports").split_whitespace().filter(move |_| asks)
}

/// Returns the words that match a phrase at the beginning of `words`, without those in its gaps; `None` if the phrase
/// does not begin here.
fn stands(phrase: &[Piece], words: &[String]) -> Option<Vec<String>> {
    match (phrase, words) {
        ([], _) => Some(Vec::new()),
        ([Piece::Gap, rest @ ..], _) => (0..=GAP.min(words.len())).find_map(|skip| stands(rest, &words[skip..])),
        (_, []) => None,
        ([Piece::Word(any), rest @ ..], [word, behind @ ..]) => {
            let fits = |(text, begins): &(&str, bool)| if *begins { word.starts_with(text) } else { word == text };
            let mut found = any.iter().any(fits).then(|| stands(rest, behind))??;
            found.push(word.clone());
            Some(found)
        }
    }
}

/// Raises the candidates the query asks for. The caller sorts them.
pub(super) fn weigh(tx: &Read, query: &Query, ranked: &mut [Candidate]) -> Result<()> {
    if !query.by_person && query.threads.is_empty() {
        return Ok(());
    }
    let mut statement = tx.prepare_cached("SELECT role, kind, run_no FROM turns WHERE turn_no = ?1")?;
    let mut thread = tx.prepare_cached("SELECT thread_no FROM run_threads WHERE run_no = ?1")?;
    let mut threads: HashMap<RunNo, bool> = HashMap::new();
    let looked_at = ranked.len().min(LOOKED_AT);
    let mut asked: HashSet<RunNo> = HashSet::new();
    let mut answers = Vec::new();
    for (n, candidate) in ranked[..looked_at].iter_mut().enumerate() {
        let row: Option<(i64, i64, RunNo)> =
            statement.query_row([candidate.turn_no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).optional()?;
        let Some((role, kind, run_no)) = row else { continue };
        if !query.threads.is_empty() {
            let named = match threads.get(&run_no) {
                Some(named) => *named,
                None => {
                    let no = thread.query_row([run_no], |r| r.get(0)).optional()?;
                    let no = no.map(|no| thread::canonical(tx, no)).transpose()?;
                    let named = no.is_some_and(|no| query.threads.contains(&no));
                    threads.insert(run_no, named);
                    named
                }
            };
            candidate.score += NAMED * f64::from(u8::from(named));
        }
        if !query.by_person || kind_from_code(kind) != TurnKind::Message {
            continue;
        }
        match role_from_code(role) {
            Role::User => {
                asked.insert(run_no);
                candidate.score += SAID * candidate.score + SAID_ANYHOW;
            }
            Role::Assistant => answers.push((n, run_no)),
            _ => {}
        }
    }
    for (n, _) in answers.into_iter().filter(|(_, run_no)| asked.contains(run_no)) {
        ranked[n].score += ANSWER * ranked[n].score;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_what_a_person_said() {
        for text in [
            "what did I say about the cache?",
            "Which colour did I ask for?",
            "who decided to drop redis",
            "What was my objection to the plan?",
            "What annoyed me about the first draft?",
            "did it matter to me that the tests are slow",
            "which database did we decide on",
            "was habe ich zu den Migrationen gesagt",
            "Was hatte ich mir zum Layout gewünscht?",
            "wer hat das entschieden?",
            "Welche Farbe wollte ich?",
            "qu'est-ce que j'ai dit sur le cache ?",
            "Quelle couleur ai-je demandée, et qui a décidé ?",
            "¿qué dije sobre la caché?",
            "¿Quién decidió quitar redis?",
            "cosa ho detto sulla cache?",
            "我為什麼不同意這個計畫？",
            "誰が決めた？",
        ] {
            assert!(about_person(text).is_some(), "{text}");
        }
        for text in [
            "how do I run the tests?",
            "can I delete the folder",
            "why is my build red",
            "who is Caroline",
            "wie starte ich den Server?",
            "warum habe ich hier einen Fehler",
            "comment puis-je lancer les tests ?",
            "¿cómo ejecuto las pruebas?",
            "I",
            "",
        ] {
            assert!(about_person(text).is_none(), "{text}");
        }
    }
}
