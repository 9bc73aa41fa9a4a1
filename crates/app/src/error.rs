//! Maps error kinds to exit codes, in one table (R13.1).

use std::process::ExitCode;

use heirloom_engine::error::{Error, ErrorKind};

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Ok,
    /// It ran, and found something a person should look at.
    Problems,
    Usage,
    Refused,
    NotFound,
    Damaged,
    Busy,
    /// The exit code of another command that was run, unchanged.
    Passed(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Passed(code) => code,
            Exit::Ok => 0,
            Exit::Problems => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::NotFound => 4,
            Exit::Damaged => 5,
            Exit::Busy => 75,
        }
    }

    pub fn of(error: &Error) -> Exit {
        match error.kind() {
            // The machine failed half-way: what was done is kept, and the rest must be checked.
            ErrorKind::Machine => Exit::Problems,
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Refused => Exit::Refused,
            ErrorKind::NotFound => Exit::NotFound,
            ErrorKind::Damaged => Exit::Damaged,
            ErrorKind::Busy => Exit::Busy,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// The name of a kind in `--json` errors.
pub fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Usage => "usage",
        ErrorKind::Refused => "refused",
        ErrorKind::NotFound => "not-found",
        ErrorKind::Damaged => "damaged",
        ErrorKind::Busy => "busy",
        ErrorKind::Machine => "machine",
    }
}
