//! The answer to a check.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use tollgate::Decision;

/// Returns a decision as a response; nobody may keep it, for the next will differ.
pub(super) fn answer(status: StatusCode, decision: Decision) -> Response<Body> {
    let mut response = Response::new(Body::from(json(decision)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Writes a decision as a line of JSON; it has no text in it that would need escapes.
fn json(decision: Decision) -> String {
    let (allowed, limit, remaining) = (decision.is_allowed(), decision.limit(), decision.remaining());
    let reset_after_ms = whole_millis(decision.reset_after());
    let retry_after_ms = decision.retry_after().map_or("null".to_owned(), |wait| whole_millis(wait).to_string());
    format!(
        "{{\"allowed\":{allowed},\"limit\":{limit},\"remaining\":{remaining},\
         \"reset_after_ms\":{reset_after_ms},\"retry_after_ms\":{retry_after_ms}}}\n"
    )
}

/// Returns a duration in whole milliseconds, rounded up.
fn whole_millis(span: Duration) -> u128 {
    span.as_nanos().div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate::{Limiter, Tick};

    #[test]
    fn milliseconds_are_rounded_up() {
        for (ns, ms) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(whole_millis(Duration::from_nanos(ns)), ms);
        }
    }

    #[test]
    fn decisions_are_written_as_json() {
        let limiter: Limiter<str> = Limiter::new("1/1500us".parse().expect("a quota")).expect("a limiter");
        let at = |ns, cost| json(limiter.check_n_at("a", cost, Tick::from_nanos(ns)));
        for (line, expected) in [
            (at(0, 1), r#"{"allowed":true,"limit":1,"remaining":0,"reset_after_ms":2,"retry_after_ms":0}"#),
            (at(600_000, 1), r#"{"allowed":false,"limit":1,"remaining":0,"reset_after_ms":1,"retry_after_ms":1}"#),
            (at(600_000, 2), r#"{"allowed":false,"limit":1,"remaining":0,"reset_after_ms":1,"retry_after_ms":null}"#),
        ] {
            assert_eq!(line, format!("{expected}\n"));
            assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
        }
    }
}
