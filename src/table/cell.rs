//! A cell: the word of one key that never moves.

use crate::algorithm::Ask;
use crate::clock::Tick;
use crate::decision::Decision;
use crate::table::reclaim::{Guard, Heap};
use crate::table::resident::{Answer, Resident};
use crate::table::versions::Versions;

/// The word of one key, alone on its cache line, with its algorithm.
#[derive(Debug)]
pub(crate) struct Cell<A: Resident> {
    versions: Versions<A>,
    /// Dropped last: it frees what the word named.
    heap: Heap,
}

impl<A: Resident> Cell<A> {
    /// Makes the word of a key never seen.
    pub(crate) fn new(algorithm: A) -> Self {
        Self { versions: Versions::new(algorithm), heap: Heap::new() }
    }

    /// Does what is asked.
    #[inline(always)]
    pub(crate) fn apply<'g>(&'g self, guard: &'g Guard, now: Tick, ask: Ask) -> Answer<'g, A> {
        self.versions.apply(guard, &self.heap, self.versions.current(), now, ask)
    }

    /// Decides about one check.
    #[inline(always)]
    pub(crate) fn check(&self, guard: &Guard, now: Tick, cost: u64) -> Decision {
        self.apply(guard, now, Ask::Spend(cost)).decision()
    }

    /// Counts by another algorithm from now on, and keeps what was spent. No two threads do this at a time, and this one
    /// has no guard.
    pub(crate) fn change(&self, algorithm: A, now: Tick) {
        self.versions.change(algorithm, &self.heap, now);
        self.versions.let_go(&self.heap);
        self.heap.collect();
    }

    /// Tells whether nothing was ever charged.
    #[inline(always)]
    pub(crate) fn is_unused(&self) -> bool {
        self.versions.is_unused()
    }

    /// Returns the algorithm.
    #[inline(always)]
    pub(crate) fn algorithm<'g>(&'g self, guard: &'g Guard) -> &'g A {
        self.versions.algorithm(guard, self.versions.current())
    }

    /// Returns the bytes allocated for what the word names.
    pub(crate) fn bytes(&self) -> usize {
        self.heap.bytes()
    }
}

impl<A: Resident> Drop for Cell<A> {
    fn drop(&mut self) {
        self.versions.release(&self.heap);
    }
}
