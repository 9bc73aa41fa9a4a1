//! State of the visible files, for `status` and `doctor`.

use heirloom_engine::engine::Engine;
use heirloom_engine::error::Result;
use heirloom_engine::report::visible::VisibleReport;
use heirloom_engine::tree::file_table::Kind;

use crate::print;

/// Returns the state of the visible files; `None` if there are none yet.
pub fn look(engine: &Engine) -> Result<Option<VisibleReport>> {
    engine.look()?.map(|(at, problems)| VisibleReport::of(&at, &problems)).transpose()
}

/// Returns the counts of visible files: `3 open loops, 2 proposals, 12 memories`.
pub fn summary(visible: &VisibleReport) -> String {
    let count = |kind| visible.count(kind);
    let counts = [
        (count(Kind::OpenLoop), "open loop", "open loops"),
        (count(Kind::Proposal) + visible.pending_memory, "proposal", "proposals"),
        (count(Kind::Leaf), "memory", "memories"),
        (count(Kind::Artifact), "artifact", "artifacts"),
        (count(Kind::Daily), "daily note", "daily notes"),
    ];
    let worded = counts.iter().filter(|(n, ..)| *n > 0).map(|(n, one, several)| match n {
        1 => format!("1 {one}"),
        n => format!("{} {several}", print::count(*n)),
    });
    let parts: Vec<String> = worded.collect();
    if parts.is_empty() { "nothing open, nothing remembered".into() } else { parts.join(", ") }
}
