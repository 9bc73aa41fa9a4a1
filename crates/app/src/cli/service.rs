//! `heirloom service`

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use heirloom_engine::clock::rfc3339;
use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::{Home, layout};
use heirloom_service::running;
use heirloom_service::unit::Start;
use serde::Serialize;
use serde_json::json;

use super::connect::{can_ask, confirm};
use crate::connection;
use crate::context::{Global, home_options};
use crate::error::Exit;
use crate::print::{self, Paint};
use crate::service::{Log, Manager, Seen, look};
use crate::{config, programs};

/// Start the service with your session, and see whether it runs
///
/// The service (heirloom serve) notices new turns within two seconds and answers hooks and the HTTP API. Nothing needs
/// it to run.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(clap::Subcommand, Debug)]
enum Act {
    /// Let your system start the service with your session: systemd's user manager, or launchd
    Install(Install),
    /// Undo install
    Uninstall(Uninstall),
    /// Show whether the service runs, since when, what it watches and where it listens
    Status,
    /// Start the service now
    Start,
    /// End the service now
    Stop,
}

#[derive(clap::Args, Debug)]
struct Install {
    /// Show what would be written and run, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// The port on 127.0.0.1; 0 is any free port
    #[arg(long, value_name = "PORT", conflicts_with = "no_tcp")]
    port: Option<u16>,

    /// Listen on the socket only
    #[arg(long)]
    no_tcp: bool,
}

#[derive(clap::Args, Debug)]
struct Uninstall {
    /// Show what would be removed and run, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask; without it, nothing is asked either
    #[arg(long = "yes", short = 'y')]
    _yes: bool,
}

/// Maximum time for a service to start, and to end.
const PATIENCE: Duration = Duration::from_secs(8);

pub fn run(global: &Global, args: Args) -> Result<Exit> {
    match args.act {
        Act::Install(args) => install(global, &args),
        Act::Uninstall(args) => uninstall(global, &args),
        Act::Status => status(global),
        Act::Start => start(global),
        Act::Stop => stop(global),
    }
}

fn home(global: &Global) -> Result<Home> {
    let at = config::home(global.home.as_deref())?;
    Home::open_with(&at.value, &home_options()).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            Error::not_found(format!("there is no memory at {} yet", at.value.display())).hint("⟨up⟩ makes it")
        }
        _ => e,
    })
}

/// Returns the system's service manager, or an error with the next step if there is none.
fn manager() -> Result<Manager> {
    Manager::here().ok_or_else(|| {
        Error::refused("no user manager of systemd answers here (systemctl --user), so nothing starts services for you")
            .hint("heirloom service start runs it until the machine is switched off; put that line where your session starts")
    })
}

fn start_of(home: &Home, args: &Install) -> Result<Start> {
    let global = Global { home: Some(home.root().to_owned()), ..Global::default() };
    let program = connection::installed(&global)?.command.swap_remove(0);
    let mut more = Vec::new();
    if let Some(port) = args.port {
        more.extend(["--port".to_owned(), port.to_string()]);
    }
    if args.no_tcp {
        more.push("--no-tcp".to_owned());
    }
    // The shell's variables that say where programs keep their sessions are unknown to the service manager: they are
    // copied.
    let names = [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "OPENCLAW_HOME",
        "OPENCLAW_STATE_DIR",
        "OPENCLAW_CONFIG_PATH",
        "HEIRLOOM_AGENT",
        "HEIRLOOM_ALLOW_NETWORK_FS",
    ];
    let set = names.iter().filter_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some(((*name).to_owned(), value))
    });
    Ok(Start { program: program.into(), home: home.root().to_owned(), more, variables: set.collect() })
}

fn install(global: &Global, args: &Install) -> Result<Exit> {
    let home = home(global)?;
    let manager = manager()?;
    let path = file_of(manager)?;
    let text = manager.text(&start_of(&home, args)?);
    let commands = manager.begin();
    let there = std::fs::read_to_string(&path).ok();
    if there.as_deref() == Some(&text) && look(&home).is_some() {
        return said(global, "already installed", &path, Some(&text), &[], Exit::Ok);
    }
    if let Some(other) = there.as_deref().filter(|there| !there.contains("heirloom service install")) {
        let first: String = other.lines().next().unwrap_or_default().chars().take(60).collect();
        return Err(Error::refused(format!("{} is there and not ours: {first}", path.display())).hint("move it away"));
    }
    let loud = !global.json;
    if loud {
        show(&path, &text, &commands);
    }
    if args.dry_run {
        return said(global, "would be installed", &path, Some(&text), &commands, Exit::Ok);
    }
    if !args.yes && !can_ask(global) {
        if loud {
            print::note(
                "Nothing was written: there is no terminal to ask at. To go on: heirloom service install --yes",
            );
        }
        return said(global, "not installed", &path, Some(&text), &commands, Exit::Refused);
    }
    if !args.yes && !confirm("Install the service?") {
        return said(global, "not installed", &path, Some(&text), &commands, Exit::Ok);
    }
    // A service started by hand ends, so that the system's service can take its place.
    if look(&home).is_some() && there.is_none() {
        end(&home)?;
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| Error::io("make", folder, e))?;
    }
    write(&path, &text)?;
    let mut begin = commands.clone();
    if there.is_some_and(|there| there != text) && manager == Manager::Systemd {
        begin.push(["systemctl", "--user", "restart", "heirloom.service"].map(str::to_owned).to_vec());
    }
    begin_by(manager, &begin, &home)?;
    said(global, "installed", &path, Some(&text), &commands, Exit::Ok)
}

fn uninstall(global: &Global, args: &Uninstall) -> Result<Exit> {
    // Without a manager that answers, the service file can still be removed.
    let manager = Manager::here().or(if cfg!(target_os = "linux") { Some(Manager::Systemd) } else { None });
    let Some(manager) = manager else { return Err(Error::refused("nothing starts services for you here")) };
    let path = file_of(manager)?;
    if !path.exists() {
        return said(global, "not installed", &path, None, &[], Exit::Ok);
    }
    let (before, after) = manager.end();
    let commands = [before.clone(), after.clone()].concat();
    if args.dry_run {
        return said(global, "would be removed", &path, None, &commands, Exit::Ok);
    }
    // A manager that does not answer runs nothing and needs no command.
    if Manager::here().is_some() {
        run_all(&before)?;
    }
    std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
    if Manager::here().is_some() {
        run_all(&after)?;
    }
    said(global, "removed", &path, None, &commands, Exit::Ok)
}

fn file_of(manager: Manager) -> Result<PathBuf> {
    manager.file().ok_or_else(|| Error::usage("there is no home directory (HOME is not set)"))
}

fn show(path: &Path, text: &str, commands: &[Vec<String>]) {
    let paint = Paint::stdout();
    let user = config::user_home().unwrap_or_default();
    print::line(&paint.bold(&programs::tilde(path, &user)));
    for line in text.lines() {
        print::line(&format!("  {}", paint.accent(&format!("+{line}"))));
    }
    for command in commands {
        print::line(&format!("then  {}", command.join(" ")));
    }
}

fn said(
    global: &Global,
    state: &str,
    path: &Path,
    text: Option<&str>,
    commands: &[Vec<String>],
    exit: Exit,
) -> Result<Exit> {
    if global.json {
        let commands: Vec<String> = commands.iter().map(|command| command.join(" ")).collect();
        print::line(
            &json!({"state": state, "file": path.display().to_string(), "text": text, "commands": commands})
                .to_string(),
        );
    } else {
        let user = config::user_home().unwrap_or_default();
        let what = match state {
            "installed" => "The service runs, and is started with your session from now on.".to_owned(),
            "already installed" => "The service is installed already, and runs.".to_owned(),
            "not installed" => "The service is not installed.".to_owned(),
            state => format!("{}: {state}", programs::tilde(path, &user)),
        };
        print::line(&what);
    }
    Ok(exit)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)).map_err(|e| Error::io("write", path, e))
}

fn run_all(commands: &[Vec<String>]) -> Result<()> {
    for command in commands {
        let ran = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).output();
        let shown = command.join(" ");
        let failed = |why: String| Error::new(ErrorKind::Machine, format!("{shown} failed: {why}"));
        let out = ran.map_err(|e| failed(e.to_string()))?;
        if !out.status.success() {
            let why = String::from_utf8_lossy(&out.stderr).trim().to_owned();
            return Err(failed(why).hint("heirloom service status shows what there is"));
        }
    }
    Ok(())
}

/// The output of `service status --json`.
#[derive(Serialize)]
struct Report {
    running: bool,
    installed: bool,
    pid: Option<u32>,
    since: Option<String>,
    build: Option<String>,
    socket: Option<String>,
    port: Option<u16>,
    /// URL of the port.
    url: Option<String>,
    connections: Option<u64>,
    /// `events` if the system reports changes, `looks` if the service polls.
    watching: Option<&'static str>,
    why: Option<String>,
    roots: Vec<String>,
    /// Reason why the settings in use are older than config.toml.
    old_settings: Option<String>,
}

fn status(global: &Global) -> Result<Exit> {
    let home = home(global)?;
    let seen = look(&home);
    let known = if cfg!(target_os = "macos") { Manager::Launchd } else { Manager::Systemd };
    let installed = known.file().is_some_and(|path| path.exists());
    if global.json {
        let running = seen.as_ref().map(|seen| &seen.running);
        print::report(&Report {
            running: running.is_some(),
            installed,
            pid: running.map(|r| r.pid),
            since: running.map(|r| rfc3339(r.since)),
            build: running.map(|r| r.build.clone()),
            socket: running.map(|r| r.socket.display().to_string()),
            port: running.and_then(|r| r.port),
            url: running.and_then(heirloom_service::Running::url),
            connections: seen.as_ref().and_then(|seen| seen.connections),
            watching: running.map(|r| if r.watching.by_events { "events" } else { "looks" }),
            why: running.and_then(|r| r.watching.why.clone()),
            roots: running
                .map(|r| r.watching.roots.iter().map(|root| root.display().to_string()).collect())
                .unwrap_or_default(),
            old_settings: running.and_then(|r| r.old_settings.clone()),
        });
    } else {
        people(seen.as_ref(), installed);
    }
    Ok(Exit::Ok)
}

fn people(seen: Option<&Seen>, installed: bool) {
    let at_start = if installed {
        "started with your session"
    } else {
        "not started with your session (heirloom service install)"
    };
    let Some(Seen { running, connections }) = seen else {
        print::line("The service does not run. Nothing needs it; hooks and commands do its work themselves.");
        print::line(&format!("It is {at_start}. To start it now: heirloom service start"));
        return;
    };
    let user = config::user_home().unwrap_or_default();
    let now = crate::context::clock().now();
    let mut rows = vec![
        vec![
            "Running".into(),
            format!(
                "since {}, process {}, build {}",
                print::when(Some(running.since), now),
                running.pid,
                running.build
            ),
        ],
        vec!["Listens".into(), listens(running)],
        vec!["Clients".into(), connections.map_or("it does not answer".into(), |n| print::counted(n, "connection"))],
        vec![
            "Watches".into(),
            if running.watching.by_events { "as the system tells".into() } else { "every two seconds".into() },
        ],
    ];
    if let Some(why) = &running.watching.why {
        rows.push(vec!["  because".into(), print::safe_line(why)]);
    }
    for root in &running.watching.roots {
        rows.push(vec![String::new(), programs::tilde(root, &user)]);
    }
    if let Some(why) = &running.old_settings {
        rows.push(vec!["Settings".into(), format!("the old ones are in use: {}", print::safe_line(why))]);
    }
    rows.push(vec!["Start".into(), at_start.into()]);
    print::out(&print::table(&rows));
}

/// Returns the addresses the running service listens on, as one line for people.
pub fn listens(running: &heirloom_service::Running) -> String {
    let port = running.url().map_or(String::new(), |url| format!(" and {url}"));
    format!("{}{port}", running.socket.display())
}

fn start(global: &Global) -> Result<Exit> {
    let home = home(global)?;
    if look(&home).is_some() {
        return begun(global, &home, "runs already");
    }
    begin(global, &home)?;
    begun(global, &home, "runs")
}

/// Returns the running service's description of itself (process, socket, port). Starts the service if none runs.
pub fn running_or_started(global: &Global) -> Result<heirloom_service::Running> {
    let home = home(global)?;
    if look(&home).is_none() {
        begin(global, &home)?;
    }
    let seen =
        look(&home).ok_or_else(|| Error::new(ErrorKind::Busy, "the service has just ended").hint("try again"))?;
    Ok(seen.running)
}

fn begin(global: &Global, home: &Home) -> Result<()> {
    match Manager::here().filter(|manager| manager.file().is_some_and(|path| path.exists())) {
        Some(manager) => begin_by(manager, &manager.start(), home),
        None => {
            let log = log_of(home);
            keep_small(&log);
            let told = Log::file(log.clone());
            let mut child = detached(global, home, &log)?;
            await_it(home, Some(&mut child)).map_err(|e| because(e, &told))
        }
    }
}

/// Starts the service by the system's manager, and waits until it answers.
fn begin_by(manager: Manager, commands: &[Vec<String>], home: &Home) -> Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let told = match manager {
        Manager::Systemd => Log::Journal { since: now },
        Manager::Launchd => Log::file(log_of(home)),
    };
    run_all(commands).and_then(|()| await_it(home, None)).map_err(|e| because(e, &told))
}

/// Returns the error with the reason that the service has left in its log.
fn because(e: Error, log: &Log) -> Error {
    let Some((why, next)) = log.last_error() else { return e };
    let hint = next.or_else(|| e.next_step().map(str::to_owned)).unwrap_or_default();
    Error::new(e.kind(), format!("the service did not start: {}", print::safe_line(&why))).hint(hint)
}

fn log_of(home: &Home) -> PathBuf {
    home.root().join(layout::LOGS.as_str()).join("service.log")
}

/// Size in bytes from which the log is renamed to `service.log.1`, replacing the previous one.
const LARGEST_LOG: u64 = 256 << 10;

fn keep_small(log: &Path) {
    if std::fs::symlink_metadata(log).is_ok_and(|meta| meta.len() > LARGEST_LOG) {
        let _ = std::fs::rename(log, log.with_extension("log.1"));
    }
}

/// Starts a service that keeps running when the terminal is closed.
fn detached(global: &Global, home: &Home, log: &Path) -> Result<Child> {
    let opened = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(log);
    let opened = opened.map_err(|e| Error::io("open", log, e))?;
    let program = std::env::current_exe().map_err(|e| Error::io("find", Path::new("this binary"), e))?;
    let mut command = Command::new(program);
    command.args(["serve", "--detached", "--home"]).arg(home.root()).current_dir("/");
    if let Some(agent) = &global.agent {
        command.args(["--agent", agent]);
    }
    close_fds::set_fds_cloexec(3, &[]);
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(opened)).spawn();
    started.map_err(|e| Error::new(ErrorKind::Machine, "the service cannot be started").because(e))
}

/// Waits until the service answers. `child` is its process, if this one started it: a service that has ended is not
/// waited for.
fn await_it(home: &Home, mut child: Option<&mut Child>) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let has_ended = child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|status| status.is_some()));
        if look(home).is_some_and(|seen| seen.connections.is_some()) {
            return Ok(());
        }
        // It also ends if another one was started at the same time, which will answer.
        if has_ended && running::of(home).is_none() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(Error::new(ErrorKind::Machine, "the service was started and does not answer")
        .hint("see why: heirloom serve in a terminal, logs/service.log in the home, or journalctl --user -u heirloom"))
}

fn begun(global: &Global, home: &Home, how: &str) -> Result<Exit> {
    let seen = look(home);
    let at = seen.as_ref().map(|seen| listens(&seen.running)).unwrap_or_default();
    if global.json {
        print::line(&json!({"running": seen.is_some(), "pid": seen.map(|seen| seen.running.pid)}).to_string());
    } else {
        print::line(&format!("The service {how}: {at}"));
    }
    Ok(Exit::Ok)
}

fn stop(global: &Global) -> Result<Exit> {
    let home = home(global)?;
    let was = look(&home).is_some();
    if let Some(manager) = Manager::here().filter(|manager| manager.file().is_some_and(|path| path.exists())) {
        run_all(&manager.stop())?;
    }
    if look(&home).is_some() {
        end(&home)?;
    }
    if global.json {
        print::line(&json!({"running": false, "was_running": was}).to_string());
    } else {
        print::line(if was { "The service has ended." } else { "The service did not run." });
    }
    let _ = std::io::stdout().flush();
    Ok(Exit::Ok)
}

/// Ends the service of the home, and waits until it is gone.
fn end(home: &Home) -> Result<()> {
    let Some(running) = running::of(home) else { return Ok(()) };
    let pid = i32::try_from(running.pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if running::of(home).is_none_or(|now| now.pid != running.pid) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    Err(Error::new(ErrorKind::Busy, format!("the service does not end (process {})", running.pid))
        .hint(format!("kill -9 {} ends it; nothing that was acknowledged is lost", running.pid)))
}
