//! Numbers that look random and are the same each time.

/// A sequence by SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// Begins the sequence of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below a bound, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The high half of the product lies below the bound.
        ((u128::from(mixed) * u128::from(bound)) >> 64) as u64
    }
}
