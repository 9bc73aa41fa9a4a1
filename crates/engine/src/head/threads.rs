//! The index of threads (R7.2).

use crate::assistant::AssistantHome;
use crate::error::Result;
use crate::ledger::Read;

pub(super) fn render(_at: &AssistantHome, _tx: &Read) -> Result<String> {
    Ok(String::new())
}
