//! The four programs as Heirloom sees them: made-up sessions, reported by hooks, and written where the program writes
//! them.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use heirloom_harness::ALL;
use heirloom_testkit::Output;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World};

/// Returns every hook of every program, in the order a session calls them.
pub fn hooks() -> Vec<(&'static str, &'static str)> {
    ALL.iter().flat_map(|h| h.hooks().iter().map(|hook| (h.spec().name, hook.event))).collect()
}

/// Returns the programs that have hooks.
pub fn with_hooks() -> Vec<&'static str> {
    let mut programs: Vec<&str> = hooks().into_iter().map(|(program, _)| program).collect();
    programs.dedup();
    programs
}

/// Returns whether the long forms of the tests were requested.
pub fn is_full() -> bool {
    std::env::var_os("HEIRLOOM_TEST_FULL").is_some()
}

/// Makes a home with a memory.
pub fn told() -> World {
    let world = World::new();
    world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    world
}

/// Holds the worker's lock, so that hooks start no worker.
pub fn no_worker(world: &World) -> fs::File {
    at_rest(world);
    let run = world.test.home().join("run");
    fs::create_dir_all(&run).unwrap();
    let lock = fs::File::options().create(true).append(true).open(run.join("worker.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    lock
}

/// A session of one prompt and one answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session {
    pub program: &'static str,
    pub n: usize,
}

impl Session {
    /// Returns sessions of each program.
    pub fn of_each(from: usize, count: usize) -> Vec<Session> {
        let numbers = from..from + count;
        numbers.flat_map(|n| with_hooks().into_iter().map(move |program| Session { program, n })).collect()
    }

    pub fn id(&self) -> String {
        match self.program {
            "opencode" => format!("ses_{}", self.n),
            _ => format!("{:08}-0000-4000-8000-000000000000", self.n),
        }
    }

    pub fn key(&self) -> String {
        format!("{}:{}", self.program, self.id())
    }

    /// Returns the program's id of the run.
    fn run(&self) -> String {
        match self.program {
            "opencode" => format!("msg_{:08}a", self.n),
            _ => format!("run-{}", self.n),
        }
    }

    pub fn prompt(&self) -> String {
        format!("Please paint barn {} of {} red.", self.n, self.program)
    }

    pub fn answer(&self) -> String {
        format!("Barn {} of {} is red now.", self.n, self.program)
    }

    pub fn payload(&self, world: &World, event: &str) -> Value {
        let (id, run, cwd) = (self.id(), self.run(), project(world));
        match self.program {
            "claude-code" | "codex" => json!({
                "session_id": id, "transcript_path": self.store(world), "cwd": cwd, "hook_event_name": event,
                "prompt_id": run, "turn_id": run, "prompt": self.prompt(), "last_assistant_message": self.answer(),
                "source": "startup", "trigger": "auto", "reason": "other", "agent_type": "general",
                "agent_transcript_path": "/nowhere/agent.jsonl",
            }),
            "opencode" => {
                json!({"session": id, "cwd": cwd, "run": run, "prompt": self.prompt(), "entry": self.part(0)})
            }
            _ => json!({"session": id, "cwd": cwd, "run": run, "prompt": self.prompt(), "agent": "main"}),
        }
    }

    fn part(&self, i: usize) -> String {
        format!("prt_{:08}{i}", self.n)
    }

    /// Returns the path where its program stores it.
    pub fn store(&self, world: &World) -> PathBuf {
        let (user, id) = (world.test.user(), self.id());
        match self.program {
            "claude-code" => user.join(format!(".claude/projects/-barn/{id}.jsonl")),
            "codex" => user.join(format!(".codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-{id}.jsonl")),
            "opencode" => user.join(".local/share/opencode/opencode.db"),
            "openclaw" => user.join(format!(".openclaw/agents/main/sessions/{id}.jsonl")),
            other => panic!("{other} has no store here"),
        }
    }

    /// Writes the session's turns into the program's store.
    pub fn write(&self, world: &World) {
        let (id, run, cwd) = (self.id(), self.run(), project(world));
        let at = |second: usize| format!("2026-11-20T10:{:02}:{second:02}.000Z", self.n % 60);
        let (asked, told) = (self.prompt(), self.answer());
        let lines = match self.program {
            "claude-code" => vec![
                json!({"type": "user", "uuid": format!("{run}-1"), "parentUuid": null, "sessionId": id, "cwd": cwd,
                    "promptId": run, "timestamp": at(1), "message": {"role": "user", "content": asked}}),
                json!({"type": "assistant", "uuid": format!("{run}-2"), "parentUuid": format!("{run}-1"),
                    "sessionId": id, "cwd": cwd, "timestamp": at(2),
                    "message": {"id": format!("m-{run}"), "role": "assistant", "model": "m",
                        "stop_reason": "end_turn", "content": [{"type": "text", "text": told}]}}),
            ],
            "codex" => {
                let said = |i: usize, role: &str, part: &str, text: &str| {
                    json!({"timestamp": at(i), "type": "response_item", "payload": {"type": "message",
                        "id": format!("m{i}-{run}"), "role": role, "content": [{"type": part, "text": text}]}})
                };
                vec![
                    json!({"timestamp": at(0), "type": "session_meta", "payload": {"session_id": id, "id": id,
                        "cwd": cwd, "cli_version": "0.169.0", "source": "cli"}}),
                    json!({"timestamp": at(0), "type": "turn_context",
                        "payload": {"turn_id": run, "cwd": cwd, "model": "m"}}),
                    said(1, "user", "input_text", &asked),
                    said(2, "assistant", "output_text", &told),
                    json!({"timestamp": at(3), "type": "event_msg",
                        "payload": {"type": "task_complete", "turn_id": run, "last_agent_message": told}}),
                ]
            }
            "openclaw" => vec![
                json!({"type": "session", "version": 4, "id": id, "cwd": cwd, "timestamp": at(0)}),
                json!({"type": "message", "id": format!("e1-{run}"), "parentId": null, "timestamp": at(1),
                    "message": {"role": "user", "content": asked, "idempotencyKey": format!("{run}:user")}}),
                json!({"type": "message", "id": format!("e2-{run}"), "parentId": format!("e1-{run}"),
                    "timestamp": at(2), "message": {"role": "assistant", "content": [{"type": "text", "text": told}],
                        "stopReason": "stop"}}),
            ],
            _ => return self.rows(world),
        };
        let path = self.store(world);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::options().append(true).create(true).open(path).unwrap();
        file.write_all(lines.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes()).unwrap();
    }

    /// Writes the session into OpenCode's database, which holds all sessions.
    fn rows(&self, world: &World) {
        let path = self.store(world);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut db = Connection::open(path).unwrap();
        db.busy_timeout(Duration::from_secs(30)).unwrap();
        db.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,
               title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
               time_updated INTEGER, data TEXT);
             CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,
               time_created INTEGER, time_updated INTEGER, data TEXT);",
        )
        .unwrap();
        let (id, cwd) = (self.id(), project(world));
        let at = 1_795_168_800_000i64 + self.n as i64 * 60_000;
        let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        tx.execute(
            "INSERT INTO session VALUES (?1, 'global', NULL, ?2, 'Barns', '1.18.33', ?3, ?3)",
            rusqlite::params![id, cwd.to_str(), at],
        )
        .unwrap();
        let answer = format!("msg_{:08}b", self.n);
        for (i, message, role, text) in
            [(0, self.run(), "user", self.prompt()), (1, answer.clone(), "assistant", self.answer())]
        {
            let mut data = json!({"role": role, "time": {"created": at}, "path": {"cwd": cwd}});
            if i == 1 {
                data["time"]["completed"] = json!(at + 1);
                data["finish"] = json!("stop");
                data["parentID"] = json!(self.run());
            }
            tx.execute(
                "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)",
                rusqlite::params![message, id, at + i, data.to_string()],
            )
            .unwrap();
            // The last part of an answer says that the answer is over.
            let parts = [json!({"type": "text", "text": text}), json!({"type": "step-finish", "reason": "stop"})];
            for (n, part) in parts.iter().take(1 + i as usize).enumerate() {
                tx.execute(
                    "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
                    rusqlite::params![self.part(i as usize + n), message, id, at + i, part.to_string()],
                )
                .unwrap();
            }
        }
        tx.commit().unwrap();
    }
}

/// Returns the folder of the project in which the sessions run.
pub fn project(world: &World) -> PathBuf {
    let project = world.test.user().join("barn");
    fs::create_dir_all(project.join(".git")).unwrap();
    project
}

/// Returns the command of a hook in this world.
pub fn hook_command(world: &World, program: &str, event: &str) -> Command {
    let mut command = world.test.command(HEIRLOOM);
    command.args(["hook", program, event]);
    command
}

/// Checks a hook's outcome: it succeeded, and printed nothing or what its program understands.
pub fn is_as_promised(program: &str, event: &str, out: &Output) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("{program} {event}: {why}: {out:?}"));
    if out.status != Some(0) || !out.stderr.is_empty() {
        return wrong("it failed or complained");
    }
    if out.stdout.is_empty() {
        return Ok(());
    }
    let hook = ALL.iter().find(|h| h.spec().name == program).unwrap().hooks().iter().find(|h| h.event == event);
    if !hook.is_some_and(|hook| hook.gives) {
        return wrong("nobody listens to it");
    }
    if (program, event) == ("claude-code", "PreCompact") {
        let whole = out.stdout.starts_with("<heirloom-memory") && out.stdout.trim_end().ends_with("</heirloom-memory>");
        return if whole { Ok(()) } else { wrong("half a block") };
    }
    let Ok(reply) = serde_json::from_str::<Value>(&out.stdout) else { return wrong("no JSON") };
    let expected = match program {
        "claude-code" | "codex" => {
            let inner = &reply["hookSpecificOutput"];
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": inner["additionalContext"]}})
        }
        _ => json!({"context": reply["context"]}),
    };
    let words = &reply.as_object().and_then(|o| o.values().next()).cloned().unwrap_or_default();
    let words = if words.is_object() { &words["additionalContext"] } else { words };
    if reply == expected && words.is_string() { Ok(()) } else { wrong("fields nobody knows") }
}

/// Waits until no worker runs on the home. A worker that a hook has just started may take its lock a moment later.
pub fn at_rest(world: &World) {
    // A worker runs at low priority: on a busy machine it takes minutes.
    let until = Instant::now() + Duration::from_secs(300);
    let lock = world.test.home().join("run/worker.lock");
    while !is_free(&lock) {
        assert!(Instant::now() < until, "a worker never ends");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn is_free(lock: &std::path::Path) -> bool {
    let Ok(file) = fs::File::open(lock) else { return true };
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Returns the names of the calls in the spool.
pub fn spooled(world: &World) -> Vec<String> {
    let Ok(entries) = fs::read_dir(world.test.home().join("spool")) else { return Vec::new() };
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    // A process that was killed may leave a hidden file, which is not counted.
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// Checks, after conditions are good again and the stores were read, that every turn is stored once, as if no hook had
/// ever run; that nothing waits or is left over; and that the home verifies.
pub fn everything_is_there_once(world: &World, sessions: &[Session]) {
    let until = Instant::now() + Duration::from_secs(600);
    while !spooled(world).is_empty() {
        assert!(Instant::now() < until, "left in the spool: {:?}", spooled(world));
        world.says(0, &["work", "--drain"]);
    }
    let mut stores: Vec<PathBuf> = sessions.iter().map(|s| s.store(world)).filter(|s| s.exists()).collect();
    stores.sort();
    stores.dedup();
    let plain = World::new();
    for some in stores.chunks(500) {
        let some: Vec<_> = some.iter().map(PathBuf::as_path).collect();
        world.import(0, &some);
        plain.import(0, &some);
    }
    at_rest(world);
    world.says(0, &["work", "--drain"]);
    let ledger = Connection::open(world.ledger()).unwrap();
    let count = |sql: &str| -> i64 { ledger.query_row(sql, [], |r| r.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM turns"), 2 * sessions.len() as i64);
    assert_eq!(count("SELECT count(*) FROM provisional_turns"), 0);
    assert_eq!(count("SELECT count(*) FROM jobs WHERE state IN ('dead', 'running')"), 0);
    let (told, expected) = (world.content(), plain.content());
    for session in sessions {
        let turns = &told[&session.key()];
        let said: Vec<&str> = turns.iter().map(|t| t["text"].as_str().unwrap()).collect();
        assert_eq!(said, [session.prompt(), session.answer()], "{session:?}");
    }
    assert!(told == expected, "hooks leave nothing behind in what was said");
    at_rest(world);
    world.verified();
}
