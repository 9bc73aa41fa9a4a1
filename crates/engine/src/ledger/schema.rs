//! Comparison of a ledger's schema with the one its migrations make (R4.6): a table, index or trigger that is gone,
//! was changed, or is none of ours. Seals and digests cover rows; a trigger that deletes rows, or a constraint that is
//! gone, changes no row before the next write.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use super::migrate;
use crate::error::Result;
use crate::ledger::Read;
use crate::sqlite::open_for_reading;

/// The kind and name of a part of a schema, and what is wrong with it.
pub type Broken = (String, String);

/// Returns the parts of the schema that are not those that the migrations of this build make.
pub fn broken(tx: &Read) -> Result<Vec<Broken>> {
    differences(tx)
}

/// Returns the same for a ledger that cannot be opened because of it; nothing where it has another version or cannot be
/// read at all.
pub fn broken_in(path: &Path) -> Vec<Broken> {
    let compare = || -> Result<Vec<Broken>> {
        let conn = open_for_reading(path)?;
        match migrate::require_current(&conn, path) {
            Ok(()) => differences(&conn),
            Err(_) => Ok(Vec::new()),
        }
    };
    compare().unwrap_or_default()
}

fn differences(conn: &Connection) -> Result<Vec<Broken>> {
    let (wanted, found) = (parts(&migrate::in_memory()?)?, parts(conn)?);
    let mut out = Vec::new();
    for ((kind, name), sql) in &wanted {
        match found.get(&(kind.clone(), name.clone())) {
            None => out.push((format!("{kind} {name}"), "is gone from the ledger".to_owned())),
            Some(now) if now != sql => out.push((format!("{kind} {name}"), "is not as it was made".to_owned())),
            Some(_) => {}
        }
    }
    for (kind, name) in found.keys().filter(|part| !wanted.contains_key(part)) {
        out.push((format!("{kind} {name}"), "is none of ours".to_owned()));
    }
    Ok(out)
}

/// Returns the parts of a schema, by kind and name, with their SQL. SQLite's own, such as the statistics of its planner,
/// are left out.
fn parts(conn: &Connection) -> Result<BTreeMap<(String, String), String>> {
    let sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut out = BTreeMap::new();
    while let Some(r) = rows.next()? {
        let (table, sql): (String, String) = (r.get(2)?, r.get(3)?);
        out.insert((r.get(0)?, r.get(1)?), format!("{table}: {}", plain(&sql)));
    }
    Ok(out)
}

/// Returns SQL without comments and with single spaces: a later release may word a comment of an old migration
/// differently.
fn plain(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let mut width = c.len_utf8();
        if rest.starts_with("--") {
            width = rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            width = rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if matches!(c, '\'' | '"' | '`') {
            width = rest[1..].find(c).map_or(rest.len(), |end| end + 2);
            out.push_str(&rest[..width]);
        } else if c.is_whitespace() || matches!(c, '(' | ')' | ',') {
            // Spaces mean nothing beside these signs.
            let beside = |c: char| matches!(c, '(' | ')' | ',' | ' ');
            if !c.is_whitespace() {
                out.truncate(out.trim_end_matches(' ').len());
                out.push(c);
            } else if !out.is_empty() && !out.ends_with(beside) {
                out.push(' ');
            }
        } else {
            out.push(c);
        }
        rest = &rest[width..];
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::ledger::{Audit, Ledger, Open, SCHEMA_VERSION};

    #[test]
    fn comments_and_spaces_mean_nothing_and_words_do() {
        let plainly = "CREATE TABLE a(b TEXT DEFAULT ' -- (x', c INTEGER)";
        assert_eq!(
            plain(plainly),
            plain("CREATE TABLE a ( -- the first\n  b TEXT DEFAULT ' -- (x',\n\tc /* two */ INTEGER )")
        );
        assert_ne!(plain(plainly), plain("CREATE TABLE a(b TEXT DEFAULT ' -- x', c INTEGER)"));
        assert_ne!(plain(plainly), plain("CREATE TABLE a(b TEXT DEFAULT ' -- (x', c INTEGER NOT NULL)"));
    }

    /// A ledger that began with any earlier schema, and one with other pages and statistics, has no difference once it
    /// is up to date.
    #[test]
    fn a_ledger_of_each_earlier_schema_is_like_a_new_one() {
        for first in 0..=SCHEMA_VERSION as usize {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runtime.db");
            if first > 0 {
                migrate::begin_with(&path, folder.path(), first);
            }
            let ledger = Ledger::open(&path, folder.path(), Clock::Fixed(0), Open::Full).unwrap();
            ledger.write(Audit::new("test", "test.write"), |_| Ok(())).unwrap();
            drop(ledger);
            let conn = Connection::open(&path).unwrap();
            conn.execute_batch("ANALYZE; PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM").unwrap();
            assert_eq!(differences(&conn).unwrap(), Vec::<Broken>::new(), "schema {first}");
        }
    }

    #[test]
    fn what_is_gone_changed_or_foreign_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runtime.db");
        drop(Ledger::open(&path, folder.path(), Clock::Fixed(0), Open::Full).unwrap());
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        for (damage, named) in [
            ("DROP TRIGGER audit_is_append_only_delete", "trigger audit_is_append_only_delete is gone"),
            (
                "DROP TRIGGER audit_is_append_only_delete;
                 CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON audit BEGIN SELECT 1; END",
                "trigger audit_is_append_only_delete is not as it was made",
            ),
            (
                "CREATE TRIGGER evil AFTER INSERT ON turns BEGIN DELETE FROM profile; END",
                "trigger evil is none of ours",
            ),
            ("CREATE VIEW evil AS SELECT 1", "view evil is none of ours"),
            ("CREATE TABLE evil (a)", "table evil is none of ours"),
            ("CREATE INDEX evil ON turns (at)", "index evil is none of ours"),
            ("DROP INDEX turns_at", "index turns_at is gone"),
            ("DROP TABLE thread_links", "table thread_links is gone"),
            ("ALTER TABLE profile ADD COLUMN more TEXT", "table profile is not as it was made"),
            ("ALTER TABLE profile DROP COLUMN value", "table profile is not as it was made"),
        ] {
            conn.execute_batch(&format!("BEGIN; {damage}")).unwrap();
            let found: Vec<String> =
                differences(&conn).unwrap().iter().map(|(n, what)| format!("{n} {what}")).collect();
            conn.execute_batch("ROLLBACK").unwrap();
            assert!(found.iter().any(|f| f.starts_with(named)), "{damage}: {found:?}");
        }
        assert_eq!(differences(&conn).unwrap(), Vec::<Broken>::new());
    }
}
