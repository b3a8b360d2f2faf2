//! Ranges and lists against a scan of every entry.
#![cfg(not(loom))]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use tollgate::policy::{AddressLists, AddressRange, ListError, Listing, RangeError, ValueLists};

/// Returns the list and the entry that decide, by looking at every entry: allow before deny, then the longest prefix,
/// then the first.
fn scan(entries: &[(Listing, AddressRange)], address: IpAddr) -> Option<(Listing, usize)> {
    let holding = entries.iter().enumerate().filter(|(_, (_, range))| range.contains(address));
    let best =
        holding.min_by_key(|(idx, (listing, range))| (*listing == Listing::Deny, 128 - range.prefix_bits(), *idx));
    best.map(|(idx, (listing, _))| (*listing, idx))
}

/// Builds lists of these entries.
fn lists(entries: &[(Listing, AddressRange)]) -> AddressLists {
    let mut builder = AddressLists::builder();
    for (listing, range) in entries {
        builder.add(*listing, *range).expect("few entries");
    }
    builder.build()
}

/// The range of this length around an address.
fn around(address: IpAddr, prefix_bits: u8) -> AddressRange {
    match AddressRange::new(address, prefix_bits) {
        Ok(range) => range,
        Err(RangeError::HostBits { range, .. }) => range,
        Err(error) => panic!("{error}"),
    }
}

/// Ranges that lie close together and within each other, of both families.
fn ranges() -> impl Strategy<Value = AddressRange> {
    let v4 = (prop_oneof![0..64u32, Just(u32::MAX), Just(u32::MAX - 9), any::<u32>()], 0..=32u8)
        .prop_map(|(bits, prefix_bits)| around(Ipv4Addr::from_bits(bits).into(), prefix_bits));
    let v6 =
        (prop_oneof![0..64u128, Just(u128::MAX), (1..9u128).prop_map(|high| high << 64), any::<u128>()], 0..=128u8)
            .prop_map(|(bits, prefix_bits)| around(Ipv6Addr::from_bits(bits).into(), prefix_bits));
    prop_oneof![v4, v6]
}

/// The addresses at both ends of a range and one beyond each.
fn edges(range: AddressRange) -> Vec<IpAddr> {
    match (range.first(), range.last()) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            [first.to_bits(), first.to_bits().wrapping_sub(1), last.to_bits(), last.to_bits().wrapping_add(1)]
                .map(|bits| Ipv4Addr::from_bits(bits).into())
                .to_vec()
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            [first.to_bits(), first.to_bits().wrapping_sub(1), last.to_bits(), last.to_bits().wrapping_add(1)]
                .map(|bits| Ipv6Addr::from_bits(bits).into())
                .to_vec()
        }
        ends => panic!("ends of two families: {ends:?}"),
    }
}

proptest! {
    #[test]
    fn a_look_up_says_what_a_scan_says(
        entries in prop::collection::vec((prop_oneof![Just(Listing::Allow), Just(Listing::Deny)], ranges()), 0..80),
        others in prop::collection::vec(any::<u128>(), 8),
    ) {
        let lists = lists(&entries);
        let mut addresses: Vec<IpAddr> = entries.iter().flat_map(|(_, range)| edges(*range)).collect();
        addresses.extend(others.iter().map(|bits| IpAddr::from(Ipv6Addr::from_bits(*bits))));
        addresses.extend(others.iter().map(|bits| IpAddr::from(Ipv4Addr::from_bits(*bits as u32))));
        for address in addresses {
            let found = lists.find(address).map(|listed| (listed.listing(), listed.entry()));
            prop_assert_eq!(found, scan(&entries, address), "{}", address);
        }
    }

    #[test]
    fn a_range_reads_what_it_writes(range in ranges()) {
        prop_assert_eq!(range.to_string().parse::<AddressRange>(), Ok(range));
    }

    #[test]
    fn no_text_panics(text in "[0-9a-f:./]{0,24}|.{0,24}") {
        if let Ok(range) = text.parse::<AddressRange>() {
            prop_assert!(range.contains(range.first()) && range.contains(range.last()));
        }
    }

    #[test]
    fn values_are_allowed_before_they_are_denied(entries in prop::collection::vec((any::<bool>(), "[ab]{0,2}"), 0..20)) {
        let listing = |is_allow| if is_allow { Listing::Allow } else { Listing::Deny };
        let lists = ValueLists::new(entries.iter().map(|(is_allow, text)| (listing(*is_allow), text.as_str()))).expect("few");
        for value in ["", "a", "b", "aa", "ab", "ba", "bb", "c"] {
            let of = |wanted| entries.iter().position(|(is_allow, text)| *is_allow == wanted && text == value);
            let wanted = of(true).map(|idx| (Listing::Allow, idx)).or(of(false).map(|idx| (Listing::Deny, idx)));
            prop_assert_eq!(lists.find(value).map(|listed| (listed.listing(), listed.entry())), wanted);
        }
    }
}

#[test]
fn a_mapped_range_is_one_of_ipv4() {
    let range: AddressRange = "::ffff:10.0.0.0/104".parse().expect("a range");
    assert_eq!(range, "10.0.0.0/8".parse().expect("a range"));
    let all: AddressRange = "::/0".parse().expect("a range");
    assert!(!all.contains("10.0.0.1".parse().expect("an address")));
    let lists = lists(&[(Listing::Deny, range)]);
    for spelling in ["10.1.2.3", "::ffff:10.1.2.3", "::ffff:a01:203"] {
        assert!(lists.find(spelling.parse().expect("an address")).is_some(), "{spelling}");
    }
}

#[test]
fn what_is_no_range_is_told_with_its_place_and_the_fix() {
    let cases = [
        ("ten", "not an address: write one such as 192.0.2.0/24 or 2001:db8::/32"),
        ("10.0.0.0/", "what follows the slash is no number: write one from 0 to 32"),
        ("10.0.0.0/+8", "what follows the slash is no number: write one from 0 to 32"),
        ("10.0.0.0/33", "a prefix of 33 bits is longer than the address: write one from 0 to 32"),
        ("::/999", "a prefix of 999 bits is longer than the address: write one from 0 to 128"),
        (
            "2001:db8::1/64",
            "2001:db8::1/64 has bits set after its prefix: write 2001:db8::/64, or 2001:db8::1/128 for the one address",
        ),
        (
            "::ffff:10.1.0.0/104",
            "::ffff:10.1.0.0/104 has bits set after its prefix: write 10.0.0.0/8, or 10.1.0.0/32 for the one address",
        ),
    ];
    for (text, message) in cases {
        let error = AddressLists::builder().add_text(Listing::Deny, ["::1", text]).expect_err(text);
        assert_eq!(error.to_string(), format!("entry 1, {text:?}: {message}"));
    }
    let long = "x".repeat(1_000_000);
    let Err(ListError::Range { text, .. }) = AddressLists::builder().add_text(Listing::Deny, [&long]) else {
        panic!("a range of x")
    };
    assert_eq!(text.len(), 64);
}

#[test]
fn a_hundred_thousand_entries_take_few_bytes_each() {
    let v4 = (0..100_000u32).map(|i| (Listing::Deny, around(Ipv4Addr::from_bits(i << 12).into(), 24)));
    let v6 = (0..100_000u128).map(|i| (Listing::Deny, around(Ipv6Addr::from_bits(i << 80).into(), 64)));
    let (v4, v6): (Vec<_>, Vec<_>) = (v4.collect(), v6.collect());
    assert!((1_600_000..1_680_000).contains(&lists(&v4).bytes()), "{}", lists(&v4).bytes());
    assert!((4_000_000..4_240_000).contains(&lists(&v6).bytes()), "{}", lists(&v6).bytes());
}

#[test]
fn what_an_allowed_range_hides_takes_no_memory() {
    let denied = (0..1000u32).map(|i| (Listing::Deny, around(Ipv4Addr::from_bits(i << 12).into(), 24)));
    let entries: Vec<_> = denied.chain([(Listing::Allow, around(Ipv4Addr::UNSPECIFIED.into(), 0))]).collect();
    let empty = lists(&[]).bytes();
    assert!(lists(&entries).bytes() <= empty, "{} bytes, {empty} without entries", lists(&entries).bytes());
}
