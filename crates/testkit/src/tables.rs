//! Loads captured tables of a program's database, stored as JSON lines, into a database.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;

/// Inserts every line of `file`, an object of columns, into `table`.
pub fn insert_rows(db: &Connection, table: &str, file: &Path) {
    for line in std::fs::read_to_string(file).expect("a captured table").lines() {
        let row: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).expect("an object a line");
        let columns: Vec<_> = row.keys().map(|k| format!("\"{k}\"")).collect();
        let marks = vec!["?"; columns.len()].join(",");
        let values = row.values().map(|value| match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(whole) => whole.into(),
                None => n.as_f64().expect("a number").into(),
            },
            serde_json::Value::String(text) => text.clone().into(),
            other => panic!("a value of {other}"),
        });
        let sql = format!("INSERT INTO \"{table}\" ({}) VALUES ({marks})", columns.join(","));
        db.execute(&sql, rusqlite::params_from_iter(values)).unwrap_or_else(|e| panic!("{table}: {e}"));
    }
}
