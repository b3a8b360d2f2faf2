//! The algorithms: pure steps from one word to the next.

mod fixed_window;
mod sliding_counter;
mod sliding_log;
mod token_bucket;
mod window;

pub use self::fixed_window::FixedWindow;
pub use self::sliding_counter::SlidingCounter;
pub use self::sliding_log::{LogOptions, SlidingLog};
pub(crate) use self::sliding_log::{Stamp, Usage};
pub use self::token_bucket::TokenBucket;

use crate::clock::Tick;
use crate::decision::Decision;

/// What a step wants done with the word it was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<V> {
    /// Leave the word as it is.
    Keep(V),
    /// Put this word in its place; the verdict holds if nobody was faster.
    Set(u64, V),
    /// Put this word in its place and step again.
    Swap(u64),
}

/// An algorithm whose whole state is one word.
///
/// A word is below 2^63 and 0 only for a key that was never charged; no step writes 0.
pub trait Pure: Send + Sync + 'static {
    /// What a step finds out. It is small, so that it travels in registers; what it means is worked out last.
    type Verdict: Copy;

    /// Decides about one check, and says what it leaves behind.
    fn step(&self, word: u64, now: Tick, cost: u64) -> Step<Self::Verdict>;

    /// Returns the verdict that denies whatever was spent, for so long.
    fn blocked(&self, wait_ns: u64) -> Self::Verdict;

    /// Spells a verdict out.
    fn decision(&self, verdict: Self::Verdict) -> Decision;

    /// Tells whether at `now` the word says no more than 0 would.
    fn is_idle(&self, word: u64, now: Tick) -> bool;
}
