//! Identifies the process that others wait for, and tells that they wait. Storey 1.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use crate::error::{Error, ErrorKind};

/// Time after which a process that waits says for whom.
pub const ANNOUNCED_AFTER: Duration = Duration::from_secs(2);

/// Byte of the file beside a database that SQLite locks for its writer (`WAL_WRITE_LOCK`).
const WRITER: u64 = 120;

/// Tells that a process has been waited for [`ANNOUNCED_AFTER`].
static ANNOUNCE: OnceLock<fn(&Holder)> = OnceLock::new();

/// Sets, once for this process, what is called when it has waited for another one for [`ANNOUNCED_AFTER`].
pub fn announce_with(announce: fn(&Holder)) {
    let _already = ANNOUNCE.set(announce);
}

/// A process that holds what another one needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Its process id, if the system tells.
    pub pid: Option<u32>,
    /// Its program and the first argument. Further arguments could be somebody's words.
    pub command: Option<String>,
    /// Whether it is suspended.
    pub is_stopped: bool,
}

impl Holder {
    /// Returns the process with this id, as far as the system knows it.
    pub fn of(pid: Option<u32>) -> Holder {
        let about = |what: &str| std::fs::read(format!("/proc/{}/{what}", pid?)).ok();
        let command = about("cmdline").map(|line| {
            let words = line.split(|b| *b == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy);
            let words: Vec<_> =
                words.take(2).map(|word| word.rsplit('/').next().unwrap_or_default().to_owned()).collect();
            words.join(" ").chars().filter(|c| !c.is_control()).take(60).collect::<String>()
        });
        // `1234 (name) T …`: the name may contain anything, so the state is behind the last parenthesis.
        let state = about("stat").map(|text| String::from_utf8_lossy(&text).into_owned());
        let is_stopped = state.and_then(|s| Some(s.rsplit_once(") ")?.1.starts_with(['T', 't']))).unwrap_or(false);
        Holder { pid, command: command.filter(|c| !c.is_empty()), is_stopped }
    }

    /// Returns the process that writes a database in WAL mode. It has no id where the system does not tell.
    pub fn of_database(path: &Path) -> Holder {
        Holder::of(writer(path))
    }

    /// Says that this process is waited for.
    pub fn announce(&self) {
        if let Some(announce) = ANNOUNCE.get() {
            announce(self);
        }
    }

    /// Returns the error of a process that has `waited` and gives up: this one `does` something and does not end.
    pub fn error(&self, does: &str, waited: Duration) -> Error {
        let seconds = waited.as_secs_f64().round();
        let error = Error::new(ErrorKind::Busy, format!("{self} {does} and has not ended for {seconds} seconds"));
        match (self.is_stopped, self.pid) {
            (true, Some(pid)) => error.hint(format!(
                "it is suspended; let it go on (kill -CONT {pid}, or fg in its terminal) and run this again; nothing \
                 was changed"
            )),
            _ => error.hint("run the command again when it has ended; nothing was changed"),
        }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.command, self.pid) {
            (Some(command), Some(pid)) => write!(f, "`{command}` (process {pid})"),
            (None, Some(pid)) => write!(f, "another process (process {pid})"),
            _ => f.write_str("another process"),
        }
    }
}

/// Returns the process that holds SQLite's lock for writing, from the system's list of locks.
fn writer(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let mut shared = path.as_os_str().to_owned();
    shared.push("-shm");
    let inode = std::fs::metadata(shared).ok()?.ino();
    holder_in(&std::fs::read_to_string("/proc/locks").ok()?, inode)
}

/// Finds the writer of a file in lines such as `1: POSIX  ADVISORY  WRITE 19650 fe:00:10011028 120 120`. File systems
/// differ in the device they show there, so only the number of the file counts.
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "POSIX", _, "WRITE", pid, file, first, last] = fields[..] else { return None };
        let is_it = file.rsplit(':').next()?.parse() == Ok(inode);
        let holds = first.parse::<u64>().ok()? <= WRITER && last.parse::<u64>().is_ok_and(|last| last >= WRITER);
        pid.parse().ok().filter(|pid| is_it && holds && *pid > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_of_a_database_is_found_among_the_locks() {
        let locks = "1: POSIX  ADVISORY  READ 11 fe:00:77 120 120\n2: -> POSIX  ADVISORY  WRITE 12 fe:00:77 120 120\n\
                     3: POSIX  ADVISORY  WRITE 13 fe:00:77 123 123\n4: POSIX  ADVISORY  WRITE 14 fe:00:78 120 120\n\
                     5: FLOCK  ADVISORY  WRITE 15 fe:00:77 0 EOF\n6: POSIX  ADVISORY  WRITE 16 00:2f:77 120 127\n";
        assert_eq!(holder_in(locks, 77), Some(16));
        assert_eq!(holder_in(locks, 78), Some(14));
        assert_eq!(holder_in(locks, 79), None);
        assert_eq!(holder_in("7: POSIX  ADVISORY  WRITE -1 fe:00:77 120 120\nnonsense", 77), None);
    }
}
