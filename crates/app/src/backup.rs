//! Backups as the settings ask for them, and where passphrases come from. No passphrase and no key is ever printed.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use heirloom_archive::{Lock, recipients_of};
use heirloom_engine::clock::Millis;
use heirloom_engine::engine::{Engine, Rotation};
use heirloom_engine::error::{Error, Result};
use heirloom_engine::report::upkeep::BackedUp;
use serde::Deserialize;

use crate::print;

/// What the name of a backup in one file ends with.
pub const PACKED: &str = ".tar.zst";

/// The same, encrypted.
pub const ENCRYPTED: &str = ".tar.zst.age";

/// The longest passphrase or file of keys, in bytes.
const LONGEST: u64 = 64 << 10;

/// How many backups are kept where nothing else is said.
const KEEP: usize = 7;

const HOUR: Millis = 3_600_000;

/// The section `backup` of `config.toml`. Without a folder, none is made by itself.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(default)]
pub struct Settings {
    /// The folder they are in; it has to be there.
    pub to: Option<PathBuf>,
    /// `12h`, `1d`, `1w`.
    pub every: Option<String>,
    pub keep: Option<usize>,
    /// Encrypted for these: one file each.
    pub recipients: Vec<String>,
    /// Or with the passphrase in this file.
    pub passphrase_file: Option<PathBuf>,
}

/// Backups that are made by themselves.
pub struct Plan {
    pub rotation: Rotation,
    lock: Locked,
}

enum Locked {
    Not,
    Recipients(Lock),
    /// Read when it is needed, so that it is in no memory meanwhile.
    PassphraseIn(PathBuf),
}

impl Settings {
    /// `None`: the settings ask for none. `Usage` for settings that make no sense.
    pub fn plan(&self) -> Result<Option<Plan>> {
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
    /// When the next is due.
    pub fn next(&self, engine: &Engine) -> Millis {
        engine.backups_seen().next(&self.rotation, engine.now())
    }

    /// Makes the next one.
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

/// A span of time from an hour on: a number and `h`, `d` or `w`.
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

/// The passphrase in a file. `Refused` where others can read it.
pub fn passphrase_of_file(path: &Path) -> Result<String> {
    let meta = std::fs::metadata(path).map_err(|e| Error::io("read", path, e))?;
    if meta.permissions().mode() & 0o077 != 0 {
        let shown = path.display();
        return Err(Error::refused(format!("the passphrase in {shown} can be read by others"))
            .hint(format!("chmod 600 {shown}")));
    }
    text_of(path)
}

/// The text of a small file.
pub fn text_of(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|e| Error::io("read", path, e))?;
    Ok(text)
}

pub fn passphrase_of_stdin() -> Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST).read_to_string(&mut text);
    read.map_err(|e| Error::usage("no passphrase can be read from standard input").because(e))?;
    Ok(text)
}

/// Asks on the terminal, without showing what is typed. `None`: there is no terminal.
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
