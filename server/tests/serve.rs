//! The server over real sockets.

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;
use support::{Server, assert_refused, run_unserved};

/// A limit that does not come back while a test runs.
const LASTING: [&str; 2] = ["--limit", "5/10hours"];

#[test]
fn five_in_any_ten_seconds_are_served_unless_told_otherwise() {
    let server = Server::start(&[]);
    for part in ["5/10s", "sliding-log", "curl", "/v1/check?key=me"] {
        assert!(server.greeting.contains(part), "{}", server.greeting);
    }
    let answer = server.get("/v1/check?key=me");
    let expected = json!({
        "allowed": true, "limit": 5, "remaining": 4, "reset_after_ms": 10_000, "retry_after_ms": 0,
    });
    assert_eq!((answer.status, answer.json()), (200, expected));
    assert_eq!(answer.header("ratelimit-policy"), Some("\"default\";q=5;w=10"));
    assert_eq!(answer.header("ratelimit"), Some("\"default\";r=4;t=10"));
}

#[test]
fn seven_calls_for_one_key_are_five_allowed_and_two_denied() {
    let server = Server::start(&LASTING);
    let answers: Vec<_> = (0..7).map(|_| server.get("/v1/check?key=me")).collect();
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
    for (answer, remaining) in answers.iter().zip([4, 3, 2, 1, 0, 0, 0]) {
        let json = answer.json();
        assert_eq!(json["allowed"], json!(answer.status == 200));
        assert_eq!((&json["limit"], &json["remaining"]), (&json!(5), &json!(remaining)));
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("ratelimit-policy"), Some("\"default\";q=5;w=36000"));
        let current = answer.header("ratelimit").expect("a RateLimit header");
        assert!(current.starts_with(&format!("\"default\";r={remaining};t=")), "{current}");
        let wait_ms = json["retry_after_ms"].as_u64().expect("a wait");
        let reset_ms = json["reset_after_ms"].as_u64().expect("a wait");
        assert_eq!(wait_ms > 0, answer.status == 429, "{json}");
        assert!(wait_ms <= reset_ms && reset_ms <= 36_000_000, "{json}");
        let retry = answer.header("retry-after").map(|value| value.parse::<u64>().expect("whole seconds"));
        assert_eq!(retry, (answer.status == 429).then_some(wait_ms.div_ceil(1_000)));
    }
}

#[test]
fn keys_and_costs_are_counted_apart() {
    let server = Server::start(&LASTING);
    assert_eq!(server.get("/v1/check?key=a&cost=4").json()["remaining"], json!(1));
    assert_eq!(server.get("/v1/check?key=a&cost=2").status, 429);
    assert_eq!(server.get("/v1/check?cost=1&key=a").status, 200);
    assert_eq!(server.get("/v1/check?key=b%20c").json()["remaining"], json!(4));
    assert_eq!(server.get("/v1/check?key=b+c").json()["remaining"], json!(3));
    let look = server.get("/v1/check?key=a&cost=0");
    assert_eq!((look.status, &look.json()["remaining"]), (200, &json!(0)));
}

#[test]
fn what_can_never_pass_is_not_told_to_come_back() {
    let server = Server::start(&LASTING);
    let answer = server.get("/v1/check?key=a&cost=6");
    assert_eq!((answer.status, answer.header("retry-after")), (429, None));
    assert_eq!(answer.json()["retry_after_ms"], json!(null));
    assert_eq!(server.get("/v1/check?key=a&cost=5").status, 200, "nothing was spent");
}

#[test]
fn bad_requests_are_named_and_spend_nothing() {
    let server = Server::start(&LASTING);
    let long = format!("/v1/check?key={}", "k".repeat(4097));
    for target in [
        "/v1/check",
        "/v1/check?cost=1",
        "/v1/check?key=",
        &long,
        "/v1/check?key=a&cost=",
        "/v1/check?key=a&cost=one",
        "/v1/check?key=a&cost=-1",
        "/v1/check?key=a&cost=1.5",
        "/v1/check?key=a&cost=99999999999999999999",
        "/v1/check?key=a&key=a",
        "/v1/check?key=a&cost=1&cost=1",
        "/v1/check?key=%ff",
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, 400, "{target}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{target}");
        let json = answer.json();
        assert_eq!((&json["status"], &json["title"]), (&json!(400), &json!("Bad Request")), "{target}");
        assert!(json["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{target}");
    }
    assert_eq!(server.get("/v1/check?key=a").json()["remaining"], json!(4));
    let longest = format!("/v1/check?key={}", "k".repeat(4096));
    assert_eq!(server.get(&longest).status, 200);
}

#[test]
fn other_paths_and_methods_have_their_answers() {
    let server = Server::start(&LASTING);
    assert_eq!((server.get("/healthz").status, server.get("/healthz").body.trim()), (200, "ok"));
    for (method, target, status) in
        [("GET", "/", 404), ("GET", "/v2/check?key=a", 404), ("POST", "/v1/check?key=a", 405)]
    {
        let answer = server.request(method, target);
        assert_eq!((answer.status, answer.header("content-type")), (status, Some("application/problem+json")));
    }
    assert_eq!(server.get("/v1/check?key=a").json()["remaining"], json!(4), "none of them spent anything");
}

#[test]
fn a_token_bucket_is_served_too() {
    let server = Server::start(&["--limit", "10/100hours burst 3", "--algorithm", "token-bucket"]);
    let statuses: Vec<_> = (0..4).map(|_| server.get("/v1/check?key=me").status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
    assert_eq!(server.get("/v1/check?key=me").json()["limit"], json!(3));
}

#[test]
fn windows_are_served_too() {
    let hours_ms = |hours: u64| hours * 3_600_000;
    // A counter remembers a call for the rest of its window and the next one.
    for (algorithm, soonest, latest) in [
        ("leaky-bucket", 99, 100),
        ("interval-bucket", 0, 100),
        ("fixed-window", 0, 100),
        ("own-window", 99, 100),
        ("sliding-counter", 100, 200),
    ] {
        let server = Server::start(&["--limit", "3/100hours", "--algorithm", algorithm]);
        let statuses: Vec<_> = (0..4).map(|_| server.get("/v1/check?key=me").status).collect();
        assert_eq!(statuses, [200, 200, 200, 429], "{algorithm}");
        let reset_ms = server.get("/v1/check?key=me").json()["reset_after_ms"].as_u64().expect("a time");
        assert!(reset_ms > hours_ms(soonest) && reset_ms <= hours_ms(latest), "{algorithm}: {reset_ms}");
    }
}

/// Asserts that a signal ends a server to which an idle client and one that is slow to ask are connected.
#[track_caller]
fn assert_ended_by(signal: &str) {
    let server = Server::start(&LASTING);
    let mut idle = server.connect();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n").expect("the server reads");
    let mut seen = [0; 12];
    idle.read_exact(&mut seen).expect("the server answers");
    assert_eq!(&seen, b"HTTP/1.1 200");
    let mut slow = server.connect();
    slow.write_all(b"GET /v1/check?key=").expect("the server reads");
    assert_eq!(server.stop(signal), Some(0), "{signal}");
}

#[test]
fn a_request_to_terminate_ends_the_server_cleanly_though_connections_are_open() {
    assert_ended_by("-TERM");
}

#[test]
fn an_interrupt_ends_the_server_cleanly_though_connections_are_open() {
    assert_ended_by("-INT");
}

#[test]
fn what_cannot_be_served_is_refused_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has an address").to_string();
    assert_refused(&run_unserved(&["serve", "--listen", &address]), 2, &address);
    assert_refused(&run_unserved(&["serve", "--listen", "nowhere"]), 2, "nowhere");
    assert_refused(&run_unserved(&["serve", "--limit", "0/10s"]), 2, "a limit of 0 lets nothing pass");
    assert_refused(&run_unserved(&["serve", "--limit", "many"]), 2, "\"many\" is no quota");
    assert_refused(&run_unserved(&["serve", "--limit", "5/10s burst 9"]), 2, "a burst of 9 beside a limit of 5");
    assert_refused(&run_unserved(&["serve", "--algorithm", "luck"]), 2, "luck");
    assert_refused(&run_unserved(&["serve", "--frobnicate"]), 2, "--frobnicate");
    assert_refused(&run_unserved(&["dance"]), 2, "dance");
}
