//! What a limiter was built with, and what it was told since.

use std::fmt;

use parking_lot::Mutex;

use crate::clock::Tick;
use crate::error::QuotaError;
use crate::limiter::Algorithm;
use crate::quota::Quota;

/// The quota of a limiter, and what it takes to work out the algorithm for another.
pub(crate) struct Settings<A: Algorithm> {
    quota: Mutex<Quota>,
    options: A::Options,
    start: Tick,
}

impl<A: Algorithm> Settings<A> {
    /// Works out the algorithm of a limiter that begins at `start`, and keeps what it came from.
    pub(crate) fn new(quota: Quota, options: A::Options, start: Tick) -> Result<(A, Self), QuotaError> {
        let algorithm = A::from_quota(&quota, options.clone(), start)?;
        Ok((algorithm, Self { quota: Mutex::new(quota), options, start }))
    }

    /// Returns the quota.
    pub(crate) fn quota(&self) -> Quota {
        *self.quota.lock()
    }

    /// Changes the quota: `change` puts its algorithm to work. One thread does this at a time.
    pub(crate) fn change(&self, quota: Quota, now: Tick, change: impl FnOnce(A)) -> Result<(), QuotaError> {
        let mut current = self.quota.lock();
        if *current != quota {
            change(A::changed(&quota, self.options.clone(), self.start, now)?);
            *current = quota;
        }
        Ok(())
    }
}

impl<A: Algorithm> fmt::Debug for Settings<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.quota())
    }
}
