//! The key of a provider while its model is in use: given by the settings, or printed by a program of the person, such as
//! `secret-tool` and `security` for the keyring of the machine, or `pass` (R14.4).
//!
//! The program is run when a question is about to be sent, and not before: looking at the state of a model opens no
//! keyring. It gets no input and no shell, and its standard error is not passed on. The key it prints stays in this
//! process; if the provider does not accept it, the program is asked again for the next question.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use heirloom_engine::model::Failure;

use crate::key::Key;
use crate::program;

/// Longest time for which the program is waited for: a person who is asked for a passphrase can type it meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time to wait before the program is asked again after it gave no key. Each time it may ask a person for a passphrase,
/// so this is longer than the pause after other failures.
const AGAIN: Duration = Duration::from_secs(60 * 60);

/// A key, or the program that prints it.
pub(crate) enum Held {
    Given(Key),
    Printed {
        /// Full path of the program, and its arguments.
        command: Vec<String>,
        /// Empty folder in which the program runs.
        folder: PathBuf,
        timeout: Duration,
        /// The key, once the program has printed it.
        printed: Mutex<Option<Key>>,
    },
}

impl Held {
    /// Holds the key that a program prints. `timeout`: longest time of one request; the program gets no longer.
    pub fn by_program(command: Vec<String>, folder: PathBuf, timeout: Duration) -> Held {
        Held::Printed { command, folder, timeout: timeout.min(PATIENCE), printed: Mutex::new(None) }
    }

    /// Returns the key; runs the program if it has not printed it yet. `Unsent` if it printed nothing, failed or took too
    /// long, as with a locked keyring; `Refused` if it cannot be started or printed something that is no key.
    pub fn key(&self) -> Result<Key, Failure> {
        match self {
            Held::Given(key) => Ok(key.clone()),
            Held::Printed { command, folder, timeout, printed } => {
                // Held while the program runs: two threads must not ask a person twice.
                let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(key) = &*printed {
                    return Ok(key.clone());
                }
                let key = ask(command, folder, *timeout)?;
                Ok(printed.insert(key).clone())
            }
        }
    }

    /// Forgets a printed key, because the provider does not accept it: the person may have changed it meanwhile.
    pub fn drop_printed(&self) {
        if let Held::Printed { printed, .. } = self {
            *printed.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// Runs the program and reads the key from its output, which has one line.
fn ask(command: &[String], folder: &Path, timeout: Duration) -> Result<Key, Failure> {
    let refused = |why: String| Failure::Refused(format!("its key cannot be read: {why}"));
    let later = |why: String| Failure::Unsent { why: format!("its key cannot be read: {why}"), after: Some(AGAIN) };
    let Some((path, arguments)) = command.split_first() else {
        return Err(refused("the settings name no program that prints it".into()));
    };
    let path = Path::new(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
    let start = program::Start { program: path, arguments: &arguments, variables: &[], input: "", folder, timeout };
    let output = program::run(&start).map_err(|failure| match failure {
        Failure::Later { why, .. } | Failure::Unsent { why, .. } => {
            later(format!("{why}; if it waits for a passphrase, unlock the keyring and ask again"))
        }
        Failure::Refused(why) | Failure::Unusable(why) | Failure::Withheld(why) => refused(why),
    })?;
    if !output.status.success() {
        return Err(later(format!("the program {name} ended with {}: {}", output.status, complaint(&output))));
    }
    match output.text.trim().lines().count() {
        0 => Err(later(format!(
            "the program {name} printed nothing; look whether the keyring has an entry of this name"
        ))),
        1 => Key::parse(&output.text).map_err(|_| {
            refused(format!(
                "what the program {name} printed is no key: it has a space or a letter that keys do not have"
            ))
        }),
        lines => Err(refused(format!(
            "the program {name} printed {lines} lines, and a key is one; name an entry that holds the key alone"
        ))),
    }
}

/// Returns why a program printed no key, in words of our own: those of the program may contain the key.
fn complaint(output: &program::Output) -> &'static str {
    if output.says_nothing() {
        // So does secret-tool, whether the entry is missing or nobody unlocked the keyring.
        return "it says nothing; either it has no entry of this name, or the keyring is locked and was not unlocked";
    }
    let known = include_str!("held_complaints.txt").lines().filter(|line| !line.starts_with('#'));
    let mut pairs = known.filter_map(|line| line.split_once("  "));
    let found = pairs.find(|(words, _)| output.has(words.trim()));
    found.map_or("run its command in a terminal to see what it says", |(_, told)| told.trim())
}
