//! Looking leaves up, within what a caller may see (R3.3, R9.6).
//!
//! A caller bound to a workspace sees what holds everywhere and what belongs to that workspace. Whatever names
//! something else is refused, whether it exists or not.

use super::leaf;
use super::{Class, Scope};
use crate::assistant::AssistantHome;
use crate::assistant::catalogue::{self, Entry, Kind, State};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::home::MemoryPath;
use crate::ledger::Read;
use crate::title::TitleKey;

/// What to list; all of it by default.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    pub class: Option<Class>,
    pub scope: Option<Scope>,
    /// What was superseded, instead of what counts.
    pub superseded: bool,
    pub pinned: bool,
    pub stale: bool,
    pub tag: Option<String>,
    /// The workspace the caller is bound to.
    pub within: Option<String>,
}

/// Leaves, newest first, pinned before all.
pub fn list(tx: &Read, agent_no: i64, filter: &Filter, now: Millis) -> Result<Vec<Entry>> {
    let mut found = catalogue::list(tx, agent_no, Kind::Leaf, State::Active)?;
    found.retain(|e| {
        let tags = e.fields.get("tags").and_then(|t| t.as_array());
        leaf::scope_of(e).allowed(filter.within.as_deref()).is_ok()
            && filter.class.is_none_or(|c| leaf::class_of(e) == Some(c))
            && filter.scope.as_ref().is_none_or(|s| leaf::scope_of(e) == *s)
            && (e.status.as_deref() == Some("superseded")) == filter.superseded
            && (!filter.pinned || leaf::is_pinned(e))
            && (!filter.stale || super::is_stale(e, now))
            && filter.tag.as_deref().is_none_or(|t| tags.is_some_and(|all| all.iter().any(|v| v.as_str() == Some(t))))
    });
    let time = |e: &Entry| leaf::observed_of(e).unwrap_or(e.stamp.modified_ns / 1_000_000);
    found.sort_by_key(|e| (!leaf::is_pinned(e), std::cmp::Reverse(time(e)), e.path.clone()));
    Ok(found)
}

/// The leaf somebody means by its id (or the beginning of it), title, file name or path. A path is relative to
/// `memory/` and may lead to an index or a projection there, too.
pub fn named(tx: &Read, agent_no: i64, name: &str, within: Option<&str>) -> Result<Entry> {
    if name.contains('/') || name.contains('\\') || name.contains('\0') {
        let path = MemoryPath::parse(name.strip_prefix("memory/").unwrap_or(name), within)?;
        return catalogue::at(tx, agent_no, &path.in_home())?
            .ok_or_else(|| Error::not_found(format!("there is no memory at {path}")).hint("see heirloom memory list"));
    }
    let entry = match within {
        // Names of other workspaces must not make a name of this one ambiguous.
        Some(_) => visible(tx, agent_no, name, within)?,
        None => None,
    };
    let entry = match entry {
        Some(entry) => entry,
        None => catalogue::named(tx, agent_no, Kind::Leaf, State::Active, name)?,
    };
    leaf::scope_of(&entry).allowed(within)?;
    Ok(entry)
}

fn visible(tx: &Read, agent_no: i64, name: &str, within: Option<&str>) -> Result<Option<Entry>> {
    let mut all = catalogue::list(tx, agent_no, Kind::Leaf, State::Active)?;
    all.retain(|e| leaf::scope_of(e).allowed(within).is_ok());
    let key = TitleKey::of(name).ok();
    let bare = name.strip_prefix("m:").unwrap_or(name);
    let id = |e: &Entry| e.item.as_deref().and_then(|i| i.strip_prefix("m:")).unwrap_or_default().to_owned();
    let tests: [&dyn Fn(&Entry) -> bool; 4] = [
        &|e| id(e) == bare,
        &|e| e.path.name() == name || e.path.name().strip_suffix(".md") == Some(name),
        &|e| key.is_some() && TitleKey::of(&e.title).ok() == key,
        &|e| bare.len() >= 3 && id(e).starts_with(bare),
    ];
    for test in tests {
        let found: Vec<&Entry> = all.iter().filter(|e| test(e)).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(Some((*one).clone())),
            several => {
                let ids: Vec<String> = several.iter().take(6).filter_map(|e| e.item.clone()).collect();
                return Err(Error::usage(format!("{name:?} stands for {} of them", several.len()))
                    .hint(format!("say which: {}", ids.join(", "))));
            }
        }
    }
    Ok(None)
}

/// Several leaves, each once.
pub fn all_named(tx: &Read, agent_no: i64, names: &[String], within: Option<&str>) -> Result<Vec<Entry>> {
    let mut out: Vec<Entry> = Vec::new();
    for name in names {
        let entry = named(tx, agent_no, name, within)?;
        if entry.kind != Kind::Leaf {
            return Err(Error::refused(format!("{} is no memory but a page made from them", entry.path))
                .hint("see heirloom memory list"));
        }
        if !out.iter().any(|e| e.path == entry.path) {
            out.push(entry);
        }
    }
    Ok(out)
}

/// A leaf that has the words.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    pub entry: Entry,
    pub score: f64,
    /// Words of the query it has.
    pub words: usize,
    pub text: String,
}

/// Files read for one search.
const MOST_READ: usize = 5_000;

/// Leaves that have words of the query, best first: whole words before parts, titles and tags before bodies.
pub fn search(at: &AssistantHome, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Found>> {
    let mut words: Vec<String> = split(query);
    words.sort();
    words.dedup();
    if words.is_empty() {
        return Err(Error::usage("there is no word to look for").hint("heirloom memory search WORDS"));
    }
    let entries = at.read(|tx| list(tx, at.agent_no, filter, at.ledger.now()))?;
    let mut found: Vec<Found> = Vec::new();
    for entry in entries.into_iter().take(MOST_READ) {
        let Ok(doc) = leaf::read(at, &entry.path) else { continue };
        let text = leaf::text_of(&doc);
        let tags = entry.fields.get("tags").map(ToString::to_string).unwrap_or_default();
        let head = split(&format!("{} {} {tags}", entry.title, entry.field("summary").unwrap_or_default()));
        let body = split(&text);
        let (mut score, mut had) = (0.0, 0);
        for word in &words {
            let one = fits(&head, word) * 2.0 + fits(&body, word);
            score += one;
            had += usize::from(one > 0.0);
        }
        if had == 0 {
            continue;
        }
        score *= had as f64 / words.len() as f64;
        if leaf::is_pinned(&entry) {
            score *= 1.2;
        }
        found.push(Found { entry, score, words: had, text });
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.entry.path.cmp(&b.entry.path)));
    found.truncate(limit);
    Ok(found)
}

fn split(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let mut out: Vec<String> = words.map(str::to_lowercase).collect();
    if out.is_empty() {
        // Emoji and signs are looked for as they stand.
        out = text.split_whitespace().map(str::to_owned).collect();
    }
    out
}

fn fits(words: &[String], wanted: &str) -> f64 {
    if words.iter().any(|w| w == wanted) {
        1.0
    } else if wanted.chars().count() > 2 && words.iter().any(|w| w.contains(wanted)) {
        0.4
    } else {
        0.0
    }
}
