//! Statements about the user in the prompts of a batch (R9.5): found while nothing is locked, stored as proposals in
//! the transaction that stores the prompt.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::event::{NewTurn, Role, TurnKind, unwrapped};
use crate::ledger::{Read, Write};
use crate::memory::pending::{self, Notice, NoticeKind};
use crate::statement::told::{SignalKind, signals};
use crate::transcript::Fresh;
use crate::transcript::prepare::Batch;

/// Notices by the text of the prompt: few prompts have any, and equal prompts have the same.
pub(super) type Noticed = HashMap<String, Vec<Notice>>;

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
        let notices: Vec<Notice> = signals(unwrapped(&turn.text))
            .into_iter()
            .filter_map(|s| {
                let kind = match s.kind {
                    SignalKind::Preference => NoticeKind::Preference,
                    SignalKind::Identity => NoticeKind::Identity,
                    SignalKind::Profile { key, value } => NoticeKind::Profile { key: key.to_owned(), value },
                    // A rule about one project is not a memory about the user.
                    SignalKind::Rule => return None,
                };
                Some(Notice { kind, title: s.title, text: s.text, confidence: s.confidence })
            })
            .collect();
        if !notices.is_empty() {
            noticed.insert(turn.text.clone(), notices);
        }
    }
    noticed
}

/// Stores the notices found in new prompts.
pub(super) fn store(tx: &mut Write, fresh: &[Fresh], noticed: &Noticed) -> Result<()> {
    let mut new = 0;
    for f in fresh.iter().filter(|f| is_prompt(&f.turn)) {
        let Some(notices) = noticed.get(&f.turn.text) else { continue };
        if speaks_for_the_user(tx, f)? {
            new += pending::capture(tx, f.agent_no, Some(f.turn_no), Some(f.session_no), notices)?;
        }
    }
    if new > 0 {
        tx.note("noticed", new);
    }
    Ok(())
}

/// Whether the speaker is the user. In a conversation of several people, what others say about themselves is not about
/// the user. The profile names the user; where it does not, every prompt counts as theirs.
fn speaks_for_the_user(tx: &Read, f: &Fresh) -> Result<bool> {
    let Some(speaker) = &f.turn.speaker else { return Ok(true) };
    let name: Option<String> = tx
        .prepare_cached("SELECT value FROM profile WHERE agent_no = ?1 AND key = 'name'")?
        .query_row(params![f.agent_no], |r| r.get(0))
        .optional()?;
    Ok(name.is_none_or(|name| name.trim().to_lowercase() == speaker.trim().to_lowercase()))
}
