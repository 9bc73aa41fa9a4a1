//! A command run for somebody: everything passes through, and how it ended is told. Knows nothing of the memory.
//!
//! The command stays in our process group, so that what a terminal sends reaches both of us. With a timeout and without
//! a terminal it gets a group of its own, so that the timeout ends what it has started, too.

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

/// What a command whose time is up gets to come to its end.
const MERCY: Duration = Duration::from_secs(10);

/// How long output is waited for after the end of a command whose children still hold its pipes.
const ECHO: Duration = Duration::from_secs(5);

/// The exit code for a command whose time was up, as `timeout` has it.
const TIMED_OUT: u8 = 124;

/// How it ended.
pub(super) struct Ended {
    pub outcome: Outcome,
    /// What a shell would exit with.
    pub code: u8,
    pub output: Output,
}

/// What happens while it runs.
enum Event {
    Signal(i32),
    /// One of its two outputs is closed.
    Silent,
    Exited,
}

/// Where signals for the command go.
#[derive(Clone, Copy)]
struct Target {
    pid: Pid,
    group: bool,
    /// A terminal that sends us an interrupt sends it to the command as well.
    terminal: bool,
}

impl Target {
    fn send(self, signal: Signal) {
        // It may have ended meanwhile; as long as we have not waited for it, its number is its own.
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
    let (tell, hear) = mpsc::channel();
    // Only now, so that the command begins with the signals we were given.
    listen(&tell);
    let output = Arc::new(Mutex::new(Output::default()));
    let mut speaking = 0;
    if let Some(pipe) = child.stdout.take() {
        speaking += 1;
        pump(pipe, std::io::stdout(), &output, &tell);
    }
    if let Some(pipe) = child.stderr.take() {
        speaking += 1;
        pump(pipe, std::io::stderr(), &output, &tell);
    }
    let target = Target { pid: Pid::from_child(&child), group, terminal };
    thread::spawn(move || {
        // It is not reaped here, so that its number stays its own for as long as we may signal it.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(target.pid), options) {}
        tell.send(Event::Exited).is_ok()
    });
    let timed_out = watch(&hear, target, timeout, &mut speaking);
    let status = child.wait();
    let until = Instant::now() + ECHO;
    while speaking > 0 {
        match hear.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Event::Silent) => speaking -= 1,
            Ok(Event::Exited) => {}
            // Whoever sends a signal now does not want to wait; who still holds the pipes is on their own.
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

/// Passes signals on until the command has ended. Tells whether its time was up.
fn watch(hear: &Receiver<Event>, target: Target, timeout: Option<Duration>, speaking: &mut usize) -> bool {
    let mut deadline = timeout.map(|t| Instant::now() + t);
    let mut timed_out = false;
    loop {
        let event = match deadline {
            Some(at) => hear.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => hear.recv().map_err(|_| RecvTimeoutError::Disconnected),
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

fn listen(tell: &Sender<Event>) {
    match signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
        Ok(mut signals) => {
            let tell = tell.clone();
            thread::spawn(move || signals.forever().all(|signal| tell.send(Event::Signal(signal)).is_ok()));
        }
        Err(e) => print::note(&format!("heirloom: signals are not passed on: {e}")),
    }
}

/// Hands on what the command prints and keeps a copy.
fn pump(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    output: &Arc<Mutex<Output>>,
    tell: &Sender<Event>,
) {
    let (output, tell) = (Arc::clone(output), tell.clone());
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
                // `| head` went away: the command is to notice, as it would without us.
                if e.kind() == ErrorKind::BrokenPipe {
                    break;
                }
                heard = false;
            }
        }
        drop(from);
        tell.send(Event::Silent).is_ok()
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

/// As a shell says and exits.
fn not_started(program: &OsString, e: &std::io::Error) -> Ended {
    let code = if e.kind() == ErrorKind::NotFound { 127 } else { 126 };
    let why = format!("{} cannot be started: {e}", program.to_string_lossy());
    print::note(&format!("heirloom: {why}"));
    let outcome = Outcome::Failed { code: Some(i32::from(code)), signal: None, why };
    Ended { outcome, code, output: Output::default() }
}
