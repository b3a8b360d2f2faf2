//! New keys without end, while those that have become idle are dropped.

use std::thread;
use std::time::Duration;

use crate::args::Args;
use crate::contenders::{Contender, Part, Setting, entrants};
use crate::key::Key;
use crate::limit::Limit;
use crate::plain::figures;
use crate::report::{Figure, Report, Row};
use crate::sample::{Pace, Phase, Rounds, Sample, Stop, Tally, crew};

/// One round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Churn {
    /// How many threads check.
    threads: usize,
    /// How long it lasts.
    pace: Pace,
}

/// The name of the workload.
const NAME: &str = "churn";

/// The most keys that anybody may hold at once.
const MOST_KEYS: u32 = 32_000_000;

/// How often those are told to clean that do not do it by themselves.
const CLEAN_EVERY: Duration = Duration::from_millis(100);

/// Measures all contenders that drop idle keys.
pub(crate) fn measure(args: &Args, report: &mut Report) {
    if !args.takes_workload(NAME) {
        return;
    }
    let scale = args.scale();
    let setting = Setting { limit: Limit::FLEETING, keys: scale.keys(MOST_KEYS), churning: true };
    let pace = Pace::Timed { warm_up: scale.long / 2, measured: scale.long };
    let mut entrants = entrants::<u64>();
    entrants.retain(|entrant| entrant.parts.contains(&Part::Churn) && args.takes_contender(entrant.name));
    let mut rows = Vec::new();
    for threads in [1, 2] {
        eprintln!("{NAME}: {} rounds of {} contenders, {threads} at a time", scale.long_rounds, entrants.len());
        let mut results: Vec<(Rounds, Option<u64>)> = entrants.iter().map(|_| Default::default()).collect();
        for _ in 0..scale.long_rounds {
            for (entrant, (rounds, held)) in entrants.iter().zip(&mut results) {
                let runner = (entrant.build)(&setting);
                rounds.push(runner.churn(&Churn { threads, pace }));
                *held = runner.held().max(*held);
            }
        }
        for (entrant, (rounds, held)) in entrants.iter().zip(results) {
            let mut figures = figures(&rounds);
            figures.extend(held.map(|held| ("most_keys_held", Figure::Count(held))));
            rows.push(Row { workload: NAME, contender: entrant.name, threads, keys: setting.keys, figures });
        }
    }
    report.write(&rows);
}

/// Runs one round on one contender.
pub(crate) fn run<K: Key, C: Contender<K>>(limiter: &C, churn: &Churn) -> Sample {
    let over = Stop::default();
    thread::scope(|scope| {
        if !C::CLEANS_ITSELF {
            scope.spawn(|| {
                while over.goes_on() {
                    thread::sleep(CLEAN_EVERY);
                    limiter.clean();
                }
            });
        }
        let sample = crew(churn.threads, churn.pace, |thread, phase, stop| stream(limiter, thread, phase, stop));
        over.now();
        sample
    })
}

/// Checks keys that nobody else checks, until told to stop.
#[inline(never)]
fn stream<K: Key, C: Contender<K>>(limiter: &C, thread: usize, phase: Phase, stop: &Stop) -> Tally {
    let thread = u64::try_from(thread).expect("64 bits fit");
    let first = (thread * 2 + u64::from(phase == Phase::Measured)) << 40;
    let mut tally = Tally::default();
    while stop.goes_on() {
        for number in first + tally.checks..first + tally.checks + 64 {
            tally.allowed += u64::from(limiter.check(&K::of(number)));
        }
        tally.checks += 64;
    }
    tally
}
