//! Which thread an item belongs to, and which of the distilled items still stand (R6.3, R7.1, R10.3).
//!
//! A page about one thread must not show another's words, and no page shows as open what somebody has closed.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{OptionalExtension, params};

use super::page::moment;
use crate::clock::Millis;
use crate::error::Result;
use crate::ledger::Read;
use crate::lineage::distillate::Item;
use crate::pages::{self, Cursor, Happened};
use crate::scope::{AgentNo, ChangeNo, NodeId, ThreadNo, TurnId};
use crate::text::similarity;
use crate::thread;
use crate::title::TitleKey;
use crate::tree::AssistantHome;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::provenance::{Origin, Provenance};

/// Loops that were changed last and are looked through for one that was closed.
const CLOSED: i64 = 2_000;

/// Where an item holds. Who is given a page with the items of several threads is given whole only what is theirs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// Everywhere the agent works.
    AgentWide,
    /// In one thread: its number ([`thread::canonical`]) and label. Number 0: an item that says it is of a thread or of
    /// a session nothing is known of.
    Thread(ThreadNo, String),
    /// In one project that has no thread yet, by its workspace id.
    Workspace(String),
}

/// Finds the scope of items that are files; asks the ledger once for each thread, node and session.
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

    /// A thread as a scope: of a merged one, the one it was merged into.
    pub fn thread(&mut self, no: ThreadNo) -> Result<Scope> {
        if let Some((no, label)) = self.labels.get(&no) {
            return Ok(Scope::Thread(*no, label.clone()));
        }
        let to = thread::canonical(self.tx, no)?;
        let label = thread::row(self.tx, self.agent_no, to)?.label;
        self.labels.insert(no, (to, label.clone()));
        Ok(Scope::Thread(to, label))
    }

    /// What the file says counts first, then where it came from, then its project. What came from a conversation is
    /// never the agent's own, even where nothing more is known of it.
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

    /// The thread of a project; the project itself where it has none.
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
            .prepare_cached(
                "SELECT n.thread_no FROM sessions s JOIN nodes n ON n.session_no = s.session_no AND n.kind = 0
                 WHERE s.agent_no = ?1 AND s.session_key = ?2 ORDER BY n.last_turn DESC LIMIT 1",
            )?
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

/// Where an item holds, for whoever asks about one only.
pub(crate) fn scope_of(tx: &Read, agent_no: AgentNo, entry: &Entry) -> Result<Scope> {
    Scopes::new(tx, agent_no).of(entry)
}

/// A file somebody is still to act on, with its scope and the words of its title.
pub(super) struct Owed {
    pub entry: Entry,
    pub scope: Scope,
    /// Asked for when it is compared with something.
    words: OnceCell<similarity::ItemWords>,
}

impl Owed {
    pub fn id(&self) -> &str {
        self.entry.item.as_deref().unwrap_or(self.entry.path.name())
    }

    /// Whether a distilled item of these words is this one.
    pub fn is(&self, item: &Item, words: &similarity::ItemWords) -> bool {
        item.file.as_deref() == Some(self.id()) || similarity::same(self.words(), words)
    }

    pub fn words(&self) -> &similarity::ItemWords {
        self.words.get_or_init(|| similarity::words(&self.entry.title))
    }
}

/// Every file of a kind that waits, with its scope.
pub(super) fn owed(tx: &Read, agent_no: AgentNo, kind: Kind) -> Result<Vec<Owed>> {
    scoped(tx, agent_no, file_table::list(tx, agent_no, kind, State::Active)?)
}

/// [`owed`] in these threads, by their members ([`thread::members`]): all that is theirs, and perhaps more.
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

/// So many changes of other files are looked over again and again before it is noted that they were.
const LOOKED_OVER: usize = 200;

/// Marks the pages of the threads whose loops and proposals have changed since the last look, by whatever act or hand:
/// added, closed, merged, edited, taken away. The pages that show all of them are marked with the change itself (R7.5).
pub(super) fn follow(at: &AssistantHome) -> Result<()> {
    let (threads, looked, to) = at.read(|tx| {
        let from = ChangeNo(Cursor::Owed.get(tx, at.agent_no)?.0);
        let (changed, looked, to) = file_table::changes_of(tx, at.agent_no, from, &[Kind::OpenLoop, Kind::Proposal])?;
        let (mut scopes, mut threads) = (Scopes::new(tx, at.agent_no), BTreeSet::new());
        for entry in &changed {
            if let Scope::Thread(no @ ThreadNo(1..), _) = scopes.of(entry)? {
                threads.insert(no);
            }
        }
        let mut files = Vec::new();
        for no in threads {
            files.push(thread::row(tx, at.agent_no, no)?.file);
        }
        Ok((files, looked, to))
    })?;
    if threads.is_empty() && looked < LOOKED_OVER {
        return Ok(());
    }
    at.write("head.mark", |tx| {
        // Their pages, and the index of threads.
        let marked = if threads.is_empty() { 0 } else { threads.len() + 1 };
        pages::mark(tx, at.agent_no, &Happened::OwedChanged { threads })?;
        Cursor::Owed.advance(tx, at.agent_no, to.0, tx.now())?;
        tx.note("changes_to", to);
        tx.note("heads", marked);
        Ok(())
    })
}

/// Tells which distilled items still stand.
pub(super) struct Standing<'t> {
    tx: &'t Read<'t>,
    agent_no: AgentNo,
    active: HashMap<String, bool>,
    /// Asked for once, when it is needed.
    closed: Option<HashMap<String, Option<Millis>>>,
    turns: HashMap<TurnId, Option<Turn>>,
}

#[derive(Clone, Copy)]
struct Turn {
    at: Option<Millis>,
    /// Its program left the branch, or its words were forgotten.
    out: bool,
}

impl<'t> Standing<'t> {
    pub fn new(tx: &'t Read<'t>, agent_no: AgentNo) -> Standing<'t> {
        Standing { tx, agent_no, active: HashMap::new(), closed: None, turns: HashMap::new() }
    }

    /// When an item was last said, as far as is known.
    pub fn at(&mut self, item: &Item) -> Result<Option<Millis>> {
        let mut last = None;
        for turn in &item.turns {
            last = last.max(self.turn(*turn)?.and_then(|t| t.at));
        }
        Ok(last)
    }

    /// Why an item is not shown any more; `None`: it stands. `commitment`: it may have been closed under its own words.
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

    /// A loop of this very title stands in the archive and was closed after the item was last said.
    fn closed_since(&mut self, item: &Item) -> Result<bool> {
        if self.closed.is_none() {
            self.closed = Some(closed(self.tx, self.agent_no)?);
        }
        let Some(closed) = self.closed.as_ref().filter(|c| !c.is_empty()) else { return Ok(false) };
        let Ok(title) = TitleKey::of(&item.text) else { return Ok(false) };
        let Some(closed) = closed.get(&format!("l:{}", title.short())).copied() else { return Ok(false) };
        Ok(closed >= self.at(item)?)
    }
}

/// Loops that were resolved and are not open again, with the moment; of those resolved last, which is what an item of a
/// thread's newest nodes can be about.
fn closed(tx: &Read, agent_no: AgentNo) -> Result<HashMap<String, Option<Millis>>> {
    let mut statement = tx.prepare_cached(
        "SELECT item, state, fields ->> 'resolved' FROM catalogue
         WHERE agent_no = ?1 AND kind = 'loop' AND state IN ('active', 'archived') AND item IS NOT NULL
         ORDER BY change_no DESC LIMIT ?2",
    )?;
    let rows = statement.query_map(params![agent_no, CLOSED], |r| {
        Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?, r.get::<_, Option<String>>(2)?))
    })?;
    let (mut open, mut out) = (HashSet::new(), HashMap::new());
    for row in rows {
        let (item, state, when) = row?;
        if state == "active" {
            open.insert(item);
        } else {
            let last: &mut Option<Millis> = out.entry(item).or_default();
            *last = (*last).max(moment(when.as_deref()));
        }
    }
    out.retain(|item, _| !open.contains(item));
    Ok(out)
}
