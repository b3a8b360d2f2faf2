//! What becomes of a charge once its request has ended: answered, failed or given up.

#![cfg(all(feature = "http", not(loom)))]

use std::convert::Infallible;
use std::future::{pending, ready};

use http::{Request, Response};
use tollgate::http::{After, Charge, RateLimitLayer};
use tollgate::{Limiter, ManualClock};
use tower::{Layer, Service, ServiceExt, service_fn};

/// Returns a limiter of ten whose clock stands still.
fn limiter() -> Limiter<str> {
    let clock = ManualClock::new();
    Limiter::builder("10/min".parse().expect("a quota")).clock(clock.clock()).build().expect("a limiter")
}

/// Charges everybody three.
fn three(_: &Request<()>) -> Result<Charge<String>, Response<()>> {
    Ok(Charge::new("all".to_owned(), 3))
}

/// What becomes of a charge, and what is left of ten after three were spent and that has been done.
const ENDINGS: [(After, u64); 3] = [(After::Keep, 7), (After::Refund, 10), (After::Charge(5), 2)];

#[tokio::test]
async fn the_response_settles_and_the_headers_show_it() {
    for (after, left) in ENDINGS {
        let limiter = limiter();
        // What is set for the other endings has no say.
        let layer =
            RateLimitLayer::new(limiter.clone(), three).after_error(After::Charge(1)).after_drop(After::Charge(1));
        let layer = layer.after(move |response: &Response<()>| match response.status().as_u16() {
            201 => after,
            _ => After::Keep,
        });
        let service = layer.layer(service_fn(|_: Request<()>| {
            ready(Ok::<_, Infallible>(Response::builder().status(201).body(()).expect("a response")))
        }));
        let Ok(response) = service.oneshot(Request::new(())).await;
        let shown = response.headers()["ratelimit"].to_str().expect("a text").to_owned();
        assert!(shown.contains(&format!(";r={left};")), "{after:?}: {shown}");
        assert_eq!(limiter.peek("all").remaining(), left, "{after:?}");
    }
}

#[tokio::test]
async fn errors_keep_the_charge_unless_set() {
    let failing = service_fn(|_: Request<()>| ready(Err::<Response<()>, _>("broken")));
    let kept = limiter();
    assert!(RateLimitLayer::new(kept.clone(), three).layer(failing).oneshot(Request::new(())).await.is_err());
    assert_eq!(kept.peek("all").remaining(), 7);
    for (after, left) in ENDINGS {
        let limiter = limiter();
        let layer = RateLimitLayer::new(limiter.clone(), three).after_error(after).after_drop(After::Charge(1));
        assert_eq!(layer.layer(failing).oneshot(Request::new(())).await.err(), Some("broken"));
        assert_eq!(limiter.peek("all").remaining(), left, "{after:?}");
    }
}

#[tokio::test]
async fn hanging_up_buys_no_attempts_unless_set() {
    let silent = service_fn(|_: Request<()>| pending::<Result<Response<()>, Infallible>>());
    let kept = limiter();
    let mut service = RateLimitLayer::new(kept.clone(), three).after(|_: &Response<()>| After::Refund).layer(silent);
    drop(service.call(Request::new(())));
    assert_eq!(kept.peek("all").remaining(), 7);
    for (after, left) in ENDINGS {
        let limiter = limiter();
        let layer = RateLimitLayer::new(limiter.clone(), three).after_drop(after).after_error(After::Charge(1));
        drop(layer.layer(silent).call(Request::new(())));
        assert_eq!(limiter.peek("all").remaining(), left, "{after:?}");
    }
}

#[tokio::test]
async fn a_denial_has_nothing_to_settle() {
    let limiter = limiter();
    let _ = limiter.check_n("all", 8);
    let layer = RateLimitLayer::new(limiter.clone(), three).after(|_: &Response<()>| After::Refund);
    let layer = layer.after_drop(After::Refund).after_error(After::Refund);
    let service = layer.layer(service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(())))));
    let Ok(response) = service.oneshot(Request::new(())).await;
    assert_eq!(response.status(), 429);
    assert_eq!(limiter.peek("all").remaining(), 2);
}
