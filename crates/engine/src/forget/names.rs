//! Replaces forgotten words in names, ids, addresses and paths of all tables by marks ([`ForgottenNames`]): speakers,
//! tools, models, sessions, projects, threads, sources, jobs, channels, entries, the audit.
//!
//! The tables are read from the schema, so that a table added later is searched, too. Columns with encoded bytes
//! (blocks, compressed texts) are searched and erased before, by the rooms that know their encoding.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use rusqlite::params_from_iter;
use rusqlite::types::Value as Cell;

use super::leaves;
use super::slugs::Slugs;
use super::words::Words;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::forgotten_names::ForgottenNames;
use crate::ledger::{Read, Write, audit};
use crate::scope::AgentNo;

/// Tables that are not searched here: they hold no names, or other code searches them.
/// Nodes with the words are made again, and their digests cover their words.
const NOT_SEARCHED: &[&str] =
    &["meta", "agents", "blocks", "records", "forgotten_names", "audit", "hook_calls", "seals", "nodes"];

/// Most rows that get a number because their texts are the same.
const MOST_SAME: usize = 10_000;

/// The forgotten words that occur in names.
#[derive(Clone, Default, Debug)]
pub(super) struct Names {
    words: Vec<String>,
    search: Words,
    slugs: Slugs,
    title: Option<Title>,
}

/// The title of a thread: ordinary words, which name it only where nothing else stands.
#[derive(Clone, Debug)]
struct Title {
    /// Name of the thread's page file: it counts wherever it stands.
    page: Option<String>,
    /// Random marks of the words and of the page. No later import looks a thread's title up, so that a new thread may
    /// have the same one.
    marks: Vec<String>,
}

/// A table with text columns.
struct Table {
    name: String,
    key: Vec<String>,
    texts: Vec<String>,
    /// Numbers of those texts that no two rows may share.
    unique: BTreeSet<usize>,
    whose: &'static str,
}

impl Names {
    pub fn new<'w>(words: impl IntoIterator<Item = &'w str>, ignore_case: bool) -> Names {
        let words: Vec<String> = words.into_iter().map(|w| w.trim().to_owned()).filter(|w| !w.is_empty()).collect();
        let search = Words::given(words.iter().map(String::as_str), ignore_case);
        let slugs = Slugs::of(words.iter().map(String::as_str));
        Names { words, search, slugs, title: None }
    }

    /// Names of a person or a project: they count as whole words.
    pub fn whole<'w>(words: impl IntoIterator<Item = &'w str>, ignore_case: bool) -> Names {
        let names = Names::new(words, ignore_case);
        Names { search: Words::names(names.words.iter().map(String::as_str), ignore_case), ..names }
    }

    /// Returns the words as they stand in names of files.
    pub fn slugs(&self) -> &Slugs {
        &self.slugs
    }

    /// Names of a thread: they count where they are all of a text, and as a key (`topic/roof`).
    pub fn of_thread(names: &[String], page: Option<&str>) -> Result<Names> {
        let mut names = Names { slugs: Slugs::default(), ..Names::new(names.iter().map(String::as_str), false) };
        // In JSON a name may be escaped.
        let quoted = names.words.iter().map(|w| serde_json::Value::from(w.as_str()).to_string());
        let quoted: Vec<String> = quoted.map(|w| w[1..w.len() - 1].to_owned()).collect();
        names.words.extend(quoted);
        names.words.sort();
        names.words.dedup();
        let mut marks = Vec::new();
        for _ in 0..=names.words.len() {
            let mut bytes = [0; 4];
            getrandom::fill(&mut bytes)
                .map_err(|e| Error::new(ErrorKind::Machine, "the system gives no random numbers").because(e))?;
            marks.push(format!("forgotten-{:08x}", u32::from_be_bytes(bytes)));
        }
        names.title = Some(Title { page: page.map(str::to_owned), marks });
        Ok(names)
    }

    /// Returns the byte ranges of a text that name the thread, each with the number of its mark.
    fn titles(&self, title: &Title, text: &str) -> Vec<(Range<usize>, usize)> {
        let begins = |at: usize| at == 0 || text[..at].ends_with('"');
        let is_name = |at: usize, word: &str| {
            let key = |kind: &str| {
                text[..at].strip_suffix(kind).is_some_and(|before| begins(before.len()) || before.ends_with('/'))
            };
            let end = at + word.len();
            (begins(at) || key("topic/") || key("lane/")) && (end == text.len() || text[end..].starts_with('"'))
        };
        let mut all = Vec::new();
        for (no, word) in self.words.iter().enumerate() {
            let found = text.match_indices(word.as_str()).filter(|(at, word)| is_name(*at, word));
            all.extend(found.map(|(at, word)| (at..at + word.len(), no)));
        }
        if let Some(page) = &title.page {
            let found = text.match_indices(page.as_str()).map(|(at, page)| (at..at + page.len(), self.words.len()));
            all.extend(found);
        }
        all.sort_by_key(|(range, _)| range.start);
        all.dedup_by(|next, last| next.0.start < last.0.end);
        all
    }

    /// Returns a text with marks in the place of the words, `None` if it has none of them; `known` has the marks of all
    /// names but threads'.
    fn marked(&self, known: &ForgottenNames, programs: &Programs, text: &str) -> Option<String> {
        leaves::replaced(text, &mut |part| {
            let own = programs.own(part);
            let (head, part) = part.split_at(own);
            let stretches = self.stretches(part);
            if stretches.is_empty() {
                return None;
            }
            let marked = match &self.title {
                Some(title) => {
                    let (mut out, mut copied) = (String::new(), 0);
                    for (range, no) in self.titles(title, part) {
                        out.push_str(&part[copied..range.start]);
                        out.push_str(&title.marks[no]);
                        copied = range.end;
                    }
                    out + &part[copied..]
                }
                None => known.marked(part).into_owned(),
            };
            Some(format!("{head}{marked}"))
        })
    }

    /// Returns the byte ranges of a part of a text that contain the words.
    fn stretches(&self, part: &str) -> Vec<Range<usize>> {
        if let Some(title) = &self.title {
            return self.titles(title, part).into_iter().map(|(range, _)| range).collect();
        }
        let mut all = self.search.stretches(part.as_bytes());
        all.extend(self.slugs.stretches(part));
        leaves::outside_ids(part, all)
    }

    /// Whether a text has one of the words where a name can stand. `found` gets each such part with the ranges in it.
    fn are_in(&self, programs: &Programs, text: &str, found: &mut dyn FnMut(&str, &[Range<usize>])) -> bool {
        let mut has = false;
        leaves::replaced(text, &mut |part| {
            let part = &part[programs.own(part)..];
            let stretches = self.stretches(part);
            if !stretches.is_empty() {
                has = true;
                found(part, &stretches);
            }
            None
        });
        has
    }

    /// Counts the rows with such a name, by table.
    pub fn count(&self, tx: &Read, agent_no: AgentNo) -> Result<Vec<(String, u64)>> {
        let mut out = Vec::new();
        let programs = Programs::load(tx)?;
        let has = |text: &str| self.are_in(&programs, text, &mut |_, _| {});
        for table in tables(tx)? {
            let mut rows = 0;
            self.each(tx, agent_no, &table, |_, cells| {
                rows += u64::from(cells.iter().any(|cell| text_of(cell).is_some_and(|t| has(&t))));
                Ok(())
            })?;
            if rows > 0 {
                out.push((table.name, rows));
            }
        }
        let in_audit = audit::count(tx, has)?;
        if in_audit > 0 {
            out.push(("audit".into(), in_audit));
        }
        Ok(out)
    }

    /// Calls `row` with the key and the texts of each row that may have such a name. A code has no text.
    fn each(
        &self,
        tx: &Read,
        agent_no: AgentNo,
        table: &Table,
        mut row: impl FnMut(Vec<Cell>, Vec<Cell>) -> Result<()>,
    ) -> Result<()> {
        if self.words.is_empty() {
            return Ok(());
        }
        // A tool or a person may have the same name as a thread.
        let also = match self.title.is_some() && table.name == "names" {
            true => {
                " AND name_no NOT IN (SELECT speaker_no FROM turns WHERE speaker_no IS NOT NULL
                    UNION SELECT model_no FROM turns WHERE model_no IS NOT NULL
                    UNION SELECT tool_no FROM turns WHERE tool_no IS NOT NULL UNION SELECT name_no FROM participants)"
            }
            false => "",
        };
        let columns: Vec<&str> = table.key.iter().chain(&table.texts).map(String::as_str).collect();
        let sql = format!("SELECT {} FROM {} WHERE {}{also}", columns.join(", "), table.name, table.whose);
        let mut statement = tx.prepare(&sql)?;
        let mut rows = statement.query([agent_no])?;
        while let Some(r) = rows.next()? {
            let cells: rusqlite::Result<Vec<Cell>> = (0..columns.len()).map(|i| r.get(i)).collect();
            let mut key = cells?;
            let mut texts = key.split_off(table.key.len());
            for (cell, column) in texts.iter_mut().zip(&table.texts) {
                let is_code =
                    |text: &str| leaves::is_code(column, text) || table.name == "file_revisions" && column == "why";
                if text_of(cell).is_some_and(|text| is_code(&text)) {
                    *cell = Cell::Null;
                }
            }
            row(key, texts)?;
        }
        Ok(())
    }

    /// Replaces the words by marks in all tables. Returns the ledger's forgotten names, including these.
    pub fn erase(&self, tx: &mut Write, agent_no: AgentNo) -> Result<ForgottenNames> {
        let mut names = ForgottenNames::load(tx)?;
        if self.words.is_empty() {
            return Ok(names);
        }
        let tables = tables(tx)?;
        let programs = Programs::load(tx)?;
        let mut found: Vec<(String, Vec<Range<usize>>)> = Vec::new();
        let mut look =
            |text: &str| self.are_in(&programs, text, &mut |part, at| found.push((part.into(), at.to_vec())));
        for table in &tables {
            self.each(tx, agent_no, table, |_, cells| {
                for text in cells.iter().filter_map(text_of) {
                    look(&text);
                }
                Ok(())
            })?;
        }
        audit::count(tx, &mut look)?;
        if !found.is_empty() {
            // The index contains these names, and the ledger no longer says in which of its rows.
            tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, '1')", [super::IN_INDEX])?;
        }
        if self.title.is_none() {
            for (part, stretches) in &found {
                names.take(tx, part, stretches)?;
            }
            for table in &tables {
                self.tell_apart(tx, agent_no, table, &programs, &mut names)?;
            }
        }
        // A head whose key has such a name is deleted; it is rendered again under the page's new name.
        for table in tables.iter().filter(|t| t.key.iter().any(|k| k == "head")) {
            let mut gone = Vec::new();
            self.each(tx, agent_no, table, |key, _| {
                let named = key.iter().filter_map(text_of).any(|t| self.are_in(&programs, &t, &mut |_, _| {}));
                if named {
                    gone.push(key);
                }
                Ok(())
            })?;
            for key in gone {
                let sql = format!("DELETE FROM {} WHERE {}", table.name, conditions(&table.key, 1));
                tx.prepare(&sql)?.execute(params_from_iter(key))?;
            }
        }
        for table in &tables {
            let mut changes: Vec<(Vec<Cell>, Vec<Cell>)> = Vec::new();
            self.each(tx, agent_no, table, |key, cells| {
                let new = |cell| self.marked_cell(&names, &programs, cell).unwrap_or_else(|| Cell::clone(cell));
                let marked: Vec<Cell> = cells.iter().map(new).collect();
                if marked != cells {
                    changes.push((key, marked));
                }
                Ok(())
            })?;
            for (key, marked) in changes {
                table.store(tx, &key, marked)?;
            }
        }
        let reworded = audit::reword(tx, |text| self.marked(&names, &programs, text))?;
        if let Some(first) = reworded {
            tx.note("rechained_from", first);
        }
        Ok(names)
    }

    /// Gives spellings marks of their own, where rows of a table would otherwise get the same unique text.
    fn tell_apart(
        &self,
        tx: &mut Write,
        agent_no: AgentNo,
        table: &Table,
        programs: &Programs,
        names: &mut ForgottenNames,
    ) -> Result<()> {
        for &column in &table.unique {
            let mut texts: BTreeSet<String> = BTreeSet::new();
            self.each(tx, agent_no, table, |_, cells| {
                texts.extend(cells.get(column).and_then(text_of).map(Cow::into_owned));
                Ok(())
            })?;
            // A new mark may make other rows the same, so all are compared again.
            let mut told = true;
            while std::mem::take(&mut told) {
                let mut first: HashMap<String, &str> = HashMap::new();
                for text in &texts {
                    let marked = self.marked(names, programs, text).unwrap_or_else(|| text.clone());
                    if let Some(other) = first.insert(marked, text) {
                        told |= names.tell_apart(tx, other, text)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns a cell with marks in the place of the words, `None` if it has none of them.
    fn marked_cell(&self, names: &ForgottenNames, programs: &Programs, cell: &Cell) -> Option<Cell> {
        let text = self.marked(names, programs, &text_of(cell)?)?;
        Some(match cell {
            Cell::Blob(_) => Cell::Blob(text.into_bytes()),
            _ => Cell::Text(text),
        })
    }
}

impl Table {
    /// Stores the texts of a row; a column without a new text keeps its old one. If another row already has the same unique text, which other rows may refer to, the
    /// texts of this row get a number.
    fn store(&self, tx: &mut Write, key: &[Cell], texts: Vec<Cell>) -> Result<()> {
        let set: Vec<String> =
            self.texts.iter().enumerate().map(|(i, c)| format!("{c} = coalesce(?{}, {c})", i + 1)).collect();
        let sql = format!(
            "UPDATE {} SET {} WHERE {}",
            self.name,
            set.join(", "),
            conditions(&self.key, self.texts.len() + 1)
        );
        let mut stored = texts.clone();
        for number in 2.. {
            let done = tx.prepare(&sql)?.execute(params_from_iter(stored.iter().chain(key)));
            match done {
                Err(e) if is_taken(&e) && !self.unique.is_empty() && number < MOST_SAME => {
                    for &column in &self.unique {
                        match (&texts[column], &mut stored[column]) {
                            (Cell::Text(text), new) => *new = Cell::Text(format!("{text}-{number}")),
                            (Cell::Blob(_), new) if let Some(text) = text_of(&texts[column]) => {
                                *new = Cell::Blob(format!("{text}-{number}").into_bytes());
                            }
                            _ => {}
                        }
                    }
                }
                done => {
                    done?;
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Whether another row already has a text that no two rows may share.
fn is_taken(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::ConstraintViolation))
}

/// The ids of the programs that sessions come from. They are no names of people, and without them the next import would
/// not recognise what it has stored: the sessions would come back.
struct Programs(BTreeSet<String>);

impl Programs {
    fn load(tx: &Read) -> Result<Programs> {
        let mut statement = tx.prepare(
            "SELECT harness FROM sources UNION SELECT substr(session_key, 1, instr(session_key, ':') - 1) FROM sessions
             UNION SELECT substr(session_key, 1, instr(session_key, ':') - 1) FROM contexts",
        )?;
        let all = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<BTreeSet<String>>>()?;
        let is_id = |id: &String| {
            !id.is_empty() && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        Ok(Programs(all.into_iter().filter(is_id).collect()))
    }

    /// Returns the length of the beginning of a part that names a program: all of it, or that of the key of a session
    /// (`<program>:<id>`) or of its thread (`session/<program>:<id>`).
    fn own(&self, part: &str) -> usize {
        let kind = ["session/", "person/"].iter().find(|kind| part.starts_with(**kind)).map_or(0, |kind| kind.len());
        match part[kind..].split_once(':') {
            Some((program, _)) if self.0.contains(program) => kind + program.len(),
            None if kind == 0 && self.0.contains(part) => part.len(),
            _ => 0,
        }
    }
}

fn conditions(key: &[String], first: usize) -> String {
    let all: Vec<String> = key.iter().enumerate().map(|(i, k)| format!("{k} IS ?{}", first + i)).collect();
    all.join(" AND ")
}

/// Returns the text of a cell; paths are stored as blobs.
fn text_of(cell: &Cell) -> Option<Cow<'_, str>> {
    match cell {
        Cell::Text(text) => Some(Cow::Borrowed(text)),
        Cell::Blob(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        _ => None,
    }
}

/// Returns the tables with texts, and for each the condition that selects an agent's rows.
fn tables(tx: &Read) -> Result<Vec<Table>> {
    let mut statement =
        tx.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")?;
    let names: Vec<String> = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut tables = Vec::new();
    for name in names.into_iter().filter(|name| !NOT_SEARCHED.contains(&name.as_str())) {
        let mut statement = tx.prepare("SELECT name, type, pk FROM pragma_table_info(?1)")?;
        let columns: Vec<(String, String, i64)> = statement
            .query_map([&name], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let key: Vec<String> = columns.iter().filter(|(.., pk)| *pk > 0).map(|(name, ..)| name.clone()).collect();
        let texts: Vec<String> = columns
            .iter()
            .filter(|(_, kind, _)| kind == "TEXT" || kind == "BLOB")
            .map(|(name, ..)| name.clone())
            .collect();
        let mut statement = tx.prepare(
            "SELECT DISTINCT c.name FROM pragma_index_list(?1) i JOIN pragma_index_info(i.name) c
             WHERE i.\"unique\" AND c.name IS NOT NULL",
        )?;
        let unique: BTreeSet<String> = statement.query_map([&name], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        let unique = (0..texts.len()).filter(|i| unique.contains(&texts[*i])).collect();
        let has = |column: &str| columns.iter().any(|(name, ..)| name == column);
        let whose = match () {
            // The names of existing files come from the disk: such a file is removed, or listed and left alone.
            () if name == "catalogue" => "agent_no = ?1 AND state = 'gone'",
            () if has("agent_no") => "agent_no = ?1",
            () if has("session_no") && name != "streams" => {
                "session_no IN (SELECT session_no FROM sessions WHERE agent_no = ?1)"
            }
            () if has("source_no") => "source_no IN (SELECT source_no FROM sources WHERE agent_no = ?1)",
            () => "?1 IS NOT NULL",
        };
        if !texts.is_empty() {
            let key = if key.is_empty() { vec!["rowid".to_owned()] } else { key };
            tables.push(Table { name, key, texts, unique, whose });
        }
    }
    Ok(tables)
}
