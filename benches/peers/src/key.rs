//! Who is limited: the two kinds of keys that are measured.

use std::hash::Hash;
use std::net::Ipv4Addr;

/// A kind of key.
pub(crate) trait Key: Hash + Eq + Clone + Send + Sync + 'static {
    /// What a pregenerated sequence holds for one check.
    type Stored: Send + Sync;

    /// The name of the kind in results.
    const KIND: &'static str;

    /// Makes the key of a number; different numbers make different keys.
    fn of(number: u64) -> Self;

    /// Makes what a sequence holds for a number.
    fn stored(number: u32) -> Self::Stored;

    /// Calls `visit` with the key that a sequence holds.
    fn with<R>(stored: &Self::Stored, visit: impl FnOnce(&Self) -> R) -> R;

    /// Returns the key as an integer, if it is one.
    fn number(&self) -> Option<u64>;

    /// Calls `visit` with the key as text; an integer is written out on the stack.
    fn text<R>(&self, visit: impl FnOnce(&str) -> R) -> R;
}

impl Key for u64 {
    type Stored = u32;

    const KIND: &'static str = "integer";

    #[inline]
    fn of(number: u64) -> Self {
        number
    }

    fn stored(number: u32) -> u32 {
        number
    }

    #[inline]
    fn with<R>(stored: &u32, visit: impl FnOnce(&Self) -> R) -> R {
        visit(&Self::from(*stored))
    }

    #[inline]
    fn number(&self) -> Option<u64> {
        Some(*self)
    }

    #[inline]
    fn text<R>(&self, visit: impl FnOnce(&str) -> R) -> R {
        visit(itoa::Buffer::new().format(*self))
    }
}

impl Key for String {
    type Stored = Self;

    const KIND: &'static str = "string";

    /// Returns an address such as `203.0.113.77`; only the low 32 bits of the number count.
    fn of(number: u64) -> Self {
        // An odd factor permutes the 32-bit numbers, so addresses do not run in a row.
        let bits = u32::try_from(number & 0xFFFF_FFFF).expect("32 bits fit").wrapping_mul(0x9E37_79B1);
        Ipv4Addr::from_bits(bits).to_string()
    }

    fn stored(number: u32) -> Self {
        Self::of(u64::from(number))
    }

    #[inline]
    fn with<R>(stored: &Self, visit: impl FnOnce(&Self) -> R) -> R {
        visit(stored)
    }

    #[inline]
    fn number(&self) -> Option<u64> {
        None
    }

    #[inline]
    fn text<R>(&self, visit: impl FnOnce(&str) -> R) -> R {
        visit(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_numbers_make_different_addresses() {
        let addresses: std::collections::HashSet<String> = (0..10_000).map(String::of).collect();
        assert_eq!(addresses.len(), 10_000);
    }

    #[test]
    fn an_integer_is_written_in_decimal() {
        assert_eq!(u64::with(&42, |key| key.text(str::to_owned)), "42");
    }
}
