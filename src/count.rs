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

impl Stripe {
    /// Adds to a counter of the calling thread's own stripe.
    #[inline(always)]
    fn add(counter: &AtomicU64, more: u64) {
        // Relaxed, and no read-modify-write: the stripe's thread is the only writer. A thread that inherits the stripe
        // got its index through an Acquire that pairs with the Release of the one before.
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }
}

/// Counters of what was allowed and denied, with a stripe for each thread.
///
/// The first threads' stripes stand here; those of the others in blocks of 16, 32, 64 ... that are made when their first
/// thread comes.
#[derive(Debug)]
pub(crate) struct Counts {
    first: [CachePadded<Stripe>; Self::FIRST],
    blocks: [OnceLock<Box<[CachePadded<Stripe>]>>; Self::BLOCKS],
}

impl Counts {
    /// The stripes that are always there.
    const FIRST: usize = 16;
    /// Enough for all threads that fit an address space.
    const BLOCKS: usize = 28;

    /// Makes counters that stand at zero.
    pub(crate) fn new() -> Self {
        Self { first: std::array::from_fn(|_| Self::stripe()), blocks: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// Makes a stripe that stands at zero.
    fn stripe() -> CachePadded<Stripe> {
        CachePadded::new(Stripe { allowed: AtomicU64::new(0), denied: AtomicU64::new(0) })
    }

    /// Counts one decision made by the thread with this index, which no other living thread has.
    #[inline(always)]
    pub(crate) fn add(&self, thread_index: usize, allowed: bool) {
        let stripe = self.first.get(thread_index).unwrap_or_else(|| self.later(thread_index));
        // Both are written, whatever the decision: an address that hangs on it would hold later loads up until it is
        // known.
        Stripe::add(&stripe.allowed, u64::from(allowed));
        Stripe::add(&stripe.denied, u64::from(!allowed));
    }

    /// Returns the stripe of a thread that is not among the first.
    #[inline(never)]
    fn later(&self, thread_index: usize) -> &CachePadded<Stripe> {
        let block = (thread_index / Self::FIRST).ilog2() as usize;
        let len = Self::FIRST << block;
        let stripes = self.blocks[block].get_or_init(|| (0..len).map(|_| Self::stripe()).collect());
        &stripes[thread_index - len]
    }

    /// Walks the stripes that exist.
    fn stripes(&self) -> impl Iterator<Item = &CachePadded<Stripe>> {
        self.first.iter().chain(self.blocks.iter().filter_map(OnceLock::get).flatten())
    }

    /// Returns how many decisions allowed and how many denied.
    pub(crate) fn totals(&self) -> (u64, u64) {
        self.stripes().fold((0, 0), |(allowed, denied), stripe| {
            // Relaxed: a statistic; exact once the threads that counted were joined.
            let (more, fewer) = (stripe.allowed.load(Ordering::Relaxed), stripe.denied.load(Ordering::Relaxed));
            (allowed + more, denied + fewer)
        })
    }

    /// Returns the bytes of the stripes that were made later.
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
        let lone = counts.stripes().filter(|stripe| {
            // Relaxed: one thread.
            stripe.allowed.load(Ordering::Relaxed) + stripe.denied.load(Ordering::Relaxed) == 1
        });
        assert_eq!(lone.count(), 1000);
    }
}
