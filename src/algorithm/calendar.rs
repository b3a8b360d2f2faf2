//! The civil calendar: where the wall clock's periods and months begin on a limiter's clock.

use std::time::Duration;

use crate::algorithm::place::Place;
use crate::clock::{self, Tick};
use crate::error::QuotaError;

/// The nanoseconds of a day.
const DAY_NS: u64 = 86_400_000_000_000;
/// The nanoseconds of the shortest month.
pub(super) const SHORTEST_MONTH_NS: u64 = 28 * DAY_NS;

/// Returns what the clocks of a place show at tick 0, as nanoseconds since they showed the start of 1970.
///
/// A limiter that begins at `start` looks at the wall clock, unless it is told the time at tick 0.
pub(super) fn local_ns(utc_offset_seconds: i32, tick_zero: Option<Duration>, start: Tick) -> Result<u128, QuotaError> {
    if utc_offset_seconds.unsigned_abs() > 86_400 {
        return Err(QuotaError::OffsetTooLarge { seconds: utc_offset_seconds });
    }
    let unix = tick_zero.unwrap_or_else(|| clock::unix_time().saturating_sub(start.since(Tick::ZERO)));
    // Whole weeks more change nothing and keep the first days of 1970 positive west of Greenwich; the calendar repeats
    // after four hundred years, which are whole weeks too.
    let shifted = unix.as_nanos() + u128::from(FOUR_CENTURIES_DAYS) * u128::from(DAY_NS);
    let offset_ns = u128::from(utc_offset_seconds.unsigned_abs()) * 1_000_000_000;
    Ok(if utc_offset_seconds < 0 { shifted - offset_ns } else { shifted + offset_ns })
}

/// The days after which the calendar repeats: 20,871 weeks.
const FOUR_CENTURIES_DAYS: u32 = 146_097;

/// Returns how long the period that tick 0 lies in had lasted by then.
pub(super) fn phase_ns(local_ns: u128, period_ns: u64) -> Result<u64, QuotaError> {
    const WEEK_NS: u64 = 7 * DAY_NS;
    // The first of January 1970 was a Thursday.
    let monday_ns = local_ns + 3 * u128::from(DAY_NS);
    match period_ns {
        WEEK_NS => Ok((monday_ns % u128::from(WEEK_NS)) as u64),
        1..=DAY_NS if DAY_NS.is_multiple_of(period_ns) => Ok((local_ns % u128::from(period_ns)) as u64),
        _ => Err(QuotaError::PeriodNotAligned { period_ns }),
    }
}

/// The months of a calendar as windows; the month of tick 0 is window 1.
#[derive(Clone, Debug)]
pub(super) struct Months {
    /// What the clocks of the place show at tick 0.
    local_ns: u128,
    /// The month of tick 0, counted from year 0.
    first: u64,
}

impl Months {
    /// Makes the months for a quota of about a month.
    pub(super) fn new(local_ns: u128, period_ns: u64) -> Result<Self, QuotaError> {
        if !(SHORTEST_MONTH_NS..=31 * DAY_NS).contains(&period_ns) {
            return Err(QuotaError::PeriodNotMonth { period_ns });
        }
        Ok(Self { local_ns, first: month_of((local_ns / u128::from(DAY_NS)) as u64) })
    }

    /// Finds a tick, given the window that a word was last charged in, or 0.
    #[inline(never)]
    pub(super) fn place(&self, charged: u64, now: Tick) -> Place {
        let now_ns = self.local_ns + u128::from(now.as_nanos());
        let present = month_of((now_ns / u128::from(DAY_NS)) as u64) - self.first + 1;
        let window = present.max(charged);
        let (start_ns, end_ns) = (self.start_ns(window), self.start_ns(window + 1));
        let lag_ns = start_ns.saturating_sub(now_ns);
        Place { window, rest_ns: (end_ns - now_ns - lag_ns) as u64, lag_ns: u64::try_from(lag_ns).unwrap_or(u64::MAX) }
    }

    /// Returns how long the `count` months after a window last.
    pub(super) fn span_ns(&self, window: u64, count: u64) -> u64 {
        // Ticks end before the year 10,000.
        let last = window.saturating_add(count).min(120_000);
        let span_ns = self.start_ns(last + 1).saturating_sub(self.start_ns(window + 1));
        u64::try_from(span_ns).unwrap_or(u64::MAX)
    }

    /// Returns when a window begins, as the clocks of the place show it.
    fn start_ns(&self, window: u64) -> u128 {
        u128::from(first_day_of(self.first + window - 1)) * u128::from(DAY_NS)
    }
}

/// Returns the month that a day lies in, counted from January of year 0; days are counted from the first of January 1570.
///
/// The calendar is Gregorian throughout. Years are counted from March here, so that a leap day ends its year.
fn month_of(day: u64) -> u64 {
    // From the first of March of year 0 on.
    let day = day + DAYS_TO_1570;
    let (century, in_centuries) = (day / u64::from(FOUR_CENTURIES_DAYS), day % u64::from(FOUR_CENTURIES_DAYS));
    let year_in = (in_centuries - in_centuries / 1_460 + in_centuries / 36_524 - in_centuries / 146_096) / 365;
    let in_year = in_centuries - (365 * year_in + year_in / 4 - year_in / 100);
    // March is month 2 when January is month 0: months since March are 153 days for each five.
    (century * 400 + year_in) * 12 + (5 * in_year + 2) / 153 + 2
}

/// The days from the first of March of year 0 to the first of January 1570.
const DAYS_TO_1570: u64 = 719_468 - 146_097;

/// Returns the first day of a month, counted as [`month_of`] does.
fn first_day_of(month: u64) -> u64 {
    let since_march = month - 2;
    let (year, month) = (since_march / 12, since_march % 12);
    let in_year = (153 * month + 2) / 5;
    365 * year + year / 4 - year / 100 + year / 400 + in_year - DAYS_TO_1570
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn months_begin_on_the_day_after_the_last_ends() {
        let lengths = |year: u64| {
            let first = year * 12;
            (first..first + 12).map(|month| first_day_of(month + 1) - first_day_of(month)).collect::<Vec<_>>()
        };
        assert_eq!(lengths(2023), [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);
        for (year, february) in [(1600, 29), (1900, 28), (2000, 29), (2024, 29), (2100, 28), (2400, 29)] {
            assert_eq!(lengths(year)[1], february, "{year}");
        }
        for month in 1570 * 12..2500 * 12 {
            let first = first_day_of(month);
            assert_eq!((month_of(first), month_of(first_day_of(month + 1) - 1)), (month, month));
        }
    }

    #[test]
    fn the_first_of_january_1970_is_where_the_epoch_is() {
        let local_ns = local_ns(0, Some(Duration::ZERO), Tick::ZERO).expect("no offset");
        assert_eq!(local_ns, u128::from(first_day_of(1970 * 12)) * u128::from(DAY_NS));
    }

    #[test]
    fn a_week_begins_on_monday() {
        // The fifth of January 1970 was a Monday.
        let monday = Duration::from_secs(4 * 86_400);
        let local_ns = local_ns(0, Some(monday), Tick::ZERO).expect("no offset");
        assert_eq!(phase_ns(local_ns, 7 * DAY_NS), Ok(0));
        assert_eq!(phase_ns(local_ns + 1, 7 * DAY_NS), Ok(1));
    }

    #[test]
    fn periods_that_no_wall_clock_has_are_refused() {
        let refused = |period_ns| phase_ns(0, period_ns).err();
        assert_eq!(refused(7_000_000_000), Some(QuotaError::PeriodNotAligned { period_ns: 7_000_000_000 }));
        assert_eq!(refused(2 * DAY_NS), Some(QuotaError::PeriodNotAligned { period_ns: 2 * DAY_NS }));
        assert_eq!(refused(DAY_NS / 96), None);
        assert_eq!(Months::new(0, DAY_NS).err(), Some(QuotaError::PeriodNotMonth { period_ns: DAY_NS }));
        assert_eq!(local_ns(100_000, None, Tick::ZERO).err(), Some(QuotaError::OffsetTooLarge { seconds: 100_000 }));
    }
}
