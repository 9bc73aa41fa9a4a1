//! Load of many clients at once, and a check that everything they sent is stored.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use heirloom_engine::error::Result;
use serde_json::{Value, json};

use super::Args;
use super::served::{PATIENCE, Served};
use crate::home::LabHome;
use crate::synthetic::Asked;

/// Record of what was sent.
#[derive(Default)]
pub(super) struct Loaded {
    /// Texts that must be in the memory, each once.
    texts: Mutex<Vec<String>>,
    hooks: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
    wall: Mutex<Vec<f64>>,
    seconds: Mutex<f64>,
}

impl Loaded {
    pub fn to_json(&self) -> Value {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let mut wall = self.wall.lock().map(|all| all.clone()).unwrap_or_default();
        wall.sort_by(f64::total_cmp);
        let within =
            |hundredths: usize| wall.get(wall.len().saturating_sub(1) * hundredths / 100).copied().unwrap_or(0.0);
        json!({
            "hooks": count(&self.hooks), "answered": count(&self.answered), "refused": count(&self.refused),
            "unanswered": count(&self.unanswered), "hook_wall_ms": {"half": within(50), "p95": within(95), "most": within(100)},
            "seconds": self.seconds.lock().map(|s| *s).unwrap_or(0.0),
        })
    }

    /// Runs the hook of a prompt and waits for it.
    fn prompt(&self, served: &Served, session: &str, n: u64, prompt: String) {
        let payload = json!({
            "session_id": session, "cwd": "/home/user/project-1", "hook_event_name": "UserPromptSubmit",
            "transcript_path": served.home.join("no-transcript.jsonl"), "prompt_id": format!("{session}-{n}"),
            "prompt": prompt,
        });
        let began = Instant::now();
        let run =
            served.hook("UserPromptSubmit").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = run else { return };
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(payload.to_string().as_bytes());
        }
        let _ = child.wait();
        if let Ok(mut wall) = self.wall.lock() {
            wall.push(began.elapsed().as_secs_f64() * 1e3);
        }
        self.hooks.fetch_add(1, Ordering::Relaxed);
        self.must_be_there(prompt);
    }

    fn must_be_there(&self, text: String) {
        if let Ok(mut texts) = self.texts.lock() {
            texts.push(text);
        }
    }
}

/// Runs the hooks of `hooks` sessions, all at once.
pub(super) fn at_once(served: &Served, hooks: u64) -> Loaded {
    let (loaded, began) = (Loaded::default(), Instant::now());
    std::thread::scope(|scope| {
        for n in 0..hooks {
            let loaded = &loaded;
            scope.spawn(move || {
                loaded.prompt(served, &format!("load-at-once-{n}"), 0, format!("session {n} begins at once"));
            });
        }
    });
    if let Ok(mut seconds) = loaded.seconds.lock() {
        *seconds = began.elapsed().as_secs_f64();
    }
    loaded
}

/// Runs all clients, and kills the service in between.
pub(super) fn load(args: &Args, served: &Served, asked: &[Asked]) -> Result<Loaded> {
    let loaded = Loaded::default();
    let (done, all, began) = (AtomicU64::new(0), args.clients * args.calls, Instant::now());
    let queries: Vec<&String> = asked.iter().flat_map(|kind| &kind.queries).collect();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..args.clients)
            .map(|client| {
                let (loaded, done, queries) = (&loaded, &done, &queries);
                scope.spawn(move || {
                    for n in 0..args.calls {
                        call(served, loaded, queries, (client, n));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let mut killed = 0;
        while clients.iter().any(|client| !client.is_finished()) {
            std::thread::sleep(Duration::from_millis(50));
            served.memory();
            let due = all * (killed + 1) / (args.kills + 1);
            if killed < args.kills && done.load(Ordering::Relaxed) >= due {
                served.kill()?;
                killed += 1;
            }
        }
        Ok(())
    })
    .map(|()| {
        if let Ok(mut seconds) = loaded.seconds.lock() {
            *seconds = began.elapsed().as_secs_f64();
        }
        loaded
    })
}

/// Makes one call of a client.
fn call(served: &Served, loaded: &Loaded, queries: &[&String], (client, n): (u64, u64)) {
    let query = queries[(client + n) as usize % queries.len().max(1)].replace(' ', "%20");
    if n % 2 == 0 {
        let prompt = format!("client {client} asks number {n}: what about {}?", queries[n as usize % queries.len()]);
        loaded.prompt(served, &format!("load-{client}"), n, prompt);
        return;
    }
    let line;
    let (method, path, body): (&str, String, &[u8]) = match n % 8 {
        1 => ("GET", format!("/v1/search?q={query}"), b""),
        3 => ("GET", format!("/v1/recall?q={query}"), b""),
        5 => {
            let text = format!("client {client} tells number {n}: {query}");
            line = json!({"session": format!("told-{client}"), "id": n.to_string(), "text": text}).to_string();
            loaded.must_be_there(text);
            ("POST", "/v1/append".into(), line.as_bytes())
        }
        _ => ("GET", "/v1/status".into(), b""),
    };
    // A line that was not acknowledged is sent again, as docs/API.md says.
    let until = Instant::now() + PATIENCE;
    loop {
        let answer = served.ask(method, &path, body);
        let counted = match &answer {
            Some((200, _)) => &loaded.answered,
            Some(_) => &loaded.refused,
            None => &loaded.unanswered,
        };
        counted.fetch_add(1, Ordering::Relaxed);
        let again = method == "POST" && !matches!(answer, Some((200, _)));
        if !again || Instant::now() > until {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until the service has stored what hooks left in the spool. Returns the number of files left.
pub(super) fn until_stored(home: &Path) -> Result<usize> {
    let left = || std::fs::read_dir(home.join("spool")).map_or(0, |files| files.count());
    let until = Instant::now() + PATIENCE;
    while left() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(left())
}

pub(super) struct Found {
    pub lost: Vec<String>,
    pub twice: Vec<String>,
}

/// Counts how often each text is in the memory.
pub(super) fn found(home: &Path, loaded: &[Loaded]) -> Result<Found> {
    let home = LabHome::create(home)?;
    let mut there: BTreeMap<String, u64> = BTreeMap::new();
    for session in home.sessions()?.iter().filter(|session| is_of_load(&session.key.to_string())) {
        for turn in home.turns(session, true)? {
            *there.entry(turn.text).or_default() += 1;
        }
    }
    let texts: Vec<String> =
        loaded.iter().flat_map(|loaded| loaded.texts.lock().map(|all| all.clone()).unwrap_or_default()).collect();
    let times = |text: &String| there.get(text).copied().unwrap_or(0);
    let lost = texts.iter().filter(|text| times(text) == 0).cloned().collect();
    let twice = texts.iter().filter(|text| times(text) > 1).cloned().collect();
    Ok(Found { lost, twice })
}

fn is_of_load(key: &str) -> bool {
    key.contains("load-") || key.contains("told-")
}
