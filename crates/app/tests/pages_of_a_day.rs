//! A day with three programs and two projects, as its pages show it in the evening: what was done where, what is owed,
//! and that every open item on a page can be closed by the id shown with it (R7.1, R7.2, R10.2).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use heirloom_testkit::{Output, run};
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, files};

/// Half past eight in the evening of 24 November 2026.
const EVENING: &str = "1795552200000";

struct Day {
    world: World,
    n: usize,
}

impl Day {
    fn at_evening(&self, args: &[&str], stdin: &[u8]) -> Output {
        let mut command = self.world.test.command(HEIRLOOM);
        command.args(args).env("HEIRLOOM_NOW", EVENING);
        run(command, stdin)
    }

    fn json(&self, args: &[&str]) -> Value {
        let out = self.at_evening(&[args, &["--json"]].concat(), b"");
        assert_eq!(out.status, Some(0), "{args:?}: {out:?}");
        serde_json::from_str(&out.stdout).unwrap()
    }

    fn time(&mut self, hour: usize) -> String {
        self.n += 1;
        format!("2026-11-24T{hour:02}:{:02}:{:02}.000Z", self.n / 60 % 60, self.n % 60)
    }

    /// Writes a session of Claude Code: speaker, text and result; `C name` stands for a tool call with its input and
    /// result.
    fn claude(&mut self, folder: &Path, session: &str, hour: usize, said: &[(&str, &str, &str)]) {
        let mut lines = String::new();
        for (who, text, result) in said {
            let call = format!("toolu_{session}_{}", self.n);
            let messages: Vec<(&str, Value)> = match who.strip_prefix("C ") {
                Some(name) => {
                    let input: Value = serde_json::from_str(text).unwrap();
                    let used = json!([{"type": "tool_use", "id": call, "name": name, "input": input}]);
                    let back = json!([{"type": "tool_result", "tool_use_id": call, "content": result}]);
                    vec![("assistant", used), ("user", back)]
                }
                None if *who == "U" => vec![("user", json!(text))],
                None => vec![("assistant", json!([{"type": "text", "text": text}]))],
            };
            for (role, content) in messages {
                let at = self.time(hour);
                let line = json!({
                    "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": folder, "type": role,
                    "sessionId": session, "version": "2.1.330", "gitBranch": "main", "timestamp": at,
                    "message": {"role": role, "content": content, "id": format!("msg_{session}_{}", self.n), "model": "made-up-1"},
                    "uuid": format!("{session}-{}", self.n),
                });
                lines += &format!("{line}\n");
            }
        }
        let path = self.world.test.folder("claude").join(format!("{session}.jsonl"));
        fs::write(&path, lines).unwrap();
        self.import(&[path.to_str().unwrap()]);
    }

    /// Writes a session of Codex.
    fn codex(&mut self, folder: &Path, session: &str, hour: usize, said: &[(&str, &str, &str)]) {
        let at = self.time(hour);
        let meta = json!({"timestamp": at, "type": "session_meta", "payload": {
            "id": session, "timestamp": at, "cwd": folder, "originator": "codex_cli_rs", "cli_version": "0.169.0",
            "source": "cli", "model_provider": "openai", "git": {"branch": "main"}}});
        let mut lines = format!("{meta}\n");
        for (who, text, result) in said {
            let call = format!("call_{session}_{}", self.n);
            let message = |role: &str, kind: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
            let items = match *who {
                "U" => vec![message("user", "input_text")],
                "A" => vec![message("assistant", "output_text")],
                _ => vec![
                    json!({"type": "custom_tool_call", "call_id": call, "name": &who[2..], "input": text, "status": "completed"}),
                    json!({"type": "custom_tool_call_output", "call_id": call, "output": result}),
                ],
            };
            for payload in items {
                let line = json!({"timestamp": self.time(hour), "type": "response_item", "payload": payload});
                lines += &format!("{line}\n");
            }
        }
        let path = self.world.test.folder("codex").join(format!("rollout-2026-11-24T{hour:02}-00-00-{session}.jsonl"));
        fs::write(&path, lines).unwrap();
        self.import(&[path.to_str().unwrap()]);
    }

    /// Writes a conversation that a program of its own appends, turn by turn.
    fn chat(&mut self, session: &str, hour: usize, said: &[(&str, &str)]) {
        let mut lines = String::new();
        for (who, text) in said {
            let role = if *who == "Mara" { "user" } else { "assistant" };
            let at = self.time(hour);
            let id = format!("{session}-{}", self.n);
            let line = json!({"session": session, "id": id, "time": at, "speaker": who, "role": role, "text": text,
                "participants": ["Mara", "Pip"]});
            lines += &format!("{line}\n");
        }
        let out = self.at_evening(&["append"], lines.as_bytes());
        assert_eq!(out.status, Some(0), "{out:?}");
    }

    fn import(&self, args: &[&str]) {
        let out = self.at_evening(&[&["import"], args].concat(), b"");
        assert_eq!(out.status, Some(0), "{out:?}");
    }

    /// Does all due work, and returns the pages after it, by path.
    fn pages(&self) -> BTreeMap<String, String> {
        let out = self.at_evening(&["work", "--drain"], b"");
        assert_eq!(out.status, Some(0), "{out:?}");
        self.json(&["status"]);
        let tree = self.world.test.home().join("workspaces/main");
        let name = |path: &Path| path.strip_prefix(&tree).unwrap().to_string_lossy().into_owned();
        files(&tree, ".md").iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
    }

    fn open_loops(&self) -> BTreeSet<String> {
        let listed = self.json(&["loop", "list"]);
        let lists: Vec<&Value> = ["loops", "items", "unfiled"].iter().filter_map(|name| listed.get(name)).collect();
        let all = lists.iter().flat_map(|list| list.as_array().unwrap());
        all.map(|l| l["id"].as_str().unwrap_or_else(|| panic!("{l}")).to_owned()).collect()
    }
}

/// Makes the day: a morning in the shop, an afternoon in it with another program, the site of the garden, and a chat.
fn day() -> Day {
    let mut day = Day { world: World::new(), n: 0 };
    let (shop, garden) = (day.world.test.folder("shop"), day.world.test.folder("garden"));
    for folder in [&shop, &garden] {
        fs::create_dir_all(folder.join(".git")).unwrap();
    }
    let edit = |file: &str| format!("{{\"file_path\": \"{file}\", \"old_string\": \"a\", \"new_string\": \"b\"}}");
    day.claude(
        &shop,
        "11111111-aaaa-4aaa-8aaa-111111111111",
        9,
        &[
            ("U", "Vouchers can be redeemed twice in the shop. Find out why and mend it. Never change the price table.", ""),
            ("C Bash", "{\"command\": \"cargo test vouchers\"}", "test redeemed_twice ... FAILED\n\ntest result: FAILED. 11 passed; 1 failed"),
            ("C Edit", &edit(&format!("{}/src/vouchers.rs", shop.display())), "ok"),
            ("C Bash", "{\"command\": \"cargo test vouchers\"}", "test result: ok. 12 passed; 0 failed"),
            ("A", "A voucher is locked while it is redeemed now; all 12 tests pass. The old vouchers without a number are not migrated yet.", ""),
            ("U", "Good. Let's use Redis for the locks. And I promised Lena the list of old vouchers by Friday.", ""),
            ("A", "Noted.", ""),
        ],
    );
    day.codex(
        &garden,
        "22222222-bbbb-4bbb-8bbb-222222222222",
        13,
        &[
            (
                "U",
                "Put the opening hours of the garden on the start page, and always write times as 9:00, never 9 am.",
                "",
            ),
            (
                "C apply_patch",
                "*** Begin Patch\n*** Update File: index.html\n@@\n-a\n+b\n*** End Patch",
                "Success. Updated the following files:\nM index.html",
            ),
            ("A", "The opening hours stand on the start page. Should the winter hours be shown in summer, too?", ""),
        ],
    );
    day.codex(
        &shop,
        "33333333-cccc-4ccc-8ccc-333333333333",
        16,
        &[
            ("U", "No Redis after all, we use a row lock in Postgres for the locks. Change it.", ""),
            (
                "C apply_patch",
                "*** Begin Patch\n*** Update File: src/vouchers.rs\n@@\n-a\n+b\n*** End Patch",
                "Success. Updated the following files:\nM src/vouchers.rs",
            ),
            ("A", "The voucher's row is locked in Postgres now, and Redis is out of the code.", ""),
        ],
    );
    day.chat(
        "mail:pip",
        18,
        &[
            ("Mara", "Pip, remind me to order the bulbs for the garden by 30 November."),
            ("Pip", "Noted: the bulbs by 30 November."),
        ],
    );
    day
}

#[test]
fn the_evening_tells_the_day_and_nothing_twice() {
    let day = day();
    let pages = day.pages();
    let memory = &pages["MEMORY.md"];
    println!("{memory}");
    for (name, page) in pages.iter().filter(|(name, _)| name.contains("/threads/project-")) {
        println!("## {name}\n{page}");
    }
    for told in ["vouchers", "Lena", "bulbs", "opening hours"] {
        assert!(memory.contains(told), "{told}: {memory}");
    }
    let lena = memory.lines().find(|l| l.contains("Lena")).unwrap();
    assert!(lena.contains("due 27 Nov"), "{lena}");
    assert_eq!(memory.matches("old vouchers by Friday").count(), 1, "{memory}");
    // The afternoon's decision is shown with the one it replaces; the morning's failure is over.
    let shop = pages.iter().find(|(name, _)| name.contains("threads/project-shop")).unwrap().1;
    let decided: Vec<&str> = shop.lines().filter(|l| l.contains("Redis") && l.contains("Postgres")).collect();
    assert!(decided.iter().any(|l| l.contains("(replaces: ")), "{shop}");
    assert!(!shop.contains("Blocked"), "{shop}");
}

/// Every line under a heading for open items ends in an id; the id is in the list of loops, and resolving it closes the
/// item on every page.
#[test]
fn whatever_a_page_shows_as_open_can_be_closed_by_its_id() {
    let day = day();
    let ids = |page: &str| -> BTreeSet<String> {
        let of = |line: &str| {
            line.split('[').skip(1).filter_map(|r| r.split(']').next()).map(str::to_owned).collect::<Vec<_>>()
        };
        page.lines().flat_map(of).filter(|id| id.starts_with("l:")).collect()
    };
    let is_open = |heading: &str| ["Open", "Open loops", "Commitments", "Blocked", "Waiting"].contains(&heading);
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let listed = day.open_loops();
    for (name, page) in day.pages() {
        // A loop's own file has its id in the front matter; lines a person wrote are not closed by us.
        if name.contains("/open-loops/") {
            continue;
        }
        let mut heading = String::new();
        for line in page.lines() {
            if let Some(title) = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')) {
                heading = title.to_owned();
            }
            let open = is_open(&heading) || line.contains("Still open: ") || line.contains("Open at the end: ");
            if open && line.starts_with("- ") && !line.starts_with("- … and") {
                assert!(!ids(line).is_empty(), "{name}: {line}");
            }
        }
        for id in ids(&page) {
            shown.entry(id).or_default().push(name.clone());
        }
    }
    assert!(shown.len() >= 3, "{shown:?}");
    for (id, names) in &shown {
        assert!(listed.contains(id), "{id} on {names:?} is not in {listed:?}");
    }
    for id in shown.keys() {
        let out = day.at_evening(&["loop", "resolve", id], b"");
        assert_eq!(out.status, Some(0), "{id}: {out:?}");
    }
    assert!(day.open_loops().is_disjoint(&shown.keys().cloned().collect()));
    for (name, page) in day.pages() {
        let left: Vec<&String> = shown.keys().filter(|id| page.contains(&format!("[{id}]"))).collect();
        // Pages of a week or month, and the page for resuming a session, are rendered again when more of the session is
        // distilled.
        let later = ["/open-loops/", "/rollups/", "/runtime/"].iter().any(|part| name.contains(part));
        assert!(left.is_empty() || later, "{name} still shows {left:?}:\n{page}");
    }
}
