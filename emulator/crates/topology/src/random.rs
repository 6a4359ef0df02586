//! Seeded choice without state: a counter-based generator, so that any thread can draw any flow's
//! numbers.

/// SplitMix64 (Steele, Lea, Flood 2014): a bijective mix of a 64-bit counter.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of draws that depends on nothing but its seed.
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// The stream of `seed`; two seeds' streams are unrelated.
    #[inline]
    pub fn new(seed: u64) -> Draws {
        Draws(mix(seed))
    }

    /// The stream of item `index` under `seed`.
    #[inline]
    pub fn of(seed: u64, index: u64) -> Draws {
        Draws(mix(seed ^ mix(index)))
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Skips `count` draws.
    #[inline]
    pub fn skip(&mut self, count: u32) {
        let step = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(count.into());
        self.0 = self.0.wrapping_add(step);
    }

    /// A random number in `0..bound`; `bound` must be at least 1. The bias is below `bound / 2^32`.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from((self.next_bits() >> 32) as u32) * u64::from(bound)) >> 32) as u32
    }

    /// A number in `0.0..1.0`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}
