//! Replaces a running build with a new one, once another file is in the place of the executable that started it.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::sockets::{INHERITED, Sockets, handed_over};

/// Minimum age of a new executable: a younger file may still be being written.
const SETTLED: Duration = Duration::from_secs(1);

/// Time limit for a new executable to print its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file this process was started from.
pub struct Executable {
    path: PathBuf,
    /// Device, inode, and time of the last change in seconds and nanoseconds.
    was: (u64, u64, i64, i64),
}

impl Executable {
    /// Returns this process's executable. `None` if the system does not tell its path.
    pub fn ours() -> Option<Executable> {
        let path = std::env::current_exe().ok()?;
        let was = stamp(&path)?.0;
        Some(Executable { path, was })
    }

    /// Returns whether another executable that runs is now at the same path.
    pub fn was_replaced(&self) -> bool {
        let Some((now, changed)) = stamp(&self.path) else { return false };
        let settled = SystemTime::now().duration_since(changed).map_or(true, |age| age >= SETTLED);
        now != self.was && settled && runs(&self.path)
    }

    /// Executes the new build, which takes over the sockets. Returns only if that fails.
    pub fn replace_us(&self, sockets: Handed) -> std::io::Error {
        Command::new(&self.path)
            .args(std::env::args_os().skip(1))
            .env(INHERITED, handed_over(&sockets.path))
            .stdin(Stdio::from(sockets.unix))
            .stdout(sockets.tcp.map_or_else(Stdio::null, Stdio::from))
            .exec()
    }
}

/// Copies of the sockets for the next build.
pub struct Handed {
    unix: OwnedFd,
    tcp: Option<OwnedFd>,
    pub path: PathBuf,
}

impl Handed {
    pub fn of(sockets: &Sockets) -> std::io::Result<Handed> {
        let tcp = sockets.tcp.as_ref().map(|tcp| tcp.try_clone()).transpose()?;
        Ok(Handed { unix: sockets.unix.try_clone()?.into(), tcp: tcp.map(OwnedFd::from), path: sockets.path.clone() })
    }
}

fn stamp(path: &std::path::Path) -> Option<((u64, u64, i64, i64), SystemTime)> {
    let meta = std::fs::metadata(path).ok()?;
    Some(((meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec()), meta.modified().ok()?))
}

/// Returns whether the file is a program that starts here: an incomplete file does not.
fn runs(path: &std::path::Path) -> bool {
    let started = Command::new(path)
        .arg("--version")
        .env_remove(INHERITED)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return false };
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}
