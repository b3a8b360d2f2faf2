//! Whose address a request comes from, behind proxies or not.

mod error;
mod node;
mod walk;

pub use self::error::ClientIpError;

use std::net::IpAddr;

use http::header::{FORWARDED, HeaderMap, HeaderName};

use self::walk::FromRight;
use crate::key::Address;
use crate::policy::{AddressRange, RangeError};

/// Finds the address of a client: that of the peer, or what trusted proxies say.
///
/// Headers are believed only as far as whoever wrote them is trusted. A peer that is no trusted proxy is the client, whatever
/// its headers say. Otherwise the list in `X-Forwarded-For` or `Forwarded` is walked from the right, over all of its
/// lines, and the first address that is no trusted proxy is the client. The walk also ends
///
/// - at the left end: the last address that was read is the client, though it is a proxy's;
/// - at anything that is no address (`unknown`, a hidden name, an element without `for`, bytes that are no text, quotes
///   that do not match, more than 512 bytes): the address to its right is the client, or the peer where there is none;
/// - after 32 elements, with the last of them.
///
/// Ports and zones are left out; an IPv4 address mapped into IPv6 is IPv4.
///
/// # Cost
///
/// At most 32 elements of at most 512 bytes are read, each compared with each trusted range; nothing is allocated.
///
/// # Examples
///
/// ```
/// use http::HeaderMap;
/// use tollgate::Address;
/// use tollgate::http::ClientIp;
///
/// let clients = ClientIp::behind(["10.0.0.0/8"])?;
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", "6.6.6.6, 203.0.113.9, 10.0.0.2".parse()?);
/// assert_eq!(clients.address("10.0.0.1".parse()?, &headers).to_string(), "203.0.113.9");
/// // Nobody else is believed.
/// assert_eq!(clients.address("198.51.100.1".parse()?, &headers).to_string(), "198.51.100.1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a finder does nothing until it is asked"]
pub struct ClientIp {
    trusted: Vec<AddressRange>,
    trusts_everybody: bool,
    source: Source,
    prefix: u8,
}

/// The header in which proxies say whom they speak for.
#[derive(Clone, Debug)]
enum Source {
    /// A list of addresses.
    List(HeaderName),
    /// RFC 7239.
    Forwarded,
    /// One address.
    Single(HeaderName),
}

impl ClientIp {
    /// Takes the peer for the client, and believes no header.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderMap;
    /// use tollgate::http::ClientIp;
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert("x-forwarded-for", "6.6.6.6".parse()?);
    /// assert_eq!(ClientIp::direct().address("192.0.2.7".parse()?, &headers).to_string(), "192.0.2.7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn direct() -> Self {
        let source = Source::List(HeaderName::from_static("x-forwarded-for"));
        Self { trusted: Vec::new(), trusts_everybody: false, source, prefix: Address::PREFIX }
    }

    /// Trusts the proxies in these ranges, or at these addresses, to say in `X-Forwarded-For` whom they speak for.
    ///
    /// # Errors
    ///
    /// A text that is no range is refused, and so is a range of all addresses, `0.0.0.0/0` or `::/0`.
    ///
    /// # Examples
    ///
    /// See [`ClientIp`].
    pub fn behind<T: AsRef<str>>(proxies: impl IntoIterator<Item = T>) -> Result<Self, ClientIpError> {
        let trusted = proxies.into_iter().map(|text| range(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { trusted, ..Self::direct() })
    }

    /// Believes whoever connects, and whoever they name: the client is the one at the left end of the list.
    ///
    /// Anybody can then pose as anybody, so this is for servers that none but a proxy can reach.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderMap;
    /// use tollgate::http::ClientIp;
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert("x-forwarded-for", "6.6.6.6, 203.0.113.9".parse()?);
    /// let client = ClientIp::direct().trust_everybody().address("192.0.2.7".parse()?, &headers);
    /// assert_eq!(client.to_string(), "6.6.6.6");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trust_everybody(self) -> Self {
        Self { trusts_everybody: true, ..self }
    }

    /// Reads `Forwarded` (RFC 7239) in place of `X-Forwarded-For`.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderMap;
    /// use tollgate::http::ClientIp;
    ///
    /// let clients = ClientIp::behind(["192.0.2.7"])?.forwarded();
    /// let mut headers = HeaderMap::new();
    /// headers.insert("forwarded", "for=\"[2001:db8::1]:4711\";proto=https".parse()?);
    /// assert_eq!(clients.address("192.0.2.7".parse()?, &headers).to_string(), "2001:db8::1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forwarded(self) -> Self {
        Self { source: Source::Forwarded, ..self }
    }

    /// Reads a header that holds one address, such as `X-Real-IP` or `CF-Connecting-IP`, in place of `X-Forwarded-For`.
    ///
    /// The proxy must replace what its client sent under that name. A header that stands there twice, or holds no address,
    /// is not believed: the peer is the client then.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::{HeaderMap, HeaderName};
    /// use tollgate::http::ClientIp;
    ///
    /// let clients = ClientIp::behind(["192.0.2.7"])?.header(HeaderName::from_static("x-real-ip"));
    /// let mut headers = HeaderMap::new();
    /// headers.insert("x-real-ip", "203.0.113.9".parse()?);
    /// assert_eq!(clients.address("192.0.2.7".parse()?, &headers).to_string(), "203.0.113.9");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header(self, name: HeaderName) -> Self {
        Self { source: Source::Single(name), ..self }
    }

    /// Sets how many bits of an IPv6 address make a key: 32 to 128, and 64 unless set.
    ///
    /// # Errors
    ///
    /// Any other number is refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::HeaderMap;
    /// use tollgate::http::ClientIp;
    ///
    /// let clients = ClientIp::direct().prefix(56)?;
    /// let key = |address: &str| address.parse().map(|peer| clients.key(peer, &HeaderMap::new()));
    /// assert_eq!(key("2001:db8:0:1::1")?, key("2001:db8:0:2::2")?);
    /// assert!(ClientIp::direct().prefix(0).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(self, prefix: u8) -> Result<Self, ClientIpError> {
        if (32..=128).contains(&prefix) { Ok(Self { prefix, ..self }) } else { Err(ClientIpError::Prefix { prefix }) }
    }

    /// Returns the address of the client of a request with these headers, which came from this peer.
    ///
    /// # Examples
    ///
    /// See [`ClientIp`].
    pub fn address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        match &self.source {
            Source::List(name) => {
                self.walk(peer, FromRight::new(headers, name, false).map(|element| element.and_then(node::parse)))
            }
            Source::Forwarded => {
                let nodes = FromRight::new(headers, &FORWARDED, true);
                self.walk(peer, nodes.map(|element| element.and_then(walk::forwarded_for).and_then(node::parse)))
            }
            Source::Single(name) => single(headers, name).unwrap_or(peer),
        }
    }

    /// Returns the key of the client: its address if that is IPv4, its network if it is IPv6.
    ///
    /// # Examples
    ///
    /// See [`ClientIp::prefix`].
    pub fn key(&self, peer: IpAddr, headers: &HeaderMap) -> Address {
        Address::with_prefix(self.address(peer, headers), self.prefix)
    }

    /// Returns the first address that is not trusted, or the last before the walk ends.
    fn walk(&self, peer: IpAddr, nodes: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        let mut client = peer;
        for node in nodes {
            let Some(address) = node else { break };
            client = address;
            if !self.trusts(client) {
                break;
            }
        }
        client
    }

    /// Tells whether an address is that of a trusted proxy.
    fn trusts(&self, address: IpAddr) -> bool {
        self.trusts_everybody || self.trusted.iter().any(|range| range.contains(address))
    }
}

/// Returns the one address in a header.
fn single(headers: &HeaderMap, name: &HeaderName) -> Option<IpAddr> {
    let mut lines = headers.get_all(name).iter();
    let (only, None) = (lines.next()?, lines.next()) else { return None };
    if only.len() > walk::MOST_BYTES {
        return None;
    }
    node::parse(std::str::from_utf8(only.as_bytes()).ok()?.trim_matches([' ', '\t']))
}

/// Reads a range of addresses; bits after the prefix do not matter.
fn range(text: &str) -> Result<AddressRange, ClientIpError> {
    let shown = || text.chars().take(64).flat_map(char::escape_default).collect();
    let range = match text.parse() {
        Ok(range) | Err(RangeError::HostBits { range, .. }) => range,
        Err(_) => return Err(ClientIpError::NoRange { text: shown() }),
    };
    if range.prefix_bits() == 0 { Err(ClientIpError::TrustsEverybody { text: shown() }) } else { Ok(range) }
}
