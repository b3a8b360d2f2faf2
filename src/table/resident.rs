//! What a table asks of the algorithm whose words it keeps.

use crate::algorithm::{Ask, Pure, Receipt, Step};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::table::reclaim::Heap;

/// An algorithm whose words can live in a table or a cell, with what they may point to.
///
/// Each place that holds a word other than 0 holds one reference to what the word names.
///
/// # Safety
///
/// What a word names must stay valid while a place holds it or a guard from before its last `release` lives.
pub unsafe trait Resident: Clone + Send + Sync + 'static {
    /// What a step finds out.
    type Verdict: Copy;

    /// Whether words name memory, so that dropping one means something.
    const OWNS_MEMORY: bool;

    /// Does what is asked; a word in `Set` or `Swap` comes with its reference.
    ///
    /// # Safety
    ///
    /// `word` is 0 or was read, under a guard that still lives, from a place of the same owner.
    unsafe fn step(&self, word: u64, now: Tick, ask: Ask, heap: &Heap) -> Step<Self::Verdict>;

    /// Returns the verdict about a key never seen if that leaves nothing behind.
    fn unspent(&self, now: Tick, ask: Ask) -> Option<Self::Verdict>;

    /// Returns the verdict that denies whatever was spent, for so long.
    fn blocked(&self, wait_ns: u64) -> Self::Verdict;

    /// Spells a verdict out.
    fn decision(&self, verdict: Self::Verdict) -> Decision;

    /// Returns what must be known to give back what this verdict reserved.
    fn receipt(&self, verdict: Self::Verdict, cost: u64) -> Receipt;

    /// Returns the word, other than 0, that keeps what a word other than 0 of another quota has spent; what it names stays
    /// the same.
    fn convert(&self, word: u64, now: Tick, from: &Self) -> u64;

    /// Tells whether the word says nothing any more at `now`.
    ///
    /// # Safety
    ///
    /// As for `step`.
    unsafe fn is_idle(&self, word: u64, now: Tick) -> bool;

    /// Tells whether a frozen word may be dropped, and sees to it that nobody can charge it afterwards.
    ///
    /// # Safety
    ///
    /// As for `step`.
    unsafe fn evict(&self, word: u64, now: Tick) -> bool {
        // SAFETY: the caller's promise is the same.
        unsafe { self.is_idle(word, now) }
    }

    /// Adds a reference for a second place.
    ///
    /// # Safety
    ///
    /// As for `step`, and the word is not 0.
    unsafe fn retain(word: u64);

    /// Gives up a place's reference.
    ///
    /// # Safety
    ///
    /// The word is not 0, its place's reference is given up once, and `heap` is the owner's.
    unsafe fn release(word: u64, heap: &Heap);
}

/// A verdict, and the algorithm that came to it.
pub(crate) struct Answer<'g, A: Resident> {
    pub(super) verdict: A::Verdict,
    pub(super) algorithm: &'g A,
}

impl<A: Resident> Answer<'_, A> {
    /// Spells the verdict out.
    #[inline(always)]
    pub(crate) fn decision(&self) -> Decision {
        self.algorithm.decision(self.verdict)
    }

    /// Returns what must be known to give back what was reserved.
    pub(crate) fn receipt(&self, cost: u64) -> Receipt {
        self.algorithm.receipt(self.verdict, cost)
    }

    /// Returns the decision of a reservation with what gives it back, or the denial.
    pub(crate) fn reservation(&self, cost: u64) -> Result<(Decision, Receipt), Decision> {
        let decision = self.decision();
        if decision.allowed { Ok((decision, self.receipt(cost))) } else { Err(decision) }
    }
}

/// A verdict with the words around it.
#[derive(Clone, Copy, Debug)]
pub struct Passage<V> {
    verdict: V,
    before: u64,
    after: u64,
}

// SAFETY: the words of a pure algorithm name nothing.
unsafe impl<A: Pure> Resident for A {
    type Verdict = Passage<A::Verdict>;

    const OWNS_MEMORY: bool = false;

    #[inline(always)]
    unsafe fn step(&self, word: u64, now: Tick, ask: Ask, _heap: &Heap) -> Step<Self::Verdict> {
        match Pure::step(self, word, now, ask) {
            Step::Keep(verdict) => Step::Keep(Passage { verdict, before: word, after: word }),
            Step::Set(next, verdict) => Step::Set(next, Passage { verdict, before: word, after: next }),
            Step::Swap(next) => Step::Swap(next),
        }
    }

    fn unspent(&self, now: Tick, ask: Ask) -> Option<Self::Verdict> {
        match Pure::step(self, 0, now, ask) {
            Step::Keep(verdict) => Some(Passage { verdict, before: 0, after: 0 }),
            Step::Set(..) | Step::Swap(_) => None,
        }
    }

    fn blocked(&self, wait_ns: u64) -> Self::Verdict {
        Passage { verdict: Pure::blocked(self, wait_ns), before: 0, after: 0 }
    }

    #[inline(always)]
    fn decision(&self, Passage { verdict, .. }: Self::Verdict) -> Decision {
        Pure::decision(self, verdict)
    }

    fn receipt(&self, Passage { before, after, .. }: Self::Verdict, cost: u64) -> Receipt {
        Receipt { cost, before, after }
    }

    fn convert(&self, word: u64, now: Tick, from: &Self) -> u64 {
        Pure::convert(self, word, now, from)
    }

    #[inline]
    unsafe fn is_idle(&self, word: u64, now: Tick) -> bool {
        Pure::is_idle(self, word, now)
    }

    #[inline]
    unsafe fn retain(_word: u64) {}

    #[inline]
    unsafe fn release(_word: u64, _heap: &Heap) {}
}
