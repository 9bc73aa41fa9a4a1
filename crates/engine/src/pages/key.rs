//! The keys of all pages: how each is named in the ledger, and the path of its file.

use std::fmt;

use jiff::ToSpan;
use jiff::civil::{Date, ISOWeekDate, Weekday};
use rusqlite::ToSql;
use rusqlite::types::ToSqlOutput;

use crate::error::{Error, Result};
use crate::home::{RelPath, layout};
use crate::scope::SessionNo;

/// A rendered page. [`Display`](fmt::Display) writes it as it is stored in the column `head` and in plans;
/// [`PageKey::parse`] reads that form.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PageKey {
    /// `continuity/ACTIVE.md`.
    Active,
    /// `MEMORY.md`, Tier 1.
    Memory,
    /// `memory/MEMORY.md`.
    AgentIndex,
    /// `memory/workspace/<id>/MEMORY.md`.
    WorkspaceIndex(String),
    /// The daily note of a date.
    Daily(Date),
    /// `continuity/threads/<file>.md`, Tier 2, by the file name without the extension.
    Thread(String),
    /// `continuity/threads/INDEX.md`.
    Threads,
    /// `continuity/rollups/YYYY/…`, of a week or a month.
    Rollup(Period),
    /// `memory/workspace/<id>/runtime/…`.
    Runtime(String, RuntimePage),
    /// `memory/workspace/<id>/runtime/session-memory/<file>.md`: workspace, session number, and file name without the
    /// extension.
    Session(String, SessionNo, String),
}

impl PageKey {
    /// Parses a stored key. Returns `None` if it names no page, as in the row of a [`Cursor`](super::Cursor).
    pub fn parse(name: &str) -> Option<PageKey> {
        match name.split_once('/') {
            None if name == "active" => Some(PageKey::Active),
            None if name == "memory" => Some(PageKey::Memory),
            Some(("index", "agent")) => Some(PageKey::AgentIndex),
            Some(("index", id)) => Some(PageKey::WorkspaceIndex(id.to_owned())),
            Some(("daily", date)) => Some(PageKey::Daily(date.parse().ok()?)),
            None if name == "threads" => Some(PageKey::Threads),
            Some(("thread", file)) => Some(PageKey::Thread(file.to_owned())),
            Some(("rollup", period)) => Period::parse(period).map(PageKey::Rollup),
            Some(("runtime", rest)) => {
                let (workspace, page) = rest.split_once('/')?;
                Some(PageKey::Runtime(workspace.to_owned(), RuntimePage::parse(page)?))
            }
            Some(("session", rest)) => {
                let mut parts = rest.splitn(3, '/');
                let (workspace, no, file) = (parts.next()?, parts.next()?, parts.next()?);
                Some(PageKey::Session(workspace.to_owned(), SessionNo(no.parse().ok()?), file.to_owned()))
            }
            _ => None,
        }
    }

    /// Whether outside programs may have sections in the page, so that it has revisions.
    pub fn is_shared(&self) -> bool {
        matches!(self, PageKey::Memory | PageKey::Active | PageKey::Threads | PageKey::Thread(_))
    }

    /// Whether the page shows days of the operator's time zone, so that a change of the zone puts it out of date.
    pub(super) fn is_of_days(&self) -> bool {
        matches!(self, PageKey::Daily(_) | PageKey::Rollup(_) | PageKey::Runtime(..) | PageKey::Session(..))
    }

    /// Returns the path of its file in the assistant home.
    pub fn path(&self) -> Result<RelPath> {
        match self {
            PageKey::Active => Ok(layout::ACTIVE),
            PageKey::Memory => Ok(layout::MEMORY_HEAD),
            PageKey::AgentIndex => Ok(layout::MEMORY_INDEX),
            PageKey::WorkspaceIndex(id) => layout::WORKSPACE_MEMORY.join(&format!("{id}/MEMORY.md")),
            PageKey::Daily(date) => layout::DAILY.join(&format!("{}/{date}.md", date.strftime("%Y/%m"))),
            PageKey::Thread(file) => layout::THREADS.join(&format!("{file}.md")),
            PageKey::Threads => layout::THREADS.join("INDEX.md"),
            PageKey::Rollup(period) => layout::ROLLUPS.join(&format!("{:04}/{period}.md", period.year())),
            PageKey::Runtime(workspace, page) => {
                layout::WORKSPACE_MEMORY.join(&format!("{workspace}/runtime/{}.md", page.name()))
            }
            PageKey::Session(workspace, _, file) => {
                layout::WORKSPACE_MEMORY.join(&format!("{workspace}/runtime/session-memory/{file}.md"))
            }
        }
    }
}

impl fmt::Display for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageKey::Active => f.write_str("active"),
            PageKey::Memory => f.write_str("memory"),
            PageKey::AgentIndex => f.write_str("index/agent"),
            PageKey::WorkspaceIndex(id) => write!(f, "index/{id}"),
            PageKey::Daily(date) => write!(f, "daily/{date}"),
            PageKey::Thread(file) => write!(f, "thread/{file}"),
            PageKey::Threads => f.write_str("threads"),
            PageKey::Rollup(period) => write!(f, "rollup/{period}"),
            PageKey::Runtime(workspace, page) => write!(f, "runtime/{workspace}/{}", page.name()),
            PageKey::Session(workspace, no, file) => write!(f, "session/{workspace}/{no}/{file}"),
        }
    }
}

impl ToSql for PageKey {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

/// Pages of a project that show its current state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RuntimePage {
    LatestTurn,
    Blockers,
    RecentTurns,
}

impl RuntimePage {
    pub const ALL: [RuntimePage; 3] = [RuntimePage::LatestTurn, RuntimePage::Blockers, RuntimePage::RecentTurns];

    /// Returns the name of its file, without the extension.
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

    /// Returns the heading of its file.
    pub(crate) fn title(self) -> &'static str {
        match self {
            RuntimePage::LatestTurn => "Latest turn",
            RuntimePage::Blockers => "Blockers",
            RuntimePage::RecentTurns => "Recent turns",
        }
    }
}

/// The period of a rollup. Weeks are ISO weeks, named by their Monday; months are named by their first day.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Period {
    Week(ISOWeekDate),
    Month(Date),
}

impl Period {
    /// Returns the week and the month of a day. `None` if the calendar ends within one of them.
    pub fn of(day: Date) -> Option<[Period; 2]> {
        let week = day.iso_week_date();
        let monday = ISOWeekDate::new(week.year(), week.week(), Weekday::Monday).ok()?;
        let first = Date::new(day.year(), day.month(), 1).ok()?;
        Some([Period::Week(monday), Period::Month(first)])
    }

    /// Parses a period such as `2026-W47` or `2026-11`.
    pub fn parse(name: &str) -> Option<Period> {
        let (year, rest) = name.split_once('-')?;
        let plain = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        if !plain(year, 4) {
            return None;
        }
        let year = year.parse().ok()?;
        match rest.strip_prefix('W') {
            Some(week) if plain(week, 2) => {
                ISOWeekDate::new(year, week.parse().ok()?, Weekday::Monday).ok().map(Period::Week)
            }
            None if plain(rest, 2) => Date::new(year, rest.parse().ok()?, 1).ok().map(Period::Month),
            _ => None,
        }
    }

    /// Returns the year in whose folder the page is: for a week the ISO year.
    fn year(self) -> i16 {
        match self {
            Period::Week(week) => week.year(),
            Period::Month(first) => first.year(),
        }
    }

    /// Returns the heading of the page.
    pub fn title(self) -> String {
        match self {
            Period::Week(week) => {
                let monday = week.date();
                let to = monday.checked_add(6.days()).unwrap_or(monday);
                format!(
                    "Week {} of {}, {} to {}",
                    week.week(),
                    week.year(),
                    monday.strftime("%-d %B %Y"),
                    to.strftime("%-d %B %Y")
                )
            }
            Period::Month(first) => first.strftime("%B %Y").to_string(),
        }
    }

    /// Returns the first day of the period, and the first day after it.
    pub fn days(self) -> Result<(Date, Date)> {
        let (from, to) = match self {
            Period::Week(week) => (week.date(), week.date().checked_add(7.days())),
            Period::Month(first) => (first, first.checked_add(1.month())),
        };
        Ok((from, to.map_err(|e| Error::usage(format!("{self} is out of range")).because(e))?))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Period::Week(week) => write!(f, "{:04}-W{:02}", week.year(), week.week()),
            Period::Month(first) => write!(f, "{}", first.strftime("%Y-%m")),
        }
    }
}
