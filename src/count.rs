//! Striped counters: each thread counts on a cache line of its own.

use std::sync::OnceLock;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// The counts of one thread; only that thread writes them.
#[derive(Debug)]
struct Stripe {
    allowed: AtomicU64,
    denied: AtomicU64,
}

/// Counters of what was allowed and denied, with a stripe for each thread.
///
/// Stripes stand in blocks of 8, 16, 32 ... that are made when their first thread comes.
#[derive(Debug)]
pub(crate) struct Counts {
    blocks: [OnceLock<Box<[CachePadded<Stripe>]>>; Self::BLOCKS],
}

impl Counts {
    /// Enough for 2^27 threads at a time.
    const BLOCKS: usize = 24;
    /// The stripes of the first block.
    const FIRST: usize = 8;

    /// Makes counters that stand at zero.
    pub(crate) fn new() -> Self {
        Self { blocks: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// Counts one decision made by the thread with this index, which no other living thread has.
    #[inline]
    pub(crate) fn add(&self, thread_index: usize, allowed: bool) {
        let number = thread_index + Self::FIRST;
        let block = (number / Self::FIRST).ilog2() as usize % Self::BLOCKS;
        let stripes = match self.blocks[block].get() {
            Some(stripes) => stripes,
            None => self.make(block),
        };
        let stripe = &stripes[(number - (Self::FIRST << block)) % stripes.len()];
        let counter = if allowed { &stripe.allowed } else { &stripe.denied };
        // Relaxed, and no read-modify-write: the stripe's thread is the only writer. A thread that inherits the stripe
        // got its index through an Acquire that pairs with the Release of the one before.
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Makes a block.
    #[cold]
    fn make(&self, block: usize) -> &[CachePadded<Stripe>] {
        let stripe = || CachePadded::new(Stripe { allowed: AtomicU64::new(0), denied: AtomicU64::new(0) });
        self.blocks[block].get_or_init(|| (0..Self::FIRST << block).map(|_| stripe()).collect())
    }

    /// Returns how many decisions allowed and how many denied.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let stripes = self.blocks.iter().filter_map(OnceLock::get).flatten();
        stripes.fold((0, 0), |(allowed, denied), stripe| {
            // Relaxed: a statistic; exact once the threads that counted were joined.
            let (more, fewer) = (stripe.allowed.load(Ordering::Relaxed), stripe.denied.load(Ordering::Relaxed));
            (allowed + more, denied + fewer)
        })
    }

    /// Returns the bytes of the blocks.
    pub(crate) fn bytes(&self) -> usize {
        let blocks = self.blocks.iter().filter_map(OnceLock::get);
        blocks.map(|stripes| stripes.len() * size_of::<CachePadded<Stripe>>()).sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_a_stripe_of_its_own() {
        let counts = Counts::new();
        for index in 0..1000 {
            counts.add(index, index % 3 == 0);
        }
        assert_eq!(counts.totals(), (334, 666));
        let used = counts.blocks.iter().filter_map(OnceLock::get).flatten();
        let lone = used.filter(|stripe| {
            // Relaxed: one thread.
            stripe.allowed.load(Ordering::Relaxed) + stripe.denied.load(Ordering::Relaxed) == 1
        });
        assert_eq!(lone.count(), 1000);
    }
}
