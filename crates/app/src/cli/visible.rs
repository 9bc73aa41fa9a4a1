//! What `status` and `doctor` have to say of the visible files.

use heirloom_engine::error::{Problem, Result};
use heirloom_engine::home::LionClaw;
use heirloom_engine::memory::pending;
use heirloom_engine::render;
use heirloom_engine::tree::file_table::{self, Kind};
use heirloom_engine::tree::{AssistantHome, journal, revise};
use serde_json::{Value, json};

use crate::context::Context;
use crate::print;

/// For so long `status` speaks of words that were kept aside.
const NEWS_MS: i64 = 7 * 24 * 3_600_000;

/// The files of the agent, counted, and what is wrong with them.
pub struct Visible {
    pub root: String,
    counts: Vec<(Kind, u64)>,
    pending: u64,
    /// What is wrong, with what to do about it.
    pub wrong: Vec<String>,
    /// What should be known and is not wrong.
    pub notes: Vec<String>,
}

/// Looks at the files; `None` where there are none yet.
pub fn look(context: &Context, actor: &str) -> Result<Option<Visible>> {
    let looked = context.look_at_assistant(actor)?;
    looked.map(|(at, problems)| of(context, &at, &problems)).transpose()
}

/// What a look at the files came to.
pub fn of(context: &Context, at: &AssistantHome, problems: &[Problem]) -> Result<Visible> {
    let mut wrong: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let mut notes = Vec::new();
    let (counts, pending, troubled, unfinished) = at.read(|tx| {
        Ok((
            file_table::counts(tx, at.agent_no)?,
            pending::waiting_count(tx, at.agent_no)?,
            file_table::troubled(tx, at.agent_no)?,
            journal::unfinished(tx, at.agent_no)?,
        ))
    })?;
    for file in troubled {
        wrong.push(format!("{}: {}", at.shown(&file.path), file.problem.unwrap_or_default()));
    }
    for left in unfinished {
        let why = left.last_error.map_or("another command may be at it".to_owned(), |e| e);
        wrong.push(format!("{} is stored and not finished: {why}; the next command tries again", left.action));
    }
    notes.extend(render::marker_faults(at)?.iter().map(ToString::to_string));
    let since = context.now() - NEWS_MS;
    let kept = at.read(|tx| revise::found_by_scan(tx, at.agent_no, since, 3))?;
    notes.extend(kept.into_iter().map(|(no, path, why)| {
        format!("words of yours in {path} were kept aside ({why}): heirloom show --revision {no}")
    }));
    match context.home().lionclaw()? {
        LionClaw::Absent => {}
        LionClaw::Present => notes.push("this home is LionClaw's, too; lionclaw.db is left alone".into()),
        LionClaw::Running => {
            notes.push("LionClaw is running on this home: it writes the same pages; let one of the two do it".into());
        }
    }
    Ok(Visible { root: at.files.shown().display().to_string(), counts, pending, wrong, notes })
}

impl Visible {
    fn count(&self, kind: Kind) -> u64 {
        self.counts.iter().find(|(k, _)| *k == kind).map_or(0, |(_, n)| *n)
    }

    /// `3 open loops, 2 proposals, 12 memories`.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        for (n, one, several) in [
            (self.count(Kind::OpenLoop), "open loop", "open loops"),
            (self.count(Kind::Proposal) + self.pending, "proposal", "proposals"),
            (self.count(Kind::Leaf), "memory", "memories"),
            (self.count(Kind::Artifact), "artifact", "artifacts"),
            (self.count(Kind::Daily), "daily note", "daily notes"),
        ] {
            match n {
                0 => {}
                1 => parts.push(format!("1 {one}")),
                n => parts.push(format!("{} {several}", print::count(n))),
            }
        }
        if parts.is_empty() { "nothing open, nothing remembered".into() } else { parts.join(", ") }
    }

    pub fn to_json(&self) -> Value {
        let mut kinds = serde_json::Map::new();
        for kind in Kind::ALL {
            kinds.insert(kind.name().into(), self.count(*kind).into());
        }
        json!({"root": self.root, "files": kinds, "pending_memory": self.pending, "notes": self.notes})
    }
}
