//! The home's service, as commands see it: whether it runs, what it reports, and how the system starts it.

use std::path::PathBuf;
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
