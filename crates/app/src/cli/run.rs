//! `heirloom run`

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;

use heirloom_engine::engine::Engine;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::layout;
use heirloom_harness::{Harness, HostPaths};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::connect::record;
use super::import::Plan;
use crate::confined::{BWRAP, Confined};
use crate::connection::{self, Program, State, Target, can_run, installed};
use crate::context::{Context, Global};
use crate::error::Exit;
use crate::{config, print, programs};

/// Start a program in this project with its memory: it is given what is known, and its conversation is kept
///
/// A connected program is started as it is. A program that is not connected is connected for this run only, if it takes
/// settings on its command line (Claude Code does); its own settings stay unchanged. When the program has ended, its
/// sessions are imported once more, so that nothing is missing. Input, output and exit code are the program's: 128+n if
/// signal n ended it. With --json a record of the run is the last line of standard error.
///
/// With --confine the program runs inside bubblewrap (Linux): it can change this project (also at /workspace), its own
/// state in the memory's runtime/ folder (also at /runtime; it is the program's home, so sign in there once) and the
/// memory. It sees the rest of your home as empty; it can read the system and use the network.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The program: claude-code, codex, opencode, openclaw
    #[arg(value_name = "PROGRAM")]
    program: String,

    /// Run inside bubblewrap: the program can change this project, its own state and the memory, and sees nothing else
    /// of your home
    #[arg(long)]
    confine: bool,

    /// Another file or folder a confined program may read
    #[arg(long, value_name = "PATH", requires = "confine")]
    show: Vec<PathBuf>,

    /// The arguments of the program
    #[arg(value_name = "ARGS", last = true)]
    arguments: Vec<OsString>,
}

/// Record of a run, for `--json`.
#[derive(Serialize)]
struct Ran {
    program: &'static str,
    /// Source of the connection: `settings` (the program's own), `this run` (the command line) or `private` (the
    /// settings of its private state).
    connected: &'static str,
    /// Folder of the program's private state, if it was confined.
    state: Option<PathBuf>,
    passed: u8,
    /// Number of new turns imported from the program's sessions after it ended.
    new_turns: Option<u64>,
    /// Reason why its sessions could not be read.
    problem: Option<String>,
}

const ACTOR: &str = "cli run";

/// A program that was found and is ready to start.
struct Ready {
    command: Command,
    connected: &'static str,
    /// Places where the program keeps its sessions.
    host: HostPaths,
    state: Option<PathBuf>,
}

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    let [Program::Hooked(harness)] = connection::named(std::slice::from_ref(&args.program))?[..] else {
        return Err(Error::usage(format!("{} is not started by Heirloom", args.program))
            .hint("it can be claude-code, codex, opencode, openclaw"));
    };
    let name = harness.executable().unwrap_or_else(|| harness.spec().name);
    let binary = on_path(name).ok_or_else(|| {
        Error::not_found(format!("{} is not installed: there is no {name} on the PATH", harness.spec().title))
            .hint("install it, or put its folder on the PATH")
    })?;
    let engine = Context::create(global)?.acting_as(ACTOR);
    let project = std::env::current_dir()
        .map_err(|_| Error::not_found("the current folder is gone").hint("go to the project first"))?;
    let ready = match args.confine {
        true => confined(global, &engine, harness, &binary, &project, &args)?,
        false => in_place(global, harness, &binary, &args.arguments)?,
    };
    let Ready { mut command, connected, host, state } = ready;
    let child = command.spawn().map_err(|e| Error::io("start", Path::new(command.get_program()), e))?;
    let passed = wait(child)?;
    let read = read_again(&engine, harness, &host);
    if let Err(e) = &read {
        print::note(&format!("heirloom: what was said is not read yet: {e} (heirloom import reads it)"));
    }
    if global.json {
        let problem = read.as_ref().err().map(ToString::to_string);
        let program = harness.spec().name;
        print::note_report(&Ran { program, connected, state, passed, new_turns: read.ok(), problem });
    }
    Ok(Exit::Passed(passed))
}

/// Prepares the program as it is, connected for this run if its settings do not connect it.
fn in_place(global: &Global, harness: &'static dyn Harness, binary: &Path, arguments: &[OsString]) -> Result<Ready> {
    let (host, how) = (config::host(), installed(global)?);
    let target = Target::look(Program::Hooked(harness), &host, &how)?;
    let mut command = Command::new(binary);
    let connected = match target.state()? {
        State::Connected | State::Otherwise(_) => "settings",
        // Hooks of an older build, or of another memory, already report to somebody: a second set would store turns
        // twice.
        State::Older | State::Partly => {
            return Err(not_connected(harness, "is connected otherwise than this build does it"));
        }
        State::Not => {
            let words = harness.for_one_run(&how).ok_or_else(|| not_connected(harness, "is not connected"))?;
            command.args(words);
            "this run"
        }
    };
    command.args(arguments);
    Ok(Ready { command, connected, host, state: None })
}

fn not_connected(harness: &dyn Harness, what: &str) -> Error {
    let spec = harness.spec();
    Error::refused(format!("{} {what}; nothing was started", spec.title))
        .hint(format!("heirloom connect {}", spec.name))
}

/// Prepares the program inside bubblewrap, connected in the settings of its private state.
fn confined(
    global: &Global,
    engine: &Engine,
    harness: &'static dyn Harness,
    binary: &Path,
    project: &Path,
    args: &Args,
) -> Result<Ready> {
    let bwrap = on_path(BWRAP).ok_or_else(|| {
        let how = match cfg!(target_os = "linux") {
            true => "install bubblewrap (apt install bubblewrap), or leave out --confine",
            false => "bubblewrap is a program of Linux; leave out --confine",
        };
        Error::refused("there is no bwrap on the PATH to confine a program with; nothing was started").hint(how)
    })?;
    let user_home = config::user_home()
        .ok_or_else(|| Error::usage("HOME is not set, so nobody knows what to hide").hint("set HOME"))?;
    let user_home = real(&user_home);
    let project = real(project);
    if user_home.starts_with(&project) {
        return Err(Error::refused(format!("{} has your whole home in it; nothing was started", project.display()))
            .hint("go to the project first"));
    }
    let memory = real(engine.home().root());
    let folder = layout::runtime(engine.agent()).join(harness.spec().name)?;
    let state = real(engine.home().open_dir(&folder)?.shown());
    // Defaults are resolved in the private home here, which is not the user's home, so the memory's path is named.
    let mut how = installed(global)?;
    if !how.command.iter().any(|word| word == "--home") {
        how.command.splice(1..1, ["--home".to_owned(), memory.display().to_string()]);
    }
    let host = HostPaths { home: state.clone(), system: Some(PathBuf::from("/")), ..HostPaths::default() };
    let target = Target::look(Program::Hooked(harness), &host, &how)?;
    let changes = target.connect(&record(global), true)?;
    target.apply(engine.home(), &changes)?;
    let ours = PathBuf::from(&how.command[0]);
    let shown: Vec<PathBuf> = args.show.iter().map(|path| real(path)).collect();
    if let Some(missing) = shown.iter().find(|path| !path.exists()) {
        return Err(Error::not_found(format!("there is no {} to show", missing.display())).hint("check the path"));
    }
    let confined = Confined {
        user_home: &user_home,
        project: &project,
        state: &state,
        memory: &memory,
        binaries: &[binary, &ours],
        shown: &shown,
    };
    let mut command = Command::new(bwrap);
    command.args(confined.arguments()).arg(binary).args(&args.arguments);
    Ok(Ready { command, connected: "private", host, state: Some(state) })
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the executable with this name in PATH. Relative folders of PATH depend on the current directory and are
/// skipped.
fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&folders).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    all.find(|path| path.to_str().is_some_and(can_run))
}

/// Waits until the program ends, and passes signals on to it. Signals of a terminal reach it directly and are not
/// passed on.
fn wait(mut child: Child) -> Result<u8> {
    let (pid, terminal) = (Pid::from_child(&child), std::io::stdin().is_terminal());
    match signal_hook::iterator::Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP]) {
        Ok(mut signals) => {
            thread::spawn(move || {
                for signal in signals.forever() {
                    let sent = terminal && matches!(signal, SIGINT | SIGQUIT);
                    if let Some(signal) = Signal::from_named_raw(signal).filter(|_| !sent) {
                        let _ = kill_process(pid, signal);
                    }
                }
            });
        }
        Err(e) => print::note(&format!("heirloom: signals are not passed on: {e}")),
    }
    let status =
        child.wait().map_err(|e| Error::new(ErrorKind::Machine, "the program cannot be waited for").because(e))?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

/// Imports what is new in the program's sessions. Returns the number of new turns.
fn read_again(engine: &Engine, harness: &'static dyn Harness, host: &HostPaths) -> Result<u64> {
    let mut plan = Plan::default();
    for found in programs::look(host, Some(harness.spec().name)) {
        plan.take(found);
    }
    Ok(plan.import(engine)?.turns.new)
}
