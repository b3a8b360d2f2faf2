//! The checks: what spends, and what only looks.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use crate::clock::Tick;
use crate::decision::Decision;
use crate::limiter::{Algorithm, Limiter};
use crate::table::enter;

impl<K: Hash + ?Sized, A: Algorithm, S: BuildHasher> Limiter<K, A, S> {
    /// Asks whether a request of this key may pass, and counts it if so.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("1/min".parse()?)?;
    /// assert!(limiter.check(&7).is_allowed());
    /// assert!(!limiter.check(&7).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn check<Q: Hash + ?Sized>(&self, key: &Q) -> Decision
    where
        K: Borrow<Q>,
    {
        self.check_n_at(key, 1, self.now())
    }

    /// Asks whether a request that costs `cost` may pass: all of it or nothing. A cost of zero only looks.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert_eq!(limiter.check_n(&7, 4).remaining(), 6);
    /// assert!(!limiter.check_n(&7, 7).is_allowed());
    /// assert_eq!(limiter.check_n(&7, 11).retry_after(), None, "it can never pass");
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn check_n<Q: Hash + ?Sized>(&self, key: &Q, cost: u64) -> Decision
    where
        K: Borrow<Q>,
    {
        self.check_n_at(key, cost, self.now())
    }

    /// Does what [`Limiter::check`] does, at a tick that the caller has read from [`Limiter::now`] or the limiter's
    /// clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("1/min".parse()?)?;
    /// let now = limiter.now();
    /// assert!(limiter.check_at(&7, now).is_allowed());
    /// assert!(limiter.check_at(&8, now).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn check_at<Q: Hash + ?Sized>(&self, key: &Q, now: Tick) -> Decision
    where
        K: Borrow<Q>,
    {
        self.check_n_at(key, 1, now)
    }

    /// Does what [`Limiter::check_n`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert_eq!(limiter.check_n_at(&7, 10, Tick::ZERO).remaining(), 0);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn check_n_at<Q: Hash + ?Sized>(&self, key: &Q, cost: u64, now: Tick) -> Decision
    where
        K: Borrow<Q>,
    {
        let id = self.inner.identity(key);
        let guard = enter();
        self.inner.check(&guard, id, cost, now)
    }

    /// Takes as much of `most` as there is: returns how much was granted, and the decision about it. If nothing was
    /// left the decision is the denial of one.
    ///
    /// # Cost
    ///
    /// Two checks, and two more each time another thread spends of the same key in between.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert_eq!(limiter.check_up_to(&7, 8).0, 8);
    /// assert_eq!(limiter.check_up_to(&7, 8).0, 2);
    /// let (granted, decision) = limiter.check_up_to(&7, 8);
    /// assert_eq!((granted, decision.is_allowed()), (0, false));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn check_up_to<Q: Hash + ?Sized>(&self, key: &Q, most: u64) -> (u64, Decision)
    where
        K: Borrow<Q>,
    {
        self.check_up_to_at(key, most, self.now())
    }

    /// Does what [`Limiter::check_up_to`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert_eq!(limiter.check_up_to_at(&7, 80, Tick::ZERO).0, 10);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn check_up_to_at<Q: Hash + ?Sized>(&self, key: &Q, most: u64, now: Tick) -> (u64, Decision)
    where
        K: Borrow<Q>,
    {
        let id = self.inner.identity(key);
        let guard = enter();
        let (granted, cost, decision) = up_to(most, |cost| self.inner.decide(&guard, id, cost, now));
        self.inner.count(&guard, cost, &decision);
        (granted, decision)
    }

    /// Checks many keys, each as [`Limiter::check`] does and in their order: not all or nothing.
    ///
    /// The clock is read once, and what the keys need from memory is fetched for a batch of them at a time, so that the
    /// waits overlap.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("1/min".parse()?)?;
    /// let allowed: Vec<bool> = limiter.check_many(&[7, 8, 7]).iter().map(|decision| decision.is_allowed()).collect();
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn check_many<Q: Hash>(&self, keys: &[Q]) -> Vec<Decision>
    where
        K: Borrow<Q>,
    {
        self.check_many_at(keys, self.now())
    }

    /// Does what [`Limiter::check_many`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<String> = Limiter::new("1/min".parse()?)?;
    /// let decisions = limiter.check_many_at(&["a".to_owned(), "b".to_owned()], Tick::ZERO);
    /// assert!(decisions.iter().all(|decision| decision.is_allowed()));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn check_many_at<Q: Hash>(&self, keys: &[Q], now: Tick) -> Vec<Decision>
    where
        K: Borrow<Q>,
    {
        /// As many misses as a core has under way at a time, and some to spare.
        const BATCH: usize = 32;

        let mut decisions = Vec::with_capacity(keys.len());
        let mut ids = [0; BATCH];
        for batch in keys.chunks(BATCH) {
            for (id, key) in ids.iter_mut().zip(batch) {
                *id = self.inner.identity(key);
            }
            let guard = enter();
            let ids = &ids[..batch.len()];
            ids.iter().for_each(|id| self.inner.table.prefetch(&guard, *id));
            decisions.extend(ids.iter().map(|id| self.inner.check(&guard, *id, 1, now)));
        }
        decisions
    }

    /// Looks at a key without spending: what `check_n` of zero answers. It would be allowed one more request if
    /// [`Decision::remaining`] is not zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert_eq!(limiter.peek(&7).remaining(), 10);
    /// assert_eq!(limiter.peek(&7).remaining(), 10);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn peek<Q: Hash + ?Sized>(&self, key: &Q) -> Decision
    where
        K: Borrow<Q>,
    {
        self.check_n_at(key, 0, self.now())
    }

    /// Does what [`Limiter::peek`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert_eq!(limiter.peek_at(&7, Tick::ZERO).remaining(), 10);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn peek_at<Q: Hash + ?Sized>(&self, key: &Q, now: Tick) -> Decision
    where
        K: Borrow<Q>,
    {
        self.check_n_at(key, 0, now)
    }
}

/// Takes as much of `most` as there is: returns what was granted, what was asked for last, and the decision about that.
///
/// Each try asks for less than the one before, so that it ends whatever others do in between, and also where a look says
/// more than a check finds: a key for which there is no room.
pub(crate) fn up_to(most: u64, decide: impl Fn(u64) -> Decision) -> (u64, u64, Decision) {
    let mut left = decide(0).remaining();
    loop {
        // With nothing left, one is asked for: the answer says how long to wait.
        let cost = most.min(left.max(1));
        let decision = decide(cost);
        if decision.is_allowed() {
            return (cost, cost, decision);
        }
        if cost <= 1 {
            return (0, cost, decision);
        }
        left = decision.remaining().min(cost - 1);
    }
}
