//! Decodes every record again and compares each turn's text, role, kind, time, speaker, tool and flags with the record
//! it came from (R4.6).
//!
//! A record's bytes are checked by their digest. A turn's text has no digest of its own, and neither has the row with
//! its speaker and time; but both follow from the record, so the record is decoded once more, in the order in which its
//! stream was read, and compared.
//!
//! Another build may rightly decode a record differently. Each append notes in its audit row which
//! [`Program::decoding`] it was made with; a difference counts as damage only where that is the decoding of this build.
//! A turn that a second record (a witness) has confirmed keeps its first words, so its words may also be those of the
//! witness. Records after a forgotten record of their stream are not judged, because the decoder that stored them had
//! seen the forgotten one. Rows of databases are decoded in the newest revision that is stored.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::Report;
use crate::error::Result;
use crate::event::{Decoded, Decoder, NewTurn, Placement};
use crate::ledger::blocks::{Opener, range};
use crate::ledger::codes::QUARANTINED;
use crate::ledger::{Ledger, Read};
use crate::program::Program;
use crate::scope::{BlockNo, LaneNo, RecordNo, SessionKey, SessionNo, SourceNo, StreamNo, TurnId};
use crate::source::file::MAX_LINE;
use crate::source::{foreign, private};
use crate::transcript::prepare::OriginForm;
use crate::transcript::{kind_from_code, kind_name, role_from_code, role_name};

/// Decodes every record of a known program again and compares its turns.
pub fn said(ledger: &Ledger, programs: &[Arc<dyn Program>], report: &mut Report) -> Result<()> {
    ledger.read(|tx| {
        let check = Check { tx, opener: Opener::default(), decodings: decodings(tx)? };
        let mut statement = tx.prepare(
            "SELECT stream_no, generation, harness, form, path FROM streams JOIN sources USING (source_no)
             WHERE form != ?1 ORDER BY stream_no",
        )?;
        let mut rows = statement.query([OriginForm::Database as i64])?;
        while let Some(r) = rows.next()? {
            let (harness, form): (String, i64) = (r.get(2)?, r.get(3)?);
            let Some(program) = programs.iter().find(|p| p.name() == harness) else { continue };
            let path = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(r.get(4)?));
            let stream = Stream { no: r.get(0)?, program: program.as_ref(), path, form };
            for generation in 0..=r.get::<_, i64>(1)? {
                check.stream(&stream, generation, report)?;
            }
        }
        for program in programs.iter().filter(|p| p.foreign().is_some()) {
            check.databases(program.as_ref(), report)?;
        }
        Ok(())
    })
}

/// Ranges of record numbers, first and last, with the decoding version of each program they were made with.
type Decodings = Vec<(i64, i64, HashMap<String, u32>)>;

fn decodings(tx: &Read) -> Result<Decodings> {
    let mut statement = tx.prepare(
        "SELECT detail ->> 'first_record', detail ->> 'last_record', detail -> 'decoding' FROM audit
         WHERE (action = 'transcript.append' OR action GLOB 'hook.*') AND json_valid(detail)
           AND detail ->> 'first_record' IS NOT NULL ORDER BY audit_no",
    )?;
    let rows = statement.query_map([], |r| {
        let versions: Option<String> = r.get(2)?;
        Ok((r.get(0)?, r.get(1)?, versions.and_then(|v| serde_json::from_str(&v).ok()).unwrap_or_default()))
    })?;
    let mut all: Decodings = Vec::new();
    for row in rows {
        let (first, last, versions): (i64, i64, HashMap<String, u32>) = row?;
        match all.last_mut() {
            // Merges neighbouring ranges: most ledgers were made by one build.
            Some(before) if before.1 + 1 == first && before.2 == versions => before.1 = last,
            _ => all.push((first, last, versions)),
        }
    }
    all.sort_by_key(|(first, ..)| *first);
    Ok(all)
}

struct Stream<'p> {
    no: StreamNo,
    program: &'p dyn Program,
    path: PathBuf,
    form: i64,
}

/// A stored record.
struct Record {
    no: RecordNo,
    position: i64,
    length: i64,
    block: BlockNo,
    offset: i64,
    class: i64,
    forgotten: bool,
}

/// A stored turn.
struct Stored {
    no: TurnId,
    entry: String,
    role: i64,
    kind: i64,
    at: Option<i64>,
    speaker: Option<String>,
    tool: Option<String>,
    call: Option<String>,
    failed: bool,
    text: Option<Vec<u8>>,
}

struct Check<'t> {
    tx: &'t Read<'t>,
    opener: Opener,
    decodings: Decodings,
}

impl Check<'_> {
    fn stream(&self, stream: &Stream, generation: i64, report: &mut Report) -> Result<()> {
        let placement = stream.program.place(&stream.path);
        let mut decoder = stream.program.decoder(&placement, &[]);
        let mut statement = self.tx.prepare_cached(
            "SELECT record_no, position, length, block_no, block_offset, class, forgotten IS NOT NULL FROM records
             WHERE stream_no = ?1 AND generation = ?2 ORDER BY position",
        )?;
        let mut rows = statement.query((stream.no, generation))?;
        let mut inside_long_line = false;
        while let Some(r) = rows.next()? {
            let record = record(r)?;
            if record.forgotten {
                if stream.form == OriginForm::File as i64 {
                    return Ok(());
                }
                continue;
            }
            // Bytes that cannot be read are reported by the check of the records.
            let Ok(bytes) = self.opener.slice(self.tx, record.block, record.offset, record.length) else {
                if stream.form == OriginForm::File as i64 {
                    return Ok(());
                }
                continue;
            };
            let content = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            // A line too long to be decoded is stored in pieces.
            let long = record.class == QUARANTINED && record.length >= MAX_LINE as i64;
            let continues = inside_long_line;
            inside_long_line = (long || continues) && bytes.len() == content.len();
            if long || continues {
                continue;
            }
            if content.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if stream.form == OriginForm::Hook as i64 {
                self.payload(stream, &record, content, report)?;
                continue;
            }
            if stream.form == OriginForm::Live as i64 {
                decoder = stream.program.decoder(&Placement::default(), &[]);
            }
            let decoded = decoder.line(content);
            self.turns(stream.program, &record, &decoded, false, report)?;
        }
        Ok(())
    }

    /// Checks that the words of a hook's turn are in its payload.
    fn payload(&self, stream: &Stream, record: &Record, payload: &[u8], report: &mut Report) -> Result<()> {
        for turn in self.stored(record.no)? {
            let Some(text) = &turn.text else { continue };
            if !has_string(payload, text) {
                self.differs(stream.program, record.no, turn.no, "its words are not those of its record", report);
            }
        }
        Ok(())
    }

    /// Checks the rows of a program's databases, session by session.
    fn databases(&self, program: &dyn Program, report: &mut Report) -> Result<()> {
        let Some(spec) = program.foreign() else { return Ok(()) };
        let mut statement = self.tx.prepare(
            "SELECT DISTINCT source_no, st.session_no, st.lane_no, session_key FROM streams st JOIN sources USING (source_no)
             JOIN sessions USING (session_no) WHERE form = ?1 AND harness = ?2",
        )?;
        let mut newest = self.tx.prepare(
            "SELECT r.record_no, position, length, block_no, block_offset, class, r.forgotten IS NOT NULL
             FROM streams st JOIN records r USING (stream_no)
             WHERE source_no = ?1 AND session_no = ?2 AND lane_no IS ?3 AND r.generation = st.generation
               AND position = (SELECT max(position) FROM records n WHERE n.stream_no = st.stream_no) ORDER BY stream_no",
        )?;
        let mut groups = statement.query((OriginForm::Database as i64, program.name()))?;
        while let Some(r) = groups.next()? {
            let (source, session, lane): (SourceNo, SessionNo, Option<LaneNo>) = (r.get(0)?, r.get(1)?, r.get(2)?);
            let key = SessionKey::from(r.get::<_, String>(3)?);
            let placement = Placement { native: key.native().to_owned(), ..Placement::default() };
            let mut decoder: Box<dyn Decoder> = program.decoder(&placement, &[]);
            let mut rows = newest.query((source, session, lane))?;
            while let Some(r) = rows.next()? {
                let record = record(r)?;
                if record.forgotten {
                    break;
                }
                let bytes = self.opener.slice(self.tx, record.block, record.offset, record.length);
                let Some(row) = bytes.ok().and_then(|bytes| foreign::restore(spec, &bytes).ok()) else { continue };
                let decoded = decoder.row(&row);
                self.turns(program, &record, &decoded, true, report)?;
            }
        }
        Ok(())
    }

    /// Compares the turns of one record. `row`: the record is a database row, whose meaning depends on other rows, so
    /// that turns may be missing.
    fn turns(
        &self,
        program: &dyn Program,
        record: &Record,
        decoded: &Decoded,
        row: bool,
        report: &mut Report,
    ) -> Result<()> {
        let mut decoded = decoded.clone();
        private::shorten_all(&mut decoded);
        let decoded = &decoded;
        let stored = self.stored(record.no)?;
        for turn in &stored {
            let mut meant = decoded.turns.iter().enumerate();
            let meant = meant.find(|(index, meant)| is_entry(&turn.entry, meant, record.position, *index));
            let Some((_, meant)) = meant else {
                if !row {
                    self.differs(program, record.no, turn.no, "its record says no such thing", report);
                }
                continue;
            };
            if let Some(what) = self.difference(turn, meant)? {
                self.differs(program, record.no, turn.no, &what, report);
            }
        }
        if stored.is_empty() && !row && decoded.turns.iter().any(|turn| !turn.echo) && !self.is_known(record.no)? {
            let what = "what it says is in no turn";
            self.judged(program, record.no, format!("record {}", record.no), what, report);
        }
        Ok(())
    }

    /// Returns how a turn differs from what its record says.
    fn difference(&self, turn: &Stored, meant: &NewTurn) -> Result<Option<String>> {
        // A turn that another record has confirmed keeps words and speaker of the first record.
        let witnesses = self.witnesses(turn.no)?;
        if let Some(text) = &turn.text
            && text != meant.text.as_bytes()
        {
            let mut told = witnesses.iter();
            if !told.any(|bytes| has_string(bytes, text)) {
                return Ok(Some("its words are not those of its record".into()));
            }
        }
        let (role, kind) = (role_name(role_from_code(turn.role)), kind_name(kind_from_code(turn.kind)));
        if role != role_name(meant.role) {
            return Ok(Some(format!("it is of the role {role}, its record says {}", role_name(meant.role))));
        }
        if kind != kind_name(meant.kind) {
            return Ok(Some(format!("it is a {kind}, its record says {}", kind_name(meant.kind))));
        }
        if meant.at.is_some() && turn.at != meant.at {
            return Ok(Some("its time is not that of its record".into()));
        }
        if !witnesses.is_empty() {
            return Ok(None);
        }
        let filled = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        Ok(match () {
            () if turn.failed != meant.failed => Some(match turn.failed {
                true => "it counts as failed, its record says nothing of it".into(),
                false => "its record says that it failed".into(),
            }),
            () if turn.speaker != filled(&meant.speaker) => Some("its speaker is not that of its record".into()),
            () if turn.tool != filled(&meant.tool) => Some("its tool is not that of its record".into()),
            () if turn.call != meant.call => Some("its call is not that of its record".into()),
            () => None,
        })
    }

    fn differs(&self, program: &dyn Program, record: RecordNo, turn: TurnId, what: &str, report: &mut Report) {
        self.judged(program, record, format!("turn {turn}"), &format!("{what} (record {record})"), report);
    }

    /// Reports a difference: as damage if the record was stored with this build's decoding, else as stale.
    fn judged(&self, program: &dyn Program, record: RecordNo, subject: String, what: &str, report: &mut Report) {
        let at = self.decodings.partition_point(|(first, ..)| *first <= record.0);
        let made = at.checked_sub(1).and_then(|at| self.decodings[at].2.get(program.name()));
        match made {
            Some(version) if *version == program.decoding() => report.damaged(subject, what),
            _ => report
                .stale(subject, format!("{what}; it was stored by a build that decodes {} otherwise", program.title())),
        }
    }

    /// Whether a record is a witness of turns, or names turns of another session.
    fn is_known(&self, record: RecordNo) -> Result<bool> {
        let mut statement = self.tx.prepare_cached(
            "SELECT 1 FROM witnesses WHERE record_no = ?1 UNION ALL SELECT 1 FROM turn_references WHERE record_no = ?1",
        )?;
        Ok(statement.exists([record])?)
    }

    /// Returns the bytes of the other records that confirm this turn.
    fn witnesses(&self, turn: TurnId) -> Result<Vec<Vec<u8>>> {
        let mut statement = self.tx.prepare_cached(
            "SELECT block_no, block_offset, length FROM witnesses JOIN records USING (record_no)
             WHERE turn_no = ?1 AND forgotten IS NULL",
        )?;
        let mut rows = statement.query([turn])?;
        let mut all = Vec::new();
        while let Some(r) = rows.next()? {
            all.extend(self.opener.slice(self.tx, r.get(0)?, r.get(1)?, r.get(2)?).ok());
        }
        Ok(all)
    }

    /// Returns the turns of a record that are not forgotten.
    fn stored(&self, record: RecordNo) -> Result<Vec<Stored>> {
        let mut statement = self.tx.prepare_cached(
            "SELECT turn_no, entry, role, kind, at, s.name, t.name, call, failed, block_no, text_offset, text_length
             FROM turns LEFT JOIN names s ON s.name_no = speaker_no LEFT JOIN names t ON t.name_no = tool_no
             WHERE record_no = ?1 AND forgotten IS NULL",
        )?;
        let mut rows = statement.query([record])?;
        let mut all = Vec::new();
        while let Some(r) = rows.next()? {
            // Text that cannot be read is reported by the check of the turns.
            let raw = self.opener.open(self.tx, r.get(9)?).ok();
            let text = raw.and_then(|raw| Some(range(&raw, r.get(10).ok()?, r.get(11).ok()?)?.to_vec()));
            all.push(Stored {
                no: r.get(0)?,
                entry: r.get(1)?,
                role: r.get(2)?,
                kind: r.get(3)?,
                at: r.get(4)?,
                speaker: r.get(5)?,
                tool: r.get(6)?,
                call: r.get(7)?,
                failed: r.get::<_, Option<bool>>(8)?.unwrap_or(false),
                text,
            });
        }
        Ok(all)
    }
}

fn record(r: &rusqlite::Row) -> rusqlite::Result<Record> {
    Ok(Record {
        no: r.get(0)?,
        position: r.get(1)?,
        length: r.get(2)?,
        block: r.get(3)?,
        offset: r.get(4)?,
        class: r.get(5)?,
        forgotten: r.get(6)?,
    })
}

/// Whether a stored entry id is that of a decoded turn: the program's own id, or the place in the stream.
fn is_entry(stored: &str, meant: &NewTurn, position: i64, index: usize) -> bool {
    match &meant.entry {
        Some(entry) => entry == stored,
        None => {
            let place = stored.rsplit_once('@').map_or("", |(_, place)| place);
            let (offset, later) = place.split_once('#').unwrap_or((place, "0"));
            offset.parse() == Ok(position) && later.parse() == Ok(index)
        }
    }
}

/// Whether a JSON text contains this string as a value, or in a string that is itself JSON.
fn has_string(json: &[u8], wanted: &[u8]) -> bool {
    fn in_value(value: &serde_json::Value, wanted: &str) -> bool {
        match value {
            serde_json::Value::String(text) => {
                let text = private::shorten(text);
                text == wanted || text.trim() == wanted.trim()
            }
            serde_json::Value::Array(items) => {
                items.iter().any(|item| in_value(item, wanted)) || {
                    // A program may split a text into blocks; the decoder joins them with line breaks.
                    let texts: Vec<&str> = items.iter().filter_map(|i| i.get("text")?.as_str()).collect();
                    texts.len() > 1 && (texts.join("\n") == wanted || texts.join("\n\n") == wanted)
                }
            }
            serde_json::Value::Object(members) => members.values().any(|item| in_value(item, wanted)),
            _ => false,
        }
    }
    let Ok(wanted) = std::str::from_utf8(wanted) else { return false };
    serde_json::from_slice(json).is_ok_and(|value| in_value(&value, wanted))
}
