//! Keys of requests, and the layer served over real sockets, to honest clients and to those who send too much.

#![cfg(all(feature = "http", not(loom)))]

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::{Router, routing};
use http::{Extensions, HeaderName, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tollgate::http::{Client, ClientIp, Cookie, Header, Key, Missing, RateLimitLayer};
use tollgate::{Address, Limiter, ManualClock};

/// Serves a limit per client address, whose clock stands still, behind proxies in 10.0.0.0/8; returns where.
async fn serve(quota: &str) -> SocketAddr {
    let clock = ManualClock::new();
    let builder = Limiter::<Address>::builder(quota.parse().expect("a quota")).clock(clock.clock());
    let limiter = builder.build().expect("a limiter");
    let walk = ClientIp::behind(["10.0.0.0/8"]).expect("ranges");
    let client = Client::new(walk, |found: &Extensions| Some(found.get::<ConnectInfo<SocketAddr>>()?.0.ip()));
    let layer = RateLimitLayer::new(limiter, Key::<Body>::charge::<Body>(client, Missing::Deny));
    let app = Router::new().route("/", routing::get(async || "hello")).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    address
}

/// Sends one request with these header lines; returns the status, zero where the server hung up.
async fn status(server: SocketAddr, lines: &str) -> u16 {
    let mut stream = TcpStream::connect(server).await.expect("a connection");
    let text = format!("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{lines}\r\n");
    // The server may hang up on a bomb while it is still being sent.
    let _ = stream.write_all(text.as_bytes()).await;
    let mut answer = [0; 12];
    let read = stream.read_exact(&mut answer).await.is_ok();
    if read { String::from_utf8_lossy(&answer[9..]).parse().expect("a status") } else { 0 }
}

#[tokio::test]
async fn an_untrusted_peer_is_one_client_whatever_it_claims() {
    let server = serve("100/min").await;
    let mut allowed = 0;
    for n in 0..200 {
        allowed += u32::from(status(server, &format!("x-forwarded-for: 198.51.100.{n}\r\n")).await == 200);
    }
    assert_eq!(allowed, 100);
}

#[tokio::test]
async fn bombs_of_headers_leave_the_limit_at_work() {
    let server = serve("2/min").await;
    let many: String = (0..5_000).map(|n| format!("x-forwarded-for: 10.0.0.{}\r\n", n % 256)).collect();
    let huge = format!("x-forwarded-for: {}\r\n", "10.0.0.1, ".repeat(1_000_000));
    for bomb in [many, huge] {
        assert!([0, 400, 431].contains(&status(server, &bomb).await));
    }
    let large = format!("x-forwarded-for: {}\r\n", "10.0.0.1, ".repeat(10_000));
    assert_eq!([status(server, &large).await, status(server, "").await, status(server, "").await], [200, 200, 429]);
}

#[test]
fn keys_are_what_stands_first_and_missing_where_a_part_is() {
    let request = Request::builder().header("cookie", "ab=1; a=2").header("cookie", "a=3;b=").header("x-a", "4");
    let request = request.body(()).expect("a request");
    assert_eq!(Cookie("a").key(&request), Some(b"2".to_vec()));
    assert_eq!(Cookie("b").key(&request), Some(Vec::new()));
    assert_eq!(Cookie("c").key(&request), None);
    let (present, absent) = (Header(HeaderName::from_static("x-a")), Header(HeaderName::from_static("x-b")));
    assert_eq!(present.key(&request), Some(b"4".to_vec()));
    assert_eq!((present.clone(), Cookie("a")).key(&request), Some((b"4".to_vec(), b"2".to_vec())));
    assert_eq!((present.clone(), Cookie("a"), absent.clone()).key(&request), None);
    assert_eq!((absent, present).key(&request), None);
}
