//! An axum service behind nginx on the same machine: five requests in ten seconds for each client address.
//!
//! ```text
//! cargo run --example axum --features http
//! curl -i http://127.0.0.1:3000/ -H 'X-Forwarded-For: 203.0.113.9'
//! ```

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response, StatusCode};
use axum::{Router, routing};
use tollgate::http::{Charge, ClientIp, Problem, RateLimitLayer};
use tollgate::{Address, Limiter};

// A response is a little larger than clippy likes errors to be.
#[allow(clippy::result_large_err)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Nginx is believed when it names its client; whoever connects from elsewhere is the client.
    let clients = ClientIp::behind(["127.0.0.1", "::1"])?;
    let limiter: Limiter<Address> = Limiter::new("5/10s".parse()?)?;
    let charge = move |request: &Request<Body>| {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let key = peer.map(|ConnectInfo(peer)| clients.key(peer.ip(), request.headers()));
        key.map(Charge::one).ok_or_else(|| {
            let mut refusal = Response::new(Body::from("the address of the client is not known\n"));
            *refusal.status_mut() = StatusCode::BAD_REQUEST;
            refusal
        })
    };
    let limit = RateLimitLayer::new(limiter, charge).denial(Problem).policy_name("address")?;
    let app = Router::new().route("/", routing::get(async || "hello\n")).layer(limit);

    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
