//! Writes each table of the ledger as lines of JSON, and builds a ledger from such lines.
//!
//! Knows no table by name. Values keep their exact type and bits, so that the seals match the imported rows.

use std::fmt::Write as _;
use std::io::BufRead;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value as Json};

use super::Read;
use super::migrate::{APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION};
use crate::error::{Error, Result};

/// Longest line accepted, in bytes. The longest ones hold a block of records in base64.
const LONGEST: u64 = 1 << 30;

/// Returns the names of all tables in alphabetical order, with `sqlite_sequence`, in which SQLite keeps the highest numbers it
/// has given out.
pub fn tables(tx: &Read) -> Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND (name NOT LIKE 'sqlite\\_%' ESCAPE '\\' OR name = 'sqlite_sequence') ORDER BY name";
    let mut statement = tx.prepare(sql)?;
    let names = statement.query_map([], |r| r.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// Writes each row of a table as one line: an object of its columns in their order; a blob is
/// `{"$blob":"<base64>"}`, and a number with a point that JSON would change is `{"$real":"<digits>"}`.
pub fn write(tx: &Read, table: &str, out: &mut dyn std::io::Write) -> Result<u64> {
    let failed = |e: std::io::Error| Error::io("write", Path::new(table), e);
    let names = columns(tx, table)?;
    // A fixed order, so that the same ledger gives the same bytes: by rowid, or by all columns where a table has none.
    let by_number = tx.prepare(&format!("SELECT rowid FROM \"{table}\" LIMIT 0")).is_ok();
    let order = match by_number {
        true => "rowid".to_owned(),
        false => (1..=names.len()).map(|n| n.to_string()).collect::<Vec<_>>().join(", "),
    };
    let mut statement = tx.prepare(&format!("SELECT * FROM \"{table}\" ORDER BY {order}"))?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        // The line is written by hand, because `serde_json::Map` keeps the order of the columns only with a feature that
        // another crate of the build may switch on or off.
        let mut line = String::from("{");
        for (n, name) in names.iter().enumerate() {
            let value = json_of(row.get_ref(n)?);
            let comma = if n == 0 { "" } else { "," };
            let _ = write!(line, "{comma}{}:{value}", Json::from(name.as_str()));
        }
        line.push_str("}\n");
        out.write_all(line.as_bytes()).map_err(failed)?;
        count += 1;
    }
    Ok(count)
}

/// Opens the ledger at `path` for reading, without a home around it, and runs `f` in one transaction.
pub fn reading<T>(path: &Path, f: impl FnOnce(&Read) -> Result<T>) -> Result<T> {
    let mut conn = crate::sqlite::open_for_reading(path)?;
    let tx = conn.transaction()?;
    f(&Read { conn: &tx })
}

/// Returns the columns of a table in their order; empty where there is no such table.
fn columns(conn: &Connection, table: &str) -> Result<Vec<String>> {
    let mut statement = conn.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    let names = statement.query_map([table], |r| r.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

fn json_of(value: ValueRef) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Integer(n) => n.into(),
        ValueRef::Real(x) => {
            // A plain JSON number where reading it gives the same bits; else `$real`.
            let json = Json::from(x);
            match value_of(&serde_json::from_str(&json.to_string()).unwrap_or(Json::Null)) {
                Some(Value::Real(back)) if back.to_bits() == x.to_bits() => json,
                _ => serde_json::json!({"$real": x.to_string()}),
            }
        }
        // Texts of the ledger are UTF-8. Only a damaged disk makes others: their readable part is exported.
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => serde_json::json!({"$blob": BASE64.encode(bytes)}),
    }
}

fn value_of(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => Value::Null,
        Json::Number(n) => n.as_i64().map(Value::Integer).or_else(|| n.as_f64().map(Value::Real))?,
        Json::String(text) => Value::Text(text.clone()),
        Json::Object(object) if object.len() == 1 => {
            let (name, Json::String(text)) = object.iter().next()? else { return None };
            match name.as_str() {
                "$blob" => Value::Blob(BASE64.decode(text).ok()?),
                "$real" => Value::Real(text.parse().ok()?),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// Builds a ledger of the given schema in the empty file `path` from the lines of its tables; `lines` opens the lines of a
/// table. `Damaged` for a table the schema does not have and for a row it rejects, `Refused` for an unknown schema.
pub fn make(
    path: &Path,
    schema: i64,
    tables: &[String],
    lines: &mut dyn FnMut(&str) -> Result<Box<dyn BufRead>>,
) -> Result<()> {
    if !(1..=SCHEMA_VERSION).contains(&schema) {
        return Err(Error::refused(format!("the export has schema {schema}; this build knows 1 to {SCHEMA_VERSION}"))
            .hint("update heirloom; nothing was changed"));
    }
    let mut conn = Connection::open(path)?;
    conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL;")?;
    let tx = conn.transaction()?;
    for migration in &MIGRATIONS[..schema as usize] {
        tx.execute_batch(migration)?;
    }
    let known = self::tables(&Read { conn: &tx })?;
    for table in tables {
        let has = columns(&tx, table)?;
        if !known.contains(table) {
            return Err(Error::damaged(format!("there is no table {table} in a ledger")));
        }
        // Removes rows the migrations have inserted, and the entries of `sqlite_sequence` made by the tables before it.
        tx.execute(&format!("DELETE FROM \"{table}\""), [])?;
        let marks = vec!["?"; has.len()].join(", ");
        let mut statement = tx.prepare(&format!("INSERT INTO \"{table}\" VALUES ({marks})"))?;
        for (n, line) in lines_of(lines(table)?).enumerate() {
            let wrong = || Error::damaged(format!("line {} of {table} is no row of it", n + 1));
            let row: Map<String, Json> = serde_json::from_str(&line?).map_err(|e| wrong().because(e))?;
            if row.len() != has.len() {
                return Err(wrong());
            }
            let values: Option<Vec<Value>> = has.iter().map(|name| row.get(name).and_then(value_of)).collect();
            statement.execute(params_from_iter(values.ok_or_else(wrong)?)).map_err(|e| wrong().because(e))?;
        }
    }
    let unmet: Option<String> = tx
        .prepare("SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1")?
        .query_map([], |r| r.get(0))?
        .next()
        .transpose()?;
    if let Some(table) = unmet {
        return Err(Error::damaged(format!("a row of {table} names another that is not there")));
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", schema)?;
    tx.commit()?;
    Ok(())
}

fn lines_of(mut from: Box<dyn BufRead>) -> impl Iterator<Item = Result<String>> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        let read = std::io::Read::take(&mut from, LONGEST).read_line(&mut line);
        match read {
            Ok(0) => None,
            Ok(_) => Some(Ok(line)),
            Err(e) => Some(Err(Error::damaged("a line of the export cannot be read").because(e))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back_as_the_same() {
        let values = [
            Value::Null,
            Value::Integer(i64::MIN),
            Value::Integer(i64::MAX),
            Value::Text("ä \"\\\n\u{0}".into()),
            Value::Text("{\"$blob\":\"AA==\"}".into()),
            Value::Blob(vec![0, 255, 10]),
            Value::Blob(Vec::new()),
            Value::Real(0.1 + 0.2),
            Value::Real(-0.0),
            Value::Real(3.0),
            Value::Real(f64::INFINITY),
            Value::Real(5e-324),
            Value::Real(1.797_693_134_862_315_7e308),
        ];
        for value in &values {
            let text = json_of(value.into()).to_string();
            assert!(!text.contains('\n'), "{text}");
            let back = value_of(&serde_json::from_str(&text).unwrap());
            // Compared as text, so that 0 and -0 differ.
            assert_eq!(format!("{back:?}"), format!("{:?}", Some(value)), "{text}");
        }
        for wrong in
            [r#"{"$blob":"?"}"#, r#"{"$real":"x"}"#, r#"{"$text":"AA=="}"#, "[]", "true", r#"{"a":"b","$blob":"AA=="}"#]
        {
            assert_eq!(value_of(&serde_json::from_str(wrong).unwrap()), None, "{wrong}");
        }
    }
}
