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
        // No longer than a day.
        let period_ns = quota.period().as_nanos() as u64;
        let mut text = String::new();
        for Train { start_ns, every_ns, count } in &self.trains {
            let comma = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{comma}{count} at {}", moment(*start_ns, period_ns));
            if *every_ns > 0 && *count > 1 {
                let _ = write!(text, ", one every {:.4}", *every_ns as f64 / period_ns as f64);
            }
        }
        text
    }
}

/// Returns a moment in periods; what lies a nanosecond before the end of one says so.
fn moment(at_ns: u64, period_ns: u64) -> String {
    if (at_ns + 1).is_multiple_of(period_ns) {
        return format!("{} less 1 ns", (at_ns + 1) / period_ns);
    }
    format!("{:.3}", at_ns as f64 / period_ns as f64)
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
    fn moments_are_told_in_periods() {
        let shown = [0, 9, 10, 15, 19, 20].map(|at| moment(at, 10));
        assert_eq!(shown, ["0.000", "1 less 1 ns", "1.000", "1.500", "2 less 1 ns", "2.000"]);
    }

    #[test]
    fn a_period_has_one_of_its_ends() {
        assert_eq!(most_in_a_period(&[], 10), 0);
        assert_eq!(most_in_a_period(&[0, 10], 10), 1);
        assert_eq!(most_in_a_period(&[0, 1, 9, 10, 10, 11, 30], 10), 4);
    }
}
