//! Kills a publication at each of its system calls, and makes each of them fail. The calls are counted in a trace of
//! the same program, so calls added later are covered automatically.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use super::*;
use crate::home::publish::Prepared;

/// Tells the child process which scenario to run, and where.
const MARK: &str = "HEIRLOOM_TEST_CRASH";
const CHILD: &str = "home::tests::crash::child";
/// Paths that do not exist: opening them marks in the trace where the traced part begins and ends.
const BEGIN: &str = "/heirloom-begin";
const END: &str = "/heirloom-end";
/// System calls that do not reach a disk.
const MEMORY_ONLY: &[&str] =
    &["brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "futex", "getrandom", "clock_nanosleep"];

const OLD: &[u8] = b"what was there before\n";
const NEW: &[u8] = b"what is published, a little longer\n";
const HUMAN: &[u8] = b"what somebody saved in the instant between\n";

/// This is not a test but the code that runs under the tracer.
#[test]
fn child() {
    let Ok(task) = std::env::var(MARK) else { return };
    run_ahead();
    let (scenario, root) = task.split_once(':').unwrap();
    let home = Home::open(Path::new(root)).unwrap();
    let (lock, x) = (home.lock("head").unwrap(), rel("workspaces/x.md"));
    let base = (scenario != "new").then(|| digest(OLD));
    let what = Publication { path: &x, bytes: NEW, base, own: base };
    let kept = home.root().join("logs/kept");
    let keep = &mut |bytes: &[u8]| {
        if scenario == "unkept" {
            return Err(Error::refused("no room"));
        }
        std::fs::write(&kept, bytes).unwrap();
        Ok(())
    };
    let now = crate::clock::Clock::System.now() + 60_000;
    let human_saves = || std::fs::rename(home.root().join("logs/human"), home.root().join(x.as_str())).unwrap();
    let outcome = if ["displaced", "unkept"].contains(&scenario) {
        let Prepared::Ready(ready) = home.prepare(&what, now).unwrap() else { panic!("not ready") };
        human_saves();
        let _ = Path::new(BEGIN).metadata();
        ready.put(keep).map(|done| format!("{done:?}"))
    } else if scenario == "moved" {
        let _ = Path::new(BEGIN).metadata();
        home.rename_new(&lock, &x, &rel("workspaces/archive/y.md")).map(|done| format!("{done:?}"))
    } else if scenario == "removed" {
        let _ = Path::new(BEGIN).metadata();
        home.remove_exactly(&lock, &x, digest(OLD), keep).map(|done| format!("{done:?}"))
    } else if scenario == "recovered" {
        let _ = Path::new(BEGIN).metadata();
        home.sync_names_beside(&x).map(|()| String::from("synced"))
    } else {
        let _ = Path::new(BEGIN).metadata();
        home.publish(&lock, &what, now, keep).map(|done| format!("{done:?}"))
    };
    let _ = Path::new(END).metadata();
    match outcome {
        Ok(done) => println!("outcome: {done}"),
        Err(error) => println!("outcome: {:?} {error} ({:?})", error.kind(), error.next_step()),
    }
}

/// A tracer counts calls per thread and kills the first thread that reaches the number. So this thread makes more of
/// the common calls beforehand than the test program's main thread ever does; [`calls`] checks that.
fn run_ahead() {
    use std::io::{Read, Seek, Write};
    for _ in 0..60 {
        let mut file = std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
        rustix::fs::fstat(&file).unwrap();
        let _ = file.write(b"x").unwrap() + file.read(&mut [0]).unwrap();
        file.rewind().unwrap();
    }
}

/// A home prepared for a scenario.
struct Stage {
    _dir: tempfile::TempDir,
    home: Home,
    scenario: &'static str,
}

impl Stage {
    fn new(scenario: &'static str) -> Stage {
        let (dir, home) = new_home();
        if scenario != "new" {
            std::fs::write(home.root().join("workspaces/x.md"), OLD).unwrap();
        }
        std::fs::write(home.root().join("logs/human"), HUMAN).unwrap();
        Stage { _dir: dir, home, scenario }
    }

    fn run(&self, strace: &[&str]) -> Output {
        Command::new("strace")
            .args(["-f", "-qq", "--signal=none", "-o", self.trace().to_str().unwrap()])
            .args(strace)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", CHILD, "--nocapture", "--test-threads=1"])
            // Searching for the program along this path would cost the main thread a hundred calls.
            .env_remove("LD_LIBRARY_PATH")
            .env(MARK, format!("{}:{}", self.scenario, self.home.root().display()))
            .output()
            .unwrap()
    }

    /// Whether tracing works here; prints a message where there is no tracer or it may not trace.
    fn can_be_traced(&self) -> bool {
        let tried = Command::new("strace").arg("-o").arg(self.trace()).arg("true").output();
        let works = tried.is_ok_and(|o| o.status.success());
        if !works {
            println!("skipped: there is no strace here, or it may not trace");
        }
        works
    }

    fn trace(&self) -> PathBuf {
        self.home.root().join("logs/trace")
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.home.root().join(path)).ok()
    }

    /// Returns our own temporary files with their bytes.
    fn temporaries(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = snapshot(&self.home.root().join("workspaces"));
        found.retain(|(path, _)| path.file_name().unwrap().to_string_lossy().starts_with(".hl-"));
        found
    }
}

/// Returns for each system call between the marks: how often the same thread made it before, and how often in between.
fn calls(trace: &str) -> BTreeMap<String, (usize, usize)> {
    let parsed = trace.lines().filter_map(|line| {
        let (thread, call) = line.split_once(' ')?;
        Some((thread, call.trim_start().split_once('(')?.0, line))
    });
    let parsed: Vec<_> = parsed.collect();
    let at = |mark: &str| parsed.iter().position(|(_, _, line)| line.contains(mark)).expect("the mark is in the trace");
    let (begin, end, thread) = (at(BEGIN), at(END), parsed[at(BEGIN)].0);
    let mut found = BTreeMap::<String, (usize, usize)>::new();
    let mut others = BTreeMap::<(&str, &str), usize>::new();
    for (n, (by, call, _)) in parsed.iter().enumerate() {
        if *by != thread {
            *others.entry((by, call)).or_default() += 1;
        } else if n < begin {
            found.entry((*call).to_owned()).or_default().0 += 1;
        } else if n > begin && n < end {
            found.entry((*call).to_owned()).or_default().1 += 1;
        }
    }
    found.retain(|call, (_, within)| *within > 0 && !MEMORY_ONLY.contains(&call.as_str()));
    for ((_, call), made) in others {
        assert!(found.get(call).is_none_or(|(before, _)| *before >= made), "another thread is ahead at {call}");
    }
    found
}

/// Returns the calls of a scenario that completes; `None` where nothing can be traced.
fn traced(scenario: &'static str) -> Option<BTreeMap<String, (usize, usize)>> {
    let stage = Stage::new(scenario);
    if !stage.can_be_traced() {
        return None;
    }
    let ran = stage.run(&[]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(calls(&std::fs::read_to_string(stage.trace()).unwrap()))
}

/// A kill does not show the effect of a power cut: the bytes must be on disk before they get their name, the name
/// before the old file is deleted.
#[test]
fn the_order_survives_a_power_cut() {
    for (scenario, expected) in [
        ("replace", "write fchmod fsync renameat2 fsync unlinkat fsync"),
        ("new", "write fchmod fsync renameat2 fsync"),
        ("moved", "mkdirat mkdirat fsync fsync renameat2 fsync fsync"),
        ("removed", "renameat2 unlinkat fsync"),
        // A recovery syncs the names that a killed process may have left unsynced.
        ("recovered", "fsync"),
    ] {
        let stage = Stage::new(scenario);
        if !stage.can_be_traced() {
            return;
        }
        assert!(stage.run(&[]).status.success());
        let trace = std::fs::read_to_string(stage.trace()).unwrap();
        let between = trace.lines().skip_while(|l| !l.contains(BEGIN)).take_while(|l| !l.contains(END));
        let calls = between.filter_map(|line| line.split_once(' ')?.1.trim_start().split_once('('));
        let expected: Vec<&str> = expected.split(' ').collect();
        let calls: Vec<&str> = calls.map(|(call, _)| call).filter(|call| expected.contains(call)).collect();
        assert_eq!(calls, expected, "{scenario}: {trace}");
    }
}

#[test]
fn a_crash_at_any_call_leaves_the_old_or_the_new() {
    let mut covered = BTreeMap::new();
    for scenario in ["replace", "new", "displaced", "unkept", "moved"] {
        let Some(calls) = traced(scenario) else { return };
        for (call, (before, within)) in calls {
            for n in before + 1..=before + within {
                let stage = Stage::new(scenario);
                let ran =
                    stage.run(&["-e", &format!("trace={call}"), "-e", &format!("inject={call}:signal=KILL:when={n}")]);
                let at = format!("{scenario}, killed at {call} number {}", n - before);
                assert_eq!(ran.status.signal(), Some(9), "{at}: {}", String::from_utf8_lossy(&ran.stdout));
                *covered.entry(scenario).or_insert(0) += 1;

                let (x, moved) = (stage.bytes("workspaces/x.md"), stage.bytes("workspaces/archive/y.md"));
                let temporaries = stage.temporaries();
                match scenario {
                    "replace" => assert!([OLD, NEW].map(|b| Some(b.to_vec())).contains(&x), "{at}: {x:?}"),
                    "new" => assert!(x.is_none() || x.as_deref() == Some(NEW), "{at}: {x:?}"),
                    "moved" => assert!(
                        (x.as_deref(), moved.as_deref()) == (Some(OLD), None)
                            || (x.as_deref(), moved.as_deref()) == (None, Some(OLD)),
                        "{at}: {x:?} {moved:?}"
                    ),
                    _ => {
                        assert!([HUMAN, NEW].map(|b| Some(b.to_vec())).contains(&x), "{at}: {x:?}");
                        let somewhere = x.as_deref() == Some(HUMAN)
                            || stage.bytes("logs/kept").as_deref() == Some(HUMAN)
                            || temporaries.iter().any(|(_, bytes)| bytes == HUMAN);
                        assert!(somewhere, "{at}: what was saved is nowhere");
                    }
                }
                // A temporary file that stays behind is never listed, and is removed after an hour.
                assert!(temporaries.len() <= 1, "{at}: {temporaries:?}");
                let listed = stage.home.list(&rel("workspaces")).unwrap();
                assert!(listed.iter().all(|e| e.name == "x.md" || e.name == "archive"), "{at}: {listed:?}");
                let walked = stage.home.walk(&rel("workspaces"), 8, &mut |path, _| {
                    assert!(!path.name().starts_with('.'), "{at}: {path}");
                });
                assert_eq!(walked.unwrap(), Walked::default());
                let hour_later = crate::clock::Clock::System.now() + 61 * 60 * 1000;
                assert_eq!(
                    stage.home.remove_temporaries_below(&rel("workspaces"), hour_later).unwrap(),
                    temporaries.len(),
                    "{at}"
                );
                // The lock of a dead process blocks nobody.
                drop(stage.home.try_lock("head").unwrap().expect("a lock dies with its holder"));
            }
        }
    }
    println!("killed at: {covered:?}");
    assert!(covered.values().sum::<usize>() > 40, "{covered:?}");
}

#[test]
fn an_error_at_any_call_leaves_the_old_and_no_rubbish() {
    let (mut failed, mut survived) = (0, 0);
    for scenario in ["replace", "displaced"] {
        let Some(calls) = traced(scenario) else { return };
        for (call, (before, within)) in calls {
            let errors: &[&str] = match call.as_str() {
                "write" => &["ENOSPC", "EIO"],
                // Closing a file that is already synced reports nothing new, and `geteuid` cannot fail.
                "close" | "geteuid" => &[],
                _ => &["EIO"],
            };
            for (error, n) in errors.iter().flat_map(|e| (before + 1..=before + within).map(move |n| (e, n))) {
                let stage = Stage::new(scenario);
                let ran = stage.run(&[
                    "-e",
                    &format!("trace={call}"),
                    "-e",
                    &format!("inject={call}:error={error}:when={n}"),
                ]);
                let output = String::from_utf8_lossy(&ran.stdout);
                let at = format!("{scenario}, {error} at {call} number {}", n - before);
                // `keep` belongs to the test and may panic; every other error must be handled.
                let outcome = output.lines().find_map(|line| Some(line.split_once("outcome: ")?.1));
                let x = stage.bytes("workspaces/x.md");
                let Some(outcome) = outcome else {
                    assert_eq!(scenario, "displaced", "{at}: {output}{}", String::from_utf8_lossy(&ran.stderr));
                    continue;
                };
                if outcome.starts_with("Written") || outcome.starts_with("Displaced") {
                    survived += 1;
                    assert_eq!(x.as_deref(), Some(NEW), "{at}: {outcome}");
                    if outcome.starts_with("Displaced") {
                        assert_eq!(stage.bytes("logs/kept").as_deref(), Some(HUMAN), "{at}: {outcome}");
                    }
                } else {
                    failed += 1;
                    let old = if scenario == "replace" { OLD } else { HUMAN };
                    assert_eq!(x.as_deref(), Some(old), "{at}: {outcome}");
                    if *error == "ENOSPC" {
                        assert!(
                            outcome.contains("No space left") && outcome.contains("free some space"),
                            "{at}: {outcome}"
                        );
                    }
                }
                if call != "unlinkat" {
                    assert_eq!(stage.temporaries(), [], "{at}: {outcome}");
                }
            }
        }
    }
    println!("{failed} failed and left the old file, {survived} did not matter");
    assert!(failed > 10, "{failed}");
}

/// Simulates a file system that cannot exchange two names or rename under a condition.
#[test]
fn without_an_exchange_it_still_works() {
    let without = ["-e", "trace=renameat2", "-e", "inject=renameat2:error=EINVAL"];
    for scenario in ["replace", "new", "displaced", "moved"] {
        let stage = Stage::new(scenario);
        if !stage.can_be_traced() {
            return;
        }
        let ran = stage.run(&without);
        let output = String::from_utf8_lossy(&ran.stdout);
        let (outcome, file, bytes) = match scenario {
            "displaced" => ("outcome: Moved", "workspaces/x.md", HUMAN),
            "moved" => ("outcome: Done", "workspaces/archive/y.md", OLD),
            _ => ("outcome: Written", "workspaces/x.md", NEW),
        };
        assert!(output.contains(outcome), "{scenario}: {output}");
        assert_eq!(stage.bytes(file).as_deref(), Some(bytes), "{scenario}");
        assert_eq!(stage.temporaries(), [], "{scenario}");
        assert_eq!(stage.bytes("workspaces/x.md").is_none(), scenario == "moved");
    }
}
