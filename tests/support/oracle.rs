//! The limiter that is too plain to be wrong: exact arithmetic, one map, one lock.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// What must be said of one call; a wait of `None` is "never".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) allowed: bool,
    pub(crate) remaining: u128,
    pub(crate) retry_after_ns: Option<u128>,
    pub(crate) reset_after_ns: u128,
}

/// The rule that is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Up to `burst` at once, one more for each `interval / scale` ns.
    Bucket { interval: u128, scale: u128, burst: u128 },
    /// Up to `limit` in any trailing period; `count_denied` records what was denied as well.
    Log { limit: u128, period_ns: u128, count_denied: bool },
    /// Up to `limit` in each window of a period.
    Fixed { limit: u128, period_ns: u128 },
    /// Up to `limit` in a window, with the window before weighed by its part within the trailing period.
    Counter { limit: u128, period_ns: u128 },
}

/// One key: the arrival time of a bucket in `1 / scale` ns, or the stamps of all else, oldest first.
type State = (u128, VecDeque<u128>);

/// Many keys under one rule.
#[derive(Debug)]
pub(crate) struct Oracle(Rule, Mutex<HashMap<u64, State>>);

impl Oracle {
    pub(crate) fn new(rule: Rule) -> Self {
        Self(rule, Mutex::default())
    }

    pub(crate) fn check(&self, key: u64, cost: u64, now_ns: u64) -> Verdict {
        let mut keys = self.1.lock().expect("no call panics");
        let (arrival, stamps) = keys.entry(key).or_default();
        let (cost, now) = (u128::from(cost), u128::from(now_ns));
        match self.0 {
            Rule::Bucket { interval, scale, burst } => {
                let (now, full) = (now * scale, now * scale + burst * interval);
                let start = now.max(*arrival);
                let end = cost.saturating_mul(interval).saturating_add(start);
                let allowed = cost == 0 || end <= full;
                if allowed && cost > 0 {
                    *arrival = end;
                }
                let arrival = now.max(*arrival);
                let wait = if allowed { 0 } else { (end - full).div_ceil(scale) };
                Verdict {
                    allowed,
                    remaining: full.saturating_sub(arrival) / interval,
                    retry_after_ns: (cost <= burst).then_some(wait),
                    reset_after_ns: (arrival - now).div_ceil(scale),
                }
            }
            Rule::Fixed { limit, period_ns } => {
                // Time that goes back before the window of the last call counts as that window's start.
                let at = stamps.back().map_or(now, |newest| now.max(newest / period_ns * period_ns));
                let spent = stamps.iter().filter(|stamp| *stamp / period_ns == at / period_ns).count() as u128;
                let allowed = spent + cost <= limit;
                let spent = spent + if allowed { cost } else { 0 };
                if allowed && cost > 0 {
                    stamps.retain(|stamp| stamp / period_ns == at / period_ns);
                    stamps.extend((0..cost).map(|_| at));
                }
                let end = (at / period_ns + 1) * period_ns - now;
                Verdict {
                    allowed,
                    remaining: limit - spent,
                    retry_after_ns: (cost <= limit).then_some(if allowed { 0 } else { end }),
                    reset_after_ns: if spent == 0 { 0 } else { end },
                }
            }
            Rule::Counter { limit, period_ns } => {
                let at = stamps.back().map_or(now, |newest| now.max(newest / period_ns * period_ns));
                // What counts at a moment, in parts of a period each: whole calls of the window, parts of those before.
                let weight = |stamps: &VecDeque<u128>, at: u128| {
                    let rest = period_ns - at % period_ns;
                    let count = |window: u128| stamps.iter().filter(|s| *s / period_ns + 1 == window).count() as u128;
                    count(at / period_ns + 1) * period_ns + count(at / period_ns) * rest
                };
                let passes = |stamps: &VecDeque<u128>, at| weight(stamps, at) + cost * period_ns <= limit * period_ns;
                let allowed = cost == 0 || passes(stamps, at);
                if allowed && cost > 0 {
                    stamps.retain(|stamp| stamp / period_ns + 1 >= at / period_ns);
                    stamps.extend((0..cost).map(|_| at));
                }
                // Nothing is spent meanwhile, so what passes once passes from then on: halve until it is found.
                let (mut denied, mut passed) = (at, at + 2 * period_ns);
                while !allowed && cost <= limit && passed - denied > 1 {
                    let middle = denied.midpoint(passed);
                    if passes(stamps, middle) { passed = middle } else { denied = middle }
                }
                let newest = stamps.back().map(|newest| newest / period_ns);
                Verdict {
                    allowed,
                    remaining: limit.saturating_sub(weight(stamps, at).div_ceil(period_ns)),
                    retry_after_ns: (cost <= limit).then_some(if allowed { 0 } else { passed - now }),
                    reset_after_ns: newest.map_or(0, |newest| ((newest + 2) * period_ns).saturating_sub(now)),
                }
            }
            Rule::Log { limit, period_ns, count_denied } => {
                let at = stamps.back().map_or(now, |newest| now.max(*newest));
                let live = |stamps: &VecDeque<u128>| stamps.iter().filter(|s| **s + period_ns > at).count() as u128;
                let allowed = live(stamps) + cost <= limit;
                if cost <= limit && (allowed || count_denied) {
                    stamps.extend((0..cost).map(|_| at));
                    stamps.drain(..stamps.len().saturating_sub(limit as usize));
                }
                let last_to_go = |stamps: &VecDeque<u128>| stamps[stamps.len() + cost as usize - limit as usize - 1];
                let wait = |stamps| if allowed { 0 } else { last_to_go(stamps) + period_ns - now };
                Verdict {
                    allowed,
                    remaining: limit - live(stamps),
                    retry_after_ns: (cost <= limit).then(|| wait(stamps)),
                    reset_after_ns: stamps.back().map_or(0, |s| (*s + period_ns).saturating_sub(now)),
                }
            }
        }
    }
}
