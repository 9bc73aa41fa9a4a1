//! Who gets how much of a context: one table (R10.4).
//!
//! The table's order is the restoration order. What a part does not need passes on to those behind it.

use std::collections::HashMap;

use super::{Event, PartGiven};
use crate::recall::recalled::Dropped;
use crate::tokens::tokens;

/// The parts of a context, in the order they are printed among their kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// Who the assistant and the person are, and their standing rules: the pages people write.
    Pages,
    /// Tier 1, as far as this thread may hear it.
    Memory,
    /// Where the thread stands.
    Thread,
    /// What takes the place of what was cut, or where the last session of the thread stopped.
    Handoff,
    /// The newest words themselves.
    Tail,
    /// What recall found.
    Recall,
}

impl Part {
    pub fn name(self) -> &'static str {
        match self {
            Part::Pages => "pages",
            Part::Memory => "memory",
            Part::Thread => "thread",
            Part::Handoff => "handoff",
            Part::Tail => "tail",
            Part::Recall => "recall",
        }
    }

    /// What changes seldom goes in front, where a prompt cache finds it again.
    pub fn is_cacheable(self) -> bool {
        matches!(self, Part::Pages | Part::Memory | Part::Thread)
    }
}

/// Characters, in restoration order.
const BEGIN: &[(Part, usize)] = &[
    (Part::Handoff, 2_500),
    (Part::Tail, 0),
    (Part::Thread, 1_500),
    (Part::Memory, 2_500),
    (Part::Pages, 1_500),
    (Part::Recall, 1_000),
];
/// A client that keeps no turns itself is given the newest ones beside all that.
const TAIL: usize = 4_000;
const RESUME: &[(Part, usize)] = &[(Part::Handoff, 2_500), (Part::Recall, 1_000)];
const PROMPT: &[(Part, usize)] = &[(Part::Recall, 3_000)];

/// Characters of a token.
const TOKEN: usize = 4;

fn table(event: Event) -> &'static [(Part, usize)] {
    match event {
        Event::Start | Event::Clear | Event::Compact => BEGIN,
        Event::Resume => RESUME,
        Event::Prompt => PROMPT,
    }
}

/// The most tokens of a context: what was asked for, else what the event has, and never more than the program accepts.
pub(super) fn most(event: Event, asked: Option<usize>, characters: usize) -> usize {
    let own: usize = table(event).iter().map(|(_, c)| c).sum::<usize>() / TOKEN;
    asked.unwrap_or(own).min(characters / TOKEN)
}

/// A part before it is cut: pieces of text, each perhaps leading to an item.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Draft {
    pub part: Part,
    pub pieces: Vec<Piece>,
    /// The newest pieces stand last, and stay where not all can.
    pub newest_last: bool,
}

/// A piece of text that is given whole or not at all.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Piece {
    /// With its line breaks.
    pub text: String,
    pub item: Option<String>,
    /// Of an item that can change: which version of it this is. Without one its words are.
    pub version: Option<Vec<u8>>,
    /// Only stands in front of something.
    pub is_heading: bool,
}

impl Piece {
    pub fn heading(text: impl Into<String>) -> Piece {
        Piece { text: text.into(), item: None, version: None, is_heading: true }
    }

    pub fn line(text: impl Into<String>, item: Option<String>) -> Piece {
        Piece { text: text.into(), item, version: None, is_heading: false }
    }

    /// What tells this wording or version from another one.
    pub fn said(&self) -> &[u8] {
        self.version.as_deref().unwrap_or(self.text.as_bytes())
    }
}

/// Cuts the drafts to their shares. `held`: what the session's context has already, by item, with a test whether it is
/// the same words.
pub(super) fn share(
    event: Event,
    most: usize,
    drafts: Vec<Draft>,
    held: &super::dedup::Held,
    dropped: &mut Vec<Dropped>,
) -> Vec<PartGiven> {
    let table = table(event);
    let extra = |part: Part| if part == Part::Tail { TAIL } else { 0 };
    let has_tail = drafts.iter().any(|d| d.part == Part::Tail && !d.pieces.is_empty());
    let shares: Vec<(Part, usize)> =
        table.iter().map(|(part, c)| (*part, c + if has_tail { extra(*part) } else { 0 })).collect();
    let all: usize = shares.iter().map(|(_, c)| c).sum();
    let (mut out, mut left, mut weight) = (Vec::new(), most, all);
    let mut told: HashMap<String, Part> = HashMap::new();
    for (part, characters) in shares {
        let share = if weight == 0 { left } else { left * characters / weight };
        weight -= characters;
        let Some(draft) = drafts.iter().find(|d| d.part == part) else { continue };
        let fresh = fresh(draft, held, &mut told, dropped);
        let given = fit(part, fresh, draft.newest_last, share, dropped);
        if let Some(given) = given {
            left = left.saturating_sub(given.tokens);
            out.push(given);
        }
    }
    out
}

/// The pieces that are new: not held by the session, and not told by an earlier part.
fn fresh<'d>(
    draft: &'d Draft,
    held: &super::dedup::Held,
    told: &mut HashMap<String, Part>,
    dropped: &mut Vec<Dropped>,
) -> Vec<&'d Piece> {
    let mut out = Vec::new();
    for piece in &draft.pieces {
        if let Some(item) = &piece.item {
            if held.has(item, piece.said()) {
                dropped.push(Dropped { id: item.clone(), why: "given before, and nothing was cut since".into() });
                continue;
            }
            // A node may lead a line of the head and a line of the handoff; a file stands once.
            if item.contains(':')
                && let Some(earlier) = told.get(item).filter(|earlier| **earlier != draft.part)
            {
                dropped.push(Dropped { id: item.clone(), why: format!("stands in {}", earlier.name()) });
                continue;
            }
            told.insert(item.clone(), draft.part);
        }
        out.push(piece);
    }
    out
}

/// What fits, headings only in front of something.
fn fit(
    part: Part,
    pieces: Vec<&Piece>,
    newest_last: bool,
    share: usize,
    dropped: &mut Vec<Dropped>,
) -> Option<PartGiven> {
    let mut keep = vec![false; pieces.len()];
    let mut used = 0;
    let order: Vec<usize> = if newest_last { (0..pieces.len()).rev().collect() } else { (0..pieces.len()).collect() };
    for at in order {
        if pieces[at].is_heading {
            continue;
        }
        // A heading costs with the first piece below it.
        let heading = (0..at).rev().find(|i| pieces[*i].is_heading).filter(|i| !keep[*i]);
        let cost = tokens(&pieces[at].text) + heading.map_or(0, |i| tokens(&pieces[i].text));
        if used + cost > share {
            if let Some(item) = &pieces[at].item {
                dropped.push(Dropped { id: item.clone(), why: format!("no room in {}", part.name()) });
            }
            continue;
        }
        used += cost;
        keep[at] = true;
        heading.into_iter().for_each(|i| keep[i] = true);
    }
    let kept: Vec<&Piece> = pieces.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(p, _)| *p).collect();
    if kept.is_empty() {
        return None;
    }
    let text: String = kept.iter().map(|p| p.text.as_str()).collect();
    let said = kept.iter().filter_map(|p| Some((p.item.clone()?, p.said().to_vec()))).collect();
    Some(PartGiven { part, cacheable: part.is_cacheable(), tokens: tokens(&text), text, said })
}
