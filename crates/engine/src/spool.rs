//! The spool: hook calls that could not be stored, one file for each call, stored when the home is opened next (R12.5).
//! Storey 1.
//!
//! `spool/<milliseconds>-<random>.hook`: a header line of JSON, then the payload byte for byte.

use std::time::Duration;

use crate::clock::Millis;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{Home, RelPath, layout};
use crate::program::HookId;
use crate::source::private::mask_record;
use serde::{Deserialize, Serialize};

/// Version of the file's form.
const VERSION: u64 = 1;

/// Most calls that may wait: some weeks of work. If that many could not be stored, adding more is useless.
const MOST: usize = 20_000;

/// Largest file that is read, in bytes: a payload and its header line.
pub const LARGEST: u64 = 17 << 20;

/// Age at which a temporary file has no writer any more: a hook runs for less than a second.
const UNFINISHED: Duration = Duration::from_secs(3);

/// Ending of a file that cannot be read as a call.
const ASIDE: &str = ".unreadable";

/// A hook call that waits in the spool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spooled {
    pub harness: String,
    pub event: String,
    /// When the hook ran.
    pub at: Millis,
    /// Id of the call; calls of older builds have none.
    pub id: Option<HookId>,
    pub payload: Vec<u8>,
}

/// The part of the header that every version has.
#[derive(Deserialize)]
struct Form {
    v: u64,
}

#[derive(Serialize, Deserialize)]
struct Header {
    v: u64,
    harness: String,
    event: String,
    at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    bytes: usize,
}

/// Writes a call into the spool: whole and synced, or not at all; private spans are masked.
pub fn put(home: &Home, spooled: &Spooled) -> Result<()> {
    put_beside(home, spooled, MOST)
}

fn put_beside(home: &Home, spooled: &Spooled, most: usize) -> Result<()> {
    if home.list(&layout::SPOOL).is_ok_and(|there| there.len() >= most) {
        return Err(Error::refused("the spool is full: nothing has been stored for long")
            .hint("see why: ⟨doctor⟩; the programs' own files still have it: ⟨import⟩"));
    }
    let mut random = [0u8; 8];
    getrandom::fill(&mut random).map_err(|e| Error::new(ErrorKind::Machine, "no randomness").because(e))?;
    let name = format!("{:013}-{:016x}.hook", spooled.at.max(0), u64::from_le_bytes(random));
    let payload = mask_record(&spooled.payload);
    let header = Header {
        v: VERSION,
        harness: spooled.harness.clone(),
        event: spooled.event.clone(),
        at: spooled.at,
        id: spooled.id.map(|id| id.to_string()),
        bytes: payload.len(),
    };
    let mut bytes =
        serde_json::to_vec(&header).map_err(|e| Error::new(ErrorKind::Machine, "a spool record").because(e))?;
    bytes.push(b'\n');
    bytes.extend_from_slice(&payload);
    home.write_new(&layout::SPOOL.join(&name)?, &bytes).map(drop)
}

/// Returns the files of the waiting calls, oldest first.
pub fn names(home: &Home) -> Result<Vec<RelPath>> {
    let mut names = Vec::new();
    for entry in home.list(&layout::SPOOL)? {
        let Some(name) = entry.name.to_str().filter(|n| n.ends_with(".hook") && !n.starts_with('.')) else { continue };
        names.push(layout::SPOOL.join(name)?);
    }
    names.sort();
    Ok(names)
}

/// Returns the number of files that were set aside because they cannot be read.
pub fn unreadable(home: &Home) -> Result<u64> {
    let aside = |entry: &crate::home::Entry| entry.name.to_str().is_some_and(|name| name.ends_with(ASIDE));
    Ok(home.list(&layout::SPOOL)?.iter().filter(|entry| aside(entry)).count() as u64)
}

/// Returns the files of calls that this build does not store: unreadable ones, unfinished ones, and, with `waiting`, those
/// left to a newer build.
pub fn leftovers(home: &Home, waiting: bool) -> Vec<RelPath> {
    // The home's own lists leave temporary files out.
    let Ok(entries) = std::fs::read_dir(home.root().join(layout::SPOOL.as_str())) else { return Vec::new() };
    let names = entries.filter_map(std::result::Result::ok).filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| waiting || !name.ends_with(".hook")).collect();
    names.sort();
    names.iter().filter_map(|name| layout::SPOOL.join(name).ok()).collect()
}

/// Moves complete temporary files into the spool: a hook that had to end while its disk was syncing leaves its file
/// under a temporary name. The id in the file keeps the call from being stored twice.
pub fn adopt(home: &Home) -> Result<()> {
    let folder = home.root().join(layout::SPOOL.as_str());
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(()) };
    for entry in entries.filter_map(std::result::Result::ok) {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(".hl-")) else { continue };
        // The file's writer may still be running.
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_none_or(|age| age < UNFINISHED) {
            continue;
        }
        let name = layout::SPOOL.join(name)?;
        let Ok(Some(bytes)) = home.read(&name, LARGEST) else { continue };
        if let Parsed::Spooled(spooled) = parse(&bytes)
            && spooled.id.is_some()
        {
            // The new file replaces the temporary one, so the spool does not grow and its limit does not apply.
            put_beside(home, &spooled, usize::MAX)?;
            home.remove(&name)?;
        }
    }
    Ok(())
}

/// Reads a file of the spool. `None`: the file is gone, is left to a newer build, or cannot be read, in which case it
/// was moved aside.
pub fn read(home: &Home, name: &RelPath) -> Result<Option<Spooled>> {
    let bytes = match home.read(name, LARGEST) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        // A link or special file, which no hook of this build makes. It must not keep the other files from being read.
        Err(e) if e.kind() == ErrorKind::Refused => return Ok(None),
        Err(e) => return Err(e),
    };
    match parse(&bytes) {
        Parsed::Spooled(spooled) => Ok(Some(spooled)),
        Parsed::Newer => Ok(None),
        Parsed::Unreadable => {
            set_aside(home, name)?;
            Ok(None)
        }
    }
}

enum Parsed {
    Spooled(Spooled),
    /// The file was written by a newer build, which will read it.
    Newer,
    Unreadable,
}

fn parse(bytes: &[u8]) -> Parsed {
    let (line, payload) = match bytes.iter().position(|b| *b == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[][..]),
    };
    // The version is read first: the rest of a newer version's header may have any form.
    match serde_json::from_slice::<Form>(line) {
        Ok(form) if form.v > VERSION => return Parsed::Newer,
        Ok(form) if form.v == VERSION => {}
        _ => return Parsed::Unreadable,
    }
    match serde_json::from_slice::<Header>(line) {
        Ok(header) if payload.len() == header.bytes => Parsed::Spooled(Spooled {
            harness: header.harness,
            event: header.event,
            at: header.at,
            id: header.id.as_deref().and_then(HookId::parse),
            payload: payload.to_vec(),
        }),
        _ => Parsed::Unreadable,
    }
}

/// Moves a file that cannot be read out of the way, with its bytes.
pub fn set_aside(home: &Home, name: &RelPath) -> Result<()> {
    let Some(bytes) = home.read(name, LARGEST)? else { return Ok(()) };
    let leaf = name.as_str().rsplit('/').next().unwrap_or_default();
    let aside = layout::SPOOL.join(&format!("{leaf}{ASIDE}"))?;
    // If the name exists, the file was set aside before with these bytes.
    let _kept = home.write_new(&aside, &bytes)?;
    home.remove(name).map(drop)
}

/// Removes the file of a call that was stored.
pub fn remove(home: &Home, name: &RelPath) -> Result<()> {
    home.remove(name).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;
    use std::time::SystemTime;

    use super::*;
    use crate::home::HomeOptions;

    fn new_home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::create_with(&folder.path().join("home"), &HomeOptions { allow_network_fs: true }).unwrap();
        (folder, home)
    }

    fn call(at: Millis, payload: &[u8]) -> Spooled {
        let id = Some(HookId::new());
        Spooled { harness: "little".into(), event: "prompt".into(), at, id, payload: payload.to_vec() }
    }

    /// Returns the bytes of a call's file.
    fn bytes_of(home: &Home, call: &Spooled) -> Vec<u8> {
        put(home, call).unwrap();
        let [name] = &names(home).unwrap()[..] else { panic!("one call") };
        let bytes = home.read(name, LARGEST).unwrap().unwrap();
        remove(home, name).unwrap();
        bytes
    }

    fn leaves(paths: &[RelPath]) -> Vec<&str> {
        paths.iter().map(RelPath::name).collect()
    }

    #[test]
    fn a_full_spool_takes_no_more_and_keeps_what_it_has() {
        let (_folder, home) = new_home();
        let call = Spooled { id: None, ..call(1, b"{}") };
        put_beside(&home, &call, 2).unwrap();
        put_beside(&home, &call, 2).unwrap();
        let full = put_beside(&home, &call, 2).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::Refused);
        let there = names(&home).unwrap();
        assert_eq!(there.len(), 2);
        home.remove(&there[0]).unwrap();
        put_beside(&home, &call, 2).unwrap();
    }

    #[test]
    fn calls_come_back_as_they_were_put_the_oldest_first() {
        let (_folder, home) = new_home();
        let (older, newer) = (call(3, b"{\"a\":\n 1}\n"), Spooled { id: None, ..call(20, b"") });
        put(&home, &newer).unwrap();
        put(&home, &older).unwrap();
        let there = names(&home).unwrap();
        let back: Vec<Spooled> = there.iter().map(|name| read(&home, name).unwrap().unwrap()).collect();
        assert_eq!(back, [older, newer]);
        remove(&home, &there[0]).unwrap();
        assert_eq!(read(&home, &there[0]).unwrap(), None);
        assert_eq!(names(&home).unwrap(), there[1..]);
        assert_eq!(unreadable(&home).unwrap(), 0);
    }

    #[test]
    fn a_private_span_is_not_written() {
        let (_folder, home) = new_home();
        let bytes = bytes_of(&home, &call(1, br#"{"prompt":"the code is <private>4711</private>, keep it"}"#));
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("keep it") && !text.contains("4711"), "{text}");
    }

    #[test]
    fn what_is_no_call_is_set_aside_with_its_bytes() {
        let (_folder, home) = new_home();
        let whole = bytes_of(&home, &call(1, b"{}"));
        let text = String::from_utf8(whole.clone()).unwrap();
        let broken: Vec<Vec<u8>> = vec![
            whole[..whole.len() - 1].to_vec(),
            [&whole[..], b"x"].concat(),
            text.replace("\"v\":1", "\"v\":0").into_bytes(),
            text.replace("\"event\"", "\"evnt\"").into_bytes(),
            b"{\"v\":1}\n{}".to_vec(),
            b"hello".to_vec(),
            b"\n{}".to_vec(),
            Vec::new(),
        ];
        for (n, bytes) in broken.iter().enumerate() {
            let name = layout::SPOOL.join(&format!("{n}.hook")).unwrap();
            assert_eq!(home.write_new(&name, bytes).unwrap(), crate::home::NewFile::Written);
            assert_eq!(read(&home, &name).unwrap(), None, "{:?}", String::from_utf8_lossy(bytes));
            assert_eq!(unreadable(&home).unwrap(), n as u64 + 1, "{:?}", String::from_utf8_lossy(bytes));
            let aside = layout::SPOOL.join(&format!("{n}.hook{ASIDE}")).unwrap();
            assert_eq!(home.read(&aside, LARGEST).unwrap().as_ref(), Some(bytes));
        }
        assert_eq!(names(&home).unwrap(), []);
        assert_eq!(leftovers(&home, false).len(), broken.len());
    }

    #[test]
    fn a_call_of_a_newer_build_stays_for_it() {
        let (_folder, home) = new_home();
        let name = layout::SPOOL.join("1.hook").unwrap();
        let newer = b"{\"v\":2,\"program\":[]}\n...";
        assert_eq!(home.write_new(&name, newer).unwrap(), crate::home::NewFile::Written);
        assert_eq!(read(&home, &name).unwrap(), None);
        assert_eq!(home.read(&name, LARGEST).unwrap().unwrap(), newer);
        assert_eq!((unreadable(&home).unwrap(), names(&home).unwrap().len()), (0, 1));
        assert_eq!(leftovers(&home, false), []);
        assert_eq!(leftovers(&home, true), [name]);
    }

    #[test]
    fn what_no_hook_makes_keeps_nobody_from_reading_on() {
        let (folder, home) = new_home();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, bytes_of(&home, &call(1, b"{}"))).unwrap();
        symlink(&elsewhere, home.root().join("spool/0.hook")).unwrap();
        std::fs::create_dir(home.root().join("spool/1.hook")).unwrap();
        for name in names(&home).unwrap() {
            assert_eq!(read(&home, &name).unwrap(), None, "{name}");
        }
        assert_eq!(leaves(&names(&home).unwrap()), ["0.hook", "1.hook"], "they are left alone");
    }

    /// A hook that has to end while its disk is syncing leaves its file under a temporary name.
    #[test]
    fn a_call_left_under_a_temporary_name_is_taken_in_once_its_hook_is_gone() {
        let (_folder, home) = new_home();
        let lost = call(1, b"{\"prompt\":\"do not lose me\"}");
        let whole = bytes_of(&home, &lost);
        let leave = |name: &str, bytes: &[u8], seconds: u64| {
            let path = home.root().join("spool").join(name);
            std::fs::write(&path, bytes).unwrap();
            let at = SystemTime::now() - Duration::from_secs(seconds);
            File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
        };
        leave(".hl-0000000000000001.tmp", &whole, 10);
        leave(".hl-0000000000000002.tmp", &bytes_of(&home, &call(2, b"{}")), 0);
        leave(".hl-0000000000000003.tmp", &whole[..whole.len() - 1], 10);
        // Without an id it could be stored twice.
        leave(".hl-0000000000000004.tmp", &bytes_of(&home, &Spooled { id: None, ..call(4, b"{}") }), 10);
        adopt(&home).unwrap();
        let [name] = &names(&home).unwrap()[..] else { panic!("one call: {:?}", names(&home)) };
        assert_eq!(read(&home, name).unwrap(), Some(lost));
        let left = leftovers(&home, false);
        assert_eq!(leaves(&left), [".hl-0000000000000002.tmp", ".hl-0000000000000003.tmp", ".hl-0000000000000004.tmp"]);
        adopt(&home).unwrap();
        assert_eq!(names(&home).unwrap().len(), 1);
    }
}
