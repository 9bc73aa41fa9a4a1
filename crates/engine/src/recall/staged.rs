//! Recall in stages (R10.1): what was written down on purpose first, then summaries, the words themselves only where
//! neither answers or where they are asked for. Then governance (R10.2): who may hear it, how old and how sure it is, how
//! many of a class, nothing twice.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use super::files::{FileFilter, FileHit, search_files};
use super::named::{Named, named};
use super::place::Place;
use super::query::{Query, understand};
use super::recalled::{Dropped, Item, Recalled, Stage};
use super::search::{Filter, search};
use super::snippet::{MATCH_END, MATCH_START};
use crate::assistant::AssistantHome;
use crate::assistant::catalogue::{Entry, Kind};
use crate::clock::Millis;
use crate::distill::fold;
use crate::error::Result;
use crate::head::memory::Scope;
use crate::head::scope_of;
use crate::index::Index;
use crate::ledger::Read;
use crate::memory::class::Verification;
use crate::memory::leaf::class_of;
use crate::memory::staleness::staleness;
use crate::memory::{Class, class::Policy};
use crate::scope::TurnId;
use crate::thread;
use crate::tokens::tokens;
use crate::transcript::role_name;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'q> {
    pub text: &'q str,
    /// The most items.
    pub most: usize,
    /// The words themselves are wanted even where something above answers.
    pub deep: bool,
}

/// Files that are looked at; only what is shown is read.
const CANDIDATES: usize = 40;

/// Turns that are looked at before those of other threads go.
const TURNS: usize = 60;

/// Of the best score; less is a chance resemblance.
const FLOOR: f64 = 0.3;

/// A file that has less of the question than this share answers another one.
const LEAST_COVERED: f64 = 0.34;

/// What counts less, and how much less.
const STALE: f64 = 0.6;
const STALE_REFERENCE: f64 = 0.3;
const UNSURE: f64 = 0.7;
const UNSURE_BELOW: f64 = 0.5;

/// Classes in the order they are told, and the most of each.
const CLASSES: [(&str, usize); 9] = [
    ("preference", 3),
    ("identity", 2),
    ("procedure", 2),
    ("fact", 4),
    ("blocker", 2),
    ("open loop", 3),
    ("proposal", 1),
    ("reference", 2),
    ("note", 2),
];

/// So many answers above make the words themselves unnecessary.
const ENOUGH: usize = 3;

/// Recalls what answers a question where somebody is. Without a place a person asks, who may hear everything of the
/// agent; every item says its thread then.
///
/// Never fails for what the question is made of: an empty one has an empty answer that says why.
pub fn recall(at: &AssistantHome, index: &mut Index, place: Option<&Place>, question: &Question) -> Result<Recalled> {
    let mut out = Recalled::default();
    let now = at.ledger.now();
    let named = at.read(|tx| named(tx, at.agent_no, question.text))?;
    let query = understand(at.ledger, &at.agent, question.text, &at.zone)?;
    if query.is_empty() {
        out.degraded.push("there is no word in this question".into());
        return Ok(out);
    }
    let files = FileFilter {
        kinds: vec![Kind::Leaf, Kind::OpenLoop, Kind::Proposal, Kind::Note],
        limit: CANDIDATES,
        ..FileFilter::default()
    };
    let found = search_files(at, index, &query, &files)?;
    if found.not_indexed > 0 {
        out.degraded.push(format!("{} changed files are not in the index yet", found.not_indexed));
    }
    if found.cut_short {
        out.degraded.push("the search took too long and was broken off".into());
    }
    let mut items = Vec::new();
    for hit in found.hits {
        items.extend(of_file(at, place, &named, hit, now, &mut out.dropped)?);
    }
    items.sort_by(|a, b| class_rank(&a.kind).cmp(&class_rank(&b.kind)).then(b.score.total_cmp(&a.score)));
    let structured = govern(items, &mut out.dropped);
    if question.deep || structured.len() < ENOUGH {
        let turns = of_turns(at, index, place, &named, &query, question, &mut out)?;
        out.items = structured;
        out.items.extend(turns);
    } else {
        out.items = structured;
    }
    unlike(&mut out);
    for extra in out.items.split_off(out.items.len().min(question.most)) {
        out.dropped.push(Dropped { id: extra.id, why: format!("more than the {} that are wanted", question.most) });
    }
    Ok(out)
}

fn class_rank(kind: &str) -> usize {
    CLASSES.iter().position(|(name, _)| *name == kind).unwrap_or(CLASSES.len())
}

/// A file as an item, unless somebody else's or not to the point.
fn of_file(
    at: &AssistantHome,
    place: Option<&Place>,
    named: &Named,
    hit: FileHit,
    now: Millis,
    dropped: &mut Vec<Dropped>,
) -> Result<Option<Item>> {
    let entry = &hit.entry;
    let id = entry.item.clone().unwrap_or_else(|| entry.path.to_string());
    let mut drop = |why: String| dropped.push(Dropped { id: id.clone(), why });
    if entry.status.as_deref() == Some("superseded") {
        drop("superseded by a newer one".into());
        return Ok(None);
    }
    let covered = if hit.of == 0 { 0.0 } else { hit.matched as f64 / hit.of as f64 };
    let asked_for = named.ids.contains(&id);
    if covered < LEAST_COVERED && !asked_for {
        drop(format!("has {} of {} words of the question", hit.matched, hit.of));
        return Ok(None);
    }
    let scope = at.read(|tx| scope_of(tx, at.agent_no, entry))?;
    let mut reasons = vec![format!("{} of {} words", hit.matched, hit.of)];
    let Some(of) = heard(place, named, asked_for, &scope, &mut reasons) else {
        drop("of another thread, which the question does not name".into());
        return Ok(None);
    };
    let class = class_of(entry).filter(|_| entry.kind == Kind::Leaf);
    let (mut score, mut marks) = (hit.score, Vec::new());
    if let Some(class) = class {
        weigh(entry, class, now, &mut score, &mut marks, &mut reasons);
    }
    let kind = match (entry.kind, class) {
        (Kind::OpenLoop, _) => "open loop".to_owned(),
        (Kind::Proposal, _) => {
            marks.push("waits for a yes".into());
            "proposal".to_owned()
        }
        (_, Some(class)) => class.name().to_owned(),
        _ => "note".to_owned(),
    };
    let passage: String = hit.passage.chars().filter(|c| !matches!(*c, MATCH_START | MATCH_END)).collect();
    let text = match passage.trim().is_empty() || fold::same_words(&passage, &entry.title) {
        true => entry.title.clone(),
        false if passage.contains(entry.title.trim_end_matches('…')) => passage,
        false => format!("{}: {}", entry.title, passage),
    };
    let time = ["observed", "opened", "proposed", "created"].iter().find_map(|k| entry.field(k));
    let at = time.and_then(crate::clock::parse_rfc3339).or(Some(entry.stamp.modified_ns / 1_000_000));
    Ok(Some(Item { id, stage: Stage::Structured, kind, text, thread: of, at, score, reasons, marks }))
}

/// Whether an item may be told here, and under whose name: `Some(None)` is one's own.
fn heard(
    place: Option<&Place>,
    named: &Named,
    asked_for: bool,
    scope: &Scope,
    reasons: &mut Vec<String>,
) -> Option<Option<String>> {
    let label = match scope {
        Scope::AgentWide => None,
        Scope::Thread(_, label) => Some(label.clone()),
        Scope::Workspace(id) => Some(id.rsplit_once("--").map_or(id.as_str(), |(name, _)| name).to_owned()),
    };
    let Some(place) = place else { return Some(label) };
    if place.may_hear(scope) {
        let own = matches!((scope, &place.thread), (Scope::Thread(no, _), Some(own)) if own.no == *no);
        let linked = matches!(scope, Scope::Thread(..)) && !own;
        if linked {
            reasons.push("of a linked thread".into());
        }
        return Some(label.filter(|_| linked));
    }
    let by_name = matches!(scope, Scope::Thread(no, _) if named.threads.contains(no));
    if by_name || asked_for {
        reasons.push(if by_name { "its thread is named".into() } else { "it is named".into() });
        return Some(label);
    }
    None
}

/// Age and confidence (R9.1).
fn weigh(
    entry: &Entry,
    class: Class,
    now: Millis,
    score: &mut f64,
    marks: &mut Vec<String>,
    reasons: &mut Vec<String>,
) {
    let age = staleness(entry, now);
    if age.stale {
        *score *=
            if age.policy == Policy::TimeSensitive || class == Class::Reference { STALE_REFERENCE } else { STALE };
        marks.push("stale".into());
        reasons.push("stale".into());
    }
    match age.verification {
        Verification::None => {}
        Verification::CheckBeforeUse => marks.push("check before use".into()),
        Verification::MustReconfirm => marks.push("reconfirm before use".into()),
    }
    let confidence = entry.fields.get("confidence").and_then(serde_json::Value::as_f64);
    if confidence.is_some_and(|c| c < UNSURE_BELOW) {
        *score *= UNSURE;
        marks.push("unsure".into());
        reasons.push("low confidence".into());
    }
}

/// What is too weak beside the best, and too many of a class.
fn govern(items: Vec<Item>, dropped: &mut Vec<Dropped>) -> Vec<Item> {
    let best = items.iter().map(|i| i.score).fold(f64::MIN_POSITIVE, f64::max);
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut out = Vec::new();
    for mut item in items {
        item.score /= best;
        if item.score < FLOOR {
            dropped.push(Dropped { id: item.id, why: format!("scores {:.2} of the best", item.score) });
            continue;
        }
        let most = CLASSES.iter().find(|(name, _)| *name == item.kind).map_or(2, |(_, most)| *most);
        let count = counts.entry(item.kind.clone()).or_default();
        if *count == most {
            dropped.push(Dropped { id: item.id, why: format!("more than {most} of the class {}", item.kind) });
            continue;
        }
        *count += 1;
        out.push(item);
    }
    out
}

/// Turns of the place, where they were said.
fn of_turns(
    at: &AssistantHome,
    index: &mut Index,
    place: Option<&Place>,
    named: &Named,
    query: &Query,
    question: &Question,
    out: &mut Recalled,
) -> Result<Vec<Item>> {
    let filter = Filter { limit: if place.is_some() { TURNS } else { question.most }, ..Filter::default() };
    let found = search(at.ledger, index, &at.agent, query, &filter)?;
    if found.not_indexed > 0 {
        out.degraded.push(format!("{} turns are not in the index yet", found.not_indexed));
    }
    if found.cut_short {
        out.degraded.push("the search took too long and was broken off".into());
    }
    let mut items = Vec::new();
    for hit in found.hits {
        let id = hit.turn.id.to_string();
        let scope = at.read(|tx| scope_of_turn(tx, at.agent_no, hit.turn.id))?;
        let mut reasons = match hit.beside {
            Some(turn) => vec![format!("next to {turn}")],
            None => vec![format!("{} of {} words", hit.matched, hit.of)],
        };
        // What was said in the very session is in its context, or was cut from it: the handoff tells that.
        let Some(thread) = heard(place, named, named.ids.contains(&id), &scope, &mut reasons) else {
            out.dropped.push(Dropped { id, why: "of another thread, which the question does not name".into() });
            continue;
        };
        let text: String = hit.passage.chars().filter(|c| !matches!(*c, MATCH_START | MATCH_END)).collect();
        if tokens(&text) == 0 {
            continue;
        }
        let kind = hit.turn.speaker.clone().unwrap_or_else(|| role_name(hit.turn.role).to_owned());
        let marks = Vec::new();
        items.push(Item {
            id,
            stage: Stage::Transcript,
            kind,
            text,
            thread,
            at: hit.turn.at,
            score: hit.score,
            reasons,
            marks,
        });
    }
    Ok(items)
}

/// Whose a turn is.
pub(crate) fn scope_of_turn(tx: &Read, agent_no: i64, turn: TurnId) -> Result<Scope> {
    let found: Option<i64> = tx
        .prepare_cached(
            "SELECT m.thread_no FROM turns t JOIN run_threads m ON m.run_no = t.run_no WHERE t.turn_no = ?1",
        )?
        .query_row(params![turn.0], |r| r.get(0))
        .optional()?;
    // A turn nobody has put into a thread yet is nobody's to tell.
    let Some(no) = found else { return Ok(Scope::Thread(0, "a conversation that is in no thread yet".into())) };
    let no = thread::canonical(tx, no)?;
    Ok(Scope::Thread(no, thread::row(tx, agent_no, no)?.label))
}

/// Nothing twice: of what says nearly the same the first stays.
fn unlike(out: &mut Recalled) {
    let mut kept: Vec<Item> = Vec::new();
    for item in std::mem::take(&mut out.items) {
        match kept.iter().find(|k| fold::same_words(&k.text, &item.text)) {
            Some(same) => out.dropped.push(Dropped { id: item.id, why: format!("says what {} says", same.id) }),
            None => kept.push(item),
        }
    }
    out.items = kept;
}
