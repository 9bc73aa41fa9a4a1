//! Worlds told in text files: a person wrote the sessions together with the truths that they show.
//!
//! `--` begins a session. `u:`, `a:` and `s:` are messages of the user, the assistant and a program; `  |` continues one.
//! `r:` and `f:` are commands that succeed and fail, with their output after `=>`. `= NAME KIND: WORD | WORD` begins a
//! truth whose memory contains these words, and `- NAME` ends it; both belong to the turn above them. A truth before the
//! first session is one of the whole world.

use super::{Said, Truth, World};

/// The worlds of seven fields of work, by name.
pub const TOLD: [(&str, &str); 7] = [
    ("opera", include_str!("opera.txt")),
    ("gauges", include_str!("gauges.txt")),
    ("agency", include_str!("agency.txt")),
    ("quarry", include_str!("quarry.txt")),
    ("choir", include_str!("choir.txt")),
    ("clinic", include_str!("clinic.txt")),
    ("courier", include_str!("courier.txt")),
];

/// Reads a world. Panics at a line of no known form: a world is part of a test.
pub fn told(text: &'static str) -> World {
    let mut sessions: Vec<Vec<Said>> = Vec::new();
    let mut truths: Vec<Truth> = Vec::new();
    let mut calls = 0;
    let say = |role, kind, text: &str| Said { role, kind, text: text.to_owned(), call: None, failed: false };
    for line in text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
        let at = sessions.len().saturating_sub(1);
        if line == "--" {
            sessions.push(Vec::new());
            continue;
        }
        if let Some(rest) = line.strip_prefix("= ") {
            let (head, words) = rest.split_once(": ").expect(line);
            let (name, kind) = head.split_once(' ').expect(line);
            let words = words.split(" | ").collect();
            truths.push(Truth { name, kind, words, holds: at..usize::MAX, known_from: at });
            continue;
        }
        if let Some(name) = line.strip_prefix("- ") {
            truths.iter_mut().find(|t| t.name == name).expect(line).holds.end = at;
            continue;
        }
        let session = sessions.last_mut().expect(line);
        if let Some(more) = line.strip_prefix("  |") {
            let last = session.last_mut().expect(line);
            last.text.push('\n');
            last.text.push_str(more.strip_prefix(' ').unwrap_or(more));
            continue;
        }
        let (who, said) = line.split_once(": ").expect(line);
        match who {
            "u" => session.push(say("user", "message", said)),
            "a" => session.push(say("assistant", "message", said)),
            "s" => session.push(say("system", "machine-prompt", said)),
            "r" | "f" => {
                calls += 1;
                let (command, output) = said.split_once(" => ").expect(line);
                let call = Some(calls);
                session.push(Said { call, ..say("assistant", "tool-call", &format!("command: {command}")) });
                session.push(Said { call, failed: who == "f", ..say("tool", "tool-result", output) });
            }
            _ => panic!("a line of no known form: {line}"),
        }
    }
    World { sessions, truths, poison: vec!["evil"] }
}
