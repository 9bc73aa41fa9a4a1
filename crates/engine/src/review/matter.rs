//! Matters: a language model's remarks on open loops, such as that one is settled, that two are the same, or that one
//! has a better title. A person decides; until then no loop changes (D5, R8.2).

use rusqlite::{Row, params};

use crate::clock::Millis;
use crate::continuity;
use crate::continuity::open_loop::{self, NewLoop};
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Ledger, Read, Write};
use crate::pages::Happened;
use crate::recall::expand::{MatterView, Reach, Reference};
use crate::recall::{self, Expansion, Subject};
use crate::scope::{AgentNo, TurnId, named};
use crate::tree::TreeLock;
use crate::tree::file_table::{self, Entry, Kind as FileKind, State as FileState};
use crate::tree::journal::Act;
use crate::tree::provenance::{Origin, Provenance};

named! {
    /// The kind of a remark about a loop.
    pub enum What {
        /// The loop is done: the text quotes the words that say so.
        Settled = "settled",
        /// Another loop is about the same thing.
        Same = "same",
        /// The text would be a better title.
        Title = "title",
    }
}

named! {
    /// The state of a matter.
    pub enum State {
        Waiting = "waiting",
        Accepted = "accepted",
        Rejected = "rejected",
    }
}

/// A model's remark about a loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Matter {
    pub no: i64,
    pub what: What,
    /// Id of the loop it is about.
    pub loop_id: String,
    /// Id of the loop that is the same; empty for other kinds.
    pub other: String,
    /// The words that settle the loop, or the title; empty for two loops that are the same.
    pub text: String,
    pub turn: Option<TurnId>,
    pub model: String,
    pub state: State,
    pub created_at: Millis,
}

impl Matter {
    /// Returns the id, such as `o:7`.
    pub fn id(&self) -> String {
        format!("o:{}", self.no)
    }
}

/// A model's remark that is not stored yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewMatter {
    pub what: What,
    pub loop_id: String,
    pub other: String,
    pub text: String,
    pub turn: Option<TurnId>,
}

/// Stores a model's remarks. A remark a person has decided about is not stored again. Returns the number of new ones.
pub fn put(tx: &Write, agent_no: AgentNo, model: &str, found: &[NewMatter]) -> Result<u64> {
    let mut statement = tx.prepare_cached(
        "INSERT INTO matters (agent_no, kind, loop_id, other, text, turn, model, state, created_at)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 'waiting', ?8
         WHERE NOT EXISTS (SELECT 1 FROM matters WHERE agent_no = ?1 AND kind = ?2 AND loop_id = ?3 AND other = ?4
                             AND (state = 'waiting' OR text = ?5 OR kind != 'title'))
         ON CONFLICT DO NOTHING",
    )?;
    let mut new = 0;
    for m in found {
        new += statement.execute(params![
            agent_no,
            m.what.name(),
            m.loop_id,
            m.other,
            m.text,
            m.turn.map(|t| t.to_string()),
            model,
            tx.now()
        ])?;
    }
    Ok(new as u64)
}

/// Returns the matters of an agent, newest first; `all`: also the decided ones.
pub fn list(tx: &Read, agent_no: AgentNo, all: bool) -> Result<Vec<Matter>> {
    let mut statement = tx.prepare_cached(
        "SELECT matter_no, kind, loop_id, other, text, turn, model, state, created_at FROM matters
         WHERE agent_no = ?1 AND (?2 OR state = 'waiting') ORDER BY matter_no DESC",
    )?;
    let rows = statement.query_map(params![agent_no, all], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn row(r: &Row) -> rusqlite::Result<Matter> {
    Ok(Matter {
        no: r.get(0)?,
        what: What::named(&r.get::<_, String>(1)?).unwrap_or(What::Title),
        loop_id: r.get(2)?,
        other: r.get(3)?,
        text: r.get(4)?,
        turn: r.get::<_, Option<String>>(5)?.and_then(|turn| TurnId::parse(&turn)),
        model: r.get(6)?,
        state: State::named(&r.get::<_, String>(7)?).unwrap_or(State::Rejected),
        created_at: r.get(8)?,
    })
}

/// Returns the matter with this id.
pub fn one(tx: &Read, agent_no: AgentNo, id: &str) -> Result<Matter> {
    let found = list(tx, agent_no, true)?.into_iter().find(|m| m.id() == id);
    found.ok_or_else(|| {
        let shown: String = id.chars().take(40).collect();
        Error::not_found(format!("{shown} does not wait")).hint("see ⟨review⟩")
    })
}

/// Expands a matter to the loops it is about, its reason, and a page of the turn it cites. `NotFound` if there is none
/// with this number.
pub fn expand(ledger: &Ledger, agent_no: AgentNo, no: i64, reach: &Reach) -> Result<Expansion> {
    let (matter, about, other) = ledger.read(|tx| {
        let matter = one(tx, agent_no, &format!("o:{no}"))?;
        let about = file_table::item(tx, agent_no, &matter.loop_id)?;
        let other = file_table::item(tx, agent_no, &matter.other)?;
        Ok((matter, about, other))
    })?;
    let cited = matter.turn.map(|turn| recall::expand(ledger, agent_no, None, &Reference::Turn(turn), reach));
    let transcript = match cited {
        // Words that were forgotten take nothing from what is known of the loop.
        Some(Err(e)) if e.kind() == ErrorKind::NotFound => None,
        cited => cited.transpose()?.and_then(|found| found.transcript),
    };
    let view = MatterView {
        id: matter.id(),
        kind: matter.what.name(),
        state: matter.state.name(),
        about,
        other,
        text: matter.text,
        turn: matter.turn,
        model: matter.model,
        at: matter.created_at,
    };
    Ok(Expansion { subject: Subject::Matter(Box::new(view)), transcript })
}

/// Returns a loop by its id, if it is open.
pub fn open(tx: &Read, agent_no: AgentNo, id: &str) -> Result<Option<Entry>> {
    let found = file_table::item(tx, agent_no, id)?;
    Ok(found.filter(|e| e.kind == FileKind::OpenLoop && e.state == FileState::Active))
}

/// Carries out a person's yes: the loop is closed with the words that settle it, or renamed.
pub fn accept(lock: &TreeLock, matter: &Matter) -> Result<()> {
    let at = lock.at;
    let entry = at.read(|tx| open(tx, at.agent_no, &matter.loop_id))?.ok_or_else(|| {
        Error::refused(format!("{} is not open any more", matter.loop_id))
            .hint(format!("nothing was changed: ⟨review reject {}⟩", matter.id()))
    })?;
    let act = Act::new("matter.accept").tells(&Happened::LoopChanged).note("matter", matter.id());
    let by = Provenance {
        origin: Origin::Distilled,
        turns: matter.turn.into_iter().collect(),
        model: Some(matter.model.clone()),
        ..Provenance::default()
    };
    let act = match matter.what {
        What::Settled => open_loop::plan_to_resolve(lock, &entry, Some(&matter.text), Some(&by), act)?.0,
        What::Same => {
            let how = format!("the same as {}", matter.other);
            open_loop::plan_to_resolve(lock, &entry, Some(&how), Some(&by), act)?.0
        }
        What::Title => {
            let doc = continuity::document(lock, &entry)?;
            let words = doc.body().lines().filter(|l| !l.starts_with("# ")).collect::<Vec<_>>().join("\n");
            let text = format!("{}\n\n{}", entry.title, words.trim());
            let new = NewLoop {
                title: matter.text.clone(),
                text: Some(text.trim().to_owned()),
                scope: entry.scope.clone(),
                thread: entry.field("thread").map(str::to_owned),
                due: entry.field("due").map(str::to_owned),
                kind: entry.field("kind").map(str::to_owned),
                confidence: None,
                opened: entry.field("opened").and_then(crate::clock::parse_rfc3339),
                source: Provenance::from_value(entry.fields.get("source")),
            };
            let (act, item) = open_loop::plan_to_add(lock, &new, act)?;
            open_loop::plan_to_resolve(lock, &entry, Some(&format!("is called {} now", item.id)), None, act)?.0
        }
    };
    lock.perform(act, |tx| decide(tx, matter.no, State::Accepted))?;
    Ok(())
}

/// Records a person's no: the remark is not made again.
pub fn reject(lock: &TreeLock, matter: &Matter) -> Result<()> {
    lock.at.write("matter.reject", |tx| {
        tx.note("matter", matter.id());
        decide(tx, matter.no, State::Rejected)
    })
}

/// Undoes a decision: a loop that was closed is reopened.
pub fn undo(lock: &TreeLock, matter: &Matter) -> Result<()> {
    match (matter.state, matter.what) {
        (State::Waiting, _) => return Err(Error::refused(format!("{} waits", matter.id())).hint("nothing was changed")),
        (State::Accepted, What::Title) => {
            return Err(Error::refused("a new title is taken back by another one")
                .hint("nothing was changed; the old loop is in the archive: ⟨loop reopen⟩"));
        }
        (State::Accepted, _) => drop(open_loop::reopen(lock, std::slice::from_ref(&matter.loop_id))?),
        (State::Rejected, _) => {}
    }
    lock.at.write("matter.undo", |tx| {
        tx.note("matter", matter.id());
        decide(tx, matter.no, State::Waiting)
    })
}

fn decide(tx: &Write, no: i64, state: State) -> Result<()> {
    tx.prepare_cached("UPDATE matters SET state = ?2, decided_at = ?3 WHERE matter_no = ?1")?.execute(params![
        no,
        state.name(),
        tx.now()
    ])?;
    Ok(())
}
