//! tollgate itself, with its usual clocks; the sweeper runs, as it does by default.

use tollgate::{Clock, Limiter, Quota};

use super::{Contender, Setting};
use crate::key::Key;

/// tollgate with the coarse clock.
pub(super) type Coarse<K> = Tollgate<K, true>;
/// tollgate with the precise clock.
pub(super) type Precise<K> = Tollgate<K, false>;

/// From here on the cap on keys is raised.
const MANY_KEYS: u32 = 500_000;

/// A limiter, and which clock it has.
pub(super) struct Tollgate<K, const COARSE: bool>(Limiter<K>);

impl<K: Key, const COARSE: bool> Contender<K> for Tollgate<K, COARSE> {
    fn build(setting: &Setting) -> Self {
        let clock = if COARSE { Clock::coarse() } else { Clock::precise() };
        let quota = Quota::new(1, setting.limit.interval)
            .and_then(|quota| quota.with_burst(u64::from(setting.limit.burst)))
            .expect("the limits are sound");
        let mut builder = Limiter::builder(quota).clock(clock);
        if setting.keys >= MANY_KEYS {
            builder = builder.max_keys(2 * usize::try_from(setting.keys).expect("32 bits fit"));
        }
        Self(builder.build().expect("the limits are within tollgate's range"))
    }

    #[inline]
    fn check(&self, key: &K) -> bool {
        self.0.check(key).is_allowed()
    }

    fn spend(&self, key: &K, cost: u32) -> bool {
        self.0.check_n(key, u64::from(cost)).is_allowed()
    }

    const CLEANS_ITSELF: bool = true;

    /// Sweeps at once, beside the sweeper's own passes.
    fn clean(&self) {
        self.0.sweep();
    }

    fn held(&self) -> Option<u64> {
        Some(self.0.stats().keys)
    }
}
