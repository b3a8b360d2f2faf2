//! governor's keyed limiter: as it comes, and with the fastest hasher and clock it can be given.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock, QuantaInstant, QuantaUpkeepClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::{Contender, Setting};
use crate::key::Key;

/// What `RateLimiter::keyed` makes: SipHash and a reading of the processor's counter for each check.
pub(super) type Plain<K> = Governor<K, RandomState, DefaultClock>;
/// foldhash, and a clock that one thread moves on every millisecond.
pub(super) type Tuned<K> = Governor<K, foldhash::fast::RandomState, QuantaUpkeepClock>;

/// A keyed limiter with a hasher and a clock.
pub(super) struct Governor<K, S, C>(RateLimiter<K, DashMapStateStore<K, S>, C>)
where
    K: Key,
    S: BuildHasher + Clone,
    C: Timepiece;

/// A clock that a contender can be started with.
pub(super) trait Timepiece: Clock<Instant = QuantaInstant> + Send + Sync {
    /// Returns the clock.
    fn start() -> Self;
}

impl Timepiece for DefaultClock {
    fn start() -> Self {
        Self::default()
    }
}

impl Timepiece for QuantaUpkeepClock {
    /// Returns a clone of the one clock: a process can have only one upkeep thread.
    fn start() -> Self {
        static SHARED: OnceLock<QuantaUpkeepClock> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::from_interval(Duration::from_millis(1)).expect("nobody else starts an upkeep thread"))
            .clone()
    }
}

impl<K, S, C> Contender<K> for Governor<K, S, C>
where
    K: Key,
    S: BuildHasher + Clone + Default + Send + Sync,
    C: Timepiece,
{
    fn build(setting: &Setting) -> Self {
        let burst = NonZeroU32::new(setting.limit.burst).expect("a burst is 1 or more");
        let quota = Quota::with_period(setting.limit.interval).expect("an interval is over zero").allow_burst(burst);
        Self(RateLimiter::dashmap_with_clock_and_hasher(quota, C::start(), S::default()))
    }

    #[inline]
    fn check(&self, key: &K) -> bool {
        self.0.check_key(key).is_ok()
    }

    fn spend(&self, key: &K, cost: u32) -> bool {
        let cost = NonZeroU32::new(cost).expect("a cost is 1 or more");
        matches!(self.0.check_key_n(key, cost), Ok(Ok(())))
    }

    fn clean(&self) {
        self.0.retain_recent();
    }

    fn held(&self) -> Option<u64> {
        u64::try_from(self.0.len()).ok()
    }
}
