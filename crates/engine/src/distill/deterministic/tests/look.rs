//! Prints the distillate of a session, for a person to inspect; not part of the ordinary run: `LOOK=session.json cargo
//! test -p heirloom-engine --lib distill::deterministic::tests::look -- --ignored --nocapture`.

use std::time::Duration;

use super::*;
use crate::distill::labelled::printed;
use crate::lineage::distillate::Distillate;
use crate::statement::Statement;

/// Reads turns as `heirloom show --json` prints them, or a session in plain text.
pub fn load(path: &str) -> Vec<Said> {
    let text = std::fs::read_to_string(path).unwrap();
    if path.ends_with(".json") { printed(&text).into_iter().map(|(said, _)| said).collect() } else { session(&text) }
}

/// Writes a plain handoff within a budget of bytes: every section has a share, the newest items first.
fn handoff(d: &Distillate, most: usize) -> String {
    let mut out = String::new();
    let share = |name: &str| match name {
        "goal" => 450,
        "constraints" | "open_loops" => 800,
        "done" | "decisions" | "context" => 600,
        _ => 400,
    };
    for (name, items) in d.lists() {
        let (mut left, mut lines) = (share(name) * most / 4800, Vec::new());
        for item in items.iter().rev() {
            let line = format!("- {} [{}]\n", item.text, item.turns.last().unwrap());
            if line.len() > left {
                continue;
            }
            left -= line.len();
            lines.push(line);
        }
        if !lines.is_empty() {
            let _ = writeln!(out, "## {name}");
            lines.iter().rev().for_each(|l| out.push_str(l));
        }
    }
    out.push_str("## files\n");
    let changed: Vec<_> = d.files.iter().filter(|f| f.touch != crate::lineage::distillate::Touch::Read).collect();
    for file in changed.iter().rev() {
        if out.len() + file.path.len() + 4 < most {
            let _ = writeln!(out, "- {}", file.path);
        }
    }
    out
}

#[test]
#[ignore = "to look at"]
fn look() {
    let Ok(path) = std::env::var("LOOK") else { return };
    let all = load(&path);
    let cut = all.iter().position(|t| t.kind == TurnKind::CompactSummary).unwrap_or(all.len());
    let root = std::env::var("ROOT").ok();
    let request = Request { turns: &all[..cut], before: None, root: root.as_deref() };
    let started = std::time::Instant::now();
    let distillate = distil(&request);
    let took = started.elapsed();
    let bytes: usize = all[..cut].iter().map(|t| t.text.len()).sum();
    println!("{} turns, {bytes} bytes, {took:?}\n{}", cut, show(&distillate));
    let handoff = handoff(&distillate, 4800);
    println!("--- handoff ---\n{handoff}");
}

/// Prints how each message is read: the purpose and core of a prompt, the label of each statement.
#[test]
#[ignore = "to look at"]
fn labels() {
    let Ok(path) = std::env::var("LOOK") else { return };
    for exchange in exchanges(&load(&path)) {
        if let Some(prompt) = &exchange.prompt {
            println!(
                "\n>> {:?} back={} wrote={} core: {}",
                prompt.purpose, prompt.refers_back, exchange.wrote, prompt.core
            );
            prompt.own.iter().for_each(print);
        }
        for message in exchange.messages() {
            println!("<< answer={}", exchange.answer.as_ref().is_some_and(|a| a.turn == message.turn));
            message.statements.iter().for_each(print);
        }
    }

    fn print(s: &Statement) {
        let sure = if s.sure { '!' } else { ' ' };
        let bullet = if s.bullet { '*' } else { ' ' };
        println!("  {:?}{sure}{bullet} {} [{}] {}", s.label, answer::worth(s), prompt::weight_of(s), s.text);
    }
}

/// Writes the results for the sessions in a folder (whole, then in ranges that carry items over) and for generated ones
/// to a file, to compare two builds.
#[test]
#[ignore = "to look at"]
fn dump() {
    let (Ok(folder), Ok(to)) = (std::env::var("LOOK"), std::env::var("TO")) else { return };
    let mut out = String::new();
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "json" || e == "txt")) {
        let all = load(path.to_str().unwrap());
        let name = path.file_name().unwrap().to_string_lossy();
        let _ = writeln!(out, "== {name}\n{}", show(&distil(&Request { turns: &all, before: None, root: Some("/p") })));
        let mut before: Option<Distillate> = None;
        for (at, stretch) in all.chunks(40).enumerate() {
            let next = distil(&Request { turns: stretch, before: before.as_ref(), root: None });
            let _ = writeln!(out, "== {name} {at}\n{}", show(&next));
            before = Some(next);
        }
    }
    for seed in 0..2000 {
        let turns = super::properties::stretch(seed, 1);
        let _ =
            writeln!(out, "== made {seed}\n{}", show(&distil(&Request { turns: &turns, before: None, root: None })));
    }
    std::fs::write(to, out).unwrap();
}

/// Measures megabytes per second, in a release build.
#[test]
#[ignore = "to look at"]
fn speed() {
    let Ok(path) = std::env::var("LOOK") else { return };
    let all = load(&path);
    let bytes: usize = all.iter().map(|t| t.text.len()).sum();
    // Other processes may be running, so CPU time is measured.
    let spent = |since: std::time::Instant| {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let told = told.and_then(|t| t.split(' ').next()?.parse::<u64>().ok());
        told.map_or(since.elapsed(), Duration::from_nanos)
    };
    let rate = |name: &str, turns: &[Said]| {
        let bytes: usize = turns.iter().map(|t| t.text.len()).sum();
        let since = std::time::Instant::now();
        let before = spent(since);
        let mut rounds = 0;
        while rounds == 0 || (spent(since) - before).as_millis() < 700 {
            distil(&Request { turns, before: None, root: None });
            rounds += 1;
        }
        println!(
            "{name}: {bytes} bytes, {:.1} MB/s",
            (bytes * rounds) as f64 / 1e6 / (spent(since) - before).as_secs_f64()
        );
    };
    rate("whole", &all);
    let said: Vec<Said> = all.iter().filter(|t| t.kind == TurnKind::Message).cloned().collect();
    rate("messages", &said);
    let one: Vec<Said> = said.iter().filter(|t| t.role == Role::User).cloned().collect();
    rate("the user's", &one);
    let one: Vec<Said> = said.iter().filter(|t| t.role == Role::Assistant).cloned().collect();
    rate("the assistant's", &one);
    let many: Vec<Said> = (0..(20_000_000 / bytes.max(1)).max(1)).flat_map(|_| all.iter().cloned()).collect();
    rate("many", &many);
    let many: Vec<Said> = (0..100).flat_map(|_| said.iter().cloned()).collect();
    rate("many messages", &many);
}
