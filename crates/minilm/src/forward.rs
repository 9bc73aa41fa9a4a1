//! BERT's encoder for one text.

use heirloom_engine::error::Result;

use super::Config;
use super::weights::Weights;

/// Number of outputs, and of a text's pieces, that are computed side by side: so many sums stay in registers.
const PANEL: usize = 8;
const ROWS: usize = 4;

pub(super) struct Encoder {
    /// Numbers of a piece's vector.
    pub(super) width: usize,
    /// Pieces a text can have.
    pub(super) positions: usize,
    heads: usize,
    pieces: Vec<f32>,
    places: Vec<f32>,
    first: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    mixed: Linear,
    mixed_norm: Norm,
    wide: Linear,
    narrow: Linear,
    narrow_norm: Norm,
}

/// Computes `x · Wᵀ + b`. The weights are stored in panels of eight outputs, so that they are read from first to last.
struct Linear {
    inputs: usize,
    outputs: usize,
    panels: Vec<f32>,
    bias: Vec<f32>,
}

struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl Encoder {
    pub(super) fn read(config: &Config, vocabulary: usize, weights: &Weights) -> Result<Encoder> {
        let (width, positions) = (config.hidden_size, config.max_position_embeddings);
        let linear = |name: String, inputs, outputs| Linear::read(weights, &name, inputs, outputs);
        let norm = |name: String| -> Result<Norm> {
            Ok(Norm {
                scale: weights.get(&format!("{name}.weight"), &[width])?,
                shift: weights.get(&format!("{name}.bias"), &[width])?,
                epsilon: config.layer_norm_eps,
            })
        };
        let layer = |n: usize| -> Result<Layer> {
            let at = format!("encoder.layer.{n}");
            let (attention, wide) = (format!("{at}.attention"), config.intermediate_size);
            Ok(Layer {
                query: linear(format!("{attention}.self.query"), width, width)?,
                key: linear(format!("{attention}.self.key"), width, width)?,
                value: linear(format!("{attention}.self.value"), width, width)?,
                mixed: linear(format!("{attention}.output.dense"), width, width)?,
                mixed_norm: norm(format!("{attention}.output.LayerNorm"))?,
                wide: linear(format!("{at}.intermediate.dense"), width, wide)?,
                narrow: linear(format!("{at}.output.dense"), wide, width)?,
                narrow_norm: norm(format!("{at}.output.LayerNorm"))?,
            })
        };
        let mut places = weights.get("embeddings.position_embeddings.weight", &[positions, width])?;
        // BERT adds a vector for the first or second of two texts; here every piece belongs to the first.
        let kind = weights.get("embeddings.token_type_embeddings.weight", &[2, width])?;
        for place in places.chunks_exact_mut(width) {
            add(place, &kind[..width]);
        }
        Ok(Encoder {
            width,
            positions,
            heads: config.num_attention_heads,
            pieces: weights.get("embeddings.word_embeddings.weight", &[vocabulary, width])?,
            places,
            first: norm("embeddings.LayerNorm".into())?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_>>()?,
        })
    }

    /// Returns the mean of the last layer over all pieces.
    pub(super) fn mean(&self, pieces: &[u32]) -> Vec<f32> {
        let width = self.width;
        let mut x: Vec<f32> = Vec::with_capacity(pieces.len() * width);
        for (n, &piece) in pieces.iter().enumerate() {
            x.extend_from_slice(&self.pieces[piece as usize * width..][..width]);
            add(&mut x[n * width..], &self.places[n * width..][..width]);
        }
        self.first.apply(&mut x);
        for layer in &self.layers {
            let mixed = self.attention(layer, &x);
            add(&mut x, &layer.mixed.apply(&mixed));
            layer.mixed_norm.apply(&mut x);
            let mut wide = layer.wide.apply(&x);
            wide.iter_mut().for_each(|x| *x = gelu(*x));
            add(&mut x, &layer.narrow.apply(&wide));
            layer.narrow_norm.apply(&mut x);
        }
        let mut mean = vec![0.0; width];
        for row in x.chunks_exact(width) {
            add(&mut mean, row);
        }
        mean.iter_mut().for_each(|x| *x /= pieces.len() as f32);
        mean
    }

    fn attention(&self, layer: &Layer, x: &[f32]) -> Vec<f32> {
        let (query, key, value) = (layer.query.apply(x), layer.key.apply(x), layer.value.apply(x));
        let (width, count) = (self.width, x.len() / self.width);
        let part = width / self.heads;
        let scale = 1.0 / (part as f32).sqrt();
        let mut out = vec![0.0; x.len()];
        let mut turned = vec![0.0; part * count];
        let mut shares = vec![0.0f32; count];
        for head in (0..width).step_by(part) {
            for (n, row) in key.chunks_exact(width).enumerate() {
                (0..part).for_each(|k| turned[k * count + n] = row[head + k]);
            }
            for (row, out) in query.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
                shares.fill(0.0);
                for (q, keys) in row[head..head + part].iter().zip(turned.chunks_exact(count)) {
                    add_times(&mut shares, keys, q * scale);
                }
                let most = shares.iter().copied().fold(f32::MIN, f32::max);
                shares.iter_mut().for_each(|s| *s = exp(*s - most));
                let total: f32 = shares.iter().sum();
                for (share, row) in shares.iter().zip(value.chunks_exact(width)) {
                    add_times(&mut out[head..head + part], &row[head..head + part], share / total);
                }
            }
        }
        out
    }
}

impl Linear {
    fn read(weights: &Weights, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        let rows = weights.get(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = weights.get(&format!("{name}.bias"), &[outputs])?;
        let mut panels = vec![0.0; outputs.div_ceil(PANEL) * PANEL * inputs];
        for (output, row) in rows.chunks_exact(inputs).enumerate() {
            let panel = &mut panels[output / PANEL * PANEL * inputs..];
            row.iter().enumerate().for_each(|(k, &w)| panel[k * PANEL + output % PANEL] = w);
        }
        Ok(Linear { inputs, outputs, panels, bias })
    }

    fn apply(&self, x: &[f32]) -> Vec<f32> {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let count = x.len() / inputs;
        let mut out = vec![0.0; count * outputs];
        // The last rows may be computed twice: fewer than four at a time are not worth another loop.
        let starts = (0..count).step_by(ROWS).map(|n| n.min(count.saturating_sub(ROWS)));
        for start in starts {
            let rows: [&[f32]; ROWS] = std::array::from_fn(|n| &x[(start + n).min(count - 1) * inputs..][..inputs]);
            for (n, panel) in self.panels.chunks_exact(PANEL * inputs).enumerate() {
                let sums = panel_sums(rows, panel);
                let taken = PANEL.min(outputs - n * PANEL);
                for (row, sums) in sums.iter().enumerate().take(count.min(ROWS)) {
                    let to = &mut out[(start + row) * outputs + n * PANEL..][..taken];
                    for ((to, sum), bias) in to.iter_mut().zip(sums).zip(&self.bias[n * PANEL..]) {
                        *to = sum + bias;
                    }
                }
            }
        }
        out
    }
}

fn panel_sums(rows: [&[f32]; ROWS], panel: &[f32]) -> [[f32; PANEL]; ROWS] {
    let mut sums = [[0.0f32; PANEL]; ROWS];
    let [a, b, c, d] = rows;
    for ((((a, b), c), d), weights) in a.iter().zip(b).zip(c).zip(d).zip(panel.as_chunks::<PANEL>().0) {
        for k in 0..PANEL {
            sums[0][k] += a * weights[k];
            sums[1][k] += b * weights[k];
            sums[2][k] += c * weights[k];
            sums[3][k] += d * weights[k];
        }
    }
    sums
}

impl Norm {
    fn apply(&self, x: &mut [f32]) {
        let width = self.scale.len();
        for row in x.chunks_exact_mut(width) {
            let mean = row.iter().sum::<f32>() / width as f32;
            let spread = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / width as f32;
            let by = 1.0 / (spread + self.epsilon).sqrt();
            for ((x, scale), shift) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
                *x = (*x - mean) * by * scale + shift;
            }
        }
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

fn add_times(to: &mut [f32], from: &[f32], times: f32) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from * times);
}

/// Returns x · Φ(x), with the error function of Abramowitz and Stegun 7.1.26: wrong by less than 2e-7.
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let sum = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    let tail = 0.5 * sum * exp(-z * z);
    x * if x > 0.0 { 1.0 - tail } else { tail }
}

/// Returns eˣ for x up to 88, right to the last digit or two. The standard library's function is not used: it is the
/// operating system's, and differs between systems.
fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(-87.0);
    // Adding and subtracting 1.5 · 2²³ rounds to a whole number.
    let n = (x * std::f32::consts::LOG2_E + ROUND) - ROUND;
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = ((((series * r + 1.0 / 120.0) * r + 1.0 / 24.0) * r + 1.0 / 6.0) * r + 0.5) * r;
    let power = f32::from_bits(((n as i32 + 127) as u32) << 23);
    (series * r + r + 1.0) * power
}

#[cfg(test)]
mod tests {
    use super::{exp, gelu};

    #[test]
    fn exp_is_the_exponential() {
        for n in -870..=800 {
            let x = n as f32 / 10.0;
            let wrong = (exp(x) / f64::from(x).exp() as f32 - 1.0).abs();
            assert!(wrong < 1e-6, "{x} {wrong}");
        }
        assert!(exp(-1e30) < 1e-37);
    }

    #[test]
    fn gelu_is_x_times_the_normal_distribution() {
        // The expected values are from a table of Φ.
        for (x, wanted) in [(0.0, 0.0), (1.0, 0.841_344_8), (-1.0, -0.158_655_25), (2.5, 2.484_475_8), (-9.0, 0.0)] {
            assert!((gelu(x) - wanted).abs() < 1e-6, "{x} {}", gelu(x));
        }
    }
}
