//! The inbox: everything that waits for a person's yes, in one list, with one pair of verbs (R8.2, R9.5).
//!
//! | item | id | a yes | a no |
//! |---|---|---|---|
//! | a proposal | `p:…` | its entries become memories | the proposal moves to the archive |
//! | a notice made from a person's words | `u:…` | it becomes a memory or a profile value | it is not asked again |
//! | two memories that contradict each other | `s:…` | the newer supersedes the older | both stay current |
//! | a procedure that recurs | `k:…` | becomes a skill where the person says | it is not drafted again |
//! | a matter: a model's remark on an open loop | `o:…` | the loop is closed or renamed | the remark is not repeated |
//! | words kept aside from a page | `r:…` | restored below the rendered block | they stay in the revision only |
//!
//! Every item has a version. A decision is refused if it names a version other than the current one, because the person
//! decided about another text.

use super::matter::{self, Matter, What};
use super::supersession::{CurrentMemories, Pair};
use super::{kept_aside, noticed, supersession};
use crate::clock::{Millis, parse_rfc3339};
use crate::continuity;
use crate::continuity::proposal::{self, Status};
use crate::error::{Error, Result};
use crate::ledger::audit;
use crate::memory::pending::{self, NoticeKind};
use crate::memory::{Added, Class, NewLeaf, Scope};
use crate::scope::PendingNo;
use crate::skill::{self, Skill};
use crate::title::wordless;
use crate::tree::file_table::{self, Entry};
use crate::tree::{AssistantHome, TreeLock};

/// The kind of a waiting item, in the order in which items are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Supersession,
    Noticed,
    Proposal,
    Skill,
    Matter,
    KeptAside,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Supersession => "supersession",
            Kind::Noticed => "noticed",
            Kind::Proposal => "proposal",
            Kind::Skill => "skill",
            Kind::Matter => "matter",
            Kind::KeptAside => "edit",
        }
    }

    fn of_id(id: &str) -> Result<Kind> {
        match id.split_once(':').map(|(prefix, _)| prefix) {
            Some("s") => Ok(Kind::Supersession),
            Some("u") => Ok(Kind::Noticed),
            Some("p") => Ok(Kind::Proposal),
            Some("k") => Ok(Kind::Skill),
            Some("o") => Ok(Kind::Matter),
            Some("r") => Ok(Kind::KeptAside),
            _ => {
                let shown: String = id.chars().take(40).collect();
                Err(Error::usage(format!("{shown:?} is no id of something that waits"))
                    .hint("ids look like p:…, u:17, s:…, k:3, o:5, r:12: ⟨review⟩"))
            }
        }
    }
}

/// A memory that a yes would supersede.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Older {
    pub id: String,
    pub text: String,
}

/// An item that waits for a yes.
#[derive(Clone, PartialEq, Debug)]
pub struct Waiting {
    pub id: String,
    pub kind: Kind,
    pub title: String,
    /// The texts that a yes would remember, word for word.
    pub entries: Vec<String>,
    /// The class of the memory, `profile` for a value of the profile; empty for words kept aside.
    pub class: String,
    /// `agent` or `workspace/<id>`.
    pub scope: String,
    pub since: Option<Millis>,
    /// The session in which it was said, or the source that a program named.
    pub session: Option<String>,
    pub turns: Vec<String>,
    /// Number of turns in which it was noticed.
    pub seen: Option<i64>,
    pub confidence: Option<f64>,
    /// Path of the file it is about.
    pub path: Option<String>,
    /// The memories that a yes would supersede.
    pub replaces: Vec<Older>,
    /// Sentences or commands that support it, each with its turn, if the proposer named them.
    pub evidence: Vec<String>,
    /// The language model that found it, if nothing else did.
    pub model: Option<String>,
    /// The reason why a yes would be refused now.
    pub problem: Option<String>,
    /// Version of the item: it changes when the item's text, class, scope or replaced memories change.
    pub version: String,
}

impl Waiting {
    fn versioned(mut self) -> Waiting {
        let mut hasher = blake3::Hasher::new();
        for part in [&self.id, &self.title, &self.class, &self.scope] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        for part in self.entries.iter().chain(self.replaces.iter().flat_map(|o| [&o.id, &o.text])) {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        self.version = hasher.finalize().as_bytes()[..4].iter().map(|b| format!("{b:02x}")).collect();
        self
    }
}

/// Returns all waiting items, by kind, the newest of each kind first.
pub fn waiting(at: &AssistantHome) -> Result<Vec<Waiting>> {
    let known = CurrentMemories::read(at)?;
    let mut out: Vec<Waiting> = supersession::pairs(at)?.into_iter().map(of_pair).collect();
    for notice in at.read(|tx| pending::list(tx, at.agent_no, false))? {
        out.push(of_notice(at, &known, notice)?);
    }
    for entry in at.read(|tx| proposal::list(tx, at.agent_no, Status::Pending, None))? {
        out.push(of_proposal(at, &known, &entry)?);
    }
    out.extend(skills(at)?);
    out.extend(matters(at)?);
    out.extend(kept_aside::waiting(at)?.into_iter().map(of_kept));
    out.sort_by_key(|w| (w.kind, std::cmp::Reverse(w.since)));
    Ok(out)
}

/// Returns one waiting item, by its id or the beginning of its id.
pub fn one(at: &AssistantHome, id: &str) -> Result<Waiting> {
    // Only items of the id's kind are read, because people decide many items one after the other.
    let all = match Kind::of_id(id)? {
        Kind::Supersession => supersession::pairs(at)?.into_iter().map(of_pair).collect(),
        Kind::Skill => skills(at)?,
        Kind::Matter => matters(at)?,
        Kind::KeptAside => kept_aside::waiting(at)?.into_iter().map(of_kept).collect::<Vec<_>>(),
        Kind::Noticed => {
            let notices = at.read(|tx| pending::list(tx, at.agent_no, false))?.into_iter();
            let known = CurrentMemories::read(at)?;
            notices.filter(|n| n.id() == id).map(|n| of_notice(at, &known, n)).collect::<Result<_>>()?
        }
        Kind::Proposal => {
            let entries = at.read(|tx| proposal::list(tx, at.agent_no, Status::Pending, None))?;
            let is = |e: &&Entry| e.item.as_deref().is_some_and(|item| item.starts_with(id));
            let known = CurrentMemories::read(at)?;
            entries.iter().filter(is).map(|e| of_proposal(at, &known, e)).collect::<Result<_>>()?
        }
    };
    if let Some(exact) = all.iter().find(|w| w.id == id) {
        return Ok(exact.clone());
    }
    let mut begin = all.into_iter().filter(|w| id.len() >= 4 && w.id.starts_with(id));
    match (begin.next(), begin.next()) {
        (Some(one), None) => Ok(one),
        (Some(a), Some(b)) => {
            Err(Error::usage(format!("{id} stands for {} and {}", a.id, b.id)).hint("write more of it"))
        }
        (None, _) => Err(missing(at, id)),
    }
}

/// Returns the error for an id that is not waiting: it was decided meanwhile, or never existed.
fn missing(at: &AssistantHome, id: &str) -> Error {
    if let Ok(no) = pending::parse_id(id)
        && id.starts_with("u:")
        && let Ok(found) = at.read(|tx| pending::find(tx, at.agent_no, no))
    {
        return Error::refused(format!("{id} was {} already", found.state.name()))
            .hint(format!("nothing was changed; to take it back: ⟨review undo {id}⟩"));
    }
    let shown: String = id.chars().take(60).collect();
    Error::not_found(format!("{shown} does not wait; it may have been decided meanwhile")).hint("see ⟨review⟩")
}

fn of_pair(pair: Pair) -> Waiting {
    let blank = Waiting {
        id: pair.id,
        kind: Kind::Supersession,
        title: pair.new_text.clone(),
        entries: vec![pair.new_text],
        class: pair.new.class.clone().unwrap_or_default(),
        scope: pair.new.scope.clone().unwrap_or_default(),
        since: pair.since,
        session: None,
        turns: Vec::new(),
        seen: None,
        confidence: None,
        path: Some(pair.new.path.as_str().to_owned()),
        replaces: vec![Older { id: pair.old.item.unwrap_or_default(), text: pair.old_text }],
        evidence: Vec::new(),
        model: None,
        problem: None,
        version: String::new(),
    };
    blank.versioned()
}

fn older(found: Vec<(Entry, String)>) -> Vec<Older> {
    found.into_iter().map(|(entry, text)| Older { id: entry.item.unwrap_or_default(), text }).collect()
}

fn of_notice(at: &AssistantHome, known: &CurrentMemories, notice: pending::Pending) -> Result<Waiting> {
    let (class, title, entries, replaces) = match &notice.kind {
        NoticeKind::Profile { key, value } => {
            let before = at.read(|tx| crate::profile::get(tx, at.agent_no, key))?;
            let replaces = before.map(|text| Older { id: format!("profile:{key}"), text: format!("{key}: {text}") });
            ("profile", format!("{key}: {value}"), vec![format!("{key}: {value}")], replaces.into_iter().collect())
        }
        kind => {
            let found = known.contradicted(&kind.scope(), &notice.title, &notice.text);
            (kind.name(), notice.title.clone(), vec![notice.text.clone()], older(found))
        }
    };
    let waiting = Waiting {
        id: notice.id(),
        kind: Kind::Noticed,
        title,
        entries,
        class: class.to_owned(),
        scope: notice.kind.scope().to_string(),
        since: Some(notice.created_at),
        session: notice.session,
        turns: notice.turn.iter().map(ToString::to_string).collect(),
        seen: Some(notice.seen),
        confidence: Some(notice.confidence),
        path: None,
        replaces,
        evidence: Vec::new(),
        model: None,
        problem: None,
        version: String::new(),
    };
    Ok(waiting.versioned())
}

fn of_proposal(at: &AssistantHome, known: &CurrentMemories, entry: &Entry) -> Result<Waiting> {
    let doc = continuity::read(at, &entry.path)?;
    let proposed = proposal::proposed(entry, &doc);
    let (mut problem, mut replaces) = (None, Vec::new());
    let (mut class, mut scope) = (entry.class.clone().unwrap_or_default(), entry.scope.clone().unwrap_or_default());
    match super::destination(&proposed) {
        Ok((found, place)) => {
            for text in &proposed.entries {
                replaces.extend(older(known.contradicted(&place, "", text)));
            }
            if let ([text], Some(subject)) = (&proposed.entries[..], entry.field("subject")) {
                let about = older(known.about(found, &place, subject, text)).into_iter();
                replaces.extend(about.filter(|o| !replaces.contains(o)).collect::<Vec<_>>());
            }
            let named = older(known.named(&place, &super::listed(entry, proposal::REPLACES))).into_iter();
            replaces.extend(named.filter(|o| !replaces.contains(o)).collect::<Vec<_>>());
            if let Some((newer, said)) = proposed.entries.iter().find_map(|text| {
                let subject = entry.field("subject").filter(|_| proposed.entries.len() == 1).map(str::to_owned);
                let observed = super::observed(entry);
                known.newer(&NewLeaf { subject, observed, ..NewLeaf::new(found, place.clone(), text.as_str()) })
            }) {
                problem = Some(super::outdated(entry.item.as_deref().unwrap_or_default(), &newer, &said).to_string());
                replaces.clear();
            }
            (class, scope) = (found.name().to_owned(), place.to_string());
        }
        Err(e) => problem = Some(e.to_string()),
    }
    if proposed.entries.is_empty() {
        problem = Some("there is nothing in it to remember".to_owned());
    }
    let clean = |text: &String| crate::redact::redact(text).into_owned();
    let waiting = Waiting {
        id: entry.item.clone().unwrap_or_default(),
        kind: Kind::Proposal,
        title: entry.title.clone(),
        entries: proposed.entries.iter().map(clean).collect(),
        class,
        scope,
        since: proposal::day(entry, Status::Pending)
            .and_then(parse_rfc3339)
            .or(Some(entry.stamp.modified_ns / 1_000_000)),
        session: proposed.source.session.clone(),
        turns: proposed.source.turns.iter().map(ToString::to_string).collect(),
        seen: None,
        confidence: proposed.confidence,
        path: Some(entry.path.as_str().to_owned()),
        replaces,
        evidence: super::listed(entry, proposal::EVIDENCE).iter().map(clean).collect(),
        model: entry.field(proposal::MODEL).map(str::to_owned),
        problem,
        version: String::new(),
    };
    Ok(waiting.versioned())
}

fn of_kept(kept: kept_aside::KeptAside) -> Waiting {
    let waiting = Waiting {
        title: kept.lines.first().cloned().unwrap_or_default(),
        entries: kept.lines,
        kind: Kind::KeptAside,
        class: String::new(),
        scope: String::new(),
        since: Some(kept.at),
        session: None,
        turns: Vec::new(),
        seen: None,
        confidence: None,
        path: Some(kept.path),
        replaces: Vec::new(),
        evidence: Vec::new(),
        model: None,
        problem: None,
        version: String::new(),
        id: kept.id,
    };
    waiting.versioned()
}

/// Returns the drafts of skills, each with its evidence.
fn skills(at: &AssistantHome) -> Result<Vec<Waiting>> {
    let drafts = at.read(|tx| skill::list(tx, at.agent_no))?.into_iter().filter(|s| s.state == skill::State::Draft);
    drafts.map(of_skill).collect()
}

fn of_skill(skill: Skill) -> Result<Waiting> {
    let evidence = skill.evidence.iter().map(|(session, turns)| {
        let turns: Vec<String> = turns.iter().map(ToString::to_string).collect();
        format!("{}: {} of {session}", turns.join(" "), if turns.len() == 1 { "a step" } else { "steps" })
    });
    let waiting = Waiting {
        id: skill.id(),
        kind: Kind::Skill,
        title: skill.name.clone(),
        entries: vec![skill.text()?],
        class: "skill".to_owned(),
        scope: Scope::Workspace(skill.workspace.clone()).to_string(),
        since: Some(skill.changed_at),
        session: skill.evidence.first().map(|(session, _)| session.clone()),
        turns: skill.evidence.iter().flat_map(|(_, turns)| turns.iter().map(ToString::to_string)).collect(),
        seen: i64::try_from(skill.sessions).ok(),
        confidence: None,
        path: None,
        replaces: Vec::new(),
        evidence: evidence.collect(),
        model: None,
        problem: None,
        version: String::new(),
    };
    Ok(waiting.versioned())
}

/// Returns the matters about loops that are still open.
fn matters(at: &AssistantHome) -> Result<Vec<Waiting>> {
    at.read(|tx| {
        let mut out = Vec::new();
        for matter in matter::list(tx, at.agent_no, false)? {
            let Some(about) = matter::open(tx, at.agent_no, &matter.loop_id)? else { continue };
            let other = match matter.what {
                What::Same => matter::open(tx, at.agent_no, &matter.other)?,
                _ => None,
            };
            if matter.what != What::Same || other.is_some() {
                out.push(of_matter(matter, &about, other.as_ref()));
            }
        }
        Ok(out)
    })
}

fn of_matter(matter: Matter, about: &Entry, other: Option<&Entry>) -> Waiting {
    let said = match matter.what {
        What::Settled => format!("Settled: {}", about.title),
        What::Same => format!("The same as \"{}\": {}", other.map_or("", |e| e.title.as_str()), about.title),
        What::Title => matter.text.clone(),
    };
    let turn = matter.turn.map(|turn| turn.to_string());
    let evidence = match (matter.what, &turn) {
        (What::Settled, Some(turn)) => vec![format!("{turn}: {}", matter.text)],
        _ => Vec::new(),
    };
    let waiting = Waiting {
        id: matter.id(),
        kind: Kind::Matter,
        title: about.title.clone(),
        entries: vec![said],
        class: matter.what.name().to_owned(),
        scope: about.scope.clone().unwrap_or_default(),
        since: Some(matter.created_at),
        session: None,
        turns: turn.into_iter().collect(),
        seen: None,
        confidence: None,
        path: Some(about.path.as_str().to_owned()),
        replaces: vec![Older { id: matter.loop_id.clone(), text: about.title.clone() }],
        evidence,
        model: Some(matter.model.clone()),
        problem: None,
        version: String::new(),
    };
    waiting.versioned()
}

/// A person's answer to a waiting item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Yes. `both`: the memory it contradicts stays current as well.
    Accept { both: bool },
    /// Yes to a skill, with the places to write it to.
    Place { into: Vec<skill::Into> },
    /// No.
    Reject { reason: Option<String> },
}

/// Result of a decision.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    pub id: String,
    pub title: String,
    /// Memories that were made, or were known already.
    pub memories: Vec<Added>,
    /// Memories that were superseded.
    pub superseded: Vec<String>,
    /// The profile value that was set, such as `profile:language`.
    pub profile: Option<String>,
    /// After an undo: memories that were removed, and those that are current again.
    pub removed: Vec<String>,
    pub restored: Vec<String>,
    /// Path of the file into which words were restored.
    pub path: Option<String>,
    /// The files of a skill.
    pub placed: Vec<String>,
}

/// Decides one item. `version`: the version the person has seen; if the item has another one, the decision is refused.
pub fn decide(lock: &TreeLock, id: &str, version: Option<&str>, answer: &Answer) -> Result<Outcome> {
    let item = one(lock.at, id)?;
    if version.is_some_and(|seen| seen != item.version) {
        return Err(Error::refused(format!("{} was changed meanwhile: {}", item.id, item.title))
            .hint(format!("nothing was changed; look at it again: ⟨review show {}⟩", item.id)));
    }
    let names = [item.id.clone()];
    let mut out = Outcome { id: item.id.clone(), title: item.title.clone(), ..Outcome::default() };
    match (item.kind, answer) {
        (Kind::Proposal, Answer::Accept { .. }) => {
            let merged = super::merge(lock, &names, None)?;
            out.memories = merged.into_iter().flat_map(|m| m.leaves).collect();
        }
        (Kind::Proposal, Answer::Reject { reason }) => drop(super::reject(lock, &names, reason.as_deref())?),
        (Kind::Noticed, Answer::Accept { .. }) => {
            for accepted in noticed::accept(lock, &[number(&item.id)?])? {
                out.profile = accepted.pending.result.filter(|r| r.starts_with("profile:"));
                out.memories.extend(accepted.leaf);
            }
        }
        (Kind::Noticed, Answer::Reject { .. }) => drop(pending::dismiss(lock.at, &[number(&item.id)?])?),
        (Kind::Supersession, answer @ (Answer::Accept { .. } | Answer::Reject { .. })) => {
            let pair = supersession::pairs(lock.at)?.into_iter().find(|p| p.id == item.id);
            let pair = pair.ok_or_else(|| missing(lock.at, &item.id))?;
            match answer {
                Answer::Accept { both: false } => {
                    supersession::accept(lock, &pair)?;
                    out.superseded.extend(pair.old.item);
                }
                _ => supersession::keep_both(lock, &pair)?,
            }
        }
        (Kind::Skill, Answer::Place { into }) => {
            let placed = skill::accept(lock, &item.id, into)?.placed;
            out.placed = placed.into_iter().map(|p| p.path).collect();
        }
        (Kind::Skill, Answer::Accept { .. }) => {
            return Err(Error::usage(format!("say where the skill {} goes", item.title))
                .hint(format!("nothing was written: ⟨review accept {} --into agents⟩", item.id)));
        }
        (Kind::Skill, Answer::Reject { .. }) => drop(skill::reject(lock, &item.id)?),
        (_, Answer::Place { .. }) => {
            return Err(Error::usage(format!("{} is no skill: it has no place to go to", item.id))
                .hint(format!("nothing was changed: ⟨review accept {}⟩", item.id)));
        }
        (Kind::Matter, answer) => {
            let matter = lock.at.read(|tx| matter::one(tx, lock.at.agent_no, &item.id))?;
            match answer {
                Answer::Reject { .. } => matter::reject(lock, &matter)?,
                _ => matter::accept(lock, &matter)?,
            }
        }
        (Kind::KeptAside, Answer::Accept { .. }) => out.path = Some(kept_aside::put_back(lock, &item.id)?.path),
        (Kind::KeptAside, Answer::Reject { .. }) => drop(kept_aside::let_go(lock, &item.id)?),
    }
    if *answer == (Answer::Accept { both: true }) {
        for added in &mut out.memories {
            for old in std::mem::take(&mut added.superseded) {
                let restored = supersession::undo(lock, &supersession::id_of(&old, &added.id))?;
                let again = supersession::pairs(lock.at)?.into_iter().find(|p| p.id == restored.id);
                again.iter().try_for_each(|pair| supersession::keep_both(lock, pair))?;
            }
        }
    }
    out.superseded.extend(out.memories.iter().flat_map(|m| m.superseded.clone()));
    Ok(out)
}

fn number(id: &str) -> Result<PendingNo> {
    pending::parse_id(id)
}

/// Undoes a decision.
pub fn undo(lock: &TreeLock, id: &str) -> Result<Outcome> {
    let mut out = Outcome { id: id.to_owned(), ..Outcome::default() };
    match Kind::of_id(id)? {
        Kind::Proposal => {
            let undone = super::undo(lock, id, None)?;
            (out.id, out.title) = (undone.proposal.id, undone.proposal.title);
            (out.removed, out.restored) = (undone.removed, undone.restored);
        }
        Kind::Noticed => {
            let undone = noticed::undo(lock, number(id)?)?;
            (out.title, out.removed, out.restored) = (undone.pending.title, undone.removed, undone.restored);
        }
        Kind::Supersession => {
            let undone = supersession::undo(lock, id)?;
            out.title = undone.new.title;
            out.restored.extend(undone.old.item.filter(|_| undone.superseded));
        }
        Kind::Skill => {
            let skill = skill::reopen(lock, id)?;
            out.title = skill.name;
            out.placed = skill.placed.into_iter().map(|placed| placed.path).collect();
        }
        Kind::Matter => {
            let matter = lock.at.read(|tx| matter::one(tx, lock.at.agent_no, id))?;
            matter::undo(lock, &matter)?;
            let about = lock.at.read(|tx| file_table::item(tx, lock.at.agent_no, &matter.loop_id))?;
            out.title = about.map_or(matter.loop_id, |entry| entry.title);
        }
        Kind::KeptAside => {
            let undone = kept_aside::undo(lock, id)?;
            (out.title, out.path) = (undone.lines.first().cloned().unwrap_or_default(), Some(undone.path));
        }
    }
    Ok(out)
}

/// Number of newest acts in which the last decision is looked for.
const ACTS: usize = 500;

/// Returns the item that was decided last and is still decided.
pub fn last_decided(at: &AssistantHome) -> Result<String> {
    let acts = at.read(|tx| audit::list(tx, at.agent_no, None, ACTS))?;
    let decided = at.read(|tx| {
        let mut all = proposal::list(tx, at.agent_no, Status::Merged, None)?;
        all.extend(proposal::list(tx, at.agent_no, Status::Rejected, None)?);
        Ok(all)
    })?;
    let pairs = supersession::decided(at)?;
    let notices = at.read(|tx| pending::list(tx, at.agent_no, true))?;
    let kept = at.read(|tx| crate::pages::dismissals::of(tx, at.agent_no, &crate::pages::PageKey::Memory))?;
    let refused: Vec<String> = at.read(|tx| {
        let skills = skill::list(tx, at.agent_no)?.into_iter().filter(|s| s.state == skill::State::Rejected);
        Ok(skills.map(|s| s.id()).collect())
    })?;
    let matters: Vec<String> = at.read(|tx| {
        let all = matter::list(tx, at.agent_no, true)?.into_iter().filter(|m| m.state != matter::State::Waiting);
        Ok(all.map(|m| m.id()).collect())
    })?;
    for act in acts {
        let words = |key: &str| -> Vec<String> {
            match act.detail.get(key) {
                Some(serde_json::Value::String(one)) => vec![one.clone()],
                Some(serde_json::Value::Array(all)) => {
                    all.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
                }
                _ => Vec::new(),
            }
        };
        let found = match act.action.as_str() {
            "proposal.merge" => proposal_of(&decided, &words("proposal")),
            "proposal.reject" => proposal_of(&decided, &words("items")),
            "memory.accept" => notice_of(&notices, &words("notices")),
            "memory.dismiss" => notice_of(&notices, &words("items")),
            "memory.beside" => words("pair").into_iter().find(|id| pairs.iter().any(|p| p.id == *id && !p.superseded)),
            "memory.supersede" => {
                let items = words("items");
                let name = |e: &Entry| wordless(e.item.as_deref().unwrap_or_default());
                let is = |p: &&supersession::Decided| p.superseded && items == [name(&p.old), name(&p.new)];
                pairs.iter().find(is).map(|p| p.id.clone())
            }
            "skill.reject" => words("skill").into_iter().find(|id| refused.contains(id)),
            "matter.accept" | "matter.reject" => words("matter").into_iter().find(|id| matters.contains(id)),
            "review.put_back" | "review.let_go" => words("edit").into_iter().find(|id| kept.contains_key(id)),
            _ => None,
        };
        if let Some(id) = found {
            return Ok(id);
        }
    }
    Err(Error::not_found("there is no decision to take back").hint("name what you mean: ⟨review undo ID⟩"))
}

fn proposal_of(decided: &[Entry], named: &[String]) -> Option<String> {
    let mut ids = decided.iter().filter_map(|e| e.item.clone());
    ids.find(|id| named.contains(&wordless(id)))
}

fn notice_of(notices: &[pending::Pending], named: &[String]) -> Option<String> {
    let decided = notices.iter().filter(|n| n.state != pending::State::Pending);
    decided.map(pending::Pending::id).find(|id| named.contains(id))
}

/// The new values of a waiting item; `None` keeps the current value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Change {
    pub entries: Option<Vec<String>>,
    pub class: Option<Class>,
    pub scope: Option<Scope>,
}

/// Changes a waiting item. Refuses values that a yes would refuse.
pub fn change(lock: &TreeLock, id: &str, change: &Change) -> Result<()> {
    let item = one(lock.at, id)?;
    match item.kind {
        Kind::Proposal => {
            let entry = super::waiting(lock, &item.id)?;
            let (class, scope) =
                (change.class.map(|c| c.name().to_owned()), change.scope.as_ref().map(Scope::to_string));
            super::amend(lock, &entry, &proposal::Edit { entries: change.entries.clone(), class, scope }).map(drop)
        }
        Kind::Noticed => {
            let text = match change.entries.as_deref() {
                None => None,
                Some([one]) => Some(one.as_str()),
                Some(_) => return Err(Error::usage("what was noticed is one statement").hint("give one text")),
            };
            if item.class == "profile" {
                if change.class.is_some() || change.scope.is_some() {
                    return Err(Error::usage("a value of the profile has no class and no scope").hint("give a text"));
                }
                let key = item.entries.first().and_then(|e| e.split_once(':')).map_or("", |(key, _)| key);
                text.map(|text| crate::profile::sound_value(key, text)).transpose()?;
            }
            let place = match (&change.class, &change.scope) {
                (None, None) => None,
                (class, scope) => {
                    let class = class.map_or_else(|| item.class.clone(), |c| c.name().to_owned());
                    Some(super::fitting(
                        Some(&class),
                        Some(scope.as_ref().map_or(item.scope.clone(), Scope::to_string).as_str()),
                    )?)
                }
            };
            pending::amend(lock.at, number(&item.id)?, text, place)
        }
        Kind::Supersession => Err(Error::usage(format!("{} is about two memories", item.id)).hint(format!(
            "change one of them: ⟨memory edit {}⟩",
            item.replaces.first().map_or("", |old| old.id.as_str())
        ))),
        Kind::Skill | Kind::Matter => Err(Error::usage(format!("{} cannot be changed before a yes", item.id))
            .hint(format!("say yes or no: ⟨review show {}⟩", item.id))),
        Kind::KeptAside => Err(Error::usage(format!("{} is about words of yours in a file", item.id))
            .hint(format!("change the file: {}", item.path.unwrap_or_default()))),
    }
}
