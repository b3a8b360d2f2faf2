//! The algorithms that are compared, and what is proven of each.

use tollgate::{Algorithm, Limiter, ManualClock, Quota, Tick};

use crate::cli::{AlgorithmChoice, with_algorithm};
use crate::failure::Failure;

/// An algorithm and the bound that is proven of it.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) choice: AlgorithmChoice,
    /// The bound in letters: L for the limit, b for the burst.
    pub(super) formula: &'static str,
    /// The most that can pass in a period, one of whose ends belongs to it.
    pub(super) bound: fn(&Quota) -> u64,
    /// Why no more can pass.
    pub(super) reason: &'static str,
}

/// All algorithms, in the order in which they are reported.
pub(super) const CONTENDERS: [Contender; 7] = [
    Contender {
        choice: AlgorithmChoice::TokenBucket,
        formula: "b + L - 1",
        bound: |quota| quota.burst() + quota.limit() - 1,
        reason: "a full bucket, and what comes back in less than a period",
    },
    Contender {
        choice: AlgorithmChoice::LeakyBucket,
        formula: "b + L - 1",
        bound: |quota| quota.burst() + quota.limit() - 1,
        reason: "an empty bucket, and what leaks in less than a period",
    },
    Contender {
        choice: AlgorithmChoice::IntervalBucket,
        formula: "b + L",
        bound: |quota| quota.burst() + quota.limit(),
        reason: "a full bucket, and one refill",
    },
    Contender {
        choice: AlgorithmChoice::FixedWindow,
        formula: "2 L",
        bound: |quota| 2 * quota.limit(),
        reason: "the end of one window and the start of the next",
    },
    Contender {
        choice: AlgorithmChoice::OwnWindow,
        formula: "2 L - 1",
        bound: |quota| 2 * quota.limit() - 1,
        reason: "the same, but for the request that opened the first window: it is a period old when the next opens",
    },
    Contender {
        choice: AlgorithmChoice::SlidingCounter,
        formula: "2 L - 1",
        bound: |quota| 2 * quota.limit() - 1,
        reason: "requests at the end of a window count as if they had come evenly in it",
    },
    Contender {
        choice: AlgorithmChoice::SlidingLog,
        formula: "L",
        bound: Quota::limit,
        reason: "each request counts until it is a period old",
    },
];

/// What decides: a limiter of any algorithm.
pub(super) trait Gate {
    /// Tells whether a request of a key passes at a tick.
    fn passes(&self, key: u64, now: Tick) -> bool;
}

impl<A: Algorithm> Gate for Limiter<u64, A> {
    fn passes(&self, key: u64, now: Tick) -> bool {
        self.check_at(&key, now).is_allowed()
    }
}

/// Builds the limiter of an algorithm.
pub(super) fn gate(choice: AlgorithmChoice, quota: &Quota) -> Result<Box<dyn Gate>, Failure> {
    with_algorithm!(choice, Chosen => build::<Chosen>(*quota))
}

/// Builds a limiter whose time is that of its requests.
fn build<A: Algorithm>(quota: Quota) -> Result<Box<dyn Gate>, Failure> {
    let builder = Limiter::<u64, A>::builder(quota).clock(ManualClock::new().clock()).sweeper(false);
    Ok(Box::new(builder.build().map_err(Failure::usage)?))
}
