//! Exit codes of commands. The exit code of an error belongs to its kind: [`ErrorKind::told`] (R13.1).

use std::process::ExitCode;

use heirloom_engine::error::{Error, ErrorKind};

/// Result of a command, as its exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    Ok,
    /// The command ran and found something a person should look at.
    Problems,
    Usage,
    Refused,
    NotFound,
    Damaged,
    Busy,
    /// The exit code of another program that was run, passed on unchanged.
    Passed(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        let of = |kind: ErrorKind| kind.told().exit;
        match self {
            Exit::Passed(code) => code,
            Exit::Ok => 0,
            Exit::Problems => of(ErrorKind::Machine),
            Exit::Usage => of(ErrorKind::Usage),
            Exit::Refused => of(ErrorKind::Refused),
            Exit::NotFound => of(ErrorKind::NotFound),
            Exit::Damaged => of(ErrorKind::Damaged),
            Exit::Busy => of(ErrorKind::Busy),
        }
    }

    pub fn of(error: &Error) -> Exit {
        match error.kind() {
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

/// Returns the name of a kind in `--json` errors.
pub fn kind_name(kind: ErrorKind) -> &'static str {
    kind.told().name
}
