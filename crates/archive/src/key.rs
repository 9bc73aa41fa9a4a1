//! Encryption of an archive: [`Lock`] encrypts it, [`Key`] decrypts it. `Debug` shows only which kind they are, so that no
//! passphrase or key reaches a log.

use std::fmt;
use std::str::FromStr;

use age::secrecy::{ExposeSecret, SecretString};
use age::x25519::{Identity, Recipient};
use heirloom_engine::error::{Error, Result};

/// The work a passphrase asks for, as a power of two: that of the program `age`, about a second and 256 MiB. Left alone, the
/// library measures the machine, and a fast one asks for more memory than others may have.
const WORK: u8 = 18;

/// Largest work factor accepted when decrypting, as a power of two: about a minute and 4 GiB. A larger one in a foreign file
/// could stall the machine.
const MOST_WORK: u8 = 22;

/// Fewest characters of a passphrase for a new archive.
const SHORTEST: usize = 8;

/// How an archive is encrypted.
#[derive(Clone, Default)]
pub enum Lock {
    /// The archive is not encrypted.
    #[default]
    None,
    Passphrase(SecretString),
    /// The owner of any one of these public keys can decrypt it.
    Recipients(Vec<Recipient>),
}

impl Lock {
    /// Encrypts with a passphrase; a line end at its end is dropped. `Usage` where it has fewer than [`SHORTEST`] characters.
    pub fn passphrase(text: &str) -> Result<Lock> {
        let text = text.trim_end_matches(['\n', '\r']);
        if text.chars().count() < SHORTEST {
            return Err(Error::usage(format!("a passphrase has at least {SHORTEST} characters"))
                .hint("choose a longer one; nothing was written"));
        }
        Ok(Lock::Passphrase(SecretString::from(text.to_owned())))
    }

    pub(crate) fn encryptor(&self) -> Result<Option<age::Encryptor>> {
        let failed = |e: age::EncryptError| Error::usage("it cannot be encrypted for these recipients").because(e);
        match self {
            Lock::None => Ok(None),
            Lock::Passphrase(passphrase) => {
                let mut recipient =
                    age::scrypt::Recipient::new(SecretString::from(passphrase.expose_secret().to_owned()));
                recipient.set_work_factor(WORK);
                let all = std::iter::once(&recipient as &dyn age::Recipient);
                age::Encryptor::with_recipients(all).map(Some).map_err(failed)
            }
            Lock::Recipients(all) => {
                age::Encryptor::with_recipients(all.iter().map(|r| r as &dyn age::Recipient)).map(Some).map_err(failed)
            }
        }
    }

    /// Returns the key that decrypts archives of this lock: the passphrase, or none where nothing is encrypted. `None` for
    /// recipients, because only they have their secret keys.
    pub fn key(&self) -> Option<Key> {
        match self {
            Lock::None => Some(Key::None),
            Lock::Passphrase(passphrase) => Some(Key::Passphrase(passphrase.clone())),
            Lock::Recipients(_) => None,
        }
    }
}

/// How an archive is decrypted.
#[derive(Clone, Default)]
pub enum Key {
    #[default]
    None,
    Passphrase(SecretString),
    Identities(Vec<Identity>),
}

impl Key {
    /// Decrypts with a passphrase; a line end at its end is dropped.
    pub fn passphrase(text: &str) -> Key {
        Key::Passphrase(SecretString::from(text.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Parses the secret keys in the text of a file written by age-keygen. `Usage` where a line is no key, or none is there.
    pub fn identities(text: &str) -> Result<Key> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys: std::result::Result<Vec<_>, _> = lines.map(Identity::from_str).collect();
        match keys {
            Ok(keys) if !keys.is_empty() => Ok(Key::Identities(keys)),
            // The error does not quote the line: it may be most of a secret key.
            _ => Err(Error::usage("the file has no age key")
                .hint("it has a line AGE-SECRET-KEY-1…, as age-keygen writes it")),
        }
    }

    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut dyn Iterator<Item = &dyn age::Identity>) -> T) -> T {
        match self {
            Key::None => f(&mut std::iter::empty()),
            Key::Passphrase(passphrase) => {
                let mut identity =
                    age::scrypt::Identity::new(SecretString::from(passphrase.expose_secret().to_owned()));
                identity.set_max_work_factor(MOST_WORK);
                f(&mut std::iter::once(&identity as &dyn age::Identity))
            }
            Key::Identities(all) => f(&mut all.iter().map(|i| i as &dyn age::Identity)),
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Lock::None => "Lock::None",
            Lock::Passphrase(_) => "Lock::Passphrase",
            Lock::Recipients(_) => "Lock::Recipients",
        })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Key::None => "Key::None",
            Key::Passphrase(_) => "Key::Passphrase",
            Key::Identities(_) => "Key::Identities",
        })
    }
}

/// Parses public keys `age1…` into a lock. `Usage` for a word that is no public key, and for a secret key in its place.
pub fn recipients_of(words: &[String]) -> Result<Lock> {
    let parsed = words.iter().map(|word| {
        let word = word.trim();
        Recipient::from_str(word).map_err(|_| {
            if word.to_ascii_uppercase().starts_with("AGE-SECRET-KEY-") {
                Error::usage("a recipient is the public half, and this is the secret one")
                    .hint("age-keygen -y FILE prints the public half, age1…")
            } else {
                let shown: String = word.chars().filter(|c| !c.is_control()).take(20).collect();
                Error::usage(format!("{shown} is no recipient of age")).hint("it begins with age1")
            }
        })
    });
    Ok(Lock::Recipients(parsed.collect::<Result<_>>()?))
}
