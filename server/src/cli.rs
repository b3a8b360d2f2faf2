//! The command line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use tollgate::Quota;

use crate::failure::{Failure, one_line};
use crate::replay::KeyChoice;

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Task {
    /// Serve limits.
    Serve(ServeOptions),
    /// Replay a log.
    Replay(ReplayOptions),
    /// Compare the algorithms.
    Accuracy(AccuracyOptions),
    /// Print the help or the version.
    Print(String),
}

/// Limits how much may pass: serve limits over HTTP, or replay an access log against them.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeOptions,
}

/// The subcommands; none is the same as `serve`.
#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a limit over HTTP; also what happens without a subcommand
    Serve(ServeOptions),
    /// Replay an access log against a limit and report what it would have denied
    Replay(ReplayOptions),
    /// Compare what each algorithm lets pass with its bound and with an exact log, as a page with a picture
    Accuracy(AccuracyOptions),
}

/// How to serve.
#[derive(Args, Debug)]
pub(crate) struct ServeOptions {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    pub(crate) listen: String,
    /// How much may pass for each key, like 5/10s or 1000/min burst 50
    #[arg(long, value_name = "LIMIT", default_value = "5/10s")]
    pub(crate) limit: Quota,
    /// How the limit is kept
    #[arg(long, value_name = "ALGORITHM", default_value = "sliding-log")]
    pub(crate) algorithm: AlgorithmChoice,
}

/// How to replay.
#[derive(Args, Debug)]
pub(crate) struct ReplayOptions {
    /// The log, in common or combined format, plain or gzip; - is the standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How much may pass for each key, like 5/10s or 1000/min burst 50
    #[arg(long, value_name = "LIMIT", default_value = "100/min")]
    pub(crate) limit: Quota,
    /// How the limit is kept
    #[arg(long, value_name = "ALGORITHM", default_value = "token-bucket")]
    pub(crate) algorithm: AlgorithmChoice,
    /// Who is limited: ip, user, path, or several of them with commas between
    #[arg(long, value_name = "KEY", default_value = "ip")]
    pub(crate) key: KeyChoice,
    /// Report as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// How many of the most denied keys to report
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
}

/// How to compare the algorithms.
#[derive(Args, Debug)]
pub(crate) struct AccuracyOptions {
    /// A log of real traffic to compare them on as well, in common or combined format, plain or gzip
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// How much may pass for each key: 1 to 200 in a second to a day
    #[arg(long, value_name = "LIMIT", default_value = "20/min")]
    pub(crate) limit: Quota,
    /// Where to write the picture
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: PathBuf,
    /// Where to write the page
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: PathBuf,
    /// Print the figures as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The algorithms that a limit can be kept by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlgorithmChoice {
    /// A bucket that refills steadily (GCRA)
    TokenBucket,
    /// A bucket that leaks steadily and denies what would overflow
    LeakyBucket,
    /// A bucket whose tokens come back together at the end of each period
    IntervalBucket,
    /// A count that starts again with each period
    FixedWindow,
    /// A count whose period opens with the key's first request
    OwnWindow,
    /// The counts of two periods, the older one weighed
    SlidingCounter,
    /// The exact times of what passed within the last period
    SlidingLog,
}

impl AlgorithmChoice {
    /// Returns the name that the command line has for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token-bucket",
            Self::LeakyBucket => "leaky-bucket",
            Self::IntervalBucket => "interval-bucket",
            Self::FixedWindow => "fixed-window",
            Self::OwnWindow => "own-window",
            Self::SlidingCounter => "sliding-counter",
            Self::SlidingLog => "sliding-log",
        }
    }
}

/// Evaluates an expression with a type's name standing for the algorithm that was chosen.
macro_rules! with_algorithm {
    ($choice:expr, $name:ident => $body:expr) => {
        with_algorithm!(
            $choice, $name => $body;
            TokenBucket LeakyBucket IntervalBucket FixedWindow OwnWindow SlidingCounter SlidingLog
        )
    };
    ($choice:expr, $name:ident => $body:expr; $($algorithm:ident)*) => {
        match $choice {
            $($crate::cli::AlgorithmChoice::$algorithm => {
                type $name = ::tollgate::$algorithm;
                $body
            })*
        }
    };
}

pub(crate) use with_algorithm;

/// Reads the command line.
pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Task, Failure> {
    match CommandLine::try_parse_from(arguments) {
        Ok(CommandLine { command: Some(Command::Replay(options)), .. }) => Ok(Task::Replay(options)),
        Ok(CommandLine { command: Some(Command::Accuracy(options)), .. }) => Ok(Task::Accuracy(options)),
        Ok(CommandLine { command: Some(Command::Serve(options)), .. }) => Ok(Task::Serve(options)),
        Ok(CommandLine { command: None, serve }) => Ok(Task::Serve(serve)),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Ok(Task::Print(error.to_string()))
        }
        Err(error) => Err(Failure::usage(gist(&error.to_string()))),
    }
}

/// Returns the first paragraph of an error, which says what is wrong, on one line.
fn gist(error: &str) -> String {
    let first = error.split("\n\n").next().unwrap_or(error);
    let first = first.strip_prefix("error: ").unwrap_or(first);
    format!("{} (--help tells more)", one_line(first))
}

/// Prints a text on the standard output; a reader that has gone away is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::io(format_args!("cannot write to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a command line without the program's name.
    fn read_words(words: &[&str]) -> Result<Task, Failure> {
        read(["tollgate"].iter().chain(words).map(OsString::from))
    }

    #[test]
    fn nothing_means_serve() {
        for words in [&[][..], &["serve"]] {
            let Ok(Task::Serve(options)) = read_words(words) else { panic!("{words:?} is no task to serve") };
            assert_eq!(options.listen, "127.0.0.1:3000");
            assert_eq!(options.limit.to_string(), "5/10s");
            assert_eq!(options.algorithm, AlgorithmChoice::SlidingLog);
        }
        for words in [&["--limit", "7/min"][..], &["serve", "--limit", "7/min"]] {
            let Ok(Task::Serve(options)) = read_words(words) else { panic!("{words:?} is no task to serve") };
            assert_eq!(options.limit.to_string(), "7/min");
        }
    }

    #[test]
    fn replay_has_its_own_defaults() {
        let Ok(Task::Replay(options)) = read_words(&["replay", "-"]) else { panic!("no task to replay") };
        assert_eq!(options.limit.to_string(), "100/min");
        assert_eq!(options.algorithm, AlgorithmChoice::TokenBucket);
        assert_eq!((options.key.to_string(), options.json, options.top), ("ip".to_owned(), false, 10));
    }

    #[test]
    fn help_is_no_failure() {
        for words in [&["--help"][..], &["serve", "--help"], &["replay", "--help"], &["--version"]] {
            let Ok(Task::Print(text)) = read_words(words) else { panic!("{words:?} prints nothing") };
            assert!(text.contains("tollgate"), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_fits_a_line() {
        for (words, part) in [
            (&["--frobnicate"][..], "--frobnicate"),
            (&["serve", "--limit", "5/10parsecs"], "parsecs"),
            (&["serve", "--limit", "0/s"], "a limit of 0 lets nothing pass"),
            (&["serve", "--algorithm", "dice"], "sliding-log"),
            (&["replay"], "<FILE>"),
            (&["replay", "-", "--key", "shoe"], "shoe"),
            (&["replay", "-", "--top", "-1"], "-1"),
            (&["accuracy", "--svg", "a.svg"], "--markdown"),
            (&["accuracy", "--svg", "a.svg", "--markdown", "a.md", "--limit", "many"], "many"),
            (&["reply"], "reply"),
        ] {
            let failure = read_words(words).expect_err("a failure");
            let line = format!("{failure:?}");
            assert!(line.contains(part) && line.contains("code: 2") && !line.contains("\\n"), "{line}");
        }
    }
}
