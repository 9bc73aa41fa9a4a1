//! Labelled cases for the state of the work: data in, text out.

use std::fmt::Write;

use super::*;
use crate::scope::RunNo;

mod look;

/// The state of the work, a line for each thing.
fn show(work: &Work) -> String {
    let mut out = String::new();
    let mut put = |name: &str, items: &[Item]| {
        for item in items {
            let turns: Vec<String> = item.turns.iter().map(ToString::to_string).collect();
            let _ = writeln!(out, "{name}: {} [{}]", item.text, turns.join(" "));
        }
    };
    put("commit", &work.commits);
    put("pushed", work.pushed.as_slice());
    put("uncommitted", work.uncommitted.as_slice());
    put("unpushed", work.unpushed.as_slice());
    put("failing", &work.failing);
    put("stale", work.not_rerun.as_slice());
    put("command", &work.commands);
    put("running", &work.running);
    put("plan", work.plan.as_slice());
    put("blank", &work.placeholders);
    for (status, name) in
        [(Status::Open, "open"), (Status::Begun, "begun"), (Status::Done, "done"), (Status::Dropped, "dropped")]
    {
        let of = |tasks: &[Task]| tasks.iter().filter(|t| t.status == status).map(|t| t.item.clone()).collect::<Vec<_>>();
        put(&format!("task {name}"), &of(&work.tasks));
        for (path, lines) in &work.checkboxes {
            put(&format!("box {name} {path}"), &of(lines));
        }
    }
    for m in &work.mended {
        let _ = writeln!(out, "mended: {} [{} {}] {}", m.text(), m.failed, m.passed, m.files.join(" "));
    }
    for t in &work.tickets {
        let _ = writeln!(out, "ticket: {} {} {:?}{}", t.id, t.title, t.status, if t.ours { " ours" } else { "" });
    }
    for file in &work.files {
        let _ = writeln!(out, "file: {} {:?}", file.path, file.touch);
    }
    for file in &work.read {
        let _ = writeln!(out, "read: {}", file.path);
    }
    if let Some(summary) = &work.summary {
        for (name, items) in summary.distillate.lists() {
            for item in items {
                let _ = writeln!(out, "summary {name}: {}", item.text);
            }
        }
        for (name, items) in [("errors", &summary.errors), ("asked", &summary.asked)] {
            for item in items {
                let _ = writeln!(out, "summary {name}: {}", item.text);
            }
        }
        for file in &summary.distillate.files {
            let _ = writeln!(out, "summary file: {}", file.path);
        }
    }
    out
}

fn track(turns: &[Said], root: Option<&str>, before: Option<&Distillate>) -> (Work, Vec<Event>) {
    let mut tracker = Tracker::new(root, before);
    let events = turns.iter().enumerate().map(|(at, said)| tracker.read(at, said)).collect();
    (tracker.finish(), events)
}
