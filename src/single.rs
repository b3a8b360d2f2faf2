//! The limiter of one key, such as everybody together.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::algorithm::{
    Alignment, Ask, Block, BucketOptions, FixedWindow, LeakyBucket, LeakyOptions, LogOptions, Receipt, SlidingLog,
    TokenBucket, WindowOptions,
};
use crate::clock::{Clock, Tick, saturating_nanos};
use crate::count::Counts;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::limiter::{Algorithm, Reservation, Settings, Stats, Target, block_denial, up_to};
use crate::quota::Quota;
use crate::table::{Cell, Guard, enter};
#[cfg(feature = "async")]
use crate::wait::{Ready, Turn, WaitError, WaitOptions, Waiters};

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
    block: Cell<Block>,
    clock: Clock,
    counts: Counts,
    settings: Settings<A>,
    #[cfg(feature = "async")]
    waiters: Waiters,
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
        let decision = self.inner.decide(&guard, now, cost);
        self.inner.count(&guard, cost, &decision);
        decision
    }

    /// Takes as much of `most` as there is: returns how much was granted, and the decision about it. If nothing was
    /// left the decision is the denial of one.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::SingleLimiter;
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// assert_eq!(limiter.check_up_to(80).0, 9);
    /// let (granted, decision) = limiter.check_up_to(80);
    /// assert_eq!((granted, decision.is_allowed()), (0, false));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn check_up_to(&self, most: u64) -> (u64, Decision) {
        self.check_up_to_at(most, self.now())
    }

    /// Does what [`SingleLimiter::check_up_to`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// assert_eq!(limiter.check_up_to_at(4, Tick::ZERO).0, 4);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn check_up_to_at(&self, most: u64, now: Tick) -> (u64, Decision) {
        let guard = enter();
        let (granted, cost, decision) = up_to(most, |cost| self.inner.decide(&guard, now, cost));
        self.inner.count(&guard, cost, &decision);
        (granted, decision)
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

    /// Gives back `cost` that was spent; returns what a look says afterwards. See
    /// [`Limiter::refund`](crate::Limiter::refund).
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::SingleLimiter;
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/hour".parse()?)?;
    /// assert_eq!(limiter.check_n(9).remaining(), 0);
    /// assert_eq!(limiter.refund(4).remaining(), 4);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn refund(&self, cost: u64) -> Decision {
        self.refund_at(cost, self.now())
    }

    /// Does what [`SingleLimiter::refund`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// assert_eq!(limiter.refund_at(4, Tick::ZERO).remaining(), 9, "a key is never more than full");
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn refund_at(&self, cost: u64, now: Tick) -> Decision {
        self.inner.adjust(Ask::Refund(cost), now)
    }

    /// Spends `cost` whether or not it fits; returns what a look says afterwards, and with [`Decision::delay`] how long
    /// the limiter is in debt. See [`Limiter::charge`](crate::Limiter::charge).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{SingleLimiter, SlidingCounter};
    ///
    /// let limiter: SingleLimiter<SlidingCounter> = SingleLimiter::new("9/hour".parse()?)?;
    /// assert!(limiter.charge(30).delay() > Duration::ZERO);
    /// assert!(!limiter.check().is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn charge(&self, cost: u64) -> Decision {
        self.charge_at(cost, self.now())
    }

    /// Does what [`SingleLimiter::charge`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("10/s".parse()?)?;
    /// assert_eq!(limiter.charge_at(25, Tick::ZERO).delay(), Duration::from_millis(1500));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn charge_at(&self, cost: u64, now: Tick) -> Decision {
        self.inner.adjust(Ask::Charge(cost), now)
    }

    /// Spends `cost` in advance, at the first moment at which it fits, if that comes within `within`. See
    /// [`Limiter::reserve`](crate::Limiter::reserve).
    ///
    /// # Errors
    ///
    /// The denial, if it does not fit within that time, with the time after which the same call would succeed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::SingleLimiter;
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("1/min".parse()?)?;
    /// let first = limiter.reserve(1, Duration::ZERO).expect("nothing is spent yet");
    /// assert!(limiter.reserve(1, Duration::from_secs(5)).is_err());
    /// first.cancel();
    /// assert!(limiter.check().is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn reserve(&self, cost: u64, within: Duration) -> Result<Reservation<'_, A>, Decision> {
        self.reserve_at(cost, within, self.now())
    }

    /// Does what [`SingleLimiter::reserve`] does, at a tick that the caller has read.
    ///
    /// # Errors
    ///
    /// As [`SingleLimiter::reserve`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("1/min".parse()?)?;
    /// let reserve = || limiter.reserve_at(1, Duration::MAX, Tick::ZERO);
    /// let delays = [reserve(), reserve()].map(|reserved| reserved.expect("it may wait for ever").delay());
    /// assert_eq!(delays, [Duration::ZERO, Duration::from_secs(60)]);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn reserve_at(&self, cost: u64, within: Duration, now: Tick) -> Result<Reservation<'_, A>, Decision> {
        let inner = &*self.inner;
        let guard = enter();
        let reserved = inner.reserve(&guard, cost, within, now);
        inner.count(&guard, cost, reserved.as_ref().map_or_else(|denial| denial, |(decision, _)| decision));
        let (decision, receipt) = reserved?;
        Ok(Reservation::new(Target::Cell(&inner.cell), &inner.clock, receipt, decision.delay(), now))
    }

    /// Makes the limiter as good as new: gives back all that was spent, and lifts a block.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::SingleLimiter;
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// let _ = limiter.check_n(9);
    /// limiter.block(Duration::from_secs(60));
    /// limiter.reset();
    /// assert_eq!(limiter.peek().remaining(), 9);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn reset(&self) {
        self.reset_at(self.now());
    }

    /// Does what [`SingleLimiter::reset`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// let _ = limiter.charge_at(u64::MAX, Tick::ZERO);
    /// limiter.reset_at(Tick::ZERO);
    /// assert_eq!(limiter.peek_at(Tick::ZERO).remaining(), 9);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn reset_at(&self, now: Tick) {
        let guard = enter();
        let _ = self.inner.block.apply(&guard, now, Ask::Refund(u64::MAX));
        let _ = self.inner.cell.apply(&guard, now, Ask::Refund(u64::MAX));
        // Whoever is woken may check at once, and guards do not nest.
        drop(guard);
        self.inner.nudge();
    }

    /// Denies everything for so long, or for as long as it is denied already. What was spent stays as it is;
    /// [`SingleLimiter::reset`] lifts the block.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::SingleLimiter;
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// limiter.block(Duration::from_secs(900));
    /// assert!(limiter.check().retry_after() > Some(Duration::from_secs(800)));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn block(&self, span: Duration) {
        self.block_at(span, self.now());
    }

    /// Does what [`SingleLimiter::block`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("9/min".parse()?)?;
    /// limiter.block_at(Duration::from_secs(9), Tick::ZERO);
    /// assert!(!limiter.check_at(Tick::ZERO + Duration::from_secs(8)).is_allowed());
    /// assert!(limiter.check_at(Tick::ZERO + Duration::from_secs(9)).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn block_at(&self, span: Duration, now: Tick) {
        let _ = self.inner.block.apply(&enter(), now, Ask::Charge(saturating_nanos(span)));
    }

    /// Reads the limiter's clock.
    #[inline(always)]
    pub fn now(&self) -> Tick {
        self.inner.clock.now()
    }

    /// Returns the quota.
    pub fn quota(&self) -> Quota {
        self.inner.settings.quota()
    }

    /// Changes the quota while the limiter is at work; see [`Limiter::set_quota`](crate::Limiter::set_quota).
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot hold is refused, with the reason, and nothing changes.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, SlidingLog, Tick};
    ///
    /// let limiter: SingleLimiter<SlidingLog> = SingleLimiter::new("10/min".parse()?)?;
    /// assert!(limiter.check_n_at(10, Tick::ZERO).is_allowed());
    /// limiter.set_quota("12/min".parse()?)?;
    /// assert_eq!(limiter.peek_at(Tick::ZERO).remaining(), 2);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn set_quota(&self, quota: Quota) -> Result<(), QuotaError> {
        self.set_quota_at(quota, self.now())
    }

    /// Does what [`SingleLimiter::set_quota`] does, at a tick that the caller has read.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter = SingleLimiter::new("10/min".parse()?)?;
    /// limiter.set_quota_at("5/min".parse()?, Tick::ZERO)?;
    /// assert_eq!(limiter.peek_at(Tick::ZERO).limit(), 5);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn set_quota_at(&self, quota: Quota, now: Tick) -> Result<(), QuotaError> {
        self.inner.settings.change(quota, now, |algorithm| self.inner.cell.change(algorithm, now))?;
        self.inner.nudge();
        Ok(())
    }

    /// Returns what the limiter did; there is always one key, and nothing to evict.
    pub fn stats(&self) -> Stats {
        let (allowed, denied) = self.inner.counts.totals();
        let bytes = self.inner.cell.bytes() + self.inner.counts.bytes() + size_of::<Inner<A>>();
        Stats { allowed, denied, keys: 1, bytes: bytes as u64, ..Stats::default() }
    }
}

impl<A: Algorithm> Inner<A> {
    /// Decides about one check.
    #[inline(always)]
    fn decide(&self, guard: &Guard, now: Tick, cost: u64) -> Decision {
        match self.blocked(guard, now) {
            Some(denial) => denial,
            None => self.cell.check(guard, now, cost),
        }
    }

    /// Returns the denial of what is blocked. Where nothing ever was, it costs one look at a word.
    #[inline(always)]
    fn blocked(&self, guard: &Guard, now: Tick) -> Option<Decision> {
        if self.block.is_unused() { None } else { self.denial(guard, now) }
    }

    /// Looks whether there is a block.
    #[inline(never)]
    fn denial(&self, guard: &Guard, now: Tick) -> Option<Decision> {
        block_denial(self.cell.algorithm(guard), self.block.check(guard, now, 0).wait_ns)
    }

    /// Counts a decision about anything but a look.
    #[inline(always)]
    fn count(&self, guard: &Guard, cost: u64, decision: &Decision) {
        if cost > 0 {
            self.counts.add(guard.thread_index(), decision.allowed);
        }
    }

    /// Does what is asked, and says what a look says afterwards.
    fn adjust(&self, ask: Ask, now: Tick) -> Decision {
        let decision = self.cell.apply(&enter(), now, ask).decision();
        if let Ask::Refund(_) = ask {
            self.nudge();
        }
        decision
    }

    /// Reserves: returns what that led to, and what gives it back; or the denial.
    fn reserve(&self, guard: &Guard, cost: u64, within: Duration, now: Tick) -> Result<(Decision, Receipt), Decision> {
        if let Some(denial) = self.blocked(guard, now) {
            return Err(denial);
        }
        self.cell.apply(guard, now, Ask::Reserve(cost, saturating_nanos(within))).reservation(cost)
    }

    /// Has whoever waits look again.
    fn nudge(&self) {
        #[cfg(feature = "async")]
        self.waiters.nudge(Everybody::<A>::ID);
    }
}

#[cfg(feature = "async")]
impl<A: Algorithm> SingleLimiter<A> {
    /// Waits until a request passes, and counts it then. See [`Limiter::until_ready`](crate::Limiter::until_ready).
    ///
    /// # Errors
    ///
    /// [`WaitError::TooManyWaiters`] if 65,536 wait already.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::SingleLimiter;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter: SingleLimiter = SingleLimiter::new("1/10ms".parse()?)?;
    /// limiter.until_ready().await?;
    /// limiter.until_ready().await?;
    /// assert_eq!(limiter.stats().allowed, 2);
    /// # Ok(()) }
    /// ```
    pub fn until_ready(&self) -> impl Future<Output = Result<(), WaitError>> + Send + 'static + use<A> {
        self.until_ready_with(1, WaitOptions::new())
    }

    /// Does what [`SingleLimiter::until_ready`] does for a request that costs `cost`, with a time to give up and a
    /// jitter.
    ///
    /// # Errors
    ///
    /// As [`Limiter::until_ready_with`](crate::Limiter::until_ready_with).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{SingleLimiter, WaitError, WaitOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tollgate::QuotaError> {
    /// let limiter: SingleLimiter = SingleLimiter::new("1/hour".parse()?)?;
    /// let soon = WaitOptions::new().within(Duration::from_secs(1));
    /// assert!(limiter.until_ready_with(1, soon).await.is_ok());
    /// assert_eq!(limiter.until_ready_with(1, soon).await, Err(WaitError::TooLate));
    /// # Ok(()) }
    /// ```
    pub fn until_ready_with(
        &self,
        cost: u64,
        options: WaitOptions,
    ) -> impl Future<Output = Result<(), WaitError>> + Send + 'static + use<A> {
        Ready::new(Everybody { inner: Arc::clone(&self.inner) }, cost, options)
    }
}

/// The only key there is.
#[cfg(feature = "async")]
struct Everybody<A: Algorithm> {
    inner: Arc<Inner<A>>,
}

#[cfg(feature = "async")]
impl<A: Algorithm> Everybody<A> {
    /// Its identity among those who wait.
    const ID: u64 = 0;
}

#[cfg(feature = "async")]
impl<A: Algorithm> Turn for Everybody<A> {
    fn waiters(&self) -> &Waiters {
        &self.inner.waiters
    }

    fn id(&self) -> u64 {
        Self::ID
    }

    fn now(&self) -> Tick {
        self.inner.clock.now()
    }

    fn try_now(&self, cost: u64, now: Tick) -> Decision {
        let reserved = self.inner.reserve(&enter(), cost, Duration::ZERO, now);
        reserved.map_or_else(|denial| denial, |(decision, _)| decision)
    }

    fn count(&self, cost: u64, is_allowed: bool) {
        if cost > 0 {
            self.inner.counts.add(enter().thread_index(), is_allowed);
        }
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
            .field("quota", &self.inner.settings)
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
        let (algorithm, settings) = Settings::new(self.quota, self.options, clock.now())?;
        let inner = Inner {
            cell: Cell::new(algorithm),
            block: Cell::new(Block),
            clock,
            counts: Counts::new(),
            settings,
            #[cfg(feature = "async")]
            waiters: Waiters::new(Waiters::MOST),
        };
        Ok(SingleLimiter { inner: Arc::new(inner) })
    }
}

impl<A: Algorithm<Options = BucketOptions>> SingleBuilder<A> {
    /// Sets how many tokens the bucket holds when the limiter is built; see [`Builder::initial`](crate::Builder::initial).
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{IntervalBucket, SingleLimiter};
    ///
    /// let limiter: SingleLimiter<IntervalBucket> = SingleLimiter::builder("9/hour".parse()?).initial(3).build()?;
    /// assert_eq!(limiter.peek().remaining(), 3);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn initial(self, tokens: u64) -> Self {
        Self { options: BucketOptions { initial: Some(tokens) }, ..self }
    }
}

impl SingleBuilder<LeakyBucket> {
    /// Makes the bucket a queue; see [`Builder::queue`](crate::Builder::queue).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{LeakyBucket, SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter<LeakyBucket> = SingleLimiter::builder("10/s burst 4".parse()?).queue(0).build()?;
    /// let delays = [(); 3].map(|()| limiter.check_at(Tick::ZERO).delay().as_millis());
    /// assert_eq!(delays, [0, 100, 200]);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn queue(self, undelayed: u64) -> Self {
        Self { options: LeakyOptions { undelayed: Some(undelayed) }, ..self }
    }
}

impl SingleBuilder<FixedWindow> {
    /// Sets where the windows begin; see [`Alignment`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Alignment, FixedWindow, SingleLimiter, Tick};
    ///
    /// let limiter: SingleLimiter<FixedWindow> = SingleLimiter::builder("9/hour".parse()?)
    ///     .aligned(Alignment::WallClock { utc_offset_seconds: 0 })
    ///     .tick_zero(Duration::from_secs(10 * 3600 + 3599))
    ///     .build()?;
    /// assert!(limiter.check_n_at(9, Tick::ZERO).is_allowed());
    /// assert_eq!(limiter.check_at(Tick::ZERO).retry_after(), Some(Duration::from_secs(1)));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn aligned(self, alignment: Alignment) -> Self {
        Self { options: WindowOptions { alignment, ..self.options }, ..self }
    }

    /// Says what time it was, since 1970 in UTC, at tick 0; see [`Builder::tick_zero`](crate::Builder::tick_zero).
    ///
    /// # Examples
    ///
    /// See [`SingleBuilder::aligned`].
    pub fn tick_zero(self, unix_time: Duration) -> Self {
        Self { options: WindowOptions { tick_zero: Some(unix_time), ..self.options }, ..self }
    }
}

impl SingleBuilder<SlidingLog> {
    /// Sets whether denied attempts count too.
    pub fn count_denied(self, is_on: bool) -> Self {
        Self { options: LogOptions { count_denied: is_on }, ..self }
    }
}
