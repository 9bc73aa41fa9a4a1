//! The memory an import takes does not depend on the size of its input.

use std::fs;
use std::path::Path;

use heirloom_testkit::Rng;
use serde_json::json;

use crate::world::World;

#[test]
fn the_memory_of_an_import_does_not_grow_with_the_archive() {
    let world = World::new();
    let peak = |name: &str, megabytes: usize| {
        let folder = world.test.folder(name);
        sessions(&folder, megabytes << 20);
        let json = world.json(&["import", folder.to_str().unwrap()]);
        fs::remove_dir_all(&folder).unwrap();
        assert!(json["import"]["bytes"].as_u64().unwrap() >= (megabytes << 20) as u64, "{json}");
        json["import"]["peak_memory_bytes"].as_u64()
    };
    let (Some(small), Some(large)) = (peak("small", 2), peak("large", 8)) else {
        println!("skipped: this system does not say how much memory a process held");
        return;
    };
    println!("{small} bytes for 2 MB, {large} for 8 MB");
    assert!((large as f64) < 1.5 * small as f64, "{small} bytes for 2 MB, {large} for 8 MB");
}

/// Writes sessions of 2 MB, in lines as long as tool outputs.
fn sessions(folder: &Path, bytes: usize) {
    let mut rng = Rng::new(bytes as u64);
    let mut written = 0;
    for file in 0.. {
        let session = format!("{file:08}-1111-4000-8000-000000000000");
        let mut text = String::new();
        let mut n = 0;
        while text.len() < 2 << 20 {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            let size = 1000 + rng.below(12_000);
            text += &claude_line(&session, n, role, &words_and_data(&mut rng, 30, size));
            text.push('\n');
            n += 1;
        }
        written += text.len();
        fs::write(folder.join(format!("{session}.jsonl")), text).unwrap();
        if written >= bytes {
            break;
        }
    }
}

/// Returns a few words and much encoded data, which is stored but not indexed: large sessions that import quickly.
fn words_and_data(rng: &mut Rng, words: usize, data: usize) -> String {
    let mut text = String::new();
    for _ in 0..words {
        text += &format!("w{:x} ", rng.below(60_000));
    }
    while text.len() < data {
        text += &format!("{:016x}", rng.next_u64());
    }
    text
}

/// Returns a line of a made-up Claude Code session: a prompt or an answer.
fn claude_line(session: &str, n: usize, role: &str, text: &str) -> String {
    let content = if role == "user" { json!(text) } else { json!([{"type": "text", "text": text}]) };
    let second = n % 60;
    let minute = n / 60 % 60;
    let hour = n / 3600 % 24;
    json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/home/user/project",
        "sessionId": session, "version": "2.1.330", "gitBranch": "main", "type": role,
        "message": {"role": role, "content": content, "id": format!("msg_{session}_{n}"), "model": "made-up-1"},
        "uuid": format!("{session}-{n}"), "timestamp": format!("2026-11-21T{hour:02}:{minute:02}:{second:02}.000Z"),
    })
    .to_string()
}
