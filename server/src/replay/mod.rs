//! Replays an access log against a limit, on the log's own time.

mod input;
mod key;
mod keys;
mod lines;
mod outcome;
mod report;
mod requests;

use tollgate::{FixedWindow, IntervalBucket, LeakyBucket, OwnWindow, SlidingCounter, SlidingLog, TokenBucket};

use crate::cli::{self, AlgorithmChoice, ReplayOptions};
use crate::failure::Failure;

pub(crate) use self::key::KeyChoice;

/// Replays a log and prints the report.
pub(crate) fn run(options: &ReplayOptions) -> Result<(), Failure> {
    let input = input::open(&options.file)?;
    let requests = requests::read(input, &options.key)?;
    let outcome = match options.algorithm {
        AlgorithmChoice::TokenBucket => outcome::decide::<TokenBucket>(&requests, options.limit),
        AlgorithmChoice::LeakyBucket => outcome::decide::<LeakyBucket>(&requests, options.limit),
        AlgorithmChoice::IntervalBucket => outcome::decide::<IntervalBucket>(&requests, options.limit),
        AlgorithmChoice::FixedWindow => outcome::decide::<FixedWindow>(&requests, options.limit),
        AlgorithmChoice::OwnWindow => outcome::decide::<OwnWindow>(&requests, options.limit),
        AlgorithmChoice::SlidingCounter => outcome::decide::<SlidingCounter>(&requests, options.limit),
        AlgorithmChoice::SlidingLog => outcome::decide::<SlidingLog>(&requests, options.limit),
    }?;
    let report = report::Report { options, requests: &requests, outcome: &outcome };
    cli::print(&if options.json { report.json() } else { report.table() })
}
