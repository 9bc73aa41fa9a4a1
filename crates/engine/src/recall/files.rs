//! Searches visible files: candidates from the full-text engine, ranked, each with the line that matches (R10.9).
//!
//! The index says which files match; the line is found in the file as it is on disk now, so a printed line number is
//! right. Only the files that are shown are read.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::Instant;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use rusqlite::params;

use super::query::{Query, Term};
use super::snippet::Scratch;
use super::terms::{
    DATE, DEADLINE, FILES, Weighed, coverage, covered_score, interrupted, letters, needles, standing, stands, weigh,
    within,
};
use super::trace::Trace;
use super::vector_search::VectorSearch;
use super::within as only;
use crate::clock::{Millis, parse_rfc3339};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{FilesWithin, Index, RowId, scope_token, unspoken};
use crate::redact::redact_lines;
use crate::scope::{FileNo, ThreadNo};
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::{AssistantHome, LARGEST_FILE, bootstrap};

/// Candidates taken from the full-text engine in the first round.
const CANDIDATES: usize = 200;

/// Files taken by vector search alone, before the filter is applied: files of other threads must not crowd out those
/// that pass it.
const NEAREST: usize = 300;

/// Largest number of these that are examined after the filter: each is read from disk, and few are returned.
const MOST_ONLY_NEAR: usize = 8;

/// Weight of a word in the title against one in the text.
const TITLE: f64 = 4.0;

/// Weight of the cosine against the word score, where the best file has 1; the same as for turns.
const COSINE: f64 = 1.0;

/// Factors for archived files and, lower, for superseded ones.
const ARCHIVED: f64 = 0.6;
const SUPERSEDED: f64 = 0.4;

/// Number of lines passed to the engine if plain text does not show which line matches.
const LINES: usize = 2_000;

/// Lines a passage may reach before and after its line.
const AROUND: usize = 6;

/// Front matter keys that hold the date of a file; the first one present counts.
const DATES: &[&str] = &["opened", "observed", "proposed", "created", "date"];

/// The limits of a search for files.
#[derive(Clone, Default, Debug)]
pub struct FileFilter {
    /// Kinds of files; empty for all.
    pub kinds: Vec<Kind>,
    pub class: Option<String>,
    /// Workspace ids, aliases included; files of the agent as a whole are then left out.
    pub workspaces: Option<Vec<String>>,
    /// Threads, including those merged into them: their pages, loops and memory items.
    pub threads: Option<Vec<ThreadNo>>,
    /// Include archived files.
    pub archived: bool,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    pub limit: usize,
}

/// A file that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct FileHit {
    pub entry: Entry,
    /// 1.0 for the best file of this search.
    pub score: f64,
    /// The line that matches, counted from 1.
    pub line: usize,
    /// Text around the line, redacted, with matches marked ([`super::snippet::MATCH_START`]).
    pub passage: String,
    /// Whether the line is one of the front matter, which says something about the file and not what it says.
    pub is_front: bool,
    /// Number of words of the query that the file contains, of those in its title and text alone, and of words in the
    /// query.
    pub matched: usize,
    pub said: usize,
    pub of: usize,
    /// The components of the score.
    pub trace: Trace,
}

impl FileHit {
    /// The share of the query's words that the file's title and text contain.
    pub(super) fn covered(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.said as f64 / self.of as f64 }
    }
}

/// The result of a search for files.
#[derive(Clone, Default, Debug)]
pub struct FilesFound {
    pub hits: Vec<FileHit>,
    pub looked_for: String,
    /// Words left out because they occur nearly everywhere.
    pub too_frequent: Vec<String>,
    /// Changed files that are not in the index yet.
    pub not_indexed: u64,
    pub cut_short: bool,
    pub query_cut: bool,
    /// Reasons why the result may be incomplete, such as damaged vectors.
    pub less: Vec<String>,
}

/// Searches the visible files of an agent. The query's own limits hold beside the filter; a query with only a time
/// finds the files of that time. An empty query is `Usage`; no match is an empty list.
pub fn search_files(at: &AssistantHome, index: &mut Index, query: &Query, filter: &FileFilter) -> Result<FilesFound> {
    let all = Choice { vector: None, enough: filter.limit, admit: &mut |_| Ok(true) };
    choose_files(at, index, query, filter, all)
}

/// How files are chosen, in addition to words and filter.
pub(super) struct Choice<'c> {
    /// The query's vector; without it only words are searched.
    pub vector: Option<&'c [f32]>,
    /// No further candidates are fetched once this many are found.
    pub enough: usize,
    /// Called for each candidate before its file is read, best first, until the filter's limit is reached.
    pub admit: &'c mut dyn FnMut(&Entry) -> Result<bool>,
}

/// [`search_files`] fused with vector search, restricted to the files that `admit` accepts (R10.2).
pub(super) fn choose_files(
    at: &AssistantHome,
    index: &mut Index,
    query: &Query,
    filter: &FileFilter,
    mut choice: Choice,
) -> Result<FilesFound> {
    if query.is_empty() {
        return Err(Error::usage("there is no word in this query").hint("search for a word, a name or a \"phrase\""));
    }
    let mut filter = filter.clone();
    (filter.since, filter.until) = within(query.limit(), filter.since, filter.until);
    index.deadline(Some(Instant::now() + DEADLINE))?;
    let out = run(at, index, query, &filter, &mut choice);
    index.deadline(None)?;
    out.map_err(|e| match e.kind() {
        ErrorKind::Damaged => e.hint("if the index is what is damaged, ⟨reindex⟩ makes it anew; nothing is lost"),
        _ => e,
    })
}

fn run(
    at: &AssistantHome,
    index: &Index,
    query: &Query,
    filter: &FileFilter,
    choice: &mut Choice,
) -> Result<FilesFound> {
    let conn = index.connection();
    let mut out = FilesFound { looked_for: query.shown(), query_cut: query.cut, ..FilesFound::default() };
    // If the index belongs to another ledger, its file numbers name other files, so none is returned.
    out.not_indexed = match at.read(|tx| index.files_missing(tx, at.agent_no)) {
        Ok(missing) => missing,
        Err(e) if e.kind() == ErrorKind::Damaged => {
            out.not_indexed = at.read(|tx| Ok(file_table::all(tx, at.agent_no)?.len()))? as u64;
            return Ok(out);
        }
        Err(e) => return Err(e),
    };
    if query.only_times && query.times.iter().any(|t| t.clock.is_none()) {
        let finder = LineFinder::new(query, &[], Scratch::new(conn)?);
        let entries = at.read(|tx| file_table::all(tx, at.agent_no))?;
        let of_time = entries.into_iter().filter(|entry| {
            let (from, to) = time_of(entry, &at.zone);
            query.stretches().iter().any(|(first, last)| to >= *first && from <= *last)
        });
        let rows = of_time.map(|entry| Row { file_no: entry.file_no, words: 1.0, cosine: None }).collect();
        out.hits = hits(at, &finder, query, rows, filter, choice)?;
        if !out.hits.is_empty() || !query.has_words() {
            return Ok(out);
        }
    }
    let range = RowId::range(at.agent_no, 0, i64::MAX);
    let all = index.file_rows_of(at.agent_no)?;
    let terms = weigh(conn, &FILES, query, range, all, &mut out.too_frequent, &mut out.cut_short)?;
    if (terms.is_empty() && query.phrases.is_empty()) || filter.workspaces.as_ref().is_some_and(Vec::is_empty) {
        return Ok(out);
    }
    let near = choice.vector.map(|vector| VectorSearch::again(index, at.agent_no, vector));
    let nearest = match near.as_ref().filter(|_| query.is_open()) {
        Some(near) => {
            let kinds = (!filter.kinds.is_empty()).then(|| filter.kinds.clone());
            let within = FilesWithin { kinds, scopes: None, archived: filter.archived };
            near.files(&within, NEAREST, &mut out.less)?
        }
        None => HashMap::new(),
    };
    let expression = expression(query, &terms, filter);
    let finder = LineFinder::new(query, &terms, Scratch::new(conn)?);
    let mut wanted = CANDIDATES;
    loop {
        let (rows, cut) = candidates(conn, &expression, range, wanted)?;
        let covered = coverage(conn, &FILES, &rows, &terms, range, all)?;
        let full = rows.len() >= wanted;
        out.cut_short |= cut;
        let rows = fused(rows, &covered, near.as_ref(), &nearest)?;
        out.hits = hits(at, &finder, query, rows, filter, choice)?;
        // Some filters are applied after the engine: fetch more until there is enough or nothing is left.
        if out.hits.len() >= choice.enough || !full || cut || wanted >= CANDIDATES * 64 {
            return Ok(out);
        }
        wanted *= 4;
    }
}

/// `{title text} : ("phrase" AND ("phrase" OR "word")) AND scope : ("xqaactive")`.
fn expression(query: &Query, terms: &[Weighed], filter: &FileFilter) -> String {
    let mut must: Vec<String> = query.phrases.iter().map(Term::expression).collect();
    let any: Vec<String> =
        query.phrases.iter().map(Term::expression).chain(terms.iter().map(|t| t.term.expression())).collect();
    must.push(format!("({})", any.join(" OR ")));
    let mut clauses = vec![format!("{} : ({})", FILES.words, must.join(" AND "))];
    let mut scope = |tokens: Vec<String>| {
        let quoted: Vec<String> = tokens.iter().map(|t| format!("\"{t}\"")).collect();
        clauses.push(format!("scope : ({})", quoted.join(" OR ")));
    };
    if !filter.archived {
        scope(vec![scope_token('a', State::Active.name())]);
    }
    if !filter.kinds.is_empty() {
        scope(filter.kinds.iter().map(|kind| scope_token('f', kind.name())).collect());
    }
    if let Some(class) = &filter.class {
        scope(vec![scope_token('c', &class.to_lowercase())]);
    }
    if let Some(workspaces) = &filter.workspaces {
        scope(workspaces.iter().map(|id| scope_token('p', id)).collect());
    }
    clauses.join(" AND ")
}

/// The best rows as file number and score; parts of one file count as its best part. `true`: the search was cut short.
fn candidates(
    conn: &rusqlite::Connection,
    expression: &str,
    range: (i64, i64),
    wanted: usize,
) -> Result<(Vec<(i64, f64)>, bool)> {
    let mut statement = conn.prepare_cached(
        "SELECT rowid, bm25(files_fts, ?5, 1.0, 0.0) AS s FROM files_fts
         WHERE files_fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY s, rowid LIMIT ?4",
    )?;
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut rows = statement.query(params![expression, range.0, range.1, wanted as i64, TITLE])?;
    loop {
        match rows.next() {
            Ok(Some(r)) => {
                let file_no = RowId::unpack(r.get(0)?).turn_no;
                if seen.insert(file_no) {
                    found.push((file_no, (-r.get::<_, f64>(1)?).max(1e-9)));
                }
            }
            Ok(None) => return Ok((found, false)),
            Err(e) if interrupted(&e) => return Ok((found, true)),
            Err(e) => return Err(e.into()),
        }
    }
}

/// A candidate file.
struct Row {
    file_no: FileNo,
    /// Score by words: 1 for the best file, 0 for one without a match.
    words: f64,
    cosine: Option<f32>,
}

/// Fuses both searches: files found by words get their cosine added, and the nearest other files join them.
fn fused(
    rows: Vec<(i64, f64)>,
    covered: &HashMap<i64, f64>,
    near: Option<&VectorSearch>,
    nearest: &HashMap<FileNo, f32>,
) -> Result<Vec<Row>> {
    let scored: Vec<(FileNo, f64)> =
        rows.into_iter().map(|(no, score)| (FileNo(no), covered_score(score, covered.get(&no)))).collect();
    let best = scored.iter().map(|(_, score)| *score).fold(f64::MIN_POSITIVE, f64::max);
    let known: HashSet<FileNo> = scored.iter().map(|(no, _)| *no).collect();
    let beside: Vec<FileNo> = known.iter().copied().filter(|no| !nearest.contains_key(no)).collect();
    let others = near.map(|near| near.to_files(&beside)).transpose()?.unwrap_or_default();
    let cosine = |no: &FileNo| nearest.get(no).or_else(|| others.get(no)).copied();
    let by_words = scored.iter().map(|(no, score)| Row { file_no: *no, words: score / best, cosine: cosine(no) });
    let by_meaning = nearest.iter().filter(|(no, _)| !known.contains(no));
    Ok(by_words.chain(by_meaning.map(|(no, c)| Row { file_no: *no, words: 0.0, cosine: Some(*c) })).collect())
}

/// The candidates that pass the filter, best first, up to the number wanted; each is read from disk.
fn hits(
    at: &AssistantHome,
    finder: &LineFinder,
    query: &Query,
    rows: Vec<Row>,
    filter: &FileFilter,
    choice: &mut Choice,
) -> Result<Vec<FileHit>> {
    let (mut rows, mut near): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.words > 0.0);
    near.sort_by(|a, b| b.cosine.unwrap_or(0.0).total_cmp(&a.cosine.unwrap_or(0.0)).then(b.file_no.cmp(&a.file_no)));
    let mut only_near = Vec::new();
    for row in near {
        if only_near.len() == MOST_ONLY_NEAR {
            break;
        }
        let entry = at.read(|tx| file_table::numbered(tx, at.agent_no, row.file_no))?;
        if let Some(entry) = entry.filter(|e| passes(filter, e, &at.zone))
            && (choice.admit)(&entry)?
        {
            only_near.push(row.file_no);
            rows.push(row);
        }
    }
    let mut ranked = at.read(|tx| {
        let mut ranked = Vec::with_capacity(rows.len());
        for row in rows {
            // The file was removed or changed since it was indexed; its new rows will follow.
            if let Some(entry) = file_table::numbered(tx, at.agent_no, row.file_no)?
                && passes(filter, &entry, &at.zone)
                && only::file(tx, at.agent_no, filter.threads.as_deref(), &entry)?
            {
                let weight = match (entry.state, entry.status.as_deref()) {
                    (State::Archived, _) => ARCHIVED,
                    (_, Some("superseded")) => SUPERSEDED,
                    _ => 1.0,
                };
                let (from, to) = time_of(&entry, &at.zone);
                let near = query.favours(Some(from)) == Some(true) || query.favours(Some(to)) == Some(true);
                let date = if near { DATE } else { 0.0 };
                let own = row.words + COSINE * f64::from(row.cosine.unwrap_or(0.0).max(0.0));
                let trace = Trace {
                    words: row.words,
                    cosine: row.cosine.map(f64::from),
                    meaning: COSINE * f64::from(row.cosine.unwrap_or(0.0).max(0.0)),
                    neighbours: 0.0,
                    date,
                    people: 0.0,
                    weight,
                    sum: (own + date) * weight,
                };
                ranked.push((trace, row, entry));
            }
        }
        Ok(ranked)
    })?;
    // Rendered files come after the files they are rendered from. Of equal scores, the file changed later comes first,
    // whatever its number.
    ranked.sort_by(|(a, _, e), (b, _, f)| {
        e.kind
            .is_rendered()
            .cmp(&f.kind.is_rendered())
            .then(b.sum.total_cmp(&a.sum))
            .then(f.stamp.modified_ns.cmp(&e.stamp.modified_ns))
            .then_with(|| e.path.cmp(&f.path))
    });
    let best = ranked.iter().map(|(trace, ..)| trace.sum).fold(f64::MIN_POSITIVE, f64::max);
    let mut hits = Vec::new();
    let _cutting = finder.scratch.cutting()?;
    for (trace, row, entry) in ranked {
        if hits.len() >= filter.limit {
            break;
        }
        if !only_near.contains(&row.file_no) && !(choice.admit)(&entry)? {
            continue;
        }
        let bytes = match at.files.read_with_stamp(&entry.path, LARGEST_FILE) {
            Ok(Some((bytes, _))) => bytes,
            // An unreadable file is reported by the scan.
            Ok(None) | Err(_) => continue,
        };
        let doc = Document::parse(bytes);
        // A file still as it was created with the home answers no question.
        if bootstrap::is_untouched(&entry.path, &doc.body()) {
            continue;
        }
        let matched_line = finder.find(&entry, &doc)?;
        // The engine folds more forms than plain text does: a file it found contains at least one word.
        let least = usize::from(row.words > 0.0);
        let least_said = if matched_line.only_front { 0 } else { least };
        hits.push(FileHit {
            score: trace.sum / best,
            trace,
            line: matched_line.line,
            passage: matched_line.passage,
            is_front: matched_line.line < doc.body_line(),
            matched: matched_line.matched.max(least).min(finder.asked.len()),
            said: matched_line.said.max(least_said).min(finder.asked.len()),
            of: finder.asked.len(),
            entry,
        });
    }
    Ok(hits)
}

/// Applies the filter exactly: its tokens in the index are stemmed, so they may also match other values.
fn passes(filter: &FileFilter, entry: &Entry, zone: &TimeZone) -> bool {
    let state = entry.state == State::Active || (filter.archived && entry.state == State::Archived);
    let kind = filter.kinds.is_empty() || filter.kinds.contains(&entry.kind);
    let class = filter
        .class
        .as_ref()
        .is_none_or(|c| entry.class.as_ref().is_some_and(|is| is.to_lowercase() == c.to_lowercase()));
    let place = filter.workspaces.as_ref().is_none_or(|ids| {
        entry.scope.as_deref().and_then(|s| s.strip_prefix("workspace/")).is_some_and(|id| ids.iter().any(|i| i == id))
    });
    if !(state && kind && class && place) {
        return false;
    }
    if filter.since.is_none() && filter.until.is_none() {
        return true;
    }
    let (from, to) = time_of(entry, zone);
    filter.since.is_none_or(|since| to >= since) && filter.until.is_none_or(|until| from <= until)
}

/// The time range of a file: the date in its front matter as a whole day, else its last change.
fn time_of(entry: &Entry, zone: &TimeZone) -> (Millis, Millis) {
    let said = DATES.iter().filter_map(|key| entry.field(key)).find_map(|value| {
        if let Some(at) = parse_rfc3339(value) {
            return Some((at, at));
        }
        let date: Date = value.trim().parse().ok()?;
        let start = |d: Date| Some(d.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond());
        Some((start(date)?, start(date.tomorrow().ok()?)? - 1))
    });
    said.unwrap_or_else(|| {
        let at = entry.stamp.modified_ns / 1_000_000;
        (at, at)
    })
}

/// The words that are searched for inside a file.
struct LineFinder<'c> {
    /// The plain words of each term of the query.
    asked: Vec<Vec<String>>,
    /// All of those words.
    flat: Vec<String>,
    /// The words as an expression for the engine.
    any: String,
    scratch: Scratch<'c>,
}

/// The line of a file that matches best.
struct MatchedLine {
    line: usize,
    passage: String,
    matched: usize,
    /// The same in the title and the text, without the front matter.
    said: usize,
    /// Whether words or parts of words were found in the front matter and nowhere else.
    only_front: bool,
}

impl<'c> LineFinder<'c> {
    fn new(query: &Query, terms: &[Weighed], scratch: Scratch<'c>) -> LineFinder<'c> {
        let words: Vec<&Term> = query.phrases.iter().chain(terms.iter().map(|t| &t.term)).collect();
        LineFinder {
            // A name counts as one term, however many pieces it has.
            asked: words.iter().filter(|t| t.asked()).map(|t| needles(t)).collect(),
            flat: words.iter().flat_map(|t| needles(t)).collect(),
            any: words.iter().map(|t| t.expression()).collect::<Vec<_>>().join(" OR "),
            scratch,
        }
    }

    /// Finds the line with the most terms of the query, prose before front matter and headings, and the passage around
    /// it.
    fn find(&self, entry: &Entry, doc: &Document) -> Result<MatchedLine> {
        let text = String::from_utf8_lossy(doc.print());
        let text = redact_lines(&text);
        let hidden = unspoken(entry.kind, doc);
        let lines: Vec<&str> = text.lines().collect();
        let seen = |number: usize| !hidden.iter().any(|h| h.contains(&number));
        let (mut best, mut best_score) = (None, (0, 0, 0));
        let (mut said, mut front) = (letters(&entry.title), String::new());
        let has_piece = |plain: &str| self.flat.iter().any(|w| plain.contains(w.as_str()));
        let (mut in_text, mut in_front) = (has_piece(&said), false);
        for (number, line) in (1..).zip(&lines).filter(|(n, line)| seen(*n) && !line.trim().is_empty()) {
            let plain = letters(line);
            let pieces = self.flat.iter().filter(|w| plain.contains(w.as_str())).count();
            let whole = if pieces == 0 { 0 } else { self.asked.iter().filter(|w| stands(&plain, w)).count() };
            let prose = if number < doc.body_line() { 0 } else { 2 - u8::from(line.starts_with('#')) };
            if pieces > 0 && (whole, pieces, prose) > best_score {
                (best, best_score) = (Some(number), (whole, pieces, prose));
            }
            let (part, found) = match number < doc.body_line() {
                true => (&mut front, &mut in_front),
                false => (&mut said, &mut in_text),
            };
            *found |= pieces > 0;
            part.push(' ');
            part.push_str(&plain);
        }
        let of_text = standing(&said, &self.asked);
        let matched = if front.is_empty() { of_text } else { standing(&[said, front].concat(), &self.asked) };
        let first = (doc.body_line()..=lines.len()).find(|n| seen(*n) && !lines[n - 1].trim().is_empty());
        let line = match best {
            Some(line) => line,
            // No plain match: the engine also folds accents and endings, so it is asked for the line.
            None => {
                let shown = (1..).zip(lines.iter().copied()).filter(|(n, _)| seen(*n)).take(LINES);
                self.scratch.best_line(shown, &self.any)?.or(first).unwrap_or(1)
            }
        };
        let words = match lines.get(line - 1) {
            Some(front) if line < doc.body_line() => (*front).to_owned(),
            _ => around(&lines, line, &hidden),
        };
        let passage = self.scratch.passage(&words, &self.any, &self.flat)?;
        Ok(MatchedLine { line, passage, matched, said: of_text, only_front: in_front && !in_text })
    }
}

/// Returns the line together with the lines before and after it that belong to the same paragraph.
fn around(lines: &[&str], line: usize, hidden: &[RangeInclusive<usize>]) -> String {
    let belongs = |n: &usize| {
        let text = lines.get(n - 1).map_or("", |l| l.trim());
        // The marker of a block is not text.
        !text.is_empty() && text != "---" && !text.starts_with("<!-- ") && !hidden.iter().any(|h| h.contains(n))
    };
    let first = (1..line).rev().take(AROUND).take_while(belongs).last().unwrap_or(line);
    let last = (line + 1..=lines.len()).take(AROUND).take_while(belongs).last().unwrap_or(line);
    lines.get(first - 1..last).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_of_several_lines_moves_no_line() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKj\n-----END PRIVATE KEY-----";
        let text = format!("before\n{key}\nafter");
        let clean = redact_lines(&text);
        assert!(!clean.contains("MIIE"), "{clean}");
        assert_eq!(clean.lines().position(|l| l == "after"), text.lines().position(|l| l == "after"));
    }

    #[test]
    fn a_passage_is_the_paragraph() {
        let lines = ["---", "due: x", "---", "one", "two", "", "three"];
        assert_eq!(around(&lines, 4, &[]), "one\ntwo");
        assert_eq!(around(&lines, 2, &[]), "due: x");
        assert_eq!(around(&lines, 7, &[]), "three");
        assert_eq!(around(&lines, 4, &[5..=5]), "one");
        assert_eq!(around(&[], 1, &[]), "");
        assert_eq!(around(&["<!-- heirloom:daily 1 -->", "one", "<!-- /heirloom:daily -->"], 2, &[]), "one");
    }
}
