//! What a limiter can be built with.

use std::fmt;

use crate::algorithm::{
    BucketOptions, FixedWindow, IntervalBucket, LeakyBucket, LeakyOptions, LogOptions, OwnWindow, SlidingCounter,
    SlidingLog, TokenBucket, WindowOptions,
};
use crate::clock::Tick;
use crate::error::QuotaError;
use crate::quota::Quota;
use crate::table::Resident;

/// An algorithm that a limiter can be built with.
///
/// It is implemented by [`TokenBucket`], [`IntervalBucket`], [`LeakyBucket`], [`FixedWindow`], [`OwnWindow`],
/// [`SlidingCounter`] and [`SlidingLog`], and by nothing outside this crate.
pub trait Algorithm: Resident + fmt::Debug + Sized {
    /// What can be chosen for the algorithm beside its quota.
    type Options: Clone + Default + fmt::Debug + Send + Sync + 'static;

    /// Works out the constants of a quota, for a limiter that begins at `start`.
    ///
    /// # Errors
    ///
    /// What the algorithm's word cannot hold is refused, with the reason.
    fn from_quota(quota: &Quota, options: Self::Options, start: Tick) -> Result<Self, QuotaError>;

    /// Works out the constants of a quota that comes into force at `now`, for a limiter that began at `start`.
    ///
    /// # Errors
    ///
    /// As above.
    fn changed(quota: &Quota, options: Self::Options, start: Tick, now: Tick) -> Result<Self, QuotaError> {
        let _ = start;
        Self::from_quota(quota, options, now)
    }
}

/// Has buckets begin with no more than they hold.
fn within(options: BucketOptions, quota: &Quota) -> BucketOptions {
    BucketOptions { initial: options.initial.map(|initial| initial.min(quota.burst())) }
}

impl Algorithm for TokenBucket {
    type Options = BucketOptions;

    fn from_quota(quota: &Quota, options: BucketOptions, start: Tick) -> Result<Self, QuotaError> {
        Self::new(quota, options, start)
    }

    fn changed(quota: &Quota, options: BucketOptions, start: Tick, _now: Tick) -> Result<Self, QuotaError> {
        Self::new(quota, within(options, quota), start)
    }
}

impl Algorithm for IntervalBucket {
    type Options = BucketOptions;

    fn from_quota(quota: &Quota, options: BucketOptions, start: Tick) -> Result<Self, QuotaError> {
        Self::new(quota, options, start)
    }

    fn changed(quota: &Quota, options: BucketOptions, start: Tick, _now: Tick) -> Result<Self, QuotaError> {
        Self::new(quota, within(options, quota), start)
    }
}

impl Algorithm for LeakyBucket {
    type Options = LeakyOptions;

    fn from_quota(quota: &Quota, options: LeakyOptions, _start: Tick) -> Result<Self, QuotaError> {
        Self::new(quota, options)
    }
}

impl Algorithm for FixedWindow {
    type Options = WindowOptions;

    fn from_quota(quota: &Quota, options: WindowOptions, start: Tick) -> Result<Self, QuotaError> {
        Self::new(quota, options, start)
    }
}

impl Algorithm for OwnWindow {
    type Options = ();

    fn from_quota(quota: &Quota, (): (), _start: Tick) -> Result<Self, QuotaError> {
        Self::new(quota)
    }
}

impl Algorithm for SlidingCounter {
    type Options = ();

    fn from_quota(quota: &Quota, (): (), _start: Tick) -> Result<Self, QuotaError> {
        Self::new(quota)
    }
}

impl Algorithm for SlidingLog {
    type Options = LogOptions;

    fn from_quota(quota: &Quota, options: LogOptions, _start: Tick) -> Result<Self, QuotaError> {
        Self::new(quota, options)
    }
}
