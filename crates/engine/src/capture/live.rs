//! Lines handed over as they are said (`heirloom append`, later the API): each is stored, or refused with a reason, and
//! acknowledged only after its commit.

use std::path::Path;

use rusqlite::{OptionalExtension, params};

use super::{Capture, Program};
use crate::error::{Error, Result};
use crate::event::RecordClass;
use crate::ledger::Audit;
use crate::ledger::blocks::Opener;
use crate::ledger::jobs::{self, JobKind};
use crate::scope::{AgentId, SessionKey, TurnId};
use crate::transcript::prepare::{Origin, OriginForm};
use crate::transcript::{After, Step, StreamAt, append};

/// What became of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineAck {
    /// Committed.
    Stored { session: SessionKey, turn: Option<TurnId> },
    /// This very line is stored already; nothing was written.
    Known { session: SessionKey, turn: TurnId },
    /// Not a line of the format; nothing was written.
    Refused { reason: String },
}

pub(super) fn store(capture: &mut Capture, program: &Program, agent: &AgentId, line: &[u8]) -> Result<LineAck> {
    let content = line.strip_suffix(b"\n").unwrap_or(line);
    let placement = crate::event::Placement::default();
    let mut decoder = (program.decoder)(&placement, &[]);
    let decoded = decoder.line(content);
    if decoded.class == RecordClass::Quarantined {
        return Ok(LineAck::Refused { reason: decoded.reason.unwrap_or_default() });
    }
    let Some(native) = decoded.turns.iter().find_map(|t| t.session.clone()) else {
        return Ok(LineAck::Refused { reason: "the line names no session".into() });
    };
    let session = SessionKey::new(program.name, &native);
    let entry = decoded.turns.first().and_then(|t| t.entry.clone());
    let origin = Origin {
        agent: agent.clone(),
        harness: program.name,
        global_ids: program.global_ids,
        form: OriginForm::Live,
        path: Path::new("live").to_owned(),
    };
    let mut bytes = content.to_vec();
    bytes.push(b'\n');

    // Another process may append to the same session: plan again on its newest state.
    for _ in 0..super::ATTEMPTS {
        if let Some(entry) = &entry
            && let Some(turn) = known(capture, agent, &session, entry, &bytes)?
        {
            return Ok(LineAck::Known { session, turn });
        }
        let before = capture.ledger.read(|tx| {
            Ok(tx
                .prepare_cached(
                    "SELECT generation, next, lines FROM agents JOIN sources USING (agent_no) JOIN streams USING (source_no)
                     WHERE agent_id = ?1 AND harness = ?2 AND path = ?3 AND key = ?4",
                )?
                .query_row(params![agent.as_str(), program.name, b"live".as_slice(), native], |r| {
                    Ok((StreamAt { generation: r.get(0)?, next: r.get(1)? }, r.get::<_, i64>(2)?))
                })
                .optional()?)
        })?;
        let (at, lines) = before.map_or((StreamAt::default(), 0), |(at, lines)| (at, lines));
        let record = capture.preparer.record(at.next, &bytes, None, decoded.clone())?;
        capture.preparer.step(Step {
            origin: origin.clone(),
            key: native.clone(),
            placement: crate::event::Placement { native: native.clone(), ..placement.clone() },
            before: before.map(|(at, _)| at),
            generation: 0,
            records: vec![record],
            after: After { next: at.next + bytes.len() as i64, lines: lines + 1, ..After::default() },
            stat: None,
            group: None,
        });
        let batch = capture.preparer.finish()?;
        let names = &mut capture.names;
        let done = capture.ledger.write(Audit::new(&capture.actor, "transcript.append"), |tx| {
            let now = tx.now();
            jobs::enqueue(tx, JobKind::Index, "all", "{}", now)?;
            jobs::enqueue(tx, JobKind::CloseIdle, "all", "{}", now + 10 * 60 * 1000)?;
            append(tx, batch, names)
        });
        match done {
            Ok(appended) => {
                capture.count(&appended);
                if let Some(index) = capture.index.as_deref_mut() {
                    index.add(&appended.fresh)?;
                    index.flush()?;
                }
                return Ok(LineAck::Stored { session, turn: appended.turns.first().copied() });
            }
            Err(e) if super::is_moved(&e) => capture.names.clear(),
            Err(e) => {
                capture.names.clear();
                return Err(e);
            }
        }
    }
    Err(Error::new(crate::error::ErrorKind::Busy, format!("{session} is being written by others"))
        .hint("send the line again"))
}

/// The turn of an equal line stored before.
fn known(
    capture: &Capture,
    agent: &AgentId,
    session: &SessionKey,
    entry: &str,
    bytes: &[u8],
) -> Result<Option<TurnId>> {
    capture.ledger.read(|tx| {
        let mut statement = tx.prepare_cached(
            "SELECT turn_no, t.record_no FROM turns t JOIN sessions USING (session_no) JOIN agents USING (agent_no)
             WHERE entry = ?1 AND session_key = ?2 AND agent_id = ?3",
        )?;
        let mut rows = statement.query(params![entry, session.as_str(), agent.as_str()])?;
        while let Some(r) = rows.next()? {
            let stored = crate::transcript::read::record_bytes(tx, &Opener::default(), r.get(1)?)?;
            if stored.strip_suffix(b"\n").unwrap_or(&stored) == bytes.strip_suffix(b"\n").unwrap_or(bytes) {
                return Ok(Some(TurnId(r.get(0)?)));
            }
        }
        Ok(None)
    })
}
