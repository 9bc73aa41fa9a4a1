//! Open loops: unresolved commitments, one file each (R8.1, R8.2).

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Change, FORMAT, Item, document, now, sound_title};
use crate::clock::{Millis, rfc3339};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::home::{RelPath, layout};
use crate::ledger::Read;
use crate::pages::Happened;
use crate::scope::AgentNo;
use crate::title::{TitleKey, active_name, archived_name, wordless};
use crate::tree::TreeLock;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::journal::{Act, Step};
use crate::tree::provenance::Provenance;

/// A commitment to be recorded.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NewLoop {
    pub title: String,
    /// Further details, as Markdown.
    pub text: Option<String>,
    /// `agent` or `workspace/<id>`.
    pub scope: Option<String>,
    pub thread: Option<String>,
    /// `YYYY-MM-DD`.
    pub due: Option<String>,
    /// Kind of commitment, if it is known: `promise`.
    pub kind: Option<String>,
    pub confidence: Option<f64>,
    /// When the commitment was made, if not now.
    pub opened: Option<Millis>,
    pub source: Provenance,
}

/// Longest title made from a text, in characters: about a line.
const HEADLINE: usize = 90;

/// Makes a title from the beginning of a text: its first sentence, or the words of it that fit in a line.
pub fn headline(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= HEADLINE {
        return text.trim_end_matches('.').to_owned();
    }
    let mut out = String::new();
    for word in text.split_whitespace() {
        if out.chars().count() + word.chars().count() + 1 > HEADLINE {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    if out.is_empty() {
        text.chars().take(HEADLINE).collect()
    } else {
        format!("{}…", out.trim_end_matches([',', ';', ':']))
    }
}

/// Returns the id of an open item that has no file yet. It is the id its file will have, so that the id never changes.
/// `None`: the text gives no file name.
pub fn id_of(text: &str) -> Option<String> {
    TitleKey::of(&headline(text)).ok().map(|key| format!("l:{}", key.short()))
}

/// Front matter key of a loop that was closed without a person: a [`Provenance`] with the turns that show the loop was
/// done.
const RESOLVED_BY: &str = "resolved_by";

fn act(action: &'static str) -> Act {
    Act::new(action).tells(&Happened::LoopChanged)
}

/// Returns the open loops in the order of [`Order`], or the resolved ones, newest first; of one scope only if it is given.
pub fn list(tx: &Read, agent_no: AgentNo, resolved: bool, scope: Option<&str>) -> Result<Vec<Entry>> {
    let state = if resolved { State::Archived } else { State::Active };
    let mut entries = file_table::list(tx, agent_no, Kind::OpenLoop, state)?;
    entries.retain(|e| scope.is_none() || e.scope.as_deref() == scope);
    entries.sort_by_cached_key(|e| Reverse(Order::of(e.field("due").filter(|_| !resolved), day(e))));
    Ok(entries)
}

/// Where an open loop stands in a list, greatest first: what is due comes before what has no date, the earliest date first;
/// after that, the newest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
pub struct Order(Option<Reverse<String>>, String);

impl Order {
    /// `due` and `day` as written in the file or in the page: dates, in ISO 8601.
    pub fn of(due: Option<&str>, day: Option<&str>) -> Order {
        Order(due.map(|due| Reverse(due.to_owned())), day.unwrap_or_default().to_owned())
    }
}

/// Returns the day a loop was resolved, otherwise the day it was opened, as written in its file.
pub fn day(entry: &Entry) -> Option<&str> {
    entry.field("resolved").or_else(|| entry.field("opened"))
}

/// Opens a loop, or adds to the open loop with this title: a new text, a date, a scope. Values the loop already has are
/// not written again.
pub fn add(lock: &TreeLock, new: &NewLoop) -> Result<Item> {
    let (plan, item) = plan_to_add(lock, new, act("loop.add"))?;
    match item.change {
        Change::Same => {}
        Change::New => drop(lock.perform(plan.note("item", wordless(&item.id)), |_| Ok(()))?),
        Change::Changed => {
            let changed = Act { action: "loop.change", ..plan };
            lock.perform(changed.note("item", wordless(&item.id)), |_| Ok(()))?;
        }
    }
    Ok(item)
}

/// Adds the step that opens a loop or adds to it to an act.
pub fn plan_to_add(lock: &TreeLock, new: &NewLoop, plan: Act) -> Result<(Act, Item)> {
    let title = sound_title(&new.title)?;
    let key = TitleKey::of(&title)?;
    let path = layout::OPEN_LOOPS.join(&key.file_name())?;
    let id = format!("l:{}", key.short());
    let mut item = Item { id: id.clone(), title: title.clone(), path: path.clone(), change: Change::New };
    let known = lock.at.read(|tx| file_table::at(tx, lock.at.agent_no, &path))?;
    let text = new.text.as_deref().map(str::trim).filter(|t| !t.is_empty());
    let Some(known) = known else {
        let mut doc = Document::new();
        for (key, value) in fields(new, &id, lock) {
            doc.set(&key, &value)?;
        }
        doc.set_body(&body(&title, text))?;
        let step = Step::Create { path: path.as_str().into(), text: String::from_utf8_lossy(doc.print()).into_owned() };
        return Ok((plan.step(step), item));
    };
    item.title.clone_from(&known.title);
    let mut set = Map::new();
    for (key, value) in [("due", &new.due), ("scope", &new.scope), ("thread", &new.thread)] {
        if let Some(value) = value
            && known.field(key) != Some(value)
        {
            set.insert(key.into(), Value::from(value.as_str()));
        }
    }
    let doc = document(lock, &known)?;
    let old = doc.body();
    // The text as it will be in the file: compare after redaction, so that redacted text is not added twice.
    let redacted = text.map(|t| crate::redact::redact(t).into_owned());
    let longer = redacted.filter(|t| !old.contains(t.as_str()));
    if set.is_empty() && longer.is_none() {
        item.change = Change::Same;
        return Ok((plan, item));
    }
    item.change = Change::Changed;
    let path = path.as_str().to_owned();
    let step = match longer {
        Some(text) => Step::Append { path, set, text, apart: true },
        None => Step::Edit { path, set, unset: Vec::new(), body: None, base: None },
    };
    Ok((plan.step(step), item))
}

/// Closes open loops: all of them or, if one cannot be closed, none.
pub fn resolve(lock: &TreeLock, names: &[String], how: Option<&str>) -> Result<Vec<Item>> {
    resolve_any(lock, names, how, &|_| Ok(None))
}

/// Does the same as [`resolve`], and also closes open items without a file. `unfiled`: finds such an item by its id; it
/// gets a file in the archive, so that it stays closed.
pub fn resolve_any(
    lock: &TreeLock,
    names: &[String],
    how: Option<&str>,
    unfiled: &dyn Fn(&str) -> Result<Option<NewLoop>>,
) -> Result<Vec<Item>> {
    let (mut items, mut plan) = (Vec::<Item>::new(), act("loop.resolve"));
    for name in names {
        let (more, item) =
            match lock.at.read(|tx| file_table::named(tx, lock.at.agent_no, Kind::OpenLoop, State::Active, name)) {
                Ok(entry) if items.iter().any(|i| Some(&i.id) == entry.item.as_ref()) => continue,
                Ok(entry) => plan_to_resolve(lock, &entry, how, None, plan)?,
                Err(e) if e.kind() == ErrorKind::NotFound => match unfiled(name)? {
                    Some(new) => plan_resolved(lock, &new, how, plan)?,
                    None => return Err(e),
                },
                Err(e) => return Err(e),
            };
        plan = more;
        items.push(item);
    }
    plan = plan.note("items", ids(&items));
    lock.perform(plan, |_| Ok(()))?;
    Ok(items)
}

/// Adds the step that makes a file in the archive for an item that is done already.
fn plan_resolved(lock: &TreeLock, new: &NewLoop, how: Option<&str>, plan: Act) -> Result<(Act, Item)> {
    let title = sound_title(&new.title)?;
    let key = TitleKey::of(&title)?;
    let path = layout::OPEN_LOOPS_ARCHIVE.join(&archived_name(&key.file_name()))?;
    let id = format!("l:{}", key.short());
    let mut doc = Document::new();
    for (key, value) in fields(new, &id, lock) {
        doc.set(&key, &value)?;
    }
    doc.set("status", &"resolved".into())?;
    doc.set("resolved", &now(lock))?;
    if let Some(how) = how {
        doc.set("resolution", &how.into())?;
    }
    doc.set_body(&body(&title, new.text.as_deref().map(str::trim).filter(|t| !t.is_empty())))?;
    let text = String::from_utf8_lossy(doc.print()).into_owned();
    let step = Step::Create { path: path.as_str().into(), text };
    Ok((plan.step(step), Item { id, title, path, change: Change::New }))
}

/// Adds the step that closes a loop to an act. `by`: the turns that show the loop was done, if no person closed it.
pub fn plan_to_resolve(
    lock: &TreeLock,
    entry: &Entry,
    how: Option<&str>,
    by: Option<&Provenance>,
    plan: Act,
) -> Result<(Act, Item)> {
    let to = layout::OPEN_LOOPS_ARCHIVE.join(&archived_name(entry.path.name()))?;
    let mut set = Map::from_iter([("status".to_owned(), Value::from("resolved")), ("resolved".into(), now(lock))]);
    if let Some(how) = how {
        set.insert("resolution".into(), Value::from(how));
    }
    if let Some(by) = by {
        set.insert(RESOLVED_BY.into(), by.to_value());
    }
    let item = item(entry, &to);
    let (from, to) = (entry.path.as_str().to_owned(), to.as_str().to_owned());
    Ok((plan.step(Step::Move { from, to, set, unset: Vec::new() }), item))
}

/// Reopens resolved loops; if several with the same title were resolved, the newest.
pub fn reopen(lock: &TreeLock, names: &[String]) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    let mut plan = act("loop.reopen");
    for entry in chosen(lock, State::Archived, names)? {
        let to = layout::OPEN_LOOPS.join(&active_name(entry.path.name()))?;
        if lock.at.read(|tx| file_table::at(tx, lock.at.agent_no, &to))?.is_some() {
            return Err(Error::refused(format!("a loop called {:?} is open already", entry.title))
                .hint("nothing was changed; the resolved one stays in the archive"));
        }
        let set = Map::from_iter([("status".to_owned(), Value::from("open")), ("reopened".into(), now(lock))]);
        let unset = ["resolved", "resolution", RESOLVED_BY].map(str::to_owned).to_vec();
        items.push(item(&entry, &to));
        let (from, to) = (entry.path.as_str().to_owned(), to.as_str().to_owned());
        plan = plan.step(Step::Move { from, to, set, unset });
    }
    plan = plan.note("items", ids(&items));
    lock.perform(plan, |_| Ok(()))?;
    Ok(items)
}

fn chosen(lock: &TreeLock, state: State, names: &[String]) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for name in names {
        let entry = lock.at.read(|tx| file_table::named(tx, lock.at.agent_no, Kind::OpenLoop, state, name))?;
        if !entries.iter().any(|e| e.path == entry.path) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

fn fields(new: &NewLoop, id: &str, lock: &TreeLock) -> Vec<(String, Value)> {
    let mut fields: Vec<(&str, Value)> = vec![("id", id.into()), ("status", "open".into())];
    for (key, value) in [("kind", &new.kind), ("scope", &new.scope), ("thread", &new.thread), ("due", &new.due)] {
        if let Some(value) = value {
            fields.push((key, value.as_str().into()));
        }
    }
    fields.push(("source", new.source.to_value()));
    if let Some(confidence) = new.confidence {
        fields.push(("confidence", confidence.into()));
    }
    fields.push(("opened", new.opened.map_or_else(|| now(lock), |then| rfc3339(then).into())));
    fields.push(("format", FORMAT.into()));
    fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

fn body(title: &str, text: Option<&str>) -> String {
    match text {
        Some(text) => format!("# {title}\n\n{text}\n"),
        None => format!("# {title}\n"),
    }
}

fn item(entry: &Entry, to: &RelPath) -> Item {
    let id = entry.item.clone().unwrap_or_default();
    Item { id, title: entry.title.clone(), path: to.clone(), change: Change::Changed }
}

/// Returns ids for the audit, which contains no text of items (R14.2).
fn ids(items: &[Item]) -> Vec<String> {
    items.iter().map(|i| wordless(&i.id)).collect()
}
