//! How far an algorithm's decisions are from those of an exact log.

use std::time::Duration;

use tollgate::{Quota, Tick};

use crate::accuracy::contender;
use crate::accuracy::schedule::most_in_a_period;
use crate::accuracy::traffic::Traffic;
use crate::cli::AlgorithmChoice;
use crate::failure::Failure;

/// How an algorithm and the exact log differ on the same requests, each by what it let pass itself.
#[derive(Debug)]
pub(super) struct Errors {
    /// All requests.
    pub(super) offered: u64,
    /// Those that passed and that the log denied.
    pub(super) wrongly_admitted: u64,
    /// Those that were denied and that the log let pass.
    pub(super) wrongly_denied: u64,
    /// The most that passed a key in a period.
    pub(super) most: u64,
}

/// Returns which requests pass.
pub(super) fn decide(choice: AlgorithmChoice, quota: &Quota, traffic: &Traffic) -> Result<Vec<bool>, Failure> {
    let gate = contender::gate(choice, quota)?;
    Ok(traffic.requests.iter().map(|(key, now)| gate.passes(*key, *now)).collect())
}

impl Errors {
    /// Counts where decisions differ from the exact ones.
    pub(super) fn count(traffic: &Traffic, exact: &[bool], decided: &[bool], quota: &Quota) -> Self {
        let differ = |passed: bool| {
            exact.iter().zip(decided).filter(|(exact, decided)| **decided == passed && **exact != passed).count() as u64
        };
        Self {
            offered: traffic.requests.len() as u64,
            wrongly_admitted: differ(true),
            wrongly_denied: differ(false),
            most: most(traffic, decided, quota),
        }
    }
}

/// Returns the most that passed a key in a period.
fn most(traffic: &Traffic, decided: &[bool], quota: &Quota) -> u64 {
    let passed = traffic.requests.iter().zip(decided).filter(|(_, passed)| **passed);
    let mut passed: Vec<(u64, u64)> = passed.map(|((key, now), _)| (*key, now.as_nanos())).collect();
    passed.sort_unstable();
    let keys = passed.chunk_by(|(one, _), (other, _)| one == other);
    let ticks = keys.map(|key| key.iter().map(|(_, now)| *now).collect::<Vec<_>>());
    ticks.map(|ticks| most_in_a_period(&ticks, quota.period().as_nanos() as u64)).max().unwrap_or(0)
}

/// Returns how many requests passed in the period up to each of some moments, which ascend.
pub(super) fn trailing(traffic: &Traffic, decided: &[bool], quota: &Quota, moments: &[Duration]) -> Vec<u64> {
    let passed = traffic.requests.iter().zip(decided).filter(|(_, passed)| **passed);
    let passed: Vec<Duration> = passed.map(|((_, now), _)| now.since(Tick::ZERO)).collect();
    let up_to = |moment: Duration| passed.partition_point(|now| *now <= moment) as u64;
    let before = |moment: Duration| moment.checked_sub(quota.period()).map_or(0, up_to);
    moments.iter().map(|moment| up_to(*moment) - before(*moment)).collect()
}
