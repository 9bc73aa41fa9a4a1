//! The file table follows the files, and acts survive changes and crashes half-way.

use heirloom_engine::error::ErrorKind;
use heirloom_engine::home::RelPath;
use heirloom_engine::tree::file_table::{self, Kind, State};
use heirloom_engine::tree::journal::{self, Act, Step};
use heirloom_engine::tree::{restore, revise, scan};

use crate::tree::{Tree, rest};

const LOOP: &str = "continuity/open-loops/call-mum.md";

#[test]
fn the_catalogue_follows_what_a_person_does_to_files() {
    let tree = Tree::new();
    tree.hand(LOOP, "# Call mum\n\nBefore Sunday.\n");
    assert_eq!(tree.items(Kind::OpenLoop, State::Active), ["l:call-mum"]);
    let seen = |tree: &Tree| tree.entries(Kind::OpenLoop, State::Active).remove(0);
    assert_eq!((seen(&tree).title.as_str(), seen(&tree).by_hand()), ("Call mum", true));

    // The file changes at once and keeps its length: times may not show the change, the digest does.
    let before = seen(&tree);
    std::fs::write(tree.path(LOOP), "# Call dad\n\nBefore Sunday.\n").unwrap();
    tree.items(Kind::OpenLoop, State::Active);
    assert_eq!(seen(&tree).title, "Call dad");
    assert!(seen(&tree).change_no > before.change_no);

    // A second scan without a change leaves everything as it is.
    let now = seen(&tree);
    assert_eq!(scan::scan(&tree.at()).unwrap().changed, 0);
    assert_eq!(seen(&tree), now);

    // The file disappears and comes back.
    std::fs::rename(tree.path(LOOP), tree.path("memory/kept.md")).unwrap();
    assert_eq!(tree.items(Kind::OpenLoop, State::Active), [""; 0]);
    assert_eq!(
        tree.entries(Kind::Note, State::Active).iter().filter(|e| e.path.as_str() == "memory/kept.md").count(),
        1
    );
    std::fs::rename(tree.path("memory/kept.md"), tree.path(LOOP)).unwrap();
    assert_eq!(tree.items(Kind::OpenLoop, State::Active), ["l:call-mum"]);
}

#[test]
fn catalogue_rows_are_derived() {
    let tree = Tree::new();
    tree.add("Water the plants");
    tree.hand("memory/preference/tea.md", "---\nclass: preference\n---\n# Tea, not coffee\n");
    tree.refresh();
    scan::scan(&tree.at()).unwrap();
    let rows = |tree: &Tree| -> Vec<(String, String, Option<String>, String)> {
        let all = tree.ledger.read(|tx| file_table::all(tx, tree.agent_no)).unwrap();
        all.into_iter()
            .map(|e| (e.path.as_str().to_owned(), e.title, e.item, serde_json::to_string(&e.fields).unwrap()))
            .collect()
    };
    let before = rows(&tree);
    assert!(before.len() > 8, "{before:?}");
    tree.sql().execute("DELETE FROM catalogue", []).unwrap();
    scan::scan(&tree.at()).unwrap();
    assert_eq!(rows(&tree), before);
}

#[test]
fn what_is_no_plain_file_is_named_and_left_out() {
    let tree = Tree::new();
    let canary = tree.folder.path().join("canary.md");
    std::fs::write(&canary, "# Secret\n").unwrap();
    std::os::unix::fs::symlink(&canary, tree.path("continuity/open-loops/link.md")).unwrap();
    std::fs::create_dir(tree.path("continuity/open-loops/folder.md")).unwrap();
    heirloom_testkit::named_pipe(&tree.path("continuity/open-loops/pipe.md"));
    std::fs::hard_link(&canary, tree.path("continuity/open-loops/hard.md")).unwrap();
    std::fs::create_dir(tree.path("memory/.obsidian")).unwrap();
    std::fs::write(tree.path("memory/.obsidian/hidden.md"), "x").unwrap();
    let scanned = scan::scan(&tree.at()).unwrap();
    assert_eq!(tree.entries(Kind::OpenLoop, State::Active), []);
    let said: Vec<String> = scanned.problems.iter().map(ToString::to_string).collect();
    for (name, why) in
        [("link.md", "symlink"), ("folder.md", "directory"), ("pipe.md", "no regular file"), ("hard.md", "hard links")]
    {
        assert!(said.iter().any(|s| s.contains(name) && s.contains(why)), "{name}: {said:?}");
    }
    assert!(!said.iter().any(|s| s.contains("hidden")), "{said:?}");
    let words = tree.count("SELECT count(*) FROM catalogue WHERE title = 'Secret'");
    assert_eq!(words, 0);
}

/// A folder that cannot be looked into says nothing about its files: they do not count as deleted.
#[test]
fn what_lies_behind_a_symlink_is_not_taken_for_deleted() {
    let tree = Tree::new();
    tree.add("Call mum");
    let at = tree.at();
    let (folder, aside) = (tree.path("continuity/open-loops"), tree.folder.path().join("aside"));
    std::fs::rename(&folder, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &folder).unwrap();
    let scanned = scan::scan(&at).unwrap();
    assert!(scanned.problems.iter().any(|p| p.what.contains("symlink")), "{:?}", scanned.problems);
    assert_eq!(tree.entries(Kind::OpenLoop, State::Active).len(), 1);
    assert_eq!(tree.ledger.read(|tx| restore::unsaid(tx, tree.agent_no)).unwrap(), []);
}

/// A file can change twice within one step of its times: what was seen in that step is read once more.
#[test]
fn a_file_seen_in_the_moment_of_its_change_is_read_again() {
    use std::os::unix::fs::MetadataExt;
    let tree = Tree::new();
    tree.hand(LOOP, "# Call mum\n");
    scan::scan(&tree.at()).unwrap();
    std::fs::write(tree.path(LOOP), "# Call dad\n").unwrap();
    let now = std::fs::metadata(tree.path(LOOP)).unwrap();
    // Leaves the row as a scan does that read the first text in the step in which the second was saved.
    let ns = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
    let (modified, changed) = (ns(now.mtime(), now.mtime_nsec()), ns(now.ctime(), now.ctime_nsec()));
    let set = "UPDATE catalogue SET modified_ns = ?1, changed_ns = ?2, seen_ns = ?2, inode = ?3 WHERE path = ?4";
    tree.sql().execute(set, rusqlite::params![modified, changed, now.ino() as i64, LOOP]).unwrap();
    scan::scan(&tree.at()).unwrap();
    assert_eq!(tree.entries(Kind::OpenLoop, State::Active)[0].title, "Call dad");
}

/// The reason of a revision says what happened first: a file that was deleted by hand is one still, whatever a command
/// does with the same bytes.
#[test]
fn of_the_same_bytes_the_first_reason_stays() {
    let tree = Tree::new();
    let path = RelPath::parse(LOOP).unwrap();
    for why in ["first", "second"] {
        tree.at().keep_revision(&path, b"x", why).unwrap();
    }
    let kept = tree.ledger.read(|tx| revise::revisions(tx, tree.agent_no, Some(LOOP), 9)).unwrap();
    assert_eq!(kept.iter().map(|r| r.why.as_str()).collect::<Vec<_>>(), ["first"]);
}

#[test]
fn a_file_too_large_to_be_a_note_is_named() {
    let tree = Tree::new();
    let file = std::fs::File::create(tree.path("memory/preference/huge.md")).unwrap();
    file.set_len(1 << 40).unwrap();
    let scanned = scan::scan(&tree.at()).unwrap();
    assert!(scanned.problems.iter().any(|p| p.what.contains("larger than")), "{:?}", scanned.problems);
}

/// Stores a plan as a crash right after the first transaction leaves it.
fn planned(tree: &Tree, steps: &[Step]) {
    let plan = serde_json::json!({"steps": steps, "heads": ["active"]}).to_string();
    tree.sql()
        .execute(
            "INSERT INTO flushes (flush_id, agent_no, action, plan, state, created_at) VALUES ('f1', ?1, 'test.act', ?2, 'planned', 5)",
            rusqlite::params![tree.agent_no, plan],
        )
        .unwrap();
}

fn unfinished(tree: &Tree) -> usize {
    tree.ledger.read(|tx| journal::unfinished(tx, tree.agent_no)).unwrap().len()
}

#[test]
fn a_stored_plan_is_finished_by_whoever_comes_next_and_once() {
    let tree = Tree::new();
    tree.hand("continuity/open-loops/a.md", "# A\n\nmine\n");
    let steps = [
        Step::Create { path: "memory/preference/new.md".into(), text: "# New\n".into() },
        Step::Move {
            from: "continuity/open-loops/a.md".into(),
            to: "continuity/open-loops/archive/a--x.md".into(),
            set: [("status".to_owned(), "resolved".into())].into_iter().collect(),
            unset: Vec::new(),
        },
    ];
    // The act is cut off after the first transaction, after the first file, after the move, and before the last
    // transaction.
    for cut in 0..4 {
        let tree = if cut == 0 { &tree } else { &Tree::new() };
        if cut > 0 {
            tree.hand("continuity/open-loops/a.md", "# A\n\nmine\n");
        }
        planned(tree, &steps);
        if cut >= 1 {
            tree.hand("memory/preference/new.md", "---\nflush: f1\n---\n# New\n");
        }
        if cut >= 2 {
            std::fs::create_dir_all(tree.path("continuity/open-loops/archive")).unwrap();
            std::fs::rename(
                tree.path("continuity/open-loops/a.md"),
                tree.path("continuity/open-loops/archive/a--x.md"),
            )
            .unwrap();
        }
        if cut >= 3 {
            tree.hand("continuity/open-loops/archive/a--x.md", "---\nstatus: resolved\nflush: f1\n---\n# A\n\nmine\n");
        }
        drop(tree.at().lock().unwrap());
        assert_eq!(unfinished(tree), 0, "cut {cut}");
        assert_eq!(tree.text("memory/preference/new.md"), "---\nflush: f1\n---\n# New\n", "cut {cut}");
        let archived = tree.text("continuity/open-loops/archive/a--x.md");
        assert_eq!(archived, "---\nstatus: resolved\nflush: f1\n---\n# A\n\nmine\n", "cut {cut}");
        assert_eq!(tree.files("continuity/open-loops"), ["archive"], "cut {cut}");
        assert_eq!(tree.items(Kind::OpenLoop, State::Archived).len(), 1);
        // The finished plan contains no words any more.
        assert_eq!(tree.count("SELECT count(*) FROM flushes WHERE plan IS NOT NULL"), 0);
        let written = tree.count("SELECT count(*) FROM audit");
        drop(tree.at().lock().unwrap());
        assert_eq!(tree.count("SELECT count(*) FROM audit"), written, "nothing is done twice");
    }
}

#[test]
fn what_a_person_did_meanwhile_is_not_undone_by_finishing_a_plan() {
    let tree = Tree::new();
    // Meanwhile a person wrote a file with the planned name, and a new file with the moved loop's name.
    planned(
        &tree,
        &[
            Step::Create { path: "memory/preference/new.md".into(), text: "# Ours\n".into() },
            Step::Move {
                from: "continuity/open-loops/a.md".into(),
                to: "continuity/open-loops/archive/a--x.md".into(),
                set: Default::default(),
                unset: Vec::new(),
            },
        ],
    );
    tree.hand("memory/preference/new.md", "# Theirs\n");
    tree.hand("continuity/open-loops/archive/a--x.md", "# A\n");
    tree.hand("continuity/open-loops/a.md", "# A, once more\n");
    drop(tree.at().lock().unwrap());
    assert_eq!(unfinished(&tree), 0);
    assert_eq!(tree.text("memory/preference/new.md"), "# Theirs\n");
    assert_eq!(tree.text("continuity/open-loops/a.md"), "# A, once more\n");
    // Text that could not be written is kept as a revision.
    let kept =
        tree.ledger.read(|tx| revise::revisions(tx, tree.agent_no, Some("memory/preference/new.md"), 9)).unwrap();
    assert!(kept.iter().any(|r| String::from_utf8_lossy(&r.bytes).contains("# Ours")), "{kept:?}");
}

/// The act was cut off after its file was written: whoever comes next finds it done and does not do it again.
#[test]
fn a_step_found_done_is_not_done_twice() {
    let before = "# Call mum\n\n- monday\n";
    let base = Some(journal::hex(&heirloom_engine::home::digest(before.as_bytes())));
    let append = Step::Append { path: LOOP.into(), set: Default::default(), text: "- tuesday\n".into(), apart: false };
    let body = Some("# Call mum\n\n- tuesday\n".to_owned());
    let edit = Step::Edit { path: LOOP.into(), set: Default::default(), unset: vec![], body, base };
    let ends =
        ["---\nflush: f1\n---\n# Call mum\n\n- monday\n- tuesday\n", "---\nflush: f1\n---\n# Call mum\n\n- tuesday\n"];
    for (step, end) in [append, edit].into_iter().zip(ends) {
        let tree = Tree::new();
        tree.hand(LOOP, before);
        planned(&tree, std::slice::from_ref(&step));
        drop(tree.at().lock().unwrap());
        assert_eq!(tree.text(LOOP), end);
        let kept = || tree.ledger.read(|tx| revise::revisions(tx, tree.agent_no, Some(LOOP), 9)).unwrap().len();
        let revisions = kept();
        // The same plan again, as if its last transaction had not come to pass.
        tree.sql().execute("DELETE FROM flushes", []).unwrap();
        planned(&tree, &[step]);
        drop(tree.at().lock().unwrap());
        assert_eq!(unfinished(&tree), 0);
        assert_eq!((tree.text(LOOP).as_str(), kept()), (end, revisions));
    }
}

/// A file is removed as it was when its removal was decided. What a person has saved since stays.
#[test]
fn a_file_saved_since_its_removal_was_decided_stays() {
    for forget in [false, true] {
        let tree = Tree::new();
        tree.hand(LOOP, "# Call mum\n");
        scan::scan(&tree.at()).unwrap();
        let digest = journal::hex(&heirloom_engine::home::digest(b"# Call mum\n"));
        let step = match forget {
            true => Step::Forget { path: LOOP.into(), digest },
            false => Step::Remove { path: LOOP.into(), digest },
        };
        planned(&tree, &[step]);
        tree.hand(LOOP, "# Call mum\n\nShe moved.\n");
        drop(tree.at().lock().unwrap());
        assert_eq!(unfinished(&tree), 0);
        assert_eq!(tree.text(LOOP), "# Call mum\n\nShe moved.\n");
        assert_eq!(tree.items(Kind::OpenLoop, State::Active).len(), 1);
    }
}

/// Only a deletion by hand can be undone: of a file that a command removes no state stays behind.
#[test]
fn of_a_file_a_command_removes_no_state_is_kept() {
    let tree = Tree::new();
    let item = tree.add("Call mum");
    let has_copy = || tree.ledger.read(|tx| restore::has_copy(tx, tree.agent_no, &item.path)).unwrap();
    assert!(has_copy(), "while the file is there, its newest state is kept");
    let digest = journal::hex(&heirloom_engine::home::digest(tree.text(item.path.as_str()).as_bytes()));
    let at = tree.at();
    let lock = at.lock().unwrap();
    let step = Step::Remove { path: item.path.as_str().into(), digest };
    lock.perform(Act::new("test.act").step(step), |_| Ok(())).unwrap();
    assert!(!tree.path(item.path.as_str()).exists() && !has_copy());
    assert_eq!(restore::restore(&lock, item.path.as_str()).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_plan_that_cannot_be_finished_is_named_and_does_not_stop_others() {
    let tree = Tree::new();
    planned(&tree, &[Step::Create { path: "memory/preference/new.md".into(), text: "# New\n".into() }]);
    std::fs::create_dir(tree.path("memory/preference/new.md")).unwrap();
    tree.add("Another");
    let left = tree.ledger.read(|tx| journal::unfinished(tx, tree.agent_no)).unwrap();
    assert_eq!((left.len(), left[0].attempts), (1, 1));
    assert!(left[0].last_error.as_deref().unwrap_or_default().contains("new.md"), "{left:?}");
    std::fs::remove_dir(tree.path("memory/preference/new.md")).unwrap();
    tree.add("A third");
    assert_eq!(unfinished(&tree), 0);
    assert!(tree.text("memory/preference/new.md").ends_with("# New\n"));
}

/// A plan that cannot be read is damage of the ledger, and is not counted as one more try.
#[test]
fn a_plan_that_cannot_be_read_is_damage() {
    let tree = Tree::new();
    planned(&tree, &[]);
    tree.sql().execute("UPDATE flushes SET plan = '{'", []).unwrap();
    assert_eq!(tree.at().lock().err().map(|e| e.kind()), Some(ErrorKind::Damaged));
    let left = tree.ledger.read(|tx| journal::unfinished(tx, tree.agent_no)).unwrap();
    assert_eq!((left.len(), left[0].attempts), (1, 0));
}

#[test]
fn what_can_be_refused_is_refused_before_anything_is_done() {
    let tree = Tree::new();
    tree.hand(LOOP, "---\nstatus: [open\n---\n# Call mum\n");
    let at = tree.at();
    let lock = at.lock().unwrap();
    let written = tree.count("SELECT count(*) FROM audit");
    let act = |step: Step| lock.perform(Act::new("test.act").step(step), |_| Ok(())).unwrap_err().kind();
    let edit = Step::Edit { path: LOOP.into(), set: Default::default(), unset: vec![], body: None, base: None };
    assert_eq!(act(edit), ErrorKind::Refused);
    assert_eq!(act(Step::Create { path: LOOP.into(), text: "x".into() }), ErrorKind::Refused);
    assert_eq!(act(Step::Create { path: "../out.md".into(), text: "x".into() }), ErrorKind::Usage);
    let gone = Step::Remove { path: "memory/none.md".into(), digest: String::new() };
    assert_eq!(act(gone), ErrorKind::NotFound);
    assert_eq!(tree.count("SELECT count(*) FROM audit"), written);
    assert_eq!(unfinished(&tree), 0);
    assert_eq!(tree.text(LOOP), "---\nstatus: [open\n---\n# Call mum\n");
}

/// The body was made for a file that a person changed meanwhile: both texts are kept, and that is reported.
#[test]
fn a_body_for_a_file_that_was_saved_meanwhile_is_kept_and_told() {
    let tree = Tree::new();
    tree.hand(LOOP, "# Call mum\n\nBefore.\n");
    let at = tree.at();
    let lock = at.lock().unwrap();
    let base = Some(journal::hex(&heirloom_engine::home::digest(b"# Call mum\n\nBefore.\n")));
    tree.hand(LOOP, "# Call mum\n\nSaved just now.\n");
    let body = Some("# Call mum\n\nAsked for.\n".to_owned());
    let edit = Step::Edit { path: LOOP.into(), set: Default::default(), unset: vec![], body, base };
    let error = lock.perform(Act::new("test.act").step(edit), |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.next_step().unwrap_or_default().contains("--revisions"), "{error:?}");
    assert_eq!(tree.text(LOOP), "# Call mum\n\nSaved just now.\n");
    let kept = tree.ledger.read(|tx| revise::revisions(tx, tree.agent_no, Some(LOOP), 9)).unwrap();
    assert!(kept.iter().any(|r| String::from_utf8_lossy(&r.bytes).ends_with("Asked for.\n")), "{kept:?}");
    assert_eq!(unfinished(&tree), 0);
}

#[test]
fn an_act_whose_audit_cannot_be_written_does_nothing() {
    let tree = Tree::new();
    tree.sql()
        .execute_batch(
            "CREATE TRIGGER no BEFORE INSERT ON audit WHEN new.action = 'loop.add' BEGIN SELECT raise(ABORT, 'full'); END;",
        )
        .unwrap();
    let at = tree.at();
    let new = heirloom_engine::continuity::open_loop::NewLoop { title: "Lost?".into(), ..Default::default() };
    heirloom_engine::continuity::open_loop::add(&at.lock().unwrap(), &new).unwrap_err();
    assert_eq!(tree.files("continuity/open-loops"), [""; 0]);
    assert_eq!(unfinished(&tree), 0);
}

#[test]
fn a_person_at_work_on_a_file_is_waited_for_and_keeps_their_words() {
    let tree = Tree::new();
    let item = tree.add("Long story");
    let path = tree.path(item.path.as_str());
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("\nWritten just now.\n");
    std::fs::write(&path, &text).unwrap();
    let began = std::time::Instant::now();
    let at = tree.at();
    let names = [item.id.clone()];
    let resolved = heirloom_engine::continuity::open_loop::resolve(&at.lock().unwrap(), &names, None).unwrap();
    assert!(began.elapsed() >= std::time::Duration::from_millis(1_000), "{:?}", began.elapsed());
    let archived = tree.text(resolved[0].path.as_str());
    assert!(archived.contains("Written just now.") && archived.contains("status: resolved"), "{archived}");
}

#[test]
fn a_page_deleted_after_the_first_day_stays_deleted() {
    let tree = Tree::new();
    assert!(tree.text("SOUL.md").starts_with("# Soul"));
    std::fs::remove_file(tree.path("SOUL.md")).unwrap();
    tree.hand("USER.md", "# Me\n");
    tree.add("Anything");
    tree.refresh();
    assert!(!tree.path("SOUL.md").exists());
    assert_eq!(tree.text("USER.md"), "# Me\n");
}

#[test]
fn a_tree_that_is_there_is_adopted_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("home");
    std::fs::create_dir_all(root.join("workspaces/main/continuity/open-loops")).unwrap();
    std::fs::create_dir_all(root.join("workspaces/main/memory")).unwrap();
    let files = [
        ("IDENTITY.md", "I am Lion.\n"),
        ("MEMORY.md", "- remember the milk"),
        ("TOOLS.md", "# Tools\r\n"),
        ("memory/2026-01-02.md", "# 2 January\n"),
        ("continuity/ACTIVE.md", "# Active\n\n- Jobs: none\n"),
        (
            "continuity/open-loops/pay-rent--8d9f9bd6-1111-5222-8333-444455556666.md",
            "# Pay rent\n\n- Status: open\n- Next Step: ask the bank\n",
        ),
    ];
    for (path, text) in files {
        std::fs::write(root.join("workspaces/main").join(path), text).unwrap();
        rest(&root.join("workspaces/main").join(path));
    }
    for dir in ["", "workspaces", "workspaces/main"] {
        std::fs::set_permissions(root.join(dir), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::write(root.join("lionclaw.db"), "not ours").unwrap();
    let home = heirloom_engine::home::Home::create(&root).unwrap();
    let ledger = heirloom_engine::ledger::Ledger::open(
        &root.join("state/runtime.db"),
        &root.join("state/backups"),
        heirloom_engine::clock::Clock::System,
        heirloom_engine::ledger::Open::Full,
    )
    .unwrap();
    let agent_no = ledger
        .write(heirloom_engine::ledger::Audit::new("test", "agent.add"), |tx| {
            heirloom_engine::transcript::read::ensure_agent(tx, &heirloom_engine::scope::AgentId::main())
        })
        .unwrap();
    let at = crate::tree::at(&home, &ledger, agent_no);
    scan::scan(&at).unwrap();
    for (path, text) in files {
        assert_eq!(std::fs::read_to_string(root.join("workspaces/main").join(path)).unwrap(), text, "{path}");
    }
    assert_eq!(std::fs::read_to_string(root.join("lionclaw.db")).unwrap(), "not ours");
    let mode = |p: &str| {
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(root.join(p)).unwrap().permissions()) & 0o777
    };
    assert_eq!(mode("workspaces/main"), 0o755);
    let found = ledger.read(|tx| file_table::named(tx, agent_no, Kind::OpenLoop, State::Active, "pay rent")).unwrap();
    assert_eq!(found.item.as_deref(), Some("l:pay-rent-8d9f9b"));
    assert_eq!((found.field("status"), found.field("next_step")), (Some("open"), Some("ask the bank")));
    // Missing pages of a new home were added.
    assert!(root.join("workspaces/main/SOUL.md").exists());
    // The adopted file works like others: it is archived with every byte of it.
    let lock = at.lock().unwrap();
    let items = heirloom_engine::continuity::open_loop::resolve(&lock, &["l:pay-rent".into()], None).unwrap();
    let archived = std::fs::read_to_string(root.join("workspaces/main").join(items[0].path.as_str())).unwrap();
    assert!(archived.ends_with("# Pay rent\n\n- Status: open\n- Next Step: ask the bank\n"), "{archived}");
}

#[test]
fn titles_that_differ_by_a_sign_are_different_files_and_named_by_their_ids() {
    let tree = Tree::new();
    let (one, two) = (tree.add("C++ notes"), tree.add("C notes"));
    assert!(crate::tree::is_new(&one) && crate::tree::is_new(&two));
    assert_ne!(one.path, two.path);
    let named = |name: &str| {
        tree.ledger.read(|tx| file_table::named(tx, tree.agent_no, Kind::OpenLoop, State::Active, name)).map(|e| e.path)
    };
    assert_eq!(named(&one.id).unwrap(), one.path);
    assert_eq!(named("c++ NOTES").unwrap(), one.path);
    assert_eq!(named(two.path.as_str()).unwrap(), two.path);
    assert_eq!(named("l:c-notes").unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(named("nothing of the sort").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(RelPath::parse(one.path.as_str()).is_ok());
}

#[test]
fn a_renamed_or_copied_file_is_reported_and_left_alone() {
    let tree = Tree::new();
    let item = tree.add("Original");
    let text = tree.text(item.path.as_str());
    tree.hand("continuity/open-loops/copy.md", &text);
    scan::scan(&tree.at()).unwrap();
    let troubled = tree.ledger.read(|tx| file_table::troubled(tx, tree.agent_no)).unwrap();
    assert_eq!(troubled.len(), 1);
    assert_eq!(troubled[0].path.as_str(), "continuity/open-loops/copy.md");
    assert!(troubled[0].problem.as_deref().unwrap().contains("renamed or copied"), "{troubled:?}");
    tree.add("Something else");
    assert_eq!(tree.text("continuity/open-loops/copy.md"), text);
}

#[test]
fn what_a_killed_command_left_under_a_temporary_name_is_kept_and_swept() {
    let tree = Tree::new();
    let item = tree.add("Original");
    let known = tree.text(item.path.as_str());
    let at = |name: &str| tree.path(&format!("continuity/open-loops/.hl-{name}.tmp"));
    std::fs::write(at("0123456789abcdef"), "Saved by a person in that instant.\n").unwrap();
    std::fs::write(at("0123456789abcdee"), &known).unwrap();
    // The last holder of the lock died while holding it.
    std::fs::write(tree.home.root().join("run/files-main.lock"), "held").unwrap();
    tree.add("Another");
    assert!(!at("0123456789abcdef").exists() && !at("0123456789abcdee").exists());
    let kept = tree.ledger.read(|tx| revise::revisions(tx, tree.agent_no, None, 9)).unwrap();
    let kept: Vec<&str> = kept.iter().map(|r| std::str::from_utf8(&r.bytes).unwrap()).collect();
    assert_eq!(kept, ["Saved by a person in that instant.\n"]);
    // Without that mark the holder may be alive, and its temporary file stays.
    std::fs::write(at("0123456789abcded"), "being written").unwrap();
    tree.add("Third");
    assert!(at("0123456789abcded").exists());
}
