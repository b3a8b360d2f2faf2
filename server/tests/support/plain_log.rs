//! Access logs, read in the plainest way; shares nothing with the program.

use std::net::IpAddr;

/// The most bytes that a line may have.
const LONGEST_LINE: usize = 65_536;

/// What a log says of one request. In its texts, each byte of the log is the character of the same number.
#[derive(Debug)]
pub(crate) struct Request {
    /// When it was made, in seconds since 1970 began.
    pub(crate) second: u64,
    host: String,
    request: String,
}

/// Reads all requests, in the log's order, and counts the lines that are none.
pub(crate) fn read(log: &[u8]) -> (Vec<Request>, u64) {
    let (mut requests, mut malformed) = (Vec::new(), 0);
    for bytes in log.split(|byte| *byte == b'\n') {
        let line: String = bytes.strip_suffix(b"\r").unwrap_or(bytes).iter().map(|byte| char::from(*byte)).collect();
        match Request::read(&line).filter(|_| line.chars().count() <= LONGEST_LINE) {
            Some(request) => requests.push(request),
            None => malformed += u64::from(!bytes.trim_ascii().is_empty()),
        }
    }
    (requests, malformed)
}

impl Request {
    /// Reads a line.
    fn read(line: &str) -> Option<Self> {
        let (client, time, rest) = line.match_indices(" [").find_map(|(at, _)| {
            let (time, rest) = line[at + 2..].split_once(']')?;
            is_time(time).then_some((&line[..at], time, rest))
        })?;
        let client: Vec<&str> = client.splitn(3, ' ').collect();
        let &[host, identity, user] = &client[..] else { return None };
        let (request, rest) = in_quotes(rest.strip_prefix(" \"")?)?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let [_, status, size, ..] = fields[..] else { return None };
        let is_entry = ![host, identity, user].contains(&"")
            && identity.parse::<IpAddr>().is_err()
            && (status == "-" || is_number(status) && status.len() == 3)
            && (size == "-" || is_number(size));
        let second = seconds(time)?;
        is_entry.then(|| Self { second, host: host.to_owned(), request: request.to_owned() })
    }

    /// Returns the client: the address in its one spelling or, for IPv6, its network; else the name in lower case.
    fn client(&self) -> String {
        match self.host.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(IpAddr::V4(address)) => address.to_string(),
            Ok(IpAddr::V6(address)) => format!("{}/64", std::net::Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            Err(_) => self.host.to_ascii_lowercase(),
        }
    }

    /// Returns the path; the whole request line where that names none.
    fn path(&self) -> String {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let words: Vec<&str> = self.request.split(' ').collect();
        let target = match &words[..] {
            [_, target @ .., version] if version.starts_with("HTTP/") => target.join(" "),
            ["GET", target] if target.starts_with('/') => (*target).to_owned(),
            _ => String::new(),
        };
        if target.is_empty() || words[0].is_empty() || !words[0].chars().all(is_token) {
            return self.request.clone();
        }
        let is_scheme =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        match target.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => {
                let rest = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
                let path = rest.split('?').next().unwrap_or_default();
                if path.is_empty() { "/".to_owned() } else { path.to_owned() }
            }
            _ => target.split('?').next().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the key that is made of the named parts.
    pub(crate) fn key(&self, parts: &str) -> String {
        let part = |name| match name {
            "ip" => self.client(),
            "path" => self.path(),
            _ => panic!("{name} is no part of a key"),
        };
        parts.split(',').map(part).collect::<Vec<_>>().join(" ")
    }
}

/// Returns a key as a report shows it: what is no UTF-8 cannot be shown.
pub(crate) fn shown(key: &str) -> String {
    let bytes: Vec<u8> = key.chars().filter_map(|c| u8::try_from(c).ok()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns what stands before the quote that ends a text, and what follows it.
fn in_quotes(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    let (end, _) = text.char_indices().find(|&(at, c)| {
        let is_end = c == '"' && !is_escaped && matches!(text[at + 1..].chars().next(), None | Some(' '));
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    Some((&text[..end], &text[end + 1..]))
}

/// Tells whether a text is made of digits.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Tells whether a text looks like `22/Apr/2009:18:52:51 +1200`.
fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|c| match c {
            '0'..='9' => '0',
            'a'..='z' | 'A'..='Z' => 'a',
            '-' => '+',
            _ => c,
        })
        .collect();
    shape == "00/aaa/0000:00:00:00 +0000"
}

/// Returns the seconds since 1970 of what looks like a time, if it is one.
fn seconds(time: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let number = |from: usize, to: usize| time[from..to].parse::<i64>().ok();
    let (year, month) = (number(7, 11)?, MONTHS.iter().position(|name| *name == &time[3..6])?);
    let (day, hour, minute, second) = (number(0, 2)?, number(12, 14)?, number(15, 17)?, number(18, 20)?);
    let (zone_hour, zone_minute) = (number(22, 24)?, number(24, 26)?);
    let is_leap = |year: i64| year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if day < 1 || day > lengths[month] || hour > 23 || minute > 59 || second > 60 || zone_hour > 23 || zone_minute > 59
    {
        return None;
    }
    // From 1969 on, whose last hours are in 1970 somewhere.
    let years: i64 = (1969..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let days = years + lengths[..month].iter().sum::<i64>() + day - 1 - 365;
    let zone = (zone_hour * 60 + zone_minute) * if &time[21..22] == "-" { 1 } else { -1 };
    let seconds = ((days * 24 + hour) * 60 + minute + zone) * 60 + second;
    (year >= 1969 && u32::try_from(seconds).is_ok()).then_some(seconds.unsigned_abs())
}
