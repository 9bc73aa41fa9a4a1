//! Labelled cases for the state of the work: data in, text out.

use std::fmt::Write;

use super::*;
use crate::distill::Said;
use crate::distill::labelled::session;
use crate::event::{Role, TurnKind};
use crate::lineage::distillate::Distillate;
use crate::scope::RunNo;

mod corpus;
mod look;
mod properties;

/// Returns the state of the work as rows: the name of a list and a text.
fn rows(work: &Work) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, text: String| out.push((name.to_owned(), text));
    for (name, items) in [
        ("commits", &work.commits[..]),
        ("pushed", work.pushed.as_slice()),
        ("uncommitted", work.uncommitted.as_slice()),
        ("unpushed", work.unpushed.as_slice()),
        ("failing", &work.failing),
        ("stale", work.not_rerun.as_slice()),
        ("commands", &work.commands),
        ("running", &work.running),
        ("plan", work.plan.as_slice()),
        ("blanks", &work.placeholders),
    ] {
        items.iter().for_each(|i| put(name, i.text.clone()));
    }
    let named = |status: Status| format!("{status:?}").to_lowercase();
    for task in &work.tasks {
        put(&named(task.status), task.item.text.clone());
    }
    for (path, lines) in &work.checkboxes {
        for line in lines {
            put(&format!("{} in {path}", named(line.task.status)), line.task.item.text.clone());
        }
    }
    for m in &work.mended {
        put("mended", format!("{} ({})", m.text(), m.files.join(", ")));
    }
    for t in &work.tickets {
        let ours = if t.ours { "ours" } else { "seen" };
        put("tickets", format!("{} {} {} {}", ours, named(t.status), t.id, t.title));
        t.reason.iter().for_each(|r| put("reasons", r.clone()));
    }
    for file in work.read.iter().chain(&work.files) {
        put("files", format!("{} {:?}", file.path, file.touch));
    }
    let Some(Summary { distillate, errors, asked, .. }) = &work.summary else { return out };
    for (name, items) in distillate.lists().into_iter().chain([("errors", &errors[..]), ("asked", &asked[..])]) {
        items.iter().for_each(|i| put(&format!("summary {name}"), i.text.clone()));
    }
    distillate.files.iter().for_each(|f| put("summary files", f.path.clone()));
    out
}

fn show(work: &Work) -> String {
    let mut out = String::new();
    for (name, text) in rows(work) {
        let _ = writeln!(out, "{name}: {text}");
    }
    out
}

fn track(turns: &[Said], root: Option<&str>, before: Option<&Distillate>) -> (Work, Vec<Event>) {
    let mut tracker = Tracker::new(root, before);
    let events = turns.iter().enumerate().map(|(at, said)| tracker.read(at, said)).collect();
    (tracker.finish(), events)
}

#[test]
fn events_tell_what_a_turn_did() {
    let turns = session(
        "C Edit: file_path: /p/src/a.rs
         | old_string: a
         | new_string: b
         R: updated
         C Bash: command: cargo test && git commit -am x && git push && bd close shop-4
         R: [main 1a2b3c4] x
         C TaskCreate: subject: Write
         R: Task #1 created successfully: Write
         C TaskUpdate: taskId: 1
         | status: completed
         R: ok
         C Bash: command: cargo test
         F: The user doesn't want to proceed with this tool use. The tool use was rejected
         C Bash: command: cargo test
         F: error: boom",
    );
    let (_, events) = track(&turns, Some("/p"), None);
    let results: Vec<&Event> = events.iter().skip(1).step_by(2).collect();
    assert_eq!(results[0].edited, ["src/a.rs"]);
    assert_eq!(results[1].committed, ["[main 1a2b3c4] x"]);
    assert_eq!(results[1].checked, Some(("cargo test".into(), true)));
    assert!(results[1].pushed && results[1].closed.as_deref() == Some("bd close shop-4"));
    assert_eq!(results[3].tasks_done[0].text, "Write (task 1)");
    assert!(results[4].refused && !results[4].failed);
    assert!(results[5].failed && results[5].checked == Some(("cargo test".into(), false)));
}
