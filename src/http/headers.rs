//! The header fields that tell a client about its limit.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{Entry, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::decision::Decision;
use crate::quota::Quota;

/// Writes a quota and a decision into the headers of a response; cheap to clone.
///
/// The fields are `RateLimit-Policy` and `RateLimit` as structured fields, and `Retry-After` on a denial that can pass
/// later. Seconds are whole and rounded up, so that nobody who waits that long comes too early.
///
/// # Examples
///
/// ```
/// use http::HeaderMap;
/// use tollgate::http::Headers;
/// use tollgate::{Limiter, Quota, Tick};
///
/// let quota: Quota = "5/10s".parse()?;
/// let limiter: Limiter<str> = Limiter::new(quota)?;
/// let mut headers = HeaderMap::new();
/// Headers::new("default", quota)?.write(limiter.check_at("a", Tick::ZERO), &mut headers);
/// assert_eq!(headers["ratelimit-policy"], "\"default\";q=5;w=10");
/// assert_eq!(headers["ratelimit"], "\"default\";r=4;t=2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Headers(Arc<Inner>);

/// What clones share.
#[derive(Debug)]
struct Inner {
    /// The policy's name as a structured field string, quotes and all.
    name: String,
    fields: Vec<Field>,
}

/// One header field.
#[derive(Debug)]
struct Field {
    name: HeaderName,
    join: Join,
    value: Value,
}

/// What becomes of a field of the same name that is there already.
#[derive(Debug)]
enum Join {
    /// Both stand: the field is a list, to which every limit on the way adds its item.
    Append,
    /// The one that is there stands.
    Keep,
}

/// Where a field's value comes from.
#[derive(Debug)]
enum Value {
    /// It is always the same.
    Fixed(HeaderValue),
    /// It follows from the decision; `None` leaves the field out.
    Fresh(fn(&Inner, &Decision) -> Option<HeaderValue>),
}

/// The largest integer that a structured field can hold.
const MOST: u64 = 999_999_999_999_999;

impl Headers {
    /// The name of a policy that was given none.
    const DEFAULT_NAME: &'static str = "default";

    /// Makes a writer for a policy of that name and quota.
    ///
    /// # Errors
    ///
    /// A name with anything but printable ASCII characters in it is refused: the fields cannot hold it.
    pub fn new(policy_name: &str, quota: Quota) -> Result<Self, PolicyNameError> {
        if policy_name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            Ok(Self::structured(policy_name, quota))
        } else {
            Err(PolicyNameError(policy_name.chars().flat_map(char::escape_default).collect()))
        }
    }

    /// Makes a writer for a policy named "default".
    pub(crate) fn unnamed(quota: Quota) -> Self {
        Self::structured(Self::DEFAULT_NAME, quota)
    }

    /// Adds the fields for `decision` to `headers`.
    ///
    /// `RateLimit-Policy` and `RateLimit` are lists and are added to what is there; a `Retry-After` that is there stays.
    pub fn write(&self, decision: Decision, headers: &mut HeaderMap) {
        for field in &self.0.fields {
            let value = match &field.value {
                Value::Fixed(value) => Some(value.clone()),
                Value::Fresh(make) => make(&self.0, &decision),
            };
            let Some(value) = value else { continue };
            match headers.entry(&field.name) {
                Entry::Vacant(vacant) => {
                    vacant.insert(value);
                }
                Entry::Occupied(mut taken) => {
                    if matches!(field.join, Join::Append) {
                        taken.append(value);
                    }
                }
            }
        }
    }

    /// Returns the structured fields of the current draft (`draft-ietf-httpapi-ratelimit-headers`, since its version 8).
    fn structured(name: &str, quota: Quota) -> Self {
        let name = format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
        let (most, window) = (quota.limit().min(MOST), whole_seconds(quota.period()).clamp(1, MOST));
        let policy = HeaderValue::try_from(format!("{name};q={most};w={window}"));
        let policy = policy.map(|value| Field {
            name: HeaderName::from_static("ratelimit-policy"),
            join: Join::Append,
            value: Value::Fixed(value),
        });
        let limit = Field {
            name: HeaderName::from_static("ratelimit"),
            join: Join::Append,
            value: Value::Fresh(|inner, decision| {
                let (left, window) = (decision.remaining().min(MOST), effective_window(decision).min(MOST));
                HeaderValue::try_from(format!("{};r={left};t={window}", inner.name)).ok()
            }),
        };
        let retry = Field {
            name: RETRY_AFTER,
            join: Join::Keep,
            value: Value::Fresh(|_, decision| retry_after_seconds(decision).map(HeaderValue::from)),
        };
        Self(Arc::new(Inner { name, fields: policy.into_iter().chain([limit, retry]).collect() }))
    }
}

/// Returns the seconds within which the client has no more than what remains: until its key is as good as new, but
/// on a denial no longer than what `Retry-After` says (the draft asks that it never be the earlier of the two).
fn effective_window(decision: &Decision) -> u64 {
    let reset = whole_seconds(decision.reset_after());
    retry_after_seconds(decision).map_or(reset, |retry| retry.min(reset))
}

/// Returns the value of `Retry-After`: at least one second, and `None` where waiting does not help or is not needed.
fn retry_after_seconds(decision: &Decision) -> Option<u64> {
    if decision.is_allowed() { None } else { decision.retry_after().map(|wait| whole_seconds(wait).max(1)) }
}

/// Returns a duration in whole seconds, rounded up.
fn whole_seconds(span: Duration) -> u64 {
    span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0))
}

/// A policy's name that header fields cannot hold; it keeps the name in escaped form.
///
/// # Examples
///
/// ```
/// use tollgate::http::Headers;
///
/// let refused = Headers::new("caf\u{e9}", "5/s".parse()?).unwrap_err();
/// assert_eq!(refused.to_string(), r#"the policy name "caf\u{e9}" has characters other than printable ASCII"#);
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyNameError(String);

impl fmt::Display for PolicyNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the policy name \"{}\" has characters other than printable ASCII", self.0)
    }
}

impl std::error::Error for PolicyNameError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns a denial of a key that holds nothing, to be retried after so many milliseconds.
    fn denial(retry_after_ms: u64) -> Decision {
        Decision {
            allowed: false,
            limit: 5,
            remaining: 0,
            reset_after_ns: 10_000_000_000,
            wait_ns: retry_after_ms * 1_000_000,
        }
    }

    /// Returns the headers written for a decision under 5 per 10 s.
    fn written(decision: Decision) -> HeaderMap {
        let mut headers = HeaderMap::new();
        Headers::unnamed("5/10s".parse().expect("a quota")).write(decision, &mut headers);
        headers
    }

    #[test]
    fn nobody_is_told_to_come_back_too_early() {
        for (ms, seconds) in [(0, "1"), (1, "1"), (200, "1"), (1000, "1"), (1001, "2"), (1900, "2"), (9999, "10")] {
            assert_eq!(written(denial(ms))["retry-after"], seconds, "{ms} ms");
        }
    }

    #[test]
    fn the_window_ends_no_later_than_the_wait() {
        assert_eq!(written(denial(1900))["ratelimit"], "\"default\";r=0;t=2");
        assert_eq!(written(denial(30_000))["ratelimit"], "\"default\";r=0;t=10");
    }

    #[test]
    fn no_wait_helps_where_none_is_given() {
        let never = Decision { wait_ns: Decision::NEVER, ..denial(0) };
        assert!(!written(never).contains_key("retry-after"));
        assert_eq!(written(never)["ratelimit"], "\"default\";r=0;t=10");
        let allowed = Decision { allowed: true, remaining: 4, reset_after_ns: 1, ..denial(0) };
        assert!(!written(allowed).contains_key("retry-after"));
        assert_eq!(written(allowed)["ratelimit"], "\"default\";r=4;t=1");
    }

    #[test]
    fn numbers_stay_what_structured_fields_can_hold() {
        let quota = Quota::new(u64::MAX, Duration::from_nanos(u64::MAX)).expect("a quota");
        let mut headers = HeaderMap::new();
        let full = Decision { allowed: true, remaining: u64::MAX, reset_after_ns: 0, ..denial(0) };
        Headers::unnamed(quota).write(full, &mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"default\";q=999999999999999;w=18446744074");
        assert_eq!(headers["ratelimit"], "\"default\";r=999999999999999;t=0");
    }

    #[test]
    fn a_window_is_never_empty() {
        let mut headers = HeaderMap::new();
        Headers::unnamed("1/7ns".parse().expect("a quota")).write(denial(1), &mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"default\";q=1;w=1");
    }

    #[test]
    fn names_are_quoted() {
        let quota = "5/10s".parse().expect("a quota");
        let mut headers = HeaderMap::new();
        Headers::new(r#"a "b" \c"#, quota).expect("a name").write(denial(1000), &mut headers);
        assert_eq!(headers["ratelimit"], r#""a \"b\" \\c";r=0;t=1"#);
        for name in ["a\nb", "a\u{7f}", "\u{fc}ber"] {
            assert!(Headers::new(name, quota).is_err(), "{name:?}");
        }
    }

    #[test]
    fn limits_on_the_way_add_up_to_a_list() {
        let mut headers = written(denial(1000));
        Headers::new("user", "1/s".parse().expect("a quota")).expect("a name").write(denial(9000), &mut headers);
        let all: Vec<_> = headers.get_all("ratelimit-policy").iter().collect();
        assert_eq!(all, ["\"default\";q=5;w=10", "\"user\";q=1;w=1"]);
        assert_eq!(headers.get_all("ratelimit").iter().count(), 2);
        assert_eq!(headers.get_all("retry-after").iter().collect::<Vec<_>>(), ["1"]);
    }
}
