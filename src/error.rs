//! What can be wrong with a quota.

use std::fmt;

/// Why a quota was refused; every message names the value and the range that would do.
///
/// # Examples
///
/// ```
/// use tollgate::{Quota, QuotaError};
///
/// let refused: Result<Quota, QuotaError> = "0/10s".parse();
/// assert_eq!(refused.unwrap_err().to_string(), "a limit of 0 lets nothing pass: take 1 or more");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuotaError {
    /// The limit is zero.
    ZeroLimit,
    /// The limit is larger than the algorithm can count.
    LimitTooLarge {
        /// The limit that was asked for.
        limit: u64,
        /// The largest that can be had.
        most: u64,
    },
    /// The period is zero.
    ZeroPeriod,
    /// The period does not fit 64 bits of nanoseconds (584 years).
    PeriodTooLong,
    /// The burst is zero.
    ZeroBurst,
    /// The algorithm has no burst beside its limit.
    BurstWithoutBucket {
        /// The burst that was asked for.
        burst: u64,
        /// The limit, which is the only burst that can be had.
        limit: u64,
    },
    /// The bucket would begin with more than it holds.
    InitialAboveBurst {
        /// The tokens to begin with.
        initial: u64,
        /// The burst.
        burst: u64,
    },
    /// The wall clock has no such period.
    PeriodNotAligned {
        /// The period, in nanoseconds.
        period_ns: u64,
    },
    /// The calendar has no month of this length.
    PeriodNotMonth {
        /// The period, in nanoseconds.
        period_ns: u64,
    },
    /// No place's clocks are so far from UTC.
    OffsetTooLarge {
        /// The offset, in seconds.
        seconds: i32,
    },
    /// The rate cannot be told apart, within 0.1 %, from its neighbours.
    RateTooHigh {
        /// The limit that was asked for.
        limit: u64,
        /// The period that was asked for, in nanoseconds.
        period_ns: u64,
    },
    /// A full burst takes longer to come back than ticks can count.
    BurstTooLong {
        /// The burst that was asked for.
        burst: u64,
        /// The largest burst that can be had at this rate.
        most: u64,
    },
    /// The text is not in the notation of quotas.
    Notation {
        /// The text.
        text: String,
        /// The part that was not understood.
        at: String,
    },
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroLimit => f.write_str("a limit of 0 lets nothing pass: take 1 or more"),
            Self::LimitTooLarge { limit, most } => {
                write!(f, "a limit of {limit} is more than this algorithm counts: take 1 to {most}")
            }
            Self::ZeroPeriod => f.write_str("a period of 0 has no rate: take 1 ns or more"),
            Self::PeriodTooLong => {
                write!(f, "the period is longer than {} ns (584 years): take a shorter one", u64::MAX)
            }
            Self::ZeroBurst => f.write_str("a burst of 0 lets nothing pass: take 1 or more"),
            Self::BurstWithoutBucket { burst, limit } => {
                write!(f, "a burst of {burst} beside a limit of {limit} needs the token bucket: leave the burst out")
            }
            Self::InitialAboveBurst { initial, burst } => {
                write!(f, "a bucket cannot begin with {initial} tokens when it holds {burst}: take 0 to {burst}")
            }
            Self::PeriodNotAligned { period_ns } => write!(
                f,
                "a period of {period_ns} ns cannot be aligned with the wall clock: take one that divides the day, or a week"
            ),
            Self::PeriodNotMonth { period_ns } => {
                write!(f, "a period of {period_ns} ns is no month: take 28 to 31 days, such as 1000/30days")
            }
            Self::OffsetTooLarge { seconds } => {
                write!(f, "an offset of {seconds} s from UTC is more than a day: take -86400 to 86400")
            }
            Self::RateTooHigh { limit, period_ns } => write!(
                f,
                "{limit} per {period_ns} ns is a rate that cannot be held within 0.1 %: \
                 take at most 64 per ns in whole 64ths of a ns, or 1 per 16 ns otherwise"
            ),
            Self::BurstTooLong { burst, most } => {
                write!(f, "a burst of {burst} takes more than 146 years to come back at this rate: take 1 to {most}")
            }
            Self::Notation { text, at } => write!(
                f,
                "\"{text}\" is no quota, it cannot be read at \"{at}\": \
                 write it like 5/10s, 100/minute, 10 per 2 hours or 1000/min burst 50"
            ),
        }
    }
}

impl std::error::Error for QuotaError {}
