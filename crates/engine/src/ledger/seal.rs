//! Seals: keyed sums over the rows of some tables, stored beside them, so that `verify` notices a row that was changed
//! by anything but a write of this program (R4.6).
//!
//! Sealed are the tables with a row or column that no other check covers; `NOT_SEALED` has the others. Temporary
//! triggers of the writing connection report every row that is inserted, changed or deleted, with its values; no other
//! connection has these triggers. A trigger is made when the first statement needs it, since a command or hook changes
//! few tables and making all triggers takes longer than the change itself. Each row has a digest under a key of this
//! ledger; digests are added up, so that changing one row costs the same in a table of any size. A small table has a
//! sum for each row, a large one for each stretch of rows. The sum over all tables is stored in the audit row of each
//! write, so that seals cannot be changed without breaking the audit chain.
//!
//! Forgetting draws another key and makes all sums anew: under the old key, the difference of two sums would confirm a
//! guess of what was forgotten. A migration changes rows, so it removes the seals, and the next write makes them anew.
//!
//! Seals detect changes made behind this program's back. They are no signature: anybody who has the ledger has the key.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};

/// The tables that are sealed, in the order of their names.
const SEALED: &[&str] = &[
    "agents",
    "boundaries",
    "candidates",
    "capability_manifests",
    "catalogue",
    "channel_events",
    "compactions",
    "context_epochs",
    "contexts",
    "dismissals",
    "evolve_runs",
    "file_revisions",
    "forgotten_names",
    "head_deferred",
    "head_revisions",
    "head_sections",
    "heads",
    "injected_items",
    "lanes",
    "matters",
    "meta",
    "model_summaries",
    "names",
    "node_roots",
    "nodes",
    "participants",
    "pending_memory",
    "profile",
    "provisional_turns",
    "quarantine",
    "records",
    "run_threads",
    "scheduled_runs",
    "sessions",
    "skill_candidates",
    "sources",
    "streams",
    "thread_links",
    "thread_names",
    "thread_switches",
    "threads",
    "tombstones",
    "turn_references",
    "turn_results",
    "turns",
    "witnesses",
    "workspaces",
];

/// Sealed tables that grow with the records, turns or sessions: they have a sum for each stretch of rows.
const LARGE: &[&str] = &[
    "boundaries",
    "contexts",
    "injected_items",
    "node_roots",
    "nodes",
    "provisional_turns",
    "records",
    "run_threads",
    "streams",
    "turn_references",
    "turn_results",
    "turns",
    "witnesses",
];

/// Tables that are not sealed: the seals themselves; tables whose every column another check recomputes (`audit`,
/// `blocks`, `node_edges`); queues and cursors of work (`jobs`, `flushes`, `lineage_marks`, `hook_calls`, `model_calls`);
/// fingerprints that only save reading something again (`foreign_groups`, `matters_asked`); and readings of turns that
/// are made again from them (`evolve_sessions`, `findings`, `judged_chunks`, `model_readings`, `skill_steps`).
#[cfg(test)]
const NOT_SEALED: &[&str] = &[
    "audit",
    "blocks",
    "evolve_sessions",
    "findings",
    "flushes",
    "foreign_groups",
    "hook_calls",
    "jobs",
    "judged_chunks",
    "lineage_marks",
    "matters_asked",
    "model_calls",
    "model_readings",
    "node_edges",
    "seals",
    "skill_steps",
];

/// Bits of a row's number inside one stretch of a large table: a stretch has 2^8 numbers.
const STRETCH: u32 = 8;

const KEY: i64 = 0;
const TOTAL: i64 = 1;

/// SQL function the triggers call, with the table's number, whether the row is removed, and the row's values.
const TOLD: &str = "heirloom_row";

/// A table that is sealed.
#[derive(Clone, Debug)]
struct Sealed {
    name: String,
    columns: Vec<String>,
    /// Indices of the primary key's columns; all columns where the table has no primary key.
    key: Vec<usize>,
    large: bool,
}

/// Triggers that exist: for each table of [`SEALED`] a bit for each event of [`WHEN`].
#[derive(Clone, Copy)]
struct Heard([u8; SEALED.len()]);

impl Default for Heard {
    fn default() -> Heard {
        Heard([0; SEALED.len()])
    }
}

/// Events that have a trigger.
const WHEN: [&str; 3] = ["INSERT", "DELETE", "UPDATE"];
const INSERT: u8 = 1;
const DELETE: u8 = 2;
const UPDATE: u8 = 4;

/// Row changes of the current write.
#[derive(Default)]
struct Tally {
    key: Option<[u8; 32]>,
    /// Schema version for which the triggers were made, and that of this transaction.
    schema: (i64, i64),
    /// Triggers that existed when the last write succeeded, and the same with those made in this write: if this write
    /// is rolled back, its triggers go with it.
    heard: (Heard, Heard),
    tables: BTreeMap<usize, Sealed>,
    changes: BTreeMap<(usize, i64), u128>,
    /// Table with a row that was changed without a trigger reporting it.
    #[cfg(debug_assertions)]
    missed: Option<String>,
}

/// Collects the rows that a connection changes.
#[derive(Clone, Default)]
pub(super) struct Seals(Arc<Mutex<Tally>>);

impl Seals {
    /// Prepares the writing connection: registers the function the triggers call.
    pub fn listen(&self, conn: &mut Connection) -> Result<()> {
        let told = self.clone();
        conn.create_scalar_function(TOLD, -1, FunctionFlags::SQLITE_UTF8, move |row| {
            told.tally().hear(row)?;
            Ok(true)
        })?;
        // Without this, `REPLACE` removes rows without calling their delete triggers.
        conn.execute_batch("PRAGMA recursive_triggers = ON")?;
        #[cfg(debug_assertions)]
        {
            let told = self.clone();
            conn.update_hook(Some(move |action: rusqlite::hooks::Action, schema: &str, table: &str, _: i64| {
                if let (Ok(no), "main") = (SEALED.binary_search(&table), schema) {
                    let when = match action {
                        rusqlite::hooks::Action::SQLITE_INSERT => INSERT,
                        rusqlite::hooks::Action::SQLITE_DELETE => DELETE,
                        _ => UPDATE,
                    };
                    let mut tally = told.tally();
                    if tally.heard.1.0[no] & when == 0 {
                        tally.missed = Some(table.to_owned());
                    }
                }
            }))?;
        }
        Ok(())
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a write: a transaction, or one savepoint of a transaction that several threads share.
    pub fn begin(&self, tx: &Connection) -> Result<()> {
        let (key, schema) = (key(tx)?, schema_of(tx)?);
        let there = {
            let mut tally = self.tally();
            tally.key = key;
            tally.changes.clear();
            #[cfg(debug_assertions)]
            {
                tally.missed = None;
            }
            tally.heard.1 = tally.heard.0;
            tally.schema.1 = schema;
            if tally.schema.0 == schema {
                return Ok(());
            }
            // A migration by another process may have changed the columns.
            tally.tables.clear();
            tally.heard.1 = Heard::default();
            // After [`Seals::lost`] triggers may exist that are not recorded here.
            tally.schema.0 != 0
        };
        if there {
            forget_triggers(tx)?;
        }
        Ok(())
    }

    /// Makes the triggers a statement needs, if it changes a sealed table and they are missing. Making all triggers at
    /// once would cost more than the changes they report, since a command changes few of the tables.
    pub fn hear(&self, conn: &Connection, sql: &str) -> rusqlite::Result<()> {
        let Some((no, when)) = changed_by(sql) else { return Ok(()) };
        let missing = when & !self.tally().heard.1.0[no];
        if missing == 0 {
            return Ok(());
        }
        let there = self.tally().tables.contains_key(&no);
        if !there {
            let table = sealed(conn, SEALED[no])?;
            self.tally().tables.insert(no, table);
        }
        let Some(table) = self.tally().tables.get(&no).cloned() else { return Ok(()) };
        let row = |leaves: bool| {
            let from = if leaves { "OLD" } else { "NEW" };
            let mut tells = format!("{TOLD}({no}, {}", i32::from(leaves));
            for column in &table.columns {
                tells += &format!(", {from}.{column}");
            }
            tells + ")"
        };
        for (bit, word) in WHEN.iter().enumerate().filter(|(bit, _)| missing & (1 << bit) != 0) {
            let tells = match 1u8 << bit {
                INSERT => row(false),
                DELETE => row(true),
                _ => format!("{}, {}", row(true), row(false)),
            };
            let name = &table.name;
            conn.execute_batch(&format!(
                "CREATE TEMP TRIGGER IF NOT EXISTS seal_{name}_{word} AFTER {word} ON main.{name} BEGIN SELECT {tells}; END"
            ))?;
        }
        self.tally().heard.1.0[no] |= missing;
        Ok(())
    }

    /// Records that the write succeeded: its triggers stay, unless the whole shared transaction is rolled back
    /// ([`Seals::lost`]).
    pub fn kept(&self) {
        let mut tally = self.tally();
        (tally.heard.0, tally.schema.0) = (tally.heard.1, tally.schema.1);
    }

    /// Forgets which triggers exist, because some may be gone: with a transaction that was rolled back after writes in
    /// it had succeeded, or because SQLite drops temporary objects when `temp_store` is set. Triggers that still exist
    /// are not made twice (`IF NOT EXISTS`).
    pub fn lost(&self) {
        self.tally().heard = Default::default();
    }

    /// Ends a write: stores the new sums and returns the sum over all tables. `anew`: makes all sums anew under another
    /// key.
    pub fn end(&self, tx: &Connection, anew: bool) -> Result<u128> {
        let (key, changes) = {
            let mut tally = self.tally();
            #[cfg(debug_assertions)]
            if let Some(table) = tally.missed.take() {
                return Err(Error::damaged(format!("a row of {table} was changed past its seal")));
            }
            (tally.key.take(), std::mem::take(&mut tally.changes))
        };
        if key.is_none() || anew {
            return all_anew(tx, &sealed_tables(tx)?);
        }
        let before = sum_of(tx, "", TOTAL)?;
        let mut total = before;
        for ((table, part), change) in changes.into_iter().filter(|(_, change)| *change != 0) {
            let name = SEALED[table];
            put(tx, name, part, sum_of(tx, name, part)?.wrapping_add(change))?;
            total = total.wrapping_add(change);
        }
        if total != before {
            put_total(tx, total)?;
        }
        Ok(total)
    }
}

/// Returns the sealed table a statement changes, and by which events. It only looks at the first words, since it runs
/// for every statement and a write has a dozen of them for each turn; our statements have their SQL words in capitals.
fn changed_by(sql: &str) -> Option<(usize, u8)> {
    let sql = sql.trim_ascii_start();
    let (verb, rest) = word(sql);
    let (next, more) = word(rest);
    let (table, when) = match (verb, next) {
        ("INSERT" | "REPLACE", "INTO") => (word(more).0, if verb == "REPLACE" { INSERT | DELETE } else { INSERT }),
        ("INSERT", "OR") => {
            let (how, into) = word(more);
            (word(word(into).1).0, if how == "REPLACE" { INSERT | DELETE } else { INSERT })
        }
        ("UPDATE", "OR") => (word(word(more).1).0, UPDATE),
        ("UPDATE", table) => (table, UPDATE),
        ("DELETE", _) => (word(more).0, DELETE),
        ("WITH", _) => {
            let at = [" INSERT ", " UPDATE ", " DELETE ", "\nINSERT ", "\nUPDATE ", "\nDELETE "];
            return at.iter().find_map(|verb| changed_by(&sql[sql.find(verb)? + 1..]));
        }
        _ => return None,
    };
    let no = SEALED.binary_search(&table.strip_prefix("main.").unwrap_or(table)).ok()?;
    let updates = verb == "INSERT" && memchr::memmem::find(sql.as_bytes(), b"DO UPDATE").is_some();
    Some((no, if updates { when | UPDATE } else { when }))
}

/// Splits a text into its first word and the rest.
fn word(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let end = bytes.iter().position(|b| b" \n(".contains(b)).unwrap_or(bytes.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// Removes the seal triggers of this connection.
fn forget_triggers(conn: &Connection) -> Result<()> {
    let mut statement = conn.prepare("SELECT name FROM temp.sqlite_schema WHERE type = 'trigger'")?;
    let names: Vec<String> = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    drop(statement);
    for name in names {
        conn.execute_batch(&format!("DROP TRIGGER temp.{name}"))?;
    }
    Ok(())
}

impl Tally {
    fn hear(&mut self, row: &Context) -> rusqlite::Result<()> {
        let Some(key) = self.key else { return Ok(()) };
        let (table, leaves): (i64, bool) = (row.get(0)?, row.get(1)?);
        let table = table as usize;
        let Some(sealed) = self.tables.get(&table) else { return Ok(()) };
        let (part, digest) = row_of(sealed, &key, sealed.columns.len(), |i| Ok(row.get_raw(i as usize + 2)))?;
        let sum = self.changes.entry((table, part)).or_default();
        *sum = if leaves { sum.wrapping_sub(digest) } else { sum.wrapping_add(digest) };
        Ok(())
    }
}

fn schema_of(conn: &Connection) -> Result<i64> {
    Ok(conn.prepare_cached("PRAGMA main.schema_version")?.query_row([], |r| r.get(0))?)
}

/// Returns the part (row or stretch) a row belongs to, and the row's digest.
fn row_of<'v>(
    sealed: &Sealed,
    key: &[u8; 32],
    columns: usize,
    value: impl Fn(i32) -> rusqlite::Result<ValueRef<'v>>,
) -> rusqlite::Result<(i64, u128)> {
    let mut row = blake3::Hasher::new_keyed(key);
    row.update(sealed.name.as_bytes());
    for column in 0..columns {
        hash(&mut row, value(column as i32)?);
    }
    let first = match sealed.key.as_slice() {
        [first] => Some(*first),
        [first, ..] if sealed.large => Some(*first),
        _ => None,
    };
    let number = match first {
        Some(first) => value(first as i32)?.as_i64().ok(),
        None => None,
    };
    let part = match number {
        Some(number) if sealed.large => number >> STRETCH,
        Some(number) => number,
        None => {
            let mut part = blake3::Hasher::new_keyed(key);
            for column in &sealed.key {
                hash(&mut part, value(*column as i32)?);
            }
            let bytes = *part.finalize().as_bytes();
            i64::from_le_bytes(bytes[..8].try_into().unwrap_or_default())
        }
    };
    Ok((part, half(row.finalize().as_bytes())))
}

fn half(digest: &[u8; 32]) -> u128 {
    u128::from_le_bytes(digest[..16].try_into().unwrap_or_default())
}

/// Hashes a value with its type and length, so that no two rows have the same input.
fn hash(hasher: &mut blake3::Hasher, value: ValueRef) {
    let (tag, number);
    let bytes: &[u8] = match value {
        ValueRef::Null => {
            tag = 0u8;
            &[]
        }
        ValueRef::Integer(n) => {
            (tag, number) = (1, n.to_le_bytes());
            &number
        }
        // SQLite may return a whole number in a column of fractions as an integer or as a real: both must hash the
        // same.
        ValueRef::Real(f) if f.fract() == 0.0 && f.abs() < 9e15 => {
            (tag, number) = (1, (f as i64).to_le_bytes());
            &number
        }
        ValueRef::Real(f) => {
            (tag, number) = (2, f.to_le_bytes());
            &number
        }
        ValueRef::Text(text) => {
            tag = 3;
            text
        }
        ValueRef::Blob(bytes) => {
            tag = 4;
            bytes
        }
    };
    hasher.update(&[tag]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

fn sealed_tables(conn: &Connection) -> Result<Vec<Sealed>> {
    Ok(SEALED.iter().map(|name| sealed(conn, name)).collect::<rusqlite::Result<_>>()?)
}

fn sealed(conn: &Connection, name: &str) -> rusqlite::Result<Sealed> {
    let mut statement = conn.prepare_cached("SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid")?;
    let columns: Vec<(String, i64)> =
        statement.query_map([name], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let mut key: Vec<usize> = (0..columns.len()).filter(|i| columns[*i].1 > 0).collect();
    key.sort_by_key(|i| columns[*i].1);
    if key.is_empty() {
        key = (0..columns.len()).collect();
    }
    let columns = columns.into_iter().map(|(name, _)| name).collect();
    Ok(Sealed { name: name.to_owned(), columns, key, large: LARGE.contains(&name) })
}

fn key(conn: &Connection) -> Result<Option<[u8; 32]>> {
    let mut statement = conn.prepare_cached("SELECT sum FROM seals WHERE name = '' AND part = ?1")?;
    let key: Option<Vec<u8>> = statement.query_row([KEY], |r| r.get(0)).optional()?;
    Ok(key.and_then(|key| key.try_into().ok()))
}

fn sum_of(conn: &Connection, name: &str, part: i64) -> Result<u128> {
    let mut statement = conn.prepare_cached("SELECT sum FROM seals WHERE name = ?1 AND part = ?2")?;
    let sum: Option<Vec<u8>> = statement.query_row(params![name, part], |r| r.get(0)).optional()?;
    Ok(sum.and_then(|sum| Some(u128::from_le_bytes(sum.try_into().ok()?))).unwrap_or_default())
}

fn put(conn: &Connection, name: &str, part: i64, sum: u128) -> Result<()> {
    match sum {
        0 => conn.prepare_cached("DELETE FROM seals WHERE name = ?1 AND part = ?2")?.execute(params![name, part])?,
        _ => conn
            .prepare_cached("INSERT OR REPLACE INTO seals (name, part, sum) VALUES (?1, ?2, ?3)")?
            .execute(params![name, part, sum.to_le_bytes().as_slice()])?,
    };
    Ok(())
}

fn put_total(conn: &Connection, total: u128) -> Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO seals (name, part, sum) VALUES ('', ?1, ?2)")?
        .execute(params![TOTAL, total.to_le_bytes().as_slice()])?;
    Ok(())
}

/// Removes all seals, because a migration changes or has changed rows. The next write makes them anew.
pub(super) fn remove(conn: &Connection) -> Result<()> {
    let there: bool =
        conn.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'seals')", [], |r| r.get(0))?;
    if there {
        conn.execute("DELETE FROM seals", [])?;
    }
    Ok(())
}

/// Makes the sums of all tables anew under a new key.
fn all_anew(tx: &Connection, tables: &[Sealed]) -> Result<u128> {
    let mut key = [0u8; 32];
    getrandom::fill(&mut key).map_err(|e| Error::new(ErrorKind::Machine, "no randomness").because(e))?;
    tx.execute("DELETE FROM seals", [])?;
    tx.execute("INSERT INTO seals (name, part, sum) VALUES ('', ?1, ?2)", params![KEY, key.as_slice()])?;
    let mut total = 0u128;
    for sealed in tables {
        for (part, sum) in added_up(tx, sealed, &key, |_, _| Ok(()))? {
            put(tx, &sealed.name, part, sum)?;
            total = total.wrapping_add(sum);
        }
    }
    put_total(tx, total)?;
    Ok(total)
}

fn added_up(
    conn: &Connection,
    sealed: &Sealed,
    key: &[u8; 32],
    mut each: impl FnMut(i64, &rusqlite::Row) -> Result<()>,
) -> Result<BTreeMap<i64, u128>> {
    let mut sums: BTreeMap<i64, u128> = BTreeMap::new();
    let mut statement = conn.prepare(&format!("SELECT {} FROM {}", sealed.columns.join(", "), sealed.name))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let (part, digest) = row_of(sealed, key, sealed.columns.len(), |i| r.get_ref(i as usize))?;
        let sum = sums.entry(part).or_default();
        *sum = sum.wrapping_add(digest);
        each(part, r)?;
    }
    Ok(sums)
}

/// A place in a table, and the problem there.
pub type Broken = (String, String);

/// Returns rows that were changed, removed or added by anything but a write of this program, and seals whose total
/// differs from the one in the newest audit row.
pub fn broken(tx: &Read) -> Result<Vec<Broken>> {
    let noted: Option<(i64, Option<String>)> = tx
        .query_row("SELECT audit_no, detail ->> 'seal' FROM audit ORDER BY audit_no DESC LIMIT 1", [], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })
        .optional()?;
    let Some(key) = key(tx)? else {
        // Without a key there are no seals: nothing was written since the schema got seals, or since the last
        // migration.
        let gone = noted.is_some_and(|(_, seal)| seal.is_some());
        return Ok(gone.then(|| ("seals".into(), "they are gone".into())).into_iter().collect());
    };
    let mut out = Vec::new();
    let mut total = 0u128;
    for sealed in &sealed_tables(tx)? {
        let mut statement = tx.prepare_cached("SELECT part, sum FROM seals WHERE name = ?1")?;
        let stored: rusqlite::Result<BTreeMap<i64, u128>> = statement
            .query_map([&sealed.name], |r| {
                let sum: [u8; 16] = r.get::<_, Vec<u8>>(1)?.try_into().unwrap_or_default();
                Ok((r.get(0)?, u128::from_le_bytes(sum)))
            })?
            .collect();
        let stored = stored?;
        total = stored.values().fold(total, |total, sum| total.wrapping_add(*sum));
        let now = added_up(tx, sealed, &key, |_, _| Ok(()))?;
        if now != stored {
            rows_that_differ(tx, sealed, &key, &stored, &now, &mut out)?;
        }
    }
    let strangers: Vec<String> = tx
        .prepare_cached("SELECT DISTINCT name FROM seals WHERE name != '' OR part NOT IN (?1, ?2)")?
        .query_map([KEY, TOTAL], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for name in strangers.iter().filter(|name| !SEALED.contains(&name.as_str())) {
        out.push(("seals".into(), format!("a row of {name:?} is none of ours")));
    }
    if total != sum_of(tx, "", TOTAL)? {
        out.push(("seals".into(), "they do not add up".into()));
    } else if let Some((no, noted)) = noted
        && noted.is_none_or(|noted| noted != format!("{total:032x}"))
    {
        out.push(("seals".into(), format!("they are not those audit row {no} noted")));
    }
    Ok(out)
}

fn rows_that_differ(
    tx: &Read,
    sealed: &Sealed,
    key: &[u8; 32],
    stored: &BTreeMap<i64, u128>,
    now: &BTreeMap<i64, u128>,
    out: &mut Vec<Broken>,
) -> Result<()> {
    let numbered = sealed.key.len() == 1;
    for part in stored.keys().filter(|part| !now.contains_key(part)) {
        out.push(match (sealed.large, numbered) {
            (true, _) => (stretch(sealed, *part), "all of these rows are gone".into()),
            (false, true) if part.unsigned_abs() < 1 << 53 => {
                (format!("{} {part}", sealed.name), "the row is gone".into())
            }
            (false, _) => (sealed.name.clone(), "a row is gone".into()),
        });
    }
    let named = RefCell::new(BTreeMap::<i64, String>::new());
    added_up(tx, sealed, key, |part, r| {
        if stored.get(&part) != now.get(&part) && !named.borrow().contains_key(&part) {
            named.borrow_mut().insert(part, if sealed.large { stretch(sealed, part) } else { row_name(sealed, r)? });
        }
        Ok(())
    })?;
    for (part, name) in named.into_inner() {
        out.push(match (sealed.large, stored.contains_key(&part)) {
            (true, _) => (name, "a row is not as it was written, is gone, or is none of ours".into()),
            (false, true) => (name, "the row is not as it was written".into()),
            (false, false) => (name, "the row is none of ours".into()),
        });
    }
    Ok(())
}

fn stretch(sealed: &Sealed, part: i64) -> String {
    if sealed.key.len() > 1 {
        return sealed.name.clone();
    }
    let column = &sealed.columns[sealed.key[0]];
    format!("{}, {column} {} to {}", sealed.name, part << STRETCH, ((part + 1) << STRETCH) - 1)
}

/// Returns the name of a row in messages, the table and its key: `profile timezone`.
fn row_name(sealed: &Sealed, r: &rusqlite::Row) -> Result<String> {
    let mut name = sealed.name.clone();
    for column in sealed.key.iter().filter(|i| sealed.key.len() == 1 || sealed.columns[**i] != "agent_no") {
        let shown = match r.get_ref(*column)? {
            ValueRef::Integer(n) => n.to_string(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).chars().take(60).collect(),
            _ => continue,
        };
        name = format!("{name} {shown}");
    }
    Ok(name)
}

impl Write<'_> {
    /// Makes all sums anew under another key when this write ends, because this write removes what was forgotten.
    pub fn seal_anew(&mut self) {
        self.anew = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::ledger::{Audit, Ledger, Open};

    /// Returns a ledger with one row in every sealed table, and a connection that changes rows behind its back.
    fn filled(folder: &std::path::Path) -> (Ledger, Connection) {
        let path = folder.join("runtime.db");
        let ledger = Ledger::open(&path, folder, Clock::Fixed(0), Open::Full).unwrap();
        ledger.main.lock().unwrap().conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        let made = ledger.write(Audit::new("test", "test.fill"), |tx| {
            for name in SEALED {
                let values: Vec<String> = columns(tx, name).into_iter().map(|column| column.value).collect();
                tx.execute(&format!("INSERT INTO {name} VALUES ({})", values.join(", ")), [])?;
            }
            Ok(())
        });
        made.unwrap();
        let behind = Connection::open(&path).unwrap();
        behind.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        (ledger, behind)
    }

    /// A column with a value for it, and values that differ from it, in SQL.
    struct Column {
        name: String,
        value: String,
        others: Vec<&'static str>,
    }

    fn columns(conn: &Connection, table: &str) -> Vec<Column> {
        let sql = "SELECT name, type, \"notnull\" OR pk > 0 FROM pragma_table_info(?1) ORDER BY cid";
        let mut statement = conn.prepare(sql).unwrap();
        let column = |r: &rusqlite::Row| {
            let (name, form, filled): (String, String, bool) = (r.get(0)?, r.get(1)?, r.get(2)?);
            let (value, other) = match (form.as_str(), name.as_str()) {
                // A link leads from the smaller number to the larger one.
                ("INTEGER", "other_no") => ("2", "3"),
                ("INTEGER", _) => ("1", "0"),
                ("REAL", _) => ("0.5", "0.25"),
                ("TEXT", _) => ("'1'", "'12'"),
                _ => ("x'01'", "x'03'"),
            };
            let others = if filled { vec![other] } else { vec![other, "NULL"] };
            Ok(Column { name, value: value.to_owned(), others })
        };
        statement.query_map([table], column).unwrap().map(|column| column.unwrap()).collect()
    }

    /// A new table is sealed, or it stands in the list of those that are not, with the reason.
    #[test]
    fn every_table_is_sealed_or_named_as_not_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let (ledger, _) = filled(folder.path());
        let mut listed: Vec<&str> = SEALED.iter().chain(NOT_SEALED).copied().collect();
        listed.sort_unstable();
        let tables = ledger.read(crate::ledger::dump::tables).unwrap();
        let tables: Vec<&str> = tables.iter().map(String::as_str).filter(|name| *name != "sqlite_sequence").collect();
        assert_eq!(tables, listed);
        assert!(LARGE.iter().all(|name| SEALED.contains(name)));
    }

    /// One damage for every column of every sealed table, a row that is gone and a row that was added: each is named with
    /// its table.
    #[test]
    fn every_column_of_every_sealed_table_is_covered() {
        let folder = tempfile::tempdir().unwrap();
        let (_ledger, behind) = filled(folder.path());
        let found = || broken(&Read { conn: &behind }).unwrap();
        assert_eq!(found(), Vec::<Broken>::new());
        let (mut missed, mut tried) = (Vec::new(), 0);
        for name in SEALED {
            let columns = columns(&behind, name);
            let mut damages = vec![format!("DELETE FROM {name}")];
            let row = format!("{} = {}", columns[0].name, columns[0].value);
            for column in &columns {
                let change = |other| format!("UPDATE {name} SET {} = {other} WHERE {row}", column.name);
                damages.extend(column.others.iter().map(change));
            }
            // Every key is new, so that no row stands in the way.
            let added: Vec<&str> = columns.iter().map(|column| column.others[0]).collect();
            damages.push(match *name {
                "thread_links" => "INSERT INTO thread_links VALUES (1, 4, 5, NULL, 1)".to_owned(),
                _ => format!("INSERT INTO {name} VALUES ({})", added.join(", ")),
            });
            for damage in damages {
                behind.execute_batch("BEGIN").unwrap();
                assert!(behind.execute(&damage, []).unwrap() > 0, "{damage} changes nothing");
                let named = found().iter().any(|(place, _)| place.split([' ', ',']).next() == Some(name));
                behind.execute_batch("ROLLBACK").unwrap();
                tried += 1;
                if !named {
                    missed.push(damage);
                }
            }
        }
        assert!(tried > 300, "{tried} damages");
        assert_eq!(missed, Vec::<String>::new());
        behind.execute("INSERT INTO seals VALUES ('elsewhere', 1, x'00')", []).unwrap();
        assert!(found().iter().any(|(place, what)| place == "seals" && what.contains("elsewhere")), "{:?}", found());
    }

    /// A ledger of a build that sealed fewer tables is sound after it was opened, and sealed whole after the next write.
    #[test]
    fn a_ledger_with_fewer_seals_is_sealed_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (ledger, behind) = filled(folder.path());
        drop(ledger);
        behind
            .execute_batch("DELETE FROM seals WHERE name IN ('agents', 'heads', 'records'); PRAGMA user_version = 13")
            .unwrap();
        let ledger =
            Ledger::open(&folder.path().join("runtime.db"), folder.path(), Clock::Fixed(0), Open::Full).unwrap();
        assert_eq!(ledger.read(broken).unwrap(), Vec::<Broken>::new());
        ledger.write(Audit::new("test", "test.write"), |_| Ok(())).unwrap();
        assert_eq!(ledger.read(broken).unwrap(), Vec::<Broken>::new());
        behind.execute("UPDATE heads SET content = x'05'", []).unwrap();
        let found = ledger.read(broken).unwrap();
        assert_eq!(found, [("heads 1".to_owned(), "the row is not as it was written".to_owned())]);
    }

    #[test]
    fn what_a_statement_changes_is_read_from_it() {
        assert!(SEALED.is_sorted());
        let told = |sql| changed_by(sql).map(|(no, when)| (SEALED[no], when));
        assert_eq!(told("INSERT INTO turns (a) VALUES (1)"), Some(("turns", INSERT)));
        assert_eq!(told(" INSERT INTO turns(a) VALUES (1) RETURNING a"), Some(("turns", INSERT)));
        assert_eq!(told("INSERT OR IGNORE INTO names (name) VALUES (1)"), Some(("names", INSERT)));
        assert_eq!(told("INSERT OR REPLACE INTO profile VALUES (1)"), Some(("profile", INSERT | DELETE)));
        assert_eq!(told("REPLACE INTO profile VALUES (1)"), Some(("profile", INSERT | DELETE)));
        assert_eq!(
            told("INSERT INTO profile VALUES (1)\n ON CONFLICT (a) DO UPDATE SET a = 1"),
            Some(("profile", INSERT | UPDATE))
        );
        assert_eq!(told("UPDATE\n  main.sessions SET a = 1"), Some(("sessions", UPDATE)));
        assert_eq!(told("UPDATE OR IGNORE threads SET a = 1"), Some(("threads", UPDATE)));
        assert_eq!(told("DELETE FROM threads"), Some(("threads", DELETE)));
        assert_eq!(told("WITH x AS (SELECT 1) UPDATE threads SET a = 1"), Some(("threads", UPDATE)));
        for sql in ["SELECT * FROM turns", "INSERT INTO jobs VALUES (1)", "WITH x AS (SELECT 1) SELECT 1", "", "DELETE"]
        {
            assert_eq!(told(sql), None, "{sql}");
        }
    }
}
