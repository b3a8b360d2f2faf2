//! What a limit would have made of the requests of a log.

use std::time::Duration;

use tollgate::{Algorithm, Limiter, ManualClock, Quota, Tick};

use crate::failure::Failure;
use crate::replay::requests::Requests;

/// What passed and what did not.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) allowed: u64,
    pub(super) denied: u64,
    /// What each key asked for and was denied, by its number.
    pub(super) by_key: Vec<Tally>,
}

/// The requests of one key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) requests: u64,
    pub(super) denied: u64,
}

/// Runs all requests through a limiter, the first at its first tick.
pub(super) fn decide<A: Algorithm>(requests: &Requests, quota: Quota) -> Result<Outcome, Failure> {
    // The log has the time and the keys are numbers: no clock is read, no two keys can be taken for one, and the table
    // need not be swept, because it has room for every key.
    let builder = Limiter::<u64, A>::builder(quota).clock(ManualClock::new().clock()).sweeper(false);
    let limiter = builder.max_keys(requests.keys.len()).build().map_err(Failure::usage)?;
    let mut outcome = Outcome { allowed: 0, denied: 0, by_key: vec![Tally::default(); requests.keys.len()] };
    let longest = longest_memory(&quota);
    for (request, now) in requests.sorted.iter().zip(ticks(requests, &quota)) {
        let decision = limiter.check_at(&u64::from(request.key), now);
        // Nobody is ever told to wait for longer, except where a word can count no further.
        if decision.retry_after().is_none_or(|wait| wait > longest) {
            return Err(too_long(quota));
        }
        let is_allowed = decision.is_allowed();
        let tally = &mut outcome.by_key[request.key as usize];
        tally.requests += 1;
        tally.denied += u64::from(!is_allowed);
        outcome.allowed += u64::from(is_allowed);
        outcome.denied += u64::from(!is_allowed);
    }
    Ok(outcome)
}

/// Returns the tick of each request; the first is at tick 0.
pub(super) fn ticks(requests: &Requests, quota: &Quota) -> impl Iterator<Item = Tick> {
    let (quota, longest) = (*quota, longest_memory(quota));
    let mut latest = requests.sorted.first().map_or(0, |first| first.unix_seconds);
    let mut now = Tick::ZERO;
    requests.sorted.iter().map(move |request| {
        now = now + shortened(request.unix_seconds - latest, longest, &quota);
        latest = request.unix_seconds;
        now
    })
}

/// Returns a pause without the whole periods that it has beyond what anybody remembers: it means the same, and ticks
/// stay within their range where a wrong date is decades from the rest.
fn shortened(seconds: u32, longest: Duration, quota: &Quota) -> Duration {
    let pause = Duration::from_secs(u64::from(seconds));
    let periods = pause.saturating_sub(longest).as_nanos() / quota.period().as_nanos();
    // Fewer nanoseconds than the pause has, and that is below 2^62.
    pause - Duration::from_nanos((periods * quota.period().as_nanos()) as u64)
}

/// Returns a time in which every key becomes as good as new, whatever it has spent.
fn longest_memory(quota: &Quota) -> Duration {
    // In whole periods: so long does a bucket take that is refilled at the end of each.
    let refill_ns = quota.period().as_nanos().saturating_mul(u128::from(quota.burst().div_ceil(quota.limit())));
    let refill = Duration::from_nanos(u64::try_from(refill_ns).unwrap_or(u64::MAX));
    refill.max(quota.period().saturating_mul(2)) + Duration::from_secs(1)
}

/// Says that a log goes on for years, without a pause, under a limit that is exact for fewer years only.
fn too_long(quota: Quota) -> Failure {
    Failure::usage(format_args!("the log spans more years than {quota} can be counted for: take a rounder limit"))
}

impl Outcome {
    /// Returns the numbers of the keys that were denied most, at most so many, the most denied first.
    pub(super) fn most_denied(&self, requests: &Requests, count: usize) -> Vec<u32> {
        let mut keys: Vec<u32> =
            (0..).zip(&self.by_key).filter(|(_, tally)| tally.denied > 0).map(|(key, _)| key).collect();
        keys.sort_by(|one, other| {
            let denied = |key: &u32| self.by_key[*key as usize].denied;
            denied(other).cmp(&denied(one)).then_with(|| requests.keys.key(*one).cmp(requests.keys.key(*other)))
        });
        keys.truncate(count);
        keys
    }
}
