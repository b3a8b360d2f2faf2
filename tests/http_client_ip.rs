//! Whose address a request comes from: trusted proxies, spellings, spoofing and hostile headers.

#![cfg(all(feature = "http", not(loom)))]

use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate::http::{ClientIp, ClientIpError};
use tollgate::{Address, Limiter, ManualClock};

/// Reads an address.
fn ip(text: &str) -> IpAddr {
    text.parse().expect(text)
}

/// Makes headers of lines under one name.
fn lines(name: &'static str, values: &[&[u8]]) -> HeaderMap {
    let name = HeaderName::from_static(name);
    values.iter().map(|value| (name.clone(), HeaderValue::from_bytes(value).expect("a value"))).collect()
}

/// Returns the client that the proxies of 10.0.0.0/8 and of one IPv6 network name in `X-Forwarded-For`.
fn listed(values: &[&str]) -> String {
    let clients = ClientIp::behind(["10.0.0.0/8", "2001:db8:a::/48"]).expect("ranges");
    let values: Vec<&[u8]> = values.iter().map(|value| value.as_bytes()).collect();
    clients.address(ip("10.0.0.1"), &lines("x-forwarded-for", &values)).to_string()
}

/// Returns the client that a proxy names in `Forwarded`.
fn forwarded(values: &[&str]) -> String {
    let clients = ClientIp::behind(["10.0.0.0/8"]).expect("a range").forwarded();
    let values: Vec<&[u8]> = values.iter().map(|value| value.as_bytes()).collect();
    clients.address(ip("10.0.0.1"), &lines("forwarded", &values)).to_string()
}

#[test]
fn the_rightmost_address_that_is_no_proxy_is_the_client() {
    for (values, client) in [
        (&[][..], "10.0.0.1"),
        (&["203.0.113.9"], "203.0.113.9"),
        (&["6.6.6.6, 203.0.113.9"], "203.0.113.9"),
        (&["6.6.6.6, 203.0.113.9, 10.1.1.1, 10.2.2.2"], "203.0.113.9"),
        (&["6.6.6.6", "203.0.113.9", "10.1.1.1"], "203.0.113.9"),
        (&["6.6.6.6, 203.0.113.9,10.1.1.1", "2001:db8:a::7\t, ,"], "203.0.113.9"),
        (&["::ffff:203.0.113.9, ::ffff:10.1.1.1"], "203.0.113.9"),
        (&["203.0.113.9:4711, [2001:db8:a::7]:443"], "203.0.113.9"),
        (&["[fe80::1%eth0]:80"], "fe80::1"),
        // A private address that is no proxy of ours is the client like any other.
        (&["6.6.6.6, 192.168.0.1"], "192.168.0.1"),
        // Nobody but proxies: the first of them.
        (&["10.9.9.9, 10.1.1.1"], "10.9.9.9"),
    ] {
        assert_eq!(listed(values), client, "{values:?}");
    }
}

#[test]
fn garbage_ends_the_walk_at_the_address_to_its_right() {
    let long = format!("6.6.6.6, {}", "1".repeat(600));
    for (values, client) in [
        (&["6.6.6.6, unknown"][..], "10.0.0.1"),
        (&["6.6.6.6, unknown, 10.1.1.1"], "10.1.1.1"),
        (&["6.6.6.6", "1.2.3.4.5", "10.1.1.1"], "10.1.1.1"),
        (&["6.6.6.6, \"203.0.113.9\""], "10.0.0.1"),
        (&["6.6.6.6; 203.0.113.9"], "10.0.0.1"),
        (&[long.as_str()], "10.0.0.1"),
    ] {
        assert_eq!(listed(values), client, "{values:?}");
    }
    let clients = ClientIp::behind(["10.0.0.0/8"]).expect("a range");
    let headers = lines("x-forwarded-for", &[b"6.6.6.6", b"7.7.7.7, \xff\xfe, 10.1.1.1"]);
    assert_eq!(clients.address(ip("10.0.0.1"), &headers), ip("10.1.1.1"));
}

#[test]
fn forwarded_is_read_with_its_quotes() {
    for (values, client) in [
        (&["for=203.0.113.9"][..], "203.0.113.9"),
        (&["For=\"203.0.113.9:80\";proto=http;by=10.0.0.1"], "203.0.113.9"),
        (&["proto=http ; FOR = \"[2001:db8::1]:4711\""], "2001:db8::1"),
        (&["for=6.6.6.6, for=203.0.113.9;host=\"a,b;for=7.7.7.7\", for=10.1.1.1"], "203.0.113.9"),
        (&["for=6.6.6.6", "for=203.0.113.9;ext=\"\\\", for=8.8.8.8\""], "203.0.113.9"),
        // What the client wrote cannot swallow what a proxy added.
        (&["for=6.6.6.6;ext=\", for=203.0.113.9"], "203.0.113.9"),
        (&["for=6.6.6.6;ext=\"\\, for=\"[2001:db8::1]\""], "2001:db8::1"),
        (&["for=203.0.113.9;ext=\"\\\\\", for=10.1.1.1"], "203.0.113.9"),
        (&["for=_hidden, for=10.1.1.1"], "10.1.1.1"),
        (&["for=unknown"], "10.0.0.1"),
        (&["for=203.0.113.9, proto=http"], "10.0.0.1"),
        (&["for=6.6.6.6;for=203.0.113.9"], "10.0.0.1"),
        (&["for=\"203.0.113.9"], "10.0.0.1"),
        (&["for=\"203.0.113.9\"x"], "10.0.0.1"),
        (&["for=203.0.113.9;"], "203.0.113.9"),
    ] {
        assert_eq!(forwarded(values), client, "{values:?}");
    }
}

#[test]
fn a_header_with_one_address_is_believed_once() {
    let clients =
        ClientIp::behind(["10.0.0.0/8"]).expect("a range").header(HeaderName::from_static("cf-connecting-ip"));
    let client = |values: &[&[u8]]| clients.address(ip("10.0.0.1"), &lines("cf-connecting-ip", values)).to_string();
    assert_eq!(client(&[b" 203.0.113.9 "]), "203.0.113.9");
    assert_eq!(client(&[b"10.1.1.1"]), "10.1.1.1");
    let twice: &[&[u8]] = &[b"203.0.113.9", b"203.0.113.8"];
    let long = [b' '; 9_000];
    for bad in [&[][..], twice, &[b"203.0.113.9, 203.0.113.8"], &[b"\xff"], &[b"me"], &[&long]] {
        assert_eq!(client(bad), "10.0.0.1");
    }
    let spoofed = lines("cf-connecting-ip", &[b"6.6.6.6"]);
    assert_eq!(clients.address(ip("203.0.113.9"), &spoofed), ip("203.0.113.9"));
}

#[test]
fn a_header_of_ten_thousand_entries_is_read_from_the_right_and_no_further_than_32() {
    let mut entries = vec!["6.6.6.6"; 10_000];
    entries.push("203.0.113.9");
    entries.extend(vec!["10.1.1.1"; 31]);
    assert_eq!(listed(&[&entries.join(",")]), "203.0.113.9");
    assert_eq!(listed(&entries), "203.0.113.9", "one line each");
    entries.push("10.2.2.2");
    assert_eq!(listed(&[&entries.join(",")]), "10.1.1.1");
    assert_eq!(listed(&[&format!("203.0.113.9{}", ",".repeat(31))]), "203.0.113.9");
    assert_eq!(listed(&[&format!("203.0.113.9{}", ",".repeat(32))]), "10.0.0.1");
}

#[test]
fn elements_of_512_bytes_are_read_and_no_longer_ones() {
    assert_eq!(listed(&[&format!("6.6.6.6,203.0.113.9{}", " ".repeat(501))]), "203.0.113.9");
    assert_eq!(listed(&[&format!("6.6.6.6,203.0.113.9{},10.1.1.1", " ".repeat(502))]), "10.1.1.1");
}

#[test]
fn trust_is_given_to_ranges_and_to_everybody_only_by_name() {
    for text in ["0.0.0.0/0", "::/0", "::ffff:0:0/96", "1.2.3.4/0"] {
        let refused = ClientIp::behind(["10.0.0.0/8", text]).expect_err(text);
        assert_eq!(refused, ClientIpError::TrustsEverybody { text: text.into() });
        assert!(refused.to_string().contains("trust_everybody"));
    }
    for text in ["", "ten", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "2001:db8::/129", "10.0.0.0 /8", "a\nb"] {
        let refused = ClientIp::behind([text]).expect_err(text);
        assert!(matches!(refused, ClientIpError::NoRange { .. }), "{refused:?}");
        assert!(!refused.to_string().contains('\n'));
    }
    let headers = lines("x-forwarded-for", &[b"6.6.6.6, 203.0.113.9"]);
    let mapped = ClientIp::behind(["::ffff:10.0.0.0/104"]).expect("a range");
    for peer in ["10.0.0.1", "::ffff:10.255.0.1"] {
        assert_eq!(mapped.address(ip(peer), &headers), ip("203.0.113.9"));
    }
    assert_eq!(mapped.address(ip("11.0.0.1"), &headers), ip("11.0.0.1"));
    assert_eq!(ClientIp::direct().trust_everybody().address(ip("9.9.9.9"), &headers), ip("6.6.6.6"));
}

#[test]
fn prefixes_are_those_of_networks() {
    for prefix in [0, 31, 129, 255] {
        assert_eq!(ClientIp::direct().prefix(prefix).expect_err("no network"), ClientIpError::Prefix { prefix });
    }
    let key =
        |prefix, address| ClientIp::direct().prefix(prefix).expect("a prefix").key(ip(address), &HeaderMap::new());
    assert_eq!(key(32, "2001:db8:1::1"), key(32, "2001:db8:2::1"));
    assert_ne!(key(128, "2001:db8::1"), key(128, "2001:db8::2"));
    assert_eq!(key(32, "1.2.3.4"), key(128, "::ffff:1.2.3.4"));
}

/// Returns how many of these calls pass under a limit for each client; a peer and a header are a call.
fn passed(clients: &ClientIp, limit: &str, calls: impl Iterator<Item = (IpAddr, String)>) -> usize {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1));
    let limiter: Limiter<Address> =
        Limiter::builder(limit.parse().expect("a quota")).clock(clock.clock()).build().expect("a limiter");
    let key = |(peer, header): (IpAddr, String)| clients.key(peer, &lines("x-forwarded-for", &[header.as_bytes()]));
    calls.filter(|call| limiter.check(&key(call.clone())).is_allowed()).count()
}

#[test]
fn case_16_the_addresses_of_one_ipv6_network_are_one_key() {
    let proxied = ClientIp::behind(["10.0.0.0/8"]).expect("a range");
    let calls = (0..200).map(|host| (ip("10.0.0.1"), format!("2001:db8:7:7:{host:x}::{host:x}")));
    assert_eq!(passed(&proxied, "5/min", calls), 5);
    let calls = (0..200).map(|host| (ip(&format!("2001:db8:7:7:{host:x}::1")), String::new()));
    assert_eq!(passed(&ClientIp::direct(), "5/min", calls), 5);
}

#[test]
fn case_17_spellings_of_an_address_are_one_key() {
    let clients = ClientIp::behind(["10.0.0.0/8"]).expect("a range");
    let spellings =
        ["::ffff:1.2.3.4", "1.2.3.4", "::ffff:102:304", "[::ffff:102:304]:9", "1.2.3.4:80", "::ffff:5.6.7.8"];
    let calls =
        |spellings: &[&str]| spellings.iter().map(|text| (ip("10.0.0.1"), (*text).to_owned())).collect::<Vec<_>>();
    assert_eq!(passed(&clients, "1/min", calls(&spellings).into_iter()), 2);
    assert_eq!(passed(&clients, "1/min", calls(&spellings[..5]).into_iter()), 1);
}

#[test]
fn case_18_a_peer_that_is_no_proxy_cannot_choose_its_key() {
    let clients = ClientIp::behind(["10.0.0.0/8"]).expect("a range");
    let calls = |peer| (0..200).map(move |call| (ip(peer), format!("198.51.{call}.1")));
    assert_eq!(passed(&clients, "100/min", calls("203.0.113.9")), 100);
    assert_eq!(passed(&clients, "100/min", calls("10.0.0.1")), 200);
}
