//! From keys to identities: 64 bits that stand for a key in the table.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The default hasher of keys, with secrets of its own in each instance.
///
/// A key that is one integer of up to 64 bits is mapped by a keyed bijection: no two share an identity (but for the
/// two integers, unknown and different in each limiter, that would get the two identities the table keeps to
/// itself). All other keys are hashed by [`ahash`], which is made to stand up to keys chosen by attackers; two of n
/// live keys share a word with probability n² / 2^65, 1 in 37 million for a million keys.
///
/// # Examples
///
/// ```
/// use std::hash::BuildHasher;
/// use tollgate::KeyState;
///
/// let state = KeyState::new();
/// assert_eq!(state.hash_one(7u64), state.hash_one(7u64));
/// assert_ne!(state.hash_one(7u64), state.hash_one(8u64));
/// assert_ne!(state.hash_one(7u64), KeyState::new().hash_one(7u64));
/// ```
#[derive(Clone)]
pub struct KeyState {
    integers: IntegerKeys,
    bytes: ahash::RandomState,
}

/// The secrets of the bijection.
#[derive(Clone, Copy)]
struct IntegerKeys {
    offset: u64,
    first: u64,
    second: u64,
}

impl KeyState {
    /// Makes a hasher with new secrets.
    pub fn new() -> Self {
        let random = RandomState::new();
        let integers =
            IntegerKeys { offset: random.hash_one(0), first: random.hash_one(1) | 1, second: random.hash_one(2) | 1 };
        Self { integers, bytes: ahash::RandomState::new() }
    }
}

impl Default for KeyState {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for KeyState {
    /// Leaves the secrets out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyState").finish_non_exhaustive()
    }
}

impl BuildHasher for KeyState {
    type Hasher = KeyHasher;

    #[inline(always)]
    fn build_hasher(&self) -> KeyHasher {
        KeyHasher { integers: self.integers, state: State::Empty, bytes: self.bytes.build_hasher() }
    }
}

impl IntegerKeys {
    /// Maps an integer to its identity: each step can be undone, and every bit in reaches the top and the bottom.
    #[inline(always)]
    fn identity(self, key: u64) -> u64 {
        let key = key ^ self.offset;
        (key ^ key >> 32).wrapping_mul(self.first).swap_bytes().wrapping_mul(self.second)
    }
}

/// Hashes one key; see [`KeyState`].
#[derive(Clone)]
pub struct KeyHasher {
    integers: IntegerKeys,
    state: State,
    bytes: ahash::AHasher,
}

/// What was written so far.
#[derive(Clone, Copy)]
enum State {
    Empty,
    /// One integer and nothing else.
    Integer(u64),
    /// Anything else, by now in the hasher of bytes.
    Bytes,
}

impl KeyHasher {
    /// Moves what was written into the hasher of bytes.
    #[inline(always)]
    fn spill(&mut self) {
        if let State::Integer(key) = self.state {
            self.bytes.write_u64(key);
        }
        self.state = State::Bytes;
    }
}

impl Hasher for KeyHasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        self.spill();
        self.bytes.write(bytes);
    }

    #[inline(always)]
    fn write_u64(&mut self, key: u64) {
        if matches!(self.state, State::Empty) {
            self.state = State::Integer(key);
        } else {
            self.spill();
            self.bytes.write_u64(key);
        }
    }

    #[inline(always)]
    fn write_u8(&mut self, key: u8) {
        self.write_u64(u64::from(key));
    }

    #[inline(always)]
    fn write_u16(&mut self, key: u16) {
        self.write_u64(u64::from(key));
    }

    #[inline(always)]
    fn write_u32(&mut self, key: u32) {
        self.write_u64(u64::from(key));
    }

    #[inline(always)]
    fn write_usize(&mut self, key: usize) {
        self.write_u64(key as u64);
    }

    #[inline(always)]
    fn write_u128(&mut self, key: u128) {
        self.spill();
        self.bytes.write_u128(key);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        match self.state {
            State::Integer(key) => self.integers.identity(key),
            State::Empty | State::Bytes => self.bytes.finish(),
        }
    }
}

impl fmt::Debug for KeyHasher {
    /// Leaves the secrets out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHasher").finish_non_exhaustive()
    }
}

/// The key of a network address, the same for every spelling of it: IPv4 whole, IPv6 by its /64, and an IPv4 address
/// mapped into IPv6 as the IPv4 address.
///
/// A host with one IPv6 network has 2^64 addresses to call from, so the network is what is limited.
///
/// # Examples
///
/// ```
/// use std::net::IpAddr;
/// use tollgate::Address;
///
/// let key = |text: &str| text.parse::<IpAddr>().map(Address::from);
/// assert_eq!(key("::ffff:1.2.3.4")?, key("1.2.3.4")?);
/// assert_eq!(key("2001:db8::1")?, key("2001:db8::ffff:2")?);
/// assert_ne!(key("2001:db8::1")?, key("2001:db8:0:1::1")?);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    network: u128,
    prefix: u8,
}

impl Address {
    /// The bits of an IPv6 address that count unless another number is chosen.
    pub const PREFIX: u8 = 64;

    /// Makes the key of an address of which, if it is IPv6, the first `prefix` bits count; at most 128 do.
    pub fn with_prefix(address: IpAddr, prefix: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self { network: address.to_ipv6_mapped().to_bits(), prefix: 128 },
            IpAddr::V6(address) => {
                let prefix = prefix.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
                Self { network: address.to_bits() & mask, prefix }
            }
        }
    }
}

impl Hash for Address {
    /// Writes one integer, which is mapped exactly, for IPv4 and for IPv6 of up to 64 bits.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match Ipv6Addr::from_bits(self.network).to_ipv4_mapped() {
            // No network of senders begins with these bits: they are of multicast.
            Some(address) => state.write_u64(0xffff_0000_0000_0000 | u64::from(address.to_bits())),
            None if self.prefix <= 64 => state.write_u64((self.network >> 64) as u64),
            None => state.write_u128(self.network),
        }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        Self::with_prefix(address, Self::PREFIX)
    }
}

impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Self {
        IpAddr::V4(address).into()
    }
}

impl From<Ipv6Addr> for Address {
    fn from(address: Ipv6Addr) -> Self {
        IpAddr::V6(address).into()
    }
}

impl fmt::Display for Address {
    /// Writes the address, or the network with its prefix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = Ipv6Addr::from_bits(self.network);
        match network.to_ipv4_mapped() {
            Some(address) => write!(f, "{address}"),
            None if self.prefix == 128 => write!(f, "{network}"),
            None => write!(f, "{network}/{}", self.prefix),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn integers_of_any_width_and_sign_are_told_apart() {
        let state = KeyState::new();
        let ids: HashSet<u64> = (0..100_000u64).map(|key| state.hash_one(key << 40)).collect();
        assert_eq!(ids.len(), 100_000);
        assert_eq!(state.hash_one(7u8), state.hash_one(7usize));
        assert_ne!(state.hash_one(-1i8), state.hash_one(-1i64));
    }

    #[test]
    fn top_and_bottom_of_an_identity_depend_on_every_bit() {
        let integers =
            IntegerKeys { offset: 0x243f_6a88_85a3_08d3, first: 0x1319_8a2e_0370_7345, second: 0xa409_3822_299f_31d1 };
        for shift in 0..=56 {
            let ids: Vec<u64> = (0..256u64).map(|key| integers.identity(key << shift)).collect();
            let tops: HashSet<u64> = ids.iter().map(|id| id >> 56).collect();
            let bottoms: HashSet<u64> = ids.iter().map(|id| id & 255).collect();
            assert!(tops.len() > 80, "{} tops at {shift}", tops.len());
            assert!(bottoms.len() > 80, "{} bottoms at {shift}", bottoms.len());
        }
    }

    #[test]
    fn parts_of_a_key_do_not_run_together() {
        let state = KeyState::new();
        assert_ne!(state.hash_one((1u64, 2u64)), state.hash_one((2u64, 1u64)));
        assert_ne!(state.hash_one(("ab", "c")), state.hash_one(("a", "bc")));
        assert_ne!(state.hash_one((1u64, "a")), state.hash_one((2u64, "a")));
        assert_eq!(state.hash_one("a"), state.hash_one(String::from("a")));
    }

    #[test]
    fn addresses_have_one_key_for_all_spellings() {
        let key = |text: &str| Address::from(text.parse::<IpAddr>().expect(text));
        assert_eq!(key("::ffff:102:304"), key("1.2.3.4"));
        assert_ne!(key("::ffff:5.6.7.8"), key("1.2.3.4"));
        assert_ne!(key("::"), key("0.0.0.0"));
        assert_eq!(key("1.2.3.4").to_string(), "1.2.3.4");
        assert_eq!(key("2001:db8::7").to_string(), "2001:db8::/64");
        let narrow = |text: &str| Address::with_prefix(text.parse().expect(text), 128);
        assert_ne!(narrow("2001:db8::1"), narrow("2001:db8::2"));
        assert_eq!(narrow("2001:db8::1").to_string(), "2001:db8::1");
        assert_eq!(Address::with_prefix("2001:db8::1".parse().expect("an address"), 0).to_string(), "::/0");
    }
}
