//! The builder of limiters.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::algorithm::Block;
use crate::algorithm::{
    Alignment, BucketOptions, FixedWindow, LeakyBucket, LeakyOptions, LogOptions, SlidingLog, WindowOptions,
};
use crate::clock::Clock;
use crate::count::Counts;
use crate::error::QuotaError;
use crate::key::KeyState;
use crate::limiter::{Algorithm, Inner, Limiter, Progress, Settings};
use crate::quota::Quota;
use crate::sweep;
use crate::table::{Overflow, Table};
#[cfg(feature = "async")]
use crate::wait::Waiters;

/// Builds a [`Limiter`].
///
/// | setting | default |
/// |---|---|
/// | [`clock`](Builder::clock) | precise |
/// | [`max_keys`](Builder::max_keys) | 16,777,216 |
/// | [`overflow`](Builder::overflow) | [`Overflow::Share`] |
/// | [`sweeper`](Builder::sweeper) | on |
/// | [`hasher`](Builder::hasher) | [`KeyState`] |
/// | [`initial`](Builder::initial), for the token bucket and the interval bucket | the burst |
/// | [`queue`](Builder::queue), for the leaky bucket | off: a meter |
/// | [`aligned`](Builder::aligned), for the fixed window | [`Alignment::Start`] |
/// | [`count_denied`](Builder::count_denied), for the sliding log | off |
/// | `max_waiters`, with the feature `async` | 65,536 |
///
/// # Examples
///
/// See [`Limiter::builder`].
#[must_use = "nothing is limited before it is built"]
pub struct Builder<K: ?Sized, A: Algorithm, S = KeyState> {
    quota: Quota,
    clock: Option<Clock>,
    max_keys: u64,
    overflow: Overflow,
    is_swept: bool,
    options: A::Options,
    hasher: S,
    #[cfg(feature = "async")]
    max_waiters: usize,
    key: PhantomData<fn(&K)>,
}

impl<K: ?Sized, A: Algorithm> Builder<K, A> {
    /// Begins with the defaults.
    pub(super) fn new(quota: Quota) -> Self {
        Self {
            quota,
            clock: None,
            max_keys: Self::MAX_KEYS,
            overflow: Overflow::default(),
            is_swept: true,
            options: A::Options::default(),
            hasher: KeyState::default(),
            #[cfg(feature = "async")]
            max_waiters: Waiters::MOST,
            key: PhantomData,
        }
    }
}

impl<K: ?Sized, A: Algorithm, S> Builder<K, A, S> {
    /// The keys that a limiter holds unless another number is chosen; they take up to half a gigabyte.
    pub const MAX_KEYS: u64 = 1 << 24;

    /// Sets the clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Clock, Limiter};
    ///
    /// let limiter: Limiter<u64> = Limiter::builder("9/s".parse()?).clock(Clock::coarse()).build()?;
    /// assert!(limiter.check(&1).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Sets the most keys that are held at a time; of what comes beyond them, [`Builder::overflow`] decides.
    ///
    /// The bound is never exceeded. When threads bring the same new key at once it is counted several times for a
    /// moment, so that a table with room for no more than that may turn another new key away.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, Overflow, Tick};
    ///
    /// let limiter: Limiter<u64> =
    ///     Limiter::builder("9/s".parse()?).max_keys(1).overflow(Overflow::Deny).build()?;
    /// assert!(limiter.check_at(&1, Tick::ZERO).is_allowed());
    /// assert!(!limiter.check_at(&2, Tick::ZERO).is_allowed());
    /// assert!(limiter.check_at(&1, Tick::ZERO).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn max_keys(self, max_keys: usize) -> Self {
        Self { max_keys: max_keys as u64, ..self }
    }

    /// Sets what new keys get while there is no room for them. Keys that are held are never thrown out for others.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, Overflow, Tick};
    ///
    /// let limiter: Limiter<u64> =
    ///     Limiter::builder("1/s".parse()?).max_keys(0).overflow(Overflow::Share).build()?;
    /// assert!(limiter.check_at(&1, Tick::ZERO).is_allowed());
    /// assert!(!limiter.check_at(&2, Tick::ZERO).is_allowed(), "the two share one quota");
    /// assert_eq!(limiter.stats().overflowed, 2);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn overflow(self, overflow: Overflow) -> Self {
        Self { overflow, ..self }
    }

    /// Turns the background sweeper on or off for this limiter.
    ///
    /// # Examples
    ///
    /// See [`Limiter::sweep`].
    pub fn sweeper(self, is_on: bool) -> Self {
        Self { is_swept: is_on, ..self }
    }

    /// Sets the hasher of keys. All 64 bits of its hashes must be well mixed, and attackers who choose keys must not
    /// be able to foresee them.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use tollgate::{Limiter, TokenBucket};
    ///
    /// let limiter: Limiter<str, TokenBucket, RandomState> =
    ///     Limiter::builder("9/s".parse()?).hasher(RandomState::new()).build()?;
    /// assert!(limiter.check("a").is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn hasher<T>(self, hasher: T) -> Builder<K, A, T> {
        Builder {
            quota: self.quota,
            clock: self.clock,
            max_keys: self.max_keys,
            overflow: self.overflow,
            is_swept: self.is_swept,
            options: self.options,
            hasher,
            #[cfg(feature = "async")]
            max_waiters: self.max_waiters,
            key: self.key,
        }
    }

    /// Sets how many may wait in [`Limiter::until_ready`] at a time, for all keys together.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, WaitError};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tollgate::QuotaError> {
    /// let limiter: Limiter<u64> = Limiter::builder("1/hour".parse()?).max_waiters(0).build()?;
    /// assert!(limiter.until_ready(&7).await.is_ok(), "the first need not wait");
    /// assert_eq!(limiter.until_ready(&7).await, Err(WaitError::TooManyWaiters { most: 0 }));
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "async")]
    pub fn max_waiters(self, most: usize) -> Self {
        Self { max_waiters: most, ..self }
    }

    /// Builds the limiter.
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot hold is refused, with the reason.
    pub fn build(self) -> Result<Limiter<K, A, S>, QuotaError>
    where
        S: Send + Sync + 'static,
    {
        let clock = self.clock.unwrap_or_default();
        let (algorithm, settings) = Settings::new(self.quota, self.options, clock.now())?;
        let inner = Arc::new(Inner {
            table: Table::new(algorithm, self.max_keys, self.overflow),
            blocks: Table::new(Block, self.max_keys, Overflow::Allow),
            hasher: self.hasher,
            clock,
            counts: Counts::new(),
            settings,
            progress: Progress::default(),
            #[cfg(feature = "async")]
            waiters: Waiters::new(self.max_waiters),
        });
        if self.is_swept {
            let weak: Weak<Inner<A, S>> = Arc::downgrade(&inner);
            sweep::register(weak);
        }
        Ok(Limiter { inner, key: PhantomData })
    }
}

impl<K: ?Sized, A: Algorithm<Options = BucketOptions>, S> Builder<K, A, S> {
    /// Sets how many tokens every bucket holds when the limiter is built: fewer than the burst keep a restart from
    /// letting everybody's burst through at once.
    ///
    /// A key that is first seen later has what would have come back by then, so that forgetting an idle key makes no
    /// difference. More than the burst is refused when the limiter is built.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{TokenBucket, Limiter, ManualClock, Tick};
    ///
    /// let clock = ManualClock::new().clock();
    /// let limiter: Limiter<u64, TokenBucket> = Limiter::builder("10/s".parse()?).clock(clock).initial(0).build()?;
    /// assert_eq!(limiter.peek_at(&7, Tick::ZERO).remaining(), 0);
    /// assert_eq!(limiter.peek_at(&8, Tick::ZERO + Duration::from_secs(1)).remaining(), 10);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn initial(self, tokens: u64) -> Self {
        Self { options: BucketOptions { initial: Some(tokens) }, ..self }
    }
}

impl<K: ?Sized, S> Builder<K, LeakyBucket, S> {
    /// Makes the bucket a queue, which gives each request the time at which it is due; `undelayed` requests may pass at
    /// once beside the one whose turn it is.
    ///
    /// nginx's `limit_req rate=10r/s burst=20 delay=8` is `10/s burst 21` with `queue(8)`: its burst leaves out the
    /// request whose turn it is. Its `nodelay` is `queue(u64::MAX)`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{LeakyBucket, Limiter, Tick};
    ///
    /// let limiter: Limiter<u64, LeakyBucket> = Limiter::builder("10/s burst 4".parse()?).queue(2).build()?;
    /// let delays: Vec<u128> = (0..4).map(|_| limiter.check_at(&7, Tick::ZERO).delay().as_millis()).collect();
    /// assert_eq!(delays, [0, 0, 0, 100]);
    /// assert!(!limiter.check_at(&7, Tick::ZERO).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn queue(self, undelayed: u64) -> Self {
        Self { options: LeakyOptions { undelayed: Some(undelayed) }, ..self }
    }
}

impl<K: ?Sized, S> Builder<K, FixedWindow, S> {
    /// Sets where the windows begin; see [`Alignment`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Alignment, FixedWindow, Limiter};
    ///
    /// let monthly: Limiter<str, FixedWindow> = Limiter::builder("100000/30days".parse()?)
    ///     .aligned(Alignment::Month { utc_offset_seconds: 0 })
    ///     .build()?;
    /// assert!(monthly.check("customer-7").is_allowed());
    /// let refused = Limiter::<str, FixedWindow>::builder("5/7s".parse()?)
    ///     .aligned(Alignment::WallClock { utc_offset_seconds: 0 })
    ///     .build();
    /// assert!(refused.is_err(), "the day is no multiple of seven seconds");
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn aligned(self, alignment: Alignment) -> Self {
        Self { options: WindowOptions { alignment, ..self.options }, ..self }
    }

    /// Says what time it was, since 1970 in UTC, at tick 0 of the limiter's clock: for replays and tests. Unless it is said
    /// the wall clock is looked at when the limiter is built.
    ///
    /// # Examples
    ///
    /// See [`Alignment`].
    pub fn tick_zero(self, unix_time: Duration) -> Self {
        Self { options: WindowOptions { tick_zero: Some(unix_time), ..self.options }, ..self }
    }
}

impl<K: ?Sized, S> Builder<K, SlidingLog, S> {
    /// Sets whether denied attempts count too: then a client that never pauses is never let in again.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limiter, SlidingLog, Tick};
    ///
    /// let limiter: Limiter<u64, SlidingLog> = Limiter::builder("1/10s".parse()?).count_denied(true).build()?;
    /// let second = |s| Tick::ZERO + Duration::from_secs(s);
    /// assert!(limiter.check_at(&1, second(0)).is_allowed());
    /// assert!(!limiter.check_at(&1, second(9)).is_allowed());
    /// assert!(!limiter.check_at(&1, second(11)).is_allowed(), "the attempt at 9 s counts");
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn count_denied(self, is_on: bool) -> Self {
        Self { options: LogOptions { count_denied: is_on }, ..self }
    }
}

impl<K: ?Sized, A: Algorithm, S> fmt::Debug for Builder<K, A, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("quota", &self.quota)
            .field("clock", &self.clock)
            .field("max_keys", &self.max_keys)
            .field("overflow", &self.overflow)
            .field("sweeper", &self.is_swept)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
