//! The algorithms: pure steps from one word to the next.

mod alignment;
mod block;
mod bucket;
mod calendar;
mod counted;
mod fixed_window;
mod interval_bucket;
mod leaky_bucket;
mod own_window;
mod place;
mod sliding_counter;
mod sliding_log;
mod token_bucket;
mod window;

pub use self::alignment::{Alignment, WindowOptions};
pub(crate) use self::block::Block;
pub use self::bucket::BucketOptions;
pub use self::fixed_window::FixedWindow;
pub use self::interval_bucket::IntervalBucket;
pub use self::leaky_bucket::{LeakyBucket, LeakyOptions};
pub use self::own_window::OwnWindow;
pub use self::sliding_counter::SlidingCounter;
pub use self::sliding_log::{LogOptions, SlidingLog};
pub(crate) use self::sliding_log::{Stamp, Usage};
pub use self::token_bucket::TokenBucket;

use crate::clock::Tick;
use crate::decision::Decision;

/// What is asked of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Spend so much if all of it fits; zero only looks.
    Spend(u64),
    /// Spend so much whether or not it fits.
    Charge(u64),
    /// Give so much back, at most what is spent.
    Refund(u64),
    /// Spend so much at the first moment at which it fits, unless that is more than this many nanoseconds away.
    Reserve(u64, u64),
    /// Give back what a reservation spent, if nobody has built on it.
    Cancel(Receipt),
}

/// What must be known to give a reservation back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// What was spent.
    pub(crate) cost: u64,
    /// The state before: a word.
    pub(crate) before: u64,
    /// The state after: a word, or the stamp that was written.
    pub(crate) after: u64,
}

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

/// Returns how much of what was spent under a quota that held `old_most` counts under one that holds `most`: as much as there
/// is to spend, and twice that if there is a debt.
fn taken_over(spent: u64, old_most: u64, most: u64) -> u64 {
    spent.min(if spent > old_most { most.saturating_mul(2) } else { most })
}

/// An algorithm whose whole state is one word.
///
/// A word is below 2^63 and 0 only for a key that was never charged; no step writes 0.
pub trait Pure: Clone + Send + Sync + 'static {
    /// What a step finds out. It is small, so that it travels in registers; what it means is worked out last.
    type Verdict: Copy;

    /// Returns a word other than 0 that says no more than 0 does.
    fn rested(&self) -> u64;

    /// Decides about spending, and says what that leaves behind. This is the path of every check.
    fn spend(&self, word: u64, now: Tick, cost: u64) -> Step<Self::Verdict>;

    /// Does what else can be asked, but for [`Ask::Spend`] and [`Ask::Cancel`].
    fn adjust(&self, word: u64, now: Tick, ask: Ask) -> Step<Self::Verdict>;

    /// Does what is asked.
    #[inline(always)]
    fn step(&self, word: u64, now: Tick, ask: Ask) -> Step<Self::Verdict> {
        match ask {
            Ask::Spend(cost) => self.spend(word, now, cost),
            // Whoever came in between reckoned with what was reserved: only an untouched word goes back.
            Ask::Cancel(Receipt { before, after, .. }) if word == after => {
                let before = if before == 0 { self.rested() } else { before };
                match self.spend(before, now, 0) {
                    Step::Keep(verdict) | Step::Set(_, verdict) => Step::Set(before, verdict),
                    Step::Swap(word) => Step::Swap(word),
                }
            }
            Ask::Cancel(_) => self.spend(word, now, 0),
            Ask::Charge(_) | Ask::Refund(_) | Ask::Reserve(..) => self.adjust(word, now, ask),
        }
    }

    /// Returns the verdict that denies whatever was spent, for so long.
    fn blocked(&self, wait_ns: u64) -> Self::Verdict;

    /// Spells a verdict out.
    fn decision(&self, verdict: Self::Verdict) -> Decision;

    /// Returns the word that keeps what a word of another quota has spent, as far as that can be under this one: nobody waits
    /// longer than one full refill, or two if there is a debt.
    fn convert(&self, word: u64, now: Tick, from: &Self) -> u64;

    /// Tells whether at `now` the word says no more than 0 would.
    fn is_idle(&self, word: u64, now: Tick) -> bool;
}
