//! A process group that ends with us: however this process ends, a program it was asking must not go on, since nobody
//! reads its answer and nobody would end it at its deadline.
//!
//! A shell leads the group and waits for the end of its standard input, which is a pipe that only we hold open. The pipe
//! closes when we end, even if we are killed, and the shell then kills its own group. It is started first, so that there
//! is no moment in which the program runs without it; its number stays valid for the group until we have waited for it.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// Waits for the end of its input, and kills the group of the shell, itself included.
const SCRIPT: &str = "read -r x; kill -KILL 0";

/// A process group. Dropped, all its processes are killed.
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Starts the group with its first process.
    pub fn start() -> std::io::Result<Guard> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT]).env_clear().current_dir("/").process_group(0);
        // Its input stays open for as long as the field of the child is not taken.
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Guard { shell: shell.spawn()? })
    }

    /// Returns the number of the group, for a process that is to belong to it.
    pub fn group(&self) -> i32 {
        Pid::from_child(&self.shell).as_raw_nonzero().get()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // An error means that the group has ended, which is fine.
        let _ = kill_process_group(Pid::from_child(&self.shell), Signal::KILL);
        let _ = self.shell.wait();
    }
}
