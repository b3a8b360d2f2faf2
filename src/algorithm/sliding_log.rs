//! The sliding log: a stamp for each request that counts.

use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The sliding log: at most `limit` pass in any period, exactly.
///
/// Each key keeps the ticks of its last requests in a ring of at most `limit` stamps of 8 bytes, which starts small
/// and grows as it is used. A stamp of age `period` no longer counts. A request whose tick lies before the key's
/// newest stamp is recorded with that stamp.
///
/// # Cost
///
/// Constant, plus one store for each unit of cost; after a time without requests the stamps that ran out are
/// skipped by bisection.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limiter, SlidingLog, Tick};
///
/// let limiter: Limiter<str, SlidingLog> = Limiter::new("2/10s".parse()?)?;
/// let second = |s| Tick::ZERO + Duration::from_secs(s);
/// assert!(limiter.check_at("a", second(0)).is_allowed());
/// assert!(limiter.check_at("a", second(9)).is_allowed());
/// assert_eq!(limiter.check_at("a", second(9)).retry_after(), Some(Duration::from_secs(1)));
/// assert!(limiter.check_at("a", second(10)).is_allowed());
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SlidingLog {
    pub(crate) limit: u32,
    pub(crate) period_ns: u64,
    pub(crate) count_denied: bool,
}

/// What can be chosen for a sliding log.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LogOptions {
    /// Whether denied attempts are recorded too.
    pub(crate) count_denied: bool,
}

/// How far a key's log is used, as its ring tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// How many stamps still count.
    pub(crate) fresh: u32,
    /// The newest stamp, if it still counts.
    pub(crate) newest: Stamp,
}

impl SlidingLog {
    /// The largest limit: a ring of so many stamps takes 8 GiB.
    const MOST: u64 = 1 << 30;

    /// Works out the constants of a quota.
    pub(crate) fn new(quota: &Quota, options: LogOptions) -> Result<Self, QuotaError> {
        let limit = quota.limit();
        if quota.burst() != limit {
            return Err(QuotaError::BurstWithoutBucket { burst: quota.burst(), limit });
        }
        match u32::try_from(limit) {
            Ok(narrow) if limit <= Self::MOST => {
                Ok(Self { limit: narrow, period_ns: quota.period_ns(), count_denied: options.count_denied })
            }
            _ => Err(QuotaError::LimitTooLarge { limit, most: Self::MOST }),
        }
    }

    /// Returns the newest stamp that no longer counts at `now`.
    #[inline]
    pub(crate) fn edge(&self, now: Tick) -> Stamp {
        Stamp(Stamp::at(now).0.saturating_sub(self.period_ns))
    }

    /// Returns the time until `stamp` no longer counts.
    #[inline]
    pub(crate) fn expires_after_ns(&self, stamp: Stamp, now: Tick) -> u64 {
        if stamp == Stamp::NEVER {
            return 0;
        }
        let age_ns = Stamp::at(now).0.saturating_sub(stamp.0);
        let lead_ns = stamp.0.saturating_sub(Stamp::at(now).0);
        // `NEVER` is kept for what can never pass.
        self.period_ns.saturating_sub(age_ns).saturating_add(lead_ns).min(Decision::NEVER - 1)
    }

    /// Returns the decision that a log so used leads to.
    #[inline]
    pub(crate) fn outcome(&self, allowed: bool, usage: Usage, now: Tick, wait_ns: u64) -> Decision {
        Decision {
            allowed,
            limit: u64::from(self.limit),
            remaining: u64::from(self.limit.saturating_sub(usage.fresh)),
            reset_after_ns: self.expires_after_ns(usage.newest, now),
            wait_ns,
        }
    }
}

/// A moment in a log: one more than its tick, so that 0 can stand for "never".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(pub(crate) u64);

impl Stamp {
    /// Before all ticks.
    pub(crate) const NEVER: Self = Self(0);

    /// Returns the stamp of a tick; the last two ticks share one.
    #[inline]
    pub(crate) fn at(now: Tick) -> Self {
        Self((now.as_nanos() + 1).min(Tick::MAX.as_nanos()))
    }

    /// Returns the time from a tick to this moment.
    #[inline]
    pub(crate) fn after_ns(self, now: Tick) -> u64 {
        self.tick().as_nanos().saturating_sub(now.as_nanos())
    }

    /// Returns the tick.
    #[inline]
    pub(crate) fn tick(self) -> Tick {
        Tick::from_nanos(self.0.saturating_sub(1))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_stops_counting_at_the_age_of_a_period() {
        let log = SlidingLog::new(&"5/10s".parse().expect("a quota"), LogOptions::default()).expect("a log");
        let second = |s: u64| Tick::from_nanos(s * 1_000_000_000);
        let stamp = Stamp::at(second(3));
        assert!(stamp > log.edge(Tick::from_nanos(12_999_999_999)));
        assert!(stamp <= log.edge(second(13)));
        assert_eq!(log.expires_after_ns(stamp, second(12)), 1_000_000_000);
        assert_eq!(log.expires_after_ns(stamp, second(2)), 11_000_000_000);
        assert_eq!(log.edge(second(9)), Stamp::NEVER);
    }

    #[test]
    fn a_log_has_no_burst_and_a_bound() {
        let refused = |text: &str| SlidingLog::new(&text.parse().expect(text), LogOptions::default()).err();
        assert_eq!(refused("5/s burst 9"), Some(QuotaError::BurstWithoutBucket { burst: 9, limit: 5 }));
        assert_eq!(
            refused("2000000000/s"),
            Some(QuotaError::LimitTooLarge { limit: 2_000_000_000, most: SlidingLog::MOST })
        );
    }
}
