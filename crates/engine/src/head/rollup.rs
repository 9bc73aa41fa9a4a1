//! Weekly and monthly rollups, rendered from the lineage (R6.9).

use crate::assistant::AssistantHome;
use crate::error::Result;
use crate::ledger::Read;

pub(super) fn render(_at: &AssistantHome, _tx: &Read, _period: &str) -> Result<String> {
    Ok(String::new())
}
