//! Drafts of recurring procedures as a reviewer sees them: with the words they are made of, and taken back (R11.4).

use serde_json::json;

use crate::world::World;

/// Three sessions of a project in which the same commands succeeded in the same order.
fn with_a_procedure() -> World {
    let world = World::new();
    let project = world.test.folder("lighthouse");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    for session in 1..=3 {
        let mut lines = String::new();
        let mut n = 0;
        let mut line = |role: &str, content: serde_json::Value| {
            n += 1;
            let line = json!({
                "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": project, "type": role,
                "sessionId": format!("lamp-{session}"), "version": "2.1.330", "gitBranch": "main",
                "timestamp": format!("2026-03-0{session}T10:00:{n:02}.000Z"), "uuid": format!("lamp-{session}-{n}"),
                "message": {"role": role, "content": content, "id": format!("msg-{session}-{n}"), "model": "made-up-1"},
            });
            lines += &format!("{line}\n");
        };
        line("user", json!("Please release the lamp service."));
        for (k, command) in ["make lint", "make package-lamp", "./scripts/deploy lamp --stage"].iter().enumerate() {
            let call = format!("toolu_{session}_{k}");
            line("assistant", json!([{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}]));
            line("user", json!([{"type": "tool_result", "tool_use_id": call, "content": "ok"}]));
        }
        line("assistant", json!([{"type": "text", "text": "The lamp service is released."}]));
        let path = world.test.folder("claude").join(format!("lamp-{session}.jsonl"));
        std::fs::write(&path, lines).unwrap();
        world.import(0, &[&path]);
        world.says(0, &["session", "end", &format!("claude-code:lamp-{session}")]);
    }
    world.says(0, &["work", "--drain"]);
    world.says(0, &["evolve"]);
    world
}

#[test]
fn a_draft_is_shown_with_the_words_it_is_made_of() {
    let world = with_a_procedure();
    let shown = world.says(0, &["skill", "show", "k:1"]);
    let evidence = shown.split("Seen in").nth(1).unwrap();
    for step in ["make lint", "make package-lamp", "scripts/deploy lamp --stage"] {
        assert!(evidence.contains(step), "{step} is not in: {evidence}");
    }
}

#[test]
fn a_draft_of_the_day_is_taken_back_with_it_and_can_return() {
    let world = with_a_procedure();
    let undone = world.says(0, &["evolve", "undo"]);
    assert!(undone.lines().any(|line| line.starts_with("taken back: k:1 ")), "{undone}");
    assert_eq!(world.json(&["skill", "list"])["skills"], json!([]));
    world.says(0, &["evolve"]);
    assert_eq!(world.json(&["skill", "list"])["skills"], json!([]), "it does not come again by itself");
    world.says(0, &["review", "undo", "k:1"]);
    assert_eq!(world.json(&["skill", "list"])["skills"][0]["id"], "k:1");
}

#[test]
fn a_no_after_a_yes_names_the_file_that_stays_and_undone_it_is_a_yes_again() {
    let world = with_a_procedure();
    world.says(0, &["skill", "accept", "k:1", "--into", "workspace"]);
    let path = world.json(&["skill", "show", "k:1"])["placed"][0].as_str().unwrap().to_owned();
    let said = world.says(0, &["skill", "reject", "k:1"]);
    assert!(said.contains(&path), "{said}");
    assert!(std::fs::exists(&path).unwrap());
    world.says(0, &["review", "undo", "k:1"]);
    assert_eq!(world.json(&["skill", "show", "k:1"])["state"], "accepted");
}
