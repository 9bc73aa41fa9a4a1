//! Adds words that contain a word of the query: `Vorlage` finds `Rechnungsvorlage`, `refund` finds `refundTwice`. For a
//! German query this is always done, because German writes compounds as one word; for others only with words that
//! hardly occur by themselves, because every added word makes the rest count less.

use super::query::{Kind, Query, Term};
use super::terms::{TURNS, rows_with};
use crate::error::Result;
use crate::index::Index;
use crate::scope::AgentNo;
use crate::text::language::german;
use crate::text::language::stop_words::Language;

/// Least length of a word whose compounds are looked for; a shorter one is in too many other words.
const LEAST: usize = 5;

/// Least length of a word whose other spellings are looked for.
const SPELLED: usize = 4;

/// Largest number of rows of a word that hardly occurs by itself.
const FEW: i64 = 2;

/// Largest number of words added to a query.
const MOST: usize = 16;

/// Returns the query with the words that contain its own words.
pub(super) fn added(index: &Index, agent_no: AgentNo, query: &Query) -> Result<Query> {
    let mut wider = query.clone();
    let german = query.language == Language::German;
    let plain = |term: &&Term| {
        matches!(term.kind, Kind::Word)
            && !term.prefix
            && term.text.chars().count() >= SPELLED
            && term.text.chars().all(char::is_alphabetic)
    };
    for term in query.words.iter().filter(plain) {
        let word = term.text.to_lowercase();
        let few = rows_with(index, &TURNS, term, agent_no, FEW + 1)? <= FEW;
        if !german && !few {
            continue;
        }
        let mut found = Vec::new();
        let long = word.chars().count() >= LEAST;
        let forms = if german { german::forms(&word) } else { vec![word.clone()] };
        for form in forms.into_iter().filter(|_| long) {
            found.extend(index.words_with(agent_no, &form)?.into_iter().map(|text| (text, false)));
        }
        if few && !german {
            found.extend(german::spellings(&word).into_iter().map(|s| (s.text, s.prefix)));
        }
        for (text, prefix) in found {
            if wider.words.len() >= query.words.len() + MOST {
                break;
            }
            if wider.words.iter().all(|t| t.text.to_lowercase() != text || t.prefix != prefix) {
                wider.words.push(Term { text, prefix, kind: Kind::Variant });
            }
        }
    }
    Ok(wider)
}
