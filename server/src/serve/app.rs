//! The routes.

use axum::body::Body;
use axum::extract::Extension;
use axum::http::{Request, Response, StatusCode};
use axum::{Router, routing};
use tollgate::http::{Charge, RateLimitLayer};
use tollgate::{Algorithm, Decision, Limiter, Quota, QuotaError};

use crate::serve::answer::answer;
use crate::serve::problem::problem;
use crate::serve::query::Query;

/// Returns the service: `/v1/check` under the quota, kept by the algorithm `A`, and `/healthz`.
pub(super) fn router<A: Algorithm>(quota: Quota) -> Result<Router, QuotaError> {
    let limiter: Limiter<str, A> = Limiter::builder(quota).build()?;
    let limit = RateLimitLayer::new(limiter, charge).denial(deny);
    Ok(Router::new()
        .route("/v1/check", routing::get(allow).route_layer(limit))
        .route("/healthz", routing::get(async || "ok"))
        .method_not_allowed_fallback(async || {
            problem(StatusCode::METHOD_NOT_ALLOWED, "this resource can only be read: use GET")
        })
        .fallback(async || problem(StatusCode::NOT_FOUND, "there are /v1/check?key=K&cost=N and /healthz")))
}

/// Reads what a request asks for; a request that cannot be read is answered at once.
#[expect(clippy::result_large_err, reason = "the layer takes the response as it is")]
fn charge(request: &Request<Body>) -> Result<Charge<String>, Response<Body>> {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let Query { key, cost } = query.map_err(|error| problem(StatusCode::BAD_REQUEST, &error.to_string()))?;
    Ok(Charge::new(key, cost))
}

/// Answers a check that passed.
async fn allow(Extension(decision): Extension<Decision>) -> Response<Body> {
    answer(StatusCode::OK, decision)
}

/// Answers a check that did not.
fn deny(_: &Request<Body>, decision: Decision) -> Response<Body> {
    answer(StatusCode::TOO_MANY_REQUESTS, decision)
}
