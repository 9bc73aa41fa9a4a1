//! `kill -9` in the middle of an import: acknowledged turns are stored, and running it again stores the rest, once.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use heirloom_testkit::Rng;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, claude_line, without_numbers, words_and_data};

const TRIALS: usize = 16;
const FILES: usize = 8;

/// Writes made-up sessions; enough that an import takes a while and commits several times.
fn sessions(folder: &Path) {
    let mut rng = Rng::new(21);
    for file in 0..FILES {
        let session = format!("{file:08}-0000-4000-8000-000000000000");
        let mut text = String::new();
        for n in 0..80 {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            text += &claude_line(&session, n, role, &words_and_data(&mut rng, 12, 2500));
            text.push('\n');
        }
        std::fs::write(folder.join(format!("{session}.jsonl")), text).unwrap();
    }
}

#[test]
fn an_import_killed_anywhere_and_repeated_is_as_if_undisturbed() {
    let undisturbed = World::new();
    let folder = undisturbed.test.folder("sessions");
    sessions(&folder);
    let source = folder.to_str().unwrap();
    let whole = undisturbed.import(0, &[&folder]);
    let mut took = Duration::from_secs_f64(whole["seconds"].as_f64().unwrap());
    let expected = undisturbed.content();
    let mut rng = Rng::new(9);
    let mut interrupted = 0;
    for trial in 0..TRIALS {
        let world = World::new();
        let began = Instant::now();
        let mut command = world.test.command(HEIRLOOM);
        command.args(["import", source]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let delay = took.mul_f64(rng.below(1000) as f64 / 1000.0);
        std::thread::sleep(delay);
        // A busy machine may have made the first run slow, so the range shrinks.
        match child.try_wait().unwrap() {
            None => interrupted += 1,
            Some(_) => took = took.min(began.elapsed()).mul_f64(0.9),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if world.ledger().exists() {
            let verified = world.run(&["verify"]);
            // Before the first transaction the ledger is an empty file and not a memory yet.
            let empty = verified.status == Some(4);
            assert!(verified.status == Some(0) || empty, "trial {trial} after {delay:?}: {verified:?}");
        }
        let again = world.import(0, &[&folder]);
        assert!(again["turns"]["new"].as_u64() <= whole["turns"]["new"].as_u64(), "{again}");
        let status = world.json(&["status"]);
        assert_eq!((&status["turns"], &status["not_indexed"]), (&whole["turns"]["new"], &json!(0)), "trial {trial}");
        assert_eq!(status["records"], whole["records"], "trial {trial}: nothing is stored twice");
        // All sessions are compared in every fifth trial, a part of them in the others: showing a session starts a
        // process.
        for (n, (key, turns)) in expected.iter().enumerate() {
            if trial % 5 == 0 || n % 5 == trial % 5 {
                assert!(&without_numbers(world.turns(key)) == turns, "trial {trial}: {key}");
            }
        }
        if trial % 5 == 0 {
            world.verified();
        }
    }
    println!("{interrupted} of {TRIALS} were interrupted; undisturbed took {took:?}");
    assert!(interrupted >= TRIALS / 3, "only {interrupted} of {TRIALS} were killed before their end ({took:?})");
}

#[test]
fn what_append_acknowledged_survives_a_kill_and_is_there_once() {
    let world = World::new();
    let line = |n: usize| json!({"session": "live", "id": format!("m{n}"), "text": format!("said number {n}")});
    let mut rng = Rng::new(5);
    let (mut sent, mut sure) = (0, 0);
    for trial in 0..8 {
        let mut command = world.test.command(HEIRLOOM);
        command.arg("append").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        // Lines that were not acknowledged are sent again, as a careful client does.
        let first = sure;
        let writer = std::thread::spawn(move || {
            let mut n = first;
            while writeln!(input, "{}", line(n)).is_ok() {
                n += 1;
            }
            n
        });
        let after = 3 + rng.below(25);
        let mut acks = output.lines();
        for _ in 0..after {
            let Some(Ok(ack)) = acks.next() else { break };
            let ack: Value = serde_json::from_str(&ack).unwrap();
            assert_eq!(ack["ok"], true, "{ack}");
            assert_eq!(ack["line"], sure - first + 1, "in order");
            sure += 1;
        }
        std::thread::sleep(Duration::from_micros(rng.below(4000) as u64));
        child.kill().unwrap();
        // Acknowledgements written before the kill but read after it count as well.
        for ack in acks.map_while(Result::ok).filter(|a| a.ends_with('}')) {
            let ack: Value = serde_json::from_str(&ack).unwrap();
            assert_eq!(ack["ok"], true, "{ack}");
            sure += 1;
        }
        child.wait().unwrap();
        sent = sent.max(writer.join().unwrap());
        assert_eq!(world.run(&["verify"]).status, Some(0), "trial {trial}");
        let texts: Vec<_> = world.turns("turns:live").iter().map(|t| t["text"].as_str().unwrap().to_owned()).collect();
        for n in 0..sure {
            let said = format!("said number {n}");
            assert_eq!(texts.iter().filter(|t| **t == said).count(), 1, "trial {trial}: {said}");
        }
        assert!(texts.len() <= sent);
    }
    world.verified();
}
