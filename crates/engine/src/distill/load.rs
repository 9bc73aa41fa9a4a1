//! Reads turns from the ledger for distillation.

use std::borrow::Cow;

use rusqlite::{OptionalExtension, Row, params};

use super::Said;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::event::{Role, TurnKind, unwrapped};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::redact::without_private_keys;
use crate::scope::{AgentNo, BoundaryNo, LaneNo, RecordNo, SessionNo, TurnId, WorkspaceNo};
use crate::transcript::{kind_from_code, role_from_code};

/// A turn with the values the pass needs besides its text.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Loaded {
    pub said: Said,
    pub record_no: RecordNo,
    pub entry: String,
    pub parent: Option<String>,
    /// Whether the program abandoned this branch of the conversation.
    pub left: bool,
}

const COLUMNS: &str =
    "t.turn_no, t.role, t.kind, t.run_no, l.lane, sp.name, tl.name, t.call, t.failed, t.at, t.block_no, t.text_offset,
    t.text_length, t.record_no, t.entry, t.parent, r.left_by IS NOT NULL, t.forgotten IS NOT NULL";
const FROM: &str = "turns t JOIN lanes l ON l.lane_no = t.lane_no JOIN turn_results r ON r.run_no = t.run_no
    LEFT JOIN names sp ON sp.name_no = t.speaker_no LEFT JOIN names tl ON tl.name_no = t.tool_no";

fn loaded(tx: &Read, opener: &Opener, r: &Row) -> Result<Loaded> {
    let text = match r.get(17)? {
        // The text of this turn was forgotten; the turn remains.
        true => Vec::new(),
        false => opener.slice(tx, r.get(10)?, r.get(11)?, r.get(12)?)?,
    };
    let text = String::from_utf8(text).map_err(|e| {
        Error::damaged("the text of a turn is not UTF-8").because(e).hint("see what else is affected: ⟨verify⟩")
    })?;
    let (role, kind) = (role_from_code(r.get(1)?), kind_from_code(r.get(2)?));
    let text = match (role, kind) {
        (Role::User, TurnKind::Message) => unwrapped(&text).to_owned(),
        _ => text,
    };
    let text = match without_private_keys(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(redacted) => redacted,
    };
    Ok(Loaded {
        said: Said {
            id: r.get(0)?,
            role,
            kind,
            run: r.get(3)?,
            main: r.get_ref(4)?.as_str().is_ok_and(str::is_empty),
            speaker: r.get(5)?,
            tool: r.get(6)?,
            call: r.get(7)?,
            failed: r.get(8)?,
            at: r.get(9)?,
            text,
        },
        record_no: r.get(13)?,
        entry: r.get(14)?,
        parent: r.get(15)?,
        left: r.get(16)?,
    })
}

/// Reads turns of a lane after the turn `after`, in ledger order, up to the first that its program has not confirmed
/// yet (R4.4), limited by number and by bytes of text. Also returns whether there are more.
pub(super) fn behind(
    tx: &Read,
    opener: &Opener,
    lane_no: LaneNo,
    after: TurnId,
    (most, bytes): (usize, usize),
) -> Result<(Vec<Loaded>, bool)> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM {FROM} WHERE t.turn_no IN (
           SELECT turn_no FROM turns INDEXED BY turns_lane WHERE lane_no = ?1 AND turn_no > ?2 AND turn_no < coalesce(
             (SELECT min(turn_no) FROM provisional_turns p WHERE p.lane_no = ?1 AND settled = 0), 9223372036854775807)
           ORDER BY turn_no LIMIT ?3)
         ORDER BY t.turn_no"
    ))?;
    let mut rows = statement.query(params![lane_no, after.0, most as i64 + 1])?;
    let (mut out, mut read) = (Vec::new(), 0);
    while let Some(r) = rows.next()? {
        if out.len() >= most || read >= bytes {
            return Ok((out, true));
        }
        let one = loaded(tx, opener, r)?;
        read += one.said.text.len();
        out.push(one);
    }
    Ok((out, false))
}

/// Reads the turns of a lane in a range, both ends included, each with whether it was abandoned.
pub fn range(tx: &Read, opener: &Opener, lane_no: LaneNo, from: TurnId, to: TurnId) -> Result<Vec<(Said, bool)>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM {FROM} WHERE t.turn_no IN (
           SELECT turn_no FROM turns INDEXED BY turns_lane WHERE lane_no = ?1 AND turn_no BETWEEN ?2 AND ?3)
         ORDER BY t.turn_no"
    ))?;
    let mut rows = statement.query(params![lane_no, from.0, to.0])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let one = loaded(tx, opener, r)?;
        out.push((one.said, one.left));
    }
    Ok(out)
}

/// The facts about a session that a pass needs.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SessionFacts {
    pub key: String,
    pub workspace_no: Option<WorkspaceNo>,
    /// Root of the session's project, used to shorten paths.
    pub root: Option<String>,
    pub last_at: Millis,
    pub ended: bool,
    pub lanes: Vec<(LaneNo, String)>,
}

pub(super) fn session(tx: &Read, agent_no: AgentNo, session_no: SessionNo) -> Result<Option<SessionFacts>> {
    let found = tx
        .prepare_cached(
            "SELECT s.session_key, s.workspace_no, coalesce(s.cwd, CAST(w.root AS TEXT)), coalesce(s.last_at, s.created_at),
                    s.ended_at IS NOT NULL
             FROM sessions s LEFT JOIN workspaces w USING (workspace_no) WHERE s.session_no = ?1 AND s.agent_no = ?2",
        )?
        .query_row((session_no, agent_no), |r| {
            Ok(SessionFacts {
                key: r.get(0)?,
                workspace_no: r.get(1)?,
                root: r.get::<_, Option<String>>(2).unwrap_or(None),
                last_at: r.get(3)?,
                ended: r.get(4)?,
                lanes: Vec::new(),
            })
        })
        .optional()?;
    let Some(mut facts) = found else { return Ok(None) };
    // Sub-agents come first: their changes belong in the summary of the lane that started them.
    let mut statement =
        tx.prepare_cached("SELECT lane_no, lane FROM lanes WHERE session_no = ?1 ORDER BY lane = '', lane_no")?;
    let rows = statement.query_map([session_no], |r| Ok((r.get(0)?, r.get(1)?)))?;
    facts.lanes = rows.collect::<rusqlite::Result<_>>()?;
    Ok(Some(facts))
}

/// A program's unprocessed mark in a lane: where its context was cut, or where it started over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub boundary_no: BoundaryNo,
    pub record_no: RecordNo,
    pub is_compaction: bool,
    pub at: Option<Millis>,
}

/// Returns the unprocessed marks of a lane, in the order they were stored.
pub(super) fn marks(tx: &Read, session_no: SessionNo, lane_no: LaneNo) -> Result<Vec<Mark>> {
    let mut statement = tx.prepare_cached(
        "SELECT b.boundary_no, b.record_no, b.kind = 'compaction', b.at FROM boundaries b
         WHERE b.session_no = ?1 AND b.lane_no = ?2
           AND NOT EXISTS (SELECT 1 FROM compactions c WHERE c.boundary_no = b.boundary_no)
         ORDER BY b.record_no, b.boundary_no",
    )?;
    let rows = statement.query_map((session_no, lane_no), |r| {
        Ok(Mark { boundary_no: r.get(0)?, record_no: r.get(1)?, is_compaction: r.get(2)?, at: r.get(3)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
