//! Faults of the machine at every step of every changing command: `strace` kills the process at its n-th system call of
//! a kind that changes files, or lets that call fail (EIO once, or ENOSPC from then on), for every kind and every n.
//! After each fault the home verifies, a command that said it is done has done it, the same command then succeeds, and
//! the home is sound. A kill loses nothing that the system was told to write; [`power`] tries what a power cut may lose.
//!
//! All of it takes hours: `just faults`. With `HEIRLOOM_FAULTS=10` every tenth call is tried, with
//! `HEIRLOOM_FAULTS_OF=append` only the commands with that word. `TMPDIR=/dev/shm` is faster and finds the same.

mod disk;
mod migration;
mod power;
mod recording;

use std::process::Command;

use heirloom_testkit::{Output, run};

use crate::world::{HEIRLOOM, World, copy_tree};

/// System calls with which a command changes files.
const CHANGES: &[&str] = &["write", "pwrite64", "fsync", "ftruncate", "renameat2", "unlinkat", "mkdirat"];

/// System calls that fail on a full or broken disk.
const WRITES: &[&str] = &["write", "pwrite64", "fsync", "ftruncate"];

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The process is killed before the call.
    Killed,
    /// The call fails, once.
    BrokenDisk,
    /// The call fails, and all later ones.
    FullDisk,
}

/// A command that changes a memory.
struct Verb {
    args: &'static [&'static str],
    stdin: &'static str,
    /// A command, a part of its output, and whether that part is there once the command was carried out.
    shows: (&'static [&'static str], &'static str, bool),
}

const APPEND: Verb = Verb {
    args: &["append"],
    stdin: "{\"session\":\"house\",\"id\":\"2\",\"time\":\"2026-11-20T10:05:00Z\",\"text\":\"The gutter leaks too.\"}\n",
    shows: (&["show", "--session", "turns:house"], "gutter leaks", true),
};

/// All other commands that are tried.
const OTHERS: &[Verb] = &[
    Verb { args: &["remember", "I like dogs"], stdin: "", shows: (&["memory", "list"], "I like dogs", true) },
    Verb {
        args: &["memory", "forget", "m:i-prefer-tea-7576bd"],
        stdin: "",
        shows: (&["memory", "list"], "tea", false),
    },
    Verb { args: &["loop", "add", "Mend the gutter"], stdin: "", shows: (&["loop", "list"], "Mend the gutter", true) },
    Verb {
        args: &["loop", "resolve", "l:call-the-roofer-df618b"],
        stdin: "",
        shows: (&["loop", "list"], "Call the roofer", false),
    },
    Verb {
        args: &["forget", "--match", "pink granite", "--yes"],
        stdin: "",
        shows: (&["show", "--session", "turns:house"], "granite", false),
    },
    Verb { args: &["reindex"], stdin: "", shows: (&["search", "roof"], "before winter", true) },
    Verb { args: &["profile", "set", "name", "Mara"], stdin: "", shows: (&["profile", "show"], "Mara", true) },
];

/// Returns a home with a little of everything.
fn base() -> World {
    let world = World::new();
    let said = "{\"session\":\"house\",\"id\":\"1\",\"thread\":\"Roof\",\"time\":\"2026-11-20T10:00:00Z\",\"text\":\"Please get the roof \
                fixed before winter, in pink granite.\"}\n";
    assert_eq!(world.feed(&["append"], said.as_bytes()).status, Some(0));
    world.says(0, &["loop", "add", "Call the roofer"]);
    world.says(0, &["remember", "I prefer tea"]);
    std::fs::write(world.test.home().join("logs/hooks.log"), "a step about pink granite was skipped\n").unwrap();
    world
}

/// Returns whether `strace` can be used here; says so if not.
fn can_trace() -> bool {
    let tried = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let can = tried.is_ok_and(|out| out.status.success());
    if !can {
        println!("skipped: strace is missing, or may not trace here");
    }
    can
}

/// Runs a command with a fault at its n-th call of a kind. Returns the output, and whether the fault happened.
fn struck(world: &World, args: &[&str], stdin: &str, fault: Fault, call: &str, n: usize) -> (Output, bool) {
    let log = world.test.folder("log").join("trace");
    let inject = match fault {
        Fault::Killed => format!("inject={call}:signal=SIGKILL:when={n}"),
        Fault::BrokenDisk => format!("inject={call}:error=EIO:when={n}"),
        Fault::FullDisk => format!("inject={call}:error=ENOSPC:when={n}+"),
    };
    let mut command = world.test.command("strace");
    command.args(["-f", "-o"]).arg(&log).arg("-e").arg(format!("trace={call}")).args(["-e", &inject, HEIRLOOM]);
    command.args(args);
    let out = run(command, stdin.as_bytes());
    let log = std::fs::read_to_string(&log).unwrap();
    let happened = match fault {
        Fault::Killed => log.contains("killed by SIGKILL"),
        _ => log.contains("(INJECTED)"),
    };
    (out, happened)
}

/// Returns whether a command was carried out; an error if the home does not say.
fn is_done(world: &World, verb: &Verb) -> Result<bool, String> {
    let (args, part, expected) = verb.shows;
    let out = world.run(args);
    // A log has no words any more once they are forgotten.
    let log = std::fs::read_to_string(world.test.home().join("logs/hooks.log")).unwrap_or_default();
    let is_left = verb.args[0] == "forget" && log.contains("granite");
    match out.status {
        Some(0) => Ok(out.stdout.contains(part) == expected && !is_left),
        status => Err(format!("{args:?}: {status:?}\n{}{}", out.stdout, out.stderr)),
    }
}

/// Returns whether a command is one of those that should be tried now.
fn is_chosen(verb: &Verb) -> bool {
    std::env::var("HEIRLOOM_FAULTS_OF").map_or(true, |words| verb.args.join(" ").contains(&words))
}

/// Returns from each place to the next that is tried.
fn step() -> usize {
    std::env::var("HEIRLOOM_FAULTS").ok().and_then(|step| step.parse().ok()).unwrap_or(1)
}

/// Tries a fault at every `step`-th call of each kind of a command, and returns the number of tries.
fn try_all(base: &World, verb: &Verb, fault: Fault, step: usize) -> usize {
    let calls = if matches!(fault, Fault::Killed) { CHANGES } else { WRITES };
    calls.iter().map(|call| try_calls(base, verb, fault, call, step)).sum()
}

fn try_calls(base: &World, verb: &Verb, fault: Fault, call: &str, step: usize) -> usize {
    let mut tried = 0;
    for n in (1..).step_by(step) {
        let world = World::new();
        copy_tree(&base.test.home(), &world.test.home());
        let (out, happened) = struck(&world, verb.args, verb.stdin, fault, call, n);
        if !happened {
            break;
        }
        tried += 1;
        let what = format!("{:?}, {fault:?} at {call} {n}", verb.args);
        // A rebuild mends what is only derived.
        let verified = world.run(&["verify"]);
        assert!(matches!(verified.status, Some(0 | 1)), "{what}\n{}\n{}", out.stderr, verified.stdout);
        if out.status == Some(0) {
            assert_eq!(is_done(&world, verb), Ok(true), "{what}: it was said to be done\n{}", out.stdout);
        } else if !is_done(&world, verb).unwrap() {
            let again = world.feed(verb.args, verb.stdin.as_bytes());
            assert_eq!(again.status, Some(0), "{what}, again\n{}{}", again.stdout, again.stderr);
            assert_eq!(is_done(&world, verb), Ok(true), "{what}, again");
        }
        world.says(0, &["search", "roof"]);
        world.verified();
    }
    tried
}

#[test]
fn a_disk_or_a_process_that_ends_at_some_calls_of_an_append_loses_nothing() {
    if !can_trace() {
        return;
    }
    let base = base();
    for fault in [Fault::Killed, Fault::BrokenDisk, Fault::FullDisk] {
        assert!(try_all(&base, &APPEND, fault, 120) >= 4, "{fault:?}");
    }
}

#[test]
#[ignore = "takes an hour: just faults"]
fn every_call_of_every_changing_command() {
    assert!(can_trace());
    let base = base();
    for verb in std::iter::once(&APPEND).chain(OTHERS).filter(|verb| is_chosen(verb)) {
        for fault in [Fault::Killed, Fault::BrokenDisk, Fault::FullDisk] {
            println!("{:?}: {fault:?} at {} calls", verb.args, try_all(&base, verb, fault, step()));
        }
    }
}

/// Folder of the backup, in the user's folder.
const KEPT: &str = "kept";

/// A command that makes a backup or restores one.
struct Copying {
    args: &'static [&'static str],
    /// Whether a memory is there before.
    has_home: bool,
    /// Whether a backup of an earlier state of it is there before.
    has_backup: bool,
}

const COPYING: &[Copying] = &[
    Copying { args: &["backup", KEPT], has_home: true, has_backup: false },
    Copying { args: &["backup", KEPT], has_home: true, has_backup: true },
    Copying { args: &["restore", "--from", KEPT], has_home: false, has_backup: true },
];

impl Copying {
    /// Whether the backup, restored elsewhere, or the restored home holds what it should.
    fn is_whole(&self, world: &World) -> bool {
        let home = match self.has_home {
            true => {
                let restored = world.run(&["--home", "again", "restore", "--from", KEPT]);
                assert_eq!(restored.status, Some(0), "{}{}", restored.stdout, restored.stderr);
                "again".to_owned()
            }
            false => world.test.home().display().to_string(),
        };
        let shown = |args: &[&str], part: &str| {
            let out = world.run(&[&["--home", &home], args].concat());
            out.status == Some(0) && out.stdout.contains(part)
        };
        let newest = if self.has_home && self.has_backup { "The gutter leaks too" } else { "before winter" };
        shown(&["show", "--session", "turns:house"], newest)
            && shown(&["memory", "list"], "I prefer tea")
            && shown(&["loop", "list"], "Call the roofer")
            // The search makes the index, if the restoring was cut off before it.
            && shown(&["search", "roof"], "before winter")
            && shown(&["verify"], "")
    }
}

/// A backup that was cut off or could not be written is no backup, or whole; the next one is whole. A restoring that was
/// cut off can be repeated. The home itself stays sound.
#[test]
#[ignore = "takes an hour: just faults"]
fn every_call_of_a_backup_and_of_its_restoring() {
    assert!(can_trace());
    let base = base();
    base.says(0, &["backup", KEPT]);
    for copying in COPYING {
        for (fault, calls) in [(Fault::Killed, CHANGES), (Fault::BrokenDisk, WRITES), (Fault::FullDisk, WRITES)] {
            let mut tried = 0;
            for call in calls {
                for n in (1..).step_by(step()) {
                    let world = World::new();
                    if copying.has_home {
                        copy_tree(&base.test.home(), &world.test.home());
                    }
                    if copying.has_backup {
                        copy_tree(&base.test.user().join(KEPT), &world.test.user().join(KEPT));
                    }
                    if copying.has_home && copying.has_backup {
                        assert_eq!(world.feed(APPEND.args, APPEND.stdin.as_bytes()).status, Some(0));
                    }
                    let (out, happened) = struck(&world, copying.args, "", fault, call, n);
                    if !happened {
                        break;
                    }
                    tried += 1;
                    let what = format!("{:?}, {fault:?} at {call} {n}", copying.args);
                    if out.status != Some(0) {
                        let again = world.run(copying.args);
                        // A home with a memory is not restored into: then nothing was left to do but its index.
                        let is_there = !copying.has_home && again.stderr.contains("has a memory already");
                        assert!(again.status == Some(0) || is_there, "{what}, again\n{}{}", again.stdout, again.stderr);
                    }
                    assert!(copying.is_whole(&world), "{what}: {:?}\n{}{}", out.status, out.stdout, out.stderr);
                    world.verified();
                }
            }
            println!("{:?}, from {}: {fault:?} at {tried} calls", copying.args, copying.has_backup);
        }
    }
}
