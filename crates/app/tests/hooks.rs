//! Hooks of programs: their payloads are stored at once and once, they are given their contexts, and the program is
//! never delayed.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::World;

const SESSION: &str = "3f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b";

/// A machine with a project and Claude Code's folder, and a home with a memory.
struct Machine {
    world: World,
    project: PathBuf,
    transcript: PathBuf,
}

impl Machine {
    fn new() -> Machine {
        let world = World::new();
        let user = world.test.user();
        let project = user.join("barn");
        fs::create_dir_all(project.join(".git")).unwrap();
        let folder = user.join(".claude/projects/-barn");
        fs::create_dir_all(&folder).unwrap();
        world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
        Machine { world, project, transcript: folder.join(format!("{SESSION}.jsonl")) }
    }

    fn payload(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": SESSION, "transcript_path": self.transcript, "cwd": self.project, "hook_event_name": event,
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    }

    /// Runs a hook, which must succeed, and returns its output.
    fn hook(&self, event: &str, more: Value) -> String {
        let out = self.world.feed(&["hook", "claude-code", event], self.payload(event, more).to_string().as_bytes());
        assert_eq!(out.status, Some(0), "{}", out.stderr);
        assert_eq!(out.stderr, "", "a hook says nothing on standard error");
        out.stdout
    }

    /// Returns the context a hook gave the model.
    fn given(&self, event: &str, more: Value) -> String {
        let said = self.hook(event, more);
        if said.is_empty() {
            return said;
        }
        let reply: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(reply.as_object().unwrap().len(), 1, "no field the program does not know: {reply}");
        assert_eq!(reply["hookSpecificOutput"]["hookEventName"], event);
        reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    }

    /// Returns a line as the program writes it: user lines name the run, answers do not.
    fn line(&self, id: &str, parent: Value, run: &str, at: &str, message: Value) -> String {
        let mut line = json!({
            "type": message["role"], "uuid": id, "parentUuid": parent, "sessionId": SESSION, "cwd": self.project,
            "timestamp": format!("2026-11-20T{at}Z"), "message": message,
        });
        if message["role"] == "user" {
            line["promptId"] = json!(run);
        }
        line.to_string() + "\n"
    }

    /// Returns a run as the program writes it: a prompt, a tool call, its result, an answer.
    fn run(&self, run: &str, minute: u32, prompt: &str, answer: &str) -> [String; 4] {
        let id = |n: u32| format!("{run}-{n}");
        let at = |s: u32| format!("10:{minute:02}:{s:02}");
        [
            self.line(&id(1), Value::Null, run, &at(0), json!({"role": "user", "content": prompt})),
            self.line(
                &id(2),
                json!(id(1)),
                run,
                &at(1),
                json!({"id": format!("m{run}"), "role": "assistant", "model": "opus", "content": [
                    {"type": "tool_use", "id": format!("t{run}"), "name": "Bash", "input": {"command": "ls"}}]}),
            ),
            self.line(
                &id(3),
                json!(id(2)),
                run,
                &at(2),
                json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": format!("t{run}"), "content": "barn.rs"}]}),
            ),
            self.line(
                &id(4),
                json!(id(3)),
                run,
                &at(3),
                json!({"id": format!("n{run}"), "role": "assistant", "model": "opus",
                       "content": [{"type": "text", "text": answer}]}),
            ),
        ]
    }

    fn write(&self, lines: &[String]) {
        let mut all = fs::read_to_string(&self.transcript).unwrap_or_default();
        all.extend(lines.iter().map(String::as_str));
        fs::write(&self.transcript, all).unwrap();
    }

    fn counts(&self) -> (i64, i64, i64) {
        let ledger = Connection::open(self.world.ledger()).unwrap();
        let count = |sql: &str| ledger.query_row(sql, [], |r| r.get(0)).unwrap();
        (
            count("SELECT count(*) FROM turns"),
            count("SELECT count(*) FROM provisional_turns"),
            count("SELECT count(*) FROM witnesses"),
        )
    }

    /// Verifies the home once no worker is running.
    fn verified(&self) {
        let until = Instant::now() + Duration::from_secs(30);
        let lock = self.world.test.home().join("run/worker.lock");
        while let Ok(file) = fs::File::open(&lock) {
            let free = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
            if free || Instant::now() > until {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.world.verified();
    }

    /// Waits until the worker that a hook started is done.
    fn at_rest(&self) {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            self.world.says(0, &["work", "--drain"]);
            let ledger = Connection::open(self.world.ledger()).unwrap();
            let busy: i64 = ledger
                .query_row(
                    "SELECT count(*) FROM jobs WHERE kind = 'capture' AND state IN ('queued', 'running')",
                    [],
                    |r| r.get(0),
                )
                .unwrap();
            if busy == 0 {
                return;
            }
            assert!(Instant::now() < until, "the worker is not done");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn what_a_hook_tells_and_what_the_store_says_later_are_one() {
    let m = Machine::new();
    let prompt = "Please move the barn door to the north side.";
    m.hook("SessionStart", json!({"source": "startup"}));
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": prompt}));
    // A prompt from a moment ago, which is in no file yet, is found already.
    assert_eq!(m.counts(), (1, 1, 0));
    assert_eq!(m.world.found("barn door north").len(), 1);

    let [asked, call, result, answered] = m.run("p1", 0, prompt, "The door is on the north side now.");
    m.write(&[asked, call, result]);
    // The last line is not on disk when the turn ends.
    m.hook("Stop", json!({"prompt_id": "p1", "last_assistant_message": "The door is on the north side now."}));
    m.at_rest();
    assert_eq!(m.counts(), (4, 1, 1), "the answer waits for its line");
    m.write(&[answered]);
    m.world.import(0, &[&m.transcript]);
    assert_eq!(m.counts(), (4, 0, 2));

    // The same session stored without hooks is equal.
    let plain = World::new();
    plain.import(0, &[&m.transcript]);
    assert_eq!(m.world.content(), plain.content());
    m.world.exports(&m.transcript);
    m.verified();

    // The same hooks and the same import again add nothing.
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": prompt}));
    m.hook("Stop", json!({"prompt_id": "p1", "last_assistant_message": "The door is on the north side now."}));
    m.at_rest();
    m.world.import(0, &[&m.transcript]);
    assert_eq!(m.counts().0, 4);
    assert_eq!(m.counts().1, 0);
    m.verified();
}

/// The hook of a session's end closes the session: its node, its open items and its pages are there at once.
#[test]
fn the_end_a_program_tells_closes_its_session() {
    let m = Machine::new();
    let prompt = "Move the barn door to the north side.";
    let answer = "The door is on the north side; it sticks because its lower hinge is rusted through. \
                  We still have to paint the south wall; I will do that after the frost.";
    m.hook("SessionStart", json!({"source": "startup"}));
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": prompt}));
    m.write(&m.run("p1", 0, prompt, answer));
    m.hook("Stop", json!({"prompt_id": "p1", "last_assistant_message": answer}));
    m.at_rest();
    let open = || -> (Vec<String>, Vec<String>) {
        let listed = m.world.json(&["loop", "list"]);
        let ids = |list: &str| {
            let all = listed[list].as_array().unwrap().iter();
            all.map(|l| l["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        (ids("loops"), ids("unfiled"))
    };
    let (filed, said) = open();
    assert_eq!((filed.len(), said.len()), (0, 1), "the session goes on: {said:?}");

    m.hook("SessionEnd", json!({"reason": "prompt_input_exit"}));
    m.at_rest();
    let ledger = Connection::open(m.world.ledger()).unwrap();
    let one = |sql: &str| ledger.query_row(sql, [], |r| r.get::<_, String>(0)).unwrap();
    assert_eq!(one("SELECT coalesce(ended_by, '-') FROM sessions"), "program");
    assert_eq!(one("SELECT count(*) || '' FROM nodes WHERE kind = 1"), "1");
    // The open item, with the same id, is a file now.
    assert_eq!(open(), (said.clone(), vec![]));
    let tree = m.world.test.home().join("workspaces/main");
    let memory = fs::read_to_string(tree.join("MEMORY.md")).unwrap();
    assert!(memory.contains("**barn**") && memory.contains(&format!("[{}]", said[0])), "{memory}");
    let given = m.given("SessionStart", json!({"source": "startup", "session_id": "another"}));
    assert!(given.contains(", ended [n") && !given.contains("may still be running"), "{given}");
    m.world.says(0, &["loop", "resolve", &said[0]]);
    assert_eq!(open(), (vec![], vec![]));
    m.verified();
}

#[test]
fn an_answer_that_is_written_after_the_next_prompt_was_told_is_the_one_told_before() {
    let m = Machine::new();
    let [asked, call, result, answered] = m.run("p1", 0, "Where is the barn?", "Behind the house.");
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "Where is the barn?"}));
    m.write(&[asked, call, result]);
    m.hook("Stop", json!({"prompt_id": "p1", "last_assistant_message": "Behind the house."}));
    m.at_rest();
    m.hook("UserPromptSubmit", json!({"prompt_id": "p2", "prompt": "And the well?"}));
    m.write(&[answered]);
    m.write(&m.run("p2", 1, "And the well?", "Behind the barn."));
    m.hook("Stop", json!({"prompt_id": "p2", "last_assistant_message": "Behind the barn."}));
    m.at_rest();
    m.world.import(0, &[&m.transcript]);
    assert_eq!((m.counts().0, m.counts().1), (8, 0));
    let plain = World::new();
    plain.import(0, &[&m.transcript]);
    let said = |world: &World| {
        let mut turns = crate::world::without_numbers(world.turns(&format!("claude-code:{SESSION}")));
        turns.sort_by_key(Value::to_string);
        turns
    };
    assert_eq!(said(&m.world), said(&plain));
    m.verified();
}

#[test]
fn equal_prompts_of_two_runs_are_two_turns() {
    let m = Machine::new();
    for run in ["p1", "p2"] {
        m.hook("UserPromptSubmit", json!({"prompt_id": run, "prompt": "Go on, please."}));
    }
    assert_eq!(m.counts().0, 2);
    for (n, run) in ["p1", "p2"].into_iter().enumerate() {
        m.write(&m.run(run, n as u32, "Go on, please.", "Done."));
    }
    m.world.import(0, &[&m.transcript]);
    assert_eq!(m.counts(), (8, 0, 2));
    m.verified();
}

#[test]
fn what_the_program_says_in_the_persons_place_is_no_prompt() {
    let m = Machine::new();
    for (event, more) in [
        ("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "<task-notification>\n<task-id>a</task-id>"})),
        (
            "UserPromptSubmit",
            json!({"prompt_id": "p1", "prompt": "Look at the barn.", "agent_id": "a1", "agent_type": "x"}),
        ),
        ("SessionStart", json!({"source": "startup", "agent_id": "a1", "agent_type": "x"})),
        ("SubagentStop", json!({"agent_id": "a1", "agent_type": "", "agent_transcript_path": "/nowhere"})),
    ] {
        assert_eq!(m.hook(event, more), "", "{event}");
    }
    assert_eq!(m.counts(), (0, 0, 0));
    // A slash command is stored in another form in the program's store, so its hook stores no turn.
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "/review the barn"}));
    assert_eq!(m.counts(), (0, 0, 0));
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "/etc/barn.conf is wrong"}));
    assert_eq!(m.counts(), (1, 1, 0));
}

#[test]
fn a_cut_lets_in_again_what_fell_out_and_counts_once() {
    let m = Machine::new();
    let first = m.given("SessionStart", json!({"source": "startup"}));
    assert!(first.contains("Answer in short sentences"), "{first}");
    assert_eq!(m.given("SessionStart", json!({"source": "resume"})), "", "it holds that still");

    // Before an automatic cut the summariser is given a block, which does not count as given.
    // With a manual cut nothing is printed, because the program would pass it to the model with the next prompt as
    // well.
    assert_eq!(m.hook("PreCompact", json!({"trigger": "manual", "custom_instructions": null})), "");
    let told = m.hook("PreCompact", json!({"trigger": "auto", "custom_instructions": null}));
    assert!(told.starts_with("<heirloom-memory") && told.contains("Answer in short sentences"), "{told}");
    let again = m.given("SessionStart", json!({"source": "compact"}));
    assert!(again.contains("Answer in short sentences"), "{again}");
    m.hook("PostCompact", json!({"trigger": "manual", "compact_summary": "All is well."}));
    assert_eq!(m.given("SessionStart", json!({"source": "resume"})), "", "one cut is one epoch");

    let epochs = |m: &Machine| -> (i64, i64) {
        Connection::open(m.world.ledger())
            .unwrap()
            .query_row("SELECT epoch, next FROM context_epochs", [], |r| Ok((r.get(0)?, r.get(1)?)))
            .unwrap()
    };
    assert_eq!(epochs(&m), (1, 1));
    m.hook("PreCompact", json!({"trigger": "auto", "custom_instructions": null}));
    assert_eq!(epochs(&m), (1, 2));
    m.given("SessionStart", json!({"source": "compact"}));
    m.hook("PostCompact", json!({"trigger": "auto", "compact_summary": "All is well."}));
    assert_eq!(epochs(&m), (2, 2));
    // A program that goes on before it reports the cut is given the block once.
    m.hook("PreCompact", json!({"trigger": "auto", "custom_instructions": null}));
    m.hook("PostCompact", json!({"trigger": "auto"}));
    assert!(m.given("SessionStart", json!({"source": "resume"})).contains("Answer in short sentences"));
    assert_eq!(m.given("SessionStart", json!({"source": "compact"})), "");
    assert_eq!(epochs(&m), (3, 3));
}

/// Claude Code writes the file of a fork only with its first prompt and names no original. The fork has the original's
/// turns in its context all the same.
#[test]
fn a_fork_is_not_given_its_originals_words_before_its_file_is_there() {
    let m = Machine::new();
    let (prompt, answer) = ("The barn door opens to the north, that is decided.", "Noted: to the north.");
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": prompt}));
    m.hook("Stop", json!({"prompt_id": "p1", "last_assistant_message": answer}));
    m.at_rest();
    let beginning = |session: &str, source: &str, seconds: u32| {
        let path = m.transcript.with_file_name(format!("{session}.jsonl"));
        let of = json!({"session_id": session, "transcript_path": path});
        let mut start = of.clone();
        start["source"] = json!(source);
        start["seconds_since_last_response"] = json!(seconds);
        let at_start = m.hook("SessionStart", start);
        let mut asked = of;
        asked["prompt_id"] = json!(session);
        asked["prompt"] = json!("To which side does the barn door open?");
        (at_start, m.hook("UserPromptSubmit", asked))
    };
    let (at_start, with_prompt) = beginning("unrelated", "startup", 0);
    assert!((at_start + &with_prompt).contains("to the north"), "a new session is told");
    let (at_start, with_prompt) = beginning("of-another-time", "fork", 900);
    assert!((at_start + &with_prompt).contains("to the north"), "no session answered at that time");
    let (at_start, with_prompt) = beginning("a-fork", "fork", 0);
    assert!(!at_start.contains("the north") && with_prompt.is_empty(), "{at_start} {with_prompt}");
    let shown = m.world.json(&["session", "show", "claude-code:a-fork"]);
    assert_eq!(shown["session"]["fork_of"], format!("claude-code:{SESSION}"));
    m.verified();
}

#[test]
fn after_a_clear_there_is_no_handoff() {
    let m = Machine::new();
    m.write(&m.run("p1", 0, "We decided to paint the barn red because it lasts.", "Noted: the barn is red."));
    let why = "The barn door sticks because its lower hinge is rusted through.";
    m.write(&m.run("p2", 5, "Why does the barn door stick?", why));
    m.world.import(0, &[&m.transcript]);
    m.world.says(0, &["session", "end", &format!("claude-code:{SESSION}")]);
    m.world.says(0, &["work", "--drain"]);
    let start = |source: &str, id: &str| {
        let mut payload = m.payload("SessionStart", json!({"source": source}));
        payload["session_id"] = json!(id);
        m.world.feed(&["hook", "claude-code", "SessionStart"], payload.to_string().as_bytes()).stdout
    };
    assert!(start("startup", "another").contains("Where the last"));
    let cleared = start("clear", "a-third");
    assert!(cleared.contains("Answer in short sentences") && !cleared.contains("Where the last"), "{cleared}");
}

#[test]
fn whatever_happens_a_hook_succeeds_and_prints_nothing_it_should_not() {
    let m = Machine::new();
    let good = m.payload("UserPromptSubmit", json!({"prompt_id": "p9", "prompt": "Is the barn red?"})).to_string();
    let huge = format!(r#"{{"session_id":"x","prompt":"{}"}}"#, "a".repeat(17 << 20));
    let cases: [(&str, &str, &[u8]); 9] = [
        ("claude-code", "UserPromptSubmit", b""),
        ("claude-code", "UserPromptSubmit", b"{"),
        ("claude-code", "UserPromptSubmit", b"[1,2,3]"),
        ("claude-code", "UserPromptSubmit", br#"{"session_id":7,"prompt":{"a":1}}"#),
        ("claude-code", "UserPromptSubmit", &good.as_bytes()[..good.len() / 2]),
        ("claude-code", "NoSuchEvent", good.as_bytes()),
        ("no-such-program", "UserPromptSubmit", good.as_bytes()),
        ("turns", "UserPromptSubmit", good.as_bytes()),
        ("claude-code", "UserPromptSubmit", huge.as_bytes()),
    ];
    for (program, event, payload) in cases {
        let out = m.world.feed(&["hook", program, event], payload);
        let shown = String::from_utf8_lossy(&payload[..payload.len().min(60)]);
        assert_eq!(
            (out.status, out.stdout.as_str(), out.stderr.as_str()),
            (Some(0), "", ""),
            "{program} {event} {shown}"
        );
    }
    // A hook with wrong arguments does not fail either: another status would reject the prompt.
    for args in [
        &["hook"][..],
        &["hook", "codex"],
        &["hook", "codex", "Stop", "--new-option"],
        &["--home", "/x", "hook", "a", "b", "c"],
    ] {
        let out = m.world.feed(args, b"{}");
        assert_eq!((out.status, out.stdout.as_str(), out.stderr.as_str()), (Some(0), "", ""), "{args:?}");
    }
    assert_eq!(m.counts().0, 0);
    // A transcript path outside the program's folders is not read.
    let secret = m.world.test.user().join("secret.jsonl");
    fs::write(&secret, m.run("s1", 0, "The secret is tangerine.", "I keep it.").concat()).unwrap();
    m.hook("Stop", json!({"prompt_id": "s1", "transcript_path": secret, "last_assistant_message": "I keep it."}));
    m.at_rest();
    assert!(m.world.found("tangerine").is_empty());
    assert_eq!(m.counts().0, 1, "only the answer the payload itself tells");
    // A process started by a hook has the guard variable set, and hooks in it do nothing.
    let mut command = m.world.test.command(crate::world::HEIRLOOM);
    command.env("HEIRLOOM_HOOK", "1").args(["hook", "claude-code", "UserPromptSubmit"]);
    let out = heirloom_testkit::run(command, good.as_bytes());
    assert_eq!((out.status, out.stdout.as_str()), (Some(0), ""));
    assert_eq!(m.counts().0, 1);
}

/// The answer in a hook's payload is stored as a record, whether or not the program's store exists.
#[test]
fn an_answer_told_without_a_store_is_kept() {
    let m = Machine::new();
    let answer = "The hinge of the barn door is made of brass.";
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "What is the hinge of the barn door made of?"}));
    // The transcript file was not written, or was deleted.
    m.hook("Stop", json!({"prompt_id": "p1", "last_assistant_message": answer}));
    assert_eq!(m.counts(), (2, 2, 0));
    m.at_rest();
    assert_eq!(m.world.found("brass").len(), 1);
    // The file is written after all: the turns are the same as without hooks.
    m.write(&m.run("p1", 0, "What is the hinge of the barn door made of?", answer));
    m.world.import(0, &[&m.transcript]);
    assert_eq!(m.counts(), (4, 0, 2));
    m.verified();
}

/// Without an id of the run and without a store, only the payload has the words. Two calls at once are one; a store that
/// appears later has the same turns.
#[test]
fn what_is_told_without_a_run_and_without_a_store_is_kept_once() {
    let m = Machine::new();
    let (prompt, answer) = ("What is the hinge of the barn door made of?", "The hinge is made of brass.");
    let alone = |more: Value| {
        let mut payload = json!({ "transcript_path": null });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let said = json!({"session": "old", "id": "o1", "workspace": m.project, "role": "assistant",
        "text": "The hinge of the barn door is oiled in spring, said the carpenter."});
    assert_eq!(m.world.feed(&["append"], format!("{said}\n").as_bytes()).status, Some(0));
    assert_eq!(m.world.found("carpenter").len(), 1);
    let first = m.given("UserPromptSubmit", alone(json!({ "prompt": prompt })));
    assert!(first.contains("oiled in spring"), "{first}");
    assert_eq!(m.given("UserPromptSubmit", alone(json!({ "prompt": prompt }))), "", "nothing is given twice");
    for _ in 0..2 {
        m.hook("Stop", alone(json!({ "last_assistant_message": answer })));
    }
    assert_eq!(m.counts(), (3, 2, 2));
    // A transcript that Heirloom may not read is none; one that is not written yet will have the words.
    m.hook("UserPromptSubmit", json!({"transcript_path": "/etc/barn.jsonl", "prompt": "And the lock?"}));
    assert_eq!(m.counts().0, 4);
    m.hook("UserPromptSubmit", json!({"prompt": "And the roof?"}));
    assert_eq!(m.counts().0, 4);
    m.at_rest();
    assert_eq!(m.world.found("brass").len(), 1);
    let now = |seconds: i64| {
        let at = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
        at.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
    };
    let lines = m.run("p1", 0, prompt, answer).map(|line| {
        let mut line: Value = serde_json::from_str(&line).unwrap();
        line["timestamp"] = json!(now(20));
        format!("{line}\n")
    });
    m.write(&lines);
    // The same words of an hour ago are others.
    let earlier = m.line("e1", Value::Null, "p0", "00:00:00", json!({"role": "user", "content": "And the lock?"}));
    m.write(&[earlier]);
    m.world.import(0, &[&m.transcript]);
    assert_eq!(m.counts(), (7, 1, 4), "a tool call, its result and the earlier prompt are new");
    let ledger = Connection::open(m.world.ledger()).unwrap();
    let runs: i64 = ledger
        .query_row(
            "SELECT count(DISTINCT run_no) FROM turns t JOIN turn_results r USING (run_no) WHERE run_key = 'p1'",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(runs, 1);
    m.verified();
}

/// The store is too large for a hook to read: the answer gets its place behind the turns that precede it in the store.
#[test]
fn an_answer_told_beside_a_large_store_comes_behind_it() {
    let m = Machine::new();
    let answer = "The hinge of the barn door is made of brass.";
    let long = "A long story of the barn. ".repeat(50_000);
    let [asked, call, result, answered] = m.run("p1", 0, &long, answer);
    m.write(&[asked, call, result]);
    m.hook("Stop", json!({"prompt_id": "p1", "last_assistant_message": answer}));
    m.at_rest();
    assert_eq!(m.counts(), (4, 1, 0), "the answer is there without its line in the store");
    let ledger = Connection::open(m.world.ledger()).unwrap();
    let last: i64 =
        ledger.query_row("SELECT text_length FROM turns ORDER BY turn_no DESC LIMIT 1", [], |r| r.get(0)).unwrap();
    assert_eq!(last, answer.len() as i64);
    m.write(&[answered]);
    m.world.says(0, &["import"]);
    assert_eq!(m.counts(), (4, 0, 1));
    // The hook runs again after the store was read: the turn is known.
    m.hook("Stop", json!({"prompt_id": "p1", "last_assistant_message": answer}));
    m.at_rest();
    assert_eq!(m.counts(), (4, 0, 2));
    m.verified();
}

/// A payload stays in the spool until it is stored.
#[test]
fn a_spooled_payload_stays_until_it_is_stored() {
    let m = Machine::new();
    let ledger = Connection::open(m.world.ledger()).unwrap();
    let files = || fs::read_dir(m.world.test.home().join("spool")).unwrap().count();
    let payload = m.payload("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "Where is the barn door?"}));
    let payload = payload.to_string();
    let header = json!({"v": 1, "harness": "claude-code", "event": "UserPromptSubmit", "at": 1_795_344_540_000_i64,
                        "bytes": payload.len()});
    let name = m.world.test.home().join("spool/1795344540000-0123456789abcdef.hook");
    fs::write(&name, format!("{header}\n{payload}")).unwrap();
    // A trigger prevents that anything is stored.
    ledger
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'no room'); END")
        .unwrap();
    let said = m.world.run(&["status"]);
    assert!(said.stderr.contains("in the spool is not stored yet"), "{}", said.stderr);
    assert_eq!((files(), m.counts().0), (1, 0));
    ledger.execute_batch("DROP TRIGGER full").unwrap();
    m.world.says(0, &["status"]);
    assert_eq!((files(), m.counts().0), (0, 1));
    m.verified();
}

#[test]
fn without_a_home_nothing_is_made() {
    let world = World::new();
    let out = world.feed(
        &["hook", "claude-code", "UserPromptSubmit"],
        br#"{"session_id":"x","prompt_id":"p","prompt":"Anybody there?"}"#,
    );
    assert_eq!((out.status, out.stdout.as_str(), out.stderr.as_str()), (Some(0), "", ""));
    assert!(!world.test.home().exists());
}

#[test]
fn what_cannot_be_stored_now_is_spooled_and_stored_by_whoever_comes_next() {
    let m = Machine::new();
    let lock = Connection::open(m.world.ledger()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    assert_eq!(m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "Where is the ladder?"})), "");
    assert!(begun.elapsed() < Duration::from_secs(2));
    let spool = m.world.test.home().join("spool");
    let waiting = || fs::read_dir(&spool).unwrap().count();
    assert_eq!(waiting(), 1);
    lock.execute_batch("ROLLBACK").unwrap();
    drop(lock);
    // The worker that the hook started may be storing it at the moment.
    let until = Instant::now() + Duration::from_secs(30);
    while waiting() > 0 && Instant::now() < until {
        m.world.says(0, &["session", "list"]);
    }
    m.at_rest();
    assert_eq!((waiting(), m.counts()), (0, (1, 1, 0)));
    assert_eq!(m.world.found("ladder").len(), 1);
    m.write(&m.run("p1", 0, "Where is the ladder?", "Behind the barn."));
    m.world.import(0, &[&m.transcript]);
    assert_eq!(m.counts(), (4, 0, 1));
    m.verified();

    // A file that no build can read is put aside; a file that a newer build wrote is left in place.
    fs::write(spool.join("0000000000001-x.hook"), "no header\n").unwrap();
    fs::write(
        spool.join("0000000000002-x.hook"),
        "{\"v\":99,\"harness\":\"x\",\"event\":\"y\",\"at\":1,\"bytes\":0}\n",
    )
    .unwrap();
    // A worker may be reading the spool now; the next command puts the file aside.
    let unreadable = spool.join("0000000000001-x.hook.unreadable");
    while !unreadable.exists() && Instant::now() < until {
        m.world.says(0, &["session", "list"]);
    }
    let mut left: Vec<String> =
        fs::read_dir(&spool).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["0000000000001-x.hook.unreadable", "0000000000002-x.hook"]);
    assert!(m.world.says(1, &["status"]).contains("1 call of hooks in spool/ cannot be read"));
}

#[test]
fn what_was_forgotten_before_the_store_said_it_stays_forgotten() {
    let m = Machine::new();
    m.hook("UserPromptSubmit", json!({"prompt_id": "p1", "prompt": "The code is tangerine."}));
    m.world.says(0, &["forget", "--match", "tangerine", "--yes"]);
    m.write(&m.run("p1", 0, "The code is tangerine.", "I see."));
    m.world.import(0, &[&m.transcript]);
    assert!(m.world.found("tangerine").is_empty());
    assert!(!String::from_utf8_lossy(&fs::read(m.world.ledger()).unwrap()).contains("tangerine"));
    m.verified();
}

#[test]
fn a_turn_nobody_confirmed_is_in_no_chunk_until_the_session_is_quiet() {
    let m = Machine::new();
    let at = |minutes: i64, args: &[&str], stdin: &[u8]| {
        let mut command = m.world.test.command(crate::world::HEIRLOOM);
        // The clock stands at 2026-11-20T10:00Z plus these minutes.
        command.env("HEIRLOOM_NOW", (1_795_168_800_000i64 + minutes * 60_000).to_string()).args(args);
        let out = heirloom_testkit::run(command, stdin);
        assert_eq!(out.status, Some(0), "{args:?} {}{}", out.stdout, out.stderr);
    };
    let told = |run: &str, prompt: &str| {
        m.payload("UserPromptSubmit", json!({"prompt_id": run, "prompt": prompt})).to_string().into_bytes()
    };
    let state = || -> (i64, i64, i64) {
        let ledger = Connection::open(m.world.ledger()).unwrap();
        let count = |sql: &str| ledger.query_row(sql, [], |r| r.get(0)).unwrap();
        (
            count("SELECT count(*) FROM provisional_turns WHERE settled = 0"),
            count("SELECT count(*) FROM provisional_turns WHERE settled = 1"),
            count("SELECT count(*) FROM nodes WHERE kind = 0"),
        )
    };
    at(0, &["hook", "claude-code", "UserPromptSubmit"], &told("p1", "Paint the barn red, please."));
    m.write(&m.run("p1", 0, "Paint the barn red, please.", "The barn is red now."));
    at(1, &["import", m.transcript.to_str().unwrap()], b"");
    at(2, &["hook", "claude-code", "UserPromptSubmit"], &told("p2", "And the gate green."));
    at(3, &["work", "--drain"], b"");
    assert_eq!(state(), (1, 0, 0));
    // The program died before it wrote the answer; the turns known from the hooks stand.
    at(30, &["work", "--drain"], b"");
    at(31, &["work", "--drain"], b"");
    assert_eq!(state(), (0, 1, 1));
    m.verified();
    // The program comes back and writes its lines after all.
    m.write(&m.run("p2", 2, "And the gate green.", "Green it is."));
    at(60, &["import", m.transcript.to_str().unwrap()], b"");
    at(90, &["work", "--drain"], b"");
    at(91, &["work", "--drain"], b"");
    assert_eq!(m.counts().0, 8);
    assert_eq!(state().0 + state().1, 0);
    m.verified();
}

#[test]
fn a_session_in_another_program_begins_where_one_that_still_runs_has_got_to() {
    let m = Machine::new();
    for (n, (prompt, answer)) in [
        ("We need a queue for the mail jobs.", "We decided to use Postgres for the queue because it is there already."),
        ("Never mock the database in tests.", "Understood."),
        ("Add a retry to the worker.", "The retry is in. TODO: the limit of five attempts is not enforced yet."),
    ]
    .into_iter()
    .enumerate()
    {
        let run = format!("p{n}");
        m.hook("UserPromptSubmit", json!({"prompt_id": run, "prompt": prompt}));
        m.write(&m.run(&run, n as u32, prompt, answer));
        m.hook("Stop", json!({"prompt_id": run, "last_assistant_message": answer}));
    }
    let codex = |cwd: &std::path::Path| -> String {
        let payload = json!({"session_id": "01a1ffd8-9b6b-7683-a1b7-98a7087cbe56", "transcript_path": null, "cwd": cwd,
            "hook_event_name": "SessionStart", "model": "gpt-5", "source": "startup"});
        m.world.feed(&["hook", "codex", "SessionStart"], payload.to_string().as_bytes()).stdout
    };
    let elsewhere = m.world.test.user().join("other");
    fs::create_dir_all(elsewhere.join(".git")).unwrap();
    let other = codex(&elsewhere);
    assert!(!other.contains("Postgres") && !other.contains("mock") && !other.contains("attempts"), "{other}");
    let given = codex(&m.project);
    for known in
        ["Where the last session stopped", "use Postgres for the queue", "never mock the database", "five attempts"]
    {
        assert!(given.to_lowercase().contains(&known.to_lowercase()), "{known}: {given}");
    }
    assert!(given.len() < 8_000, "under 2,000 tokens");
    // Lines of the context at the start are not recalled again with the prompt.
    let asked = json!({"session_id": "01a1ffd8-9b6b-7683-a1b7-98a7087cbe56", "transcript_path": null, "cwd": m.project,
        "hook_event_name": "UserPromptSubmit", "turn_id": "t1", "prompt": "Which database does the queue use?"});
    m.world.says(0, &["work", "--drain"]);
    let recalled = m.world.feed(&["hook", "codex", "UserPromptSubmit"], asked.to_string().as_bytes()).stdout;
    assert!(given.contains("We need a queue for the mail jobs"), "{given}");
    assert!(!recalled.contains("We need a queue") && !recalled.contains("use Postgres"), "{recalled}");
}

#[test]
fn a_cut_that_nobody_announced_counts_too_and_so_does_the_next_one() {
    let m = Machine::new();
    let at = |minutes: i64, source: &str| -> String {
        let mut command = m.world.test.command(crate::world::HEIRLOOM);
        command.env("HEIRLOOM_NOW", (1_795_168_800_000i64 + minutes * 60_000).to_string());
        command.args(["hook", "claude-code", "SessionStart"]);
        let payload = m.payload("SessionStart", json!({"source": source})).to_string();
        let out = heirloom_testkit::run(command, payload.as_bytes());
        assert_eq!((out.status, out.stderr.as_str()), (Some(0), ""));
        out.stdout
    };
    let has_it = |said: &str| said.contains("Answer in short sentences");
    assert!(has_it(&at(0, "startup")));
    assert!(has_it(&at(5, "compact")), "what fell out is given again");
    assert!(!has_it(&at(5, "compact")), "told twice in a moment it is one cut");
    assert!(has_it(&at(10, "compact")), "minutes later it is another one");
    assert!(!has_it(&at(11, "resume")));
}
