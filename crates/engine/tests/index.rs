//! The index is disposable: whatever happens to it, it can be rebuilt completely.

use std::time::{Duration, Instant};

use heirloom_engine::clock::Clock;
use heirloom_engine::index::{Index, Rebuilt};
use heirloom_engine::ledger::{Ledger, Open};

use crate::world::{LITTLE, World, said};

fn animals() -> World {
    let world = World::new();
    for (i, animal) in ["zebra", "okapi", "tapir"].into_iter().enumerate() {
        let rest: String =
            (0..40).map(|n| said(&format!("x{n}"), "assistant", &format!("word{i}n{n} and more"))).collect();
        world.write(&format!("s{i}.jsonl"), said("a", "user", &format!("about the {animal}")) + &rest);
    }
    world.import(&["s0.jsonl", "s1.jsonl", "s2.jsonl"]);
    world
}

fn finds_all(world: &World, index: &mut Index) {
    for animal in ["zebra", "okapi", "tapir"] {
        assert_eq!(world.search(index, animal)[0], format!("about the {animal}"));
    }
    assert_eq!(index.rows().unwrap(), world.count("SELECT count(*) FROM turns"));
    assert_eq!(world.findings_with(Some(index)), Vec::<String>::new());
}

/// Damages the index file and opens it again.
fn check(breaking: impl Fn(&std::path::Path), expect: Rebuilt) {
    let world = animals();
    drop(world.caught_up());
    let path = world.path("index.db");
    breaking(&path);
    let (mut index, rebuilt) = world.index();
    assert_eq!(rebuilt, expect);
    index.catch_up(&world.ledger, None, &mut |_| {}).unwrap();
    finds_all(&world, &mut index);
    let left: Vec<_> = std::fs::read_dir(world.folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .filter(|n| n.to_string_lossy().starts_with(".hl-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn change(path: &std::path::Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_broken_index_is_made_again() {
    check(|_| {}, Rebuilt::No);
    check(|path| std::fs::remove_file(path).unwrap(), Rebuilt::WasMissing);
    check(|path| std::fs::write(path, "").unwrap(), Rebuilt::OtherVersion);
    check(|path| std::fs::write(path, [7; 9000]).unwrap(), Rebuilt::WasDamaged);
    check(|path| change(path, "UPDATE meta SET value = '0' WHERE key = 'version'"), Rebuilt::OtherVersion);
    check(|path| change(path, "UPDATE meta SET value = 'x' WHERE key = 'ledger_id'"), Rebuilt::OtherVersion);
    check(|path| change(path, "DROP TABLE meta"), Rebuilt::OtherVersion);
    check(|path| change(path, "UPDATE meta SET value = '99999' WHERE key = 'watermark'"), Rebuilt::No);
    check(|path| change(path, "UPDATE meta SET value = 'lost' WHERE key = 'watermark'"), Rebuilt::No);
}

#[test]
fn a_bit_flip_is_repaired_or_reported_and_never_a_wrong_turn() {
    let world = animals();
    drop(world.caught_up());
    let path = world.path("index.db");
    let good = std::fs::read(&path).unwrap();
    let mut rng = heirloom_testkit::Rng::new(3);
    for _ in 0..60 {
        let mut bytes = good.clone();
        bytes[rng.below(good.len())] ^= 1 << rng.below(8);
        for end in ["index.db-wal", "index.db-shm"] {
            let _ = std::fs::remove_file(world.path(end));
        }
        std::fs::write(&path, bytes).unwrap();
        let opened = Index::open(&path, world.ledger.id(), Duration::from_secs(1));
        let Ok((mut index, _)) = opened else { continue };
        let _ = index.catch_up(&world.ledger, None, &mut |_| {});
        let filter = heirloom_engine::recall::Filter { limit: 3, ..Default::default() };
        if let Err(e) =
            heirloom_engine::recall::search(&world.ledger, &mut index, &world.agent, &world.ask("zebra"), &filter)
        {
            assert_eq!(e.kind(), heirloom_engine::error::ErrorKind::Damaged, "{e}");
            assert!(e.next_step().is_some_and(|hint| hint.contains("reindex")), "{e} {:?}", e.next_step());
        }
        let _ = heirloom_engine::verify::verify(&world.ledger, Some(&index), &mut |_| {}).unwrap();
    }
}

#[test]
fn catching_up_after_a_gap_is_the_same_as_building_anew() {
    let world = animals();
    let mut index = world.caught_up();
    // One file is imported without an index, then one with it: because of the gap the second is not indexed at once.
    world.write("s3.jsonl", said("a", "user", "about the lemur"));
    world.import(&["s3.jsonl"]);
    world.write("s4.jsonl", said("a", "user", "about the civet"));
    world.try_import(&LITTLE, &world.agent, &["s4.jsonl"], Some(&mut index)).unwrap();
    assert_eq!(world.ledger.read(|tx| index.coverage(tx)).unwrap().missing, 2);
    // Other processes can write meanwhile.
    change(&world.path("index.db"), "BEGIN IMMEDIATE; COMMIT");
    index.catch_up(&world.ledger, None, &mut |_| {}).unwrap();
    let mut fresh = Index::recreate(&world.path("other.db"), world.ledger.id(), Duration::from_secs(1)).unwrap();
    fresh.catch_up(&world.ledger, None, &mut |_| {}).unwrap();
    assert_eq!(
        (index.rows().unwrap(), index.watermark().unwrap()),
        (fresh.rows().unwrap(), fresh.watermark().unwrap())
    );
    for query in ["zebra", "lemur", "civet", "about", "word1n7", "more"] {
        assert_eq!(world.search(&mut index, query), world.search(&mut fresh, query), "{query}");
    }
    finds_all(&world, &mut index);
}

#[test]
fn catching_up_ends_when_its_time_is_over() {
    /// Number of turns added between two looks at the clock.
    const STEP: u64 = 50;
    let world = animals();
    let (mut index, _) = world.index();
    let all = world.ledger.read(|tx| index.coverage(tx)).unwrap().missing;
    assert!(all > 2 * STEP);

    // The time is over before the first step.
    let mut steps = Vec::new();
    let left = index.catch_up(&world.ledger, Some(Instant::now()), &mut |done| steps.push(done)).unwrap();
    assert_eq!((left, steps.len()), (all, 0));

    // The time ends during a step, which is finished and is the last. Steps are counted, so that the speed of the
    // machine does not matter, unless it does not reach the first step in time.
    for patience in [500, 2_000, 8_000, 32_000] {
        let until = Instant::now() + Duration::from_millis(patience);
        let left = index.catch_up(&world.ledger, Some(until), &mut |done| {
            steps.push(done);
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        });
        assert_eq!(left.unwrap(), all - steps.iter().sum::<u64>());
        if !steps.is_empty() {
            break;
        }
    }
    assert_eq!(steps, [STEP]);
    assert_eq!(index.watermark().unwrap().0, STEP as i64);

    // The search reports the missing turns, and later calls add them.
    let coverage = world.ledger.read(|tx| index.coverage(tx)).unwrap();
    assert_eq!(coverage.missing, all - STEP);
    index.catch_up(&world.ledger, None, &mut |_| {}).unwrap();
    finds_all(&world, &mut index);
}

#[test]
fn what_is_imported_with_an_index_is_found_at_once() {
    let world = World::new();
    let (mut index, rebuilt) = world.index();
    assert_eq!(rebuilt, Rebuilt::WasMissing);
    world.write("s.jsonl", said("a", "user", "about the zebra"));
    world.try_import(&LITTLE, &world.agent, &["s.jsonl"], Some(&mut index)).unwrap();
    assert_eq!(world.search(&mut index, "zebra"), ["about the zebra"]);
}

#[test]
fn an_index_of_another_ledger_is_not_used() {
    let (one, two) = (animals(), World::new());
    drop(one.caught_up());
    assert!(Index::open_read_only(&one.path("index.db"), one.ledger.id()).unwrap().is_some());
    assert!(Index::open_read_only(&one.path("index.db"), two.ledger.id()).unwrap().is_none());
    assert!(Index::open_read_only(&two.path("index.db"), two.ledger.id()).unwrap().is_none());
    let other = Ledger::open(&two.path("another.db"), &two.path("b"), Clock::System, Open::Full).unwrap();
    assert_ne!(other.id(), two.ledger.id());
}

#[test]
fn an_index_of_another_history_of_the_ledger_is_filled_again() {
    // A restored ledger was continued: the same numbers refer to other turns.
    check(|path| change(path, "UPDATE meta SET value = '1 - 3' WHERE key = 'mark'"), Rebuilt::No);
    check(|path| change(path, "DELETE FROM meta WHERE key = 'mark'"), Rebuilt::No);
}
