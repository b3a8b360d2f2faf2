//! The limiter of one key, such as everybody together.

use std::fmt;
use std::sync::Arc;

use crate::algorithm::{LogOptions, SlidingLog, TokenBucket};
use crate::clock::{Clock, Tick};
use crate::count::Counts;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::limiter::{Algorithm, Stats};
use crate::quota::Quota;
use crate::table::{Cell, enter};

/// Limits all requests together to one quota, without locks.
///
/// A clone is another handle on the same limiter.
///
/// # Cost
///
/// A check reads the clock and swaps one word.
///
/// # Examples
///
/// ```
/// use tollgate::SingleLimiter;
///
/// let limiter: SingleLimiter = SingleLimiter::new("1000000/min".parse()?)?;
/// assert!(limiter.check().is_allowed());
/// assert_eq!(limiter.stats().allowed, 1);
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
pub struct SingleLimiter<A: Algorithm = TokenBucket> {
    inner: Arc<Inner<A>>,
}

/// What all handles on a limiter share.
struct Inner<A: Algorithm> {
    cell: Cell<A>,
    clock: Clock,
    counts: Counts,
    quota: Quota,
}

impl<A: Algorithm> SingleLimiter<A> {
    /// Makes a limiter with a precise clock.
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot hold is refused, with the reason.
    pub fn new(quota: Quota) -> Result<Self, QuotaError> {
        Self::builder(quota).build()
    }

    /// Begins to build a limiter.
    pub fn builder(quota: Quota) -> SingleBuilder<A> {
        SingleBuilder { quota, clock: None, options: A::Options::default() }
    }

    /// Asks whether a request may pass, and counts it if so.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, SlidingLog};
    ///
    /// let limiter: SingleLimiter<SlidingLog> = SingleLimiter::new("1/min".parse()?)?;
    /// assert!(limiter.check().is_allowed());
    /// assert!(!limiter.check().is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn check(&self) -> Decision {
        self.check_n_at(1, self.now())
    }

    /// Asks whether a request that costs `cost` may pass: all of it or nothing. A cost of zero only looks.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::SingleLimiter;
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// assert_eq!(limiter.check_n(4).remaining(), 5);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn check_n(&self, cost: u64) -> Decision {
        self.check_n_at(cost, self.now())
    }

    /// Does what [`SingleLimiter::check`] does, at a tick that the caller has read from the limiter's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// assert_eq!(limiter.check_at(Tick::ZERO).remaining(), 8);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn check_at(&self, now: Tick) -> Decision {
        self.check_n_at(1, now)
    }

    /// Does what [`SingleLimiter::check_n`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// assert_eq!(limiter.check_n_at(10, Tick::ZERO).retry_after(), None);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn check_n_at(&self, cost: u64, now: Tick) -> Decision {
        let guard = enter();
        let decision = self.inner.cell.check(&guard, now, cost);
        if cost > 0 {
            self.inner.counts.add(guard.thread_index(), decision.allowed);
        }
        decision
    }

    /// Looks without spending.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::SingleLimiter;
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// assert_eq!(limiter.peek().remaining(), 9);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn peek(&self) -> Decision {
        self.check_n_at(0, self.now())
    }

    /// Looks without spending, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// assert_eq!(limiter.peek_at(Tick::ZERO).remaining(), 9);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn peek_at(&self, now: Tick) -> Decision {
        self.check_n_at(0, now)
    }

    /// Reads the limiter's clock.
    #[inline(always)]
    pub fn now(&self) -> Tick {
        self.inner.clock.now()
    }

    /// Returns the quota.
    pub fn quota(&self) -> Quota {
        self.inner.quota
    }

    /// Returns what the limiter did; there is always one key, and nothing to evict.
    pub fn stats(&self) -> Stats {
        let (allowed, denied) = self.inner.counts.totals();
        let bytes = self.inner.cell.bytes() + self.inner.counts.bytes() + size_of::<Inner<A>>();
        Stats { allowed, denied, keys: 1, bytes: bytes as u64, ..Stats::default() }
    }
}

impl<A: Algorithm> Clone for SingleLimiter<A> {
    /// Makes another handle on the same limiter.
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<A: Algorithm> fmt::Debug for SingleLimiter<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleLimiter")
            .field("quota", &self.inner.quota)
            .field("clock", &self.inner.clock)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Builds a [`SingleLimiter`].
///
/// # Examples
///
/// ```
/// use tollgate::{Clock, SingleLimiter};
///
/// let limiter: SingleLimiter = SingleLimiter::builder("9/s".parse()?).clock(Clock::coarse()).build()?;
/// assert!(limiter.check().is_allowed());
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is limited before it is built"]
pub struct SingleBuilder<A: Algorithm> {
    quota: Quota,
    clock: Option<Clock>,
    options: A::Options,
}

impl<A: Algorithm> SingleBuilder<A> {
    /// Sets the clock.
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Builds the limiter.
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot hold is refused, with the reason.
    pub fn build(self) -> Result<SingleLimiter<A>, QuotaError> {
        let clock = self.clock.unwrap_or_default();
        let inner = Inner {
            cell: Cell::new(A::from_quota(&self.quota, self.options, clock.now())?),
            clock,
            counts: Counts::new(),
            quota: self.quota,
        };
        Ok(SingleLimiter { inner: Arc::new(inner) })
    }
}

impl SingleBuilder<SlidingLog> {
    /// Sets whether denied attempts count too.
    pub fn count_denied(self, is_on: bool) -> Self {
        Self { options: LogOptions { count_denied: is_on }, ..self }
    }
}
