//! Makes proposals and memories of the best candidates, and undoes that (R9.5, R11.3).
//!
//! One pass is one act of the file journal: whoever holds the tree lock next finishes an act that a crash interrupted.
//! Nothing is written twice, because the rows of the candidates change in the transaction that stores the plan. Only
//! facts of a project are written as memories, with a confidence of at least 0.82 and if they contradict nothing;
//! everything else waits for a yes. Nothing is overwritten or deleted.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::candidate::{self, Candidate, Evidence, Gist};
use super::conflict;
use super::reader::{Finding, Kind as FindingKind};
use super::store::{self, Row, Run, State};
use crate::clock::rfc3339;
use crate::continuity::proposal::{self, NewProposal};
use crate::error::{Error, Result};
use crate::judge;
use crate::memory::{Class, NewLeaf, Outcome, Scope, Writing, leaf, pending};
use crate::pages::Happened;
use crate::review::supersession::CurrentMemories;
use crate::scope::CandidateNo;
use crate::skill;
use crate::title::{flush_id, wordless};
use crate::tree::file_table::{self, Entry, Kind};
use crate::tree::journal::{Act, Step, hex};
use crate::tree::provenance::{Origin, Provenance};
use crate::tree::{AssistantHome, TreeLock};

/// Minimum confidence of a project's fact that is written as a memory; below, it is proposed (R11.3).
pub const WRITTEN_FROM: f64 = 0.82;

/// Maximum number of proposals made per day, in all projects together, and of proposals and memories in one project:
/// people stop reading queues that grow.
pub const A_DAY: usize = 8;

/// Maximum number of waiting proposals in a project, as many as in two days: no more are made until a person decides.
const WAITING: usize = 2 * A_DAY;

/// A candidate, and the proposal or memory a pass made of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Made {
    pub workspace: String,
    pub candidate: Candidate,
    /// Id of the proposal or memory; `None` in a dry run.
    pub item: Option<String>,
    pub written: bool,
    /// Ids of memories it would supersede or contradicts.
    pub replaces: Vec<String>,
}

/// The candidates that a pass chose.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chosen {
    pub made: Vec<Made>,
    /// Number of candidates that wait for another day.
    pub waiting: u64,
}

/// Returns the candidates whose state must follow a person's decision about their proposals and memories.
pub fn followed(lock: &TreeLock) -> Result<Vec<(CandidateNo, State)>> {
    let at = lock.at;
    at.read(|tx| {
        let mut changes = Vec::new();
        for row in store::rows(tx, at.agent_no)? {
            let Some(item) = &row.item else { continue };
            let found = file_table::item(tx, at.agent_no, item)?;
            let now = match (&found, row.state) {
                (_, State::Waiting | State::Undone) => continue,
                (Some(e), _) if e.kind == Kind::Proposal => match (e.state, e.status.as_deref()) {
                    (file_table::State::Active, _) => State::Proposed,
                    (_, Some("merged")) => State::Known,
                    _ => State::Rejected,
                },
                (Some(_), _) => State::Written,
                (None, _) => State::Rejected,
            };
            if now != row.state {
                changes.push((row.no, now));
            }
        }
        Ok(changes)
    })
}

/// Updates the states of candidates as [`followed`] says.
pub fn follow(lock: &TreeLock) -> Result<()> {
    let (at, changes) = (lock.at, followed(lock)?);
    if !changes.is_empty() {
        at.write("evolve.follow", |tx| {
            tx.note("candidates", changes.len());
            changes.iter().try_for_each(|(no, state)| store::decide(tx, *no, *state, None, None))
        })?;
    }
    Ok(())
}

/// The texts that exist already in one project.
struct Known {
    /// Texts of memories, waiting notices and waiting proposals.
    said: Vec<Gist>,
    /// Texts that a person rejected or dismissed.
    refused: Vec<Gist>,
    /// The facts that the memories state, with the ids of the memories.
    facts: Vec<(String, Finding)>,
}

impl Known {
    fn read(lock: &TreeLock, scope: &Scope) -> Result<Known> {
        let at = lock.at;
        let (mut said, mut refused, mut facts) = (Vec::new(), Vec::new(), Vec::new());
        let (leaves, proposals, notices) = at.read(|tx| {
            let leaves = file_table::list(tx, at.agent_no, Kind::Leaf, file_table::State::Active)?;
            let mut proposals = file_table::list(tx, at.agent_no, Kind::Proposal, file_table::State::Active)?;
            proposals.extend(file_table::list(tx, at.agent_no, Kind::Proposal, file_table::State::Archived)?);
            Ok((leaves, proposals, pending::list(tx, at.agent_no, true)?))
        })?;
        // A rule that holds everywhere need not be said for the project again.
        let here = |e: &&Entry| matches!(leaf::scope_of(e), s if s == *scope || s == Scope::Agent);
        for entry in leaves.iter().filter(here).filter(|e| leaf::superseded_by(e).is_none()) {
            if let Ok(doc) = leaf::read(at, &entry.path) {
                let text = leaf::text_of(&doc);
                said.push(Gist::of(&text));
                let facts_of_it = (leaf::scope_of(entry) == *scope).then(|| candidate::fact_of(&text)).flatten();
                facts.extend(entry.item.clone().zip(facts_of_it).filter(|(_, f)| f.kind == FindingKind::Fact));
            }
        }
        for entry in proposals.iter().filter(|e| e.scope.as_deref() == Some(&scope.to_string())) {
            let Ok(doc) = leaf::read(at, &entry.path) else { continue };
            let into = match entry.status.as_deref() {
                Some("rejected") => &mut refused,
                Some("pending") => &mut said,
                _ => continue,
            };
            into.extend(proposal::entries_of(&doc).iter().map(|text| Gist::of(text)));
        }
        for notice in notices.iter().filter(|n| n.kind.scope() == *scope) {
            let into = if notice.state == pending::State::Dismissed { &mut refused } else { &mut said };
            into.push(Gist::of(&notice.text));
        }
        Ok(Known { said, refused, facts })
    }
}

impl Known {
    /// Returns the ids of the memories that no longer hold because of a candidate.
    fn outdated_by(&self, c: &Candidate) -> Vec<String> {
        if c.class != Class::Fact || c.subject.starts_with("command: ") {
            return Vec::new();
        }
        let Some(new) = candidate::fact_of(&c.text) else { return Vec::new() };
        let outdated = |old: &Finding| match new.kind {
            FindingKind::Retraction => candidate::takes_back(&new, &old.subject, &old.value, &old.sentence),
            _ => conflict::contradicts(&new, old),
        };
        self.facts.iter().filter(|(_, old)| outdated(old)).map(|(id, _)| id.clone()).collect()
    }
}

/// Returns the subject of the memory a candidate becomes: a memory supersedes another one with the same subject. `None`
/// for statements whose subject may have several values at once.
fn subject_of(c: &Candidate) -> Option<String> {
    let single = match c.subject.split_once(": ").map(|(kind, _)| kind) {
        Some("fact") => {
            let value = c.key.split_once(" = ").map_or("", |(_, value)| value);
            !value.contains(' ') && value.starts_with(|c: char| c.is_ascii_digit())
        }
        _ => true,
    };
    single.then(|| c.subject.clone())
}

fn provenance(c: &Candidate) -> Provenance {
    Provenance {
        origin: Origin::Distilled,
        session: c.evidence.first().map(|e| e.session.clone()),
        turns: c.evidence.iter().map(|e| e.turn).collect(),
        node: None,
        model: c.model.clone(),
    }
}

/// Formats a piece of evidence: `t12: cargo nextest run`.
pub fn shown_evidence(e: &Evidence) -> String {
    format!("{}: {}", e.turn, e.text)
}

/// The next step of a candidate, with the memories that contradict it.
enum Turn {
    Write,
    Propose(Vec<String>),
    /// It is known, or a person rejected it.
    Settled(State),
    /// Another text that says the same waits already.
    Later,
}

/// The candidates of one project while the next steps are chosen.
struct Project<'r> {
    scope: Scope,
    /// The waiting candidates, best first.
    waiting: std::vec::IntoIter<&'r Row>,
    /// Number of proposals and memories that may still be made today.
    left: usize,
    /// Number of proposals that may still wait for a person.
    places: usize,
    known: Option<Known>,
}

/// Chooses the next step for the waiting candidates: best first in each project, and the projects take turns, because
/// all of them share a day's proposals. Also returns how many keep waiting.
fn choose(lock: &TreeLock, rows: &[Row]) -> Result<(Vec<(Row, Turn)>, u64)> {
    let at = lock.at;
    let memories = CurrentMemories::read(at)?;
    let today = at.day_of(at.ledger.now());
    let of_today = |r: &&Row| r.item.is_some() && r.run_at.is_some_and(|run| at.day_of(run) == today);
    let mut proposals =
        A_DAY.saturating_sub(rows.iter().filter(of_today).filter(|r| r.state != State::Written).count());
    let mut projects: Vec<Project> = Vec::new();
    for (workspace, rows) in by_workspace(rows) {
        let open = rows.iter().filter(|r| r.state == State::Proposed).count();
        projects.push(Project {
            scope: Scope::Workspace(workspace.to_owned()),
            left: A_DAY.saturating_sub(rows.iter().copied().filter(of_today).count()),
            places: WAITING.saturating_sub(open),
            waiting: best_first(at, rows)?.into_iter(),
            known: None,
        });
    }
    let (mut chosen, mut waiting) = (Vec::new(), 0);
    while !projects.is_empty() {
        let mut going_on = Vec::new();
        for mut project in projects {
            let mut made = false;
            while !made && let Some(row) = project.waiting.next() {
                if project.left == 0 {
                    waiting += 1;
                    continue;
                }
                let known = match &mut project.known {
                    Some(known) => known,
                    none => none.insert(Known::read(lock, &project.scope)?),
                };
                let turn = turn_of(lock, &memories, known, &project.scope, &row.candidate)?;
                match &turn {
                    Turn::Propose(_) if project.places == 0 || proposals == 0 => waiting += 1,
                    Turn::Later => waiting += 1,
                    Turn::Write | Turn::Propose(_) => {
                        let proposed = usize::from(matches!(turn, Turn::Propose(_)));
                        project.left -= 1;
                        project.places -= proposed;
                        proposals -= proposed;
                        known.said.push(Gist::of(&row.candidate.text));
                        chosen.push((row.clone(), turn));
                        made = true;
                    }
                    Turn::Settled(_) => chosen.push((row.clone(), turn)),
                }
            }
            if made {
                going_on.push(project);
            }
        }
        projects = going_on;
    }
    Ok((chosen, waiting))
}

fn by_workspace(rows: &[Row]) -> BTreeMap<&str, Vec<&Row>> {
    let mut out: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        out.entry(&row.workspace).or_default().push(row);
    }
    out
}

/// Returns the waiting candidates of a project, best first; among equal ones, those from more important chunks.
fn best_first<'r>(at: &AssistantHome, mut rows: Vec<&'r Row>) -> Result<Vec<&'r Row>> {
    rows.retain(|r| r.state == State::Waiting);
    let weight: HashMap<&str, u8> = at.read(|tx| {
        let mut out = HashMap::new();
        for row in &rows {
            for e in &row.candidate.evidence {
                let found = judge::of_turn(tx, at.agent_no, e.turn)?.map_or(0, |j| j.importance);
                let best: &mut u8 = out.entry(row.candidate.key.as_str()).or_default();
                *best = found.max(*best);
            }
        }
        Ok(out)
    })?;
    let weight = |r: &Row| weight.get(r.candidate.key.as_str()).copied().unwrap_or(0);
    // A finding without a model is surer than a model's word for it.
    let order = |r: &Row| {
        let c = &r.candidate;
        ((c.confidence * 100.0) as i64, c.model.is_none(), c.sessions, weight(r), c.at)
    };
    rows.sort_by(|a, b| order(b).cmp(&order(a)).then_with(|| a.candidate.key.cmp(&b.candidate.key)));
    Ok(rows)
}

fn turn_of(lock: &TreeLock, memories: &CurrentMemories, known: &Known, scope: &Scope, c: &Candidate) -> Result<Turn> {
    let gist = Gist::of(&c.text);
    if known.refused.iter().any(|other| other.is_like(&gist)) {
        return Ok(Turn::Settled(State::Rejected));
    }
    let title = leaf::derived_title(&c.text);
    let at = lock.at;
    if at.read(|tx| pending::is_known_in(tx, at.agent_no, c.class, scope, &title, &c.text))? {
        return Ok(Turn::Settled(State::Known));
    }
    if known.said.iter().any(|other| other.is_like(&gist)) {
        return Ok(Turn::Later);
    }
    let mut against: Vec<String> = Vec::new();
    for (entry, _) in memories.contradicted(scope, "", &c.text) {
        against.extend(entry.item);
    }
    for (entry, _) in memories.named(scope, &c.contradicts) {
        against.extend(entry.item.filter(|id| !against.contains(id)));
    }
    against.extend(known.outdated_by(c).into_iter().filter(|id| !c.contradicts.contains(id)));
    against.sort();
    against.dedup();
    if let Some(subject) = subject_of(c) {
        for (entry, _) in memories.about(c.class, scope, &subject, &c.text) {
            against.extend(entry.item.filter(|id| !against.contains(id)));
        }
    }
    Ok(match c.class == Class::Fact && c.confidence >= WRITTEN_FROM && against.is_empty() {
        true => Turn::Write,
        false => Turn::Propose(against),
    })
}

fn made(row: &Row, item: Option<String>, written: bool, replaces: &[String]) -> Made {
    Made {
        workspace: row.workspace.clone(),
        candidate: row.candidate.clone(),
        item,
        written,
        replaces: replaces.to_vec(),
    }
}

/// Returns what would be made now, without making it.
pub fn preview(lock: &TreeLock, rows: &[Row]) -> Result<Chosen> {
    let (chosen, waiting) = choose(lock, rows)?;
    let made = chosen.iter().filter_map(|(row, turn)| match turn {
        Turn::Write => Some(made(row, None, true, &[])),
        Turn::Propose(replaces) => Some(made(row, None, false, replaces)),
        _ => None,
    });
    Ok(Chosen { made: made.collect(), waiting })
}

/// Makes proposals and memories of the best candidates, as one act.
pub fn write(lock: &TreeLock) -> Result<Chosen> {
    let at = lock.at;
    let rows = at.read(|tx| store::rows(tx, at.agent_no))?;
    let (chosen, waiting) = choose(lock, &rows)?;
    if chosen.is_empty() {
        return Ok(Chosen { made: Vec::new(), waiting });
    }
    let mut writing = Writing::new(lock, "evolve.write");
    let mut out = Vec::new();
    let mut decided: Vec<(&Row, State, Option<String>)> = Vec::new();
    let mut titles: HashSet<String> = HashSet::new();
    for (row, turn) in &chosen {
        let scope = Scope::Workspace(row.workspace.clone());
        let c = &row.candidate;
        let mut replaces: Vec<String> = Vec::new();
        let propose = match turn {
            Turn::Settled(state) => {
                decided.push((row, *state, None));
                continue;
            }
            Turn::Later => continue,
            Turn::Propose(against) => {
                replaces.clone_from(against);
                true
            }
            Turn::Write => {
                let new = NewLeaf {
                    subject: subject_of(c),
                    confidence: Some(c.confidence),
                    source: provenance(c),
                    observed: c.at,
                    ..NewLeaf::new(c.class, scope.clone(), c.text.as_str())
                };
                let added = writing.add(&new)?;
                match added.outcome {
                    Outcome::New => {
                        decided.push((row, State::Written, Some(added.id.clone())));
                        out.push(made(row, Some(added.id), true, &[]));
                    }
                    Outcome::Same => decided.push((row, State::Known, None)),
                    Outcome::Forgotten => decided.push((row, State::Rejected, None)),
                    Outcome::Outranked => replaces.push(added.id.clone()),
                }
                added.outcome == Outcome::Outranked
            }
        };
        if !propose {
            continue;
        }
        let title = leaf::derived_title(&c.text);
        if !titles.insert(crate::text::plain::lower(&title)) {
            continue;
        }
        let new = NewProposal {
            title,
            entries: vec![c.text.clone()],
            class: c.class.name().to_owned(),
            scope: scope.to_string(),
            confidence: Some(c.confidence),
            source: provenance(c),
        };
        let mut more = Map::new();
        more.extend(subject_of(c).map(|subject| ("subject".to_owned(), Value::from(subject))));
        more.insert(proposal::EVIDENCE.to_owned(), json!(c.evidence.iter().map(shown_evidence).collect::<Vec<_>>()));
        if let Some(at) = c.at {
            more.insert(proposal::OBSERVED.to_owned(), json!(rfc3339(at)));
        }
        if let Some(model) = &c.model {
            more.insert(proposal::MODEL.to_owned(), json!(model));
        }
        if !replaces.is_empty() {
            more.insert(proposal::REPLACES.to_owned(), json!(replaces));
        }
        let mut planned = None;
        writing.also(|act| match proposal::plan_with(lock, &new, &more, act.clone()) {
            Ok((act, item)) => {
                planned = Some(Ok(item));
                act.tells(&Happened::ProposalChanged)
            }
            Err(e) => {
                planned = Some(Err(e));
                act
            }
        });
        let item = planned.unwrap_or_else(|| Err(Error::refused("nothing was planned")))?;
        decided.push((row, State::Proposed, Some(item.id.clone())));
        out.push(made(row, Some(item.id), false, &replaces));
    }
    let id = flush_id();
    let files = !out.is_empty();
    let record = |tx: &mut crate::ledger::Write| -> Result<()> {
        let run = store::begin_run(tx, at.agent_no, "write", files.then_some(id.as_str()))?;
        tx.note("run", run);
        for (row, state, item) in &decided {
            store::decide(tx, row.no, *state, item.as_deref(), Some(run))?;
        }
        Ok(())
    };
    match files {
        true => drop(writing.perform_as(&id, record)?),
        false => at.write("evolve.write", record)?,
    }
    Ok(Chosen { made: out, waiting })
}

/// Result of undoing passes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Undone {
    /// Number of passes that were undone.
    pub passes: u64,
    /// Ids of memories and proposals that were removed.
    pub removed: Vec<String>,
    /// Ids of superseded memories that are current again.
    pub restored: Vec<String>,
    /// Ids of items that a person changed or decided since, which stay.
    pub kept: Vec<String>,
    /// Text of each removed item, by its id.
    pub texts: BTreeMap<String, String>,
}

/// Undoes everything evolve wrote, proposed and drafted on the last day it did, as one act. Items that a person
/// accepted, changed or edited since stay. `NotFound` if there is nothing to undo.
pub fn undo(lock: &TreeLock) -> Result<Undone> {
    let at = lock.at;
    let (all, rows) = at.read(|tx| Ok((store::runs(tx, at.agent_no)?, store::rows(tx, at.agent_no)?)))?;
    let mut drafts = at.read(|tx| skill::drafts(tx, at.agent_no))?;
    let times = all.first().map(|run| run.at).into_iter().chain(drafts.iter().map(|draft| draft.made_at));
    let Some(last) = times.max().map(|newest| at.day_of(newest)) else {
        return Err(Error::not_found("evolve has written and proposed nothing that could be taken back"));
    };
    let runs: Vec<Run> = all.into_iter().take_while(|run| at.day_of(run.at) == last).collect();
    let flushes: HashMap<i64, &str> = runs.iter().map(|run| (run.no.0, run.flush.as_str())).collect();
    let leaves = at.read(|tx| file_table::list(tx, at.agent_no, Kind::Leaf, file_table::State::Active))?;
    let mut act = Act::new("evolve.undo");
    let mut out = Undone { passes: runs.len() as u64, ..Undone::default() };
    let mut gone: Vec<&Row> = Vec::new();
    for row in &rows {
        let (Some(flush), Some(item)) = (row.run.and_then(|no| flushes.get(&no.0)), &row.item) else { continue };
        let Some(entry) = at.read(|tx| file_table::item(tx, at.agent_no, item))? else { continue };
        let untouched =
            entry.state == file_table::State::Active && entry.field("flush") == Some(flush) && !entry.by_hand();
        if !untouched {
            out.kept.push(item.clone());
            continue;
        }
        act = removing(act, &entry).tells(&Happened::ProposalChanged);
        out.texts.insert(item.clone(), row.candidate.text.clone());
        out.removed.push(item.clone());
        gone.push(row);
    }
    // Memories that a removed memory superseded, or that a tidy of that day superseded, are current again.
    for old in &leaves {
        let Some(by) = old.field("superseded_by") else { continue };
        let tidied = !old.by_hand() && old.field("flush").is_some_and(|flush| flushes.values().any(|f| *f == flush));
        let id = old.item.clone().unwrap_or_default();
        if out.removed.iter().any(|gone| gone == by) || tidied && !out.removed.contains(&id) {
            act = leaf::scope_of(old).shown(act).step(unsetting(old, "superseded_by"));
            if let Some(new) = leaves.iter().find(|l| l.item.as_deref() == Some(by)).filter(|_| tidied) {
                act = act.step(unsetting(new, "supersedes"));
            }
            out.restored.push(id);
        }
    }
    drafts.retain(|draft| at.day_of(draft.made_at) == last);
    for draft in &drafts {
        out.texts.insert(draft.id(), draft.name.clone());
        out.removed.push(draft.id());
    }
    let act = act.note("items", out.removed.iter().map(|id| wordless(id)).collect::<Vec<_>>());
    lock.perform(act, |tx| {
        for row in &gone {
            store::decide(tx, row.no, State::Undone, None, None)?;
        }
        skill::withdraw(tx, &drafts)?;
        store::undone(tx, &runs)
    })?;
    Ok(out)
}

fn unsetting(entry: &Entry, key: &str) -> Step {
    let (path, unset) = (entry.path.as_str().to_owned(), vec![key.to_owned()]);
    Step::Edit { path, set: Map::new(), unset, body: None, base: None }
}

fn removing(act: Act, entry: &Entry) -> Act {
    let step = Step::Remove { path: entry.path.as_str().into(), digest: hex(&entry.digest) };
    match entry.kind {
        Kind::Leaf => leaf::scope_of(entry).shown(act).step(step),
        _ => act.step(step),
    }
}

/// Returns retractions of facts that evolve wrote earlier, each as a candidate of its own, because nothing is deleted.
pub fn retractions(findings: &[super::candidate::Stored], rows: &[Row], workspace: &str) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    let kept = rows.iter().filter(|r| r.workspace == workspace && matches!(r.state, State::Written | State::Known));
    for row in kept {
        let Some((subject, value)) = row.candidate.key.strip_prefix("fact: ").and_then(|k| k.split_once(" = ")) else {
            continue;
        };
        let last = row.candidate.evidence.iter().map(|e| e.turn).max();
        let gone = findings.iter().filter(|s| s.finding.kind == FindingKind::Retraction && s.finding.times > 0);
        let gone = gone.filter(|s| s.finding.turns.last().copied() > last);
        let mut gone = gone.filter(|s| super::candidate::takes_back(&s.finding, subject, value, &row.candidate.text));
        let Some(found) = gone.next_back() else {
            continue;
        };
        let key = format!("fact: {subject} = not {value}");
        if out.iter().any(|c| c.key == key) {
            continue;
        }
        let turn = found.finding.turns.last().copied().unwrap_or_default();
        out.push(Candidate {
            class: row.candidate.class,
            subject: row.candidate.subject.clone(),
            key,
            text: found.finding.sentence.clone(),
            confidence: 0.80,
            sessions: 1,
            evidence: vec![Evidence { session: found.session.clone(), turn, text: found.finding.sentence.clone() }],
            at: found.finding.at,
            model: found.finding.by.as_ref().map(|by| by.model.clone()),
            contradicts: Vec::new(),
        });
    }
    out
}
