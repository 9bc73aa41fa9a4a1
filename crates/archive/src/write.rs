//! Packs the folder of a backup into an archive.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use heirloom_engine::error::{Error, Result};

use crate::key::Lock;
use crate::read::check;
use crate::{LIST, List};

/// Compression level of zstd. Level 6 compresses faster than most disks deliver.
const EFFORT: i32 = 6;

/// Packs the backup in `folder` into the new file `file`, and reads it back. With a passphrase or without encryption the whole
/// archive is checked as [`check`] does; for recipients only its bytes are compared, because their secret keys are not here.
/// Calls `progress` with the number of bytes packed since the last call. Returns the length of the file in bytes.
pub fn write(folder: &Path, file: &Path, lock: &Lock, progress: &mut dyn FnMut(u64)) -> Result<u64> {
    let failed = |e: io::Error| Error::io("write", file, e);
    let made = File::options().write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
    let mut out = Hashing { out: BufWriter::with_capacity(1 << 20, made), hasher: blake3::Hasher::new(), bytes: 0 };
    match lock.encryptor()? {
        None => pack(folder, &mut out, progress).map_err(failed)?,
        Some(encryptor) => {
            let mut sealed = encryptor.wrap_output(&mut out).map_err(failed)?;
            pack(folder, &mut sealed, progress).map_err(failed)?;
            sealed.finish().map_err(failed)?;
        }
    }
    let (digest, bytes) = (out.hasher.finalize(), out.bytes);
    let made = out.out.into_inner().map_err(|e| failed(e.into_error()))?;
    made.sync_all().map_err(failed)?;
    drop(made);
    let mut found = blake3::Hasher::new();
    found.update_reader(File::open(file).map_err(failed)?).map_err(failed)?;
    if found.finalize() != digest {
        return Err(Error::damaged(format!("{} was not stored as it was written", file.display()))
            .hint("check the disk, and back up to another one"));
    }
    if let Some(key) = lock.key() {
        check(file, &key)?;
    }
    Ok(bytes)
}

fn pack(folder: &Path, out: &mut dyn Write, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
    let mut packer = zstd::Encoder::new(out, EFFORT)?;
    packer.include_checksum(true)?;
    let mut tar = tar::Builder::new(packer);
    tar.mode(tar::HeaderMode::Deterministic);
    add(&mut tar, folder, LIST, &mut |_| {})?;
    let list: List = serde_json::from_slice(&fs::read(folder.join(LIST))?)?;
    for path in list.files.keys() {
        add(&mut tar, folder, path, progress)?;
    }
    tar.into_inner()?.finish()?.flush()
}

fn add<W: Write>(
    tar: &mut tar::Builder<W>,
    folder: &Path,
    path: &str,
    progress: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let file = File::open(folder.join(path))?;
    let mut header = tar::Header::new_gnu();
    header.set_size(file.metadata()?.len());
    header.set_mode(0o600);
    header.set_entry_type(tar::EntryType::Regular);
    tar.append_data(&mut header, path, Counted { file, progress })
}

struct Counted<'a> {
    file: File,
    progress: &'a mut dyn FnMut(u64),
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        (self.progress)(n as u64);
        Ok(n)
    }
}

struct Hashing<W> {
    out: W,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
