//! The calls that change what a key has spent, beside the checks.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use crate::algorithm::{Ask, Receipt};
use crate::clock::{Tick, saturating_nanos};
use crate::decision::Decision;
use crate::limiter::{Algorithm, Inner, Limiter, Reservation, Target};
use crate::table::{Guard, enter};

impl<K: Hash + ?Sized, A: Algorithm, S: BuildHasher> Limiter<K, A, S> {
    /// Gives back `cost` that the key has spent, such as that of a request that failed; returns what a look says
    /// afterwards.
    ///
    /// A key never has more than when it is fresh. Windows take what was spent last to be given back, of what they still
    /// count; so does a sliding log. A refund at the tick of its charge undoes it.
    ///
    /// # Cost
    ///
    /// As a check; for a sliding log it grows with the limit, because its ring is written anew.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert_eq!(limiter.check_n_at(&7, 4, Tick::ZERO).remaining(), 6);
    /// assert_eq!(limiter.refund_at(&7, 3, Tick::ZERO).remaining(), 9);
    /// assert_eq!(limiter.refund_at(&7, 3, Tick::ZERO).remaining(), 10);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn refund<Q: Hash + ?Sized>(&self, key: &Q, cost: u64) -> Decision
    where
        K: Borrow<Q>,
    {
        self.refund_at(key, cost, self.now())
    }

    /// Does what [`Limiter::refund`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// See [`Limiter::refund`].
    pub fn refund_at<Q: Hash + ?Sized>(&self, key: &Q, cost: u64, now: Tick) -> Decision
    where
        K: Borrow<Q>,
    {
        self.adjust(key, Ask::Refund(cost), now)
    }

    /// Spends `cost` whether or not it fits, such as that of a response that took more than was thought; returns what a
    /// look says afterwards, and with [`Decision::delay`] how long the key is in debt.
    ///
    /// Buckets remember a debt until their words count no further. A fixed window lets the windows after it pay it off,
    /// as far as the word has room: to at least the limit, and to three times the limit for
    /// [`OwnWindow`](crate::OwnWindow). A sliding counter weighs it as the next window's past. A sliding log holds no
    /// more than a full log: what is beyond the limit is forgotten.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/s".parse()?)?;
    /// assert_eq!(limiter.charge_at(&7, 25, Tick::ZERO).delay(), Duration::from_millis(1500));
    /// assert_eq!(limiter.check_at(&7, Tick::ZERO).retry_after(), Some(Duration::from_millis(1600)));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn charge<Q: Hash + ?Sized>(&self, key: &Q, cost: u64) -> Decision
    where
        K: Borrow<Q>,
    {
        self.charge_at(key, cost, self.now())
    }

    /// Does what [`Limiter::charge`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// See [`Limiter::charge`].
    pub fn charge_at<Q: Hash + ?Sized>(&self, key: &Q, cost: u64, now: Tick) -> Decision
    where
        K: Borrow<Q>,
    {
        self.adjust(key, Ask::Charge(cost), now)
    }

    /// Spends `cost` in advance, at the first moment at which it fits, if that comes within `within`: the caller goes on
    /// then, or cancels.
    ///
    /// # Errors
    ///
    /// The denial, if it does not fit within that time, with the time after which the same call would succeed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("1/min".parse()?)?;
    /// let first = limiter.reserve(&7, 1, Duration::ZERO).expect("a fresh key has room");
    /// assert_eq!(first.delay(), Duration::ZERO);
    /// first.cancel();
    /// let second = limiter.reserve(&7, 1, Duration::ZERO).expect("the first was given back");
    /// assert!(limiter.reserve(&7, 1, Duration::from_secs(5)).is_err());
    /// assert!(limiter.reserve(&7, 2, Duration::MAX).is_err_and(|denial| denial.retry_after().is_none()));
    /// # drop(second);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn reserve<Q: Hash + ?Sized>(
        &self,
        key: &Q,
        cost: u64,
        within: Duration,
    ) -> Result<Reservation<'_, A>, Decision>
    where
        K: Borrow<Q>,
    {
        self.reserve_at(key, cost, within, self.now())
    }

    /// Does what [`Limiter::reserve`] does, at a tick that the caller has read.
    ///
    /// # Errors
    ///
    /// As [`Limiter::reserve`].
    ///
    /// # Examples
    ///
    /// See [`Reservation`].
    pub fn reserve_at<Q: Hash + ?Sized>(
        &self,
        key: &Q,
        cost: u64,
        within: Duration,
        now: Tick,
    ) -> Result<Reservation<'_, A>, Decision>
    where
        K: Borrow<Q>,
    {
        let inner = &*self.inner;
        let id = inner.identity(key);
        let guard = enter();
        let reserved = inner.reserve(&guard, id, cost, within, now);
        inner.count(&guard, cost, reserved.as_ref().map_or_else(|denial| denial, |(decision, _)| decision));
        let (decision, receipt) = reserved?;
        Ok(Reservation::new(Target::Table(&inner.table, id), &inner.clock, receipt, decision.delay(), now))
    }

    /// Makes the key as good as new: gives back all it has spent, and lifts its block.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// let _ = limiter.check_n(&7, 10);
    /// limiter.block(&7, Duration::from_secs(60));
    /// limiter.reset(&7);
    /// assert_eq!(limiter.peek(&7).remaining(), 10);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn reset<Q: Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.reset_at(key, self.now());
    }

    /// Does what [`Limiter::reset`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// See [`Limiter::reset`].
    pub fn reset_at<Q: Hash + ?Sized>(&self, key: &Q, now: Tick)
    where
        K: Borrow<Q>,
    {
        let id = self.inner.identity(key);
        let guard = enter();
        let _ = self.inner.blocks.apply(&guard, id, now, Ask::Refund(u64::MAX));
        let _ = self.inner.table.apply(&guard, id, now, Ask::Refund(u64::MAX));
        // Whoever is woken may check at once, and guards do not nest.
        drop(guard);
        self.inner.nudge(id);
    }

    /// Denies the key whatever it asks for so long, or for as long as it is blocked already; tells whether there was
    /// room to remember it: there is for as many as the limiter holds keys.
    ///
    /// What the key has spent stays as it is. [`Limiter::reset`] lifts the block.
    ///
    /// # Cost
    ///
    /// As a check. While any key is blocked, each check looks for a block as well.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// let second = |s| Tick::ZERO + Duration::from_secs(s);
    /// assert!(limiter.block_at(&7, Duration::from_secs(900), second(0)));
    /// assert_eq!(limiter.check_at(&7, second(300)).retry_after(), Some(Duration::from_secs(600)));
    /// assert!(limiter.check_at(&8, second(300)).is_allowed());
    /// assert!(limiter.check_at(&7, second(900)).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn block<Q: Hash + ?Sized>(&self, key: &Q, span: Duration) -> bool
    where
        K: Borrow<Q>,
    {
        self.block_at(key, span, self.now())
    }

    /// Does what [`Limiter::block`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// See [`Limiter::block`].
    pub fn block_at<Q: Hash + ?Sized>(&self, key: &Q, span: Duration, now: Tick) -> bool
    where
        K: Borrow<Q>,
    {
        let id = self.inner.identity(key);
        let (guard, blocks) = (enter(), &self.inner.blocks);
        let answer = blocks.apply(&guard, id, now, Ask::Charge(saturating_nanos(span)));
        span.is_zero() || answer.decision().wait_ns > 0
    }

    /// Does what is asked of a key, and says what a look says afterwards.
    fn adjust<Q: Hash + ?Sized>(&self, key: &Q, ask: Ask, now: Tick) -> Decision
    where
        K: Borrow<Q>,
    {
        let id = self.inner.identity(key);
        let decision = self.inner.table.apply(&enter(), id, now, ask).decision();
        if let Ask::Refund(_) = ask {
            self.inner.nudge(id);
        }
        decision
    }
}

impl<A: Algorithm, S> Inner<A, S> {
    /// Reserves: returns what that led to, and what gives it back; or the denial.
    pub(super) fn reserve(
        &self,
        guard: &Guard,
        id: u64,
        cost: u64,
        within: Duration,
        now: Tick,
    ) -> Result<(Decision, Receipt), Decision> {
        if let Some(denial) = self.blocked(guard, id, now) {
            return Err(denial);
        }
        self.table.apply(guard, id, now, Ask::Reserve(cost, saturating_nanos(within))).reservation(cost)
    }
}
