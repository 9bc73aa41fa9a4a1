//! Made-up work from a seed, as input for the lineage: people ask, decide, owe and change their minds; programs read
//! and change files, run tests that fail and then pass, and cut their context. There are projects, named topics, people
//! and standalone sessions; a session has from a handful to nearly a thousand turns. The words for one size are the
//! same on every machine; the last session ends now, since pages show recent days.

use std::io::Write;
use std::path::{Path, PathBuf};

use heirloom_engine::clock::{Millis, rfc3339};
use heirloom_engine::error::{Error, Result};
use serde_json::{Value, json};

use crate::synthetic::{Random, Zipf, uuid};

/// Days the smallest home reaches back, so that homes of all sizes have as much in the pages of the last month.
const SPAN_MS: Millis = 60 * 24 * 3_600_000;

/// Possible numbers of turns of a session, all equally likely: about 160 on average.
const LENGTHS: [u64; 8] = [6, 12, 24, 48, 90, 140, 260, 700];

const PROJECTS: u64 = 12;
const TOPICS: u64 = 20;
const PEOPLE: u64 = 30;

/// Number of turns after which a program cuts its context, on average.
const CUT_AFTER: u64 = 340;

/// Generator of conversations.
pub struct Story {
    random: Random,
    zipf: Zipf,
}

/// A session that is being written; turns can be added to it.
pub struct Chat {
    pub path: PathBuf,
    pub native: String,
    cwd: String,
    parent: Option<String>,
    at: Millis,
    step: Millis,
}

impl Story {
    pub fn new() -> Story {
        Story { random: Random::new(), zipf: Zipf::new() }
    }

    /// Writes `turns` turns below `folder`, the last of them shortly before `now`, with as many turns a day as in a
    /// home of `smallest` turns: sessions of a program in its own format, and other conversations as plain turns.
    /// Returns the number of sessions.
    pub fn write(&mut self, folder: &Path, turns: u64, smallest: u64, now: Millis) -> Result<u64> {
        let lengths = self.lengths(turns);
        let apart = SPAN_MS * turns as Millis / smallest.max(1) as Millis / lengths.len().max(1) as Millis;
        let mut at = now - (lengths.len() as Millis + 1) * apart;
        for (n, length) in lengths.iter().enumerate() {
            if n % 8 == 5 {
                self.plain(folder, n as u64, (*length).min(60), at)?;
            } else {
                // One project has more sessions than any other.
                let project = if self.random.below(3) == 0 { 0 } else { self.random.below(PROJECTS) };
                let mut chat = self.begin(folder, project, at, 20_000)?;
                self.go_on(&mut chat, *length, true)?;
            }
            at += apart;
        }
        Ok(lengths.len() as u64)
    }

    /// Returns the lengths of sessions that together have `turns` turns.
    fn lengths(&mut self, turns: u64) -> Vec<u64> {
        let (mut out, mut all) = (Vec::new(), 0);
        while all < turns {
            let length = LENGTHS[self.random.below(LENGTHS.len() as u64) as usize];
            let length = if out.len() % 8 == 5 { length.min(60) } else { length }.min(turns - all);
            all += length;
            out.push(length);
        }
        out
    }

    /// Begins a session of a project. `step` is the longest pause between two turns.
    pub fn begin(&mut self, folder: &Path, project: u64, at: Millis, step: Millis) -> Result<Chat> {
        let native = uuid(&mut self.random);
        let dir = folder.join(format!("-home-user-project-{project}"));
        std::fs::create_dir_all(&dir).map_err(|e| Error::io("make", &dir, e))?;
        let path = dir.join(format!("{native}.jsonl"));
        Ok(Chat { path, native, cwd: format!("/home/user/project-{project}"), parent: None, at, step })
    }

    /// Adds turns to a session. With `cuts`, its program compacts its context now and then.
    pub fn go_on(&mut self, chat: &mut Chat, turns: u64, cuts: bool) -> Result<()> {
        let (mut lines, mut written, mut since) = (Vec::new(), 0, 0);
        while written < turns {
            let mut run = self.run(chat);
            run.truncate((turns - written) as usize);
            written += run.len() as u64;
            since += run.len() as u64;
            lines.append(&mut run);
            if cuts && since > CUT_AFTER && written < turns {
                since = 0;
                lines.extend(self.cut(chat));
                written += 1;
            }
        }
        append(&chat.path, &lines)
    }

    /// Writes one run: a prompt, the program's tool calls, and its answer.
    fn run(&mut self, chat: &mut Chat) -> Vec<String> {
        let prompt = self.prompt();
        let mut lines = vec![chat.user(json!(prompt), &mut self.random)];
        for _ in 0..self.random.below(6) {
            let call = format!("toolu_{:016x}", self.random.next());
            let (name, input, result, failed) = self.tool(&chat.cwd);
            let use_it = json!([{"type": "tool_use", "id": call, "name": name, "input": input}]);
            lines.push(chat.assistant(use_it, "tool_use", &mut self.random));
            let result = json!([{"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}]);
            lines.push(chat.user(result, &mut self.random));
        }
        let answer = self.answer();
        lines.push(chat.assistant(json!([{"type": "text", "text": answer}]), "end_turn", &mut self.random));
        lines
    }

    /// Writes a compaction: the boundary record and the program's summary.
    fn cut(&mut self, chat: &mut Chat) -> [String; 2] {
        let boundary = chat.record(
            "system",
            &mut self.random,
            &[
                ("subtype", json!("compact_boundary")),
                ("compactMetadata", json!({"trigger": "auto", "preTokens": 150_000})),
            ],
        );
        let summary = format!(
            "This session is being continued from a previous conversation.\nSummary:\n1. Primary request: {}\n2. Files: \
             {}\n3. Pending tasks: {}\n",
            self.prompt(),
            self.file(),
            self.task()
        );
        let told = chat.record(
            "user",
            &mut self.random,
            &[("isCompactSummary", json!(true)), ("message", json!({"role": "user", "content": summary}))],
        );
        [boundary, told]
    }

    /// Writes a conversation outside the known programs: on a named topic, with a person, or on its own.
    fn plain(&mut self, folder: &Path, n: u64, turns: u64, mut at: Millis) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|e| Error::io("make", folder, e))?;
        let path = folder.join(format!("talk-{n}.turns.jsonl"));
        let (topic, person) = match n / 8 % 3 {
            0 => (Some(format!("topic {}", self.zipf.word(40 + self.random.below(TOPICS) as usize))), None),
            1 => (None, Some(format!("{} Example", self.zipf.word(70 + self.random.below(PEOPLE) as usize)))),
            _ => (None, None),
        };
        let mut lines = Vec::new();
        for turn in 0..turns {
            at += 1_000 + self.random.below(40_000) as Millis;
            let asks = turn % 2 == 0;
            let text = if asks { self.prompt() } else { self.answer() };
            let mut line = json!({
                "session": format!("talk-{n}"), "id": format!("{n}-{turn}"), "time": rfc3339(at), "text": text,
                "role": if asks { "user" } else { "assistant" },
            });
            if let Some(topic) = topic.as_ref().filter(|_| asks) {
                line["thread"] = json!(topic);
            }
            if let Some(person) = &person {
                line["participants"] = json!([person]);
                if asks {
                    line["speaker"] = json!(person);
                }
            }
            lines.push(line.to_string());
        }
        append(&path, &lines)
    }

    fn prompt(&mut self) -> String {
        let filler = self.zipf.text(&mut self.random, 6, 40);
        let (thing, other, file) = (self.thing(), self.thing(), self.file());
        match self.random.below(12) {
            0 => format!("We decided to use {thing} instead of {other} for the {}. {filler}", self.noun()),
            1 => format!("Please never commit changes to {file} without running the tests. {filler}"),
            2 => format!("TODO: {} before the release. {filler}", self.task()),
            3 => format!("Remind me to {} tomorrow. {filler}", self.task()),
            4 => format!("Why does {file} still depend on {thing}? {filler}"),
            5 => format!("Always keep the {} small; I prefer {thing} over {other}. {filler}", self.noun()),
            6 => format!("We still need to {}. Next we should {}. {filler}", self.task(), self.task()),
            _ => format!("Please {} in {file}. {filler}", self.task()),
        }
    }

    fn answer(&mut self) -> String {
        let filler = self.zipf.text(&mut self.random, 10, 110);
        let (task, file, thing) = (self.task(), self.file(), self.thing());
        match self.random.below(8) {
            0 => format!("Done: {task}. All tests pass. {filler}"),
            1 => format!("I will {task} next. {filler}"),
            2 => format!("I chose {thing} for the {} because it is simpler. {filler}", self.noun()),
            3 => format!("This is blocked: {file} cannot be built without {thing}. {filler}"),
            4 => format!("I changed {file}.\n\nNext steps:\n- {task}\n- {}\n\n{filler}", self.task()),
            _ => format!("The {} in {file} is fixed now. {filler}", self.noun()),
        }
    }

    /// Returns a tool with its input, its output, and whether it failed.
    fn tool(&mut self, cwd: &str) -> (&'static str, Value, String, bool) {
        let path = format!("{cwd}/{}", self.file());
        let output = self.zipf.text(&mut self.random, 20, 160);
        match self.random.below(6) {
            0 | 1 => {
                let lines: Vec<String> =
                    output.split(' ').enumerate().map(|(n, w)| format!("{}\tlet {w} = {n};", n + 1)).collect();
                ("Read", json!({"file_path": path}), lines.join("\n"), false)
            }
            2 => {
                let (old, new) = (self.zipf.text(&mut self.random, 4, 20), self.zipf.text(&mut self.random, 4, 20));
                let done = format!("The file {path} has been updated.");
                ("Edit", json!({"file_path": path, "old_string": old, "new_string": new}), done, false)
            }
            3 => ("Write", json!({"file_path": path, "content": output}), format!("File created at {path}"), false),
            4 => {
                let failed = self.random.below(4) == 0;
                let verdict =
                    if failed { "test result: FAILED. 41 passed; 1 failed" } else { "test result: ok. 42 passed" };
                ("Bash", json!({"command": "cargo test -q"}), format!("{output}\n{verdict}"), failed)
            }
            _ => ("Bash", json!({"command": format!("grep -rn {} src", self.thing())}), output, false),
        }
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.random.below(from.len() as u64) as usize]
    }

    fn noun(&mut self) -> &'static str {
        self.pick(&[
            "cache",
            "parser",
            "importer",
            "schema",
            "login page",
            "release script",
            "index",
            "queue",
            "report",
        ])
    }

    fn thing(&mut self) -> String {
        let rank = 100 + self.random.below(3_000) as usize;
        self.zipf.word(rank)
    }

    fn file(&mut self) -> String {
        format!("src/{}/{}.rs", self.noun().replace(' ', "_"), self.thing())
    }

    fn task(&mut self) -> String {
        let verb = self.pick(&["rewrite", "test", "document", "measure", "simplify", "review", "remove", "rename"]);
        format!("{verb} the {} of {}", self.noun(), self.thing())
    }
}

impl Chat {
    fn record(&mut self, kind: &str, random: &mut Random, more: &[(&str, Value)]) -> String {
        self.at += self.step / 4 + random.below((self.step * 3 / 4) as u64) as Millis;
        let id = uuid(random);
        let mut line = json!({
            "parentUuid": self.parent, "isSidechain": false, "userType": "external", "cwd": self.cwd,
            "sessionId": self.native, "version": "2.1.330", "gitBranch": "main", "type": kind, "uuid": id,
            "timestamp": rfc3339(self.at),
        });
        for (key, value) in more {
            line[*key] = value.clone();
        }
        self.parent = Some(id);
        line.to_string()
    }

    fn user(&mut self, content: Value, random: &mut Random) -> String {
        self.record("user", random, &[("message", json!({"role": "user", "content": content}))])
    }

    fn assistant(&mut self, content: Value, stop: &str, random: &mut Random) -> String {
        let message = crate::synthetic::message(content, stop, random);
        self.record("assistant", random, &[("message", message)])
    }
}

fn append(path: &Path, lines: &[String]) -> Result<()> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let mut out = std::io::BufWriter::new(file.map_err(|e| Error::io("make", path, e))?);
    lines
        .iter()
        .try_for_each(|line| writeln!(out, "{line}"))
        .and_then(|()| out.flush())
        .map_err(|e| Error::io("write", path, e))
}
