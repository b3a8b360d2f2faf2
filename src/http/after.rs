//! What becomes of a charge once the request has ended.

use http::Response;

use crate::decision::Decision;
use crate::http::gate::Gate;

/// What becomes of what a request has spent, once it has ended.
///
/// # Examples
///
/// Failed logins cost, others do not:
///
/// ```
/// use http::{Request, Response};
/// use tollgate::Limiter;
/// use tollgate::http::{After, Charge, RateLimitLayer};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter: Limiter<u64> = Limiter::new("5/min".parse()?)?;
/// let layer = RateLimitLayer::new(limiter.clone(), |_: &Request<()>| Ok::<_, Response<()>>(Charge::one(7)));
/// let layer = layer.after(|response: &Response<()>| match response.status().is_success() {
///     true => After::Refund,
///     false => After::Keep,
/// });
/// let service = layer.layer(service_fn(|_: Request<()>| async {
///     Ok::<_, std::convert::Infallible>(Response::new(()))
/// }));
/// let _ = service.oneshot(Request::new(())).await?;
/// assert_eq!(limiter.peek(&7).remaining(), 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum After {
    /// It stays spent.
    #[default]
    Keep,
    /// All of it is given back.
    Refund,
    /// So much is spent on top, whether or not it fits.
    Charge(u64),
}

/// Tells from a response what becomes of the charge; any closure from `&Response<R>` to [`After`] does.
///
/// # Examples
///
/// ```
/// use http::Response;
/// use tollgate::http::{After, KeepCharge, Settle};
///
/// let by_status = |response: &Response<()>| After::Charge(u64::from(response.status().as_u16() / 100));
/// assert_eq!(by_status.settle(&Response::new(())), After::Charge(2));
/// assert_eq!(KeepCharge.settle(&Response::new(())), After::Keep);
/// ```
pub trait Settle<R> {
    /// Whether every charge is kept, so that nobody needs to remember it.
    const KEEPS_ALL: bool = false;

    /// Returns what becomes of the charge of the request that got this response.
    fn settle(&self, response: &Response<R>) -> After;
}

impl<R, F: Fn(&Response<R>) -> After> Settle<R> for F {
    fn settle(&self, response: &Response<R>) -> After {
        self(response)
    }
}

/// Keeps every charge: what a layer does unless it is told otherwise.
///
/// # Examples
///
/// See [`Settle`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepCharge;

impl<R> Settle<R> for KeepCharge {
    const KEEPS_ALL: bool = true;

    fn settle(&self, _: &Response<R>) -> After {
        After::Keep
    }
}

/// What becomes of a charge in each of the ways in which a request ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings<P> {
    pub(crate) answered: P,
    pub(crate) failed: After,
    pub(crate) dropped: After,
}

impl<P> Endings<P> {
    /// Tells whether every charge is kept, however its request ends.
    pub(crate) fn keep_all<R>(&self) -> bool
    where
        P: Settle<R>,
    {
        P::KEEPS_ALL && self.failed == After::Keep && self.dropped == After::Keep
    }
}

/// The charge of a request under way; settles itself when it is dropped, once.
#[derive(Debug)]
pub(crate) struct Account<G: Gate<T>, T, P> {
    gate: G,
    key: T,
    cost: u64,
    endings: Endings<P>,
    is_open: bool,
}

impl<G: Gate<T>, T, P> Account<G, T, P> {
    /// Opens the account of what `key` has spent.
    pub(crate) fn open(gate: G, key: T, cost: u64, endings: Endings<P>) -> Self {
        Self { gate, key, cost, endings, is_open: true }
    }

    /// Settles by the response; returns what a look says afterwards, if that changed anything.
    pub(crate) fn answered<R>(&mut self, response: &Response<R>) -> Option<Decision>
    where
        P: Settle<R>,
    {
        let after = self.endings.answered.settle(response);
        self.close(after)
    }

    /// Settles what the wrapped service failed at.
    pub(crate) fn failed(&mut self) {
        let _ = self.close(self.endings.failed);
    }

    /// Does what is to be done, unless it has been.
    fn close(&mut self, after: After) -> Option<Decision> {
        if !std::mem::take(&mut self.is_open) {
            return None;
        }
        match after {
            After::Keep => None,
            After::Refund => Some(self.gate.refund(&self.key, self.cost)),
            After::Charge(more) => Some(self.gate.charge(&self.key, more)),
        }
    }
}

impl<G: Gate<T>, T, P> Drop for Account<G, T, P> {
    fn drop(&mut self) {
        let _ = self.close(self.endings.dropped);
    }
}
