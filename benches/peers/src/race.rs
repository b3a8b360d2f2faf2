//! The timed loop.

use std::thread;

use crate::contenders::Contender;
use crate::key::Key;
use crate::limit::Limit;
use crate::sample::{Pace, Phase, Sample, Stop, Tally, crew};

/// One round of a workload, the same for all contenders.
#[derive(Debug)]
pub(crate) struct Lap<'a, K: Key> {
    /// The keys to ask for.
    pub(crate) sequence: &'a [K::Stored],
    /// How many threads ask.
    pub(crate) threads: usize,
    /// Which round it is.
    pub(crate) round: usize,
    /// How long it lasts.
    pub(crate) pace: Pace,
}

/// How many checks are made between two looks at the clock's verdict.
const BLOCK: usize = 64;

impl<'a, K: Key> Lap<'a, K> {
    /// Makes a round that walks the sequence once, on one thread.
    #[cfg(test)]
    pub(crate) fn once(sequence: &'a [K::Stored]) -> Self {
        Self { sequence, threads: 1, round: 0, pace: Pace::WorkDone }
    }

    /// Returns where in the sequence a thread starts: rounds, phases and threads lie a golden section apart.
    fn start(&self, thread: usize, phase: Phase) -> usize {
        let place = (self.round * 2 + usize::from(phase == Phase::Measured)) * self.threads + thread;
        let blocks = self.sequence.len().div_ceil(BLOCK).max(1);
        place * (blocks * 618 / 1000).max(1) % blocks * BLOCK
    }

    /// Returns the part of the sequence that is a thread's own.
    fn share(&self, thread: usize) -> &'a [K::Stored] {
        let length = self.sequence.len().div_ceil(self.threads);
        self.sequence.chunks(length.max(1)).nth(thread).unwrap_or_default()
    }
}

/// Runs one round on one contender.
pub(crate) fn run<K: Key, C: Contender<K>>(limiter: &C, lap: &Lap<'_, K>) -> Sample {
    crew(lap.threads, lap.pace, |thread, phase, stop| match lap.pace {
        Pace::Timed { .. } => around(limiter, lap.sequence, lap.start(thread, phase), stop),
        Pace::WorkDone => {
            let mut tally = Tally::default();
            walk(limiter, lap.share(thread), &mut tally);
            tally
        }
    })
}

/// Walks a sequence round and round, from a place on, until told to stop.
#[inline(never)]
fn around<K: Key, C: Contender<K>>(limiter: &C, sequence: &[K::Stored], start: usize, stop: &Stop) -> Tally {
    let mut tally = Tally::default();
    let (head, tail) = sequence.split_at(start.min(sequence.len()));
    loop {
        for part in [tail, head] {
            for block in part.chunks(BLOCK) {
                if !stop.goes_on() {
                    return tally;
                }
                walk(limiter, block, &mut tally);
            }
        }
    }
}

/// Checks the keys of a sequence and counts what passes.
#[inline]
fn walk<K: Key, C: Contender<K>>(limiter: &C, sequence: &[K::Stored], tally: &mut Tally) {
    for stored in sequence {
        tally.allowed += u64::from(K::with(stored, |key| limiter.check(key)));
    }
    tally.checks += u64::try_from(sequence.len()).expect("64 bits fit");
}

/// How much of the generous limit a key has spent to begin with: it stays alive for a quarter of an hour.
pub(crate) const PREFILLED: u32 = 1_000_000_000;

/// Takes so many keys in, on two threads.
pub(crate) fn prefill<K: Key, C: Contender<K>>(limiter: &C, limit: Limit, keys: u32) {
    let cost = PREFILLED.min(limit.burst);
    let middle = keys / 2;
    thread::scope(|scope| {
        for part in [0..middle, middle..keys] {
            scope.spawn(move || {
                for number in part {
                    limiter.spend(&K::of(u64::from(number)), cost);
                }
            });
        }
    });
}
