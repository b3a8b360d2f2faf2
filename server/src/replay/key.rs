//! Who is limited in a replay.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use tollgate::Address;

use crate::access_log::Entry;

/// Stands between the parts of a key; no part can have one, for it would have ended its line.
const SEPARATOR: u8 = b'\n';

/// The parts of a request that make a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyChoice(Vec<Part>);

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The address of the client, whichever way it is spelled.
    Ip,
    /// The user.
    User,
    /// The path of the request.
    Path,
}

impl Part {
    const ALL: [(&'static str, Self); 3] = [("ip", Self::Ip), ("user", Self::User), ("path", Self::Path)];
}

impl KeyChoice {
    /// Limits each address.
    pub(super) fn address() -> Self {
        Self(vec![Part::Ip])
    }

    /// Appends an entry's key to a text.
    pub(super) fn append(&self, entry: &Entry<'_>, key: &mut Vec<u8>) {
        for (idx, part) in self.0.iter().enumerate() {
            if idx > 0 {
                key.push(SEPARATOR);
            }
            match part {
                Part::Ip => append_client(entry.host, key),
                Part::User => key.extend_from_slice(entry.user),
                Part::Path => key.extend_from_slice(entry.path()),
            }
        }
    }
}

/// Returns a key as people read it.
pub(super) fn shown(key: &[u8]) -> String {
    String::from_utf8_lossy(key).replace(char::from(SEPARATOR), " ")
}

/// Appends a client: an address in its one spelling, a name in lower case.
fn append_client(host: &[u8], key: &mut Vec<u8>) {
    use std::io::Write;
    let address = std::str::from_utf8(host).ok().and_then(|host| host.parse::<IpAddr>().ok());
    match address.map(Address::from) {
        Some(address) => write!(key, "{address}").expect("memory can be written to"),
        None => key.extend(host.iter().map(u8::to_ascii_lowercase)),
    }
}

impl FromStr for KeyChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        for word in text.split(',') {
            let part = Part::ALL.iter().find(|(name, _)| word.trim() == *name).map(|(_, part)| *part);
            let part = part.ok_or_else(|| format!("\"{word}\" is no part of a key: take ip, user or path"))?;
            if parts.contains(&part) {
                return Err(format!("\"{}\" is there twice", word.trim()));
            }
            parts.push(part);
        }
        Ok(Self(parts))
    }
}

impl fmt::Display for KeyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, chosen) in self.0.iter().enumerate() {
            let name = Part::ALL.iter().find(|(_, part)| part == chosen).map_or("", |(name, _)| name);
            write!(f, "{}{name}", if idx > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the key of an entry.
    fn key(choice: &str, host: &str, user: &str, request: &str) -> String {
        let choice: KeyChoice = choice.parse().expect("a choice of keys");
        let (host, user, request) = (host.as_bytes(), user.as_bytes(), request.as_bytes());
        let mut key = Vec::new();
        choice.append(&Entry { host, user, request, unix_seconds: 0, status: None }, &mut key);
        shown(&key)
    }

    #[test]
    fn an_address_has_one_spelling() {
        for (host, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::FFFF:c000:201", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::/64"),
            ("2001:0DB8:0:0:ffff::", "2001:db8::/64"),
            ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
            ("::1", "::/64"),
            ("WWW.Example.org", "www.example.org"),
            ("192.0.2.01", "192.0.2.01"),
            ("-", "-"),
        ] {
            assert_eq!(key("ip", host, "-", "-"), expected);
        }
    }

    #[test]
    fn keys_are_put_together_in_the_order_asked_for() {
        assert_eq!(key("path,ip", "A", "ann", "GET /x?y HTTP/1.1"), "/x a");
        assert_eq!(key("user", "A", "-", "-"), "-");
        assert_eq!(key(" ip , user ", "a", "b c", "-"), "a b c");
    }

    #[test]
    fn choices_are_read_and_written() {
        for text in ["ip", "user", "path", "ip,path", "path,user,ip"] {
            assert_eq!(text.parse::<KeyChoice>().map(|choice| choice.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "ip,", "IP", "shoe", "ip,ip", "ip path"] {
            assert!(text.parse::<KeyChoice>().is_err(), "{text}");
        }
    }
}
