//! The exact sliding log, with the time given: tollgate's rings beside a map of queues behind locks.

use std::collections::VecDeque;
use std::time::Duration;

use dashmap::DashMap;
use parking_lot::Mutex;
use tollgate::{Limiter, Quota, SlidingLog, Tick};

use crate::args::Args;
use crate::plain::figures;
use crate::report::{Report, Row};
use crate::sample::{Pace, Rounds, Sample, Stop, Tally, crew};

/// The names of the contenders, in the order of their turns.
pub(crate) const NAMES: [&str; 2] = ["tollgate-log", "dashmap-deque"];

/// The name of the workload.
const NAME: &str = "log-hot";

/// Some stamps in a span of time: the limit of a log.
#[derive(Clone, Copy, Debug)]
struct Window {
    stamps: u32,
    period: Duration,
}

impl Window {
    /// Lets a hot key pass at 200 million a second, so that stamps expire as fast as they are made.
    const HOT: Self = Self { stamps: 1_000, period: Duration::from_micros(5) };
}

/// A sliding log that is told the time.
trait Log: Send + Sync {
    /// Builds an empty one that keeps so many keys.
    fn build(window: Window, keys: u32) -> Self;

    /// Spends one for a key at a time, and tells whether it passed.
    fn check_at(&self, key: u64, now_ns: u64) -> bool;
}

/// tollgate's sliding log.
struct Rings(Limiter<u64, SlidingLog>);

impl Log for Rings {
    fn build(window: Window, keys: u32) -> Self {
        let quota = Quota::new(u64::from(window.stamps), window.period).expect("the windows are sound");
        let keys = usize::try_from(keys).expect("32 bits fit").max(1_000_000);
        Self(Limiter::builder(quota).max_keys(keys).build().expect("the windows are within tollgate's range"))
    }

    #[inline]
    fn check_at(&self, key: u64, now_ns: u64) -> bool {
        self.0.check_at(&key, Tick::from_nanos(now_ns)).is_allowed()
    }
}

/// A dashmap of queues, each behind its own lock: what one would write by hand.
struct Queues {
    queues: DashMap<u64, Mutex<VecDeque<u64>>, foldhash::fast::RandomState>,
    stamps: usize,
    period_ns: u64,
}

impl Log for Queues {
    fn build(window: Window, _keys: u32) -> Self {
        Self {
            queues: DashMap::default(),
            stamps: usize::try_from(window.stamps).expect("32 bits fit"),
            period_ns: u64::try_from(window.period.as_nanos()).expect("the windows are short"),
        }
    }

    #[inline]
    fn check_at(&self, key: u64, now_ns: u64) -> bool {
        match self.queues.get(&key) {
            Some(queue) => self.spend(&mut queue.lock(), now_ns),
            None => self.spend(&mut self.queues.entry(key).or_default().lock(), now_ns),
        }
    }
}

impl Queues {
    /// Drops stamps that no longer count and adds one, if there is room.
    #[inline]
    fn spend(&self, queue: &mut VecDeque<u64>, now_ns: u64) -> bool {
        while queue.front().is_some_and(|stamp| stamp + self.period_ns <= now_ns) {
            queue.pop_front();
        }
        let passes = queue.len() < self.stamps;
        if passes {
            queue.push_back(now_ns);
        }
        passes
    }
}

/// Measures both logs on one key.
pub(crate) fn measure(args: &Args, report: &mut Report) {
    if !args.takes_workload(NAME) {
        return;
    }
    let scale = args.scale();
    let pace = Pace::Timed { warm_up: scale.warm_up, measured: scale.measured };
    let (rings, queues) = (Rings::build(Window::HOT, 1), Queues::build(Window::HOT, 1));
    let mut rows = Vec::new();
    for threads in [1, 2] {
        eprintln!("{NAME}: {} rounds of {} contenders, {threads} at a time", scale.rounds, NAMES.len());
        let mut rounds: [Rounds; NAMES.len()] = Default::default();
        for _ in 0..scale.rounds {
            rounds[0].push(run(&rings, threads, pace));
            rounds[1].push(run(&queues, threads, pace));
        }
        for (contender, rounds) in NAMES.into_iter().zip(&rounds).filter(|(name, _)| args.takes_contender(name)) {
            let (allowed, denied) = rounds.verdicts();
            if denied > allowed / 10 {
                report.implausible(&format!("{NAME}, {contender}: {allowed} allowed, {denied} denied"));
            }
            rows.push(Row { workload: NAME, contender, threads, keys: 1, figures: figures(rounds) });
        }
    }
    report.write(&rows);
}

/// Runs one round on one log.
fn run<L: Log>(log: &L, threads: usize, pace: Pace) -> Sample {
    let clock = quanta::Clock::new();
    crew(threads, pace, |_, _, stop| hammer(log, &clock, stop))
}

/// Checks one key until told to stop; the time is read once for many checks and given to each.
#[inline(never)]
fn hammer<L: Log>(log: &L, clock: &quanta::Clock, stop: &Stop) -> Tally {
    let mut tally = Tally::default();
    while stop.goes_on() {
        let now_ns = clock.delta_as_nanos(0, clock.raw());
        for _ in 0..64 {
            tally.allowed += u64::from(log.check_at(0, now_ns));
        }
        tally.checks += 64;
    }
    tally
}

/// How many stamps each user of a full log has.
pub(crate) const STAMPS: u32 = 1_000;

/// Fills the logs of so many users, and returns what holds them; `None` if the name is no log's.
pub(crate) fn fill(name: &str, users: u32) -> Option<Box<dyn std::any::Any>> {
    match name {
        "tollgate-log" => Some(Box::new(filled::<Rings>(users))),
        "dashmap-deque" => Some(Box::new(filled::<Queues>(users))),
        _ => None,
    }
}

/// Returns a log in which every user has spent all that may pass in an hour.
fn filled<L: Log>(users: u32) -> L {
    let log = L::build(Window { stamps: STAMPS, period: Duration::from_secs(3600) }, users);
    let mut allowed = 0;
    for round in 1..=u64::from(STAMPS) {
        for user in 0..u64::from(users) {
            allowed += u32::from(log.check_at(user, round * 1_000_000));
        }
    }
    assert_eq!(allowed, users * STAMPS, "a log that is not full yet denies nothing");
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the verdicts on one key at given times.
    fn verdicts<L: Log>(times: &[u64]) -> Vec<bool> {
        let log = L::build(Window { stamps: 2, period: Duration::from_nanos(100) }, 1);
        times.iter().map(|&now_ns| log.check_at(7, now_ns)).collect()
    }

    #[test]
    fn queues_forget_what_is_a_period_old() {
        let verdicts = verdicts::<Queues>(&[1_000, 1_050, 1_060, 1_099, 1_100, 1_101, 1_150]);
        assert_eq!(verdicts, [true, true, false, false, true, false, true]);
    }

    #[test]
    fn full_logs_can_be_held() {
        for name in NAMES {
            assert!(fill(name, 3).is_some(), "{name}");
        }
        assert!(fill("governor", 3).is_none());
    }
}
