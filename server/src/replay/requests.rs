//! The requests of a log: read, and sorted by time.

use crate::access_log::parse_line;
use crate::failure::Failure;
use crate::replay::input::Input;
use crate::replay::key::KeyChoice;
use crate::replay::keys::Keys;
use crate::replay::lines::{Line, Lines};

/// How many malformed lines are kept to be shown.
const SHOWN_MALFORMED: usize = 5;

/// How much of a malformed line is kept, in bytes.
const SHOWN_BYTES: usize = 80;

/// All that a replay needs of a log.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// The requests, sorted by time; those of one second stand as they stood in the log.
    pub(super) sorted: Vec<Request>,
    pub(super) keys: Keys,
    /// How many requests were logged after a later one.
    pub(super) out_of_order: u64,
    pub(super) malformed: u64,
    /// The first malformed lines.
    pub(super) samples: Vec<Sample>,
}

/// What is kept of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// The second, counted since 1970 began.
    pub(super) unix_seconds: u32,
    /// The number of the key.
    pub(super) key: u32,
}

/// A malformed line.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) line: u64,
    pub(super) reason: String,
    /// The line's beginning.
    pub(super) text: String,
}

/// Reads a log to its end.
pub(super) fn read(mut input: Input, choice: &KeyChoice) -> Result<Requests, Failure> {
    let mut requests = Requests::default();
    let mut scratch = Vec::new();
    let mut lines = Lines::new(&mut input.text);
    let outcome = loop {
        match lines.next() {
            Ok(Some(line)) => requests.add(&line, choice, &mut scratch)?,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    input.progress.finish_and_clear();
    outcome.map_err(|error| input.failure(&error))?;
    if let ([], [sample, ..]) = (&requests.sorted[..], &requests.samples[..]) {
        let (name, Sample { line, reason, text }) = (&input.name, sample);
        return Err(Failure::usage(format_args!("{name}: unknown format: line {line}, \"{text}\", has {reason}")));
    }
    requests.sort();
    Ok(requests)
}

impl Requests {
    /// Adds what a line says; an empty line says nothing.
    fn add(&mut self, line: &Line<'_>, choice: &KeyChoice, scratch: &mut Vec<u8>) -> Result<(), Failure> {
        match parse_line(line.bytes) {
            Ok(entry) => {
                scratch.clear();
                choice.append(&entry, scratch);
                let key = self.keys.number(scratch).ok_or_else(|| Failure::io("the log has more than 2^32 keys"))?;
                self.sorted.push(Request { unix_seconds: entry.unix_seconds, key });
            }
            Err(_) if line.bytes.trim_ascii().is_empty() => {}
            Err(reason) => {
                self.malformed += 1;
                if self.samples.len() < SHOWN_MALFORMED {
                    self.samples.push(Sample::new(line, &reason));
                }
            }
        }
        Ok(())
    }

    /// Sorts by time and counts what was not sorted.
    fn sort(&mut self) {
        let mut latest = 0;
        for request in &self.sorted {
            self.out_of_order += u64::from(request.unix_seconds < latest);
            latest = latest.max(request.unix_seconds);
        }
        if self.out_of_order > 0 {
            self.sorted.sort_by_key(|request| request.unix_seconds);
        }
    }
}

impl Sample {
    /// Keeps what can be shown of a line.
    fn new(line: &Line<'_>, reason: &dyn std::fmt::Display) -> Self {
        let (kept, dots) = match line.bytes.get(..SHOWN_BYTES) {
            Some(kept) if kept.len() < line.bytes.len() => (kept, "..."),
            _ => (line.bytes, ""),
        };
        let text = format!("{}{dots}", String::from_utf8_lossy(kept));
        Self { line: line.number, reason: reason.to_string(), text }
    }
}
