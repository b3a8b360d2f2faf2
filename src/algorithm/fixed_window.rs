//! The fixed window: a count that starts again with each period.

use std::time::Duration;

use crate::algorithm::alignment::WindowOptions;
use crate::algorithm::counted::Counted;
use crate::algorithm::place::Place;
use crate::algorithm::window::Windows;
use crate::clock::Tick;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The fixed window: at most `limit` pass in each period, counted from the start of the limiter's clock or as
/// [`Builder::aligned`](crate::Builder::aligned) says.
///
/// It is the cheapest to explain and the loosest: a client that spends at the end of one window and at the start of
/// the next gets twice the limit within less than a period, and where windows are months of the calendar three times
/// within a period longer than February, never more. Take [`SlidingCounter`](crate::SlidingCounter)
/// where that is too much, or [`SlidingLog`](crate::SlidingLog) where nothing is allowed above the limit.
///
/// The word holds the number of a window and the count of the key in it, for nine years of the clock or more; in what
/// would be the window after the last, the count does not start again. A debt is paid off by the windows that follow,
/// each as much as the limit.
///
/// # Cost
///
/// As the token bucket, and a division at a key's first check in a window. Months are found by a calendar, which takes
/// some ten nanoseconds more.
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
    /// Works out the constants of a quota, for a limiter that begins at `start`.
    pub(crate) fn new(quota: &Quota, options: WindowOptions, start: Tick) -> Result<Self, QuotaError> {
        Ok(Self { windows: Windows::new(quota, 1, options, start)? })
    }
}

impl Counted for FixedWindow {
    fn rested(&self) -> u64 {
        1 << self.windows.bits
    }

    #[inline(always)]
    fn limit(&self) -> u64 {
        self.windows.limit
    }

    #[inline(always)]
    fn highest(&self) -> u64 {
        self.windows.highest
    }

    #[inline(always)]
    fn read(&self, word: u64, now: Tick) -> (Place, u64) {
        let (count, charged) = self.windows.split(word);
        let place = self.windows.place(charged, now);
        let count = match place.window.saturating_sub(charged) {
            0 => count,
            _ if count <= self.windows.limit => 0,
            passed => count.saturating_sub(passed.saturating_mul(self.windows.limit)),
        };
        (place, count)
    }

    fn place_from(&self, now: Tick, _other: &Self, place: Place) -> Place {
        self.windows.place(0, now + Duration::from_nanos(place.lag_ns))
    }

    #[inline(always)]
    fn word(&self, place: Place, count: u64) -> u64 {
        place.window << self.windows.bits | count
    }

    #[inline(always)]
    fn end_ns(&self, place: Place, further: u64) -> u64 {
        self.windows.end_ns(place, further)
    }
}
