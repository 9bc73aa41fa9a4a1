//! Ownership of tables, checked in the sources as [`storeys`](crate::storeys) checks `use` lines: every table is
//! written by one room, which other rooms call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::storeys::{room_of, sources};

/// Each table of the ledger, with the room that writes it.
const LEDGER: &[(&str, &str)] = &[
    ("agents", "ledger"),
    ("audit", "ledger"),
    ("blocks", "ledger"),
    ("boundaries", "transcript"),
    ("candidates", "evolve"),
    ("capability_manifests", "inject"),
    ("catalogue", "tree"),
    ("channel_events", "continuity"),
    ("compactions", "lineage"),
    ("context_epochs", "inject"),
    ("contexts", "inject"),
    ("dismissals", "pages"),
    ("evolve_runs", "evolve"),
    ("evolve_sessions", "evolve"),
    ("file_revisions", "tree"),
    ("findings", "evolve"),
    ("flushes", "tree"),
    ("foreign_groups", "transcript"),
    ("forgotten_names", "ledger"),
    ("head_deferred", "pages"),
    ("head_revisions", "pages"),
    ("head_sections", "pages"),
    ("heads", "pages"),
    ("hook_calls", "ledger"),
    ("injected_items", "inject"),
    ("jobs", "ledger"),
    ("judged_chunks", "judge"),
    ("lanes", "transcript"),
    ("lineage_marks", "lineage"),
    ("matters", "review"),
    ("matters_asked", "review"),
    ("meta", "ledger"),
    ("model_calls", "ledger"),
    ("model_readings", "evolve"),
    ("model_summaries", "lineage"),
    ("names", "transcript"),
    ("node_edges", "lineage"),
    ("node_roots", "lineage"),
    ("nodes", "lineage"),
    ("participants", "transcript"),
    ("pending_memory", "memory"),
    ("profile", "profile"),
    ("provisional_turns", "transcript"),
    ("quarantine", "transcript"),
    ("records", "transcript"),
    ("run_threads", "thread"),
    ("scheduled_runs", "continuity"),
    ("seals", "ledger"),
    ("sessions", "transcript"),
    ("skill_candidates", "skill"),
    ("skill_steps", "skill"),
    ("sources", "transcript"),
    ("streams", "transcript"),
    ("thread_links", "thread"),
    ("thread_names", "thread"),
    ("thread_switches", "thread"),
    ("threads", "thread"),
    ("tombstones", "memory"),
    ("turn_references", "transcript"),
    ("turn_results", "transcript"),
    ("turns", "transcript"),
    ("witnesses", "transcript"),
    ("workspaces", "transcript"),
];

/// Tables of the index, which the room `index` makes and writes. Its `meta` is not the ledger's.
const INDEX: &[&str] = &[
    "files",
    "files_fts",
    "fts",
    "meta",
    "node_rows",
    "nodes_due",
    "nodes_fts",
    "row_lengths",
    "word_parts",
    "vector_codes",
    "vector_groups",
    "vector_rows",
    "vector_sets",
];

/// Rooms that may write tables of others, with the reason. Migrations are not source files and are not checked.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[(
    "forget",
    &[
        "blocks",
        "meta",
        "pending_memory",
        "quarantine",
        "records",
        "sessions",
        "sources",
        "streams",
        "threads",
        "turn_results",
        "turns",
    ],
    "what a person asked to forget is taken out of the tables that otherwise keep it for ever; \
     no other room has the statement for that, so no other room can run it",
)];

/// Files with statements whose table is inserted at run time, with the reason.
const DYNAMIC: &[(&str, &str)] = &[
    ("forget/derived.rs", "goes over a list of tables that may have the words that are forgotten"),
    ("forget/names.rs", "goes over all tables of the schema for names that are forgotten"),
    ("forget/erase.rs", "takes the reason out of two tables in the same way"),
    ("index/mod.rs", "asks each full-text table of the index to check itself"),
];

/// Number of tables of the ledger that only one room touches: it writes them, and no other room reads them, not
/// counting [`DYNAMIC`] statements. It may only grow.
const TOUCHED_BY_ONE_ROOM: usize = 28;

/// Number of tables of the ledger that at most one room reads. It may only grow.
const READ_BY_ONE_ROOM: usize = 28;

/// Returns the statements of a source file, without comments and tests, on one line.
fn sql_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|l| !l.trim_start().starts_with("//"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Returns the word after each of these verbs: a table, `{` for one inserted at run time, or `SET`.
fn words_behind(sql: &str, verbs: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for verb in verbs {
        for (at, _) in sql.match_indices(verb) {
            let part_of_a_word = sql[..at].chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            let rest = &sql[at + verb.len()..];
            let word: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            match word.is_empty() {
                _ if part_of_a_word => {}
                false => drop(found.insert(word)),
                true if rest.starts_with('{') => drop(found.insert("{".to_owned())),
                true => {}
            }
        }
    }
    found
}

const WRITES: &[&str] = &[
    "INSERT INTO ",
    "INSERT OR IGNORE INTO ",
    "INSERT OR REPLACE INTO ",
    "REPLACE INTO ",
    "UPDATE ",
    "UPDATE OR IGNORE ",
    "UPDATE OR REPLACE ",
    "DELETE FROM ",
];

fn written(sql: &str) -> BTreeSet<String> {
    words_behind(sql, WRITES)
}

fn read(sql: &str) -> BTreeSet<String> {
    let mut reads = sql.replace("DELETE FROM ", "DELETE ");
    for verb in WRITES {
        reads = reads.replace(&format!("{verb}{{"), "");
    }
    let mut found = words_behind(&reads, &["FROM ", "JOIN "]);
    // For `FROM a x, b y`, the tables after the first are added.
    for (at, verb) in reads.match_indices("FROM ") {
        for item in reads[at + verb.len()..].split(", ").take_while(|item| is_table_with_alias(item)).skip(1) {
            found.extend(item.split(' ').next().map(str::to_owned));
        }
        let last = reads[at + verb.len()..].split(", ").skip_while(|item| is_table_with_alias(item)).take(1);
        let behind_one = reads[at + verb.len()..].split(", ").next().is_some_and(is_table_with_alias);
        found.extend(last.filter(|_| behind_one).filter_map(|item| item.split(' ').next()).map(str::to_owned));
    }
    found
}

/// Returns whether the text is a table with or without an alias: `turns` or `turns t`.
fn is_table_with_alias(item: &str) -> bool {
    let plain = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    item.split(' ').count() <= 2 && item.split(' ').all(plain)
}

/// Returns every source file of the engine except tests, with its room and its statements.
fn engine() -> Vec<(String, String, String)> {
    let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let is_test = |path: &Path| path.ends_with("tests.rs") || path.components().any(|c| c.as_os_str() == "tests");
    let files = files.into_iter().filter(|(path, _)| !is_test(path));
    files.map(|(path, text)| (path.display().to_string(), room_of(&path), sql_of(&text))).collect()
}

/// Returns the names after `CREATE TABLE` and `CREATE VIRTUAL TABLE`.
fn made_in(sql: &str) -> BTreeSet<String> {
    words_behind(sql, &["CREATE TABLE ", "CREATE VIRTUAL TABLE ", "CREATE TABLE IF NOT EXISTS "])
        .into_iter()
        .filter(|word| word != "IF")
        .collect()
}

#[test]
fn every_table_has_an_owner() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ledger/migrations");
    let mut made = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        made.extend(made_in(&sql_of(&std::fs::read_to_string(entry.unwrap().path()).unwrap())));
    }
    assert_eq!(made, LEDGER.iter().map(|(table, _)| (*table).to_owned()).collect());
    // The checks of the postings and of the words make databases of their own, in memory.
    let in_memory = |path: &str| ["postings/check.rs", "index/unlike.rs"].iter().any(|own| path.ends_with(own));
    let of_index = engine().into_iter().filter(|(path, room, _)| room == "index" && !in_memory(path));
    let of_index = of_index.flat_map(|(.., sql)| made_in(&sql)).collect();
    let expected: BTreeSet<String> = INDEX.iter().map(|table| (*table).to_owned()).collect();
    assert_eq!(expected, of_index);
}

#[test]
fn every_table_is_written_by_its_room_alone() {
    let owner: BTreeMap<&str, &str> = LEDGER.iter().copied().collect();
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for (path, room, sql) in engine() {
        for table in written(&sql) {
            if table == "{" && !DYNAMIC.iter().any(|(file, _)| *file == path) {
                wrong.push(format!("{path} writes a table whose name is put in when it runs"));
            }
            let own = match room == "index" {
                true => INDEX.contains(&table.as_str()).then_some("index"),
                false => owner.get(table.as_str()).copied(),
            };
            if own.is_none() || own == Some(room.as_str()) {
                continue;
            }
            if EXCEPTIONS.iter().any(|(other, tables, _)| *other == room && tables.contains(&table.as_str())) {
                used.insert((room.clone(), table));
                continue;
            }
            wrong.push(format!("{path} writes {table}, which belongs to {}", own.unwrap_or_default()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    for (room, tables, _) in EXCEPTIONS {
        for table in *tables {
            assert!(used.contains(&((*room).to_owned(), (*table).to_owned())), "{room} needs no exception for {table}");
        }
    }
}

#[test]
fn ever_more_tables_are_the_business_of_one_room() {
    let (mut readers, mut writers): (BTreeMap<String, BTreeSet<String>>, BTreeMap<String, BTreeSet<String>>) =
        Default::default();
    for (_, room, sql) in engine().iter().filter(|(_, room, _)| room != "index") {
        for table in read(sql) {
            readers.entry(table).or_default().insert(room.clone());
        }
        for table in written(sql) {
            writers.entry(table).or_default().insert(room.clone());
        }
    }
    let of_index = engine();
    for (_, room, sql) in of_index.iter().filter(|(_, room, _)| room == "index") {
        for table in read(sql).into_iter().filter(|table| !INDEX.contains(&table.as_str())) {
            readers.entry(table).or_default().insert(room.clone());
        }
    }
    let none = BTreeSet::new();
    let rooms = |of: &BTreeMap<String, BTreeSet<String>>, table: &str| of.get(table).unwrap_or(&none).clone();
    let by_one = LEDGER.iter().filter(|(table, _)| rooms(&readers, table).len() <= 1).count();
    let touched = LEDGER.iter().filter(|(table, _)| (&rooms(&readers, table) | &rooms(&writers, table)).len() <= 1);
    let touched = touched.count();
    for (table, _) in LEDGER {
        println!("{table}: read by {}", Vec::from_iter(rooms(&readers, table)).join(", "));
    }
    // A higher number is better: then the constant is raised.
    assert_eq!((touched, by_one), (TOUCHED_BY_ONE_ROOM, READ_BY_ONE_ROOM));
}

#[test]
fn statements_name_kinds_instead_of_numbering_them() {
    let mut numbered = Vec::new();
    for (path, _, sql) in engine() {
        for column in ["kind", "role", "class", "status", "form"] {
            for sign in [" = ", " != ", " > ", " IN (", " NOT IN ("] {
                let found = format!("{column}{sign}");
                let behind =
                    |(at, found): (usize, &str)| sql[at + found.len()..].starts_with(|c: char| c.is_ascii_digit());
                numbered.extend(sql.match_indices(&found).any(behind).then(|| format!("{path}: {found}")));
            }
        }
    }
    assert_eq!(numbered, Vec::<String>::new());
}

#[test]
fn the_application_has_no_sql_of_its_own() {
    for (path, text) in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/src")) {
        let sql = sql_of(&text);
        let named = written(&sql).into_iter().chain(words_behind(&sql, &["FROM "]));
        for table in named {
            assert!(!LEDGER.iter().any(|(known, _)| *known == table), "{} names {table}", path.display());
        }
    }
}

#[test]
fn statements_are_read_as_they_are_meant() {
    let sql = sql_of(
        "/// UPDATE nothing\n\"INSERT INTO a (x) SELECT b.x FROM b, d JOIN c USING (x)\n ON CONFLICT DO UPDATE SET x = 1\";\n\
         \"DELETE FROM e WHERE x IN (SELECT x FROM f)\"; format!(\"UPDATE {table} SET x\")",
    );
    assert_eq!(Vec::from_iter(written(&sql)), ["SET", "a", "e", "{"]);
    assert!(["b", "c", "d", "f"].iter().all(|table| read(&sql).contains(*table)));
    assert!(["a", "e"].iter().all(|table| !read(&sql).contains(*table)));
}
