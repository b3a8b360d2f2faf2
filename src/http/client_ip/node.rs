//! One address, as proxies write it.

use std::net::{IpAddr, Ipv6Addr};

/// Reads the address of a node: bare, with a port, in brackets, with a zone; none if it is anything else.
///
/// An IPv4 address mapped into IPv6 is read as the IPv4 address. Ports and zones are checked for their form and left out.
pub(super) fn parse(text: &str) -> Option<IpAddr> {
    let address = if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']')?;
        if !(after.is_empty() || after.strip_prefix(':').is_some_and(is_port)) {
            return None;
        }
        IpAddr::V6(parse_v6(inside)?)
    } else if let Ok(address) = text.parse() {
        IpAddr::V4(address)
    } else if let Some(address) = parse_v6(text) {
        IpAddr::V6(address)
    } else {
        let (address, port) = text.split_once(':')?;
        if !is_port(port) {
            return None;
        }
        IpAddr::V4(address.parse().ok()?)
    };
    Some(address.to_canonical())
}

/// Reads an IPv6 address with or without a zone.
fn parse_v6(text: &str) -> Option<Ipv6Addr> {
    match text.split_once('%') {
        Some((_, "")) => None,
        Some((address, _)) => address.parse().ok(),
        None => text.parse().ok(),
    }
}

/// Tells whether a text is a port: a number of 16 bits, or a name after an underscore as RFC 7239 has it.
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        }
        None => text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_many_spellings() {
        for (text, address) in [
            ("1.2.3.4", "1.2.3.4"),
            ("1.2.3.4:80", "1.2.3.4"),
            ("1.2.3.4:_hidden", "1.2.3.4"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("[::ffff:102:304]:1", "1.2.3.4"),
            ("2001:DB8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:65535", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("[fe80::1%25eth0]:80", "fe80::1"),
        ] {
            assert_eq!(parse(text), address.parse().ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            "unknown",
            "_hidden",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "1.2.3.4:",
            "1.2.3.4:65536",
            "1.2.3.4:+80",
            "1.2.3.4:_",
            "1.2.3.4%eth0",
            "[1.2.3.4]",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1]:",
            "::1%",
            "[]",
            "[::1]:80:80",
            " ::1",
            "1.2.3.4:_a b",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
