//! Measures tollgate beside the rate limiters its users would take instead.
//!
//! Every contender is used as its own documentation tells its users to; `docs/benchmarks.md` of the project has the
//! figures and says how they came about. `--help` lists the options.

mod args;
mod churn;
mod contenders;
mod key;
mod latency;
mod limit;
mod log;
mod memory;
mod plain;
mod race;
mod report;
mod sample;
mod sequence;
mod workload;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::report::Report;

fn main() -> ExitCode {
    let known: Vec<_> = contenders::entrants::<u64>().iter().map(|entrant| entrant.name).chain(log::NAMES).collect();
    match args::read(std::env::args().skip(1), &known) {
        Ok(Command::Run(args)) => measure(&args),
        Ok(Command::Help(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Command::MeasureMemory { contender, kind, keys }) => match memory::fill(&contender, &kind, keys) {
            Ok(bytes) => {
                println!("{bytes}");
                ExitCode::SUCCESS
            }
            Err(refused) => refuse(&refused),
        },
        Err(refused) => refuse(&refused),
    }
}

/// Prints what is wrong and returns the exit code for it.
fn refuse(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::from(2)
}

/// Measures everything that is asked for.
fn measure(args: &Args) -> ExitCode {
    let mut report = Report::new(args.json);
    plain::measure::<u64>(args, &mut report);
    if !args.quick {
        plain::measure::<String>(args, &mut report);
        churn::measure(args, &mut report);
        log::measure(args, &mut report);
        latency::measure(args, &mut report);
        memory::measure(args, &mut report);
    }
    if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
