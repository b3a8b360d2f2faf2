//! Where windows begin.

use std::time::Duration;

/// Where the windows of a [`FixedWindow`](crate::FixedWindow) begin.
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
