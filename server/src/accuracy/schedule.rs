//! Schedules of one client's requests, and what of them passes.

use std::fmt::Write;

use tollgate::{Quota, Tick};

use crate::accuracy::contender::Gate;

/// Requests as trains, in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    pub(super) trains: Vec<Train>,
}

/// Requests that follow one another evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    /// The first one's tick.
    pub(super) start_ns: u64,
    /// The time between two; 0 for a burst.
    pub(super) every_ns: u64,
    pub(super) count: u64,
}

impl Train {
    /// Returns the tick of the last request.
    pub(super) fn end_ns(&self) -> u64 {
        self.start_ns + self.every_ns * (self.count - 1)
    }
}

impl Schedule {
    /// Returns the most requests that a gate lets pass in any period, if a key that is new to it makes them.
    pub(super) fn most(&self, gate: &dyn Gate, key: u64, period_ns: u64) -> u64 {
        let mut ticks: Vec<u64> = Vec::new();
        for train in &self.trains {
            ticks.extend((0..train.count).map(|idx| train.start_ns + idx * train.every_ns));
        }
        ticks.sort_unstable();
        ticks.retain(|tick| gate.passes(key, Tick::from_nanos(*tick)));
        most_in_a_period(&ticks, period_ns)
    }

    /// Returns the schedule in words, its times in periods.
    pub(super) fn shown(&self, quota: &Quota) -> String {
        let period = quota.period().as_nanos() as f64;
        let mut text = String::new();
        for Train { start_ns, every_ns, count } in &self.trains {
            let comma = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{comma}{count} at {:.3}", *start_ns as f64 / period);
            if *every_ns > 0 && *count > 1 {
                let _ = write!(text, ", one every {:.4}", *every_ns as f64 / period);
            }
        }
        text
    }
}

/// Returns the most of some ascending ticks that lie in one period, of whose two ends one belongs to it.
pub(super) fn most_in_a_period(ticks: &[u64], period_ns: u64) -> u64 {
    let (mut first, mut most) = (0, 0);
    for (idx, tick) in ticks.iter().enumerate() {
        while tick - ticks[first] >= period_ns {
            first += 1;
        }
        most = most.max(idx + 1 - first);
    }
    most as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_one_of_its_ends() {
        assert_eq!(most_in_a_period(&[], 10), 0);
        assert_eq!(most_in_a_period(&[0, 10], 10), 1);
        assert_eq!(most_in_a_period(&[0, 1, 9, 10, 10, 11, 30], 10), 4);
    }
}
