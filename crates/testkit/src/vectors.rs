//! Text vectors without a model: the same words give the same direction.

use crate::Rng;

/// Returns a vector of length 1 as a sum of one direction per word, so that texts are nearer the more words they share;
/// all zeros for a text without a letter. Each `seed` acts as another model.
pub fn word_vector(seed: u64, dimensions: usize, text: &str) -> Vec<f32> {
    let mut sum = vec![0f32; dimensions];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        let word = word.to_lowercase();
        let of_word = word.bytes().fold(seed, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
        let mut rng = Rng::new(of_word);
        for chunk in sum.chunks_mut(64) {
            let bits = rng.next_u64();
            for (i, x) in chunk.iter_mut().enumerate() {
                *x += if bits >> i & 1 == 1 { 1.0 } else { -1.0 };
            }
        }
    }
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|x| *x /= length);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: &str, b: &str) -> f32 {
        let (a, b) = (word_vector(1, 256, a), word_vector(1, 256, b));
        a.iter().zip(&b).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn texts_are_near_as_they_share_words() {
        assert!((near("the green heron", "The green HERON!") - 1.0).abs() < 1e-5);
        assert!(near("the green heron", "a green heron") > near("the green heron", "a brown bear") + 0.3);
        assert!(word_vector(1, 64, " -- ").iter().all(|x| *x == 0.0));
        assert_ne!(word_vector(1, 64, "heron"), word_vector(2, 64, "heron"));
    }
}
