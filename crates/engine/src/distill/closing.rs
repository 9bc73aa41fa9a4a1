//! Closes open loops that a distillation made files of, once later turns of their thread say that they are settled
//! (R6.4, R6.5). Used at a compaction and at the end of a session.

use std::collections::{BTreeSet, HashMap};

use rusqlite::OptionalExtension;

use super::fold::passes_now;
use super::over::{goes_on_later, is_about, is_written, says_over};
use super::state;
use crate::clock::Millis;
use crate::continuity::open_loop;
use crate::error::Result;
use crate::ledger::Read;
use crate::lineage::distillate::{Distillate, Item, TouchedFile};
use crate::scope::{AgentNo, NodeId, ThreadNo, TurnId};
use crate::text::plain::lower;
use crate::text::similarity::{self, covers};
use crate::text::words::{Marks, split};
use crate::thread;
use crate::tree::TreeLock;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::journal::Act;
use crate::tree::provenance::{Origin, Provenance};

/// A settled loop, with the statement and the turns that settled it.
pub(super) struct Settled<'e> {
    pub entry: &'e Entry,
    how: String,
    turns: Vec<TurnId>,
}

/// Returns the open loops of an agent.
pub(super) fn open_loops(tx: &Read, agent_no: AgentNo) -> Result<Vec<Entry>> {
    file_table::list(tx, agent_no, Kind::OpenLoop, State::Active)
}

/// Whether a distillation made this loop's file and nobody has edited it since.
pub(super) fn is_ours(entry: &Entry) -> bool {
    !entry.by_hand() && Provenance::from_value(entry.fields.get("source")).origin == Origin::Distilled
}

/// Returns the open loops that the work done here settles: loops of this thread that a distillation opened, that nobody
/// has edited, and that were last mentioned before that work. "Before" is checked in the order of the ledger and by
/// the clock, because history may be imported later. A loop that names several tickets is settled when each ticket is
/// done.
pub(super) fn settled<'e>(
    tx: &Read,
    agent_no: AgentNo,
    thread_no: ThreadNo,
    open: &'e [Entry],
    by: &'e Distillate,
) -> Result<Vec<Settled<'e>>> {
    let done = &by.done;
    let written: Vec<Item> = by.files.iter().filter(|file| file.is_written()).map(writing).collect();
    if done.is_empty() && written.is_empty() || !open.iter().any(is_ours) {
        return Ok(Vec::new());
    }
    let members = thread::members(tx, thread::canonical(tx, thread_no)?)?;
    let keys = keys_of(tx, agent_no, thread_no)?;
    let mut moments = Moments { tx, agent_no, known: HashMap::new() };
    let mut earlier: Option<Vec<Item>> = None;
    let mut out = Vec::new();
    for entry in open.iter().filter(|e| is_ours(e)) {
        if !entry.field("thread").is_some_and(|key| keys.iter().any(|k| k == key)) {
            continue;
        }
        let spoken = Provenance::from_value(entry.fields.get("source")).turns.into_iter().max().unwrap_or_default();
        let title = similarity::words(&entry.title);
        let mut whole = None;
        let says_so = |told: &str| says_over(told) && is_about(told, &entry.title);
        let settles = |d: &&Item| {
            covers(&similarity::words(&d.text), &title) || passes_now(&d.text, &entry.title) || says_so(&d.text)
        };
        // "We continue later" is over with any later work.
        let is_later_work = goes_on_later(&entry.title);
        let told = done.iter().rev().filter(|d| is_later_work || settles(d));
        let is_it = |file: &&Item| is_later_work || is_written(&entry.title, std::iter::once(file.text.as_str()));
        for item in told.chain(written.iter().filter(is_it)) {
            if moments.is_later(item, spoken)? {
                whole = Some(item);
                break;
            }
        }
        if let Some(item) = whole {
            out.push(Settled { entry, how: item.text.clone(), turns: item.turns.clone() });
            continue;
        }
        let tickets = tickets(&entry.title);
        if tickets.len() < 2 {
            continue;
        }
        // A loop that names several tickets is often settled ticket by ticket, some of them in earlier sessions.
        if earlier.is_none() {
            earlier = Some(state::of_thread(tx, &members)?.distillate.done);
        }
        let all: Vec<&Item> = earlier.iter().flatten().chain(done).collect();
        let mut by: Vec<&Item> = Vec::new();
        for ticket in &tickets {
            let tells = |d: &&&Item| {
                let named: Vec<&String> = tickets.iter().filter(|t| names(&d.text, t)).collect();
                // A list of tickets says that they exist, not that each is done.
                named == [ticket]
            };
            for item in all.iter().rev().filter(tells) {
                if moments.is_later(item, spoken)? {
                    by.push(item);
                    break;
                }
            }
        }
        if by.len() == tickets.len() {
            let last = by.iter().max_by_key(|i| i.turns.last()).map(|i| i.text.clone()).unwrap_or_default();
            let turns: BTreeSet<TurnId> = by.iter().filter_map(|i| i.turns.last().copied()).collect();
            out.push(Settled { entry, how: last, turns: turns.into_iter().collect() });
        }
    }
    Ok(out)
}

/// Returns a file that was written as an item: its path, and the turns that wrote it.
fn writing(file: &TouchedFile) -> Item {
    Item { text: file.path.clone(), turns: file.turns.clone(), file: None }
}

/// Returns the keys of a thread and of the threads joined with it: a file names its thread by the key from when the
/// file was written.
pub(super) fn keys_of(tx: &Read, agent_no: AgentNo, thread_no: ThreadNo) -> Result<Vec<String>> {
    let members = thread::members(tx, thread::canonical(tx, thread_no)?)?;
    members.iter().map(|member| Ok(thread::row(tx, agent_no, *member)?.key)).collect()
}

/// Caches the times of turns, so that each is read once.
struct Moments<'t> {
    tx: &'t Read<'t>,
    agent_no: AgentNo,
    known: HashMap<TurnId, Option<Millis>>,
}

impl Moments<'_> {
    /// Whether an item was said after a turn: in the order of the ledger, and by the clock if both times are known.
    fn is_later(&mut self, item: &Item, than: TurnId) -> Result<bool> {
        let Some(last) = item.turns.iter().max().copied().filter(|t| *t > than) else { return Ok(false) };
        let (item, than) = (self.at(last)?, self.at(than)?);
        Ok(item.zip(than).is_none_or(|(item, than)| item >= than))
    }

    fn at(&mut self, turn: TurnId) -> Result<Option<Millis>> {
        if let Some(known) = self.known.get(&turn) {
            return Ok(*known);
        }
        let found = said_at(self.tx, self.agent_no, turn)?;
        self.known.insert(turn, found);
        Ok(found)
    }
}

/// Maximum number of tickets looked for in one title.
const TICKETS: usize = 12;

/// Returns the tickets that a title names: `gqc.4`, `API-17`, `#230`.
fn tickets(title: &str) -> BTreeSet<String> {
    words(title).filter(|w| is_ticket(w)).take(TICKETS).collect()
}

/// Whether a word is a ticket: letters, then a dot, a dash or a hash, then a number.
fn is_ticket(word: &str) -> bool {
    let Some(at) = word.rfind(['.', '-', '#']) else { return false };
    let (name, number) = (&word[..at], &word[at + 1..]);
    let numbered = !number.is_empty() && number.len() <= 6 && number.bytes().all(|b| b.is_ascii_digit());
    numbered && (word.starts_with('#') || name.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether a text names a ticket, with or without its project's prefix.
fn names(text: &str, ticket: &str) -> bool {
    words(text)
        .any(|w| w.strip_suffix(ticket).is_some_and(|front| front.is_empty() || front.ends_with(['-', '/', '.'])))
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    split(text, Marks::Dropped).into_iter().map(|word| lower(&text[word.start..word.end]))
}

/// Returns the time at which a turn was said, if known.
pub(super) fn said_at(tx: &Read, agent_no: AgentNo, turn: TurnId) -> Result<Option<Millis>> {
    Ok(tx
        .prepare_cached(
            "SELECT t.at FROM turns t JOIN sessions s USING (session_no) WHERE t.turn_no = ?1 AND s.agent_no = ?2",
        )?
        .query_row((turn.0, agent_no), |r| r.get(0))
        .optional()?
        .flatten())
}

/// Adds to an act the steps that close settled loops: each file names what settled it, with session, turns and node.
pub(super) fn close(lock: &TreeLock, settled: &[Settled], session: &str, node: NodeId, mut act: Act) -> Result<Act> {
    for Settled { entry, how, turns } in settled {
        let how = match turns.last() {
            Some(turn) => format!("done: {how} [{turn}]"),
            None => format!("done: {how} [{node}]"),
        };
        let by = Provenance {
            origin: Origin::Distilled,
            session: Some(session.to_owned()),
            turns: turns.clone(),
            node: Some(node.to_string()),
            ..Provenance::default()
        };
        act = open_loop::plan_to_resolve(lock, entry, Some(&how), Some(&by), act)?.0;
    }
    Ok(act)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_found_and_named() {
        let of = |title: &str| tickets(title).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(of("gqc.4 (ready now) → gqc.5 (depends on gqc.4) → API-17, #230."), "#230 api-17 gqc.4 gqc.5");
        assert_eq!(of("upgrade to 1.2.3, port v2.0 of it by 2026-11-22"), "v2.0");
        assert!(names("[x 99b] feat: review page (spotter-gqc.5)", "gqc.5"));
        assert!(!names("feat: review page (spotter-gqc.51)", "gqc.5") && !names("see agqc.5", "gqc.5"));
    }
}
