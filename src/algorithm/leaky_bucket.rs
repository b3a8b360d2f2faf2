//! The leaky bucket: as a meter, which denies what overflows, and as a queue, which paces.

use crate::algorithm::bucket::{BucketOptions, BucketVerdict};
use crate::algorithm::{Ask, Pure, Step, TokenBucket};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The leaky bucket: what passes fills it, it leaks steadily at `limit` for each `period`, and it holds `burst`.
///
/// As a meter, which it is unless [`Builder::queue`](crate::Builder::queue) says otherwise, it denies what would
/// overflow: that is the token bucket told from the other end, and decides alike (ITU-T I.371, annex A).
///
/// As a queue (Turner, "New directions in communications", 1986; nginx's `limit_req`) it gives each request that fits
/// the time at which it is due, [`Decision::delay`]: no two are due closer together than the rate says, but for as many
/// as may pass undelayed. The caller waits so long, or does not. Nobody waits longer than it takes to leak the burst.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{LeakyBucket, Limiter, Tick};
///
/// // One each 100 ms, two more may wait.
/// let limiter: Limiter<u64, LeakyBucket> = Limiter::builder("10/s burst 3".parse()?).queue(0).build()?;
/// let delays: Vec<u128> = (0..3).map(|_| limiter.check_at(&7, Tick::ZERO).delay().as_millis()).collect();
/// assert_eq!(delays, [0, 100, 200]);
/// assert_eq!(limiter.check_at(&7, Tick::ZERO).retry_after(), Some(Duration::from_millis(100)));
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LeakyBucket {
    meter: TokenBucket,
    /// As a queue: how far ahead a request may be without a delay.
    undelayed: Option<u64>,
}

/// What can be chosen for a leaky bucket.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LeakyOptions {
    /// As a queue: how many requests may pass at once beyond the one that is due.
    pub(crate) undelayed: Option<u64>,
}

impl LeakyBucket {
    /// Works out the constants of a quota.
    pub(crate) fn new(quota: &Quota, options: LeakyOptions) -> Result<Self, QuotaError> {
        let meter = TokenBucket::new(quota, BucketOptions::default(), Tick::ZERO)?;
        let undelayed = options.undelayed.map(|count| count.saturating_mul(meter.bucket.interval));
        Ok(Self { meter, undelayed })
    }

    /// Adds the delay of a request of this cost to what the meter says.
    #[inline(always)]
    fn paced(&self, step: Step<BucketVerdict>, cost: u64) -> Step<LeakyVerdict> {
        let pace = |level: BucketVerdict| {
            let delay = match self.undelayed {
                _ if level.wait > 0 => 0,
                Some(undelayed) => {
                    level.ahead.saturating_sub(cost * self.meter.bucket.interval).saturating_sub(undelayed)
                }
                None => level.ahead.saturating_sub(self.meter.bucket.window),
            };
            LeakyVerdict { level, delay }
        };
        match step {
            Step::Keep(level) => Step::Keep(pace(level)),
            Step::Set(next, level) => Step::Set(next, pace(level)),
            Step::Swap(next) => Step::Swap(next),
        }
    }
}

/// What a step of a leaky bucket finds out, in the parts that its word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakyVerdict {
    level: BucketVerdict,
    /// The time until an allowed request is due.
    delay: u64,
}

impl Pure for LeakyBucket {
    type Verdict = LeakyVerdict;

    fn rested(&self) -> u64 {
        1
    }

    #[inline(always)]
    fn spend(&self, word: u64, now: Tick, cost: u64) -> Step<LeakyVerdict> {
        let step = self.meter.spend(word, now, cost);
        let is_denied = matches!(step, Step::Keep(_));
        self.paced(step, if is_denied { 0 } else { cost })
    }

    fn adjust(&self, word: u64, now: Tick, ask: Ask) -> Step<LeakyVerdict> {
        let Ask::Reserve(cost, within) = self.meter.in_parts(ask) else {
            return self.paced(self.meter.adjust(word, now, ask), 0);
        };
        if self.undelayed.is_none() {
            return self.paced(self.meter.adjust(word, now, ask), 0);
        }
        // A queue has its own bound beside that of the caller.
        match self.spend(word, now, cost) {
            Step::Set(_, LeakyVerdict { level, delay }) if delay > within => {
                let ahead = level.ahead - cost * self.meter.bucket.interval;
                Step::Keep(LeakyVerdict { level: BucketVerdict { ahead, wait: delay - within }, delay: 0 })
            }
            step => step,
        }
    }

    fn blocked(&self, wait_ns: u64) -> LeakyVerdict {
        LeakyVerdict { level: self.meter.blocked(wait_ns), delay: 0 }
    }

    #[inline(always)]
    fn decision(&self, LeakyVerdict { level, delay }: LeakyVerdict) -> Decision {
        let decision = self.meter.decision(level);
        if decision.allowed { Decision { wait_ns: self.meter.ns(delay), ..decision } } else { decision }
    }

    fn convert(&self, word: u64, now: Tick, from: &Self) -> u64 {
        self.meter.convert(word, now, &from.meter)
    }

    #[inline]
    fn is_idle(&self, word: u64, now: Tick) -> bool {
        self.meter.is_idle(word, now)
    }
}
