//! Which pages there are: their names, their places, what renders them.

use super::{active, daily, edits, index, memory, rollup, runtime, session, thread, threads};
use crate::error::Result;
use crate::home::{RelPath, layout};
use crate::ledger::Read;
use crate::scope::SessionNo;
use crate::tree::AssistantHome;

/// A page that is rendered.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Head {
    /// `continuity/ACTIVE.md`.
    Active,
    /// `MEMORY.md`, Tier 1.
    Memory,
    /// `memory/MEMORY.md`.
    AgentIndex,
    /// `memory/workspace/<id>/MEMORY.md`.
    WorkspaceIndex(String),
    /// The daily note of a date.
    Daily(jiff::civil::Date),
    /// `continuity/threads/<file>.md`, Tier 2, by the name of its file without the ending.
    Thread(String),
    /// `continuity/threads/INDEX.md`.
    Threads,
    /// `continuity/rollups/YYYY/…`: `YYYY-Www` or `YYYY-MM`.
    Rollup(String),
    /// `memory/workspace/<id>/runtime/…`.
    Runtime(String, RuntimePage),
    /// `memory/workspace/<id>/runtime/session-memory/<file>.md`: workspace, number of the session, name of the file
    /// without the ending.
    Session(String, SessionNo, String),
}

impl Head {
    /// The word in the table of heads.
    pub fn name(&self) -> String {
        match self {
            Head::Active => "active".into(),
            Head::Memory => "memory".into(),
            Head::AgentIndex => "index/agent".into(),
            Head::WorkspaceIndex(id) => format!("index/{id}"),
            Head::Daily(date) => format!("daily/{date}"),
            Head::Thread(file) => format!("thread/{file}"),
            Head::Threads => "threads".into(),
            Head::Rollup(period) => format!("rollup/{period}"),
            Head::Runtime(workspace, page) => format!("runtime/{workspace}/{}", page.name()),
            Head::Session(workspace, no, file) => format!("session/{workspace}/{no}/{file}"),
        }
    }

    pub fn parse(name: &str) -> Option<Head> {
        match name.split_once('/') {
            None if name == "active" => Some(Head::Active),
            None if name == "memory" => Some(Head::Memory),
            Some(("index", "agent")) => Some(Head::AgentIndex),
            Some(("index", id)) => Some(Head::WorkspaceIndex(id.to_owned())),
            Some(("daily", date)) => Some(Head::Daily(date.parse().ok()?)),
            None if name == "threads" => Some(Head::Threads),
            Some(("thread", file)) => Some(Head::Thread(file.to_owned())),
            Some(("rollup", period)) => rollup::Period::parse(period).map(|p| Head::Rollup(p.name())),
            Some(("runtime", rest)) => {
                let (workspace, page) = rest.split_once('/')?;
                Some(Head::Runtime(workspace.to_owned(), RuntimePage::parse(page)?))
            }
            Some(("session", rest)) => {
                let mut parts = rest.splitn(3, '/');
                let (workspace, no, file) = (parts.next()?, parts.next()?, parts.next()?);
                Some(Head::Session(workspace.to_owned(), SessionNo(no.parse().ok()?), file.to_owned()))
            }
            _ => None,
        }
    }

    /// Where it stands.
    pub fn path(&self) -> Result<RelPath> {
        match self {
            Head::Active => Ok(layout::ACTIVE),
            Head::Memory => Ok(layout::MEMORY_HEAD),
            Head::AgentIndex => Ok(layout::MEMORY_INDEX),
            Head::WorkspaceIndex(id) => layout::WORKSPACE_MEMORY.join(&format!("{id}/MEMORY.md")),
            Head::Daily(date) => layout::DAILY.join(&format!("{}/{date}.md", date.strftime("%Y/%m"))),
            Head::Thread(file) => layout::THREADS.join(&format!("{file}.md")),
            Head::Threads => layout::THREADS.join("INDEX.md"),
            Head::Rollup(period) => layout::ROLLUPS.join(&format!("{}/{period}.md", period.get(..4).unwrap_or("0000"))),
            Head::Runtime(workspace, page) => {
                layout::WORKSPACE_MEMORY.join(&format!("{workspace}/runtime/{}.md", page.name()))
            }
            Head::Session(workspace, _, file) => {
                layout::WORKSPACE_MEMORY.join(&format!("{workspace}/runtime/session-memory/{file}.md"))
            }
        }
    }

    /// The name in its markers.
    pub(super) fn region(&self) -> &'static str {
        match self {
            Head::Active => "active",
            Head::Memory => "head",
            Head::AgentIndex | Head::WorkspaceIndex(_) => "index",
            Head::Daily(_) => "daily",
            Head::Thread(_) => "thread",
            Head::Threads => "threads",
            Head::Rollup(_) => "rollup",
            Head::Runtime(..) => "runtime",
            Head::Session(..) => "session",
        }
    }

    /// What the opening marker says: a fingerprint of the block, so that an edited one can be told from one we have just
    /// written and not recorded yet, and a word to whoever finds it.
    pub(super) fn attributes(&self, content: &str) -> String {
        let word = match self {
            Head::Memory => "· edit freely: what you change here is kept as a proposal",
            _ => "· rendered: write above or below, not in here",
        };
        format!("{} {word}", edits::fingerprint(content.as_bytes()))
    }

    /// The file where there is none yet.
    pub(super) fn blank(&self) -> String {
        match self {
            Head::Active => "# Active\n\n".into(),
            Head::Memory => "# Memory\n\n".into(),
            Head::AgentIndex => "# Index of memory\n\n".into(),
            Head::WorkspaceIndex(id) => {
                format!("---\nscope: workspace/{id}\nformat: 1\n---\n# What is known of this project\n\n")
            }
            // Its title and key stand in the block: they follow the thread when it is renamed, front matter is the human's.
            Head::Thread(_) => "---\nformat: 1\n---\n\n".into(),
            Head::Threads => "# Threads\n\n".into(),
            Head::Rollup(period) => format!(
                "---\nperiod: \"{period}\"\nformat: 1\n---\n# {}\n\n",
                rollup::Period::parse(period).map_or_else(|| period.clone(), |p| p.title())
            ),
            Head::Runtime(_, page) => format!("# {}\n\nOf the moment, not memory.\n\n", page.title()),
            Head::Session(..) => "# To resume this session\n\nOf the moment, not memory.\n\n".into(),
            Head::Daily(date) => {
                format!("---\ndate: \"{date}\"\nformat: 1\n---\n# {}\n\n", date.strftime("%A, %-d %B %Y"))
            }
        }
    }

    pub(super) fn render(&self, at: &AssistantHome, tx: &Read) -> Result<String> {
        match self {
            Head::Active => active::render(at, tx),
            Head::Memory => memory::render(at, tx),
            Head::AgentIndex => index::render(at, tx, "agent"),
            Head::WorkspaceIndex(id) => index::render(at, tx, &format!("workspace/{id}")),
            Head::Daily(date) => daily::render(at, tx, *date),
            Head::Thread(file) => thread::render(at, tx, file),
            Head::Threads => threads::render(at, tx),
            Head::Rollup(period) => rollup::render(at, tx, period),
            Head::Runtime(workspace, page) => runtime::render(at, tx, workspace, *page),
            Head::Session(_, no, _) => session::render(at, tx, *no),
        }
    }
}

/// Volatile pages of a project.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RuntimePage {
    LatestTurn,
    Blockers,
    RecentTurns,
}

impl RuntimePage {
    pub const ALL: [RuntimePage; 3] = [RuntimePage::LatestTurn, RuntimePage::Blockers, RuntimePage::RecentTurns];

    /// The name of its file, without the ending.
    pub fn name(self) -> &'static str {
        match self {
            RuntimePage::LatestTurn => "latest-turn",
            RuntimePage::Blockers => "blockers",
            RuntimePage::RecentTurns => "recent-turns",
        }
    }

    pub fn parse(name: &str) -> Option<RuntimePage> {
        RuntimePage::ALL.into_iter().find(|p| p.name() == name)
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            RuntimePage::LatestTurn => "Latest turn",
            RuntimePage::Blockers => "Blockers",
            RuntimePage::RecentTurns => "Recent turns",
        }
    }
}
