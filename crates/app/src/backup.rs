//! Scheduled backups from the section `backup` of `config.toml`, and the ways to read a passphrase: from a file, standard
//! input or the terminal. Never prints a passphrase or a key.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use heirloom_archive::{Lock, recipients_of};
use heirloom_engine::clock::Millis;
use heirloom_engine::engine::{Engine, Rotation};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::upkeep::BackedUp;
use serde::Deserialize;

use crate::config::{Unknown, known_only};
use crate::print;

/// File name ending of a backup that is packed into one file.
pub const PACKED: &str = ".tar.zst";

/// File name ending of a packed backup that is encrypted.
pub const ENCRYPTED: &str = ".tar.zst.age";

/// Bytes read at most of a passphrase or a file of keys.
const LONGEST: u64 = 64 << 10;

/// Number of backups kept where the settings name none.
const KEEP: usize = 7;

const HOUR: Millis = 3_600_000;

/// The section `backup` of `config.toml`. Without `to`, no backup is scheduled.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(default)]
pub struct Settings {
    /// Folder the backups are written into; it must exist.
    pub to: Option<PathBuf>,
    /// Time between two backups: `12h`, `1d`, `1w`. Default: a day.
    pub every: Option<String>,
    /// Number of backups kept, 1 to 1000.
    pub keep: Option<usize>,
    /// Public keys (`age1…`) each backup is encrypted for; it is then one packed file.
    pub recipients: Vec<String>,
    /// File with the passphrase each backup is encrypted with. Excludes `recipients`.
    pub passphrase_file: Option<PathBuf>,
    /// Keys that mean nothing ([`known_only`]).
    #[serde(flatten)]
    pub unknown: Unknown,
}

const KEYS: [&str; 5] = ["to", "every", "keep", "recipients", "passphrase_file"];

/// A schedule of backups with its encryption, checked.
pub struct Plan {
    pub rotation: Rotation,
    lock: Locked,
}

enum Locked {
    Not,
    Recipients(Lock),
    /// Names the file only: the passphrase is read for each backup, so that the service does not hold it in memory.
    PassphraseIn(PathBuf),
}

impl Settings {
    /// Checks the settings and returns the schedule; `None` where they ask for no backups. `Usage` for a setting that
    /// makes no sense.
    pub fn plan(&self) -> Result<Option<Plan>> {
        known_only("the section backup of config.toml", &self.unknown, &KEYS)?;
        let Some(to) = &self.to else { return Ok(None) };
        for path in [Some(to), self.passphrase_file.as_ref()].into_iter().flatten() {
            if !path.is_absolute() {
                let shown = print::safe_line(&path.display().to_string());
                return Err(Error::usage(format!("section backup of config.toml: {shown} is no whole path"))
                    .hint("write it from the root on: to = \"/…\""));
            }
        }
        let every = self.every.as_deref().unwrap_or("1d");
        let every = span(every).ok_or_else(|| {
            Error::usage(format!(
                "section backup of config.toml: every = {:?} is no span of time",
                print::safe_line(every)
            ))
            .hint("from 1h on: every = \"12h\", \"1d\", \"1w\"")
        })?;
        let keep = self.keep.unwrap_or(KEEP);
        if !(1..=1000).contains(&keep) {
            return Err(Error::usage("section backup of config.toml: keep is no number of backups")
                .hint("from 1 to 1000: keep = 7"));
        }
        let lock = match (&self.passphrase_file, self.recipients.as_slice()) {
            (Some(_), [_, ..]) => {
                return Err(Error::usage("section backup of config.toml names recipients and a passphrase_file")
                    .hint("leave one of the two out"));
            }
            (Some(file), []) => Locked::PassphraseIn(file.clone()),
            (None, []) => Locked::Not,
            (None, recipients) => Locked::Recipients(recipients_of(recipients)?),
        };
        let ending = (!matches!(lock, Locked::Not)).then_some(ENCRYPTED);
        Ok(Some(Plan { rotation: Rotation { to: to.clone(), every, keep, ending }, lock }))
    }
}

impl Plan {
    /// Returns when the next backup is due.
    pub fn next(&self, engine: &Engine) -> Millis {
        engine.backups_seen().next(&self.rotation, engine.now())
    }

    /// Makes the next backup and removes the oldest beyond `keep`.
    pub fn run(&self, engine: &Engine) -> Result<BackedUp> {
        let lock = match &self.lock {
            Locked::Not => return engine.backup_again(&self.rotation, None),
            Locked::Recipients(lock) => lock.clone(),
            Locked::PassphraseIn(file) => Lock::passphrase(&passphrase_of_file(file)?)?,
        };
        engine.backup_again(
            &self.rotation,
            Some(&|folder, file, progress| heirloom_archive::write(folder, file, &lock, progress)),
        )
    }
}

/// Parses a span of time of at least an hour: a number and `h`, `d` or `w`. `None` for anything else.
fn span(text: &str) -> Option<Millis> {
    let text = text.trim();
    let unit = match text.chars().last()? {
        'h' => HOUR,
        'd' => 24 * HOUR,
        'w' => 7 * 24 * HOUR,
        _ => return None,
    };
    let number: Millis = text[..text.len() - 1].trim().parse().ok()?;
    (1..=5000).contains(&number).then(|| number * unit)
}

/// Reads the passphrase in a file. `Refused` where the file's permissions let other users read it.
pub fn passphrase_of_file(path: &Path) -> Result<String> {
    let meta = std::fs::metadata(path).map_err(|e| Error::io("read", path, e))?;
    if meta.permissions().mode() & 0o077 != 0 {
        let shown = path.display();
        return Err(Error::refused(format!("the passphrase in {shown} can be read by others"))
            .hint(format!("chmod 600 {shown}")));
    }
    text_of(path)
}

/// Reads a small text file, [`LONGEST`] bytes at most.
pub fn text_of(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|e| Error::io("read", path, e))?;
    Ok(text)
}

/// Reads a passphrase from standard input.
pub fn passphrase_of_stdin() -> Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST).read_to_string(&mut text);
    read.map_err(|e| Error::usage("no passphrase can be read from standard input").because(e))?;
    Ok(text)
}

/// Asks a question on the terminal and reads the answer without showing it. `None` without a terminal.
pub fn ask(question: &str) -> Result<Option<String>> {
    use std::io::IsTerminal as _;
    let terminal = console::Term::stderr();
    if !std::io::stdin().is_terminal() || !terminal.is_term() {
        return Ok(None);
    }
    let failed = |e: std::io::Error| Error::usage("nothing can be read from the terminal").because(e);
    terminal.write_str(question).map_err(failed)?;
    terminal.read_secure_line().map(Some).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_settings() {
        for (text, hours) in [("1h", Some(1)), (" 12 h", Some(12)), ("1d", Some(24)), ("2w", Some(336))] {
            assert_eq!(span(text), hours.map(|h: i64| h * HOUR), "{text}");
        }
        for text in ["", "0d", "1", "d", "1m", "-1d", "9999999999999999999d", "1é"] {
            assert_eq!(span(text), None, "{text}");
        }
        let settings = |text: &str| toml::from_str::<Settings>(text).unwrap().plan();
        assert!(settings("").unwrap().is_none());
        let plan = settings("to = '/b'").unwrap().unwrap();
        assert_eq!((plan.rotation.every, plan.rotation.keep, plan.rotation.ending), (24 * HOUR, 7, None));
        for wrong in ["to = 'b'", "to = '/b'\nevery = 'often'", "to = '/b'\nkeep = 0", "to = '/b'\nrecipients = ['x']"]
        {
            assert!(settings(wrong).is_err(), "{wrong}");
        }
    }
}
