//! Proposals: memory waiting to be accepted, one file each (R8.1, R8.2). The room `review` decides what accepting one
//! does.

use serde_json::{Map, Value};

use super::{Change, FORMAT, Item, document, now, sound_title};
use crate::document::Document;
use crate::error::{Error, Result};
use crate::home::layout;
use crate::ledger::Read;
use crate::pages::Happened;
use crate::scope::AgentNo;
use crate::title::{TitleKey, wordless};
use crate::tree::TreeLock;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::journal::{Act, Step, hex};
use crate::tree::provenance::Provenance;

/// A proposal to be recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NewProposal {
    pub title: String,
    /// The texts to be remembered; each becomes a memory of its own.
    pub entries: Vec<String>,
    /// The class of the memories: `fact`, `preference`, …
    pub class: String,
    /// `agent` or `workspace/<id>`.
    pub scope: String,
    pub confidence: Option<f64>,
    pub source: Provenance,
}

/// The memories that accepting a proposal will store.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposed {
    pub title: String,
    pub entries: Vec<String>,
    pub class: Option<String>,
    pub scope: Option<String>,
    pub confidence: Option<f64>,
    pub source: Provenance,
}

/// State of a proposal: waiting, or decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Pending,
    Merged,
    Rejected,
}

impl Status {
    /// Returns the word for the state in the proposal's file.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Merged => "merged",
            Status::Rejected => "rejected",
        }
    }
}

/// Returns the proposals with a status, newest first; of one scope only if it is given.
pub fn list(tx: &Read, agent_no: AgentNo, status: Status, scope: Option<&str>) -> Result<Vec<Entry>> {
    let state = if status == Status::Pending { State::Active } else { State::Archived };
    let mut entries = file_table::list(tx, agent_no, Kind::Proposal, state)?;
    entries.retain(|e| e.status.as_deref() == Some(status.name()) && (scope.is_none() || e.scope.as_deref() == scope));
    entries.sort_by_key(|e| std::cmp::Reverse(day(e, status).map(str::to_owned).unwrap_or_default()));
    Ok(entries)
}

/// Returns when a proposal was decided, otherwise when it was proposed, as written in its file.
pub fn day(entry: &Entry, status: Status) -> Option<&str> {
    entry.field(status.name()).or_else(|| entry.field("proposed"))
}

pub(crate) fn act(action: &'static str) -> Act {
    Act::new(action).tells(&Happened::ProposalChanged)
}

/// Adds a proposal, or adds entries to the waiting proposal with this title.
pub fn add(lock: &TreeLock, new: &NewProposal) -> Result<Item> {
    let (plan, item) = plan_to_add(lock, new, act("proposal.add"))?;
    if item.change != Change::Same {
        lock.perform(plan.note("item", wordless(&item.id)), |_| Ok(()))?;
    }
    Ok(item)
}

/// Adds the step that adds a proposal to an act.
pub fn plan_to_add(lock: &TreeLock, new: &NewProposal, plan: Act) -> Result<(Act, Item)> {
    plan_with(lock, new, &Map::new(), plan)
}

/// Does the same as [`plan_to_add`], and sets further front matter keys, such as [`EVIDENCE`], if the proposal is new.
pub fn plan_with(lock: &TreeLock, new: &NewProposal, more: &Map<String, Value>, plan: Act) -> Result<(Act, Item)> {
    let title = sound_title(&new.title)?;
    let key = TitleKey::of(&title)?;
    let path = layout::PROPOSALS.join(&key.file_name())?;
    let id = format!("p:{}", key.short());
    let mut entries: Vec<String> = Vec::new();
    for text in &new.entries {
        let text = crate::redact::redact(text.trim()).into_owned();
        if !text.is_empty() && !entries.contains(&text) {
            entries.push(text);
        }
    }
    if entries.is_empty() {
        return Err(
            Error::usage("a proposal needs at least one entry").hint("say what is to be remembered: --entry TEXT")
        );
    }
    let mut item = Item { id: id.clone(), title: title.clone(), path: path.clone(), change: Change::New };
    if let Some(known) = lock.at.read(|tx| file_table::at(tx, lock.at.agent_no, &path))? {
        let doc = document(lock, &known)?;
        let has = entries_of(&doc);
        let more: Vec<String> = entries.into_iter().filter(|e| !has.contains(e)).collect();
        item.title.clone_from(&known.title);
        if more.is_empty() {
            item.change = Change::Same;
            return Ok((plan, item));
        }
        item.change = Change::Changed;
        // New entries continue a list; after any other text an empty line comes first.
        let apart = !doc.body().lines().last().is_some_and(|l| l.starts_with(['-', '*', ' ']) || l.trim().is_empty());
        let step = Step::Append { path: path.as_str().into(), set: Map::new(), text: listed(&more), apart };
        return Ok((plan.step(step), item));
    }
    let mut doc = Document::new();
    doc.set("id", &id.into())?;
    doc.set("status", &"pending".into())?;
    doc.set("class", &new.class.as_str().into())?;
    doc.set("scope", &new.scope.as_str().into())?;
    doc.set("source", &new.source.to_value())?;
    if entries.len() == 1 && is_beginning(&title, &entries[0]) {
        // The title was taken from the entry: the entry may change without the title.
        doc.set(TITLE_FROM, &ENTRY.into())?;
    }
    if let Some(confidence) = new.confidence {
        doc.set("confidence", &confidence.into())?;
    }
    for (key, value) in more {
        doc.set(key, value)?;
    }
    doc.set("proposed", &now(lock))?;
    doc.set("format", &FORMAT.into())?;
    doc.set_body(&format!("# {title}\n\n{}", listed(&entries)))?;
    let step = Step::Create { path: path.as_str().into(), text: String::from_utf8_lossy(doc.print()).into_owned() };
    Ok((plan.step(step), item))
}

/// Front matter key of a proposal's evidence: quotations and commands, each with its turn: `t12: cargo nextest run`.
pub const EVIDENCE: &str = "evidence";

/// Front matter key with the time at which the newest evidence of a proposal was said, RFC 3339.
pub const OBSERVED: &str = "observed";

/// Front matter key with the language model that found the proposal, if nothing else did.
pub const MODEL: &str = "model";

/// Front matter key with the ids of memories that the proposal declares outdated. Accepting it supersedes them.
pub const REPLACES: &str = "replaces";

const TITLE_FROM: &str = "title_from";
const ENTRY: &str = "entry";

/// Whether the title of a proposal was given, and is not the beginning of its text.
pub(crate) fn is_titled(entry: &Entry, text: &str) -> bool {
    entry.field(TITLE_FROM) != Some(ENTRY) && !is_beginning(&entry.title, text)
}

/// Whether a title is the whole text, its first sentence, or a beginning too long to have been typed separately.
fn is_beginning(title: &str, text: &str) -> bool {
    let key = |t: &str| TitleKey::of(t).map(|k| k.as_str().to_owned()).unwrap_or_default();
    let (title, text) = (key(title), key(text));
    let title = title.trim_end_matches(['…', '.']);
    text.strip_prefix(title)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '!', '?']) || title.len() >= 40)
}

/// The values a change of a proposal sets; `None` leaves a value as it is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Edit {
    pub entries: Option<Vec<String>>,
    pub class: Option<String>,
    pub scope: Option<String>,
}

/// Changes a waiting proposal. Its title stays, because the file is named after it.
pub fn edit(lock: &TreeLock, entry: &Entry, edit: &Edit) -> Result<Change> {
    let doc = document(lock, entry)?;
    let mut set = Map::new();
    for (key, value) in [("class", &edit.class), ("scope", &edit.scope)] {
        if let Some(value) = value
            && entry.field(key) != Some(value)
        {
            set.insert(key.into(), Value::from(value.as_str()));
        }
    }
    let body = match &edit.entries {
        Some(entries) => {
            let entries: Vec<String> = entries.iter().map(|e| crate::redact::redact(e.trim()).into_owned()).collect();
            if entries.iter().all(String::is_empty) {
                return Err(Error::usage("a proposal needs at least one entry").hint("to drop it: ⟨proposal reject⟩"));
            }
            (entries_of(&doc) != entries).then(|| format!("# {}\n\n{}", entry.title, listed(&entries)))
        }
        None => None,
    };
    if set.is_empty() && body.is_none() {
        return Ok(Change::Same);
    }
    let step =
        Step::Edit { path: entry.path.as_str().into(), set, unset: Vec::new(), body, base: Some(hex(&entry.digest)) };
    let id = entry.item.clone().unwrap_or_default();
    lock.perform(act("proposal.edit").step(step).note("item", wordless(&id)), |_| Ok(()))?;
    Ok(Change::Changed)
}

/// Reads what a file proposes, including edits by hand.
pub fn proposed(entry: &Entry, doc: &Document) -> Proposed {
    Proposed {
        title: entry.title.clone(),
        entries: entries_of(doc),
        class: entry.class.clone(),
        scope: entry.scope.clone(),
        confidence: entry.fields.get("confidence").and_then(|c| c.as_f64().or_else(|| c.as_str()?.parse().ok())),
        source: Provenance::from_value(entry.fields.get("source")),
    }
}

fn listed(entries: &[String]) -> String {
    entries.iter().map(|e| format!("- {}\n", e.replace('\n', "\n  "))).collect()
}

/// Returns the list items of the body, without metadata lines; if there is no list, the whole text is the entry.
pub fn entries_of(doc: &Document) -> Vec<String> {
    let body = doc.body();
    let bullets = file_table::metadata_bullets(doc).into_iter();
    let metadata: Vec<String> = bullets.map(|(key, value)| format!("{key}: {value}")).collect();
    let mut entries: Vec<String> = Vec::new();
    let mut inside = false;
    for line in body.lines() {
        if let Some(text) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
            inside = !metadata.iter().any(|m| m == text.trim());
            if inside {
                entries.push(text.trim_end().to_owned());
            }
        } else if inside
            && let Some(rest) = line.strip_prefix("  ")
            && let Some(last) = entries.last_mut()
        {
            last.push('\n');
            last.push_str(rest.trim_end());
        } else if !line.trim().is_empty() {
            inside = false;
        }
    }
    if entries.is_empty() {
        let text: Vec<&str> = body.lines().filter(|l| !l.starts_with('#') && !l.starts_with("- ")).collect();
        let text = text.join("\n").trim().to_owned();
        if !text.is_empty() {
            entries.push(text);
        }
    }
    entries.retain(|e| !e.trim().is_empty());
    entries
}
