//! A linear filter over hashed words, parts of words, word lists and place. It labels a sentence if no rule is sure.
//! `heirloom-lab statements --train` learns its weights from labelled sentences.
//!
//! Format of `filter.bin`: for each label of [`Label::ALL`] three `f32` in little endian (the size of one step of its
//! weights, its bias, the probability from which it is sure), then for each bucket one `i8` per label.

use std::sync::LazyLock;

use super::lists::Set;
use super::placed::Sentence;
use super::{Label, Speaker};
use crate::text::patterns::hash;
use crate::text::scripts::is_unspaced;

/// Number of weights of each label.
pub const BUCKETS: usize = 4096;

const LABELS: usize = Label::ALL.len();
const HEAD: usize = LABELS * 12;
static BYTES: &[u8] = include_bytes!("filter.bin");

/// Maximum number of words read in a sentence; more of them say no more about its label.
const WORDS: usize = 60;

/// The word lists that were there when the weights were learned. A later list speaks only through the rules: its feature
/// would share the bucket, and so the weight, of some other feature.
const LEARNED: Set = (1 << 81) - 1;

struct Weights {
    step: [f32; LABELS],
    bias: [f32; LABELS],
    sure: [f32; LABELS],
}

/// `None` if the file has another size: then there are no weights, and no label is sure.
static WEIGHTS: LazyLock<Option<Weights>> = LazyLock::new(|| {
    if BYTES.len() != HEAD + BUCKETS * LABELS {
        return None;
    }
    let number = |at: usize| {
        let bytes = BYTES.get(at..at + 4).and_then(|b| b.try_into().ok()).unwrap_or_default();
        f32::from_le_bytes(bytes)
    };
    let column = |n: usize| std::array::from_fn(|label| number(label * 12 + n * 4));
    Some(Weights { step: column(0), bias: column(1), sure: column(2) })
});

/// Whether the file of weights has the expected form.
#[cfg(test)]
pub fn has_weights() -> bool {
    WEIGHTS.is_some()
}

/// Whether a speaker can mean a label: a model makes no requests and sets no rules for a person (R14.3).
pub fn can_mean(speaker: Speaker, label: Label) -> bool {
    match speaker {
        Speaker::Person => label != Label::Offer,
        Speaker::Model => !matches!(label, Label::Request | Label::Directive | Label::Identity | Label::Reject),
    }
}

/// Returns the likeliest label, the second one if it is nearly as likely, and whether the label is sure. `ruled`: the
/// label that a rule hints at.
pub fn label(s: &Sentence, ruled: Option<Label>) -> (Label, Option<Label>, bool) {
    let Some(weights) = &*WEIGHTS else { return (ruled.unwrap_or(Label::Remark), None, false) };
    let mut sums = [0.0; LABELS];
    for (bucket, value) in features(s, ruled) {
        let row = &BYTES[HEAD + bucket as usize * LABELS..][..LABELS];
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum += f32::from(weight.cast_signed()) * value;
        }
    }
    let scores = std::array::from_fn(|n| weights.bias[n] + weights.step[n] * sums[n]);
    let (first, likely, second) = choose(&scores, s.speaker, ruled);
    (Label::ALL[first], second.map(|n| Label::ALL[n]), likely >= weights.sure[first])
}

/// Chooses the likeliest label a speaker can mean. Returns it, its probability, and the next one if it is at least half
/// as likely. `ruled`: the label that a rule hints at. A rare label is never first without such a hint: on authors it
/// has not seen, the filter is mostly wrong about them.
pub fn choose(scores: &[f32; LABELS], speaker: Speaker, ruled: Option<Label>) -> (usize, f32, Option<usize>) {
    let rare = |label| matches!(label, Label::Directive | Label::Decision | Label::Commitment | Label::Identity);
    let mut order: Vec<usize> = (0..LABELS).filter(|n| can_mean(speaker, Label::ALL[*n])).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let is_first = |n: &usize| !rare(Label::ALL[*n]) || ruled == Some(Label::ALL[*n]);
    let first = order.iter().copied().find(is_first).unwrap_or(order[0]);
    let top = scores[first];
    let common = order.iter().filter(|n| is_first(n));
    let whole: f32 = common.map(|n| (scores[*n] - top).exp()).sum();
    let second = order.iter().copied().find(|n| *n != first).filter(|n| (scores[*n] - top).exp() >= 0.5);
    (first, 1.0 / whole, second)
}

/// Returns the features of a sentence, each with its weight. `ruled`: the label that a rule hints at.
pub fn features(s: &Sentence, ruled: Option<Label>) -> Vec<(u32, f32)> {
    let mut found = Vec::with_capacity(1024);
    let who = u64::from(s.speaker == Speaker::Person);
    words(s, who, &mut found);
    parts(s, &mut found);
    lists(s, who, &mut found);
    place(s, who, ruled, &mut found);
    found
}

fn bucket(of: u64) -> u32 {
    // FNV mixes upwards: the high bits of a product are the most random.
    (of.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BUCKETS.trailing_zeros())) as u32
}

/// Returns the hash of a feature: its kind, its value, who speaks.
fn named(kind: &str, value: u64, who: u64) -> u64 {
    [value + 1, who + 1].into_iter().fold(hash(kind), |h, n| (h ^ n).wrapping_mul(0x0100_0000_01b3).rotate_left(23))
}

/// Sets the weights of one family of features, so that together they weigh as much as one feature of `weight`.
fn share(family: &mut [(u32, f32)], weight: f32) {
    let each = weight / (family.len().max(1) as f32).sqrt();
    family.iter_mut().for_each(|(_, value)| *value = each);
}

/// Adds words and pairs of words.
fn words(s: &Sentence, who: u64, found: &mut Vec<(u32, f32)>) {
    let from = found.len();
    let (salt, mut before) = (named("word", 0, who), hash("^"));
    for word in s.words.iter().take(WORDS) {
        found.push((bucket(word.hash ^ salt), 0.0));
        found.push((bucket(before.rotate_left(7) ^ word.hash ^ salt), 0.0));
        before = word.hash;
    }
    share(&mut found[from..], 1.0);
}

/// Adds runs of three and four characters of each word; for scripts without blanks, of one and two.
fn parts(s: &Sentence, found: &mut Vec<(u32, f32)>) {
    let from = found.len();
    let mut padded: Vec<char> = Vec::with_capacity(48);
    for word in s.words.iter().take(WORDS) {
        let text = &s.low[word.start..word.end];
        padded.clear();
        padded.push(' ');
        padded.extend(text.chars().take(40));
        padded.push(' ');
        let unspaced = !text.is_ascii() && padded.iter().any(|c| is_unspaced(*c));
        for size in if unspaced { [1, 2] } else { [3, 4] } {
            for run in padded.windows(size) {
                let of = run.iter().fold(0x51u64, |h, c| (h ^ u64::from(*c)).wrapping_mul(0x0100_0000_01b3));
                found.push((bucket(of), 0.0));
            }
        }
    }
    share(&mut found[from..], 0.7);
}

/// Adds the lists that the sentence, the one before it and its heading have words of.
fn lists(s: &Sentence, who: u64, found: &mut Vec<(u32, f32)>) {
    let mut each = |kind: &str, set: u128, weight: f32| {
        let mut left = set & LEARNED;
        while left != 0 {
            found.push((bucket(named(kind, u64::from(left.trailing_zeros()), who)), weight));
            left &= left - 1;
        }
    };
    each("has", s.signs.has, 0.35);
    each("starts", s.signs.starts, 0.5);
    each("ends", s.signs.ends, 0.25);
    each("under", s.under, if s.bullet { 0.6 } else { 0.3 });
    each("before", s.before, 0.1);
}

/// Adds the place and the shape of the sentence.
fn place(s: &Sentence, who: u64, ruled: Option<Label>, found: &mut Vec<(u32, f32)>) {
    let shape = s.shape;
    let sign = |c: Option<char>| c.filter(|c| !c.is_alphanumeric()).map_or(0, u64::from);
    let begin = match s.text.chars().next().unwrap_or(' ') {
        c if c.is_uppercase() => 0,
        c if c.is_alphabetic() => 1,
        c if c.is_numeric() => 2,
        _ => 3,
    };
    let mut value = |name: &str, value: u64, weight: f32| found.push((bucket(named(name, value, who)), weight));
    value("last", 2 * u64::from(s.last) + u64::from(s.bullet), 0.6);
    value("long", (s.length as u64 / 4).min(9), 0.5);
    value("end", sign(s.text.chars().next_back()), 0.5);
    value("begin", begin, 0.4);
    value("mark", sign(s.text.chars().next()), 0.4);
    value("code", u64::from(shape.code), 0.5);
    value("near", u64::from(shape.near), 0.4);
    value("machine", u64::from(shape.machine), 0.4);
    value("rule", ruled.map_or(99, |label| label as u64), 0.8);
    let flags = [
        ("asks", s.asks, 0.5),
        ("first", s.first, 0.3),
        ("alone", s.alone, 0.4),
        ("begins", s.begins_line, 0.2),
        ("headed", s.heading.is_some(), 0.3),
        ("after", shape.after_machine, 0.4),
        ("ahead", shape.before_machine, 0.4),
        ("behind", shape.behind_terminal, 0.8),
        ("announced", shape.may_be_announced || shape.announced, 0.5),
        ("document", shape.document, 0.5),
        ("setting", shape.setting, 0.6),
        ("stamp", shape.stamp, 0.8),
        ("quoted", s.quoted, 0.5),
        ("colon", s.colon, 0.4),
    ];
    for (name, _, weight) in flags.into_iter().filter(|(_, on, _)| *on) {
        value(name, 1, weight);
    }
}
