//! The token bucket, kept as the tick at which it will be full again.

use crate::algorithm::bucket::{Bucket, BucketOptions, BucketVerdict, LONGEST, resolution};
use crate::algorithm::{Ask, Pure, Step};
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
    pub(super) bucket: Bucket,
    /// The parts of a nanosecond in which the bucket counts.
    pub(super) parts: u64,
    /// The last nanosecond that can be counted so.
    last_ns: u64,
}

impl TokenBucket {
    /// Works out the constants of a quota, for a limiter that begins at `start`.
    pub(crate) fn new(quota: &Quota, options: BucketOptions, start: Tick) -> Result<Self, QuotaError> {
        let (interval, parts) = resolution(quota)?;
        let burst = quota.burst();
        // Longer than ticks last is as good as for ever.
        let interval = interval.min(Tick::MAX.as_nanos());
        if u128::from(burst - 1) * u128::from(interval) > u128::from(LONGEST) {
            return Err(QuotaError::BurstTooLong { burst, most: LONGEST / interval + 1 });
        }
        let full = Self { bucket: Bucket::new(interval, burst)?, parts, last_ns: (Bucket::LAST - 1) / parts };
        let bucket = full.bucket.clone().with_initial(options.initial, full.present(start))?;
        Ok(Self { bucket, ..full })
    }

    /// Returns a tick as the word counts it.
    #[inline(always)]
    pub(super) fn present(&self, now: Tick) -> u64 {
        let now_ns = now.as_nanos().min(self.last_ns);
        if self.parts == 1 { now_ns + 1 } else { now_ns * self.parts + 1 }
    }

    /// Returns a span in whole nanoseconds, rounded up.
    #[inline(always)]
    pub(super) fn ns(&self, span: u64) -> u64 {
        if self.parts == 1 { span } else { span.div_ceil(self.parts) }
    }

    /// Returns what is asked with its nanoseconds as the word counts them.
    pub(super) fn in_parts(&self, ask: Ask) -> Ask {
        match ask {
            Ask::Reserve(cost, within_ns) => Ask::Reserve(cost, within_ns.saturating_mul(self.parts)),
            ask => ask,
        }
    }
}

impl Pure for TokenBucket {
    type Verdict = BucketVerdict;

    fn rested(&self) -> u64 {
        1
    }

    #[inline(always)]
    fn spend(&self, word: u64, now: Tick, cost: u64) -> Step<BucketVerdict> {
        self.bucket.spend(word, self.present(now), cost)
    }

    fn adjust(&self, word: u64, now: Tick, ask: Ask) -> Step<BucketVerdict> {
        self.bucket.adjust(word, self.present(now), self.in_parts(ask))
    }

    fn blocked(&self, wait_ns: u64) -> BucketVerdict {
        let wait = wait_ns.saturating_mul(self.parts).min(Decision::NEVER - 1);
        BucketVerdict { ahead: self.bucket.window, wait }
    }

    #[inline(always)]
    fn decision(&self, BucketVerdict { ahead, wait }: BucketVerdict) -> Decision {
        Decision {
            allowed: wait == 0,
            limit: self.bucket.burst.get(),
            remaining: self.bucket.remaining(ahead),
            reset_after_ns: self.ns(ahead),
            wait_ns: match wait {
                Decision::NEVER => wait,
                0 if ahead <= self.bucket.window => 0,
                0 => self.ns(ahead - self.bucket.window),
                wait => self.ns(wait),
            },
        }
    }

    fn convert(&self, word: u64, now: Tick, from: &Self) -> u64 {
        let here = |span: u64| {
            let span = (u128::from(span) * u128::from(self.parts)).div_ceil(u128::from(from.parts));
            u64::try_from(span).unwrap_or(u64::MAX)
        };
        let ahead = from.bucket.ahead(word, from.present(now));
        self.bucket.resumed(here(ahead), here(from.bucket.window), self.present(now))
    }

    #[inline]
    fn is_idle(&self, word: u64, now: Tick) -> bool {
        word <= self.present(now)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Builds the bucket of a quota in notation.
    fn bucket(quota: &str) -> Result<TokenBucket, QuotaError> {
        TokenBucket::new(&quota.parse().expect("the notation of a quota"), BucketOptions::default(), Tick::ZERO)
    }

    #[test]
    fn intervals_are_whole_numbers_of_parts() {
        for (quota, interval, parts) in
            [("5/10s", 2_000_000_000, 1), ("7/s", 1_000_000_000, 7), ("7/s burst 3", 1_000_000_000, 7), ("1/7ns", 7, 1)]
        {
            let bucket = bucket(quota).expect(quota);
            assert_eq!((bucket.bucket.interval, bucket.parts), (interval, parts), "{quota}");
        }
    }

    #[test]
    fn rates_that_no_part_divides_are_rounded_to_the_slow_side() {
        let bucket = bucket("997/s").expect("a rate that is held within 0.1 %");
        assert_eq!(bucket.parts, 64);
        assert_eq!(bucket.bucket.interval, 64_192_578);
    }

    #[test]
    fn what_the_word_cannot_hold_is_refused_with_the_reason() {
        assert_eq!(
            bucket("70000001/s").err(),
            Some(QuotaError::RateTooHigh { limit: 70_000_001, period_ns: 1_000_000_000 })
        );
        assert!(bucket("1000000000/s").is_ok(), "one a nanosecond is exact");
        let long = Quota::new(1, Duration::from_secs(86_400)).and_then(|quota| quota.with_burst(1 << 40));
        let refused = TokenBucket::new(&long.expect("a sound quota"), BucketOptions::default(), Tick::ZERO).err();
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
                    if let Step::Set(next, _) = bucket.spend(word, now, 1) {
                        assert!(next != 0 && next <= Tick::MAX.as_nanos(), "{quota} at {now:?}");
                    }
                }
            }
        }
    }
}
