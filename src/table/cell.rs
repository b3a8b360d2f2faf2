//! Charging a word, and a cell: the word of one key that never moves.

use crate::algorithm::{Ask, Step};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::sync::{AtomicU64, Ordering};
use crate::table::reclaim::{Guard, Heap};
use crate::table::resident::{Answer, Resident};
use crate::table::segment::FROZEN;
use crate::table::versions::Versions;

/// Steps on a word until the step holds; `None` if the word is frozen.
///
/// # Safety
///
/// The word is always charged with the same algorithm and heap.
#[inline(always)]
pub(super) unsafe fn charge<A: Resident>(
    algorithm: &A,
    heap: &Heap,
    _guard: &Guard,
    word: &AtomicU64,
    now: Tick,
    ask: Ask,
) -> Option<A::Verdict> {
    // Acquire: pairs with the Release of the exchange below: what the word names is visible.
    let mut seen = word.load(Ordering::Acquire);
    while seen & FROZEN == 0 {
        // SAFETY: the word was read under the guard, from a place of this owner.
        let (next, verdict) = match unsafe { algorithm.step(seen, now, ask, heap) } {
            Step::Keep(verdict) => return Some(verdict),
            Step::Set(next, verdict) => (next, Some(verdict)),
            Step::Swap(next) => (next, None),
        };
        // AcqRel: Release publishes what the new word names, Acquire and the Acquire on failure pair with it.
        match word.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // SAFETY: this thread's exchange took the old word out of its place.
                unsafe { release::<A>(seen, heap) };
                if verdict.is_some() {
                    return verdict;
                }
                seen = next;
            }
            Err(winner) => {
                // SAFETY: the new word never came to a place.
                unsafe { release::<A>(next, heap) };
                seen = winner;
            }
        }
    }
    None
}

/// Gives up the reference of a word that left its place, or never came to one.
///
/// # Safety
///
/// As for [`Resident::release`], but for a word of 0, of which nothing is asked.
#[inline(always)]
pub(super) unsafe fn release<A: Resident>(word: u64, heap: &Heap) {
    if A::OWNS_MEMORY && word != 0 {
        // SAFETY: the caller's promise is the same.
        unsafe { A::release(word, heap) };
    }
}

/// Puts a word into a place of a newer version, with a reference of its own, unless there is one already.
///
/// # Safety
///
/// As for [`Resident::retain`], but for a word of 0, which stays where it is.
pub(super) unsafe fn place<A: Resident>(place: &AtomicU64, word: u64, heap: &Heap) {
    // Relaxed: a look before the exchange.
    if word == 0 || place.load(Ordering::Relaxed) != 0 {
        return;
    }
    if A::OWNS_MEMORY {
        // SAFETY: the caller's promise is the same.
        unsafe { A::retain(word) };
    }
    // Release: pairs with the Acquire of `charge`: what the word names stays visible. Relaxed on failure: somebody
    // else carried it over, and it may have been charged since.
    if place.compare_exchange(0, word, Ordering::Release, Ordering::Relaxed).is_err() {
        // SAFETY: the reference from above found no place.
        unsafe { release::<A>(word, heap) };
    }
}

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
