//! The home's service, as commands see it: whether it runs, what it reports, and how the system starts it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heirloom_engine::home::Home;
use heirloom_service::client::{Question, ask};
use heirloom_service::unit::{self, Start};
use heirloom_service::{Running, running};
use serde_json::Value;

use crate::config;

/// Maximum time for the service to answer a question about its state.
const PATIENCE: Duration = Duration::from_secs(1);

/// State of the home's running service.
pub struct Seen {
    pub running: Running,
    /// Number of open connections; `None` if the service does not answer.
    pub connections: Option<u64>,
}

/// Returns the state of the home's service. `None` if none runs.
pub fn look(home: &Home) -> Option<Seen> {
    let running = running::of(home)?;
    let until = Instant::now() + PATIENCE;
    let asked = ask(&running.socket, &Question { method: "GET", path: "/v1/daemon", headers: &[], body: b"", until });
    let said = asked.ok().and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
    // This question itself is one connection and is not counted.
    let connections = said.and_then(|said| said["connections"].as_u64()).map(|all| all.saturating_sub(1));
    Some(Seen { running, connections })
}

/// Asks the home's service, if one runs, to hand over to the build that is now in the place of its own. The service
/// decides whether there is one.
pub fn hand_over(home: &Home) {
    if let Some(running) = running::of(home) {
        retire(&running.socket, PATIENCE);
    }
}

/// Asks the service at the socket to make room for a newer build. An answer is not needed: whoever asks does without.
pub fn retire(socket: &Path, patience: Duration) {
    let until = Instant::now() + patience;
    let _ = ask(socket, &Question { method: "POST", path: "/v1/daemon/retire", headers: &[], body: b"", until });
}

/// Log of a service that was started a moment ago, from the place where that service began to write.
pub enum Log {
    File {
        path: PathBuf,
        from: u64,
    },
    /// The journal of systemd, from this second since 1970 on.
    Journal {
        since: u64,
    },
}

impl Log {
    /// Returns the end of the log at this path.
    pub fn file(path: PathBuf) -> Log {
        let from = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        Log::File { path, from }
    }

    /// Returns the last error in the log, and the next step the service names.
    pub fn last_error(&self) -> Option<(String, Option<String>)> {
        let text = match self {
            Log::File { path, from } => {
                use std::io::{Read as _, Seek as _, SeekFrom};
                let mut file = std::fs::File::open(path).ok()?;
                file.seek(SeekFrom::Start(*from)).ok()?;
                let mut bytes = Vec::new();
                file.take(LARGEST).read_to_end(&mut bytes).ok()?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Log::Journal { since } => {
                let since = format!("@{since}");
                let mut command = Command::new("journalctl");
                command.args(["--user", "--unit", unit::UNIT, "--since", &since, "--output", "cat", "--no-pager"]);
                let out = command.stdin(Stdio::null()).output().ok()?;
                String::from_utf8_lossy(&out.stdout).into_owned()
            }
        };
        last_error(&text)
    }
}

/// Maximum number of bytes of a log that are read.
const LARGEST: u64 = 64 << 10;

/// Returns the last error in the text of a log: a line `heirloom: …`, and the next step, which is indented below it.
fn last_error(text: &str) -> Option<(String, Option<String>)> {
    let lines: Vec<&str> = text.lines().collect();
    let (at, what) =
        lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, line.strip_prefix("heirloom: ")?)))?;
    let next = lines.get(at + 1).filter(|next| next.starts_with("   ")).map(|next| next.trim().to_owned());
    Some((what.to_owned(), next))
}

/// System programs that start services for a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    /// Returns the service manager of this system. `None` if no known one answers.
    pub fn here() -> Option<Manager> {
        if cfg!(target_os = "macos") {
            return Some(Manager::Launchd);
        }
        quiet(Command::new("systemctl").args(["--user", "show-environment"])).then_some(Manager::Systemd)
    }

    /// Returns the path of the file that describes the service to the manager.
    pub fn file(self) -> Option<PathBuf> {
        let user = config::user_home()?;
        Some(match self {
            Manager::Systemd => config::host()
                .xdg_config_home
                .unwrap_or_else(|| user.join(".config"))
                .join("systemd/user")
                .join(unit::UNIT),
            Manager::Launchd => user.join("Library/LaunchAgents").join(format!("{}.plist", unit::LABEL)),
        })
    }

    /// Returns the contents of that file.
    pub fn text(self, start: &Start) -> String {
        match self {
            Manager::Systemd => unit::systemd(start),
            Manager::Launchd => unit::launchd(start, &start.home.join("logs/service.log")),
        }
    }

    /// Returns the commands that load the file and start the service.
    pub fn begin(self) -> Vec<Vec<String>> {
        match self {
            Manager::Systemd => {
                words(&["systemctl --user daemon-reload", "systemctl --user enable --now heirloom.service"])
            }
            Manager::Launchd => vec![launchctl("bootstrap", true)],
        }
    }

    /// Returns the commands that end the service, and those that unload the file; the file is removed between the two
    /// lists.
    pub fn end(self) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
        match self {
            Manager::Systemd => (
                words(&["systemctl --user disable --now heirloom.service"]),
                words(&["systemctl --user daemon-reload"]),
            ),
            Manager::Launchd => (vec![launchctl("bootout", false)], Vec::new()),
        }
    }

    pub fn start(self) -> Vec<Vec<String>> {
        match self {
            Manager::Systemd => words(&["systemctl --user start heirloom.service"]),
            Manager::Launchd => vec![launchctl("bootstrap", true)],
        }
    }

    pub fn stop(self) -> Vec<Vec<String>> {
        match self {
            Manager::Systemd => words(&["systemctl --user stop heirloom.service"]),
            Manager::Launchd => vec![launchctl("bootout", false)],
        }
    }
}

fn words(commands: &[&str]) -> Vec<Vec<String>> {
    commands.iter().map(|command| command.split(' ').map(str::to_owned).collect()).collect()
}

fn launchctl(verb: &str, names_file: bool) -> Vec<String> {
    let domain = format!("gui/{}", rustix::process::getuid().as_raw());
    let file = Manager::Launchd.file().unwrap_or_default().display().to_string();
    let target = if names_file { vec![domain, file] } else { vec![format!("{domain}/{}", unit::LABEL)] };
    [vec!["launchctl".to_owned(), verb.to_owned()], target].concat()
}

/// Runs a command without output. Returns whether it succeeded.
fn quiet(command: &mut Command) -> bool {
    let run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_of_a_log_has_its_next_step() {
        let log = "heirloom: listens on /h/run/heirloom.sock\nheirloom: cannot listen on 127.0.0.1:80\n          choose another port\nSomething else\n";
        let error = ("cannot listen on 127.0.0.1:80".to_owned(), Some("choose another port".to_owned()));
        assert_eq!(last_error(log), Some(error));
        assert_eq!(
            last_error("heirloom: the new build cannot be started\n"),
            Some(("the new build cannot be started".to_owned(), None))
        );
        assert_eq!(last_error("Started heirloom.service\n"), None);
    }
}
