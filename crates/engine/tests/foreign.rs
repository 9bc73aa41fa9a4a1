//! A program's database: rows that are added and changed.

use rusqlite::{Connection, params};

use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::transcript::export;

use crate::world::{ROWS, STORE_SCHEMA, World};

fn store(world: &World) -> Connection {
    let conn = Connection::open(world.path("store.db")).unwrap();
    conn.execute_batch(STORE_SCHEMA).unwrap();
    conn.execute_batch("INSERT INTO session VALUES ('s1', 'A title', 1), ('s2', NULL, 1)").unwrap();
    say(&conn, "s1", "m1", "user", 0, r#"{"text":"question"}"#);
    say(&conn, "s1", "m2", "assistant", 0, r#"{"text":"half an ans"}"#);
    say(&conn, "s2", "m3", "user", 0, r#"{"text":"elsewhere"}"#);
    conn
}

fn say(conn: &Connection, session: &str, message: &str, role: &str, finished: i64, data: &str) {
    conn.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?4)", params![message, session, role, finished]).unwrap();
    conn.execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4)", params![format!("p-{message}"), session, message, data])
        .unwrap();
}

fn change(conn: &Connection, session: &str, sql: &str) {
    conn.execute_batch(sql).unwrap();
    conn.execute("UPDATE session SET changed = changed + 1 WHERE id = ?1", [session]).unwrap();
}

#[test]
fn rows_become_turns_once_they_are_finished() {
    let world = World::new();
    let conn = store(&world);
    world.import(&["store.db"]);
    assert_eq!(world.texts("s1"), ["question"]);
    change(
        &conn,
        "s1",
        "UPDATE part SET data = '{\"text\":\"a whole answer\"}' WHERE id = 'p-m2'; UPDATE message SET finished = 7 WHERE id = 'm2'",
    );
    world.import(&["store.db"]);
    assert_eq!(world.texts("s1"), ["question", "a whole answer"]);
    // The message is finished without a change of the part itself.
    change(
        &conn,
        "s1",
        "INSERT INTO message VALUES ('m4', 's1', 'assistant', 0); INSERT INTO part VALUES ('p-m4', 's1', 'm4', '{\"text\":\"more\"}')",
    );
    world.import(&["store.db"]);
    change(&conn, "s1", "UPDATE message SET finished = 8 WHERE id = 'm4'");
    let (totals, _) = world.import(&["store.db"]);
    assert_eq!((totals.turns, world.texts("s1").len()), (1, 3));
    assert_eq!(world.findings(), Vec::<String>::new());
    assert!(world.dump().contains("session little:s1 3+0 title \"A title\""), "{}", world.dump());
}

#[test]
fn a_changed_row_is_a_revision_and_the_export_is_the_newest() {
    let world = World::new();
    let conn = store(&world);
    world.import(&["store.db"]);
    change(&conn, "s1", "UPDATE part SET data = '{\"text\":\"another question\"}' WHERE id = 'p-m1'");
    world.import(&["store.db"]);
    assert!(world.dump().contains("p-m1 revision 1 user message run 1 \"another question\""), "{}", world.dump());
    assert!(world.streams().contains("stream store.db#part/p-m1 generation 0 next 2"), "{}", world.streams());
    let agent_no = world.agent_no();
    let mut out = Vec::new();
    world
        .ledger
        .read(|tx| {
            let no = heirloom_engine::transcript::read::session_named(tx, agent_no, "s1")?.no;
            let streams = export::streams(tx, no)?;
            export::write_rows(tx, &Opener::default(), &streams, &mut out, &mut |_| {})
        })
        .unwrap();
    let out = String::from_utf8(out).unwrap();
    let row = r#"{"$table":"part","id":"p-m1","session":"s1","message":"m1","data":"{\"text\":\"another question\"}"}"#;
    assert_eq!(out.lines().filter(|l| l.contains("p-m1")).collect::<Vec<_>>(), [row]);
}

#[test]
fn a_group_that_did_not_change_is_not_read_and_a_second_import_writes_nothing() {
    let world = World::new();
    let conn = store(&world);
    world.import(&["store.db"]);
    let (rows, before) = (world.audit_rows(), ROWS.get());
    let (totals, _) = world.import(&["store.db"]);
    assert_eq!((world.audit_rows(), ROWS.get(), totals.sources_unchanged), (rows, before, 1));
    change(&conn, "s2", "UPDATE part SET data = '{\"text\":\"x\"}' WHERE id = 'p-m3'");
    world.import(&["store.db"]);
    assert_eq!(ROWS.get() - before, 3, "session, message and part of s2");
}

#[test]
fn a_row_with_broken_json_is_set_aside_and_the_rest_comes_in() {
    let world = World::new();
    let conn = store(&world);
    change(&conn, "s1", "UPDATE part SET data = '{\"text\":' WHERE id = 'p-m1'");
    let (_, problems) = world.import(&["store.db"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(world.quarantine(), "quarantine store.db#part/p-m1 line - byte 0: not JSON\n");
    assert_eq!(world.texts("s2"), ["elsewhere"]);
    change(&conn, "s1", "UPDATE part SET data = '{\"text\":\"mended\"}' WHERE id = 'p-m1'");
    world.import(&["store.db"]);
    assert_eq!(world.texts("s1"), ["mended"]);
    assert_eq!(world.findings(), Vec::<String>::new());
}

#[test]
fn a_row_changed_while_the_session_was_elsewhere_keeps_every_revision() {
    let world = World::new();
    let conn = store(&world);
    for i in 0..5 {
        change(&conn, "s1", &format!("UPDATE part SET data = '{{\"text\":\"version {i}\"}}' WHERE id = 'p-m1'"));
        world.import(&["store.db"]);
    }
    change(&conn, "s1", "UPDATE part SET data = '{\"text\":\"version 0\"}' WHERE id = 'p-m1'");
    let (totals, _) = world.import(&["store.db"]);
    assert_eq!((totals.turns, totals.witnesses), (0, 1), "a text said before is the turn it was");
    assert_eq!(world.texts("s1").len(), 5);
}

#[test]
fn a_store_that_cannot_be_read_is_a_problem_and_not_the_end() {
    let world = World::new();
    world.write("store.db", [7u8; 5000]);
    world.write("s.jsonl", crate::world::said("a", "user", "one"));
    let (totals, problems) = world.import(&["store.db", "s.jsonl"]);
    assert_eq!((totals.sources_failed, totals.turns, problems.len()), (1, 1, 1));
    // A store of another version: one table is missing.
    let world = World::new();
    let conn = store(&world);
    conn.execute_batch("DROP TABLE part").unwrap();
    let (totals, problems) = world.import(&["store.db"]);
    assert_eq!((totals.turns, problems.len()), (0, 1), "{problems:?}");
}

fn exported(world: &World, session: &str) -> String {
    let agent_no = world.agent_no();
    let mut out = Vec::new();
    world
        .ledger
        .read(|tx| {
            let no = heirloom_engine::transcript::read::session_named(tx, agent_no, session)?.no;
            export::write_rows(tx, &Opener::default(), &export::streams(tx, no)?, &mut out, &mut |_| {})
        })
        .unwrap();
    String::from_utf8(out).unwrap()
}

/// A row of any length is kept, in pieces of a size that every later read accepts.
#[test]
fn a_row_of_any_length_is_kept_in_pieces_and_exported_whole() {
    let world = World::new();
    let conn = store(&world);
    // The row has 70 MiB in the store, and twice as much in its canonical line with escapes.
    let long = format!("{{\"text\":\"{}\"}}", "ab\\n".repeat(70 << 18));
    conn.execute("UPDATE part SET data = ?1 WHERE id = 'p-m1'", [&long]).unwrap();
    let (totals, problems) = world.import(&["store.db"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].what.contains("longer than 32 MiB"), "{problems:?}");
    assert!(totals.records > 3);
    assert_eq!(world.texts("s2"), ["elsewhere"], "the rest came in");
    assert_eq!(world.findings(), Vec::<String>::new());
    let row = |data: &str| {
        let data = serde_json::to_string(data).unwrap();
        format!(r#"{{"$table":"part","id":"p-m1","session":"s1","message":"m1","data":{data}}}"#)
    };
    let line = |out: &str| out.lines().find(|l| l.contains("p-m1")).unwrap().to_owned();
    assert!(line(&exported(&world, "s1")) == row(&long), "the export is another row");
    let longest: i64 =
        world.ledger.read(|tx| Ok(tx.query_row("SELECT max(length) FROM records", [], |r| r.get(0))?)).unwrap();
    assert_eq!(longest, 32 << 20);

    // The unchanged row in a changed group is nothing new; a changed row is another revision.
    change(&conn, "s1", "UPDATE message SET finished = 3 WHERE id = 'm2'");
    let (totals, _) = world.import(&["store.db"]);
    assert_eq!(totals.records, 2, "the session's row and the message's");
    let other = long.replacen("ab", "cd", 1);
    conn.execute("UPDATE part SET data = ?1 WHERE id = 'p-m1'", [&other]).unwrap();
    change(&conn, "s1", "UPDATE message SET finished = 4 WHERE id = 'm2'");
    world.import(&["store.db"]);
    assert!(line(&exported(&world, "s1")) == row(&other), "the export is not the newest row");
    assert_eq!(world.findings(), Vec::<String>::new());
}

/// The damage and its repair do not change the store's own times and sizes.
#[test]
fn what_was_damaged_in_the_store_is_read_again_once_it_is_repaired() {
    let world = World::new();
    let conn = store(&world);
    let whole = r#"{"text":"question"}"#;
    let broken = r#"{"text":"question"#.to_owned() + "\0\0";
    assert_eq!(whole.len(), broken.len());
    conn.execute("UPDATE part SET data = ?1 WHERE id = 'p-m1'", [&broken]).unwrap();
    world.import(&["store.db"]);
    assert_eq!(world.texts("s1"), Vec::<String>::new());
    conn.execute("UPDATE part SET data = ?1 WHERE id = 'p-m1'", [whole]).unwrap();
    world.import(&["store.db"]);
    assert_eq!(world.texts("s1"), ["question"]);
    assert_eq!(world.findings(), Vec::<String>::new());
}
