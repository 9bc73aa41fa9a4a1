//! Trains the filter: a multinomial logistic regression over the engine's own features.

use std::collections::BTreeSet;

use heirloom_engine::statement::filter::{BUCKETS, choose};
use heirloom_engine::statement::{Label, Trust};

use super::{Example, Taken};

const LABELS: usize = Label::ALL.len();
const ROUNDS: usize = 30;
/// Factor by which weights are drawn towards zero in each step.
const DECAY: f32 = 3e-5;
/// Precision a label must reach on held-out authors to count as sure; `FEWEST` is the minimum number of examples.
const PRECISION: f64 = 0.85;
const FEWEST: usize = 20;

/// Weights by bucket, and the bias of each label.
struct Model {
    weights: Vec<[f32; LABELS]>,
    bias: [f32; LABELS],
}

/// Returns the label of each example by a filter that has not seen its author. The thresholds for "sure" come from
/// other authors, too.
pub fn held_out(examples: &[Example], folds: usize) -> Vec<Taken> {
    let part = parts(examples, folds);
    let mut guesses: Vec<Option<(Label, f32)>> = vec![None; examples.len()];
    for fold in 0..folds {
        let model = Model::learn(examples.iter().zip(&part).filter(|(_, p)| **p != fold).map(|(e, _)| e));
        for (n, e) in examples.iter().enumerate().filter(|(n, _)| part[*n] == fold) {
            guesses[n] = model.guess(e);
        }
    }
    let sure: Vec<[f32; LABELS]> = (0..folds).map(|fold| thresholds(examples, &guesses, |n| part[n] != fold)).collect();
    let taken = |(n, e): (usize, &Example)| match (e.seen.as_ref().map(|s| s.ruled), guesses[n]) {
        (Some(Some((label, Trust::Sure))), _) => (label, true),
        (Some(Some((label, Trust::Likely))), _) => (label, false),
        (Some(_), Some((label, likely))) => (label, likely >= sure[part[n]][label as usize]),
        _ => (Label::Pasted, true),
    };
    examples.iter().enumerate().map(taken).collect()
}

/// Returns the weights learned from all examples, in the form the engine reads. The thresholds for "sure" come from
/// held-out authors.
pub fn weights(examples: &[Example], folds: usize) -> Vec<u8> {
    let part = parts(examples, folds);
    let mut guesses: Vec<Option<(Label, f32)>> = vec![None; examples.len()];
    for fold in 0..folds {
        let model = Model::learn(examples.iter().zip(&part).filter(|(_, p)| **p != fold).map(|(e, _)| e));
        for (n, e) in examples.iter().enumerate().filter(|(n, _)| part[*n] == fold) {
            guesses[n] = model.guess(e);
        }
    }
    let sure = thresholds(examples, &guesses, |_| true);
    let model = Model::learn(examples.iter());
    let largest = |label: usize| model.weights.iter().map(|row| row[label].abs()).fold(f32::MIN_POSITIVE, f32::max);
    let steps: Vec<f32> = (0..LABELS).map(|label| largest(label) / 127.0).collect();
    let mut bytes = Vec::new();
    for label in 0..LABELS {
        for number in [steps[label], model.bias[label], sure[label]] {
            bytes.extend(number.to_le_bytes());
        }
    }
    for row in &model.weights {
        bytes.extend(row.iter().zip(&steps).map(|(w, step)| ((w / step).round() as i8).cast_unsigned()));
    }
    bytes
}

/// Returns the part of each example's author: the largest authors first, each into the smallest part.
fn parts(examples: &[Example], folds: usize) -> Vec<usize> {
    let names: BTreeSet<&str> = examples.iter().map(|e| e.author.as_str()).collect();
    let size = |name: &str| examples.iter().filter(|e| e.author == name).count();
    let mut sized: Vec<(usize, &str)> = names.into_iter().map(|name| (size(name), name)).collect();
    sized.sort_by(|a, b| b.cmp(a));
    let mut filled = vec![0; folds.max(2)];
    let mut of = std::collections::HashMap::new();
    for (size, name) in sized {
        let least = (0..filled.len()).min_by_key(|n| filled[*n]).unwrap_or(0);
        filled[least] += size;
        of.insert(name, least);
    }
    examples.iter().map(|e| of[e.author.as_str()]).collect()
}

/// Returns for each label the lowest probability above which it is right often enough, among examples without a sure
/// rule.
fn thresholds(examples: &[Example], guesses: &[Option<(Label, f32)>], counts: impl Fn(usize) -> bool) -> [f32; LABELS] {
    let mut sure = [2.0; LABELS];
    for label in Label::ALL {
        let ruled =
            |e: &Example| e.seen.as_ref().is_some_and(|s| s.ruled.is_some_and(|(_, trust)| trust != Trust::Hint));
        let mut made: Vec<(f32, bool)> = examples
            .iter()
            .zip(guesses)
            .enumerate()
            .filter(|(n, (e, _))| counts(*n) && !ruled(e))
            .filter_map(|(_, (e, guess))| {
                guess.filter(|(l, _)| *l == label).map(|(_, p)| (p, e.label == label || e.second == Some(label)))
            })
            .collect();
        made.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut right = 0;
        for (n, (likely, hit)) in made.iter().enumerate() {
            right += usize::from(*hit);
            if n + 1 >= FEWEST && right as f64 >= PRECISION * (n + 1) as f64 {
                sure[label as usize] = *likely;
            }
        }
    }
    sure
}

impl Model {
    fn learn<'e>(examples: impl Iterator<Item = &'e Example>) -> Model {
        let examples: Vec<(&Vec<(u32, f32)>, &Example)> =
            examples.filter_map(|e| e.seen.as_ref().map(|s| (&s.features, e))).collect();
        let mut model = Model { weights: vec![[0.0; LABELS]; BUCKETS], bias: [0.0; LABELS] };
        let (mut squares, mut bias_squares) = (vec![[1e-4f32; LABELS]; BUCKETS], [1e-2f32; LABELS]);
        // Rare labels weigh more, but less than full balance would give them.
        let mut often = [0usize; LABELS];
        examples.iter().for_each(|(_, e)| often[e.label as usize] += 1);
        let weigh = |label: Label| {
            (examples.len() as f32 / (LABELS * often[label as usize].max(1)) as f32).powf(BALANCE).min(6.0)
        };
        let mut state = 0x2545_f491_4f6c_dd1du64;
        let mut order: Vec<usize> = (0..examples.len()).collect();
        for _ in 0..ROUNDS {
            for at in (1..order.len()).rev() {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                order.swap(at, (state % (at as u64 + 1)) as usize);
            }
            for &n in &order {
                let (features, e) = examples[n];
                let mut scores = model.scores(features);
                let top = scores.iter().copied().fold(f32::MIN, f32::max);
                scores.iter_mut().for_each(|s| *s = (*s - top).exp());
                let whole: f32 = scores.iter().sum();
                let weight = weigh(e.label);
                for label in 0..LABELS {
                    let error = weight * (scores[label] / whole - f32::from(u8::from(label == e.label as usize)));
                    for (bucket, value) in features {
                        let (w, sq) =
                            (&mut model.weights[*bucket as usize][label], &mut squares[*bucket as usize][label]);
                        let slope = error * value + DECAY * *w;
                        *sq += slope * slope;
                        *w -= RATE * slope / sq.sqrt();
                    }
                    bias_squares[label] += error * error;
                    model.bias[label] -= RATE * error / bias_squares[label].sqrt();
                }
            }
        }
        model
    }

    fn scores(&self, features: &[(u32, f32)]) -> [f32; LABELS] {
        let mut scores = self.bias;
        for (bucket, value) in features {
            let row = &self.weights[*bucket as usize];
            scores.iter_mut().zip(row).for_each(|(score, w)| *score += w * value);
        }
        scores
    }

    fn guess(&self, e: &Example) -> Option<(Label, f32)> {
        let seen = e.seen.as_ref()?;
        let ruled = seen.ruled.map(|(label, _)| label);
        let (label, likely, _) = choose(&self.scores(&seen.features), e.speaker, ruled);
        Some((Label::ALL[label], likely))
    }
}

/// Learning rate.
const RATE: f32 = 0.1;
/// Degree of balancing labels: 0 not at all, 1 fully.
const BALANCE: f32 = 0.3;
