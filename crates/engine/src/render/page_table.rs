//! The form of each page in its file, and the function that renders it.

use super::{active, daily, edits, index, memory, rollup, runtime, session, thread, threads};
use crate::error::Result;
use crate::ledger::Read;
use crate::pages::PageKey;
use crate::tree::AssistantHome;

impl PageKey {
    /// Returns the name in the page's markers.
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

    /// Returns the attributes of the opening marker: a fingerprint of the block, which distinguishes an edited block
    /// from one just written and not yet recorded, and a note to the reader.
    pub(super) fn attributes(&self, content: &str) -> String {
        let word = match self {
            PageKey::Memory => "· edit freely: what you change here is kept as a proposal",
            _ => "· rendered: write above or below, not in here",
        };
        format!("{} {word}", edits::fingerprint(content.as_bytes()))
    }

    /// Returns the initial text of the file.
    pub(super) fn blank(&self) -> String {
        match self {
            PageKey::Active => "# Active\n\n".into(),
            PageKey::Memory => "# Memory\n\n".into(),
            PageKey::AgentIndex => "# Index of memory\n\n".into(),
            PageKey::WorkspaceIndex(id) => {
                format!("---\nscope: workspace/{id}\nformat: 1\n---\n# What is known of this project\n\n")
            }
            // Title and key are in the block, where they follow the thread when it is renamed; the front matter belongs
            // to the person.
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
