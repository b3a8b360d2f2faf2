//! The answer to a check.

use std::time::Duration;

/// What a limiter answers: allow or deny, and what the caller may be told about it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limiter, Tick};
///
/// let limiter: Limiter<str> = Limiter::new("2/10s".parse()?)?;
/// let first = limiter.check_at("a", Tick::ZERO);
/// assert!(first.is_allowed());
/// assert_eq!((first.limit(), first.remaining()), (2, 1));
///
/// let _ = limiter.check_at("a", Tick::ZERO);
/// let third = limiter.check_at("a", Tick::ZERO);
/// assert!(!third.is_allowed());
/// assert_eq!(third.retry_after(), Some(Duration::from_secs(5)));
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision that is not looked at limits nothing"]
pub struct Decision {
    pub(crate) allowed: bool,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) reset_after_ns: u64,
    /// Until it is due if it was allowed, until the same call passes if it was denied.
    pub(crate) wait_ns: u64,
}

impl Decision {
    /// Stands in `wait_ns` for "never".
    pub(crate) const NEVER: u64 = u64::MAX;

    /// Tells whether the request may pass.
    #[inline]
    pub const fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// Returns the most that can ever pass at once: the burst of a bucket, the limit of a window.
    #[inline]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns how many further requests of cost one would pass at this very tick.
    #[inline]
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Returns the time until the key is as good as new, if it spends nothing before.
    #[inline]
    pub const fn reset_after(&self) -> Duration {
        Duration::from_nanos(self.reset_after_ns)
    }

    /// Returns the time until the same call passes if nobody else spends: zero when it was allowed, `None` when it
    /// can never pass because it costs more than the limit.
    ///
    /// A wait of centuries saturates at what ticks can count.
    #[inline]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self.wait_ns {
            _ if self.allowed => Some(Duration::ZERO),
            Self::NEVER => None,
            wait_ns => Some(Duration::from_nanos(wait_ns)),
        }
    }

    /// Returns the time that an allowed request must still wait: zero, but in the queue of a
    /// [`LeakyBucket`](crate::LeakyBucket), for a reservation, and for a key in debt.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{LeakyBucket, Limiter, Tick};
    ///
    /// let limiter: Limiter<u64, LeakyBucket> = Limiter::builder("10/s burst 5".parse()?).queue(0).build()?;
    /// assert_eq!(limiter.check_at(&7, Tick::ZERO).delay(), Duration::ZERO);
    /// assert_eq!(limiter.check_at(&7, Tick::ZERO).delay(), Duration::from_millis(100));
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    #[inline]
    pub const fn delay(&self) -> Duration {
        if self.allowed { Duration::from_nanos(self.wait_ns) } else { Duration::ZERO }
    }
}
