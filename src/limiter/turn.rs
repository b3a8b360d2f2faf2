//! Waiting until a request may pass.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Tick;
use crate::decision::Decision;
use crate::limiter::{Algorithm, Inner, Limiter};
use crate::table::enter;
use crate::wait::{Ready, Turn, WaitError, WaitOptions, Waiters};

impl<K: Hash + ?Sized, A: Algorithm, S: BuildHasher> Limiter<K, A, S> {
    /// Waits until a request of this key passes, and counts it then.
    ///
    /// Those who wait for a key pass first come, first served; checks that do not wait may still pass before them.
    /// Nothing is spent before a request passes, so that a future that is dropped leaves no debt. It runs on any
    /// executor: one thread of the process keeps the time for all.
    ///
    /// # Errors
    ///
    /// [`WaitError::TooManyWaiters`] if as many wait as the builder's `max_waiters` says.
    ///
    /// # Cost
    ///
    /// A check or two, and a lock, which keys share, while the caller joins a queue and leaves it. Each who waits takes memory.
    /// A refund, a reset or a change of the quota has the first who waits look again; a cancelled reservation does not.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use tollgate::Limiter;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter: Limiter<str> = Limiter::new("1/20ms".parse()?)?;
    /// let begin = Instant::now();
    /// for _ in 0..3 {
    ///     limiter.until_ready("crawler").await?;
    /// }
    /// assert!(begin.elapsed() >= Duration::from_millis(40));
    /// # Ok(()) }
    /// ```
    pub fn until_ready<Q: Hash + ?Sized>(
        &self,
        key: &Q,
    ) -> impl Future<Output = Result<(), WaitError>> + Send + 'static + use<K, A, S, Q>
    where
        K: Borrow<Q>,
        S: Send + Sync + 'static,
    {
        self.until_ready_with(key, 1, WaitOptions::new())
    }

    /// Does what [`Limiter::until_ready`] does for a request that costs `cost`, with a time to give up and a jitter.
    ///
    /// # Errors
    ///
    /// [`WaitError::TooLate`] when the time to give up has come, or at once if it is known that it comes first;
    /// [`WaitError::Never`] for a cost above the limit; [`WaitError::TooManyWaiters`] as in [`Limiter::until_ready`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limiter, WaitError, WaitOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tollgate::QuotaError> {
    /// let limiter: Limiter<str> = Limiter::new("5/hour".parse()?)?;
    /// let soon = WaitOptions::new().within(Duration::from_secs(1)).jitter(Duration::from_millis(10));
    /// assert!(limiter.until_ready_with("crawler", 4, soon).await.is_ok());
    /// assert_eq!(limiter.until_ready_with("crawler", 2, soon).await, Err(WaitError::TooLate));
    /// let never = Err(WaitError::Never { cost: 6, limit: 5 });
    /// assert_eq!(limiter.until_ready_with("crawler", 6, soon).await, never);
    /// # Ok(()) }
    /// ```
    pub fn until_ready_with<Q: Hash + ?Sized>(
        &self,
        key: &Q,
        cost: u64,
        options: WaitOptions,
    ) -> impl Future<Output = Result<(), WaitError>> + Send + 'static + use<K, A, S, Q>
    where
        K: Borrow<Q>,
        S: Send + Sync + 'static,
    {
        let id = self.inner.identity(key);
        Ready::new(OfKey { inner: Arc::clone(&self.inner), id }, cost, options)
    }

    /// Returns how many wait at the moment.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::Limiter;
    ///
    /// let limiter: Limiter<str> = Limiter::new("5/hour".parse()?)?;
    /// assert_eq!(limiter.waiting(), 0);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn waiting(&self) -> usize {
        self.inner.waiters.count()
    }
}

/// A key of a limiter, as its identity.
struct OfKey<A: Algorithm, S> {
    inner: Arc<Inner<A, S>>,
    id: u64,
}

impl<A: Algorithm, S> Turn for OfKey<A, S> {
    fn waiters(&self) -> &Waiters {
        &self.inner.waiters
    }

    fn id(&self) -> u64 {
        self.id
    }

    fn now(&self) -> Tick {
        self.inner.clock.now()
    }

    fn try_now(&self, cost: u64, now: Tick) -> Decision {
        // What is reserved for now passes without the delay of a queue, and its denials are in no log.
        let reserved = self.inner.reserve(&enter(), self.id, cost, Duration::ZERO, now);
        reserved.map_or_else(|denial| denial, |(decision, _)| decision)
    }

    fn count(&self, cost: u64, is_allowed: bool) {
        if cost > 0 {
            self.inner.counts.add(enter().thread_index(), is_allowed);
        }
    }
}
