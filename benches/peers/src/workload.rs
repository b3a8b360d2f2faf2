//! The workloads, as data.

use std::time::Duration;

use crate::limit::Limit;
use crate::sequence::Draw;

/// Keys, how they are drawn, and what the verdicts must be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// Its name, and that of the same workload with string keys, if there is one.
    pub(crate) names: (&'static str, Option<&'static str>),
    /// How many keys there are.
    pub(crate) keys: u32,
    /// How they are drawn.
    pub(crate) draw: Draw,
    /// The limit of each.
    pub(crate) limit: Limit,
    /// What must come of it.
    pub(crate) verdicts: Verdicts,
}

/// What the verdicts of a workload must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdicts {
    /// Everything passes.
    AllAllowed,
    /// At most one in a thousand passes.
    NearlyAllDenied,
}

impl Verdicts {
    /// Tells whether so many allowed and denied checks are plausible.
    pub(crate) fn hold(self, allowed: u64, denied: u64) -> bool {
        match self {
            Self::AllAllowed => denied == 0 && allowed > 0,
            Self::NearlyAllDenied => allowed <= denied / 1_000,
        }
    }
}

impl Workload {
    /// Tells whether tables start empty.
    pub(crate) fn starts_empty(&self) -> bool {
        self.draw == Draw::Once
    }
}

/// The exponent of the popularity of keys.
pub(crate) const ZIPF_EXPONENT: f64 = 1.0;

/// The workloads of plain checks.
pub(crate) const PLAIN: [Workload; 6] = [
    Workload {
        names: ("hot", Some("hot-string")),
        keys: 1,
        draw: Draw::Uniform,
        limit: Limit::GENEROUS,
        verdicts: Verdicts::AllAllowed,
    },
    Workload {
        names: ("keys-1k", Some("keys-1k-string")),
        keys: 1_000,
        draw: Draw::Uniform,
        limit: Limit::GENEROUS,
        verdicts: Verdicts::AllAllowed,
    },
    Workload {
        names: ("zipf-1m", Some("zipf-1m-string")),
        keys: 1_000_000,
        draw: Draw::Zipf(ZIPF_EXPONENT),
        limit: Limit::GENEROUS,
        verdicts: Verdicts::AllAllowed,
    },
    Workload {
        names: ("uniform-10m", None),
        keys: 10_000_000,
        draw: Draw::Uniform,
        limit: Limit::GENEROUS,
        verdicts: Verdicts::AllAllowed,
    },
    Workload {
        names: ("denied", None),
        keys: 1,
        draw: Draw::Uniform,
        limit: Limit::SPENT,
        verdicts: Verdicts::NearlyAllDenied,
    },
    Workload {
        names: ("new-keys", None),
        keys: 1_000_000,
        draw: Draw::Once,
        limit: Limit::LASTING,
        verdicts: Verdicts::AllAllowed,
    },
];

/// The names of what only the full run measures.
pub(crate) const MORE: [&str; 8] =
    ["churn", "log-hot", "latency-peace", "latency-sweep", "latency-grow", "longest-insert", "memory", "memory-log"];

/// How large and how long everything is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// The most keys of any workload.
    pub(crate) most_keys: u32,
    /// How many checks of integer keys are drawn beforehand.
    pub(crate) integers: usize,
    /// How many checks of string keys are drawn beforehand.
    pub(crate) strings: usize,
    /// How often every contender takes its turn.
    pub(crate) rounds: usize,
    /// The untimed part of a round.
    pub(crate) warm_up: Duration,
    /// The measured part of a round.
    pub(crate) measured: Duration,
    /// The measured part of a round that needs long: churn and latencies.
    pub(crate) long: Duration,
    /// How often every contender takes its turn at what needs long.
    pub(crate) long_rounds: usize,
}

impl Scale {
    /// What the quick run takes, under a minute on two cores.
    pub(crate) const QUICK: Self = Self {
        most_keys: u32::MAX,
        integers: 1 << 22,
        strings: 1 << 20,
        rounds: 5,
        warm_up: Duration::from_millis(15),
        measured: Duration::from_millis(60),
        long: Duration::from_millis(500),
        long_rounds: 3,
    };
    /// What the full run takes.
    pub(crate) const FULL: Self = Self {
        integers: 1 << 23,
        strings: 1 << 21,
        rounds: 9,
        warm_up: Duration::from_millis(25),
        measured: Duration::from_millis(100),
        long: Duration::from_secs(3),
        ..Self::QUICK
    };
    /// What shows that everything runs; its figures say nothing.
    pub(crate) const TINY: Self = Self {
        most_keys: 2_000,
        integers: 1 << 12,
        strings: 1 << 12,
        rounds: 2,
        warm_up: Duration::from_millis(1),
        measured: Duration::from_millis(2),
        long: Duration::from_millis(20),
        long_rounds: 1,
    };

    /// Returns a number of keys, or the most that this scale has.
    pub(crate) fn keys(&self, keys: u32) -> u32 {
        keys.min(self.most_keys)
    }
}
