//! `heirloom doctor --speed`: measures a search, a hook and an import in this home, as whole processes.
//!
//! The processes run in a copy of the home below its `state/scratch`, so that the home itself is only read. The copy is
//! removed at the end, also after an interruption; the copy of a run that was killed is removed by the next run.

use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use heirloom_engine::error::{Error, ErrorKind, Result};
use heirloom_engine::home::{Home, layout};
use heirloom_engine::ledger::blocks::Opener;
use heirloom_engine::transcript::read::{self, SessionFilter};
use serde_json::{Value, json};

use crate::context::{Context, Global};
use crate::error::Exit;
use crate::hook::worker;
use crate::print::{self, Paint};

/// The prefix of a copy's folder name.
const COPY: &str = "speed-";

/// Maximum size in bytes of a home that is copied.
const LARGEST: u64 = 4 << 30;

/// Number of turns of this home that are imported again into the copy.
const TURNS: usize = 200;

/// Number of queries, and number of times each is run.
const QUERIES: usize = 5;
const ROUNDS: usize = 3;

/// Number of sessions whose prompt is passed to a hook.
const PROMPTS: usize = 9;

/// Wall times of whole processes, in milliseconds, in ascending order.
struct Line {
    what: &'static str,
    of: String,
    ms: Vec<f64>,
}

pub fn run(global: &Global) -> Result<Exit> {
    let context = Context::open(global)?;
    if context.is_read_only() {
        return Err(Error::refused("nothing can be measured in a home that cannot be written")
            .hint("check its owner, its permissions and whether its file system is mounted read-only"));
    }
    let sample = Sample::of(&context)?;
    let copy = Copy::make(&context)?;
    drop(context);
    let lines = copy.measure(global, &sample)?;
    if global.json {
        let list: Vec<Value> = lines.iter().map(Line::to_json).collect();
        print::line(&json!({"speed": list}).to_string());
    } else {
        let paint = Paint::stdout();
        let ms = |ms: f64| if ms < 99.5 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") };
        let rows: Vec<Vec<String>> = lines
            .iter()
            .map(|l| vec![paint.bold(l.what), ms(l.median()), format!("at most {}", ms(l.most())), l.of.clone()])
            .collect();
        print::out(&print::table(&rows));
    }
    Ok(Exit::Ok)
}

impl Line {
    fn new(what: &'static str, of: String, mut ms: Vec<f64>) -> Line {
        ms.sort_by(f64::total_cmp);
        Line { what, of, ms }
    }

    fn median(&self) -> f64 {
        self.ms.get(self.ms.len() / 2).copied().unwrap_or_default()
    }

    fn most(&self) -> f64 {
        self.ms.last().copied().unwrap_or_default()
    }

    fn to_json(&self) -> Value {
        json!({"what": self.what, "of": self.of, "median_ms": self.median(), "most_ms": self.most(), "runs": self.ms.len()})
    }
}

/// Texts of the home to measure with.
struct Sample {
    /// Texts of the newest turns, newest session first: the prompts to measure with.
    texts: Vec<String>,
    queries: Vec<String>,
    /// Folder the newest session ran in, if its program recorded it.
    cwd: Option<String>,
}

impl Sample {
    fn of(context: &Context) -> Result<Sample> {
        let agent_no = context.agent_no()?;
        let mut sessions = context.read(|tx| read::sessions(tx, agent_no, &SessionFilter::default()))?;
        sessions.sort_by_key(|s| std::cmp::Reverse(s.last_at));
        let mut texts = Vec::new();
        for session in &sessions {
            if texts.len() >= TURNS {
                break;
            }
            context.read(|tx| {
                read::session_turns(tx, &Opener::default(), session, Some(""), |turn| {
                    if texts.len() < TURNS && !turn.text.trim().is_empty() {
                        texts.push(turn.text);
                    }
                    Ok(())
                })
            })?;
        }
        let queries = queries(&texts);
        match queries.is_empty() {
            false => Ok(Sample { texts, queries, cwd: sessions.iter().find_map(|s| s.cwd.clone()) }),
            true => {
                Err(Error::not_found("this home has no words to measure with").hint("import something: heirloom up"))
            }
        }
    }

    /// Returns the turns as lines of a new session in the plain format.
    fn as_new_session(&self, session: &str) -> String {
        let lines = self.texts.iter().enumerate();
        lines.map(|(n, text)| format!("{}\n", json!({"session": session, "id": n.to_string(), "text": text}))).collect()
    }
}

/// Returns queries of three words each, taken from all over the texts.
fn queries(texts: &[String]) -> Vec<String> {
    let mut words: Vec<&str> = Vec::new();
    for word in texts.iter().flat_map(|t| t.split(|c: char| !c.is_alphabetic())).filter(|w| w.chars().count() > 4) {
        if words.len() < 2_000 && !words.contains(&word) {
            words.push(word);
        }
    }
    let step = (words.len() / (3 * QUERIES)).max(1);
    let spread: Vec<&str> = words.into_iter().step_by(step).take(3 * QUERIES).collect();
    spread.chunks(3).map(|three| three.join(" ")).collect()
}

/// A copy of a home, removed when it goes out of scope.
struct Copy {
    folder: PathBuf,
    home: PathBuf,
    /// Set by an interrupt (Ctrl-C): the measurement stops, so that the copy is removed.
    interrupted: Arc<AtomicBool>,
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Copy {
    fn make(context: &Context) -> Result<Copy> {
        let scratch = context.scratch()?;
        clear(&scratch);
        let root = context.home().root();
        let files = files(root)?;
        let bytes: u64 = files.iter().map(|f| std::fs::metadata(root.join(f)).map_or(0, |m| m.len())).sum();
        let room = rustix::fs::statvfs(&scratch).map_or(u64::MAX, |s| s.f_bavail.saturating_mul(s.f_frsize));
        if bytes > LARGEST || room < 2 * bytes {
            return Err(Error::refused(format!("a copy of this home to measure in takes {}", print::bytes(bytes)))
                .hint("heirloom-lab speed, built from the sources, measures synthetic homes of any size"));
        }
        let folder = scratch.join(format!("{COPY}{}", std::process::id()));
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(|e| Error::new(ErrorKind::Machine, format!("signals cannot be listened for: {e}")))?;
        }
        let copy = Copy { home: folder.join("home"), folder, interrupted };
        for below in layout::DIRECTORIES {
            make_private(&copy.home.join(below.as_str()))?;
        }
        // An open read transaction keeps other processes from truncating the log with the newest turns.
        context.read(|_| {
            for file in &files {
                let (from, to) = (root.join(file), copy.home.join(file));
                make_private(to.parent().unwrap_or(&copy.home))?;
                match std::fs::copy(&from, &to) {
                    // The file was removed meanwhile: a log disappears when another process has emptied it.
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                    done => done.map(drop).map_err(|e| Error::io("copy", &from, e))?,
                }
            }
            Ok(())
        })?;
        Ok(copy)
    }

    fn measure(&self, global: &Global, sample: &Sample) -> Result<[Line; 3]> {
        let home = Home::open_with(&self.home, &crate::context::home_options())?;
        // Holding the lock keeps hooks from starting a worker during a measurement.
        let _worker = home.try_lock(worker::LOCK)?;
        let mut searches = Vec::new();
        for query in &sample.queries {
            for round in 0..=ROUNDS {
                let ms = self.timed(global, &["search", "--", query], b"")?;
                searches.extend((round > 0).then_some(ms));
            }
        }
        let mut hooks = Vec::new();
        for round in 0..=PROMPTS {
            let payload = json!({
                "session_id": format!("speed-{round}"), "hook_event_name": "UserPromptSubmit", "prompt_id": round.to_string(),
                "prompt": format!("What did we say about {}?", sample.queries[round % sample.queries.len()]),
                "cwd": sample.cwd, "transcript_path": self.folder.join("no-transcript.jsonl"),
            });
            let ms =
                self.timed(global, &["hook", "claude-code", "UserPromptSubmit"], payload.to_string().as_bytes())?;
            hooks.extend((round > 0).then_some(ms));
        }
        // A hook that runs out of time leaves its prompt in the spool and replies nothing.
        let cut_short = std::fs::read_dir(self.home.join(layout::SPOOL.as_str())).map_or(0, |left| left.count());
        let prompts = match cut_short {
            0 => format!("{PROMPTS} prompts"),
            n => format!("{PROMPTS} prompts; it ran out of time {n} times"),
        };
        let (mut imports, mut bytes) = (Vec::new(), 0);
        for round in 0..ROUNDS {
            let lines = sample.as_new_session(&format!("speed-{round}"));
            let path = self.folder.join("turns.jsonl");
            std::fs::write(&path, &lines).map_err(|e| Error::io("write", &path, e))?;
            bytes = lines.len() as u64;
            imports.push(self.timed(global, &["import", "--format", "turns", &path.to_string_lossy()], b"")?);
        }
        let turns = print::counted(sample.texts.len() as u64, "turn");
        Ok([
            Line::new("search", format!("three words of this home; {} searches", searches.len()), searches),
            Line::new("hook", format!("a prompt is stored and answered; {prompts}"), hooks),
            Line::new(
                "import",
                format!("{turns} of this home as new ones, {}; {ROUNDS} imports", print::bytes(bytes)),
                imports,
            ),
        ])
    }

    /// Returns the wall time of a process on the copy, in milliseconds.
    fn timed(&self, global: &Global, args: &[&str], input: &[u8]) -> Result<f64> {
        let exe = std::env::current_exe().map_err(|e| Error::io("find", Path::new("this program"), e))?;
        let mut command = Command::new(&exe);
        command.arg("--home").arg(&self.home);
        if let Some(agent) = &global.agent {
            command.args(["--agent", agent]);
        }
        let started = Instant::now();
        let pipes = command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = pipes.spawn().map_err(|e| Error::io("start", &exe, e))?;
        if let Some(mut stdin) = child.stdin.take() {
            // An error means that the process ended without reading its input.
            let _ = stdin.write_all(input);
        }
        let status = child.wait().map_err(|e| Error::io("wait for", &exe, e))?;
        let ms = started.elapsed().as_secs_f64() * 1e3;
        match status.success() {
            _ if self.interrupted.load(Ordering::Relaxed) => {
                Err(Error::new(ErrorKind::Machine, "interrupted; the copy was removed"))
            }
            true => Ok(ms),
            false => Err(Error::new(ErrorKind::Machine, format!("heirloom {} ended with {status}", args.join(" ")))
                .hint("see what is wrong with the home: heirloom doctor, heirloom verify")),
        }
    }
}

/// Removes copies left by runs that were killed, except those in use by another process.
fn clear(scratch: &Path) {
    for entry in std::fs::read_dir(scratch).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|n| n.strip_prefix(COPY)?.parse::<i32>().ok()) else { continue };
        let runs =
            rustix::process::Pid::from_raw(process).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
        if !runs {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns the files of a home that a copy needs, relative to its root. The working folders of `state` and links are
/// left out.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let skipped = [layout::SCRATCH, layout::BACKUPS, layout::SPOOL, layout::RUN, layout::LOGS];
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(below) = folders.pop() {
        let folder = root.join(&below);
        for entry in std::fs::read_dir(&folder).map_err(|e| Error::io("list", &folder, e))? {
            let entry = entry.map_err(|e| Error::io("list", &folder, e))?;
            let path = below.join(entry.file_name());
            let kind = entry.file_type().map_err(|e| Error::io("examine", &folder, e))?;
            if kind.is_dir() && !skipped.iter().any(|s| path == Path::new(s.as_str())) {
                folders.push(path);
            } else if kind.is_file() && !path.to_string_lossy().ends_with("-shm") {
                found.push(path);
            }
        }
    }
    // The ledger is copied before its log: pages moved from log to ledger in between are then in both copies.
    found.sort();
    Ok(found)
}

fn make_private(folder: &Path) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|e| Error::io("make", folder, e))
}
