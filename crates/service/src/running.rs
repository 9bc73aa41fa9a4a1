//! `run/service.json`: what a running service says of itself: for hooks, which ask it, and for `status` and `doctor`.
//!
//! The file may be left by a process that is gone. What proves that a service runs is the lock `run/serve.lock`, which dies
//! with its holder; a socket nobody listens on refuses at once.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use heirloom_engine::clock::Millis;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::{Home, HomeLock, RelPath};
use serde::{Deserialize, Serialize};

/// The lock of the one service of a home.
pub const LOCK: &str = "serve";

/// The file.
const FILE: RelPath = RelPath::literal("run/service.json");

/// The same, until it is whole.
const NEW: RelPath = RelPath::literal("run/service.json.new");

/// The form of the file.
const VERSION: u64 = 1;

/// The largest file that is read.
const LARGEST: u64 = 1 << 20;

/// What a service says of itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Running {
    pub v: u64,
    pub pid: u32,
    /// When it began, in milliseconds.
    pub since: Millis,
    /// `<schema of the ledger>.<version>`.
    pub build: String,
    /// What hooks must have in common with it: where programs are, whose memory it is.
    pub environment: String,
    pub socket: PathBuf,
    /// The port on 127.0.0.1, unless it only listens on its socket.
    pub port: Option<u16>,
    pub watching: Watching,
}

/// How it learns of what programs write.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Watching {
    /// The system tells it; otherwise it looks every few seconds.
    pub by_events: bool,
    /// Why it has to look.
    pub why: Option<String>,
    /// The folders of the programs that are there.
    pub roots: Vec<PathBuf>,
}

impl Running {
    /// What the service of the home at `root` says, or the last one did. `None`: there is none, or it is of another form.
    pub fn read(root: &Path) -> Option<Running> {
        use std::io::Read as _;
        let mut text = String::new();
        let file = std::fs::File::open(root.join(FILE.as_str())).ok()?;
        file.take(LARGEST).read_to_string(&mut text).ok()?;
        let running: Running = serde_json::from_str(&text).ok()?;
        (running.v == VERSION).then_some(running)
    }

    /// The schema of the ledger it writes.
    pub fn schema(&self) -> Option<i64> {
        schema_of(&self.build)
    }

    /// Says it in the home, whole or not at all.
    pub(crate) fn write(&self, home: &Home) -> Result<()> {
        let bytes =
            serde_json::to_vec(self).map_err(|e| Error::new(ErrorKind::Machine, "what the service says").because(e))?;
        // Under the lock of the one service: nobody else writes here. Readers see the old one or the new one.
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
            watching: Watching { by_events: true, why: None, roots: Vec::new() },
        }
    }
}

/// The schema in `<schema>.<version>`.
pub fn schema_of(build: &str) -> Option<i64> {
    build.split_once('.')?.0.parse().ok()
}

/// Takes the home for one service. `Busy` where another one has it.
pub fn claim(home: &Home) -> Result<HomeLock> {
    // Whoever asks whether a service runs holds the lock for a moment.
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

/// What the service of a home says, if one runs.
pub fn of(home: &Home) -> Option<Running> {
    match home.try_lock(LOCK) {
        Ok(None) => Running::read(home.root()),
        _ => None,
    }
}

/// Takes back what was said.
pub(crate) fn forget(home: &Home) {
    let _ = home.remove(&FILE);
}
