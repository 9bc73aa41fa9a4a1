//! `run/service.json`: a running service's description of itself, for hooks, which ask it, and for `status` and
//! `doctor`.
//!
//! The file may have been left by a process that is gone. The lock `run/serve.lock`, which dies with its holder, proves
//! that a service runs; a socket without a listener refuses at once.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use heirloom_engine::clock::Millis;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::{Home, HomeLock, RelPath};
use serde::{Deserialize, Serialize};

/// Lock held by the one service of a home.
pub const LOCK: &str = "serve";

/// Path of the file.
const FILE: RelPath = RelPath::literal("run/service.json");

/// Path under which the file is written before it replaces the old one.
const NEW: RelPath = RelPath::literal("run/service.json.new");

/// Format version of the file.
const VERSION: u64 = 1;

/// Maximum size of the file in bytes.
const LARGEST: u64 = 1 << 20;

/// Description of a service by itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Running {
    pub v: u64,
    pub pid: u32,
    /// Start of the service, in milliseconds since 1970.
    pub since: Millis,
    /// Build of the service: `<schema of the ledger>.<version>`.
    pub build: String,
    /// Digest of the settings that hooks must share with the service: the programs' folders and the default agent.
    pub environment: String,
    pub socket: PathBuf,
    /// TCP port; `None` if the service only listens on its socket.
    pub port: Option<u16>,
    /// TCP address with that port. `None` also in the description of an older build, which listens on 127.0.0.1.
    #[serde(default)]
    pub address: Option<SocketAddr>,
    /// Reason why the settings in use are not those of config.toml as it is now.
    #[serde(default)]
    pub old_settings: Option<String>,
    pub watching: Watching,
}

/// The way the service notices what programs write.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Watching {
    /// True if the system reports changes; false if the service polls every few seconds.
    pub by_events: bool,
    /// Reason for polling.
    pub why: Option<String>,
    /// Watched folders of the programs, of those that exist.
    pub roots: Vec<PathBuf>,
}

impl Running {
    /// Reads the description of the service at `root`, or of the last one that ran. `None` if there is none or its
    /// format is another one.
    pub fn read(root: &Path) -> Option<Running> {
        use std::io::Read as _;
        let mut text = String::new();
        let file = std::fs::File::open(root.join(FILE.as_str())).ok()?;
        file.take(LARGEST).read_to_string(&mut text).ok()?;
        let running: Running = serde_json::from_str(&text).ok()?;
        (running.v == VERSION).then_some(running)
    }

    /// Returns the URL of the TCP port: `http://127.0.0.1:7347`, `http://[::1]:7347`.
    pub fn url(&self) -> Option<String> {
        let port = self.port?;
        let address = self.address.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        Some(format!("http://{address}"))
    }

    /// Returns the ledger schema this service writes.
    pub fn schema(&self) -> Option<i64> {
        schema_of(&self.build)
    }

    /// Writes the description into the home, whole or not at all.
    pub(crate) fn write(&self, home: &Home) -> Result<()> {
        let bytes =
            serde_json::to_vec(self).map_err(|e| Error::new(ErrorKind::Machine, "what the service says").because(e))?;
        // The lock of the one service is held, so nobody else writes here. Readers see the old file or the new one.
        let path = home.root().join(FILE.as_str());
        let new = home.root().join(NEW.as_str());
        let written = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new);
        let written = written.and_then(|mut file| file.write_all(&bytes)).and_then(|()| std::fs::rename(&new, &path));
        written.map_err(|e| Error::io("write", &path, e))
    }

    pub(crate) fn new() -> Running {
        Running {
            v: VERSION,
            pid: std::process::id(),
            since: 0,
            build: String::new(),
            environment: String::new(),
            socket: PathBuf::new(),
            port: None,
            address: None,
            old_settings: None,
            watching: Watching { by_events: true, why: None, roots: Vec::new() },
        }
    }
}

/// Returns the schema in `<schema>.<version>`.
pub fn schema_of(build: &str) -> Option<i64> {
    build.split_once('.')?.0.parse().ok()
}

/// Takes the service lock of a home. `Busy` if another service holds it.
pub fn claim(home: &Home) -> Result<HomeLock> {
    // A process that checks whether a service runs holds the lock for a moment, so the lock is tried repeatedly.
    for _ in 0..20 {
        if let Some(lock) = home.try_lock(LOCK)? {
            return Ok(lock);
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    let who = Running::read(home.root()).map_or(String::new(), |running| format!(" (process {})", running.pid));
    Err(Error::new(ErrorKind::Busy, format!("a service of {} is running already{who}", home.root().display()))
        .hint("⟨service status⟩ shows it"))
}

/// Returns the description of the home's service, if one runs.
pub fn of(home: &Home) -> Option<Running> {
    match home.try_lock(LOCK) {
        Ok(None) => Running::read(home.root()),
        _ => None,
    }
}

/// Removes the description.
pub(crate) fn forget(home: &Home) {
    let _ = home.remove(&FILE);
}
