//! Statements about the user in the prompts of a batch, and things the prompts ask to remember (R9.5): they are found
//! while nothing is locked, and stored as notices in the transaction that stores the prompt.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::event::{NewTurn, Role, TurnKind, unwrapped};
use crate::ledger::{Read, Write};
use crate::memory::Class;
use crate::memory::pending::{self, Notice, NoticeKind};
use crate::memory::remember::{Remembered, remembered};
use crate::redact::without_private_keys;
use crate::statement::about_person::{SignalKind, signals};
use crate::transcript::Fresh;
use crate::transcript::prepare::Batch;

/// Findings by the text of the prompt: few prompts have any, and equal prompts have equal findings.
pub(super) type Noticed = HashMap<String, Found>;

/// Findings in one prompt.
pub(super) struct Found {
    about_the_user: Vec<Notice>,
    /// Statements to remember; their kind depends on the project they were said in.
    remembered: Vec<Remembered>,
}

/// Whether a person typed the turn; prompts made by programs have another kind.
fn is_prompt(turn: &NewTurn) -> bool {
    turn.role == Role::User && turn.kind == TurnKind::Message
}

pub(super) fn in_batch(batch: &Batch) -> Noticed {
    let turns = batch.steps.iter().flat_map(|s| &s.records).flat_map(|r| &r.turns);
    let mut noticed = Noticed::new();
    for turn in turns.map(|planned| &planned.turn).filter(|turn| is_prompt(turn)) {
        if noticed.contains_key(&turn.text) {
            continue;
        }
        let prompt = &*without_private_keys(unwrapped(&turn.text));
        let mut remembered = remembered(prompt);
        let (mut about_the_user, mut taken) = (Vec::new(), Vec::new());
        for s in signals(prompt) {
            let kind = match s.kind {
                SignalKind::Preference => NoticeKind::Preference,
                SignalKind::Identity => NoticeKind::Identity,
                SignalKind::Profile { key, value } => NoticeKind::Profile { key: key.to_owned(), value },
                // A rule about one project is not a memory about the user.
                SignalKind::Rule => continue,
            };
            // The same words make one notice. A statement about the project is not also stored about the user.
            let overlaps = |r: &Remembered| r.range.start < s.range.end && s.range.start < r.range.end;
            let value = matches!(kind, NoticeKind::Profile { .. });
            if !value && remembered.iter().any(|r| overlaps(r) && r.class.of_workspace()) {
                continue;
            }
            // The text is stored without the words that ask to keep it.
            let bare = remembered.iter().find(|r| overlaps(r) && !value);
            let text = bare.map_or(s.text, |r| r.text.clone());
            about_the_user.push(Notice { kind, title: s.title, text, confidence: s.confidence });
            taken.push(s.range);
        }
        remembered.retain(|r| !taken.iter().any(|t| r.range.start < t.end && t.start < r.range.end));
        if !about_the_user.is_empty() || !remembered.is_empty() {
            noticed.insert(turn.text.clone(), Found { about_the_user, remembered });
        }
    }
    noticed
}

/// Stores the notices found in new prompts.
pub(super) fn store(tx: &mut Write, fresh: &[Fresh], noticed: &Noticed) -> Result<()> {
    let mut new = 0;
    for f in fresh.iter().filter(|f| is_prompt(&f.turn)) {
        let Some(found) = noticed.get(&f.turn.text) else { continue };
        if speaks_for_the_user(tx, f)? {
            let mut notices = found.about_the_user.clone();
            let project = if found.remembered.is_empty() { None } else { project_of(tx, f)? };
            notices.extend(found.remembered.iter().map(|r| of_project(r, project.as_deref())));
            new += pending::capture(tx, f.agent_no, Some(f.turn_no), Some(f.session_no), &notices)?;
        }
    }
    if new > 0 {
        tx.note("noticed", new);
    }
    Ok(())
}

/// Makes a notice of a statement to remember. Where there is no project, the statement holds everywhere.
fn of_project(r: &Remembered, project: Option<&str>) -> Notice {
    let kind = match (project, if project.is_some() { r.class } else { r.elsewhere }) {
        (Some(id), class) if class.of_workspace() => NoticeKind::Project { class, workspace: id.to_owned() },
        (_, Class::Identity) => NoticeKind::Identity,
        _ => NoticeKind::Preference,
    };
    Notice { kind, title: r.title.clone(), text: r.text.clone(), confidence: r.confidence }
}

/// Returns the id of the project a turn belongs to.
fn project_of(tx: &Read, f: &Fresh) -> Result<Option<String>> {
    let Some(workspace_no) = f.workspace_no else { return Ok(None) };
    Ok(tx
        .prepare_cached(
            "SELECT w.workspace_id FROM workspaces v
             JOIN workspaces w ON w.workspace_no = coalesce(v.alias_of, v.workspace_no) WHERE v.workspace_no = ?1",
        )?
        .query_row([workspace_no], |r| r.get(0))
        .optional()?)
}

/// Whether the speaker is the user. In a conversation of several people, statements of others about themselves are not
/// about the user. The profile has the user's name; without a name in it, every prompt counts as the user's.
fn speaks_for_the_user(tx: &Read, f: &Fresh) -> Result<bool> {
    let Some(speaker) = &f.turn.speaker else { return Ok(true) };
    let name: Option<String> = tx
        .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = 'name'")?
        .query_row(params![f.agent_no], |r| r.get(0))
        .optional()?;
    Ok(name.is_none_or(|name| name.trim().to_lowercase() == speaker.trim().to_lowercase()))
}
