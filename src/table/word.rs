//! What is done with the word of a key, wherever it stands.

use crate::algorithm::{Ask, Step};
use crate::clock::Tick;
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
