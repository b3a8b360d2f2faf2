//! The fixed window that opens with a key's first request.

use crate::algorithm::counted::Counted;
use crate::algorithm::place::Place;
use crate::algorithm::window::{Windows, width};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The fixed window of the key's own: it opens with the first request, lets `limit` pass until a period has gone by, and
/// the next request opens the next.
///
/// Clients cannot know a common seam to gather at, but one that spends at the end of its window and again right after
/// it still gets twice the limit less one within a period, never more.
///
/// The word holds when the window opened, in steps of at least a nanosecond and at most 1/2000 of a period, and the
/// count; a window lasts up to two steps longer than the period. After nine years of the clock or more no window
/// opens any more. A debt is paid off by the windows that follow without a gap, each as much as the limit; a word holds
/// one of three times the limit or more.
///
/// # Cost
///
/// As the token bucket.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limiter, OwnWindow, Tick};
///
/// let limiter: Limiter<u64, OwnWindow> = Limiter::new("2/10s".parse()?)?;
/// let second = |s| Tick::ZERO + Duration::from_secs(s);
/// assert!(limiter.check_n_at(&7, 2, second(9)).is_allowed());
/// assert!(!limiter.check_at(&7, second(18)).is_allowed());
/// assert!(limiter.check_at(&7, second(20)).is_allowed());
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnWindow {
    limit: u64,
    /// The length of a window in steps.
    period: u64,
    /// The bits of the count.
    bits: u32,
    /// The logarithm of a step in nanoseconds.
    step: u32,
    /// The last step that is told apart from those after it.
    last: u64,
}

impl OwnWindow {
    /// The bits that a tick takes for nine years.
    const LEAST_BITS: u32 = Windows::LEAST_NS.ilog2();

    /// Works out the constants of a quota.
    pub(crate) fn new(quota: &Quota) -> Result<Self, QuotaError> {
        let (limit, period_ns) = (quota.limit(), quota.period_ns());
        if quota.burst() != limit {
            return Err(QuotaError::BurstWithoutBucket { burst: quota.burst(), limit });
        }
        // A step takes up to 1/2000 of a period; what the count takes beyond five bits makes it longer.
        let longest_step = (period_ns / 2_000).max(1).ilog2();
        let most_bits = 63 - Self::LEAST_BITS + longest_step - 2;
        let bits = width(limit) + 2;
        if width(limit) > most_bits {
            return Err(QuotaError::LimitTooLarge { limit, most: (1 << most_bits.min(62)) - 1 });
        }
        let step = bits.saturating_sub(63 - Self::LEAST_BITS);
        // Both ends of a window are rounded down to a step: with one more it is never too short.
        let period = if step == 0 { period_ns } else { period_ns.div_ceil(1 << step) + 1 };
        Ok(Self { limit, period, bits, step, last: (1 << (63 - bits)) - 2 })
    }
}

impl Counted for OwnWindow {
    fn rested(&self) -> u64 {
        1 << self.bits
    }

    #[inline(always)]
    fn limit(&self) -> u64 {
        self.limit
    }

    #[inline(always)]
    fn highest(&self) -> u64 {
        (1 << self.bits) - 1
    }

    #[inline(always)]
    fn read(&self, word: u64, now: Tick) -> (Place, u64) {
        let (count, opened) = (word & self.highest(), (word >> self.bits).wrapping_sub(1));
        let present = (now.as_nanos() >> self.step).min(self.last);
        let place = |window: u64| {
            let end_ns = window.saturating_add(self.period).saturating_mul(1 << self.step);
            let lag_ns = (window << self.step).saturating_sub(now.as_nanos());
            Place { window, rest_ns: end_ns.saturating_sub(now.as_nanos()).saturating_sub(lag_ns), lag_ns }
        };
        if count == 0 {
            return (place(present), 0);
        }
        if present < opened.saturating_add(self.period) {
            return (place(opened), count);
        }
        if count <= self.limit {
            return (place(present), 0);
        }
        let passed = (present - opened) / self.period;
        match count.saturating_sub(passed.saturating_mul(self.limit)) {
            0 => (place(present), 0),
            debt => (place(opened + passed * self.period), debt),
        }
    }

    fn place_from(&self, now: Tick, other: &Self, place: Place) -> Place {
        let opened_ns = place.window << other.step;
        let step = opened_ns.div_ceil(1 << self.step).min(self.last);
        // A window that would be over by now is over at last: it counts until the end of a step.
        let (first, _) = self.read(0, now);
        let window = step.max((first.window + 1).saturating_sub(self.period));
        Place { window, ..first }
    }

    #[inline(always)]
    fn word(&self, place: Place, count: u64) -> u64 {
        (place.window + 1) << self.bits | count
    }

    #[inline(always)]
    fn end_ns(&self, place: Place, further: u64) -> u64 {
        let last = further.saturating_add(1).saturating_mul(self.period).saturating_add(place.window);
        if last > self.last {
            return Decision::NEVER - 1;
        }
        let more_ns = (further * self.period) << self.step;
        place.rest_ns.saturating_add(place.lag_ns).saturating_add(more_ns)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Builds the window of a quota in notation.
    fn window(quota: &str) -> Result<OwnWindow, QuotaError> {
        OwnWindow::new(&quota.parse().expect(quota))
    }

    #[test]
    fn a_limit_that_makes_steps_too_long_is_refused() {
        for (quota, most) in [("8/us", 7), ("5000/us", 7), ("9000000/ms", 2047)] {
            let refused = window(quota).err();
            assert!(matches!(refused, Some(QuotaError::LimitTooLarge { most: m, .. }) if m == most), "{refused:?}");
        }
        for quota in ["7/us", "7/ns", "2047/ms", "1000000000/day"] {
            let window = window(quota).expect(quota);
            let step_ns = 1_u64 << window.step;
            let period_ns = u64::try_from(quota.parse::<Quota>().expect(quota).period().as_nanos()).expect("it fits");
            assert!(step_ns == 1 || step_ns * 2000 <= period_ns, "{quota}: {window:?}");
            assert!(window.period * step_ns <= period_ns + 2 * step_ns, "{quota}");
        }
    }
}
