//! Replays of access logs, as users meet them.

mod support;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use support::{Folder, assert_refused, run, run_with_input};

/// Returns a line in common format, with its end.
fn line(host: &str, user: &str, time: &str, path: &str) -> String {
    format!("{host} - {user} [22/Apr/2009:{time}] \"GET {path} HTTP/1.1\" 200 986\n")
}

/// Returns a log of one client's requests at seconds of a minute.
fn log_at(seconds: &[u32]) -> String {
    seconds.iter().map(|second| line("192.0.2.1", "-", &format!("12:00:{second:02} +0000"), "/")).collect()
}

/// Returns a log in which as many clients as given make as many requests as given, all in one second.
fn log_of(clients: &[(&str, usize)]) -> String {
    clients.iter().map(|(host, count)| line(host, "-", "12:00:00 +0000", "/").repeat(*count)).collect()
}

/// Compresses a text.
fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("memory can be written to");
    encoder.finish().expect("memory can be written to")
}

/// Replays a log from the standard input and returns the report for people.
fn report(args: &[&str], log: impl AsRef<[u8]>) -> String {
    let output = run_with_input(&[&["replay", "-"], args].concat(), log.as_ref());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
    String::from_utf8(output.stdout).expect("the report is UTF-8")
}

/// Replays a log from the standard input and returns the report in JSON.
fn replay(args: &[&str], log: impl AsRef<[u8]>) -> Value {
    let text = report(&[&["--json"], args].concat(), log);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).expect("the report is JSON")
}

/// Returns the counts that every report has: requests, allowed, denied, keys and malformed lines.
fn counts(report: &Value) -> [u64; 5] {
    ["requests", "allowed", "denied", "keys", "malformed"].map(|name| report[name].as_u64().expect("a count"))
}

/// Returns the keys that were denied most, with how often.
fn top(report: &Value) -> Vec<(&str, u64)> {
    let top = report["top_denied"].as_array().expect("a list");
    top.iter().map(|row| (row["key"].as_str().expect("a key"), row["denied"].as_u64().expect("a count"))).collect()
}

/// Returns the cells of a table's row, which begins with this one.
fn row(report: &str, first: &str) -> Vec<String> {
    let cells = |line: &str| line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let found = report.lines().map(cells).find(|cells| cells.get(1).is_some_and(|cell| cell == first));
    let cells = found.unwrap_or_else(|| panic!("no row for {first} in\n{report}"));
    cells[2..cells.len() - 1].to_vec()
}

/// A log with something of everything.
fn small_log() -> String {
    [
        &line("192.0.2.1", "ann", "12:00:00 +0000", "/a"),
        &line("192.0.2.1", "ann", "12:00:01 +0000", "/b"),
        "what is this\n",
        &line("192.0.2.2", "bob", "12:00:03 +0000", "/a"),
        &line("192.0.2.1", "ann", "12:00:02 +0000", "/a"),
        &line("192.0.2.1", "bob", "12:00:10 +0000", "/a"),
    ]
    .map(String::from)
    .concat()
}

#[test]
fn the_json_report_says_everything() {
    let folder = Folder::new("json");
    let file = folder.write("access.log", small_log().as_bytes());
    let output = run(&["replay", &file, "--json", "--limit", "2/10s", "--algorithm", "sliding-log"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let expected = json!({
        "file": file,
        "limit": "2/10s",
        "algorithm": "sliding-log",
        "key": "ip",
        "requests": 5,
        "allowed": 4,
        "denied": 1,
        "keys": 2,
        "malformed": 1,
        "out_of_order": 1,
        "first": "2009-04-22T12:00:00Z",
        "last": "2009-04-22T12:00:10Z",
        "span_seconds": 10,
        "top_denied": [{ "key": "192.0.2.1", "requests": 4, "allowed": 3, "denied": 1 }],
        "malformed_lines": [{
            "line": 3,
            "reason": "no time in brackets, like [22/Apr/2009:18:52:51 +1200]",
            "text": "what is this",
        }],
    });
    assert_eq!(report, expected);
}

#[test]
fn the_report_for_people_says_the_same() {
    let report = report(&["--limit", "2/10s", "--algorithm", "sliding-log"], small_log());
    assert!(report.starts_with("- against 2/10s for each ip (sliding-log)\n"), "{report}");
    assert_eq!(row(&report, "requests"), ["5", ""]);
    assert_eq!(row(&report, "allowed"), ["4", "80.0 %"]);
    assert_eq!(row(&report, "denied"), ["1", "20.0 %"]);
    assert_eq!(row(&report, "keys"), ["2", ""]);
    assert_eq!(row(&report, "malformed lines"), ["1", ""]);
    assert_eq!(row(&report, "denied most"), ["denied", "requests"]);
    assert_eq!(row(&report, "192.0.2.1"), ["1", "4"]);
    for line in [
        "from 2009-04-22T12:00:00Z to 2009-04-22T12:00:10Z, 10 s",
        "sorted stably by time: 1 line was out of order",
        "line 3 is malformed: no time in brackets, like [22/Apr/2009:18:52:51 +1200]: what is this",
    ] {
        assert!(report.lines().any(|seen| seen == line), "{line} is not in\n{report}");
    }
}

#[test]
fn a_hundred_a_minute_pass_each_address_unless_told_otherwise() {
    let report = replay(&[], log_of(&[("192.0.2.1", 101), ("192.0.2.2", 1)]));
    assert_eq!(counts(&report), [102, 101, 1, 2, 0]);
    let chosen = (&report["limit"], &report["algorithm"], &report["key"]);
    assert_eq!(chosen, (&json!("100/min"), &json!("token-bucket"), &json!("ip")));
}

#[test]
fn each_algorithm_keeps_the_limit_its_own_way() {
    // A bucket gets a token back each five seconds, a window all at ten, a log each call ten seconds later, and a counter
    // has half of the first two calls out of sight at fifteen.
    for (algorithm, early, all) in [
        ("token-bucket", 3, 5),
        ("leaky-bucket", 3, 5),
        ("interval-bucket", 4, 4),
        ("fixed-window", 4, 4),
        ("own-window", 4, 4),
        ("sliding-counter", 2, 3),
        ("sliding-log", 3, 4),
    ] {
        for (seconds, allowed) in [(&[0, 9, 11, 11][..], early), (&[0, 9, 11, 11, 12, 15, 19], all)] {
            let report = replay(&["--limit", "2/10s", "--algorithm", algorithm], log_at(seconds));
            let requests = seconds.len() as u64;
            assert_eq!(counts(&report), [requests, allowed, requests - allowed, 1, 0], "{algorithm}");
            assert_eq!(report["algorithm"], json!(algorithm));
        }
    }
    let report = replay(&["--limit", "7/min burst 3"], log_at(&[0, 0, 0, 0, 8, 9]));
    assert_eq!((counts(&report), &report["limit"]), ([6, 4, 2, 1, 0], &json!("7/min burst 3")));
    // A window of the client's own opens with its request at fifteen, the others at ten and at twenty.
    for (algorithm, allowed) in [("own-window", 4), ("fixed-window", 5)] {
        let report = replay(&["--limit", "2/10s", "--algorithm", algorithm], log_at(&[0, 15, 15, 21, 25]));
        assert_eq!(counts(&report), [5, allowed, 5 - allowed, 1, 0], "{algorithm}");
    }
    // An interval bucket has its tokens back at ten and no sooner, and saves up what a fixed window forgets.
    for (algorithm, allowed) in [("interval-bucket", 6), ("leaky-bucket", 7)] {
        let args = ["--limit", "2/10s burst 3", "--algorithm", algorithm];
        let report = replay(&args, log_at(&[0, 0, 0, 5, 30, 30, 30, 30]));
        assert_eq!(counts(&report), [8, allowed, 8 - allowed, 1, 0], "{algorithm}");
    }
    // A burst beyond the limit comes back over more than one period.
    assert_eq!(counts(&replay(&["--limit", "1/10s burst 3"], log_at(&[0, 0, 0, 25, 25, 25]))), [6, 5, 1, 1, 0]);
}

#[test]
fn common_and_combined_format_and_longer_lines_are_read() {
    let start = "192.0.2.1 - - [22/Apr/2009:12:00:00 +0000] \"GET /a HTTP/1.1\" 200 986";
    let log = [
        &format!("{start}\r\n"),
        &format!("{start} \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n"),
        &format!("{start} \"http://example.org/\" \"a \\\"quoted\\\" browser [1/Jan]\" \"-\" 0.002 \n"),
        "192.0.2.1 - - [22/Apr/2009:12:00:00 +0000] \"GET /a\\\" 404 1 HTTP/1.1\" 200 - \"-\" \"-\"\n",
        // The last line of a log that is being written has no end.
        start,
    ]
    .map(String::from)
    .concat();
    let report = replay(&["--limit", "1/min", "--key", "path"], log);
    assert_eq!(counts(&report), [5, 2, 3, 2, 0]);
    assert_eq!(top(&report), [("/a", 3)]);
}

#[test]
fn a_compressed_log_is_read_like_a_plain_one() {
    let folder = Folder::new("gzip");
    let log: String = (0..2000).map(|n| line(&format!("192.0.2.{}", n % 7), "-", "12:00:00 +0000", "/")).collect();
    let (start, end) = log.as_bytes().split_at(log.len() / 2 + 11);
    let members = [gzip(start), gzip(b""), gzip(end)].concat();
    let expected = [2000, 700, 1300, 7, 0];
    assert_eq!(counts(&replay(&[], &log)), expected);
    for (name, bytes) in [("one.gz", gzip(log.as_bytes())), ("three.gz", members.clone()), ("nameless", members)] {
        let file = folder.write(name, &bytes);
        let output = run(&["replay", &file, "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
        assert_eq!((counts(&report), &report["file"]), (expected, &json!(file)), "{name}");
        assert_eq!(counts(&replay(&[], &bytes)), expected, "{name} from the standard input");
    }
}

#[test]
fn a_compressed_log_that_is_cut_short_is_refused() {
    let folder = Folder::new("cut");
    let first = gzip(log_at(&[0, 1, 2]).as_bytes());
    let members = [first.clone(), gzip(log_at(&[3]).as_bytes())].concat();
    for length in [3, 9, first.len() / 2, first.len() - 1, first.len() + 3, members.len() - 8, members.len() - 1] {
        let file = folder.write("cut.gz", &members[..length]);
        let output = run(&["replay", &file]);
        assert_refused(&output, 1, &format!("cannot read {file}: the gzip file is cut short"));
    }
    let cut = run_with_input(&["replay", "-"], &members[..members.len() - 1]);
    assert_refused(&cut, 1, "cannot read the standard input: the gzip file is cut short");
}

#[test]
fn a_compressed_log_that_was_damaged_is_refused() {
    let folder = Folder::new("damaged");
    let mut bytes = gzip(log_at(&[0, 1, 2]).as_bytes());
    let checksum = bytes.len() - 8;
    bytes[checksum] ^= 1;
    let file = folder.write("damaged.gz", &bytes);
    assert_refused(&run(&["replay", &file]), 1, &format!("cannot read {file}: the gzip file is corrupt"));
}

#[test]
fn lines_out_of_order_are_sorted_by_time() {
    let args = ["--limit", "1/10s", "--algorithm", "sliding-log"];
    let unsorted = replay(&args, log_at(&[20, 0, 5, 12]));
    assert_eq!(counts(&unsorted), [4, 2, 2, 1, 0]);
    assert_eq!((&unsorted["out_of_order"], &unsorted["span_seconds"]), (&json!(3), &json!(20)));
    assert_eq!(unsorted["first"], json!("2009-04-22T12:00:00Z"));
    let sorted = replay(&args, log_at(&[0, 5, 12, 20]));
    assert_eq!((counts(&sorted), &sorted["out_of_order"]), (counts(&unsorted), &json!(0)));
    let said = "sorted stably by time: 3 lines were out of order";
    assert!(report(&args, log_at(&[20, 0, 5, 12])).lines().any(|line| line == said));
}

#[test]
fn malformed_lines_are_counted_and_named_and_never_fatal() {
    let time = "[22/Apr/2009:12:00:00 +0000]";
    let malformed = [
        ("192.0.2.1 - -", "no time in brackets, like [22/Apr/2009:18:52:51 +1200]"),
        ("a - - [31/Apr/2009:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5", "a time that no clock shows"),
        ("a - - [31/Dec/1969:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5", "a time outside the years 1970 to 2105"),
        (&format!("a - {time} \"GET / HTTP/1.1\" 200 5"), "no address, identity and user before the time"),
        (&format!("b.org:80 192.0.2.1 - - {time} \"GET / HTTP/1.1\" 200 5"), "a virtual host before the address"),
        (&format!("a - - {time} GET / HTTP/1.1 200 5"), "no request in quotes after the time"),
        (&format!("a - - {time} \"GET / HTTP/1.1\""), "no status and size after the request"),
    ];
    // A line that is read stands before each, and an empty one, which says nothing, after it.
    let log: String = malformed.iter().map(|(line, _)| format!("{}{line}\n\n", log_at(&[0]))).collect();
    let found = replay(&[], &log);
    assert_eq!(counts(&found), [7, 7, 0, 1, 7]);
    let samples: Vec<_> = (2..)
        .step_by(3)
        .zip(&malformed)
        .map(|(line, (text, reason))| json!({ "line": line, "reason": reason, "text": text }))
        .take(5)
        .collect();
    assert_eq!(found["malformed_lines"], json!(samples));
    let report = report(&[], &log);
    assert_eq!(row(&report, "malformed lines"), ["7", ""]);
    for (line, (text, reason)) in (2..).step_by(3).zip(&malformed).take(5) {
        let said = format!("line {line} is malformed: {reason}: {text}");
        assert!(report.lines().any(|seen| seen == said), "{said} is not in\n{report}");
    }
    assert!(report.lines().any(|line| line == "and 2 more"), "{report}");
    for (line, reason) in malformed {
        let found = replay(&[], format!("{}{line}", log_at(&[0])));
        assert_eq!((counts(&found), &found["malformed_lines"][0]["reason"]), ([1, 1, 0, 1, 1], &json!(reason)));
    }
}

#[test]
fn bytes_that_are_no_utf8_are_read_too() {
    let start = b"192.0.2.1 - J\xfcrgen [22/Apr/2009:12:00:00 +0000] \"GET /".as_slice();
    let end = b" HTTP/1.1\" 200 5 \"\xff\" \"\xfe\x80\"\n".as_slice();
    let log = [start, b"\xff", end, start, b"\xff", end, start, b"\xfe", end, b"\xc3\x28 \x1b[2J?\n"].concat();
    let found = replay(&["--key", "path", "--limit", "1/min"], &log);
    assert_eq!((counts(&found), top(&found)), ([3, 2, 1, 2, 1], vec![("/\u{fffd}", 1)]));
    assert_eq!(found["malformed_lines"][0]["text"], json!("\u{fffd}( \u{1b}[2J?"));
    let found = replay(&["--key", "user", "--limit", "1/min"], &log);
    assert_eq!((counts(&found), top(&found)), ([3, 1, 2, 1, 1], vec![("J\u{fffd}rgen", 2)]));
    // What a stranger made the server log must not reach the terminal as a command.
    let report = report(&[], &log);
    assert!(report.contains(": \u{fffd}( \u{fffd}[2J?\n") && !report.contains('\u{1b}'), "{report}");
}

#[test]
fn a_log_without_lines_is_an_empty_report() {
    let folder = Folder::new("empty");
    for bytes in [Vec::new(), gzip(b""), b"\n\r\n \n".to_vec()] {
        let file = folder.write("empty.log", &bytes);
        for algorithm in ["token-bucket", "sliding-log"] {
            let output = run(&["replay", &file, "--json", "--algorithm", algorithm]);
            assert_eq!(output.status.code(), Some(0));
            let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
            assert_eq!(counts(&report), [0; 5]);
            let span = ["first", "last", "span_seconds"].map(|name| &report[name]);
            assert_eq!(span, [&json!(null), &json!(null), &json!(0)]);
        }
        let report = String::from_utf8(run(&["replay", &file]).stdout).expect("the report is UTF-8");
        assert_eq!([row(&report, "requests"), row(&report, "allowed")], [["0", ""], ["0", ""]]);
    }
}

#[test]
fn what_cannot_be_read_is_refused_in_one_line() {
    let folder = Folder::new("refused");
    let missing = folder.path("missing.log");
    assert_refused(&run(&["replay", &missing]), 1, &format!("tollgate: cannot open {missing}: No such file"));
    let directory = folder.path("");
    assert_refused(&run(&["replay", &directory]), 1, &format!("tollgate: cannot read {directory}: "));
    let strange = folder.write("strange.txt", b"\nDear \x1b[2Jdiary,\ntoday\n");
    let said =
        format!("tollgate: {strange}: unknown format: line 2, \"Dear \u{fffd}[2Jdiary,\", has no time in brackets");
    assert_refused(&run(&["replay", &strange]), 2, &said);
}

#[test]
fn what_cannot_be_done_is_refused_in_one_line() {
    for (args, said) in [
        (&["replay"][..], "<FILE>"),
        (&["replay", "-", "--limit", "0/s"], "a limit of 0 lets nothing pass"),
        (&["replay", "-", "--limit", "often"], "\"often\" is no quota"),
        (&["replay", "-", "--key", "shoe"], "\"shoe\" is no part of a key: take ip, user or path"),
        (&["replay", "-", "--key", "ip,ip"], "\"ip\" is there twice"),
        (&["replay", "-", "--top", "-1"], "-1"),
        (
            &["replay", "-", "--algorithm", "luck"],
            "[possible values: token-bucket, leaky-bucket, interval-bucket, fixed-window, own-window, sliding-counter, \
             sliding-log]",
        ),
        (
            &["replay", "-", "--limit", "7/min burst 3", "--algorithm", "sliding-log"],
            "a burst of 3 beside a limit of 7 needs the token bucket",
        ),
    ] {
        assert_refused(&run(args), 2, said);
    }
}

#[test]
fn keys_are_made_of_the_parts_asked_for() {
    let log: String = [
        ("192.0.2.1", "ann", "/a"),
        ("::ffff:192.0.2.1", "ann", "/a?page=2"),
        ("2001:db8::1", "bob", "/b"),
        ("2001:0DB8::ffff", "bob", "/a"),
        ("2001:db8:0:1::1", "-", "http://example.org/b?c"),
        ("Host.example.org", "-", "/b"),
        ("host.EXAMPLE.org", "John Doe", "/a"),
    ]
    .iter()
    .map(|(host, user, path)| line(host, user, "12:00:00 +0000", path))
    .collect();
    for (key, keys, denied) in [
        ("ip", 4, &[("192.0.2.1", 1), ("2001:db8::/64", 1), ("host.example.org", 1)][..]),
        ("user", 4, &[("-", 1), ("ann", 1), ("bob", 1)]),
        ("path", 2, &[("/a", 3), ("/b", 2)]),
        ("ip,path", 6, &[("192.0.2.1 /a", 1)]),
        ("path,ip", 6, &[("/a 192.0.2.1", 1)]),
        ("ip,user", 5, &[("192.0.2.1 ann", 1), ("2001:db8::/64 bob", 1)]),
        ("user,path", 5, &[("- /b", 1), ("ann /a", 1)]),
    ] {
        let found = replay(&["--key", key, "--limit", "1/hour"], &log);
        let lost = denied.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!((counts(&found), top(&found)), ([7, 7 - lost, lost, keys, 0], denied.to_vec()), "{key}");
        assert_eq!(found["key"], json!(key));
    }
}

#[test]
fn the_most_denied_keys_come_first() {
    let log = log_of(&[("one", 1), ("c", 4), ("b", 4), ("a", 2), ("d", 5)]);
    let all = [("d", 4), ("b", 3), ("c", 3), ("a", 1)];
    for (wanted, count) in [("0", 0), ("1", 1), ("3", 3), ("4", 4), ("1000000", 4)] {
        let args = ["--limit", "1/min", "--top", wanted];
        let found = replay(&args, &log);
        assert_eq!((top(&found), counts(&found)), (all[..count].to_vec(), [16, 5, 11, 5, 0]));
        let report = report(&args, &log);
        let rows = all.iter().filter(|(key, _)| report.lines().any(|line| line.starts_with(&format!("│ {key} "))));
        assert_eq!(rows.count(), count, "{report}");
        assert_eq!(report.contains("denied most"), count > 0, "{report}");
    }
    assert_eq!(
        replay(&["--limit", "1/min"], &log)["top_denied"][0],
        json!({ "key": "d", "requests": 5, "allowed": 1, "denied": 4 })
    );
    let twelve: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"].map(|host| (host, 2)).to_vec();
    assert_eq!(top(&replay(&["--limit", "1/min"], log_of(&twelve))).len(), 10);
}

#[test]
fn time_zones_are_told_apart() {
    // Noon in Greenwich, and three, six and nine seconds later elsewhere.
    let log: String = [
        "22/Apr/2009:12:00:00 +0000",
        "23/Apr/2009:00:00:03 +1200",
        "22/Apr/2009:07:00:06 -0500",
        "22/Apr/2009:17:30:09 +0530",
    ]
    .iter()
    .map(|time| format!("192.0.2.1 - - [{time}] \"GET / HTTP/1.1\" 200 5\n"))
    .collect();
    let found = replay(&["--limit", "3/10s", "--algorithm", "sliding-log"], &log);
    assert_eq!((counts(&found), &found["out_of_order"]), ([4, 3, 1, 1, 0], &json!(0)));
    let span = (&found["first"], &found["last"], &found["span_seconds"]);
    assert_eq!(span, (&json!("2009-04-22T12:00:00Z"), &json!("2009-04-22T12:00:09Z"), &json!(9)));
}

#[test]
fn a_line_that_is_too_long_is_one_malformed_line() {
    const MOST: usize = 64 * 1024;
    let start = line("192.0.2.1", "-", "12:00:00 +0000", "/").trim_end().to_owned() + " \"";
    let of_length = |length: usize| format!("{start}{}\"\n", "x".repeat(length - start.len() - 1));
    let log = [of_length(MOST), of_length(MOST + 1), of_length(5_000_000), of_length(MOST), log_at(&[0])].concat();
    let found = replay(&[], &log);
    assert_eq!(counts(&found), [3, 3, 0, 1, 2]);
    for (sample, number) in [(0, 2), (1, 3)] {
        let sample = &found["malformed_lines"][sample];
        assert_eq!((&sample["line"], &sample["reason"]), (&json!(number), &json!("more than 65536 bytes")));
        assert_eq!(sample["text"], json!(format!("{start:x<80}...")));
    }
}

#[test]
fn every_key_of_a_large_log_has_a_limit_of_its_own() {
    let hosts = (0..30_000).map(|n| format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255));
    let log: String = hosts.map(|host| line(&host, "-", "12:00:00 +0000", "/")).collect();
    for algorithm in ["token-bucket", "sliding-log"] {
        let found = replay(&["--limit", "1/hour", "--algorithm", algorithm], log.repeat(2));
        assert_eq!(counts(&found), [60_000, 30_000, 30_000, 30_000, 0], "{algorithm}");
    }
}

#[test]
fn a_date_that_is_decades_from_the_rest_does_no_harm() {
    let stray = "192.0.2.1 - - [01/Jan/1971:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";
    for algorithm in ["token-bucket", "sliding-log"] {
        let log = [&log_at(&[0; 98]), stray].map(String::from).concat();
        let found = replay(&["--limit", "97/hour", "--algorithm", algorithm], log);
        assert_eq!(counts(&found), [99, 98, 1, 1, 0], "{algorithm}");
    }
}

#[test]
fn a_pause_of_decades_leaves_windows_where_they_were() {
    // Fifty years after the first two, three seconds into a window: seven seconds later the next one begins.
    let late = |second| format!("192.0.2.1 - - [01/Jan/2050:00:00:{second} +0000] \"GET / HTTP/1.1\" 200 5\n");
    let early = "192.0.2.1 - - [31/Dec/1999:23:59:57 +0000] \"GET / HTTP/1.1\" 200 5\n".repeat(2);
    for (seconds, allowed) in [(["00", "00", "06"], 4), (["00", "00", "07"], 5)] {
        let log = early.clone() + &seconds.map(late).concat();
        let found = replay(&["--limit", "2/10s", "--algorithm", "fixed-window"], log);
        assert_eq!(counts(&found), [5, allowed, 5 - allowed, 1, 0], "{seconds:?}");
    }
}

#[test]
fn a_pause_of_decades_fills_a_bucket_whose_tokens_come_back_together() {
    // Five tokens are back after the third end of a period, wherever in its own the pause ends.
    for second in 0..10 {
        let late = format!("192.0.2.1 - - [01/Jan/2050:00:00:0{second} +0000] \"GET / HTTP/1.1\" 200 5\n").repeat(6);
        let early = "192.0.2.1 - - [31/Dec/1999:23:59:57 +0000] \"GET / HTTP/1.1\" 200 5\n".repeat(6);
        let found = replay(&["--limit", "2/10s burst 5", "--algorithm", "interval-bucket"], early + &late);
        assert_eq!(counts(&found), [12, 10, 2, 1, 0], "{second}");
    }
}

#[test]
fn a_log_of_more_years_than_a_limit_can_be_counted_for_is_refused() {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let months = (2001..2007).flat_map(|year| MONTHS.map(|month| format!("{month}/{year}")));
    let log: String =
        months.map(|month| format!("a - - [01/{month}:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n")).collect();
    assert_eq!(counts(&replay(&["--limit", "100/4weeks"], &log)), [72, 72, 0, 1, 0]);
    let output = run_with_input(&["replay", "-", "--limit", "97/4weeks"], log.as_bytes());
    assert_refused(&output, 2, "the log spans more years than 97/4weeks can be counted for");
}
