//! The rate limiters that are measured, one file each, behind one trait.

mod floor;
mod governor;
mod map;
mod rate_net;
mod tollgate;
mod trypema;

use crate::churn::{self, Churn};
use crate::key::Key;
use crate::latency::{self, Watch, Watched};
use crate::limit::Limit;
use crate::race::{self, Lap};
use crate::sample::Sample;

/// What a contender is built for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// The limit of every key.
    pub(crate) limit: Limit,
    /// The most keys that will ever be held at once.
    pub(crate) keys: u32,
    /// Whether keys are to be dropped soon after they become idle.
    pub(crate) churning: bool,
}

/// A rate limiter, used as its own documentation tells its users to.
pub(crate) trait Contender<K: Key>: Send + Sync + Sized {
    /// Builds an empty one.
    fn build(setting: &Setting) -> Self;

    /// Spends one for a key and tells whether it passed.
    fn check(&self, key: &K) -> bool;

    /// Spends many at once for a key and tells whether they passed.
    fn spend(&self, key: &K, cost: u32) -> bool;

    /// Whether idle keys are dropped without anybody calling for it.
    const CLEANS_ITSELF: bool = false;

    /// Drops idle keys now, where that can be called for.
    fn clean(&self) {}

    /// Returns how many keys are held, where it can be asked.
    fn held(&self) -> Option<u64>;
}

/// A built contender; its type is known inside every loop and forgotten outside.
pub(crate) trait Runner<K: Key> {
    /// Takes every key in, with so much spent that it stays alive to the end.
    fn prefill(&self);

    /// Runs one round of a workload.
    fn race(&self, lap: &Lap<'_, K>) -> Sample;

    /// Runs one round of new keys without end.
    fn churn(&self, churn: &Churn) -> Sample;

    /// Times single checks, with something else going on.
    fn watch(&self, watch: &Watch<'_, K>, watched: &mut Watched);

    /// Fills an empty table and returns the nanoseconds of the longest insert.
    fn longest_insert(&self) -> u64;

    /// Returns how many keys are held, where it can be asked.
    fn held(&self) -> Option<u64>;
}

/// A contender and what it was built for.
struct Built<C> {
    setting: Setting,
    limiter: C,
}

impl<K: Key, C: Contender<K>> Runner<K> for Built<C> {
    fn prefill(&self) {
        race::prefill(&self.limiter, self.setting.limit, self.setting.keys);
    }

    fn race(&self, lap: &Lap<'_, K>) -> Sample {
        race::run(&self.limiter, lap)
    }

    fn churn(&self, churn: &Churn) -> Sample {
        churn::run(&self.limiter, churn)
    }

    fn watch(&self, watch: &Watch<'_, K>, watched: &mut Watched) {
        latency::run(&self.limiter, &self.setting, watch, watched);
    }

    fn longest_insert(&self) -> u64 {
        latency::longest_insert(&self.limiter, self.setting.keys)
    }

    fn held(&self) -> Option<u64> {
        self.limiter.held()
    }
}

/// What a contender takes part in, beside the full run of plain workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The quick run.
    Quick,
    /// New keys without end.
    Churn,
    /// Latencies and the longest insert.
    Latency,
    /// Resident memory.
    Memory,
}

/// A contender before it is built.
pub(crate) struct Entrant<K> {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it takes part in.
    pub(crate) parts: &'static [Part],
    /// Builds it.
    pub(crate) build: fn(&Setting) -> Box<dyn Runner<K>>,
}

impl<K: Key> Entrant<K> {
    /// Makes the entrant of a type.
    fn of<C: Contender<K> + 'static>(name: &'static str, parts: &'static [Part]) -> Self {
        let build = |setting: &Setting| -> Box<dyn Runner<K>> {
            Box::new(Built { setting: *setting, limiter: C::build(setting) })
        };
        Self { name, parts, build }
    }
}

/// Returns all contenders in the order in which they take turns.
pub(crate) fn entrants<K: Key>() -> Vec<Entrant<K>> {
    use Part::{Churn, Latency, Memory, Quick};

    vec![
        Entrant::of::<tollgate::Coarse<K>>("tollgate-coarse", &[Quick, Churn, Latency, Memory]),
        Entrant::of::<tollgate::Precise<K>>("tollgate-precise", &[Quick, Churn, Latency]),
        Entrant::of::<governor::Plain<K>>("governor", &[Quick, Churn, Latency, Memory]),
        Entrant::of::<governor::Tuned<K>>("governor-tuned", &[Quick, Churn, Latency]),
        Entrant::of::<rate_net::RateNet>("rate-net", &[Churn, Latency, Memory]),
        Entrant::of::<trypema::Trypema>("trypema", &[Churn, Memory]),
        Entrant::of::<map::Sharded<K>>("dashmap", &[Churn, Latency, Memory]),
        Entrant::of::<map::Locked<K>>("mutex-map", &[Churn, Memory]),
        Entrant::of::<floor::Floor>("floor", &[Quick, Latency]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of the checks of a fixed schedule each contender allows.
    fn allowed<K: Key>(limit: Limit, keys: u32, times: u32) -> Vec<(&'static str, u64)> {
        let sequence: Vec<K::Stored> = (0..times).flat_map(|_| (0..keys).map(K::stored)).collect();
        let setting = Setting { limit, keys, churning: false };
        let lap = Lap::once(&sequence);
        entrants::<K>()
            .into_iter()
            .filter(|entrant| entrant.name != "floor" || K::KIND == "integer")
            .map(|entrant| (entrant.name, (entrant.build)(&setting).race(&lap).allowed))
            .collect()
    }

    #[test]
    fn all_contenders_give_the_same_verdicts() {
        let limit = Limit { burst: 5, ..Limit::SPENT };
        for (name, allowed) in allowed::<u64>(limit, 3, 8).into_iter().chain(allowed::<String>(limit, 3, 8)) {
            assert_eq!(allowed, 15, "{name}: 3 keys, 8 checks each, a burst of 5");
        }
    }

    #[test]
    fn the_generous_limit_denies_nothing() {
        for (name, allowed) in allowed::<u64>(Limit::GENEROUS, 7, 100) {
            assert_eq!(allowed, 700, "{name}");
        }
    }

    #[test]
    fn prefilled_keys_go_on_passing() {
        let sequence: Vec<u32> = (0..50).collect();
        let setting = Setting { limit: Limit::GENEROUS, keys: 50, churning: false };
        for entrant in entrants::<u64>() {
            let runner = (entrant.build)(&setting);
            runner.prefill();
            assert_eq!(runner.race(&Lap::once(&sequence)).allowed, 50, "{}", entrant.name);
        }
    }
}
