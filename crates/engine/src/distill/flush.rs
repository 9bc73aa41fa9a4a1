//! Writes the visible files of a node before the node becomes visible: loops for its open items, proposals for what it
//! suggests to remember. Also closes the loops the node settles (R6.4). Used at a compaction and at the end of a
//! session.

use super::closing;
use super::deadline::due;
use super::load::SessionFacts;
use super::still_open::Resolved;
use crate::clock::Millis;
use crate::continuity::open_loop::{self, NewLoop, headline};
use crate::continuity::proposal::{self, NewProposal};
use crate::continuity::{Change, Item as FileItem};
use crate::error::{ErrorKind, Result};
use crate::ledger::Read;
use crate::lineage::NewNode;
use crate::memory::pending::is_known_in;
use crate::memory::{Class, Scope};
use crate::scope::{AgentNo, NodeId, TurnId};
use crate::text::similarity;
use crate::thread;
use crate::tree::TreeLock;
use crate::tree::file_table::Entry;
use crate::tree::journal::Act;
use crate::tree::provenance::{Origin, Provenance};

/// Maximum number of loop files one node makes, the newest items first. Items beyond that stay in the node, are shown
/// like the others and can be closed like them; the audit has their number.
const LOOPS: usize = 40;
const PROPOSALS: usize = 4;

/// The files written with a node.
#[derive(Default)]
pub(super) struct Made {
    loops: u64,
    proposals: u64,
    resolved: u64,
    /// Number of open items that got no file because there were too many.
    left_out: u64,
    paths: Vec<String>,
}

impl Made {
    /// Adds the numbers of files made to an act, for the audit.
    pub fn noted(&self, act: Act) -> Act {
        let act = act.note("loops", self.loops).note("proposals", self.proposals).note("resolved", self.resolved);
        if self.left_out > 0 { act.note("left_out", self.left_out) } else { act }
    }
}

/// The kinds of files a node makes, besides closing the loops it settles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Files {
    None,
    Loops,
    /// Loops and proposals, because a context was cut: its proposals would be lost otherwise.
    All,
}

/// Plans the files for a node's items, and records in each item which file carries it.
pub(super) fn flush(
    lock: &TreeLock,
    facts: &SessionFacts,
    node: &mut NewNode,
    id: NodeId,
    what: Files,
    mut act: Act,
    made: &mut Made,
) -> Result<Act> {
    let at = lock.at;
    let row = at.read(|tx| thread::row(tx, at.agent_no, thread::canonical(tx, node.thread_no)?))?;
    let scope = row.key.strip_prefix("project/").map_or("agent".to_owned(), |id| format!("workspace/{id}"));
    let source = |turns: &[TurnId]| Provenance {
        origin: Origin::Distilled,
        session: Some(facts.key.clone()),
        turns: turns.to_vec(),
        node: Some(id.to_string()),
        ..Provenance::default()
    };
    let open = at.read(|tx| closing::open_loops(tx, at.agent_no))?;
    let mut settled = at.read(|tx| closing::settled(tx, at.agent_no, node.thread_no, &open, &node.distillate))?;
    // Another node of the same act may settle the same loop.
    settled.retain(|s| !made.paths.iter().any(|p| p == s.entry.path.as_str()));
    act = closing::close(lock, &settled, &facts.key, id, act)?;
    made.paths.extend(settled.iter().map(|s| s.entry.path.as_str().to_owned()));
    made.resolved += settled.len() as u64;
    if what == Files::None {
        return Ok(act);
    }
    let keys = at.read(|tx| closing::keys_of(tx, at.agent_no, row.no))?;
    // A person may have moved a loop of this session to another thread, so such loops count wherever they are.
    let is_own =
        |e: &Entry| Provenance::from_value(e.fields.get("source")).session.as_deref() == Some(facts.key.as_str());
    let is_here = |e: &Entry| is_own(e) || e.field("thread").is_none_or(|key| keys.iter().any(|k| k == key));
    let resolved = at.read(|tx| Resolved::load(tx, at.agent_no))?;
    let mut budget = LOOPS;
    for item in node.distillate.open_loops.iter_mut().rev() {
        // The item has its file already, wherever a person has moved it.
        if item.file.is_some() && open.iter().any(|e| e.item == item.file) {
            continue;
        }
        let gone = |e: &Entry| made.paths.iter().any(|p| p == e.path.as_str());
        let known = open.iter().find(|e| is_here(e) && !gone(e) && similarity::same_words(&e.title, &item.text));
        if let Some(known) = known {
            item.file.clone_from(&known.item);
            continue;
        }
        // A person closed this item before it had a file.
        if at.read(|tx| resolved.settles(tx, at.agent_no, item))? {
            continue;
        }
        if budget == 0 {
            made.left_out += 1;
            continue;
        }
        let mut title = headline(&item.text);
        let text = (title != item.text).then(|| item.text.clone());
        // A loop of another thread may have the same title; the title gives the file's name, so this one needs another.
        if open.iter().any(|e| !is_here(e) && e.title.trim().eq_ignore_ascii_case(title.trim())) {
            title = format!("{title} ({})", row.label);
        }
        let opened = at.read(|tx| since(tx, at.agent_no, &item.turns))?;
        let new = NewLoop {
            text,
            title,
            scope: Some(scope.clone()),
            thread: Some(row.key.clone()),
            due: opened.and_then(|said| due(&item.text, at.day_of(said)?)).map(|day| day.to_string()),
            kind: None,
            confidence: Some(Origin::Distilled.confidence()),
            opened,
            source: source(&item.turns),
        };
        let planned = plan(&mut act, made, |act| open_loop::plan_to_add(lock, &new, act))?;
        if let Some(file) = planned {
            item.file = Some(file.id);
            made.loops += u64::from(file.change == Change::New);
            budget -= 1;
        }
    }
    if what == Files::Loops {
        return Ok(act);
    }
    for proposed in node.distillate.proposals.iter_mut().rev().take(PROPOSALS) {
        let new = NewProposal {
            title: headline(&proposed.title),
            entries: vec![proposed.text.clone()],
            class: proposed.class.clone(),
            scope: scope.clone(),
            confidence: Some(Origin::Distilled.confidence()),
            source: source(&proposed.turns),
        };
        // Knowledge belongs to a project; a session without a project has no scope to put it in.
        let (Ok(class), Ok(within)) = (Class::parse(&new.class), Scope::parse(&scope, None)) else { continue };
        if within == Scope::Agent || !class.of_workspace() {
            continue;
        }
        let said = (new.title.as_str(), proposed.text.as_str());
        if at.read(|tx| is_known_in(tx, at.agent_no, class, &within, said.0, said.1))? {
            continue;
        }
        if let Some(file) = plan(&mut act, made, |act| proposal::plan_to_add(lock, &new, act))? {
            proposed.file = Some(file.id);
            made.proposals += u64::from(file.change == Change::New);
        }
    }
    Ok(act)
}

/// Adds the step of one file to the act. `None`: the step cannot be planned (its title gives no file name, or the act
/// already touches the file), so the item is only in the node.
fn plan(act: &mut Act, made: &mut Made, step: impl FnOnce(Act) -> Result<(Act, FileItem)>) -> Result<Option<FileItem>> {
    match step(act.clone()) {
        Ok((next, file)) => {
            let path = file.path.as_str().to_owned();
            if file.change == Change::Same {
                return Ok(Some(file));
            }
            if made.paths.contains(&path) {
                return Ok(None);
            }
            made.paths.push(path);
            *act = next;
            Ok(Some(file))
        }
        Err(e) if matches!(e.kind(), ErrorKind::Usage | ErrorKind::Refused | ErrorKind::NotFound) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Returns the time an open item was first said, if known.
pub(super) fn since(tx: &Read, agent_no: AgentNo, turns: &[TurnId]) -> Result<Option<Millis>> {
    for turn in turns {
        if let Some(then) = closing::said_at(tx, agent_no, *turn)? {
            return Ok(Some(then));
        }
    }
    Ok(None)
}
