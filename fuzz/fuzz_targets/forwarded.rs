//! Walks address headers of any bytes: what is found is what a plain reading of a reversed list finds.
#![no_main]

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use tollgate::http::ClientIp;

/// Reads a node by cutting off what may stand around an address, then putting the pieces to the test.
fn node(text: &str) -> Option<IpAddr> {
    let is_port = |port: &str| match port.strip_prefix('_') {
        Some(name) => !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)),
        None => {
            (1..=u64::MAX).contains(&(port.len() as u64))
                && port.chars().all(|c| c.is_ascii_digit())
                && port.parse::<u16>().is_ok()
        }
    };
    let colons = text.matches(':').count();
    let (address, port, is_v6) = match (text.strip_prefix('['), colons) {
        (Some(rest), _) => {
            let end = rest.find(']')?;
            (&rest[..end], &rest[end + 1..], true)
        }
        (None, 0) => (text, "", false),
        (None, 1) if !text.contains('%') => (&text[..text.find(':')?], &text[text.find(':')?..], false),
        (None, _) => (text, "", true),
    };
    if !(port.is_empty() || port.starts_with(':') && is_port(&port[1..])) {
        return None;
    }
    let parts: Vec<&str> = address.splitn(2, '%').collect();
    let address: IpAddr = match parts[..] {
        [address] => address.parse().ok()?,
        [address, zone] if is_v6 && !zone.is_empty() => address.parse().ok()?,
        _ => return None,
    };
    (address.is_ipv6() == is_v6).then(|| address.to_canonical())
}

/// Splits at a mark outside of quotes, as a reading from the left of sound text, or of text turned round, does.
fn elements(line: &[u8], quoted: bool) -> Vec<Option<Vec<u8>>> {
    let (mut elements, mut element, mut inside) = (Vec::new(), Vec::new(), false);
    let mut reversed = line.iter().rev().copied().peekable();
    while let Some(byte) = reversed.next() {
        if byte == b',' && !inside {
            elements.push(Some(std::mem::take(&mut element)));
            continue;
        }
        element.push(byte);
        if byte == b'"' && quoted {
            let mut escapes = 0;
            while reversed.next_if_eq(&b'\\').is_some() {
                escapes += 1;
                element.push(b'\\');
            }
            inside ^= escapes % 2 == 0;
        }
    }
    elements.push((!inside).then_some(element));
    for element in elements.iter_mut().flatten() {
        element.reverse();
    }
    elements.into_iter().map(|element| element.filter(|bytes| bytes.len() <= 512)).collect()
}

/// Returns the value of the only `for` of an element.
fn value(element: &str) -> Option<String> {
    let (mut pairs, mut inside, mut chars) = (vec![String::new()], false, element.chars());
    while let Some(c) = chars.next() {
        let pair = pairs.last_mut()?;
        match c {
            ';' if !inside => pairs.push(String::new()),
            '\\' if inside => pair.extend([Some(c), chars.next()].into_iter().flatten()),
            _ => {
                inside ^= c == '"';
                pair.push(c);
            }
        }
    }
    let named = pairs.iter().filter_map(|pair| pair.split_once('='));
    let mut found = named.filter(|(name, _)| name.trim_matches([' ', '\t']).to_ascii_lowercase() == "for");
    let (Some((_, value)), None, false) = (found.next(), found.next(), inside) else { return None };
    let value = value.trim_matches([' ', '\t']);
    if !value.starts_with('"') {
        return Some(value.to_owned());
    }
    (value.len() > 1 && value.ends_with('"')).then(|| value[1..value.len() - 1].to_owned())
}

fuzz_target!(|input: (bool, Vec<Vec<u8>>)| {
    let (quoted, lines) = input;
    let name = HeaderName::from_static(if quoted { "forwarded" } else { "x-forwarded-for" });
    let lines: Vec<_> = lines.iter().filter_map(|line| HeaderValue::from_bytes(line).ok()).collect();
    let headers: HeaderMap = lines.iter().map(|line| (name.clone(), line.clone())).collect();
    let clients = ClientIp::behind(["10.0.0.0/8", "2001:db8::/32"]).expect("ranges");
    let clients = if quoted { clients.forwarded() } else { clients };
    let trusts = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets()[0] == 10,
        IpAddr::V6(address) => address.segments()[..2] == [0x2001, 0xdb8],
    };
    let peer = IpAddr::from([10, 0, 0, 1]);
    let mut expected = peer;
    for element in lines.iter().rev().flat_map(|line| elements(line.as_bytes(), quoted)).take(32) {
        let text = element.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.map(|text| text.trim_matches([' ', '\t']).to_owned());
        if text.as_deref() == Some("") {
            continue;
        }
        let text = if quoted { text.and_then(|text| value(&text)) } else { text };
        let Some(address) = text.and_then(|text| node(&text)) else { break };
        expected = address;
        if !trusts(address) {
            break;
        }
    }
    assert_eq!(clients.address(peer, &headers), expected, "{lines:?}");
    let stranger = IpAddr::from([192, 0, 2, 7]);
    assert_eq!(clients.address(stranger, &headers), stranger);
});
