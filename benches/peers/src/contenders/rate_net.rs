//! rate-net's token bucket with its own clock; the cap on keys is raised to what the workload holds.

use rate_net::{Eviction, RateLimiter};

use super::{Contender, Setting};
use crate::key::Key;

/// rate-net as built by its builder.
pub(super) struct RateNet(RateLimiter);

impl<K: Key> Contender<K> for RateNet {
    fn build(setting: &Setting) -> Self {
        // The cap is shared out evenly among the shards: a quarter more keeps an uneven one from evicting live keys.
        let cap = usize::try_from(setting.keys).expect("32 bits fit").max(rate_net::DEFAULT_MAX_KEYS) * 5 / 4;
        let limiter = RateLimiter::builder()
            .quota(1, setting.limit.interval)
            .burst(setting.limit.burst)
            .eviction(Eviction::capacity(cap))
            .try_build()
            .expect("the limits are within rate-net's range");
        Self(limiter)
    }

    #[inline]
    fn check(&self, key: &K) -> bool {
        match key.number() {
            Some(number) => self.0.check(number).is_allow(),
            None => key.text(|text| self.0.check_bytes(text).is_allow()),
        }
    }

    fn spend(&self, key: &K, cost: u32) -> bool {
        match key.number() {
            Some(number) => self.0.check_n(number, cost).is_allow(),
            None => key.text(|text| self.0.check_n_bytes(text, cost).is_allow()),
        }
    }

    fn clean(&self) {
        self.0.retain_recent();
    }

    fn held(&self) -> Option<u64> {
        u64::try_from(self.0.tracked_keys()).ok()
    }
}
