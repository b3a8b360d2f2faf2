//! Plain workloads: contenders take turns, round after round, on tables that are built once.

use crate::args::Args;
use crate::contenders::{Entrant, Part, Runner, Setting, entrants};
use crate::key::Key;
use crate::race::Lap;
use crate::report::{Figure, Report, Row};
use crate::sample::{Pace, Rounds};
use crate::workload::{PLAIN, Scale, Workload};

/// How many threads check.
const THREADS: [usize; 2] = [1, 2];

/// From here on a sequence has its whole length.
const MANY_KEYS: u32 = 100_000;

/// The length of the sequence of few keys: too long to be learned, short enough to stay in the cache.
const SHORT: usize = 1 << 16;

/// Measures the plain workloads of one kind of keys.
pub(crate) fn measure<K: Key>(args: &Args, report: &mut Report) {
    for workload in PLAIN {
        let name = if K::KIND == "integer" { Some(workload.names.0) } else { workload.names.1 };
        if let Some(name) = name.filter(|name| args.takes_workload(name)) {
            let rows = run::<K>(name, &workload, args, report);
            report.write(&rows);
        }
    }
}

/// A contender in its turn.
struct Turn<K> {
    entrant: Entrant<K>,
    runner: Box<dyn Runner<K>>,
    rounds: [Rounds; THREADS.len()],
}

/// Runs a workload and returns its rows.
fn run<K: Key>(name: &'static str, workload: &Workload, args: &Args, report: &mut Report) -> Vec<Row> {
    let scale = args.scale();
    let setting = Setting { limit: workload.limit, keys: scale.keys(workload.keys), churning: false };
    eprintln!("{name}: {} keys are drawn and taken in", setting.keys);
    let sequence = draw::<K>(workload, &setting, &scale);
    let mut turns = line_up::<K>(workload, &setting, args);

    let pace = if workload.starts_empty() {
        Pace::WorkDone
    } else {
        Pace::Timed { warm_up: scale.warm_up, measured: scale.measured }
    };
    for (column, threads) in THREADS.into_iter().enumerate() {
        eprintln!("{name}: {} rounds of {} contenders, {threads} at a time", scale.rounds, turns.len());
        for round in 0..scale.rounds {
            let lap = Lap { sequence: &sequence, threads, round, pace };
            for turn in &mut turns {
                if workload.starts_empty() {
                    turn.runner = (turn.entrant.build)(&setting);
                }
                turn.rounds[column].push(turn.runner.race(&lap));
            }
        }
    }
    let rows = (0..THREADS.len()).flat_map(|column| turns.iter().map(move |turn| (column, turn)));
    rows.map(|(column, turn)| row(name, workload, &setting, column, turn, report)).collect()
}

/// Draws the keys that all contenders are asked for.
fn draw<K: Key>(workload: &Workload, setting: &Setting, scale: &Scale) -> Vec<K::Stored> {
    let most = if K::KIND == "integer" { scale.integers } else { scale.strings };
    let length = if setting.keys < MANY_KEYS { most.min(SHORT) } else { most };
    workload.draw.numbers(setting.keys, length).into_iter().map(K::stored).collect()
}

/// Builds and prefills the contenders.
fn line_up<K: Key>(workload: &Workload, setting: &Setting, args: &Args) -> Vec<Turn<K>> {
    entrants::<K>()
        .into_iter()
        .filter(|entrant| !args.quick || entrant.parts.contains(&Part::Quick))
        .filter(|entrant| K::KIND == "integer" || entrant.name != "floor")
        .filter(|entrant| args.takes_contender(entrant.name))
        .map(|entrant| {
            let runner = (entrant.build)(setting);
            if !workload.starts_empty() {
                runner.prefill();
            }
            Turn { entrant, runner, rounds: Default::default() }
        })
        .collect()
}

/// Returns a contender's row, and notes verdicts that cannot be right.
fn row<K>(
    name: &'static str,
    workload: &Workload,
    setting: &Setting,
    column: usize,
    turn: &Turn<K>,
    report: &mut Report,
) -> Row {
    let (rounds, threads) = (&turn.rounds[column], THREADS[column]);
    let (allowed, denied) = rounds.verdicts();
    if !workload.verdicts.hold(allowed, denied) {
        let what = format!("{name}, {}, {threads} at a time: {allowed} allowed, {denied} denied", turn.entrant.name);
        report.implausible(&what);
    }
    Row { workload: name, contender: turn.entrant.name, threads, keys: setting.keys, figures: figures(rounds) }
}

/// Returns the figures of rounds.
pub(crate) fn figures(rounds: &Rounds) -> Vec<(&'static str, Figure)> {
    let (median, min, max) = rounds.ns_per_check();
    let (allowed, denied) = rounds.verdicts();
    vec![
        ("ns_per_check", Figure::Measure(median)),
        ("min", Figure::Measure(min)),
        ("max", Figure::Measure(max)),
        ("rounds", Figure::Count(u64::try_from(rounds.count()).expect("64 bits fit"))),
        ("allowed", Figure::Count(allowed)),
        ("denied", Figure::Count(denied)),
    ]
}
