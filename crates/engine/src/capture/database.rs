//! Captures a program's SQLite store. Groups (sessions) whose fingerprint changed are read again, row by row. A row
//! that is new or different gets a revision; an unchanged row is decoded again too, because it may now mean something
//! else (its message was finished).

use std::path::Path;

use rusqlite::{OptionalExtension, params};

use super::{Capture, Outcome, Program, origin};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decoded, Fact, RecordClass, Row};
use crate::ledger::Read;
use crate::scope::{AgentId, RecordNo};
use crate::source::file::{MAX_LINE, Stat};
use crate::source::foreign::{ForeignStore, LongRow, RowBytes};
use crate::source::private::{Masker, Message};
use crate::transcript::prepare::{Origin, OriginForm, digest, digest_of, hasher};
use crate::transcript::sources;
use crate::transcript::{After, Step, StreamAt};

pub(super) fn read(capture: &mut Capture, program: &dyn Program, agent: &AgentId, path: &Path) -> Result<Outcome> {
    let Some(spec) = program.foreign() else {
        let error = Error::usage(format!("{} keeps no sessions in databases", program.name()));
        return Ok(Outcome::failed(path, &error));
    };
    let canonical = match path.canonicalize() {
        Ok(canonical) => canonical,
        Err(e) => return Ok(Outcome::failed(path, &Error::io("open", path, e))),
    };
    let placement = program.place(&canonical);
    let origin = origin(capture, program, &placement, agent, OriginForm::Database, &canonical);
    let stat = match stat_with_log(&canonical, capture.ledger.now()) {
        Ok(stat) => stat,
        Err(e) => return Ok(Outcome::failed(path, &e)),
    };
    let known_stat = capture.ledger.read(|tx| sources::source_stat(tx, &origin))?;
    if known_stat.is_some() && known_stat == stat.proof {
        return Ok(Outcome::Unchanged);
    }
    let store = match ForeignStore::open(&canonical, &capture.scratch) {
        Ok(store) => store,
        Err(e) => return Ok(Outcome::failed(path, &e)),
    };
    let groups = match store.groups(spec) {
        Ok(groups) => groups,
        Err(e) => return Ok(Outcome::failed(path, &e)),
    };
    let changed: Vec<_> = {
        let mut changed = Vec::new();
        for group in groups {
            if capture
                .ledger
                .read(|tx| sources::group_fingerprint(tx, &origin, &capture.forgotten.marked(&group.key)))?
                .as_deref()
                != Some(&group.fingerprint)
            {
                changed.push(group);
            }
        }
        changed
    };
    let (mut any, mut all_read) = (false, true);
    let mut last: Option<Step> = None;
    for group in changed {
        let mut placement = placement.clone();
        placement.native.clone_from(&group.key);
        let mut decoder = program.decoder(&placement, &[]);
        // Errors of the ledger are held apart from errors of the store: only the ledger's own errors end the capture.
        let mut ours: Option<Error> = None;
        // A quarantined row may be damage of the store, and a repair of it would not change the group's fingerprint.
        let mut set_aside = false;
        let mut take = |row: Row, bytes: RowBytes| -> Result<()> {
            let bytes = match bytes {
                RowBytes::Whole(bytes) => bytes,
                RowBytes::Long(long) => {
                    any |= plan_long_row(capture, &origin, &placement, &row, long, &mut last)?;
                    return Ok(());
                }
            };
            let decoded = decoder.row(&row);
            set_aside |= decoded.class == RecordClass::Quarantined;
            // The head row names the session and lane of all rows of the group.
            for fact in &decoded.facts {
                if let Fact::Session { native, lane, .. } = fact {
                    placement.native.clone_from(native);
                    placement.lane.clone_from(lane);
                }
            }
            // Commits before the next row is planned if the batch is full, since planned bytes are in the blocks of the
            // batch they are committed with.
            make_room(capture, &mut last)?;
            let Some(step) = plan_row(capture, &origin, &placement, &row, &bytes, decoded)? else { return Ok(()) };
            capture.planned_records += 1;
            if let Some(step) = last.replace(step) {
                capture.preparer.step(step);
            }
            any = true;
            Ok(())
        };
        let outcome = store.read_group(spec, &group.key, |row, bytes| {
            take(row, bytes).map_err(|e| {
                ours = Some(e);
                Error::usage("stopped")
            })
        });
        if let Some(e) = ours {
            return Err(e);
        }
        capture.planned_private += outcome.as_ref().copied().unwrap_or_default();
        match outcome {
            // The group's fingerprint is stored with its last row, so that after a crash before it the group is read
            // again.
            Ok(_) if set_aside => {
                if let Some(step) = last.take() {
                    capture.preparer.step(step);
                }
            }
            Ok(_) => {
                if let Some(mut step) = last.take() {
                    step.group = Some((group.key.clone(), group.fingerprint.clone()));
                    capture.preparer.step(step);
                } else {
                    remember_group(capture, &origin, &group)?;
                }
            }
            Err(e) => {
                if let Some(step) = last.take() {
                    capture.preparer.step(step);
                }
                if let Outcome::Failed(problem) = Outcome::failed(path, &e) {
                    capture.planned_problems.push(problem);
                }
                // A damaged page belongs to one session; the others can be read.
                if e.kind() != ErrorKind::Damaged {
                    return Ok(Outcome::Read);
                }
                all_read = false;
            }
        }
    }
    capture.try_commit()?;
    if let Some(proof) = stat.proof.as_ref().filter(|_| all_read) {
        remember_stat(capture, &origin, proof)?;
    }
    Ok(if any { Outcome::Read } else { Outcome::Unchanged })
}

/// Commits the plan if it is enough for a batch. Called between rows, since planned bytes are in the blocks of the
/// batch they are committed with.
fn make_room(capture: &mut Capture, last: &mut Option<Step>) -> Result<()> {
    if capture.planned_full() {
        if let Some(step) = last.take() {
            capture.preparer.step(step);
        }
        capture.try_commit()?;
    }
    Ok(())
}

/// Plans a new revision of a row of 32 MiB or more, in pieces of that size, none of which is decoded. `false`: the row
/// is stored already.
fn plan_long_row(
    capture: &mut Capture,
    origin: &Origin,
    placement: &crate::event::Placement,
    row: &Row,
    mut long: LongRow,
    last: &mut Option<Step>,
) -> Result<bool> {
    let key = capture.forgotten.marked(&format!("{}/{}", row.table, row.key)).into_owned();
    make_room(capture, last)?;
    // A row that is planned and not yet committed may belong to the same stream.
    let (known, mut next) = capture.ledger.read(|tx| newest_pieces(tx, origin, &key))?;
    if is_same(&known, &mut long)? {
        return Ok(false);
    }
    let mut before = next.map(|next| StreamAt { generation: 0, next });
    let mut piece_no = 0;
    let mut masker = Masker::default();
    long.pieces(MAX_LINE, |bytes| {
        let bytes = &*masker.record(bytes, |_| Message::Whole);
        make_room(capture, last)?;
        piece_no += 1;
        let decoded = Decoded::quarantined(match piece_no {
            1 => "the row is longer than 32 MiB; its bytes are kept, it is not decoded",
            _ => "continues a row longer than 32 MiB",
        });
        let position = next.unwrap_or(0);
        let record = capture.preparer.record(position, bytes, Some(piece_no), decoded)?;
        if piece_no == 1 {
            let place = format!("{}#{key}", origin.path.display());
            capture.note_quarantine(Path::new(&place), &record, None);
        }
        let step = Step {
            origin: origin.clone(),
            key: key.clone(),
            placement: placement.clone(),
            before,
            generation: 0,
            records: vec![record],
            after: After { next: position + 1, ..After::default() },
            stat: None,
            group: None,
        };
        before = Some(StreamAt { generation: 0, next: position + 1 });
        next = Some(position + 1);
        capture.planned_records += 1;
        if let Some(step) = last.replace(step) {
            capture.preparer.step(step);
        }
        Ok(())
    })?;
    Ok(true)
}

/// Whether a long row equals its stored revision, which may be a single piece if it was stored before November 2026.
fn is_same(known: &[Piece], long: &mut LongRow) -> Result<bool> {
    let stored: u64 = known.iter().map(|piece| piece.length.max(0) as u64).sum();
    if known.is_empty() || stored != long.length() {
        return Ok(false);
    }
    let mut pieces = known.iter();
    let mut open: Option<(&Piece, i64, blake3::Hasher)> = None;
    let mut same = true;
    let mut masker = Masker::default();
    long.pieces(MAX_LINE, |bytes| {
        let bytes = &*masker.record(bytes, |_| Message::Whole);
        let (piece, seen, hasher) = match &mut open {
            Some(open) => open,
            None => match pieces.next() {
                Some(piece) => open.insert((piece, 0, hasher(&piece.key))),
                None => {
                    same = false;
                    return Ok(());
                }
            },
        };
        hasher.update(bytes);
        *seen += bytes.len() as i64;
        if *seen >= piece.length {
            same &= *seen == piece.length && (piece.forgotten || digest_of(hasher).as_slice() == piece.digest);
            open = None;
        }
        Ok(())
    })?;
    Ok(same && open.is_none())
}

/// A record of a row's newest revision.
struct Piece {
    length: i64,
    key: Vec<u8>,
    digest: Vec<u8>,
    forgotten: bool,
}

/// Returns the records of a row's newest revision in order, and the next position of its stream if there is one.
fn newest_pieces(tx: &Read, origin: &Origin, key: &str) -> Result<(Vec<Piece>, Option<i64>)> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    let mut statement = tx.prepare_cached(
        "SELECT next, r.length, r.key, digest, r.forgotten IS NOT NULL, coalesce(line, 1)
         FROM agents JOIN sources USING (agent_no)
         JOIN streams st USING (source_no) JOIN records r USING (stream_no) LEFT JOIN quarantine q USING (record_no)
         WHERE agent_id = ?1 AND harness = ?2 AND path = ?3 AND st.key = ?4 ORDER BY position DESC",
    )?;
    let mut rows = statement.query(params![origin.agent.as_str(), origin.harness, path, key])?;
    let (mut pieces, mut next) = (Vec::new(), None);
    while let Some(r) = rows.next()? {
        next = Some(r.get(0)?);
        pieces.push(Piece { length: r.get(1)?, key: r.get(2)?, digest: r.get(3)?, forgotten: r.get(4)? });
        if r.get::<_, i64>(5)? <= 1 {
            break;
        }
    }
    pieces.reverse();
    Ok((pieces, next))
}

/// Plans a new revision of a row, or only a new decoding: an unchanged part means something else once its message is
/// finished. `None`: neither is needed.
fn plan_row(
    capture: &mut Capture,
    origin: &Origin,
    placement: &crate::event::Placement,
    row: &Row,
    bytes: &[u8],
    decoded: crate::event::Decoded,
) -> Result<Option<Step>> {
    let key = capture.forgotten.marked(&format!("{}/{}", row.table, row.key)).into_owned();
    let known = capture.ledger.read(|tx| newest_revision(tx, origin, &key))?;
    let before = known.as_ref().map(|k| StreamAt { generation: 0, next: k.next });
    let (record, next) = match known {
        // Of a forgotten row only the length is known, so only the length is compared.
        Some(k) if k.same_as(bytes) => {
            if k.turns >= decoded.turns.len() as i64 {
                return Ok(None);
            }
            (capture.preparer.stored_record(k.record_no, decoded)?, k.next)
        }
        known => {
            let revision = known.map_or(0, |k| k.next);
            let record = capture.preparer.record(revision, bytes, None, decoded)?;
            let place = format!("{}#{key}", origin.path.display());
            capture.note_quarantine(Path::new(&place), &record, None);
            (record, revision + 1)
        }
    };
    Ok(Some(Step {
        origin: origin.clone(),
        key,
        placement: placement.clone(),
        before,
        generation: 0,
        records: vec![record],
        after: After { next, ..After::default() },
        stat: None,
        group: None,
    }))
}

struct Revision {
    next: i64,
    record_no: RecordNo,
    key: Vec<u8>,
    digest: Vec<u8>,
    length: i64,
    forgotten: bool,
    /// The number of turns this record creates, witnesses or refers to.
    turns: i64,
}

impl Revision {
    fn same_as(&self, bytes: &[u8]) -> bool {
        match self.forgotten {
            true => self.length == bytes.len() as i64,
            false => digest(&self.key, bytes).as_slice() == self.digest,
        }
    }
}

fn newest_revision(tx: &Read, origin: &Origin, key: &str) -> Result<Option<Revision>> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    Ok(tx
        .prepare_cached(
            "SELECT next, record_no, r.key, digest,
                    (SELECT count(*) FROM turns t WHERE t.record_no = r.record_no)
                    + (SELECT count(*) FROM witnesses w WHERE w.record_no = r.record_no)
                    + (SELECT count(*) FROM turn_references f WHERE f.record_no = r.record_no),
                    r.length, r.forgotten IS NOT NULL
             FROM agents JOIN sources USING (agent_no)
             JOIN streams st USING (source_no) JOIN records r USING (stream_no)
             WHERE agent_id = ?1 AND harness = ?2 AND path = ?3 AND st.key = ?4 ORDER BY position DESC LIMIT 1",
        )?
        .query_row(params![origin.agent.as_str(), origin.harness, path, key], |r| {
            Ok(Revision {
                next: r.get(0)?,
                record_no: r.get(1)?,
                key: r.get(2)?,
                digest: r.get(3)?,
                turns: r.get(4)?,
                length: r.get(5)?,
                forgotten: r.get(6)?,
            })
        })
        .optional()?)
}

/// Records the fingerprint of a group in which nothing was new.
fn remember_group(capture: &Capture, origin: &Origin, group: &crate::source::foreign::Group) -> Result<()> {
    capture.ledger.write(crate::ledger::Audit::new(&capture.actor, "source.read"), |tx| {
        let key = capture.forgotten.marked(&group.key);
        sources::remember_group(tx, origin, &key, &group.fingerprint)?;
        tx.note("group", key.into_owned());
        Ok(())
    })
}

fn remember_stat(capture: &Capture, origin: &Origin, proof: &str) -> Result<()> {
    let why = crate::ledger::Audit::new(&capture.actor, "source.read");
    capture.ledger.write(why, |tx| {
        sources::remember_stat(tx, origin, proof)?;
        tx.note("source", origin.path.display().to_string());
        Ok(())
    })
}

/// Change times of database and write-ahead log together: a commit may change only the log.
struct StatWithLog {
    /// Proof that nothing changed; `None` where the last change is too recent to rely on.
    proof: Option<String>,
}

fn stat_with_log(path: &Path, now: crate::clock::Millis) -> Result<StatWithLog> {
    let main = Stat::of(path)?;
    let log = Stat::of(&crate::sqlite::wal_path(path)).ok();
    let settled = main.is_proof(now) && log.as_ref().is_none_or(|l| l.is_proof(now));
    let text = format!("{} {}", main.text(), log.as_ref().map_or("-", |l| l.text()));
    Ok(StatWithLog { proof: settled.then_some(text) })
}
