//! Forgetting a memory: its file, its row, its revisions and everything else kept of its text (R9.3, R14.2).
//!
//! Only a keyed digest stays, so that no program can store the text again; a person can. An archived proposal is
//! forgotten together with the memory that was merged from it, or whose text it contains; memories the forgotten one
//! had superseded stay superseded.

use rusqlite::params;
use serde_json::{Map, Value, json};

use super::{Class, Scope, leaf, tombstone};
use crate::document::Document;
use crate::error::{Error, ErrorKind, Result};
use crate::ledger::{Read, Write};
use crate::pages;
use crate::scope::AgentNo;
use crate::title::wordless;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::journal::{Act, Step, hex};
use crate::tree::revise;
use crate::tree::{AssistantHome, TreeLock};

/// Stored instead of the id of a forgotten memory.
const FORGOTTEN: &str = "forgotten";

/// Forgets memories; all of them or none. `also` deletes their text from tables of higher storeys, in the same
/// transaction. Returns the paths of other files that were removed as well.
pub(crate) fn forget(
    lock: &TreeLock,
    entries: &[Entry],
    also: impl FnOnce(&mut Write) -> Result<()>,
) -> Result<Vec<String>> {
    let (at, agent) = (lock.at, lock.at.agent_no);
    let everything = at.read(|tx| file_table::all(tx, agent))?;
    let ids: Vec<&str> = entries.iter().filter_map(|e| e.item.as_deref()).collect();
    let mut act = Act::new("memory.forget");
    let (mut texts, mut words, mut also_gone) = (Vec::new(), Vec::new(), Vec::new());
    let mut items: Vec<&str> = ids.clone();
    for entry in entries {
        let class = leaf::class_of(entry).ok_or_else(|| Error::refused(format!("{} is no memory", entry.path)))?;
        let text = leaf::text_of(&leaf::read(at, &entry.path)?);
        texts.push((class, leaf::scope_of(entry), text, entry));
        act = leaf::scope_of(entry).shown(act);
        act = act.step(Step::Forget { path: entry.path.as_str().into(), digest: hex(&entry.digest) });
    }
    let names = |e: &Entry, key: &str| -> bool {
        let listed = e.fields.get(key).and_then(Value::as_array);
        listed.is_some_and(|l| l.iter().filter_map(Value::as_str).any(|id| ids.contains(&id)))
    };
    for other in &everything {
        if entries.iter().any(|e| e.path == other.path) {
            continue;
        }
        if other.kind == Kind::Proposal
            && other.state == State::Archived
            && (names(other, "leaves") || names(other, "known") || repeats(at, other, &texts))
        {
            act = act.step(Step::Forget { path: other.path.as_str().into(), digest: hex(&other.digest) });
            also_gone.push(other.path.as_str().to_owned());
            items.extend(other.item.as_deref());
        }
        if other.kind == Kind::Leaf
            && let Some(step) = unlinked(other, &ids)
        {
            act = act.step(step);
        }
    }
    let plain: Vec<String> = ids.iter().map(|id| wordless(id)).collect();
    let gone: Vec<&str> = entries.iter().map(|e| e.path.as_str()).chain(also_gone.iter().map(String::as_str)).collect();
    lock.perform(act.note("items", plain), |tx| {
        for (class, scope, text, entry) in &texts {
            let item = wordless(entry.item.as_deref().unwrap_or_default());
            let folder = entry.path.parent().map(|p| p.to_string()).unwrap_or_default();
            // The earlier versions of its text are forgotten too.
            let mut texts = revised(tx, agent, entry.path.as_str())?;
            texts.push(text.clone());
            for text in texts {
                words.push(text.clone());
                tombstone::put(tx, agent, (*class, scope), &text, (&item, &folder))?;
            }
        }
        for item in &items {
            file_table::forget_gone(tx, agent, item)?;
        }
        let kept = erase(tx, agent, &gone, &ids, &words)?;
        pages::revisions::forget_rendered(tx, agent)?;
        also(tx)?;
        tx.seal_anew();
        tx.note("revisions", kept);
        Ok(())
    })?;
    for entry in entries {
        if at.files.stat(&entry.path)?.is_some() {
            return Err(Error::new(
                ErrorKind::Busy,
                format!("{} was changed while it was being forgotten", at.shown(&entry.path)),
            )
            .hint("look at it, then run the command again"));
        }
    }
    Ok(also_gone)
}

/// Whether an archived proposal contains exactly a forgotten text although no memory was made from it, because it was
/// rejected.
fn repeats(at: &AssistantHome, proposal: &Entry, forgotten: &[(Class, Scope, String, &Entry)]) -> bool {
    // A file that cannot be read is left for the person to check.
    let Ok(doc) = leaf::read(at, &proposal.path) else { return false };
    let body = doc.body();
    let lines: Vec<String> =
        body.lines().map(|l| leaf::lowered(l.trim_start_matches(['-', '*', ' ']))).filter(|l| !l.is_empty()).collect();
    forgotten.iter().any(|(_, _, text, _)| match text.contains('\n') {
        true => body.contains(&text.replace('\n', "\n  ")),
        false => lines.contains(&leaf::lowered(text)),
    })
}

/// Removes the links to forgotten memories from another memory.
fn unlinked(other: &Entry, ids: &[&str]) -> Option<Step> {
    let (mut set, mut unset) = (Map::new(), Vec::new());
    let supersedes = leaf::superseded_ids(other);
    let left: Vec<&String> = supersedes.iter().filter(|id| !ids.contains(&id.as_str())).collect();
    if left.is_empty() && !supersedes.is_empty() {
        unset.push("supersedes".to_owned());
    } else if left.len() < supersedes.len() {
        set.insert("supersedes".into(), json!(left));
    }
    let beside = leaf::beside_ids(other);
    let both: Vec<&String> = beside.iter().filter(|id| !ids.contains(&id.as_str())).collect();
    if both.is_empty() && !beside.is_empty() {
        unset.push(leaf::BESIDE.to_owned());
    } else if both.len() < beside.len() {
        set.insert(leaf::BESIDE.into(), json!(both));
    }
    if other.field("superseded_by").is_some_and(|id| ids.contains(&id)) {
        set.insert("superseded_by".into(), FORGOTTEN.into());
    }
    let path = other.path.as_str().to_owned();
    (!set.is_empty() || !unset.is_empty()).then_some(Step::Edit { path, set, unset, body: None, base: None })
}

/// Returns the texts of the kept revisions of a file.
fn revised(tx: &Read, agent: AgentNo, path: &str) -> Result<Vec<String>> {
    let kept = revise::revisions_of(tx, agent, path)?;
    Ok(kept.into_iter().map(|bytes| leaf::text_of(&Document::parse(bytes))).collect())
}

/// Deletes the text from the ledger: revisions of the files and of pages that showed them, the notices that led to
/// them, and dismissals. Returns how many revisions were deleted.
fn erase(tx: &Write, agent: AgentNo, paths: &[&str], ids: &[&str], words: &[String]) -> Result<usize> {
    let marks: Vec<String> = ids.iter().map(|id| format!("[{id}]")).collect();
    let gone = revise::forget_revisions(tx, agent, |path, text| {
        paths.contains(&path)
            || marks.iter().any(|m| text.contains(m.as_str()))
            || words.iter().any(|w| text.contains(w.as_str()))
    })?;
    for id in ids {
        pages::dismissals::forget(tx, agent, id)?;
        tx.prepare_cached("DELETE FROM pending_memory WHERE agent_no = ?1 AND result = ?2")?
            .execute(params![agent, id])?;
    }
    let mut statement = tx.prepare_cached("SELECT pending_no, text FROM pending_memory WHERE agent_no = ?1")?;
    let rows = statement.query_map([agent], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?)))?;
    let rows: Vec<(i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
    for (no, _) in rows.iter().filter(|(_, t)| words.iter().any(|w| leaf::lowered(w) == leaf::lowered(t))) {
        tx.prepare_cached("DELETE FROM pending_memory WHERE pending_no = ?1")?.execute([no])?;
    }
    Ok(gone)
}
