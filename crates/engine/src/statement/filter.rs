//! A linear filter over hashed words, parts of words, lists and place: what a sentence most likely does where no rule
//! is sure. Its weights are learned by `heirloom-lab statements --train` from labelled sentences.
//!
//! `filter.bin`: for each label of [`Label::ALL`] three `f32` in little endian (the size of one step of its weights, its
//! bias, the probability from which it is sure), then for each bucket one `i8` per label.

use std::sync::LazyLock;

use super::place::Sentence;
use super::rules;
use super::{Label, Speaker};
use crate::text::patterns::hash;
use crate::text::scripts::is_unspaced;

/// The number of weights of each label.
pub const BUCKETS: usize = 4096;

const LABELS: usize = Label::ALL.len();
const HEAD: usize = LABELS * 12;
static BYTES: &[u8] = include_bytes!("filter.bin");

/// Words of a sentence that are read; a longer one says no more about what it does.
const WORDS: usize = 60;

struct Weights {
    step: [f32; LABELS],
    bias: [f32; LABELS],
    sure: [f32; LABELS],
}

/// `None` for bytes of another form: then there are no weights, and nothing is sure.
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

/// Whether a speaker can mean this: a model asks for nothing and sets no rules for a person (R14.3).
pub fn can_mean(speaker: Speaker, label: Label) -> bool {
    match speaker {
        Speaker::Person => label != Label::Offer,
        Speaker::Model => !matches!(label, Label::Request | Label::Directive | Label::Identity | Label::Reject),
    }
}

/// The likeliest label, the second one if it is nearly as likely, and whether the label is sure.
pub fn label(s: &Sentence) -> (Label, Option<Label>, bool) {
    let Some(weights) = &*WEIGHTS else { return (Label::Remark, None, false) };
    let mut scores = weights.bias;
    for (bucket, value) in features(s) {
        let row = &BYTES[HEAD + bucket as usize * LABELS..][..LABELS];
        for ((score, weight), step) in scores.iter_mut().zip(row).zip(weights.step) {
            *score += f32::from(weight.cast_signed()) * step * value;
        }
    }
    let (first, likely, second) = choose(&scores, s.speaker);
    (Label::ALL[first], second.map(|n| Label::ALL[n]), likely >= weights.sure[first])
}

/// The likeliest label a speaker can mean, its probability, and the next one if it is at least half as likely.
pub fn choose(scores: &[f32; LABELS], speaker: Speaker) -> (usize, f32, Option<usize>) {
    let mut order: Vec<usize> = (0..LABELS).filter(|n| can_mean(speaker, Label::ALL[*n])).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let top = scores[order[0]];
    let whole: f32 = order.iter().map(|n| (scores[*n] - top).exp()).sum();
    let second = order.get(1).copied().filter(|n| (scores[*n] - top).exp() >= 0.5);
    (order[0], 1.0 / whole, second)
}

/// The numbers of the features of a sentence, each with its weight.
pub fn features(s: &Sentence) -> Vec<(u32, f32)> {
    let mut found = Vec::with_capacity(200);
    let who = if s.speaker == Speaker::Person { 'u' } else { 'm' };
    words(s, who, &mut found);
    parts(s, &mut found);
    lists(s, who, &mut found);
    place(s, who, &mut found);
    found
}

fn bucket(of: u64) -> u32 {
    // FNV mixes upwards: the high bits of a product are the most random.
    (of.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BUCKETS.trailing_zeros())) as u32
}

/// Adds features of one family; together they weigh as much as one of `weight`.
fn add(found: &mut Vec<(u32, f32)>, family: &[u64], weight: f32) {
    let each = weight / (family.len().max(1) as f32).sqrt();
    found.extend(family.iter().map(|of| (bucket(*of), each)));
}

/// Words and pairs of words.
fn words(s: &Sentence, who: char, found: &mut Vec<(u32, f32)>) {
    let salt = hash(if who == 'u' { "wu" } else { "wm" });
    let (mut family, mut before) = (Vec::new(), hash("^"));
    for word in s.words.iter().take(WORDS) {
        family.push(word.hash ^ salt);
        family.push(before.rotate_left(7) ^ word.hash ^ salt);
        before = word.hash;
    }
    add(found, &family, 1.0);
}

/// Runs of three and four characters of a word; of scripts without blanks, one and two.
fn parts(s: &Sentence, found: &mut Vec<(u32, f32)>) {
    let mut family = Vec::new();
    for word in s.words.iter().take(WORDS) {
        let text: Vec<char> = s.low[word.start..word.end].chars().take(40).collect();
        let sizes = if text.iter().any(|c| is_unspaced(*c)) { [1, 2] } else { [3, 4] };
        let mut padded = vec![' '];
        padded.extend(&text);
        padded.push(' ');
        for size in sizes {
            for run in padded.windows(size) {
                family.push(run.iter().fold(0x51u64, |h, c| (h ^ u64::from(*c)).wrapping_mul(0x0100_0000_01b3)));
            }
        }
    }
    add(found, &family, 0.7);
}

/// The lists it has words of, and its heading.
fn lists(s: &Sentence, who: char, found: &mut Vec<(u32, f32)>) {
    let mut each = |kind: &str, set: u128, weight: f32| {
        let mut left = set;
        while left != 0 {
            let n = left.trailing_zeros();
            left &= left - 1;
            found.push((bucket(hash(&format!("{kind}{n}{who}"))), weight));
        }
    };
    each("has", s.signs.has, 0.35);
    each("starts", s.signs.starts, 0.5);
    each("ends", s.signs.ends, 0.25);
    each("under", s.under, if s.bullet { 0.6 } else { 0.3 });
    each("before", s.before, 0.1);
}

/// Where it stands and how it looks.
fn place(s: &Sentence, who: char, found: &mut Vec<(u32, f32)>) {
    let shape = s.shape;
    let end = s.text.chars().next_back().filter(|c| !c.is_alphanumeric()).unwrap_or('a');
    let begin = s.text.chars().next().unwrap_or(' ');
    let mark = if begin.is_alphanumeric() { ' ' } else { begin };
    let begin = if begin.is_uppercase() {
        'A'
    } else if begin.is_alphabetic() {
        'a'
    } else if begin.is_numeric() {
        '0'
    } else {
        '-'
    };
    let ruled = rules::label(s).map_or("", |(label, _)| label.name());
    let mut flag = |name: &str, on: bool, weight: f32| {
        if on {
            found.push((bucket(hash(&format!("{name}/{who}"))), weight));
        }
    };
    flag(&format!("last{}bullet{}", s.last, s.bullet), true, 0.6);
    flag(&format!("long{}", (s.length / 4).min(9)), true, 0.5);
    flag(&format!("end{end}"), true, 0.5);
    flag(&format!("begin{begin}"), true, 0.4);
    flag(&format!("code{}", shape.code), true, 0.5);
    flag(&format!("near{}", shape.near), true, 0.4);
    flag(&format!("mark{mark}"), mark != ' ', 0.4);
    flag(&format!("machine{}", shape.machine), true, 0.4);
    flag(&format!("rule{ruled}"), true, 0.8);
    flag("asks", s.asks, 0.5);
    flag("first", s.first, 0.3);
    flag("alone", s.alone, 0.4);
    flag("begins", s.begins_line, 0.2);
    flag("headed", s.heading.is_some(), 0.3);
    flag("after", shape.after_machine, 0.4);
    flag("ahead", shape.before_machine, 0.4);
    flag("behind", shape.behind_terminal, 0.8);
    flag("announced", shape.may_be_announced || shape.announced, 0.5);
    flag("document", shape.document, 0.5);
    flag("setting", shape.setting, 0.6);
    flag("stamp", shape.stamp, 0.8);
    flag("quoted", s.quoted, 0.5);
    flag("colon", s.colon, 0.4);
}
