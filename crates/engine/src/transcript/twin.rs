//! Messages stored as two turns, by older builds: an echo and the record it repeats each made a turn. Homes from that
//! time keep both turns, and the echo's turn is neither indexed nor found beside the other.

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::scope::TurnId;

/// Most turns between an echo's turn and the turn of the record it repeats.
const AHEAD: i64 = 16;

/// If an echo made this turn, returns the record's turn with the same run, speaker and text.
pub fn of_echo(tx: &Read, opener: &Opener, turn_no: TurnId) -> Result<Option<TurnId>> {
    let made_by_echo = tx
        .prepare_cached(
            "SELECT 1 FROM turns t JOIN witnesses w ON w.turn_no = t.turn_no AND w.record_no = t.record_no
             WHERE t.turn_no = ?1 AND w.echo",
        )?
        .exists([turn_no])?;
    if !made_by_echo {
        return Ok(None);
    }
    let mut twins = tx.prepare_cached(
        "SELECT o.turn_no, o.block_no, o.text_offset, t.block_no, t.text_offset, t.text_length
         FROM turns t JOIN turns o ON o.turn_no BETWEEN t.turn_no + 1 AND t.turn_no + ?2
         WHERE t.turn_no = ?1 AND o.run_no = t.run_no AND o.role = t.role AND o.kind = t.kind
           AND o.text_length = t.text_length AND o.forgotten IS NULL AND NOT EXISTS (
             SELECT 1 FROM witnesses w WHERE w.turn_no = o.turn_no AND w.record_no = o.record_no AND w.echo)
         ORDER BY o.turn_no LIMIT 1",
    )?;
    let found = twins
        .query_row(params![turn_no, AHEAD], |r| {
            Ok((r.get::<_, TurnId>(0)?, (r.get(1)?, r.get(2)?), (r.get(3)?, r.get(4)?), r.get(5)?))
        })
        .optional()?;
    let Some((twin, (its_block, its_offset), (block, offset), length)) = found else { return Ok(None) };
    let same = opener.slice(tx, its_block, its_offset, length)? == opener.slice(tx, block, offset, length)?;
    Ok(same.then_some(twin))
}
