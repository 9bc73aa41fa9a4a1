//! Errors by kind. Storey 0.
//!
//! One error type for the whole engine: a kind for code that branches (exit code, HTTP status), a message for people, a
//! cause for debugging, and a hint that says what to do next. Broken *input* is not an error but a [`Problem`]: it is
//! reported and the rest is processed.

use std::fmt;
use std::path::Path;

use crate::next_step::worded;
use schemars::JsonSchema;
use serde::Serialize;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, which decides how surfaces report it: [`ErrorKind::told`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The request makes no sense.
    Usage,
    /// Understood but not done: permission, a newer schema, an unsafe home.
    Refused,
    /// The thing named does not exist.
    NotFound,
    /// Stored data was altered or is incomplete.
    Damaged,
    /// Another process holds a resource that is needed; try again later.
    Busy,
    /// The machine failed: disk, permission of the operating system, memory.
    Machine,
}

/// Outside form of a kind of error: its name in JSON, the exit code of a command (R13.1), the status and title of an
/// HTTP answer (R13.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    pub name: &'static str,
    pub exit: u8,
    pub status: u16,
    pub title: &'static str,
}

impl ErrorKind {
    pub const ALL: [ErrorKind; 6] = [
        ErrorKind::Usage,
        ErrorKind::Refused,
        ErrorKind::NotFound,
        ErrorKind::Damaged,
        ErrorKind::Busy,
        ErrorKind::Machine,
    ];

    /// Returns the outside form of a kind, from the one table of them.
    pub fn told(self) -> Told {
        let told = |name, exit, status, title| Told { name, exit, status, title };
        match self {
            ErrorKind::Usage => told("usage", 2, 422, "What was asked for makes no sense"),
            ErrorKind::Refused => told("refused", 3, 409, "Understood and not done"),
            ErrorKind::NotFound => told("not-found", 4, 404, "There is no such thing"),
            ErrorKind::Damaged => told("damaged", 5, 500, "Stored data is not what it was"),
            ErrorKind::Busy => told("busy", 75, 503, "Somebody else holds what is needed"),
            // The machine failed half-way: finished work is kept, and the rest must be checked.
            ErrorKind::Machine => told("machine", 1, 500, "The machine failed half-way"),
        }
    }
}

#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    hint: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Error {
        Error { kind, what: what.into(), hint: None, cause: None }
    }

    pub fn usage(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Usage, what)
    }

    pub fn not_found(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotFound, what)
    }

    pub fn refused(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Refused, what)
    }

    pub fn damaged(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Damaged, what)
    }

    /// Makes an operating-system error, with the path it happened at.
    pub fn io(doing: &str, path: &Path, cause: impl Into<std::io::Error>) -> Error {
        let cause = cause.into();
        let kind = match cause.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Refused,
            _ => ErrorKind::Machine,
        };
        let hint = match cause.kind() {
            std::io::ErrorKind::StorageFull => Some("free some space and run the same command again; nothing was lost"),
            std::io::ErrorKind::PermissionDenied => Some("check who owns it and its permissions"),
            std::io::ErrorKind::ReadOnlyFilesystem => Some("the file system is mounted read-only"),
            _ => None,
        };
        let mut error = Error::new(kind, format!("cannot {doing} {}", path.display()));
        error.hint = hint.map(Into::into);
        error.cause = Some(Box::new(cause));
        error
    }

    /// Sets the next step for the user, as a sentence without a full stop. A verb of the memory is written as `⟨thread
    /// list⟩` in it, and each surface words it in its own way ([`crate::see`]).
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(worded(&hint.into()));
        self
    }

    pub fn because(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.cause = Some(cause.into());
        self
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the direct cause is of this type, for callers that treat such a cause differently.
    pub fn was_caused_by<C: std::error::Error + 'static>(&self) -> bool {
        self.cause.as_ref().is_some_and(|cause| cause.is::<C>())
    }

    pub fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        let mut cause: Option<&(dyn std::error::Error + 'static)> = self.cause.as_deref().map(|c| c as _);
        while let Some(c) = cause {
            write!(f, ": {c}")?;
            cause = c.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<rusqlite::Error> for Error {
    fn from(cause: rusqlite::Error) -> Error {
        use rusqlite::ErrorCode as Code;
        // The memory that processes share beside a store is a file, too, and a full disk has no room for it.
        let is_full = |error: &rusqlite::ffi::Error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
        let code = cause.sqlite_error_code();
        let code = if cause.sqlite_error().is_some_and(is_full) { Some(Code::DiskFull) } else { code };
        let (kind, what, hint) = match code {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => (
                ErrorKind::Busy,
                "the store is busy",
                Some("another heirloom is writing; run the command again in a moment"),
            ),
            Some(Code::DiskFull) => (
                ErrorKind::Machine,
                "no space left for the store",
                Some("free some space and run the same command again; nothing was lost"),
            ),
            Some(Code::ReadOnly | Code::PermissionDenied | Code::CannotOpen) => (
                ErrorKind::Refused,
                "the store cannot be opened or written",
                Some("check the home's permissions: ⟨doctor⟩"),
            ),
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => {
                (ErrorKind::Damaged, "the store is damaged", Some("see what is affected: ⟨verify⟩"))
            }
            _ => (ErrorKind::Machine, "the store failed", None),
        };
        let error = Error::new(kind, what).because(cause);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// A problem in the input that is not a failure: a part of it could not be used, at this position.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
#[schemars(rename = "InputProblem")]
pub struct Problem {
    /// The file (or `database#table/row`) with the problem, as shown to people.
    pub place: String,
    /// Byte offset in that file, where there is one.
    pub offset: Option<u64>,
    /// One-based line, where there is one.
    pub line: Option<u64>,
    /// The fault, and how it was handled.
    pub what: String,
}

impl Problem {
    /// Turns an error about a place into a problem: the fault and the next step, without naming the place twice.
    pub fn of(place: &Path, error: &Error) -> Problem {
        let place = place.display().to_string();
        let message = error.to_string();
        let what = message.strip_prefix(&format!("{place} ")).unwrap_or(&message).replace(&format!(" {place}:"), ":");
        let what = match error.next_step() {
            Some(next) => format!("{what} ({next})"),
            None => what,
        };
        Problem { place, offset: None, line: None, what }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        match (self.line, self.offset) {
            (Some(line), Some(offset)) => write!(f, "  line {line} (byte {offset})")?,
            (None, Some(offset)) => write!(f, "  byte {offset}")?,
            _ => {}
        }
        write!(f, ": {}", self.what)
    }
}
