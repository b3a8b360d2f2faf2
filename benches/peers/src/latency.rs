//! How long single checks take, in peace and while something else goes on.

use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::args::Args;
use crate::contenders::{Contender, Entrant, Part, Setting, entrants};
use crate::key::Key;
use crate::limit::Limit;
use crate::race::{self, PREFILLED};
use crate::report::{Figure, Report, Row};
use crate::sample::{Stop, median};
use crate::sequence::Draw;
use crate::workload::Scale;

/// What goes on beside the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Nothing.
    Peace,
    /// Another thread drops idle keys, again and again; there are none, but it must look.
    Sweep,
    /// Another thread takes new keys in.
    Growth,
}

/// How single checks are timed.
#[derive(Debug)]
pub(crate) struct Watch<'a, K: Key> {
    /// The keys to ask for.
    sequence: &'a [K::Stored],
    /// How many keys there are to begin with.
    keys: u32,
    /// What goes on beside.
    beside: Beside,
    /// How long, unless growth decides it.
    length: Duration,
}

/// How long checks took.
#[derive(Debug)]
pub(crate) struct Watched {
    nanoseconds: Histogram<u64>,
    stalls: u64,
    elapsed: Duration,
}

/// What counts as a stall.
const STALL_NS: u64 = 100_000;
/// The longest time that is told apart.
const LONGEST_NS: u64 = 60_000_000_000;
/// The pause between two sweeps.
const SWEEP_EVERY: Duration = Duration::from_millis(100);
/// The keys that are checked in peace and beside a sweep.
const KEYS: u32 = 1_000_000;
/// The keys that are checked beside growth, and those that there are in the end.
const GROWTH: (u32, u32) = (100_000, 8_000_000);
/// The keys that are taken in for the longest insert.
const INSERTS: u32 = 10_000_000;

impl Watched {
    /// Starts with nothing.
    fn new() -> Self {
        let nanoseconds = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are sound");
        Self { nanoseconds, stalls: 0, elapsed: Duration::ZERO }
    }

    /// Adds one check.
    #[inline]
    fn add(&mut self, ns: u64) {
        self.nanoseconds.saturating_record(ns);
        self.stalls += u64::from(ns >= STALL_NS);
    }

    /// Returns the figures.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    fn figures(&self) -> Vec<(&'static str, Figure)> {
        let quantile = |share| Figure::Count(self.nanoseconds.value_at_quantile(share));
        vec![
            ("p50_ns", quantile(0.5)),
            ("p99_ns", quantile(0.99)),
            ("p999_ns", quantile(0.999)),
            ("p9999_ns", quantile(0.9999)),
            ("max_ns", Figure::Count(self.nanoseconds.max())),
            ("stalls_per_second", Figure::Measure(self.stalls as f64 / self.elapsed.as_secs_f64())),
            ("samples", Figure::Count(self.nanoseconds.len())),
        ]
    }
}

/// Measures latencies and the longest insert.
pub(crate) fn measure(args: &Args, report: &mut Report) {
    let mut entrants = entrants::<u64>();
    entrants.retain(|entrant| entrant.parts.contains(&Part::Latency) && args.takes_contender(entrant.name));
    let scale = args.scale();
    let workloads =
        [("latency-peace", Beside::Peace), ("latency-sweep", Beside::Sweep), ("latency-grow", Beside::Growth)];
    for (name, beside) in workloads {
        if args.takes_workload(name) {
            eprintln!("{name}: {} rounds of {} contenders", scale.long_rounds, entrants.len());
            report.write(&watch_all(name, beside, &entrants, &scale));
        }
    }
    if args.takes_workload("longest-insert") {
        entrants.retain(|entrant| entrant.name != "floor");
        eprintln!("longest-insert: {} rounds of {} contenders", scale.long_rounds, entrants.len());
        report.write(&insert_all("longest-insert", &entrants, &scale));
    }
}

/// Times the checks of all contenders, round after round.
fn watch_all(name: &'static str, beside: Beside, entrants: &[Entrant<u64>], scale: &Scale) -> Vec<Row> {
    let (first, last) = if beside == Beside::Growth { GROWTH } else { (KEYS, KEYS) };
    let (first, last) = (scale.keys(first), scale.keys(last));
    let sequence = Draw::Uniform.numbers(first, scale.integers);
    let watch = Watch { sequence: &sequence, keys: first, beside, length: scale.long };
    let setting = Setting { limit: Limit::GENEROUS, keys: last, churning: false };
    let mut all: Vec<_> = entrants.iter().map(|_| Watched::new()).collect();
    for _ in 0..scale.long_rounds {
        for (entrant, watched) in entrants.iter().zip(&mut all) {
            (entrant.build)(&setting).watch(&watch, watched);
        }
    }
    let row = |(entrant, watched): (&Entrant<u64>, &Watched)| Row {
        workload: name,
        contender: entrant.name,
        threads: 1,
        keys: last,
        figures: watched.figures(),
    };
    entrants.iter().zip(&all).map(row).collect()
}

/// Times the checks of one contender.
pub(crate) fn run<K: Key, C: Contender<K>>(limiter: &C, setting: &Setting, watch: &Watch<'_, K>, all: &mut Watched) {
    race::prefill(limiter, setting.limit, watch.keys);
    let over = Stop::default();
    thread::scope(|scope| {
        let over = &over;
        scope.spawn(move || {
            match watch.beside {
                Beside::Peace => thread::sleep(watch.length),
                Beside::Sweep => sweep(limiter, watch.length),
                Beside::Growth => grow(limiter, watch.keys..setting.keys),
            }
            over.now();
        });
        time_checks(limiter, watch.sequence, over, all);
    });
}

/// Drops idle keys again and again for so long.
fn sweep<K: Key, C: Contender<K>>(limiter: &C, length: Duration) {
    let began = Instant::now();
    while began.elapsed() < length {
        limiter.clean();
        thread::sleep(SWEEP_EVERY);
    }
}

/// Takes keys in that stay alive.
fn grow<K: Key, C: Contender<K>>(limiter: &C, numbers: std::ops::Range<u32>) {
    for number in numbers {
        limiter.spend(&K::of(u64::from(number)), PREFILLED);
    }
}

/// Times every check for itself until it is over.
#[inline(never)]
fn time_checks<K: Key, C: Contender<K>>(limiter: &C, sequence: &[K::Stored], over: &Stop, all: &mut Watched) {
    let clock = quanta::Clock::new();
    let began = Instant::now();
    let mut allowed = 0_u64;
    for stored in sequence.iter().cycle() {
        if !over.goes_on() {
            break;
        }
        let (before, passed) = (clock.raw(), K::with(stored, |key| limiter.check(key)));
        all.add(clock.delta_as_nanos(before, clock.raw()));
        allowed += u64::from(passed);
    }
    std::hint::black_box(allowed);
    all.elapsed += began.elapsed();
}

/// Fills a table from empty and returns the nanoseconds of the longest insert.
pub(crate) fn longest_insert<K: Key, C: Contender<K>>(limiter: &C, keys: u32) -> u64 {
    let clock = quanta::Clock::new();
    let (mut longest_ns, mut allowed) = (0, 0_u64);
    for number in 0..keys {
        let key = K::of(u64::from(number));
        let (before, passed) = (clock.raw(), limiter.check(&key));
        longest_ns = clock.delta_as_nanos(before, clock.raw()).max(longest_ns);
        allowed += u64::from(passed);
    }
    std::hint::black_box(allowed);
    longest_ns
}

/// Measures the longest inserts of all contenders, round after round.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds stay far below 2^52")]
fn insert_all(name: &'static str, entrants: &[Entrant<u64>], scale: &Scale) -> Vec<Row> {
    let setting = Setting { limit: Limit::LASTING, keys: scale.keys(INSERTS), churning: false };
    let mut all: Vec<Vec<f64>> = vec![Vec::new(); entrants.len()];
    for _ in 0..scale.long_rounds {
        for (entrant, longest) in entrants.iter().zip(&mut all) {
            longest.push((entrant.build)(&setting).longest_insert() as f64 / 1_000.0);
        }
    }
    let row = |(entrant, mut longest): (&Entrant<u64>, Vec<f64>)| {
        let figures = vec![
            ("longest_us", Figure::Measure(median(&mut longest))),
            ("min", Figure::Measure(longest.first().copied().unwrap_or(0.0))),
            ("max", Figure::Measure(longest.last().copied().unwrap_or(0.0))),
        ];
        Row { workload: name, contender: entrant.name, threads: 1, keys: setting.keys, figures }
    };
    entrants.iter().zip(all).map(row).collect()
}
