//! Resident memory, each time in a fresh process.

use std::any::Any;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::args::{Args, MEASURE_MEMORY};
use crate::contenders::{Part, Setting, entrants};
use crate::key::Key;
use crate::limit::Limit;
use crate::log;
use crate::report::{Figure, Report, Row};

/// How many keys are held.
const KEYS: [u32; 2] = [1_000_000, 10_000_000];
/// How many users have full logs.
const USERS: u32 = 10_000;
/// The kind of keys that stands for full logs.
const LOG: &str = "log";

/// Measures the memory of all contenders.
pub(crate) fn measure(args: &Args, report: &mut Report) {
    if args.takes_workload("memory") {
        let kinds = [<u64 as Key>::KIND, <String as Key>::KIND];
        report.write(&tables(&kinds, args));
    }
    if args.takes_workload("memory-log") {
        report.write(&logs(args));
    }
}

/// Returns the bytes a key of each contender.
fn tables(kinds: &[&'static str], args: &Args) -> Vec<Row> {
    let mut rows = Vec::new();
    for (kind, keys) in kinds.iter().flat_map(|&kind| KEYS.map(|keys| (kind, args.scale().keys(keys)))) {
        eprintln!("memory: {keys} keys, {kind}");
        for entrant in entrants::<u64>() {
            if entrant.parts.contains(&Part::Memory) && args.takes_contender(entrant.name) {
                let bytes = of_child(entrant.name, kind, keys);
                let figures =
                    vec![("bytes_per_key", Figure::Measure(bytes / f64::from(keys))), ("key_kind", Figure::Word(kind))];
                rows.push(Row { workload: "memory", contender: entrant.name, threads: 1, keys, figures });
            }
        }
    }
    rows
}

/// Returns the bytes a stamp of both logs.
fn logs(args: &Args) -> Vec<Row> {
    let users = args.scale().keys(USERS);
    eprintln!("memory-log: {users} users, {} stamps each", log::STAMPS);
    let row = |contender| {
        let bytes = of_child(contender, LOG, users);
        let figures = vec![
            ("bytes_per_stamp", Figure::Measure(bytes / f64::from(users) / f64::from(log::STAMPS))),
            ("stamps_per_key", Figure::Count(u64::from(log::STAMPS))),
        ];
        Row { workload: "memory-log", contender, threads: 1, keys: users, figures }
    };
    log::NAMES.into_iter().filter(|name| args.takes_contender(name)).map(row).collect()
}

/// Runs this program once more to fill a table, and returns the bytes that it took.
fn of_child(contender: &str, kind: &str, keys: u32) -> f64 {
    let program = std::env::current_exe().expect("the program knows where it is");
    let output = Command::new(program)
        .args([MEASURE_MEMORY, contender, kind, &keys.to_string()])
        .output()
        .expect("the program can be run again");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| {
        panic!("{contender} fills its table: {}", String::from_utf8_lossy(&output.stderr));
    })
}

/// Fills a table and returns the bytes that it took, or what is wrong with the question.
pub(crate) fn fill(contender: &str, kind: &str, keys: u32) -> Result<u64, String> {
    let before = resident_bytes()?;
    let table: Box<dyn Any> = match kind {
        "integer" => filled::<u64>(contender, keys),
        "string" => filled::<String>(contender, keys),
        LOG => log::fill(contender, keys),
        _ => return Err(format!("there is no kind of keys '{kind}'")),
    }
    .ok_or_else(|| format!("there is no contender '{contender}'"))?;
    // Whatever is freed in the background gets the time for it.
    thread::sleep(Duration::from_millis(300));
    let after = resident_bytes()?;
    drop(table);
    Ok(after.saturating_sub(before))
}

/// Builds a contender with so many live keys.
fn filled<K: Key>(contender: &str, keys: u32) -> Option<Box<dyn Any>> {
    let entrant = entrants::<K>().into_iter().find(|entrant| entrant.name == contender)?;
    let runner = (entrant.build)(&Setting { limit: Limit::GENEROUS, keys, churning: false });
    runner.prefill();
    Some(Box::new(runner))
}

/// Returns how much of the process is in memory.
fn resident_bytes() -> Result<u64, String> {
    let path = "/proc/self/status";
    let status = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.map(|kilobytes| kilobytes * 1024).ok_or_else(|| format!("{path} does not tell the resident size"))
}
