//! Runs a command, passes its input, output and signals through, and reports how it ended. Knows nothing of the memory.
//!
//! The command stays in our process group, so that signals of a terminal reach both of us. With a timeout and without a
//! terminal the command gets a group of its own, so that the timeout also ends the processes it has started.

use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use heirloom_engine::continuity::output::Output;
use heirloom_engine::continuity::scheduled::Outcome;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::print;

/// Time between SIGTERM at the timeout and SIGKILL.
const MERCY: Duration = Duration::from_secs(10);

/// Time to wait for output after the command has ended, while its children still hold its pipes.
const ECHO: Duration = Duration::from_secs(5);

/// Exit code after a timeout, equal to that of the program `timeout`.
const TIMED_OUT: u8 = 124;

/// Result of a command that has ended.
pub(super) struct Ended {
    pub outcome: Outcome,
    /// The exit code a shell would report.
    pub code: u8,
    pub output: Output,
}

/// An event while the command runs.
enum Event {
    Signal(i32),
    /// One of the command's two outputs is closed.
    Silent,
    Exited,
}

/// The process or process group that receives signals.
#[derive(Clone, Copy)]
struct Target {
    pid: Pid,
    group: bool,
    /// True if both processes run on a terminal, which sends an interrupt to the command as well.
    terminal: bool,
}

impl Target {
    fn send(self, signal: Signal) {
        // Sending may fail because the command has ended; its process id is not reused before we wait for it.
        let _ = if self.group { kill_process_group(self.pid, signal) } else { kill_process(self.pid, signal) };
    }

    fn pass_on(self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal).filter(|s| !(self.terminal && *s == Signal::INT)) {
            self.send(signal);
        }
    }
}

pub(super) fn run(command: &[OsString], timeout: Option<Duration>) -> Ended {
    let terminal = std::io::stdin().is_terminal() || std::io::stdout().is_terminal() || std::io::stderr().is_terminal();
    let group = timeout.is_some() && !terminal;
    let mut child = Command::new(&command[0]);
    child.args(&command[1..]).stdin(Stdio::inherit()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if group {
        child.process_group(0);
    }
    let mut child = match child.spawn() {
        Ok(child) => child,
        Err(e) => return not_started(&command[0], &e),
    };
    let (sender, receiver) = mpsc::channel();
    // Installed after the start, so that the command inherits our original signal handlers.
    listen(&sender);
    let output = Arc::new(Mutex::new(Output::default()));
    let mut speaking = 0;
    if let Some(pipe) = child.stdout.take() {
        speaking += 1;
        pump(pipe, std::io::stdout(), &output, &sender);
    }
    if let Some(pipe) = child.stderr.take() {
        speaking += 1;
        pump(pipe, std::io::stderr(), &output, &sender);
    }
    let target = Target { pid: Pid::from_child(&child), group, terminal };
    thread::spawn(move || {
        // NOWAIT leaves the process unreaped, so that its id stays valid while we may signal it.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(target.pid), options) {}
        sender.send(Event::Exited).is_ok()
    });
    let timed_out = watch(&receiver, target, timeout, &mut speaking);
    let status = child.wait();
    let until = Instant::now() + ECHO;
    while speaking > 0 {
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Event::Silent) => speaking -= 1,
            Ok(Event::Exited) => {}
            // A signal ends the wait for output; processes that still hold the pipes are left alone.
            Ok(Event::Signal(_)) | Err(_) => break,
        }
    }
    let output = std::mem::take(&mut *output.lock().unwrap_or_else(PoisonError::into_inner));
    match status {
        Ok(status) => ended(status, timed_out.then_some(timeout).flatten(), output),
        Err(e) => {
            let why = format!("it could not be waited for: {e}");
            Ended { outcome: Outcome::Failed { code: None, signal: None, why }, code: 126, output }
        }
    }
}

/// Passes signals on until the command has ended. Returns whether the timeout was reached.
fn watch(receiver: &Receiver<Event>, target: Target, timeout: Option<Duration>, speaking: &mut usize) -> bool {
    let mut deadline = timeout.map(|t| Instant::now() + t);
    let mut timed_out = false;
    loop {
        let event = match deadline {
            Some(at) => receiver.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match event {
            Ok(Event::Signal(signal)) => target.pass_on(signal),
            Ok(Event::Silent) => *speaking -= 1,
            Ok(Event::Exited) | Err(RecvTimeoutError::Disconnected) => return timed_out,
            Err(RecvTimeoutError::Timeout) => {
                target.send(if timed_out { Signal::KILL } else { Signal::TERM });
                deadline = (!timed_out).then(|| Instant::now() + MERCY);
                timed_out = true;
            }
        }
    }
}

fn listen(sender: &Sender<Event>) {
    match signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
        Ok(mut signals) => {
            let sender = sender.clone();
            thread::spawn(move || signals.forever().all(|signal| sender.send(Event::Signal(signal)).is_ok()));
        }
        Err(e) => print::note(&format!("heirloom: signals are not passed on: {e}")),
    }
}

/// Copies output of the command to our own output and keeps a copy.
fn pump(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    output: &Arc<Mutex<Output>>,
    sender: &Sender<Event>,
) {
    let (output, sender) = (Arc::clone(output), sender.clone());
    thread::spawn(move || {
        let (mut buffer, mut heard) = (vec![0; 64 << 10], true);
        loop {
            let n = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            output.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..n]);
            if heard && let Err(e) = to.write_all(&buffer[..n]).and_then(|()| to.flush()) {
                // The reader has gone (`| head`): the pipe is closed, so that the command notices as it would without us.
                if e.kind() == ErrorKind::BrokenPipe {
                    break;
                }
                heard = false;
            }
        }
        drop(from);
        sender.send(Event::Silent).is_ok()
    });
}

fn ended(status: ExitStatus, timed_out: Option<Duration>, output: Output) -> Ended {
    let (code, signal) = (status.code(), status.signal());
    let shell = code.unwrap_or_else(|| 128 + signal.unwrap_or(0)) as u8;
    let (outcome, code) = match (timed_out, code, signal) {
        (Some(limit), ..) => {
            let why = format!("its time was up after {} s", limit.as_secs());
            (Outcome::Failed { code, signal, why }, TIMED_OUT)
        }
        (None, Some(code), _) => (Outcome::Exit(code), shell),
        (None, None, Some(signal)) => (Outcome::Signal(signal), shell),
        (None, None, None) => {
            (Outcome::Failed { code: None, signal: None, why: format!("it ended strangely: {status}") }, shell)
        }
    };
    Ended { outcome, code, output }
}

/// Prints and returns what a shell would for a command that cannot be started.
fn not_started(program: &OsString, e: &std::io::Error) -> Ended {
    let code = if e.kind() == ErrorKind::NotFound { 127 } else { 126 };
    let why = format!("{} cannot be started: {e}", program.to_string_lossy());
    print::note(&format!("heirloom: {why}"));
    let outcome = Outcome::Failed { code: Some(i32::from(code)), signal: None, why };
    Ended { outcome, code, output: Output::default() }
}
