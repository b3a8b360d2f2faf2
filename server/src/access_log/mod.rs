//! Access logs of Apache, nginx and their like: one line in the common or combined format becomes an [`Entry`].

mod request;
mod time;

use std::fmt;

use memchr::{memchr, memchr_iter, memchr2};

pub use self::time::shown as shown_time;

/// The longest line that is taken for one, in bytes.
pub const MAX_LINE: usize = 64 * 1024;

/// What a line says of one request; it borrows from the line.
///
/// # Examples
///
/// ```
/// use tollgate_server::access_log::parse_line;
///
/// let line = br#"192.0.2.1 - ann [22/Apr/2009:18:52:51 +1200] "GET /a?b=c HTTP/1.1" 200 986 "-" "any browser""#;
/// let entry = parse_line(line)?;
/// assert_eq!((entry.host, entry.user, entry.path()), (&b"192.0.2.1"[..], &b"ann"[..], &b"/a"[..]));
/// assert_eq!((entry.unix_seconds, entry.status), (1_240_383_171, Some(200)));
/// # Ok::<(), tollgate_server::access_log::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The address or name of the client, as it is written.
    pub host: &'a [u8],
    /// The user who was logged in; `-` is nobody.
    pub user: &'a [u8],
    /// When the request was logged, in seconds since 1970 began.
    pub unix_seconds: u32,
    /// The request line, as it is written: with the escapes of the server that wrote it.
    pub request: &'a [u8],
    /// The status of the response, if there was one.
    pub status: Option<u16>,
}

impl<'a> Entry<'a> {
    /// Returns the path that was asked for, without the query; the whole request line if that is no request.
    ///
    /// The path is as it is written, nothing in it is decoded.
    pub fn path(&self) -> &'a [u8] {
        request::path(self.request)
    }
}

/// Why a line is no entry.
///
/// # Examples
///
/// ```
/// use tollgate_server::access_log::{Malformed, parse_line};
///
/// assert_eq!(parse_line(b"hello"), Err(Malformed::NoTime));
/// assert_eq!(Malformed::NoStatus.to_string(), "no status and size after the request");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The line is longer than [`MAX_LINE`].
    TooLong,
    /// There is nothing in brackets that looks like a time.
    NoTime,
    /// The time is one that no clock shows.
    ImpossibleTime,
    /// The time is before 1970, or after what 32 bits of seconds can count.
    TimeOutOfRange,
    /// What stands before the time is not an address, an identity and a user.
    NoClient,
    /// The line begins with the name of a virtual host, so that every field has moved.
    VirtualHost,
    /// There is no request in quotes after the time.
    NoRequest,
    /// There is no status and size after the request.
    NoStatus,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "more than {MAX_LINE} bytes"),
            Self::NoTime => f.write_str("no time in brackets, like [22/Apr/2009:18:52:51 +1200]"),
            Self::ImpossibleTime => f.write_str("a time that no clock shows"),
            Self::TimeOutOfRange => f.write_str("a time outside the years 1970 to 2105"),
            Self::NoClient => f.write_str("no address, identity and user before the time"),
            Self::VirtualHost => f.write_str("a virtual host before the address"),
            Self::NoRequest => f.write_str("no request in quotes after the time"),
            Self::NoStatus => f.write_str("no status and size after the request"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Reads one line, without its line end.
///
/// What follows the size is not looked at, so the combined format and any longer one do.
///
/// # Errors
///
/// Says what is missing from the line or wrong with it; no bytes whatever make it panic.
pub fn parse_line(line: &[u8]) -> Result<Entry<'_>, Malformed> {
    if line.len() > MAX_LINE {
        return Err(Malformed::TooLong);
    }
    let Split { client, time, rest } = split_at_time(line)?;
    let (host, user) = client_fields(client)?;
    let unix_seconds = time::unix_seconds(time)?;
    let (request, rest) = quoted(rest)?;
    let status = status(rest).ok_or(Malformed::NoStatus)?;
    Ok(Entry { host, user, unix_seconds, request, status })
}

/// A line in three parts.
struct Split<'a> {
    client: &'a [u8],
    time: &'a [u8; time::LEN],
    rest: &'a [u8],
}

/// Splits a line at the first thing that looks like a time in brackets, with a space before it.
fn split_at_time(line: &[u8]) -> Result<Split<'_>, Malformed> {
    for bracket in memchr_iter(b'[', line) {
        let (before, after) = (&line[..bracket], &line[bracket + 1..]);
        let (Some(client), Some((time, rest))) = (before.strip_suffix(b" "), after.split_first_chunk()) else {
            continue;
        };
        if time::is_shaped(time)
            && let Some(rest) = rest.strip_prefix(b"]")
        {
            return Ok(Split { client, time, rest });
        }
    }
    Err(Malformed::NoTime)
}

/// Returns the host and the user; the user alone may have spaces in it.
fn client_fields(client: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (host, rest) = word(client).ok_or(Malformed::NoClient)?;
    let (identity, user) = word(rest).ok_or(Malformed::NoClient)?;
    if user.is_empty() {
        return Err(Malformed::NoClient);
    }
    // An identity is next to never sent. Where an address stands in its place, a host stands in the address's.
    if identity != b"-" && is_address(identity) {
        return Err(Malformed::VirtualHost);
    }
    Ok((host, user))
}

/// Splits at the first space into a word that is not empty and what follows.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b' ', text)?;
    (end > 0).then(|| (&text[..end], &text[end + 1..]))
}

/// Tells whether a text is an IP address.
fn is_address(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<std::net::IpAddr>().is_ok())
}

/// Returns what stands in the quotes that the text begins with, after a space, and what follows them.
fn quoted(text: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let text = text.strip_prefix(b" \"").ok_or(Malformed::NoRequest)?;
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|tail| memchr2(b'"', b'\\', tail)) {
        let at = from + found;
        if text[at] == b'"' && text.get(at + 1).is_none_or(|next| *next == b' ') {
            return Ok((&text[..at], &text[at + 1..]));
        }
        // A backslash takes the next byte with it. A quote in the midst of a word was let through by the server.
        from = at + if text[at] == b'\\' { 2 } else { 1 };
    }
    Err(Malformed::NoRequest)
}

/// Reads the status that a text begins with and the size that must follow; `Some(None)` is a status of `-`.
fn status(text: &[u8]) -> Option<Option<u16>> {
    let text = text.strip_prefix(b" ")?;
    let (status, rest) = word(text)?;
    let size = &rest[..memchr(b' ', rest).unwrap_or(rest.len())];
    let is_size = size == b"-" || (!size.is_empty() && size.iter().all(u8::is_ascii_digit));
    if !is_size {
        return None;
    }
    match status {
        b"-" => Some(None),
        [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9'] => {
            Some(Some(status.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a line around the given client and request.
    fn read(client: &str, request: &str) -> Result<(String, String, String), Malformed> {
        let line = format!("{client} [22/Apr/2009:18:52:51 +1200] \"{request}\" 200 986");
        let entry = parse_line(line.as_bytes())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(entry.host), text(entry.user), text(entry.request)))
    }

    #[test]
    fn both_formats_and_longer_ones_are_read() {
        let common = br#"a - - [22/Apr/2009:18:52:51 +1200] "GET / HTTP/1.1" 200 986"#;
        let entry = parse_line(common).expect("an entry");
        assert_eq!((entry.host, entry.user, entry.status), (&b"a"[..], &b"-"[..], Some(200)));
        for more in [&br#" "-" "browser""#[..], br#" "-" "a \"b\" c" "-" 0.002 "#, b" \"\xff\xfe", b" "] {
            assert_eq!(parse_line(&[common, more].concat()), Ok(entry));
        }
    }

    #[test]
    fn users_may_have_spaces_and_brackets() {
        assert_eq!(read("a - John [x] Doe", "-").map(|fields| fields.1), Ok("John [x] Doe".to_owned()));
        assert_eq!(read("a ident ann", "-").map(|fields| fields.1), Ok("ann".to_owned()));
    }

    #[test]
    fn requests_may_have_quotes() {
        for request in [r#"GET /\" 200 5 HTTP/1.1"#, r"GET /a\\", r#"GET /a"b HTTP/1.0"#, "", "-", r"\x16\x03\x01"] {
            assert_eq!(read("a - -", request).map(|fields| fields.2), Ok(request.to_owned()));
        }
    }

    #[test]
    fn a_missing_status_or_size_may_be_a_dash() {
        let read = |tail: &str| {
            parse_line(format!("a - - [22/Apr/2009:18:52:51 +1200] \"-\"{tail}").as_bytes()).map(|entry| entry.status)
        };
        assert_eq!(read(" - -"), Ok(None));
        assert_eq!(read(" 408 -"), Ok(Some(408)));
        for tail in ["", " ", " 200", " 200 ", " 20 5", " 2000 5", " 200 x", " 200 -5", " abc 5", "  200 5"] {
            assert_eq!(read(tail), Err(Malformed::NoStatus), "{tail:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let time = "[22/Apr/2009:18:52:51 +1200]";
        for (line, reason) in [
            (String::new(), Malformed::NoTime),
            ("a - - [22/Apr/2009] \"-\" 200 5".to_owned(), Malformed::NoTime),
            (format!("a - -{time} \"-\" 200 5"), Malformed::NoTime),
            (format!("{time} \"-\" 200 5"), Malformed::NoTime),
            (format!(" {time} \"-\" 200 5"), Malformed::NoClient),
            (format!("a - {time} \"-\" 200 5"), Malformed::NoClient),
            (format!("a {time} \"-\" 200 5"), Malformed::NoClient),
            (format!("a -  {time} \"-\" 200 5"), Malformed::NoClient),
            (format!("example.org:80 192.0.2.1 - - {time} \"-\" 200 5"), Malformed::VirtualHost),
            (format!("a - - {time}"), Malformed::NoRequest),
            (format!("a - - {time} GET / 200 5"), Malformed::NoRequest),
            (format!("a - - {time} \"GET / 200 5"), Malformed::NoRequest),
            (format!("a - - {time} \"GET /\\"), Malformed::NoRequest),
            (format!("a - - {time} \"-\" 200 5 {}", "x".repeat(MAX_LINE)), Malformed::TooLong),
        ] {
            assert_eq!(parse_line(line.as_bytes()), Err(reason), "{line}");
        }
    }

    #[test]
    fn no_prefix_of_a_line_is_too_short_to_refuse() {
        let line = br#"a - - [22/Apr/2009:18:52:51 +1200] "GET / HTTP/1.1" 200 986"#;
        for end in 0..line.len() - 2 {
            assert!(parse_line(&line[..end]).is_err(), "{end}");
        }
    }
}
