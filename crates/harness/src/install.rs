//! Connecting a program: the entries Heirloom adds to its settings, and how they are removed again.
//!
//! A plan is data and pure functions: paths relative to the program's own folder, and for each path the wanted
//! contents. The application reads the files, shows what a plan would change, and writes. Text that others wrote stays
//! unchanged to the byte; Heirloom's additions are recognised without a record, by command, name or first line. This
//! module opens no file and reads no environment.

pub mod draft;
pub mod insert;
pub mod json;
pub mod server;
pub mod trust;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::on_machine::quoted;

use draft::Draft;
use insert::Merge;
use json::SettingsError;
use server::{JsonServer, TomlServer};

/// The command by which programs call Heirloom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installed {
    /// The binary by its absolute path, and the options every call needs (`--home`, `--agent`).
    pub command: Vec<String>,
}

impl Installed {
    /// Returns the shell command for an event. Its last three words are always `hook <harness> <event>`, by which it is
    /// recognised.
    pub fn hook(&self, harness: &str, event: &str) -> String {
        let words = self.command.iter().map(String::as_str).chain(["hook", harness, event]);
        words.map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// Returns the words of the command that serves one program over MCP.
    pub fn mcp(&self) -> server::Words {
        self.command.iter().cloned().chain(["mcp".to_owned()]).collect()
    }

    /// Returns the words of [`Installed::mcp`] as the command and its arguments.
    pub fn mcp_parts(&self) -> (String, server::Words) {
        let mut words = self.mcp();
        (words.remove(0), words)
    }
}

/// The texts of a plan's files, in the order of its edits; `None` if there is no file.
pub type Files<'f> = &'f [Option<&'f str>];

/// The plan for connecting a program.
#[derive(Clone, Debug)]
pub struct InstallPlan {
    /// The program's own settings folder. If it is missing, the program was never started here.
    pub folder: PathBuf,
    /// Edits in the order in which they are made. They are undone in the opposite order, so that no file names another
    /// one before it exists.
    pub edits: Vec<Edit>,
    /// Permissions this grants the program, listed when the user is asked.
    pub permits: &'static [&'static str],
    /// Step that the user has to do afterwards.
    pub then: &'static str,
    /// Administrators' files, by absolute path, that may forbid the connection. A folder stands for the `.json` files
    /// in it.
    pub policies: Vec<PathBuf>,
    pub forbids: fn(&str) -> Option<&'static str>,
    /// Returns the setting in the files of this plan (in order) that keeps a connected program from calling Heirloom,
    /// and the remedy.
    pub obstacle: fn(Files) -> Option<(&'static str, &'static str)>,
    /// Returns a complaint the program will make although the connection works, and the remedy.
    pub remark: fn(Files) -> Option<(&'static str, &'static str)>,
    /// Returns the other way in which the program is connected according to these files, if it is.
    pub otherwise: fn(Files) -> Option<&'static str>,
}

impl InstallPlan {
    /// Makes a plan of one edit that asks for no permission.
    pub fn of_one(folder: PathBuf, edit: Edit, then: &'static str) -> InstallPlan {
        InstallPlan {
            folder,
            edits: vec![edit],
            permits: &[],
            then,
            policies: Vec::new(),
            forbids: |_| None,
            obstacle: |_| None,
            remark: |_| None,
            otherwise: |_| None,
        }
    }
}

/// A file, and its wanted contents.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The program's folder.
    pub folder: PathBuf,
    /// The file's path below it.
    pub path: String,
    /// Meaning of the edit for the user, in one line.
    pub meaning: String,
    pub change: Change,
}

/// The wanted contents of a file.
#[derive(Clone, Debug)]
pub enum Change {
    /// The whole file belongs to Heirloom.
    Own(Own),
    /// Heirloom's entries among the settings of others, in JSON or JSON5.
    Json(Merge),
    /// The digests of the hooks in the plan's first file. Written only if the user asks for it.
    Trust {
        /// The path of that file as the program knows it.
        hooks: String,
        harness: &'static str,
    },
    /// Heirloom's entry among the MCP servers, in JSON or JSON5.
    Server(JsonServer),
    /// Heirloom's entry among the MCP servers, in TOML.
    TomlServer(TomlServer),
}

/// A file that belongs to Heirloom.
#[derive(Clone, Debug)]
pub struct Own {
    pub text: String,
    /// Whether Heirloom wrote a text, now or earlier, and nobody has changed it since.
    pub is_ours: fn(&str) -> bool,
}

/// State of a file: which of the wanted contents it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Absent,
    /// The file has some of the contents.
    Partly,
    /// The file has all of the contents, in another form: an older version, or another path of the binary.
    Older,
    Current,
}

/// A file after an edit, and how to undo it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edited {
    pub text: String,
    /// The containers that were created.
    pub made: Vec<String>,
    /// The steps that restore the original to the byte.
    pub steps: Vec<draft::Step>,
    /// Whether the steps restore the file from before Heirloom's first change. They do not if entries of unknown origin
    /// were already there.
    pub exact: bool,
    /// Whether there was no file before.
    pub was_absent: bool,
}

/// The record of an earlier change, for undoing it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Past {
    /// Whether the undo steps fit the file as it is.
    pub exact: bool,
    /// Whether there was no file before.
    pub was_absent: bool,
    pub steps: Vec<draft::Step>,
    pub made: Vec<String>,
}

/// Reason why a file is left alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Declined {
    Settings(SettingsError),
    /// A file of Heirloom was changed by others, or was never Heirloom's.
    NotOurs,
}

impl From<SettingsError> for Declined {
    fn from(what: SettingsError) -> Declined {
        Declined::Settings(what)
    }
}

impl Change {
    /// Returns the file with the wanted contents. `first` is the text of the plan's first file after the edit.
    pub fn put(&self, now: Option<&str>, past: Option<&Past>, first: &str) -> Result<Edited, Declined> {
        // If the file has no entry of Heirloom left, the record of an earlier change no longer matters.
        let fresh = self.standing(now, first)? == Standing::Absent;
        let past = past.filter(|_| !fresh);
        let mut draft = match (past.filter(|p| p.exact), now) {
            (Some(past), Some(text)) => Draft::resume(text, &past.steps).unwrap_or_else(|| Draft::new(text)),
            (_, text) => Draft::new(text.unwrap_or_default()),
        };
        let mut made = past.map(|p| p.made.clone()).unwrap_or_default();
        match self {
            Change::Own(own) => {
                let end = draft.text().len();
                if draft.text() != own.text {
                    draft.replace(0..end, &own.text);
                }
            }
            Change::Json(merge) => made.extend(merge.put(&mut draft)?),
            Change::Trust { hooks, harness } => trust::put(&mut draft, &trust::of_hooks(first, hooks, harness)?)?,
            Change::Server(server) => made.extend(server.put(&mut draft)?),
            Change::TomlServer(server) => made.extend(server.put(&mut draft)?),
        }
        made.sort();
        made.dedup();
        Ok(Edited {
            text: draft.text().to_owned(),
            made,
            steps: draft.steps(),
            exact: fresh || past.is_some_and(|p| p.exact),
            was_absent: if fresh { now.is_none() } else { past.is_some_and(|p| p.was_absent) },
        })
    }

    /// Returns the file without Heirloom's entries; `None` if no file should be left. `first` is the text of the plan's
    /// first file as it is.
    pub fn take(&self, now: &str, past: Option<&Past>, first: &str) -> Result<Option<String>, Declined> {
        if let Change::Own(own) = self {
            return if now == own.text || (own.is_ours)(now) { Ok(None) } else { Err(Declined::NotOurs) };
        }
        if let Some(past) = past.filter(|p| p.exact)
            && let Some(text) = draft::undo(now, &past.steps)
        {
            return Ok((!past.was_absent).then_some(text));
        }
        let mut draft = Draft::new(now);
        match self {
            Change::Json(merge) => merge.take(&mut draft, past.map(|p| p.made.as_slice()))?,
            Change::Trust { hooks, harness } => {
                trust::take(&mut draft, &trust::of_hooks(first, hooks, harness)?)?;
            }
            Change::Server(server) => server.take(&mut draft, past.map(|p| p.made.as_slice()))?,
            Change::TomlServer(server) => server.take(&mut draft)?,
            Change::Own(_) => {}
        }
        // A file that Heirloom created and that is empty now is removed.
        let rest: String = draft.text().chars().filter(|c| !c.is_whitespace()).collect();
        let gone = past.is_some_and(|p| p.was_absent) && (rest.is_empty() || rest == "{}");
        Ok((!gone).then(|| draft.text().to_owned()))
    }

    /// Returns how much of the wanted contents a file has.
    pub fn standing(&self, now: Option<&str>, first: &str) -> Result<Standing, Declined> {
        let Some(text) = now else { return Ok(Standing::Absent) };
        Ok(match self {
            Change::Own(own) if text == own.text => Standing::Current,
            Change::Own(own) if (own.is_ours)(text) => Standing::Older,
            Change::Own(_) => return Err(Declined::NotOurs),
            Change::Json(merge) => merge.standing(text)?,
            Change::Server(server) => server.standing(text)?,
            Change::TomlServer(server) => server.standing(text)?,
            Change::Trust { hooks, harness } => {
                let found = trust::standing(text, &trust::of_hooks(first, hooks, harness)?)?;
                match found.iter().filter(|t| **t == trust::Trusted::Yes).count() {
                    0 => Standing::Absent,
                    n if n == found.len() => Standing::Current,
                    _ => Standing::Partly,
                }
            }
        })
    }

    /// Returns the paths of the binaries that Heirloom's entries in the file call.
    pub fn calls(&self, now: &str) -> Vec<String> {
        match self {
            Change::Json(merge) => merge.calls(now),
            Change::Own(_) => {
                let line = now.lines().find_map(|l| l.strip_prefix("const HEIRLOOM = "));
                let words = line.and_then(|l| serde_json::from_str::<Vec<String>>(l).ok());
                words.and_then(|w| w.into_iter().next()).into_iter().collect()
            }
            Change::Trust { .. } => Vec::new(),
            Change::Server(server) => server.calls(now),
            Change::TomlServer(server) => server.calls(now),
        }
    }

    /// Returns the needed permissions that the file does not grant, although it has entries of Heirloom.
    pub fn lacks(&self, now: &str) -> Vec<String> {
        match self {
            Change::Json(merge) => merge.lacks(now),
            _ => Vec::new(),
        }
    }

    /// Whether hooks of others follow Heirloom's in the same list.
    pub fn moves_others(&self, now: &str) -> bool {
        match self {
            Change::Json(merge) => merge.moves_others(now),
            _ => false,
        }
    }

    /// Returns the text a person must add to the file by hand if Heirloom may not.
    pub fn by_hand(&self) -> Option<String> {
        match self {
            Change::Json(merge) => Some(merge.by_hand()),
            Change::Server(server) => Some(server.by_hand()),
            Change::TomlServer(server) => Some(server.by_hand()),
            Change::Own(_) | Change::Trust { .. } => None,
        }
    }
}

/// Whether a hook's command calls Heirloom: a binary of this name first, and `hook <harness> <event>` last. A tool that
/// wraps the command does not count; nor does one that only mentions it.
pub fn command_is_ours(command: &str, harness: &str) -> bool {
    let Some(words) = words(command) else { return false };
    let [binary, .., hook, of, _] = words.as_slice() else { return false };
    let name = Path::new(binary).file_name().and_then(|n| n.to_str()).unwrap_or_default();
    name.starts_with("heirloom") && hook == "hook" && of == harness
}

/// Returns the words of a simple shell command without their quotes; `None` if it is not simple.
pub fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => word.push(chars.next()?),
                        '$' | '`' => return None,
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '\n' => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// Beginning of the first line of Heirloom's scripts.
const SIGNED: &str = "// written by heirloom connect, replaced by it; sha256 of what follows: ";
/// Line of a script that names the command of Heirloom, before installation.
const CALL: &str = "const HEIRLOOM = [\"heirloom\"]";

/// Returns a script for a program: with the command of Heirloom filled in, and signed so that changes by others are
/// noticed.
pub fn script(source: &str, how: &Installed) -> String {
    let words = serde_json::Value::from(how.command.clone());
    let body = source.replacen(CALL, &format!("const HEIRLOOM = {words}"), 1);
    format!("{SIGNED}{}\n{body}", sha256(&body))
}

/// Whether a script is unchanged since Heirloom wrote it.
pub fn is_our_script(text: &str) -> bool {
    let Some((first, body)) = text.split_once('\n') else { return false };
    first.strip_prefix(SIGNED).is_some_and(|signed| signed == sha256(body))
}

/// Returns the SHA-256 of a text in hexadecimal digits.
fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}
