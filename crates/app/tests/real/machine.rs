//! A machine for a test with the real programs: a temporary home, a fake model that all of them use, and the output of
//! every process.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use heirloom_testkit::fake_model::{Asked, FakeModel, Purpose};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::world::{HEIRLOOM, World};

/// Variable that names the folder with the programs, which `scripts/real-programs` fills.
const PROGRAMS: &str = "HEIRLOOM_PROGRAMS";

/// Time limit: longer than any one turn takes on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// The tests run one at a time: four programs that each keep a processor busy do not finish sooner side by side.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A user's machine.
pub struct Machine {
    pub world: World,
    pub model: FakeModel,
    programs: PathBuf,
    /// Folder with the output of every process: `NN-label.stdout`, `NN-label.stderr`.
    runs: PathBuf,
    count: Cell<usize>,
    /// Shell script that starts every program; it ends with `exec "$@"`.
    within: RefCell<Option<String>>,
    _turn: Option<MutexGuard<'static, ()>>,
}

/// Output of a process.
pub struct Ran {
    pub stdout: String,
    /// Common path of the files with both of its outputs.
    pub log: PathBuf,
}

/// Result of a turn.
pub struct Turned {
    /// Standard output of the program.
    pub stdout: String,
    /// The program's own id of the session.
    pub session: String,
    /// All text the model received with the prompt, from whatever source; empty if the prompt did not reach it.
    pub heard: String,
}

impl Machine {
    /// Makes a machine. Panics if the programs are not installed.
    pub fn new() -> Machine {
        let programs = std::env::var_os(PROGRAMS).filter(|p| !p.is_empty()).unwrap_or_else(|| {
            panic!("{PROGRAMS} names no folder with the real programs (scripts/real-programs fills one)")
        });
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let programs = repository.join(programs);
        for name in ["node", "claude", "codex", "opencode", "openclaw"] {
            let binary = programs.join("bin").join(name);
            assert!(binary.exists(), "there is no {}: run scripts/real-programs", binary.display());
        }
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        Machine::with(programs, Some(turn))
    }

    /// Makes another machine, to be used while this one lives.
    pub fn beside(&self) -> Machine {
        Machine::with(self.programs.clone(), None)
    }

    fn with(programs: PathBuf, turn: Option<MutexGuard<'static, ()>>) -> Machine {
        let world = World::new();
        let runs = world.test.folder("runs");
        let model = FakeModel::usual();
        Machine { world, model, programs, runs, count: Cell::new(0), within: RefCell::default(), _turn: turn }
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> PathBuf {
        self.world.test.user()
    }

    /// Returns the folder of a project; the same name gives the same folder.
    pub fn project(&self, name: &str) -> PathBuf {
        let path = self.home().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Connects a program before its first turn, as its user would.
    pub fn connect(&self, name: &str) {
        self.world.says(0, &["connect", name, "--yes", "--trust"]);
    }

    /// Returns the command of a program in this home. Of the caller's environment it has only PATH; every connection
    /// out of the machine leads to the fake model, which refuses it and records the target ([`FakeModel::outside`]).
    pub fn command(&self, program: &str) -> Command {
        let program = self.programs.join("bin").join(program);
        let within = self.within.borrow();
        let Some(script) = within.as_deref() else { return self.in_this_home(&program) };
        let mut command = self.in_this_home("unshare");
        command.args(["-m", "-r", "sh", "-c", script, "sh"]).arg(program);
        command
    }

    /// Returns a shell command in this home, as the user would give it.
    pub fn shell(&self, line: &str) -> Command {
        let mut command = self.in_this_home("/bin/sh");
        command.args(["-c", line]);
        command
    }

    /// Makes later programs start in a namespace of their own, by a script that ends with `exec "$@"`; its mounts are
    /// invisible outside. Returns `false` if that is not possible here.
    pub fn within(&self, script: Option<&str>) -> bool {
        let may = |script| {
            let mut command = self.in_this_home("unshare");
            command.args(["-m", "-r", "sh", "-c", script, "sh", "true"]).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let had = script.is_none_or(may);
        self.within.replace(script.filter(|_| had).map(str::to_owned));
        had
    }

    fn in_this_home(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.world.test.command(Path::new(program.as_ref()));
        let mut path = vec![self.programs.join("bin"), Path::new(HEIRLOOM).parent().unwrap().to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        command.env("PATH", std::env::join_paths(path).unwrap());
        command.env("TMPDIR", self.world.test.folder("tmp")).env("TERM", "dumb").env("SHELL", "/bin/sh");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            command.env(name, self.model.url());
        }
        command.env("NO_PROXY", "127.0.0.1,localhost,::1").env("no_proxy", "127.0.0.1,localhost,::1");
        command.env("NODE_USE_ENV_PROXY", "1").env("DO_NOT_TRACK", "1");
        command
    }

    /// Runs a process to its end and expects success. A process that takes too long is ended with all its children.
    pub fn run(&self, label: &str, mut command: Command) -> Ran {
        let (stdout, log) = self.log(label, &mut command);
        let began = Instant::now();
        let status = finish(&mut command, PATIENCE);
        println!("{label}: {:.1} s", began.elapsed().as_secs_f64());
        let status = status.unwrap_or_else(|| panic!("{label} was still running after {PATIENCE:?}: {}", shown(&log)));
        assert!(status.success(), "{label}: {status}: {}", shown(&log));
        Ran { stdout: fs::read_to_string(stdout).unwrap_or_default(), log }
    }

    /// Starts a server.
    pub fn start(&self, label: &str, command: &Command) -> Server {
        let mut keeper = kept(command);
        let (stdout, log) = self.log(label, &mut keeper);
        Server { child: keeper.spawn().expect("a shell"), stdout, log }
    }

    /// Returns what the model received with the first of its prompts since `mark` that contains this one.
    pub fn heard_since(&self, mark: usize, prompt: &str) -> String {
        let is_it = |a: &Asked| a.purpose == Purpose::Turn && a.prompt.contains(prompt);
        self.model.asked_since(mark).into_iter().find(is_it).map(|a| a.heard).unwrap_or_default()
    }

    /// Returns the lines of the programs' output about us that sound like a complaint, each once, without their numbers
    /// and paths.
    pub fn complaints(&self) -> BTreeSet<String> {
        const COMPLAINTS: [&str; 8] = ["error", "fail", "cannot", "can't", "enoent", "not found", "timed out", "warn"];
        let own = self.world.test.user().parent().expect("a folder").display().to_string();
        let texts = fs::read_dir(&self.runs).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap_or_default());
        let mut all = BTreeSet::new();
        for text in texts {
            for line in String::from_utf8_lossy(&text).lines() {
                let line: String = line.replace(&own, "").chars().filter(|c| !c.is_ascii_digit()).collect();
                let line = line.to_lowercase();
                if line.contains("heirloom") && COMPLAINTS.iter().any(|word| line.contains(word)) {
                    all.insert(line.chars().take(400).collect());
                }
            }
        }
        all
    }

    /// Returns a number that was not used before.
    pub fn next(&self) -> usize {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    /// Redirects a process's output into files. Returns the path of standard output, and the common path of both.
    fn log(&self, label: &str, command: &mut Command) -> (PathBuf, PathBuf) {
        let log = self.runs.join(format!("{:02}-{label}", self.next()));
        let stdout = log.with_extension("stdout");
        command.stdout(File::create(&stdout).unwrap());
        command.stderr(File::create(log.with_extension("stderr")).unwrap());
        (stdout, log)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        // The model's requests are written out for whoever investigates a failure.
        let requests = self.runs.join("requests.jsonl");
        if let Ok(mut file) = File::create(&requests) {
            for request in self.model.requests() {
                let line = serde_json::json!({"method": request.method, "path": request.path, "body": request.body});
                let _ = writeln!(file, "{line}");
            }
        }
        println!("everything was kept: {}", self.world.test.keep().display());
        println!("the programs wanted to call: {:?}", self.model.outside());
    }
}

/// Runs a process in a group of its own to its end; `None` if it had to be ended. Afterwards the whole group is killed:
/// its processes would work on in a home that is about to vanish.
fn finish(command: &mut Command, patience: Duration) -> Option<ExitStatus> {
    let child = command.stdin(Stdio::null()).process_group(0).spawn();
    let mut child = child.unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let group = Pid::from_child(&child);
    let status = wait(&mut child, patience);
    let _ = kill_process_group(group, Signal::KILL);
    if status.is_none() {
        let _ = child.wait();
    }
    status
}

/// Wraps a command in a keeper, which ends it when a pipe closes: also when the tests are killed.
fn kept(command: &Command) -> Command {
    const KEEPER: &str = r#""$@" </dev/null & cat >/dev/null; kill -TERM 0"#;
    let mut keeper = Command::new("/bin/sh");
    keeper.args(["-c", KEEPER, "sh"]).arg(command.get_program()).args(command.get_args()).env_clear();
    keeper.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    keeper.current_dir(command.get_current_dir().expect("a server has a folder"));
    keeper.stdin(Stdio::piped()).process_group(0);
    keeper
}

/// A process that runs as long as this value lives.
pub struct Server {
    child: Child,
    stdout: PathBuf,
    log: PathBuf,
}

impl Server {
    /// Waits until the output contains the words this many times; returns the output.
    pub fn says(&mut self, words: &str, times: usize) -> String {
        let began = Instant::now();
        loop {
            let out = fs::read_to_string(&self.stdout).unwrap_or_default();
            if out.matches(words).count() >= times {
                return out;
            }
            let late = began.elapsed() > PATIENCE;
            assert!(!late, "no {words:?} after {PATIENCE:?}: {}", shown(&self.log));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the process group.
    pub fn group(&self) -> u32 {
        self.child.id()
    }

    /// Counts the words in the present output.
    pub fn said(&self, words: &str) -> usize {
        fs::read_to_string(&self.stdout).unwrap_or_default().matches(words).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::TERM);
        // The keeper ends at once; the process it kept may still be writing.
        let _ = wait(&mut self.child, Duration::from_secs(20));
        let began = Instant::now();
        while kill_process_group(group, Signal::TERM).is_ok() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Returns the exit status, or `None` if the process still runs after `patience`.
fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return Some(status);
        }
        if began.elapsed() > patience {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the path of a log and its last lines.
pub fn shown(log: &Path) -> String {
    let mut text = log.display().to_string();
    for end in ["stdout", "stderr"] {
        let all = fs::read(log.with_extension(end)).unwrap_or_default();
        let all = String::from_utf8_lossy(&all);
        let lines: Vec<&str> = all.lines().collect();
        text += &format!("\n== {end}\n{}", lines[lines.len().saturating_sub(30)..].join("\n"));
    }
    text
}

mod tests {
    use heirloom_testkit::TestHome;

    use super::*;

    /// Returns a command that prints its own process id and its child's, and then waits for a long time.
    fn slow(test: &TestHome, out: &Path) -> Command {
        let mut command = test.command("/bin/sh");
        command.args(["-c", "sleep 600 & echo $$ $! ready; wait"]).stdout(File::create(out).unwrap());
        command
    }

    /// Returns whether any of the printed processes runs; ended processes that were not waited for do not count.
    fn running(out: &Path) -> bool {
        let said = fs::read_to_string(out).unwrap();
        let pids: Vec<&str> = said.split_whitespace().filter(|w| w.parse::<u32>().is_ok()).collect();
        assert_eq!(pids.len(), 2, "{said:?}");
        let mut ps = Command::new("ps");
        let listed = ps.args(["-o", "stat=", "-p", &pids.join(",")]).output().unwrap();
        String::from_utf8_lossy(&listed.stdout).lines().any(|state| !state.trim().starts_with('Z'))
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_it_started() {
        let test = TestHome::new();
        let out = test.folder("out").join("pids");
        assert_eq!(finish(&mut slow(&test, &out), Duration::from_secs(2)), None);
        assert!(!running(&out));
        let mut quick = test.command("/bin/sh");
        quick.args(["-c", "exit 3"]);
        assert_eq!(finish(&mut quick, Duration::from_secs(60)).unwrap().code(), Some(3));
    }

    #[test]
    fn a_server_ends_with_its_value_and_with_whoever_started_it() {
        let test = TestHome::new();
        let stdout = test.folder("out").join("pids");
        for killed in [false, true] {
            let mut keeper = kept(&slow(&test, &stdout));
            keeper.stdout(File::create(&stdout).unwrap());
            let mut server = Server { child: keeper.spawn().unwrap(), stdout: stdout.clone(), log: stdout.clone() };
            server.says("ready", 1);
            assert!(running(&stdout));
            if killed {
                // The pipe's end is dropped, which is what remains of the tests when they are killed.
                drop(server.child.stdin.take());
                let began = Instant::now();
                while running(&stdout) {
                    assert!(began.elapsed() < Duration::from_secs(60), "it is still there");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            drop(server);
            assert!(!running(&stdout));
        }
    }
}
