//! The future of a wrapped service.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use crate::decision::Decision;
use crate::http::after::{Account, Settle};
use crate::http::gate::Gate;
use crate::http::headers::Headers;

pin_project! {
    /// Resolves to the response of the wrapped service with the limit's headers, or to the answer that the request was
    /// given in its place.
    ///
    /// # Panics
    ///
    /// Like any future it may panic when it is polled again after it has resolved.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, R, G, T, P>
    where
        G: Gate<T>,
    {
        #[pin]
        state: State<F, R, G, T, P>,
    }
}

pin_project! {
    /// Where the response comes from.
    #[derive(Debug)]
    #[project = StateProjection]
    enum State<F, R, G, T, P>
    where
        G: Gate<T>,
    {
        // The wrapped service answers; the headers are added to what it says.
        Passed { #[pin] future: F, headers: Headers, decision: Decision, account: Option<Account<G, T, P>> },
        // The answer is here.
        Answered { response: Option<Response<R>> },
    }
}

impl<F, R, G: Gate<T>, T, P> ResponseFuture<F, R, G, T, P> {
    /// Waits for the wrapped service.
    pub(crate) fn passed(future: F, headers: Headers, decision: Decision, account: Option<Account<G, T, P>>) -> Self {
        Self { state: State::Passed { future, headers, decision, account } }
    }

    /// Gives an answer at once.
    pub(crate) fn answered(response: Response<R>) -> Self {
        Self { state: State::Answered { response: Some(response) } }
    }
}

impl<F, R, E, G, T, P> Future for ResponseFuture<F, R, G, T, P>
where
    G: Gate<T>,
    P: Settle<R>,
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Passed { future, headers, decision, account } => {
                let outcome = ready!(future.poll(cx));
                let mut response = outcome.inspect_err(|_| account.iter_mut().for_each(Account::failed))?;
                let settled = account.as_mut().and_then(|account| account.answered(&response));
                headers.write(settled.unwrap_or(*decision), response.headers_mut());
                Poll::Ready(Ok(response))
            }
            StateProjection::Answered { response } => {
                Poll::Ready(Ok(response.take().expect("a future is not polled after it has resolved")))
            }
        }
    }
}
