//! Serves a limit over HTTP.

mod answer;
mod app;
mod connections;
mod problem;
mod query;
mod signals;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::Router;
use tokio::net::TcpListener;

use crate::cli::{self, ServeOptions, with_algorithm};
use crate::failure::Failure;
use crate::serve::signals::Signals;

/// Serves until a signal says to stop.
pub(crate) fn run(options: &ServeOptions) -> Result<(), Failure> {
    let app = with_algorithm!(options.algorithm, Chosen => app::router::<Chosen>(options.limit));
    let app = app.map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io(format_args!("cannot start: {error}")))?;
    let outcome = runtime.block_on(serve(options, app));
    // Connections that did not end in time are not waited for again.
    runtime.shutdown_background();
    outcome
}

/// Listens, says so, and serves.
async fn serve(options: &ServeOptions, app: Router) -> Result<(), Failure> {
    let listener = TcpListener::bind(&options.listen).await.map_err(|error| cannot_listen(&options.listen, &error))?;
    let address = listener.local_addr().map_err(|error| cannot_listen(&options.listen, &error))?;
    // Signals are caught before anybody can know that there is something to stop.
    let mut signals = Signals::catch().map_err(|error| Failure::io(format_args!("cannot catch signals: {error}")))?;
    cli::print(&greeting(options, address))?;
    connections::serve(listener, app, &mut signals).await;
    Ok(())
}

/// Says why nothing can listen there; an address that is wrong or taken is the command line's fault.
fn cannot_listen(listen: &str, error: &io::Error) -> Failure {
    let message = format!("cannot listen on {listen}: {error}");
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::Other => Failure::io(message),
        _ => Failure::usage(message),
    }
}

/// Returns what is printed at the start: where the program listens and what to try.
fn greeting(options: &ServeOptions, address: SocketAddr) -> String {
    let reachable = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let reachable = SocketAddr::new(reachable, address.port());
    format!(
        "listening on http://{address}, {} for each key ({}); ctrl-C stops\n\
         try: for i in 1 2 3 4 5 6 7; do curl -s -w '%{{http_code}}\\n' 'http://{reachable}/v1/check?key=me'; done\n",
        options.limit,
        options.algorithm.name()
    )
}
