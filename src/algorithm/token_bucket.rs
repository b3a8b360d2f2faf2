//! The token bucket, kept as the tick at which it will be full again.

use std::num::NonZeroU64;

use crate::algorithm::{Pure, Step};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The token bucket: it holds `burst` tokens, is refilled steadily at `limit` for each `period`, and each request
/// takes as many as it costs.
///
/// It is kept as the generic cell rate algorithm (ITU-T I.371, annex A): one word, the theoretical arrival time at
/// which the bucket is full again. In any span T at most `burst + floor(rate x T)` pass.
///
/// The word counts in nanoseconds, or in as many parts of one (up to 64) as make the time between two tokens a whole
/// number, so that rates such as 7 a second are exact. Where 64 parts are not enough the time between two
/// tokens is rounded up, by less than 1/64 ns. A limiter whose word counts in n parts of a nanosecond refills for
/// 292 / n years of its clock, and denies what goes beyond.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limiter, Tick, TokenBucket};
///
/// let limiter: Limiter<u64, TokenBucket> = Limiter::new("10/s burst 2".parse()?)?;
/// assert!(limiter.check_n_at(&7, 2, Tick::ZERO).is_allowed());
/// let denied = limiter.check_at(&7, Tick::ZERO);
/// assert_eq!(denied.retry_after(), Some(Duration::from_millis(100)));
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokenBucket {
    /// The time between two tokens.
    interval: u64,
    /// The time in which an empty bucket becomes full.
    window: u64,
    /// The parts of a nanosecond in which `interval`, `window` and the word count.
    parts: u64,
    /// The last nanosecond that can be counted so.
    last_ns: u64,
    burst: NonZeroU64,
}

impl TokenBucket {
    /// The most parts of a nanosecond that a word may count.
    const MOST_PARTS: u64 = 64;
    /// The longest time that `burst - 1` tokens may take to come back.
    const LONGEST: u64 = 1 << 62;

    /// Works out the constants of a quota.
    pub(crate) fn new(quota: &Quota) -> Result<Self, QuotaError> {
        let (interval, parts) = Self::resolution(quota)?;
        let burst = quota.burst();
        // Longer than ticks last is as good as for ever.
        let interval = interval.min(Tick::MAX.as_nanos());
        if u128::from(burst - 1) * u128::from(interval) > u128::from(Self::LONGEST) {
            return Err(QuotaError::BurstTooLong { burst, most: Self::LONGEST / interval + 1 });
        }
        let window = burst.saturating_mul(interval);
        let burst = NonZeroU64::new(burst).ok_or(QuotaError::ZeroBurst)?;
        Ok(Self { interval, window, parts, last_ns: Tick::MAX.as_nanos() / parts, burst })
    }

    /// Returns the time between two tokens and the parts of a nanosecond it is told in.
    fn resolution(quota: &Quota) -> Result<(u64, u64), QuotaError> {
        let (limit, period_ns) = (quota.limit(), quota.period_ns());
        let divisor = greatest_common_divisor(limit, period_ns);
        let parts = limit / divisor;
        let fits = |interval: u64| u128::from(quota.burst() - 1) * u128::from(interval) <= u128::from(Self::LONGEST);
        if parts <= Self::MOST_PARTS && fits(period_ns / divisor) {
            return Ok((period_ns / divisor, parts));
        }
        for parts in [Self::MOST_PARTS, 1] {
            let scaled = u128::from(period_ns) * u128::from(parts);
            // A thousand of them to the interval keep the rounding below 0.1 %.
            match u64::try_from(scaled.div_ceil(u128::from(limit))) {
                Ok(interval) if interval >= 1_000 && (parts == 1 || fits(interval)) => return Ok((interval, parts)),
                _ => {}
            }
        }
        Err(QuotaError::RateTooHigh { limit, period_ns })
    }

    /// Returns a tick in the parts that the word counts.
    #[inline(always)]
    fn present(&self, now: Tick) -> u64 {
        if self.parts == 1 { now.as_nanos() } else { now.as_nanos().min(self.last_ns) * self.parts }
    }

    /// Returns a span in whole nanoseconds, rounded up.
    #[inline(always)]
    fn ns(&self, span: u64) -> u64 {
        if self.parts == 1 { span } else { span.div_ceil(self.parts) }
    }
}

/// What a step of a bucket finds out, in the parts that its word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketVerdict {
    /// The time until the bucket is full.
    ahead: u64,
    /// The time until the call passes: 0 if it did, [`Decision::NEVER`] if it cannot.
    wait: u64,
}

impl Pure for TokenBucket {
    type Verdict = BucketVerdict;

    #[inline(always)]
    fn step(&self, word: u64, now: Tick, cost: u64) -> Step<BucketVerdict> {
        let present = self.present(now);
        let ahead = word.saturating_sub(present);
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
        let last = Tick::MAX.as_nanos();
        if next > last && (ahead > 0 || word == last) {
            // The word counts no further: nothing would flow back any more.
            return Step::Keep(BucketVerdict { ahead, wait: Decision::NEVER - 1 });
        }
        let next = next.min(last);
        Step::Set(next, BucketVerdict { ahead: ahead + spent, wait: 0 })
    }

    fn blocked(&self, wait_ns: u64) -> BucketVerdict {
        BucketVerdict { ahead: self.window, wait: wait_ns.saturating_mul(self.parts).min(Decision::NEVER - 1) }
    }

    #[inline(always)]
    fn decision(&self, BucketVerdict { ahead, wait }: BucketVerdict) -> Decision {
        Decision {
            allowed: wait == 0,
            limit: self.burst.get(),
            remaining: self.window.saturating_sub(ahead) / self.interval,
            reset_after_ns: self.ns(ahead),
            retry_after_ns: if wait == Decision::NEVER { wait } else { self.ns(wait) },
        }
    }

    #[inline]
    fn is_idle(&self, word: u64, now: Tick) -> bool {
        word <= self.present(now)
    }
}

/// Returns the greatest common divisor of two numbers, neither of which is zero.
fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Builds the bucket of a quota in notation.
    fn bucket(quota: &str) -> Result<TokenBucket, QuotaError> {
        TokenBucket::new(&quota.parse().expect("the notation of a quota"))
    }

    #[test]
    fn intervals_are_whole_numbers_of_parts() {
        for (quota, interval, parts) in
            [("5/10s", 2_000_000_000, 1), ("7/s", 1_000_000_000, 7), ("7/s burst 3", 1_000_000_000, 7), ("1/7ns", 7, 1)]
        {
            let bucket = bucket(quota).expect(quota);
            assert_eq!((bucket.interval, bucket.parts), (interval, parts), "{quota}");
        }
    }

    #[test]
    fn rates_that_no_part_divides_are_rounded_to_the_slow_side() {
        let bucket = bucket("997/s").expect("a rate that is held within 0.1 %");
        assert_eq!(bucket.parts, 64);
        assert_eq!(bucket.interval, 64_192_578);
    }

    #[test]
    fn what_the_word_cannot_hold_is_refused_with_the_reason() {
        assert_eq!(
            bucket("70000001/s").err(),
            Some(QuotaError::RateTooHigh { limit: 70_000_001, period_ns: 1_000_000_000 })
        );
        assert!(bucket("1000000000/s").is_ok(), "one a nanosecond is exact");
        let long = Quota::new(1, Duration::from_secs(86_400)).and_then(|quota| quota.with_burst(1 << 40));
        let refused = TokenBucket::new(&long.expect("a sound quota")).err();
        assert_eq!(
            refused,
            Some(QuotaError::BurstTooLong { burst: 1 << 40, most: (1 << 62) / 86_400_000_000_000 + 1 })
        );
    }

    #[test]
    fn no_step_writes_zero_or_the_frozen_bit() {
        for quota in ["1/ns", "5/10s", "7/s", "1/20000 weeks", "3/ns burst 1"] {
            let bucket = bucket(quota).expect(quota);
            for now in [Tick::ZERO, Tick::from_nanos(1 << 40), Tick::MAX] {
                for word in [0, 1, Tick::MAX.as_nanos()] {
                    if let Step::Set(next, _) = bucket.step(word, now, 1) {
                        assert!(next != 0 && next <= Tick::MAX.as_nanos(), "{quota} at {now:?}");
                    }
                }
            }
        }
    }
}
