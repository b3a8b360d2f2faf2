//! The layer.

use std::fmt;

use http::{Request, Response};
use tower_layer::Layer;

use crate::http::after::{After, Endings, KeepCharge};
use crate::http::charge::Charge;
use crate::http::denial::TooManyRequests;
use crate::http::headers::{Generation, Headers, PolicyNameError};
use crate::http::service::RateLimit;
use crate::limiter::{Algorithm, Limiter};

/// Wraps services so that a limiter is checked before each request; clones share the limiter.
///
/// `L` is the limiter, `F` the closure that reads a [`Charge`] from a request, `D` the [`Denial`](crate::http::Denial).
///
/// # Examples
///
/// A layer that limits by a header, under a name of its own and with a body for those it denies:
///
/// ```
/// use http::{Request, Response, StatusCode};
/// use tollgate::http::{Charge, RateLimitLayer};
/// use tollgate::{Decision, Limiter};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter: Limiter<[u8]> = Limiter::new("2/min".parse()?)?;
/// let layer = RateLimitLayer::new(limiter, |request: &Request<()>| {
///     let key = request.headers().get("x-api-key").map_or(&b"nobody"[..], |value| value.as_bytes());
///     Ok::<_, Response<String>>(Charge::one(key.to_vec()))
/// })
/// .policy_name("per-key")?
/// .denial(|_: &Request<()>, _: Decision| {
///     let mut response = Response::new("slow down".to_owned());
///     *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
///     response
/// });
///
/// // The handler finds the decision among the request's extensions.
/// let service = layer.layer(service_fn(|request: Request<()>| async move {
///     let left = request.extensions().get::<Decision>().map_or(0, |decision| decision.remaining());
///     Ok::<_, std::convert::Infallible>(Response::new(format!("{left} left")))
/// }));
/// for expected in ["1 left", "0 left", "slow down"] {
///     let response = service.clone().oneshot(Request::new(())).await?;
///     assert_eq!(response.headers()["ratelimit-policy"], "\"per-key\";q=2;w=60");
///     assert_eq!(response.body(), expected);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct RateLimitLayer<L, F, D = TooManyRequests, P = KeepCharge> {
    limiter: L,
    charge: F,
    denial: D,
    headers: Headers,
    endings: Endings<P>,
}

impl<K, A, H, F> RateLimitLayer<Limiter<K, A, H>, F>
where
    K: ?Sized,
    A: Algorithm,
{
    /// Makes a layer that charges `limiter` what `charge` reads from each request.
    ///
    /// Where `charge` returns a response, because a request names no key for example, that is the answer, nothing is
    /// spent and the wrapped service is not called. Denied requests are answered by [`TooManyRequests`].
    pub fn new<B, T, R>(limiter: Limiter<K, A, H>, charge: F) -> Self
    where
        F: Fn(&Request<B>) -> Result<Charge<T>, Response<R>>,
    {
        let quota = limiter.quota();
        Self { limiter, charge, denial: TooManyRequests, headers: Headers::unnamed(quota), endings: Endings::default() }
    }
}

impl<G, F> RateLimitLayer<G, F> {
    /// Makes a layer that decides through any [`Gate`](crate::http::Gate), and tells clients of the limit by `headers`.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{Request, Response};
    /// use tollgate::Limiter;
    /// use tollgate::http::{Charge, Headers, RateLimitLayer};
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter: Limiter<u64> = Limiter::new("1/min".parse()?)?;
    /// let headers = Headers::new("own", limiter.quota())?;
    /// let charge = |_: &Request<()>| Ok::<_, Response<()>>(Charge::one(7));
    /// let service = RateLimitLayer::through(limiter, headers, charge).layer(service_fn(|_: Request<()>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(()))
    /// }));
    /// assert_eq!(service.oneshot(Request::new(())).await?.headers()["ratelimit-policy"], "\"own\";q=1;w=60");
    /// # Ok(())
    /// # }
    /// ```
    pub fn through<B, T, R>(gate: G, headers: Headers, charge: F) -> Self
    where
        F: Fn(&Request<B>) -> Result<Charge<T>, Response<R>>,
    {
        Self { limiter: gate, charge, denial: TooManyRequests, headers, endings: Endings::default() }
    }
}

impl<L, F, D, P> RateLimitLayer<L, F, D, P> {
    /// Sets what denied requests are answered: any [`Denial`](crate::http::Denial).
    pub fn denial<E>(self, denial: E) -> RateLimitLayer<L, F, E, P> {
        let Self { limiter, charge, denial: _, headers, endings } = self;
        RateLimitLayer { limiter, charge, denial, headers, endings }
    }

    /// Sets what tells from a response whether its charge is kept, given back or added to: any
    /// [`Settle`](crate::http::Settle). The headers show what is left afterwards.
    ///
    /// # Examples
    ///
    /// See [`After`].
    pub fn after<Q>(self, answered: Q) -> RateLimitLayer<L, F, D, Q> {
        let Self { limiter, charge, denial, headers, endings: Endings { answered: _, failed, dropped } } = self;
        RateLimitLayer { limiter, charge, denial, headers, endings: Endings { answered, failed, dropped } }
    }

    /// Sets what becomes of the charge where the wrapped service fails instead of answering; it is kept unless set.
    ///
    /// # Examples
    ///
    /// See [`RateLimitLayer::after_drop`].
    pub fn after_error(mut self, after: After) -> Self {
        self.endings.failed = after;
        self
    }

    /// Sets what becomes of the charge where the caller drops the future before the answer; it is kept unless set.
    ///
    /// With a refund, who hangs up early has spent nothing and may try as often as they like.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{Request, Response};
    /// use tollgate::Limiter;
    /// use tollgate::http::{After, Charge, RateLimitLayer};
    /// use tower::{Layer, Service, service_fn};
    ///
    /// let limiter: Limiter<u64> = Limiter::new("1/min".parse()?)?;
    /// let layer = RateLimitLayer::new(limiter.clone(), |_: &Request<()>| Ok::<_, Response<()>>(Charge::one(7)));
    /// let layer = layer.after_error(After::Refund).after_drop(After::Refund);
    /// let mut service = layer.layer(service_fn(|_: Request<()>| async { Err::<Response<()>, _>("broken") }));
    /// drop(service.call(Request::new(())));
    /// assert_eq!(limiter.peek(&7).remaining(), 1);
    /// # Ok::<(), tollgate::QuotaError>(())
    /// ```
    pub fn after_drop(mut self, after: After) -> Self {
        self.endings.dropped = after;
        self
    }

    /// Sets the name that the limit has in the headers; "default" unless set.
    ///
    /// # Errors
    ///
    /// A name with anything but printable ASCII characters in it is refused.
    pub fn policy_name(self, name: &str) -> Result<Self, PolicyNameError> {
        let headers = self.headers.named(name)?;
        Ok(Self { headers, ..self })
    }
}

impl<L, F, D, P> RateLimitLayer<L, F, D, P> {
    /// Sets which header fields tell clients about the limit; the structured ones unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{Request, Response};
    /// use tollgate::Limiter;
    /// use tollgate::http::{Charge, Generation, RateLimitLayer};
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter: Limiter<u64> = Limiter::new("5/min".parse()?)?;
    /// let layer = RateLimitLayer::new(limiter, |_: &Request<()>| Ok::<_, Response<()>>(Charge::one(7)));
    /// let service = layer.generation(Generation::XDelta).layer(service_fn(|_: Request<()>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(()))
    /// }));
    /// assert_eq!(service.oneshot(Request::new(())).await?.headers()["x-ratelimit-remaining"], "4");
    /// # Ok(())
    /// # }
    /// ```
    pub fn generation(self, generation: Generation) -> Self {
        let headers = self.headers.generation(generation);
        Self { headers, ..self }
    }
}

impl<L: fmt::Debug, F, D, P> fmt::Debug for RateLimitLayer<L, F, D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limiter, headers, .. } = self;
        f.debug_struct("RateLimitLayer").field("limiter", limiter).field("headers", headers).finish_non_exhaustive()
    }
}

impl<S, L, F, D, P> Layer<S> for RateLimitLayer<L, F, D, P>
where
    L: Clone,
    F: Clone,
    D: Clone,
    P: Clone,
{
    type Service = RateLimit<S, L, F, D, P>;

    fn layer(&self, inner: S) -> Self::Service {
        let Self { limiter, charge, denial, headers, endings } = self.clone();
        RateLimit::new(inner, limiter, charge, denial, headers, endings)
    }
}
