//! Replays an access log against a limit, on the log's own time.

mod input;
mod key;
mod keys;
mod lines;
mod outcome;
mod report;
mod requests;

use std::path::Path;

use tollgate::{Quota, Tick};

use crate::cli::{self, ReplayOptions, with_algorithm};
use crate::failure::Failure;

pub(crate) use self::key::KeyChoice;

/// Replays a log and prints the report.
pub(crate) fn run(options: &ReplayOptions) -> Result<(), Failure> {
    let input = input::open(&options.file)?;
    let requests = requests::read(input, &options.key)?;
    let decided = with_algorithm!(options.algorithm, Chosen => outcome::decide::<Chosen>(&requests, options.limit));
    let outcome = decided?;
    let report = report::Report { options, requests: &requests, outcome: &outcome };
    cli::print(&if options.json { report.json() } else { report.table() })
}

/// Reads a log, and returns the number of the address and the tick of each request, in order; the first is at tick 0.
///
/// Pauses beyond what anybody remembers under the quota are shortened by whole periods.
pub(crate) fn offered(file: &Path, quota: &Quota) -> Result<Vec<(u64, Tick)>, Failure> {
    let requests = requests::read(input::open(file)?, &KeyChoice::address())?;
    let ticks = outcome::ticks(&requests, quota);
    Ok(requests.sorted.iter().map(|request| u64::from(request.key)).zip(ticks).collect())
}
