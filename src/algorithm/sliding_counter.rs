//! The sliding window counter: two windows, the older one weighed by how much of it is still in sight.

use std::time::Duration;

use crate::algorithm::alignment::WindowOptions;
use crate::algorithm::place::Place;
use crate::algorithm::window::Windows;
use crate::algorithm::{Ask, Pure, Step, taken_over};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::quota::Quota;

/// The sliding window counter: the count of this window, and that of the window before in proportion to the part of
/// it that lies within the last period.
///
/// It estimates the sliding log from one word, as if the calls of the last window had come evenly spread. That is how
/// edge networks count (Cloudflare, "How we built rate limiting capable of scaling to millions of domains", 2017). If
/// the calls came otherwise, up to `2 limit - 1` pass in a period in the worst case, or fewer than `limit`. The
/// weights are exact fractions, nothing is rounded in anybody's favour.
///
/// The word holds the number of a window and two counts, for nine years of the clock or more; in the last window
/// nothing comes back any more.
///
/// # Cost
///
/// As the token bucket, and one division for what remains.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limiter, SlidingCounter, Tick};
///
/// let limiter: Limiter<u64, SlidingCounter> = Limiter::new("10/10s".parse()?)?;
/// let second = |s| Tick::ZERO + Duration::from_secs(s);
/// assert!(limiter.check_n_at(&7, 10, second(0)).is_allowed());
/// // Half of the first window is out of sight.
/// assert_eq!(limiter.peek_at(&7, second(15)).remaining(), 5);
/// assert_eq!(limiter.check_n_at(&7, 6, second(15)).retry_after(), Some(Duration::from_secs(1)));
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SlidingCounter {
    windows: Windows,
}

/// The counts that matter at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    place: Place,
    before: u64,
    current: u64,
}

impl SlidingCounter {
    /// Works out the constants of a quota.
    pub(crate) fn new(quota: &Quota) -> Result<Self, QuotaError> {
        Ok(Self { windows: Windows::new(quota, 2, WindowOptions::default(), Tick::ZERO)? })
    }

    /// Returns where a tick lies, and the counts that matter there.
    #[inline(always)]
    fn read(&self, word: u64, now: Tick) -> Counts {
        let (current, upper) = self.windows.split(word);
        let (before, charged) = self.windows.split(upper);
        let place = self.windows.place(charged, now);
        let (before, current) = match place.window - charged {
            0 => (before, current),
            1 => (current, 0),
            _ => (0, 0),
        };
        Counts { place, before, current }
    }

    /// Returns the time until a denied cost within the limit passes.
    fn wait_ns(&self, Counts { place, before, current }: Counts, cost: u64) -> u64 {
        if self.windows.is_last(place.window) {
            return Decision::NEVER - 1;
        }
        let period_ns = self.windows.period_ns;
        let room = self.windows.limit - cost;
        // What is left of the window after a count's own when so little of it is in sight that it fits.
        let left_ns = |count: u64, fits: u64| match fits.checked_mul(period_ns) {
            Some(product) => (product / count.max(1)).min(period_ns),
            None => (u128::from(fits) * u128::from(period_ns) / u128::from(count.max(1))).min(period_ns.into()) as u64,
        };
        let wait_ns = if current <= room {
            place.rest_ns.saturating_sub(left_ns(before, room - current))
        } else {
            (period_ns - left_ns(current, room)).saturating_add(place.rest_ns)
        };
        wait_ns.saturating_add(place.lag_ns).min(Decision::NEVER - 1)
    }
}

/// What a step of a counter finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterVerdict {
    counts: Counts,
    /// The time until the call passes: 0 if it did, [`Decision::NEVER`] if it cannot.
    wait_ns: u64,
    /// The time until what was allowed is due.
    delay_ns: u64,
}

impl SlidingCounter {
    /// Tells whether a cost fits beside what is counted.
    #[inline(always)]
    fn fits(&self, Counts { place, before, current }: Counts, cost: u64) -> bool {
        match self.windows.limit.checked_sub(current.saturating_add(cost)) {
            Some(room) => {
                u128::from(before) * u128::from(place.rest_ns) <= u128::from(room) * u128::from(self.windows.period_ns)
            }
            None => false,
        }
    }

    /// Returns how much of the count of the window before is in sight, rounded up.
    #[inline(always)]
    fn in_sight(&self, place: Place, before: u64) -> u64 {
        let period_ns = self.windows.period_ns;
        match before.checked_mul(place.rest_ns) {
            Some(product) => product.div_ceil(period_ns),
            // At most `before`, because the rest is at most the period.
            None => (u128::from(before) * u128::from(place.rest_ns)).div_ceil(u128::from(period_ns)) as u64,
        }
    }

    /// Returns the word for some counts.
    #[inline(always)]
    fn word(&self, Counts { place, before, current }: Counts) -> u64 {
        (place.window << self.windows.bits | before) << self.windows.bits | current
    }

    /// Looks: says how long until a debt is paid off.
    fn look(&self, counts: Counts) -> CounterVerdict {
        let delay_ns = if self.fits(counts, 0) { 0 } else { self.wait_ns(counts, 0) };
        CounterVerdict { counts, wait_ns: 0, delay_ns }
    }

    /// Returns the counts once a cost is spent so much later, when it fits; `None` if no word can tell that window.
    fn booked(&self, counts: Counts, cost: u64, delay_ns: u64) -> Option<Counts> {
        let Counts { place, before, current } = counts;
        let period_ns = self.windows.period_ns;
        let Some(after_ns) = delay_ns.saturating_sub(place.lag_ns).checked_sub(place.rest_ns) else {
            return Some(Counts { place, before, current: current + cost });
        };
        let lag_ns = place.lag_ns.saturating_add(place.rest_ns);
        let (further, before, lag_ns) =
            if after_ns < period_ns { (1, current, lag_ns) } else { (2, 0, lag_ns.saturating_add(period_ns)) };
        let window = place.window + further;
        let place = Place { window, rest_ns: period_ns, lag_ns };
        self.windows.can_number(window).then_some(Counts { place, before, current: cost })
    }

    /// Spends at the first moment at which the cost fits.
    fn reserve(&self, counts: Counts, cost: u64, within_ns: u64) -> Step<CounterVerdict> {
        let keep = |wait_ns| Step::Keep(CounterVerdict { counts, wait_ns, delay_ns: 0 });
        let delay_ns = match self.fits(counts, cost) {
            true => 0,
            false => self.wait_ns(counts, cost),
        };
        match self.booked(counts, cost, delay_ns) {
            Some(_) if delay_ns == Decision::NEVER - 1 => keep(delay_ns),
            Some(_) if delay_ns > within_ns => keep(delay_ns - within_ns),
            Some(counts) => Step::Set(self.word(counts), CounterVerdict { counts, wait_ns: 0, delay_ns }),
            None => keep(Decision::NEVER - 1),
        }
    }
}

impl Pure for SlidingCounter {
    type Verdict = CounterVerdict;

    fn rested(&self) -> u64 {
        1 << (2 * self.windows.bits)
    }

    #[inline(always)]
    fn spend(&self, word: u64, now: Tick, cost: u64) -> Step<CounterVerdict> {
        let counts = self.read(word, now);
        let keep = |wait_ns| Step::Keep(CounterVerdict { counts, wait_ns, delay_ns: 0 });
        if cost == 0 {
            return Step::Keep(self.look(counts));
        }
        if cost > self.windows.limit {
            return keep(Decision::NEVER);
        }
        if !self.fits(counts, cost) {
            return keep(self.wait_ns(counts, cost));
        }
        let counts = Counts { current: counts.current + cost, ..counts };
        Step::Set(self.word(counts), CounterVerdict { counts, wait_ns: 0, delay_ns: 0 })
    }

    fn adjust(&self, word: u64, now: Tick, ask: Ask) -> Step<CounterVerdict> {
        let counts = self.read(word, now);
        let set = |counts| Step::Set(self.word(counts), self.look(counts));
        match ask {
            Ask::Charge(cost) if cost > 0 => {
                let current = counts.current.saturating_add(cost).min(self.windows.highest);
                set(Counts { current, ..counts })
            }
            // What was spent last comes back first.
            Ask::Refund(cost) if cost > 0 && (counts.current > 0 || counts.before > 0) => {
                let current = counts.current.saturating_sub(cost);
                let before = counts.before.saturating_sub(cost - (counts.current - current));
                set(Counts { before, current, ..counts })
            }
            Ask::Reserve(cost, _) if cost > self.windows.limit => {
                Step::Keep(CounterVerdict { counts, wait_ns: Decision::NEVER, delay_ns: 0 })
            }
            Ask::Reserve(cost, within_ns) if cost > 0 => self.reserve(counts, cost, within_ns),
            _ => Step::Keep(self.look(counts)),
        }
    }

    fn blocked(&self, wait_ns: u64) -> CounterVerdict {
        let place = Place { window: 1, rest_ns: wait_ns, lag_ns: 0 };
        CounterVerdict { counts: Counts { place, before: 0, current: self.windows.limit }, wait_ns, delay_ns: 0 }
    }

    #[inline(always)]
    fn decision(&self, CounterVerdict { counts, wait_ns, delay_ns }: CounterVerdict) -> Decision {
        let Counts { place, before, current } = counts;
        let Windows { limit, period_ns, .. } = self.windows;
        let in_sight = self.in_sight(place, before);
        let end_ns = place.rest_ns.saturating_add(place.lag_ns);
        let reset_after_ns = match (before, current) {
            (0, 0) => 0,
            _ if self.windows.is_last(place.window) => Decision::NEVER - 1,
            (_, 0) => end_ns,
            _ => end_ns.saturating_add(period_ns),
        };
        Decision {
            allowed: wait_ns == 0,
            limit,
            remaining: limit.saturating_sub(current).saturating_sub(in_sight),
            reset_after_ns: reset_after_ns.min(Decision::NEVER - 1),
            wait_ns: if wait_ns == 0 { delay_ns } else { wait_ns },
        }
    }

    fn convert(&self, word: u64, now: Tick, from: &Self) -> u64 {
        let Counts { place, before, current } = from.read(word, now);
        let taken = |count| taken_over(count, from.windows.limit, self.windows.limit).min(self.windows.highest);
        if from.windows.period_ns == self.windows.period_ns {
            return self.word(Counts { place, before: taken(before), current: taken(current) });
        }
        // The windows lie elsewhere: what is in sight counts as spent now.
        let in_sight = from.in_sight(place, before).saturating_add(current);
        self.word(Counts {
            place: self.windows.place(0, now + Duration::from_nanos(place.lag_ns)),
            before: 0,
            current: taken(in_sight),
        })
    }

    #[inline]
    fn is_idle(&self, word: u64, now: Tick) -> bool {
        let Counts { place, before, current } = self.read(word, now);
        // A word of a window to come says that time was there.
        before == 0 && current == 0 && place.lag_ns == 0
    }
}
