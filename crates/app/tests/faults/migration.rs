//! Kills in a command that finds a ledger of an earlier schema: the ledger is of the old schema, of a later one, or up to
//! date, keeps its id and the copy made before, and takes the command again.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;

use super::{APPEND, CHANGES, Fault, can_trace, is_done, step, struck};
use crate::world::{World, copy_tree};

/// Folder of the migrations, in the order of their names.
const MIGRATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/src/ledger/migrations");

fn migrations() -> Vec<String> {
    let mut paths: Vec<_> = std::fs::read_dir(MIGRATIONS).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Returns a home whose ledger was made by a build that knew the first migrations only.
fn home_of(schema: usize, migrations: &[String]) -> World {
    let world = World::new();
    let state = world.test.home().join("state");
    for folder in [&world.test.home(), &state] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let ledger = Connection::open(world.ledger()).unwrap();
    ledger.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    for migration in &migrations[..schema] {
        ledger.execute_batch(migration).unwrap();
    }
    ledger
        .execute_batch(&format!(
            "INSERT INTO meta (key, value) VALUES ('ledger_id', '{ID}'), ('created_at', '2026-01-02T03:04:05Z');
             PRAGMA application_id = {}; PRAGMA user_version = {schema}",
            0x484c_6467
        ))
        .unwrap();
    drop(ledger);
    std::fs::set_permissions(world.ledger(), std::fs::Permissions::from_mode(0o600)).unwrap();
    world
}

const ID: &str = "00112233445566778899aabbccddeeff";

/// Returns the schema of a ledger, and whether it is still the one it was.
fn schema_of(ledger: &Path) -> (usize, bool) {
    let conn = Connection::open(ledger).unwrap();
    let schema = conn.query_row("PRAGMA user_version", [], |r| r.get::<_, i64>(0)).unwrap();
    let id: String = conn.query_row("SELECT value FROM meta WHERE key = 'ledger_id'", [], |r| r.get(0)).unwrap();
    (schema as usize, id == ID)
}

/// Kills an append at every `step`-th change, from each of the schemas, and returns the number of kills.
fn try_schemas(schemas: impl Iterator<Item = usize>, step: usize) -> usize {
    let migrations = migrations();
    let mut tried = 0;
    for schema in schemas {
        let old = home_of(schema, &migrations);
        for call in CHANGES {
            for n in (1..).step_by(step) {
                let world = World::new();
                copy_tree(&old.test.home(), &world.test.home());
                let (out, happened) = struck(&world, APPEND.args, APPEND.stdin, Fault::Killed, call, n);
                if !happened {
                    break;
                }
                tried += 1;
                let what = format!("schema {schema}, killed at {call} {n}");
                let (found, same) = schema_of(&world.ledger());
                assert!(same && (schema..=migrations.len()).contains(&found), "{what}: {found}\n{}", out.stderr);
                // A ledger that has nobody's words yet says so.
                if is_done(&world, &APPEND) != Ok(true) {
                    let again = world.feed(APPEND.args, APPEND.stdin.as_bytes());
                    assert_eq!(again.status, Some(0), "{what}, again\n{}{}", again.stdout, again.stderr);
                }
                assert_eq!(is_done(&world, &APPEND), Ok(true), "{what}");
                assert_eq!(schema_of(&world.ledger()), (migrations.len(), true), "{what}");
                let copies = std::fs::read_dir(world.test.home().join("state/backups")).unwrap().count();
                assert!(copies > 0, "{what}: no copy was made before the migration");
                world.verified();
            }
        }
    }
    tried
}

#[test]
fn a_migration_killed_at_some_calls_goes_on_with_the_next_command() {
    if can_trace() {
        assert!(try_schemas([1, 13].into_iter(), 150) >= 4);
    }
}

#[test]
#[ignore = "takes an hour: just faults"]
fn migrations_of_every_earlier_schema_killed_at_every_call() {
    assert!(can_trace());
    println!("migrations: killed at {} calls", try_schemas(1..migrations().len(), step()));
}
