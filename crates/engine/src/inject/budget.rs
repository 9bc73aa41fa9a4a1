//! The shares of a context's parts: one table (R10.4).
//!
//! The order of the table is the restoration order: room a part does not need goes to the first part that needs more.
//! Cacheable parts are filled first, so that they are the same whatever a session's own parts contain; the latter leave
//! out lines already printed.

use super::already_given::{Line, Source, Told};
use super::held::Held;
use super::{Event, PartGiven, Said};
use crate::recall::recalled::Dropped;
use crate::scope::named;
use crate::text::words::runs;
use crate::tokens::tokens;

named! {
    /// The parts of a context, in the order they are printed within cacheable and volatile parts.
    pub enum Part {
        /// Identity of assistant and person, and standing rules: the pages people write.
        Pages = "pages",
        /// Tier 1, limited to what this thread may read.
        Memory = "memory",
        /// The state of the thread.
        Thread = "thread",
        /// The replacement for what was cut, or where the last session of the thread stopped.
        Handoff = "handoff",
        /// The newest turns, word for word.
        Tail = "tail",
        /// The recalled items.
        Recall = "recall",
    }
}

impl Part {
    /// Parts that seldom change are printed first, so that a prompt cache can reuse them.
    pub fn is_cacheable(self) -> bool {
        matches!(self, Part::Pages | Part::Memory | Part::Thread)
    }
}

/// The table for most events, in characters, in restoration order.
const BEGIN: &[(Part, usize)] = &[
    (Part::Handoff, 2_500),
    (Part::Tail, 0),
    (Part::Thread, 1_500),
    (Part::Memory, 2_500),
    (Part::Pages, 1_500),
    (Part::Recall, 1_000),
];
/// Additional characters for a program that does not keep the newest turns itself.
const TAIL: usize = 4_000;
const RESUME: &[(Part, usize)] = &[(Part::Handoff, 2_500), (Part::Recall, 1_000)];
const PROMPT: &[(Part, usize)] = &[(Part::Recall, 3_000)];

/// Characters per token.
const TOKEN: usize = 4;

/// Largest number of tokens at the start of a session, fence included, whatever its program accepts.
const AT_START: usize = 1_999;

fn table(event: Event) -> &'static [(Part, usize)] {
    match event {
        Event::Start | Event::Clear | Event::Compact => BEGIN,
        Event::Resume => RESUME,
        Event::Prompt => PROMPT,
    }
}

/// Returns the largest number of tokens of a context: what was requested, else the event's default, and never more than
/// the program accepts.
pub(super) fn most(event: Event, asked: Option<usize>, characters: usize) -> usize {
    let own: usize = table(event).iter().map(|(_, c)| c).sum::<usize>() / TOKEN;
    let own = if event == Event::Start { own.min(AT_START) } else { own };
    asked.unwrap_or(own).min(characters / TOKEN)
}

/// Number of recalled items for a prompt unless a longer context is requested.
const ITEMS: usize = 6;

/// Returns how many recalled items to fetch for this budget; each is up to 170 tokens long.
pub fn items(asked: Option<usize>) -> usize {
    asked.map_or(ITEMS, |most| (most / 170).clamp(ITEMS, 80))
}

/// A part before it is cut: pieces of text, some of which refer to an item.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Draft {
    pub part: Part,
    pub pieces: Vec<Piece>,
    /// Whether the newest pieces are last; these are kept if there is not room for all.
    pub newest_last: bool,
}

/// A piece of text that is given whole or not at all.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Piece {
    /// The text, including its line breaks.
    pub text: String,
    pub item: Option<String>,
    /// Version of an item that can change. Without a version, the wording identifies the item.
    pub version: Option<Vec<u8>>,
    /// The level of a heading, which is printed only before a line; 0 for a line.
    pub level: usize,
    /// Why it was chosen.
    pub why: Chosen,
}

/// Why a line was chosen.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Chosen {
    /// The stage of recall that found it; for a line of a page or a handoff `None`.
    pub stage: Option<&'static str>,
    pub score: Option<f64>,
    /// The reasons in words.
    pub reasons: Vec<String>,
}

impl Piece {
    pub fn heading(text: impl Into<String>) -> Piece {
        let text = text.into();
        let level = text.bytes().take_while(|b| *b == b'#').count().max(1);
        Piece { text, item: None, version: None, level, why: Chosen::default() }
    }

    pub fn line(text: impl Into<String>, item: Option<String>) -> Piece {
        Piece { text: text.into(), item, version: None, level: 0, why: Chosen::default() }
    }

    /// Makes a line with the words of a turn. The words identify it, whatever is printed around them: a handoff and
    /// recall print the same turn differently, and a session gets it once.
    pub fn of_turn(text: impl Into<String>, turn: String, words: &str) -> Piece {
        Piece { version: Some(wording(words)), ..Piece::line(text, Some(turn)) }
    }

    /// Returns the name under which the piece is reported if it is left out.
    fn id(&self, part: Part) -> String {
        self.item.clone().unwrap_or_else(|| part.name().to_owned())
    }

    /// Returns the bytes that distinguish this wording or version from another.
    pub fn identity(&self) -> &[u8] {
        self.version.as_deref().unwrap_or(self.text.as_bytes())
    }
}

/// Cuts the drafts to their shares. `held`: the items that the session's context already contains; `told`: the lines
/// its model has already been given, in any words.
pub(super) fn share(
    event: Event,
    most: usize,
    drafts: &[Draft],
    held: &Held,
    mut told: Told,
    dropped: &mut Vec<Dropped>,
) -> Vec<PartGiven> {
    let has_tail = drafts.iter().any(|d| d.part == Part::Tail && !d.pieces.is_empty());
    let weight = |part: Part, characters: usize| if part == Part::Tail && has_tail { TAIL } else { characters };
    let mut wanted: Vec<(&Draft, Vec<&Piece>, usize)> = Vec::new();
    for (part, characters) in table(event) {
        for draft in drafts.iter().filter(|d| d.part == *part) {
            let fresh = fresh(draft, held, &mut told, dropped);
            wanted.push((draft, fresh, weight(*part, *characters)));
        }
    }
    let all: usize = wanted.iter().map(|(.., w)| w).sum();
    let needs: Vec<usize> = wanted.iter().map(|(_, p, _)| p.iter().map(|p| tokens(&p.text)).sum()).collect();
    let mut shares: Vec<usize> =
        wanted.iter().zip(&needs).map(|((.., w), need)| (most * w / all.max(1)).min(*need)).collect();
    let mut left = most.saturating_sub(shares.iter().sum());
    for (share, need) in shares.iter_mut().zip(&needs) {
        let more = left.min(need - *share);
        *share += more;
        left -= more;
    }
    let mut out: Vec<PartGiven> = Vec::new();
    for cacheable in [true, false] {
        for ((draft, pieces, _), share) in
            wanted.iter().zip(&shares).filter(|((d, ..), _)| d.part.is_cacheable() == cacheable)
        {
            let pieces = untold(draft.part, pieces, &told, dropped);
            // Room that a volatile part does not use goes to the next part.
            let room = if cacheable { *share } else { share + left };
            let Some((given, kept)) = fit(draft.part, &pieces, draft.newest_last, room, dropped) else {
                left = if cacheable { left + share } else { room };
                continue;
            };
            kept.iter().for_each(|p| told.add(Line::of(&p.text), Source::Part(draft.part)));
            left = if cacheable { left + share - given.tokens } else { room - given.tokens };
            out.push(given);
        }
    }
    out
}

/// Returns the pieces that the session does not hold yet. A line without an item is identified by its words.
fn fresh<'d>(draft: &'d Draft, held: &Held, told: &mut Told, dropped: &mut Vec<Dropped>) -> Vec<&'d Piece> {
    let mut out = Vec::new();
    for piece in &draft.pieces {
        if piece.level == 0 && held.has(piece.item.as_deref().unwrap_or(draft.part.name()), piece.identity()) {
            told.add(Line::of(&piece.text), Source::Part(draft.part));
            if let Some(item) = &piece.item {
                dropped.push(Dropped { id: item.clone(), why: "given before, and nothing was cut since".into() });
            }
            continue;
        }
        out.push(piece);
    }
    untold(draft.part, &out, told, dropped)
}

/// Returns the pieces whose words were not given elsewhere.
fn untold<'d>(part: Part, pieces: &[&'d Piece], told: &Told, dropped: &mut Vec<Dropped>) -> Vec<&'d Piece> {
    let mut out = Vec::new();
    for piece in pieces {
        // The newest turns are a quotation, so a turn that repeats other words stays in it.
        let quotes = piece.level > 0 || part == Part::Tail;
        match Some(Line::of(&piece.text)).filter(|_| !quotes).and_then(|line| told.says(&line, part)) {
            Some(source) => dropped.push(Dropped { id: piece.id(part), why: source.why() }),
            None => out.push(*piece),
        }
    }
    out
}

/// Beginnings of headings, best first: a statement under several headings stays under the first of these.
const FITS: [&str; 12] =
    ["goal", "doing", "open", "deci", "next", "blocked", "constraint", "rule", "error", "progress", "last", "done"];

fn fit_of(heading: &str) -> usize {
    let heading = heading.to_lowercase();
    FITS.iter().position(|name| heading.contains(name)).unwrap_or(FITS.len())
}

/// Keeps each statement of a part once, under the heading that fits best, with the id by which it can be closed.
pub(super) fn distinct(draft: &mut Draft, dropped: &mut Vec<Dropped>) {
    // For each kept line: its index, its words, and the rank of its heading.
    let mut kept: Vec<(usize, Line, usize)> = Vec::new();
    let mut gone: Vec<usize> = Vec::new();
    let mut heading = String::new();
    for n in 0..draft.pieces.len() {
        let piece = &draft.pieces[n];
        if piece.level > 0 {
            heading.clone_from(&piece.text);
            continue;
        }
        // A line may contain its own heading: `**Doing.** …`
        let fits = piece.text.strip_prefix("**").and_then(|t| t.split_once("**")).map_or(heading.as_str(), |(h, _)| h);
        let (line, fits) = (Line::of(&piece.text), fit_of(fits));
        let same = kept.iter().position(|(_, other, _)| line.repeats(other) || other.repeats(&line));
        let Some(same) = same else {
            kept.push((n, line, fits));
            continue;
        };
        let (other_at, other, other_fits) = &kept[same];
        let (other_at, says_more) = (*other_at, line.len() > other.len());
        let stays = if (fits, !says_more) < (*other_fits, true) { n } else { other_at };
        let goes = if stays == n { other_at } else { n };
        let closes = |id: &String| matches!(id.split_once(':'), Some(("l" | "m" | "u" | "p", _)));
        let of_stays = if stays == n { &line } else { other };
        let of_goes = if stays == n { other } else { &line };
        let lost: Vec<String> =
            of_goes.refs.iter().filter(|id| closes(id) && !of_stays.refs.contains(id)).cloned().collect();
        let lost = if of_stays.refs.iter().any(closes) { Vec::new() } else { lost };
        let why = match &draft.pieces[stays].item {
            Some(item) => format!("says what {item} says"),
            None => format!("stands in {}", draft.part.name()),
        };
        dropped.push(Dropped { id: draft.pieces[goes].id(draft.part), why });
        gone.push(goes);
        if !lost.is_empty() {
            let text = draft.pieces[stays].text.trim_end();
            draft.pieces[stays].text = format!("{text} [{}]\n", lost.join(" "));
        }
        let fits = if stays == n { fits } else { *other_fits };
        let line = Line::of(&draft.pieces[stays].text);
        kept[same] = (stays, line, fits);
    }
    let mut n = 0;
    draft.pieces.retain(|_| {
        n += 1;
        !gone.contains(&(n - 1))
    });
}

/// Returns only the words of a text.
fn wording(text: &str) -> Vec<u8> {
    let words = runs(text, &[]);
    words.map(|(_, word)| word.to_lowercase()).collect::<Vec<_>>().join(" ").into_bytes()
}

/// Returns the content of a line without its bullet, the name before it, and the details after it: who, when,
/// references.
pub(super) fn core(line: &str) -> &str {
    let line = line.trim().trim_start_matches("- ");
    let line = line
        .strip_prefix("**")
        .and_then(|l| l.split_once("**"))
        .map_or(line, |(_, l)| l.trim_start_matches([':', ' ']));
    let line = line.split_once(" · ").map_or(line, |(l, _)| l);
    let line = without_references(line);
    // Details of a recalled line: `(user, 2026-11-20 10:01)`.
    let about = |inner: &str| inner.ends_with(')') && inner.split([' ', ')']).any(is_day);
    line.rsplit_once(" (").filter(|(_, inner)| about(inner)).map_or(line, |(l, _)| l)
}

/// Returns a line without the references at its end: `[n8] [p:the-roof-5173]`.
fn without_references(line: &str) -> &str {
    let Some((mut rest, _)) = line.rsplit_once(" [") else { return line };
    // The last bracket of a line is always a reference. A bracket before it may be a part of the sentence, as in "see
    // step [1] [n8]", so it is removed only if it holds ids of turns, nodes or files.
    let is_reference = |inner: &str| {
        inner
            .strip_suffix(']')
            .is_some_and(|ids| ids.split(' ').all(|id| id.contains(':') || id.starts_with(['n', 't'])))
    };
    while let Some((before, _)) = rest.rsplit_once(" [").filter(|(_, inner)| is_reference(inner)) {
        rest = before;
    }
    rest
}

/// Whether a word is a day: `2026-11-20`.
fn is_day(word: &str) -> bool {
    word.len() == 10
        && word.bytes().enumerate().all(|(n, b)| if matches!(n, 4 | 7) { b == b'-' } else { b.is_ascii_digit() })
}

/// Returns the pieces that fit; a heading is kept only before a line.
fn fit<'d>(
    part: Part,
    pieces: &[&'d Piece],
    newest_last: bool,
    share: usize,
    dropped: &mut Vec<Dropped>,
) -> Option<(PartGiven, Vec<&'d Piece>)> {
    let mut keep = vec![false; pieces.len()];
    let mut used = 0;
    let order: Vec<usize> = if newest_last { (0..pieces.len()).rev().collect() } else { (0..pieces.len()).collect() };
    for at in order {
        if pieces[at].level > 0 {
            continue;
        }
        // The headings above a line are charged with the first line printed below them.
        let mut headings = Vec::new();
        let mut level = usize::MAX;
        for i in (0..at).rev() {
            if pieces[i].level > 0 && pieces[i].level < level {
                level = pieces[i].level;
                headings.push(i);
            }
        }
        headings.retain(|i| !keep[*i]);
        let cost = tokens(&pieces[at].text) + headings.iter().map(|i| tokens(&pieces[*i].text)).sum::<usize>();
        if used + cost > share {
            if let Some(item) = &pieces[at].item {
                dropped.push(Dropped { id: item.clone(), why: format!("no room in {}", part.name()) });
            }
            continue;
        }
        used += cost;
        keep[at] = true;
        headings.into_iter().for_each(|i| keep[i] = true);
    }
    let kept: Vec<&Piece> = pieces.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(p, _)| *p).collect();
    if kept.is_empty() {
        return None;
    }
    let text: String = kept.iter().map(|p| p.text.as_str()).collect();
    let mut said = Vec::new();
    let mut line = 0;
    for piece in &kept {
        if piece.level == 0 {
            let version = piece.identity().to_vec();
            said.push(Said { item: piece.item.clone(), version, line, why: piece.why.clone() });
        }
        line += piece.text.matches('\n').count();
    }
    let given = PartGiven { part, cacheable: part.is_cacheable(), tokens: tokens(&text), text, said };
    let kept = kept.into_iter().filter(|p| p.level == 0).collect();
    Some((given, kept))
}
