//! The header fields that tell a client about its limit.

mod generation;

pub use self::generation::Generation;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{Entry, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use self::generation::{Facts, Writer};
use crate::clock::unix_time;
use crate::decision::Decision;
use crate::quota::Quota;

/// Writes a quota and a decision into the headers of a response; cheap to clone.
///
/// The fields are `RateLimit-Policy` and `RateLimit` as structured fields, or those of another [`Generation`], and
/// `Retry-After` on a denial that can pass later. Seconds are whole and rounded up, so that nobody who waits that long
/// comes too early.
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
struct Inner {
    /// The policy's name as a structured field string, quotes and all.
    name: String,
    quota: Quota,
    generation: Generation,
    writer: Writer,
    /// What `RateLimit-Policy` says.
    policy: Option<HeaderValue>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, quota, generation, .. } = self;
        f.debug_struct("Inner")
            .field("name", name)
            .field("quota", quota)
            .field("generation", generation)
            .finish_non_exhaustive()
    }
}

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
            let name = policy_name.replace('\\', "\\\\").replace('"', "\\\"");
            Ok(Self::quoted(format!("\"{name}\""), quota, Generation::default()))
        } else {
            Err(PolicyNameError(policy_name.chars().flat_map(char::escape_default).collect()))
        }
    }

    /// Makes a writer of the same fields for a policy of another name.
    pub(crate) fn named(&self, policy_name: &str) -> Result<Self, PolicyNameError> {
        Ok(Self::new(policy_name, self.0.quota)?.generation(self.0.generation))
    }

    /// Returns the policy's name in quotes.
    pub(crate) fn quoted_name(&self) -> &str {
        &self.0.name
    }

    /// Makes a writer for a policy named "default".
    pub(crate) fn unnamed(quota: Quota) -> Self {
        Self::quoted(format!("\"{}\"", Self::DEFAULT_NAME), quota, Generation::default())
    }

    /// Makes a writer for a policy whose name stands in quotes.
    fn quoted(name: String, quota: Quota, generation: Generation) -> Self {
        let writer = generation.writer();
        let policy = (writer.policy)(&name, quota);
        Self(Arc::new(Inner { name, quota, generation, writer, policy }))
    }

    /// Sets which fields are written; the structured ones unless set.
    ///
    /// # Examples
    ///
    /// See [`Generation`].
    pub fn generation(self, generation: Generation) -> Self {
        Self::quoted(self.0.name.clone(), self.0.quota, generation)
    }

    /// Adds the fields for `decision` to `headers`.
    ///
    /// Structured fields are lists and are added to what is there. Of the others those with the least remaining stand: they
    /// replace what is there, or not, all of them together. A `Retry-After` that is there stays.
    ///
    /// # Examples
    ///
    /// See [`Headers`].
    pub fn write(&self, decision: Decision, headers: &mut HeaderMap) {
        self.write_at(decision, unix_time, headers);
    }

    /// Adds the fields, given what reads the time since 1970.
    fn write_at(&self, decision: Decision, unix_time: impl Fn() -> Duration, headers: &mut HeaderMap) {
        let Inner { name, generation, writer, policy, .. } = &*self.0;
        if let Some(policy) = policy {
            headers.append(HeaderName::from_static("ratelimit-policy"), policy.clone());
        }
        let unix_time = if *generation == Generation::XEpoch { unix_time() } else { Duration::ZERO };
        writer.write(&Facts { name, decision: &decision, unix_time }, headers);
        if let Some(seconds) = retry_after_seconds(&decision)
            && let Entry::Vacant(vacant) = headers.entry(RETRY_AFTER)
        {
            vacant.insert(seconds.into());
        }
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

    /// Returns the headers of a generation, by name, at 100.5 s after 1970.
    fn of(generation: Generation, decision: Decision) -> Vec<String> {
        let mut headers = HeaderMap::new();
        let writer = Headers::unnamed("5/10s".parse().expect("a quota")).generation(generation);
        writer.write_at(decision, || Duration::from_millis(100_500), &mut headers);
        let mut lines: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("a text"))).collect();
        lines.sort();
        lines
    }

    #[test]
    fn each_generation_has_fields_of_its_own() {
        let denial = Decision { remaining: 3, ..denial(1900) };
        for (generation, fields) in [
            (Generation::Structured, &["ratelimit-policy: \"default\";q=5;w=10", "ratelimit: \"default\";r=3;t=2"][..]),
            (Generation::Draft07, &["ratelimit-policy: 5;w=10", "ratelimit: limit=5, remaining=3, reset=2"]),
            (
                Generation::Draft06,
                &["ratelimit-limit: 5", "ratelimit-policy: 5;w=10", "ratelimit-remaining: 3", "ratelimit-reset: 2"],
            ),
            (Generation::XDelta, &["x-ratelimit-limit: 5", "x-ratelimit-remaining: 3", "x-ratelimit-reset: 2"]),
            (Generation::XEpoch, &["x-ratelimit-limit: 5", "x-ratelimit-remaining: 3", "x-ratelimit-reset: 103"]),
            (Generation::Nothing, &[]),
        ] {
            let mut expected: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
            expected.push("retry-after: 2".to_owned());
            expected.sort();
            assert_eq!(of(generation, denial), expected, "{generation:?}");
        }
    }

    #[test]
    fn of_fields_that_are_no_lists_those_with_less_stand() {
        let decision = |limit, remaining| Decision { allowed: true, limit, remaining, ..denial(0) };
        for (generation, name) in [
            (Generation::Draft07, "ratelimit"),
            (Generation::Draft06, "ratelimit-limit"),
            (Generation::XDelta, "x-ratelimit-limit"),
            (Generation::XEpoch, "x-ratelimit-limit"),
        ] {
            for (first, second) in [((8, 1), (9, 2)), ((9, 2), (8, 1))] {
                let mut headers = HeaderMap::new();
                let writer = Headers::unnamed("5/10s".parse().expect("a quota")).generation(generation);
                writer.write(decision(first.0, first.1), &mut headers);
                writer.write(decision(second.0, second.1), &mut headers);
                let values: Vec<_> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
                assert!(values.len() == 1 && values[0].contains('8'), "{generation:?}: {values:?}");
            }
        }
    }

    /// Returns an item's parameters, which must all be integers.
    fn integers(item: &sfv::Item) -> Vec<(String, i64)> {
        let integer = |value: &sfv::BareItem| match value {
            sfv::BareItem::Integer(integer) => i64::from(*integer),
            other => panic!("{other:?} is no integer"),
        };
        item.params.iter().map(|(name, value)| (name.to_string(), integer(value))).collect()
    }

    #[test]
    fn structured_fields_are_read_back() {
        let quota = Quota::new(u64::MAX, Duration::from_nanos(u64::MAX)).expect("a quota");
        for (name, quota, decision, expected) in [
            ("default", "5/10s".parse().expect("a quota"), denial(1900), [5, 10, 0, 2]),
            (
                "a \"b\" \\c;r=9, d",
                quota,
                Decision { limit: u64::MAX, ..denial(0) },
                [999_999_999_999_999, 18_446_744_074, 0, 1],
            ),
        ] {
            let mut headers = HeaderMap::new();
            Headers::new(name, quota).expect("a name").write(decision, &mut headers);
            let [policy, limit] = ["ratelimit-policy", "ratelimit"].map(|field| {
                let list: sfv::List = sfv::Parser::new(headers[field].as_bytes()).parse().expect("a list");
                let [sfv::ListEntry::Item(item)] = &list[..] else { panic!("{list:?} is not one item") };
                assert!(matches!(&item.bare_item, sfv::BareItem::String(read) if read.as_str() == name), "{item:?}");
                integers(item)
            });
            let expect = |names: [&str; 2], values: &[i64]| {
                names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), *value)).collect::<Vec<_>>()
            };
            assert_eq!(policy, expect(["q", "w"], &expected[..2]));
            assert_eq!(limit, expect(["r", "t"], &expected[2..]));
        }
        let mut headers = HeaderMap::new();
        let writer = Headers::unnamed("5/10s".parse().expect("a quota")).generation(Generation::Draft07);
        writer.write(denial(1900), &mut headers);
        let read: sfv::Dictionary = sfv::Parser::new(headers["ratelimit"].as_bytes()).parse().expect("a dictionary");
        assert_eq!(read.keys().map(|key| key.as_str()).collect::<Vec<_>>(), ["limit", "remaining", "reset"]);
        let policy: sfv::Item = sfv::Parser::new(headers["ratelimit-policy"].as_bytes()).parse().expect("an item");
        assert_eq!(integers(&policy), [("w".to_owned(), 10)]);
    }

    #[test]
    fn case_15_retry_after_is_whole_seconds_up_and_not_before_the_window() {
        for generation in [
            Generation::Structured,
            Generation::Draft07,
            Generation::Draft06,
            Generation::XDelta,
            Generation::XEpoch,
            Generation::Nothing,
        ] {
            for (ms, retry) in [(1900, "retry-after: 2"), (200, "retry-after: 1"), (0, "retry-after: 1")] {
                assert!(of(generation, denial(ms)).iter().any(|line| line == retry), "{generation:?} {ms} ms");
            }
            let never = Decision { wait_ns: Decision::NEVER, ..denial(0) };
            assert!(!of(generation, never).iter().any(|line| line.starts_with("retry-after")), "{generation:?}");
        }
        assert!(of(Generation::Draft06, denial(1900)).contains(&"ratelimit-reset: 2".to_owned()));
    }
}
