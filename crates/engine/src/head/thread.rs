//! A thread's head, Tier 2 (R7.2).

use crate::assistant::AssistantHome;
use crate::error::Result;
use crate::ledger::Read;

pub(super) fn render(_at: &AssistantHome, _tx: &Read, _file: &str) -> Result<String> {
    Ok(String::new())
}
