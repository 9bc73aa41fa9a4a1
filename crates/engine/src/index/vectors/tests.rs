//! Compares sets with a plain list: after any insertions and removals both find the same.

use std::collections::{BTreeMap, BTreeSet};

use heirloom_testkit::Rng;
use rusqlite::Connection;

use super::code::encode;
use super::store::{SCHEMA, Store};
use super::*;

use crate::scope::{AgentNo, SessionNo, TurnId, WorkspaceNo};

pub(super) fn connection(dimensions: usize) -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(&format!(
        "PRAGMA page_size = 8192; CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
         CREATE TABLE fts_docsize (id INTEGER PRIMARY KEY);
         {SCHEMA} INSERT INTO meta VALUES ('vector-dimensions', '{dimensions}');"
    ))
    .unwrap();
    conn
}

fn unit(mut raw: Vec<f32>) -> Vec<f32> {
    let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    raw.iter_mut().for_each(|x| *x /= length);
    raw
}

/// A random number, approximately normally distributed.
fn chance(rng: &mut Rng) -> f32 {
    (0..4).map(|_| rng.below(2001) as f32 - 1000.0).sum::<f32>() / 1000.0
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Vectors like those of models: topics in fewer dimensions than the vectors have.
fn cloud(rng: &mut Rng, dimensions: usize, many: usize) -> Vec<Vec<f32>> {
    let map: Vec<Vec<f32>> = (0..48).map(|_| (0..dimensions).map(|_| chance(rng)).collect()).collect();
    let topics: Vec<Vec<f32>> = (0..200).map(|_| (0..48).map(|_| chance(rng)).collect()).collect();
    (0..many)
        .map(|_| {
            let topic = rng.pick(&topics).clone();
            let mut out = vec![0f32; dimensions];
            for (t, direction) in topic.iter().zip(&map) {
                let t = t + chance(rng);
                out.iter_mut().zip(direction).for_each(|(x, d)| *x += t * d);
            }
            unit(out)
        })
        .collect()
}

fn turn_set(agent_no: AgentNo, workspace_no: i64, label: &str) -> SetKey {
    SetKey { agent_no, sort: Sort::Turn, workspace_no: WorkspaceNo(workspace_no), label: label.into() }
}

fn numbers(found: &Nearest) -> Vec<i64> {
    found
        .found
        .iter()
        .map(|(document, _)| match document {
            Document::Turn(id) => id.0,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn the_prefilter_finds_what_comparing_all_finds() {
    let (many, dimensions) = (12_000, 256);
    let mut rng = Rng::new(5);
    let all = cloud(&mut rng, dimensions, many + 40);
    let conn = connection(dimensions);
    let store = Store::of(&conn).unwrap().unwrap();
    let items: Vec<(Key, Vec<u8>)> = all[..many]
        .iter()
        .enumerate()
        .map(|(i, v)| (Key::of_turn(i as i64, 0, Role::User, TurnKind::Message, SessionNo(1)), encode(v).unwrap()))
        .collect();
    for piece in items.chunks(777) {
        store.append(&turn_set(AgentNo(1), 1, "little"), piece).unwrap();
    }
    let mut hits = 0;
    for query in &all[many..] {
        let mut exact: Vec<(usize, f32)> = all[..many].iter().map(|v| dot(query, v)).enumerate().collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1));
        let within = TurnsWithin::default();
        let found = store.nearest(query, AgentNo(1), Within::Turns(&within), 10).unwrap();
        assert!(!found.cut_short);
        let found_numbers = numbers(&found);
        hits += exact[..10].iter().filter(|(i, _)| found_numbers.contains(&(*i as i64))).count();
        for (document, similarity) in &found.found {
            let Document::Turn(id) = document else { panic!() };
            assert!((similarity - dot(query, &all[id.0 as usize])).abs() < 0.02);
        }
        let of: Vec<Document> = found.found.iter().map(|(d, _)| *d).collect();
        assert_eq!(store.similarities(query, AgentNo(1), &of).unwrap(), found.found.into_iter().collect());
    }
    let recall = hits as f32 / 400.0;
    assert!(recall >= 0.97, "{recall}");
}

#[test]
fn sets_are_what_was_put_in_and_not_taken_out() {
    for (seed, dimensions) in [(1, 64), (2, 256), (3, 1024), (4, 8192)] {
        let mut rng = Rng::new(seed);
        let conn = connection(dimensions);
        let store = Store::of(&conn).unwrap().unwrap();
        // Maps document and part to set and vector.
        let mut model: BTreeMap<(i64, usize), (usize, Vec<f32>)> = BTreeMap::new();
        let sets = [
            turn_set(AgentNo(1), 1, "a"),
            turn_set(AgentNo(1), 2, "a"),
            turn_set(AgentNo(1), 1, "b"),
            turn_set(AgentNo(2), 1, "a"),
        ];
        let mut next = 1i64;
        for _ in 0..60 {
            if rng.below(3) > 0 {
                let set = rng.below(sets.len());
                let mut items = Vec::new();
                for _ in 0..rng.below(if dimensions > 1000 { 8 } else { 90 }) {
                    for part in 0..1 + rng.below(3) {
                        let vector = unit((0..dimensions).map(|_| chance(&mut rng)).collect());
                        let key = Key::of_turn(next, part, Role::User, TurnKind::Message, SessionNo((set as i64) * 10));
                        items.push((key, encode(&vector).unwrap()));
                        model.insert((next, part), (set, vector));
                    }
                    next += 1;
                }
                store.append(&sets[set], &items).unwrap();
            } else {
                let gone: BTreeSet<i64> = (0..rng.below(40)).map(|_| rng.below(next as usize + 3) as i64).collect();
                let agent = AgentNo(1 + rng.below(2) as i64);
                let removed = store.remove(agent, Sort::Turn, &gone).unwrap();
                let before = model.len();
                model.retain(|(number, _), (set, _)| !gone.contains(number) || sets[*set].agent_no != agent);
                assert_eq!(removed, before - model.len());
            }
            conn.execute_batch("DELETE FROM fts_docsize").unwrap();
            for ((number, _), (set, _)) in &model {
                let row = crate::index::RowId { agent_no: sets[*set].agent_no, turn_no: *number, part: 0 }.pack();
                conn.execute("INSERT OR IGNORE INTO fts_docsize VALUES (?1)", [row]).unwrap();
            }
            assert_eq!(store.problems().unwrap(), Vec::<String>::new());
            assert_eq!(store.count().unwrap() as usize, model.len());
        }
        let within = TurnsWithin::default();
        for ((number, _), (set, vector)) in model.iter().step_by(1 + model.len() / 60) {
            for agent in [AgentNo(1), AgentNo(2)] {
                let found = store.nearest(vector, agent, Within::Turns(&within), 1).unwrap();
                let own = agent == sets[*set].agent_no;
                let first = found.found.first().map(|(d, s)| (*d == Document::Turn(TurnId(*number)), *s > 0.98));
                assert_eq!(first == Some((true, true)), own, "{number} for {agent}");
            }
        }
    }
}

#[test]
fn what_a_search_is_limited_to_is_not_outdone_by_what_is_nearer() {
    let dimensions = 64;
    let mut rng = Rng::new(9);
    let conn = connection(dimensions);
    let store = Store::of(&conn).unwrap().unwrap();
    let query = unit((0..dimensions).map(|_| chance(&mut rng)).collect());
    let far = unit((0..dimensions).map(|_| chance(&mut rng)).collect());
    let key = |no, session, role, kind| Key::of_turn(no, 0, role, kind, session);
    // The crowd has more vectors than there are candidates, all nearer than the only admissible one.
    let crowd: Vec<(Key, Vec<u8>)> =
        (1..3000).map(|no| (key(no, SessionNo(1), Role::User, TurnKind::Message), encode(&query).unwrap())).collect();
    store.append(&turn_set(AgentNo(1), 1, "a"), &crowd).unwrap();
    let one = |no, session, role, kind| [(key(no, session, role, kind), encode(&far).unwrap())];
    store.append(&turn_set(AgentNo(1), 1, "a"), &one(5000, SessionNo(2), Role::User, TurnKind::Message)).unwrap();
    store.append(&turn_set(AgentNo(1), 1, "a"), &one(5001, SessionNo(1), Role::Assistant, TurnKind::Message)).unwrap();
    store.append(&turn_set(AgentNo(1), 1, "a"), &one(5002, SessionNo(1), Role::User, TurnKind::ToolResult)).unwrap();
    store.append(&turn_set(AgentNo(1), 2, "a"), &one(5003, SessionNo(1), Role::User, TurnKind::Message)).unwrap();
    store.append(&turn_set(AgentNo(1), 1, "b"), &one(5004, SessionNo(1), Role::User, TurnKind::Message)).unwrap();
    let check = |within: TurnsWithin, expected: &[i64]| {
        let found = store.nearest(&query, AgentNo(1), Within::Turns(&within), 5).unwrap();
        assert_eq!(numbers(&found), expected, "{within:?}");
    };
    let all = TurnsWithin::default;
    check(TurnsWithin { sessions: Some(vec![SessionNo(2)]), ..all() }, &[5000]);
    check(TurnsWithin { roles: Some(vec![Role::Assistant]), ..all() }, &[5001]);
    check(TurnsWithin { kinds: Some(vec![TurnKind::ToolResult]), ..all() }, &[5002]);
    check(TurnsWithin { workspaces: Some(vec![WorkspaceNo(2), WorkspaceNo(7)]), ..all() }, &[5003]);
    check(TurnsWithin { harness: Some("b".into()), ..all() }, &[5004]);
    check(TurnsWithin { turns: Some((TurnId(5001), TurnId(5002))), ..all() }, &[5002, 5001]);
    check(TurnsWithin { turns: Some((TurnId(2), TurnId(3))), ..all() }, &[3, 2]);
    for nothing in [
        TurnsWithin { sessions: Some(vec![]), ..all() },
        TurnsWithin { workspaces: Some(vec![]), ..all() },
        TurnsWithin { turns: Some((TurnId(9000), TurnId(i64::MAX))), ..all() },
        TurnsWithin { turns: Some((TurnId(3), TurnId(2))), ..all() },
    ] {
        check(nothing, &[]);
    }
    assert!(store.nearest(&query, AgentNo(7), Within::Turns(&all()), 5).unwrap().found.is_empty());
    assert!(store.nearest(&query[..32], AgentNo(1), Within::Turns(&all()), 5).unwrap().found.is_empty());
    assert!(store.nearest(&query, AgentNo(1), Within::Files(&FilesWithin::default()), 5).unwrap().found.is_empty());
}

#[test]
fn torn_vectors_are_named() {
    for sql in [
        "UPDATE vector_codes SET codes = substr(codes, 2)",
        "UPDATE vector_codes SET keys = substr(keys, 13) WHERE block % 4294967296 = 1",
        "UPDATE vector_codes SET last = last + 1",
        "UPDATE vector_rows SET data = substr(data, 2) WHERE block % 4294967296 = 3",
        "DELETE FROM vector_rows WHERE block % 4294967296 = 2",
        "DELETE FROM vector_codes WHERE block % 4294967296 = 0",
        "INSERT INTO vector_rows VALUES (900000000000, x'00')",
        "UPDATE vector_sets SET vectors = vectors - 1",
        "DELETE FROM fts_docsize WHERE id = (SELECT max(id) FROM fts_docsize)",
    ] {
        let (dimensions, mut rng) = (256, Rng::new(2));
        let conn = connection(dimensions);
        let store = Store::of(&conn).unwrap().unwrap();
        for number in 1..600 {
            let vector = unit((0..dimensions).map(|_| chance(&mut rng)).collect());
            let key = Key::of_turn(number, 0, Role::User, TurnKind::Message, SessionNo(1));
            store.append(&turn_set(AgentNo(1), 1, "a"), &[(key, encode(&vector).unwrap())]).unwrap();
            let row = crate::index::RowId { agent_no: AgentNo(1), turn_no: number, part: 0 }.pack();
            conn.execute("INSERT INTO fts_docsize VALUES (?1)", [row]).unwrap();
        }
        assert_eq!(store.problems().unwrap(), Vec::<String>::new());
        conn.execute_batch(sql).unwrap();
        assert_ne!(store.problems().unwrap(), Vec::<String>::new(), "{sql}");
    }
}

/// Reads and times of large sets: `cargo test --release -p heirloom-engine --lib -- --ignored --nocapture vectors`.
#[test]
#[ignore = "a measurement"]
fn how_long_it_takes() {
    let dimensions = 256;
    let mut rng = Rng::new(3);
    let pool = cloud(&mut rng, dimensions, 20_000);
    for many in [10_000usize, 100_000, 1_000_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(&format!(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384;
             CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
             {SCHEMA} INSERT INTO meta VALUES ('vector-dimensions', '{dimensions}');"
        ))
        .unwrap();
        let store = Store::of(&conn).unwrap().unwrap();
        let started = std::time::Instant::now();
        for first in (0..many).step_by(10_000) {
            conn.execute_batch("BEGIN").unwrap();
            let items: Vec<(Key, Vec<u8>)> = (first..first + 10_000)
                .map(|i| {
                    let key = Key::of_turn(i as i64, 0, Role::User, TurnKind::Message, SessionNo(i as i64 / 200));
                    (key, encode(&pool[(i * 7919) % pool.len()]).unwrap())
                })
                .collect();
            store.append(&turn_set(AgentNo(1), 1 + (first / 10_000) as i64 % 10, "a"), &items).unwrap();
            conn.execute_batch("COMMIT").unwrap();
        }
        let stored = started.elapsed();
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let size = std::fs::metadata(&path).unwrap().len();
        println!("{many}: stored in {stored:?}, {:.1} bytes a vector", size as f64 / many as f64);
        let time = |what: &str, within: TurnsWithin| {
            let mut times: Vec<f64> = (0..25)
                .map(|i| {
                    let started = cpu();
                    store.nearest(&pool[i * 31], AgentNo(1), Within::Turns(&within), 20).unwrap();
                    cpu() - started
                })
                .collect();
            times.sort_by(f64::total_cmp);
            println!("{many} {what}: p50 {:.2} ms, least {:.2}, most {:.2} (cpu)", times[12], times[0], times[24]);
        };
        time("all", TurnsWithin::default());
        time("one workspace of ten", TurnsWithin { workspaces: Some(vec![WorkspaceNo(3)]), ..Default::default() });
        let newest = (TurnId(many as i64 - 50_000), TurnId(i64::MAX));
        time("the newest 50,000", TurnsWithin { turns: Some(newest), ..Default::default() });
        time("one session", TurnsWithin { sessions: Some(vec![SessionNo(5)]), ..Default::default() });
        let of: Vec<Document> = (0..200).map(|i| Document::Turn(TurnId((i * many / 200) as i64))).collect();
        let started = cpu();
        store.similarities(&pool[5], AgentNo(1), &of).unwrap();
        println!("{many} similarities of 200: {:.2} ms (cpu)", cpu() - started);
        let log = path.with_file_name("v.db-wal");
        for number in [0, 1] {
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            let key = Key::of_turn((many + number) as i64, 0, Role::User, TurnKind::Message, SessionNo(1));
            let started = cpu();
            store.append(&turn_set(AgentNo(1), 1, "a"), &[(key, encode(&pool[0]).unwrap())]).unwrap();
            let written = std::fs::metadata(&log).unwrap().len();
            println!("{many} one more: {written} bytes of log, {:.2} ms (cpu)", cpu() - started);
        }
    }
}

/// CPU time of this process in milliseconds.
fn cpu() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}
