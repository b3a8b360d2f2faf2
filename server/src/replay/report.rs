//! What is said about a replay.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use crate::access_log::shown_time;
use crate::cli::ReplayOptions;
use crate::failure::printable;
use crate::replay::key;
use crate::replay::outcome::{Outcome, Tally};
use crate::replay::requests::Requests;

/// The widest that a key gets in a table, in characters.
const WIDEST_KEY: usize = 60;

/// A replay and what came of it.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) options: &'a ReplayOptions,
    pub(super) requests: &'a Requests,
    pub(super) outcome: &'a Outcome,
}

impl Report<'_> {
    /// Returns the report as one JSON object, on one line.
    pub(super) fn json(&self) -> String {
        let Self { options, requests, outcome } = self;
        let span = self.span();
        let top = self.top().map(|(key, Tally { requests, denied })| {
            json!({ "key": key, "requests": requests, "allowed": requests - denied, "denied": denied })
        });
        let malformed = requests
            .samples
            .iter()
            .map(|sample| json!({ "line": sample.line, "reason": sample.reason, "text": sample.text }));
        let report = json!({
            "file": options.file.to_string_lossy(),
            "limit": options.limit.to_string(),
            "algorithm": options.algorithm.name(),
            "key": options.key.to_string(),
            "requests": requests.sorted.len(),
            "allowed": outcome.allowed,
            "denied": outcome.denied,
            "keys": requests.keys.len(),
            "malformed": requests.malformed,
            "out_of_order": requests.out_of_order,
            "first": span.map(|(first, _)| shown_time(first)),
            "last": span.map(|(_, last)| shown_time(last)),
            "span_seconds": span.map_or(0, |(first, last)| last - first),
            "top_denied": top.collect::<Value>(),
            "malformed_lines": malformed.collect::<Value>(),
        });
        format!("{report}\n")
    }

    /// Returns the report for people.
    pub(super) fn table(&self) -> String {
        let Self { options, requests, outcome } = self;
        let (limit, algorithm, key) = (&options.limit, options.algorithm.name(), &options.key);
        let mut text = format!("{} against {limit} for each {key} ({algorithm})\n", options.file.display());
        text = printable_line(&text);
        let total = requests.sorted.len();
        let mut table = table(&[CellAlignment::Left, CellAlignment::Right, CellAlignment::Right]);
        table.add_row(["requests", &total.to_string(), ""]);
        table.add_row(["allowed", &outcome.allowed.to_string(), &percent(outcome.allowed, total)]);
        table.add_row(["denied", &outcome.denied.to_string(), &percent(outcome.denied, total)]);
        table.add_row(["keys", &requests.keys.len().to_string(), ""]);
        table.add_row(["malformed lines", &requests.malformed.to_string(), ""]);
        let _ = writeln!(text, "{table}");
        if let Some((first, last)) = self.span() {
            let _ = writeln!(text, "from {} to {}, {} s", shown_time(first), shown_time(last), last - first);
        }
        let lines = if requests.out_of_order == 1 { "line was" } else { "lines were" };
        let _ = writeln!(text, "sorted stably by time: {} {lines} out of order", requests.out_of_order);
        self.write_malformed(&mut text);
        self.write_top(&mut text);
        text
    }

    /// Writes the first malformed lines.
    fn write_malformed(&self, text: &mut String) {
        for sample in &self.requests.samples {
            let _ = writeln!(text, "line {} is malformed: {}: {}", sample.line, sample.reason, printable(&sample.text));
        }
        let more = self.requests.malformed - self.requests.samples.len() as u64;
        if more > 0 {
            let _ = writeln!(text, "and {more} more");
        }
    }

    /// Writes the keys that were denied most.
    fn write_top(&self, text: &mut String) {
        let mut table = table(&[CellAlignment::Left, CellAlignment::Right, CellAlignment::Right]);
        table.set_header(["denied most", "denied", "requests"]);
        let mut is_empty = true;
        for (key, Tally { requests, denied }) in self.top() {
            table.add_row([shortened(&printable(&key)), denied.to_string(), requests.to_string()]);
            is_empty = false;
        }
        if !is_empty {
            let _ = writeln!(text, "{table}");
        }
    }

    /// Returns the keys that were denied most.
    fn top(&self) -> impl Iterator<Item = (String, Tally)> {
        let numbers = self.outcome.most_denied(self.requests, self.options.top);
        numbers.into_iter().map(|number| {
            let key = key::shown(self.requests.keys.key(number));
            (key, self.outcome.by_key[number as usize])
        })
    }

    /// Returns the time of the first and the last request.
    fn span(&self) -> Option<(u32, u32)> {
        let sorted = &self.requests.sorted;
        sorted.first().zip(sorted.last()).map(|(first, last)| (first.unix_seconds, last.unix_seconds))
    }
}

/// Returns a text with the line end it has and nothing else that commands a terminal.
fn printable_line(text: &str) -> String {
    printable(text.trim_end()) + "\n"
}

/// Returns an empty table with columns aligned as given.
fn table(alignments: &[CellAlignment]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(vec![""; alignments.len()]);
    for (idx, alignment) in alignments.iter().enumerate() {
        if let Some(column) = table.column_mut(idx) {
            column.set_cell_alignment(*alignment);
        }
    }
    table
}

/// Returns a share in percent.
fn percent(part: u64, total: usize) -> String {
    if total == 0 { String::new() } else { format!("{:.1} %", part as f64 * 100.0 / total as f64) }
}

/// Cuts a long key short.
fn shortened(key: &str) -> String {
    match key.char_indices().nth(WIDEST_KEY) {
        Some((end, _)) => format!("{}...", &key[..end]),
        None => key.to_owned(),
    }
}
