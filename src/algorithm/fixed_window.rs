//! The fixed window: a count that starts again with each period.

use crate::algorithm::window::{Place, Windows};
use crate::algorithm::{Pure, Step};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The fixed window: at most `limit` pass in each period, counted from the start of the limiter's clock.
///
/// It is the cheapest to explain and the loosest: a client that spends at the end of one window and at the start of
/// the next gets twice the limit within less than a period, never more. Take [`SlidingCounter`](crate::SlidingCounter)
/// where that is too much, or [`SlidingLog`](crate::SlidingLog) where nothing is allowed above the limit.
///
/// The word holds the number of a window and the count of the key in it, for nine years of the clock or more; in what
/// would be the window after the last, the count does not start again.
///
/// # Cost
///
/// As the token bucket, and a division at a key's first check in a window.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{FixedWindow, Limiter, Tick};
///
/// let limiter: Limiter<u64, FixedWindow> = Limiter::new("2/10s".parse()?)?;
/// let second = |s| Tick::ZERO + Duration::from_secs(s);
/// assert!(limiter.check_n_at(&7, 2, second(9)).is_allowed());
/// assert_eq!(limiter.check_at(&7, second(9)).retry_after(), Some(Duration::from_secs(1)));
/// assert!(limiter.check_n_at(&7, 2, second(10)).is_allowed());
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FixedWindow {
    windows: Windows,
}

impl FixedWindow {
    /// Works out the constants of a quota.
    pub(crate) fn new(quota: &Quota) -> Result<Self, QuotaError> {
        Ok(Self { windows: Windows::new(quota, 1)? })
    }

    /// Returns where a tick lies, and the count in its window.
    #[inline(always)]
    fn read(&self, word: u64, now: Tick) -> (Place, u64) {
        let (count, charged) = self.windows.split(word);
        let place = self.windows.place(charged, now);
        (place, if place.window == charged { count } else { 0 })
    }

    /// Returns the time until the count starts again.
    #[inline(always)]
    fn end_ns(&self, place: Place) -> u64 {
        if self.windows.is_last(place.window) {
            return Decision::NEVER - 1;
        }
        place.rest_ns.saturating_add(place.lag_ns).min(Decision::NEVER - 1)
    }
}

/// What a step of a window finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowVerdict {
    /// How much is spent in the window.
    count: u64,
    /// The time until the window ends.
    end_ns: u64,
    /// The time until the call passes: 0 if it did, [`Decision::NEVER`] if it cannot.
    wait_ns: u64,
}

impl Pure for FixedWindow {
    type Verdict = WindowVerdict;

    #[inline(always)]
    fn step(&self, word: u64, now: Tick, cost: u64) -> Step<WindowVerdict> {
        let (place, count) = self.read(word, now);
        let end_ns = self.end_ns(place);
        let keep = |wait_ns| Step::Keep(WindowVerdict { count, end_ns, wait_ns });
        if cost == 0 {
            return keep(0);
        }
        if cost > self.windows.limit {
            return keep(Decision::NEVER);
        }
        if count + cost > self.windows.limit {
            return keep(end_ns);
        }
        let count = count + cost;
        Step::Set(place.window << self.windows.bits | count, WindowVerdict { count, end_ns, wait_ns: 0 })
    }

    fn blocked(&self, wait_ns: u64) -> WindowVerdict {
        WindowVerdict { count: self.windows.limit, end_ns: wait_ns, wait_ns }
    }

    #[inline(always)]
    fn decision(&self, WindowVerdict { count, end_ns, wait_ns }: WindowVerdict) -> Decision {
        Decision {
            allowed: wait_ns == 0,
            limit: self.windows.limit,
            remaining: self.windows.limit - count,
            reset_after_ns: if count == 0 { 0 } else { end_ns },
            retry_after_ns: wait_ns,
        }
    }

    #[inline]
    fn is_idle(&self, word: u64, now: Tick) -> bool {
        self.read(word, now).1 == 0
    }
}
