//! Vectors as they are stored and compared: one bit for each dimension to find candidates, one byte to rank them.
//!
//! Plain loops the compiler vectorises. Measured on Zen 4, a million codes of 256 dimensions in memory: 2.5 ms for the
//! baseline instruction set, 1.0 ms with dispatch to AVX-512 at run time. Reading their pages and keys costs ten times
//! that, so the dispatch (and the unsafe code or the macro it needs) is not worth having. A whole search, on a machine
//! at load 24, CPU: 1.6 ms of 10,000, 6 ms of 100,000, 33 ms of a million, 5 ms of the newest 50,000 of a million.

/// A dimension of a unit vector is stored as this many times its value, cut off at ±127 (STACK: recall .97 at a
/// million).
const SCALE: f32 = 400.0;

/// The same factor for the query's vector, which need not be small.
const FINE: f32 = 8000.0;

/// Bytes of a code.
pub(super) fn code_bytes(dimensions: usize) -> usize {
    dimensions.div_ceil(8)
}

/// Encodes a vector: a byte for each dimension, then a bit for each. `None` if all bytes are zero: such a vector is
/// similar to nothing and never found.
pub(super) fn encode(vector: &[f32]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(vector.len() + code_bytes(vector.len()));
    out.extend(vector.iter().map(|x| (x * SCALE).round().clamp(-127.0, 127.0) as i8 as u8));
    if out.iter().all(|b| *b == 0) {
        return None;
    }
    code(vector, &mut out);
    Some(out)
}

fn code(vector: &[f32], out: &mut Vec<u8>) {
    out.extend(
        vector
            .chunks(8)
            .map(|eight| eight.iter().enumerate().fold(0u8, |byte, (i, x)| byte | (u8::from(*x > 0.0) << i))),
    );
}

/// The query's vector in the form in which it is compared.
pub(super) struct Probe {
    code: Vec<u64>,
    fine: Vec<i16>,
    length: f32,
}

impl Probe {
    /// Prepares a vector; `None` if it is similar to nothing.
    pub fn new(vector: &[f32]) -> Option<Probe> {
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if !length.is_normal() {
            return None;
        }
        let fine: Vec<i16> = vector.iter().map(|x| (x / length * FINE).round() as i16).collect();
        let mut bytes = Vec::new();
        code(vector, &mut bytes);
        let length = fine.iter().map(|x| f32::from(*x) * f32::from(*x)).sum::<f32>().sqrt();
        Some(Probe { code: words(&bytes).collect(), fine, length })
    }

    pub fn dimensions(&self) -> usize {
        self.fine.len()
    }

    /// Computes the number of dimensions whose sign differs, for each of the codes.
    pub fn distances(&self, codes: &[u8], out: &mut Vec<u16>) {
        out.clear();
        // With a fixed length, the compiler vectorises across codes.
        match self.code.as_slice() {
            [a, b, c, d] => fixed(&[*a, *b, *c, *d], codes, out),
            code if code.len() == 16 => match code.try_into() {
                Ok(code) => fixed::<16>(code, codes, out),
                Err(_) => any(code, codes, out),
            },
            code => any(code, codes, out),
        }
    }

    /// Returns the cosine to a stored vector.
    pub fn similarity(&self, row: &[u8]) -> f32 {
        let (mut dot, mut square) = (0i32, 0i32);
        for (q, b) in self.fine.iter().zip(row) {
            let x = i32::from(*b as i8);
            dot += i32::from(*q) * x;
            square += x * x;
        }
        if square == 0 { 0.0 } else { dot as f32 / (self.length * (square as f32).sqrt()) }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    })
}

fn fixed<const WORDS: usize>(query: &[u64; WORDS], codes: &[u8], out: &mut Vec<u16>) {
    out.extend(codes.chunks_exact(WORDS * 8).map(|code| {
        let mut differ = 0;
        for (q, chunk) in query.iter().zip(code.chunks_exact(8)) {
            let mut word = [0u8; 8];
            word.copy_from_slice(chunk);
            differ += (q ^ u64::from_le_bytes(word)).count_ones();
        }
        differ as u16
    }));
}

fn any(query: &[u64], codes: &[u8], out: &mut Vec<u16>) {
    out.extend(
        codes
            .chunks_exact(query.len() * 8)
            .map(|code| query.iter().zip(words(code)).map(|(q, w)| (q ^ w).count_ones()).sum::<u32>() as u16),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(seed: u64, dimensions: usize) -> Vec<f32> {
        let mut rng = heirloom_testkit::Rng::new(seed);
        let raw: Vec<f32> = (0..dimensions).map(|_| rng.below(2001) as f32 - 1000.0).collect();
        let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        raw.iter().map(|x| x / length).collect()
    }

    #[test]
    fn a_stored_vector_keeps_its_angles() {
        for dimensions in [64, 256, 384, 1024] {
            for seed in 0..40 {
                let (a, b) = (unit(seed, dimensions), unit(seed + 1000, dimensions));
                let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
                let stored = encode(&b).unwrap();
                let probe = Probe::new(&a).unwrap();
                assert!((probe.similarity(&stored[..dimensions]) - exact).abs() < 0.02, "{dimensions} {seed}");
                let own = encode(&a).unwrap();
                assert!(probe.similarity(&own[..dimensions]) > 0.995);
                let mut distances = Vec::new();
                let codes = [&stored[dimensions..], &own[dimensions..]].concat();
                probe.distances(&codes, &mut distances);
                let differ = a.iter().zip(&b).filter(|(x, y)| (**x > 0.0) != (**y > 0.0)).count();
                assert_eq!(distances, [differ as u16, 0]);
            }
        }
    }

    #[test]
    fn what_is_near_to_nothing_is_not_stored_and_not_looked_for() {
        assert_eq!(encode(&[0.0; 64]), None);
        assert_eq!(encode(&[f32::NAN; 64]), None);
        assert!(Probe::new(&[0.0; 64]).is_none());
        assert!(Probe::new(&[f32::NAN; 64]).is_none());
        // A vector with all its length in one dimension is cut off there; its direction stays.
        let mut sharp = vec![0.0; 64];
        sharp[7] = 1.0;
        let stored = encode(&sharp).unwrap();
        assert!((Probe::new(&sharp).unwrap().similarity(&stored[..64]) - 1.0).abs() < 1e-3);
    }
}
