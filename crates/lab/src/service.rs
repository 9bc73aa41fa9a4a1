//! `heirloom-lab service`: what the service costs, and whether anything is lost when it is killed.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use heirloom_engine::error::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::home::LabHome;
use crate::measure::{Costs, processes};
use crate::sources::Sources;
use crate::synthetic::{self, Asked};
use crate::{binary, hooks, import, machine, print};

/// The service under load and killed in between: nothing may be lost or stored twice, and it must stay small
///
/// Clients at the same time: half of their calls are hooks of prompts, as processes; the others search, recall, append and
/// ask how it is, through the socket. In between the service is killed and begun again. Then each prompt and each appended
/// line is looked for in the memory, and all of it is verified. Before that, hooks are measured with the service and without.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The size of the home before, in turns
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    turns: u64,

    /// Clients at the same time
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: u64,

    /// Calls of each client
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    calls: u64,

    /// How often the service is killed
    #[arg(long, value_name = "N", default_value_t = 4)]
    kills: u64,

    /// Sessions with a hook of each kind, with the service and without; 0: hooks are not measured
    #[arg(long, value_name = "N", default_value_t = 15)]
    rounds: u32,

    /// After that it is left alone this long, and its CPU and memory are read
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    idle: u64,

    /// The heirloom binary [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,

    /// Leave the home where it is, and say where
    #[arg(long)]
    pub keep: bool,
}

/// How long it may take to begin, and to store what is left.
const PATIENCE: Duration = Duration::from_secs(90);

/// After this long without requests the service gives back what it holds for speed; a little more.
const REST: Duration = Duration::from_secs(70);

/// A service of a home.
struct Served<'s> {
    exe: &'s Path,
    home: &'s Path,
    child: Mutex<Child>,
    /// The most memory seen, in bytes.
    peak: AtomicU64,
}

impl<'s> Served<'s> {
    fn begin(exe: &'s Path, home: &'s Path) -> Result<Served<'s>> {
        let served = Served { exe, home, child: Mutex::new(spawn(exe, home)?), peak: AtomicU64::new(0) };
        served.until_it_answers()?;
        Ok(served)
    }

    fn until_it_answers(&self) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while !matches!(self.ask("GET", "/v1/health", b""), Some((200, _))) {
            if Instant::now() > until {
                return Err(
                    Error::new(ErrorKind::Busy, "the service does not answer").hint("see logs/ in its home: --keep")
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn pid(&self) -> u32 {
        self.child.lock().map_or(0, |child| child.id())
    }

    /// `kill -9`, and a new one.
    fn kill(&self) -> Result<()> {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
            // Hooks do without it for a moment.
            std::thread::sleep(Duration::from_millis(400));
            *child = spawn(self.exe, self.home)?;
        }
        self.until_it_answers()
    }

    /// Status and body; `None` where nobody answers.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
        let mut stream = UnixStream::connect(self.home.join("run/heirloom.sock")).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let kind = if path == "/v1/append" { "application/x-ndjson" } else { "application/json" };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
        let mut got = Vec::new();
        stream.read_to_end(&mut got).ok()?;
        let status = std::str::from_utf8(got.get(9..12)?).ok()?.parse().ok()?;
        let end = got.windows(4).position(|four| four == b"\r\n\r\n")?;
        Some((status, got[end + 4..].to_vec()))
    }

    /// Resident memory in bytes, now. Linux only.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
        let bytes = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024;
        self.peak.fetch_max(bytes, Ordering::Relaxed);
        bytes
    }

    /// CPU of the process so far, in seconds. Linux only.
    fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        let fields: Vec<f64> = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace()
            .map(|field| field.parse().unwrap_or(0.0))
            .collect();
        let ticks = fields.get(11).unwrap_or(&0.0) + fields.get(12).unwrap_or(&0.0);
        ticks / rustix::param::clock_ticks_per_second() as f64
    }

    /// Ends it in order.
    fn end(self) {
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw);
        if let (Some(pid), Ok(mut child)) = (pid, self.child.lock()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            let _ = child.wait();
        }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn spawn(exe: &Path, home: &Path) -> Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(home.with_extension("log"));
    let log = log.map_err(|e| Error::io("write", home, e))?;
    Command::new(exe)
        .args(["--home", &home.to_string_lossy(), "serve", "--port", "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|e| Error::io("start", exe, e))
}

pub fn run(args: &Args, folder: &Path, for_people: bool) -> Result<Value> {
    let exe = binary::find(args.binary.as_deref())?;
    let (projects, home) = (folder.join("projects"), folder.join("home"));
    let asked = synthetic::write(&projects, args.turns)?;
    import::measured(&home, &Sources::of(std::slice::from_ref(&projects))?)?;
    let _ = std::fs::remove_dir_all(&projects);
    let bare = processes(&exe, &["--version".into()], args.rounds)?;
    let mut costs: Vec<(String, Costs)> = vec![("a bare process".into(), bare)];
    let mut measure = |what: &str| -> Result<()> {
        if args.rounds > 0 {
            let all = hooks::measure(&exe, &home, &asked, args.rounds)?;
            costs.extend(all.into_iter().map(|(event, cost)| (format!("{event}, {what}"), cost)));
        }
        Ok(())
    };
    measure("alone")?;
    let served = Served::begin(&exe, &home)?;
    let at_first = served.memory();
    measure("with the service")?;
    let loaded = load(args, &served, &asked)?;
    let after = served.memory();
    std::thread::sleep(REST);
    let rested = served.memory();
    let (began, cpu) = (Instant::now(), served.cpu());
    std::thread::sleep(Duration::from_secs(args.idle));
    let idle =
        json!({"seconds": began.elapsed().as_secs(), "cpu_s": served.cpu() - cpu, "memory_bytes": served.memory()});
    let spooled = until_stored(&home)?;
    let peak = served.peak.load(Ordering::Relaxed);
    served.end();
    let found = found(&home, &loaded)?;
    let verified = Command::new(&exe)
        .args(["--home", &home.to_string_lossy(), "--json", "verify"])
        .stdout(Stdio::null())
        .status()
        .map_err(|e| Error::io("start", &exe, e))?
        .success();
    let report = json!({
        "turns": args.turns, "machine": machine(),
        "hooks": costs.iter().map(|(what, cost)| json!({
            "what": what, "cpu_ms": cost.median().cpu * 1e3, "wall_ms": cost.median().wall * 1e3,
            "cpu_p95_ms": cost.within(95).cpu * 1e3, "wall_p95_ms": cost.within(95).wall * 1e3,
        })).collect::<Vec<_>>(),
        "memory_bytes": {"at_first": at_first, "after_load": after, "peak": peak, "rested": rested},
        "idle": idle,
        "calls": loaded.to_json(), "lost": found.lost, "twice": found.twice, "left_in_spool": spooled, "verified": verified,
    });
    if for_people {
        show(&report);
    }
    if !found.lost.is_empty() || !found.twice.is_empty() || !verified {
        return Err(Error::damaged(format!(
            "{} lost, {} stored twice, verify {}",
            found.lost.len(),
            found.twice.len(),
            if verified { "clean" } else { "found something" }
        ))
        .hint("run it again with --keep and --json, and look into the home"));
    }
    Ok(report)
}

/// What was sent.
#[derive(Default)]
struct Loaded {
    /// The texts that must be in the memory, each once.
    texts: Mutex<Vec<String>>,
    hooks: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    unanswered: AtomicU64,
    wall: Mutex<Vec<f64>>,
    seconds: Mutex<f64>,
}

impl Loaded {
    fn to_json(&self) -> Value {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let mut wall = self.wall.lock().map(|all| all.clone()).unwrap_or_default();
        wall.sort_by(f64::total_cmp);
        let within =
            |hundredths: usize| wall.get(wall.len().saturating_sub(1) * hundredths / 100).copied().unwrap_or(0.0);
        json!({
            "hooks": count(&self.hooks), "answered": count(&self.answered), "refused": count(&self.refused),
            "unanswered": count(&self.unanswered), "hook_wall_ms": {"half": within(50), "p95": within(95), "most": within(100)},
            "seconds": self.seconds.lock().map(|s| *s).unwrap_or(0.0),
        })
    }

    fn must_be_there(&self, text: String) {
        if let Ok(mut texts) = self.texts.lock() {
            texts.push(text);
        }
    }
}

/// All clients, and the one that kills.
fn load(args: &Args, served: &Served, asked: &[Asked]) -> Result<Loaded> {
    let loaded = Loaded::default();
    let (done, all, began) = (AtomicU64::new(0), args.clients * args.calls, Instant::now());
    let queries: Vec<&String> = asked.iter().flat_map(|kind| &kind.queries).collect();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..args.clients)
            .map(|client| {
                let (loaded, done, queries) = (&loaded, &done, &queries);
                scope.spawn(move || {
                    for n in 0..args.calls {
                        call(served, loaded, queries, (client, n));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let mut killed = 0;
        while clients.iter().any(|client| !client.is_finished()) {
            std::thread::sleep(Duration::from_millis(50));
            served.memory();
            let due = all * (killed + 1) / (args.kills + 1);
            if killed < args.kills && done.load(Ordering::Relaxed) >= due {
                served.kill()?;
                killed += 1;
            }
        }
        Ok(())
    })
    .map(|()| {
        if let Ok(mut seconds) = loaded.seconds.lock() {
            *seconds = began.elapsed().as_secs_f64();
        }
        loaded
    })
}

/// One call of a client.
fn call(served: &Served, loaded: &Loaded, queries: &[&String], (client, n): (u64, u64)) {
    let query = queries[(client + n) as usize % queries.len().max(1)].replace(' ', "%20");
    if n % 2 == 0 {
        let prompt = format!("client {client} asks number {n}: what about {}?", queries[n as usize % queries.len()]);
        let payload = json!({
            "session_id": format!("load-{client}"), "cwd": "/home/user/project-1", "hook_event_name": "UserPromptSubmit",
            "transcript_path": served.home.join("no-transcript.jsonl"), "prompt_id": format!("load-{client}-{n}"),
            "prompt": prompt,
        });
        let began = Instant::now();
        let args = binary::hook(served.home, "claude-code", "UserPromptSubmit");
        let run = Command::new(served.exe)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = run else { return };
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(payload.to_string().as_bytes());
        }
        let _ = child.wait();
        if let Ok(mut wall) = loaded.wall.lock() {
            wall.push(began.elapsed().as_secs_f64() * 1e3);
        }
        loaded.hooks.fetch_add(1, Ordering::Relaxed);
        loaded.must_be_there(prompt);
        return;
    }
    let line;
    let (method, path, body): (&str, String, &[u8]) = match n % 8 {
        1 => ("GET", format!("/v1/search?q={query}"), b""),
        3 => ("GET", format!("/v1/recall?q={query}"), b""),
        5 => {
            let text = format!("client {client} tells number {n}: {query}");
            line = json!({"session": format!("told-{client}"), "id": n.to_string(), "text": text}).to_string();
            loaded.must_be_there(text);
            ("POST", "/v1/append".into(), line.as_bytes())
        }
        _ => ("GET", "/v1/status".into(), b""),
    };
    // A line that is not acknowledged is sent again, as docs/API.md says.
    let until = Instant::now() + PATIENCE;
    loop {
        let answer = served.ask(method, &path, body);
        let counted = match &answer {
            Some((200, _)) => &loaded.answered,
            Some(_) => &loaded.refused,
            None => &loaded.unanswered,
        };
        counted.fetch_add(1, Ordering::Relaxed);
        let again = method == "POST" && !matches!(answer, Some((200, _)));
        if !again || Instant::now() > until {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until the service has stored what hooks left. How many files are left.
fn until_stored(home: &Path) -> Result<usize> {
    let left = || std::fs::read_dir(home.join("spool")).map_or(0, |files| files.count());
    let until = Instant::now() + PATIENCE;
    while left() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(left())
}

struct Found {
    lost: Vec<String>,
    twice: Vec<String>,
}

/// Looks for each text in the memory.
fn found(home: &Path, loaded: &Loaded) -> Result<Found> {
    let home = LabHome::create(home)?;
    let mut there: BTreeMap<String, u64> = BTreeMap::new();
    for session in home.sessions()?.iter().filter(|session| is_of_load(&session.key.to_string())) {
        for turn in home.turns(session, true)? {
            *there.entry(turn.text).or_default() += 1;
        }
    }
    let texts = loaded.texts.lock().map(|all| all.clone()).unwrap_or_default();
    let times = |text: &String| there.get(text).copied().unwrap_or(0);
    let lost = texts.iter().filter(|text| times(text) == 0).cloned().collect();
    let twice = texts.iter().filter(|text| times(text) > 1).cloned().collect();
    Ok(Found { lost, twice })
}

fn is_of_load(key: &str) -> bool {
    key.contains("load-") || key.contains("told-")
}

fn show(report: &Value) {
    let ms = |value: &Value| format!("{:.1}", value.as_f64().unwrap_or(0.0));
    let mut rows = vec![vec!["  ms, half / 95 %".to_owned(), "CPU".into(), "wall".into()]];
    for hook in report["hooks"].as_array().into_iter().flatten() {
        rows.push(vec![
            format!("  {}", hook["what"].as_str().unwrap_or_default()),
            format!("{} / {}", ms(&hook["cpu_ms"]), ms(&hook["cpu_p95_ms"])),
            format!("{} / {}", ms(&hook["wall_ms"]), ms(&hook["wall_p95_ms"])),
        ]);
    }
    print::out(&print::table(&rows));
    let memory = |name: &str| print::bytes(report["memory_bytes"][name].as_u64().unwrap_or(0));
    print::line(&format!(
        "Memory: {} at first, {} after the load, {} at most, {} rested",
        memory("at_first"),
        memory("after_load"),
        memory("peak"),
        memory("rested")
    ));
    print::line(&format!("Idle: {} s of CPU in {} s", report["idle"]["cpu_s"], report["idle"]["seconds"]));
    print::line(&format!("Calls: {}", report["calls"]));
    let count = |name: &str| report[name].as_array().map_or(0, Vec::len);
    print::line(&format!(
        "{} lost, {} stored twice, {} left in the spool; verify {}",
        count("lost"),
        count("twice"),
        report["left_in_spool"],
        if report["verified"] == true { "clean" } else { "found something" }
    ));
}
