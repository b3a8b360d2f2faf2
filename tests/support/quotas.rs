//! Quotas of every kind that people write, and of some that only a test would.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use tollgate::Quota;

use super::trace::{interval, resolution};

/// Periods that stand in configurations.
const EVERYDAY: [u64; 8] = [
    1_000_000,
    100_000_000,
    1_000_000_000,
    13_000_000_000,
    60_000_000_000,
    3_600_000_000_000,
    86_400_000_000_000,
    31_536_000_000_000_000,
];

/// Makes a quota that must be sound.
pub(crate) fn quota(limit: u64, period_ns: u64, burst: u64) -> Quota {
    Quota::new(limit, Duration::from_nanos(period_ns)).and_then(|q| q.with_burst(burst)).expect("a sound quota")
}

/// Returns numbers spread evenly over the orders of magnitude up to `2^bits`.
pub(crate) fn magnitudes(bits: u32) -> impl Strategy<Value = u64> + Clone {
    (0..bits, any::<u64>()).prop_map(|(bits, low)| (1 << bits) | (low & ((1 << bits) - 1)))
}

/// Returns any limit, period and burst that make a quota, whether or not an algorithm can hold it.
pub(crate) fn any_quota() -> impl Strategy<Value = Quota> {
    let everyday = (1..=1_000u64, select(&EVERYDAY[..]), 1..=10u64, 1..=100u64);
    prop_oneof![
        4 => everyday.prop_map(|(limit, unit, units, burst)| quota(limit, unit * units, burst)),
        2 => (1..=64u64, 1..1_000_000u64, 1..=20u64).prop_map(|(limit, period, burst)| quota(limit, period, burst)),
        1 => (1..=64u64, 1..=3u64, 1..=1_000u64).prop_map(|(limit, period, burst)| quota(limit, period, burst)),
        1 => (1..=3u64, magnitudes(64), 1..=3u64).prop_map(|(limit, period, burst)| quota(limit, period, burst)),
        1 => (magnitudes(24), magnitudes(50), magnitudes(16)).prop_map(|(l, period, burst)| quota(l, period, burst)),
        1 => (magnitudes(64), magnitudes(64), magnitudes(64)).prop_map(|(l, period, burst)| quota(l, period, burst)),
    ]
}

/// Tells whether a bucket keeps this rate without rounding.
fn is_exact(quota: &Quota) -> bool {
    resolution(quota) == Some(interval(quota))
}

/// Returns quotas that a bucket holds.
pub(crate) fn bucket_quota() -> impl Strategy<Value = Quota> {
    any_quota().prop_filter("a bucket holds it", |quota| resolution(quota).is_some())
}

/// Returns quotas that a bucket holds without rounding.
pub(crate) fn exact_quota() -> impl Strategy<Value = Quota> {
    bucket_quota().prop_filter("without rounding", is_exact)
}

/// Returns quotas that a bucket holds with its interval rounded up.
pub(crate) fn rounded_quota() -> impl Strategy<Value = Quota> {
    let fine = (65..=1_000_003u64, 16..=1_000_000u64, 1..=1_000u64, 1..=64u64)
        .prop_map(|(limit, interval, extra, burst)| quota(limit, limit * interval + extra, burst));
    prop_oneof![fine, bucket_quota()].prop_filter("with rounding", |quota| !is_exact(quota))
}

/// Returns quotas that a word with a window and two counts holds.
pub(crate) fn window_quota() -> impl Strategy<Value = Quota> {
    let limit = prop_oneof![4 => 1..=9u64, 2 => 10..=70u64, 1 => 71..=300u64];
    let short = (1..=3u64, 1..=9u64).prop_map(|(limit, period)| quota(limit, period, limit));
    let everyday = (limit.clone(), select(&EVERYDAY[..]), 1..=10u64);
    let long = (limit, magnitudes(64)).prop_map(|(limit, period)| quota(limit, period.max(1 << 16), limit));
    prop_oneof![4 => everyday.prop_map(|(limit, unit, n)| quota(limit, unit * n, limit)), 1 => short, 1 => long]
}

/// Returns quotas of every algorithm, with bursts of their own for buckets.
pub(crate) fn call_quota() -> impl Strategy<Value = Quota> {
    let limit = prop_oneof![4 => 1..=9u64, 2 => 10..=70u64];
    let short = (1..=3u64, 1_000..=9_000u64).prop_map(|(limit, period)| (limit, period));
    let everyday = (limit, select(&EVERYDAY[..7]), 1..=10u64).prop_map(|(limit, unit, n)| (limit, unit * n));
    (prop_oneof![4 => everyday, 1 => short], 1..=40u64).prop_map(|((limit, period), burst)| quota(limit, period, burst))
}

/// Returns quotas that a log holds.
pub(crate) fn log_quota() -> impl Strategy<Value = Quota> {
    let limit = prop_oneof![4 => 1..=9u64, 2 => 10..=70u64, 1 => 71..=300u64];
    let period =
        prop_oneof![3 => (select(&EVERYDAY[..]), 1..=10u64).prop_map(|(unit, n)| unit * n), 1 => magnitudes(64)];
    (limit, period).prop_map(|(limit, period)| quota(limit, period, limit))
}
