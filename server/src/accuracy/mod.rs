//! Compares the algorithms: what is proven of each, the worst that a search finds, and how far each is from an exact log.

mod contender;
mod errors;
mod numbers;
mod page;
mod picture;
mod schedule;
mod search;
mod traffic;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate::Quota;

use crate::accuracy::contender::{CONTENDERS, Contender};
use crate::accuracy::errors::Errors;
use crate::accuracy::search::Found;
use crate::accuracy::traffic::Traffic;
use crate::cli::{self, AccuracyOptions, AlgorithmChoice};
use crate::failure::Failure;
use crate::replay;

/// The largest limit that is compared: traffic and search grow with it.
const LARGEST_LIMIT: u64 = 200;

/// The shortest and the longest period that are compared.
const PERIODS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(86_400)];

/// All that is found out.
#[derive(Debug)]
struct Comparison {
    quota: Quota,
    /// What was offered, the adversary first.
    traffics: Vec<Traffic>,
    /// One for each algorithm.
    rows: Vec<Row>,
}

/// What is found out about an algorithm.
#[derive(Debug)]
struct Row {
    contender: &'static Contender,
    /// The most that can pass in any period.
    bound: u64,
    /// The worst schedule that was found.
    worst: Found,
    /// How it did on each traffic.
    errors: Vec<Errors>,
    /// Which requests of the adversary passed.
    against_edges: Vec<bool>,
}

/// Compares the algorithms, writes the picture and the page, and prints the figures.
pub(crate) fn run(options: &AccuracyOptions) -> Result<(), Failure> {
    check(&options.limit)?;
    let comparison = compare(options)?;
    write(&options.svg, &picture::draw(&comparison)?)?;
    write(&options.markdown, &page::page(&comparison, options))?;
    if options.json {
        return cli::print(&format!("{}\n", comparison.json()));
    }
    cli::print(&format!("wrote {} and {}\n", options.svg.display(), options.markdown.display()))
}

/// Refuses a limit that cannot be compared.
fn check(quota: &Quota) -> Result<(), Failure> {
    if quota.burst() != quota.limit() {
        return Err(Failure::usage(format_args!(
            "windows have no burst: give {quota} without one, buckets hold as much as the limit"
        )));
    }
    if quota.limit() > LARGEST_LIMIT || !(PERIODS[0]..=PERIODS[1]).contains(&quota.period()) {
        return Err(Failure::usage(format_args!(
            "{quota} is not compared: take 1 to {LARGEST_LIMIT} in a period of a second to a day, like 20/min"
        )));
    }
    Ok(())
}

/// Finds everything out.
fn compare(options: &AccuracyOptions) -> Result<Comparison, Failure> {
    let quota = options.limit;
    // What may fail comes first.
    let real = options.log.as_deref().map(|file| Traffic::logged(file, replay::offered(file, &quota)?)).transpose()?;
    let mut traffics = vec![Traffic::edges(&quota), Traffic::zipf(&quota)];
    traffics.extend(real);
    let exact: Vec<Vec<bool>> = traffics
        .iter()
        .map(|traffic| errors::decide(AlgorithmChoice::SlidingLog, &quota, traffic))
        .collect::<Result<_, _>>()?;
    let row = |contender: &'static Contender| {
        let decided = traffics.iter().map(|traffic| errors::decide(contender.choice, &quota, traffic));
        let mut decided = decided.collect::<Result<Vec<_>, _>>()?;
        let compared = traffics.iter().zip(&exact).zip(&decided);
        let errors =
            compared.map(|((traffic, exact), decided)| Errors::count(traffic, exact, decided, &quota)).collect();
        let bound = (contender.bound)(&quota);
        let worst = search::worst(contender.choice, &quota, bound)?;
        Ok(Row { contender, bound, worst, errors, against_edges: decided.swap_remove(0) })
    };
    let rows = CONTENDERS.iter().map(row).collect::<Result<_, Failure>>()?;
    Ok(Comparison { quota, traffics, rows })
}

/// Writes a file.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::io(format_args!("cannot write {}: {error}", path.display())))
}

impl Comparison {
    /// Returns the figures as one JSON object.
    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let traffics = self.traffics.iter().zip(&row.errors).map(|(traffic, errors)| {
                let Errors { offered, wrongly_admitted, wrongly_denied, most } = errors;
                json!({
                    "traffic": traffic.name,
                    "offered": offered,
                    "wrongly_admitted": wrongly_admitted,
                    "wrongly_denied": wrongly_denied,
                    "most_in_a_period": most,
                })
            });
            json!({
                "algorithm": row.contender.choice.name(),
                "bound": row.bound,
                "formula": row.contender.formula,
                "worst_found": row.worst.most,
                "schedule": row.worst.schedule.shown(&self.quota),
                "tried": row.worst.tried,
                "traffics": traffics.collect::<Value>(),
            })
        });
        json!({ "limit": self.quota.to_string(), "algorithms": rows.collect::<Value>() })
    }
}
