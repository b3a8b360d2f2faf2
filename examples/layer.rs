//! Wrapping a service: a tower layer limits each user, who is named by a header, to two requests a minute.
//!
//! Run it with `cargo run --example layer --features http`.

use std::convert::Infallible;

use http::{HeaderMap, Request, Response, StatusCode};
use tollgate::Limiter;
use tollgate::http::{Charge, RateLimitLayer};
use tower::{ServiceBuilder, ServiceExt};

/// Returns a header for printing.
fn shown<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-")
}

// A response of strings is a little larger than clippy likes errors to be.
#[allow(clippy::result_large_err)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter: Limiter<str> = Limiter::new("2/min".parse()?)?;
    let layer = RateLimitLayer::new(limiter, |request: &Request<String>| {
        // Who pays for a request; one that names nobody is answered at once and costs nobody anything.
        let user = request.headers().get("x-user").and_then(|value| value.to_str().ok());
        user.map(|user| Charge::one(user.to_owned())).ok_or_else(|| {
            let mut refusal = Response::new("name yourself in x-user".to_owned());
            *refusal.status_mut() = StatusCode::BAD_REQUEST;
            refusal
        })
    });
    let service = ServiceBuilder::new()
        .layer(layer)
        .service_fn(|_: Request<String>| async { Ok::<_, Infallible>(Response::new("hello".to_owned())) });

    let mut statuses = Vec::new();
    for user in [Some("ann"), Some("ann"), Some("ann"), Some("bob"), None] {
        let mut request = Request::new(String::new());
        if let Some(user) = user {
            request.headers_mut().insert("x-user", user.parse()?);
        }
        let response = service.clone().oneshot(request).await?;
        let (limit, retry) = (shown(response.headers(), "ratelimit"), shown(response.headers(), "retry-after"));
        println!("{:4} {}  RateLimit: {limit}  Retry-After: {retry}", user.unwrap_or("-"), response.status());
        statuses.push(response.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429, 200, 400]);
    Ok(())
}
