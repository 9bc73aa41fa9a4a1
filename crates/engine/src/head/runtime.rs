//! Volatile pages of a project: its latest turn, what blocks it, its recent turns (R5.2).

use crate::assistant::AssistantHome;
use crate::error::Result;
use crate::ledger::Read;

pub(super) fn render(_at: &AssistantHome, _tx: &Read, _workspace: &str, _page: super::RuntimePage) -> Result<String> {
    Ok(String::new())
}
