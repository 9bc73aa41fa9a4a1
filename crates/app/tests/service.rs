//! The service: one per home, never needed, and nothing is lost or stored twice however it ends.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::{HEIRLOOM, World, claude_line};

const SESSION: &str = "5a1b9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b";

/// Time limit: longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A home with a service.
pub struct Served {
    pub world: World,
    child: Option<Child>,
    /// Runtime folder, which a home with a long path needs for its socket.
    run_time: Option<PathBuf>,
    /// Time of a fixed clock, in milliseconds since 1970.
    pub now: Option<i64>,
}

impl Served {
    pub fn world() -> Served {
        let world = World::new();
        fs::create_dir_all(world.test.user().join(".claude/projects/-barn")).unwrap();
        world.says(0, &["remember", "--class", "preference", "Answer in short sentences"]);
        Served { world, child: None, run_time: None, now: None }
    }

    pub fn begin() -> Served {
        let mut served = Served::world();
        served.serve(HEIRLOOM.as_ref(), &[]);
        served
    }

    pub fn home(&self) -> PathBuf {
        self.world.test.home()
    }

    pub fn command(&self, binary: &Path, args: &[&str]) -> Command {
        let mut command = self.world.test.command(binary);
        command.args(args);
        if let Some(folder) = &self.run_time {
            command.env("XDG_RUNTIME_DIR", folder);
        }
        if let Some(now) = self.now {
            command.env("HEIRLOOM_NOW", now.to_string());
        }
        command
    }

    /// Starts a service and waits until it answers.
    pub fn serve(&mut self, binary: &Path, args: &[&str]) {
        let is_said = args.iter().any(|arg| ["--no-tcp", "--listen"].contains(arg));
        let port: &[&str] = if is_said { &[] } else { &["--port", "0"] };
        self.serve_as_set(binary, &[port, args].concat());
    }

    /// Starts a service at the port of the settings, and waits until it answers.
    pub fn serve_as_set(&mut self, binary: &Path, args: &[&str]) {
        let args = [&["serve"], args].concat();
        let log = fs::File::create(self.world.test.user().join("serve.log")).unwrap();
        let mut command = self.command(binary, &args);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.child = Some(child);
        self.until("it answers", || self.answers());
    }

    pub fn said(&self) -> Value {
        let text = fs::read_to_string(self.home().join("run/service.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn socket(&self) -> PathBuf {
        self.said()["socket"].as_str().unwrap_or("/nowhere").into()
    }

    pub fn answers(&self) -> bool {
        self.ask("GET", "/v1/health", &[], b"").is_some_and(|answer| answer.0 == 200)
    }

    /// Sends a request. Returns status and body; `None` if nobody answers.
    fn ask(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Option<(u16, Vec<u8>)> {
        let mut stream = UnixStream::connect(self.socket()).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n{}\r\n",
            body.len(),
            headers.iter().map(|header| format!("{header}\r\n")).collect::<String>()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
        let mut got = Vec::new();
        stream.read_to_end(&mut got).ok()?;
        let status = std::str::from_utf8(got.get(9..12)?).ok()?.parse().ok()?;
        let end = got.windows(4).position(|four| four == b"\r\n\r\n")?;
        Some((status, got[end + 4..].to_vec()))
    }

    pub fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            let log = fs::read_to_string(self.world.test.user().join("serve.log")).unwrap_or_default();
            assert!(Instant::now() < until, "in vain: {what}\n{log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// Waits for the end of the process. Returns its exit code and its output.
    pub fn ended(&mut self) -> (Option<i32>, String) {
        let mut child = self.child.take().unwrap();
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        (status.code(), fs::read_to_string(self.world.test.user().join("serve.log")).unwrap_or_default())
    }

    pub fn transcript(&self) -> PathBuf {
        self.world.test.user().join(format!(".claude/projects/-barn/{SESSION}.jsonl"))
    }

    fn payload(&self, prompt: usize) -> Vec<u8> {
        json!({
            "session_id": SESSION, "transcript_path": self.transcript(), "cwd": self.world.test.user(),
            "hook_event_name": "UserPromptSubmit", "prompt_id": format!("run-{prompt}"),
            "prompt": format!("prompt number {prompt} about walruses"),
        })
        .to_string()
        .into_bytes()
    }

    /// Runs the hook of a prompt, which must succeed. Returns its output.
    pub fn prompt(&self, n: usize) -> String {
        let out = heirloom_testkit::run(
            self.command(HEIRLOOM.as_ref(), &["hook", "claude-code", "UserPromptSubmit"]),
            &self.payload(n),
        );
        assert_eq!((out.status, out.stderr.as_str()), (Some(0), ""));
        out.stdout
    }

    fn count(&self, sql: &str) -> i64 {
        let ledger = Connection::open(self.world.ledger()).unwrap();
        ledger.busy_timeout(Duration::from_secs(5)).unwrap();
        ledger.query_row(sql, [], |r| r.get(0)).unwrap()
    }

    pub fn turns(&self) -> i64 {
        self.count("SELECT count(*) FROM turns")
    }

    pub fn spooled(&self) -> usize {
        fs::read_dir(self.home().join("spool")).unwrap().count()
    }

    pub fn write(&self, path: &Path, lines: std::ops::Range<usize>) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let session = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        for n in lines {
            writeln!(file, "{}", claude_line(&session, n, "user", &format!("word{n} in {session}"))).unwrap();
        }
    }

    /// Waits until the home verifies: pages that are being written at the moment do not yet.
    pub fn all_is_well(&self) {
        self.until("everything is as it was stored", || self.world.run(&["verify"]).status == Some(0));
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn one_service_serves_a_home() {
    let mut served = Served::begin();
    let second = served.world.says(75, &["serve", "--port", "0"]);
    assert!(second.contains("is running already (process "), "{second}");
    let status = served.world.json(&["service", "status"]);
    assert_eq!((&status["running"], &status["watching"]), (&json!(true), &json!("events")), "{status}");
    assert_eq!(status["pid"], served.said()["pid"]);
    let doctor = served.world.run(&["doctor"]).stdout;
    assert!(doctor.contains("watches 1 folder"), "{doctor}");
    assert!(!doctor.contains("heirloom.sock: "), "a socket is at home there: {doctor}");
    assert!(served.world.run(&["status"]).stdout.contains("runs since"));

    served.signal("TERM");
    let (code, log) = served.ended();
    assert_eq!(code, Some(0), "{log}");
    assert!(!served.home().join("run/heirloom.sock").exists() && !served.home().join("run/service.json").exists());
    assert_eq!(served.world.json(&["service", "status"])["running"], false);
    // Hooks work without the service.
    served.prompt(1);
    assert_eq!(served.turns(), 1);
    served.all_is_well();
}

#[test]
fn another_machine_is_never_listened_for() {
    let served = Served::world();
    for address in ["0.0.0.0:0", "127.0.0.2:0"] {
        let said = served.world.says(3, &["serve", "--listen", address]);
        assert!(said.contains("not an address of this machine alone"), "{said}");
    }
    let missing = World::new().says(4, &["serve"]);
    assert!(missing.contains("there is no memory at"), "{missing}");
}

#[test]
fn a_socket_nobody_listens_on_is_replaced() {
    let mut served = Served::world();
    fs::create_dir_all(served.home().join("run")).unwrap();
    drop(UnixListener::bind(served.home().join("run/heirloom.sock")).unwrap());
    served.serve(HEIRLOOM.as_ref(), &[]);
    served.signal("KILL");
    served.ended();
    // A killed service leaves its socket and its description behind.
    assert!(served.home().join("run/service.json").exists());
    served.prompt(1);
    assert_eq!((served.turns(), served.spooled()), (1, 0), "the hook did without");
    served.serve(HEIRLOOM.as_ref(), &["--no-tcp"]);
    assert_eq!(served.said()["port"], Value::Null);
}

#[test]
fn a_home_of_a_long_path_is_served_from_a_short_one() {
    let mut served = Served::world();
    let long = served.world.test.user().join("l".repeat(120));
    fs::rename(served.home(), &long).unwrap();
    std::os::unix::fs::symlink(&long, served.home()).unwrap();
    let run_time = served.world.test.folder("run");
    fs::set_permissions(&run_time, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    served.run_time = Some(run_time.clone());
    let long = long.to_str().unwrap().to_owned();
    served.serve(HEIRLOOM.as_ref(), &["--home", &long]);
    assert!(served.socket().starts_with(&run_time), "{}", served.socket().display());
    let mut hook = served.command(HEIRLOOM.as_ref(), &["hook", "claude-code", "UserPromptSubmit", "--home", &long]);
    hook.env_remove("XDG_RUNTIME_DIR");
    let out = heirloom_testkit::run(hook, &served.payload(1));
    assert_eq!(out.status, Some(0));
    assert_eq!(served.count("SELECT count(*) FROM audit WHERE actor = 'hook claude-code'"), 1);
    assert_eq!(served.count("SELECT count(*) FROM hook_calls"), 1);
}

#[test]
fn a_call_that_comes_twice_is_stored_once() {
    let served = Served::begin();
    let id = "heirloom-hook-id: 019b1c5a-7e60-7d10-a9c3-2f0f6c1f5e11";
    let path = "/v1/hooks/claude-code/UserPromptSubmit";
    for _ in 0..2 {
        assert_eq!(served.ask("POST", path, &[id], &served.payload(1)).unwrap(), (204, Vec::new()));
        assert_eq!(served.turns(), 1);
    }
    // A context is given once, too.
    let begins =
        json!({"session_id": "x", "cwd": "/", "hook_event_name": "SessionStart", "source": "startup"}).to_string();
    let begin = |id: &str| served.ask("POST", "/v1/hooks/claude-code/SessionStart", &[id], begins.as_bytes()).unwrap();
    let other = id.replace("5e11", "5e12");
    let first = begin(&other);
    assert!(first.0 == 200 && String::from_utf8_lossy(&first.1).contains("short sentences"), "{first:?}");
    assert_eq!(begin(&other), (204, Vec::new()));
    // A call without an id counts as another call.
    served.ask("POST", path, &[], &served.payload(2)).unwrap();
    assert_eq!(served.turns(), 2);
    // A malformed or unknown call has no effect.
    for (path, body) in [(path, &b"{"[..]), ("/v1/hooks/claude-code/Nothing", b"{}"), ("/v1/hooks/nobody/Stop", b"{}")]
    {
        assert_eq!(served.ask("POST", path, &[id], body).unwrap().1, b"");
    }
    assert_eq!(served.turns(), 2);
}

#[test]
fn a_hook_that_cannot_wait_leaves_its_call_and_it_is_stored_once() {
    let served = Served::begin();
    let ledger = Connection::open(served.world.ledger()).unwrap();
    ledger.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The service has the call and waits for the ledger; the hook gives up waiting.
    assert_eq!(served.prompt(1), "");
    assert_eq!(served.spooled(), 1);
    ledger.execute_batch("ROLLBACK").unwrap();
    served.until("both are done", || served.spooled() == 0 && served.turns() > 0);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(served.turns(), 1);
    served.all_is_well();
}

#[test]
fn a_call_whose_file_was_not_finished_is_stored_once() {
    let served = Served::world();
    let spool = served.home().join("spool");
    let left = |digit: char, id: &str, bytes: usize, payload: &[u8]| {
        let path = spool.join(format!(".hl-{}.tmp", digit.to_string().repeat(16)));
        let head = json!({"v": 1, "harness": "claude-code", "event": "UserPromptSubmit", "at": 1795344540000_i64, "id": id, "bytes": bytes});
        fs::write(&path, [head.to_string().as_bytes(), b"\n", payload].concat()).unwrap();
        let then = std::time::SystemTime::now() - Duration::from_secs(60);
        fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        path
    };
    let payload = served.payload(1);
    let id = "019b1c5a-7e60-7d10-a9c3-2f0f6c1f5e11";
    let whole = left('a', id, payload.len(), &payload);
    let half = left('b', "019b1c5a-7e60-7d10-a9c3-2f0f6c1f5e12", payload.len(), &payload[..20]);
    served.world.run(&["status"]);
    assert_eq!((served.turns(), whole.exists(), half.exists()), (1, false, true));
    left('c', id, payload.len(), &payload);
    served.world.run(&["status"]);
    assert_eq!((served.turns(), served.spooled()), (1, 1));
}

#[test]
fn a_service_that_dies_with_a_call_loses_nothing() {
    let mut served = Served::begin();
    for round in 0..3 {
        let ledger = Connection::open(served.world.ledger()).unwrap();
        ledger.busy_timeout(Duration::from_secs(5)).unwrap();
        ledger.execute_batch("BEGIN IMMEDIATE").unwrap();
        let before = fs::read_to_string(served.home().join("logs/hooks.log")).unwrap_or_default().len();
        let said = std::thread::scope(|scope| {
            let hook = scope.spawn(|| served.prompt(round));
            // The kill comes after the hook has sent its call.
            std::thread::sleep(Duration::from_millis(80));
            served.signal("KILL");
            hook.join().unwrap()
        });
        assert_eq!(said, "");
        served.ended();
        ledger.execute_batch("ROLLBACK").unwrap();
        drop(ledger);
        let log = fs::read_to_string(served.home().join("logs/hooks.log")).unwrap();
        assert!(log[before..].contains("spooled"), "{log}");
        served.serve(HEIRLOOM.as_ref(), &[]);
        served.until("it is stored", || served.spooled() == 0 && served.turns() == round as i64 + 1);
    }
    served.all_is_well();
}

#[test]
fn a_hook_with_another_environment_does_without() {
    let served = Served::begin();
    let codex = served.world.test.folder("codex");
    let mut hook = served.command(HEIRLOOM.as_ref(), &["hook", "claude-code", "UserPromptSubmit"]);
    hook.env("CODEX_HOME", &codex);
    // The service cannot answer now, but the hook must not ask it.
    served.signal("STOP");
    let out = heirloom_testkit::run(hook, &served.payload(1));
    served.signal("CONT");
    assert_eq!((out.status, served.spooled()), (Some(0), 0));
    assert_eq!(served.turns(), 1);
}

/// Puts the build under test in the place of a program, as an installation does.
pub fn put_build(program: &Path) {
    let new = program.with_extension("new");
    fs::copy(HEIRLOOM, &new).unwrap();
    fs::rename(&new, program).unwrap();
    // A file that was just written may be incomplete, so the service waits until it is a second old.
    std::thread::sleep(Duration::from_millis(1_100));
}

#[test]
fn a_new_build_goes_on_with_the_sockets() {
    let mut served = Served::world();
    let program = served.world.test.folder("bin").join("heirloom");
    let replace = || put_build(&program);
    replace();
    served.serve(&program, &[]);
    let before = served.said();
    // No newer build is there: the service stays.
    assert_eq!(served.ask("POST", "/v1/daemon/retire", &[], b"").unwrap().0, 200);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(served.said()["since"], before["since"]);

    // A client that holds its connection open delays the change only for a limited time.
    let _held = UnixStream::connect(served.socket()).unwrap();
    replace();
    served.ask("POST", "/v1/daemon/retire", &[], b"").unwrap();
    served.until("the new build serves", || {
        let said = served.said();
        said["since"].is_number() && said["since"] != before["since"] && served.answers()
    });
    let after = served.said();
    assert_eq!((&after["pid"], &after["port"]), (&before["pid"], &before["port"]), "the same process and port");
    assert!(served.child.as_mut().unwrap().try_wait().unwrap().is_none());
    served.prompt(1);
    assert_eq!((served.turns(), served.spooled()), (1, 0));

    // Changed settings restart the service, too.
    fs::write(served.home().join("config.toml"), "[lineage]\nchunk_turns = 30\n").unwrap();
    served
        .until("it has begun again", || served.said()["since"].is_number() && served.said()["since"] != after["since"]);
    served.until("it answers", || served.answers());

    // A file that cannot run does not replace the service.
    let then = served.said();
    fs::write(program.with_extension("new"), "half a program").unwrap();
    fs::rename(program.with_extension("new"), &program).unwrap();
    std::thread::sleep(Duration::from_millis(1_100));
    served.ask("POST", "/v1/daemon/retire", &[], b"").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(served.said()["since"], then["since"]);
    assert!(served.answers());
}

#[test]
fn a_home_that_goes_away_ends_its_service() {
    let mut served = Served::begin();
    fs::rename(served.home(), served.world.test.folder("elsewhere").join("home")).unwrap();
    let (code, log) = served.ended();
    assert_eq!(code, Some(4), "{log}");
    assert!(log.contains("was moved or deleted; the service has ended"), "{log}");
    assert!(!served.home().exists(), "it is not made again");
}

#[test]
fn what_programs_write_is_found_by_itself() {
    let served = Served::begin();
    watched(&served);
}

#[test]
fn where_nothing_can_be_watched_it_looks() {
    let mut served = Served::world();
    let file = served.transcript();
    served.write(&file, 0..1);
    served.serve(HEIRLOOM.as_ref(), &["--poll"]);
    let status = served.world.json(&["service", "status"]);
    assert_eq!(status["watching"], "looks");
    assert!(served.world.run(&["doctor"]).stdout.contains("looks for changes every two seconds"));
    served.until("what is there is stored", || served.turns() == 1);
    served.write(&file, 1..2);
    served.until("what is added is stored", || served.turns() == 2);
    // Files that other processes write into the home are noticed, too.
    let spooled = served.home().join("spool/1795344540000-00000000000000aa.hook");
    let payload = served.payload(7);
    let head = json!({"v": 1, "harness": "claude-code", "event": "UserPromptSubmit", "at": 1795344540000_i64, "bytes": payload.len()});
    fs::write(&spooled, [head.to_string().as_bytes(), b"\n", &payload].concat()).unwrap();
    served.until("a call of an older build is stored", || served.turns() == 3 && served.spooled() == 0);
}

/// Checks that every way of changing a program's file is noticed.
fn watched(served: &Served) {
    let folder = served.world.test.user().join(".claude/projects");
    let is_found = |word: &str| served.world.run(&["search", word]).stdout.contains(&format!("**{word}**"));
    // A line is appended.
    served.write(&served.transcript(), 0..2);
    served.until("a new file", || served.turns() == 2);
    assert!(is_found("word1"));
    served.write(&served.transcript(), 2..3);
    served.until("an appended line", || served.turns() == 3);
    // A file in folders that are new themselves.
    served.write(&folder.join("-new/deep/deeper/6a1b9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b.jsonl"), 10..11);
    served.until("a file in new folders", || served.turns() == 4);
    // The file is replaced by another one.
    let other = served.world.test.user().join("other.jsonl");
    served.write(&other, 20..21);
    let line = fs::read_to_string(&other).unwrap().replace("\"other\"", &format!("\"{SESSION}\""));
    fs::write(&other, fs::read_to_string(served.transcript()).unwrap() + &line).unwrap();
    fs::rename(&other, served.transcript()).unwrap();
    served.until("a file put in its place", || served.turns() == 5);
    // The file is truncated and written again.
    fs::write(served.transcript(), line.replace("word20", "word30").replace("other-20", "other-30")).unwrap();
    served.until("a truncated file", || served.turns() == 6);
    served.all_is_well();
}

#[test]
fn more_changes_than_can_be_told_of_are_found_all_the_same() {
    let served = Served::begin();
    let folder = served.world.test.user().join(".claude/projects/-many");
    // While the service is stopped, its queue of events overflows.
    served.signal("STOP");
    for n in 0..40 {
        let file = folder.join(format!("{n:08}-0b7d-4e55-9a41-6c1d2e3f4a5b.jsonl"));
        served.write(&file, n..n + 1);
    }
    let noise = folder.join("noise.txt");
    for n in 0..20_000 {
        fs::write(&noise, n.to_string()).unwrap();
        if n % 2 == 0 {
            fs::remove_file(&noise).unwrap();
        }
    }
    served.signal("CONT");
    served.until("all are stored", || served.turns() == 40);
}

#[test]
fn a_program_that_comes_later_is_watched() {
    let served = Served::begin();
    let file = served
        .world
        .test
        .user()
        .join(".codex/sessions/2026/11/23/rollout-2026-11-23T10-00-00-7a1b9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    served
        .until("its folder is watched", || served.said()["watching"]["roots"].as_array().is_some_and(|r| r.len() == 2));
}

#[test]
fn slow_clients_harm_nobody() {
    let served = Served::begin();
    let port = served.said()["port"].as_u64().unwrap();
    let mut slow = Vec::new();
    for n in 0..300 {
        let mut stream = TcpStream::connect(("127.0.0.1", port as u16)).unwrap();
        if n % 2 == 0 {
            stream.write_all(b"GET /v1/health HTTP/1.1\r\nhost: ").unwrap();
        }
        slow.push(stream);
    }
    let mut halves: Vec<UnixStream> = (0..200).map(|_| UnixStream::connect(served.socket()).unwrap()).collect();
    for half in &mut halves {
        half.write_all(b"POST /v1/hooks/claude-code/Stop HTTP/1.1\r\ncontent-length: 100000000\r\n\r\n{").unwrap();
    }
    for n in 0..5 {
        served.prompt(n);
    }
    assert_eq!((served.turns(), served.spooled()), (5, 0));
}

/// Counts the clients whose connection the service has not closed.
fn still_open<S: Client>(clients: &[S]) -> usize {
    clients.iter().filter(|client| client.is_open()).count()
}

trait Client {
    fn is_open(&self) -> bool;
}

macro_rules! stream {
    ($($stream:ty),*) => {$(
        impl Client for $stream {
            fn is_open(&self) -> bool {
                self.set_nonblocking(true).unwrap();
                let mut stream: &$stream = self;
                matches!(stream.read(&mut [0; 1]), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock)
            }
        }
    )*};
}
stream!(TcpStream, UnixStream);

/// The slow clients are those with the longest patience: half a body has half a minute. Somebody with a whole request is
/// answered at both doors while most of them are still there: one of them gives up its place, and none is waited for.
#[test]
fn a_client_with_a_request_waits_for_no_slow_one() {
    let served = Served::begin();
    let port = served.said()["port"].as_u64().unwrap() as u16;
    let token = served.world.json(&["token", "new", "page"])["token"].as_str().unwrap().to_owned();
    let head = |path: &str, length: usize| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    // A page that listens for events is being answered and keeps its place.
    let mut page = TcpStream::connect(("127.0.0.1", port)).unwrap();
    page.set_read_timeout(Some(PATIENCE)).unwrap();
    let listens = head("/v1/events", 0).replace("POST", "GET").replace("content-length: 0\r\n", "");
    page.write_all(listens.as_bytes()).unwrap();
    let mut begun = [0; 12];
    page.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    let half = |n: usize| match n % 3 {
        0 => String::new(),
        1 => "GET /v1/health HTTP/1.1\r\nhost: ".to_owned(),
        _ => format!("{}{{", head("/v1/append", 10_000_000)),
    };
    // The last 250 at each door have the longest patience.
    let kind = |n: usize| if n < 50 { n } else { 2 };
    let mut at_port = Vec::new();
    let mut at_socket = Vec::new();
    for n in 0..300 {
        at_port.push(TcpStream::connect(("127.0.0.1", port)).unwrap());
        at_port[n].write_all(half(kind(n)).as_bytes()).unwrap();
        at_socket.push(UnixStream::connect(served.socket()).unwrap());
        at_socket[n].write_all(half(kind(n)).as_bytes()).unwrap();
    }
    let line = br#"{"session": "kitchen", "id": "1", "text": "The oven is fixed."}"#;
    let mut asked = TcpStream::connect(("127.0.0.1", port)).unwrap();
    asked.set_read_timeout(Some(PATIENCE)).unwrap();
    asked.write_all(&[head("/v1/append", line.len()).as_bytes(), line].concat()).unwrap();
    let mut answer = String::new();
    asked.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(still_open(&at_port[50..]) > 200, "{} of 250 at the port", still_open(&at_port[50..]));
    assert!(served.answers());
    assert!(still_open(&at_socket[50..]) > 200, "{} of 250 at the socket", still_open(&at_socket[50..]));
    served.prompt(1);
    assert_eq!(served.spooled(), 0);
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains("event: change") {
        let mut more = [0; 4096];
        let n = page.read(&mut more).unwrap();
        assert!(n > 0, "the page was sent away: {}", String::from_utf8_lossy(&heard));
        heard.extend(&more[..n]);
    }
}

#[test]
fn many_hooks_at_once_are_all_stored() {
    let served = Served::begin();
    std::thread::scope(|scope| {
        for n in 0..50 {
            let served = &served;
            scope.spawn(move || served.prompt(n));
        }
    });
    served.until("all are stored", || served.spooled() == 0 && served.turns() == 50);
    assert_eq!(served.count("SELECT count(*) FROM hook_calls"), 50);
    served.all_is_well();
}

#[test]
fn backups_are_made_by_themselves_and_a_disk_that_is_gone_is_said() {
    let mut served = Served::world();
    let disk = served.world.test.user().join("disk");
    let config = served.home().join("config.toml");
    served.serve(HEIRLOOM.as_ref(), &[]);
    // Settings are read whenever they are needed, not once at the start.
    fs::write(&config, format!("[backup]\nto = \"{}\"\nevery = \"1h\"\nkeep = 2\n", disk.display())).unwrap();
    let seen = |served: &Served| -> Value {
        let text = fs::read(served.home().join("state/backup.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    };
    served.until("a backup failed", || seen(&served)["failed_at"].is_i64());
    assert!(served.world.says(1, &["status"]).contains("the folder for backups is not there"));
    served.signal("TERM");
    served.ended();
    // The next attempt would be in an hour; by hand the backup is made at once, and the next one is due an hour later.
    fs::create_dir(&disk).unwrap();
    served.world.says(0, &["backup"]);
    assert!(seen(&served)["failed_at"].is_null());
    let copies = || fs::read_dir(&disk).unwrap().count();
    assert_eq!(copies(), 1);
    let mut last = seen(&served);
    last["at"] = (last["at"].as_i64().unwrap() - 2 * 3_600_000).into();
    fs::write(served.home().join("state/backup.json"), last.to_string()).unwrap();
    served.serve(HEIRLOOM.as_ref(), &[]);
    served.until("the one that is due is made", || copies() == 2);
    served.until("it is noted", || seen(&served)["at"].as_i64() > last["at"].as_i64());
    let to = seen(&served)["to"].as_str().unwrap().to_owned();
    served.signal("TERM");
    assert!(served.ended().1.contains("backed up to"));
    let other = served.world.test.user().join("other");
    served.world.says(0, &["--home", other.to_str().unwrap(), "restore", "--from", &to]);
}

#[test]
fn it_is_started_and_ended_by_hand() {
    let served = Served::world();
    let started = served.world.json(&["service", "start"]);
    assert_eq!(started["running"], true);
    assert!(served.answers());
    assert!(served.world.says(0, &["service", "start"]).contains("runs already"));
    assert!(served.world.says(0, &["service", "stop"]).contains("has ended"));
    assert!(!served.answers());
    assert!(served.world.says(0, &["service", "stop"]).contains("did not run"));
}

/// Installs a fake system manager that records its calls.
pub fn manager(served: &Served, is_there: bool) -> (PathBuf, PathBuf) {
    let folder = served.world.test.folder("manager");
    let told = folder.join("told");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\ncase \"$*\" in\n*show-environment*) exit {};;\n\
         *enable*) '{HEIRLOOM}' serve --detached --port 0 < /dev/null > /dev/null 2>&1 &;;\n\
         *disable*) kill $(sed 's/.*\"pid\":\\([0-9]*\\).*/\\1/' '{}');;\nesac\n",
        told.display(),
        i32::from(!is_there),
        served.home().join("run/service.json").display(),
    );
    let program = folder.join("systemctl");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    (folder, told)
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_is_told_to_start_it() {
    let served = Served::world();
    let (folder, told) = manager(&served, true);
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let run = |args: &[&str]| {
        let mut command = served.command(HEIRLOOM.as_ref(), args);
        command.env("PATH", &path);
        heirloom_testkit::run(command, b"")
    };
    let unit = served.world.test.user().join(".config/systemd/user/heirloom.service");
    let preview = run(&["service", "install", "--dry-run"]);
    assert!(preview.stdout.contains("+Type=notify") && preview.stdout.contains("then  systemctl --user enable --now"));
    let refused = run(&["service", "install"]);
    assert_eq!(refused.status, Some(3), "nobody can be asked: {}", refused.stderr);
    assert!(!unit.exists());

    let installed = run(&["service", "install", "--yes"]);
    assert_eq!(installed.status, Some(0), "{}{}", installed.stdout, installed.stderr);
    let text = fs::read_to_string(&unit).unwrap();
    assert!(text.contains(&format!("serve --home {}", served.home().display())), "{text}");
    assert!(fs::read_to_string(&told).unwrap().contains("enable --now heirloom.service"));
    assert_eq!(served.world.json(&["service", "status"])["installed"], true);
    assert!(run(&["service", "install", "--yes"]).stdout.contains("installed already"));

    assert!(run(&["service", "uninstall", "-y", "--dry-run"]).stdout.contains("would be removed") && unit.exists());
    let removed = run(&["service", "uninstall", "--yes"]);
    assert_eq!(removed.status, Some(0), "{}", removed.stderr);
    assert!(!unit.exists() && fs::read_to_string(&told).unwrap().contains("disable --now"));
    assert!(run(&["service", "uninstall"]).stdout.contains("is not installed"));
    served.world.says(0, &["service", "stop"]);

    let (..) = manager(&served, false);
    let without = run(&["service", "install", "--yes"]);
    assert_eq!(without.status, Some(3));
    assert!(without.stderr.contains("heirloom service start"), "{}", without.stderr);
    assert!(!unit.exists());
}
