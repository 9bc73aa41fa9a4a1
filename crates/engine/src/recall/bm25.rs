//! BM25 with the same result as SQLite's full-text engine, computed over the posting lists as they are stored
//! ([`crate::index::Postings`]). Every row that contains a term is scored in memory, so frequent words need not be left
//! out and the time of a search hardly grows with the home. Where the lists have an unknown format, this is skipped and
//! the engine is asked instead.

use std::collections::HashMap;
use std::time::Instant;

use rusqlite::{Connection, OptionalExtension, params};

use super::query::{Query, Term};
use super::search::Filter;
use super::snippet::Scratch;
use super::terms::{self, DEADLINE, TURNS, Weighed};
use crate::error::{ErrorKind, Result};
use crate::index::{
    LENGTHS_AT_ONCE, Posting as Entry, Postings as Lists, ReadEnd as ListRead, RowId, length_at, scope_token,
};
use crate::transcript::role_name;

/// The BM25 constants of the full-text engine.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The most rows scored for one query, rarest terms first: about 15 ns each.
const ROW_BUDGET: i64 = 300_000;

/// The same limit for a search that must be quick. In such a search a word with more than `LIGHT_WORD` rows is left out
/// if others have fewer; the length of its list is known before the list is read.
const LIGHT_BUDGET: i64 = 50_000;
const LIGHT_WORD: i64 = 10_000;

/// A phrase whose first word has more rows than this is left to the engine.
const PHRASE_BUDGET: i64 = 200_000;

/// The rows that contain a term: turns in ascending order, and the later rows of long turns.
#[derive(Clone, Default)]
struct List {
    turns: Vec<(u32, u32)>,
    parts: Vec<(i64, u32)>,
    rows: i64,
}

impl List {
    fn add(&mut self, row: i64, times: u32) {
        if times == 0 {
            return;
        }
        self.rows += 1;
        let id = RowId::unpack(row);
        match u32::try_from(id.turn_no) {
            Ok(turn) if id.part == 0 => self.turns.push((turn, times)),
            _ => self.parts.push((row, times)),
        }
    }

    /// Sorts the rows: each segment is ascending, but segments follow one another.
    fn sorted(mut self) -> List {
        if !self.turns.is_sorted_by_key(|(turn, _)| *turn) {
            self.turns.sort_by_key(|(turn, _)| *turn);
        }
        self.parts.sort_unstable();
        self
    }

    fn has(&self, turn: u32) -> bool {
        self.turns.binary_search_by_key(&turn, |(t, _)| *t).is_ok()
            || self.parts.binary_search_by_key(&i64::from(turn), |(row, _)| RowId::unpack(*row).turn_no).is_ok()
    }
}

/// The posting lists of a query, and the score of every turn that matches.
pub(super) struct Scores {
    words: Vec<List>,
    scored: Vec<(u32, f64)>,
}

/// Scores a query within a filter: chooses the words that are worth their cost and scores all turns. `None`: the engine
/// must be asked instead. Words that occur nearly everywhere are added to `left_out`.
pub(super) fn score(
    conn: &Connection,
    scratch: &Scratch,
    query: &Query,
    filter: &Filter,
    rows: ((i64, i64), i64),
    left_out: &mut Vec<String>,
) -> Result<Option<(Vec<Weighed>, Scores)>> {
    let started = Instant::now();
    match score_all(conn, scratch, query, filter, rows, left_out) {
        // The time is up: the engine is asked for what it can still find, and it reports that the search was cut short.
        Err(e) if e.kind() == ErrorKind::Machine && started.elapsed() > DEADLINE / 2 => Ok(None),
        other => other,
    }
}

fn score_all(
    conn: &Connection,
    scratch: &Scratch,
    query: &Query,
    filter: &Filter,
    (range, all): ((i64, i64), i64),
    left_out: &mut Vec<String>,
) -> Result<Option<(Vec<Weighed>, Scores)>> {
    let Some(mut lists) = Lists::open(conn)? else { return Ok(None) };
    let limiting = limiting(filter);
    let asked = query.phrases.iter().chain(&query.words).map(|t| t.text.as_str());
    let texts: Vec<&str> = asked.chain(limiting.iter().flatten().map(String::as_str)).collect();
    // The engine stems the words of a filter, too.
    let tokens = scratch.tokens(&texts)?;
    let (of_phrases, rest) = tokens.split_at(query.phrases.len());
    let (of_words, of_limits) = rest.split_at(query.words.len());
    let mut of_limits = of_limits.iter();
    let everything = RowId::range(RowId::unpack(range.0).agent_no, 0, i64::MAX);
    lists.sole = range == everything && i64::try_from(lists.rows) == Ok(all);
    let mut reader = Reader { conn, lists: &mut lists, range };
    // A word with too many rows is left out if others have fewer.
    let most = if all > terms::FEW_ROWS { (all as f64 * terms::FREQUENT_SHARE) as i64 } else { i64::MAX };
    let (budget, longest) = if filter.light { (LIGHT_BUDGET, LIGHT_WORD) } else { (ROW_BUDGET, ROW_BUDGET) };
    let mut read = Vec::new();
    for (term, tokens) in query.words.iter().zip(of_words) {
        let Some(list) = reader.term(term, tokens, most.min(longest))? else { return Ok(None) };
        let rows = list.as_ref().map_or(i64::MAX, |list| list.rows);
        read.push((Weighed { term: term.clone(), rows }, tokens, list));
    }
    read.sort_by_key(|(word, ..)| word.rows);
    let (mut weighed, mut words, mut sum) = (Vec::new(), Vec::new(), 0i64);
    for (mut word, tokens, list) in read {
        let informative = weighed.iter().any(|k: &Weighed| k.rows > 0);
        if informative && sum.saturating_add(word.rows) > budget {
            left_out.push(word.term.text);
            continue;
        }
        let list = match list {
            Some(list) => list,
            None => match reader.term(&word.term, tokens, i64::MAX)? {
                Some(Some(list)) => list,
                _ => return Ok(None),
            },
        };
        word.rows = list.rows;
        sum += list.rows;
        weighed.push(word);
        words.push(list);
    }
    let mut phrases = Vec::new();
    for (term, tokens) in query.phrases.iter().zip(of_phrases) {
        let Some(Some(list)) = reader.term(term, tokens, i64::MAX)? else { return Ok(None) };
        phrases.push(list);
    }
    let mut limits = Vec::new();
    for group in &limiting {
        let mut list = List::default();
        let group: Vec<&str> = of_limits.by_ref().take(group.len()).flatten().map(String::as_str).collect();
        if reader.lists.read_group(&group, range, &mut |e: Entry| list.add(e.row, u32::from(e.limits)))?.is_none() {
            return Ok(None);
        }
        limits.push(list.sorted());
    }
    let (rows, tokens) = (lists.rows, lists.tokens);
    let average = if rows == 0 { 1.0 } else { tokens as f64 / rows as f64 };
    let mut scorer = Scorer { conn, rows: all as f64, average, phrases: phrases.len(), limits: limits.len() };
    let scored = scorer.all(&[&phrases[..], &words].concat(), &limits)?;
    Ok(Some((weighed, Scores { words, scored })))
}

/// Lists of tokens; a row must contain one token of each list.
fn limiting(filter: &Filter) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    if let Some(workspaces) = &filter.workspaces {
        out.push(workspaces.iter().map(|no| scope_token('w', &no.to_string())).collect());
    }
    if let Some(harness) = &filter.harness {
        out.push(vec![scope_token('h', harness)]);
    }
    if let Some(sessions) = &filter.sessions {
        out.push(sessions.iter().map(|no| scope_token('s', &no.to_string())).collect());
    }
    if let Some(role) = filter.role {
        out.push(vec![scope_token('r', role_name(role))]);
    }
    out
}

struct Reader<'r, 'c> {
    conn: &'c Connection,
    lists: &'r mut Lists<'c>,
    range: (i64, i64),
}

impl Reader<'_, '_> {
    /// Reads the list of a term. `Some(None)`: it has more than `most` rows. `None`: the format is unknown.
    fn term(&mut self, term: &Term, tokens: &[String], most: i64) -> Result<Option<Option<List>>> {
        let range = self.range;
        match tokens {
            [] => Ok(Some(Some(List::default()))),
            [one] if !term.prefix => {
                let mut list = List::default();
                match self.lists.read(one, false, (range, most), &mut |e: Entry| list.add(e.row, e.times))? {
                    Some(ListRead::Whole) => Ok(Some(Some(list.sorted()))),
                    Some(ListRead::TooLong) => Ok(Some(None)),
                    None => Ok(None),
                }
            }
            several if !term.prefix => match self.phrase(several)? {
                Some(Some(list)) if list.rows > most => Ok(Some(None)),
                Some(Some(list)) => Ok(Some(Some(list))),
                Some(None) => self.asked(term, most).map(Some),
                None => Ok(None),
            },
            _ => self.asked(term, most).map(Some),
        }
    }

    /// Returns the rows in which the tokens stand side by side. `Some(None)`: too many rows to read.
    fn phrase(&mut self, tokens: &[String]) -> Result<Option<Option<List>>> {
        let range = self.range;
        // Each row with the range of its positions at which the phrase may begin; all positions are in one list.
        let mut rows: Vec<(i64, usize, usize)> = Vec::new();
        let mut places: Vec<u32> = Vec::new();
        for (n, token) in tokens.iter().enumerate() {
            let offset = n as u32;
            let (mut left, mut kept) = (Vec::new(), Vec::new());
            let (mut at, mut last) = (0, i64::MAX);
            let most = if n == 0 { PHRASE_BUDGET } else { i64::MAX };
            let read = self.lists.read(token, true, (range, most), &mut |e: Entry| {
                if e.places.is_empty() {
                    return;
                }
                let from = kept.len();
                if n == 0 {
                    kept.extend_from_slice(e.places);
                } else {
                    // Rows ascend within a segment and start again with the next.
                    if e.row < last {
                        at = rows.partition_point(|(row, ..)| *row < e.row);
                    }
                    last = e.row;
                    while rows.get(at).is_some_and(|(row, ..)| *row < e.row) {
                        at += 1;
                    }
                    let Some((_, first, end)) = rows.get(at).filter(|(row, ..)| *row == e.row) else { return };
                    let here = |place: &&u32| e.places.binary_search(&(**place + offset)).is_ok();
                    kept.extend(places[*first..*end].iter().filter(here));
                }
                if kept.len() > from {
                    left.push((e.row, from, kept.len()));
                }
            })?;
            match read {
                Some(ListRead::Whole) => {}
                Some(ListRead::TooLong) => return Ok(Some(None)),
                None => return Ok(None),
            }
            left.sort_by_key(|(row, ..)| *row);
            (rows, places) = (left, kept);
        }
        let mut list = List::default();
        for (row, from, to) in rows {
            list.add(row, (to - from) as u32);
        }
        Ok(Some(Some(list)))
    }

    /// Asks the engine for the rows of a term; used for word prefixes. The engine does not say how often a prefix
    /// occurs in a row.
    fn asked(&self, term: &Term, most: i64) -> Result<Option<List>> {
        let mut statement = self
            .conn
            .prepare_cached("SELECT rowid FROM fts WHERE fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT ?4")?;
        let expression = format!("{} : {}", TURNS.words, term.expression());
        let limit = most.saturating_add(1);
        let mut rows = statement.query(params![expression, self.range.0, self.range.1, limit])?;
        let mut list = List::default();
        while let Some(r) = rows.next()? {
            list.add(r.get(0)?, 1);
        }
        Ok((list.rows <= most).then(|| list.sorted()))
    }
}

struct Scorer<'c> {
    conn: &'c Connection,
    rows: f64,
    /// Mean number of tokens in a row.
    average: f64,
    /// A row must be in each of the first `phrases` lists.
    phrases: usize,
    limits: usize,
}

impl Scorer<'_> {
    /// Returns every turn that contains all required terms, with its score; a long turn has the score of its best part.
    fn all(&mut self, lists: &[List], limits: &[List]) -> Result<Vec<(u32, f64)>> {
        let musts = (self.phrases + self.limits) as u8;
        // A required term counts twice, because the engine's own expression names it twice.
        let twice = |n: usize| if n < self.phrases { 2.0 } else { 1.0 };
        let weights: Vec<f64> = lists.iter().enumerate().map(|(n, list)| twice(n) * self.weight(list.rows)).collect();
        let mut at = vec![0usize; lists.len() + limits.len()];
        let mut statement = self.conn.prepare_cached("SELECT lengths FROM row_lengths WHERE block = ?1")?;
        let (mut sums, mut has) = (vec![0f64; LENGTHS_AT_ONCE], vec![0u8; LENGTHS_AT_ONCE]);
        let (mut touched, mut out) = (Vec::with_capacity(LENGTHS_AT_ONCE), Vec::new());
        let block_of = |turn: u32| turn as usize / LENGTHS_AT_ONCE;
        loop {
            let ahead = lists.iter().zip(&at).filter_map(|(list, at)| list.turns.get(*at));
            let Some(block) = ahead.map(|(turn, _)| block_of(*turn)).min() else { break };
            let first = (block * LENGTHS_AT_ONCE) as u32;
            let lengths: Vec<u8> = statement.query_row([block as i64], |r| r.get(0)).optional()?.unwrap_or_default();
            for (n, list) in lists.iter().enumerate() {
                let rest = &list.turns[at[n]..];
                let here = &rest[..rest.iter().take_while(|(turn, _)| block_of(*turn) == block).count()];
                at[n] += here.len();
                for (turn, times) in here {
                    let slot = (turn - first) as usize;
                    if sums[slot] == 0.0 {
                        touched.push(slot);
                    }
                    sums[slot] += weights[n] * self.share(*times, f64::from(length_at(&lengths, slot)));
                    has[slot] += u8::from(n < self.phrases);
                }
            }
            for (list, at) in limits.iter().zip(&mut at[lists.len()..]) {
                *at += list.turns[*at..].partition_point(|(turn, _)| *turn < first);
                for (turn, _) in list.turns[*at..].iter().take_while(|(turn, _)| block_of(*turn) == block) {
                    has[(turn - first) as usize] += 1;
                    *at += 1;
                }
            }
            for slot in touched.drain(..) {
                if has[slot] == musts {
                    out.push((first + slot as u32, sums[slot]));
                }
                sums[slot] = 0.0;
            }
            has.fill(0);
        }
        self.parts(lists, limits, (musts, &weights), &mut out)?;
        Ok(out)
    }

    /// Scores the later rows of long turns.
    fn parts(
        &self,
        lists: &[List],
        limits: &[List],
        (musts, weights): (u8, &[f64]),
        out: &mut Vec<(u32, f64)>,
    ) -> Result<()> {
        if lists.iter().all(|list| list.parts.is_empty()) {
            return Ok(());
        }
        let mut size = self.conn.prepare_cached("SELECT sz FROM fts_docsize WHERE id = ?1")?;
        // Per row: its length, its score, and which required terms it contains.
        let mut found: HashMap<i64, (f64, f64, u8)> = HashMap::new();
        for (n, list) in lists.iter().enumerate() {
            for (row, times) in &list.parts {
                let entry = match found.entry(*row) {
                    std::collections::hash_map::Entry::Occupied(e) => e.into_mut(),
                    std::collections::hash_map::Entry::Vacant(e) => {
                        let bytes: Option<Vec<u8>> = size.query_row([row], |r| r.get(0)).optional()?;
                        let length = bytes.and_then(|b| crate::index::tokens_of(&b)).unwrap_or_default();
                        e.insert((f64::from(length), 0.0, 0))
                    }
                };
                entry.1 += weights[n] * self.share(*times, entry.0);
                entry.2 += u8::from(n < self.phrases);
            }
        }
        for (row, _) in limits.iter().flat_map(|list| &list.parts) {
            if let Some(entry) = found.get_mut(row) {
                entry.2 += 1;
            }
        }
        let mut best: HashMap<u32, f64> = HashMap::new();
        for (row, (_, score, has)) in found {
            if has == musts
                && let Ok(turn) = u32::try_from(RowId::unpack(row).turn_no)
            {
                let kept = best.entry(turn).or_default();
                *kept = kept.max(score);
            }
        }
        for (turn, score) in out.iter_mut() {
            if let Some(of_part) = best.remove(turn) {
                *score = score.max(of_part);
            }
        }
        out.extend(best);
        Ok(())
    }

    fn weight(&self, rows: i64) -> f64 {
        let rows = rows as f64;
        ((self.rows - rows + 0.5) / (rows + 0.5)).ln().max(1e-6)
    }

    fn share(&self, times: u32, length: f64) -> f64 {
        let times = f64::from(times);
        times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length / self.average))
    }
}

impl Scores {
    /// Returns the best turns of a range, best first.
    pub fn best(&self, wanted: usize, (first, last): (i64, i64)) -> Vec<(i64, f64)> {
        let inside = |turn: u32| (first..=last).contains(&i64::from(turn));
        let mut bound = f64::MIN;
        let mut found: Vec<(u32, f64)> = Vec::new();
        for &(turn, score) in &self.scored {
            if score >= bound && inside(turn) {
                found.push((turn, score));
                if found.len() >= wanted.saturating_mul(4).max(64) {
                    shrink(&mut found, wanted);
                    bound = found.iter().map(|(_, score)| *score).fold(f64::MAX, f64::min);
                }
            }
        }
        shrink(&mut found, wanted);
        found.sort_by(order);
        found.into_iter().map(|(turn, score)| (i64::from(turn), score.max(1e-9))).collect()
    }

    /// Returns, for each word in the order of weighing, whether it occurs in a turn.
    pub fn has(&self, turn: i64) -> Vec<bool> {
        let turn = u32::try_from(turn).ok();
        self.words.iter().map(|list| turn.is_some_and(|turn| list.has(turn))).collect()
    }

    /// Returns for each turn the share of the query it contains, every term weighed by its rarity.
    pub fn coverage(&self, rows: &[(i64, f64)], weighed: &[Weighed], all: i64) -> HashMap<i64, f64> {
        let total: f64 = weighed.iter().filter(|t| t.rows > 0).map(|t| terms::rarity(t, all)).sum();
        if weighed.len() < 2 || total <= 0.0 {
            return HashMap::new();
        }
        let mut shares: HashMap<i64, f64> = rows.iter().map(|(turn, _)| (*turn, 0.0)).collect();
        for (term, list) in weighed.iter().zip(&self.words) {
            let share = terms::rarity(term, all) / total;
            for (turn, sum) in &mut shares {
                if u32::try_from(*turn).is_ok_and(|turn| list.has(turn)) {
                    *sum += share;
                }
            }
        }
        shares
    }
}

/// Best first; of equal scores, the later turn first.
fn order(a: &(u32, f64), b: &(u32, f64)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(b.0.cmp(&a.0))
}

fn shrink(found: &mut Vec<(u32, f64)>, wanted: usize) {
    if found.len() > wanted && wanted > 0 {
        found.select_nth_unstable_by(wanted - 1, order);
        found.truncate(wanted);
    }
}

#[cfg(test)]
mod tests {
    use heirloom_testkit::Rng;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::recall::query::QueryContext;
    use crate::scope::{AgentNo, SessionNo};

    /// Returns a random word; longer words are rarer.
    fn word(rng: &mut Rng) -> String {
        let rank = rng.below(30).min(rng.below(400));
        format!("w{}a{}", rank % 7, rank)
    }

    fn index(rng: &mut Rng) -> (Connection, i64) {
        let conn = Connection::open_in_memory().unwrap();
        let lengths = crate::index::LENGTHS_SCHEMA;
        conn.execute_batch(&format!(
            "CREATE VIRTUAL TABLE fts USING fts5(text, scope, content='', contentless_delete=1, tokenize='{}');{lengths}",
            crate::index::TOKENIZER
        ))
        .unwrap();
        let mut all = 0;
        for batch in 0..9 {
            conn.execute_batch("BEGIN").unwrap();
            for n in 0..900 {
                let turn_no: i64 = batch * 1000 + n;
                let parts = if rng.below(40) == 0 { 3 } else { 1 };
                for part in 0..parts {
                    let most = if rng.below(50) == 0 { 9000 } else { 60 };
                    let many = 1 + rng.below(most);
                    let text = (0..many).map(|_| word(rng)).collect::<Vec<_>>().join(" ");
                    let row = RowId { agent_no: AgentNo(1), turn_no, part }.pack();
                    let scope = format!("xqs{} xqruser xqhclaudecode", turn_no % 5);
                    conn.execute("INSERT INTO fts (rowid, text, scope) VALUES (?1, ?2, ?3)", params![row, text, scope])
                        .unwrap();
                    all += 1;
                }
            }
            conn.execute_batch("COMMIT").unwrap();
        }
        let mut blocks: HashMap<i64, Vec<u8>> = HashMap::new();
        let mut sizes = conn.prepare("SELECT id, sz FROM fts_docsize").unwrap();
        let mut rows = sizes.query([]).unwrap();
        while let Some(r) = rows.next().unwrap() {
            let id = RowId::unpack(r.get(0).unwrap());
            if id.part == 0 {
                let block = blocks.entry(id.turn_no / LENGTHS_AT_ONCE as i64).or_insert(vec![0; 2 * LENGTHS_AT_ONCE]);
                let tokens = crate::index::tokens_of(&r.get::<_, Vec<u8>>(1).unwrap()).unwrap() as u16;
                let at = 2 * (id.turn_no as usize % LENGTHS_AT_ONCE);
                block[at..at + 2].copy_from_slice(&tokens.to_le_bytes());
            }
        }
        for (block, lengths) in blocks {
            conn.execute("INSERT INTO row_lengths VALUES (?1, ?2)", params![block, lengths]).unwrap();
        }
        drop(rows);
        drop(sizes);
        (conn, all)
    }

    /// Returns the engine's scores: for each turn, the score of its best row.
    fn engine(conn: &Connection, expression: &str, range: (i64, i64)) -> HashMap<i64, f64> {
        let mut statement = conn
            .prepare("SELECT rowid, -bm25(fts, 1.0, 0.0) FROM fts WHERE fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3")
            .unwrap();
        let mut out: HashMap<i64, f64> = HashMap::new();
        let mut rows = statement.query(params![expression, range.0, range.1]).unwrap();
        while let Some(r) = rows.next().unwrap() {
            let best = out.entry(RowId::unpack(r.get(0).unwrap()).turn_no).or_default();
            *best = best.max(r.get(1).unwrap());
        }
        out
    }

    #[test]
    fn scores_are_those_of_the_engine() {
        let mut rng = Rng::new(7);
        let (conn, all) = index(&mut rng);
        let scratch = Scratch::new(&conn).unwrap();
        let range = RowId::range(AgentNo(1), 0, i64::MAX);
        let context = QueryContext { now: 0, zone: &TimeZone::UTC, people: &[] };
        for round in 0..60 {
            let words: Vec<String> = (0..1 + rng.below(6)).map(|_| word(&mut rng)).collect();
            let phrase = (round % 4 == 3).then(|| format!("{} {}", word(&mut rng), word(&mut rng)));
            let asked =
                format!("{} {}", words.join(" "), phrase.as_ref().map_or(String::new(), |p| format!("\"{p}\"")));
            let query = Query::parse(&asked, &context);
            let filter = Filter {
                sessions: (round % 5 == 1).then_some(vec![SessionNo(2), SessionNo(4)]),
                role: (round % 5 == 2).then_some(crate::event::Role::User),
                harness: (round % 5 == 3).then_some("claude-code".into()),
                ..Filter::default()
            };
            let (mut left_out, mut other) = (Vec::new(), false);
            let (weighed, scores) =
                score(&conn, &scratch, &query, &filter, (range, all), &mut left_out).unwrap().unwrap();
            for word in &weighed {
                let engine = engine(&conn, &format!("text : {}", word.term.expression()), range);
                other |= word.rows == 0 && !engine.is_empty();
            }
            assert!(!other);
            let engine = engine(&conn, &crate::recall::search::expression(&query, &weighed, &filter), range);
            assert_eq!(scores.scored.len(), engine.len(), "{asked}");
            for (turn, score) in &scores.scored {
                let theirs = engine[&i64::from(*turn)];
                assert!((score - theirs).abs() < 1e-6 + 1e-6 * theirs.abs(), "{asked}: {turn} {score} {theirs}");
            }
            let best = scores.best(20, (0, i64::MAX));
            assert_eq!(best.len(), engine.len().min(20));
            assert!(best.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }

    #[test]
    fn of_a_range_the_lists_say_what_they_say_of_all_rows() {
        let mut rng = Rng::new(9);
        let (conn, _) = index(&mut rng);
        conn.execute("INSERT INTO fts (fts) VALUES ('optimize')", []).unwrap();
        let mut lists = Lists::open(&conn).unwrap().unwrap();
        let everything = RowId::range(AgentNo(1), 0, i64::MAX);
        let mut read = |token: &str, range: (i64, i64)| {
            let mut out = Vec::new();
            let all = lists.read(token, true, (range, i64::MAX), &mut |e: Entry| {
                out.push((e.row, e.times, e.limits, e.places.to_vec()));
            });
            assert!(all.unwrap() == Some(ListRead::Whole));
            out
        };
        for round in 0..60 {
            let token = if round % 6 == 0 { format!("xqs{}", round % 5) } else { word(&mut rng) };
            let all = read(&token, everything);
            let first = rng.below(9500) as i64;
            let last = if round % 2 == 0 { i64::MAX } else { first + rng.below(3000) as i64 };
            let range = RowId::range(AgentNo(1), first, last);
            let within: Vec<_> = all.into_iter().filter(|(row, ..)| (range.0..=range.1).contains(row)).collect();
            assert!(read(&token, range) == within, "{token} {first} {last}");
        }
    }

    #[test]
    fn a_form_that_is_not_known_leaves_it_to_the_engine() {
        let mut rng = Rng::new(8);
        let (conn, all) = index(&mut rng);
        let scratch = Scratch::new(&conn).unwrap();
        let range = RowId::range(AgentNo(1), 0, i64::MAX);
        let query = Query::parse("w1a1 w2a2", &QueryContext { now: 0, zone: &TimeZone::UTC, people: &[] });
        let ask =
            || score(&conn, &scratch, &query, &Filter::default(), (range, all), &mut Vec::new()).unwrap().is_some();
        assert!(ask());
        let pages: Vec<(i64, Vec<u8>)> = conn
            .prepare("SELECT id, block FROM fts_data WHERE id > 1")
            .unwrap()
            .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        // No content of a page may cause a panic.
        for round in 0..400 {
            let (id, page) = rng.pick(&pages).clone();
            let mut broken = page.clone();
            match round % 3 {
                0 => broken.truncate(rng.below(page.len())),
                _ => (0..1 + rng.below(4)).for_each(|_| {
                    let at = rng.below(broken.len());
                    broken[at] = rng.below(256) as u8;
                }),
            }
            conn.execute("UPDATE fts_data SET block = ?2 WHERE id = ?1", params![id, broken]).unwrap();
            ask();
            conn.execute("UPDATE fts_data SET block = ?2 WHERE id = ?1", params![id, page]).unwrap();
        }
        conn.execute("UPDATE fts_data SET block = x'00000000ff00000201010101' WHERE id = 10", []).unwrap();
        assert!(!ask());
    }
}
