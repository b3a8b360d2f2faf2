//! trypema's local absolute limiter: a window of buckets, not a token bucket, and keys that are text alone.

use std::sync::Arc;
use std::time::Duration;

use trypema::local::LocalRateLimiterProvider;
use trypema::{RateLimit, RateLimitDecision, RateLimiterBuilder, WindowSize};

use super::{Contender, Setting};
use crate::key::Key;

/// A provider and the rate that is given with each check.
pub(super) struct Trypema {
    provider: Arc<LocalRateLimiterProvider>,
    rate: RateLimit,
}

impl<K: Key> Contender<K> for Trypema {
    /// Builds a window in which `burst` come back, at least a second.
    fn build(setting: &Setting) -> Self {
        let burst = f64::from(setting.limit.burst);
        let window_s = (setting.limit.interval.as_secs_f64() * burst).ceil().max(1.0);
        // The window's limit is the product of rate and window cut to an integer: half a unit keeps it from the edge.
        let rate = RateLimit::per_second((burst + 0.5) / window_s).expect("the rate is over zero");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "hours in seconds")]
        let window = WindowSize::seconds(window_s as u64).expect("the window is over zero");
        let mut builder = LocalRateLimiterProvider::builder().window_size(window);
        if setting.churning {
            builder = builder.stale_after(setting.limit.interval).cleanup_interval(Duration::from_millis(100));
        }
        Self { provider: builder.build().expect("the window is longer than a bucket"), rate }
    }

    #[inline]
    fn check(&self, key: &K) -> bool {
        key.text(|text| matches!(self.provider.absolute().inc(text, &self.rate, 1), RateLimitDecision::Allowed))
    }

    fn spend(&self, key: &K, cost: u32) -> bool {
        let cost = u64::from(cost);
        key.text(|text| matches!(self.provider.absolute().inc(text, &self.rate, cost), RateLimitDecision::Allowed))
    }

    const CLEANS_ITSELF: bool = true;

    /// Returns nothing: the provider does not tell.
    fn held(&self) -> Option<u64> {
        None
    }
}
