//! A count in a window: what fixed windows of every kind share.

use crate::algorithm::place::Place;
use crate::algorithm::{Ask, Pure, Step, taken_over};
use crate::clock::Tick;
use crate::decision::Decision;

/// An algorithm that counts what is spent in a window, and whose windows follow each other.
///
/// A count above the limit is a debt: each window that follows pays off as much as the limit.
pub trait Counted: Clone + Send + Sync + 'static {
    /// Returns a word other than 0 that says no more than 0 does.
    fn rested(&self) -> u64;

    /// Returns the most that is spent in a window.
    fn limit(&self) -> u64;

    /// Returns the highest count that a word can hold.
    fn highest(&self) -> u64;

    /// Returns where a tick lies as a word sees it, and what is spent there.
    fn read(&self, word: u64, now: Tick) -> (Place, u64);

    /// Returns where a tick lies for a key whose window opened as that of another quota says: there or, if windows have places
    /// of their own, in the window of the tick.
    fn place_from(&self, now: Tick, other: &Self, place: Place) -> Place;

    /// Returns the word for a window and a count.
    fn word(&self, place: Place, count: u64) -> u64;

    /// Returns the time until the end of the window so many after that of the tick; [`Decision::NEVER`] less one if
    /// it cannot be told.
    fn end_ns(&self, place: Place, further: u64) -> u64;
}

/// What a step of a window finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowVerdict {
    place: Place,
    /// How much is spent in the window, and in those after it in advance.
    count: u64,
    /// The time until the call passes: 0 if it did, [`Decision::NEVER`] if it cannot.
    wait_ns: u64,
}

/// Returns the time until so much is paid off that the count is at most `most`.
#[inline(always)]
fn paid_after_ns<C: Counted>(windows: &C, place: Place, count: u64, most: u64) -> u64 {
    let excess = count.saturating_sub(most);
    // Without a debt the end of the window is enough.
    let further = if excess <= windows.limit() { 0 } else { excess.div_ceil(windows.limit()) - 1 };
    windows.end_ns(place, further)
}

/// Returns the count once `cost`, which is not above the limit, is spent all in one window: this or a later one.
fn booked<C: Counted>(windows: &C, count: u64, cost: u64) -> u64 {
    let limit = windows.limit();
    let before = if count % limit + cost <= limit { count } else { count.next_multiple_of(limit) };
    before.saturating_add(cost)
}

impl<C: Counted> Pure for C {
    type Verdict = WindowVerdict;

    fn rested(&self) -> u64 {
        Counted::rested(self)
    }

    #[inline(always)]
    fn spend(&self, word: u64, now: Tick, cost: u64) -> Step<WindowVerdict> {
        let (place, count) = self.read(word, now);
        let keep = |wait_ns| Step::Keep(WindowVerdict { place, count, wait_ns });
        if cost == 0 {
            return keep(0);
        }
        let limit = self.limit();
        if cost > limit {
            return keep(Decision::NEVER);
        }
        if count + cost > limit {
            return keep(paid_after_ns(self, place, count, limit - cost));
        }
        let count = count + cost;
        Step::Set(self.word(place, count), WindowVerdict { place, count, wait_ns: 0 })
    }

    fn adjust(&self, word: u64, now: Tick, ask: Ask) -> Step<WindowVerdict> {
        let (place, count) = self.read(word, now);
        let keep = |wait_ns| Step::Keep(WindowVerdict { place, count, wait_ns });
        let set = |count| Step::Set(self.word(place, count), WindowVerdict { place, count, wait_ns: 0 });
        match ask {
            Ask::Charge(cost) if cost > 0 => set(count.saturating_add(cost).min(self.highest())),
            Ask::Refund(cost) if cost > 0 && count > 0 => set(count.saturating_sub(cost)),
            Ask::Reserve(cost, _) if cost > self.limit() => keep(Decision::NEVER),
            Ask::Reserve(cost, within_ns) if cost > 0 => {
                let booked = booked(self, count, cost);
                let delay_ns =
                    if booked <= self.limit() { 0 } else { paid_after_ns(self, place, booked, self.limit()) };
                if booked > self.highest() || delay_ns == Decision::NEVER - 1 {
                    keep(Decision::NEVER - 1)
                } else if delay_ns > within_ns {
                    keep(delay_ns - within_ns)
                } else {
                    set(booked)
                }
            }
            _ => keep(0),
        }
    }

    fn blocked(&self, wait_ns: u64) -> WindowVerdict {
        WindowVerdict { place: Place { window: 1, rest_ns: wait_ns, lag_ns: 0 }, count: self.limit(), wait_ns }
    }

    #[inline(always)]
    fn decision(&self, WindowVerdict { place, count, wait_ns }: WindowVerdict) -> Decision {
        let limit = self.limit();
        Decision {
            allowed: wait_ns == 0,
            limit,
            remaining: limit.saturating_sub(count),
            reset_after_ns: if count == 0 { 0 } else { paid_after_ns(self, place, count, 0) },
            wait_ns: if wait_ns == 0 && count > limit { paid_after_ns(self, place, count, limit) } else { wait_ns },
        }
    }

    fn convert(&self, word: u64, now: Tick, from: &Self) -> u64 {
        let (place, count) = from.read(word, now);
        let count = taken_over(count, from.limit(), self.limit()).min(self.highest());
        self.word(self.place_from(now, from, place), count)
    }

    #[inline]
    fn is_idle(&self, word: u64, now: Tick) -> bool {
        let (place, count) = self.read(word, now);
        // A word of a window to come says that time was there.
        count == 0 && place.lag_ns == 0
    }
}
