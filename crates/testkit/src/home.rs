//! A user who exists for one test only: an empty home directory, an empty Heirloom home, an empty environment. This
//! module does not know the structure of a home.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time after which a running command counts as hanging: longer than any command in a test takes on a slow machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Two folders with unguessable names that are deleted when this is dropped: the user's home and, inside, Heirloom's.
#[derive(Debug)]
pub struct TestHome {
    dir: tempfile::TempDir,
    /// The time that commands take for now, in milliseconds since 1970; `None`: the system's clock.
    now: Option<i64>,
}

/// The result of a finished command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The exit code; `None` when a signal ended it.
    pub status: Option<i32>,
    /// Standard output. Bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl TestHome {
    /// Creates the folders. The Heirloom home is named but not created: that is for the program under test.
    #[expect(clippy::new_without_default, reason = "creating folders is more than a default value")]
    pub fn new() -> TestHome {
        let dir = tempfile::Builder::new().prefix("heirloom-test-").tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("user")).expect("a home directory for the user");
        TestHome { dir, now: None }
    }

    /// Makes every command take this time for now, in milliseconds since 1970: what a home says of sessions depends on how
    /// long ago they were.
    pub fn at(mut self, now: i64) -> TestHome {
        self.now = Some(now);
        self
    }

    /// Returns the user's home directory (`HOME`).
    pub fn user(&self) -> PathBuf {
        self.dir.path().join("user")
    }

    /// Returns the path of Heirloom's home (`HEIRLOOM_HOME`).
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("user/.heirloom")
    }

    /// Makes a folder outside both, for projects and canaries. The same name gives the same folder.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(&path).expect("a folder beside the home");
        path
    }

    /// Keeps both folders for inspection and returns their path.
    pub fn keep(&mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        self.dir.path().to_owned()
    }

    /// Makes a command that sees only this environment. It has no variables except `PATH`, `HOME`, `HEIRLOOM_HOME`,
    /// `NO_COLOR`, `TZ` and `LANG`, so that nothing of the person who runs the tests leaks in, neither their colours
    /// nor their `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `XDG_DATA_HOME` or `OPENCLAW_STATE_DIR`.
    pub fn command(&self, binary: impl AsRef<Path>) -> Command {
        let mut command = Command::new(binary.as_ref());
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.user())
            .env("HEIRLOOM_HOME", self.home())
            .env("NO_COLOR", "1")
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8")
            .current_dir(self.user());
        if let Some(now) = self.now {
            command.env("HEIRLOOM_NOW", now.to_string());
        }
        command
    }

    /// Runs a binary in this environment and waits for it.
    pub fn run(&self, binary: impl AsRef<Path>, args: &[&str], stdin: &[u8]) -> Output {
        let mut command = self.command(binary);
        command.args(args);
        run(command, stdin)
    }
}

/// Runs a command to its end, feeding it `stdin`. Panics if it cannot be started or is still running after two minutes;
/// a command that does not read its input is fine.
pub fn run(mut command: Command, stdin: &[u8]) -> Output {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let mut complaints = child.stderr.take().expect("piped");
    // All three pipes are served at once; otherwise a child that fills one while this thread fills another would block
    // for ever.
    std::thread::scope(|scope| {
        scope.spawn(move || drop(input.write_all(stdin)));
        let stdout = scope.spawn(move || read_all(&mut output));
        let stderr = scope.spawn(move || read_all(&mut complaints));
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child of ours") {
                break status;
            }
            if began.elapsed() > TIMEOUT {
                // The child is killed first: the threads above end only when its pipes close.
                let _ = child.kill();
                let _ = child.wait();
                panic!("{command:?} was still running after {TIMEOUT:?}");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let stdout = stdout.join().expect("a reader");
        let stderr = stderr.join().expect("a reader");
        Output { status: status.code(), stdout, stderr }
    })
}

fn read_all(pipe: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_sees_only_this_world() {
        let world = TestHome::new();
        let out = world.run("/usr/bin/env", &[], b"");
        assert_eq!(out.status, Some(0));
        let mut names: Vec<_> = out.stdout.lines().filter_map(|l| Some(l.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["HEIRLOOM_HOME", "HOME", "LANG", "NO_COLOR", "PATH", "TZ"]);
        assert!(!world.home().exists() && world.user().is_dir());
        assert_ne!(TestHome::new().user(), world.user());
    }

    #[test]
    fn large_pipes_do_not_block() {
        let world = TestHome::new();
        let input = "x".repeat(1 << 20);
        let out = world.run("/bin/sh", &["-c", "tee /dev/stderr; exit 3"], input.as_bytes());
        assert_eq!((out.status, out.stdout.len(), out.stderr.len()), (Some(3), 1 << 20, 1 << 20));
        assert_eq!(world.run("/bin/sh", &["-c", "exit 0"], input.as_bytes()).status, Some(0));
    }
}
