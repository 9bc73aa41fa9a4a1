//! Reports of sessions and turns, and ending a session by hand.

use std::time::Duration;

use super::Instance;
use super::listener::Notice;
use crate::error::{Error, Result};
use crate::ledger::blocks::Opener;
use crate::ledger::{Audit, Read};
use crate::lineage::undistilled;
use crate::render::continuity::write_turn_continuity;
use crate::render::titles;
use crate::report::sessions::{
    RecordsReport, SessionDetails, SessionEnded, SessionReport, SessionsReport, SourceReport,
};
use crate::report::turns::{QuarantineReport, SessionTurnsReport, SetAsideReport, ShownTurn, TurnsReport};
use crate::scope::{AgentId, QuarantineId, SessionKey, TurnId};
use crate::transcript::order::{self, Section, TurnPlace};
use crate::transcript::read::{self, SessionFilter, SessionRow};
use crate::transcript::{class_name, end_session, export};

/// How long ending a session waits for its summary; the next verb makes the rest.
const PATIENCE: Duration = Duration::from_secs(2);

impl Instance {
    /// Returns the command that resumes a session in its own program, if there is one. `cwd`: the folder the session
    /// ran in.
    pub fn resume(&self, session: &SessionKey, cwd: Option<&str>) -> Option<String> {
        self.program(session.harness())?.resume(session.native(), cwd)
    }

    fn session_report(&self, row: SessionRow) -> SessionReport {
        let resume = self.resume(&row.key, row.cwd.as_deref());
        SessionReport::of(row, resume)
    }

    /// Lists the sessions of an agent, newest first.
    pub fn sessions(&self, agent: &AgentId, filter: &SessionFilter) -> Result<SessionsReport> {
        let agent_no = self.known_agent(agent)?;
        let rows = self.ledger.read(|tx| read::sessions(tx, agent_no, filter))?;
        Ok(SessionsReport { sessions: rows.into_iter().map(|row| self.session_report(row)).collect() })
    }

    /// Reports everything stored of one session, given by its key or a prefix of it.
    pub fn session(&self, agent: &AgentId, name: &str) -> Result<SessionDetails> {
        let agent_no = self.known_agent(agent)?;
        self.ledger.read(|tx| {
            let row = read::session_named(tx, agent_no, name)?;
            let no = row.no;
            let (own, mixed) = (export::streams(tx, no)?, export::mixed_streams(tx, no)?);
            let sources = own.into_iter().map(|s| (s, false)).chain(mixed.into_iter().map(|s| (s, true)));
            let records = read::record_classes(tx, no)?.into_iter();
            Ok(SessionDetails {
                sources: sources
                    .map(|(stream, mixed)| SourceReport { generations: stream.generation + 1, stream, mixed })
                    .collect(),
                records: records
                    .map(|(class, records, bytes)| RecordsReport { class: class_name(class), records, bytes })
                    .collect(),
                runs: read::runs(tx, no)?,
                ..self.heading(tx, row)?
            })
        })
    }

    /// Reports what a heading shows of one session; `sources`, `records` and `runs` are empty.
    pub fn session_heading(&self, agent: &AgentId, name: &str) -> Result<SessionDetails> {
        let agent_no = self.known_agent(agent)?;
        self.ledger.read(|tx| self.heading(tx, read::session_named(tx, agent_no, name)?))
    }

    fn heading(&self, tx: &Read, row: SessionRow) -> Result<SessionDetails> {
        Ok(SessionDetails {
            lanes: read::lanes(tx, row.no)?,
            boundaries: read::boundaries(tx, row.no)?,
            name: titles::name_of(tx, &Opener::default(), &row)?,
            session: self.session_report(row),
            sources: Vec::new(),
            records: Vec::new(),
            runs: Vec::new(),
        })
    }

    /// Marks a session as ended and writes the pages that show it. The session stays ended even if the pages cannot be
    /// written.
    pub fn end_session(&self, agent: &AgentId, actor: &str, name: &str) -> Result<SessionEnded> {
        let agent_no = self.known_agent(agent)?;
        let session = self.ledger.read(|tx| read::session_named(tx, agent_no, name))?;
        let ended = self.ledger.write(Audit::new(actor, "session.end").of_agent(agent_no), |tx| {
            tx.note("session", session.key.as_str());
            undistilled::mark(tx, &[session.no])?;
            end_session(tx, session.no)
        })?;
        self.distil(actor, Some(PATIENCE))?;
        if ended {
            let written = self.assistant(agent, actor).and_then(|at| write_turn_continuity(&at, &[session.no]));
            if let Err(e) = written {
                self.listener.notice(&Notice::MomentLeft(&e));
            }
        }
        Ok(SessionEnded { session: session.key.as_str().to_owned(), ended })
    }

    /// Returns a turn with `around` turns of its lane before and after it.
    pub fn turns(&self, agent: &AgentId, id: TurnId, around: usize) -> Result<TurnsReport> {
        let (agent_no, opener) = (self.known_agent(agent)?, Opener::default());
        let turns = self.ledger.read(|tx| {
            let turn = read::turn(tx, &opener, agent_no, id)?;
            read::turns_around(tx, &opener, agent_no, turn, around)
        })?;
        let resume = turns.first().and_then(|turn| self.resume(&turn.session, turn.cwd.as_deref()));
        Ok(TurnsReport { turns: turns.into_iter().map(ShownTurn::from).collect(), resume })
    }

    /// Returns a session with its turns; `lane`: only the turns of this sub-agent. `NotFound` if the session has no
    /// such sub-agent.
    pub fn session_turns(&self, agent: &AgentId, name: &str, lane: Option<&str>) -> Result<SessionTurnsReport> {
        let (agent_no, opener) = (self.known_agent(agent)?, Opener::default());
        self.ledger.read(|tx| {
            let row = read::session_named(tx, agent_no, name)?;
            has_lane(tx, &row, lane)?;
            let mut turns = Vec::new();
            read::session_turns(tx, &opener, &row, lane, |turn| {
                turns.push(ShownTurn::from(turn));
                Ok(())
            })?;
            let name = titles::name_of(tx, &opener, &row)?;
            Ok(SessionTurnsReport { session: self.session_report(row), turns, name })
        })
    }

    /// Returns a page of at most `most` turns of a session after `after`, and where the next page begins; `lane` as in
    /// [`Instance::session_turns`].
    pub fn page_of_turns(
        &self,
        agent: &AgentId,
        name: &str,
        lane: Option<&str>,
        after: Option<TurnPlace>,
        most: usize,
    ) -> Result<(Vec<ShownTurn>, Option<TurnPlace>)> {
        let (agent_no, opener) = (self.known_agent(agent)?, Opener::default());
        let (turns, next) = self.ledger.read(|tx| {
            let row = read::session_named(tx, agent_no, name)?;
            has_lane(tx, &row, lane)?;
            order::page_of_turns(tx, &opener, &row, lane, after, most)
        })?;
        Ok((turns.into_iter().map(ShownTurn::from).collect(), next))
    }

    /// Returns the turns of a session in sections of `size` turns, without their text.
    pub fn sections_of_turns(
        &self,
        agent: &AgentId,
        name: &str,
        size: u64,
        wanted: Option<TurnId>,
    ) -> Result<Vec<Section>> {
        let agent_no = self.known_agent(agent)?;
        self.ledger.read(|tx| {
            let row = read::session_named(tx, agent_no, name)?;
            order::sections_of_turns(tx, &row, size, wanted)
        })
    }

    /// Returns the exact bytes of the record a turn was read from.
    pub fn turn_bytes(&self, agent: &AgentId, id: TurnId) -> Result<Vec<u8>> {
        let (agent_no, opener) = (self.known_agent(agent)?, Opener::default());
        self.ledger.read(|tx| read::record_bytes(tx, &opener, read::turn(tx, &opener, agent_no, id)?.record))
    }

    /// Lists records that could not be decoded, newest first.
    pub fn quarantine(&self, agent: &AgentId, most: usize) -> Result<QuarantineReport> {
        let agent_no = self.known_agent(agent)?;
        let rows = self.ledger.read(|tx| read::quarantine(tx, agent_no, None, most))?;
        Ok(QuarantineReport { set_aside: rows })
    }

    /// Returns one record that could not be decoded, with its exact bytes.
    pub fn set_aside(&self, agent: &AgentId, id: QuarantineId) -> Result<(SetAsideReport, Vec<u8>)> {
        let agent_no = self.known_agent(agent)?;
        self.ledger.read(|tx| {
            let row = read::quarantine(tx, agent_no, Some(id), 1)?.pop().ok_or_else(|| {
                Error::not_found(format!("nothing was set aside as {id}")).hint("see ⟨show --quarantine⟩")
            })?;
            let bytes = read::record_bytes(tx, &Opener::default(), row.record)?;
            Ok((SetAsideReport::of(row, &bytes), bytes))
        })
    }
}

/// Fails with `NotFound` if a session has no sub-agent `lane`.
fn has_lane(tx: &Read, row: &SessionRow, lane: Option<&str>) -> Result<()> {
    let Some(lane) = lane else { return Ok(()) };
    let lanes = read::lanes(tx, row.no)?;
    if lanes.iter().all(|l| l.lane != lane) {
        let known: Vec<&str> = lanes.iter().map(|l| l.lane.as_str()).filter(|l| !l.is_empty()).collect();
        let hint = if known.is_empty() { "it has none".into() } else { format!("it has: {}", known.join(", ")) };
        return Err(Error::not_found(format!("{} has no sub-agent {lane:?}", row.key)).hint(hint));
    }
    Ok(())
}
