//! The search for the schedule by which an algorithm lets the most pass in a period.

use tollgate::Quota;

use crate::accuracy::contender::{self, Gate};
use crate::accuracy::numbers::Numbers;
use crate::accuracy::schedule::{Schedule, Train};
use crate::cli::AlgorithmChoice;
use crate::failure::Failure;

/// How many schedules are tried at most.
pub(super) const MOST_TRIED: u64 = 4_000;

/// How many are tried even where the bound is reached before, so that a bound which is too low is found out.
pub(super) const LEAST_TRIED: u64 = 600;

/// After how many that are no better the search begins anew.
const PATIENCE: u64 = 400;

/// The most trains of a schedule.
pub(super) const MOST_TRAINS: usize = 4;

/// How many periods a schedule's trains begin in.
const SPAN: u64 = 4;

/// The worst that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// The most that passed in a period.
    pub(super) most: u64,
    /// By which schedule.
    pub(super) schedule: Schedule,
    /// How many schedules were tried.
    pub(super) tried: u64,
}

/// Climbs from random schedules, by random changes that are kept where no fewer pass, until enough was tried.
pub(super) fn worst(choice: AlgorithmChoice, quota: &Quota, bound: u64) -> Result<Found, Failure> {
    let gate = contender::gate(choice, quota)?;
    let mut climb = Climb::new(&*gate, quota);
    let mut best = (0, Schedule::default());
    while climb.goes_on(best.0, bound) {
        let mut present = climb.random();
        let mut most = climb.most(&present);
        let mut idle = 0;
        while idle < PATIENCE && climb.goes_on(most, bound) {
            let next = climb.changed(&present);
            let reached = climb.most(&next);
            idle = if reached > most { 0 } else { idle + 1 };
            if reached >= most {
                (present, most) = (next, reached);
            }
        }
        if most > best.0 {
            best = (most, present);
        }
    }
    let tried = climb.tried;
    Ok(Found { most: best.0, schedule: climb.plainest(best.1, best.0), tried })
}

/// A search under way.
struct Climb<'a> {
    gate: &'a dyn Gate,
    limit: u64,
    period_ns: u64,
    numbers: Numbers,
    tried: u64,
}

impl<'a> Climb<'a> {
    /// Begins a search.
    fn new(gate: &'a dyn Gate, quota: &Quota) -> Self {
        // No longer than a day.
        let period_ns = quota.period().as_nanos() as u64;
        Self { gate, limit: quota.limit(), period_ns, numbers: Numbers::new(1), tried: 0 }
    }

    /// Tells whether to try more: until enough was tried, and fewer are enough where the bound is reached.
    fn goes_on(&self, most: u64, bound: u64) -> bool {
        self.tried < if most < bound { MOST_TRIED } else { LEAST_TRIED }
    }

    /// Tries a schedule, with a key that nobody had.
    fn most(&mut self, schedule: &Schedule) -> u64 {
        self.tried += 1;
        schedule.most(self.gate, self.tried, self.period_ns)
    }

    /// Returns a schedule of two random trains.
    fn random(&mut self) -> Schedule {
        Schedule { trains: vec![self.train(), self.train()] }
    }

    /// Returns a random train.
    fn train(&mut self) -> Train {
        let start_ns = self.numbers.below(SPAN * self.period_ns);
        Train { start_ns, every_ns: self.every_ns(), count: 1 + self.numbers.below(2 * self.limit) }
    }

    /// Returns a random time between two requests: none, what the rate says, or any up to that.
    fn every_ns(&mut self) -> u64 {
        let emission_ns = self.period_ns.div_ceil(self.limit);
        match self.numbers.below(3) {
            0 => 0,
            1 => emission_ns,
            _ => self.numbers.below(emission_ns),
        }
    }

    /// Returns a schedule with one or two random changes.
    fn changed(&mut self, schedule: &Schedule) -> Schedule {
        let mut trains = schedule.trains.clone();
        for _ in 0..=self.numbers.below(2) {
            let idx = self.numbers.below(trains.len() as u64) as usize;
            match self.numbers.below(8) {
                0 if trains.len() < MOST_TRAINS => trains.push(self.train()),
                0 | 1 if trains.len() > 1 => drop(trains.swap_remove(idx)),
                2 => trains[idx].count = 1 + self.numbers.below(2 * self.limit),
                3 => trains[idx].every_ns = self.every_ns(),
                _ => trains[idx].start_ns = self.start_ns(&trains, idx),
            }
        }
        Schedule { trains }
    }

    /// Returns where else a train might begin: anywhere, close by, or at or a nanosecond beside a moment that matters to
    /// some algorithm, which is a whole period, the end of a train, or a period after a train began.
    fn start_ns(&mut self, trains: &[Train], idx: usize) -> u64 {
        let other = trains[self.numbers.below(trains.len() as u64) as usize];
        let nearby = self.period_ns >> self.numbers.below(20);
        let moment = match self.numbers.below(5) {
            0 => return self.numbers.below(SPAN * self.period_ns),
            1 => (trains[idx].start_ns + self.numbers.below(2 * nearby + 1)).saturating_sub(nearby),
            2 => self.numbers.below(SPAN) * self.period_ns,
            3 => other.end_ns(),
            _ => other.start_ns + self.period_ns,
        };
        (moment + self.numbers.below(3)).saturating_sub(1).min(SPAN * self.period_ns)
    }

    /// Leaves out of a schedule what it does without: trains, and requests at their ends.
    fn plainest(&mut self, mut schedule: Schedule, most: u64) -> Schedule {
        schedule.trains.sort_by_key(|train| train.start_ns);
        for idx in (0..schedule.trains.len()).rev() {
            let mut shorter = schedule.clone();
            shorter.trains.remove(idx);
            if self.most(&shorter) == most {
                schedule = shorter;
                continue;
            }
            while schedule.trains[idx].count > 1 {
                let mut shorter = schedule.clone();
                shorter.trains[idx].count -= 1;
                if self.most(&shorter) < most {
                    break;
                }
                schedule = shorter;
            }
        }
        schedule
    }
}
