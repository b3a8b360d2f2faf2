//! Connections: accepted, bounded in what they may send, and bidden farewell.

use std::io::ErrorKind;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

use crate::serve::signals::Signals;

/// The most that the head of a request may take, in bytes; a key of the longest may have each byte escaped.
const MAX_HEAD: usize = 32 * 1024;

/// How long a client may take to send the head of a request, or keep a connection open without one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long requests that are under way may take after a signal to stop.
const FAREWELL: Duration = Duration::from_secs(3);

/// How long nothing is accepted after the system could not give another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until a signal, and those that are open for a little longer; a second signal ends that too.
pub(super) async fn serve(listener: TcpListener, app: Router, signals: &mut Signals) {
    let graceful = GracefulShutdown::new();
    let http = protocol();
    loop {
        let stream = tokio::select! {
            stream = accept(&listener) => stream,
            () = signals.next() => break,
        };
        let service = TowerToHyperService::new(app.clone());
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        // A client that misbehaves is its own problem: it has been answered or cut off.
        tokio::spawn(async move { drop(connection.await) });
    }
    drop(listener);
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(FAREWELL) => {}
        () = signals.next() => {}
    }
}

/// Returns how HTTP is spoken.
fn protocol() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD);
    http
}

/// Waits for the next connection, however often that fails.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Small answers shall not wait for more to send; if that cannot be had, they will.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) if is_about_one_connection(error.kind()) => {}
            // There are no more file descriptors, most likely: some must be closed first.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Tells whether an error has to do with the connection that was to be accepted, not with accepting.
fn is_about_one_connection(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}
