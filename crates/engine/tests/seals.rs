//! Seals follow every write, whether it is committed or fails (R4.6).

use heirloom_engine::error::Error;
use heirloom_engine::ledger::Audit;

use crate::world::{World, said};

fn told() -> World {
    let world = World::new();
    world.write("s.jsonl", (0..5).map(|i| said(&format!("e{i}"), "user", &format!("words {i}"))).collect::<String>());
    world.import(&["s.jsonl"]);
    assert_eq!(world.findings(), Vec::<String>::new());
    world
}

#[test]
fn what_a_write_that_failed_has_prepared_is_prepared_again() {
    let world = told();
    for title in ["one", "two"] {
        // A failed write leaves nothing behind, not even the triggers made for it.
        let failed = world.ledger.write(Audit::new("test", "fails"), |tx| {
            tx.execute("UPDATE sessions SET title = ?1", [title])?;
            tx.execute("INSERT INTO names (name) VALUES (?1)", [title])?;
            Err::<(), _>(Error::usage("no"))
        });
        assert!(failed.is_err());
        assert_eq!(world.findings(), Vec::<String>::new());
        world.set_up(&format!(
            "UPDATE sessions SET title = '{title} again'; INSERT INTO names (name) VALUES ('{title}')"
        ));
        assert_eq!(world.findings(), Vec::<String>::new());
    }
}

#[test]
fn a_rewrite_and_another_schema_lose_no_row() {
    let world = told();
    world.ledger.rewrite(world.ledger.path().parent().unwrap()).unwrap();
    world.set_up("UPDATE sessions SET title = 'after a rewrite'");
    assert_eq!(world.findings(), Vec::<String>::new());
    // Another process makes a table.
    world.sql().execute_batch("CREATE TABLE later (x INTEGER) STRICT").unwrap();
    world.set_up("UPDATE sessions SET title = 'after a migration'; DELETE FROM names WHERE name = 'nobody'");
    world.sql().execute_batch("DROP TABLE later").unwrap();
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn rows_in_place_of_others_are_sealed() {
    let world = told();
    for value in ["a", "b"] {
        let row = "(agent_no, key, value, source, set_at) VALUES (1, 'timezone'";
        world.set_up(&format!("INSERT OR REPLACE INTO profile {row}, '{value}', 'x', 1)"));
        world.set_up(&format!(
            "INSERT INTO profile {row}, 'c', 'x', 1) ON CONFLICT (agent_no, key) DO UPDATE SET value = excluded.value"
        ));
        assert_eq!(world.findings(), Vec::<String>::new());
    }
    world.sql().execute("UPDATE profile SET value = 'd'", []).unwrap();
    assert_eq!(world.findings().len(), 1);
}

/// A build with debug assertions refuses a write that bypasses the ledger's own statements.
#[test]
#[cfg(debug_assertions)]
fn a_row_changed_past_its_seal_is_an_error() {
    let world = told();
    let past = world.ledger.write(Audit::new("test", "past"), |tx| {
        let conn: &rusqlite::Connection = tx;
        Ok(conn.execute("UPDATE sessions SET title = 'past'", [])?)
    });
    assert!(past.unwrap_err().to_string().contains("past its seal"));
    assert_eq!(world.findings(), Vec::<String>::new());
}
