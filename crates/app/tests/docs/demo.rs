//! The sessions of `heirloom up --demo`, through the real adapters.

use std::path::{Path, PathBuf};

use heirloom_engine::event::{Decoded, Fact, RecordClass, Role, TurnKind};
use heirloom_harness::{Harness, by_name};

pub fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

pub fn program_of(path: &str) -> &'static dyn Harness {
    let name = match path.split('/').next() {
        Some("claude") => "claude-code",
        Some("codex") => "codex",
        _ => "turns",
    };
    by_name(name).unwrap()
}

fn decode_all() -> Vec<(String, Vec<Decoded>)> {
    let demo = super::repository().join("crates/app/demo");
    let mut out = Vec::new();
    for path in files(&demo) {
        let shown = path.strip_prefix(&demo).unwrap().display().to_string();
        let program = program_of(&shown);
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.ends_with(b"\n"), "{shown} ends with a newline");
        assert!(program.recognises(&path, &bytes[..bytes.len().min(64 << 10)]), "{shown} is told by its head");
        let mut decoder = program.decoder(&program.place(&path), &[]);
        let lines = bytes.strip_suffix(b"\n").unwrap().split(|b| *b == b'\n');
        out.push((shown, lines.map(|line| decoder.line(line)).collect()));
    }
    out
}

#[test]
fn every_line_of_the_samples_is_understood() {
    let (mut turns, mut bytes) = (0, 0);
    for (file, records) in decode_all() {
        for (i, record) in records.iter().enumerate() {
            let place = format!("{file}:{}", i + 1);
            assert_ne!(record.class, RecordClass::Quarantined, "{place}: {:?}", record.reason);
            assert_ne!(record.class, RecordClass::Unknown, "{place}");
            for turn in record.turns.iter().filter(|t| !t.echo) {
                assert!(turn.at.is_some() && turn.entry.is_some(), "{place}: {turn:?}");
                turns += 1;
            }
        }
        let path = super::repository().join("crates/app/demo").join(&file);
        bytes += path.metadata().unwrap().len();
    }
    assert!((60..=140).contains(&turns), "{turns} turns");
    assert!(bytes < 120 << 10, "{bytes} bytes go into the binary");
}

#[test]
fn the_samples_show_what_there_is_to_show() {
    let all = decode_all();
    let turns = || all.iter().flat_map(|(_, records)| records).flat_map(|r| &r.turns);
    let facts = || all.iter().flat_map(|(_, records)| records).flat_map(|r| &r.facts);
    assert!(turns().any(|t| t.kind == TurnKind::CompactSummary));
    assert!(turns().any(|t| t.kind == TurnKind::Thinking) && turns().any(|t| t.failed));
    assert!(facts().any(|f| matches!(f, Fact::Compaction { .. })));
    assert!(facts().any(|f| matches!(f, Fact::LaneCall { .. })), "a sub-agent and the call that started it");
    let lane = all.iter().find(|(file, _)| file.contains("subagents")).unwrap();
    assert!(lane.1.iter().flat_map(|r| &r.turns).all(|t| t.role != Role::User), "nobody types to a sub-agent");
    for words in ["drop Redis", "RSS feed", "refund_twice", "E24", "ZEPHYR", "夕食", "Schornsteinfeger"] {
        assert!(turns().any(|t| t.text.contains(words)), "{words}");
    }
    let once = turns().filter(|t| !t.echo && t.text.contains("feed-validator-report.txt")).count();
    assert_eq!(once, 1, "a file name that occurs once");
    // Codex writes messages twice: each echo repeats a turn of its run.
    for (file, records) in &all {
        let said: Vec<_> = records.iter().flat_map(|r| &r.turns).filter(|t| !t.echo).collect();
        for echo in records.iter().flat_map(|r| &r.turns).filter(|t| t.echo) {
            assert!(said.iter().any(|t| t.run == echo.run && t.role == echo.role && t.text == echo.text), "{file}");
        }
    }
}
