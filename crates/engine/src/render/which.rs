//! What each page looks like in its file, and which function renders it.

use super::{active, daily, edits, index, memory, rollup, runtime, session, thread, threads};
use crate::error::Result;
use crate::ledger::Read;
use crate::pages::PageKey;
use crate::tree::AssistantHome;

impl PageKey {
    /// The name in its markers.
    pub(super) fn region(&self) -> &'static str {
        match self {
            PageKey::Active => "active",
            PageKey::Memory => "head",
            PageKey::AgentIndex | PageKey::WorkspaceIndex(_) => "index",
            PageKey::Daily(_) => "daily",
            PageKey::Thread(_) => "thread",
            PageKey::Threads => "threads",
            PageKey::Rollup(_) => "rollup",
            PageKey::Runtime(..) => "runtime",
            PageKey::Session(..) => "session",
        }
    }

    /// What the opening marker says: a fingerprint of the block, so that an edited one can be told from one we have just
    /// written and not recorded yet, and a word to whoever finds it.
    pub(super) fn attributes(&self, content: &str) -> String {
        let word = match self {
            PageKey::Memory => "· edit freely: what you change here is kept as a proposal",
            _ => "· rendered: write above or below, not in here",
        };
        format!("{} {word}", edits::fingerprint(content.as_bytes()))
    }

    /// The file where there is none yet.
    pub(super) fn blank(&self) -> String {
        match self {
            PageKey::Active => "# Active\n\n".into(),
            PageKey::Memory => "# Memory\n\n".into(),
            PageKey::AgentIndex => "# Index of memory\n\n".into(),
            PageKey::WorkspaceIndex(id) => {
                format!("---\nscope: workspace/{id}\nformat: 1\n---\n# What is known of this project\n\n")
            }
            // Its title and key stand in the block: they follow the thread when it is renamed, front matter is the human's.
            PageKey::Thread(_) => "---\nformat: 1\n---\n\n".into(),
            PageKey::Threads => "# Threads\n\n".into(),
            PageKey::Rollup(period) => format!("---\nperiod: \"{period}\"\nformat: 1\n---\n# {}\n\n", period.title()),
            PageKey::Runtime(_, page) => format!("# {}\n\nOf the moment, not memory.\n\n", page.title()),
            PageKey::Session(..) => "# To resume this session\n\nOf the moment, not memory.\n\n".into(),
            PageKey::Daily(date) => {
                format!("---\ndate: \"{date}\"\nformat: 1\n---\n# {}\n\n", date.strftime("%A, %-d %B %Y"))
            }
        }
    }

    pub(super) fn render(&self, at: &AssistantHome, tx: &Read) -> Result<String> {
        match self {
            PageKey::Active => active::render(at, tx),
            PageKey::Memory => memory::render(at, tx),
            PageKey::AgentIndex => index::render(at, tx, "agent"),
            PageKey::WorkspaceIndex(id) => index::render(at, tx, &format!("workspace/{id}")),
            PageKey::Daily(date) => daily::render(at, tx, *date),
            PageKey::Thread(file) => thread::render(at, tx, file),
            PageKey::Threads => threads::render(at, tx),
            PageKey::Rollup(period) => rollup::render(at, tx, *period),
            PageKey::Runtime(workspace, page) => runtime::render(at, tx, workspace, *page),
            PageKey::Session(_, no, _) => session::render(at, tx, *no),
        }
    }
}
