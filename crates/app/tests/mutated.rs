//! A thousand damaged lines between intact ones: the import goes on, and no intact line is lost. With
//! `HEIRLOOM_TEST_FULL=1` a hundred such files are tried.

use std::fs;

use heirloom_testkit::{MUTATIONS, Rng, mutate_with};
use serde_json::json;

use crate::world::{World, claude_line};

const BROKEN: usize = 1000;

/// Number of mutations that make a line enormous; more would only take longer.
const ENORMOUS: usize = 6;

#[test]
fn a_thousand_broken_lines_take_no_whole_one_with_them() {
    let files = if std::env::var_os("HEIRLOOM_TEST_FULL").is_some() { 100 } else { 1 };
    (0..files).for_each(|file| import_broken(11 + file));
}

/// Imports a file with [`BROKEN`] damaged lines, chosen by `seed`.
fn import_broken(seed: u64) {
    let world = World::new();
    let session = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
    let path = world.test.folder("project").join(format!("{session}.jsonl"));
    let mut rng = Rng::new(seed);
    let mut file = Vec::new();
    let mut broken = Vec::new();
    let mut enormous = 0;
    for n in 0..BROKEN {
        file.extend(claude_line(session, 3 * n, "user", &format!("whole{n}x stands")).into_bytes());
        file.push(b'\n');
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        let line = claude_line(session, 3 * n + 1, role, &format!("broken{n}x may not"));
        let bytes = loop {
            let which = rng.below(MUTATIONS.len());
            let bytes = mutate_with(which, line.as_bytes(), &mut rng);
            if bytes.len() < 100_000 || enormous < ENORMOUS {
                enormous += usize::from(bytes.len() >= 100_000);
                break bytes;
            }
        };
        let from = file.len();
        file.extend(&bytes);
        broken.push((n, from..file.len()));
        file.push(b'\n');
    }
    fs::write(&path, &file).unwrap();

    let imported = world.import(1, &[&path]);
    world.exports(&path);
    world.verified();
    let turns: Vec<_> = world.sessions().iter().flat_map(|key| world.turns(key)).collect();
    let texts: Vec<&str> = turns.iter().map(|t| t["text"].as_str().unwrap()).collect();
    let all = texts.join("\n");
    for n in 0..BROKEN {
        let whole = format!("whole{n}x stands");
        assert_eq!(texts.iter().filter(|t| **t == whole).count(), 1, "{whole}");
    }
    for n in [0, 1, 499, 998, 999] {
        let hits = world.found(&format!("whole{n}x"));
        assert_eq!(hits.len(), 1, "whole{n}x: {hits:?}");
    }

    // Every damaged line is a turn, or is set aside with its place.
    let problems = imported["problems"].as_array().unwrap();
    assert_eq!(imported["set_aside"], problems.len());
    for p in problems {
        assert_eq!(p["place"], path.to_str().unwrap());
        assert!(p["line"].is_u64() && p["offset"].is_u64() && p["what"].as_str().unwrap().contains("set aside"), "{p}");
    }
    let aside: Vec<usize> = problems.iter().map(|p| p["offset"].as_u64().unwrap() as usize).collect();
    let times: std::collections::BTreeSet<&str> = turns.iter().filter_map(|t| t["at"].as_str()).collect();
    let mut silent = Vec::new();
    for (n, range) in &broken {
        // A flipped bit may have hit the word itself, or a cut may have removed it.
        let said = times.contains(at(3 * n + 1).as_str()) || all.contains(&format!("broken{n}x"));
        let blank = file[range.clone()].iter().all(u8::is_ascii_whitespace);
        let set_aside = aside.iter().any(|at| range.contains(at));
        if !said && !set_aside && !blank {
            silent.push(String::from_utf8_lossy(&file[range.start..range.end.min(range.start + 600)]).into_owned());
        }
    }
    let mut classes = std::collections::BTreeMap::new();
    for key in world.sessions() {
        for class in world.json(&["session", "show", &key])["records"].as_array().unwrap() {
            *classes.entry(class["class"].as_str().unwrap().to_owned()).or_insert(0) +=
                class["records"].as_u64().unwrap();
        }
    }
    let lines = file.iter().filter(|b| **b == b'\n').count() as u64;
    assert_eq!(classes.values().sum::<u64>(), lines, "{classes:?}");
    assert_eq!(classes["quarantined"], problems.len() as u64);
    // A few damaged lines are well formed and yet say nothing: their type or the kind of their text is unknown.
    assert!(silent.len() < BROKEN / 40, "{} silent, {classes:?}\n{}", silent.len(), silent.join("\n"));

    // The list names what was set aside, and each record can be shown.
    let listed = world.json(&["show", "--quarantine"]);
    assert_eq!(listed["set_aside"].as_array().unwrap().len(), problems.len(), "all of them");
    let first = &listed["set_aside"][0];
    let one = world.json(&["show", first["id"].as_str().unwrap()]);
    assert_eq!((&one["offset"], &one["line"]), (&first["offset"], &first["line"]));
    let status = world.json(&["status"]);
    assert_eq!(status["set_aside"], problems.len());
    assert_eq!(world.import(0, &[&path])["turns"], json!({"new": 0, "known": 0, "shared": 0}));
}

/// Returns the time of a made-up line.
fn at(n: usize) -> String {
    let line: serde_json::Value = serde_json::from_str(&claude_line("", n, "user", "")).unwrap();
    line["timestamp"].as_str().unwrap().to_owned()
}
