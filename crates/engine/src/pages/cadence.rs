//! Decides when each page is marked for rendering (R7.3): one function from an event to the pages that show it.
//!
//! | event | `MEMORY.md` | `ACTIVE.md` | thread page | thread index | memory index | day | week, month | project, session |
//! |---|---|---|---|---|---|---|---|---|
//! | turns are stored | yes | yes | those of their sessions | yes | | yes | | yes |
//! | a result is stored, a run is closed | | | | | | | | yes |
//! | nodes are stored | | | | | | yes | yes | yes |
//! | a session ends, a compaction | yes | yes | those touched | yes | | yes | yes | |
//! | nodes are condensed | yes | yes | its own | yes | | | | |
//! | a loop or a proposal changes | yes | yes | its own, when pages are rendered next | then | | | if known | if known |
//! | a memory or the profile changes | yes | yes | | | yes | | | |
//! | a person edits the file of a memory | yes | | | | yes | | | |
//! | something is noticed, an artifact changes | | yes | | | | | | |
//! | a job runs, someone asks for a channel | | yes | | | | yes | | |
//! | a thread is made | | | | yes | | | | |
//! | a thread is renamed, merged, closed, linked | yes | | those named | yes | | | | |
//! | the time zone moves | yes | yes | | | | all | all | all |
//! | something is forgotten, another tree is adopted | all pages there are |
//!
//! A page is only marked, in the transaction that changes what it shows; the next command renders it. Finding the
//! thread of a loop or a proposal takes lookups, so its page is marked when pages are rendered, from the file changes
//! since the last time ([`Cursor::Owed`](super::Cursor)); with it the week and month in which it was opened and the pages
//! of the session in which it was said, if there are any.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::{PageKey, Period, RuntimePage};
use crate::scope::SessionNo;

/// An event that puts pages out of date. Threads are named by the file of their page (without the extension), projects
/// by their workspace id; days are those of the operator's time zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happened {
    /// Turns were stored. This concerns the days that show their sessions, the sessions that were active lately, and
    /// their threads, because pages show work while it goes on.
    TurnsStored {
        days: BTreeSet<Date>,
        sessions: Vec<SessionPlace>,
        /// Threads in which these sessions go on.
        threads: Vec<String>,
    },
    /// A program reported how a turn of these sessions ended.
    ResultStored {
        sessions: Vec<SessionPlace>,
    },
    /// Runs of these sessions were closed because no more events arrived.
    RunsClosed {
        sessions: Vec<SessionPlace>,
    },
    /// Nodes were stored: the days they belong to, those of the days that have a note or get one, and their sessions.
    NodesStored {
        days: BTreeSet<Date>,
        noted: BTreeSet<Date>,
        sessions: Vec<SessionPlace>,
    },
    SessionEnded {
        threads: Vec<String>,
        days: BTreeSet<Date>,
    },
    Compacted {
        threads: Vec<String>,
        days: BTreeSet<Date>,
    },
    /// Nodes of a thread were condensed into one node.
    Condensed {
        threads: Vec<String>,
    },
    LoopChanged,
    ProposalChanged,
    /// Loops or proposals of these threads changed since the pages were last rendered, with the days on which they were
    /// opened and the sessions in which they were said.
    OwedChanged {
        threads: Vec<String>,
        opened: BTreeSet<Date>,
        sessions: Vec<SessionPlace>,
    },
    /// A loop or a proposal no longer names these threads.
    OwedLeft {
        threads: Vec<String>,
    },
    MemoryChanged {
        workspace: Option<String>,
    },
    /// A person edited the file of a memory.
    MemoryEdited {
        workspace: Option<String>,
    },
    /// Something was noticed about the person, or such a notice was accepted or dismissed.
    NoticeChanged,
    ArtifactChanged,
    /// A scheduled job began or ended.
    JobRan {
        day: Option<Date>,
    },
    /// The failures of a job were acknowledged.
    JobAcknowledged,
    /// A person asked for access on a channel, or the request was answered.
    ChannelChanged {
        days: BTreeSet<Date>,
    },
    ThreadMade,
    ThreadChanged {
        threads: Vec<String>,
    },
    ZoneMoved,
    Forgotten,
    /// The agent's tree was moved to another folder.
    Adopted,
    /// A person edited the file of the page.
    PageEdited(PageKey),
    /// These pages were requested to be rendered.
    PagesAsked(Vec<PageKey>),
    /// All pages were requested to be rendered: those of the agent, and the indexes of these projects.
    AllAsked {
        workspaces: Vec<String>,
    },
}

/// The pages on which a session is shown: those of its project, and its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SessionPlace {
    pub workspace: String,
    pub session_no: SessionNo,
    /// Name of its page's file, without the extension.
    pub file: String,
}

impl SessionPlace {
    /// Returns the runtime pages of its project, and its own page.
    pub fn pages(&self) -> Vec<PageKey> {
        let of_project = RuntimePage::ALL.map(|page| PageKey::Runtime(self.workspace.clone(), page));
        let own = PageKey::Session(self.workspace.clone(), self.session_no, self.file.clone());
        of_project.into_iter().chain([own]).collect()
    }
}

/// The pages rendered before that are out of date, in addition to those [`pages`] returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Rendered {
    None,
    /// The pages of this set that were ever marked: they show the change, but no page is made because of it.
    These(BTreeSet<PageKey>),
    /// The pages that show what belongs to a day.
    OfDays,
    All,
}

/// Returns the pages that show an event.
pub fn pages(what: &Happened) -> BTreeSet<PageKey> {
    use Happened::*;
    use PageKey::{Active, AgentIndex, Memory, Threads};
    match what {
        TurnsStored { days, sessions, threads } => {
            let now = only(&[Memory, Active, Threads]).and(of_threads(threads));
            now.and(of_days(days)).and(of_sessions(sessions))
        }
        ResultStored { sessions } | RunsClosed { sessions } => of_sessions(sessions),
        NodesStored { days, noted, sessions } => of_days(noted).and(of_periods(days)).and(of_sessions(sessions)),
        SessionEnded { threads, days } | Compacted { threads, days } => {
            only(&[Memory, Active, Threads]).and(of_threads(threads)).and(of_days(days)).and(of_periods(days))
        }
        Condensed { threads } => only(&[Memory, Active, Threads]).and(of_threads(threads)),
        LoopChanged | ProposalChanged => only(&[Memory, Active]),
        OwedChanged { threads, .. } if threads.is_empty() => only(&[]),
        OwedChanged { threads, .. } => only(&[Threads]).and(of_threads(threads)),
        OwedLeft { threads } => of_threads(threads),
        MemoryChanged { workspace } => only(&[Memory, Active, AgentIndex]).and(of_workspaces(workspace)),
        MemoryEdited { workspace } => only(&[Memory, AgentIndex]).and(of_workspaces(workspace)),
        NoticeChanged | ArtifactChanged | JobAcknowledged => only(&[Active]),
        JobRan { day } => only(&[Active]).and(of_days(day)),
        ChannelChanged { days } => only(&[Active]).and(of_days(days)),
        ThreadMade => only(&[Threads]),
        ThreadChanged { threads } => only(&[Memory, Threads]).and(of_threads(threads)),
        ZoneMoved => only(&[Memory, Active]),
        Forgotten | Adopted => only(&[]),
        PageEdited(page) => only(std::slice::from_ref(page)),
        PagesAsked(pages) => only(pages),
        AllAsked { workspaces } => only(&[Memory, Active, AgentIndex]).and(of_workspaces(workspaces)),
    }
}

/// Returns the pages that an event puts out of date only because they were rendered before.
pub(super) fn rendered(what: &Happened) -> Rendered {
    match what {
        Happened::OwedChanged { opened, sessions, .. } => {
            Rendered::These(of_periods(opened).and(of_sessions(sessions)))
        }
        Happened::ZoneMoved => Rendered::OfDays,
        Happened::Forgotten | Happened::Adopted => Rendered::All,
        _ => Rendered::None,
    }
}

type Pages = BTreeSet<PageKey>;

trait And {
    fn and(self, more: Pages) -> Pages;
}

impl And for Pages {
    fn and(mut self, more: Pages) -> Pages {
        self.extend(more);
        self
    }
}

fn only(pages: &[PageKey]) -> Pages {
    pages.iter().cloned().collect()
}

fn of_threads(files: &[String]) -> Pages {
    files.iter().map(|file| PageKey::Thread(file.clone())).collect()
}

fn of_days<'d>(days: impl IntoIterator<Item = &'d Date>) -> Pages {
    days.into_iter().map(|day| PageKey::Daily(*day)).collect()
}

fn of_periods(days: &BTreeSet<Date>) -> Pages {
    days.iter().filter_map(|day| Period::of(*day)).flatten().map(PageKey::Rollup).collect()
}

fn of_workspaces<'w>(ids: impl IntoIterator<Item = &'w String>) -> Pages {
    ids.into_iter().map(|id| PageKey::WorkspaceIndex(id.clone())).collect()
}

fn of_sessions(sessions: &[SessionPlace]) -> Pages {
    sessions.iter().flat_map(SessionPlace::pages).collect()
}
