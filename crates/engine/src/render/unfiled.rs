//! Open items that pages show and that have no file: from conversations that go on, and from history. Each has the id
//! its file would have, by which it can be closed like any other (R8.1).

use jiff::civil::Date;

use super::memory::{LATELY_MS, OVERDUE_DAYS};
use super::page::end_of_day;
use super::running::{Running, running};
use super::scoping::{Owed, Scope, Standing, owed};
use super::threads::{Stand, recent, stand};
use crate::clock::Millis;
use crate::continuity::open_loop::{self, NewLoop};
use crate::distill::deadline::due;
use crate::distill::state;
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::lineage::distillate::{Distillate, Item};
use crate::scope::TurnId;
use crate::thread::{self, ThreadRow};
use crate::title::wordless;
use crate::tree::AssistantHome;
use crate::tree::file_table::Kind;
use crate::tree::provenance::{Origin, Provenance};

/// Largest number of threads that are searched, worked in last first.
const THREADS: usize = 400;

/// Largest number of threads worked in lately that are searched for due items.
const LATELY: usize = 30;

/// An open item without a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Unfiled {
    /// Id that its file would have: `l:…`.
    pub id: String,
    pub title: String,
    pub text: String,
    /// Turns in which it was said, oldest first.
    pub turns: Vec<TurnId>,
    /// Session of the last of these turns.
    pub session: Option<String>,
    /// Key of the thread, and its name.
    pub thread: String,
    pub label: String,
    /// Time at which it was first said, if known.
    pub since: Option<Millis>,
    /// Deadline that it names, as `YYYY-MM-DD`.
    pub due: Option<String>,
    /// Whether the conversation with the item goes on.
    pub running: bool,
}

impl Unfiled {
    pub(super) fn of(
        at: &AssistantHome,
        standing: &mut Standing,
        item: &Item,
        (key, label): (&str, &str),
        running: bool,
    ) -> Result<Option<Unfiled>> {
        let Some(id) = open_loop::id_of(&item.text) else { return Ok(None) };
        let since = standing.since(item)?;
        Ok(Some(Unfiled {
            id,
            title: open_loop::headline(&item.text),
            text: item.text.clone(),
            turns: item.turns.clone(),
            session: standing.session(item)?,
            thread: key.to_owned(),
            label: label.to_owned(),
            since,
            due: since.and_then(|said| due(&item.text, at.day_of(said)?)).map(|day| day.to_string()),
            running,
        }))
    }

    /// Returns its deadline as a date.
    pub(super) fn due_day(&self) -> Option<Date> {
        self.due.as_deref().and_then(|due| due.parse().ok())
    }

    /// Whether its deadline is still to come or not long past, however long ago the item was said.
    pub(super) fn counts_still(&self, today: Option<Date>) -> bool {
        self.due_day().zip(today).is_some_and(|(due, today)| {
            due >= today || due.until(today).is_ok_and(|past| past.get_days() <= OVERDUE_DAYS)
        })
    }

    /// Returns the scope its file would have.
    pub fn scope(&self) -> String {
        self.thread.strip_prefix("project/").map_or("agent".to_owned(), |id| format!("workspace/{id}"))
    }

    /// Returns the file that would be made of it.
    pub fn file(&self) -> NewLoop {
        NewLoop {
            text: (self.title != self.text).then(|| self.text.clone()),
            title: self.title.clone(),
            scope: Some(self.scope()),
            thread: Some(self.thread.clone()),
            due: self.due.clone(),
            kind: None,
            confidence: Some(Origin::Distilled.confidence()),
            opened: self.since,
            // The source has the session, so that forgetting the session reaches the file.
            source: Provenance {
                origin: Origin::Distilled,
                session: self.session.clone(),
                turns: self.turns.clone(),
                node: None,
                ..Provenance::default()
            },
        }
    }
}

/// Returns every open item without a file that a page of a thread shows; threads worked in last come first, and within
/// a thread the newest items.
pub fn unfiled(at: &AssistantHome, tx: &Read) -> Result<Vec<Unfiled>> {
    let live = running(tx, at.agent_no, at.ledger.now())?;
    let mut rows = rows_of(at, tx, &live)?;
    for row in recent(tx, at.agent_no, Millis::MIN, THREADS)? {
        if !rows.iter().any(|known| known.no == row.no) {
            rows.push(row);
        }
    }
    of_threads(at, tx, &rows, &live)
}

/// Does the same as [`unfiled`] for the conversations that go on.
pub(super) fn said_now(at: &AssistantHome, tx: &Read) -> Result<Vec<Unfiled>> {
    let live = running(tx, at.agent_no, at.ledger.now())?;
    let mut out = of_threads(at, tx, &rows_of(at, tx, &live)?, &live)?;
    out.retain(|item| item.running);
    Ok(out)
}

/// Returns the open items without a file whose day has come, of threads worked in lately and of conversations that go
/// on; the oldest deadline first.
pub(super) fn due_by(at: &AssistantHome, tx: &Read, today: Date) -> Result<Vec<Unfiled>> {
    let live = running(tx, at.agent_no, at.ledger.now())?;
    let mut rows = rows_of(at, tx, &live)?;
    for row in recent(tx, at.agent_no, end_of_day(at) - LATELY_MS, LATELY)? {
        if !rows.iter().any(|known| known.no == row.no) {
            rows.push(row);
        }
    }
    let mut out = of_threads(at, tx, &rows, &live)?;
    out.retain(|u| u.due_day().is_some_and(|due| due <= today) && u.counts_still(Some(today)));
    out.sort_by(|a, b| a.due.cmp(&b.due).then_with(|| a.id.cmp(&b.id)));
    Ok(out)
}

/// Returns the threads in which conversations go on.
fn rows_of(at: &AssistantHome, tx: &Read, live: &[Running]) -> Result<Vec<ThreadRow>> {
    let mut rows: Vec<ThreadRow> = Vec::new();
    for no in live.iter().filter_map(|r| r.thread_no) {
        if !rows.iter().any(|row| row.no == no) {
            rows.push(thread::row(tx, at.agent_no, no)?);
        }
    }
    Ok(rows)
}

fn of_threads(at: &AssistantHome, tx: &Read, rows: &[ThreadRow], live: &[Running]) -> Result<Vec<Unfiled>> {
    let loops = owed(tx, at.agent_no, Kind::OpenLoop)?;
    let mut standing = Standing::new(tx, at.agent_no);
    let mut out: Vec<Unfiled> = of_threadless(at, &mut standing, live, &loops)?;
    for row in rows {
        let stand = stand(tx, &mut standing, row, &loops, live)?;
        for item in stand.unfiled() {
            let runs = live.iter().any(|r| r.thread_no == Some(row.no) && r.says(item));
            out.extend(Unfiled::of(at, &mut standing, item, (&row.key, &row.label), runs)?);
        }
    }
    Ok(out)
}

/// Returns the open items of conversations whose thread does not exist yet.
pub(super) fn of_threadless(
    at: &AssistantHome,
    standing: &mut Standing,
    live: &[Running],
    loops: &[Owed],
) -> Result<Vec<Unfiled>> {
    let mut out = Vec::new();
    for running in live.iter().filter(|r| r.thread_no.is_none()) {
        let place = running.key.strip_prefix("project/");
        let own: Vec<&Owed> = loops
            .iter()
            .filter(|l| match &l.scope {
                Scope::Workspace(id) => place == Some(id.as_str()),
                Scope::Thread(_, label) => *label == running.key,
                Scope::AgentWide => false,
            })
            .collect();
        let stand = Stand::of_running(running, own, standing)?;
        for item in stand.unfiled() {
            out.extend(Unfiled::of(at, standing, item, (&running.key, &running.label), true)?);
        }
    }
    Ok(out)
}

/// Returns the open item that an id means, with or without the words in the id; `ID@THREAD` also names the thread.
/// `None` if there is none; `Usage` if the id stands for several, in different threads.
pub fn find(at: &AssistantHome, tx: &Read, name: &str) -> Result<Option<Unfiled>> {
    let (id, place) = name.split_once('@').map_or((name, None), |(id, place)| (id, Some(place)));
    let mut found = called(at, tx, id)?;
    found.retain(|u| place.is_none_or(|place| u.label == place || u.thread == place));
    match found.as_slice() {
        [] => Ok(None),
        [_] => Ok(found.pop()),
        several => {
            let names: Vec<String> = several.iter().map(|u| format!("{id}@{}", u.label)).collect();
            Err(Error::usage(format!("{id} is open in {} threads", several.len()))
                .hint(format!("say which: {}", names.join(", "))))
        }
    }
}

/// Returns the turn where an open item was said last, given its id; of several threads, the one worked in last.
pub(crate) fn said_in(at: &AssistantHome, tx: &Read, id: &str) -> Result<Option<TurnId>> {
    Ok(called(at, tx, id)?.first().and_then(|item| item.turns.last().copied()))
}

/// Returns the items with an id: those that pages show, else those of the newest nodes, which a handoff may show.
fn called(at: &AssistantHome, tx: &Read, id: &str) -> Result<Vec<Unfiled>> {
    if !id.starts_with("l:") {
        return Ok(Vec::new());
    }
    let mut found = unfiled(at, tx)?;
    let exact = found.iter().any(|u| u.id == id);
    found.retain(|u| if exact { u.id == id } else { wordless(&u.id) == id });
    if !found.is_empty() {
        return Ok(found);
    }
    let is_it = |item: &&Item| open_loop::id_of(&item.text).is_some_and(|own| own == id || wordless(&own) == id);
    let open = |d: &Distillate| d.open_loops.iter().chain(&d.blocked).chain(&d.next_steps).rev().find(is_it).cloned();
    let mut standing = Standing::new(tx, at.agent_no);
    for running in running(tx, at.agent_no, at.ledger.now())? {
        if let Some(item) = open(&running.distillate) {
            found.extend(Unfiled::of(at, &mut standing, &item, (&running.key, &running.label), true)?);
        }
    }
    for row in recent(tx, at.agent_no, Millis::MIN, THREADS)? {
        let nodes = state::of_thread(tx, &thread::members(tx, row.no)?)?.nodes;
        let item = nodes.iter().find_map(|node| open(&node.distillate));
        if let Some(item) = item.filter(|_| found.iter().all(|u| u.thread != row.key)) {
            found.extend(Unfiled::of(at, &mut standing, &item, (&row.key, &row.label), false)?);
        }
    }
    Ok(found)
}
