#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod clock;
mod decision;
mod error;
mod quota;

mod sync;

mod algorithm;

mod key;
#[allow(unsafe_code)]
mod ring;
#[allow(unsafe_code)]
mod table;

mod count;
mod limiter;
mod single;
mod sweep;
#[cfg(feature = "async")]
mod wait;

pub mod policy;

#[cfg(feature = "http")]
pub mod http;

pub use crate::algorithm::{
    Alignment, BucketOptions, FixedWindow, IntervalBucket, LeakyBucket, LeakyOptions, LogOptions, OwnWindow,
    SlidingCounter, SlidingLog, TokenBucket, WindowOptions,
};
pub use crate::clock::{Clock, ManualClock, Tick};
pub use crate::decision::Decision;
pub use crate::error::QuotaError;
pub use crate::key::{Address, KeyHasher, KeyState};
pub use crate::limiter::{Algorithm, Builder, Limiter, Reservation, Stats};
pub use crate::quota::Quota;
pub use crate::single::{SingleBuilder, SingleLimiter};
pub use crate::table::Overflow;
#[cfg(loom)]
pub use crate::table::model::{LogModel, Model};
#[cfg(feature = "async")]
pub use crate::wait::{WaitError, WaitOptions};
