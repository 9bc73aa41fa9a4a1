//! The end of the audit chain, remembered outside the ledger (R4.6).
//!
//! A chain proves that no row in it was changed; it does not prove that its newest rows are still there. So whoever
//! wrote notes the last row in a file of its own, `state/audit.head`, and `verify` looks for that row. The file is a
//! little behind while programs run: hooks write to the ledger and leave it to the next command.

use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::home::{Home, layout};
use crate::ledger::{Ledger, Read};

/// The number and hash of an audit row.
struct Anchor {
    no: i64,
    hash: String,
}

/// Notes the last row of the chain. A file that cannot be written is not worth an error: the older one still holds.
pub fn put(home: &Home, ledger: &Ledger) -> Result<()> {
    let last: Option<Anchor> = ledger.read(|tx| {
        let sql = "SELECT audit_no, lower(hex(hash)) FROM audit ORDER BY audit_no DESC LIMIT 1";
        Ok(tx.query_row(sql, [], |r| Ok(Anchor { no: r.get(0)?, hash: r.get(1)? })).optional()?)
    })?;
    let Some(last) = last else { return Ok(()) };
    home.remove(&layout::AUDIT_HEAD)?;
    home.write_new(&layout::AUDIT_HEAD, format!("{} {}\n", last.no, last.hash).as_bytes()).map(drop)
}

/// What is wrong with the chain's end, if the noted row is not in it.
pub fn broken(home: &Home, tx: &Read) -> Result<Option<String>> {
    let Some(bytes) = home.read(&layout::AUDIT_HEAD, 256)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let noted = text.trim().split_once(' ').and_then(|(no, hash)| Some((no.parse::<i64>().ok()?, hash.to_owned())));
    // A file a crash has cut short proves nothing.
    let Some((no, hash)) = noted.filter(|(_, hash)| hash.len() == 64) else { return Ok(None) };
    let found: Option<String> = tx
        .prepare_cached("SELECT lower(hex(hash)) FROM audit WHERE audit_no = ?1")?
        .query_row([no], |r| r.get(0))
        .optional()?;
    // Forgetting a name rewrites rows that have it, and says from which one on the chain is another.
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
