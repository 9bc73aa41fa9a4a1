//! The newest row of the audit chain, noted outside the ledger (R4.6).
//!
//! The chain proves that no row in it was changed; it does not prove that its newest rows are still there. So a process
//! that wrote notes the newest row in a separate file, `state/audit.head`, and `verify` looks for that row. The file
//! lags a little while programs run: hooks write to the ledger and leave this file to the next command.

use rusqlite::OptionalExtension;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::home::{Home, layout};
use crate::ledger::{Ledger, Read};

/// The number and hash of an audit row. Noted elsewhere (on paper, in a mail), it shows later that the chain up to this
/// row is the same.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct Anchor {
    pub no: i64,
    /// In hex.
    pub hash: String,
}

/// Returns the newest row of the chain; `None` in a ledger nothing was written to.
pub fn newest(tx: &Read) -> Result<Option<Anchor>> {
    let sql = "SELECT audit_no, lower(hex(hash)) FROM audit ORDER BY audit_no DESC LIMIT 1";
    Ok(tx.prepare_cached(sql)?.query_row([], |r| Ok(Anchor { no: r.get(0)?, hash: r.get(1)? })).optional()?)
}

/// Notes the newest row of the chain. A file that cannot be written is no error: the older note still holds.
pub fn put(home: &Home, ledger: &Ledger) -> Result<()> {
    let last = ledger.read(newest)?;
    let Some(last) = last else { return Ok(()) };
    home.remove(&layout::AUDIT_HEAD)?;
    home.write_new(&layout::AUDIT_HEAD, format!("{} {}\n", last.no, last.hash).as_bytes()).map(drop)
}

/// Verdict of the noted row about the chain.
pub enum Anchored {
    /// The row is in the chain, or nothing was written yet.
    Found,
    /// The row is not in the chain: a description of the damage.
    Broken(String),
    /// The file notes no row.
    Unreadable(String),
    /// There is no file. A command that was killed may have left none, so this is no damage.
    Missing(String),
}

/// Meaning of a missing or unreadable note.
const UNKNOWN: &str = "whether the newest rows of the audit are still there cannot be told; the next command that writes notes them again";

/// Looks for the noted row in the chain.
pub fn look(home: &Home, tx: &Read) -> Result<Anchored> {
    let is_written = newest(tx)?.is_some();
    let bytes = match home.read(&layout::AUDIT_HEAD, 256) {
        Ok(None) if is_written => return Ok(Anchored::Missing(format!("is not there: {UNKNOWN}"))),
        Ok(None) => return Ok(Anchored::Found),
        Ok(Some(bytes)) => bytes,
        Err(e) => return Ok(Anchored::Unreadable(format!("cannot be read: {e}; {UNKNOWN}"))),
    };
    let text = String::from_utf8_lossy(&bytes);
    let noted = text.trim().split_once(' ').and_then(|(no, hash)| Some((no.parse::<i64>().ok()?, hash.to_owned())));
    let Some((no, hash)) = noted.filter(|(_, hash)| hash.len() == 64) else {
        return Ok(Anchored::Unreadable(format!("has no number and hash of a row: {UNKNOWN}")));
    };
    let found: Option<String> = tx
        .prepare_cached("SELECT lower(hex(hash)) FROM audit WHERE audit_no = ?1")?
        .query_row([no], |r| r.get(0))
        .optional()?;
    // Forgetting a name rewrites rows and rehashes the chain, and its audit row says from which row on.
    let rechained = tx
        .prepare_cached(
            "SELECT 1 FROM audit WHERE audit_no > ?1 AND action = 'transcript.forget' AND detail ->> 'rechained_from' <= ?1",
        )?
        .exists([no])?;
    Ok(match found {
        Some(found) if found == hash || rechained => Anchored::Found,
        Some(_) => Anchored::Broken(format!("row {no} is not the one noted in {}", layout::AUDIT_HEAD)),
        None => {
            let last: i64 = tx.query_row("SELECT coalesce(max(audit_no), 0) FROM audit", [], |r| r.get(0))?;
            Anchored::Broken(format!(
                "the rows behind {last} are gone: {} has row {no}; was an older copy of the ledger put back?",
                layout::AUDIT_HEAD
            ))
        }
    })
}
