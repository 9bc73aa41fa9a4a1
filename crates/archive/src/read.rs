//! Reads an archive: to check it, or to unpack it into a folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path};

use age::DecryptError;
use heirloom_engine::error::{Error, ErrorKind, Result};

use crate::key::Key;
use crate::{LIST, List};

/// First bytes of a file encrypted by age.
const AGE: &[u8] = b"age-encryption.org/v1";

/// Longest file name accepted in an archive, in bytes.
const LONGEST_NAME: u64 = 4096;

/// Hint of the errors about a damaged archive.
const ANOTHER: &str = "take another backup; nothing was restored";

/// Largest list accepted, in bytes.
const LONGEST_LIST: u64 = 256 << 20;

/// Returns whether the archive is encrypted, so that a key is needed. `NotFound` where there is no such file.
pub fn is_encrypted(file: &Path) -> Result<bool> {
    let mut begin = Vec::new();
    let opened = File::open(file).and_then(|f| f.take(AGE.len() as u64).read_to_end(&mut begin));
    opened.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Error::not_found(format!("there is no {}", file.display()))
            .hint("name the folder or file that ⟨backup⟩ wrote"),
        _ => Error::io("read", file, e),
    })?;
    Ok(begin == AGE)
}

/// Reads the whole archive and compares every file with the archive's list. `Refused` for a wrong key, `Damaged` where a file
/// differs or is missing.
pub fn check(file: &Path, key: &Key) -> Result<()> {
    read(file, key, None)
}

/// Unpacks the archive into an existing empty folder. Errors as [`check`]; after an error the folder may hold some of the
/// files.
pub fn unpack(file: &Path, key: &Key, into: &Path) -> Result<()> {
    read(file, key, Some(into))
}

fn read(file: &Path, key: &Key, into: Option<&Path>) -> Result<()> {
    let encrypted = is_encrypted(file)?;
    let opened = File::open(file).map_err(|e| Error::io("read", file, e))?;
    let opened = BufReader::with_capacity(1 << 20, opened);
    let broken =
        |e: io::Error| Error::damaged(format!("{} is not a whole backup", file.display())).because(e).hint(ANOTHER);
    if !encrypted {
        return entries(opened, into, file, &broken);
    }
    let opener = age::Decryptor::new_buffered(opened).map_err(|e| refused(file, false, e))?;
    let by_passphrase = opener.is_scrypt();
    match (by_passphrase, key) {
        (true, Key::Passphrase(_)) | (false, Key::Identities(_)) => {}
        (true, _) => {
            return Err(Error::refused(format!("{} is encrypted with a passphrase", file.display()))
                .hint("say where it is: --passphrase-file FILE, or --passphrase-stdin"));
        }
        (false, _) => {
            return Err(Error::refused(format!("{} is encrypted for the owner of a key", file.display()))
                .hint("name the file with the key: --identity FILE"));
        }
    }
    let opened = key.with(|identities| opener.decrypt(identities)).map_err(|e| refused(file, by_passphrase, e))?;
    entries(opened, into, file, &broken)
}

fn refused(file: &Path, by_passphrase: bool, error: DecryptError) -> Error {
    match error {
        DecryptError::NoMatchingKeys | DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed
            if by_passphrase =>
        {
            Error::refused(format!("this is not the passphrase {} was encrypted with", file.display()))
                .hint("nothing was restored; try again")
        }
        DecryptError::NoMatchingKeys => Error::refused(format!("{} is encrypted for another key", file.display()))
            .hint("nothing was restored; name the right one: --identity FILE"),
        DecryptError::ExcessiveWork { .. } => {
            Error::refused(format!("{} asks for more work than a passphrase may", file.display())).hint(ANOTHER)
        }
        other => Error::damaged(format!("{} is not a whole backup", file.display())).because(other).hint(ANOTHER),
    }
}

fn entries(packed: impl Read, into: Option<&Path>, file: &Path, broken: &dyn Fn(io::Error) -> Error) -> Result<()> {
    let unlike = |what: String| Error::damaged(format!("{} is no backup: {what}", file.display())).hint(ANOTHER);
    let mut begin = Vec::new();
    let mut packed = packed;
    Read::by_ref(&mut packed).take(4).read_to_end(&mut begin).map_err(broken)?;
    if begin != [0x28, 0xb5, 0x2f, 0xfd] {
        return Err(unlike("it is not packed with zstd".into()));
    }
    let unpacked = zstd::Decoder::new(begin.chain(packed)).map_err(broken)?;
    let mut tar = tar::Archive::new(unpacked);
    let mut list: Option<List> = None;
    let mut seen = BTreeSet::new();
    let mut long_name = None;
    // Raw entries: the archive may come from anybody, so tar must not act on links, sparse files or extended headers.
    for entry in tar.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        if entry.header().entry_type() == tar::EntryType::GNULongName && entry.size() <= LONGEST_NAME {
            let mut name = Vec::new();
            entry.read_to_end(&mut name).map_err(broken)?;
            while name.pop_if(|last| *last == 0).is_some() {}
            long_name = Some(name);
            continue;
        }
        let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        let name = String::from_utf8(name).unwrap_or_default();
        let is_plain = !name.is_empty() && Path::new(&name).components().all(|c| matches!(c, Component::Normal(_)));
        if !is_plain || entry.header().entry_type() != tar::EntryType::Regular || !seen.insert(name.clone()) {
            return Err(unlike("it has something that no backup has".into()));
        }
        let Some(of) = &list else {
            if name != LIST || entry.size() > LONGEST_LIST {
                return Err(unlike("it does not begin with its list".into()));
            }
            let mut text = Vec::new();
            entry.read_to_end(&mut text).map_err(broken)?;
            let of: List =
                serde_json::from_slice(&text).map_err(|e| unlike("its list cannot be read".into()).because(e))?;
            if let Some(folder) = into {
                has_room(folder, &of)?;
            }
            list = Some(of);
            put(into, &name, &mut text.as_slice())?;
            continue;
        };
        let listed = of.files.get(&name).ok_or_else(|| unlike("it has a file that its list does not name".into()))?;
        if listed.bytes != entry.size() {
            return Err(unlike(format!("{name} is not as long as its list says")));
        }
        let mut hashed = Hashed { from: &mut entry, hasher: blake3::Hasher::new() };
        put(into, &name, &mut hashed)
            .map_err(|e| if e.kind() == ErrorKind::Damaged { broken(io::Error::other(e.to_string())) } else { e })?;
        if hashed.hasher.finalize().to_hex().as_str() != listed.digest {
            return Err(Error::damaged(format!("{name} in {} is not what was backed up", file.display())).hint(ANOTHER));
        }
    }
    let missing = list.ok_or_else(|| unlike("it is empty".into()))?.files.into_keys().find(|name| !seen.contains(name));
    if let Some(name) = missing {
        return Err(Error::damaged(format!("{name} is missing in {}", file.display())).hint(ANOTHER));
    }
    // Reads on to the end: the checksum of zstd and the last chunk of age tell whether the file was cut off.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(broken).map(drop)
}

/// Fails with `Machine` where the disk has less free space than the files of the list need.
fn has_room(folder: &Path, list: &List) -> Result<()> {
    let disk = rustix::fs::statvfs(folder).map_err(|e| Error::io("look at", folder, e))?;
    let there = disk.f_bavail.saturating_mul(disk.f_frsize);
    let needed = list.files.values().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
    if needed <= there {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Machine,
        format!("it needs {needed} bytes, and there are {there} in {}", folder.display()),
    )
    .hint("make room, or put it on another disk: --home DIR; nothing was restored"))
}

/// Copies one entry into a file below the folder, or only reads it where `into` is `None`. `Damaged` where the entry cannot
/// be read.
fn put(into: Option<&Path>, name: &str, from: &mut dyn Read) -> Result<()> {
    let at = into.unwrap_or(Path::new("")).join(name);
    let mut out: Box<dyn Write> = match into {
        None => Box::new(io::sink()),
        Some(folder) => {
            let failed = |e: io::Error| Error::io("write", &at, e);
            let parent = at.parent().unwrap_or(folder);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
            Box::new(File::options().write(true).create_new(true).mode(0o600).open(&at).map_err(failed)?)
        }
    };
    let mut buffer = vec![0; 1 << 18];
    loop {
        let n = from.read(&mut buffer).map_err(|e| Error::damaged(e.to_string()))?;
        if n == 0 {
            return out.flush().map_err(|e| Error::io("write", &at, e));
        }
        out.write_all(&buffer[..n]).map_err(|e| Error::io("write", &at, e))?;
    }
}

struct Hashed<R> {
    from: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.hasher.update(&buffer[..n]);
        Ok(n)
    }
}
