//! Results: a line of JSON each, or tables for people.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// One figure of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// A count.
    Count(u64),
    /// A measure, written with two decimals.
    Measure(f64),
    /// A word.
    Word(&'static str),
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Count(count) => serializer.serialize_u64(count),
            Self::Measure(measure) => serializer.serialize_f64((measure * 100.0).round() / 100.0),
            Self::Word(word) => serializer.serialize_str(word),
        }
    }
}

/// What one contender did at one workload.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The workload.
    pub(crate) workload: &'static str,
    /// The contender.
    pub(crate) contender: &'static str,
    /// How many threads checked.
    pub(crate) threads: usize,
    /// How many keys there were.
    pub(crate) keys: u32,
    /// What was measured; the first is what tables show.
    pub(crate) figures: Vec<(&'static str, Figure)>,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("workload", self.workload)?;
        map.serialize_entry("contender", self.contender)?;
        map.serialize_entry("threads", &self.threads)?;
        map.serialize_entry("keys", &self.keys)?;
        for (name, figure) in &self.figures {
            map.serialize_entry(name, figure)?;
        }
        map.end()
    }
}

impl Row {
    /// Returns the first measure.
    fn leading(&self) -> Option<f64> {
        self.figures.iter().find_map(|(_, figure)| match figure {
            Figure::Measure(measure) => Some(*measure),
            _ => None,
        })
    }

    /// Returns what sets a row's column apart from those of the same contender beside it.
    fn column(&self) -> (usize, u32) {
        (self.threads, self.keys)
    }
}

/// Writes what was measured, one workload after the other.
#[derive(Debug)]
pub(crate) struct Report {
    json: bool,
    implausible: usize,
}

impl Report {
    /// Makes a report that writes JSON or tables.
    pub(crate) fn new(json: bool) -> Self {
        Self { json, implausible: 0 }
    }

    /// Notes verdicts that cannot be right; the program will fail at its end.
    pub(crate) fn implausible(&mut self, what: &str) {
        eprintln!("error: {what}");
        self.implausible += 1;
    }

    /// Tells whether all verdicts were plausible.
    pub(crate) fn is_sound(&self) -> bool {
        self.implausible == 0
    }

    /// Writes the rows of one workload.
    pub(crate) fn write(&self, rows: &[Row]) {
        if self.json {
            for row in rows {
                println!("{}", serde_json::to_string(row).expect("rows are plain maps"));
            }
        } else if let Some(first) = rows.first() {
            if first.figures.iter().any(|(name, _)| *name == "ns_per_check") {
                print!("{}", comparison(rows));
            } else {
                print!("{}", listing(rows));
            }
        }
    }
}

/// What is divided by what beneath a comparison.
const RATIOS: [(&str, &str); 5] = [
    ("governor", "tollgate-coarse"),
    ("governor-tuned", "tollgate-coarse"),
    ("governor", "tollgate-precise"),
    ("tollgate-coarse", "floor"),
    ("dashmap-deque", "tollgate-log"),
];

/// Returns a table of contenders by threads, and the ratios that matter.
fn comparison(rows: &[Row]) -> String {
    let mut columns: Vec<_> = rows.iter().map(Row::column).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut contenders: Vec<_> = rows.iter().map(|row| row.contender).collect();
    contenders.dedup();
    contenders.sort_by_key(|name| rows.iter().position(|row| row.contender == *name));
    contenders.dedup();
    let find = |contender: &str, column| {
        rows.iter().find(|row| row.contender == contender && row.column() == column).and_then(Row::leading)
    };

    let mut text = format!("\n{:<44}", format!("{}, ns per check and thread", rows[0].workload));
    for (threads, keys) in &columns {
        let heading = format!("{threads} thread{}, {keys} keys", if *threads == 1 { "" } else { "s" });
        text += &format!("{heading:>26}");
    }
    text.push('\n');
    let mut line = |name: String, figure: &dyn Fn((usize, u32)) -> Option<f64>| {
        text += &format!("  {name:<42}");
        for column in &columns {
            text += &figure(*column).map_or_else(|| format!("{:>26}", "-"), |figure| format!("{figure:>26.2}"));
        }
        text.push('\n');
    };
    for contender in contenders {
        line(contender.to_owned(), &|column| find(contender, column));
    }
    for (slow, fast) in RATIOS {
        let ratio = |column| Some(find(slow, column)? / find(fast, column)?);
        if columns.iter().any(|column| ratio(*column).is_some()) {
            line(format!("{slow} / {fast}"), &ratio);
        }
    }
    text
}

/// Returns rows with all their figures, one beneath the other.
fn listing(rows: &[Row]) -> String {
    let mut text = format!("\n{}\n", rows[0].workload);
    for row in rows {
        let threads = if row.threads == 1 { "thread" } else { "threads" };
        text += &format!("  {:<18} {} {threads}, {} keys", row.contender, row.threads, row.keys);
        for (name, figure) in &row.figures {
            match figure {
                Figure::Count(count) => text += &format!("  {name} {count}"),
                Figure::Measure(measure) => text += &format!("  {name} {measure:.2}"),
                Figure::Word(word) => text += &format!("  {name} {word}"),
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a row with one figure.
    fn row(contender: &'static str, threads: usize, ns: f64) -> Row {
        let figures = vec![("ns_per_check", Figure::Measure(ns))];
        Row { workload: "hot", contender, threads, keys: 1, figures }
    }

    #[test]
    fn a_row_is_written_with_its_workload_first() {
        let text = serde_json::to_string(&row("governor", 1, 12.345)).expect("a plain map");
        assert_eq!(text, r#"{"workload":"hot","contender":"governor","threads":1,"keys":1,"ns_per_check":12.35}"#);
    }

    #[test]
    fn a_comparison_ends_with_ratios() {
        let text = comparison(&[row("tollgate-coarse", 1, 10.0), row("governor", 1, 50.0)]);
        let last = text.lines().last().expect("there are lines");
        assert!(last.contains("governor / tollgate-coarse") && last.ends_with("5.00"), "{text}");
    }
}
