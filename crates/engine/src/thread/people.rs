//! The people taking part in a conversation, other than the operator and assistants.

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::USER;
use crate::scope::{AgentNo, SessionNo};
use crate::title::TitleKey;

/// Largest number of names read of a session.
const NAMES: i64 = 64;

/// Returns the names of the people in a session other than the operator, sorted; names that differ only in case count
/// as one. A name that has spoken as an assistant, a tool or a system is not a person; the profile says which name is
/// the operator's.
pub(super) fn others(tx: &Read, agent_no: AgentNo, session_no: SessionNo) -> Result<Vec<String>> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT n.name FROM participants p JOIN names n USING (name_no)
         WHERE p.session_no = ?1 AND NOT EXISTS (
           SELECT 1 FROM turns t WHERE t.session_no = ?1 AND t.speaker_no = p.name_no
             AND t.speaker_no IS NOT NULL AND t.role > {USER})
         ORDER BY p.name_no LIMIT ?2"
    ))?;
    let mut people: Vec<(String, String)> = Vec::new();
    let mut rows = statement.query(params![session_no, NAMES])?;
    while let Some(r) = rows.next()? {
        let name: String = r.get(0)?;
        // A name without a visible character is ignored.
        if let Ok(key) = TitleKey::of(&name) {
            people.push((key.as_str().to_lowercase(), name));
        }
    }
    if people.is_empty() {
        return Ok(Vec::new());
    }
    let operator: Option<String> = tx
        .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = 'name'")?
        .query_row([agent_no], |r| r.get(0))
        .optional()?;
    if let Some(operator) = operator.and_then(|name| TitleKey::of(&name).ok()) {
        people.retain(|(key, _)| *key != operator.as_str().to_lowercase());
    }
    people.sort();
    people.dedup_by(|a, b| a.0 == b.0);
    Ok(people.into_iter().map(|(_, name)| name).collect())
}
