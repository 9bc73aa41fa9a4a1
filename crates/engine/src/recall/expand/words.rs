//! The turns below a node, page by page, until all have been given (R6.8).

use rusqlite::{OptionalExtension, params};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::lineage::walk::Stretch;
use crate::redact::redact;
use crate::scope::{AgentNo, NodeId, SessionNo, TurnId};
use crate::transcript::read::{self, Turn};

/// Turns in a page by default.
pub const TURNS: usize = 20;

/// The most turns in a page.
pub const MOST_TURNS: usize = 1_000;

/// Bytes of text per turn of a page: 8 KiB for [`TURNS`].
const BYTES_A_TURN: usize = 8 * 1024 / TURNS;

/// A turn, or a part of a turn that is longer than a page.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct Passage {
    /// Turn with the given part of its text, credentials redacted; the original bytes are in its record.
    #[serde(flatten)]
    pub turn: Turn,
    /// Start, end and total length in bytes, if only a part of the turn is given.
    #[schemars(with = "Option<PartOfTurn>")]
    #[serde(serialize_with = "as_part")]
    pub part: Option<(usize, usize, usize)>,
    /// Whether the turn is on a branch that its program abandoned.
    pub abandoned: bool,
    /// Whether its text was forgotten.
    pub forgotten: bool,
    /// Turn that should come before this one, if this one arrived late.
    pub belongs_behind: Option<TurnId>,
}

/// The part of a turn's text that is given, in bytes: start, total length, end.
#[derive(Serialize, JsonSchema)]
struct PartOfTurn {
    from: usize,
    of: usize,
    to: usize,
}

fn as_part<S: Serializer>(part: &Option<(usize, usize, usize)>, to: S) -> std::result::Result<S::Ok, S::Error> {
    part.map(|(from, to, of)| PartOfTurn { from, of, to }).serialize(to)
}

/// A page of turns.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Transcript {
    pub turns: Vec<Passage>,
    /// Cursor of the next page; `None` on the last.
    pub next: Option<String>,
}

/// The turns that are asked for.
pub(super) enum Words<'a> {
    /// The turns of the chunks below a node.
    Stretches(&'a [Stretch]),
    /// The turns of a session, in the order of its records, including records shared with another session.
    Session(SessionNo),
    Turn(TurnId),
}

/// The position at which a page begins.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cursor {
    stretch: i64,
    turn: i64,
    /// Offset in the redacted text.
    byte: usize,
}

impl Cursor {
    fn parse(text: &str) -> Option<Cursor> {
        let mut parts = text.strip_prefix('w')?.split('.');
        let mut number = || i64::from_str_radix(parts.next()?, 36).ok().filter(|n| *n >= 0);
        let cursor = Cursor { stretch: number()?, turn: number()?, byte: usize::try_from(number()?).ok()? };
        parts.next().is_none().then_some(cursor)
    }

    fn print(self) -> String {
        format!("w{}.{}.{}", base36(self.stretch), base36(self.turn), base36(self.byte as i64))
    }
}

fn base36(mut n: i64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(n % 36) as usize]);
        n /= 36;
        if n == 0 {
            break;
        }
    }
    digits.reverse();
    String::from_utf8(digits).unwrap_or_default()
}

fn misplaced() -> Error {
    Error::usage("this cursor does not belong here, or what it pointed to is gone")
        .hint("begin again without --cursor, and go on with the one each page ends with")
}

/// Returns the page that begins at `cursor`. A turn is split only if it alone is longer than a page.
pub(super) fn page(
    tx: &Read,
    opener: &Opener,
    agent_no: AgentNo,
    words: &Words,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Transcript> {
    let cursor = cursor.map(|c| Cursor::parse(c).ok_or_else(misplaced)).transpose()?;
    let limit = limit.clamp(1, MOST_TURNS);
    let mut page =
        Page { tx, opener, agent_no, limit, room: BYTES_A_TURN * limit.max(TURNS), out: Transcript::default() };
    let mut begun = cursor.is_none();
    let stretches: Vec<Option<&Stretch>> = match words {
        Words::Stretches(all) => all.iter().map(Some).collect(),
        _ => vec![None],
    };
    for stretch in stretches {
        let no = stretch.map_or(0, |s| s.node.0);
        if cursor.is_some_and(|c| !begun && c.stretch != no) {
            continue;
        }
        let turns = match (stretch, words) {
            (Some(stretch), _) => turns_of(tx, stretch)?,
            (None, Words::Session(session)) => turns_of_session(tx, *session)?,
            (None, Words::Turn(turn)) => vec![*turn],
            (None, Words::Stretches(_)) => Vec::new(),
        };
        let late = stretch.map(|s| late(tx, s.node)).transpose()?.unwrap_or_default();
        for turn in turns {
            let mut byte = 0;
            if let Some(at) = cursor.filter(|_| !begun) {
                if at.turn != turn.0 {
                    continue;
                }
                (begun, byte) = (true, at.byte);
            }
            if !page.take(no, turn, byte, &late)? {
                return Ok(page.out);
            }
        }
    }
    if begun { Ok(page.out) } else { Err(misplaced()) }
}

struct Page<'a> {
    tx: &'a Read<'a>,
    opener: &'a Opener,
    agent_no: AgentNo,
    limit: usize,
    room: usize,
    out: Transcript,
}

impl Page<'_> {
    /// Adds a turn to the page, from byte `from` on. Returns `false` if the page is full; its `next` is then set.
    fn take(&mut self, stretch: i64, id: TurnId, from: usize, late: &[(TurnId, TurnId)]) -> Result<bool> {
        let full = |byte| Some(Cursor { stretch, turn: id.0, byte }.print());
        if self.out.turns.len() >= self.limit {
            self.out.next = full(from);
            return Ok(false);
        }
        // All turns of a session belong to one agent; a turn of another agent is skipped.
        let Some(mut turn) = read::find_turn(self.tx, self.opener, self.agent_no, id)? else { return Ok(true) };
        let (forgotten, abandoned) = marks(self.tx, id)?;
        // Redact the whole text before splitting it: half of a credential would not be recognised.
        let text = if forgotten { String::new() } else { redact(&turn.text).into_owned() };
        let rest = text.get(from..).ok_or_else(misplaced)?;
        if rest.is_empty() && from > 0 {
            return Err(misplaced());
        }
        let used: usize = self.out.turns.iter().map(|p| p.turn.text.len()).sum();
        let left = self.room.saturating_sub(used);
        if rest.len() > left && !self.out.turns.is_empty() {
            self.out.next = full(from);
            return Ok(false);
        }
        let to = from + rest.floor_char_boundary(left.min(rest.len()));
        let whole = to == text.len();
        turn.text = text[from..to].to_owned();
        let part = (from > 0 || !whole).then_some((from, to, text.len()));
        let belongs_behind = late.iter().find(|(t, _)| *t == id).map(|(_, behind)| *behind);
        self.out.turns.push(Passage { turn, part, abandoned, forgotten, belongs_behind });
        if !whole {
            self.out.next = full(to);
        }
        Ok(whole)
    }
}

/// Returns whether a turn was forgotten, and whether it is on a branch that its program abandoned.
pub(super) fn marks(tx: &Read, id: TurnId) -> Result<(bool, bool)> {
    Ok(tx
        .prepare_cached(
            "SELECT t.forgotten IS NOT NULL, r.left_by IS NOT NULL FROM turns t JOIN turn_results r USING (run_no)
             WHERE t.turn_no = ?1",
        )?
        .query_row([id.0], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?
        .unwrap_or_default())
}

fn turns_of(tx: &Read, stretch: &Stretch) -> Result<Vec<TurnId>> {
    let mut statement = tx.prepare_cached(
        "SELECT turn_no FROM turns WHERE session_no = ?1 AND turn_no BETWEEN ?2 AND ?3 AND lane_no = ?4 ORDER BY turn_no",
    )?;
    let (first, last) = stretch.turns;
    let rows = statement.query_map(params![stretch.session_no, first.0, last.0, stretch.lane_no], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn turns_of_session(tx: &Read, session_no: SessionNo) -> Result<Vec<TurnId>> {
    let mut statement = tx.prepare_cached(
        "SELECT no FROM (
           SELECT turn_no AS no, record_no AS place, lane_no AS in_lane FROM turns WHERE session_no = ?1
           UNION ALL
           SELECT turn_no, record_no, lane_no FROM turn_references WHERE session_no = ?1) p
         JOIN lanes l ON l.lane_no = p.in_lane ORDER BY l.lane != '', p.in_lane, place, no",
    )?;
    let rows = statement.query_map([session_no], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn late(tx: &Read, chunk: NodeId) -> Result<Vec<(TurnId, TurnId)>> {
    let late: Option<String> = tx
        .prepare_cached("SELECT late FROM nodes WHERE node_no = ?1")?
        .query_row([chunk.0], |r| r.get(0))
        .optional()?
        .flatten();
    Ok(late.and_then(|l| serde_json::from_str(&l).ok()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back() {
        for cursor in [
            Cursor { stretch: 0, turn: 1, byte: 0 },
            Cursor { stretch: 36, turn: i64::MAX, byte: 8_191 },
            Cursor { stretch: 99_999, turn: 35, byte: 1 << 30 },
        ] {
            assert_eq!(Cursor::parse(&cursor.print()), Some(cursor));
        }
        for bad in ["", "w", "w1", "w1.2", "w1.2.3.4", "1.2.3", "w-1.2.3", "w1.2.ß", "w1..3"] {
            assert_eq!(Cursor::parse(bad), None, "{bad}");
        }
    }
}
