//! Finds memories within what a caller may see (R3.3, R9.6).
//!
//! A caller bound to a workspace sees agent-wide memory and that of its workspace. A name that refers to anything else
//! is refused, whether it exists or not.

use super::leaf;
use super::{Class, Scope};
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::home::MemoryPath;
use crate::ledger::Read;
use crate::redact::redact;
use crate::scope::AgentNo;
use crate::title::TitleKey;
use crate::tree::TreeLock;
use crate::tree::file_table::{self, Entry, Kind, State};

/// Selects the memories to list; the default lists all.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    pub class: Option<Class>,
    pub scope: Option<Scope>,
    /// Whether to list superseded memories instead of current ones.
    pub superseded: bool,
    pub pinned: bool,
    pub stale: bool,
    pub tag: Option<String>,
    /// The workspace the caller is bound to.
    pub within: Option<String>,
}

/// Returns the memories that pass the filter, pinned ones first, then newest first.
pub fn list(tx: &Read, agent_no: AgentNo, filter: &Filter, now: Millis) -> Result<Vec<Entry>> {
    let mut found = file_table::list(tx, agent_no, Kind::Leaf, State::Active)?;
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

/// Returns the memory a name refers to: by id (or the beginning of it), title, file name or path. A path is relative to
/// `memory/` and may also lead to an index or a rendered page.
pub fn named(tx: &Read, agent_no: AgentNo, name: &str, within: Option<&str>) -> Result<Entry> {
    if name.contains('/') || name.contains('\\') || name.contains('\0') {
        let path = MemoryPath::parse(name.strip_prefix("memory/").unwrap_or(name), within)?;
        return file_table::at(tx, agent_no, &path.in_home())?
            .ok_or_else(|| Error::not_found(format!("there is no memory at {path}")).hint("see ⟨memory list⟩"));
    }
    if let Some(entry) = visible(tx, agent_no, name, within)? {
        return Ok(entry);
    }
    let hidden = file_table::named(tx, agent_no, Kind::Leaf, State::Active, name)?;
    leaf::scope_of(&hidden).allowed(within)?;
    Ok(hidden)
}

/// Finds a memory by its name among those the caller may see. A name is ambiguous only among these: not because of
/// memories of other workspaces, nor because of superseded ones beside a current one.
fn visible(tx: &Read, agent_no: AgentNo, name: &str, within: Option<&str>) -> Result<Option<Entry>> {
    let mut all = file_table::list(tx, agent_no, Kind::Leaf, State::Active)?;
    all.retain(|e| leaf::scope_of(e).allowed(within).is_ok());
    // Credentials were redacted from the title when it was written, so redact the name before comparing.
    let clean = redact(name);
    // A final full stop is not part of a title, whether it was typed or is in the file.
    let title_key = |title: &str| TitleKey::of(title.trim().trim_end_matches(['.', '。'])).ok();
    let key = title_key(&clean);
    let bare = name.strip_prefix("m:").unwrap_or(name);
    let id = |e: &Entry| e.item.as_deref().and_then(|i| i.strip_prefix("m:")).unwrap_or_default().to_owned();
    let tests: [&dyn Fn(&Entry) -> bool; 4] = [
        &|e| id(e) == bare,
        &|e| e.path.name() == name || e.path.name().strip_suffix(".md") == Some(name),
        &|e| key.is_some() && title_key(&e.title) == key,
        &|e| bare.len() >= 3 && id(e).starts_with(bare),
    ];
    for test in tests {
        let mut found: Vec<&Entry> = all.iter().filter(|e| test(e)).collect();
        if found.iter().any(|e| e.status.as_deref() != Some("superseded")) {
            found.retain(|e| e.status.as_deref() != Some("superseded"));
        }
        match found.as_slice() {
            [] => {}
            [one] => return Ok(Some((*one).clone())),
            several => {
                let ids: Vec<String> = several.iter().take(6).filter_map(|e| e.item.clone()).collect();
                return Err(Error::usage(format!("{clean:?} stands for {} of them", several.len()))
                    .hint(format!("say which: {}", ids.join(", "))));
            }
        }
    }
    Ok(None)
}

/// Returns the leaves a person names, read under the tree lock.
pub fn chosen(lock: &TreeLock, names: &[String]) -> Result<Vec<Entry>> {
    lock.at.read(|tx| all_named(tx, lock.at.agent_no, names, None))
}

/// Returns the leaf a person names, read under the tree lock.
pub fn chosen_one(lock: &TreeLock, name: &str) -> Result<Entry> {
    Ok(chosen(lock, &[name.to_owned()])?.remove(0))
}

/// Returns the memories these names refer to, each once.
pub fn all_named(tx: &Read, agent_no: AgentNo, names: &[String], within: Option<&str>) -> Result<Vec<Entry>> {
    let mut out: Vec<Entry> = Vec::new();
    for name in names {
        let entry = named(tx, agent_no, name, within)?;
        if entry.kind != Kind::Leaf {
            return Err(Error::refused(format!("{} is no memory but a page made from them", entry.path))
                .hint("see ⟨memory list⟩"));
        }
        if !out.iter().any(|e| e.path == entry.path) {
            out.push(entry);
        }
    }
    Ok(out)
}
