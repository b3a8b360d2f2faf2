//! The fields of each generation, one writer each.

use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::decision::Decision;
use crate::http::headers::{effective_window, whole_seconds};
use crate::quota::Quota;

/// Which fields tell a client about its limit; `Retry-After` goes with all of them.
///
/// | generation | 3 left of 5 per 10 s, as good as new in 4 s |
/// |---|---|
/// | `Structured` | `RateLimit-Policy: "default";q=5;w=10`, `RateLimit: "default";r=3;t=4` |
/// | `Draft07` | `RateLimit-Policy: 5;w=10`, `RateLimit: limit=5, remaining=3, reset=4` |
/// | `Draft06` | `RateLimit-Policy: 5;w=10`, `RateLimit-Limit: 5`, `RateLimit-Remaining: 3`, `RateLimit-Reset: 4` |
/// | `XDelta` | `X-RateLimit-Limit: 5`, `X-RateLimit-Remaining: 3`, `X-RateLimit-Reset: 4` |
/// | `XEpoch` | the same, with the reset in seconds since 1970 by the wall clock |
/// | `Nothing` | |
///
/// # Examples
///
/// ```
/// use http::HeaderMap;
/// use tollgate::http::{Generation, Headers};
/// use tollgate::{Limiter, Quota, Tick};
///
/// let quota: Quota = "5/10s".parse()?;
/// let limiter: Limiter<str> = Limiter::new(quota)?;
/// let mut headers = HeaderMap::new();
/// let writer = Headers::new("default", quota)?.generation(Generation::Draft07);
/// writer.write(limiter.check_n_at("a", 2, Tick::ZERO), &mut headers);
/// assert_eq!(headers["ratelimit-policy"], "5;w=10");
/// assert_eq!(headers["ratelimit"], "limit=5, remaining=3, reset=4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Generation {
    /// `RateLimit` and `RateLimit-Policy` as lists of named items: the IETF draft since its version 08.
    #[default]
    Structured,
    /// `RateLimit` as a dictionary: version 07 of the draft.
    Draft07,
    /// A field for each number: versions 03 to 06 of the draft; 03 knows no `RateLimit-Policy` and passes over it.
    Draft06,
    /// A field for each number, with `X-` and the seconds until the reset.
    XDelta,
    /// A field for each number, with `X-` and the second of the reset since 1970.
    XEpoch,
    /// None: only `Retry-After`.
    Nothing,
}

/// The largest integer that a structured field can hold.
const MOST: u64 = 999_999_999_999_999;

/// What the fields say.
pub(super) struct Facts<'a> {
    /// The policy's name as a structured field string.
    pub(super) name: &'a str,
    pub(super) decision: &'a Decision,
    /// The time since 1970.
    pub(super) unix_time: Duration,
}

impl Facts<'_> {
    /// Returns the most that passes at once.
    fn limit(&self) -> u64 {
        self.decision.limit().min(MOST)
    }

    /// Returns how much passes now.
    fn remaining(&self) -> u64 {
        self.decision.remaining().min(MOST)
    }

    /// Returns the seconds until more passes.
    fn reset(&self) -> u64 {
        effective_window(self.decision).min(MOST)
    }

    /// Returns the second since 1970 at which more passes.
    fn reset_epoch(&self) -> u64 {
        whole_seconds(self.unix_time.saturating_add(Duration::from_secs(self.reset()))).min(MOST)
    }
}

/// A field and what it says.
type Field = (HeaderName, fn(&Facts<'_>) -> Option<HeaderValue>);

/// The writer of one generation.
pub(super) struct Writer {
    /// Returns what `RateLimit-Policy` says, always the same; `None` without that field.
    pub(super) policy: fn(name: &str, quota: Quota) -> Option<HeaderValue>,
    fields: &'static [Field],
    /// Reads the remaining quota that stands in headers already; `None` where the fields are lists to add to.
    remaining: Option<fn(&HeaderMap) -> Option<u64>>,
}

static STRUCTURED: [Field; 1] = [(HeaderName::from_static("ratelimit"), |facts| {
    HeaderValue::try_from(format!("{};r={};t={}", facts.name, facts.remaining(), facts.reset())).ok()
})];

static DRAFT_07: [Field; 1] = [(HeaderName::from_static("ratelimit"), |facts| {
    let (limit, remaining, reset) = (facts.limit(), facts.remaining(), facts.reset());
    HeaderValue::try_from(format!("limit={limit}, remaining={remaining}, reset={reset}")).ok()
})];

static DRAFT_06: [Field; 3] = [
    (HeaderName::from_static("ratelimit-limit"), |facts| Some(facts.limit().into())),
    (HeaderName::from_static("ratelimit-remaining"), |facts| Some(facts.remaining().into())),
    (HeaderName::from_static("ratelimit-reset"), |facts| Some(facts.reset().into())),
];

static X_DELTA: [Field; 3] = [
    (HeaderName::from_static("x-ratelimit-limit"), |facts| Some(facts.limit().into())),
    (HeaderName::from_static("x-ratelimit-remaining"), |facts| Some(facts.remaining().into())),
    (HeaderName::from_static("x-ratelimit-reset"), |facts| Some(facts.reset().into())),
];

static X_EPOCH: [Field; 3] = [
    (HeaderName::from_static("x-ratelimit-limit"), |facts| Some(facts.limit().into())),
    (HeaderName::from_static("x-ratelimit-remaining"), |facts| Some(facts.remaining().into())),
    (HeaderName::from_static("x-ratelimit-reset"), |facts| Some(facts.reset_epoch().into())),
];

impl Generation {
    /// Returns the writer.
    pub(super) fn writer(self) -> Writer {
        let unnamed: fn(&str, Quota) -> Option<HeaderValue> =
            |_, quota| HeaderValue::try_from(format!("{};w={}", most(quota), window(quota))).ok();
        match self {
            Self::Structured => Writer {
                policy: |name, quota| {
                    HeaderValue::try_from(format!("{name};q={};w={}", most(quota), window(quota))).ok()
                },
                fields: &STRUCTURED,
                remaining: None,
            },
            Self::Draft07 => Writer {
                policy: unnamed,
                fields: &DRAFT_07,
                remaining: Some(|headers| {
                    let mut members = headers.get("ratelimit")?.to_str().ok()?.split(',');
                    members.find_map(|member| member.trim().strip_prefix("remaining="))?.parse().ok()
                }),
            },
            Self::Draft06 => Writer {
                policy: unnamed,
                fields: &DRAFT_06,
                remaining: Some(|headers| number(headers, "ratelimit-remaining")),
            },
            Self::XDelta => Writer { policy: |_, _| None, fields: &X_DELTA, remaining: Some(x_remaining) },
            Self::XEpoch => Writer { policy: |_, _| None, fields: &X_EPOCH, remaining: Some(x_remaining) },
            Self::Nothing => Writer { policy: |_, _| None, fields: &[], remaining: None },
        }
    }
}

impl Writer {
    /// Writes the fields that follow from a decision. Those that are no lists replace what stands there already, unless
    /// that leaves less.
    pub(super) fn write(&self, facts: &Facts<'_>, headers: &mut HeaderMap) {
        let is_list = self.remaining.is_none();
        let standing = self.remaining.and_then(|read| read(headers));
        if standing.is_some_and(|standing| standing <= facts.remaining()) {
            return;
        }
        for (name, make) in self.fields {
            match make(facts) {
                Some(value) if is_list => drop(headers.append(name, value)),
                Some(value) => drop(headers.insert(name, value)),
                None => {}
            }
        }
    }
}

/// Reads the remaining quota of a limit with `X-`.
fn x_remaining(headers: &HeaderMap) -> Option<u64> {
    number(headers, "x-ratelimit-remaining")
}

/// Reads a field that is one number.
fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Returns the limit of a quota, as far as fields can hold it.
fn most(quota: Quota) -> u64 {
    quota.limit().min(MOST)
}

/// Returns the period of a quota in seconds, as far as fields can hold it.
fn window(quota: Quota) -> u64 {
    whole_seconds(quota.period()).clamp(1, MOST)
}
