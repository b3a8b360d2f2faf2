//! The wrapped service.

use std::fmt;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use crate::http::after::{Account, Endings, KeepCharge, Settle};
use crate::http::charge::Charge;
use crate::http::denial::Denial;
use crate::http::future::ResponseFuture;
use crate::http::gate::Gate;
use crate::http::headers::Headers;

/// A service that checks a limiter before each request; made by [`RateLimitLayer`](crate::http::RateLimitLayer).
///
/// It is ready when the wrapped service is. It decides when it is called, never while it is asked whether it is ready,
/// so a caller that gives up between the two has spent nothing. A request that is denied leaves the readiness of the
/// wrapped service to the next one.
///
/// # Examples
///
/// ```
/// use http::{Request, Response};
/// use tollgate::Limiter;
/// use tollgate::http::{Charge, RateLimitLayer};
/// use tower::{Layer, service_fn};
///
/// let limiter: Limiter<u64> = Limiter::new("1/s".parse()?)?;
/// let layer = RateLimitLayer::new(limiter, |_: &Request<()>| Ok::<_, Response<()>>(Charge::one(7)));
/// let service = layer.layer("any service");
/// assert_eq!(service.into_inner(), "any service");
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone)]
pub struct RateLimit<S, L, F, D, P = KeepCharge> {
    inner: S,
    limiter: L,
    charge: F,
    denial: D,
    headers: Headers,
    endings: Endings<P>,
}

impl<S, L, F, D, P> RateLimit<S, L, F, D, P> {
    /// Wraps `inner`.
    pub(crate) fn new(inner: S, limiter: L, charge: F, denial: D, headers: Headers, endings: Endings<P>) -> Self {
        Self { inner, limiter, charge, denial, headers, endings }
    }

    /// Returns the wrapped service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the wrapped service.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Unwraps the service.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: fmt::Debug, L: fmt::Debug, F, D, P> fmt::Debug for RateLimit<S, L, F, D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, limiter, headers, .. } = self;
        f.debug_struct("RateLimit")
            .field("inner", inner)
            .field("limiter", limiter)
            .field("headers", headers)
            .finish_non_exhaustive()
    }
}

impl<S, G, F, D, P, T, B, R> Service<Request<B>> for RateLimit<S, G, F, D, P>
where
    S: Service<Request<B>, Response = Response<R>>,
    G: Gate<T> + Clone,
    F: Fn(&Request<B>) -> Result<Charge<T>, Response<R>>,
    D: Denial<B, R>,
    P: Settle<R> + Clone,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R, G, T, P>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let (key, cost) = match (self.charge)(&request) {
            Ok(charge) => charge.into_parts(),
            Err(response) => return ResponseFuture::answered(response),
        };
        let (decision, _) = self.limiter.check(&key, cost);
        if !decision.is_allowed() {
            let mut response = self.denial.respond_with(&request, decision, &self.headers);
            self.headers.write(decision, response.headers_mut());
            return ResponseFuture::answered(response);
        }
        request.extensions_mut().insert(decision);
        let account =
            (!self.endings.keep_all()).then(|| Account::open(self.limiter.clone(), key, cost, self.endings.clone()));
        // The very service that was polled ready is called; a clone of it might not be.
        ResponseFuture::passed(self.inner.call(request), self.headers.clone(), decision, account)
    }
}
