//! The wrapped service.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use crate::http::charge::Charge;
use crate::http::denial::Denial;
use crate::http::future::ResponseFuture;
use crate::http::headers::Headers;
use crate::limiter::{Algorithm, Limiter};

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
pub struct RateLimit<S, L, F, D> {
    inner: S,
    limiter: L,
    charge: F,
    denial: D,
    headers: Headers,
}

impl<S, L, F, D> RateLimit<S, L, F, D> {
    /// Wraps `inner`.
    pub(crate) fn new(inner: S, limiter: L, charge: F, denial: D, headers: Headers) -> Self {
        Self { inner, limiter, charge, denial, headers }
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

impl<S: fmt::Debug, L: fmt::Debug, F, D> fmt::Debug for RateLimit<S, L, F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, limiter, headers, .. } = self;
        f.debug_struct("RateLimit")
            .field("inner", inner)
            .field("limiter", limiter)
            .field("headers", headers)
            .finish_non_exhaustive()
    }
}

impl<S, K, A, H, F, D, T, B, R> Service<Request<B>> for RateLimit<S, Limiter<K, A, H>, F, D>
where
    H: BuildHasher,
    S: Service<Request<B>, Response = Response<R>>,
    K: Hash + ?Sized,
    A: Algorithm,
    H: BuildHasher,
    F: Fn(&Request<B>) -> Result<Charge<T>, Response<R>>,
    T: Borrow<K>,
    D: Denial<B, R>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let charge = match (self.charge)(&request) {
            Ok(charge) => charge,
            Err(response) => return ResponseFuture::answered(response),
        };
        let decision = self.limiter.check_n::<K>(charge.key().borrow(), charge.cost());
        if !decision.is_allowed() {
            let mut response = self.denial.respond_with(&request, decision, &self.headers);
            self.headers.write(decision, response.headers_mut());
            return ResponseFuture::answered(response);
        }
        request.extensions_mut().insert(decision);
        // The very service that was polled ready is called; a clone of it might not be.
        ResponseFuture::passed(self.inner.call(request), self.headers.clone(), decision)
    }
}
