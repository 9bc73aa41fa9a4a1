//! Several processes reading the same sources, as threads with a ledger and an index of their own.

use std::time::Duration;

use heirloom_engine::capture::Capture;
use heirloom_engine::index::Index;
use heirloom_engine::scope::AgentId;

use crate::world::{LATER, LITTLE, World, open_ledger, said};

#[test]
fn two_imports_of_the_same_files_store_every_turn_once() {
    for round in 0..3 {
        let world = World::new();
        for file in 0..20 {
            let lines: String = (0..120)
                .map(|i| {
                    said(
                        &format!("e{i}"),
                        if i % 2 == 0 { "user" } else { "assistant" },
                        &format!("word{file}x{i} {}", "and more ".repeat(round * 60)),
                    )
                })
                .collect();
            world.write(&format!("s{file}.jsonl"), lines + "{\"half");
        }
        let folder = world.folder.path();
        std::thread::scope(|scope| {
            for who in ["a", "b"] {
                scope.spawn(move || {
                    let ledger = open_ledger(folder, LATER);
                    let (mut index, _) =
                        Index::open(&folder.join("index.db"), ledger.id(), Duration::from_secs(5)).unwrap();
                    let mut capture =
                        Capture::new(&ledger, Some(&mut index), who, &folder.join("scratch"), None).unwrap();
                    for file in 0..20 {
                        let path = folder.join(format!("s{file}.jsonl"));
                        capture.file(&LITTLE, &AgentId::main(), &path).unwrap();
                    }
                    capture.finish().unwrap();
                });
            }
        });
        assert_eq!(world.count("SELECT count(*) FROM turns"), 20 * 120);
        assert_eq!(world.count("SELECT count(*) FROM witnesses"), 0);
        for file in 0..20 {
            let name = format!("s{file}.jsonl");
            assert!(world.export(&name) == std::fs::read(world.path(&name)).unwrap(), "{name}");
        }
        let mut index = world.caught_up();
        assert_eq!(world.findings_with(Some(&index)), Vec::<String>::new());
        assert_eq!(index.rows().unwrap(), 20 * 120);
        assert!(world.search(&mut index, "word19x119")[0].starts_with("word19x119"));
        let rows = world.audit_rows();
        world.import(&["s0.jsonl", "s19.jsonl"]);
        assert!(world.audit_rows() - rows <= 1, "at most a stat to remember");
    }
}

#[test]
fn a_plan_that_no_longer_holds_is_made_again() {
    // One import has planned a file; before it commits, the file is rewritten and another process imports it.
    let world = World::new();
    let path = world.write("s.jsonl", said("a", "user", "one"));
    let mut capture = Capture::new(&world.ledger, None, "slow", &world.path("scratch"), None).unwrap();
    capture.file(&LITTLE, &world.agent, &path).unwrap();
    world.write("s.jsonl", said("b", "user", "other"));
    let other = open_ledger(world.folder.path(), LATER);
    let mut quick = Capture::new(&other, None, "quick", &world.path("scratch"), None).unwrap();
    quick.file(&LITTLE, &world.agent, &path).unwrap();
    quick.finish().unwrap();
    let error = capture.finish().unwrap_err();
    assert_eq!(error.kind(), heirloom_engine::error::ErrorKind::Busy);
    world.import(&["s.jsonl"]);
    world.assert_kept("s.jsonl");
    assert_eq!(world.texts("s"), ["other"]);
}
