//! The cost of a turn with and without Heirloom: processor time of the program and all processes it started, and wall
//! time.
//!
//! ```sh
//! cargo test --release --package heirloom --test runner what_a_turn_costs -- --ignored --nocapture
//! ```
//!
//! Two machines run side by side and alternate, so that other load falls on both. Work that hooks leave to the worker
//! is held back and measured by itself.

use std::fs::File;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::{ClaudeCode, Codex, Machine, OpenClaw, OpenCode, Program};

/// Number of turns of each program on each machine; the first turn of a session, which starts things, is not counted.
const TURNS: usize = 10;

#[derive(Clone, Copy, Default)]
struct Cost {
    clock: Duration,
    processor: Duration,
}

/// Measures the turns of one line of the table.
fn of_a_turn(
    machines: (&Machine, &Machine),
    program: (&mut dyn Program, &mut dyn Program),
) -> (Vec<Cost>, Vec<Cost>, Vec<Cost>) {
    let ((plain, connected), (without, with)) = (machines, program);
    connected.connect(with.name());
    connected.world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
    let (mut all, mut sessions) = ((Vec::new(), Vec::new(), Vec::new()), (None, None));
    for n in 0..=TURNS {
        let prompt = format!("How long is plank {n}, and which wood is it?");
        let cost = measured(without, &mut |program| {
            let turned = program.turn(&plain.project("barn"), &prompt, sessions.0.as_deref());
            sessions.0 = Some(turned.session);
        });
        all.0.push(cost);
        let held = hold_the_worker(connected);
        let cost = measured(with, &mut |program| {
            let turned = program.turn(&connected.project("barn"), &prompt, sessions.1.as_deref());
            assert!(n > 0 || turned.heard.contains("Answer in short sentences"), "it is connected: {}", turned.heard);
            sessions.1 = Some(turned.session);
        });
        all.1.push(cost);
        drop(held);
        all.2.push(measured(with, &mut |_| drop(connected.world.says(0, &["work", "--drain"]))));
    }
    all
}

/// Holds the worker's lock while the returned file lives, so that no worker runs.
fn hold_the_worker(machine: &Machine) -> File {
    let path = machine.world.test.home().join("run/worker.lock");
    let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}

fn measured(program: &mut dyn Program, what: &mut dyn FnMut(&mut dyn Program)) -> Cost {
    // A process that the program keeps between turns must already run.
    let before = (children(), program.group().map(of_group));
    let began = Instant::now();
    what(program);
    let clock = began.elapsed();
    let kept = program.group().map(of_group).unwrap_or_default().saturating_sub(before.1.unwrap_or_default());
    Cost { clock, processor: children() - before.0 + kept }
}

/// Returns the processor time of all processes that were started here and have ended, and of those they waited for.
fn children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    ticks(&stat, 13..15)
}

/// Returns the processor time of the processes of a group and of those they waited for.
fn of_group(group: u32) -> Duration {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        (fields(&stat).get(2)? == &group.to_string().as_str()).then(|| ticks(&stat, 11..15))
    });
    entries.sum()
}

/// Returns the fields of a `stat` of proc(5) after the name, which may contain anything: the state is the first.
fn fields(stat: &str) -> Vec<&str> {
    stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default()
}

fn ticks(stat: &str, which: std::ops::Range<usize>) -> Duration {
    let ticks: u64 = fields(stat)[which].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
}

fn median(costs: &[Cost], of: fn(&Cost) -> Duration) -> f64 {
    // The first turn is left out.
    let mut all: Vec<Duration> = costs.iter().skip(1).map(of).collect();
    all.sort_unstable();
    all[all.len() / 2].as_secs_f64()
}

#[test]
#[ignore = "takes minutes, and says something only on a quiet machine"]
fn what_a_turn_costs() {
    if !std::path::Path::new("/proc/self/stat").exists() {
        println!("skipped: processor time is read from /proc, which is not there");
        return;
    }
    let plain = Machine::new();
    let connected = plain.beside();
    let machines = (&plain, &connected);
    let mut lines = Vec::new();
    let mut line = |name: &str, (without, with, after): (Vec<Cost>, Vec<Cost>, Vec<Cost>)| {
        let [clock, processor]: [fn(&Cost) -> Duration; 2] = [|c| c.clock, |c| c.processor];
        let line = format!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
            median(&without, processor),
            median(&with, processor),
            median(&without, clock),
            median(&with, clock),
            median(&after, processor)
        );
        println!("{line}");
        lines.push(line);
    };
    line("Claude Code", of_a_turn(machines, (&mut ClaudeCode::on(&plain), &mut ClaudeCode::on(&connected))));
    line("Codex", of_a_turn(machines, (&mut Codex::on(&plain), &mut Codex::on(&connected))));
    line("OpenCode", of_a_turn(machines, (&mut OpenCode::on(&plain), &mut OpenCode::on(&connected))));
    line("OpenClaw", of_a_turn(machines, (&mut OpenClaw::on(&plain), &mut OpenClaw::on(&connected))));
    println!("\nMedians of {TURNS} turns, in seconds:\n");
    println!("| | processor without | with | clock without | with | processor of the worker afterwards |");
    println!("|---|---|---|---|---|---|\n{}", lines.join("\n"));
}
