//! The query of a check.

use std::fmt;

/// The longest key, in bytes after decoding.
const MAX_KEY: usize = 4096;

/// What a check asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) key: String,
    pub(super) cost: u64,
}

/// Why a query asks for nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueryError {
    /// There is no key.
    NoKey,
    /// The key has no bytes.
    EmptyKey,
    /// The key is longer than [`MAX_KEY`].
    LongKey,
    /// The cost is not a number of 64 bits.
    BadCost,
    /// A parameter that counts is there twice.
    Twice(&'static str),
    /// A percent sign is not followed by two hexadecimal digits.
    BadEscape,
    /// What was escaped is not UTF-8.
    NotUtf8,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKey => f.write_str("the parameter key is missing: ask for /v1/check?key=K"),
            Self::EmptyKey => f.write_str("the key is empty"),
            Self::LongKey => write!(f, "the key is longer than {MAX_KEY} bytes"),
            Self::BadCost => write!(f, "the cost is not a whole number from 0 to {}", u64::MAX),
            Self::Twice(name) => write!(f, "the parameter {name} is there twice"),
            Self::BadEscape => f.write_str("a percent sign is not followed by two hexadecimal digits"),
            Self::NotUtf8 => f.write_str("the query is not UTF-8 when it is decoded"),
        }
    }
}

impl Query {
    /// Reads a query in the encoding of HTML forms; parameters other than key and cost are passed over.
    pub(super) fn parse(query: &str) -> Result<Self, QueryError> {
        let (mut key, mut cost) = (None, None);
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (slot, name) = match decoded(name)?.as_str() {
                "key" => (&mut key, "key"),
                "cost" => (&mut cost, "cost"),
                _ => continue,
            };
            if slot.replace(decoded(value)?).is_some() {
                return Err(QueryError::Twice(name));
            }
        }
        let key = key.ok_or(QueryError::NoKey)?;
        let cost = cost.map_or(Ok(1), |cost| number(&cost).ok_or(QueryError::BadCost))?;
        match key.len() {
            0 => Err(QueryError::EmptyKey),
            1..=MAX_KEY => Ok(Self { key, cost }),
            _ => Err(QueryError::LongKey),
        }
    }
}

/// Reads a number that is written in digits alone.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Decodes percent escapes, and plus signs, which stand for spaces.
fn decoded(text: &str) -> Result<String, QueryError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (rest.next().and_then(digit), rest.next().and_then(digit));
                let (high, low) = high.zip(low).ok_or(QueryError::BadEscape)?;
                high << 4 | low
            }
            _ => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| QueryError::NotUtf8)
}

/// Reads a hexadecimal digit.
fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read() {
        for (query, key, cost) in [
            ("key=a", "a", 1),
            ("key=a&cost=0", "a", 0),
            ("cost=18446744073709551615&key=a", "a", u64::MAX),
            ("key=a%26b%3Dc&cost=007", "a&b=c", 7),
            ("key=a=b", "a=b", 1),
            ("key=J%C3%BCrgen+M", "J\u{fc}rgen M", 1),
            ("%6Bey=a%2Bb", "a+b", 1),
            ("other=1&other=2&key=a&&", "a", 1),
            ("key=%00", "\0", 1),
        ] {
            assert_eq!(Query::parse(query), Ok(Query { key: key.to_owned(), cost }), "{query}");
        }
    }

    #[test]
    fn bad_queries_are_refused() {
        for (query, error) in [
            ("", QueryError::NoKey),
            ("cost=1", QueryError::NoKey),
            ("Key=a", QueryError::NoKey),
            ("key", QueryError::EmptyKey),
            ("key=", QueryError::EmptyKey),
            ("key=a&key=a", QueryError::Twice("key")),
            ("key=a&cost=1&cost=1", QueryError::Twice("cost")),
            ("key=a&cost", QueryError::BadCost),
            ("key=a&cost=", QueryError::BadCost),
            ("key=a&cost=-1", QueryError::BadCost),
            ("key=a&cost=%2B1", QueryError::BadCost),
            ("key=a&cost=+1", QueryError::BadCost),
            ("key=a&cost=1.0", QueryError::BadCost),
            ("key=a&cost=0x1", QueryError::BadCost),
            ("key=a&cost=18446744073709551616", QueryError::BadCost),
            ("key=a&cost=%D9%A1", QueryError::BadCost),
            ("key=%", QueryError::BadEscape),
            ("key=%4", QueryError::BadEscape),
            ("key=%+1", QueryError::BadEscape),
            ("key=%zz", QueryError::BadEscape),
            ("key=%ff", QueryError::NotUtf8),
            ("key=a&cost=%ff", QueryError::NotUtf8),
            ("key=%ed%a0%80", QueryError::NotUtf8),
        ] {
            assert_eq!(Query::parse(query), Err(error), "{query}");
        }
    }

    #[test]
    fn keys_are_measured_when_they_are_decoded() {
        let longest = "%61".repeat(MAX_KEY);
        assert!(Query::parse(&format!("key={longest}")).is_ok());
        assert_eq!(Query::parse(&format!("key={longest}b")), Err(QueryError::LongKey));
    }
}
