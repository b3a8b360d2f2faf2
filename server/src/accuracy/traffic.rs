//! What is offered to the algorithms.

use std::path::Path;
use std::time::Duration;

use tollgate::{Quota, Tick};

use crate::accuracy::numbers::Numbers;
use crate::failure::Failure;

/// The keys of the Zipf traffic.
pub(super) const ZIPF_KEYS: u64 = 400;
/// How many periods it lasts.
pub(super) const ZIPF_PERIODS: u64 = 10;
/// How many attacks the adversary makes.
pub(super) const ATTACKS: u64 = 50;
/// The part of a period in which each half of an attack is made.
pub(super) const HASTE: u64 = 20;

/// Requests in the order of their ticks.
#[derive(Debug)]
pub(super) struct Traffic {
    /// What reports call it.
    pub(super) name: &'static str,
    /// What the page and the picture call it.
    pub(super) title: &'static str,
    /// The key and the tick of each request.
    pub(super) requests: Vec<(u64, Tick)>,
}

impl Traffic {
    /// An adversary at every second edge of the windows: as many requests as the limit just before, as many just after.
    pub(super) fn edges(quota: &Quota) -> Self {
        let (limit, period_ns) = (quota.limit(), quota.period().as_nanos() as u64);
        let half_ns = period_ns / HASTE;
        let attack = |number: u64| {
            let edge_ns = (2 * number + 1) * period_ns;
            (0..2 * limit).map(move |idx| (0, tick(edge_ns - half_ns + idx * half_ns / limit)))
        };
        Self { name: "edges", title: "adversary", requests: (0..ATTACKS).flat_map(attack).collect() }
    }

    /// Keys by Zipf's law with exponent 1, at random moments, twice as many requests as all keys together may spend.
    pub(super) fn zipf(quota: &Quota) -> Self {
        let (limit, period_ns) = (quota.limit(), quota.period().as_nanos() as u64);
        // Whole numbers: the same on every machine.
        let sums: Vec<u64> = (1..=ZIPF_KEYS)
            .scan(0, |sum, rank| {
                *sum += (1 << 40) / rank;
                Some(*sum)
            })
            .collect();
        let all = sums.last().copied().unwrap_or(1);
        let mut numbers = Numbers::new(2);
        let mut requests: Vec<(u64, Tick)> = (0..2 * limit * ZIPF_KEYS * ZIPF_PERIODS)
            .map(|_| {
                let drawn = numbers.below(all);
                let key = sums.partition_point(|sum| *sum <= drawn) as u64;
                (key, tick(numbers.below(ZIPF_PERIODS * period_ns)))
            })
            .collect();
        requests.sort_by_key(|(_, now)| *now);
        Self { name: "zipf", title: "Zipf", requests }
    }

    /// The requests of a log.
    pub(super) fn logged(file: &Path, requests: Vec<(u64, Tick)>) -> Result<Self, Failure> {
        /// Beyond this, windows and buckets of some limits count no further.
        const LONGEST: Duration = Duration::from_secs(4 * 365 * 86_400);

        let name = file.display();
        match requests.last() {
            None => Err(Failure::usage(format_args!("{name} has no requests: name a log of some traffic"))),
            Some((_, last)) if last.since(Tick::ZERO) > LONGEST => {
                Err(Failure::usage(format_args!("{name} spans more than four years: name a log of fewer")))
            }
            Some(_) => Ok(Self { name: "log", title: "real log", requests }),
        }
    }
}

/// Returns a tick.
fn tick(ns: u64) -> Tick {
    Tick::from_nanos(ns)
}
