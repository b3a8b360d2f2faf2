//! What the program `tollgate` does: it serves limits over HTTP, replays access logs against them, and compares the
//! algorithms that keep them.
//!
//! [`access_log`] stands alone and may be used, and fuzzed, by itself.

pub mod access_log;

mod accuracy;
mod cli;
mod failure;
mod replay;
mod serve;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::cli::Task;

/// Runs the program with its command line, the program's own name first.
///
/// Success is 0. What the command line is to blame for is 2, any other failure 1; either puts one line on the standard
/// error stream.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let outcome = cli::read(arguments).and_then(|task| match task {
        Task::Serve(options) => serve::run(&options),
        Task::Replay(options) => replay::run(&options),
        Task::Accuracy(options) => accuracy::run(&options),
        Task::Print(text) => cli::print(&text),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
