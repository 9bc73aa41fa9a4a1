//! Pages about the moment: the latest turn of a project, its blockers, its recent turns, and the page for resuming a
//! session (R5.2).

use heirloom_engine::continuity::open_loop::{self, NewLoop};
use heirloom_engine::lineage::Kind;
use heirloom_engine::lineage::distillate::{Distillate, Touch, TouchedFile};
use heirloom_engine::render;
use heirloom_engine::render::continuity::{place_of_session, recent_enough, write_turn_continuity};
use heirloom_engine::tokens::tokens;
use heirloom_engine::tree::file_table::{self, Kind as File};
use serde_json::json;

use crate::story::{DAY, HOUR, MINUTE, NOON, Story, answer, ended, item, titled, tool, user, within};

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

#[test]
fn the_latest_turn_that_is_over_with_all_that_leads_further() {
    let story = Story::new();
    let api = story.project("api");
    let edit = json!({"file_path": api.join("src/orders.rs"), "new_string": "x"});
    let mut lines = vec![within(&api), user("Move the orders to the new table", NOON - HOUR)];
    lines.extend(tool("Edit", edit, "ok", false, NOON - 50 * MINUTE));
    lines.extend(tool("Bash", json!({"command": "cargo test"}), "1 failed", true, NOON - 49 * MINUTE));
    lines.push(answer("Moved.\nAll orders are in the new table now.", NOON - 40 * MINUTE));
    lines.push(ended("completed", "end_turn", NOON - 40 * MINUTE));
    lines.push(user("Now the invoices", NOON - MINUTE));
    story.said("s", &lines);
    story.refresh();
    let turns = story.turns("s");
    let t = |n: usize| turns[n].id;
    assert_eq!(
        story.page("latest-turn.md"),
        format!(
            "- Completed (end_turn) · 2026-11-21 11:20 · little · `little:s` [{0}]\n\
             - Asked: Move the orders to the new table [{0}]\n\
             - Answered: Moved. All orders are in the new table now. [{1}]\n\
             - Files: src/orders.rs [{2}]\n\
             - Tools: 1 of the last 2 failed [{3}]\n\
             - Still open since 2026-11-21 11:59: Now the invoices · `little:s` [{4}]\n",
            t(0),
            t(5),
            t(1),
            t(4),
            t(6)
        )
    );
    assert_eq!(
        story.page("recent-turns.md"),
        format!(
            "- 2026-11-21 11:59 open: Now the invoices · little [{}]\n\
             - 2026-11-21 11:20 completed: Move the orders to the new table · little [{} {}]\n",
            t(6),
            t(0),
            t(5)
        )
    );
}

#[test]
fn a_run_that_says_no_time_comes_behind_the_others_of_its_session() {
    let story = Story::new();
    story.said("s", &[user("First", NOON - HOUR), answer("One", NOON - HOUR)]);
    story.said("s", &[json!({"role": "user", "text": "Second"}), json!({"role": "assistant", "text": "Two"})]);
    story.said("s", &[json!({"role": "user", "text": "Third"})]);
    story.refresh();
    let latest = story.page("latest-turn.md");
    assert!(latest.contains("- Asked: Second") && latest.contains("- Still open: Third"), "{latest}");
}

/// The blockers of a project are those on the pages of its sessions, and disappear from both together.
#[test]
fn blockers_say_what_the_page_of_the_session_says() {
    let story = Story::new();
    let api = story.project("api");
    story.said("s", &[within(&api), user("Make the orders green", NOON - 3 * HOUR), answer("Red", NOON - 3 * HOUR)]);
    let turn = story.turn("s", "Red");
    let d = Distillate { blocked: vec![item("cargo test orders fails", turn)], ..Distillate::default() };
    story.summed_up("s", &[Kind::Session], "Red.", &d);
    story.refresh();
    let id = "l:cargo-test-orders-fails-";
    let (blockers, session) = (story.page("blockers.md"), story.page("session-memory/"));
    assert!(blockers.contains("- Blocked: cargo test orders fails · [l:"), "{blockers}");
    assert!(blockers.contains(id) && session.contains(id), "{session}");
    let at = story.at();
    let found = at.read(|tx| heirloom_engine::render::unfiled::unfiled(&at, tx)).unwrap();
    let own = found.iter().find(|u| u.id.starts_with(id)).unwrap();
    open_loop::resolve_any(&at.lock().unwrap(), std::slice::from_ref(&own.id), None, &|_| Ok(Some(own.file())))
        .unwrap();
    write_turn_continuity(&at, &[story.session_no("s")]).unwrap();
    let (blockers, session) = (story.page("blockers.md"), story.page("session-memory/"));
    assert!(!blockers.contains(id) && !session.contains(id), "{blockers}{session}");
}

#[test]
fn what_failed_and_was_not_mended_is_in_the_way() {
    let story = Story::new();
    let api = story.project("api");
    let test = || json!({"command": "cargo test -q"});
    let push = || json!({"command": "git push origin"});
    let mut lines = vec![within(&api), user("Make it green", NOON - 3 * HOUR)];
    // One command fails twice and then works; one fails once in between; one fails to the end.
    lines.extend(tool("Bash", test(), "error: expected one of", true, NOON - 170 * MINUTE));
    lines.extend(tool("Bash", json!({"command": "ls nowhere"}), "no such file", true, NOON - 169 * MINUTE));
    lines.extend(tool("Bash", test(), "error: mismatched types", true, NOON - 168 * MINUTE));
    lines.extend(tool("Bash", test(), "ok", false, NOON - 167 * MINUTE));
    lines.extend(tool("Fetch", json!({"path": "a"}), "connection refused", true, NOON - 166 * MINUTE));
    lines.extend(tool("Bash", push(), "Permission denied (publickey)", true, NOON - 165 * MINUTE));
    lines.extend(tool("Fetch", json!({"path": "a"}), "connection refused", true, NOON - 164 * MINUTE));
    lines.push(answer("The rest works.", NOON - 160 * MINUTE));
    lines.push(user("Once more", NOON - 2 * HOUR));
    lines.extend(tool("Bash", push(), "Permission denied (publickey)", true, NOON - 100 * MINUTE));
    lines.push(ended("failed", "overloaded", NOON - 90 * MINUTE));
    story.said("s", &lines);
    story.refresh();
    let turns = story.turns("s");
    let of = |text: &str| turns.iter().filter(|t| t.text == text).map(|t| t.id.to_string()).collect::<Vec<_>>();
    assert_eq!(
        story.page("blockers.md"),
        format!(
            "- A turn failed (overloaded): Once more · 2026-11-21 10:30 · little [{}]\n\
             - Not allowed 2 times: Bash `git push`: Permission denied (publickey) [{}]\n\
             - Failed 2 times: Fetch `a`: connection refused [{}]\n",
            of("Once more").join(" "),
            of("Permission denied (publickey)").join(" "),
            of("connection refused").join(" ")
        )
    );
    // The command works again: nothing is blocked.
    let mut lines = vec![user("And now?", NOON - HOUR)];
    lines.extend(tool("Fetch", json!({"path": "a"}), "ok", false, NOON - 50 * MINUTE));
    lines.push(answer("Works.", NOON - 40 * MINUTE));
    lines.push(ended("completed", "end_turn", NOON - 40 * MINUTE));
    story.said("s", &lines);
    story.refresh();
    assert_eq!(
        story.page("blockers.md"),
        format!(
            "- Not allowed 2 times: Bash `git push`: Permission denied (publickey) [{}]\n",
            of("Permission denied (publickey)").join(" ")
        )
    );
}

#[test]
fn pages_stay_small_whatever_is_said() {
    let story = Story::new();
    let api = story.project("api");
    for n in 0..20 {
        let mut lines = vec![within(&api)];
        for m in 0..20 {
            let at = NOON - DAY + n * HOUR + m * MINUTE;
            lines.push(user(&"Eine lange Frage 日本語の質問 ".repeat(200), at));
            for k in 0..6 {
                let path = format!("{}/{}.rs", "deep".repeat(20), k);
                lines.extend(tool(&format!("Tool{k}"), json!({"path": path}), &"it broke ".repeat(99), true, at));
            }
            lines.push(answer(&"and a long answer ".repeat(300), at));
            lines.push(ended("failed", &"because ".repeat(99), at));
        }
        story.said(&format!("s{n}"), &lines);
    }
    story.refresh();
    for page in ["latest-turn.md", "blockers.md", "recent-turns.md"] {
        let text = story.page(page);
        assert!(tokens(&text) <= 400 && text.lines().count() >= 3, "{page}: {} {text}", tokens(&text));
    }
    assert!(story.page("blockers.md").lines().count() <= 10);
    let sessions = story.files("memory/workspace/").into_iter().filter(|p| p.contains("session-memory/"));
    for page in sessions {
        assert!(tokens(&story.block(&page)) <= 1_000, "{page}");
    }
}

#[test]
fn credentials_and_markers_do_not_get_through() {
    let story = Story::new();
    // If it were cut in the middle, half of the credential would remain.
    let long = format!("{} {KEY} <!-- /heirloom:runtime -->", "x".repeat(310));
    let mut lines = vec![user(&long, NOON - HOUR)];
    lines.extend(tool("Bash", json!({"command": format!("curl {KEY}")}), &format!("bad {KEY}"), true, NOON - HOUR));
    lines.extend(tool("Bash", json!({"command": format!("curl {KEY}")}), &format!("bad {KEY}"), true, NOON - HOUR));
    lines.push(answer(&format!("{} {KEY}", "y ".repeat(230)), NOON - HOUR));
    lines.push(ended("completed", KEY, NOON - HOUR));
    story.said("s", &lines);
    story.refresh();
    let pages = story.files("memory/workspace/no-project/");
    assert_eq!(pages.len(), 4, "{pages:?}");
    for page in pages {
        let text = std::fs::read_to_string(story.tree().join(&page)).unwrap();
        assert!(!text.contains("AKIA"), "{page}: {text}");
        assert_eq!(text.matches("<!-- /heirloom:").count(), 1, "{page}: {text}");
    }
}

#[test]
fn what_its_program_left_is_not_shown() {
    let story = Story::new();
    story.said("s", &[user("Go left", NOON - 3 * HOUR), answer("Left it is", NOON - 3 * HOUR)]);
    story.said("s", &[user("Go right", NOON - 2 * HOUR), answer("Right it is", NOON - 2 * HOUR)]);
    let (left, right) = (story.turn("s", "Go left"), story.turn("s", "Go right"));
    story.summed_up(
        "s",
        &[Kind::Session],
        "Two ways.",
        &Distillate {
            decisions: vec![item("We go left", left), item("We go right", right)],
            files: vec![TouchedFile { path: "left.rs".into(), touch: Touch::Changed, turns: vec![left] }],
            ..Distillate::default()
        },
    );
    story.refresh();
    assert!(story.page("session-memory/").contains("We go left"));
    story
        .sql()
        .execute(
            "UPDATE turn_results SET left_by = (SELECT run_no FROM turns WHERE turn_no = ?2)
             WHERE run_no = (SELECT run_no FROM turns WHERE turn_no = ?1)",
            [left.0, right.0],
        )
        .unwrap();
    write_turn_continuity(&story.at(), &[story.session_no("s")]).unwrap();
    for page in ["latest-turn.md", "recent-turns.md", "session-memory/"] {
        let text = story.page(page);
        // The thread is still named after its first prompt.
        let told = text.replace("Thread: Go left", "").to_lowercase();
        assert!(!told.contains("left") && text.contains("right"), "{page}: {text}");
    }
}

#[test]
fn a_session_is_told_to_whoever_resumes_it() {
    let story = Story::new();
    let api = story.project("api");
    story.said("s", &[within(&api), titled("Orders"), user("Move the orders", NOON - 5 * HOUR)]);
    story.said(
        "s",
        &[answer("We decided to keep both tables", NOON - 5 * HOUR), ended("completed", "end_turn", NOON - 5 * HOUR)],
    );
    let t = |text: &str| story.turn("s", text);
    let (asked, answered) = (t("Move the orders"), t("We decided to keep both tables"));
    // Without a node the page shows the first and last turns.
    story.refresh();
    let head = "- About: Orders\n- Session: `little:s` · little · project api\n";
    let how = "- Resume: `s` in `…/api`; how: `heirloom session show little:s`\n";
    assert_eq!(
        story.page("session-memory/"),
        format!(
            "{head}- From 2026-11-21 07:00 to 2026-11-21 07:00 · not ended\n{how}\
             \n## Goal\n- Move the orders [{asked}]\n## Decisions\n- We decided to keep both tables [{answered}]\n\n\
             ## Last said\n- Asked: Move the orders [{asked}]\n- Answered: We decided to keep both tables [{answered}]\n\n\
             ## Boundary\n- Never compacted · epoch 0\n- Last messages: [{asked} {answered}]\n"
        )
    );
    let new = NewLoop { title: "Write the changelog".into(), ..NewLoop::default() };
    let open = open_loop::add(&story.at().lock().unwrap(), &new).unwrap();
    let d = Distillate {
        goal: Some(item("Move the orders", asked)),
        decisions: vec![item("We decided to keep both tables", answered)],
        open_loops: vec![
            heirloom_engine::lineage::distillate::Item {
                file: Some(open.id.clone()),
                ..item("Write the changelog", answered)
            },
            item("Ask Mara", answered),
        ],
        ..Distillate::default()
    };
    let nodes = story.summed_up("s", &[Kind::Compaction], "Orders are moved.", &d);
    story.cut("s", nodes[1], asked, &[answered], NOON - 4 * HOUR);
    story.said("s", &[user("And the invoices?", NOON - 3 * HOUR)]);
    story.refresh();
    let later = t("And the invoices?");
    let id = &open.id;
    let thread = story.page("session-memory/");
    let thread = thread.lines().find(|l| l.starts_with("- Thread: api · `project/api--")).unwrap();
    let told = |loops: &str| {
        format!(
            "{head}{thread}\n- From 2026-11-21 07:00 to 2026-11-21 09:00 · not ended\n{how}\
             - Distilled: [{node}]\n\n\
             ## Goal\n- Move the orders [{asked}]\n\
             ## In progress\n- And the invoices? [{later}]\n\
             ## Open loops\n{loops}- Ask Mara [l:ask-mara-edf7b6]\n\
             ## Decisions\n- We decided to keep both tables [{answered}]\n\n\
             ## Last said\n- Asked: And the invoices? [{later}]\n\n\
             ## Boundary\n- Compacted up to [{asked}] · harness · 2026-11-21 08:00 · epoch 1 [{node}]\n\
             - Restored in this order: handoff → snapshot → tail → hot files → recall\n\
             - Raw tail: [{answered} {later}]\n",
            node = nodes[1]
        )
    };
    assert_eq!(story.page("session-memory/"), told(&format!("- Write the changelog [{id}]\n")));
    // The item was resolved since: it is left out, although the node still has it.
    open_loop::resolve(&story.at().lock().unwrap(), std::slice::from_ref(id), Some("done")).unwrap();
    write_turn_continuity(&story.at(), &[story.session_no("s")]).unwrap();
    assert_eq!(story.page("session-memory/"), told(""));
}

#[test]
fn projects_and_agents_keep_apart() {
    let story = Story::new();
    let (api, blog) = (story.project("api"), story.project("blog"));
    story.said("a", &[within(&api), user("About the api", NOON - HOUR)]);
    story.said("b", &[within(&blog), user("About the blog", NOON - HOUR)]);
    story.said("c", &[user("About nothing", NOON - HOUR)]);
    story.refresh();
    let mains: Vec<String> = story.files("memory/workspace/");
    assert_eq!(mains.len(), 12, "{mains:?}");
    for page in &mains {
        let about = ["api", "blog", "nothing"]
            .map(|word| story.block(page).contains(&format!("About the {word}").replace("the nothing", "nothing")));
        let expected = ["workspace/api--", "workspace/blog--", "workspace/no-project/"].map(|w| page.contains(w));
        assert!(about == expected || page.contains("blockers"), "{page}: {}", story.block(page));
    }
    let main_no = story.agent_no;
    let story = story.of("ada");
    story.said("z", &[user("Of somebody else", NOON - HOUR)]);
    story.refresh();
    let pages = story.files("memory/workspace/");
    assert!(pages.len() == 4 && pages.iter().all(|p| p.contains("/no-project/")), "{pages:?}");
    assert!(!story.page("recent-turns.md").contains("About"));
    // A session of another agent counts as no session.
    let no = story.session_no("z");
    let of = |agent| story.ledger.read(|tx| place_of_session(tx, agent, no)).unwrap();
    assert_eq!(of(main_no), None);
    let pages: Vec<String> = of(story.agent_no).unwrap().pages().iter().map(ToString::to_string).collect();
    assert_eq!(pages.len(), 4);
    assert_eq!(pages[..3], ["latest-turn", "blockers", "recent-turns"].map(|p| format!("runtime/no-project/{p}")));
    // A project that was moved has its pages under its new place.
    let story = story.of("main");
    let roots = [&api, &blog].map(|p| p.canonicalize().unwrap().display().to_string());
    let alias = heirloom_engine::ledger::Audit::new("test", "workspace.alias");
    story
        .ledger
        .write(alias, |tx| {
            heirloom_engine::transcript::workspaces::alias_workspace(tx, story.agent_no, &roots[0], &roots[1])
        })
        .unwrap();
    write_turn_continuity(&story.at(), &[story.session_no("a")]).unwrap();
    let moved = story.files("memory/workspace/").into_iter().find(|p| p.contains("/blog--") && p.contains("recent"));
    let text = story.block(&moved.unwrap());
    assert!(text.contains("About the api") && text.contains("About the blog"), "{text}");
}

#[test]
fn they_are_no_memory_and_what_people_write_in_them_is_kept() {
    let story = Story::new();
    story.said("s", &[user("Hello", NOON - HOUR)]);
    story.refresh();
    let at = story.at();
    heirloom_engine::tree::scan::scan(&at).unwrap();
    let rows = at.read(|tx| file_table::all(tx, story.agent_no)).unwrap();
    let ours: Vec<_> = rows.iter().filter(|e| e.path.as_str().contains("/runtime/")).collect();
    assert!(ours.len() == 4 && ours.iter().all(|e| e.kind == File::Runtime && e.problem.is_none()), "{ours:?}");
    assert_eq!(at.read(|tx| file_table::workspaces(tx, story.agent_no)).unwrap(), [""; 0]);
    for page in ours {
        let path = story.tree().join(page.path.as_str());
        let before = std::fs::read_to_string(&path).unwrap();
        let mine = before.replacen("-->\n", "-->\n- my own line inside\n", 1) + "Mine below.\n";
        std::fs::write(&path, &mine).unwrap();
        crate::tree::rest(&path);
        heirloom_engine::tree::scan::scan(&at).unwrap();
        story.refresh();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before + "Mine below.\n", "{}", page.path);
        let kept = at
            .read(|tx| heirloom_engine::tree::revise::revisions(tx, story.agent_no, Some(page.path.as_str()), 9))
            .unwrap();
        assert_eq!(kept.iter().map(|r| r.bytes.clone()).collect::<Vec<_>>(), [mine.into_bytes()], "{}", page.path);
    }
}

#[test]
fn rendered_again_they_are_the_same() {
    let story = Story::new();
    let api = story.project("api");
    story.said("s", &[within(&api), user("Hello", NOON - HOUR), answer("Hi", NOON - HOUR), user("And", NOON - MINUTE)]);
    story.summed_up("s", &[Kind::Session], "They met. Then more.", &Distillate::default());
    story.refresh();
    let before = crate::place::files(&story.tree());
    story.sql().execute("UPDATE heads SET dirty = dirty + 1 WHERE head NOT IN ('days', 'nodes', 'owed')", []).unwrap();
    let refreshed = story.refresh();
    assert!(refreshed.written.is_empty(), "{:?}", refreshed.written);
    assert_eq!(crate::place::files(&story.tree()), before);
    // Without new turns nothing is marked or looked at again.
    let audited = story.sql().query_row("SELECT count(*) FROM audit", [], |r| r.get::<_, i64>(0)).unwrap();
    story.refresh();
    assert_eq!(story.sql().query_row("SELECT count(*) FROM audit", [], |r| r.get::<_, i64>(0)).unwrap(), audited);
}

#[test]
fn history_gets_its_pages_when_it_is_touched() {
    let story = Story::new();
    story.said("old", &[user("Long ago", NOON - 400 * DAY)]);
    story.said("new", &[user("Just now", NOON - DAY)]);
    story.refresh();
    let pages = story.files("memory/workspace/");
    assert!(pages.iter().filter(|p| p.contains("session-memory/")).count() == 1, "{pages:?}");
    write_turn_continuity(&story.at(), &[story.session_no("old")]).unwrap();
    assert!(story.page("session-memory/little-old--").contains("Long ago"));
    assert!(recent_enough(NOON, Some(NOON - 31 * DAY)) && !recent_enough(NOON, Some(NOON - 31 * DAY - 1)));
    assert!(!recent_enough(NOON, None));
}

/// A page that cannot be written is noted in the audit; the program that stored the turn is not affected.
#[test]
fn a_page_that_cannot_be_written_is_audited_and_stays_marked() {
    let story = Story::new();
    story.said("s", &[user("Hello", NOON - HOUR)]);
    let in_the_way = story.tree().join("memory/workspace/no-project/runtime/latest-turn.md");
    std::fs::create_dir_all(&in_the_way).unwrap();
    write_turn_continuity(&story.at(), &[story.session_no("s")]).unwrap();
    let failed = "SELECT count(*) FROM audit WHERE action = 'continuity.refresh_failed'";
    assert_eq!(story.sql().query_row(failed, [], |r| r.get::<_, i64>(0)).unwrap(), 1);
    std::fs::remove_dir(&in_the_way).unwrap();
    story.refresh();
    assert!(story.page("latest-turn.md").contains("Hello"));
}

/// An import brings thousands of sessions, most of which nobody resumes.
#[test]
fn of_many_sessions_at_once_the_newest_have_a_page() {
    let story = Story::new();
    let api = story.project("api");
    for n in 0..70 {
        let name = format!("s{n:02}");
        story.said(
            &name,
            &[
                within(&api),
                user(&format!("Check batch {n}"), NOON - HOUR),
                answer("Checked.", NOON - 59 * MINUTE),
                ended("completed", "end_turn", NOON - 59 * MINUTE),
            ],
        );
    }
    story.refresh();
    let pages = || -> Vec<String> {
        let all = story.files("memory/workspace");
        all.into_iter().filter(|path| path.contains("session-memory/")).collect()
    };
    let names = pages();
    assert_eq!(names.len(), 64, "{names:?}");
    assert!(
        !names.iter().any(|name| name.contains("s05")) && names.iter().any(|name| name.contains("s06")),
        "{names:?}"
    );
    // Nothing is left to do, and a session that continues gets its page.
    assert!(!render::is_dirty(&story.at()).unwrap());
    story.said("s00", &[user("Check it again", NOON - MINUTE), answer("Checked again.", NOON)]);
    story.refresh();
    assert_eq!(pages().len(), 65);
}
