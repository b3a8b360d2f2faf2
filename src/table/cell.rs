//! Charging a word, and a cell: the word of one key that never moves.

use crossbeam_utils::CachePadded;

use crate::algorithm::{Ask, Step};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::sync::{AtomicU64, Ordering};
use crate::table::reclaim::{Guard, Heap};
use crate::table::resident::Resident;
use crate::table::segment::FROZEN;

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

/// The word of one key, alone on its cache line, with its algorithm.
#[derive(Debug)]
pub(crate) struct Cell<A: Resident> {
    algorithm: A,
    word: CachePadded<AtomicU64>,
    /// Dropped last: it frees what the word named.
    heap: Heap,
}

impl<A: Resident> Cell<A> {
    /// Makes the word of a key never seen.
    pub(crate) fn new(algorithm: A) -> Self {
        Self { algorithm, word: CachePadded::new(AtomicU64::new(0)), heap: Heap::new() }
    }

    /// Does what is asked.
    #[inline(always)]
    pub(crate) fn apply(&self, guard: &Guard, now: Tick, ask: Ask) -> A::Verdict {
        // SAFETY: the cell's word is charged with its own algorithm and heap.
        let verdict = unsafe { charge(&self.algorithm, &self.heap, guard, &self.word, now, ask) };
        verdict.expect("a word outside segments is never frozen")
    }

    /// Decides about one check.
    #[inline(always)]
    pub(crate) fn check(&self, guard: &Guard, now: Tick, cost: u64) -> Decision {
        self.algorithm.decision(self.apply(guard, now, Ask::Spend(cost)))
    }

    /// Tells whether nothing was ever charged.
    #[inline(always)]
    pub(crate) fn is_unused(&self) -> bool {
        // Relaxed: the word alone is looked at; whoever charged it before made it visible by other means.
        self.word.load(Ordering::Relaxed) == 0
    }

    /// Returns the algorithm.
    pub(crate) fn algorithm(&self) -> &A {
        &self.algorithm
    }

    /// Returns the bytes allocated for what the word names.
    pub(crate) fn bytes(&self) -> usize {
        self.heap.bytes()
    }
}

impl<A: Resident> Drop for Cell<A> {
    fn drop(&mut self) {
        // Relaxed: nobody else has the cell any more.
        let word = self.word.load(Ordering::Relaxed);
        // SAFETY: the place goes away with its reference.
        unsafe { release::<A>(word, &self.heap) };
    }
}
