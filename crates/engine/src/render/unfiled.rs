//! Open items that pages show and that have no file: those of conversations that go on, and those of history. Each has
//! the id its file would have, by which it can be closed like any other (R8.1).

use super::running::{Running, running};
use super::scoping::{Owed, Scope, Standing, owed};
use super::threads::{Stand, recent, stand};
use crate::clock::Millis;
use crate::continuity::open_loop::{self, NewLoop};
use crate::distill::due::due;
use crate::error::{Error, Result};
use crate::ledger::Read;
use crate::lineage::distillate::Item;
use crate::scope::TurnId;
use crate::thread;
use crate::title::wordless;
use crate::tree::AssistantHome;
use crate::tree::file_table::Kind;
use crate::tree::provenance::{Origin, Provenance};

/// The most threads that are searched, worked in last first.
const THREADS: usize = 400;

/// An open item without a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Unfiled {
    /// `l:…`
    pub id: String,
    pub title: String,
    pub text: String,
    /// Where it was said, oldest first.
    pub turns: Vec<TurnId>,
    /// The thread's key and its name.
    pub thread: String,
    pub label: String,
    /// When it was first said, if known.
    pub since: Option<Millis>,
    /// The day it names as its deadline, `YYYY-MM-DD`.
    pub due: Option<String>,
    /// Whether the conversation that says it goes on.
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
            thread: key.to_owned(),
            label: label.to_owned(),
            since,
            due: since.and_then(|said| due(&item.text, at.day_of(said)?)).map(|day| day.to_string()),
            running,
        }))
    }

    /// The scope its file would have.
    pub fn scope(&self) -> String {
        self.thread.strip_prefix("project/").map_or("agent".to_owned(), |id| format!("workspace/{id}"))
    }

    /// The file it would get.
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
            source: Provenance { origin: Origin::Distilled, turns: self.turns.clone(), ..Provenance::default() },
        }
    }
}

/// Every open item without a file that a page of a thread shows; of the threads worked in last first, and within a
/// thread the newest first.
pub fn unfiled(at: &AssistantHome, tx: &Read) -> Result<Vec<Unfiled>> {
    let loops = owed(tx, at.agent_no, Kind::OpenLoop)?;
    let live = running(tx, at.agent_no, at.ledger.now())?;
    let mut standing = Standing::new(tx, at.agent_no);
    let mut rows = recent(tx, at.agent_no, Millis::MIN, THREADS)?;
    for no in live.iter().filter_map(|r| r.thread_no) {
        if !rows.iter().any(|row| row.no == no) {
            rows.insert(0, thread::row(tx, at.agent_no, no)?);
        }
    }
    let mut out: Vec<Unfiled> = of_threadless(at, &mut standing, &live, &loops)?;
    for row in rows {
        let stand = stand(tx, &mut standing, &row, &loops, &live)?;
        for item in stand.unfiled() {
            let runs = live.iter().any(|r| r.thread_no == Some(row.no) && r.says(item));
            out.extend(Unfiled::of(at, &mut standing, item, (&row.key, &row.label), runs)?);
        }
    }
    Ok(out)
}

/// The open items of conversations whose thread does not exist yet.
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

/// The open item a person means by its id, with or without its words. `None`: there is none. `Usage` if the id stands
/// for several, in different threads.
pub fn find(at: &AssistantHome, tx: &Read, name: &str) -> Result<Option<Unfiled>> {
    if !name.starts_with("l:") {
        return Ok(None);
    }
    let mut found: Vec<Unfiled> = unfiled(at, tx)?;
    let exact = found.iter().any(|u| u.id == name);
    found.retain(|u| if exact { u.id == name } else { wordless(&u.id) == name });
    match found.as_slice() {
        [] => Ok(None),
        [_] => Ok(found.pop()),
        several => {
            let places: Vec<&str> = several.iter().map(|u| u.label.as_str()).collect();
            Err(Error::usage(format!("{name} is open in {} threads: {}", several.len(), places.join(", ")))
                .hint("⟨loop list⟩ shows them; say what it is with ⟨loop add⟩ and close that"))
        }
    }
}
