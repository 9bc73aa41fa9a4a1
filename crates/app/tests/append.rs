//! Live conversations, and the agents they belong to.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use heirloom_testkit::{recordings, run};
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, let_it_settle, openclaw};

fn acks(world: &World, args: &[&str], lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|l| format!("{l}\n")).collect();
    let out = world.feed(args, input.as_bytes());
    assert_eq!(out.stderr, "");
    out.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn every_line_is_answered_after_its_commit_and_before_the_next() {
    let world = World::new();
    let mut command = world.test.command(HEIRLOOM);
    command.arg("append").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    for n in 1..=5 {
        let line = json!({"session": "chat", "id": n, "text": format!("word{n} of five")});
        writeln!(input, "{line}").unwrap();
        let ack: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        assert_eq!((&ack["ok"], &ack["line"], &ack["state"]), (&json!(true), &json!(n), &json!("stored")), "{ack}");
        // An acknowledged turn can be shown and searched while the conversation goes on.
        let turn = ack["turn"].as_str().unwrap();
        assert_eq!(world.json(&["show", turn])["turns"][0]["text"], format!("word{n} of five"));
        assert_eq!(world.found(&format!("word{n}")).len(), 1);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    world.verified();
}

/// A live line without a time gets the present time.
#[test]
fn a_line_without_a_time_has_the_day_it_came() {
    let world = World::new();
    acks(&world, &["append"], &[json!({"session": "chat", "text": "the barn is red"})]);
    let session = &world.json(&["session", "list"])["sessions"][0];
    assert!(session["last"].is_string() || session["last_at"].is_string(), "{session}");
}

#[test]
fn repeated_and_broken_lines_are_answered_for_what_they_are() {
    let world = World::new();
    let first =
        json!({"session": "chat", "id": "m1", "text": "the codename is ZEPHYR", "time": "2026-11-21T20:00:00Z"});
    let answers = acks(&world, &["append"], &[first.clone(), first.clone()]);
    assert_eq!((&answers[0]["state"], &answers[1]["state"]), (&json!("stored"), &json!("known")));
    assert_eq!(answers[0]["turn"], answers[1]["turn"]);
    let again = acks(&world, &["append"], std::slice::from_ref(&first));
    assert_eq!((&again[0]["state"], &again[0]["turn"]), (&json!("known"), &answers[0]["turn"]));

    // The same id with another text is a new revision of the turn, kept beside the first.
    let mut changed = first.clone();
    changed["text"] = json!("the codename is MISTRAL");
    let answers = acks(&world, &["append"], &[changed]);
    assert_eq!(answers[0]["state"], "stored");
    assert_eq!(world.turns("turns:chat").len(), 2);

    // Without an id, the same text sent twice makes two turns.
    let without = json!({"session": "chat", "text": "yes"});
    acks(&world, &["append"], &[without.clone(), without]);
    assert_eq!(world.turns("turns:chat").iter().filter(|t| t["text"] == "yes").count(), 2);

    let lines = "no json\n\n{\"text\":\"no session\"}\n{\"session\":\"chat\"}\n[1]\n\
                 {\"session\":\"chat\",\"text\":\"x\",\"role\":\"robot\"}\n{\"session\":\"chat\",\"text\":\"good\",\"id\":7}\n";
    let out =
        world.feed(&["append"], [lines.as_bytes(), b"{\"session\":\"chat\",\"text\":\"\xff\"}\n"].concat().as_slice());
    assert_eq!(out.status, Some(1));
    let answers: Vec<Value> = out.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let refused: Vec<_> = answers.iter().filter(|a| a["ok"] == false).map(|a| a["line"].as_u64().unwrap()).collect();
    assert_eq!(refused, [1, 3, 4, 5, 6, 8], "{answers:?}");
    for a in answers.iter().filter(|a| a["ok"] == false) {
        assert!(a["error"].as_str().is_some_and(|e| e.len() > 8), "{a}");
    }
    let good = answers.iter().find(|a| a["ok"] == true).unwrap();
    assert_eq!((&good["line"], &good["state"]), (&json!(7), &json!("stored")));
    world.verified();
}

#[test]
fn a_conversation_comes_back_whole_whatever_its_name() {
    let world = World::new();
    let lines: Vec<Value> =
        (1..=3).map(|n| json!({"session": "mail/orders", "id": n, "text": format!("word{n}")})).collect();
    acks(&world, &["append"], &lines);
    let said = String::from_utf8(world.bytes(&["export", "--session", "turns:mail/orders"])).unwrap();
    assert_eq!(said, lines.iter().map(|l| format!("{l}\n")).collect::<String>());
}

#[test]
fn what_a_conversation_says_of_itself_is_kept_and_its_end_known() {
    let world = World::new();
    let lines = [
        json!({"session": "whatsapp:household", "id": "wa-1", "time": "2026-11-02T18:40:00+01:00", "speaker": "Jonas",
            "text": "No coriander, please.", "participants": ["Jonas", "Mara"], "thread": "dinner"}),
        json!({"session": "whatsapp:household", "id": "wa-2", "time": 1793641215000i64, "speaker": "Pip",
            "role": "assistant", "text": "Remembered.", "model": "made-up-1", "parent": "wa-1", "run": "r1"}),
    ];
    let input: String = lines.iter().map(|l| format!("{l}\n")).collect();
    let out = world.feed(&["import", "--format", "turns", "-"], input.as_bytes());
    assert_eq!(out.status, Some(0), "{out:?}");
    assert!(out.stdout.contains("2 turns new"), "{out:?}");
    let out = world.feed(&["import", "--format", "turns", "-", "--json"], input.as_bytes());
    assert_eq!(serde_json::from_str::<Value>(&out.stdout).unwrap()["turns"], json!({"new": 0, "known": 2}));

    let key = "turns:whatsapp:household";
    let turns = world.turns(key);
    assert_eq!(
        (&turns[0]["speaker"], &turns[0]["thread"], &turns[0]["role"]),
        (&json!("Jonas"), &json!("dinner"), &json!("user"))
    );
    assert_eq!(turns[0]["at"], "2026-11-02T17:40:00.000Z");
    assert_eq!((&turns[1]["parent"], &turns[1]["model"]), (&json!("wa-1"), &json!("made-up-1")));
    let shown = world.says(0, &["show", "--session", key]);
    assert!(shown.contains("Jonas") && shown.contains("Pip"), "{shown}");
    let exported = String::from_utf8(world.bytes(&["export", "--session", key])).unwrap();
    assert_eq!(exported, input);

    // The session is not closed by itself yet; `session end` closes it, once.
    assert_eq!(world.json(&["work", "--drain"])["failed"], 0);
    let ended = world.json(&["session", "end", key]);
    assert_eq!(ended, json!({"session": key, "ended": true}));
    assert_eq!(world.json(&["session", "end", key])["ended"], false);
    let shown = world.json(&["session", "show", key]);
    assert_eq!(shown["session"]["ended_by"], "hand");
    assert!(shown["runs"].as_array().unwrap().iter().all(|r| r["status"] != "open"), "{shown}");
    world.says(4, &["session", "end", "turns:nobody"]);
}

#[test]
fn a_conversation_that_goes_quiet_is_closed_by_the_next_work() {
    let world = World::new();
    acks(&world, &["append"], &[json!({"session": "quiet", "id": 1, "text": "are you there?"})]);
    let open = world.json(&["session", "show", "turns:quiet"]);
    assert_eq!(open["runs"][0]["status"], "open", "{open}");
    let later = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() + 3_600_000;
    let mut command = world.test.command(HEIRLOOM);
    command.args(["work", "--drain", "--json"]).env("HEIRLOOM_NOW", later.to_string());
    let out = run(command, b"");
    assert_eq!(out.status, Some(0), "{out:?}");
    let closed = world.json(&["session", "show", "turns:quiet"]);
    assert_ne!(closed["runs"][0]["status"], "open", "{closed}");
    assert_eq!(closed["runs"][0]["closed_by"], "idle", "{closed}");
}

#[test]
fn agents_do_not_see_each_other() {
    let world = World::new();
    let said =
        |who: &str| json!({"session": "shared-name", "id": "m1", "text": format!("the secret of {who} is {who}fish")});
    for who in ["ada", "bob"] {
        assert_eq!(world.json(&["agent", "add", who]), json!({"agent": who, "new": true}));
        assert_eq!(world.json(&["agent", "add", who])["new"], false);
        let answers = acks(&world, &["append", "--agent", who], &[said(who)]);
        assert_eq!(answers[0]["state"], "stored", "the other's equal session and id are not this one's");
    }
    let key = "turns:shared-name";
    let mut turns = Vec::new();
    for (who, other) in [("ada", "bob"), ("bob", "ada")] {
        let at = |args: &[&str]| world.json(&[&["--agent", who], args].concat());
        let shown = at(&["show", "--session", key]);
        assert_eq!(shown["turns"].as_array().unwrap().len(), 1, "{shown}");
        assert_eq!(shown["turns"][0]["text"], said(who)["text"]);
        assert_eq!(at(&["search", &format!("{other}fish")])["hits"], json!([]));
        assert_eq!(at(&["search", "secret"])["hits"].as_array().unwrap().len(), 1);
        assert_eq!(at(&["session", "list"])["sessions"].as_array().unwrap().len(), 1);
        assert_eq!(world.bytes(&["--agent", who, "export", "--session", key]), format!("{}\n", said(who)).as_bytes());
        turns.push(shown["turns"][0]["turn"].as_str().unwrap().to_owned());
    }
    // Another agent's turn cannot be shown by its id either; the answer is that for an id that does not exist.
    let others = world.says(4, &["--agent", "ada", "show", &turns[1]]);
    let nobodys = world.says(4, &["--agent", "ada", "show", "tfff"]);
    assert_eq!(others.replace(&turns[1], "T"), nobodys.replace("tfff", "T"));
    world.says(4, &["--agent", "ada", "show", "--raw", &turns[1]]);
    world.says(4, &["--agent", "carol", "search", "secret"]);

    let list = world.json(&["agent", "list"]);
    let known: Vec<_> = list["agents"].as_array().unwrap().iter().map(|a| a["agent"].as_str().unwrap()).collect();
    assert!(known.contains(&"ada") && known.contains(&"bob"), "{list}");
    for bad in ["", "Ada", "a b", "../x", "-x", "ä", &"a".repeat(65)] {
        world.says(2, &["agent", "add", "--", bad]);
        world.says(2, &[&format!("--agent={bad}"), "status"]);
    }

    // Order of precedence for the agent: the option, the variable, the settings.
    let settings = world.test.home().join("config.toml");
    fs::write(&settings, "[daemon]\nworkspace = \"ada\"\n").unwrap();
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(world.json(&["status"])["agent"], "ada");
    let with_variable = |args: &[&str]| -> Value {
        let mut command = world.test.command(HEIRLOOM);
        command.args(args).env("HEIRLOOM_AGENT", "bob");
        let out = run(command, b"");
        serde_json::from_str(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"))
    };
    assert_eq!(with_variable(&["status", "--json"])["agent"], "bob");
    assert_eq!(with_variable(&["status", "--json", "--agent", "ada"])["agent"], "ada");
    fs::write(&settings, "[daemon\n").unwrap();
    let said = world.says(2, &["status"]);
    assert!(said.contains("config.toml"), "{said}");
}

#[test]
fn a_project_that_moved_is_joined_to_its_history() {
    let world = World::new();
    let (old, new) = (world.test.folder("old-place"), world.test.folder("new-place"));
    for (n, at) in [&old, &new].iter().enumerate() {
        let line = json!({"session": format!("s{n}"), "id": 1, "text": format!("heron number{n}"), "workspace": at});
        acks(&world, &["append"], &[line]);
    }
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let within = |w: &str| world.json(&["search", "--workspace", w, "heron"])["hits"].as_array().unwrap().len();
    assert_eq!((within(old), within(new)), (1, 1));
    world.says(0, &["workspace", "alias", old, new]);
    assert_eq!(within(new), 2);
    assert_eq!(within("new-place"), 2);
    assert_eq!(world.json(&["session", "list", "--workspace", new])["sessions"].as_array().unwrap().len(), 2);
    let list = world.json(&["workspace", "list"]);
    assert_eq!(list["workspaces"].as_array().unwrap().iter().filter(|w| !w["alias_of"].is_null()).count(), 1, "{list}");
    world.says(2, &["workspace", "alias", new, new]);
    let circle = world.run(&["workspace", "alias", new, old]);
    assert!(matches!(circle.status, Some(2 | 3)), "{circle:?}");
    world.says(4, &["workspace", "alias", "/no/such/place", new]);
    world.says(4, &["search", "--workspace", "/no/such/place", "heron"]);
    world.verified();
}

/// Tests with sessions recorded from the real programs, which are too private and too large for the repository.
mod recorded {
    use super::*;

    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn each_agent_of_openclaw_has_a_memory_of_its_own() {
        let shared = recordings();
        let world = World::new();
        let agents = world.test.user().join(".openclaw/agents");
        openclaw(&agents.join("main/agent/openclaw-agent.sqlite"), &shared);
        openclaw(&agents.join("scout/agent/openclaw-agent.sqlite"), &shared);
        let_it_settle();
        let said = world.says(0, &["up"]);
        assert!(said.contains("scout (--agent ID)"), "{said}");
        let of = |agent: &str| world.json(&["--agent", agent, "session", "list"])["sessions"].clone();
        assert_eq!(of("main").as_array().unwrap().len(), 1);
        assert_eq!(of("scout"), of("main"), "the same store under two names is two memories");
        let list = world.json(&["agent", "list"]);
        assert_eq!(list["agents"].as_array().unwrap().len(), 2, "{list}");
        world.verified();
    }
}
