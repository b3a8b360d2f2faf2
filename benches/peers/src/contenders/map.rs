//! What one would write by hand: a concurrent map, foldhash, quanta's precise clock and a word a key.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::Mutex;

use super::{Contender, Setting};
use crate::key::Key;
use crate::limit::Gcra;

/// Nanoseconds since a beginning, read from the processor's counter.
struct Ticks {
    clock: quanta::Clock,
    origin: u64,
}

impl Ticks {
    /// Starts at zero.
    fn start() -> Self {
        let clock = quanta::Clock::new();
        let origin = clock.raw();
        Self { clock, origin }
    }

    /// Returns the present tick.
    #[inline]
    fn now(&self) -> u64 {
        self.clock.delta_as_nanos(self.origin, self.clock.raw())
    }
}

/// A dashmap of atomic words: a known key takes its shard's read lock and swaps the word.
pub(super) struct Sharded<K> {
    words: DashMap<K, AtomicU64, RandomState>,
    step: Gcra,
    ticks: Ticks,
}

impl<K: Key> Contender<K> for Sharded<K> {
    fn build(setting: &Setting) -> Self {
        Self { words: DashMap::default(), step: Gcra::new(setting.limit), ticks: Ticks::start() }
    }

    #[inline]
    fn check(&self, key: &K) -> bool {
        self.spend(key, 1)
    }

    #[inline]
    fn spend(&self, key: &K, cost: u32) -> bool {
        let now_ns = self.ticks.now();
        if let Some(word) = self.words.get(key) {
            return self.step.charge(&word, now_ns, cost);
        }
        let word = self.words.entry(key.clone()).or_default();
        self.step.charge(&word, now_ns, cost)
    }

    fn clean(&self) {
        let now_ns = self.ticks.now();
        // Relaxed: the shard's lock orders this with the checks.
        self.words.retain(|_, word| word.load(Ordering::Relaxed) > now_ns);
    }

    fn held(&self) -> Option<u64> {
        u64::try_from(self.words.len()).ok()
    }
}

/// The standard map behind a mutex, sixty-four times.
pub(super) struct Locked<K> {
    shards: Box<[Shard<K>]>,
    hasher: RandomState,
    step: Gcra,
    ticks: Ticks,
}

/// One lock and the words behind it, on lines of their own.
type Shard<K> = CachePadded<Mutex<HashMap<K, u64, RandomState>>>;

/// How many bits of a hash choose the shard.
const SHARD_BITS: u32 = 6;

impl<K: Key> Contender<K> for Locked<K> {
    fn build(setting: &Setting) -> Self {
        let hasher = RandomState::default();
        let shard = |_| Shard::new(Mutex::new(HashMap::with_hasher(hasher.clone())));
        let shards = (0..1_u32 << SHARD_BITS).map(shard).collect();
        Self { shards, hasher, step: Gcra::new(setting.limit), ticks: Ticks::start() }
    }

    #[inline]
    fn check(&self, key: &K) -> bool {
        self.spend(key, 1)
    }

    #[inline]
    fn spend(&self, key: &K, cost: u32) -> bool {
        let now_ns = self.ticks.now();
        // The map takes its bucket from the low bits and its tag from the top seven: the shard takes those in between.
        let hash = self.hasher.hash_one(key) << 7 >> (64 - SHARD_BITS);
        let mut words = self.shards[usize::try_from(hash).expect("six bits fit")].lock();
        if let Some(word) = words.get_mut(key) {
            return self.step.step(*word, now_ns, cost).map(|next| *word = next).is_some();
        }
        let next = self.step.step(0, now_ns, cost);
        words.insert(key.clone(), next.unwrap_or(0));
        next.is_some()
    }

    fn clean(&self) {
        let now_ns = self.ticks.now();
        for shard in &self.shards {
            shard.lock().retain(|_, word| *word > now_ns);
        }
    }

    fn held(&self) -> Option<u64> {
        Some(self.shards.iter().map(|shard| u64::try_from(shard.lock().len()).expect("64 bits fit")).sum())
    }
}
