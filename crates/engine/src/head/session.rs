//! What a session is about, for whoever resumes it (R5.2).

use crate::assistant::AssistantHome;
use crate::error::Result;
use crate::ledger::Read;

pub(super) fn render(_at: &AssistantHome, _tx: &Read, _session_no: i64) -> Result<String> {
    Ok(String::new())
}
