//! Explains why each line is on a page, and what was left out (`heirloom head show --why`).

use super::{memory, thread};
use crate::error::Result;
use crate::ledger::Read;
use crate::pages::PageKey;
use crate::tree::AssistantHome;

/// A line of a page, or one that was left out, with the reason.
#[derive(Clone, PartialEq, Debug)]
pub struct Why {
    /// Heading above the line.
    pub section: String,
    /// Text of the line without list mark and reference.
    pub text: String,
    /// Reference that `heirloom expand` accepts for more detail.
    pub reference: Option<String>,
    /// Score, on pages that choose lines by score.
    pub score: Option<f64>,
    pub reasons: Vec<String>,
    /// Why the line is not on the page; `None` if it is on the page.
    pub left_out: Option<String>,
}

/// Returns each line of a page as it would be rendered now, with the reasons for it, followed by the lines left out and
/// why.
pub fn why(at: &AssistantHome, tx: &Read, head: &PageKey) -> Result<Vec<Why>> {
    match head {
        PageKey::Memory => Ok(memory::tier1(at, tx)?.into_iter().map(Why::from).collect()),
        PageKey::Thread(file) => thread::why(at, tx, file),
        _ => Ok(lines_of(&head.render(at, tx)?, rule(head))),
    }
}

/// Returns the rule by which a page of fixed queries chooses its lines.
fn rule(head: &PageKey) -> &'static str {
    match head {
        PageKey::Active => "the newest of its kind, at most ten of each",
        PageKey::Threads => "worked in last, at most forty",
        PageKey::AgentIndex | PageKey::WorkspaceIndex(_) => "every memory of the scope that is not superseded",
        PageKey::Daily(_) | PageKey::Rollup(_) => "it happened in this time",
        _ => "it belongs to the newest turns of its project or session",
    }
}

/// Returns the lines of rendered Markdown with their headings.
fn lines_of(page: &str, rule: &str) -> Vec<Why> {
    let (mut section, mut out) = (String::new(), Vec::new());
    for line in page.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if let Some(title) = line.strip_prefix('#') {
            section = title.trim_start_matches('#').trim().to_owned();
            continue;
        }
        let line = line.strip_prefix("- ").unwrap_or(line);
        let reference = super::edits::reference_in(line);
        let text = reference.as_ref().and_then(|r| line.strip_suffix(&format!(" · [{r}]"))).unwrap_or(line).to_owned();
        let reasons = vec![rule.to_owned()];
        out.push(Why { section: section.clone(), text, reference, score: None, reasons, left_out: None });
    }
    out
}
