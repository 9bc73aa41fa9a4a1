//! Captures lines passed in during a conversation (`heirloom append`, later the API): each is stored, or refused with a
//! reason, and acknowledged only after its commit.

use std::path::Path;

use rusqlite::{OptionalExtension, params};

use super::{Capture, Program, note_private, notice};
use crate::clock::Millis;
use crate::error::Result;
use crate::event::RecordClass;
use crate::ledger::Audit;
use crate::ledger::blocks::Opener;
use crate::ledger::job_queue::{self, JobKind};
use crate::lineage::undistilled;
use crate::scope::{AgentId, SessionKey, TurnId};
use crate::source::private::{Masker, Message};
use crate::transcript::prepare::{Origin, OriginForm};
use crate::transcript::{After, IDLE_MS, Step, append};

/// Milliseconds since the last turn up to which a session counts as happening now.
const DAY_MS: u64 = 24 * 3_600_000;

/// The outcome of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineAck {
    /// Committed.
    Stored { session: SessionKey, turn: Option<TurnId> },
    /// An equal line is already stored, or was forgotten; nothing was written.
    Known { session: SessionKey, turn: TurnId },
    /// The line is not of the format; nothing was written.
    Refused { reason: String },
}

pub(super) fn store(capture: &mut Capture, program: &dyn Program, agent: &AgentId, line: &[u8]) -> Result<LineAck> {
    let mut masker = Masker::default();
    let masked = masker.record(line.strip_suffix(b"\n").unwrap_or(line), |_| Message::Whole);
    let content = &*masked;
    let private = masker.spans();
    let placement = crate::event::Placement::default();
    let mut decoder = program.decoder(&placement, &[]);
    let mut decoded = decoder.line(content);
    if decoded.class == RecordClass::Quarantined {
        return Ok(LineAck::Refused { reason: decoded.reason.unwrap_or_default() });
    }
    let Some(native) = decoded.turns.iter().find_map(|t| t.session.clone()) else {
        return Ok(LineAck::Refused { reason: "there are no words in text".into() });
    };
    let native = capture.forgotten.marked(&native).into_owned();
    let session = SessionKey::new(program.name(), &native);
    // A line without a time gets the current one, unless it belongs to a conversation of another day.
    let now = capture.ledger.now();
    if last_at(capture, agent, &session)?.is_none_or(|last| last.abs_diff(now) < DAY_MS) {
        for turn in &mut decoded.turns {
            turn.at = turn.at.or(Some(now));
        }
    }
    let entry = decoded.turns.first().and_then(|t| t.entry.clone());
    let entry = entry.map(|entry| capture.forgotten.marked(&entry).into_owned());
    let origin = Origin {
        agent: agent.clone(),
        harness: program.name(),
        global_ids: program.global_ids(),
        decoding: program.decoding(),
        form: OriginForm::Live,
        path: Path::new("live").to_owned(),
    };
    let mut bytes = content.to_vec();
    bytes.push(b'\n');

    if let Some(entry) = &entry
        && let Some(turn) = known(capture, agent, &session, entry, &bytes)?
    {
        return Ok(LineAck::Known { session, turn });
    }
    // The record's offset is assigned at the commit, after lines that others stored meanwhile.
    let record = capture.preparer.record(0, &bytes, None, decoded)?;
    capture.preparer.step(Step {
        origin,
        key: native.clone(),
        placement: crate::event::Placement { native, ..placement },
        before: None,
        generation: 0,
        records: vec![record],
        after: After { next: bytes.len() as i64, ..After::default() },
        stat: None,
        group: None,
    });
    let batch = capture.preparer.finish()?;
    let noticed = notice::in_batch(&batch);
    let names = &mut capture.names;
    let done = capture.ledger.write(Audit::new(&capture.actor, "transcript.append"), |tx| {
        note_private(tx, private);
        let now = tx.now();
        job_queue::enqueue(tx, JobKind::Index, "all", "{}", now)?;
        job_queue::enqueue(tx, JobKind::CloseIdle, "all", "{}", now + IDLE_MS)?;
        let appended = append(tx, batch, names)?;
        notice::store(tx, &appended.fresh, &noticed)?;
        undistilled::mark(tx, &appended.sessions)?;
        Ok(appended)
    });
    let appended = match done {
        Ok(appended) => appended,
        Err(e) => {
            capture.names.clear();
            return Err(e);
        }
    };
    capture.count(&appended);
    capture.totals.private += private;
    // The line is committed, so it is acknowledged even if the index fails; the index catches up later.
    if let Some(index) = capture.index.as_deref_mut()
        && index.add(&appended.fresh).and_then(|()| index.flush()).is_err()
    {
        capture.index = None;
    }
    Ok(LineAck::Stored { session, turn: appended.turns.first().copied() })
}

/// Returns when something was last said in a session, if that is known.
fn last_at(capture: &Capture, agent: &AgentId, session: &SessionKey) -> Result<Option<Millis>> {
    capture.ledger.read(|tx| {
        let found = tx
            .prepare_cached(
                "SELECT last_at FROM sessions JOIN agents USING (agent_no) WHERE session_key = ?1 AND agent_id = ?2",
            )?
            .query_row((session.as_str(), agent.as_str()), |r| r.get::<_, Option<Millis>>(0))
            .optional()?;
        Ok(found.flatten())
    })
}

/// Returns the turn of an equal line that was stored before.
fn known(
    capture: &Capture,
    agent: &AgentId,
    session: &SessionKey,
    entry: &str,
    bytes: &[u8],
) -> Result<Option<TurnId>> {
    capture.ledger.read(|tx| {
        let mut statement = tx.prepare_cached(
            "SELECT turn_no, t.record_no, t.forgotten IS NOT NULL OR r.forgotten IS NOT NULL
             FROM turns t JOIN records r USING (record_no) JOIN sessions USING (session_no) JOIN agents USING (agent_no)
             WHERE entry = ?1 AND session_key = ?2 AND agent_id = ?3",
        )?;
        let mut rows = statement.query(params![entry, session.as_str(), agent.as_str()])?;
        while let Some(r) = rows.next()? {
            // Of a forgotten record nothing is left to compare with. It may have had a forgotten name beside its words.
            if r.get(2)? {
                return Ok(Some(r.get(0)?));
            }
            let stored = crate::transcript::read::record_bytes(tx, &Opener::default(), r.get(1)?)?;
            if stored.strip_suffix(b"\n").unwrap_or(&stored) == bytes.strip_suffix(b"\n").unwrap_or(bytes) {
                return Ok(Some(r.get(0)?));
            }
        }
        Ok(None)
    })
}
