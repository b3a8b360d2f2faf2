//! The tower layer from outside: what it lets through, what it answers, and what it leaves alone.

#![cfg(all(feature = "http", not(loom)))]

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use tollgate::http::{Charge, Headers, Problem, RateLimit, RateLimitLayer, TooManyRequests};
use tollgate::{Decision, Limiter, ManualClock};
use tower::{Layer, Service, ServiceExt, service_fn};

/// A request body that is neither `Clone` nor `Default`.
#[derive(Debug, PartialEq)]
struct Upload(u8);

/// A response body that is neither `Clone` nor `Default`.
#[derive(Debug, PartialEq)]
struct Download(u8);

/// Reads the charge of a request: its header `x-user` pays what its header `x-cost` says, one if it says nothing.
fn charge<B, R: Default>(request: &Request<B>) -> Result<Charge<String>, Response<R>> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let mut refusal = Response::new(R::default());
    *refusal.status_mut() = StatusCode::BAD_REQUEST;
    let Some(user) = header("x-user") else { return Err(refusal) };
    match header("x-cost").map(str::parse) {
        None => Ok(Charge::one(user.to_owned())),
        Some(Ok(cost)) => Ok(Charge::new(user.to_owned(), cost)),
        Some(Err(_)) => Err(refusal),
    }
}

/// Returns a request by a user.
fn request(user: &str, cost: &str) -> Request<()> {
    Request::builder().header("x-user", user).header("x-cost", cost).body(()).expect("a request")
}

/// Returns a limiter under a quota, and the clock that it follows.
fn limiter(quota: &str) -> (Limiter<str>, ManualClock) {
    let clock = ManualClock::new();
    let limiter = Limiter::builder(quota.parse().expect("a quota")).clock(clock.clock()).build();
    (limiter.expect("a limiter"), clock)
}

/// Returns a header's text, empty if there is none.
fn header<'a, R>(response: &'a Response<R>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().expect("a text"))
}

/// A service that answers with the number of its calls; it insists on being polled ready before each of them.
#[derive(Debug, Default)]
struct Strict {
    is_ready: bool,
    calls: Arc<AtomicUsize>,
}

impl Clone for Strict {
    /// A clone shares the count but not the readiness, like the clone of any service that reserves something.
    fn clone(&self) -> Self {
        Self { is_ready: false, calls: Arc::clone(&self.calls) }
    }
}

impl<B> Service<Request<B>> for Strict {
    type Response = Response<usize>;
    type Error = Infallible;
    type Future = Ready<Result<Response<usize>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "called without having been polled ready");
        ready(Ok(Response::new(self.calls.fetch_add(1, Ordering::Relaxed) + 1)))
    }
}

/// Sends one request to a service.
async fn send<S, B, R>(service: &mut S, request: Request<B>) -> Response<R>
where
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
{
    let Ok(ready) = service.ready().await;
    let Ok(response) = ready.call(request).await;
    response
}

#[tokio::test]
async fn five_of_seven_pass_and_all_are_told() {
    let (limiter, _clock) = limiter("5/10s");
    let mut service = RateLimitLayer::new(limiter, charge::<(), usize>).layer(Strict::default());
    for (status, limit, retry) in [
        (200, "\"default\";r=4;t=2", ""),
        (200, "\"default\";r=3;t=4", ""),
        (200, "\"default\";r=2;t=6", ""),
        (200, "\"default\";r=1;t=8", ""),
        (200, "\"default\";r=0;t=10", ""),
        (429, "\"default\";r=0;t=2", "2"),
        (429, "\"default\";r=0;t=2", "2"),
    ] {
        let response = send(&mut service, request("ann", "1")).await;
        assert_eq!(response.status(), status);
        assert_eq!(header(&response, "ratelimit-policy"), "\"default\";q=5;w=10");
        assert_eq!(header(&response, "ratelimit"), limit);
        assert_eq!(header(&response, "retry-after"), retry);
    }
    assert_eq!(send(&mut service, request("bob", "1")).await.status(), 200);
    assert_eq!(service.get_ref().calls.load(Ordering::Relaxed), 6);
}

#[tokio::test]
async fn retry_after_is_never_earlier_than_the_wait() {
    let (limiter, clock) = limiter("1/10s");
    let mut service = RateLimitLayer::new(limiter, charge::<(), usize>).layer(Strict::default());
    assert_eq!(send(&mut service, request("ann", "1")).await.status(), 200);
    for (step_ms, seconds) in [(0, "10"), (1, "10"), (8_099, "2"), (899, "2"), (1, "1"), (800, "1"), (199, "1")] {
        clock.advance(Duration::from_millis(step_ms));
        assert_eq!(header(&send(&mut service, request("ann", "1")).await, "retry-after"), seconds);
    }
    clock.advance(Duration::from_millis(1));
    assert_eq!(send(&mut service, request("ann", "1")).await.status(), 200);
}

#[tokio::test]
async fn what_can_never_pass_is_not_told_to_retry() {
    let (limiter, _clock) = limiter("5/10s");
    let mut service = RateLimitLayer::new(limiter, charge::<(), usize>).layer(Strict::default());
    let response = send(&mut service, request("ann", "6")).await;
    assert_eq!((response.status().as_u16(), header(&response, "retry-after")), (429, ""));
    assert_eq!(send(&mut service, request("ann", "5")).await.status(), 200);
}

#[tokio::test]
async fn a_bad_request_is_answered_and_spends_nothing() {
    let (limiter, _clock) = limiter("1/10s");
    let mut service = RateLimitLayer::new(limiter, charge::<(), usize>).layer(Strict::default());
    for bad in [Request::new(()), request("ann", "-1"), request("ann", "many")] {
        let response = send(&mut service, bad).await;
        assert_eq!(response.status(), 400);
        assert!(response.headers().is_empty());
    }
    assert_eq!(service.get_ref().calls.load(Ordering::Relaxed), 0);
    assert_eq!(send(&mut service, request("ann", "1")).await.status(), 200);
}

#[tokio::test]
async fn asking_for_readiness_spends_nothing() {
    let (limiter, _clock) = limiter("1/10s");
    let mut service = RateLimitLayer::new(limiter, charge::<(), usize>).layer(Strict::default());
    for _ in 0..100 {
        let Ok(()) = poll_fn(|cx| Service::<Request<()>>::poll_ready(&mut service, cx)).await;
    }
    assert_eq!(send(&mut service, request("ann", "1")).await.status(), 200);
}

#[tokio::test]
async fn a_denial_leaves_readiness_to_the_next_call() {
    let (limiter, _clock) = limiter("1/10s");
    let mut service = RateLimitLayer::new(limiter, charge::<(), usize>).layer(Strict::default());
    for user in ["ann", "ann", "ann", "bob", "bob", "eve"] {
        let _ = send(&mut service, request(user, "1")).await;
        let mut clone = service.clone();
        let _ = send(&mut clone, request(user, "1")).await;
    }
    assert_eq!(service.get_ref().calls.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_cost_of_zero_only_looks() {
    let (limiter, _clock) = limiter("5/10s");
    let mut service = RateLimitLayer::new(limiter, charge::<(), usize>).layer(Strict::default());
    let _ = send(&mut service, request("ann", "3")).await;
    for _ in 0..3 {
        assert_eq!(header(&send(&mut service, request("ann", "0")).await, "ratelimit"), "\"default\";r=2;t=6");
    }
}

#[tokio::test]
async fn bodies_pass_untouched() {
    let (limiter, _clock) = limiter("1/10s");
    let layer = RateLimitLayer::new(limiter, |upload: &Request<Upload>| match upload.body() {
        Upload(0) => Err(Response::new(Download(0))),
        Upload(size) => Ok(Charge::new("anybody", u64::from(*size))),
    })
    .denial(|upload: &Request<Upload>, denied: Decision| {
        assert!(!denied.is_allowed());
        Response::builder().status(503).header("retry-after", "99").body(Download(upload.body().0)).expect("a response")
    });
    let mut service = layer.layer(service_fn(|upload: Request<Upload>| {
        ready(Ok::<_, Infallible>(Response::new(Download(upload.into_body().0 + 100))))
    }));
    assert_eq!(*send(&mut service, Request::new(Upload(0))).await.body(), Download(0));
    assert_eq!(*send(&mut service, Request::new(Upload(1))).await.body(), Download(101));
    let denied = send(&mut service, Request::new(Upload(1))).await;
    assert_eq!((denied.status().as_u16(), denied.body()), (503, &Download(1)));
    assert_eq!(header(&denied, "retry-after"), "99", "a denial may know better");
    assert_eq!(header(&denied, "ratelimit"), "\"default\";r=0;t=10");
}

#[tokio::test]
async fn a_problem_names_the_policy() {
    let (limiter, _clock) = limiter("1/10s");
    let layer = RateLimitLayer::new(limiter, charge::<(), String>).denial(Problem).policy_name("per \"user\"");
    let mut service = layer
        .expect("a name")
        .layer(service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new("hello".to_owned())))));
    assert_eq!(send(&mut service, request("ann", "1")).await.body(), "hello");
    let denied = send(&mut service, request("ann", "1")).await;
    assert_eq!((denied.status().as_u16(), header(&denied, "content-type")), (429, "application/problem+json"));
    assert_eq!(header(&denied, "retry-after"), "10");
    let problem: serde_json::Value = serde_json::from_str(denied.body()).expect("JSON");
    assert_eq!(problem["violated-policies"], serde_json::json!(["per \"user\""]));
}

#[tokio::test]
async fn the_handler_finds_the_decision() {
    let (limiter, _clock) = limiter("5/10s");
    let handler = service_fn(|request: Request<()>| {
        let decision = request.extensions().get::<Decision>().copied();
        ready(Ok::<_, Infallible>(Response::new(decision.map_or(0, |decision| decision.remaining()))))
    });
    let service = RateLimitLayer::new(limiter, charge::<(), u64>).layer(handler);
    let Ok(response) = service.oneshot(request("ann", "2")).await;
    assert_eq!(*response.body(), 3);
}

#[tokio::test]
async fn errors_of_the_service_are_its_own() {
    let (limiter, _clock) = limiter("2/10s");
    let failing = service_fn(|_: Request<()>| ready(Err::<Response<String>, _>("out of paper")));
    let service = RateLimitLayer::new(limiter, charge::<(), String>).layer(failing);
    for expected in [Err("out of paper"), Err("out of paper"), Ok(StatusCode::TOO_MANY_REQUESTS)] {
        let outcome = service.clone().oneshot(request("ann", "1")).await;
        assert_eq!(outcome.map(|response| response.status()), expected);
    }
}

#[tokio::test]
async fn layers_stack_and_both_are_named() {
    let (per_user, everybody) = (limiter("2/10s").0, limiter("3/min").0);
    let inner = RateLimitLayer::new(per_user, charge::<(), usize>).policy_name("user").expect("a name");
    let outer = RateLimitLayer::new(everybody, |_: &Request<()>| Ok::<_, Response<usize>>(Charge::one("all")));
    let mut service = outer.policy_name("all").expect("a name").layer(inner.layer(Strict::default()));
    let response = send(&mut service, request("ann", "1")).await;
    let policies: Vec<_> = response.headers().get_all("ratelimit-policy").iter().collect();
    assert_eq!(policies, ["\"user\";q=2;w=10", "\"all\";q=3;w=60"]);
    let statuses = [send(&mut service, request("ann", "1")).await, send(&mut service, request("ann", "1")).await];
    assert_eq!(statuses.map(|response| response.status().as_u16()), [200, 429]);
}

#[tokio::test]
async fn neither_service_nor_closure_need_threads() {
    let seen = Rc::new(Cell::new(0));
    let (limiter, _clock) = limiter("5/10s");
    let counter = Rc::clone(&seen);
    let layer = RateLimitLayer::new(limiter, move |_: &Request<()>| {
        counter.set(counter.get() + 1);
        Ok::<_, Response<()>>(Charge::one("anybody"))
    });
    let service = layer.layer(service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(())))));
    let Ok(_) = service.oneshot(Request::new(())).await;
    assert_eq!(seen.get(), 1);
}

#[test]
fn layers_and_services_can_be_shared_and_shown() {
    /// Accepts what a server asks of a service.
    fn shared<T: Clone + Send + Sync + std::fmt::Debug + 'static>(value: &T) -> String {
        format!("{value:?}")
    }
    let layer = RateLimitLayer::new(limiter("5/10s").0, charge::<(), usize>);
    let service: RateLimit<Strict, _, _, TooManyRequests> = layer.layer(Strict::default());
    assert!(shared(&layer).starts_with("RateLimitLayer"));
    assert!(shared(&service).starts_with("RateLimit"));
    assert!(shared(&Headers::new("a", "1/s".parse().expect("a quota"))).contains("Structured"));
}
