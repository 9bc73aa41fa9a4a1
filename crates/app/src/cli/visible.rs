//! What `status` and `doctor` say of the visible files.

use heirloom_engine::report::visible::VisibleReport;
use heirloom_engine::tree::file_table::Kind;

use crate::print;

/// `3 open loops, 2 proposals, 12 memories`.
pub fn summary(visible: &VisibleReport) -> String {
    let mut parts = Vec::new();
    for (n, one, several) in [
        (visible.count(Kind::OpenLoop), "open loop", "open loops"),
        (visible.count(Kind::Proposal) + visible.pending_memory, "proposal", "proposals"),
        (visible.count(Kind::Leaf), "memory", "memories"),
        (visible.count(Kind::Artifact), "artifact", "artifacts"),
        (visible.count(Kind::Daily), "daily note", "daily notes"),
    ] {
        match n {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            n => parts.push(format!("{} {several}", print::count(n))),
        }
    }
    if parts.is_empty() { "nothing open, nothing remembered".into() } else { parts.join(", ") }
}
