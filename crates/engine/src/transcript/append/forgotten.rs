//! Keeps forgotten text from being stored again, by whatever route it arrives: a rewritten file, a copy of a file, a
//! fork, a newer revision of a row (R14.2).
//!
//! The check runs before anything is stored, so that the bytes are blanked in their block before the block reaches the
//! ledger. The record keeps its position and length; a forgotten turn is left out. Only addresses are compared, because
//! nothing of the text is kept for comparison.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rusqlite::{OptionalExtension, params};

use super::identity::position_entry;
use crate::error::Result;
use crate::event::{Fact, NewTurn};
use crate::ledger::blocks::{self, Packed};
use crate::ledger::codes::{MESSAGE, USER};
use crate::ledger::{Read, Write};
use crate::scope::{AgentNo, SessionKey, SessionNo, StreamNo};
use crate::transcript::codes::{class_code, kind_code, role_code};
use crate::transcript::prepare::{Batch, Origin, RecordBytes};
use crate::transcript::read;

/// Key of the `meta` row written with the first forget: without that row, no check is needed.
pub(crate) const EVER: &str = "forgotten";

/// Blanks the records of a batch that contain forgotten text, and removes the forgotten turns. Returns the number of
/// blanked records.
pub(super) fn keep_out(tx: &Write, batch: &mut Batch) -> Result<u64> {
    if !tx.prepare_cached("SELECT 1 FROM meta WHERE key = ?1")?.exists([EVER])? {
        return Ok(0);
    }
    let mut seen = Seen::default();
    let mut blank: HashMap<usize, Vec<(i64, i64)>> = HashMap::new();
    let mut kept_out = 0;
    for step in &mut batch.steps {
        let Some(agent_no) = read::agent_no(tx, &step.origin.agent)? else { continue };
        let stream = stream(tx, agent_no, &step.origin, &step.key)?;
        let (mut native, mut lane) = (step.placement.native.clone(), step.placement.lane.clone());
        let mut settled = false;
        if let Some(Stream { settled_as: Some((key, of)), .. }) = &stream {
            (native, lane, settled) = (key.clone(), of.clone(), true);
        }
        let mut fork_of = None;
        for record in &mut step.records {
            for fact in &record.facts {
                match fact {
                    Fact::Session { native: n, lane: l, .. } if !settled => (native, lane) = (n.clone(), l.clone()),
                    Fact::ForkOf { native } => {
                        fork_of = Some(SessionKey::new(step.origin.harness, native).as_str().to_owned());
                    }
                    _ => {}
                }
            }
            let spoke = !record.turns.is_empty();
            let mut gone = false;
            for planned in std::mem::take(&mut record.turns) {
                let of = planned.turn.session.as_deref().unwrap_or(&native);
                let session = seen.session(tx, agent_no, &step.origin, of, fork_of.as_deref())?;
                let place = match record.bytes {
                    RecordBytes::New { position, .. } if !step.origin.form.is_said_live() => {
                        Some(position_entry(&lane, position, planned.index))
                    }
                    _ => None,
                };
                let verdict = judge(tx, agent_no, &step.origin, &session, &planned.turn, place.as_deref())?;
                gone |= verdict != Verdict::New;
                if verdict == Verdict::Gone {
                    let text = (planned.spot.offset as i64, planned.turn.text.len() as i64);
                    blank.entry(planned.spot.block).or_default().push(text);
                } else {
                    record.turns.push(planned);
                }
            }
            if !spoke {
                let session = seen.session(tx, agent_no, &step.origin, &native, fork_of.as_deref())?;
                let titled = record.facts.iter().any(|f| matches!(f, Fact::Title(_)));
                gone = session.forgotten || (titled && session.begins_forgotten);
                if let (Some(stream), RecordBytes::New { position, length, .. }) = (&stream, record.bytes) {
                    gone |= stream.forgotten.contains(&(position, length, class_code(record.class)));
                }
            }
            if !gone {
                continue;
            }
            record.facts.retain(|f| !matches!(f, Fact::Title(_)));
            if let RecordBytes::New { length, spot, .. } = record.bytes {
                record.forgotten = true;
                kept_out += 1;
                blank.entry(spot.block).or_default().push((spot.offset as i64, length));
            }
        }
    }
    for (block, stretches) in blank {
        let mut raw = batch.blocks[block].open()?;
        for (offset, length) in stretches {
            blocks::blank(&mut raw, offset, length)?;
        }
        batch.blocks[block] = Packed::of(&raw)?;
    }
    Ok(kept_out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    New,
    /// The turn is not forgotten, but its record was, because of other text in it.
    BytesGone,
    Gone,
}

/// Whether a turn was forgotten. Compares its entry id in its session, in any session of its program if ids are global,
/// or in the session it was copied from or to; a turn without an id is compared by position, or by time, length and
/// role in one of these sessions.
fn judge(
    tx: &Read,
    agent_no: AgentNo,
    origin: &Origin,
    session: &Session,
    turn: &NewTurn,
    place: Option<&str>,
) -> Result<Verdict> {
    let shape = (role_code(turn.role), kind_code(turn.kind), turn.text.len() as i64);
    let mut verdict = Verdict::New;
    if let Some(entry) = turn.entry.as_deref().or(place) {
        let mut statement = tx.prepare_cached(
            "SELECT t.session_no, s.session_key, t.forgotten IS NOT NULL, r.forgotten IS NOT NULL, role, kind, text_length
             FROM turns t JOIN sessions s USING (session_no) JOIN records r USING (record_no)
             WHERE t.entry = ?1 AND s.agent_no = ?2",
        )?;
        let mut rows = statement.query(params![entry, agent_no])?;
        while let Some(r) = rows.next()? {
            let no: SessionNo = r.get(0)?;
            let here = session.no == Some(no);
            let everywhere = origin.global_ids
                && turn.entry.is_some()
                && SessionKey::from(r.get::<_, String>(1)?).harness() == origin.harness;
            let copied =
                turn.entry.is_some() && session.kin.contains(&no) && shape == (r.get(4)?, r.get(5)?, r.get(6)?);
            if !(here || everywhere || copied) {
                continue;
            }
            // No turns of a session that was forgotten as a whole are stored again, not even those that exist in
            // another session.
            if r.get(2)? || (session.forgotten && !here) {
                return Ok(Verdict::Gone);
            }
            if r.get(3)? {
                verdict = Verdict::BytesGone;
            }
        }
    }
    // The hook reported this turn first, and it was forgotten before the program's store contained it.
    if let (Some(no), Some(run)) = (session.no, turn.run.as_deref()) {
        let hook_turn = tx
            .prepare_cached(&format!(
                "SELECT 1 FROM provisional_turns p JOIN turns t USING (turn_no)
                 WHERE p.session_no = ?1 AND p.run_key = ?2 AND t.role = ?3 AND t.kind = ?4 AND t.forgotten IS NOT NULL
                   AND (t.text_length = ?5 OR t.role = {USER})"
            ))?
            .exists(params![no, run, shape.0, shape.1, shape.2])?;
        if hook_turn {
            return Ok(Verdict::Gone);
        }
    }
    if turn.entry.is_none()
        && let Some(at) = turn.at
        && session.by_time.contains(&(at, shape.0, shape.1, shape.2))
    {
        return Ok(Verdict::Gone);
    }
    Ok(verdict)
}

/// Facts about a session by which its forgotten turns are recognised.
#[derive(Default)]
struct Session {
    no: Option<SessionNo>,
    /// Whether the whole session was forgotten.
    forgotten: bool,
    /// Whether the first prompt was forgotten: a title would reveal it.
    begins_forgotten: bool,
    /// Sessions this one was copied from or to.
    kin: Vec<SessionNo>,
    /// Time, role, kind and length of the forgotten turns of this session and those in `kin`.
    by_time: HashSet<(i64, i64, i64, i64)>,
}

/// Sessions already looked up for this batch.
#[derive(Default)]
struct Seen(HashMap<(AgentNo, String, Option<String>), Rc<Session>>);

impl Seen {
    fn session(
        &mut self,
        tx: &Read,
        agent_no: AgentNo,
        origin: &Origin,
        native: &str,
        fork_of: Option<&str>,
    ) -> Result<Rc<Session>> {
        let key = SessionKey::new(origin.harness, native);
        let name = (agent_no, key.as_str().to_owned(), fork_of.map(str::to_owned));
        if let Some(known) = self.0.get(&name) {
            return Ok(Rc::clone(known));
        }
        let mut session = Session::default();
        let row: Option<(SessionNo, bool, Option<String>)> = tx
            .prepare_cached(
                "SELECT session_no, forgotten IS NOT NULL, fork_of FROM sessions WHERE agent_no = ?1 AND session_key = ?2",
            )?
            .query_row(params![agent_no, key.as_str()], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .optional()?;
        let mut from = fork_of.map(str::to_owned);
        if let Some((no, forgotten, fork_of)) = row {
            session.no = Some(no);
            session.forgotten = forgotten;
            from = from.or(fork_of);
            session.begins_forgotten = tx
                .prepare_cached(&format!(
                    "SELECT forgotten IS NOT NULL FROM turns
                     WHERE session_no = ?1 AND role = {USER} AND kind = {MESSAGE}
                     ORDER BY turn_no LIMIT 1"
                ))?
                .query_row([no], |r| r.get(0))
                .optional()?
                .unwrap_or(false);
        }
        session.kin = tx
            .prepare_cached(
                "SELECT session_no FROM sessions WHERE agent_no = ?1 AND (fork_of = ?2 OR session_key = ?3)",
            )?
            .query_map(params![agent_no, key.as_str(), from], |r| r.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for no in session.kin.iter().chain(&session.no) {
            let mut statement = tx.prepare_cached(
                "SELECT at, role, kind, text_length FROM turns
                 WHERE session_no = ?1 AND forgotten IS NOT NULL AND at IS NOT NULL",
            )?;
            let rows = statement.query_map([no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?;
            session.by_time.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        let session = Rc::new(session);
        self.0.insert(name, Rc::clone(&session));
        Ok(session)
    }
}

/// State of a stream, and the set of its forgotten records.
struct Stream {
    settled_as: Option<(String, String)>,
    /// Position, length and class of each forgotten record: a record without turns has no other address.
    forgotten: HashSet<(i64, i64, i64)>,
}

fn stream(tx: &Read, agent_no: AgentNo, origin: &Origin, key: &str) -> Result<Option<Stream>> {
    let path = std::os::unix::ffi::OsStrExt::as_bytes(origin.path.as_os_str());
    let found: Option<(StreamNo, Option<String>, Option<String>)> = tx
        .prepare_cached(
            "SELECT stream_no, session_key, lane FROM sources so JOIN streams st USING (source_no)
             LEFT JOIN sessions s ON s.session_no = st.session_no LEFT JOIN lanes l ON l.lane_no = st.lane_no
             WHERE so.agent_no = ?1 AND so.harness = ?2 AND so.path = ?3 AND st.key = ?4",
        )?
        .query_row(params![agent_no, origin.harness, path, key], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .optional()?;
    let Some((no, session, lane)) = found else { return Ok(None) };
    let forgotten = tx
        .prepare_cached(
            "SELECT position, length, class FROM records r WHERE stream_no = ?1 AND forgotten IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.record_no = r.record_no)",
        )?
        .query_map([no], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let settled_as = session.map(|key| (SessionKey::from(key).native().to_owned(), lane.unwrap_or_default()));
    Ok(Some(Stream { settled_as, forgotten }))
}
