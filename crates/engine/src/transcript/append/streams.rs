//! Finds or creates sources and streams, and compares them with the state a plan assumed.

use std::fmt;

use rusqlite::{OptionalExtension, params};

use crate::error::{Error, ErrorKind, Result};
use crate::ledger::Write;
use crate::scope::{AgentNo, SessionKey, SourceNo, StreamNo};
use crate::transcript::prepare::{Origin, RecordBytes, Step, StreamAt};

pub(super) fn source(tx: &Write, agent_no: AgentNo, origin: &Origin, now: i64) -> Result<SourceNo> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    tx.prepare_cached(
        "INSERT INTO sources (agent_no, harness, form, path, seen_at) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
    )?
    .execute(params![agent_no, origin.harness, origin.form as i64, path, now])?;
    Ok(tx
        .prepare_cached("SELECT source_no FROM sources WHERE agent_no = ?1 AND harness = ?2 AND path = ?3")?
        .query_row(params![agent_no, origin.harness, path], |r| r.get(0))?)
}

pub(super) struct OpenStream {
    pub(super) stream_no: StreamNo,
    /// State of the stream; `None`: it was just created.
    pub(super) at: Option<StreamAt>,
    lines: i64,
    /// The session and lane the stream belongs to.
    pub(super) settled_as: Option<(String, String)>,
}

/// Finds or creates a stream.
pub(super) fn open_stream(tx: &Write, source_no: SourceNo, key: &str) -> Result<OpenStream> {
    let found = tx
        .prepare_cached(
            "SELECT stream_no, generation, next, lines, session_key, lane FROM streams
             LEFT JOIN sessions USING (session_no) LEFT JOIN lanes USING (lane_no) WHERE source_no = ?1 AND key = ?2",
        )?
        .query_row(params![source_no, key], |r| {
            let session: Option<String> = r.get(4)?;
            let lane: Option<String> = r.get(5)?;
            Ok(OpenStream {
                stream_no: r.get(0)?,
                at: Some(StreamAt { generation: r.get(1)?, next: r.get(2)? }),
                lines: r.get(3)?,
                settled_as: session.map(|key| (SessionKey::from(key).native().to_owned(), lane.unwrap_or_default())),
            })
        })
        .optional()?;
    if let Some(stream) = found {
        return Ok(stream);
    }
    tx.prepare_cached("INSERT INTO streams (source_no, key) VALUES (?1, ?2)")?.execute(params![source_no, key])?;
    Ok(OpenStream { stream_no: StreamNo(tx.last_insert_rowid()), at: None, lines: 0, settled_as: None })
}

/// Moves a planned step behind the current end of its stream.
pub(super) fn shift(step: &mut Step, stream: &OpenStream) {
    let by = stream.at.map_or(0, |at| at.next) - step.before.map_or(0, |at| at.next);
    for record in &mut step.records {
        if let RecordBytes::New { position, .. } = &mut record.bytes {
            *position += by;
        }
    }
    step.after.next += by;
    step.after.lines = stream.lines + step.records.len() as i64;
}

/// An append was refused because a stream is no longer in the state the plan assumed; the caller plans again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamMoved;

impl std::error::Error for StreamMoved {}

impl fmt::Display for StreamMoved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another process read it meanwhile")
    }
}

pub(super) fn moved(origin: &Origin) -> Error {
    Error::new(ErrorKind::Busy, origin.path.display().to_string()).because(StreamMoved)
}

pub(super) fn store_group(tx: &Write, source_no: SourceNo, step: &Step) -> Result<()> {
    if let Some((key, fingerprint)) = &step.group {
        tx.prepare_cached(
            "INSERT INTO foreign_groups (source_no, group_key, fingerprint) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint",
        )?
        .execute(params![source_no, key, fingerprint])?;
    }
    Ok(())
}
