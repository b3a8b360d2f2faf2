//! The comparison of the algorithms: what is proven holds, and the page in `docs` says what the program finds today.
//!
//! The log is that of Debian's package logstalgia, from which the page is made.

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::oracle::{self, Rule};
use support::plain_log;
use support::{Folder, assert_refused, run};

/// The log that the page is made from.
const LOG: &str = "/usr/share/logstalgia/example.log";

/// The algorithms with their bounds, as factors of the limit and what is added.
const BOUNDS: [(&str, u64, i64); 7] = [
    ("token-bucket", 2, -1),
    ("leaky-bucket", 2, -1),
    ("interval-bucket", 2, 0),
    ("fixed-window", 2, 0),
    ("own-window", 2, -1),
    ("sliding-counter", 2, -1),
    ("sliding-log", 1, 0),
];

/// Runs the comparison in a folder, and returns its figures, the picture and the page.
fn compare(folder: &Folder, args: &[&str]) -> (Value, String, String) {
    let (svg, markdown) = (folder.path("accuracy.svg"), folder.path("accuracy.md"));
    let output = run(&[&["accuracy", "--json", "--svg", &svg, "--markdown", &markdown], args].concat());
    assert!(output.status.success(), "{args:?}: {output:?}");
    let figures = serde_json::from_slice(&output.stdout).expect("the figures are JSON");
    let text = |path: &str| std::fs::read_to_string(path).expect("the program has written it");
    (figures, text(&svg), text(&markdown))
}

/// Returns the row of an algorithm.
fn row<'a>(figures: &'a Value, algorithm: &str) -> &'a Value {
    let rows = figures["algorithms"].as_array().expect("a list");
    rows.iter().find(|row| row["algorithm"] == json!(algorithm)).unwrap_or_else(|| panic!("no {algorithm}"))
}

/// Returns a count of a row.
fn count(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("no count {name} in {row}"))
}

/// Returns what came of one traffic.
fn traffic<'a>(row: &'a Value, name: &str) -> &'a Value {
    let traffics = row["traffics"].as_array().expect("a list");
    traffics.iter().find(|traffic| traffic["traffic"] == json!(name)).unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the text of the log, which must be there.
fn log() -> Vec<u8> {
    std::fs::read(LOG).unwrap_or_else(|error| panic!("cannot read {LOG}: {error}: install Debian's package logstalgia"))
}

#[test]
fn the_search_reaches_each_bound_and_nothing_passes_it() {
    let folder = Folder::new("accuracy-bounds");
    for (limit, notation) in [(1, "1/s"), (2, "2/10s"), (7, "7/min"), (20, "20/min"), (30, "30/hour")] {
        let (figures, ..) = compare(&folder, &["--limit", notation]);
        assert_eq!(figures["algorithms"].as_array().map(Vec::len), Some(BOUNDS.len()));
        for (algorithm, factor, more) in BOUNDS {
            let (row, bound) = (row(&figures, algorithm), (factor * limit).saturating_add_signed(more));
            let found = (count(row, "bound"), count(row, "worst_found"));
            assert_eq!(found, (bound, bound), "{algorithm} at {notation}");
            for name in ["edges", "zipf"] {
                assert!(count(traffic(row, name), "most_in_a_period") <= bound, "{algorithm} at {notation} on {name}");
            }
        }
    }
}

#[test]
fn the_log_has_no_error_and_the_edges_cheat_those_whose_windows_everybody_knows() {
    let (figures, ..) = compare(&Folder::new("accuracy-errors"), &["--log", LOG]);
    let requests = plain_log::read(&log()).0.len() as u64;
    for (algorithm, ..) in BOUNDS {
        let row = row(&figures, algorithm);
        for (name, offered) in [("edges", 2000), ("zipf", 160_000), ("log", requests)] {
            let traffic = traffic(row, name);
            let wrong = ["wrongly_admitted", "wrongly_denied"].map(|error| count(traffic, error));
            assert_eq!(count(traffic, "offered"), offered);
            assert!(algorithm != "sliding-log" || wrong == [0, 0], "{name}: {wrong:?}");
            // A window of the key's own opens with the attack, and the counter has it in full sight.
            let of_edges = match algorithm {
                "interval-bucket" | "fixed-window" => [1000, 0],
                // Two tokens come back in the tenth of a period that an attack takes, one of them in time.
                "token-bucket" | "leaky-bucket" => [50, 0],
                _ => [0, 0],
            };
            assert!(name != "edges" || wrong == of_edges, "{algorithm}: {wrong:?}");
        }
    }
}

#[test]
fn what_passes_of_the_real_log_is_what_exact_arithmetic_lets_pass() {
    let (figures, ..) = compare(&Folder::new("accuracy-oracle"), &["--log", LOG]);
    let keyed: Vec<_> = plain_log::read(&log()).0.iter().map(|request| (request.second, request.key("ip"))).collect();
    let passed = |rule| {
        let tallies = oracle::decide(rule, &keyed);
        tallies.values().map(|tally| tally.requests - tally.denied).sum::<u64>() as i64
    };
    let (limit, seconds) = (20, 60);
    let exact = passed(Rule::Log { limit, seconds });
    for (algorithm, rule) in [
        ("token-bucket", Rule::Bucket { limit, seconds, burst: limit }),
        ("leaky-bucket", Rule::Bucket { limit, seconds, burst: limit }),
        ("interval-bucket", Rule::Interval { limit, seconds, burst: limit }),
        ("fixed-window", Rule::Fixed { limit, seconds }),
        ("own-window", Rule::Own { limit, seconds, overhangs: true }),
        ("sliding-counter", Rule::Counter { limit, seconds }),
    ] {
        let on_log = traffic(row(&figures, algorithm), "log");
        let [admitted, denied] = ["wrongly_admitted", "wrongly_denied"].map(|error| count(on_log, error) as i64);
        assert!(admitted > 0, "{algorithm} differs from the log");
        assert_eq!(admitted - denied, passed(rule) - exact, "{algorithm}");
    }
}

#[test]
fn the_committed_page_is_what_the_program_writes_now() {
    let folder = Folder::new("accuracy-page");
    let (_, svg, page) = compare(&folder, &["--log", LOG]);
    assert_eq!(compare(&folder, &["--log", LOG]).1, svg, "the same command draws the same");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for (name, now) in [("accuracy.md", page), ("accuracy.svg", svg)] {
        let committed = std::fs::read_to_string(docs.join(name)).unwrap_or_default();
        assert!(
            committed == now,
            "docs/{name} is stale: cargo run -p tollgate-server -- accuracy --log {LOG} --svg docs/accuracy.svg \
             --markdown docs/accuracy.md"
        );
    }
}

/// Returns the cells of the first row of a table that begins with this one, without the first.
fn cells<'a>(page: &'a str, first: &str) -> Vec<&'a str> {
    let rows = page.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let found = rows.into_iter().find(|cells| cells[0] == first).unwrap_or_else(|| panic!("no row {first}"));
    found[1..].to_vec()
}

#[test]
fn the_advice_on_algorithms_has_the_figures_of_the_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let text = |name| std::fs::read_to_string(docs.join(name)).expect("the page is there");
    let (advice, page) = (text("choosing.md"), text("accuracy.md"));
    let (most, errors) = page.split_once("## Against an exact log").expect("both tables");
    let plain = |share: &str| share.replace(".00", "");
    for (idx, (algorithm, ..)) in BOUNDS.into_iter().enumerate() {
        let (most, errors) = (cells(most, algorithm), cells(errors, algorithm));
        let told = |first| cells(&advice, first)[idx];
        // Bound in letters, bound, worst found, adversary, Zipf, real log.
        assert_eq!(told("the same at `20/min`, found by search"), most[2], "{algorithm}");
        assert_eq!(told("seen for an address of a real log"), most[5], "{algorithm}");
        for (first, at) in [
            ("adversary at the windows' edges, %", 0),
            ("on Zipf traffic at twice the limit, %", 2),
            ("there wrongly admitted / denied, %", 4),
        ] {
            let expected = format!("{} / {}", plain(errors[at]), plain(errors[at + 1]));
            assert_eq!(told(first), expected, "{algorithm}");
        }
    }
}

#[test]
fn the_page_needs_no_log_and_finds_its_picture() {
    let folder = Folder::new("accuracy-plain");
    let (.., page) = compare(&folder, &["--limit", "5/10s"]);
    assert!(page.contains("](accuracy.svg)") && !page.contains("real log"), "{page}");
    assert!(page.contains("tollgate accuracy --limit 5/10s --svg accuracy.svg --markdown accuracy.md"), "{page}");
    let svg = folder.path("a picture.svg");
    let output = run(&["accuracy", "--svg", &svg, "--markdown", &folder.path("page.md"), "--limit", "1/s"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, format!("wrote {svg} and {}\n", folder.path("page.md")));
    let page = std::fs::read_to_string(folder.path("page.md")).expect("it was written");
    assert!(page.contains("](<a picture.svg>)") && page.contains("--svg 'a picture.svg'"), "{page}");
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let folder = Folder::new("accuracy-refused");
    let (svg, page) = (folder.path("a.svg"), folder.path("a.md"));
    let refused = |args: &[&str], code, said: &str| {
        assert_refused(&run(&[&["accuracy", "--svg", &svg, "--markdown", &page], args].concat()), code, said);
        assert!(!Path::new(&svg).exists() && !Path::new(&page).exists(), "{args:?}: nothing is written");
    };
    refused(&["--limit", "0/s"], 2, "a limit of 0 lets nothing pass");
    refused(&["--limit", "7/min burst 3"], 2, "windows have no burst: give 7/min burst 3 without one");
    for limit in ["201/min", "5/999ms", "5/86401s", "1000000000/week"] {
        refused(&["--limit", limit], 2, "is not compared: take 1 to 200 in a period of a second to a day");
    }
    let missing = folder.path("missing.log");
    refused(&["--log", &missing], 1, &format!("cannot open {missing}: No such file"));
    let empty = folder.write("empty.log", b"\n");
    refused(&["--log", &empty], 2, &format!("{empty} has no requests: name a log of some traffic"));
    // Only what goes on for years without a pause is too long.
    let line = |date: &str| format!("a - - [{date}:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let days = (2001..2007).flat_map(|year| months.map(|month| (1..=28).map(move |day| (day, month, year))));
    let daily: String = days.flatten().map(|(day, month, year)| line(&format!("{day:02}/{month}/{year}"))).collect();
    let long = folder.write("long.log", daily.as_bytes());
    refused(
        &["--log", &long, "--limit", "5/day"],
        2,
        &format!("{long} spans more than four years: name a log of fewer"),
    );
    let log = folder.write("paused.log", (line("01/Jan/1990") + &line("01/Jan/2020")).as_bytes());
    let nowhere = folder.path("no/such/folder");
    let unwritable = run(&["accuracy", "--svg", &nowhere, "--markdown", &page, "--log", &log]);
    assert_refused(&unwritable, 1, &format!("cannot write {nowhere}: No such file"));
    assert_refused(&run(&["accuracy", "--svg", &svg, "--markdown", &nowhere]), 1, &format!("cannot write {nowhere}: "));
}
