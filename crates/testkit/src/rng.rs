//! A reproducible random number generator: the same seed gives the same numbers on every machine.

/// Marsaglia's xorshift64*: small, fast and good enough for tests. Not for secrets.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Makes a generator for a seed.
    pub fn new(seed: u64) -> Rng {
        // Zero would stay zero for ever; the multiplication keeps neighbouring seeds apart.
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        // The bias of the remainder is far below anything a test could notice.
        if end == 0 { 0 } else { (self.next_u64() >> 11) as usize % end }
    }

    /// Returns one of the items. Panics if there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| (self.next_u64() >> 56) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut rng = Rng::new(seed);
            (0..100).map(|_| rng.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!((0..10).all(|n| draw(0).contains(&n)), "every number comes up");
        assert_eq!(Rng::new(1).below(0), 0);
    }
}
