//! What a round measured, and what several rounds add up to.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Verdicts that one thread counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// How many checks were made.
    pub(crate) checks: u64,
    /// How many of them passed.
    pub(crate) allowed: u64,
}

/// One round: verdicts, and the time that all threads together took for them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// The time of every thread, added up.
    pub(crate) thread_time: Duration,
    /// How many checks were made.
    pub(crate) checks: u64,
    /// How many of them passed.
    pub(crate) allowed: u64,
}

impl Sample {
    /// Returns the nanoseconds that a thread took for one check.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    pub(crate) fn ns_per_check(&self) -> f64 {
        self.thread_time.as_nanos() as f64 / self.checks.max(1) as f64
    }
}

/// How long a round lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// Warms up untimed, then measures for so long.
    Timed {
        /// The time of the untimed part.
        warm_up: Duration,
        /// The time of the measured part.
        measured: Duration,
    },
    /// Lasts until the work is done.
    WorkDone,
}

/// Which part of a round a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The untimed part.
    WarmUp,
    /// The measured part.
    Measured,
}

/// Tells the threads of a round that its time is over.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    /// Tells whether to go on.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        // Relaxed: the flag is the whole message.
        !self.0.load(Ordering::Relaxed)
    }

    /// Ends the part.
    pub(crate) fn now(&self) {
        // Relaxed: as above.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` on several threads at once, released by a barrier, and adds up what they measured.
///
/// `work` is given the number of its thread, and goes on until it is told to stop or has nothing left to do.
pub(crate) fn crew<W>(threads: usize, pace: Pace, work: W) -> Sample
where
    W: Fn(usize, Phase, &Stop) -> Tally + Sync,
{
    let (warm_up, measured) = (Stop::default(), Stop::default());
    let barrier = Barrier::new(threads + 1);
    thread::scope(|scope| {
        let (work, barrier, warm_up, measured) = (&work, &barrier, &warm_up, &measured);
        let members: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    if matches!(pace, Pace::Timed { .. }) {
                        std::hint::black_box(work(thread, Phase::WarmUp, warm_up));
                    }
                    barrier.wait();
                    let began = Instant::now();
                    let tally = std::hint::black_box(work(thread, Phase::Measured, measured));
                    (began.elapsed(), tally)
                })
            })
            .collect();
        if let Pace::Timed { warm_up: length, .. } = pace {
            thread::sleep(length);
            warm_up.now();
        }
        barrier.wait();
        if let Pace::Timed { measured: length, .. } = pace {
            thread::sleep(length);
            measured.now();
        }
        let mut sample = Sample::default();
        for member in members {
            let (elapsed, tally) = member.join().expect("no contender panics");
            sample.thread_time += elapsed;
            sample.checks += tally.checks;
            sample.allowed += tally.allowed;
        }
        sample
    })
}

/// Several rounds of one contender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds(Vec<Sample>);

impl Rounds {
    /// Adds a round.
    pub(crate) fn push(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// Returns how many rounds there were.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the median, the least and the most nanoseconds a check.
    pub(crate) fn ns_per_check(&self) -> (f64, f64, f64) {
        let mut figures: Vec<f64> = self.0.iter().map(Sample::ns_per_check).collect();
        (median(&mut figures), figures.first().copied().unwrap_or(0.0), figures.last().copied().unwrap_or(0.0))
    }

    /// Returns how many checks of all rounds were allowed, and how many denied.
    pub(crate) fn verdicts(&self) -> (u64, u64) {
        let (checks, allowed) =
            self.0.iter().fold((0, 0), |(checks, allowed), sample| (checks + sample.checks, allowed + sample.allowed));
        (allowed, checks - allowed)
    }
}

/// Sorts figures and returns the middle one, or the mean of the middle two.
pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    match figures.len() {
        0 => 0.0,
        n if n % 2 == 1 => figures[n / 2],
        n => f64::midpoint(figures[n / 2 - 1], figures[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn a_crew_adds_up_what_its_members_measured() {
        let sample = crew(2, Pace::WorkDone, |thread, phase, _| {
            assert_eq!(phase, Phase::Measured);
            Tally { checks: 10, allowed: u64::try_from(thread).expect("small") }
        });
        assert_eq!((sample.checks, sample.allowed), (20, 1));
    }
}
