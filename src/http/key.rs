//! Keys read from requests.

use std::net::IpAddr;

use http::header::{COOKIE, HeaderName};
use http::{Extensions, Request, Response, StatusCode};

use crate::http::charge::Charge;
use crate::http::client_ip::ClientIp;
use crate::key::Address;

/// Reads a key from a request; any closure from `&Request<B>` to an `Option` does, and so do pairs and triples, whose
/// key is missing if one of theirs is.
///
/// # Examples
///
/// ```
/// use http::Request;
/// use tollgate::http::{Cookie, Key, Method, Path};
///
/// let request = Request::builder().uri("/a?b=c").header("cookie", "x=1; session=ann").body(())?;
/// assert_eq!((Method, Path).key(&request), Some((http::Method::GET, "/a".to_owned())));
/// assert_eq!(Cookie("session").key(&request), Some(b"ann".to_vec()));
/// assert_eq!((Path, Cookie("sess")).key(&request), None);
/// # Ok::<(), http::Error>(())
/// ```
pub trait Key<B> {
    /// What is read.
    type Value;

    /// Returns the key of `request`, if it has one.
    fn key(&self, request: &Request<B>) -> Option<Self::Value>;

    /// Makes the closure that a layer charges by: each request one, and `missing` where there is no key.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{HeaderName, Request, Response};
    /// use tollgate::http::{Charge, Header, Key, Missing};
    ///
    /// let name = HeaderName::from_static("x-api-key");
    /// let strict = Header(name.clone()).charge::<()>(Missing::Deny);
    /// assert_eq!(strict(&Request::new(())).map_err(|refusal| refusal.status().as_u16()), Err(400));
    /// let shared = Header(name).charge::<()>(Missing::Share(b"nobody".to_vec()));
    /// assert_eq!(shared(&Request::new(())).ok(), Some(Charge::one(b"nobody".to_vec())));
    /// ```
    fn charge<R: Default>(
        self,
        missing: Missing<Self::Value>,
    ) -> impl Fn(&Request<B>) -> Result<Charge<Self::Value>, Response<R>> + Clone
    where
        Self: Sized + Clone,
        Self::Value: Clone,
    {
        move |request| match (self.key(request), &missing) {
            (Some(key), _) => Ok(Charge::one(key)),
            (None, Missing::Share(key)) => Ok(Charge::one(key.clone())),
            (None, Missing::Deny) => {
                let mut refusal = Response::new(R::default());
                *refusal.status_mut() = StatusCode::BAD_REQUEST;
                Err(refusal)
            }
        }
    }
}

/// What is done with a request that has no key.
///
/// # Examples
///
/// See [`Key::charge`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing<T> {
    /// It is answered 400, and spends nothing.
    #[default]
    Deny,
    /// All such requests share this key.
    Share(T),
}

impl<B, T, F: Fn(&Request<B>) -> Option<T>> Key<B> for F {
    type Value = T;

    fn key(&self, request: &Request<B>) -> Option<T> {
        self(request)
    }
}

impl<B, K: Key<B>, L: Key<B>> Key<B> for (K, L) {
    type Value = (K::Value, L::Value);

    fn key(&self, request: &Request<B>) -> Option<Self::Value> {
        Some((self.0.key(request)?, self.1.key(request)?))
    }
}

impl<B, K: Key<B>, L: Key<B>, M: Key<B>> Key<B> for (K, L, M) {
    type Value = (K::Value, L::Value, M::Value);

    fn key(&self, request: &Request<B>) -> Option<Self::Value> {
        Some((self.0.key(request)?, self.1.key(request)?, self.2.key(request)?))
    }
}

/// The method; see [`Key`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Method;

impl<B> Key<B> for Method {
    type Value = http::Method;

    fn key(&self, request: &Request<B>) -> Option<http::Method> {
        Some(request.method().clone())
    }
}

/// The path, as it was sent and without the query; see [`Key`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path;

impl<B> Key<B> for Path {
    type Value = String;

    fn key(&self, request: &Request<B>) -> Option<String> {
        Some(request.uri().path().to_owned())
    }
}

/// The first header of a name, any bytes; see [`Key`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header(pub HeaderName);

impl<B> Key<B> for Header {
    type Value = Vec<u8>;

    fn key(&self, request: &Request<B>) -> Option<Vec<u8>> {
        request.headers().get(&self.0).map(|value| value.as_bytes().to_vec())
    }
}

/// The first cookie of a name, any bytes; see [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie(pub &'static str);

impl<B> Key<B> for Cookie {
    type Value = Vec<u8>;

    fn key(&self, request: &Request<B>) -> Option<Vec<u8>> {
        let lines = request.headers().get_all(COOKIE).into_iter();
        let mut pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
        pairs.find_map(|pair| {
            let value = pair.trim_ascii().strip_prefix(self.0.as_bytes())?.strip_prefix(b"=")?;
            Some(value.to_vec())
        })
    }
}

/// The client's address, walked to from the peer's, which the closure finds among the request's extensions.
///
/// # Examples
///
/// ```
/// use std::net::IpAddr;
/// use http::{Extensions, Request};
/// use tollgate::http::{Client, ClientIp, Key};
///
/// let client = Client::new(ClientIp::direct(), |found: &Extensions| found.get::<IpAddr>().copied());
/// let mut request = Request::new(());
/// assert!(client.key(&request).is_none());
/// request.extensions_mut().insert(IpAddr::from([192, 0, 2, 1]));
/// assert!(client.key(&request).is_some());
/// ```
#[derive(Clone, Debug)]
pub struct Client<F> {
    walk: ClientIp,
    peer: F,
}

impl<F: Fn(&Extensions) -> Option<IpAddr>> Client<F> {
    /// Makes a key of `walk`, from the address that `peer` finds.
    pub const fn new(walk: ClientIp, peer: F) -> Self {
        Self { walk, peer }
    }
}

impl<B, F: Fn(&Extensions) -> Option<IpAddr>> Key<B> for Client<F> {
    type Value = Address;

    fn key(&self, request: &Request<B>) -> Option<Address> {
        (self.peer)(request.extensions()).map(|peer| self.walk.key(peer, request.headers()))
    }
}
