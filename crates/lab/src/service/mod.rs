//! `heirloom-lab service`: measures the service's cost, and checks that nothing is lost when it is killed.

mod load;
mod served;
mod written;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use heirloom_engine::error::{Error, Result};
use serde_json::{Value, json};

use crate::measure::{Costs, processes};
use crate::sources::Sources;
use crate::{binary, hooks, import, machine, make_dir, print, synthetic};
use served::Served;

/// Load the service and kill it in between: nothing may be lost or stored twice, and it must stay small
///
/// Clients run at the same time: half of their calls are hooks of prompts, as processes; the others search, recall,
/// append and ask for the state, through the socket. In between the service is killed and started again. Then each
/// prompt and each appended line is looked for in the memory, and all of it is verified. Before the load, these are
/// measured: hooks with and without the service, the first answer after the start, how soon a line that a program
/// writes is found, and many hooks at once; after it, many files that change at once. The programs have a temporary
/// home folder of their own, so nobody's real sessions are read.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Initial size of the home, in turns
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    turns: u64,

    /// Number of clients at the same time
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: u64,

    /// Calls of each client
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    calls: u64,

    /// Number of times the service is killed
    #[arg(long, value_name = "N", default_value_t = 4)]
    kills: u64,

    /// Number of sessions with a hook of each kind, with and without the service; 0 skips hooks
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: u32,

    /// Number of hooks of different sessions run all at once
    #[arg(long, value_name = "N", default_value_t = 50)]
    at_once: u64,

    /// Number of session files that are new at once, and then grow by a line each
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    files: u64,

    /// Seconds to leave the service idle afterwards, before its CPU and memory are read
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    idle: u64,

    /// The heirloom binary [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,

    /// Keep the home, and print its path
    #[arg(long)]
    pub keep: bool,
}

/// Slightly more than the time without requests after which the service releases memory held for speed.
const REST: Duration = Duration::from_secs(70);

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub fn run(args: &Args, folder: &Path, for_people: bool) -> Result<Value> {
    let exe = binary::find(args.binary.as_deref())?;
    let (projects, home, user) = (folder.join("projects"), folder.join("home"), folder.join("user"));
    make_dir(&written::sessions(&user))?;
    let asked = synthetic::write(&projects, args.turns)?;
    import::measured(&home, &Sources::of(std::slice::from_ref(&projects))?)?;
    let _ = std::fs::remove_dir_all(&projects);
    let bare = processes(&exe, &["--version".into()], args.rounds)?;
    let mut costs: Vec<(String, Costs)> = vec![("a bare process".into(), bare)];
    let mut measure = |what: &str| -> Result<()> {
        if args.rounds > 0 {
            let start = |args: &[String]| binary::command_of(&exe, &user, args);
            let all = hooks::measure(&start, &home, &asked, args.rounds)?;
            costs.extend(all.into_iter().map(|(event, cost)| (format!("{event}, {what}"), cost)));
        }
        Ok(())
    };
    measure("alone")?;
    let began = Instant::now();
    let served = Served::begin(&exe, &home, &user)?;
    let answers = began.elapsed();
    let query = asked.iter().find_map(|kind| kind.queries.first()).map_or_else(String::new, |q| q.replace(' ', "%20"));
    served.ask("GET", &format!("/v1/search?q={query}"), b"");
    let finds = began.elapsed();
    let at_first = served.memory();
    measure("with the service")?;
    let found_after = written::until_found(&served)?;
    let at_once = load::at_once(&served, args.at_once);
    let loaded = load::load(args, &served, &asked)?;
    let after = served.memory();
    let flood = written::flood(&served, args.files)?;
    let after_files = served.memory();
    std::thread::sleep(REST);
    let rested = served.memory();
    let (began, cpu) = (Instant::now(), served.cpu());
    std::thread::sleep(Duration::from_secs(args.idle));
    let idle =
        json!({"seconds": began.elapsed().as_secs(), "cpu_s": served.cpu() - cpu, "memory_bytes": served.memory()});
    let spooled = load::until_stored(&home)?;
    let peak = served.peak.load(Ordering::Relaxed);
    served.end();
    let sent = [loaded, at_once];
    let found = load::found(&home, &sent)?;
    let [loaded, at_once] = &sent;
    let verified =
        binary::command_of(&exe, &user, &["--home", &home.to_string_lossy(), "--json", "verify"].map(str::to_owned))
            .stdout(Stdio::null())
            .status()
            .map_err(|e| Error::io("start", &exe, e))?
            .success();
    let report = json!({
        "turns": args.turns, "machine": machine(),
        "hooks": costs.iter().map(|(what, cost)| json!({
            "what": what, "cpu_ms": cost.median().cpu * 1e3, "wall_ms": cost.median().wall * 1e3,
            "cpu_p95_ms": cost.within(95).cpu * 1e3, "wall_p95_ms": cost.within(95).wall * 1e3,
        })).collect::<Vec<_>>(),
        "first_answer_ms": {"health": ms(answers), "search": ms(finds)},
        "line_found_s": {"half": found_after[found_after.len() / 2], "most": found_after.last()},
        "at_once": at_once.to_json(), "files": flood,
        "memory_bytes": {
            "at_first": at_first, "after_load": after, "after_files": after_files, "peak": peak, "rested": rested,
        },
        "idle": idle,
        "calls": loaded.to_json(), "lost": found.lost, "twice": found.twice, "left_in_spool": spooled, "verified": verified,
    });
    if for_people {
        show(&report);
    }
    if !found.lost.is_empty() || !found.twice.is_empty() || !verified {
        return Err(Error::damaged(format!(
            "{} lost, {} stored twice, verify {}",
            found.lost.len(),
            found.twice.len(),
            if verified { "clean" } else { "found something" }
        ))
        .hint("run it again with --keep and --json, and look into the home"));
    }
    Ok(report)
}

fn show(report: &Value) {
    let ms = |value: &Value| format!("{:.1}", value.as_f64().unwrap_or(0.0));
    let mut rows = vec![vec!["  ms, half / 95 %".to_owned(), "CPU".into(), "wall".into()]];
    for hook in report["hooks"].as_array().into_iter().flatten() {
        rows.push(vec![
            format!("  {}", hook["what"].as_str().unwrap_or_default()),
            format!("{} / {}", ms(&hook["cpu_ms"]), ms(&hook["cpu_p95_ms"])),
            format!("{} / {}", ms(&hook["wall_ms"]), ms(&hook["wall_p95_ms"])),
        ]);
    }
    print::out(&print::table(&rows));
    print::line(&format!(
        "Begun: the first answer after {} ms, the first hits after {} ms; a line is found after {} s, at most {} s",
        ms(&report["first_answer_ms"]["health"]),
        ms(&report["first_answer_ms"]["search"]),
        report["line_found_s"]["half"],
        report["line_found_s"]["most"],
    ));
    print::line(&format!("Hooks at once: {}", report["at_once"]));
    print::line(&format!("Files at once: {}", report["files"]));
    let memory = |name: &str| print::bytes(report["memory_bytes"][name].as_u64().unwrap_or(0));
    print::line(&format!(
        "Memory: {} at first, {} after the load, {} after the files, {} at most, {} rested",
        memory("at_first"),
        memory("after_load"),
        memory("after_files"),
        memory("peak"),
        memory("rested")
    ));
    print::line(&format!("Idle: {} s of CPU in {} s", report["idle"]["cpu_s"], report["idle"]["seconds"]));
    print::line(&format!("Calls: {}", report["calls"]));
    let count = |name: &str| report[name].as_array().map_or(0, Vec::len);
    print::line(&format!(
        "{} lost, {} stored twice, {} left in the spool; verify {}",
        count("lost"),
        count("twice"),
        report["left_in_spool"],
        if report["verified"] == true { "clean" } else { "found something" }
    ));
}
