//! A mixed day (R6.6, R7.1, R7.2, R7.3, R10.3): forty threads at once, conversations of people beside sessions of all
//! four programs, some of them with several threads in one conversation. Every text of a thread contains the thread's
//! own word. `HEIRLOOM_TEST_FULL=1` makes it a day of 10,000 turns.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use heirloom_engine::clock::{Clock, rfc3339};
use heirloom_engine::home::Home;
use heirloom_engine::ledger::{Ledger, Open};
use heirloom_engine::recall::expand::{Reach, Reference, expand};
use heirloom_engine::render::memory::{for_thread, tier1};
use heirloom_engine::scope::{AgentId, ThreadNo};
use heirloom_engine::tokens::tokens;
use heirloom_engine::transcript::read;
use heirloom_engine::tree::AssistantHome;
use heirloom_testkit::{Output, Rng, run};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World};

const THREADS: usize = 40;
const HOURS: usize = 8;
const HOUR: i64 = 3_600_000;
/// Eight in the morning of a day in November, in milliseconds.
const MORNING: i64 = 1_795_248_000_000;

/// Kind of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// One of several topics of one conversation, named by the caller.
    Topic,
    /// A conversation with one person.
    Person,
    /// A conversation of several people.
    Room,
    Claude,
    Codex,
    OpenClaw,
    OpenCode,
}

fn place(thread: usize) -> Place {
    match thread {
        0..20 => Place::Topic,
        20..24 => Place::Person,
        24..28 => Place::Room,
        28..31 => Place::Claude,
        31..34 => Place::Codex,
        34..37 => Place::OpenClaw,
        _ => Place::OpenCode,
    }
}

fn canary(thread: usize) -> String {
    format!("canary{thread}zz")
}

/// Returns the threads whose words are in a text.
fn canaries(text: &str) -> BTreeSet<usize> {
    text.split("canary").skip(1).filter_map(|rest| rest.split_once("zz")?.0.parse().ok()).collect()
}

/// Returns a person's question and its answer, number `n` of the day.
fn words(rng: &mut Rng, thread: usize, n: usize) -> (String, String) {
    let c = canary(thread);
    let asked = match rng.below(6) {
        0 => format!("Please fix the {c} import, ticket {n}."),
        1 => format!("Never touch the {c} table number {n}."),
        2 => format!("Next we still have to migrate the {c} view {n}; not done yet."),
        3 => format!("How far is the {c} report {n}?"),
        4 => format!("I will send the {c} figures of {n} on Friday."),
        _ => format!("Let us use the small {c} queue for {n}, not the large one."),
    };
    let told = match rng.below(5) {
        0 => format!("Done: I fixed the {c} import {n}, all tests pass."),
        1 => format!("We decided to use a {c} queue instead of cron for {n} because it is simpler."),
        2 => format!("Understood. TODO: write the {c} changelog {n} before the release."),
        3 => format!("I am blocked on {n}: the {c} key has not come yet."),
        _ => format!("The {c} report {n} is half done; next I check the {c} totals."),
    };
    (asked, told)
}

struct Day {
    world: World,
    rng: Rng,
    now: i64,
    said: usize,
    /// Lines that wait to be sent to `append`.
    lines: String,
    /// Times until a page showed the end of a session or a compaction.
    lags: Vec<Duration>,
}

impl Day {
    fn begin() -> Day {
        let world = World::new();
        for thread in 28..THREADS {
            fs::create_dir_all(world.test.folder(&format!("project{thread}")).join(".git")).unwrap();
        }
        Day { world, rng: Rng::new(40), now: MORNING, said: 0, lines: String::new(), lags: Vec::new() }
    }

    /// Runs the binary with the day's clock.
    fn at_now(&self, args: &[&str], stdin: &[u8]) -> Output {
        let mut command = self.world.test.command(HEIRLOOM);
        command.args(args).env("HEIRLOOM_NOW", self.now.to_string());
        run(command, stdin)
    }

    fn ok(&self, args: &[&str]) -> Value {
        let out = self.at_now(&[args, &["--json"]].concat(), b"");
        assert_eq!(out.status, Some(0), "{args:?}: {out:?}");
        serde_json::from_str(&out.stdout).unwrap()
    }

    /// Adds a prompt and its answer to a thread: two turns.
    fn talk(&mut self, thread: usize) {
        let n = self.said;
        self.said += 2;
        self.now += 2_000;
        let (asked, told) = words(&mut self.rng, thread, n);
        let (at, then) = (self.now, self.now + 1_000);
        let turn = |more: Value, id: usize, role: &str, text: &str, at: i64| {
            let mut line = json!({"id": format!("e{id}"), "role": role, "text": text, "time": at});
            line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            format!("{line}\n")
        };
        let (person, answer) = match place(thread) {
            Place::Topic => {
                let more =
                    json!({"session": format!("day:{}", thread % 5), "thread": format!("topic/subject-{thread}")});
                (more.clone(), more)
            }
            Place::Person => {
                let (session, peer) = (format!("mail:peer{thread}"), format!("Peer{thread}"));
                (json!({"session": session, "speaker": peer, "participants": [peer]}), json!({"session": session}))
            }
            Place::Room => {
                let people = [format!("Ann{thread}"), format!("Bob{thread}")];
                let who = people[self.rng.below(2)].clone();
                let session = format!("room:{thread}");
                (json!({"session": session, "speaker": who, "participants": people}), json!({"session": session}))
            }
            Place::OpenCode => return self.opencode(thread, n, (&asked, &told), (at, then)),
            _ => return self.line_of_program(thread, n, (&asked, &told), (at, then)),
        };
        self.lines += &turn(person, n, "user", &asked, at);
        self.lines += &turn(answer, n + 1, "assistant", &told, then);
    }

    fn project(&self, thread: usize) -> String {
        self.world.test.folder(&format!("project{thread}")).to_str().unwrap().to_owned()
    }

    fn file_of(&self, thread: usize) -> PathBuf {
        let id = format!("{thread:08}-0000-4000-8000-000000000000");
        let sessions = self.world.test.folder("sessions");
        match place(thread) {
            Place::Claude => sessions.join(format!("claude/{id}.jsonl")),
            Place::Codex => sessions.join(format!("codex/rollout-2026-11-20T08-00-00-{id}.jsonl")),
            Place::OpenClaw => sessions.join(format!("agents/main/sessions/{id}.jsonl")),
            _ => sessions.join("opencode.db"),
        }
    }

    /// Adds lines to a session's own file.
    fn add(&self, thread: usize, lines: &[Value]) {
        let path = self.file_of(thread);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::options().append(true).create(true).open(path).unwrap();
        for line in lines {
            writeln!(file, "{line}").unwrap();
        }
    }

    fn line_of_program(&self, thread: usize, n: usize, (asked, told): (&str, &str), (at, then): (i64, i64)) {
        let (cwd, id) = (self.project(thread), format!("{thread:08}-0000-4000-8000-000000000000"));
        let is_new = !self.file_of(thread).exists();
        let (at, then) = (rfc3339(at), rfc3339(then));
        let mut lines = Vec::new();
        match place(thread) {
            Place::Claude => {
                for (i, role, text, at) in [(0, "user", asked, &at), (1, "assistant", told, &then)] {
                    let content = if i == 0 { json!(text) } else { json!([{"type": "text", "text": text}]) };
                    lines.push(json!({"parentUuid": null, "isSidechain": false, "userType": "external", "cwd": cwd,
                        "sessionId": id, "version": "2.1.330", "type": role, "uuid": format!("{id}-{}", n + i),
                        "message": {"role": role, "content": content, "id": format!("msg_{}", n + i), "model": "m"},
                        "timestamp": at}));
                }
                if n.is_multiple_of(7) {
                    lines.push(
                        json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
                        "isSidechain": false, "compactMetadata": {"trigger": "auto", "preTokens": 9}, "cwd": cwd,
                        "sessionId": id, "version": "2.1.330", "uuid": format!("{id}-c{n}"), "timestamp": then}),
                    );
                }
            }
            Place::Codex => {
                if is_new {
                    lines.push(json!({"timestamp": at, "type": "session_meta", "payload": {"session_id": id, "id": id,
                        "cwd": cwd, "cli_version": "0.169.0", "source": "cli"}}));
                }
                let run = format!("r{n}");
                lines.push(json!({"timestamp": at, "type": "turn_context",
                    "payload": {"turn_id": run, "cwd": cwd, "model": "m"}}));
                for (i, role, part, text, at) in
                    [(0, "user", "input_text", asked, &at), (1, "assistant", "output_text", told, &then)]
                {
                    lines.push(json!({"timestamp": at, "type": "response_item", "payload": {"type": "message",
                        "id": format!("m{}", n + i), "role": role, "content": [{"type": part, "text": text}]}}));
                }
            }
            Place::OpenClaw => {
                if is_new {
                    lines.push(json!({"type": "session", "version": 4, "id": id, "cwd": cwd, "timestamp": at}));
                }
                for (i, role, content, at) in
                    [(0, "user", json!(asked), &at), (1, "assistant", json!([{"type": "text", "text": told}]), &then)]
                {
                    lines.push(
                        json!({"type": "message", "id": format!("e{}", n + i), "parentId": null, "timestamp": at,
                        "message": {"role": role, "content": content}}),
                    );
                }
            }
            other => unreachable!("{other:?} has no file of its own"),
        }
        self.add(thread, &lines);
    }

    fn opencode(&self, thread: usize, n: usize, (asked, told): (&str, &str), (at, then): (i64, i64)) {
        let path = self.file_of(thread);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let db = Connection::open(path).unwrap();
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,
               title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
               time_updated INTEGER, data TEXT);
             CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
               time_updated INTEGER, data TEXT);",
        )
        .unwrap();
        let session = format!("ses_{thread}");
        db.execute(
            "INSERT INTO session VALUES (?1, 'global', NULL, ?2, ?3, '1.18.33', ?4, ?4)
             ON CONFLICT (id) DO UPDATE SET time_updated = excluded.time_updated",
            rusqlite::params![session, self.project(thread), format!("Work on {}", canary(thread)), then],
        )
        .unwrap();
        for (i, role, text, at) in [(0, "user", asked, at), (1, "assistant", told, then)] {
            let message = format!("msg_{:08}", n + i);
            let mut data = json!({"role": role, "time": {"created": at}, "path": {"cwd": self.project(thread)}});
            if i == 1 {
                data["time"]["completed"] = json!(at);
                data["finish"] = json!("stop");
            }
            db.execute(
                "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)",
                rusqlite::params![message, session, at, data.to_string()],
            )
            .unwrap();
            db.execute(
                "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
                rusqlite::params![
                    format!("prt_{:08}", n + i),
                    message,
                    session,
                    at,
                    json!({"type": "text", "text": text}).to_string()
                ],
            )
            .unwrap();
        }
    }

    /// Imports everything written since the last time, each program's sessions in its own way.
    fn hand_over(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let out = self.at_now(&["append"], lines.as_bytes());
        assert_eq!(out.status, Some(0), "{}", out.stderr);
        assert_eq!(out.stdout.matches("\"stored\"").count(), lines.lines().count());
        let sessions = self.world.test.folder("sessions");
        self.ok(&["import", sessions.to_str().unwrap()]);
    }

    /// Returns file and newest root of each thread that has one: a session, a compaction, or a condensation of eight.
    fn newest(&self) -> Vec<(String, String)> {
        let db = Connection::open(self.world.ledger()).unwrap();
        let mut statement = db
            .prepare(
                "SELECT t.file, (SELECT n.node_no FROM nodes n WHERE n.thread_no = t.thread_no AND n.kind > 0
                   AND NOT EXISTS (SELECT 1 FROM node_edges WHERE child_no = n.node_no)
                   ORDER BY n.last_at DESC, n.node_no DESC LIMIT 1) AS newest
                 FROM threads t WHERE newest IS NOT NULL ORDER BY t.file",
            )
            .unwrap();
        let rows = statement.query_map([], |r| Ok((r.get(0)?, format!("[n{:x}]", r.get::<_, i64>(1)?)))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    fn page(&self, path: &str) -> String {
        let path = self.world.test.home().join("workspaces/main").join(path);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Checks that every head names the newest node of its thread. Returns the number of heads.
    fn fresh(&self) -> usize {
        let newest = self.newest();
        for (file, node) in &newest {
            let page = self.page(&format!("continuity/threads/{file}.md"));
            assert!(page.contains(node.as_str()), "{file} does not lead to {node}: {page}");
        }
        newest.len()
    }

    /// Compacts a conversation: each resulting node is of one thread, and the pages show it at once.
    fn compact(&mut self, session: &str) {
        let began = Instant::now();
        let done = self.ok(&["compact", "--session", session]);
        self.lags.push(began.elapsed());
        let nodes = done["nodes"].as_array().unwrap();
        assert!(!nodes.is_empty(), "{done}");
        self.fresh();
        for node in nodes {
            let told = self.ok(&["expand", node["id"].as_str().unwrap()]).to_string();
            assert!(canaries(&told).len() <= 1, "{:?} in {told}", canaries(&told));
        }
    }
}

/// Returns the rendered block of a page.
fn block(page: &str) -> &str {
    let from = page.find("-->\n").map_or(0, |at| at + 4);
    &page[from..page.rfind("<!-- /heirloom").unwrap_or(page.len())]
}

/// Returns the references in brackets at the end of a page's lines, and those in its lineage.
fn references(page: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in page.lines().filter(|l| l.starts_with("- ") || l.starts_with("**Status.**") || l.starts_with("[n")) {
        for part in line.split('[').skip(1) {
            let Some((id, behind)) = part.split_once(']') else { continue };
            if !behind.starts_with('(') {
                out.push(id.to_owned());
            }
        }
    }
    out.sort();
    out.dedup();
    out
}

#[test]
fn heads_of_a_mixed_day_are_bounded_fresh_and_each_its_own() {
    let turns = if std::env::var_os("HEIRLOOM_TEST_FULL").is_some() { 10_000 } else { 2_000 };
    let (mut day, began) = (Day::begin(), Instant::now());
    let mut renders = 0;
    for hour in 0..HOURS {
        day.now = MORNING + hour as i64 * HOUR;
        // All threads take part, in mixed order.
        let most = turns * (hour + 1) / HOURS;
        let mut next = 0;
        while day.said < most {
            let thread = if next < THREADS { next } else { day.rng.below(THREADS) };
            next += 1;
            day.talk(thread);
        }
        day.hand_over();
        day.compact(&format!("turns:day:{}", hour % 5));
        // An hour passes without turns, so that quiet sessions are closed.
        day.now = MORNING + (hour as i64 + 1) * HOUR - 60_000;
        let began = Instant::now();
        assert_eq!(day.ok(&["work", "--drain"])["failed"], 0);
        day.lags.push(began.elapsed());
        renders += day.fresh();
    }
    assert_eq!(day.newest().len(), THREADS);
    assert!(renders > THREADS * (HOURS - 1), "{renders}");
    let took = began.elapsed();

    // Each head stays within its budget and has only its own thread's words.
    let db = Connection::open(day.world.ledger()).unwrap();
    let threads: Vec<(ThreadNo, String, String, String)> = {
        let mut statement = db.prepare("SELECT thread_no, thread_key, file, label FROM threads").unwrap();
        let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(threads.len(), THREADS, "{threads:?}");
    let mut owner: BTreeMap<usize, (ThreadNo, String)> = BTreeMap::new();
    let mut largest = 0;
    let mut everything = BTreeSet::new();
    for (no, key, file, label) in &threads {
        let page = day.page(&format!("continuity/threads/{file}.md"));
        let (head, whose) = (block(&page), canaries(&page));
        assert_eq!(whose.len(), 1, "{key}: words of {whose:?}\n{page}");
        assert!(tokens(head) <= 700, "{key}: {} tokens\n{head}", tokens(head));
        largest = largest.max(tokens(head));
        let before = owner.insert(*whose.first().unwrap(), (*no, label.clone()));
        assert_eq!(before, None, "{key} says what another says");
        everything.extend(references(head));
    }
    let kinds: BTreeSet<&str> = threads.iter().map(|(_, key, ..)| key.split('/').next().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["lane", "person", "project", "topic"]));

    // MEMORY.md is bounded; each line is about one thread and names it, and each thread has one line on its state.
    let memory = day.page("MEMORY.md");
    let memory = block(&memory);
    assert!(tokens(memory) <= 1_500, "{} tokens\n{memory}", tokens(memory));
    let mut stands = BTreeSet::new();
    for (section, line) in memory.split("## ").skip(1).flat_map(|s| {
        let section = s.lines().next().unwrap();
        s.lines().skip(1).map(move |l| (section, l))
    }) {
        let whose = canaries(line);
        assert!(whose.len() <= 1, "{line}");
        let Some(one) = whose.first() else { continue };
        let label = &owner[one].1;
        match section {
            "Now" => {
                assert!(line.starts_with(&format!("- **{label}**: ")), "{line} of {label}");
                assert!(stands.insert(*one), "twice: {line}");
            }
            "Commitments" | "Always" => assert!(line.contains(&format!(" · {label}")), "{line} of {label}"),
            other => panic!("words of a thread under {other}: {line}"),
        }
    }
    assert!(stands.len() >= 5, "{memory}");
    everything.extend(references(memory));
    let active = day.page("continuity/ACTIVE.md");
    for line in block(&active).lines() {
        assert!(canaries(line).len() <= 1, "{line}");
    }
    everything.extend(references(block(&active)));

    // The context of a session contains words of its own threads only.
    let ledger = Ledger::open(
        &day.world.ledger(),
        &day.world.test.home().join("state/backups"),
        Clock::Fixed(day.now),
        Open::Full,
    )
    .unwrap();
    let home = Home::create(&day.world.test.home()).unwrap();
    let agent = AgentId::main();
    let agent_no = ledger.read(|tx| read::agent_no(tx, &agent)).unwrap().unwrap();
    let at = AssistantHome::create(&home, &ledger, &agent, agent_no, "test", jiff::tz::TimeZone::UTC).unwrap();
    let lines = at.read(|tx| tier1(&at, tx)).unwrap();
    for (one, (thread, label)) in &owner {
        let told = for_thread(&lines, &[*thread], None);
        assert!(canaries(&told).is_subset(&BTreeSet::from([*one])), "{label} is told {:?}\n{told}", canaries(&told));
        assert!(tokens(&told) <= 1_500);
    }

    // Every reference can be expanded.
    for reference in &everything {
        let found = expand(&ledger, agent_no, Some(&at), &Reference::parse(reference).unwrap(), &Reach::default());
        assert!(found.is_ok(), "{reference}: {found:?}");
    }
    // Working again changes nothing.
    let before = day.page("MEMORY.md");
    day.ok(&["work", "--drain"]);
    assert_eq!(day.page("MEMORY.md"), before);
    day.world.verified();
    day.lags.sort();
    println!(
        "{} turns in {THREADS} threads in {took:.1?}; largest head {largest} tokens, MEMORY.md {} tokens, {} references; \
         a compaction or the end of {HOURS} hours shown after {:.1?} (p50), {:.1?} at most",
        day.said,
        tokens(memory),
        everything.len(),
        day.lags[day.lags.len() / 2],
        day.lags[day.lags.len() - 1],
    );
}
