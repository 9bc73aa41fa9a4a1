//! Sessions made up from a seed, in a program's own format: English words by Zipf's law, followed by made-up names;
//! several projects, and tool calls with output. The same size gives the same bytes on every machine. Words are placed
//! at random: meaningful text has fewer different words in a turn, and is found faster.

use std::io::Write;
use std::path::Path;

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, Result};
use serde_json::json;

/// Number of words in the vocabulary, about that of a developer.
const VOCABULARY: usize = 60_000;

/// Number of turns in a session. Real sessions have from 10 to 1,000.
const TURNS_PER_SESSION: u64 = 120;

const PROJECTS: usize = 12;

/// Queries of one kind.
pub struct Asked {
    pub what: &'static str,
    pub queries: Vec<String>,
}

/// Number of queries of each kind.
const QUERIES: u64 = 6;

/// Words more frequent than this rank are not searched for, except in one kind of query, for one word in eight.
const NOT_ASKED: usize = 100;

/// Writes sessions with `turns` turns below `folder`. Returns queries for measurements.
pub fn write(folder: &Path, turns: u64) -> Result<Vec<Asked>> {
    let mut random = Random::new();
    let zipf = Zipf::new();
    let mut written = 0u64;
    let mut session = 0u64;
    let mut said = Vec::new();
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
            // One run has a prompt, an answer with up to three tools and no reasoning, and a closing message.
            let asked = zipf.text(&mut random, 8, 60);
            if said.len() < 400 {
                said.push(asked.clone());
            }
            let mut lines = vec![chat.user(&asked, &mut random)];
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
    Ok(queries(&zipf, &said))
}

/// Function that draws a number of words.
type Words<'w> = &'w mut dyn FnMut(usize) -> Vec<String>;

/// Returns queries: words by frequency without the most frequent ones, and phrases as they were said.
fn queries(zipf: &Zipf, said: &[String]) -> Vec<Asked> {
    let mut random = Random::new();
    let mut words = |many: usize| -> Vec<String> {
        (0..many)
            .map(|_| {
                loop {
                    let rank = zipf.rank(&mut random);
                    if rank > NOT_ASKED {
                        break zipf.word(rank);
                    }
                }
            })
            .collect()
    };
    let mut of = |what, query: &mut dyn FnMut(Words, u64) -> String| Asked {
        what,
        queries: (0..QUERIES).map(|n| query(&mut words, n)).collect(),
    };
    let phrase = |n: u64| -> String {
        let pairs = said.iter().skip(7 * n as usize).filter_map(|text| {
            let words: Vec<&str> = text.split(' ').collect();
            words.windows(2).find(|pair| pair.iter().all(|w| zipf.is_asked(w))).map(|pair| pair.join(" "))
        });
        format!("\"{}\"", pairs.take(1).collect::<String>())
    };
    vec![
        of("one word", &mut |words, _| words(1).concat()),
        of("three words", &mut |words, _| words(3).join(" ")),
        of("eight words, a frequent one", &mut |words, n| {
            format!("{} {}", words(7).join(" "), zipf.word(20 + 11 * n as usize))
        }),
        of("a phrase", &mut |_, n| phrase(n)),
        of("two words and a day", &mut |words, n| format!("{} on {} November 2023", words(2).join(" "), 15 + n)),
        of("words nobody said", &mut |_, n| format!("{} {}", word(7 * VOCABULARY + n as usize), word(9 * VOCABULARY))),
    ]
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

pub fn message(content: serde_json::Value, stop: &str, random: &mut Random) -> serde_json::Value {
    json!({
        "model": "synthetic-1", "id": format!("msg_{:016x}", random.next()), "type": "message", "role": "assistant",
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": random.below(90_000), "output_tokens": random.below(900)},
    })
}

/// Returns the word of a rank: pronounceable, and different for every rank.
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

/// Draws ranks by Zipf's law (exponent 1.05) from a cumulative table.
pub struct Zipf {
    cumulative: Vec<f64>,
    /// English words by rank; made-up names follow behind them.
    words: Vec<&'static str>,
}

impl Zipf {
    pub fn new() -> Zipf {
        let mut sum = 0.0;
        let cumulative = (1..=VOCABULARY)
            .map(|rank| {
                sum += (rank as f64).powf(-1.05);
                sum
            })
            .collect();
        Zipf { cumulative, words: heirloom_embed::StaticTable::built_in().plain_words() }
    }

    /// Returns the word of a rank.
    pub fn word(&self, rank: usize) -> String {
        let rank = rank.min(self.cumulative.len());
        self.words.get(rank).map_or_else(|| word(rank), |word| (*word).to_owned())
    }

    fn rank(&self, random: &mut Random) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(1.0);
        let at = random.unit() * total;
        self.cumulative.partition_point(|c| *c < at)
    }

    /// Returns whether a word is rare enough for somebody to search for it.
    fn is_asked(&self, word: &str) -> bool {
        !self.words[..NOT_ASKED].contains(&word) && word.len() > 4
    }

    pub fn text(&self, random: &mut Random, least: u64, most: u64) -> String {
        let words = least + random.below(most - least);
        let mut out = String::new();
        for n in 0..words {
            let rank = self.rank(random);
            if n > 0 {
                out.push(' ');
            }
            match self.words.get(rank) {
                Some(word) => out.push_str(word),
                None => out.push_str(&word(rank)),
            }
        }
        out
    }
}

/// Random numbers by xorshift64*: small, fast, and the same on every machine.
pub struct Random(u64);

impl Random {
    /// Starts from a fixed seed.
    pub fn new() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub fn uuid(random: &mut Random) -> String {
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
