//! How much may pass, and the notation people write it in.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::QuotaError;

/// A limit for each period, and a burst: how much may pass at once.
///
/// # Notation
///
/// A quota is read from, and written as, text: `5/10s`, `100/minute`, `10 per 2 hours`, `1000/min burst 50`. Units
/// are `ns`, `us`, `ms`, `s`, `sec`, `min`, `m`, `h`, `hour`, `d`, `day`, `w`, `week` and their plurals; digits may
/// be grouped with `_`; case does not matter.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::Quota;
///
/// let quota: Quota = "1000/min burst 50".parse()?;
/// assert_eq!(quota, Quota::new(1000, Duration::from_secs(60))?.with_burst(50)?);
/// assert_eq!(quota.to_string(), "1000/min burst 50");
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    limit: u64,
    period_ns: u64,
    burst: u64,
}

/// The units that are written, longest first, with their nanoseconds.
const WRITTEN_UNITS: [(&str, u64); 8] = [
    ("week", 604_800_000_000_000),
    ("day", 86_400_000_000_000),
    ("hour", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl Quota {
    /// Makes a quota of `limit` for each `period`, with a burst of the whole limit.
    ///
    /// # Errors
    ///
    /// A limit or period of zero, and a period over `u64::MAX` nanoseconds (584 years), are refused. What an
    /// algorithm cannot hold beyond that is refused when a limiter is built.
    pub fn new(limit: u64, period: Duration) -> Result<Self, QuotaError> {
        let period_ns = u64::try_from(period.as_nanos()).map_err(|_| QuotaError::PeriodTooLong)?;
        if limit == 0 {
            return Err(QuotaError::ZeroLimit);
        }
        if period_ns == 0 {
            return Err(QuotaError::ZeroPeriod);
        }
        Ok(Self { limit, period_ns, burst: limit })
    }

    /// Sets the burst: the most that may pass at once after a rest.
    ///
    /// # Errors
    ///
    /// A burst of zero is refused.
    pub fn with_burst(self, burst: u64) -> Result<Self, QuotaError> {
        if burst == 0 { Err(QuotaError::ZeroBurst) } else { Ok(Self { burst, ..self }) }
    }

    /// Returns how much may pass in each period in the long run.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the period.
    pub const fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }

    /// Returns the period in nanoseconds.
    pub(crate) const fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Returns the most that may pass at once; the limit, unless it was set.
    pub const fn burst(&self) -> u64 {
        self.burst
    }
}

impl fmt::Display for Quota {
    /// Writes the notation that [`Quota::from_str`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, unit_ns) =
            WRITTEN_UNITS.into_iter().find(|(_, unit_ns)| self.period_ns.is_multiple_of(*unit_ns)).unwrap_or(("ns", 1));
        write!(f, "{}/", self.limit)?;
        match self.period_ns / unit_ns {
            1 => f.write_str(unit)?,
            // "2week" reads badly, "2weeks" is one word too and is read back.
            n if unit.len() >= 3 => write!(f, "{n}{unit}s")?,
            n => write!(f, "{n}{unit}")?,
        }
        if self.burst == self.limit { Ok(()) } else { write!(f, " burst {}", self.burst) }
    }
}

impl FromStr for Quota {
    type Err = QuotaError;

    /// Reads the notation, see [`Quota`].
    fn from_str(text: &str) -> Result<Self, QuotaError> {
        let refuse = |at: &str| QuotaError::Notation { text: shown(text), at: shown(at) };
        let mut words = Words { rest: text };

        let limit = words.number().ok_or_else(|| refuse(words.rest))?;
        if !words.eat("/") && !words.eat("per") && !words.eat("every") {
            return Err(refuse(words.rest));
        }
        let count = words.number().unwrap_or(1);
        let unit_ns = words.unit().ok_or_else(|| refuse(words.rest))?;
        let burst = if words.eat("burst") {
            words.eat("=");
            Some(words.number().ok_or_else(|| refuse(words.rest))?)
        } else {
            None
        };
        if !words.rest.trim().is_empty() {
            return Err(refuse(words.rest));
        }

        let period_ns = count.checked_mul(unit_ns).ok_or(QuotaError::PeriodTooLong)?;
        let quota = Self::new(limit, Duration::from_nanos(period_ns))?;
        burst.map_or(Ok(quota), |burst| quota.with_burst(burst))
    }
}

/// Returns a text as an error may show it: trimmed, printable and short.
fn shown(text: &str) -> String {
    text.trim().chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// What is left to read of a notation.
struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    /// Takes `word` off the front, whatever its case; a word of letters must end there.
    fn eat(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start();
        let Some(head) = rest.get(..word.len()) else { return false };
        let tail = &rest[word.len()..];
        let runs_on = word.ends_with(|c: char| c.is_alphabetic()) && tail.starts_with(|c: char| c.is_alphabetic());
        if runs_on || !head.eq_ignore_ascii_case(word) {
            return false;
        }
        self.rest = tail;
        true
    }

    /// Takes a number off the front; nothing is taken if there is none or it does not fit.
    fn number(&mut self) -> Option<u64> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(rest.len());
        let (digits, tail) = rest.split_at(end);
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let number = digits.replace('_', "").parse().ok()?;
        self.rest = tail;
        Some(number)
    }

    /// Takes a unit of time off the front and returns its nanoseconds.
    fn unit(&mut self) -> Option<u64> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        let unit = match word.to_lowercase().as_str() {
            "ns" | "nanosecond" | "nanoseconds" => "ns",
            "us" | "µs" | "μs" | "microsecond" | "microseconds" => "us",
            "ms" | "msec" | "millisecond" | "milliseconds" => "ms",
            "s" | "sec" | "secs" | "second" | "seconds" => "s",
            "m" | "min" | "mins" | "minute" | "minutes" => "min",
            "h" | "hr" | "hrs" | "hour" | "hours" => "hour",
            "d" | "day" | "days" => "day",
            "w" | "week" | "weeks" => "week",
            _ => return None,
        };
        self.rest = tail;
        WRITTEN_UNITS.into_iter().find_map(|(name, ns)| (name == unit).then_some(ns))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Quota {
    /// Writes the notation.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Quota {
    /// Reads the notation.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Reads a quota that must be one.
    fn read(text: &str) -> Quota {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn people_write_quotas_in_many_ways() {
        let minute = Quota::new(100, Duration::from_secs(60)).expect("a sound quota");
        for text in ["100/minute", "100/min", "100 / 1 m", " 100 per minute ", "100/60s", "1_00 PER 60 Seconds"] {
            assert_eq!(read(text), minute, "{text}");
        }
        assert_eq!(read("10 per 2 hours"), Quota::new(10, Duration::from_secs(7200)).expect("sound"));
        assert_eq!(read("5/10s").burst(), 5);
        assert_eq!(read("1000/min burst 50").burst(), 50);
        assert_eq!(read("1000/min burst=50").burst(), 50);
        assert_eq!(read("1/µs").period(), Duration::from_micros(1));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["5/10s", "100/min", "10/2hours", "1000/min burst 50", "1/week", "3/2weeks", "7/1500ms", "1/7ns"] {
            assert_eq!(read(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_quota_is_named() {
        for (text, at) in [
            ("", ""),
            ("five/10s", "five/10s"),
            ("5", ""),
            ("5/", ""),
            ("5/10", ""),
            ("5/10parsecs", "parsecs"),
            ("5 permin", "permin"),
            ("-5/s", "-5/s"),
            ("5/s burst", ""),
            ("5/s bursts 3", "bursts 3"),
            ("5/s burst 3 or so", "or so"),
            ("99999999999999999999/s", "99999999999999999999/s"),
            ("5/\u{1F550}", "\u{1F550}"),
        ] {
            let refused = text.parse::<Quota>().expect_err(text);
            assert_eq!(refused, QuotaError::Notation { text: text.trim().into(), at: at.into() }, "{text}");
        }
    }

    #[test]
    fn zeros_and_eternities_are_refused() {
        assert_eq!("0/s".parse::<Quota>(), Err(QuotaError::ZeroLimit));
        assert_eq!("5/0s".parse::<Quota>(), Err(QuotaError::ZeroPeriod));
        assert_eq!("5/s burst 0".parse::<Quota>(), Err(QuotaError::ZeroBurst));
        assert_eq!("5/999999999 weeks".parse::<Quota>(), Err(QuotaError::PeriodTooLong));
        assert_eq!(Quota::new(1, Duration::MAX), Err(QuotaError::PeriodTooLong));
    }
}
