//! The service of the home, as commands see it: whether it runs, what it says, and how the system starts it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heirloom_engine::home::Home;
use heirloom_service::client::{Question, ask};
use heirloom_service::unit::{self, Start};
use heirloom_service::{Running, running};
use serde_json::Value;

use crate::config;

/// How long a service may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// The service of a home as it is now.
pub struct Seen {
    pub running: Running,
    /// Open connections; `None` where it does not answer.
    pub connections: Option<u64>,
}

/// What the service of the home says. `None`: none runs.
pub fn look(home: &Home) -> Option<Seen> {
    let running = running::of(home)?;
    let until = Instant::now() + PATIENCE;
    let asked = ask(&running.socket, &Question { method: "GET", path: "/v1/daemon", headers: &[], body: b"", until });
    let said = asked.ok().and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
    // Ourselves aside.
    let connections = said.and_then(|said| said["connections"].as_u64()).map(|all| all.saturating_sub(1));
    Some(Seen { running, connections })
}

/// What starts services for a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    /// The one of this system. `None`: there is none that is known.
    pub fn here() -> Option<Manager> {
        if cfg!(target_os = "macos") {
            return Some(Manager::Launchd);
        }
        quiet(Command::new("systemctl").args(["--user", "show-environment"])).then_some(Manager::Systemd)
    }

    /// The file that tells it of the service.
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

    /// What stands in the file.
    pub fn text(self, start: &Start) -> String {
        match self {
            Manager::Systemd => unit::systemd(start),
            Manager::Launchd => unit::launchd(start, &start.home.join("logs/service.log")),
        }
    }

    /// The commands that make it know the file and start the service.
    pub fn begin(self) -> Vec<Vec<String>> {
        match self {
            Manager::Systemd => {
                words(&["systemctl --user daemon-reload", "systemctl --user enable --now heirloom.service"])
            }
            Manager::Launchd => vec![launchctl("bootstrap", true)],
        }
    }

    /// Those that end the service and make it forget the file, which is removed between the two lists.
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

/// Runs a command without a word of its own; whether it succeeded.
fn quiet(command: &mut Command) -> bool {
    let run = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}
