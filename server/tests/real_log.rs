//! Replays of a real log, compared count by count with exact arithmetic.
//!
//! The log is that of Debian's package logstalgia; the variable `TOLLGATE_LOG` names another one.

mod support;

use std::io::Read;
use std::process::Output;

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use support::oracle::{self, Rule, Tally};
use support::plain_log::{self, Request};
use support::{run, run_with_input};

/// Limits as they are written, and their rules.
const LIMITS: [(&str, &str, Rule); 24] = [
    ("100/min", "token-bucket", Rule::Bucket { limit: 100, seconds: 60, burst: 100 }),
    ("5/10s", "token-bucket", Rule::Bucket { limit: 5, seconds: 10, burst: 5 }),
    ("30/min", "token-bucket", Rule::Bucket { limit: 30, seconds: 60, burst: 30 }),
    ("97/hour", "token-bucket", Rule::Bucket { limit: 97, seconds: 3600, burst: 97 }),
    ("7/min burst 3", "token-bucket", Rule::Bucket { limit: 7, seconds: 60, burst: 3 }),
    ("30/min", "leaky-bucket", Rule::Bucket { limit: 30, seconds: 60, burst: 30 }),
    ("7/min burst 3", "leaky-bucket", Rule::Bucket { limit: 7, seconds: 60, burst: 3 }),
    ("30/min", "interval-bucket", Rule::Interval { limit: 30, seconds: 60, burst: 30 }),
    ("5/10s", "interval-bucket", Rule::Interval { limit: 5, seconds: 10, burst: 5 }),
    ("7/min burst 3", "interval-bucket", Rule::Interval { limit: 7, seconds: 60, burst: 3 }),
    ("3/10s burst 40", "interval-bucket", Rule::Interval { limit: 3, seconds: 10, burst: 40 }),
    ("30/min", "own-window", Rule::Own { limit: 30, seconds: 60, overhangs: true }),
    ("5/10s", "own-window", Rule::Own { limit: 5, seconds: 10, overhangs: false }),
    ("97/hour", "own-window", Rule::Own { limit: 97, seconds: 3600, overhangs: true }),
    ("100/min", "sliding-log", Rule::Log { limit: 100, seconds: 60 }),
    ("5/10s", "sliding-log", Rule::Log { limit: 5, seconds: 10 }),
    ("30/min", "sliding-log", Rule::Log { limit: 30, seconds: 60 }),
    ("97/hour", "sliding-log", Rule::Log { limit: 97, seconds: 3600 }),
    ("30/min", "fixed-window", Rule::Fixed { limit: 30, seconds: 60 }),
    ("5/10s", "fixed-window", Rule::Fixed { limit: 5, seconds: 10 }),
    ("97/hour", "fixed-window", Rule::Fixed { limit: 97, seconds: 3600 }),
    ("30/min", "sliding-counter", Rule::Counter { limit: 30, seconds: 60 }),
    ("5/10s", "sliding-counter", Rule::Counter { limit: 5, seconds: 10 }),
    ("97/hour", "sliding-counter", Rule::Counter { limit: 97, seconds: 3600 }),
];

/// Returns the path of the real log.
fn path() -> String {
    let packaged = || {
        let plain = "/usr/share/logstalgia/example.log".to_owned();
        let compressed = format!("{plain}.gz");
        if std::path::Path::new(&compressed).exists() { compressed } else { plain }
    };
    std::env::var("TOLLGATE_LOG").unwrap_or_else(|_| packaged())
}

/// Returns the text of the real log.
fn text() -> Vec<u8> {
    let path = path();
    let bytes = std::fs::read(&path).unwrap_or_else(|error| {
        panic!("cannot read {path}: {error}: install Debian's package logstalgia or name a log in TOLLGATE_LOG")
    });
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).expect("a sound gzip file");
    text
}

/// Compares the program's replays of a log with the oracle's: each limit, each key, each count, in all and by key.
fn compare(log: &[u8], replay: impl Fn(&[&str]) -> Output) {
    let (requests, malformed) = plain_log::read(log);
    assert!(!requests.is_empty(), "there is something to compare");
    for (limit, algorithm, rule) in LIMITS {
        for key in ["ip", "path", "ip,path"] {
            let args = ["--json", "--top", "999999", "--limit", limit, "--algorithm", algorithm, "--key", key];
            let output = replay(&args);
            assert!(output.status.success(), "{args:?}: {output:?}");
            let report = serde_json::from_slice(&output.stdout).expect("the report is JSON");
            assert_agrees(&report, rule, &requests, key, malformed);
        }
    }
}

/// Asserts that a report says what the oracle says.
#[track_caller]
fn assert_agrees(report: &Value, rule: Rule, requests: &[Request], key: &str, malformed: u64) {
    let keyed: Vec<_> = requests.iter().map(|request| (request.second, request.key(key))).collect();
    let tallies = oracle::decide(rule, &keyed);
    let (all, denied) = (requests.len() as u64, tallies.values().map(|tally| tally.denied).sum::<u64>());
    let expected = [all, all - denied, denied, tallies.len() as u64, malformed];
    let names = ["requests", "allowed", "denied", "keys", "malformed"];
    let reported = names.map(|name| report[name].as_u64().expect("a count"));
    assert_eq!(reported, expected, "{names:?} by {key} under {rule:?}");

    let count = |row: &Value, name: &str| row[name].as_u64().expect("a count");
    let rows = report["top_denied"].as_array().expect("a list").iter();
    let mut reported: Vec<(String, Tally)> = rows
        .map(|row| {
            let tally = Tally { requests: count(row, "requests"), denied: count(row, "denied") };
            assert_eq!(count(row, "allowed"), tally.requests - tally.denied, "{row}");
            (row["key"].as_str().expect("a key").to_owned(), tally)
        })
        .collect();
    let denied = tallies.iter().filter(|(_, tally)| tally.denied > 0);
    let mut expected: Vec<(String, Tally)> = denied.map(|(key, tally)| (plain_log::shown(key), *tally)).collect();
    reported.sort();
    expected.sort();
    assert_eq!(reported, expected, "each {key} that was denied under {rule:?}");
}

/// Numbers that look random and are the same each time.
#[derive(Debug)]
struct Numbers(u64);

impl Numbers {
    /// Returns a number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }
}

/// Puts the lines of a log out of order, and damages many of them.
fn damaged(log: &[u8], mut numbers: Numbers) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = log.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for idx in 0..lines.len() {
        lines.swap(idx, numbers.below(idx + 1));
    }
    for line in lines.iter_mut().filter(|line| !line.is_empty()) {
        let at = numbers.below(line.len());
        match numbers.below(8) {
            0 => line.truncate(at),
            // In the time, most often.
            1 => line[at % 70] = b" \"\\[]/?:-+0123456789AGZagz"[numbers.below(26)],
            2 => line[at] = b' ' + u8::try_from(numbers.below(95)).expect("a character"),
            3 => line[at] = [b'\n', b'\r', b'"', b'\\'][numbers.below(4)],
            4 => {
                let host = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
                let hosts = ["::ffff:192.0.2.1", "192.0.2.1", "2001:DB8::1", "2001:db8:0:0:9::", "Host.example"];
                line.splice(..host, hosts[numbers.below(hosts.len())].bytes());
            }
            _ => {}
        }
    }
    lines.join(&b'\n')
}

#[test]
fn the_program_counts_what_exact_arithmetic_counts() {
    let file = path();
    compare(&text(), |args| run(&[&["replay", &file], args].concat()));
}

#[test]
fn they_agree_on_damaged_and_unsorted_copies_too() {
    let log = text();
    for seed in [1, 2, 3] {
        let log = damaged(&log, Numbers(seed));
        compare(&log, |args| run_with_input(&[&["replay", "-"], args].concat(), &log));
    }
}
