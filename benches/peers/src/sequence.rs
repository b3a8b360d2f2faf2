//! Which key each check asks for: drawn before the clock runs, the same for all contenders.

/// A small random generator (SplitMix64), so that every run draws the same.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Makes the generator of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let high = self.bits() >> 32;
        u32::try_from((high * u64::from(bound)) >> 32).expect("the product of a fraction stays below its bound")
    }

    /// Returns a fraction of one.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How keys are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Draw {
    /// Every key is as likely as any other.
    Uniform,
    /// The k-th most popular key has a share in proportion to 1 / k to this power.
    Zipf(f64),
    /// Every key once, in random order.
    Once,
}

impl Draw {
    /// Draws `length` numbers below `keys`; as many as there are keys if each comes once.
    pub(crate) fn numbers(self, keys: u32, length: usize) -> Vec<u32> {
        let mut random = Random::new(0x7011_6A7E);
        match self {
            Self::Uniform => (0..length).map(|_| random.below(keys)).collect(),
            Self::Once => permutation(keys, &mut random),
            Self::Zipf(exponent) => {
                let shares = cumulative_shares(keys, exponent);
                let all = shares.last().copied().unwrap_or(0.0);
                let ranked = permutation(keys, &mut random);
                let mut rank = || {
                    let drawn = random.fraction() * all;
                    shares.partition_point(|&share| share <= drawn).min(ranked.len() - 1)
                };
                (0..length).map(|_| ranked[rank()]).collect()
            }
        }
    }
}

/// Returns the numbers below `keys` in random order.
fn permutation(keys: u32, random: &mut Random) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..keys).collect();
    for last in (1..keys).rev() {
        let other = random.below(last + 1);
        numbers.swap(index(last), index(other));
    }
    numbers
}

/// Returns, for each rank, the weight of all ranks up to it.
fn cumulative_shares(keys: u32, exponent: f64) -> Vec<f64> {
    let mut all = 0.0;
    (1..=keys)
        .map(|rank| {
            all += f64::from(rank).powf(-exponent);
            all
        })
        .collect()
}

/// Returns a number as an index.
fn index(number: u32) -> usize {
    usize::try_from(number).expect("32 bits fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_comes_once() {
        let mut numbers = Draw::Once.numbers(1_000, 0);
        assert_ne!(numbers, (0..1_000).collect::<Vec<_>>());
        numbers.sort_unstable();
        assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn uniform_keys_are_alike() {
        let numbers = Draw::Uniform.numbers(10, 100_000);
        for key in 0..10 {
            let times = numbers.iter().filter(|&&number| number == key).count();
            assert!((9_000..11_000).contains(&times), "{key}: {times}");
        }
    }

    #[test]
    fn the_most_popular_key_has_its_share() {
        let numbers = Draw::Zipf(1.0).numbers(1_000, 100_000);
        let mut times = vec![0_u32; 1_000];
        for number in numbers {
            times[index(number)] += 1;
        }
        times.sort_unstable();
        // The sum of 1 / k up to 1,000 is 7.485.
        assert!((12_500..14_200).contains(&times[999]), "{}", times[999]);
        assert!((6_000..7_400).contains(&times[998]), "{}", times[998]);
    }
}
