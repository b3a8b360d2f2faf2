//! The future of a wrapped service.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use crate::decision::Decision;
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
    pub struct ResponseFuture<F, R> {
        #[pin]
        state: State<F, R>,
    }
}

pin_project! {
    /// Where the response comes from.
    #[derive(Debug)]
    #[project = StateProjection]
    enum State<F, R> {
        // The wrapped service answers; the headers are added to what it says.
        Passed { #[pin] future: F, headers: Headers, decision: Decision },
        // The answer is here.
        Answered { response: Option<Response<R>> },
    }
}

impl<F, R> ResponseFuture<F, R> {
    /// Waits for the wrapped service.
    pub(crate) fn passed(future: F, headers: Headers, decision: Decision) -> Self {
        Self { state: State::Passed { future, headers, decision } }
    }

    /// Gives an answer at once.
    pub(crate) fn answered(response: Response<R>) -> Self {
        Self { state: State::Answered { response: Some(response) } }
    }
}

impl<F, R, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Passed { future, headers, decision } => {
                let mut response = ready!(future.poll(cx))?;
                headers.write(*decision, response.headers_mut());
                Poll::Ready(Ok(response))
            }
            StateProjection::Answered { response } => {
                Poll::Ready(Ok(response.take().expect("a future is not polled after it has resolved")))
            }
        }
    }
}
