//! Exporting a stream byte for byte as its program wrote it (D6).

mod choose;

use std::path::PathBuf;

use rusqlite::{OptionalExtension, params};

use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::ledger::blocks::{self, Opener};
use crate::scope::{AgentNo, BlockNo, SessionNo, StreamNo};
use crate::transcript::as_shown;
use crate::transcript::prepare::OriginForm;

pub use choose::{Beside, Part, files_of_session, part_of_file, part_of_session, write};

/// A stream of a session that can be exported.
#[derive(Clone, PartialEq, serde::Serialize, schemars::JsonSchema, Debug)]
pub struct StreamRow {
    #[serde(skip)]
    pub no: StreamNo,
    #[serde(skip)]
    pub harness: String,
    pub form: OriginForm,
    #[schemars(with = "String")]
    #[serde(serialize_with = "as_shown")]
    pub path: PathBuf,
    /// Key of the database row; empty for a file.
    pub key: String,
    pub lane: String,
    /// The newest generation; all older ones are kept.
    #[serde(skip)]
    pub generation: i64,
    pub bytes: u64,
    pub records: u64,
}

const COLUMNS: &str = "stream_no, harness, form, path, st.key, coalesce(lane, ''), generation,
    (SELECT coalesce(sum(length), 0) FROM records r WHERE r.stream_no = st.stream_no AND r.generation = st.generation),
    (SELECT count(*) FROM records r WHERE r.stream_no = st.stream_no AND r.generation = st.generation)";

fn row(r: &rusqlite::Row) -> rusqlite::Result<StreamRow> {
    let path: Vec<u8> = r.get(3)?;
    Ok(StreamRow {
        no: r.get(0)?,
        harness: r.get(1)?,
        form: match r.get::<_, i64>(2)? {
            0 => OriginForm::File,
            1 => OriginForm::Database,
            2 => OriginForm::Live,
            _ => OriginForm::Hook,
        },
        path: PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(path)),
        key: r.get(4)?,
        lane: r.get(5)?,
        generation: r.get(6)?,
        bytes: r.get::<_, i64>(7)? as u64,
        records: r.get::<_, i64>(8)? as u64,
    })
}

/// Returns every stream that belongs to a session, in the order in which the streams were first read.
pub fn streams(tx: &Read, session_no: SessionNo) -> Result<Vec<StreamRow>> {
    let mut statement = tx.prepare(&format!(
        "SELECT {COLUMNS} FROM streams st JOIN sources USING (source_no) LEFT JOIN lanes USING (lane_no)
         WHERE st.session_no = ?1 ORDER BY stream_no"
    ))?;
    let rows = statement.query_map([session_no], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the stream of a source file, by its path.
pub fn stream_of_file(tx: &Read, agent_no: AgentNo, path: &std::path::Path) -> Result<Option<StreamRow>> {
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    Ok(tx
        .prepare(&format!(
            "SELECT {COLUMNS} FROM streams st JOIN sources USING (source_no) LEFT JOIN lanes USING (lane_no)
             WHERE agent_no = ?1 AND path = ?2 AND st.key = '' ORDER BY stream_no LIMIT 1"
        ))?
        .query_row(params![agent_no, bytes], row)
        .optional()?)
}

/// Returns streams that contain turns of this session without belonging to it, because they mix several sessions.
pub fn mixed_streams(tx: &Read, session_no: SessionNo) -> Result<Vec<StreamRow>> {
    let mut statement = tx.prepare(&format!(
        "SELECT {COLUMNS} FROM streams st JOIN sources USING (source_no) LEFT JOIN lanes USING (lane_no)
         WHERE stream_no IN (SELECT DISTINCT stream_no FROM turns t JOIN records USING (record_no) WHERE t.session_no = ?1)
           AND st.session_no IS NOT ?1 ORDER BY stream_no"
    ))?;
    let rows = statement.query_map([session_no], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether a stream contains turns of more than one session.
pub fn is_mixed(tx: &Read, stream_no: StreamNo) -> Result<bool> {
    let sessions: i64 = tx.query_row(
        "SELECT count(DISTINCT t.session_no) FROM records JOIN turns t USING (record_no) WHERE stream_no = ?1",
        [stream_no],
        |r| r.get(0),
    )?;
    Ok(sessions > 1)
}

/// The counts of an export.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Written {
    pub bytes: u64,
    /// Number of forgotten records, which are left out (D6).
    pub forgotten: u64,
}

/// Writes one generation of a file stream byte for byte, the newest with its unterminated tail; forgotten records are
/// left out. `progress` is called after each record.
pub fn write_stream(
    tx: &Read,
    opener: &Opener,
    stream: &StreamRow,
    generation: i64,
    out: &mut dyn std::io::Write,
    progress: &mut dyn FnMut(u64),
) -> Result<Written> {
    if !(0..=stream.generation).contains(&generation) {
        return Err(Error::not_found(format!("{} has no generation {generation}", stream.path.display()))
            .hint(format!("generations 0 to {} are kept", stream.generation)));
    }
    let mut statement = tx.prepare_cached(
        "SELECT position, length, block_no, block_offset, forgotten IS NOT NULL FROM records
         WHERE stream_no = ?1 AND generation = ?2 ORDER BY position",
    )?;
    let mut rows = statement.query((stream.no, generation))?;
    let (mut written, mut reached) = (Written::default(), 0u64);
    while let Some(r) = rows.next()? {
        let (position, length): (i64, i64) = (r.get(0)?, r.get(1)?);
        if position as u64 != reached {
            return Err(Error::damaged(format!(
                "{}: the bytes from {reached} to {position} are missing",
                stream.path.display()
            ))
            .hint("run ⟨verify⟩"));
        }
        reached += length as u64;
        if r.get(4)? {
            written.forgotten += 1;
            continue;
        }
        put(out, &opener.slice(tx, r.get(2)?, r.get(3)?, length)?)?;
        written.bytes += length as u64;
        progress(length as u64);
    }
    if generation == stream.generation {
        let tail = pending(tx, stream.no)?;
        put(out, &tail)?;
        written.bytes += tail.len() as u64;
    }
    Ok(written)
}

/// Returns the bytes after the last complete line.
pub fn pending(tx: &Read, stream_no: StreamNo) -> Result<Vec<u8>> {
    let data: Option<Vec<u8>> =
        tx.query_row("SELECT pending FROM streams WHERE stream_no = ?1", [stream_no], |r| r.get(0))?;
    data.map_or(Ok(Vec::new()), |d| blocks::unsqueeze(&d))
}

/// Writes the newest revision of each row of a session, one canonical line each (docs/FORMAT.md); forgotten rows are
/// left out.
pub fn write_rows(
    tx: &Read,
    opener: &Opener,
    streams: &[StreamRow],
    out: &mut dyn std::io::Write,
    progress: &mut dyn FnMut(u64),
) -> Result<Written> {
    let mut written = Written::default();
    for stream in streams {
        let places = newest_revision(tx, stream.no)?;
        if places.is_empty() {
            continue;
        }
        if places.iter().any(|place| place.forgotten) {
            written.forgotten += 1;
            continue;
        }
        for Place { length, block, offset, .. } in places {
            put(out, &opener.slice(tx, block, offset, length)?)?;
            written.bytes += length as u64;
            progress(length as u64);
        }
        put(out, b"\n")?;
        written.bytes += 1;
    }
    Ok(written)
}

/// Place of a record's bytes.
struct Place {
    length: i64,
    block: BlockNo,
    offset: i64,
    forgotten: bool,
}

/// Returns the records of a row's newest revision in order: one, or the pieces of a long row.
fn newest_revision(tx: &Read, stream_no: StreamNo) -> Result<Vec<Place>> {
    let mut statement = tx.prepare_cached(
        "SELECT length, block_no, block_offset, forgotten IS NOT NULL, coalesce(line, 1)
         FROM records LEFT JOIN quarantine USING (record_no) WHERE stream_no = ?1
         ORDER BY generation DESC, position DESC",
    )?;
    let mut rows = statement.query([stream_no])?;
    let mut places = Vec::new();
    while let Some(r) = rows.next()? {
        places.push(Place { length: r.get(0)?, block: r.get(1)?, offset: r.get(2)?, forgotten: r.get(3)? });
        if r.get::<_, i64>(4)? <= 1 {
            break;
        }
    }
    places.reverse();
    Ok(places)
}

/// Writes only the records of a mixed stream that contain turns of one session; forgotten records are left out.
pub fn write_session_records(
    tx: &Read,
    opener: &Opener,
    session_no: SessionNo,
    out: &mut dyn std::io::Write,
) -> Result<Written> {
    let mut statement = tx.prepare(
        "SELECT r.length, r.block_no, r.block_offset, r.forgotten IS NOT NULL FROM records r WHERE record_no IN (
           SELECT record_no FROM turns WHERE session_no = ?1
           UNION SELECT w.record_no FROM witnesses w JOIN turns t USING (turn_no) WHERE t.session_no = ?1
           UNION SELECT record_no FROM turn_references WHERE session_no = ?1)
         ORDER BY stream_no, generation, position",
    )?;
    let mut rows = statement.query([session_no])?;
    let mut written = Written::default();
    while let Some(r) = rows.next()? {
        if r.get(3)? {
            written.forgotten += 1;
            continue;
        }
        let bytes = opener.slice(tx, r.get(1)?, r.get(2)?, r.get(0)?)?;
        put(out, &bytes)?;
        written.bytes += bytes.len() as u64;
        if bytes.last() != Some(&b'\n') {
            put(out, b"\n")?;
            written.bytes += 1;
        }
    }
    Ok(written)
}

fn put(out: &mut dyn std::io::Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|e| Error::io("write", std::path::Path::new("the export"), e))
}
