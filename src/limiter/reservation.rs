//! What was reserved, and how it is given back.

use std::fmt;
use std::time::Duration;

use crate::algorithm::{Ask, Receipt};
use crate::clock::{Clock, Tick};
use crate::limiter::Algorithm;
use crate::table::{Cell, Table, enter};

/// A place in the future of a key, already spent: see [`Limiter::reserve`](crate::Limiter::reserve).
///
/// A reservation that is dropped stays spent.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limiter, Tick};
///
/// let limiter: Limiter<u64> = Limiter::new("1/s".parse()?)?;
/// let reserve = || limiter.reserve_at(&7, 1, Duration::from_secs(5), Tick::ZERO);
/// let (Ok(now), Ok(later)) = (reserve(), reserve()) else { panic!("both come within five seconds") };
/// assert_eq!((now.delay(), later.delay()), (Duration::ZERO, Duration::from_secs(1)));
/// later.cancel_at(Tick::ZERO);
/// assert!(reserve().is_ok_and(|again| again.delay() == Duration::from_secs(1)));
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[must_use = "what is reserved is spent, whether it is used or not"]
pub struct Reservation<'a, A: Algorithm> {
    target: Target<'a, A>,
    clock: &'a Clock,
    receipt: Receipt,
    due: Tick,
    delay: Duration,
}

/// Where a key's word is.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a, A: Algorithm> {
    /// In a table, by its identity.
    Table(&'a Table<A>, u64),
    /// In a cell.
    Cell(&'a Cell<A>),
}

impl<'a, A: Algorithm> Reservation<'a, A> {
    /// Makes a reservation of what was spent at `now`.
    pub(crate) fn new(target: Target<'a, A>, clock: &'a Clock, receipt: Receipt, delay: Duration, now: Tick) -> Self {
        Self { target, clock, receipt, due: now + delay, delay }
    }

    /// Returns the tick at which the request may pass.
    pub fn due(&self) -> Tick {
        self.due
    }

    /// Returns the time from the call that reserved to the tick at which the request may pass.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Gives back what was reserved. If the key was charged by others since, they reckoned with this reservation: then a
    /// word keeps it, and a sliding log gives back what this reservation alone held up.
    ///
    /// A log puts back the latest of the stamps whose places a reservation took, for each of them: a reservation of
    /// more than one may be given back a little late, never early.
    pub fn cancel(self) {
        let now = self.clock.now();
        self.cancel_at(now);
    }

    /// Does what [`Reservation::cancel`] does, at a tick that the caller has read.
    pub fn cancel_at(self, now: Tick) {
        let ask = Ask::Cancel(self.receipt);
        let guard = enter();
        match self.target {
            Target::Table(table, id) => drop(table.apply(&guard, id, now, ask)),
            Target::Cell(cell) => drop(cell.apply(&guard, now, ask)),
        }
    }
}

impl<A: Algorithm> fmt::Debug for Reservation<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("cost", &self.receipt.cost)
            .field("due", &self.due)
            .field("delay", &self.delay)
            .finish_non_exhaustive()
    }
}
