//! The one-shot worker: started by a hook when there is work, and ended when the work is done and nothing becomes due
//! within ten minutes (D4). It also closes sessions that simply stop, without a service.
//!
//! No worker is started while a [service](heirloom_service) runs, which does the work. At most one worker runs at a
//! time: it holds the lock `run/worker.lock`. After releasing the lock it checks once more that no work is left behind.
//! It runs in a session of its own, so that no signal meant for the program reaches it, and inherits none of the
//! program's descriptors.

use std::process::{Command, Stdio};

use heirloom_engine::home::Home;
use heirloom_engine::ledger::SCHEMA_VERSION;

use super::GUARD;

/// Lock held by the one running worker.
pub const LOCK: &str = "worker";

/// Lock held by the one worker that waits for later work; it does not hold [`LOCK`] meanwhile.
pub const WAITS: &str = "worker-waits";

/// Starts a worker unless one is running, and does not wait for it. If the start fails, the next hook or command starts
/// one.
pub fn start(home: &Home) {
    start_again(home, 0);
}

/// Starts a worker after another one waited. `vain` is the number of waits in a row that ended without work.
pub fn start_again(home: &Home, vain: u32) {
    // A service of this build does the work itself.
    if heirloom_service::running::of(home).is_some_and(|running| running.schema() == Some(SCHEMA_VERSION)) {
        return;
    }
    match home.try_lock(LOCK) {
        // The lock is free: the new worker takes it.
        Ok(Some(lock)) => drop(lock),
        _ => return,
    }
    let Ok(program) = std::env::current_exe() else { return };
    close_fds::set_fds_cloexec(3, &[]);
    let _ = Command::new(program)
        .args(["work", "--drain", "--detached", "--stays", &vain.to_string(), "--home"])
        .arg(home.root())
        .env(GUARD, "1")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
