//! What a denied request is answered.

use http::{Request, Response, StatusCode};

use crate::decision::Decision;

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
