//! Sessions made up from a seed: a program's own format, words by Zipf's law, several projects, tool calls with their
//! output. The same size gives the same bytes, everywhere.

use std::io::Write;
use std::path::Path;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use serde_json::json;

/// Words of the vocabulary; a developer's is about as large.
const VOCABULARY: usize = 60_000;

/// Turns in a session. Real ones have from 10 to 1,000.
const TURNS_PER_SESSION: u64 = 120;

const PROJECTS: usize = 12;

/// Writes sessions with `turns` turns below `folder`. Returns queries to measure with, and what each is.
pub fn write(folder: &Path, turns: u64) -> Result<Vec<(&'static str, String)>> {
    let mut random = Random::new();
    let zipf = Zipf::new();
    let mut written = 0u64;
    let mut session = 0u64;
    while written < turns {
        let project = (session % PROJECTS as u64) as usize;
        let name = uuid(&mut random);
        let dir = folder.join(format!("-home-user-project-{project}"));
        std::fs::create_dir_all(&dir).map_err(|e| Error::io("make", &dir, e))?;
        let path = dir.join(format!("{name}.jsonl"));
        let file = std::fs::File::create(&path).map_err(|e| Error::io("make", &path, e))?;
        let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
        let mut chat = Chat {
            at: 1_700_000_000_000 + session as i64 * 3_600_000,
            session: &name,
            cwd: format!("/home/user/project-{project}"),
            parent: None,
        };
        let until = (written + TURNS_PER_SESSION).min(turns);
        while written < until {
            // One run: a prompt, reasoning-free answer with up to three tools, a closing message.
            let mut lines = vec![chat.user(&zipf.text(&mut random, 8, 60), &mut random)];
            for _ in 0..random.below(4) {
                let call = format!("toolu_{:016x}", random.next());
                lines.push(chat.call(&call, &zipf.text(&mut random, 3, 12), &mut random));
                lines.push(chat.result(&call, &zipf.text(&mut random, 20, 220), &mut random));
            }
            lines.push(chat.answer(&zipf.text(&mut random, 15, 160), &mut random));
            lines.truncate((until - written) as usize);
            written += lines.len() as u64;
            for line in lines {
                writeln!(out, "{line}").map_err(|e| Error::io("write", &path, e))?;
            }
        }
        out.flush().map_err(|e| Error::io("write", &path, e))?;
        session += 1;
    }
    Ok(vec![
        ("one rare word", word(VOCABULARY - 7)),
        ("three words", format!("{} {} {}", word(900), word(4_000), word(20_000))),
        ("eight words, frequent ones among them", [3, 40, 150, 700, 1_500, 6_000, 9_000, 30_000].map(word).join(" ")),
        ("a question", format!("why did the {} {} {}?", word(350), word(2_400), word(12_000))),
    ])
}

struct Chat<'s> {
    at: i64,
    session: &'s str,
    cwd: String,
    parent: Option<String>,
}

impl Chat<'_> {
    fn line(&mut self, kind: &str, message: serde_json::Value, random: &mut Random) -> String {
        self.at += 1_000 + random.below(90_000) as i64;
        let id = uuid(random);
        let line = json!({
            "parentUuid": self.parent, "isSidechain": false, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "2.1.330", "gitBranch": "main", "type": kind, "message": message,
            "uuid": id, "timestamp": rfc3339(self.at),
        });
        self.parent = Some(id);
        line.to_string()
    }

    fn user(&mut self, text: &str, random: &mut Random) -> String {
        self.line("user", json!({"role": "user", "content": text}), random)
    }

    fn answer(&mut self, text: &str, random: &mut Random) -> String {
        let content = json!([{"type": "text", "text": text}]);
        self.line("assistant", message(content, "end_turn", random), random)
    }

    fn call(&mut self, call: &str, text: &str, random: &mut Random) -> String {
        let content = json!([{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text}}]);
        self.line("assistant", message(content, "tool_use", random), random)
    }

    fn result(&mut self, call: &str, text: &str, random: &mut Random) -> String {
        let content = json!([{"type": "tool_result", "tool_use_id": call, "content": text}]);
        self.line("user", json!({"role": "user", "content": content}), random)
    }
}

pub(super) fn message(content: serde_json::Value, stop: &str, random: &mut Random) -> serde_json::Value {
    json!({
        "model": "synthetic-1", "id": format!("msg_{:016x}", random.next()), "type": "message", "role": "assistant",
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": random.below(90_000), "output_tokens": random.below(900)},
    })
}

/// The word of a rank: pronounceable, different for every rank.
fn word(rank: usize) -> String {
    const FIRST: &[u8] = b"bcdfghjklmnprstvz";
    const THEN: &[u8] = b"aeiou";
    let mut n = rank + FIRST.len() * THEN.len();
    let mut out = String::new();
    while n > 0 {
        out.push(char::from(FIRST[n % FIRST.len()]));
        n /= FIRST.len();
        out.push(char::from(THEN[n % THEN.len()]));
        n /= THEN.len();
    }
    out.push('x');
    out
}

/// Ranks drawn by Zipf's law (exponent 1.05), by looking up a cumulative table.
pub(super) struct Zipf {
    cumulative: Vec<f64>,
}

impl Zipf {
    pub(super) fn new() -> Zipf {
        let mut sum = 0.0;
        let cumulative = (1..=VOCABULARY)
            .map(|rank| {
                sum += (rank as f64).powf(-1.05);
                sum
            })
            .collect();
        Zipf { cumulative }
    }

    /// The word of a rank.
    pub(super) fn word(&self, rank: usize) -> String {
        word(rank.min(self.cumulative.len()))
    }

    pub(super) fn text(&self, random: &mut Random, least: u64, most: u64) -> String {
        let words = least + random.below(most - least);
        let total = self.cumulative.last().copied().unwrap_or(1.0);
        let mut out = String::new();
        for n in 0..words {
            let at = random.unit() * total;
            let rank = self.cumulative.partition_point(|c| *c < at);
            if n > 0 {
                out.push(' ');
            }
            out.push_str(&word(rank));
        }
        out
    }
}

/// xorshift64*: small, fast, the same everywhere.
pub(super) struct Random(u64);

impl Random {
    /// Always the same.
    pub(super) fn new() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub(super) fn uuid(random: &mut Random) -> String {
    let (a, b) = (random.next(), random.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}
