//! Ranges of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses in the notation of CIDR: an address and how many of its leading bits all members share.
///
/// An IPv4 address that is written as an IPv6 one (`::ffff:192.0.2.1`) counts as IPv4, and so does a range of them. A
/// range of IPv6 that is wider than that, such as `::/0`, holds no IPv4 address. A bare address is a range of one.
///
/// # Examples
///
/// ```
/// use tollgate::policy::AddressRange;
///
/// let office: AddressRange = "192.0.2.0/24".parse()?;
/// assert!(office.contains("192.0.2.77".parse().unwrap()));
/// assert!(office.contains("::ffff:192.0.2.77".parse().unwrap()));
/// assert!(!office.contains("192.0.3.1".parse().unwrap()));
/// # Ok::<(), tollgate::policy::RangeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressRange {
    /// The first address, never a mapped one.
    first: IpAddr,
    /// How many leading bits count: at most 32 or 128.
    prefix_bits: u8,
}

impl AddressRange {
    /// Returns the range that begins at an address and shares its first `prefix_bits` bits.
    ///
    /// # Errors
    ///
    /// [`RangeError::PrefixTooLong`] if the address has fewer bits, [`RangeError::HostBits`] if a bit after the prefix
    /// is set: the error has the range that was probably meant.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::policy::AddressRange;
    ///
    /// let range = AddressRange::new("10.0.0.0".parse().unwrap(), 8)?;
    /// assert_eq!(range.to_string(), "10.0.0.0/8");
    /// let error = AddressRange::new("10.1.2.3".parse().unwrap(), 8).unwrap_err();
    /// assert_eq!(error.to_string(), "10.1.2.3/8 has bits set after its prefix: write 10.0.0.0/8, or 10.1.2.3/32 for the one address");
    /// # Ok::<(), tollgate::policy::RangeError>(())
    /// ```
    pub fn new(first: IpAddr, prefix_bits: u8) -> Result<Self, RangeError> {
        let width = width(first);
        if prefix_bits > width {
            return Err(RangeError::PrefixTooLong { prefix_bits: prefix_bits.into(), width });
        }
        let corrected = masked(first, prefix_bits);
        if corrected != first {
            return Err(RangeError::HostBits { address: first, range: Self::canonical(corrected, prefix_bits) });
        }
        Ok(Self::canonical(first, prefix_bits))
    }

    /// Returns the range of all mapped addresses, or a part of it, as one of IPv4.
    fn canonical(first: IpAddr, prefix_bits: u8) -> Self {
        match first.to_canonical() {
            IpAddr::V4(mapped) if first.is_ipv6() && prefix_bits >= 96 => {
                Self { first: mapped.into(), prefix_bits: prefix_bits - 96 }
            }
            _ => Self { first, prefix_bits },
        }
    }

    /// Returns the first address of the range.
    ///
    /// # Examples
    ///
    /// ```
    /// let range: tollgate::policy::AddressRange = "10.0.0.0/8".parse().unwrap();
    /// assert_eq!(range.first(), std::net::Ipv4Addr::new(10, 0, 0, 0));
    /// ```
    #[must_use]
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// Returns the last address of the range.
    ///
    /// # Examples
    ///
    /// ```
    /// let range: tollgate::policy::AddressRange = "10.0.0.0/8".parse().unwrap();
    /// assert_eq!(range.last(), std::net::Ipv4Addr::new(10, 255, 255, 255));
    /// ```
    #[must_use]
    pub fn last(&self) -> IpAddr {
        match self.first {
            IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits() | host_bits_v4(self.prefix_bits)).into(),
            IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits() | host_bits_v6(self.prefix_bits)).into(),
        }
    }

    /// Returns how many leading bits all addresses of the range share: at most 32 for IPv4, 128 for IPv6.
    ///
    /// # Examples
    ///
    /// ```
    /// let range: tollgate::policy::AddressRange = "::ffff:10.0.0.0/104".parse().unwrap();
    /// assert_eq!(range.prefix_bits(), 8);
    /// ```
    #[must_use]
    pub fn prefix_bits(&self) -> u8 {
        self.prefix_bits
    }

    /// Tells whether an address lies in the range; a mapped IPv4 address counts as IPv4.
    ///
    /// # Examples
    ///
    /// ```
    /// let range: tollgate::policy::AddressRange = "2001:db8::/32".parse().unwrap();
    /// assert!(range.contains("2001:db8:7::1".parse().unwrap()));
    /// assert!(!range.contains("192.0.2.1".parse().unwrap()));
    /// ```
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        // Addresses of two families are never equal.
        masked(address.to_canonical(), self.prefix_bits) == self.first
    }
}

impl From<IpAddr> for AddressRange {
    fn from(address: IpAddr) -> Self {
        Self::canonical(address, width(address))
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix_bits)
    }
}

impl FromStr for AddressRange {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| RangeError::Address)?;
        let Some(prefix) = prefix else { return Ok(address.into()) };
        if prefix.len() > 3 || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(RangeError::Prefix { width: width(address) });
        }
        let prefix_bits: u16 = prefix.parse().map_err(|_| RangeError::Prefix { width: width(address) })?;
        match u8::try_from(prefix_bits) {
            Ok(prefix_bits) => Self::new(address, prefix_bits),
            Err(_) => Err(RangeError::PrefixTooLong { prefix_bits, width: width(address) }),
        }
    }
}

/// Returns how many bits an address has, as it was written.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns an address with all bits after the prefix cleared.
fn masked(address: IpAddr, prefix_bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !host_bits_v4(prefix_bits)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !host_bits_v6(prefix_bits)).into(),
    }
}

/// Returns the bits after a prefix of IPv4.
fn host_bits_v4(prefix_bits: u8) -> u32 {
    u32::MAX.checked_shr(prefix_bits.into()).unwrap_or(0)
}

/// Returns the bits after a prefix of IPv6.
fn host_bits_v6(prefix_bits: u8) -> u128 {
    u128::MAX.checked_shr(prefix_bits.into()).unwrap_or(0)
}

/// Why a text or an address with a length is no range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RangeError {
    /// What stands before the slash is no address.
    Address,
    /// What stands after the slash is no number.
    Prefix {
        /// How many bits the address has.
        width: u8,
    },
    /// The prefix has more bits than the address.
    PrefixTooLong {
        /// The length that was asked for.
        prefix_bits: u16,
        /// How many bits the address has.
        width: u8,
    },
    /// A bit after the prefix is set, so it is not clear which range is meant.
    HostBits {
        /// The address as it was given.
        address: IpAddr,
        /// The range of that length in which the address lies.
        range: AddressRange,
    },
}

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => write!(f, "not an address: write one such as 192.0.2.0/24 or 2001:db8::/32"),
            Self::Prefix { width } => write!(f, "what follows the slash is no number: write one from 0 to {width}"),
            Self::PrefixTooLong { prefix_bits, width } => {
                write!(f, "a prefix of {prefix_bits} bits is longer than the address: write one from 0 to {width}")
            }
            Self::HostBits { address, range } => {
                let one = AddressRange::from(*address);
                // A mapped address was written with the length that its spelling has.
                let given =
                    if address.is_ipv6() && range.first.is_ipv4() { range.prefix_bits + 96 } else { range.prefix_bits };
                write!(
                    f,
                    "{address}/{given} has bits set after its prefix: write {range}, or {one} for the one address"
                )
            }
        }
    }
}

impl std::error::Error for RangeError {}
