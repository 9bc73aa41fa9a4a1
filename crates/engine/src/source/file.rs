//! Reads a program's session file line by line, whatever it contains (R4.5).
//!
//! The file is opened once, must be a regular file, and is read through that handle up to the size it had when opened:
//! it may grow, shrink or be replaced meanwhile without harm. Memory is bounded by [`MAX_LINE`], not by the file. This
//! module knows bytes and newlines; it does not know what a line means.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::error::{Error, ErrorKind, Result};

/// Longest line in bytes that is decoded; a longer line is stored in pieces of this size. The longest seen in real
/// sessions are pasted images: 7 MB.
pub const MAX_LINE: usize = 32 << 20;

/// Number of bytes read at once.
const CHUNK: usize = 1 << 20;

/// Youngest change, in milliseconds, for which a stat proves that nothing changed: a file changed later than that could
/// change again within one tick of its time stamp.
const RACY_MS: i64 = 200;

/// An open session file.
pub struct LineFile {
    file: File,
    size: u64,
    stat: Stat,
}

/// Identifies a version of a file, to tell without opening it whether it changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stat {
    text: String,
    size: u64,
    changed_ms: i64,
}

impl Stat {
    /// Returns the stat of the file at a path. `NotFound` where there is none.
    pub fn of(path: &Path) -> Result<Stat> {
        let stat = rustix::fs::stat(path).map_err(|e| Error::io("look at", path, e))?;
        Ok(Stat::from(&stat))
    }

    /// Returns device, inode, size and both times as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether an equal stat at a later time proves that the file has not changed.
    pub fn is_proof(&self, now_ms: i64) -> bool {
        now_ms - self.changed_ms > RACY_MS
    }
}

impl From<&rustix::fs::Stat> for Stat {
    // Widths and signs of these fields differ between systems.
    #[allow(clippy::unnecessary_cast)]
    fn from(s: &rustix::fs::Stat) -> Stat {
        let (mtime, ctime) = (s.st_mtime as i64, s.st_ctime as i64);
        let (mnano, cnano) = (s.st_mtime_nsec as i64, s.st_ctime_nsec as i64);
        Stat {
            text: format!("{}:{}:{}:{mtime}.{mnano}:{ctime}.{cnano}", s.st_dev, s.st_ino, s.st_size),
            size: s.st_size as u64,
            changed_ms: (mtime * 1000 + mnano / 1_000_000).max(ctime * 1000 + cnano / 1_000_000),
        }
    }
}

impl LineFile {
    /// Opens a regular file for reading. A directory, pipe or device is refused with an error that says so, and never
    /// waited for.
    pub fn open(path: &Path) -> Result<LineFile> {
        let handle =
            rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())
                .map_err(|e| Error::io("open", path, e))?;
        let stat = rustix::fs::fstat(&handle).map_err(|e| Error::io("look at", path, e))?;
        match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
            rustix::fs::FileType::RegularFile => {}
            other => {
                let what = match other {
                    rustix::fs::FileType::Directory => "is a directory",
                    rustix::fs::FileType::Fifo => "is a pipe",
                    rustix::fs::FileType::Socket => "is a socket",
                    _ => "is not a regular file",
                };
                return Err(Error::new(ErrorKind::Usage, format!("{} {what}", path.display())));
            }
        }
        let stat = Stat::from(&stat);
        Ok(LineFile { file: File::from(handle), size: stat.size, stat })
    }

    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Returns the size when opened, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the first bytes, at most `cap`, for recognising the format.
    pub fn head(&mut self, cap: usize) -> std::io::Result<Vec<u8>> {
        use std::io::{Seek, SeekFrom};
        let mut head = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&mut self.file).take(cap as u64).read_to_end(&mut head)?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(head)
    }

    /// Returns the pieces from `offset` on: whole lines with their newline, oversized lines in parts, finally the
    /// unterminated rest.
    pub fn pieces(self, offset: u64, mid_line: bool) -> std::io::Result<Pieces> {
        use std::io::{Seek, SeekFrom};
        let LineFile { mut file, size, .. } = self;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Pieces { file: file.take(size.saturating_sub(offset)), buffer: Vec::new(), start: 0, scanned: 0, mid_line })
    }
}

/// The first bytes of a zstd-compressed file.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Largest size in bytes to which a compressed file is unpacked: no session is that long, but a few bytes can expand to
/// it.
const MAX_UNPACKED: u64 = 4 << 30;

/// The unpacked contents of a compressed file, in a temporary file that is removed when this is dropped.
pub struct Unpacked {
    path: PathBuf,
}

impl Unpacked {
    /// Unpacks `path` into the private folder `scratch`; `None` if the file is not compressed.
    pub fn of(path: &Path, scratch: &Path) -> Result<Option<Unpacked>> {
        let mut packed = LineFile::open(path)?;
        let head = packed.head(ZSTD_MAGIC.len()).map_err(|e| Error::io("read", path, e))?;
        if head != ZSTD_MAGIC {
            return Ok(None);
        }
        let unpacked = Unpacked { path: scratch.join(crate::home::temporary_name()?) };
        let out = rustix::fs::open(
            &unpacked.path,
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC,
            Mode::from_raw_mode(0o600),
        )
        .map_err(|e| Error::io("make", &unpacked.path, e))?;
        let damaged = |e| Error::damaged(format!("{} cannot be unpacked", path.display())).because(e);
        let contents = zstd::stream::read::Decoder::new(packed.file).map_err(damaged)?;
        let length = std::io::copy(&mut contents.take(MAX_UNPACKED + 1), &mut File::from(out)).map_err(damaged)?;
        if length > MAX_UNPACKED {
            return Err(Error::refused(format!("{} unpacks to more than 4 GiB", path.display())));
        }
        Ok(Some(unpacked))
    }

    /// Returns the path of the unpacked file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// One piece of a file.
#[derive(PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// A line with its newline.
    Line(&'a [u8]),
    /// Part of a line longer than [`MAX_LINE`]; `last` if the newline is in it.
    Oversized { bytes: &'a [u8], last: bool },
    /// The end of a file that does not end in a newline.
    Tail(&'a [u8]),
}

/// Iterates over a file's pieces with one buffer.
pub struct Pieces {
    file: std::io::Take<File>,
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    mid_line: bool,
}

impl Pieces {
    /// The next piece, `None` at the end.
    // Not an Iterator: pieces borrow the buffer.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> std::io::Result<Option<Piece<'_>>> {
        loop {
            let from = self.start + self.scanned;
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[from..]) {
                let (begin, end) = (self.start, from + at + 1);
                self.start = end;
                self.scanned = 0;
                let bytes = &self.buffer[begin..end];
                return Ok(Some(if self.mid_line || bytes.len() > MAX_LINE {
                    self.mid_line = false;
                    Piece::Oversized { bytes, last: true }
                } else {
                    Piece::Line(bytes)
                }));
            }
            self.scanned = self.buffer.len() - self.start;
            if self.scanned >= MAX_LINE {
                let (begin, end) = (self.start, self.start + MAX_LINE);
                self.start = end;
                self.scanned = 0;
                self.mid_line = true;
                return Ok(Some(Piece::Oversized { bytes: &self.buffer[begin..end], last: false }));
            }
            if self.start > 0 {
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            if self.buffer.is_empty() && self.buffer.capacity() > CHUNK * 4 {
                self.buffer = Vec::new();
            }
            self.buffer.reserve(CHUNK);
            let got = (&mut self.file).take(CHUNK as u64).read_to_end(&mut self.buffer)?;
            if got == 0 {
                if self.buffer.is_empty() {
                    return Ok(None);
                }
                self.start = self.buffer.len();
                self.scanned = 0;
                return Ok(Some(Piece::Tail(&self.buffer)));
            }
        }
    }

    /// Whether the next piece continues an oversized line.
    pub fn mid_line(&self) -> bool {
        self.mid_line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(bytes: &[u8], offset: u64) -> Vec<(String, usize)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, bytes).unwrap();
        let mut pieces = LineFile::open(&path).unwrap().pieces(offset, false).unwrap();
        let mut out = Vec::new();
        while let Some(piece) = pieces.next().unwrap() {
            out.push(match piece {
                Piece::Line(b) => ("line".into(), b.len()),
                Piece::Oversized { bytes, last } => (format!("oversized {last}"), bytes.len()),
                Piece::Tail(b) => ("tail".into(), b.len()),
            });
        }
        out
    }

    #[test]
    fn every_byte_is_in_exactly_one_piece() {
        assert_eq!(
            pieces(b"a\n\nbc\nd", 0),
            [("line".into(), 2), ("line".into(), 1), ("line".into(), 3), ("tail".into(), 1)]
        );
        assert_eq!(pieces(b"a\n\nbc\nd", 3), [("line".into(), 3), ("tail".into(), 1)]);
        assert_eq!(pieces(b"", 0), []);
    }

    #[test]
    fn an_endless_line_comes_in_parts_and_the_next_line_is_found() {
        let mut bytes = vec![b'x'; MAX_LINE * 2 + 10];
        bytes.extend_from_slice(b"\nok\n");
        assert_eq!(
            pieces(&bytes, 0),
            [
                ("oversized false".into(), MAX_LINE),
                ("oversized false".into(), MAX_LINE),
                ("oversized true".into(), 11),
                ("line".into(), 3)
            ]
        );
    }

    #[test]
    fn what_is_written_after_the_file_was_opened_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, "a\nb\n").unwrap();
        let file = LineFile::open(&path).unwrap();
        std::fs::write(&path, "a\nb\nc\n").unwrap();
        let mut pieces = file.pieces(2, false).unwrap();
        assert_eq!(pieces.next().unwrap(), Some(Piece::Line(b"b\n")));
        assert_eq!(pieces.next().unwrap(), None);
    }

    /// A file that was changed a moment before its stat was taken may change again without another stat.
    #[test]
    fn a_young_change_proves_nothing() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, "a\n").unwrap();
        let found = std::fs::metadata(&path).unwrap();
        let changed = found.ctime() * 1000 + found.ctime_nsec() / 1_000_000;
        let stat = Stat::of(&path).unwrap();
        assert!(!stat.is_proof(changed - 1) && !stat.is_proof(changed) && !stat.is_proof(changed + RACY_MS));
        assert!(stat.is_proof(changed + RACY_MS + 1));
    }

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let error = LineFile::open(dir.path()).err().unwrap();
        assert!(error.to_string().contains("is a directory"), "{error}");
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let error = LineFile::open(&pipe).err().unwrap();
        assert!(error.to_string().contains("is a pipe"), "{error}");
    }
}
