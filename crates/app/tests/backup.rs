//! `heirloom backup` and `restore --from`: a copy taken while programs write, compared, put back, equal byte for byte.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::world::{HEIRLOOM, World, claude_line, let_it_settle, listing};

fn told(world: &World, sessions: usize) -> std::path::PathBuf {
    let folder = world.test.folder("sessions");
    for n in 0..sessions {
        let session = format!("{n:08}-0000-4000-8000-000000000000");
        let lines: String = (0..20)
            .map(|i| {
                claude_line(&session, i, if i % 2 == 0 { "user" } else { "assistant" }, &format!("{n} says {i}")) + "\n"
            })
            .collect();
        fs::write(folder.join(format!("{session}.jsonl")), lines).unwrap();
    }
    let_it_settle();
    folder
}

#[test]
fn a_backup_taken_under_load_is_put_back_equal() {
    let world = World::new();
    let folder = told(&world, 12);
    world.json(&["remember", "--class", "preference", "Answer in short sentences"]);
    world.json(&["import", folder.join("00000000-0000-4000-8000-000000000000.jsonl").to_str().unwrap()]);
    // Another process stores the rest meanwhile.
    let mut import = world.test.command(HEIRLOOM);
    import.args(["import", folder.to_str().unwrap()]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = import.spawn().unwrap();
    let copy = world.test.user().join("copy");
    let to = copy.to_str().unwrap().to_owned();
    let report = world.json(&["backup", &to]);
    import.wait().unwrap();
    assert_eq!(report["backup"], to);
    assert!(report["files"].as_u64().unwrap() > 5, "{report}");
    for (path, _) in listing(&copy) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    assert!(world.says(3, &["backup", &to]).contains("is not empty"));
    assert!(world.says(3, &["backup", world.test.home().join("b").to_str().unwrap()]).contains("inside the home"));

    let other = world.test.user().join("other");
    let home = other.to_str().unwrap().to_owned();
    let said = world.says(0, &["--home", &home, "restore", "--from", &to]);
    assert!(said.contains("Back again in"), "{said}");
    assert_eq!(world.json(&["--home", &home, "verify"])["ok"], true);
    let sessions = world.json(&["--home", &home, "session", "list", "-n", "1000"]);
    let sessions = sessions["sessions"].as_array().unwrap();
    assert!(!sessions.is_empty());
    for session in sessions {
        let key = session["session"].as_str().unwrap();
        let path = folder.join(format!("{}.jsonl", key.split(':').nth(1).unwrap()));
        let out = world.run(&["--home", &home, "export", "--session", key]);
        let file = fs::read_to_string(&path).unwrap();
        assert!(file.starts_with(&out.stdout) && !out.stdout.is_empty(), "{key} came back as something else");
    }
    assert!(world.says(0, &["--home", &home, "memory", "list"]).contains("Answer in short sentences"));
    assert!(world.says(3, &["--home", &home, "restore", "--from", &to]).contains("has a memory already"));
}

#[test]
fn a_backup_that_was_changed_is_not_put_back() {
    let world = World::new();
    world.json(&["loop", "add", "Paint the barn"]);
    let copy = world.test.user().join("copy");
    let to = copy.to_str().unwrap().to_owned();
    world.json(&["backup", &to]);
    let page = copy.join("workspaces/main/MEMORY.md");
    let text = fs::read(&page).unwrap();
    let other = world.test.user().join("other");
    let restore = ["--home", other.to_str().unwrap(), "restore", "--from", &to];
    fs::write(&page, "changed").unwrap();
    assert!(world.says(5, &restore).contains("is not what was backed up"));
    fs::remove_file(&page).unwrap();
    assert!(world.says(5, &restore).contains("is missing"));
    assert!(!other.exists(), "nothing was begun");
    let list = fs::read_to_string(copy.join("backup.json")).unwrap();
    fs::write(copy.join("backup.json"), list.replace("workspaces/main/MEMORY.md", "../MEMORY.md")).unwrap();
    world.says(5, &restore);
    fs::write(copy.join("backup.json"), list).unwrap();
    fs::write(&page, text).unwrap();
    world.says(0, &restore);
    assert!(world.says(4, &["restore", "--from", "/nowhere"]).contains("is no backup"));
}
