//! Decides which thread an item belongs to, and which distilled items are still valid (R6.3, R7.1, R10.3).
//!
//! A page about one thread must not show the text of another, and no page may show a closed item as open.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use rusqlite::{OptionalExtension, params};

use super::continuity::place_of_key;
use super::page::moment;
use crate::clock::Millis;
use crate::distill::still_open::Resolved;
use crate::error::Result;
use crate::ledger::Read;
use crate::ledger::codes::CHUNK;
use crate::lineage::distillate::Item;
use crate::pages::{self, Cursor, Happened};
use crate::scope::{AgentNo, ChangeNo, NodeId, ThreadNo, TurnId};
use crate::text::similarity;
use crate::thread;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::provenance::{Origin, Provenance};

/// The part of the agent's work that an item applies to. A reader of a page with items of several threads is given the
/// text of its own threads only.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// Everywhere the agent works.
    AgentWide,
    /// In one thread: its number ([`thread::canonical`]) and label. The number is 0 if the item names an unknown thread
    /// or session.
    Thread(ThreadNo, String),
    /// In one project that has no thread yet, by its workspace id.
    Workspace(String),
}

/// Finds the scope of items that are files; queries the ledger once for each thread, node and session.
pub(super) struct Scopes<'t> {
    tx: &'t Read<'t>,
    agent_no: AgentNo,
    labels: HashMap<ThreadNo, (ThreadNo, String)>,
    named: HashMap<String, Option<ThreadNo>>,
    sessions: HashMap<String, Option<ThreadNo>>,
}

impl<'t> Scopes<'t> {
    pub fn new(tx: &'t Read<'t>, agent_no: AgentNo) -> Scopes<'t> {
        Scopes { tx, agent_no, labels: HashMap::new(), named: HashMap::new(), sessions: HashMap::new() }
    }

    /// Returns the scope of a thread; for a merged one, that of the thread it was merged into.
    pub fn thread(&mut self, no: ThreadNo) -> Result<Scope> {
        if let Some((no, label)) = self.labels.get(&no) {
            return Ok(Scope::Thread(*no, label.clone()));
        }
        let to = thread::canonical(self.tx, no)?;
        let label = thread::row(self.tx, self.agent_no, to)?.label;
        self.labels.insert(no, (to, label.clone()));
        Ok(Scope::Thread(to, label))
    }

    /// Returns the scope of an item: the one its file names, else that of its source, else that of its project. An item
    /// from a conversation is never agent-wide, even if nothing more is known of it.
    pub fn of(&mut self, entry: &Entry) -> Result<Scope> {
        if let Some(name) = entry.field("thread").map(str::trim).filter(|n| !n.is_empty()) {
            return match self.by_name(name)? {
                Some(no) => self.thread(no),
                None => Ok(Scope::Thread(ThreadNo(0), name.to_owned())),
            };
        }
        let source = Provenance::from_value(entry.fields.get("source"));
        if let Some(no) = self.by_source(&source)? {
            return self.thread(no);
        }
        if let Some(id) = entry.scope.as_deref().and_then(|s| s.strip_prefix("workspace/")) {
            return self.project(id);
        }
        if let Some(session) = source.session.filter(|_| source.origin != Origin::User && source.origin != Origin::Hand)
        {
            return Ok(match self.workspace_of(&session)? {
                Some(id) => self.project(&id)?,
                None => Scope::Thread(ThreadNo(0), session),
            });
        }
        Ok(Scope::AgentWide)
    }

    /// Returns the thread of a project; the project itself if it has no thread.
    pub fn project(&mut self, workspace_id: &str) -> Result<Scope> {
        match self.by_name(&format!("project/{workspace_id}"))? {
            Some(no) => self.thread(no),
            None => Ok(Scope::Workspace(workspace_id.to_owned())),
        }
    }

    fn by_name(&mut self, name: &str) -> Result<Option<ThreadNo>> {
        if let Some(found) = self.named.get(name) {
            return Ok(*found);
        }
        let found: Option<ThreadNo> = self
            .tx
            .prepare_cached(
                "SELECT thread_no FROM threads WHERE agent_no = ?1 AND thread_key = ?2
                 UNION ALL SELECT thread_no FROM thread_names WHERE agent_no = ?1 AND name = ?2 LIMIT 1",
            )?
            .query_row(params![self.agent_no, name], |r| r.get(0))
            .optional()?;
        self.named.insert(name.to_owned(), found);
        Ok(found)
    }

    fn by_source(&mut self, source: &Provenance) -> Result<Option<ThreadNo>> {
        if let Some(turn) = source.turns.last() {
            let of_turn = self
                .tx
                .prepare_cached(
                    "SELECT m.thread_no FROM turns t JOIN run_threads m ON m.run_no = t.run_no
                     JOIN threads h ON h.thread_no = m.thread_no WHERE t.turn_no = ?1 AND h.agent_no = ?2",
                )?
                .query_row((turn.0, self.agent_no), |r| r.get(0))
                .optional()?;
            if of_turn.is_some() {
                return Ok(of_turn);
            }
        }
        if let Some(node) = source.node.as_deref().and_then(NodeId::parse) {
            let of_node = self
                .tx
                .prepare_cached("SELECT thread_no FROM nodes WHERE node_no = ?1 AND agent_no = ?2")?
                .query_row((node.0, self.agent_no), |r| r.get(0))
                .optional()?;
            if of_node.is_some() {
                return Ok(of_node);
            }
        }
        let Some(session) = &source.session else { return Ok(None) };
        if let Some(found) = self.sessions.get(session) {
            return Ok(*found);
        }
        let found: Option<ThreadNo> = self
            .tx
            .prepare_cached(&format!(
                "SELECT n.thread_no FROM sessions s
                 JOIN nodes n ON n.session_no = s.session_no AND n.kind = {CHUNK}
                 WHERE s.agent_no = ?1 AND s.session_key = ?2 ORDER BY n.last_turn DESC LIMIT 1"
            ))?
            .query_row(params![self.agent_no, session], |r| r.get(0))
            .optional()?;
        self.sessions.insert(session.clone(), found);
        Ok(found)
    }

    fn workspace_of(&self, session: &str) -> Result<Option<String>> {
        Ok(self
            .tx
            .prepare_cached(
                "SELECT w.workspace_id FROM sessions s JOIN workspaces v ON v.workspace_no = s.workspace_no
                 JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no)
                 WHERE s.agent_no = ?1 AND s.session_key = ?2",
            )?
            .query_row(params![self.agent_no, session], |r| r.get(0))
            .optional()?)
    }
}

/// Returns the scope of a single item.
pub(crate) fn scope_of(tx: &Read, agent_no: AgentNo, entry: &Entry) -> Result<Scope> {
    Scopes::new(tx, agent_no).of(entry)
}

/// A file that waits for action, with its scope and the words of its title.
pub(super) struct Owed {
    pub entry: Entry,
    pub scope: Scope,
    /// Words of the title, computed when they are first compared with something.
    words: OnceCell<similarity::ItemWords>,
}

impl Owed {
    pub fn id(&self) -> &str {
        self.entry.item.as_deref().unwrap_or(self.entry.path.name())
    }

    /// Whether a distilled item with these words is the same item.
    pub fn is(&self, item: &Item, words: &similarity::ItemWords) -> bool {
        item.file.as_deref() == Some(self.id())
            || similarity::same(self.words(), words)
            || similarity::details(&item.text, self.words())
    }

    pub fn words(&self) -> &similarity::ItemWords {
        self.words.get_or_init(|| similarity::words(&self.entry.title))
    }
}

/// Returns every waiting file of a kind, with its scope.
pub(super) fn owed(tx: &Read, agent_no: AgentNo, kind: Kind) -> Result<Vec<Owed>> {
    scoped(tx, agent_no, file_table::list(tx, agent_no, kind, State::Active)?)
}

/// Does the same as [`owed`] for some threads, given by their members ([`thread::members`]): returns all of their
/// files, and possibly more.
pub(super) fn owed_in(tx: &Read, agent_no: AgentNo, kind: Kind, members: &[ThreadNo]) -> Result<Vec<Owed>> {
    let mut names = thread::reading::names(tx, agent_no, members)?;
    for member in members {
        names.push(thread::row(tx, agent_no, *member)?.key);
    }
    scoped(tx, agent_no, file_table::list_in(tx, agent_no, kind, State::Active, &names)?)
}

fn scoped(tx: &Read, agent_no: AgentNo, entries: Vec<Entry>) -> Result<Vec<Owed>> {
    let mut scopes = Scopes::new(tx, agent_no);
    entries.into_iter().map(|entry| Ok(Owed { scope: scopes.of(&entry)?, words: OnceCell::new(), entry })).collect()
}

/// Number of other files' changes that may be examined again before the cursor is moved past them.
const LOOKED_OVER: usize = 200;

/// Marks the pages of threads whose loops and proposals have changed since the cursor last moved, by any act or edit:
/// added, closed, merged, edited, removed. The pages that show all loops are marked with the change itself (R7.5).
pub(super) fn follow(at: &AssistantHome) -> Result<()> {
    let (happened, (changed, examined), to) = at.read(|tx| {
        let from = ChangeNo(Cursor::Owed.get(tx, at.agent_no)?.0);
        let (changed, examined, to) = file_table::changes_of(tx, at.agent_no, from, &[Kind::OpenLoop, Kind::Proposal])?;
        let (mut scopes, mut numbers) = (Scopes::new(tx, at.agent_no), BTreeSet::new());
        let (mut opened, mut said_in) = (BTreeSet::new(), BTreeSet::new());
        for entry in &changed {
            if let Scope::Thread(no @ ThreadNo(1..), _) = scopes.of(entry)? {
                numbers.insert(no);
            }
            opened.extend(moment(entry.field("opened")).and_then(|then| at.day_of(then)));
            said_in.extend(Provenance::from_value(entry.fields.get("source")).session);
        }
        let (mut threads, mut sessions) = (Vec::new(), Vec::new());
        for no in numbers {
            threads.push(thread::row(tx, at.agent_no, no)?.file);
        }
        for session in said_in {
            sessions.extend(place_of_key(tx, at.agent_no, &session)?);
        }
        Ok((Happened::OwedChanged { threads, opened, sessions }, (changed.len(), examined), to))
    })?;
    if changed == 0 && examined < LOOKED_OVER {
        return Ok(());
    }
    let marked = pages::cadence::pages(&happened).len();
    at.write("head.mark", |tx| {
        pages::mark(tx, at.agent_no, &happened)?;
        Cursor::Owed.advance(tx, at.agent_no, to.0, tx.now())?;
        tx.note("changes_to", to);
        tx.note("heads", marked);
        Ok(())
    })
}

/// Decides which distilled items are still valid.
pub(super) struct Standing<'t> {
    tx: &'t Read<'t>,
    agent_no: AgentNo,
    active: HashMap<String, bool>,
    /// The resolved loops, queried once when they are first needed.
    closed: Option<Resolved>,
    turns: HashMap<TurnId, Option<Turn>>,
}

#[derive(Clone, Copy)]
struct Turn {
    at: Option<Millis>,
    /// Whether its program abandoned the branch, or its text was forgotten.
    out: bool,
}

impl<'t> Standing<'t> {
    pub fn new(tx: &'t Read<'t>, agent_no: AgentNo) -> Standing<'t> {
        Standing { tx, agent_no, active: HashMap::new(), closed: None, turns: HashMap::new() }
    }

    /// Returns when an item was last said, if known.
    pub fn at(&mut self, item: &Item) -> Result<Option<Millis>> {
        let mut last = None;
        for turn in &item.turns {
            last = last.max(self.turn(*turn)?.and_then(|t| t.at));
        }
        Ok(last)
    }

    /// Returns the session in which an item was last said.
    pub fn session(&self, item: &Item) -> Result<Option<String>> {
        let Some(turn) = item.turns.last() else { return Ok(None) };
        Ok(self
            .tx
            .prepare_cached(
                "SELECT session_key FROM turns JOIN sessions USING (session_no) WHERE turn_no = ?1 AND agent_no = ?2",
            )?
            .query_row((turn.0, self.agent_no), |r| r.get(0))
            .optional()?)
    }

    /// Returns when an item was first said, if known.
    pub fn since(&mut self, item: &Item) -> Result<Option<Millis>> {
        let mut first = None;
        for turn in &item.turns {
            let at = self.turn(*turn)?.and_then(|t| t.at);
            first = first.into_iter().chain(at).min();
        }
        Ok(first)
    }

    /// Returns why an item is no longer shown; `None` if it is still valid. `commitment`: it may have been closed as a
    /// loop with the same words.
    pub fn why_not(&mut self, item: &Item, commitment: bool) -> Result<Option<&'static str>> {
        let mut out = !item.turns.is_empty();
        for turn in &item.turns {
            out &= self.turn(*turn)?.is_some_and(|t| t.out);
        }
        if out {
            return Ok(Some("said on a branch that was left, or forgotten"));
        }
        if let Some(file) = &item.file {
            return Ok((!self.is_active(file)?).then_some("its file was resolved, decided or removed"));
        }
        if commitment && self.closed_since(item)? {
            return Ok(Some("a loop of this name was resolved since"));
        }
        Ok(None)
    }

    fn turn(&mut self, turn: TurnId) -> Result<Option<Turn>> {
        if let Some(known) = self.turns.get(&turn) {
            return Ok(*known);
        }
        let found = self
            .tx
            .prepare_cached(
                "SELECT t.at, r.left_by IS NOT NULL OR t.forgotten IS NOT NULL
                 FROM turns t JOIN turn_results r ON r.run_no = t.run_no JOIN sessions s ON s.session_no = t.session_no
                 WHERE t.turn_no = ?1 AND s.agent_no = ?2",
            )?
            .query_row((turn.0, self.agent_no), |r| Ok(Turn { at: r.get(0)?, out: r.get(1)? }))
            .optional()?;
        self.turns.insert(turn, found);
        Ok(found)
    }

    fn is_active(&mut self, id: &str) -> Result<bool> {
        if let Some(known) = self.active.get(id) {
            return Ok(*known);
        }
        let active = self
            .tx
            .prepare_cached("SELECT 1 FROM catalogue WHERE agent_no = ?1 AND item = ?2 AND state = 'active'")?
            .exists(params![self.agent_no, id])?;
        self.active.insert(id.to_owned(), active);
        Ok(active)
    }

    /// Whether a loop of its thread with its id or nearly its words was resolved after the item was said.
    fn closed_since(&mut self, item: &Item) -> Result<bool> {
        let resolved = match &self.closed {
            Some(known) => known,
            None => self.closed.insert(Resolved::load(self.tx, self.agent_no)?),
        };
        resolved.settles(self.tx, self.agent_no, item)
    }
}
