//! What can be wrong with where an address comes from.

use std::fmt;

/// Why a setting of [`ClientIp`](crate::http::ClientIp) was refused.
///
/// # Examples
///
/// ```
/// use tollgate::http::{ClientIp, ClientIpError};
///
/// let refused = ClientIp::behind(["10.0.0.0/33"]).unwrap_err();
/// assert_eq!(refused, ClientIpError::NoRange { text: "10.0.0.0/33".into() });
/// assert_eq!(
///     refused.to_string(),
///     "\"10.0.0.0/33\" is no range of addresses: write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientIpError {
    /// The text is no range of addresses.
    NoRange {
        /// The text, in escaped form.
        text: String,
    },
    /// The range has every address in it.
    TrustsEverybody {
        /// The range.
        text: String,
    },
    /// So many bits of an IPv6 address are no key of a network.
    Prefix {
        /// The number.
        prefix: u8,
    },
}

impl fmt::Display for ClientIpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRange { text } => {
                write!(f, "\"{text}\" is no range of addresses: write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7")
            }
            Self::TrustsEverybody { text } => write!(
                f,
                "\"{text}\" trusts every address to name the client: name the proxies, or say `trust_everybody`"
            ),
            Self::Prefix { prefix } => {
                write!(f, "{prefix} bits of an IPv6 address are no network of a client: take 32 to 128")
            }
        }
    }
}

impl std::error::Error for ClientIpError {}
