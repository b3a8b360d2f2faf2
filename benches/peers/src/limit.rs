//! How much may pass, and the step that the maps and the floor run on their words.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A limit that every contender can express: one more each `interval`, at most `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The time in which one unit comes back.
    pub(crate) interval: Duration,
    /// The most that passes at once.
    pub(crate) burst: u32,
}

impl Limit {
    /// Lets every check of every workload pass.
    pub(crate) const GENEROUS: Self = Self { interval: Duration::from_micros(1), burst: 4_000_000_000 };
    /// Lets one check pass, and denies the others for an hour.
    pub(crate) const SPENT: Self = Self { interval: Duration::from_secs(3600), burst: 1 };
    /// Keeps a key alive for a minute after its first check.
    pub(crate) const LASTING: Self = Self { interval: Duration::from_secs(60), burst: 60 };
    /// Lets a key become idle 10 ms after its first check.
    pub(crate) const FLEETING: Self = Self { interval: Duration::from_millis(10), burst: 1 };

    /// Returns the interval in nanoseconds.
    pub(crate) fn interval_ns(&self) -> u64 {
        u64::try_from(self.interval.as_nanos()).expect("intervals are short")
    }
}

/// The generic cell rate algorithm on a word that holds the theoretical arrival time in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gcra {
    interval_ns: u64,
    tolerance_ns: u64,
}

impl Gcra {
    /// Makes the step of a limit.
    pub(crate) fn new(limit: Limit) -> Self {
        let interval_ns = limit.interval_ns();
        Self { interval_ns, tolerance_ns: interval_ns * u64::from(limit.burst) }
    }

    /// Returns the next word if `cost` passes at `now_ns`.
    #[inline]
    pub(crate) fn step(&self, word: u64, now_ns: u64, cost: u32) -> Option<u64> {
        let next = word.max(now_ns) + self.interval_ns * u64::from(cost);
        (next - now_ns <= self.tolerance_ns).then_some(next)
    }

    /// Spends `cost` on a shared word and tells whether it passed.
    #[inline]
    pub(crate) fn charge(&self, word: &AtomicU64, now_ns: u64, cost: u32) -> bool {
        // Relaxed: the word is the whole state; no other memory is published through it.
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            let Some(next) = self.step(seen, now_ns, cost) else { return false };
            // Relaxed: as above. A lost race costs one more turn with the winner's word.
            match word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(winner) => seen = winner,
            }
        }
    }
}
