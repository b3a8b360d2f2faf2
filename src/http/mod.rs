//! A tower layer that checks a limiter before each request.
//!
//! [`RateLimitLayer`] wraps any `tower` service of HTTP requests. A closure reads from the request whose key pays and
//! how much. A request that passes finds its [`Decision`](crate::Decision) in its extensions; one that does not is
//! answered 429 without reaching the service. Both kinds of response carry `RateLimit-Policy` and `RateLimit`, and a
//! denial that can pass later carries `Retry-After`.
//!
//! # Examples
//!
//! ```
//! use http::{Request, Response, StatusCode};
//! use tollgate::Limiter;
//! use tollgate::http::{Charge, RateLimitLayer};
//! use tower::{Layer, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let limiter: Limiter<str> = Limiter::new("1/min".parse()?)?;
//! let layer = RateLimitLayer::new(limiter, |request: &Request<String>| {
//!     match request.headers().get("x-user").and_then(|user| user.to_str().ok()) {
//!         Some(user) => Ok(Charge::one(user.to_owned())),
//!         None => Err(Response::builder().status(400).body("who are you?".to_owned()).unwrap_or_default()),
//!     }
//! });
//! let service = layer.layer(service_fn(|_: Request<String>| async {
//!     Ok::<_, std::convert::Infallible>(Response::new("hello".to_owned()))
//! }));
//!
//! let request = || Request::builder().header("x-user", "ann").body(String::new());
//! assert_eq!(service.clone().oneshot(request()?).await?.status(), StatusCode::OK);
//! let denied = service.clone().oneshot(request()?).await?;
//! assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
//! assert_eq!(denied.headers()["ratelimit-policy"], "\"default\";q=1;w=60");
//! assert!(denied.headers().contains_key("retry-after"));
//! assert_eq!(service.oneshot(Request::default()).await?.status(), StatusCode::BAD_REQUEST);
//! # Ok(())
//! # }
//! ```

mod after;
mod charge;
mod client_ip;
mod denial;
mod future;
mod gate;
mod headers;
mod key;
mod layer;
mod service;

pub use self::after::{After, KeepCharge, Settle};
pub use self::charge::Charge;
pub use self::client_ip::{ClientIp, ClientIpError};
pub use self::denial::{Denial, Problem, TooManyRequests};
pub use self::future::ResponseFuture;
pub use self::gate::Gate;
pub use self::headers::{Generation, Headers, PolicyNameError};
pub use self::key::{Client, Cookie, Header, Key, Method, Missing, Path};
pub use self::layer::RateLimitLayer;
pub use self::service::RateLimit;
