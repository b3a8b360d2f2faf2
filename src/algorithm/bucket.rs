//! The arithmetic that all buckets share: one word that says when the bucket is full again.

use std::num::NonZeroU64;

use crate::algorithm::{Ask, Step, taken_over};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// What can be chosen for a bucket beside its quota.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct BucketOptions {
    /// The tokens in every bucket when the limiter is built; the burst if none are named.
    pub(crate) initial: Option<u64>,
}

/// A bucket in units of its own: tokens take `interval` of them to come back.
///
/// A word is the moment at which the bucket is full, in these units. Moments count from 1, so that a bucket that is full
/// at the first tick is told from one never used.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// The time between two tokens.
    pub(super) interval: u64,
    /// The time in which an empty bucket becomes full.
    pub(super) window: u64,
    pub(super) burst: NonZeroU64,
    /// The moment at which a bucket never used is full.
    floor: u64,
}

/// What a step of a bucket finds out, in the units of its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketVerdict {
    /// The time until the bucket is full; more than the window in debt.
    pub(super) ahead: u64,
    /// The time until the call passes: 0 if it did, [`Decision::NEVER`] if it cannot.
    pub(super) wait: u64,
}

impl Bucket {
    /// The last moment that a word can tell.
    pub(super) const LAST: u64 = Tick::MAX.as_nanos();

    /// Makes a bucket that is full when it is first used; the window is the burst times the interval, or as good as for
    /// ever.
    pub(super) fn new(interval: u64, burst: u64) -> Result<Self, QuotaError> {
        let window = burst.saturating_mul(interval);
        let burst = NonZeroU64::new(burst).ok_or(QuotaError::ZeroBurst)?;
        Ok(Self { interval, window, burst, floor: 0 })
    }

    /// Has every bucket hold `initial` tokens at `present`.
    pub(super) fn with_initial(self, initial: Option<u64>, present: u64) -> Result<Self, QuotaError> {
        let burst = self.burst.get();
        match initial {
            Some(initial) if initial > burst => Err(QuotaError::InitialAboveBurst { initial, burst }),
            Some(initial) if initial < burst => {
                let missing = (burst - initial).saturating_mul(self.interval);
                Ok(Self { floor: present.saturating_add(missing).min(Self::LAST), ..self })
            }
            _ => Ok(self),
        }
    }

    /// Returns the time until the bucket is full.
    #[inline(always)]
    pub(super) fn ahead(&self, word: u64, present: u64) -> u64 {
        word.max(self.floor).saturating_sub(present)
    }

    /// Decides about spending.
    #[inline(always)]
    pub(super) fn spend(&self, word: u64, present: u64, cost: u64) -> Step<BucketVerdict> {
        let ahead = self.ahead(word, present);
        if cost == 0 {
            return Step::Keep(BucketVerdict { ahead, wait: 0 });
        }
        if cost > self.burst.get() {
            return Step::Keep(BucketVerdict { ahead, wait: Decision::NEVER });
        }
        // At most the window, and the rest is below 2^63: nothing overflows.
        let spent = cost * self.interval;
        let room = self.window - spent;
        if ahead > room {
            return Step::Keep(BucketVerdict { ahead, wait: ahead - room });
        }
        let next = present + ahead + spent;
        if next > Self::LAST && (ahead > 0 || word == Self::LAST) {
            // The word counts no further: nothing would flow back any more.
            return Step::Keep(BucketVerdict { ahead, wait: Decision::NEVER - 1 });
        }
        Step::Set(next.min(Self::LAST), BucketVerdict { ahead: ahead + spent, wait: 0 })
    }

    /// Charges, refunds and reserves; how far ahead may be reserved is told in the bucket's units.
    pub(super) fn adjust(&self, word: u64, present: u64, ask: Ask) -> Step<BucketVerdict> {
        let ahead = self.ahead(word, present);
        let keep = |wait| Step::Keep(BucketVerdict { ahead, wait });
        match ask {
            Ask::Charge(cost) if cost > 0 => {
                let spent = cost.saturating_mul(self.interval);
                let next = (present + ahead).saturating_add(spent).min(Self::LAST).max(word);
                Step::Set(next, BucketVerdict { ahead: next.saturating_sub(present), wait: 0 })
            }
            Ask::Refund(cost) if cost > 0 && ahead > 0 => {
                let ahead = ahead.saturating_sub(cost.saturating_mul(self.interval));
                // A bucket that began with less than its burst is refilled by a refund only to what it would have had.
                let next = (present + ahead).max(self.floor);
                Step::Set(next, BucketVerdict { ahead: next - present, wait: 0 })
            }
            Ask::Reserve(cost, _) if cost > self.burst.get() => keep(Decision::NEVER),
            Ask::Reserve(cost, within) if cost > 0 => {
                let (spent, most) = (cost * self.interval, self.window.saturating_add(within));
                let next = (present + ahead).saturating_add(spent);
                match (ahead.saturating_add(spent)).checked_sub(most) {
                    Some(wait) if wait > 0 => keep(wait.min(Decision::NEVER - 1)),
                    _ if next > Self::LAST => keep(Decision::NEVER - 1),
                    _ => Step::Set(next, BucketVerdict { ahead: ahead + spent, wait: 0 }),
                }
            }
            _ => keep(0),
        }
    }

    /// Returns the word for a bucket of another quota: `ahead`, which is told in units of this one, is the time until it was full
    /// there, and `window` that in which an empty one becomes full.
    pub(super) fn resumed(&self, ahead: u64, window: u64, present: u64) -> u64 {
        present.saturating_add(taken_over(ahead, window, self.window)).min(Self::LAST)
    }

    /// Returns how many tokens are left.
    #[inline(always)]
    pub(super) fn remaining(&self, ahead: u64) -> u64 {
        self.window.saturating_sub(ahead) / self.interval
    }
}

/// Works out the constants of a quota whose tokens come back one by one: the time between two tokens, and in how many
/// parts of a nanosecond it is told.
pub(super) fn resolution(quota: &Quota) -> Result<(u64, u64), QuotaError> {
    /// The most parts of a nanosecond that a word may count.
    const MOST_PARTS: u64 = 64;

    let (limit, period_ns) = (quota.limit(), quota.period_ns());
    let divisor = greatest_common_divisor(limit, period_ns);
    let parts = limit / divisor;
    let fits = |interval: u64| u128::from(quota.burst() - 1) * u128::from(interval) <= u128::from(LONGEST);
    if parts <= MOST_PARTS && fits(period_ns / divisor) {
        return Ok((period_ns / divisor, parts));
    }
    for parts in [MOST_PARTS, 1] {
        let scaled = u128::from(period_ns) * u128::from(parts);
        // A thousand of them to the interval keep the rounding below 0.1 %.
        match u64::try_from(scaled.div_ceil(u128::from(limit))) {
            Ok(interval) if interval >= 1_000 && (parts == 1 || fits(interval)) => return Ok((interval, parts)),
            _ => {}
        }
    }
    Err(QuotaError::RateTooHigh { limit, period_ns })
}

/// The longest time that `burst - 1` tokens may take to come back.
pub(super) const LONGEST: u64 = 1 << 62;

/// Returns the greatest common divisor of two numbers, neither of which is zero.
fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
