//! The request line of an entry.

use memchr::{memchr, memchr2, memmem};

/// Returns the path of a request line's target, without the query; the whole line if it is no request line.
pub(super) fn path(request: &[u8]) -> &[u8] {
    let Some(target) = target(request) else { return request };
    if target.starts_with(b"/") {
        return until_query(target);
    }
    // A request to a proxy names the whole URI. Anything else is a `*` or, to tunnel, an address and port.
    match memmem::find(target, b"://") {
        Some(end) if end > 0 && target[..end].iter().all(|byte| is_scheme(*byte)) => {
            let rest = &target[end + 3..];
            let authority = memchr2(b'/', b'?', rest).unwrap_or(rest.len());
            let path = until_query(&rest[authority..]);
            if path.is_empty() { b"/" } else { path }
        }
        _ => until_query(target),
    }
}

/// Returns the target of a request line; there may be spaces in it that should not be.
fn target(request: &[u8]) -> Option<&[u8]> {
    let (method, rest) = request.split_at(memchr(b' ', request)?);
    let rest = &rest[1..];
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return None;
    }
    let target = match memmem::rfind(rest, b" HTTP/") {
        Some(end) if !rest[end + 1..].contains(&b' ') => &rest[..end],
        // The first version of HTTP knew one method and named no version.
        _ if method == b"GET" && rest.starts_with(b"/") && !rest.contains(&b' ') => rest,
        _ => return None,
    };
    (!target.is_empty()).then_some(target)
}

/// Cuts a text off at the first question mark.
fn until_query(text: &[u8]) -> &[u8] {
    &text[..memchr(b'?', text).unwrap_or(text.len())]
}

/// Tells whether a byte may stand in a URI's scheme.
fn is_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}

/// Tells whether a byte may stand in a method.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_what_the_target_names() {
        for (request, expected) in [
            ("GET /a/b?c=d?e HTTP/1.1", "/a/b"),
            ("GET / HTTP/1.0", "/"),
            ("GET /? HTTP/1.0", "/"),
            ("GET //a HTTP/1.1", "//a"),
            ("GET /a b HTTP/1.1", "/a b"),
            ("GET /a HTTP/1.1 HTTP/1.1", "/a HTTP/1.1"),
            ("GET http://example.org/a?b HTTP/1.1", "/a"),
            ("GET http://example.org HTTP/1.1", "/"),
            ("GET http://example.org?b=/c HTTP/1.1", "/"),
            ("GET /a?u=http://example.org/b HTTP/1.1", "/a"),
            ("CONNECT example.org:443 HTTP/1.1", "example.org:443"),
            ("OPTIONS * HTTP/1.1", "*"),
            ("PRI * HTTP/2.0", "*"),
            ("GET /a", "/a"),
            ("GET /a?b", "/a"),
        ] {
            assert_eq!(path(request.as_bytes()), expected.as_bytes(), "{request}");
        }
    }

    #[test]
    fn what_is_no_request_stands_for_itself() {
        for request in
            ["", "-", "GET", "GET ", "hello world", "GET  HTTP/1.1", r"\x16\x03\x01 /a HTTP/1.1", " / HTTP/1.1"]
        {
            assert_eq!(path(request.as_bytes()), request.as_bytes());
        }
    }
}
