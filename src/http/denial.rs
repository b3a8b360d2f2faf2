//! What a denied request is answered.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};

use crate::decision::Decision;
use crate::http::headers::Headers;

/// Makes the response to a denied request; the layer adds its headers to it.
///
/// Any closure from `&Request<B>` and [`Decision`] to `Response<R>` is one.
///
/// # Examples
///
/// ```
/// use http::{Request, Response};
/// use tollgate::http::Denial;
/// use tollgate::{Decision, Limiter, Tick};
///
/// let teapot = |_: &Request<()>, denied: Decision| {
///     let mut response = Response::new(format!("at most {} at once", denied.limit()));
///     *response.status_mut() = http::StatusCode::IM_A_TEAPOT;
///     response
/// };
/// let limiter: Limiter<str> = Limiter::new("5/s".parse()?)?;
/// let denied = limiter.check_n_at("a", 6, Tick::ZERO);
/// assert_eq!(teapot.respond(&Request::new(()), denied).body(), "at most 5 at once");
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
pub trait Denial<B, R> {
    /// Returns the response to `request`, which was denied by `decision`.
    fn respond(&self, request: &Request<B>, decision: Decision) -> Response<R>;

    /// Returns the response of a layer that writes these headers; what [`Denial::respond`] says unless overridden.
    fn respond_with(&self, request: &Request<B>, decision: Decision, headers: &Headers) -> Response<R> {
        let _ = headers;
        self.respond(request, decision)
    }
}

impl<B, R, F> Denial<B, R> for F
where
    F: Fn(&Request<B>, Decision) -> Response<R>,
{
    fn respond(&self, request: &Request<B>, decision: Decision) -> Response<R> {
        self(request, decision)
    }
}

/// Answers 429 with an empty body: what a layer does unless it is told otherwise.
///
/// # Examples
///
/// ```
/// use http::{Request, Response};
/// use tollgate::http::{Denial, TooManyRequests};
/// use tollgate::{Limiter, Tick};
///
/// let limiter: Limiter<str> = Limiter::new("5/s".parse()?)?;
/// let denied = limiter.check_n_at("a", 6, Tick::ZERO);
/// let response: Response<String> = TooManyRequests.respond(&Request::new(()), denied);
/// assert_eq!((response.status().as_u16(), response.body().as_str()), (429, ""));
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TooManyRequests;

impl<B, R: Default> Denial<B, R> for TooManyRequests {
    fn respond(&self, _: &Request<B>, _: Decision) -> Response<R> {
        let mut response = Response::new(R::default());
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response
    }
}

/// Answers 429 with `application/problem+json` (RFC 9457) of the type that the `RateLimit` draft gives an exceeded quota;
/// the member `violated-policies` holds the policy's name.
///
/// # Examples
///
/// ```
/// use http::{Request, Response};
/// use tollgate::Limiter;
/// use tollgate::http::{Charge, Problem, RateLimitLayer};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter: Limiter<u64> = Limiter::new("1/min".parse()?)?;
/// let layer = RateLimitLayer::new(limiter, |_: &Request<()>| Ok::<_, Response<String>>(Charge::new(7, 2)));
/// let service = layer.denial(Problem).layer(service_fn(|_: Request<()>| async {
///     Ok::<_, std::convert::Infallible>(Response::new(String::new()))
/// }));
/// let denied = service.oneshot(Request::new(())).await?;
/// assert_eq!(denied.headers()["content-type"], "application/problem+json");
/// assert!(denied.body().ends_with(r#""status":429,"violated-policies":["default"]}"#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Problem;

impl Problem {
    /// Makes the response; the name stands in quotes, with the escapes that structured fields and JSON have in common.
    fn response<R: From<String>>(quoted_name: &str) -> Response<R> {
        let body = format!(
            "{{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
             \"title\":\"The quota is exceeded\",\"status\":429,\"violated-policies\":[{quoted_name}]}}"
        );
        let mut response = Response::new(R::from(body));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response
    }
}

impl<B, R: From<String>> Denial<B, R> for Problem {
    fn respond(&self, _: &Request<B>, _: Decision) -> Response<R> {
        Self::response("\"default\"")
    }

    fn respond_with(&self, _: &Request<B>, _: Decision, headers: &Headers) -> Response<R> {
        Self::response(headers.quoted_name())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn problems_are_json_whatever_the_name() {
        for name in ["default", "", r#"a "b" \c"#, "{}[],:"] {
            let headers = Headers::new(name, "5/s".parse().expect("a quota")).expect("a name");
            let response: Response<String> = Problem::response(headers.quoted_name());
            let problem: serde_json::Value = serde_json::from_str(response.body()).expect("JSON");
            assert_eq!(problem["violated-policies"], serde_json::json!([name]));
            assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
            assert_eq!((&problem["status"], response.status().as_u16()), (&serde_json::json!(429), 429));
        }
    }
}
