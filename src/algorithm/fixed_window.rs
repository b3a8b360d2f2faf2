//! The fixed window: a count that starts again with each period.

use std::time::Duration;

use crate::algorithm::counted::Counted;
use crate::algorithm::window::{Place, Windows};
use crate::clock::Tick;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The fixed window: at most `limit` pass in each period, counted from the start of the limiter's clock or as
/// [`Builder::aligned`](crate::Builder::aligned) says.
///
/// It is the cheapest to explain and the loosest: a client that spends at the end of one window and at the start of
/// the next gets twice the limit within less than a period, never more. Take [`SlidingCounter`](crate::SlidingCounter)
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

/// Where the windows of a [`FixedWindow`] begin.
///
/// The wall clock is looked at once, when the limiter is built: from then on the limiter's own clock counts.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Alignment, FixedWindow, Limiter, Tick};
///
/// // The clock's tick 0 is 23:59:50 in a place an hour ahead of UTC.
/// let limiter: Limiter<u64, FixedWindow> = Limiter::builder("100/day".parse()?)
///     .aligned(Alignment::WallClock { utc_offset_seconds: 3600 })
///     .tick_zero(Duration::from_secs(22 * 3600 + 59 * 60 + 50))
///     .build()?;
/// assert!(limiter.check_n_at(&7, 100, Tick::ZERO).is_allowed());
/// assert_eq!(limiter.check_at(&7, Tick::ZERO).retry_after(), Some(Duration::from_secs(10)));
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alignment {
    /// At the first tick of the limiter's clock.
    #[default]
    Start,
    /// At midnight and each period from there, in a place so many seconds ahead of UTC; a week begins on Monday.
    ///
    /// The period is one that divides the day, such as a minute or an hour, or a day or a week.
    WallClock {
        /// How far the place's clocks are ahead of UTC, up to a day either way.
        utc_offset_seconds: i32,
    },
    /// At the first midnight of each month of the calendar, in a place so many seconds ahead of UTC.
    ///
    /// The quota's period is 28 to 31 days, and each window as long as its month.
    Month {
        /// How far the place's clocks are ahead of UTC, up to a day either way.
        utc_offset_seconds: i32,
    },
}

/// What can be chosen for a fixed window.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct WindowOptions {
    /// Where the windows begin.
    pub(crate) alignment: Alignment,
    /// The time since 1970 in UTC at the clock's tick 0, if it is not for the wall clock to say.
    pub(crate) tick_zero: Option<Duration>,
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

    #[inline(always)]
    fn word(&self, place: Place, count: u64) -> u64 {
        place.window << self.windows.bits | count
    }

    #[inline(always)]
    fn end_ns(&self, place: Place, further: u64) -> u64 {
        self.windows.end_ns(place, further)
    }
}
