//! A lone session of each program is not given its own words, whether hooks or the store reported them (R10.6). And a
//! block has little text besides what it gives.

use std::fs;

use heirloom_testkit::run;
use serde_json::{Value, json};

use crate::given::{block, context, told};
use crate::programs::{Session, at_rest, hook_command, project, with_hooks};
use crate::world::World;

/// Prompts of one piece of work, each of which refers to earlier ones.
const PROMPTS: [&str; 12] = [
    "We move the mail queue of the warehouse from Redis to Postgres.",
    "The mail worker takes ten mails at once from the queue.",
    "Which store does the mail queue have now?",
    "I prefer teal labels for the warehouse mails.",
    "Add a retry to the mail worker, five attempts at most.",
    "How many mails does the mail worker take at once?",
    "We decided to keep the table mail_jobs because the warehouse reads it.",
    "What did we decide about the table mail_jobs?",
    "Which labels do the warehouse mails have?",
    "How many attempts has the retry of the mail worker?",
    "Run the tests of the mail queue and the mail worker again.",
    "What is left to do for the mail queue of the warehouse?",
];

fn prompt_and_end(program: &str) -> (&'static str, &'static str) {
    match program {
        "opencode" => ("chat.message", "session.idle"),
        "openclaw" => ("before_prompt_build", "agent_end"),
        _ => ("UserPromptSubmit", "Stop"),
    }
}

/// Calls a hook and returns the context it gives the model.
fn hook(world: &World, program: &str, event: &str, payload: &Value) -> String {
    let out = run(hook_command(world, program, event), payload.to_string().as_bytes());
    assert_eq!((out.status, out.stderr.as_str()), (Some(0), ""), "{program} {event}");
    let reply: Value = serde_json::from_str(&out.stdout).unwrap_or_default();
    let given = reply["context"].as_str().or(reply["hookSpecificOutput"]["additionalContext"].as_str());
    given.unwrap_or_default().to_owned()
}

#[test]
fn twelve_prompts_of_a_lone_session_are_given_none_of_its_own_words() {
    for program in with_hooks() {
        let world = World::new();
        let session = Session { program, n: 7 };
        let (prompted, ended) = prompt_and_end(program);
        let store = session.store(&world);
        let payload = |event: &str, n: usize| {
            let mut payload = session.payload(&world, event);
            for (field, value) in [
                ("run", json!(format!("run-{n}"))),
                ("prompt_id", json!(format!("run-{n}"))),
                ("turn_id", json!(format!("run-{n}"))),
                ("prompt", json!(PROMPTS[n])),
                ("entry", json!(format!("entry-{n}"))),
                ("last_assistant_message", json!(format!("Number {n}: the mail worker and its queue are as you say."))),
            ] {
                if payload.get(field).is_some() {
                    payload[field] = value;
                }
            }
            payload
        };
        project(&world);
        world.import(0, &[]);
        let (mut said, mut given) = (0, 0);
        for (n, prompt) in PROMPTS.iter().enumerate() {
            said += prompt.len();
            given += hook(&world, program, prompted, &payload(prompted, n)).len();
            // Every second prompt is meanwhile in the program's own store as well.
            if n % 2 == 0 && program == "claude-code" {
                fs::create_dir_all(store.parent().unwrap()).unwrap();
                let line = json!({"type": "user", "uuid": format!("u{n}"), "parentUuid": null, "sessionId": session.id(),
                    "cwd": project(&world), "promptId": format!("run-{n}"), "timestamp": "2026-11-20T10:00:00.000Z",
                    "message": {"role": "user", "content": prompt}});
                let all = fs::read_to_string(&store).unwrap_or_default();
                fs::write(&store, format!("{all}{line}\n")).unwrap();
            }
            hook(&world, program, ended, &payload(ended, n));
            at_rest(&world);
        }
        assert_eq!(given, 0, "{program}: {said} characters were said");
        let kept = world.sessions().iter().map(|key| world.turns(key).len()).sum::<usize>();
        assert!(kept >= PROMPTS.len(), "{program}: {kept} turns are kept");
        // In another session of the project the same question is answered. On a busy machine a hook may be out of time and
        // give less, so a few sessions ask.
        let asks = |n| {
            let other = Session { program, n };
            let mut asks = other.payload(&world, prompted);
            asks["prompt"] = json!(PROMPTS[7]);
            hook(&world, program, prompted, &asks)
        };
        let answer = "keep the table mail_jobs because the warehouse reads it";
        let mut given = String::new();
        for n in 8..14 {
            given = asks(n);
            if given.contains(answer) {
                break;
            }
        }
        assert!(given.contains(answer), "{program}: {given}");
    }
}

#[test]
fn what_a_block_says_of_itself_is_short_and_nothing_is_said_without_news() {
    let world = told();
    // Text that a page was made with does not count as written by a person.
    let page = world.test.home().join("workspaces/main/MEMORY.md");
    let came = fs::read_to_string(&page).unwrap();
    fs::write(&page, came.replacen("# Memory\n", "# Memory\n\nThe barn key hangs behind the door.\n", 1)).unwrap();
    let given = context(&world, &["--session", "codex:new", "--thread", "Roof"]);
    let text = block(&given);
    assert!(text.contains("The barn key hangs behind the door."), "{text}");
    assert!(!text.contains("Write anything here") && !text.contains("Heirloom never changes"), "{text}");
    let parts: usize =
        given["parts"].as_array().unwrap().iter().map(|p| p["text"].as_str().unwrap().trim_end().len() + 1).sum();
    assert!(text.len() - parts <= 120, "{} characters of frame: {text}", text.len() - parts);
    let prompt = |session: &str, text: &str| {
        context(&world, &["--session", session, "--thread", "Roof", "--prompt", text, "--event", "prompt"])
    };
    let asked = prompt("codex:asks", "who fixes the roof, what about the offer of Maier?");
    let text = block(&asked);
    assert!(!text.is_empty() && !text.contains('#'), "no heading where all of it is recalled: {text}");
    let lines: usize = text.lines().filter(|l| l.starts_with("- ")).map(|l| l.len() + 1).sum();
    assert!(text.len() - lines <= 120, "{} characters of frame: {text}", text.len() - lines);
    for nothing in ["thanks", "yes", "ok, go on"] {
        assert_eq!(block(&prompt("codex:asks", nothing)), "", "{nothing}");
    }
}

/// A line is given once in an epoch, even if another item or other words say the same.
#[test]
fn what_was_given_is_not_given_again_in_other_words() {
    let world = told();
    let first = context(&world, &["--session", "codex:new", "--thread", "Roof"]);
    assert!(block(&first).contains("Dachdecker Maier because it includes the gutter"), "{}", block(&first));
    let asked = context(
        &world,
        &[
            "--session",
            "codex:new",
            "--thread",
            "Roof",
            "--prompt",
            "Did we decide to take the offer of Dachdecker Maier with the gutter?",
        ],
    );
    assert!(!block(&asked).contains("gutter"), "{}", block(&asked));
    assert!(asked["dropped"].to_string().contains("x:1"), "{asked}");
    // A session that was given nothing yet is given the line.
    let asked = context(
        &world,
        &[
            "--session",
            "codex:another",
            "--thread",
            "Roof",
            "--event",
            "prompt",
            "--prompt",
            "Did we decide to take the offer of Dachdecker Maier with the gutter?",
        ],
    );
    assert_eq!(block(&asked).matches("gutter").count(), 1, "{}", block(&asked));
}

#[test]
fn why_each_line_was_chosen_is_stored_and_checked() {
    let world = told();
    let given = context(
        &world,
        &[
            "--session",
            "codex:new",
            "--thread",
            "Roof",
            "--event",
            "prompt",
            "--prompt",
            "who fixes the roof, what about the offer of Maier?",
        ],
    );
    let id = given["id"].as_str().unwrap();
    let replayed = world.json(&["context", "replay", id]);
    assert_eq!(replayed["sound"], true, "{replayed}");
    let lines = replayed["content"]["lines"].as_array().unwrap();
    let printed: Vec<&str> = block(&given).lines().collect();
    assert_eq!(lines.len(), printed.len() - 2, "each line but the fence: {replayed}");
    for line in lines {
        let text = printed[line["line"].as_u64().unwrap() as usize - 1];
        assert!(text.ends_with(&format!("[{}]", line["id"].as_str().unwrap())), "{line}: {text}");
        assert!(line["score"].as_f64().is_some() && line["stage"].is_string() && line["part"] == "recall", "{line}");
        assert!(!line["why"].as_array().unwrap().is_empty(), "{line}");
    }
    let dropped = replayed["content"]["dropped"].as_array().unwrap();
    assert!(dropped.iter().all(|d| d["id"].is_string() && d["why"].is_string()) && dropped.len() <= 32, "{dropped:?}");
    let why = world.says(0, &["context", "replay", id, "--why"]);
    assert!(why.contains("score ") && why.contains("fits its digest"), "{why}");

    // Another process changes the stored context.
    let ledger = rusqlite::Connection::open(world.ledger()).unwrap();
    let packed: Vec<u8> =
        ledger.query_row("SELECT content FROM contexts ORDER BY context_no DESC LIMIT 1", [], |r| r.get(0)).unwrap();
    let raw = zstd::bulk::decompress(&packed, 4 << 20).unwrap();
    let mut content: Value = serde_json::from_slice(&raw).unwrap();
    content["lines"][0]["score"] = json!(0.001);
    let packed = zstd::bulk::compress(content.to_string().as_bytes(), 3).unwrap();
    ledger
        .execute("UPDATE contexts SET content = ?1 WHERE context_no = (SELECT max(context_no) FROM contexts)", [packed])
        .unwrap();
    drop(ledger);
    let out = world.run(&["context", "replay", id, "--why"]);
    assert_eq!(out.status, Some(5), "{out:?}");
    assert!(out.stderr.contains("does not fit its digest"), "{out:?}");
}
