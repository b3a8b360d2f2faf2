//! The limits of a replay, kept in whole numbers: too plain to be wrong.

use std::collections::{HashMap, VecDeque};

/// A limit of so many requests for each so many seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// A bucket of `burst` tokens.
    Bucket { limit: u64, seconds: u64, burst: u64 },
    /// A bucket of `burst` tokens, to which `limit` come back together at each period's end from the first request on.
    Interval { limit: u64, seconds: u64, burst: u64 },
    /// A log of what passed within the last seconds.
    Log { limit: u64, seconds: u64 },
    /// Windows of so many seconds from the first request on.
    Fixed { limit: u64, seconds: u64 },
    /// A window that opens with the key's first request after the last; one that overhangs takes in the second in which
    /// it ends, because it lasts some nanoseconds longer where a word counts in more than one at a time.
    Own { limit: u64, seconds: u64, overhangs: bool },
    /// Fixed windows, with the one before weighed by how much of it lies within the last seconds.
    Counter { limit: u64, seconds: u64 },
}

/// The requests of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tally {
    /// All that were made.
    pub(crate) requests: u64,
    /// Those that did not pass.
    pub(crate) denied: u64,
}

/// What is known of one key: the arrival time of a bucket in parts of a second, or what is missing in it; the seconds in a
/// log, or the last period; the counts.
type State = (u128, VecDeque<u64>, Tally);

/// Returns what becomes of each key's requests, which are made at some second; they need not be in order.
pub(crate) fn decide(rule: Rule, requests: &[(u64, String)]) -> HashMap<String, Tally> {
    let mut sorted: Vec<_> = requests.iter().collect();
    sorted.sort_by_key(|(second, _)| *second);
    let origin = sorted.first().map_or(0, |(second, _)| *second);
    let mut keys: HashMap<String, State> = HashMap::new();
    for (second, key) in sorted {
        let (arrival, log, tally) = keys.entry(key.clone()).or_default();
        let is_allowed = match rule {
            Rule::Bucket { limit, seconds, burst } => {
                // In parts of a second, `limit` of them, the time between two tokens is `seconds`.
                let (interval, now) = (u128::from(seconds), u128::from(*second) * u128::from(limit));
                let next = now.max(*arrival) + interval;
                let is_allowed = next <= now + u128::from(burst) * interval;
                *arrival = if is_allowed { next } else { *arrival };
                is_allowed
            }
            Rule::Interval { limit, seconds, burst } => {
                let (missing, period) = (&mut *arrival, (*second - origin) / seconds);
                let gone = period - log.pop_back().unwrap_or(period);
                *missing = missing.saturating_sub(u128::from(gone) * u128::from(limit));
                let is_allowed = *missing < u128::from(burst);
                *missing += u128::from(is_allowed);
                log.push_back(period);
                is_allowed
            }
            Rule::Own { limit, seconds, overhangs } => {
                let last = seconds - u64::from(!overhangs);
                if log.front().is_some_and(|opened| *second > opened + last) {
                    log.clear();
                }
                let is_allowed = (log.len() as u64) < limit;
                log.extend(is_allowed.then_some(*second));
                is_allowed
            }
            Rule::Log { limit, seconds } => {
                log.retain(|passed| passed + seconds > *second);
                let is_allowed = (log.len() as u64) < limit;
                log.extend(is_allowed.then_some(*second));
                is_allowed
            }
            Rule::Fixed { limit, seconds } => {
                let window = |at: u64| (at - origin) / seconds;
                log.retain(|passed| window(*passed) == window(*second));
                let is_allowed = (log.len() as u64) < limit;
                log.extend(is_allowed.then_some(*second));
                is_allowed
            }
            Rule::Counter { limit, seconds } => {
                let window = |at: u64| (at - origin) / seconds;
                log.retain(|passed| window(*passed) + 1 >= window(*second));
                let current = log.iter().filter(|passed| window(**passed) == window(*second)).count() as u64;
                let in_sight = seconds - (*second - origin) % seconds;
                let spent = current * seconds + (log.len() as u64 - current) * in_sight;
                let is_allowed = spent + seconds <= limit * seconds;
                log.extend(is_allowed.then_some(*second));
                is_allowed
            }
        };
        tally.requests += 1;
        tally.denied += u64::from(!is_allowed);
    }
    keys.into_iter().map(|(key, (.., tally))| (key, tally)).collect()
}
