//! `heirloom forget`: it shows the effect first, acts when asked, is finished even after a crash, and leaves nothing
//! behind.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use heirloom_testkit::Rng;
use serde_json::json;

use crate::world::{HEIRLOOM, World, claude_line, let_it_settle, listing, names};

const WORD: &str = "Quuxfrobnitz";

/// Makes two sessions that contain the word and three that do not.
fn told(lines: usize) -> (World, std::path::PathBuf) {
    let world = World::new();
    let folder = world.test.folder("sessions");
    for n in 0..5 {
        let session = format!("{n:08}-0000-4000-8000-000000000000");
        let mut text = String::new();
        for i in 0..lines {
            let said = if n < 2 && i % 7 == 3 { WORD } else { "nothing" };
            let role = if i % 2 == 0 { "user" } else { "assistant" };
            text += &(claude_line(&session, i, role, &format!("session {n} line {i} says {said} of note")) + "\n");
        }
        std::fs::write(folder.join(format!("{session}.jsonl")), text).unwrap();
    }
    let_it_settle();
    world.import(0, &[&folder]);
    (world, folder)
}

/// Returns the files of the home that contain the word.
fn traces(home: &Path) -> BTreeSet<String> {
    let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase().contains(&WORD.to_lowercase());
    let files = listing(home).into_iter().filter(|(_, bytes)| bytes.as_ref().is_some_and(|b| has(b)));
    files.map(|(path, _)| path.strip_prefix(home).unwrap().display().to_string()).collect()
}

fn found(world: &World) -> usize {
    world.found(WORD).len()
}

#[test]
fn it_is_said_first_and_done_when_asked() {
    let (world, folder) = told(30);
    assert_eq!(found(&world), 8);
    let before = world.content();
    let preview = world.json(&["forget", "--match", WORD, "--dry-run"]);
    names(
        &preview,
        "forgotten turns records bytes unterminated strays sessions titles items pages kept nodes rows backups by_hand masked set_aside
         saved_meanwhile names other_turns other_agents agent_names not_ours",
    );
    assert_eq!((&preview["turns"], &preview["records"]), (&json!(8), &json!(8)));
    assert_eq!(preview["not_ours"].as_array().unwrap().len(), 2);
    let refused = world.json_of(3, &["forget", "--match", WORD]);
    assert_eq!(refused, preview, "without --yes it is a preview");
    assert!(world.says(3, &["forget", "--match", WORD]).contains("add --yes"));
    assert_eq!(world.content(), before);
    world.json_of(4, &["forget", "--session", "nobody", "--yes"]);
    world.json_of(4, &["forget", "--turn", "tffff", "--yes"]);
    world.json_of(2, &["forget", "--turn", "first", "--yes"]);
    world.json_of(2, &["forget", "--match", " ", "--yes"]);
    world.json_of(2, &["forget", "--yes"]);
    world.json(&["agent", "add", "other"]);
    world.json_of(4, &["forget", "--turn", "t1", "--yes", "--agent", "other"]);
    assert_eq!(world.content(), before, "another agent's turns are not theirs to forget");

    let turn = world.found(WORD)[0]["turn"].as_str().unwrap().to_owned();
    let done = world
        .json(&["forget", "--match", "-", "--ignore-case", "--yes"].map(|a| if a == "-" { "qUUXfrobnitz" } else { a }));
    assert_eq!(done["forgotten"], true);
    assert_eq!(traces(&world.test.home()), BTreeSet::new());
    assert_eq!(found(&world), 0);
    assert_eq!(world.verified()["forgotten"], 8);
    // The turn's place stays and says that it was forgotten.
    let shown = world.json(&["show", &turn])["turns"][0].clone();
    assert_eq!((&shown["text"], shown["forgotten"].is_string()), (&json!(""), true));
    assert!(world.says(0, &["show", &turn]).contains("[forgotten today"));
    assert!(world.says(4, &["show", &turn, "--raw"]).contains("forgotten"));
    // Exports contain the rest and name what was left out.
    for n in 0..5 {
        let file = folder.join(format!("{n:08}-0000-4000-8000-000000000000.jsonl"));
        let text = std::fs::read_to_string(&file).unwrap();
        let rest: String = text.split_inclusive('\n').filter(|l| !l.contains(WORD)).collect();
        let out = world.run(&["export", "--source", file.to_str().unwrap()]);
        assert!(out.stdout == rest);
        assert_eq!(out.stderr.contains("4 records forgotten and left out"), n < 2, "{}", out.stderr);
    }
    // Importing the files again brings nothing back.
    world.import(0, &[&folder]);
    let first = folder.join("00000000-0000-4000-8000-000000000000.jsonl");
    let text = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, text.split_inclusive('\n').rev().collect::<String>()).unwrap();
    let_it_settle();
    assert_eq!(world.import(0, &[&folder])["sources"]["rewritten"], 1);
    assert_eq!(traces(&world.test.home()), BTreeSet::new());
    assert_eq!(found(&world), 0);
    world.verified();
    // Forgetting again changes nothing.
    let rows = world.audit_rows();
    assert!(world.says(0, &["forget", "--match", WORD, "--yes"]).contains("Nothing that is stored"));
    assert_eq!(world.audit_rows(), rows);
    // Turns of other sessions are unchanged.
    for (session, turns) in world.content() {
        let was = before[&session].iter().filter(|t| !t["text"].as_str().unwrap().contains(WORD));
        let is = turns.iter().filter(|t| t["forgotten"].is_null());
        assert!(was.eq(is), "{session}");
    }
}

/// A forget is of one agent: it says which others have the words, and that the names of agents stay.
#[test]
fn other_agents_with_the_words_and_names_of_agents_are_said() {
    let (world, _) = told(10);
    world.json(&["agent", "add", "bob"]);
    world.json(&["agent", "add", "zqvexillum"]);
    world.json(&["remember", "Boats are painted by Zorkmannoh in May", "--class", "preference", "--agent", "bob"]);
    let nothing = world.json(&["forget", "--match", "Zorkmannoh", "--yes"]);
    assert_eq!((&nothing["forgotten"], &nothing["other_agents"]), (&json!(false), &json!(["bob"])), "{nothing}");
    let said = world.says(0, &["forget", "--match", "Zorkmannoh", "--yes"]);
    assert!(said.contains("of this agent") && said.contains("agent bob has it: --agent bob"), "{said}");
    assert!(!said.contains("zqvexillum"), "{said}");
    // The words of this agent are no other's, and nobody's are nobody's.
    for (word, agent) in [(WORD, "main"), ("Zorkmannoh", "bob"), ("nobodysaidthis", "bob")] {
        let preview = world.json(&["forget", "--match", word, "--dry-run", "--agent", agent]);
        assert_eq!(preview["other_agents"], json!([]), "{word} {agent}");
    }
    let preview = world.json(&["forget", "--match", WORD, "--dry-run", "--agent", "bob"]);
    assert_eq!(preview["other_agents"], json!(["main"]));
    // The name of an agent stays, and that is said whatever else is erased.
    let said = world.says(0, &["forget", "--match", "zqvexillum", "--yes"]);
    assert!(said.contains("Names of agents with it, which stay") && said.contains("workspaces/zqvexillum"), "{said}");
    assert_eq!(world.json(&["forget", "--match", "zqvexillum", "--yes"])["agent_names"], json!(["zqvexillum"]));
    world.json(&["forget", "--match", "Zorkmannoh", "--yes", "--agent", "bob"]);
    assert_eq!(world.json(&["forget", "--match", "Zorkmannoh", "--yes"])["other_agents"], json!([]));
    world.verified();
}

/// Temporary files that killed commands left are Heirloom's own, and so is the note of the last backup.
#[test]
fn it_reaches_temporary_files_and_the_note_of_the_last_backup() {
    let world = World::new();
    world.json(&["loop", "add", "Paint the boat"]);
    let home = world.test.home();
    let mut planted = Vec::new();
    for folder in ["workspaces/main", "workspaces/main/memory", "state", "run", "logs", "runtime"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
        let path = home.join(folder).join(".hl-0123456789abcdef.tmp");
        std::fs::write(&path, format!("a page with {WORD} in it")).unwrap();
        planted.push(path);
    }
    let note = home.join("state/backup.json");
    std::fs::write(&note, format!("{{\"at\":1,\"to\":\"/backups/{WORD}/b\"}}")).unwrap();
    let done = world.json(&["forget", "--match", WORD, "--yes"]);
    assert_eq!(done["masked"].as_array().unwrap().len(), planted.len() + 1, "{done}");
    assert_eq!((&done["by_hand"], traces(&home)), (&json!([]), BTreeSet::new()));
    let kept = std::fs::read_to_string(&note).unwrap();
    assert_eq!(kept, format!("{{\"at\":1,\"to\":\"/backups/{}/b\"}}", "*".repeat(WORD.len())));
    // The worker removes them everywhere once they are an hour old.
    world.json(&["work", "--drain"]);
    assert!(planted.iter().all(|path| path.exists()), "they may be somebody's");
    for path in &planted {
        let old = std::time::SystemTime::now() - Duration::from_secs(7300);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    world.json(&["work", "--drain"]);
    let left: Vec<_> = planted.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_session_goes_with_what_was_made_of_it() {
    let (world, _) = told(10);
    let name = "00000001-0000-4000-8000-000000000000";
    let done = world.json(&["forget", "--session", name, "--yes"]);
    assert_eq!((&done["turns"], &done["forgotten"]), (&json!(10), &json!(true)));
    assert!(world.turns(name).iter().all(|t| t["text"] == ""));
    let out = world.run(&["export", "--session", name]);
    assert_eq!((out.stdout.as_str(), out.status), ("", Some(0)));
    assert!(out.stderr.contains("10 records forgotten"), "{}", out.stderr);
    // Pages of days and other pages do not mention it any more.
    for (path, bytes) in listing(&world.test.home().join("workspaces")) {
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        assert!(!text.contains("session 1 line"), "{}", path.display());
    }
    world.verified();
}

/// Logs and calls that could not be stored lose the words and nothing else; files that are not Heirloom's are named.
#[test]
fn it_reaches_what_is_no_memory_and_names_what_it_must_not_change() {
    let (world, _) = told(10);
    let home = world.test.home();
    let plant = |path: &str, text: &str| {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    };
    let inner = json!({"prompt": format!("a \"{WORD}\" or two")}).to_string();
    let newer = json!({"v": 99, "payload": inner}).to_string();
    let ours = [
        ("logs/hooks.log", format!("12 kept line\n13 {WORD} in it\n")),
        ("logs/service.log", format!("{WORD}, {WORD}{WORD}\nthe end\n")),
        ("spool/0000000000001-0000000000000001.hook.unreadable", format!("{{\"v\":1,\n\u{fffd} {inner}")),
        ("spool/0000000000002-0000000000000002.hook", format!("{newer}\n")),
        ("spool/.hl-0000000000000003.tmp", format!("{{\"v\":1}}\n{{\"prompt\": \"{WORD} and no en")),
    ];
    for (path, text) in &ours {
        plant(path, text);
    }
    let theirs = ["config.toml", "notes/of-mine.txt", "runtime/main/claude/drafts/a.md", "workspaces/main/plan.txt"];
    theirs.iter().for_each(|path| plant(path, &format!("# {WORD}\n")));
    let aside = home
        .with_file_name(format!("{}.before-restore-2026-11-20T10-00-00Z", home.file_name().unwrap().to_str().unwrap()));
    std::fs::create_dir(&aside).unwrap();
    let before = traces(&home);
    let preview = world.json(&["forget", "--match", WORD, "--dry-run"]);
    assert_eq!(traces(&home), before, "a preview changes nothing");
    let shown = |paths: &[&str]| {
        let mut all: Vec<String> = paths.iter().map(|path| home.join(path).display().to_string()).collect();
        all.sort();
        all
    };
    let sorted = |list: &serde_json::Value| {
        let mut all: Vec<String> = serde_json::from_value(list.clone()).unwrap();
        all.sort();
        all
    };
    assert_eq!(sorted(&preview["masked"]), shown(&ours.iter().map(|(path, _)| *path).collect::<Vec<_>>()));
    assert_eq!(sorted(&preview["by_hand"]), shown(&theirs));
    assert_eq!(preview["set_aside"], json!([aside.display().to_string()]));

    // A process that has the log open goes on writing into it.
    let mut log = std::fs::OpenOptions::new().append(true).open(home.join("logs/service.log")).unwrap();
    let said = world.says(0, &["forget", "--match", WORD, "--yes"]);
    std::io::Write::write_all(&mut log, b"more\n").unwrap();
    for place in theirs {
        assert_eq!(said.matches(&home.join(place).display().to_string()).count(), 2, "before and after: {said}");
    }
    assert_eq!(said.matches(&format!("rm -r {}", aside.display())).count(), 2, "{said}");
    assert_eq!(traces(&home), theirs.map(str::to_owned).into());
    for (path, text) in &ours {
        let more = if path.ends_with("service.log") { "more\n" } else { "" };
        let expected = text.replace(WORD, &"*".repeat(WORD.len())) + more;
        assert_eq!(std::fs::read_to_string(home.join(path)).unwrap(), expected, "{path}");
    }
    // A session is forgotten by its own texts: a call that could not be stored loses them, a log is left alone.
    let text = world.turns("00000002-0000-4000-8000-000000000000")[4]["text"].as_str().unwrap().to_owned();
    plant("logs/hooks.log", &text);
    plant("spool/0000000000004-0000000000000004.hook.unreadable", &format!("broken {}", json!({"prompt": text})));
    let done = world.json(&["forget", "--session", "00000002-0000-4000-8000-000000000000", "--yes"]);
    assert_eq!(sorted(&done["masked"]), shown(&["spool/0000000000004-0000000000000004.hook.unreadable"]));
    let left = std::fs::read_to_string(home.join("spool/0000000000004-0000000000000004.hook.unreadable")).unwrap();
    assert_eq!(left, format!("broken {}", json!({"prompt": "*".repeat(text.len())})));
    assert_eq!(std::fs::read_to_string(home.join("logs/hooks.log")).unwrap(), text);
    world.verified();
}

/// A prompt that waits while the program works is not a turn yet: its words are in the decoder's stored state.
#[test]
fn a_prompt_that_still_waits_is_forgotten_too() {
    let (world, folder) = told(3);
    let session = "00000003-0000-4000-8000-000000000000";
    let path = folder.join(format!("{session}.jsonl"));
    let queue = |operation: &str, content: Option<&str>| {
        let mut line = json!({"type": "queue-operation", "operation": operation, "sessionId": session,
                              "timestamp": "2026-11-20T10:00:00.000Z"});
        if let Some(content) = content {
            line["content"] = json!(content);
        }
        format!("{line}\n")
    };
    let add = |text: String| {
        use std::io::Write as _;
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let_it_settle();
    };
    add(queue("enqueue", Some(&format!("and then {WORD} is to be mended"))));
    world.import(0, &[&folder]);
    assert!(traces(&world.test.home()).iter().any(|f| f.ends_with("runtime.db")), "it waits there");
    world.says(0, &["forget", "--match", WORD, "--yes"]);
    assert_eq!(traces(&world.test.home()), BTreeSet::new());
    // The program later hands the prompt over without its words: nothing comes back.
    add(queue("remove", None));
    world.import(0, &[&folder]);
    assert_eq!(traces(&world.test.home()), BTreeSet::new());
    world.verified();
}

/// If it is killed anywhere, either nothing happened or the next command finishes it.
#[test]
fn a_forget_killed_anywhere_is_not_done_or_finished_by_the_next_command() {
    let (world, _) = told(400);
    let home = world.test.home();
    let kept = world.test.user().join("kept");
    crate::world::copy_tree(&home, &kept);
    let again = || {
        std::fs::remove_dir_all(&home).unwrap();
        crate::world::copy_tree(&kept, &home);
        make_private(&home);
    };
    again();
    let before = traces(&home);
    assert!(!before.is_empty());
    let began = Instant::now();
    world.json(&["forget", "--match", WORD, "--yes"]);
    let took = began.elapsed();
    let mut rng = Rng::new(11);
    let (mut undone, mut finished) = (0, 0);
    // On a machine that is busy with other things, a command takes longer or shorter than the first one did: as long as
    // only one outcome was seen, it is killed later or earlier.
    let mut shift = 1.0;
    for trial in 0..80 {
        if trial >= 20 && undone > 0 && finished > 0 {
            break;
        }
        shift *= match (undone, finished) {
            (0, 1..) => 0.8,
            (1.., 0) => 1.25,
            _ => 1.0,
        };
        again();
        let mut command = world.test.command(HEIRLOOM);
        command.args(["forget", "--match", WORD, "--yes"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let delay = took.mul_f64(shift * rng.below(1000) as f64 / 1000.0);
        std::thread::sleep(delay.max(Duration::from_millis(1)));
        child.kill().unwrap();
        child.wait().unwrap();
        let turns = world.json(&["status"])["turns"].clone();
        assert_eq!(turns, 2000, "trial {trial}");
        match world.verified()["forgotten"].as_u64().unwrap() {
            0 => {
                undone += 1;
                assert_eq!(traces(&home), before, "trial {trial} after {delay:?}");
            }
            all => {
                finished += 1;
                assert_eq!((all, traces(&home)), (114, BTreeSet::new()), "trial {trial} after {delay:?}");
            }
        }
    }
    println!("{undone} were not done, {finished} finished; undisturbed took {took:?}");
    assert!(undone > 0 && finished > 0, "{undone} undone and {finished} finished ({took:?})");
}

fn make_private(home: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        folders.extend(std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()));
    }
}

/// Four run at once: each finishes, or reports that it is busy and is finished by the next command.
#[test]
fn four_at_once_are_all_done() {
    for _ in 0..3 {
        let (world, _) = told(60);
        let home = world.test.home();
        let all: Vec<_> = ["says Quuxfrobnitz", "Quuxfrobnitz", "line 3 says Quuxfrobnitz", "line 10 says"]
            .map(|words| {
                let mut command = world.test.command(HEIRLOOM);
                command.args(["forget", "--match", words, "--yes"]).stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().unwrap()
            })
            .into();
        for child in all {
            let out = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(matches!(out.status.code(), Some(0 | 75)), "{:?}: {said}", out.status);
        }
        world.says(0, &["status"]);
        assert_eq!(traces(&home), BTreeSet::new());
        assert_eq!(found(&world), 0);
        world.verified();
    }
}

/// It is done, though nobody reads what it prints; the end says what was erased.
/// Ids and names of files are made of the words of what they name, so they go with it.
#[test]
fn names_made_of_what_is_forgotten_go_with_it() {
    let world = World::new();
    let project = world.test.folder("harbour");
    std::fs::create_dir(project.join(".git")).unwrap();
    let line = |session: &str, id: &str, role: &str, text: &str| {
        json!({"session": session, "id": id, "role": role, "text": text, "workspace": project,
               "time": format!("2026-11-20T10:0{id}:00Z")})
    };
    let mut lines = String::new();
    for session in ["s2", "s3"] {
        lines += &format!("{}\n", line(session, "1", "user", "Rule: never push on Fridays. The quay is on port 5999."));
        lines += &format!("{}\n", line(session, "2", "assistant", "ok"));
    }
    assert_eq!(world.feed(&["append"], lines.as_bytes()).status, Some(0));
    for session in ["turns:s2", "turns:s3"] {
        world.says(0, &["session", "end", session]);
    }
    world.says(0, &["work", "--drain"]);
    world.says(0, &["evolve"]);
    let at = project.to_str().unwrap();
    world.says(0, &["remember", "--workspace", at, "Deploy to blorgon"]);
    world.says(0, &["loop", "add", "Fix blorgon", "--workspace", at]);
    world.json(&["context", "--session", "codex:new", "--workspace", at]);
    let words = ["blorgon", "never-push", "the-quay"];
    let left = || -> Vec<&str> {
        let all: Vec<_> = listing(&world.test.home()).into_values().flatten().collect();
        let has = |word: &&str| all.iter().any(|bytes| bytes.windows(word.len()).any(|w| w == word.as_bytes()));
        words.into_iter().filter(has).collect()
    };
    assert_eq!(left(), words);
    world.says(0, &["forget", "--project", "harbour", "--yes"]);
    assert_eq!(left(), Vec::<&str>::new());
    world.verified();
    // A memory that is forgotten alone.
    world.says(0, &["remember", "Zucchini are kept frozen"]);
    world.json(&["context", "--session", "codex:newer"]);
    world.says(0, &["memory", "forget", "Zucchini are kept frozen"]);
    let all: Vec<_> = listing(&world.test.home()).into_values().flatten().collect();
    assert!(!all.iter().any(|bytes| String::from_utf8_lossy(bytes).to_lowercase().contains("zucchini")));
}

#[test]
fn it_is_done_whoever_reads_and_says_what_it_erased() {
    let (world, _) = told(30);
    let mut command = world.test.command(HEIRLOOM);
    command.args(["forget", "--match", WORD, "--yes"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(traces(&world.test.home()), BTreeSet::new());
    world.verified();
    // Every record has the branch, and no turn says it.
    let said = world.says(0, &["forget", "--match", "gitBranch", "--yes"]);
    assert!(said.starts_with("142 source records ("), "{said}");
    assert!(said.contains("\nForgotten: 142 source records ("), "{said}");
    assert!(!said.contains("0 turns"), "{said}");
}

/// Echoes of Codex and resumed copies of Claude Code repeat a turn; nothing of their text is left in any block.
#[test]
fn repeated_turns_leave_nothing_in_the_blocks() {
    let codex = |at: usize, kind: &str, payload: serde_json::Value| {
        format!(
            "{}\n",
            json!({"timestamp": format!("2026-11-20T10:00:{at:02}.000Z"), "type": kind, "payload": payload})
        )
    };
    let (question, answer) = (format!("Where is the {WORD} kept these days?"), format!("The {WORD} is in the cellar."));
    let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let rollout = [
        codex(
            0,
            "session_meta",
            json!({"id": "0199c0de-0000-7000-8000-000000000001", "cwd": "/home/user", "cli_version": "1.0"}),
        ),
        codex(
            1,
            "turn_context",
            json!({"turn_id": "0199c0de-0000-7000-8000-00000000000a", "cwd": "/home/user", "model": "made-up-1"}),
        ),
        codex(2, "response_item", message("user", "input_text", &question)),
        codex(2, "event_msg", json!({"type": "user_message", "message": question})),
        codex(3, "event_msg", json!({"type": "agent_message", "message": answer})),
        codex(3, "response_item", message("assistant", "output_text", &answer)),
    ];
    let id = "00000000-0000-4000-8000-000000000000";
    let copy = "00000000-0000-4000-8000-000000000009";
    let lines = [claude_line(id, 0, "user", &question), claude_line(id, 1, "assistant", &answer)].join("\n") + "\n";
    let resumed = lines.replace(&format!("\"sessionId\":\"{id}\""), &format!("\"sessionId\":\"{copy}\""));
    for args in [["--match", WORD], ["--person", WORD]] {
        let world = World::new();
        let folder = world.test.folder("sessions");
        let files = [
            ("rollout-2026-11-20T10-00-00-0199c0de-0000-7000-8000-000000000001.jsonl".to_owned(), rollout.concat()),
            (format!("{id}.jsonl"), lines.clone()),
            (format!("{copy}.jsonl"), resumed.clone()),
        ];
        for (name, text) in &files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let_it_settle();
        let report = world.import(0, &[&folder]);
        assert_eq!(report["turns"]["new"], 4, "each is a turn once: {report}");
        world.says(0, &["forget", args[0], args[1], "--yes"]);
        assert_eq!(crate::world::traces(&world.test.home(), WORD), Vec::<String>::new(), "{args:?}");
        world.import(0, &[&folder]);
        assert_eq!(crate::world::traces(&world.test.home(), WORD), Vec::<String>::new(), "{args:?}");
        world.verified();
    }
}
