//! Runs the program in miniature and reads what it prints.

use std::collections::BTreeSet;
use std::process::{Command, Output};

/// Runs the program with options.
fn run(options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tollgate-peers")).args(options).output().expect("the program starts")
}

/// Returns the lines of a run as objects.
fn lines(options: &[&str]) -> Vec<serde_json::Value> {
    let output = run(options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("results are text");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn the_quick_run_has_a_line_for_every_cell() {
    let mut seen = BTreeSet::new();
    for line in lines(&["--tiny", "--quick", "--json"]) {
        assert!(line["ns_per_check"].as_f64().is_some_and(|ns| ns > 0.0), "{line}");
        assert!(line["keys"].as_u64().is_some_and(|keys| keys > 0), "{line}");
        seen.insert(format!("{} {} {}", line["workload"], line["contender"], line["threads"]));
    }
    assert_eq!(seen.len(), 6 * 5 * 2, "{seen:?}");
}

#[test]
fn the_full_run_has_every_workload() {
    let seen: BTreeSet<String> = lines(&["--tiny", "--json"])
        .iter()
        .map(|line| line["workload"].as_str().expect("a workload has a name").to_owned())
        .collect();
    let expected = [
        "churn",
        "denied",
        "hot",
        "hot-string",
        "keys-1k",
        "keys-1k-string",
        "latency-grow",
        "latency-peace",
        "latency-sweep",
        "log-hot",
        "longest-insert",
        "memory",
        "memory-log",
        "new-keys",
        "uniform-10m",
        "zipf-1m",
        "zipf-1m-string",
    ];
    assert_eq!(seen, expected.map(str::to_owned).into());
}

#[test]
fn people_get_a_table_with_ratios() {
    let output = run(&["--tiny", "--quick", "--workload", "hot"]);
    let text = String::from_utf8(output.stdout).expect("results are text");
    for expected in ["ns per check and thread", "governor / tollgate-coarse", "governor-tuned / tollgate-coarse"] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn an_unknown_flag_is_one_line_and_exit_code_2() {
    let output = run(&["--fast"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}
