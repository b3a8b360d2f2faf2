//! The limiter that users hold: many keys, one quota.

mod adjust;
mod algorithm;
mod builder;
mod check;
mod reservation;
mod settings;
#[cfg(feature = "async")]
mod turn;

pub use self::algorithm::Algorithm;
pub use self::builder::Builder;
pub(crate) use self::check::up_to;
pub use self::reservation::Reservation;
pub(crate) use self::reservation::Target;
pub(crate) use self::settings::Settings;

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::algorithm::{Block, TokenBucket};
use crate::clock::{Clock, Tick};
use crate::count::Counts;
use crate::decision::Decision;
use crate::error::QuotaError;
use crate::key::KeyState;
use crate::quota::Quota;
use crate::sweep::Sweep;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::table::{Guard, SEGMENTS, Table, enter};
#[cfg(feature = "async")]
use crate::wait::Waiters;

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
    /// The keys that are blocked.
    blocks: Table<Block>,
    hasher: S,
    clock: Clock,
    counts: Counts,
    settings: Settings<A>,
    progress: Progress,
    #[cfg(feature = "async")]
    waiters: Waiters,
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
        Builder::new(quota)
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
        self.inner.settings.quota()
    }

    /// Changes the quota while the limiter is at work; checks go on meanwhile, and none that begins after this returned is
    /// decided by the old one.
    ///
    /// What keys have spent is kept. A higher quota gives nothing for the past: a key that had spent all it could starts
    /// with nothing. A lower one takes effect at once. What was spent under the old quota counts for at most one
    /// full refill of the new one, or one window, and a debt for one more, so that nobody is locked out by what an older
    /// rate had measured. Buckets keep the time until they are full, windows and logs keep what was counted: a fixed
    /// window in the window of the present tick, a sliding counter of another period as if it had been spent now, a log
    /// by the stamps it has. The options stay.
    ///
    /// # Errors
    ///
    /// A quota that the algorithm cannot hold is refused, with the reason, and nothing changes.
    ///
    /// # Cost
    ///
    /// It moves all keys, as a sweep that evicts does, and waits for its turn if another thread changes the quota, and for
    /// checks that began before the last change. Checks wait for nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{Limiter, Tick};
    ///
    /// let limiter: Limiter<u64> = Limiter::new("10/min".parse()?)?;
    /// assert!(limiter.check_n_at(&7, 10, Tick::ZERO).is_allowed());
    /// limiter.set_quota("600/min burst 20".parse()?)?;
    /// assert!(!limiter.check_at(&7, Tick::ZERO).is_allowed(), "what is spent is spent");
    /// assert_eq!(limiter.peek_at(&7, Tick::from_nanos(3_000_000_000)).remaining(), 20);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn set_quota(&self, quota: Quota) -> Result<(), QuotaError> {
        self.set_quota_at(quota, self.now())
    }

    /// Does what [`Limiter::set_quota`] does, at a tick that the caller has read.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::{FixedWindow, Limiter, Tick};
    ///
    /// let limiter: Limiter<u64, FixedWindow> = Limiter::new("10/min".parse()?)?;
    /// assert!(limiter.check_n_at(&7, 8, Tick::ZERO).is_allowed());
    /// limiter.set_quota_at("5/min".parse()?, Tick::ZERO)?;
    /// assert!(!limiter.check_at(&7, Tick::ZERO).is_allowed());
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn set_quota_at(&self, quota: Quota, now: Tick) -> Result<(), QuotaError> {
        self.inner.settings.change(quota, now, |algorithm| self.inner.table.change(algorithm, now))?;
        #[cfg(feature = "async")]
        self.inner.waiters.nudge_all();
        Ok(())
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
        let bytes = table.bytes() + self.inner.blocks.bytes() + self.inner.counts.bytes() + size_of::<Inner<A, S>>();
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
            let guard = enter();
            table.sweep(&guard, index, now);
            self.inner.blocks.sweep(&guard, index, now);
        }
        table.collect();
        self.inner.blocks.collect();
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
            .field("quota", &self.inner.settings)
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
        let decision = self.decide(guard, id, cost, now);
        self.count(guard, cost, &decision);
        decision
    }

    /// Decides about an identity.
    #[inline(always)]
    fn decide(&self, guard: &Guard, id: u64, cost: u64, now: Tick) -> Decision {
        match self.blocked(guard, id, now) {
            Some(denial) => denial,
            None => self.table.check(guard, id, now, cost),
        }
    }

    /// Returns the denial of a key that is blocked. Without any blocks it costs one look at a count.
    #[inline(always)]
    fn blocked(&self, guard: &Guard, id: u64, now: Tick) -> Option<Decision> {
        if self.blocks.key_count() == 0 { None } else { self.denial(guard, id, now) }
    }

    /// Looks whether a key is blocked.
    #[inline(never)]
    fn denial(&self, guard: &Guard, id: u64, now: Tick) -> Option<Decision> {
        block_denial(self.table.algorithm(guard), self.blocks.check(guard, id, now, 0).wait_ns)
    }

    /// Has whoever waits for an identity look again.
    #[inline(always)]
    fn nudge(&self, _id: u64) {
        #[cfg(feature = "async")]
        self.waiters.nudge(_id);
    }

    /// Counts a decision about anything but a look.
    #[inline(always)]
    fn count(&self, guard: &Guard, cost: u64, decision: &Decision) {
        if cost > 0 {
            self.counts.add(guard.thread_index(), decision.allowed);
        }
    }
}

/// Returns the denial of what is blocked for so long, if it is.
pub(crate) fn block_denial<A: Algorithm>(algorithm: &A, wait_ns: u64) -> Option<Decision> {
    let denial = algorithm.decision(algorithm.blocked(wait_ns));
    (wait_ns > 0).then_some(Decision { reset_after_ns: wait_ns, wait_ns, ..denial })
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
                self.blocks.collect();
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
            let guard = enter();
            lines += self.table.sweep(&guard, index, now) + self.blocks.sweep(&guard, index, now);
            index += 1;
        }
        // Relaxed: as above.
        self.progress.index.store(index, Ordering::Relaxed);
        self.blocks.collect();
        self.table.collect();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_limiter_can_be_shared_among_threads_whatever_its_key() {
        fn assert_shareable<T: Send + Sync + Clone + fmt::Debug + 'static>() {}
        assert_shareable::<Limiter<str>>();
        assert_shareable::<Limiter<std::rc::Rc<u8>, crate::algorithm::SlidingLog>>();
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
