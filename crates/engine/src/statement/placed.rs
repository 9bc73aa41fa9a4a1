//! Divides a message into sentences, each with its place: heading, list, paragraph, pasted text around it.

use std::ops::Range;
use std::rc::Rc;

use super::Speaker;
use super::lists::Set;
use super::paste::{self, Shape};
use super::signs::{Signs, signs};
use crate::text::blocks::{Block, Reach, blocks};
use crate::text::borrowed::{Shown, borrowed};
use crate::text::plain::{lower, plain};
use crate::text::relayed::relayed;
use crate::text::scripts::is_unspaced;
use crate::text::sentences::split;
use crate::text::words::{Marks, Word, split as split_words};

/// Maximum size of a text that is read whole, and size of either end that is read of a longer one, in characters.
const REACH: Reach = Reach { whole: 24 * 1024, ends: 12 * 1024 };

/// Maximum bytes of a sentence; a longer one is cut into several.
const LONGEST: usize = 1000;

/// Maximum bytes of a paragraph before or behind a long paste that counts as the person's own words.
const ABOUT_IT: usize = 600;

/// A sentence with its place.
#[derive(Debug)]
pub struct Sentence {
    pub speaker: Speaker,
    /// Whether the sentence is in the model's last message before the next prompt.
    pub last: bool,
    pub text: String,
    pub low: String,
    pub words: Vec<Word>,
    pub signs: Signs,
    pub range: Range<usize>,
    pub bullet: bool,
    pub ticked: Option<bool>,
    pub level: usize,
    pub heading: Option<Rc<str>>,
    /// Lists the heading has words of.
    pub under: Set,
    /// Lists the heading begins with.
    pub opens: Set,
    pub paragraph: usize,
    pub last_paragraph: bool,
    /// Whether the sentence is the first of the message; whether it is the first of its line.
    pub first: bool,
    pub begins_line: bool,
    /// Whether the sentence is the only one of the message.
    pub alone: bool,
    pub asks: bool,
    pub colon: bool,
    /// Length in words; in text without blanks, two characters count as one word.
    pub length: usize,
    /// Whether most of the sentence is in quotation marks.
    pub quoted: bool,
    pub shape: Shape,
    /// Whether the words are somebody else's, who is named before them.
    pub relayed: bool,
    /// The word lists that the sentence before has words of.
    pub before: Set,
}

/// Returns the paragraphs around a long paste that can be the person's own: the first and the last, if they are short.
fn around(blocks: &[Block]) -> Vec<usize> {
    let ends = [blocks.first(), blocks.last()].into_iter().flatten().map(|block| block.paragraph);
    let length =
        |n: &usize| blocks.iter().filter(|block| block.paragraph == *n).map(|block| block.range.len()).sum::<usize>();
    ends.filter(|n| length(n) <= ABOUT_IT).collect()
}

/// Returns the sentences of a message, in order.
pub fn sentences(text: &str, speaker: Speaker, last: bool) -> Vec<Sentence> {
    let text = paste::unwrapped(text);
    let text = &*text;
    let blocks = blocks(text, REACH);
    let mut found: Vec<Sentence> = Vec::new();
    let (mut heading, mut lead_in): (Option<Rc<str>>, Option<Rc<str>>) = (None, None);
    let mut scan = paste::Scan::default();
    let recorded = if speaker == Speaker::Person { paste::recorded(text) } else { paste::Recorded::default() };
    let carried = if speaker == Speaker::Person { borrowed(text, Shown::Words) } else { Vec::new() };
    let is_carried = |at: usize| carried.iter().any(|range| range.contains(&at));
    let is_long = speaker == Speaker::Person && text.len() > REACH.whole;
    let around = if is_long { around(&blocks) } else { Vec::new() };
    let mut end = 0;
    for (number, block) in blocks.iter().enumerate() {
        let gap = &text[end.min(block.range.start)..block.range.start];
        if let Some(title) = gap.lines().rev().find_map(title) {
            (heading, lead_in) = (Some(Rc::from(plain(title))), None);
        }
        scan.pass(gap);
        end = block.range.end;
        let said = &text[block.range.clone()];
        let line = plain(said);
        if block.emphasis {
            (heading, lead_in) = (Some(Rc::from(line.trim_end_matches(':'))), None);
            continue;
        }
        let level = level(text, block.range.start);
        if !block.item && level == 0 {
            lead_in = None;
        }
        let machine_after = blocks.get(number + 1).map_or(text.len(), |next| next.range.start);
        let mut shape = scan.shape(said, &line, block, &text[end..machine_after.max(end)]);
        // A person pastes a message of this length. Only its short first and last paragraphs can be typed.
        shape.document |= is_long && !around.contains(&block.paragraph);
        let under = lead_in.clone().or_else(|| heading.clone());
        let mut begins_line = true;
        let theirs = if speaker == Speaker::Person { relayed(said) } else { None };
        for (range, sentence) in parts(said, &line) {
            if !sentence.chars().any(char::is_alphanumeric) {
                continue;
            }
            let low = lower(&sentence);
            let words = split_words(&low, Marks::Dropped);
            let signs = signs(&low, &words);
            let length = length(&low, &words);
            let quoted = words.iter().filter(|w| w.quoted).count();
            found.push(Sentence {
                speaker,
                last,
                quoted: quoted > 2 && 5 * quoted >= 4 * words.len(),
                asks: asks(&sentence),
                colon: sentence.ends_with([':', '：']),
                range: block.range.start + range.start..block.range.start + range.end,
                bullet: block.item,
                ticked: block.ticked,
                level,
                under: 0,
                opens: 0,
                heading: under.clone(),
                paragraph: block.paragraph,
                last_paragraph: false,
                first: found.is_empty(),
                begins_line,
                alone: false,
                shape: Shape {
                    recorded: recorded.is_printed(block.range.start + range.start),
                    page: recorded.is_page(block.range.start + range.start),
                    here_document: recorded.is_here_document(block.range.start + range.start),
                    ..shape.of(&sentence, &words, length)
                },
                length,
                relayed: theirs.is_some_and(|from| range.end > from) || is_carried(block.range.start + range.start),
                before: found.last().map_or(0, |s| s.signs.has),
                text: sentence,
                low,
                words,
                signs,
            });
            begins_line = false;
        }
        // A question leads its list of options, like a line that ends in a colon leads its list.
        let asked = !block.item && asks(&line);
        if (line.ends_with([':', '：']) || asked) && line.len() <= 200 {
            lead_in = Some(Rc::from(line.trim_end_matches([':', '：'])));
        }
    }
    finish(&mut found);
    found
}

/// Fills in the values known only at the end: the last paragraph, the neighbours' shapes, and the lists of each
/// heading, looked up once.
fn finish(found: &mut [Sentence]) {
    let last = found.last().map(|s| s.paragraph);
    let alone = found.len() == 1;
    let codes: Vec<u8> = found.iter().map(|s| s.shape.code).collect();
    let mut known: Option<(Rc<str>, Set, Set)> = None;
    for (n, s) in found.iter_mut().enumerate() {
        let before = n.checked_sub(1).map_or(0, |b| codes[b]);
        s.shape.near = before.max(codes.get(n + 1).copied().unwrap_or(0));
        s.last_paragraph = Some(s.paragraph) == last;
        s.alone = alone;
        let Some(heading) = &s.heading else { continue };
        (s.under, s.opens) = match &known {
            Some((text, under, opens)) if Rc::ptr_eq(text, heading) => (*under, *opens),
            _ => {
                let low = lower(heading);
                let signs = signs(&low, &split_words(&low, Marks::Dropped));
                known = Some((heading.clone(), signs.has, signs.starts));
                (signs.has, signs.starts)
            }
        };
    }
}

fn length(low: &str, words: &[Word]) -> usize {
    let unspaced = if low.is_ascii() { 0 } else { low.chars().filter(|c| is_unspaced(*c)).count() };
    words.len().max(unspaced / 2)
}

/// Returns the words of a heading line.
fn title(line: &str) -> Option<&str> {
    let line = line.trim();
    let bare = line.trim_start_matches('#');
    let level = line.len() - bare.len();
    ((1..=6).contains(&level) && bare.starts_with(' ')).then(|| bare.trim().trim_end_matches(':'))
}

/// Returns the indentation of the line at an offset.
fn level(text: &str, at: usize) -> usize {
    let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let indent = text[line..].bytes().take_while(|b| matches!(b, b' ' | b'\t'));
    indent.map(|b| if b == b'\t' { 4 } else { 1 }).sum::<usize>().min(40)
}

/// Returns the sentences of a block as plain text, each with its range in the block.
fn parts(said: &str, line: &str) -> Vec<(Range<usize>, String)> {
    if said == line {
        return split(line, LONGEST).into_iter().map(|range| (range.clone(), line[range].to_owned())).collect();
    }
    let raw = split(said, LONGEST);
    raw.into_iter().map(|range| (range.clone(), plain(&said[range]))).collect()
}

fn asks(text: &str) -> bool {
    text.trim_end_matches(['"', '”', ')', '*', '_', ' ', '!', '»', '」', '）']).ends_with(['?', '？', '¿', '؟'])
}
