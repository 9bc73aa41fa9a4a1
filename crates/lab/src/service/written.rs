//! Measures how soon lines that programs write are found, and many changed files at once.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use heirloom_engine::error::{Error, Result};
use serde_json::{Value, json};

use super::served::{PATIENCE, Served};

/// Time limit until all files of a flood are stored.
const FLOOD: Duration = Duration::from_secs(1_800);

/// Number of lines whose time until found is measured, one after another.
const LINES: u64 = 10;

/// Returns a word that occurs nowhere else.
fn word(n: u64) -> String {
    format!("zyxomorph{n}")
}

/// The folder of a program's sessions.
pub(super) fn sessions(user: &Path) -> PathBuf {
    user.join(".claude/projects/-home-user-project-1")
}

fn append(file: &Path, session: &str, n: u64, text: &str) -> Result<()> {
    let line = json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/home/user/project-1",
        "sessionId": session, "version": "2.1.330", "gitBranch": "main", "type": "user",
        "message": {"role": "user", "content": text}, "uuid": format!("{session}-{n}"),
        "timestamp": "2026-01-02T10:00:00.000Z",
    });
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::options().create(true).append(true).open(file)?;
        file.write_all(format!("{line}\n").as_bytes())
    };
    write().map_err(|e| Error::io("write", file, e))
}

/// Returns the seconds from writing a line until a search through the socket finds it, for each of some lines.
pub(super) fn until_found(served: &Served) -> Result<Vec<f64>> {
    let session = "11111111-0b7d-4e55-9a41-6c1d2e3f4a5b";
    let file = sessions(served.user).join(format!("{session}.jsonl"));
    let mut out = Vec::new();
    for n in 0..LINES {
        append(&file, session, n, &format!("the {} is new", word(n)))?;
        let began = Instant::now();
        let found = |body: &[u8]| {
            serde_json::from_slice::<Value>(body)
                .is_ok_and(|said| said["hits"].as_array().is_some_and(|hits| !hits.is_empty()))
        };
        while !served.ask("GET", &format!("/v1/search?q={}", word(n)), b"").is_some_and(|(_, body)| found(&body)) {
            if began.elapsed() > PATIENCE {
                return Err(Error::damaged(format!("line {n} is not found")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        out.push(began.elapsed().as_secs_f64());
        // The pause makes the next line a separate hint.
        std::thread::sleep(Duration::from_millis(700));
    }
    out.sort_by(f64::total_cmp);
    Ok(out)
}

/// Returns the seconds until `files` new files are stored, and again after each has grown by a line, with the service's
/// CPU time for both.
pub(super) fn flood(served: &Served, files: u64) -> Result<Value> {
    let before = turns(served);
    let cpu = served.cpu();
    let mut seconds = Vec::new();
    for round in 0..2 {
        for n in 0..files {
            let session = format!("{n:08}-0b7d-4e55-9a41-6c1d2e3f4a5b");
            append(
                &sessions(served.user).join(format!("{session}.jsonl")),
                &session,
                round,
                &format!("round {round} of {n}"),
            )?;
        }
        let began = Instant::now();
        while turns(served) < before + (round + 1) * files {
            if began.elapsed() > FLOOD {
                return Err(Error::damaged(format!("{} of {files} files are stored", turns(served) - before)));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        seconds.push(began.elapsed().as_secs_f64());
    }
    Ok(json!({"files": files, "new_s": seconds[0], "grown_s": seconds[1], "cpu_s": served.cpu() - cpu}))
}

fn turns(served: &Served) -> u64 {
    let (_, body) = served.ask("GET", "/v1/status", b"").unwrap_or_default();
    serde_json::from_slice::<Value>(&body).ok().and_then(|said| said["turns"].as_u64()).unwrap_or(0)
}
