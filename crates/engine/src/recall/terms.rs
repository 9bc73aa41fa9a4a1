//! Shared by the searches of turns and of files: which words of a query are worth their cost, what share of the query a
//! row contains, and which terms occur in a plain text.

use std::collections::HashMap;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::query::{Query, Term};
use crate::clock::Millis;
use crate::error::Result;
use crate::index::{Index, RowId};
use crate::scope::AgentNo;

/// A full-text table and its searchable columns.
pub(super) struct Table {
    pub name: &'static str,
    pub words: &'static str,
}

pub(super) const TURNS: Table = Table { name: "fts", words: "text" };
pub(super) const FILES: Table = Table { name: "files_fts", words: "{title text}" };

/// Largest number of rows the engine may score for one query, rarest terms first: a tenth of all, within these bounds.
/// A row costs about 1 µs (measured). This applies to files, which are few; turns are scored in memory
/// ([`super::bm25`]) unless the posting lists cannot be read.
const ROW_BUDGET: std::ops::RangeInclusive<i64> = 10_000..=32_000;

/// A term in more than this share of the rows is left out, if there are others.
pub(super) const FREQUENT_SHARE: f64 = 0.25;

/// Below this many rows, frequency says nothing about a word.
pub(super) const FEW_ROWS: i64 = 500;

/// The share of its score a turn loses if it has next to nothing of the query: with BM25 alone, one rare word in a
/// short line beats the turn that has all words.
const COVERAGE: f64 = 0.6;

/// Gain of a turn in a time the query mentions, as a share of the best score (RETRIEVAL: .4, +.7 R@10).
pub(super) const DATE: f64 = 0.4;

/// A query that takes longer is interrupted and reports that.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// Returns the first and last millisecond allowed by both query and filter.
pub(super) fn within(
    limit: Option<(Millis, Millis)>,
    since: Option<Millis>,
    until: Option<Millis>,
) -> (Option<Millis>, Option<Millis>) {
    let Some((from, to)) = limit else { return (since, until) };
    let from = (from > Millis::MIN).then_some(from);
    let to = (to < Millis::MAX).then_some(to);
    (since.into_iter().chain(from).max(), until.into_iter().chain(to).min())
}

/// A term and its frequency in the index.
pub(super) struct Weighed {
    pub term: Term,
    pub rows: i64,
}

/// Counts how often each word occurs and drops words that cost much and distinguish little.
/// `all`: the agent's rows. A word whose count was interrupted at the deadline is left out.
pub(super) fn weigh(
    conn: &Connection,
    table: &Table,
    query: &Query,
    range: (i64, i64),
    all: i64,
    left_out: &mut Vec<String>,
    cut_short: &mut bool,
) -> Result<Vec<Weighed>> {
    // Counting stops at the most rows that may be scored: beyond it the exact frequency does not matter, and counting
    // would cost as much as scoring.
    let mut count = conn.prepare_cached(&format!(
        "SELECT count(*) FROM (SELECT rowid FROM {0} WHERE {0} MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT ?4)",
        table.name
    ))?;
    let mut weighed = Vec::new();
    for term in &query.words {
        let expression = format!("{} : {}", table.words, term.expression());
        match count.query_row(params![expression, range.0, range.1, ROW_BUDGET.end() + 1], |r| r.get(0)) {
            Ok(rows) => weighed.push(Weighed { term: term.clone(), rows }),
            Err(e) if interrupted(&e) => *cut_short = true,
            Err(e) => return Err(e.into()),
        }
    }
    weighed.sort_by_key(|w| w.rows);
    let budget = (all / 10).clamp(*ROW_BUDGET.start(), *ROW_BUDGET.end());
    let mut kept: Vec<Weighed> = Vec::new();
    let mut sum = 0i64;
    for word in weighed {
        let frequent = all > FEW_ROWS && word.rows as f64 > all as f64 * FREQUENT_SHARE;
        let informative = kept.iter().any(|k| k.rows > 0);
        if informative && (frequent || sum + word.rows > budget) {
            left_out.push(word.term.text.clone());
            continue;
        }
        sum += word.rows;
        kept.push(word);
    }
    Ok(kept)
}

/// Whether the statement was interrupted at the deadline.
pub(super) fn interrupted(e: &rusqlite::Error) -> bool {
    e.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
}

/// Returns the share of the query that each candidate contains, terms weighed by rarity. One cheap pass per term;
/// nothing is scored again.
pub(super) fn coverage(
    conn: &Connection,
    table: &Table,
    rows: &[(i64, f64)],
    terms: &[Weighed],
    range: (i64, i64),
    all: i64,
) -> Result<HashMap<i64, f64>> {
    let mut covered: HashMap<i64, f64> = rows.iter().map(|(turn_no, _)| (*turn_no, 0.0)).collect();
    let total: f64 = terms.iter().filter(|t| t.rows > 0).map(|t| rarity(t, all)).sum();
    if terms.len() < 2 || total <= 0.0 {
        return Ok(HashMap::new());
    }
    let mut statement = conn
        .prepare_cached(&format!("SELECT rowid FROM {0} WHERE {0} MATCH ?1 AND rowid BETWEEN ?2 AND ?3", table.name))?;
    for term in terms.iter().filter(|t| t.rows > 0) {
        let share = rarity(term, all) / total;
        let mut seen = std::collections::HashSet::new();
        let mut found =
            statement.query(params![format!("{} : {}", table.words, term.term.expression()), range.0, range.1])?;
        loop {
            let turn_no = match found.next() {
                Ok(Some(r)) => RowId::unpack(r.get(0)?).turn_no,
                Ok(None) => break,
                // Out of time: partial shares would mislead, while the engine's order is good.
                Err(e) if interrupted(&e) => return Ok(HashMap::new()),
                Err(e) => return Err(e.into()),
            };
            if let Some(sum) = covered.get_mut(&turn_no)
                && seen.insert(turn_no)
            {
                *sum += share;
            }
        }
    }
    Ok(covered)
}

/// Returns the weight of a term by rarity. Variants and parts of a name weigh less than the whole.
pub(super) fn rarity(term: &Weighed, all: i64) -> f64 {
    (1.0 + all as f64 / (1 + term.rows) as f64).ln() * term.term.weight()
}

/// Returns the weight that a term has if no row contains it.
pub(super) fn rarest(term: &Term, all: i64) -> f64 {
    rarity(&Weighed { term: term.clone(), rows: 0 }, all)
}

/// Returns the score, reduced for the part of the query the candidate does not contain.
pub(super) fn covered_score(score: f64, share: Option<&f64>) -> f64 {
    share.map_or(score, |share| score * (1.0 - COVERAGE * (1.0 - share)))
}

/// Returns what to look for in plain lower-case text: the words of a term, the last one without its final letters,
/// which inflection changes.
pub(super) fn needles(term: &Term) -> Vec<String> {
    let words: Vec<&str> = term.text.split([' ', crate::text::indexed::BREAK]).filter(|w| !w.is_empty()).collect();
    let last = words.len().saturating_sub(1);
    words
        .iter()
        .enumerate()
        .map(|(i, word)| {
            let word = word.to_lowercase();
            let letters = word.chars().count();
            if term.prefix || letters <= 4 || i < last {
                word
            } else {
                word.chars().take((letters - 2).max(4)).collect()
            }
        })
        .collect()
}

/// Returns how many of the terms occur in a plain text. Whether the text matches at all is decided by the engine.
pub(super) fn matched(said: &str, terms: &[Vec<String>]) -> usize {
    standing(&letters(said), terms)
}

/// Returns how many of the terms occur in the result of [`letters`].
pub(super) fn standing(text: &str, terms: &[Vec<String>]) -> usize {
    terms.iter().filter(|words| stands(text, words)).count()
}

/// Returns the lower-case letters and digits of a text, with everything else folded into single spaces.
pub(super) fn letters(said: &str) -> String {
    let mut text = String::with_capacity(said.len());
    let mut gap = false;
    for c in said.chars() {
        // Nearly all text is plain, and looking a plain letter up in tables costs ten times as much.
        if c.is_ascii_alphanumeric() {
            text.push(c.to_ascii_lowercase());
            gap = false;
        } else if !c.is_ascii() && c.is_alphanumeric() {
            text.extend(c.to_lowercase());
            gap = false;
        } else if !gap {
            text.push(' ');
            gap = true;
        }
    }
    text
}

/// Whether the words of a term occur in the result of [`letters`].
pub(super) fn stands(text: &str, words: &[String]) -> bool {
    match words {
        [word] => text.contains(word.as_str()),
        // Characters of unspaced scripts are adjacent; words of a name have one sign between them.
        several => text.contains(&several.join(" ")) || text.contains(&several.concat()),
    }
}

/// Returns how many rows of an agent contain a term, counted up to `most`.
pub(super) fn rows_with(index: &Index, table: &Table, term: &Term, agent_no: AgentNo, most: i64) -> Result<i64> {
    let (first, last) = RowId::range(agent_no, 0, i64::MAX);
    let mut count = index.connection().prepare_cached(&format!(
        "SELECT count(*) FROM (SELECT rowid FROM {0} WHERE {0} MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT ?4)",
        table.name
    ))?;
    let expression = format!("{} : {}", table.words, term.expression());
    Ok(count.query_row(params![expression, first, last, most], |r| r.get(0))?)
}
