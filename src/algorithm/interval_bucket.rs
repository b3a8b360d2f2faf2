//! The token bucket whose tokens come back all at once, at the end of each period.

use crate::algorithm::bucket::{Bucket, BucketOptions, BucketVerdict};
use crate::algorithm::{Ask, Pure, Step};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The token bucket with interval refill: `limit` tokens come back together each `period`, counted from the start of the
/// limiter's clock, and up to `burst` are saved.
///
/// [`TokenBucket`](crate::TokenBucket) hands them out one by one instead. With a burst above the limit it saves up what
/// a [`FixedWindow`](crate::FixedWindow) would forget. In any period at most `burst + limit` pass.
///
/// The word counts tokens, `2^63` of them: a limiter refills for so many periods as `limit` goes into that, and denies
/// what goes beyond.
///
/// # Cost
///
/// As the token bucket, and a division.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{IntervalBucket, Limiter, Tick};
///
/// let limiter: Limiter<u64, IntervalBucket> = Limiter::new("10/min burst 15".parse()?)?;
/// let second = |s| Tick::ZERO + Duration::from_secs(s);
/// assert!(limiter.check_n_at(&7, 15, second(1)).is_allowed());
/// assert_eq!(limiter.check_at(&7, second(59)).retry_after(), Some(Duration::from_secs(1)));
/// assert_eq!(limiter.peek_at(&7, second(60)).remaining(), 10);
/// assert_eq!(limiter.peek_at(&7, second(120)).remaining(), 15);
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IntervalBucket {
    /// Counts in tokens.
    bucket: Bucket,
    limit: u64,
    period_ns: u64,
    /// The last tick whose period can be counted.
    last_ns: u64,
}

impl IntervalBucket {
    /// Works out the constants of a quota, for a limiter that begins at `start`.
    pub(crate) fn new(quota: &Quota, options: BucketOptions, start: Tick) -> Result<Self, QuotaError> {
        /// The tokens that can be saved, so that as many again can be told apart in time.
        const MOST: u64 = 1 << 62;

        let (limit, period_ns, burst) = (quota.limit(), quota.period_ns(), quota.burst());
        let periods = (Bucket::LAST - 1) / limit;
        // The ticks that can be told apart at least: nine years of them.
        let least = (1 << 58) / period_ns;
        if periods < least {
            return Err(QuotaError::LimitTooLarge { limit, most: (Bucket::LAST - 1) / least });
        }
        if burst > MOST {
            return Err(QuotaError::BurstTooLong { burst, most: MOST });
        }
        let last_ns = periods.saturating_mul(period_ns).min(Tick::MAX.as_nanos());
        let full = Self { bucket: Bucket::new(1, burst)?, limit, period_ns, last_ns };
        let bucket = full.bucket.clone().with_initial(options.initial, full.present(start).0)?;
        Ok(Self { bucket, ..full })
    }

    /// Returns the tokens that came back up to a tick, counted from 1, and how far the tick lies in its period.
    #[inline(always)]
    fn present(&self, now: Tick) -> (u64, u64) {
        let now_ns = now.as_nanos().min(self.last_ns);
        (now_ns / self.period_ns * self.limit + 1, now_ns % self.period_ns)
    }

    /// Returns the time until so many tokens came back.
    fn ns(&self, tokens: u64, into_ns: u64) -> u64 {
        if tokens == 0 {
            return 0;
        }
        let periods = tokens.div_ceil(self.limit);
        periods.saturating_mul(self.period_ns).saturating_sub(into_ns).min(Decision::NEVER - 1)
    }

    /// Returns the time until a debt is paid off.
    #[inline(always)]
    fn debt_ns(&self, IntervalVerdict { ahead, into_ns, .. }: IntervalVerdict) -> u64 {
        self.ns(ahead.saturating_sub(self.bucket.window), into_ns)
    }

    /// Tells the wait of a step in nanoseconds.
    #[inline(always)]
    fn timed(&self, step: Step<BucketVerdict>, into_ns: u64) -> Step<IntervalVerdict> {
        let timed = |BucketVerdict { ahead, wait }| {
            let wait_ns = if wait == Decision::NEVER { wait } else { self.ns(wait, into_ns) };
            IntervalVerdict { ahead, into_ns, wait_ns }
        };
        match step {
            Step::Keep(verdict) => Step::Keep(timed(verdict)),
            Step::Set(next, verdict) => Step::Set(next, timed(verdict)),
            Step::Swap(next) => Step::Swap(next),
        }
    }
}

/// What a step of a bucket finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalVerdict {
    /// The tokens until the bucket is full; more than the burst in debt.
    ahead: u64,
    /// How far in its period.
    into_ns: u64,
    /// The time until the call passes: 0 if it did, [`Decision::NEVER`] if it cannot.
    wait_ns: u64,
}

impl Pure for IntervalBucket {
    type Verdict = IntervalVerdict;

    fn rested(&self) -> u64 {
        1
    }

    #[inline(always)]
    fn spend(&self, word: u64, now: Tick, cost: u64) -> Step<IntervalVerdict> {
        let (present, into_ns) = self.present(now);
        self.timed(self.bucket.spend(word, present, cost), into_ns)
    }

    fn adjust(&self, word: u64, now: Tick, ask: Ask) -> Step<IntervalVerdict> {
        let (present, into_ns) = self.present(now);
        let Ask::Reserve(cost, within_ns) = ask else {
            return self.timed(self.bucket.adjust(word, present, ask), into_ns);
        };
        let BucketVerdict { ahead, .. } = match self.bucket.spend(word, present, 0) {
            Step::Keep(verdict) | Step::Set(_, verdict) => verdict,
            Step::Swap(_) => BucketVerdict { ahead: 0, wait: 0 },
        };
        match self.timed(self.bucket.adjust(word, present, Ask::Reserve(cost, u64::MAX)), into_ns) {
            Step::Set(_, booked) if self.debt_ns(booked) > within_ns => {
                Step::Keep(IntervalVerdict { ahead, into_ns, wait_ns: self.debt_ns(booked) - within_ns })
            }
            step => step,
        }
    }

    fn blocked(&self, wait_ns: u64) -> IntervalVerdict {
        IntervalVerdict { ahead: self.bucket.window, into_ns: 0, wait_ns }
    }

    #[inline(always)]
    fn decision(&self, verdict: IntervalVerdict) -> Decision {
        let IntervalVerdict { ahead, into_ns, wait_ns } = verdict;
        Decision {
            allowed: wait_ns == 0,
            limit: self.bucket.burst.get(),
            remaining: self.bucket.window.saturating_sub(ahead),
            reset_after_ns: self.ns(ahead, into_ns),
            wait_ns: if wait_ns == 0 { self.debt_ns(verdict) } else { wait_ns },
        }
    }

    fn convert(&self, word: u64, now: Tick, from: &Self) -> u64 {
        let missing = from.bucket.ahead(word, from.present(now).0);
        self.bucket.resumed(missing, from.bucket.window, self.present(now).0)
    }

    #[inline]
    fn is_idle(&self, word: u64, now: Tick) -> bool {
        word <= self.present(now).0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Builds the bucket of a quota in notation.
    fn bucket(quota: &str) -> Result<IntervalBucket, QuotaError> {
        IntervalBucket::new(&quota.parse().expect(quota), BucketOptions::default(), Tick::ZERO)
    }

    #[test]
    fn a_limit_that_leaves_no_nine_years_is_refused() {
        assert!(bucket("31/ns").is_ok());
        let refused = bucket("33/ns").err();
        assert!(matches!(refused, Some(QuotaError::LimitTooLarge { limit: 33, most: 31 })), "{refused:?}");
        assert!(bucket("5/s burst 9000000000000000000").is_err());
    }

    #[test]
    fn a_block_is_told_to_the_nanosecond() {
        let bucket = bucket("5/10s").expect("a sound quota");
        for wait_ns in [1, 9_999_999_999, 10_000_000_000, 10_000_000_001, u64::MAX - 1] {
            let decision = bucket.decision(bucket.blocked(wait_ns));
            assert!(!decision.allowed && decision.wait_ns == wait_ns, "{decision:?} for {wait_ns}");
        }
    }
}
