//! Captures a session file: the part added since the last read, or the whole file if it was rewritten.

use std::borrow::Cow;
use std::path::Path;

use rusqlite::{OptionalExtension, params};

use super::{Capture, Outcome, Program, origin};
use crate::error::{Error, Problem, Result};
use crate::event::{Decoded, Fact, RecordClass};
use crate::ledger::Read;
use crate::scope::{AgentId, StreamNo};
use crate::source::file::{LineFile, Piece, Stat, Unpacked};
use crate::source::private::{Masker, Message};
use crate::transcript::prepare::{Origin, OriginForm, PlannedRecord, digest};
use crate::transcript::{After, Step, StreamAt};

/// Stored state of a file.
struct Known {
    stream_no: StreamNo,
    generation: i64,
    after: After,
    pending_length: u64,
    stat: Option<String>,
}

pub(super) fn read(capture: &mut Capture, program: &dyn Program, agent: &AgentId, path: &Path) -> Result<Outcome> {
    // The canonical path is the file's address: two paths to the same file are one stream.
    let canonical = match path.canonicalize() {
        Ok(canonical) => canonical,
        Err(e) => return Ok(Outcome::failed(path, &Error::io("open", path, e))),
    };
    let placement = program.place(&canonical);
    let origin = origin(capture, program, &placement, agent, OriginForm::File, &canonical);
    let known = capture.ledger.read(|tx| known(tx, &origin))?;
    if let Some(Known { stat: Some(stat), .. }) = &known
        && Stat::of(&canonical).is_ok_and(|now| now.text() == stat)
    {
        return Ok(Outcome::Unchanged);
    }
    // The stat proves something only if the last change was old enough when the stat was taken.
    let opened_at = capture.ledger.now();
    // The stream of a compressed file is its unpacked contents; the stat of the file itself shows whether they can have
    // changed.
    let unpacked = match Unpacked::of(&canonical, &capture.scratch) {
        Ok(unpacked) => unpacked,
        Err(e) => return Ok(Outcome::failed(path, &e)),
    };
    let readable = unpacked.as_ref().map_or(canonical.as_path(), Unpacked::path);
    let opened = LineFile::open(readable).and_then(|file| match &unpacked {
        None => Ok((file.stat().clone(), file)),
        Some(_) => Ok((Stat::of(&canonical)?, file)),
    });
    let (stat, file) = match opened {
        Ok(opened) => opened,
        Err(e) => return Ok(Outcome::failed(path, &e)),
    };
    if known.is_none() && file.size() == 0 {
        return Ok(Outcome::Unchanged);
    }

    if known.is_none() && is_left_out(capture, program, &placement, readable) {
        return Ok(Outcome::Unchanged);
    }

    // The bytes read before must still be there; otherwise a new generation begins (R4.4).
    let message = |line: &[u8]| Message::of(&program.decoder(&placement, &[]).line(line));
    let mut masker = Masker::default();
    let mut so_far = SoFar::Same { inside_line: false };
    if let Some(k) = &known {
        match same_so_far(capture, k, readable, &mut masker, &message) {
            Ok(found) => so_far = found,
            Err(e) => return Ok(Outcome::failed(path, &e)),
        }
    }
    let rewritten = so_far == SoFar::Other;
    if let Some(k) = &known
        && !rewritten
        && file.size() == k.after.next as u64 + k.pending_length
    {
        let step = step(&origin, &placement, known.as_ref(), k.generation, k.after.clone());
        let proof = stat.is_proof(opened_at).then_some(&stat);
        return Ok(settle(capture, step, proof, false));
    }
    let before = known.as_ref().map(|k| StreamAt { generation: k.generation, next: k.after.next });
    let (generation, after) = match &known {
        Some(k) if !rewritten => (k.generation, k.after.clone()),
        Some(k) => (k.generation + 1, After::default()),
        None => (0, After::default()),
    };
    if rewritten {
        capture.totals.rewritten += 1;
        masker = Masker::default();
    }
    let private_before = masker.spans();

    let mut decoder = program.decoder(&placement, &after.decoder);
    let mut at = Progress { generation, before, after, records: Vec::new() };
    let mut pieces = match file.pieces(at.after.next as u64, at.after.mid_line) {
        Ok(pieces) => pieces,
        Err(e) => return Ok(Outcome::failed(path, &Error::io("read", path, e))),
    };
    let mut failure = None;
    let pending_before = std::mem::take(&mut at.after.pending);
    // The last record may be a line that was complete without its newline: the bytes that follow then belong to that
    // line.
    let mut inside_line = so_far == SoFar::Same { inside_line: true } && !at.after.mid_line;
    loop {
        let mid_line = pieces.mid_line();
        let piece = match pieces.next() {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(e) => {
                failure = Some(Problem {
                    place: path.display().to_string(),
                    offset: Some(at.after.next as u64),
                    line: None,
                    what: format!("cannot be read any further: {e}; what stands before is imported"),
                });
                break;
            }
        };
        let record = match piece {
            Piece::Line(bytes) => {
                let bytes = &*masker.record(bytes, message);
                at.after.lines += i64::from(!std::mem::take(&mut inside_line));
                let line = Some(at.after.lines);
                let content = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                let decoded = if content.iter().all(u8::is_ascii_whitespace) {
                    Decoded::of(RecordClass::Blank)
                } else {
                    decoder.line(content)
                };
                let record = capture.preparer.record(at.after.next, bytes, line, decoded)?;
                at.after.next += bytes.len() as i64;
                record
            }
            Piece::Oversized { bytes, last } => {
                let bytes = &*masker.record(bytes, message);
                if !mid_line {
                    at.after.lines += i64::from(!std::mem::take(&mut inside_line));
                }
                let decoded = Decoded::quarantined(match (mid_line, last) {
                    (false, _) => "the line is longer than 32 MiB; its bytes are kept, it is not decoded",
                    (true, _) => {
                        "continues a line that is longer than 32 MiB, or whose beginning was forgotten; it is not decoded"
                    }
                });
                let line = Some(at.after.lines);
                let record = capture.preparer.record(at.after.next, bytes, line, decoded)?;
                at.after.next += bytes.len() as i64;
                at.after.mid_line = !last;
                record
            }
            Piece::Tail(bytes) => {
                if mid_line || !is_whole(bytes) {
                    // The pending bytes are masked as they are so far, and masked again together with the rest of their
                    // line.
                    at.after.pending = masker.clone().record(bytes, message).into_owned();
                    break;
                }
                let bytes = &*masker.record(bytes, message);
                at.after.lines += i64::from(!inside_line);
                let decoded = decoder.line(bytes);
                let record = capture.preparer.record(at.after.next, bytes, Some(at.after.lines), decoded)?;
                at.after.next += bytes.len() as i64;
                record
            }
        };
        capture.note_quarantine(path, &record, Some((at.after.next - record_length(&record)) as u64));
        at.records.push(record);
        capture.planned_records += 1;
        if capture.planned_full() {
            at.after.decoder = decoder.state();
            let planned = at.step(&origin, &placement);
            capture.preparer.step(planned);
            capture.try_commit()?;
        }
    }
    capture.planned_private += masker.spans() - private_before;
    at.after.decoder = decoder.state();
    let grown = at.after.pending != pending_before;
    let last = at.step(&origin, &placement);
    let proof = (failure.is_none() && stat.is_proof(opened_at)).then_some(&stat);
    let outcome = settle(capture, last, proof, grown);
    if let Some(problem) = failure {
        capture.planned_problems.push(problem);
    }
    Ok(outcome)
}

/// Bytes at the beginning of a file that are searched for the folder of its conversation.
const BEGINNING: u64 = 64 << 10;

/// Whether the conversation of a new file took place in the folder whose sessions are left out.
fn is_left_out(capture: &Capture, program: &dyn Program, placement: &crate::event::Placement, path: &Path) -> bool {
    use std::io::Read as _;
    let Some(folder) = capture.left_out.as_deref() else { return false };
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut head));
    let named = folder.as_os_str().as_encoded_bytes();
    // The folder's name is in almost no file, so this check ends for nearly every file without decoding it twice.
    if read.is_err() || memchr::memmem::find(&head, named).is_none() {
        return false;
    }
    let is_there = |cwd: &str| Path::new(cwd) == folder;
    let mut decoder = program.decoder(placement, &[]);
    head.split(|b| *b == b'\n').any(|line| {
        let decoded = decoder.line(line);
        let in_turn = decoded.turns.iter().filter_map(|turn| turn.cwd.as_deref()).any(is_there);
        in_turn || decoded.facts.iter().any(|fact| matches!(fact, Fact::Cwd(cwd) if is_there(cwd)))
    })
}

/// Plans the last step of a file, with the stat that proves at the next read that nothing has changed.
fn settle(capture: &mut Capture, mut step: Step, proof: Option<&Stat>, tail_changed: bool) -> Outcome {
    let nothing = step.records.is_empty()
        && !tail_changed
        && step.before.is_some_and(|b| b.generation == step.generation && b.next == step.after.next);
    step.stat = proof.map(|stat| stat.text().to_owned());
    if nothing {
        if step.stat.is_some() {
            capture.preparer.step(step);
        }
        return Outcome::Unchanged;
    }
    capture.preparer.step(step);
    Outcome::Read
}

/// The state of reading one file, between two commits.
struct Progress {
    generation: i64,
    before: Option<StreamAt>,
    after: After,
    records: Vec<PlannedRecord>,
}

impl Progress {
    fn step(&mut self, origin: &Origin, placement: &crate::event::Placement) -> Step {
        let step = Step {
            origin: origin.clone(),
            key: String::new(),
            placement: placement.clone(),
            before: self.before,
            generation: self.generation,
            records: std::mem::take(&mut self.records),
            after: self.after.clone(),
            stat: None,
            group: None,
        };
        self.before = Some(StreamAt { generation: self.generation, next: self.after.next });
        step
    }
}

fn step(
    origin: &Origin,
    placement: &crate::event::Placement,
    known: Option<&Known>,
    generation: i64,
    after: After,
) -> Step {
    let before = known.map(|k| StreamAt { generation: k.generation, next: k.after.next });
    Progress { generation, before, after, records: Vec::new() }.step(origin, placement)
}

fn known(tx: &Read, origin: &Origin) -> Result<Option<Known>> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    let row = tx
        .prepare_cached(
            "SELECT stream_no, generation, next, lines, mid_line, pending, decoder, stat
             FROM agents JOIN sources USING (agent_no) JOIN streams USING (source_no)
             WHERE agent_id = ?1 AND harness = ?2 AND path = ?3 AND key = ''",
        )?
        .query_row(params![origin.agent.as_str(), origin.harness, path], |r| {
            let pending: Option<Vec<u8>> = r.get(5)?;
            Ok((
                Known {
                    stream_no: r.get(0)?,
                    generation: r.get(1)?,
                    after: After {
                        next: r.get(2)?,
                        lines: r.get(3)?,
                        mid_line: r.get(4)?,
                        pending: Vec::new(),
                        decoder: r.get::<_, Option<Vec<u8>>>(6)?.unwrap_or_default(),
                    },
                    pending_length: 0,
                    stat: r.get(7)?,
                },
                pending,
            ))
        })
        .optional()?;
    let Some((mut known, pending)) = row else { return Ok(None) };
    if let Some(pending) = pending {
        known.after.pending = crate::ledger::blocks::unsqueeze(&pending)?;
        known.pending_length = known.after.pending.len() as u64;
    }
    Ok(Some(known))
}

/// Returns the number of bytes of a file that are stored.
pub(super) fn stored(capture: &Capture, program: &dyn Program, agent: &AgentId, path: &Path) -> Result<u64> {
    let Ok(canonical) = path.canonicalize() else { return Ok(0) };
    let placement = program.place(&canonical);
    let origin = origin(capture, program, &placement, agent, OriginForm::File, &canonical);
    Ok(capture.ledger.read(|tx| known(tx, &origin))?.map_or(0, |k| k.after.next.max(0) as u64))
}

/// Result of comparing the beginning of a file with its stored records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SoFar {
    /// `inside_line`: the last stored record has no newline.
    Same {
        inside_line: bool,
    },
    Other,
}

/// Whether the file still begins with the stored bytes, compared record by record by digest. Private spans are not
/// stored, so the file is masked again before comparing; `masker` is left where the stored bytes end.
fn same_so_far(
    capture: &Capture,
    known: &Known,
    path: &Path,
    masker: &mut Masker,
    message: &dyn Fn(&[u8]) -> Message,
) -> Result<SoFar> {
    use std::io::Read as _;
    let file = std::fs::File::open(path).map_err(|e| Error::io("open", path, e))?;
    let mut reader = std::io::BufReader::with_capacity(1 << 20, file);
    capture.ledger.read(|tx| {
        let mut statement = tx.prepare_cached(
            "SELECT length, key, digest, forgotten IS NOT NULL FROM records
             WHERE stream_no = ?1 AND generation = ?2 ORDER BY position",
        )?;
        let mut rows = statement.query((known.stream_no, known.generation))?;
        let mut bytes = Vec::new();
        while let Some(r) = rows.next()? {
            bytes.resize(r.get::<_, i64>(0)?.max(0) as usize, 0);
            if let Err(e) = reader.read_exact(&mut bytes) {
                return match e.kind() {
                    std::io::ErrorKind::UnexpectedEof => Ok(SoFar::Other),
                    _ => Err(Error::io("read", path, e)),
                };
            }
            let masked = masker.record(&bytes, message);
            if r.get(3)? {
                // Forgotten bytes cannot be compared; it is only checked that the line still ends at the same offset.
                if bytes.iter().position(|b| *b == b'\n').is_some_and(|at| at + 1 < bytes.len()) {
                    return Ok(SoFar::Other);
                }
                continue;
            }
            let (key, stored): (Vec<u8>, Vec<u8>) = (r.get(1)?, r.get(2)?);
            // A record stored before spans were masked still contains the span.
            let is_stored = |bytes: &[u8]| digest(&key, bytes).as_slice() == stored;
            let before_masking = matches!(masked, Cow::Owned(_)) && is_stored(&bytes);
            if !before_masking && !is_stored(&masked) {
                return Ok(SoFar::Other);
            }
        }
        let inside_line = bytes.last().is_some_and(|b| *b != b'\n');
        let mut tail = vec![0; known.after.pending.len()];
        Ok(match reader.read_exact(&mut tail) {
            Ok(()) if *masker.clone().record(&tail, message) == *known.after.pending => SoFar::Same { inside_line },
            _ => SoFar::Other,
        })
    })
}

/// Whether an unterminated line is complete, which it is once it parses as a JSON value.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|b| !b.is_ascii_whitespace())
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
        && bytes.last().is_some_and(|b| matches!(b, b'}' | b']'))
}

fn record_length(record: &PlannedRecord) -> i64 {
    match record.bytes {
        crate::transcript::RecordBytes::New { length, .. } => length,
        crate::transcript::RecordBytes::Stored { .. } => 0,
    }
}
