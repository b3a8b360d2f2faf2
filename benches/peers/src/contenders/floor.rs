//! What no limiter can beat: the bare step on a bare word, with the time given and the word's place known.

use std::sync::atomic::AtomicU64;

use super::{Contender, Setting};
use crate::key::Key;
use crate::limit::Gcra;

/// A plain array of words with the key for an index: no clock, no hash, no probing, no growth.
pub(super) struct Floor {
    words: Box<[AtomicU64]>,
    step: Gcra,
}

impl Floor {
    /// The time that is given.
    const NOW_NS: u64 = 1;
    /// The fewest words, so that a single one has its cache line for itself.
    const FEWEST: u32 = 16;
}

impl<K: Key> Contender<K> for Floor {
    fn build(setting: &Setting) -> Self {
        let words = (0..setting.keys.max(Self::FEWEST)).map(|_| AtomicU64::new(0)).collect();
        Self { words, step: Gcra::new(setting.limit) }
    }

    #[inline]
    fn check(&self, key: &K) -> bool {
        self.spend(key, 1)
    }

    #[inline]
    fn spend(&self, key: &K, cost: u32) -> bool {
        let number = key.number().expect("the floor runs with integer keys alone");
        let place = usize::try_from(number).expect("64 bits fit");
        self.step.charge(&self.words[place], Self::NOW_NS, cost)
    }

    fn held(&self) -> Option<u64> {
        u64::try_from(self.words.len()).ok()
    }
}
