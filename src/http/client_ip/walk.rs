//! The elements of a list over all lines of a header, from the right, in bounded work.

use http::header::{HeaderMap, HeaderName, HeaderValue, ValueIter};

/// The most elements that are looked at, empty ones and empty lines included: no real chain of proxies is longer.
pub(super) const MOST_ELEMENTS: usize = 32;
/// The most bytes that an element can have, spaces included.
pub(super) const MOST_BYTES: usize = 512;

/// Yields the elements of a list from the right; an element that is too long, that is no text or whose quotes do not
/// match is yielded as `None`, and the last.
///
/// Whoever speaks first writes on the left, so that nothing on the left may decide how the right is read: a comma parts
/// elements unless it stands between quotes that are matched from the right.
pub(super) struct FromRight<'a> {
    lines: ValueIter<'a, HeaderValue>,
    line: Option<&'a [u8]>,
    quoted: bool,
    left: usize,
}

impl<'a> FromRight<'a> {
    /// Walks the lines of a header; `quoted` says whether its elements can have quotes.
    pub(super) fn new(headers: &'a HeaderMap, name: &HeaderName, quoted: bool) -> Self {
        Self { lines: headers.get_all(name).iter(), line: None, quoted, left: MOST_ELEMENTS }
    }

    /// Parts the last element from a line: returns it and what stands before its comma.
    fn split(&self, line: &'a [u8]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let mut inside = false;
        for (steps, (at, byte)) in line.iter().enumerate().rev().enumerate() {
            match byte {
                _ if steps > MOST_BYTES => return None,
                b'"' if self.quoted => {
                    let is_escaped =
                        line[..at].iter().rev().take(MOST_BYTES).take_while(|byte| **byte == b'\\').count() % 2 == 1;
                    inside ^= !is_escaped;
                }
                b',' if !inside => return Some((&line[at + 1..], Some(&line[..at]))),
                _ => {}
            }
        }
        if inside { None } else { Some((line, None)) }
    }
}

impl<'a> Iterator for FromRight<'a> {
    type Item = Option<&'a str>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.left = self.left.checked_sub(1)?;
            let line = match self.line.take() {
                Some(line) => line,
                None => self.lines.next_back()?.as_bytes(),
            };
            let Some((element, before)) = self.split(line) else {
                self.left = 0;
                return Some(None);
            };
            self.line = before;
            match std::str::from_utf8(element).map(|text| text.trim_matches([' ', '\t'])) {
                // Lists may have empty elements; they say nothing.
                Ok("") => {}
                Ok(text) => return Some(Some(text)),
                Err(_) => {
                    self.left = 0;
                    return Some(None);
                }
            }
        }
    }
}

/// Returns the node that an element of `Forwarded` is for, out of its quotes.
pub(super) fn forwarded_for(element: &str) -> Option<&str> {
    let mut found = None;
    let mut rest = element;
    loop {
        let (pair, after) = split_pair(rest)?;
        if let Some((name, value)) = pair.split_once('=')
            && name.trim_matches([' ', '\t']).eq_ignore_ascii_case("for")
        {
            // Two of them contradict each other, or might.
            if found.replace(unquoted(value.trim_matches([' ', '\t']))?).is_some() {
                return None;
            }
        }
        match after {
            Some(after) => rest = after,
            None => return found,
        }
    }
}

/// Parts the first pair of an element from the rest, at a semicolon outside of quotes.
fn split_pair(element: &str) -> Option<(&str, Option<&str>)> {
    let (mut inside, mut escaped) = (false, false);
    for (at, byte) in element.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b';' if !inside => return Some((&element[..at], Some(&element[at + 1..]))),
            _ => {}
        }
    }
    if inside { None } else { Some((element, None)) }
}

/// Takes a value out of its quotes, if it has any. No node needs an escape, so none is undone.
fn unquoted(value: &str) -> Option<&str> {
    match value.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"'),
        None => Some(value),
    }
}
