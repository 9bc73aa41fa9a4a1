//! The one-shot worker: started by a hook when there is work, gone when it is done (D4).
//!
//! Never two: it holds the lock `run/worker.lock`. Never orphaned work: it looks again after it has let go of the lock.
//! In a session of its own, so that no signal meant for the program reaches it; without a descriptor of the program's.

use std::process::{Command, Stdio};

use heirloom_engine::home::Home;

use super::GUARD;

/// The lock of the one worker.
pub const LOCK: &str = "worker";

/// Starts a worker unless one is running, and does not wait for it. What cannot be started now is started by the next
/// hook or command.
pub fn start(home: &Home) {
    match home.try_lock(LOCK) {
        // It is free: whoever is started takes it.
        Ok(Some(lock)) => drop(lock),
        _ => return,
    }
    let Ok(program) = std::env::current_exe() else { return };
    close_fds::set_fds_cloexec(3, &[]);
    let _ = Command::new(program)
        .args(["work", "--drain", "--detached", "--home"])
        .arg(home.root())
        .env(GUARD, "1")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
