//! Finds which items of a distillate still apply. Items whose loop or proposal has been closed since are left out where
//! the distillate is shown; the node keeps them (R6.3). An open item without a file counts as closed if its thread has
//! a resolved loop with its id or nearly its words, so that an item a person closed never comes back.

use std::collections::{HashMap, HashSet};

use rusqlite::OptionalExtension;

use super::closing::said_at;
use crate::clock::{Millis, parse_rfc3339};
use crate::continuity::open_loop;
use crate::error::Result;
use crate::home::Digest;
use crate::ledger::Read;
use crate::lineage::distillate::{Distillate, Item};
use crate::pages::{PageKey, dismissals};
use crate::scope::{AgentNo, RunNo, TurnId};
use crate::text::similarity;
use crate::thread;
use crate::tree::file_table::{self, State};

/// Returns the distillate as it is to be shown now. Left out are items whose visible file was resolved, merged,
/// rejected, removed from MEMORY.md by a person, or deleted, and items said only on a branch that was abandoned since
/// (R6.2).
pub(crate) fn still_stands(tx: &Read, agent_no: AgentNo, d: &Distillate) -> Result<Distillate> {
    let mut known = Known { tx, agent_no, files: HashMap::new(), left: HashMap::new() };
    let mut out = d.clone();
    let mut failed = None;
    let mut stays = |file: Option<&str>, turns: &[TurnId]| {
        known.stays(file, turns).unwrap_or_else(|e| {
            failed.get_or_insert(e);
            true
        })
    };
    out.retain(|item| stays(item.file.as_deref(), &item.turns));
    out.files.retain(|file| stays(None, &file.turns));
    out.proposals.retain(|proposed| stays(proposed.file.as_deref(), &proposed.turns));
    if let Some(failed) = failed {
        return Err(failed);
    }
    let open = [&mut out.open_loops, &mut out.blocked, &mut out.next_steps];
    if open.iter().any(|list| list.iter().any(|item| item.file.is_none())) {
        let resolved = Resolved::load(tx, agent_no)?;
        for list in open {
            let mut kept = Vec::with_capacity(list.len());
            for item in std::mem::take(list) {
                if item.file.is_some() || !resolved.settles(tx, agent_no, &item)? {
                    kept.push(item);
                }
            }
            *list = kept;
        }
    }
    Ok(out)
}

/// Gives every open item without a file the id its file will have, so that every item shown as open can be closed by
/// that id. Such a distillate must not be stored.
pub(crate) fn give_ids(d: &mut Distillate) {
    for item in d.open_loops.iter_mut().chain(&mut d.blocked).chain(&mut d.next_steps) {
        if item.file.is_none() {
            item.file = open_loop::id_of(&item.text);
        }
    }
}

/// Maximum number of loop files, those changed last, in which resolved ones are looked for.
const CHANGED: i64 = 2_000;

/// Maximum number of loops, those resolved last, that are compared word by word.
const COMPARED: usize = 200;

/// Loops that were resolved and are not open again, and items a person dismissed before they had a file.
#[derive(Default)]
pub(crate) struct Resolved {
    /// The loops, those changed last first.
    loops: Vec<Settled>,
    by_id: HashMap<String, usize>,
    /// Ids of items without a file whose line a person removed from MEMORY.md.
    dismissed: HashSet<String>,
}

struct Settled {
    words: similarity::ItemWords,
    /// The thread, as the loop's file names it.
    thread: Option<String>,
    at: Option<Millis>,
}

impl Resolved {
    pub fn load(tx: &Read, agent_no: AgentNo) -> Result<Resolved> {
        let mut statement = tx.prepare_cached(
            "SELECT item, state, fields ->> 'resolved', title, fields ->> 'thread' FROM catalogue
             WHERE agent_no = ?1 AND kind = 'loop' AND state IN ('active', 'archived') AND item IS NOT NULL
             ORDER BY change_no DESC LIMIT ?2",
        )?;
        let mut rows = statement.query((agent_no, CHANGED))?;
        let (mut open, mut found) = (HashSet::new(), Vec::new());
        while let Some(r) = rows.next()? {
            let (id, state): (String, String) = (r.get(0)?, r.get(1)?);
            if state == "active" {
                open.insert(id);
                continue;
            }
            let at = r.get::<_, Option<String>>(2)?.as_deref().and_then(moment);
            found.push((id, at, r.get::<_, Option<String>>(3)?.unwrap_or_default(), r.get::<_, Option<String>>(4)?));
        }
        let dismissed = dismissals::of(tx, agent_no, &PageKey::Memory)?;
        let dismissed = dismissed.keys().filter_map(|key| key.split_once('#')).filter(|(id, _)| id.starts_with("l:"));
        let mut out = Resolved { dismissed: dismissed.map(|(id, _)| id.to_owned()).collect(), ..Resolved::default() };
        for (id, at, title, thread) in found.into_iter().filter(|(id, ..)| !open.contains(id)) {
            let words = if out.loops.len() < COMPARED { similarity::words(&title) } else { Vec::new() };
            let thread = thread.filter(|t| !t.trim().is_empty());
            let this = out.loops.len();
            let newest = *out.by_id.entry(id).or_insert(this);
            if newest == this {
                out.loops.push(Settled { words, thread, at });
            } else {
                out.loops[newest].at = out.loops[newest].at.max(at);
            }
        }
        Ok(out)
    }

    /// Whether an item was said before a loop of its thread with its id or nearly its words was resolved, or was
    /// dismissed.
    pub fn settles(&self, tx: &Read, agent_no: AgentNo, item: &Item) -> Result<bool> {
        if self.loops.is_empty() && self.dismissed.is_empty() {
            return Ok(false);
        }
        let id = open_loop::id_of(&item.text);
        if id.as_ref().is_some_and(|id| self.dismissed.contains(id)) {
            return Ok(true);
        }
        let named = id.and_then(|id| self.by_id.get(&id)).map(|at| &self.loops[*at]);
        let words = similarity::words(&item.text);
        let alike =
            self.loops.iter().take(COMPARED).filter(|l| !words.is_empty() && similarity::same(&l.words, &words));
        for settled in named.into_iter().chain(alike) {
            let said = match item.turns.iter().min() {
                Some(turn) => said_at(tx, agent_no, *turn)?,
                None => None,
            };
            let is_later = said.is_none() || settled.at.is_none_or(|at| Some(at) >= said);
            if is_later && is_of(tx, agent_no, item, settled.thread.as_deref())? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether an item was said in the thread a file names. If the file names no thread, or the thread of the item is
/// unknown, the answer is yes.
fn is_of(tx: &Read, agent_no: AgentNo, item: &Item, thread: Option<&str>) -> Result<bool> {
    let (Some(name), Some(turn)) = (thread, item.turns.last()) else { return Ok(true) };
    let Some(run) = run_of(tx, *turn)? else { return Ok(true) };
    let key = match thread::exact(tx, agent_no, name)? {
        Some(no) => thread::row(tx, agent_no, no)?.key,
        None => name.to_owned(),
    };
    Ok(thread::membership(tx, run)?.key.as_str() == key)
}

/// Parses the time in a front matter field: a date, or a date with a time.
fn moment(text: &str) -> Option<Millis> {
    parse_rfc3339(text).or_else(|| parse_rfc3339(&format!("{text}T00:00:00Z")))
}

/// Caches the state of files and turns, because many items have the same ones.
struct Known<'k> {
    tx: &'k Read<'k>,
    agent_no: AgentNo,
    files: HashMap<String, bool>,
    left: HashMap<TurnId, bool>,
}

impl Known<'_> {
    fn stays(&mut self, file: Option<&str>, turns: &[TurnId]) -> Result<bool> {
        if let Some(file) = file
            && !self.is_open(file)?
        {
            return Ok(false);
        }
        for turn in turns {
            if !self.is_left(*turn)? {
                return Ok(true);
            }
        }
        Ok(turns.is_empty())
    }

    /// Whether an item's file exists, is active, and was not dismissed in this version.
    fn is_open(&mut self, item: &str) -> Result<bool> {
        if let Some(open) = self.files.get(item) {
            return Ok(*open);
        }
        let open = match file_table::item(self.tx, self.agent_no, item)? {
            Some(entry) if entry.state == State::Active => !self.is_dismissed(item, &entry.digest)?,
            _ => false,
        };
        self.files.insert(item.to_owned(), open);
        Ok(open)
    }

    fn is_dismissed(&self, item: &str, digest: &Digest) -> Result<bool> {
        dismissals::is_dismissed(self.tx, self.agent_no, &PageKey::Memory, item, digest)
    }

    fn is_left(&mut self, turn: TurnId) -> Result<bool> {
        if let Some(left) = self.left.get(&turn) {
            return Ok(*left);
        }
        let left: Option<bool> = self
            .tx
            .prepare_cached(
                "SELECT r.left_by IS NOT NULL FROM turns t JOIN turn_results r ON r.run_no = t.run_no WHERE t.turn_no = ?1",
            )?
            .query_row([turn.0], |r| r.get(0))
            .optional()?;
        let left = left.unwrap_or(false);
        self.left.insert(turn, left);
        Ok(left)
    }
}

/// Returns the run of a turn, if it is known.
pub(crate) fn run_of(tx: &Read, turn: TurnId) -> Result<Option<RunNo>> {
    Ok(tx
        .prepare_cached("SELECT run_no FROM turns WHERE turn_no = ?1")?
        .query_row([turn.0], |r| r.get(0))
        .optional()?)
}
