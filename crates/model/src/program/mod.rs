//! Asks a model through an installed program: the person's own Claude Code, Codex or OpenClaw, or any command (R12.1).
//!
//! A call must leave no trace: no session, no hook, no file of the program. Each preset has the options that were tried
//! for that; a version they were not tried with is refused ([`version`]). Every call runs in an empty folder of the
//! home and in a new process group that is killed at the deadline, and as soon as this process has ended ([`guard`]). `HEIRLOOM_INSIDE` is set for it, which makes our
//! hooks exit.

mod claude;
mod codex;
mod guard;
mod openclaw;
mod other;
pub(crate) mod version;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use heirloom_engine::model::{Answer, Failure};

use self::guard::Guard;
use crate::asking::{LARGEST_ANSWER, Question, Transport};

pub(crate) use claude::Claude;
pub(crate) use codex::Codex;
pub(crate) use openclaw::OpenClaw;
pub(crate) use other::Other;

/// Variable set for every program that is run as a model. Our hooks exit at once where it is set: otherwise the model's
/// answers would be stored as sessions, which are summarised again.
pub const INSIDE: &str = "HEIRLOOM_INSIDE";

/// Variables of the program that started us. The model's program would take them for a call from within itself and
/// refuse.
const NOT_PASSED: [&str; 2] = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];

/// Variable that names the terminal on which GnuPG asks for a passphrase. A worker inherits it from the program that
/// started it, and a question would stand in the middle of that program's screen and take its keys.
const TERMINAL: &str = "GPG_TTY";

/// Time between two checks whether the program has ended.
const LOOK: Duration = Duration::from_millis(15);

/// Folders of the home that a program works with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folders {
    /// Working folder of the program; it is always empty.
    pub empty: PathBuf,
    /// Folder of the files that are passed to the program while it runs.
    pub scratch: PathBuf,
}

/// Variables set for a program, with their values.
pub(crate) type Variables = &'static [(&'static str, &'static str)];

/// A kind of program: how it is called, and how its output is read.
pub(crate) trait Preset: Send + Sync {
    /// Returns the program's name in the list of known versions; `None`: any version is accepted.
    fn known_as(&self) -> Option<&'static str>;

    /// Returns the variables by which the program is told to send no statistics and no reports of errors, and to look
    /// for no newer version: it would write files for that, and a question of ours is no use of the person's.
    fn quieted_by(&self) -> Variables {
        &[]
    }

    /// Makes the call for a question.
    fn call(&self, question: &Question, folders: &Folders) -> Result<Call, Failure>;

    /// Reads the answer from the program's output.
    fn read(&self, output: &Output, call: &Call) -> Result<Answer, Failure>;
}

/// One call of a program.
#[derive(Default)]
pub(crate) struct Call {
    pub arguments: Vec<OsString>,
    pub input: String,
    /// Files passed to the program, removed with the call. The last may be one the program writes.
    pub files: Vec<tempfile::NamedTempFile>,
}

/// Output of a program.
pub(crate) struct Output {
    /// Standard output.
    pub text: String,
    /// Standard output and standard error in lower case.
    words: String,
    pub status: ExitStatus,
}

impl Output {
    /// Whether the program said these words, given in lower case.
    pub fn has(&self, words: &str) -> bool {
        self.words.contains(words)
    }

    pub fn says_nothing(&self) -> bool {
        self.words.trim().is_empty()
    }
}

/// A program that is asked as a model.
pub(crate) struct Program {
    /// Full path of the program, or a name that is looked up in `PATH`.
    pub path: PathBuf,
    pub preset: Box<dyn Preset>,
    pub folders: Folders,
    pub timeout: Duration,
}

impl Transport for Program {
    fn send(&self, question: &Question) -> Result<Answer, Failure> {
        self.check_folder()?;
        look(&self.path, &*self.preset, &self.folders, self.timeout)?;
        let call = self.preset.call(question, &self.folders)?;
        let output = run(&Start {
            program: &self.path,
            arguments: &call.arguments,
            variables: self.preset.quieted_by(),
            input: &call.input,
            folder: &self.folders.empty,
            timeout: self.timeout,
        });
        // A program that could not be started asked nothing.
        if !matches!(output, Err(Failure::Refused(_) | Failure::Unsent { .. })) {
            question.count(false);
        }
        let output = output?;
        let answer = self.preset.read(&output, &call);
        if output.status.success() {
            return answer;
        }
        let ended = || Failure::Unusable(format!("the program ended with {}", output.status));
        // The words of a command of the person's own may mean anything.
        let known = self.preset.known_as().and_then(|_| complaint(&output));
        // A program that complains of its login, or of a limit, had no answer.
        question.is_free.set(known.is_some());
        Err(known.or(answer.err()).unwrap_or_else(ended))
    }
}

impl Program {
    /// Refuses a folder that is not empty: programs read settings and instructions from the folder they run in.
    fn check_folder(&self) -> Result<(), Failure> {
        let folder = &self.folders.empty;
        let entry = std::fs::read_dir(folder).map(|mut entries| entries.next().is_some());
        match entry {
            Ok(false) => Ok(()),
            Ok(true) => Err(Failure::Refused(format!(
                "{} is not empty: look at what lies there and remove it",
                folder.display()
            ))),
            Err(e) => {
                Err(Failure::Later { why: format!("{} cannot be read ({})", folder.display(), e.kind()), after: None })
            }
        }
    }
}

/// Asks a program for its version, and refuses a version its options were not tried with.
pub(crate) fn look(program: &Path, preset: &dyn Preset, folders: &Folders, timeout: Duration) -> Result<(), Failure> {
    let Some(name) = preset.known_as() else { return Ok(()) };
    let (arguments, variables) = (&["--version".into()], preset.quieted_by());
    let said = run(&Start { program, arguments, variables, input: "", folder: &folders.empty, timeout })?.text;
    version::check(name, &said).map_err(Failure::Refused)
}

/// Recognises the program's complaint, if it is a known one. None of its words is passed on.
fn complaint(output: &Output) -> Option<Failure> {
    let known = include_str!("complaints.txt").lines().filter(|line| !line.starts_with('#'));
    for line in known {
        let mut parts = line.split("  ").map(str::trim).filter(|part| !part.is_empty());
        let (Some(meaning), Some(words), Some(told)) = (parts.next(), parts.next(), parts.next()) else { continue };
        if output.has(words) {
            return Some(match meaning {
                "later" => Failure::Later { why: told.to_owned(), after: None },
                _ => Failure::Refused(told.to_owned()),
            });
        }
    }
    None
}

/// A program with its arguments and variables, ready to be started.
pub(crate) struct Start<'s> {
    pub program: &'s Path,
    pub arguments: &'s [OsString],
    pub variables: Variables,
    /// Text on its standard input.
    pub input: &'s str,
    /// Its working folder.
    pub folder: &'s Path,
    pub timeout: Duration,
}

/// Runs a program and waits for it. At the deadline its whole process group is killed.
pub(crate) fn run(start: &Start) -> Result<Output, Failure> {
    let Start { program, arguments, variables, input, folder, timeout } = *start;
    let later = |why: String| Failure::Later { why, after: None };
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut command = Command::new(program);
    for name in NOT_PASSED {
        command.env_remove(name);
    }
    if !std::io::stdin().is_terminal() {
        command.env_remove(TERMINAL);
    }
    let not_started =
        |kind| Failure::Unsent { why: format!("the program {name} cannot be started ({kind})"), after: None };
    let guard = Guard::start().map_err(|e| not_started(e.kind()))?;
    let mut child = command
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .env(INSIDE, "1")
        .env("PWD", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(guard.group())
        .spawn()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => {
                Failure::Refused(format!("the program {name} cannot be started ({})", e.kind()))
            }
            kind => not_started(kind),
        })?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let until = Instant::now() + timeout;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that does not read its input closes it; the error then is no fault.
            let _ = stdin.map(|mut pipe| pipe.write_all(input.as_bytes()));
        });
        let out = scope.spawn(move || bounded(stdout));
        let err = scope.spawn(move || bounded(stderr));
        let ended = wait(&mut child, until, || out.is_finished() && err.is_finished());
        // Also kills processes the program started and left behind: they would hold the pipes open.
        drop(guard);
        let status = child.wait();
        let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
        if !ended {
            return Err(later(format!("the program {name} did not answer within {timeout:?}")));
        }
        let status = status.map_err(|e| later(format!("the program {name} was lost ({})", e.kind())))?;
        if out.len() > LARGEST_ANSWER {
            return Err(Failure::Unusable(format!("the program {name} printed more than {LARGEST_ANSWER} bytes")));
        }
        let text = String::from_utf8_lossy(&out).into_owned();
        let words = format!("{} {}", String::from_utf8_lossy(&err), text).to_lowercase();
        Ok(Output { text, words, status })
    })
}

/// Waits until the program has ended or closed its outputs. `false`: the deadline has passed.
fn wait(child: &mut Child, until: Instant, closed: impl Fn() -> bool) -> bool {
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() >= until => return false,
            Ok(None) if closed() && !matches!(child.try_wait(), Ok(None)) => return true,
            Ok(None) => std::thread::sleep(LOOK),
            _ => return true,
        }
    }
}

/// Reads to the end, and keeps at most one byte more than [`LARGEST_ANSWER`].
fn bounded(from: Option<impl Read>) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut from) = from else { return kept };
    let _ = from.by_ref().take(LARGEST_ANSWER as u64 + 1).read_to_end(&mut kept);
    let _ = std::io::copy(&mut from, &mut std::io::sink());
    kept
}
