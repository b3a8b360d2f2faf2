//! The versions of an algorithm: what words are counted by, and what they were counted by before the quota changed.
//!
//! There is room for two. A segment, and a word that stands alone, belong to one of them; a word that goes over to the
//! other is converted on the way. The room of the older one is used again once nobody can meet it any more.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::algorithm::Ask;
use crate::clock::Tick;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::table::reclaim::{Guard, Heap, enter};
use crate::table::resident::{Answer, Resident};
use crate::table::segment::FROZEN;
use crate::table::word;

/// Two versions, one of which is in use but for a change of quota, when both are.
pub(super) struct Versions<A: Resident> {
    versions: [Version<A>; 2],
    /// The version by which what is new is counted.
    current: AtomicUsize,
    /// Whether the version that is not current can be met by nobody.
    is_free: Arc<AtomicBool>,
}

/// An algorithm, and a word that is charged by it and stands alone: the word of a cell, or that of all keys without room.
struct Version<A> {
    algorithm: UnsafeCell<A>,
    word: CachePadded<AtomicU64>,
}

// SAFETY: an algorithm is only written while nobody can meet its version; it is read by many threads at once, which
// `Resident` allows by asking for `Sync`, and dropped by any, by asking for `Send`.
unsafe impl<A: Resident> Sync for Versions<A> {}

impl<A: Resident> Versions<A> {
    /// Begins with one version.
    pub(super) fn new(algorithm: A) -> Self {
        let version =
            |algorithm| Version { algorithm: UnsafeCell::new(algorithm), word: CachePadded::new(AtomicU64::new(0)) };
        Self {
            versions: [version(algorithm.clone()), version(algorithm)],
            current: AtomicUsize::new(0),
            is_free: Arc::new(AtomicBool::new(true)),
        }
    }

    /// Returns the version by which what is new is counted.
    #[inline(always)]
    pub(super) fn current(&self) -> usize {
        // Acquire: pairs with the Release of `change`: who sees a version sees its algorithm.
        self.current.load(Ordering::Acquire) & 1
    }

    /// Returns the algorithm of a version that was met under the guard.
    #[inline(always)]
    pub(super) fn algorithm<'g>(&'g self, _guard: &'g Guard, version: usize) -> &'g A {
        // SAFETY: a version is written before anybody meets it, and not again before all who met it are gone.
        unsafe { &*self.versions[version & 1].algorithm.get() }
    }

    /// Steps on a word of a version until the step holds; `None` if the word is frozen.
    ///
    /// # Safety
    ///
    /// The word is one of this version and of `heap`'s owner.
    #[inline(always)]
    pub(super) unsafe fn charge<'g>(
        &'g self,
        guard: &'g Guard,
        heap: &Heap,
        version: usize,
        word: &AtomicU64,
        now: Tick,
        ask: Ask,
    ) -> Option<Answer<'g, A>> {
        let algorithm = self.algorithm(guard, version);
        // SAFETY: the caller's promise is the same.
        let verdict = unsafe { word::charge(algorithm, heap, guard, word, now, ask) };
        verdict.map(|verdict| Answer { verdict, algorithm })
    }

    /// Does what is asked of the word that stands alone.
    #[inline(always)]
    pub(super) fn apply<'g>(
        &'g self,
        guard: &'g Guard,
        heap: &Heap,
        mut version: usize,
        now: Tick,
        ask: Ask,
    ) -> Answer<'g, A> {
        loop {
            // SAFETY: the word is its version's, and charged with its owner's heap.
            match unsafe { self.charge(guard, heap, version, &self.versions[version & 1].word, now, ask) } {
                Some(answer) => return answer,
                None => self.carry(guard, heap, version, now),
            }
            // It is not frozen there: the guard keeps the version that follows from being replaced.
            version ^= 1;
        }
    }

    /// Takes the frozen word that stands alone over to the other version, unless somebody has.
    #[cold]
    #[inline(never)]
    fn carry(&self, guard: &Guard, heap: &Heap, version: usize, now: Tick) {
        // Acquire: pairs with the Release by which the word came to name what it names.
        let word = self.versions[version & 1].word.load(Ordering::Acquire) & !FROZEN;
        let converted = self.convert(guard, word, version, version ^ 1, now);
        // SAFETY: the older version's word, which the guard keeps, holds the reference to what both name.
        unsafe { word::place::<A>(&self.versions[(version ^ 1) & 1].word, converted, heap) };
    }

    /// Converts a word from one version to another.
    #[inline(always)]
    pub(super) fn convert(&self, guard: &Guard, word: u64, from: usize, to: usize, now: Tick) -> u64 {
        if from == to || word == 0 {
            return word;
        }
        self.algorithm(guard, to).convert(word, now, self.algorithm(guard, from))
    }

    /// Tells whether nothing was ever charged to the word that stands alone.
    #[inline(always)]
    pub(super) fn is_unused(&self) -> bool {
        // Relaxed: the word alone is looked at; whoever charged it before made it visible by other means.
        self.versions[self.current()].word.load(Ordering::Relaxed) == 0
    }

    /// Makes an algorithm the current version and takes over the word that stands alone. The caller then takes over
    /// all else, and says so with [`Versions::let_go`]; no two threads do this at a time.
    ///
    /// It waits for threads that may still meet the version before the present one.
    pub(super) fn change(&self, algorithm: A, heap: &Heap, now: Tick) {
        // Acquire: pairs with the Release of `free`.
        while !self.is_free.load(Ordering::Acquire) {
            heap.collect();
            crate::sync::yield_now();
        }
        let old = self.current();
        let version = &self.versions[old ^ 1];
        // Relaxed: nobody else can meet this version.
        let before = version.word.swap(0, Ordering::Relaxed) & !FROZEN;
        // SAFETY: the word just left its place, which nobody can meet.
        unsafe { word::release::<A>(before, heap) };
        // SAFETY: nobody can meet this version.
        unsafe { *version.algorithm.get() = algorithm };
        // AcqRel: Release pairs with the Acquire of `charge`: whoever meets FROZEN sees the algorithm of the other
        // version. Acquire: what the word names is visible.
        self.versions[old].word.fetch_or(FROZEN, Ordering::AcqRel);
        self.carry(&enter(), heap, old, now);
        // Release: pairs with the Acquire of `current`. Only now: what is counted by the new version has to find what
        // was carried over.
        self.current.store(old ^ 1, Ordering::Release);
    }

    /// Says that the version before the present one is met by nobody who comes from now on.
    pub(super) fn let_go(&self, heap: &Heap) {
        // Relaxed: only the thread that changes versions looks; the Release of `free` is what it waits for.
        self.is_free.store(false, Ordering::Relaxed);
        let token = Box::into_raw(Box::new(Arc::clone(&self.is_free)));
        heap.add_bytes(TOKEN_BYTES);
        // SAFETY: nobody else has the token, and it is freed as what it is.
        unsafe { heap.retire(token.cast(), TOKEN_BYTES, free) };
    }

    /// Gives up the references of the words.
    pub(super) fn release(&mut self, heap: &Heap) {
        for version in &self.versions {
            // Relaxed: nobody else has the versions any more.
            let word = version.word.swap(0, Ordering::Relaxed) & !FROZEN;
            // SAFETY: the place goes away with its reference.
            unsafe { word::release::<A>(word, heap) };
        }
    }
}

/// The bytes of what waits for the last one who may meet a version.
const TOKEN_BYTES: usize = size_of::<Arc<AtomicBool>>();

/// Says that a version can be met by nobody.
///
/// # Safety
///
/// `token` is one of `let_go`, and is given up.
unsafe fn free(token: *mut (), _heap: &Heap) {
    // SAFETY: the caller's promise.
    let is_free = unsafe { Box::from_raw(token.cast::<Arc<AtomicBool>>()) };
    // Release: pairs with the Acquire of `change`: all who met the version are done with it.
    is_free.store(true, Ordering::Release);
}

impl<A: Resident> fmt::Debug for Versions<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versions").field("current", &self.current()).finish_non_exhaustive()
    }
}
