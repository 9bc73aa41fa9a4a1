//! Threads: listed, in detail, and after an act.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clock::{Millis, rfc3339};
use crate::distill::state;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::blocks::Opener;
use crate::lineage::Node;
use crate::lineage::distillate::Item;
use crate::pages::PageKey;
use crate::redact::redact;
use crate::render::titles;
use crate::scope::{AgentNo, ThreadNo, TurnId};
use crate::thread::{self, Counts, Stretch, ThreadRow, reading};
use crate::transcript::read;

/// Largest number of sessions and of nodes shown of a thread.
const SESSIONS: usize = 10;
const NODES: usize = 5;

/// A thread, without the credentials in its label.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ThreadReport {
    #[serde(flatten)]
    pub row: ThreadRow,
    pub kind: String,
    /// Path of the thread's page, below the assistant home.
    pub page: String,
}

impl ThreadReport {
    pub fn of(row: &ThreadRow) -> Result<ThreadReport> {
        Ok(ThreadReport {
            kind: row.key()?.kind().to_owned(),
            page: PageKey::Thread(row.file.clone()).path()?.as_str().to_owned(),
            row: ThreadRow { label: redact(&row.label).into_owned(), ..row.clone() },
        })
    }
}

/// A thread after an act.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ThreadChanged {
    pub thread: ThreadReport,
    /// `false` if the thread was like this before.
    pub changed: bool,
}

/// Two threads after an act.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ThreadsChanged {
    pub threads: Vec<ThreadReport>,
    pub changed: bool,
}

/// A session that was put into a thread.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionSwitched {
    pub session: String,
    /// The thread; `None` if the session belongs again to the thread that is derived from its runs.
    pub thread: Option<ThreadReport>,
}

/// Threads, last worked in first.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ThreadsReport {
    pub threads: Vec<ListedThread>,
    /// Number of all threads, including those past the limit.
    pub all: usize,
}

/// A thread in a list.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ListedThread {
    #[serde(flatten)]
    pub thread: ThreadReport,
    /// Key of the thread it was merged into.
    pub merged_into: Option<String>,
    pub sessions: u64,
    pub runs: u64,
    /// Stretches of turns of the named session that are in this thread.
    pub in_session: Vec<StretchReport>,
}

/// Returns the goal of a thread, else its newest item in progress, from its newest nodes: one line without credentials.
/// `None` where the nodes have neither.
pub fn goal(tx: &Read, no: ThreadNo) -> Result<Option<String>> {
    let said = state::of_newest(tx, &thread::members(tx, no)?, NODES)?.distillate;
    let item = said.goal.as_ref().or(said.in_progress.last());
    Ok(item.map(|item| titles::first_line(&item.text)).filter(|line| !line.is_empty()))
}

/// Consecutive turns of one lane that are in one thread.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct StretchReport {
    pub lane: String,
    pub runs: u64,
    pub first: TurnId,
    pub last: TurnId,
}

impl From<&Stretch> for StretchReport {
    fn from(stretch: &Stretch) -> StretchReport {
        let (first, last) = stretch.turns;
        StretchReport { lane: stretch.lane.clone(), runs: stretch.runs, first, last }
    }
}

impl ThreadsReport {
    /// Lists at most `limit` active threads of an agent; with `all`, closed and merged threads too. `session`: lists
    /// only the threads this session was in, including closed ones.
    pub fn list(tx: &Read, agent_no: AgentNo, all: bool, session: Option<&str>, limit: usize) -> Result<ThreadsReport> {
        let mut rows = if all { thread::list_all(tx, agent_no)? } else { thread::list(tx, agent_no)? };
        let stretches = match session {
            Some(name) => Some(thread::stretches(tx, read::session_named(tx, agent_no, name)?.no)?),
            None => None,
        };
        match &stretches {
            Some(of) => rows.retain(|row| of.iter().any(|s| s.thread_no == row.no)),
            None => rows.retain(|row| all || row.state == "active"),
        }
        let counts = reading::counts(tx, agent_no)?;
        let keys: HashMap<ThreadNo, String> = rows.iter().map(|row| (row.no, row.key.clone())).collect();
        let listed = rows.iter().take(limit).map(|row| {
            let Counts { sessions, runs } = counts.get(&row.no).copied().unwrap_or_default();
            let within = stretches.iter().flatten().filter(|s| s.thread_no == row.no);
            Ok(ListedThread {
                thread: ThreadReport::of(row)?,
                merged_into: row.merged_into.and_then(|no| keys.get(&no).cloned()),
                sessions,
                runs,
                in_session: within.map(StretchReport::from).collect(),
            })
        });
        Ok(ThreadsReport { threads: listed.collect::<Result<_>>()?, all: rows.len() })
    }
}

/// A thread in detail.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct ThreadDetails {
    pub thread: CountedThread,
    /// Other names of the thread.
    pub names: Vec<String>,
    /// Threads that were merged into this one.
    pub merged: Vec<NamedThread>,
    /// People in the thread, without the operator.
    pub people: Vec<String>,
    pub programs: Vec<String>,
    pub state: StateReport,
    /// Sessions, last worked in first.
    pub sessions: Vec<SessionOfThread>,
    pub links: Vec<LinkReport>,
    /// The newest nodes of the thread.
    pub nodes: Vec<NodeOfThread>,
}

/// A thread and the numbers of its sessions, runs and turns.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct CountedThread {
    #[serde(flatten)]
    pub thread: ThreadReport,
    pub sessions: u64,
    pub runs: u64,
    pub turns: u64,
}

#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct NamedThread {
    pub thread: String,
    pub label: String,
}

/// The goal of a thread, its open items and its next steps.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct StateReport {
    pub goal: Option<StateItem>,
    pub open: Vec<StateItem>,
    pub next: Vec<StateItem>,
}

/// A line of a state, with the turns it came from.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct StateItem {
    pub text: String,
    pub turns: Vec<TurnId>,
}

impl From<&Item> for StateItem {
    fn from(item: &Item) -> StateItem {
        StateItem { text: redact(&item.text).into_owned(), turns: item.turns.clone() }
    }
}

/// A session in a thread, with the number of its runs there.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct SessionOfThread {
    pub session: String,
    /// Name of the session; empty if it has no title and no prompt.
    pub title: String,
    pub runs: u64,
    pub first: TurnId,
    pub last: TurnId,
    pub last_at: Option<String>,
    #[serde(skip)]
    pub last_at_ms: Option<Millis>,
}

/// A thread that this thread is linked to.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema, Debug)]
pub struct LinkReport {
    pub thread: String,
    pub label: String,
    /// Why the threads are linked.
    pub why: Option<String>,
    pub at: String,
}

/// A node of a thread.
#[derive(Clone, PartialEq, Serialize, JsonSchema, Debug)]
pub struct NodeOfThread {
    pub node: String,
    pub kind: &'static str,
    pub depth: i64,
    pub first: TurnId,
    pub last: TurnId,
    pub last_at: Option<String>,
    pub summary: String,
    #[serde(skip)]
    pub last_at_ms: Option<Millis>,
}

impl From<&Node> for NodeOfThread {
    fn from(node: &Node) -> NodeOfThread {
        NodeOfThread {
            node: node.id.to_string(),
            kind: node.kind.name(),
            depth: node.depth,
            first: node.turns.0,
            last: node.turns.1,
            last_at: node.times.1.map(rfc3339),
            summary: redact(&node.summary).into_owned(),
            last_at_ms: node.times.1,
        }
    }
}

impl ThreadDetails {
    /// Reads the thread that `name` means. `NotFound` if there is none, `Usage` if the name means several.
    pub fn gather(tx: &Read, agent_no: AgentNo, name: &str) -> Result<ThreadDetails> {
        let row = thread::named(tx, agent_no, name)?;
        let members = thread::members(tx, row.no)?;
        let clean = |text: &String| redact(text).into_owned();
        let named = |row: &ThreadRow| NamedThread { thread: row.key.clone(), label: clean(&row.label) };
        let names = reading::names(tx, agent_no, &members)?;
        let merged = members.iter().filter(|no| **no != row.no);
        let merged = merged.map(|no| Ok(named(&thread::row(tx, agent_no, *no)?)));
        let opener = Opener::default();
        let sessions = thread::sessions(tx, &members, SESSIONS)?.into_iter().map(|s| {
            Ok(SessionOfThread {
                title: titles::name_of(tx, &opener, &read::session_named(tx, agent_no, s.session.as_str())?)?,
                session: s.session.as_str().to_owned(),
                runs: s.runs,
                first: s.turns.0,
                last: s.turns.1,
                last_at: s.last_at.map(rfc3339),
                last_at_ms: s.last_at,
            })
        });
        let links = thread::links(tx, row.no)?.into_iter().map(|link| {
            let NamedThread { thread, label } = named(&thread::row(tx, agent_no, link.thread_no)?);
            Ok(LinkReport { thread, label, why: link.why.as_ref().map(clean), at: rfc3339(link.at) })
        });
        let participants = thread::participants(tx, agent_no, &members)?;
        let state = state::of_thread(tx, &members)?;
        let said = &state.distillate;
        let items = |items: &[Item]| items.iter().map(StateItem::from).collect();
        let Counts { sessions: count, runs } = reading::counts_of(tx, &members)?;
        Ok(ThreadDetails {
            thread: CountedThread {
                thread: ThreadReport::of(&row)?,
                sessions: count,
                runs,
                turns: reading::turns(tx, &members)?,
            },
            names: names.iter().filter(|name| !name.eq_ignore_ascii_case(&row.label)).map(clean).collect(),
            merged: merged.collect::<Result<_>>()?,
            people: participants.people.iter().map(clean).collect(),
            programs: participants.programs,
            state: StateReport {
                goal: said.goal.as_ref().map(StateItem::from),
                open: items(&said.open_loops),
                next: items(&said.next_steps),
            },
            sessions: sessions.collect::<Result<_>>()?,
            links: links.collect::<Result<_>>()?,
            nodes: state.nodes.iter().take(NODES).map(NodeOfThread::from).collect(),
        })
    }
}
