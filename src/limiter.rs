//! The limiter that users hold: many keys, one quota.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use crate::algorithm::{FixedWindow, LogOptions, SlidingCounter, SlidingLog, TokenBucket};
use crate::clock::{Clock, Tick};
use crate::count::Counts;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::key::KeyState;
use crate::quota::Quota;
use crate::sweep::{self, Sweep};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::table::{Guard, Overflow, Resident, SEGMENTS, Table, enter};

/// An algorithm that a limiter can be built with.
///
/// It is implemented by [`TokenBucket`], [`FixedWindow`], [`SlidingCounter`] and [`SlidingLog`], and by nothing outside
/// this crate.
pub trait Algorithm: Resident + fmt::Debug + Sized {
    /// What can be chosen for the algorithm beside its quota.
    type Options: Default + fmt::Debug;

    /// Works out the constants of a quota.
    ///
    /// # Errors
    ///
    /// What the algorithm's word cannot hold is refused, with the reason.
    fn from_quota(quota: &Quota, options: Self::Options) -> Result<Self, QuotaError>;
}

impl Algorithm for TokenBucket {
    type Options = ();

    fn from_quota(quota: &Quota, (): ()) -> Result<Self, QuotaError> {
        Self::new(quota)
    }
}

impl Algorithm for FixedWindow {
    type Options = ();

    fn from_quota(quota: &Quota, (): ()) -> Result<Self, QuotaError> {
        Self::new(quota)
    }
}

impl Algorithm for SlidingCounter {
    type Options = ();

    fn from_quota(quota: &Quota, (): ()) -> Result<Self, QuotaError> {
        Self::new(quota)
    }
}

impl Algorithm for SlidingLog {
    type Options = LogOptions;

    fn from_quota(quota: &Quota, options: LogOptions) -> Result<Self, QuotaError> {
        Self::new(quota, options)
    }
}

/// Limits each of many keys to the same quota, without locks.
///
/// A clone is another handle on the same limiter. The key type only says what may be asked: keys are not stored, and
/// whatever a key can be borrowed as can be asked too, such as `&str` of a `Limiter<String>`.
///
/// Idle keys are evicted by a background thread, one for all limiters of the process, within a few seconds after the
/// time at which forgetting them makes no difference.
///
/// # Cost
///
/// A check reads the clock, finds one cache line and swaps one word of it. A key takes 16 bytes at a load of 40 to 80 %.
///
/// # Examples
///
/// ```
/// use tollgate::Limiter;
///
/// let limiter: Limiter<String> = Limiter::new("100/min".parse()?)?;
/// if limiter.check("user-7").is_allowed() {
///     // Serve the request.
/// }
/// assert_eq!(limiter.peek("user-7").remaining(), 99);
/// assert_eq!(limiter.peek("user-8").remaining(), 100);
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
pub struct Limiter<K: ?Sized, A: Algorithm = TokenBucket, S = KeyState> {
    inner: Arc<Inner<A, S>>,
    key: PhantomData<fn(&K)>,
}

/// What all handles on a limiter share.
struct Inner<A: Algorithm, S> {
    table: Table<A>,
    hasher: S,
    clock: Clock,
    counts: Counts,
    quota: Quota,
    progress: Progress,
}

/// How far the sweeper is.
#[derive(Debug, Default)]
struct Progress {
    /// The next segment to sweep; past the last one when a pass is over.
    index: AtomicUsize,
    /// When the last pass began.
    began_ns: AtomicU64,
}

/// What a limiter did and holds.
///
/// # Examples
///
/// ```
/// use tollgate::{Limiter, Tick};
///
/// let limiter: Limiter<u32> = Limiter::new("1/s".parse()?)?;
/// let _ = limiter.check_at(&1, Tick::ZERO);
/// let _ = limiter.check_at(&1, Tick::ZERO);
/// let stats = limiter.stats();
/// assert_eq!((stats.allowed, stats.denied, stats.keys), (1, 1, 1));
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Checks that were allowed; looks are not counted.
    pub allowed: u64,
    /// Checks that were denied.
    pub denied: u64,
    /// Keys in memory, idle ones that were not evicted yet among them.
    pub keys: u64,
    /// Keys that were evicted because they were idle.
    pub evicted: u64,
    /// Checks that found no room for their key.
    pub overflowed: u64,
    /// Bytes of memory, those that wait to be freed among them.
    pub bytes: u64,
}

impl<K: Hash + ?Sized, A: Algorithm> Limiter<K, A> {
    /// Makes a limiter with the defaults of [`Builder`].
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot hold is refused, with the reason.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, QuotaError, SlidingLog};
    ///
    /// let limiter: Limiter<str> = Limiter::new("5/10s".parse()?)?;
    /// let exact: Limiter<str, SlidingLog> = Limiter::new("5/10s".parse()?)?;
    /// assert_eq!(limiter.quota(), exact.quota());
    /// # Ok::<(), QuotaError>(())
    /// ```
    pub fn new(quota: Quota) -> Result<Self, QuotaError> {
        Self::builder(quota).build()
    }

    /// Begins to build a limiter.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Clock, Limiter, Overflow};
    ///
    /// let limiter: Limiter<u64> = Limiter::builder("1000/s".parse()?)
    ///     .clock(Clock::coarse())
    ///     .max_keys(1_000_000)
    ///     .overflow(Overflow::Deny)
    ///     .build()?;
    /// assert!(limiter.check(&1).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn builder(quota: Quota) -> Builder<K, A> {
        Builder {
            quota,
            clock: None,
            max_keys: Builder::<K, A>::MAX_KEYS,
            overflow: Overflow::default(),
            is_swept: true,
            options: A::Options::default(),
            hasher: KeyState::default(),
            key: PhantomData,
        }
    }
}

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
        loop {
            let left = self.inner.table.check(&guard, id, now, 0).remaining();
            // With nothing left, one is asked for: the answer says how long to wait.
            let cost = if most == 0 { 0 } else { most.min(left).max(1) };
            let decision = self.inner.table.check(&guard, id, now, cost);
            if decision.is_allowed() || left == 0 {
                self.inner.count(&guard, cost, &decision);
                return (if decision.is_allowed() { cost } else { 0 }, decision);
            }
        }
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

impl<K: ?Sized, A: Algorithm, S> Limiter<K, A, S> {
    /// Reads the limiter's clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// let now = limiter.now();
    /// assert!(limiter.now() >= now);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline(always)]
    pub fn now(&self) -> Tick {
        self.inner.clock.now()
    }

    /// Returns the quota.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert_eq!(limiter.quota().to_string(), "10/min");
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn quota(&self) -> Quota {
        self.inner.quota
    }

    /// Returns what the limiter did and holds; see [`Stats`].
    ///
    /// Counts of other threads are exact once these threads were joined.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// let _ = limiter.check(&7);
    /// assert_eq!(limiter.stats().allowed, 1);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn stats(&self) -> Stats {
        let (allowed, denied) = self.inner.counts.totals();
        let table = &self.inner.table;
        let bytes = table.bytes() + self.inner.counts.bytes() + size_of::<Inner<A, S>>();
        Stats {
            allowed,
            denied,
            keys: table.key_count(),
            evicted: table.evicted(),
            overflowed: table.overflowed(),
            bytes: bytes as u64,
        }
    }

    /// Evicts idle keys now, wherever a quarter or more of the keys are idle, and gives unused memory back; returns
    /// how many keys were evicted meanwhile.
    ///
    /// A key is evicted a second after it became idle at the earliest. Checks go on meanwhile. Only those who turned
    /// the background sweeper off need this.
    ///
    /// # Cost
    ///
    /// It reads all keys, and moves those of the parts in which it evicts.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limiter, ManualClock};
    ///
    /// let manual = ManualClock::new();
    /// let limiter: Limiter<u64> = Limiter::builder("1/s".parse()?).clock(manual.clock()).sweeper(false).build()?;
    /// let _ = limiter.check(&7);
    /// manual.advance(Duration::from_secs(3));
    /// assert_eq!(limiter.sweep(), 1);
    /// assert_eq!(limiter.stats().keys, 0);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn sweep(&self) -> u64 {
        self.sweep_at(self.now())
    }

    /// Does what [`Limiter::sweep`] does, at a tick that the caller has read.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<u64> = Limiter::builder("1/s".parse()?).sweeper(false).build()?;
    /// let _ = limiter.check_at(&7, Tick::ZERO);
    /// assert_eq!(limiter.sweep_at(Tick::ZERO + Duration::from_secs(3)), 1);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn sweep_at(&self, now: Tick) -> u64 {
        let table = &self.inner.table;
        let before = table.evicted();
        for index in 0..SEGMENTS {
            table.sweep(&enter(), index, now);
        }
        table.collect();
        table.evicted().saturating_sub(before)
    }
}

impl<K: ?Sized, A: Algorithm, S> Clone for Limiter<K, A, S> {
    /// Makes another handle on the same limiter.
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), key: PhantomData }
    }
}

impl<K: ?Sized, A: Algorithm, S> fmt::Debug for Limiter<K, A, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("quota", &self.inner.quota)
            .field("clock", &self.inner.clock)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl<A: Algorithm, S> Inner<A, S> {
    /// Returns the identity of a key, which is neither of the two that the table keeps to itself.
    #[inline(always)]
    fn identity<Q: Hash + ?Sized>(&self, key: &Q) -> u64
    where
        S: BuildHasher,
    {
        /// Returns an identity that is free, for the two hashes that are not.
        #[cold]
        fn replaced() -> u64 {
            1
        }

        let hash = self.hasher.hash_one(key);
        if hash.wrapping_add(1) < 2 { replaced() } else { hash }
    }

    /// Decides about an identity, and counts the decision.
    #[inline(always)]
    fn check(&self, guard: &Guard, id: u64, cost: u64, now: Tick) -> Decision {
        let decision = self.table.check(guard, id, now, cost);
        self.count(guard, cost, &decision);
        decision
    }

    /// Counts a decision about anything but a look.
    #[inline(always)]
    fn count(&self, guard: &Guard, cost: u64, decision: &Decision) {
        if cost > 0 {
            self.counts.add(guard.thread_index(), decision.allowed);
        }
    }
}

impl<A: Algorithm, S: Send + Sync> Sweep for Inner<A, S> {
    fn sweep_some(&self) {
        /// The lines of one piece of work: a megabyte.
        const LINES: usize = 16 << 10;
        /// The time from the beginning of one pass to that of the next.
        const PASS_NS: u64 = 1_000_000_000;

        let now = self.clock.now();
        // Relaxed: only the sweeper uses these, one piece of work at a time.
        let mut index = self.progress.index.load(Ordering::Relaxed);
        if index >= SEGMENTS {
            // Relaxed: as above.
            let age_ns = now.as_nanos().saturating_sub(self.progress.began_ns.load(Ordering::Relaxed));
            if age_ns < PASS_NS {
                return self.table.collect();
            }
            index = 0;
        }
        if index == 0 {
            // Relaxed: as above.
            self.progress.began_ns.store(now.as_nanos(), Ordering::Relaxed);
        }
        let mut lines = 0;
        while index < SEGMENTS && lines < LINES {
            lines += self.table.sweep(&enter(), index, now);
            index += 1;
        }
        // Relaxed: as above.
        self.progress.index.store(index, Ordering::Relaxed);
        self.table.collect();
    }
}

/// Builds a [`Limiter`].
///
/// | setting | default |
/// |---|---|
/// | [`clock`](Builder::clock) | precise |
/// | [`max_keys`](Builder::max_keys) | 16,777,216 |
/// | [`overflow`](Builder::overflow) | [`Overflow::Share`] |
/// | [`sweeper`](Builder::sweeper) | on |
/// | [`hasher`](Builder::hasher) | [`KeyState`] |
/// | [`count_denied`](Builder::count_denied), for the sliding log | off |
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
    key: PhantomData<fn(&K)>,
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
        let Self { quota, clock, max_keys, overflow, is_swept, options, hasher: _, key } = self;
        Builder { quota, clock, max_keys, overflow, is_swept, options, hasher, key }
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
        let algorithm = A::from_quota(&self.quota, self.options)?;
        let inner = Arc::new(Inner {
            table: Table::new(algorithm, self.max_keys, self.overflow),
            hasher: self.hasher,
            clock: self.clock.unwrap_or_default(),
            counts: Counts::new(),
            quota: self.quota,
            progress: Progress::default(),
        });
        if self.is_swept {
            let weak: Weak<Inner<A, S>> = Arc::downgrade(&inner);
            sweep::register(weak);
        }
        Ok(Limiter { inner, key: PhantomData })
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_limiter_can_be_shared_among_threads_whatever_its_key() {
        fn assert_shareable<T: Send + Sync + Clone + fmt::Debug + 'static>() {}
        assert_shareable::<Limiter<str>>();
        assert_shareable::<Limiter<std::rc::Rc<u8>, SlidingLog>>();
    }

    #[test]
    fn two_keys_apart_are_counted_apart() {
        let limiter: Limiter<u64> = Limiter::new("2/min".parse().expect("a quota")).expect("a limiter");
        for key in 0..5_000 {
            assert_eq!(limiter.check_at(&key, Tick::ZERO).remaining(), 1);
        }
        for key in 0..5_000 {
            assert_eq!(limiter.check_at(&key, Tick::ZERO).remaining(), 0);
            assert!(!limiter.check_at(&key, Tick::ZERO).is_allowed());
        }
        assert_eq!(limiter.stats().keys, 5_000);
    }
}
