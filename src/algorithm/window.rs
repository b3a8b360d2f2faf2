//! Windows one after the other, and counts that share a word with a window's number.

use crate::algorithm::alignment::{Alignment, WindowOptions};
use crate::algorithm::calendar::{self, Months};
use crate::algorithm::place::Place;
use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// How a word is divided into the number of a window and counts.
///
/// Windows are numbered from 1, so that a word with a window in it is never 0.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    pub(super) limit: u64,
    pub(super) period_ns: u64,
    /// The bits of one count.
    pub(super) bits: u32,
    /// The highest count that they hold.
    pub(super) highest: u64,
    /// How long the first window had been open at tick 0.
    phase_ns: u64,
    /// The last window that the word can number, which does not end, if ticks go on for longer.
    last: Option<u64>,
    /// The last tick that is told apart from those after it.
    last_ns: u64,
    /// The calendar, if the windows are its months.
    months: Option<Months>,
}

impl Windows {
    /// The ticks that can be told apart at least: nine years of them.
    pub(super) const LEAST_NS: u64 = 1 << 58;

    /// Divides the word for a quota and so many counts up to its limit.
    pub(super) fn new(quota: &Quota, counts: u32, options: WindowOptions, start: Tick) -> Result<Self, QuotaError> {
        let (limit, period_ns) = (quota.limit(), quota.period_ns());
        if quota.burst() != limit {
            return Err(QuotaError::BurstWithoutBucket { burst: quota.burst(), limit });
        }
        let (phase_ns, months) = match options.alignment {
            Alignment::Start => (0, None),
            Alignment::WallClock { utc_offset_seconds } => {
                let local_ns = calendar::local_ns(utc_offset_seconds, options.tick_zero, start)?;
                (calendar::phase_ns(local_ns, period_ns)?, None)
            }
            Alignment::Month { utc_offset_seconds } => {
                let local_ns = calendar::local_ns(utc_offset_seconds, options.tick_zero, start)?;
                (0, Some(Months::new(local_ns, period_ns)?))
            }
        };
        // A month of 28 days is counted on the safe side. What a word has to spare goes to the counts, for debts.
        let shortest_ns = if months.is_some() { calendar::SHORTEST_MONTH_NS } else { period_ns };
        let windows = |ns: u64| ns.saturating_add(phase_ns) / shortest_ns + 2;
        let room = 63 - width(windows(Self::LEAST_NS));
        if width(limit) > room / counts {
            return Err(QuotaError::LimitTooLarge { limit, most: (1 << (room / counts)) - 1 });
        }
        let bits = (63_u32.saturating_sub(width(windows(Tick::MAX.as_nanos()))) / counts).max(width(limit));
        let numbers = (1 << (63 - counts * bits)) - 1;
        let last = (numbers < windows(Tick::MAX.as_nanos()) - 1).then_some(numbers);
        let last_ns = last.map_or(Tick::MAX.as_nanos(), |last| last * period_ns - phase_ns - 1);
        Ok(Self { limit, period_ns, bits, highest: (1 << bits) - 1, phase_ns, last, last_ns, months })
    }

    /// Finds a tick, given the window that a word was last charged in, or 0: never before that.
    #[inline(always)]
    pub(super) fn place(&self, charged: u64, now: Tick) -> Place {
        if let Some(months) = &self.months {
            return months.place(charged, now);
        }
        let now_ns = now.as_nanos().min(self.last_ns) + self.phase_ns;
        let start_ns = charged.saturating_sub(1) * self.period_ns;
        if charged > 0 && now_ns < start_ns {
            return Place { window: charged, rest_ns: self.period_ns, lag_ns: start_ns - now_ns };
        }
        let into_ns = now_ns - start_ns;
        // Most checks meet a word of the present window: they need no division.
        let (window, into_ns) = if charged > 0 && into_ns < self.period_ns {
            (charged, into_ns)
        } else {
            (now_ns / self.period_ns + 1, now_ns % self.period_ns)
        };
        Place { window, rest_ns: self.period_ns - into_ns, lag_ns: 0 }
    }

    /// Returns the time until the end of the window so many after that of the tick; [`Decision::NEVER`] less one if
    /// there is no such window.
    #[inline(always)]
    pub(super) fn end_ns(&self, place: Place, further: u64) -> u64 {
        if self.last.is_some_and(|last| place.window.saturating_add(further) >= last) {
            return Decision::NEVER - 1;
        }
        let more_ns = match (further, &self.months) {
            (0, _) => 0,
            (_, None) => further.saturating_mul(self.period_ns),
            (_, Some(months)) => months.span_ns(place.window, further),
        };
        place.rest_ns.saturating_add(place.lag_ns).saturating_add(more_ns).min(Decision::NEVER - 1)
    }

    /// Tells whether a window is one in which nothing comes back any more, because no other can be numbered.
    #[inline(always)]
    pub(super) fn is_last(&self, window: u64) -> bool {
        Some(window) == self.last
    }

    /// Tells whether a word can tell this window from those before it.
    pub(super) fn can_number(&self, window: u64) -> bool {
        self.last.is_none_or(|last| window <= last)
    }

    /// Returns the lowest of the counts in a word, and the word without it.
    #[inline(always)]
    pub(super) fn split(&self, word: u64) -> (u64, u64) {
        (word & self.highest, word >> self.bits)
    }
}

/// Returns the bits that a number takes.
pub(super) fn width(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Divides a word.
    fn windows(quota: &str, counts: u32) -> Result<Windows, QuotaError> {
        Windows::new(&quota.parse().expect(quota), counts, WindowOptions::default(), Tick::ZERO)
    }

    #[test]
    fn a_limit_that_leaves_no_room_for_nine_years_is_refused() {
        for (quota, counts, most) in [
            ("5/ns", 2, 3),
            ("32/ns", 1, 15),
            ("262144/s", 2, 131_071),
            ("2000000/min", 2, 1_048_575),
            ("20000000000/s", 1, (1 << 34) - 1),
        ] {
            let refused = windows(quota, counts).err();
            assert!(matches!(refused, Some(QuotaError::LimitTooLarge { most: m, .. }) if m == most), "{refused:?}");
            let period = quota.split_once('/').expect("a notation").1;
            assert!(windows(&format!("{most}/{period}"), counts).is_ok(), "{most}/{period}");
        }
        let refused = windows("5/s burst 6", 1).err();
        assert_eq!(refused, Some(QuotaError::BurstWithoutBucket { burst: 6, limit: 5 }));
    }

    #[test]
    fn every_tick_has_its_window() {
        let windows = windows("3/10ns", 1).expect("a sound quota");
        let place = |charged, now| windows.place(charged, Tick::from_nanos(now));
        for charged in [0, 1, 3] {
            assert_eq!(place(charged, 25), Place { window: 3, rest_ns: 5, lag_ns: 0 });
            assert_eq!(place(charged, 30), Place { window: 4, rest_ns: 10, lag_ns: 0 });
        }
        assert_eq!(place(3, 12), Place { window: 3, rest_ns: 10, lag_ns: 8 });
        let last = place(0, Tick::MAX.as_nanos());
        assert!(!windows.is_last(last.window) && last.window >> 61 == 0, "{last:?} leaves two bits for the count");
    }

    #[test]
    fn the_last_window_that_can_be_numbered_does_not_end() {
        let windows = windows("15/ns", 1).expect("a sound quota");
        let place = |now| windows.place(0, Tick::from_nanos(now)).window;
        let last = (1 << 59) - 1;
        assert_eq!([place(last - 2), place(last - 1), place(last), place(u64::MAX >> 1)], [last - 1, last, last, last]);
        assert!(windows.is_last(last) && !windows.is_last(last - 1));
    }

    #[test]
    fn a_period_longer_than_ticks_has_one_window() {
        let quota = Quota::new(7, std::time::Duration::from_nanos(u64::MAX)).expect("a sound quota");
        let windows = Windows::new(&quota, 2, WindowOptions::default(), Tick::ZERO).expect("room enough");
        for now in [Tick::ZERO, Tick::MAX] {
            let place = windows.place(1, now);
            assert_eq!(place, Place { window: 1, rest_ns: u64::MAX - now.as_nanos(), lag_ns: 0 });
            assert!(!windows.is_last(place.window));
        }
    }
}
