//! Hooks under bad conditions (K1): every hook of every program succeeds in time and prints nothing or what its program
//! understands; once conditions are good again, every turn is stored once. `HEIRLOOM_TEST_FULL=1` runs two hundred of
//! each kind in each state and prints the time of the slowest.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use heirloom_testkit::run;
use rusqlite::Connection;

use crate::programs::{
    Session, at_rest, everything_is_there_once, hook_command, hooks, is_as_promised, is_free, is_full, no_worker,
    spooled, told,
};
use crate::world::{HEIRLOOM, World, copy_tree};

/// Time limit that no hook should need: its timer ends it after 400 ms, but the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time limit on a machine that does nothing else.
const PROMISED: Duration = Duration::from_secs(2);

/// Number of sessions of each program, which is how often each hook runs.
fn times() -> usize {
    if is_full() { 200 } else { 2 }
}

/// Runs every hook of some sessions while the programs write their stores. `command` makes a hook's command. Returns
/// how many hooks printed something.
fn tell(world: &World, state: &str, sessions: &[Session], command: &dyn Fn(&str, &str) -> Command) -> usize {
    let (mut slowest, mut kind, mut ran, mut spoke) = (Duration::ZERO, ("", ""), 0, 0);
    for session in sessions {
        for (program, event) in hooks().into_iter().filter(|(program, _)| *program == session.program) {
            if event == "Stop" || event == "session.idle" || event == "agent_end" {
                session.write(world);
            }
            let payload = session.payload(world, event).to_string();
            let began = Instant::now();
            let out = run(command(program, event), payload.as_bytes());
            let took = began.elapsed();
            if let Err(why) = is_as_promised(program, event, &out) {
                panic!("{state}: {why}");
            }
            assert!(took < if is_full() { PROMISED } else { PATIENCE }, "{state}: {program} {event} took {took:?}");
            if took > slowest {
                (slowest, kind) = (took, (program, event));
            }
            ran += 1;
            spoke += usize::from(!out.stdout.is_empty());
        }
    }
    println!("{state}: {ran} hooks, {spoke} gave something, the slowest took {slowest:?} ({} {})", kind.0, kind.1);
    spoke
}

fn tell_here(world: &World, state: &str, sessions: &[Session]) -> usize {
    tell(world, state, sessions, &|program, event| hook_command(world, program, event))
}

fn hooks_of(sessions: &[Session]) -> usize {
    sessions.iter().map(|s| hooks().iter().filter(|(program, _)| *program == s.program).count()).sum()
}

#[test]
fn while_another_process_holds_the_ledger() {
    let world = told();
    let sessions = Session::of_each(0, times());
    let lock = Connection::open(world.ledger()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let spoke = tell_here(&world, "locked", &sessions);
    assert!(spooled(&world).len() >= 2 * sessions.len(), "{} of {}", spooled(&world).len(), sessions.len());
    // A summariser's block is only read from the memory.
    let reading = hooks().iter().filter(|(_, event)| event.to_lowercase().contains("compact")).count() * times();
    assert!(spoke <= reading, "{spoke}");
    lock.execute_batch("ROLLBACK").unwrap();
    drop(lock);
    at_rest(&world);
    everything_is_there_once(&world, &sessions);
}

#[test]
fn where_there_is_no_home() {
    let world = World::new();
    let sessions = Session::of_each(0, times());
    assert_eq!(tell_here(&world, "no home", &sessions), 0);
    assert!(!world.test.home().exists(), "a hook makes no home");
    everything_is_there_once(&world, &sessions);
}

#[test]
fn where_the_home_is_gone_meanwhile() {
    let world = told();
    let sessions = Session::of_each(0, times());
    let (before, after) = sessions.split_at(sessions.len() / 2);
    tell_here(&world, "home still there", before);
    at_rest(&world);
    let away = world.test.user().join("away");
    fs::rename(world.test.home(), &away).unwrap();
    assert_eq!(tell_here(&world, "home gone", after), 0);
    assert!(!world.test.home().exists(), "neither hook nor worker makes a home");
    fs::rename(away, world.test.home()).unwrap();
    everything_is_there_once(&world, &sessions);
}

#[test]
fn where_a_file_stands_in_the_place_of_the_home() {
    let world = World::new();
    let sessions = Session::of_each(0, times());
    fs::write(world.test.home(), "not a folder\n").unwrap();
    assert_eq!(tell_here(&world, "home is a file", &sessions), 0);
    assert_eq!(fs::read(world.test.home()).unwrap(), b"not a folder\n");
    fs::remove_file(world.test.home()).unwrap();
    everything_is_there_once(&world, &sessions);
}

/// A newer build has migrated the ledger beyond this build's schema.
#[test]
fn where_the_ledger_is_of_a_newer_schema() {
    let world = told();
    let sessions = Session::of_each(0, times());
    let ledger = Connection::open(world.ledger()).unwrap();
    let ours: i64 = ledger.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap();
    ledger.pragma_update(None, "user_version", ours + 1).unwrap();
    let before = stored(&ledger);
    assert_eq!(tell_here(&world, "newer schema", &sessions), 0);
    at_rest(&world);
    assert!(spooled(&world).len() >= hooks_of(&sessions));
    assert_eq!(stored(&ledger), before, "nothing of the ledger was touched");
    // A command run by hand is refused, too, and says why.
    assert!(world.says(3, &["status"]).contains("newer Heirloom"));
    // The ledger's own build runs again.
    ledger.pragma_update(None, "user_version", ours).unwrap();
    drop(ledger);
    everything_is_there_once(&world, &sessions);
}

fn stored(ledger: &Connection) -> (i64, i64, i64) {
    let count = |sql: &str| ledger.query_row(sql, [], |r| r.get(0)).unwrap();
    (
        count("SELECT count(*) FROM turns"),
        count("SELECT count(*) FROM audit"),
        count("SELECT count(*) FROM sqlite_master"),
    )
}

/// The home was made by an older build: a hook neither migrates nor creates a home, the worker does.
#[test]
fn where_the_ledger_is_of_an_older_schema() {
    let world = told();
    let sessions = Session::of_each(0, times());
    at_rest(&world);
    fs::remove_dir_all(world.test.home().join("state")).unwrap();
    fs::create_dir(world.test.home().join("state")).unwrap();
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src/ledger/migrations");
    let mut files: Vec<PathBuf> = fs::read_dir(migrations).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let older = files.len() - 1;
    let ledger = Connection::open(world.ledger()).unwrap();
    for file in &files[..older] {
        ledger.execute_batch(&fs::read_to_string(file).unwrap()).unwrap();
    }
    ledger
        .execute_batch("INSERT INTO meta VALUES ('ledger_id', '0011'), ('created_at', '2026-11-01T00:00:00Z')")
        .unwrap();
    ledger.pragma_update(None, "application_id", 0x484c_6467).unwrap();
    ledger.pragma_update(None, "user_version", older as i64).unwrap();
    ledger.pragma_update(None, "journal_mode", "WAL").unwrap();
    let before = stored(&ledger);
    let held = no_worker(&world);
    assert_eq!(tell_here(&world, "older schema", &sessions), 0);
    assert_eq!(stored(&ledger), before, "a hook migrates nothing");
    assert!(spooled(&world).len() >= hooks_of(&sessions));
    drop((ledger, held));
    // The next hook starts a worker, which migrates the ledger.
    let one = Session { n: 900, ..sessions[0] };
    one.write(&world);
    let out = run(hook_command(&world, one.program, "Stop"), one.payload(&world, "Stop").to_string().as_bytes());
    assert_eq!(out.status, Some(0));
    let began = Instant::now();
    while !spooled(&world).is_empty() && began.elapsed() < Duration::from_secs(if is_full() { 600 } else { 30 }) {
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("older schema: migrated and stored after {:?}", began.elapsed());
    assert_eq!(spooled(&world), Vec::<String>::new(), "the worker has stored it");
    everything_is_there_once(&world, &[&sessions[..], &[one]].concat());
}

#[test]
fn where_the_index_is_missing_or_torn() {
    for (state, tear) in [
        ("no index", (|_| None) as fn(Vec<u8>) -> Option<Vec<u8>>),
        ("half an index", |whole| Some(whole[..whole.len() / 2 + 100].to_vec())),
        ("no database for an index", |_| Some(b"this is no database at all".repeat(400))),
        ("an index of zero bytes", |_| Some(Vec::new())),
    ] {
        let world = told();
        let count = if is_full() { times() / 4 } else { 1 };
        let sessions = Session::of_each(0, count);
        world.says(0, &["recall", "sentences"]);
        let index = world.test.home().join("state/index.db");
        let held = no_worker(&world);
        let whole = fs::read(&index).unwrap();
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(index.with_file_name(format!("index.db{end}")));
        }
        if let Some(torn) = tear(whole) {
            fs::write(&index, torn).unwrap();
        }
        let spoke = tell_here(&world, state, &sessions);
        assert!(spoke > 0, "{state}: what a session begins with needs no index");
        drop(held);
        everything_is_there_once(&world, &sessions);
    }
}

/// The disk takes very long to sync.
#[test]
fn where_the_disk_takes_its_time() {
    let world = told();
    let source = world.test.folder("slow").join("slow.c");
    fs::write(&source, "#include <unistd.h>\nint fsync(int f) { sleep(40); return 0; }\nint fdatasync(int f) { sleep(40); return 0; }\n")
        .unwrap();
    let slow = source.with_extension("so");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&slow, &source]).status();
    if !cfg!(target_os = "linux") || !made.is_ok_and(|status| status.success()) {
        println!("skipped: no library can be put before another one here");
        return;
    }
    let sessions = if is_full() { Session::of_each(0, 10) } else { vec![Session { program: "claude-code", n: 0 }] };
    let spoke = tell(&world, "slow disk", &sessions, &|program, event| {
        let mut command = hook_command(&world, program, event);
        command.env("LD_PRELOAD", &slow);
        command
    });
    assert_eq!(spoke, 0);
    everything_is_there_once(&world, &sessions);
}

/// A mount namespace in which the home is replaced; it ends with its holder.
struct Apart {
    holder: Child,
}

impl Apart {
    /// Runs a script in a new namespace. `None`, with a message, if that is not possible.
    fn new(script: &str) -> Option<Apart> {
        let mut holder = Command::new("unshare")
            .args(["-m", "-r", "sh", "-c", &format!("{script} && echo ready && read done")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut said = String::new();
        let _ = BufReader::new(holder.stdout.take()?).read_line(&mut said);
        let apart = Apart { holder };
        if said.trim() == "ready" && apart.command(Command::new("true")).status().is_ok_and(|s| s.success()) {
            return Some(apart);
        }
        println!("skipped: no folder can be mounted here");
        None
    }

    /// Returns the same command, run inside the namespace.
    fn command(&self, inner: Command) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.holder.id().to_string();
        command.args(["-t", &pid, "-m", "-U", "--preserve-credentials", "--"]);
        command.arg(inner.get_program()).args(inner.get_args());
        if inner.get_envs().len() > 0 {
            command.env_clear();
        }
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Returns a path inside the namespace as it is seen from outside.
    fn seen(&self, path: &Path) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{}", self.holder.id(), path.display()))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        if let Some(mut input) = self.holder.stdin.take() {
            let _ = input.write_all(b"done\n");
        }
        let _ = self.holder.wait();
    }
}

#[test]
fn where_the_home_cannot_be_written() {
    let world = told();
    let sessions = Session::of_each(0, times());
    world.says(0, &["recall", "sentences"]);
    at_rest(&world);
    let home = world.test.home().display().to_string();
    let Some(apart) = Apart::new(&format!("mount --bind {home} {home} && mount -o remount,bind,ro {home}")) else {
        return;
    };
    tell(&world, "read-only", &sessions, &|program, event| apart.command(hook_command(&world, program, event)));
    drop(apart);
    assert_eq!(spooled(&world), Vec::<String>::new());
    everything_is_there_once(&world, &sessions);
}

#[test]
fn where_the_disk_is_full() {
    let world = told();
    let sessions = Session::of_each(0, times());
    world.says(0, &["recall", "sentences"]);
    at_rest(&world);
    let home = world.test.home();
    let copy = world.test.folder("copy");
    copy_tree(&home, &copy.join("home"));
    // Only the home is on the small disk; the programs' stores are elsewhere.
    let (shown, from) = (home.display(), copy.join("home"));
    let Some(apart) = Apart::new(&format!(
        "mount -t tmpfs -o size=24m,mode=700 none {shown} && cp -a {}/. {shown}/ \
         && (dd if=/dev/zero of={shown}/logs/rest bs=4096 2>/dev/null; true)",
        from.display()
    )) else {
        return;
    };
    let refill = || {
        // Space that a hook released is filled again.
        let mut command = Command::new("sh");
        let script = format!("cat /dev/zero >> {shown}/logs/rest");
        command.args(["-c", &script]);
        let _ = apart.command(command).stderr(Stdio::null()).status();
    };
    let half = sessions.len() / 2;
    for some in [&sessions[..half], &sessions[half..]] {
        refill();
        tell(&world, "disk full", some, &|program, event| apart.command(hook_command(&world, program, event)));
    }
    // The disk has room again.
    fs::remove_file(apart.seen(&home.join("logs/rest"))).unwrap();
    let mut verify = world.test.command(HEIRLOOM);
    verify.args(["verify"]);
    let until = Instant::now() + PATIENCE;
    while !is_free(&apart.seen(&home.join("run/worker.lock"))) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let out = run(apart.command(verify), b"");
    assert_eq!(out.status, Some(0), "{out:?}");
    // The home existed only on the small disk; it is copied back to its usual place.
    fs::remove_dir_all(&copy).unwrap();
    let mut back = Command::new("cp");
    back.args(["-a", &format!("{shown}/."), copy.to_str().unwrap()]);
    assert!(apart.command(back).status().unwrap().success());
    drop(apart);
    fs::remove_dir_all(&home).unwrap();
    fs::rename(copy, &home).unwrap();
    everything_is_there_once(&world, &sessions);
}
