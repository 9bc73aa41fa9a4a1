//! Visible files that were made from forgotten turns or contain the words. Items nobody edited are removed; pages are
//! rendered again; files a person wrote are listed and not changed.

use std::collections::HashSet;

use super::beside;
use super::derived::Marks;
use super::slugs::Slugs;
use super::words::Words;
use crate::document::Document;
use crate::error::Result;
use crate::tree::file_table::{self, Entry, Kind, State};
use crate::tree::provenance::Provenance;
use crate::tree::{AssistantHome, LARGEST_FILE};

/// Visible files, by what happens to them.
#[derive(Default)]
pub(super) struct Files {
    /// Items that are removed.
    pub items: Vec<Entry>,
    /// Pages whose rendered blocks contain the words.
    pub pages: Vec<Entry>,
    /// Full paths of files in which a person or another program wrote the words.
    pub by_hand: Vec<String>,
    /// Files outside a forgotten thread that say its name, and stay.
    pub kept: Vec<String>,
    /// Rows of the file table whose files no longer exist.
    pub gone: Vec<String>,
}

/// The names of a forgotten thread.
pub(super) struct Title {
    pub words: Words,
    /// Name of its page's file, without the extension.
    pub page: Option<String>,
}

/// Examines every file of the agent. `sessions`: keys of sessions forgotten as a whole. `named`: words were named, so
/// an item with the words is removed whatever its source. `slugs`: the words as names of files have them.
pub(super) fn look(
    at: &AssistantHome,
    marks: &Marks,
    sessions: &[String],
    named: bool,
    title: Option<&Title>,
    slugs: &Slugs,
) -> Result<Files> {
    let mut out = Files::default();
    let made_from = |entry: &Entry| {
        let source = Provenance::from_value(entry.fields.get("source"));
        source.turns.iter().any(|t| marks.ids.contains(&t.to_string()))
            || source.node.is_some_and(|n| marks.ids.contains(&n))
            || (source.turns.is_empty() && source.session.is_some_and(|s| sessions.contains(&s)))
    };
    let entries = at.read(|tx| file_table::all(tx, at.agent_no))?;
    let known: HashSet<String> = entries.iter().map(|entry| entry.path.as_str().to_owned()).collect();
    for entry in entries {
        let Ok(Some((bytes, _))) = at.files.read_with_stamp(&entry.path, LARGEST_FILE) else { continue };
        let item = matches!(entry.kind, Kind::OpenLoop | Kind::Proposal | Kind::Leaf | Kind::Artifact | Kind::Skill);
        let path_says = marks.words.are_in(entry.path.as_str().as_bytes()) || slugs.are_in(entry.path.as_str());
        let says = marks.words.are_in(&bytes) || path_says;
        if item {
            if made_from(&entry) || (says && named) {
                match entry.by_hand() {
                    true => out.by_hand.push(at.shown(&entry.path)),
                    false => out.items.push(entry),
                }
            } else if says {
                out.by_hand.push(at.shown(&entry.path));
            } else if title.is_some_and(|title| title.words.are_in(&bytes)) {
                out.kept.push(at.shown(&entry.path));
            }
            continue;
        }
        // The name of this page contains the words. It is made again under another name, if there is still something to
        // show.
        let of_thread = |title: &Title| title.page.as_deref().is_some_and(|page| entry.path.as_str().contains(page));
        if path_says && named || title.is_some_and(of_thread) {
            match entry.by_hand() {
                true => out.by_hand.push(at.shown(&entry.path)),
                false => out.items.push(entry),
            }
            continue;
        }
        let (ours, theirs) = split_rendered(&bytes);
        if marks.are_in(&ours) {
            out.pages.push(entry.clone());
        }
        if title.is_some_and(|title| title.words.are_in(&theirs)) {
            out.kept.push(at.shown(&entry.path));
        }
        if marks.words.are_in(&theirs) {
            out.by_hand.push(at.shown(&entry.path));
        }
    }
    out.gone = gone(at, marks)?;
    if named {
        out.by_hand.extend(beside::others(at, marks.words, &|path| known.contains(path.as_str())));
    }
    Ok(out)
}

/// Splits a page into its rendered blocks and the rest.
fn split_rendered(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let doc = Document::parse(bytes.to_vec());
    let body = doc.body();
    let mut names: Vec<&str> = body
        .lines()
        .filter_map(|l| {
            l.trim().strip_prefix("<!--")?.trim_start().strip_prefix("heirloom:")?.split_whitespace().next()
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut ours = Vec::new();
    let mut theirs = String::from_utf8_lossy(bytes).into_owned();
    for found in names.into_iter().filter_map(|name| doc.region(name).found) {
        ours.extend_from_slice(found.content);
        let block = String::from_utf8_lossy(found.content).into_owned();
        if !block.is_empty() {
            theirs = theirs.replacen(&block, "", 1);
        }
    }
    (ours, theirs.into_bytes())
}

/// Returns rows of removed files that still have their text.
fn gone(at: &AssistantHome, marks: &Marks) -> Result<Vec<String>> {
    at.read(|tx| {
        let mut statement =
            tx.prepare("SELECT path, title, fields, item FROM catalogue WHERE agent_no = ?1 AND state = ?2")?;
        let mut rows = statement.query(rusqlite::params![at.agent_no, State::Gone.name()])?;
        let mut out = Vec::new();
        while let Some(r) = rows.next()? {
            let parts: [Option<String>; 4] = [r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?];
            if parts.iter().flatten().any(|part| marks.are_in(part.as_bytes())) {
                out.extend(parts.into_iter().next().flatten());
            }
        }
        Ok(out)
    })
}
