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

/// Returns a description of the damage if the noted row is not in the chain.
pub fn broken(home: &Home, tx: &Read) -> Result<Option<String>> {
    let Some(bytes) = home.read(&layout::AUDIT_HEAD, 256)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let noted = text.trim().split_once(' ').and_then(|(no, hash)| Some((no.parse::<i64>().ok()?, hash.to_owned())));
    // A crash may have cut the file short; it then proves nothing.
    let Some((no, hash)) = noted.filter(|(_, hash)| hash.len() == 64) else { return Ok(None) };
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
        Some(found) if found == hash || rechained => None,
        Some(_) => Some(format!("row {no} is not the one noted in {}", layout::AUDIT_HEAD)),
        None => {
            let last: i64 = tx.query_row("SELECT coalesce(max(audit_no), 0) FROM audit", [], |r| r.get(0))?;
            Some(format!(
                "the rows behind {last} are gone: {} has row {no}; was an older copy of the ledger put back?",
                layout::AUDIT_HEAD
            ))
        }
    })
}
