//! Laws that hold for every quota and every list of operations.
#![cfg(not(loom))]

mod support;

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::FileFailurePersistence;
use tollgate::{Address, Algorithm, Decision, Limiter, Overflow, Quota, SlidingLog, Tick};

use support::quotas::{
    any_quota, bucket_quota, call_quota, exact_quota, log_quota, magnitudes, quota, rounded_quota, window_quota,
};
use support::trace::{
    Event, KEYS, Op, Raw, Scale, Sweeps, bucket, counter, fixed, interval, log, play, play_all_calls, play_bucket,
    play_counter, play_fixed, play_log, resolution, still,
};

/// Returns the settings of one property, with its failures kept beside this file.
fn config(cases: u32) -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { cases, failure_persistence: Some(Box::new(beside)), ..ProptestConfig::default() }
}

/// Returns lists of raw operations.
fn trace(longest: usize) -> impl Strategy<Value = Vec<Raw>> {
    let amount = prop_oneof![1 => 0..16u64, 1 => magnitudes(64), 2 => any::<u64>()];
    prop::collection::vec((any::<u8>(), any::<u8>(), amount), 1..longest)
}

/// Returns the ways to sweep under which no eviction may be seen.
fn unseen_sweeps() -> impl Strategy<Value = Sweeps> {
    select(&[Sweeps::Never, Sweeps::AsTold, Sweeps::Always][..])
}

/// Plays a trace to a fresh limiter and returns both it and the tick at the end.
fn played<A: Algorithm>(limiter: Limiter<u64, A>, scale: &Scale, trace: &[Raw]) -> (Limiter<u64, A>, Tick) {
    let now = play(&limiter, scale, trace, |_| {});
    (limiter, now)
}

/// Returns the nanoseconds of a period.
fn period_ns(quota: &Quota) -> u64 {
    quota.period().as_nanos().try_into().expect("a period fits")
}

/// Returns the most that a bucket may admit in a span: its burst and what flowed back.
fn bucket_bound(quota: &Quota, span_ns: u64) -> u128 {
    let (interval, scale) = interval(quota);
    u128::from(quota.burst()) + u128::from(span_ns) * scale / interval
}

/// Returns, for each key, what was admitted: the time that had gone forward, and the cost.
fn admitted<A: Algorithm>(limiter: &Limiter<u64, A>, scale: &Scale, trace: &[Raw]) -> Vec<Vec<(u64, u64)>> {
    let mut admitted = vec![Vec::new(); KEYS as usize];
    let (mut elapsed, mut last) = (0_u64, Tick::ZERO);
    play(limiter, scale, trace, |event| {
        elapsed = elapsed.saturating_add(event.now.since(last).as_nanos() as u64);
        last = event.now;
        if let (Op::Check { key, cost }, Some(decision)) = (event.op, event.decision)
            && decision.is_allowed()
        {
            admitted[key as usize].push((elapsed, cost));
        }
    });
    admitted
}

/// Checks every span between two admitted calls against the most that may be admitted in it.
fn check_spans(calls: &[(u64, u64)], most: impl Fn(u64) -> u128) -> Result<(), TestCaseError> {
    for (first, (start, _)) in calls.iter().enumerate() {
        let mut sum = 0_u128;
        for (end, cost) in &calls[first..] {
            sum += u128::from(*cost);
            let most = most(end - start);
            prop_assert!(sum <= most, "{sum} admitted between {start} and {end}, at most {most}: {calls:?}");
        }
    }
    Ok(())
}

/// Checks that after a trace every denial ends when it says and not a tick earlier.
fn check_waits<A: Algorithm>(
    fresh: impl Fn() -> Limiter<u64, A>,
    scale: &Scale,
    trace: &[Raw],
    cost: u64,
) -> Result<(), TestCaseError> {
    for key in 0..KEYS {
        let (limiter, now) = played(fresh(), scale, trace);
        let denied = limiter.check_n_at(&key, cost, now);
        prop_assert_eq!(denied.is_allowed(), denied.retry_after() == Some(Duration::ZERO));
        prop_assert_eq!(denied.retry_after().is_none(), cost > denied.limit());
        let Some(wait) = denied.retry_after().filter(|wait| !wait.is_zero()) else { continue };
        let end = now + wait;
        if end >= scale.last() {
            continue;
        }
        let early = end - Duration::from_nanos(1);
        prop_assert!(!limiter.check_n_at(&key, cost, early).is_allowed(), "{denied:?} at {now:?}, passed early");

        let (limiter, now) = played(fresh(), scale, trace);
        let _ = limiter.check_n_at(&key, cost, now);
        let late = limiter.check_n_at(&key, cost, end);
        prop_assert!(late.is_allowed(), "{denied:?} at {now:?}, then {late:?}");
    }
    Ok(())
}

/// Checks that a trace without its denied calls goes exactly as it went with them.
fn check_denials_leave_no_mark<A: Algorithm>(
    fresh: impl Fn() -> Limiter<u64, A>,
    scale: &Scale,
    trace: &[Raw],
) -> Result<(), TestCaseError> {
    let (mut all, mut rest) = (Vec::<Event>::new(), Vec::<Event>::new());
    let (limiter, twin) = (fresh(), fresh());
    play(&limiter, scale, trace, |event| all.push(event));
    let denied = |event: &Event| event.decision.is_some_and(|decision| !decision.is_allowed());
    let denials: HashSet<usize> = all.iter().filter(|event| denied(event)).map(|event| event.idx).collect();
    let kept: Vec<Raw> =
        trace.iter().enumerate().filter(|(idx, _)| !denials.contains(idx)).map(|(_, raw)| *raw).collect();
    let now = play(&twin, scale, &kept, |event| rest.push(event));
    let decisions = |events: &[Event]| events.iter().filter_map(|event| event.decision).collect::<Vec<Decision>>();
    all.retain(|event| !denied(event));
    prop_assert_eq!(decisions(&all), decisions(&rest));

    for key in 0..KEYS {
        let before = limiter.peek_at(&key, now);
        prop_assert_eq!(before, twin.peek_at(&key, now));
        for cost in [before.remaining() + 1, before.limit().saturating_add(1), u64::MAX] {
            let denied = limiter.check_n_at(&key, cost, now);
            prop_assert!(!denied.is_allowed(), "cost {cost} passed with {before:?}");
            prop_assert_eq!(denied.remaining(), before.remaining());
            prop_assert_eq!(limiter.peek_at(&key, now), before);
        }
    }
    Ok(())
}

/// Checks that as many unit calls pass as are said to remain, whether one by one or all at once.
fn check_remaining<A: Algorithm>(
    fresh: impl Fn() -> Limiter<u64, A>,
    scale: &Scale,
    trace: &[Raw],
) -> Result<(), TestCaseError> {
    let (one_by_one, now) = played(fresh(), scale, trace);
    let (at_once, _) = played(fresh(), scale, trace);
    let (too_much, _) = played(fresh(), scale, trace);
    for key in 0..KEYS {
        let remaining = one_by_one.peek_at(&key, now).remaining();
        let most = one_by_one.quota().burst();
        prop_assert!(remaining <= most);
        if remaining <= 2_000 {
            for left in (0..remaining).rev() {
                let decision = one_by_one.check_at(&key, now);
                prop_assert!(decision.is_allowed(), "{decision:?} with {} said to remain", left + 1);
                prop_assert_eq!(decision.remaining(), left);
            }
            prop_assert!(!one_by_one.check_at(&key, now).is_allowed());
        }
        prop_assert!(!too_much.check_n_at(&key, remaining + 1, now).is_allowed());
        prop_assert!(at_once.check_n_at(&key, remaining, now).is_allowed());
        prop_assert!(!at_once.check_at(&key, now).is_allowed());
    }
    Ok(())
}

/// Checks that a step back in time gives nothing extra, and takes nothing longer than the step.
fn check_step_back<A: Algorithm>(
    limiter: &Limiter<u64, A>,
    now: Tick,
    step: Duration,
    cost: u64,
) -> Result<(), TestCaseError> {
    let earlier = now - step;
    for key in 0..KEYS {
        let (before, stepped) = (limiter.peek_at(&key, now), limiter.peek_at(&key, earlier));
        prop_assert!(stepped.remaining() <= before.remaining(), "{before:?} at {now:?}, {stepped:?} {step:?} earlier");
        // The longest that anybody waits now, had time not stepped back: until `cost` fits.
        let stepped = limiter.check_n_at(&key, cost, earlier);
        if !stepped.is_allowed() {
            let wait = stepped.retry_after().expect("the cost is within the limit");
            let straight = limiter.check_n_at(&key, cost, now).retry_after().expect("the cost is within the limit");
            prop_assert!(wait <= straight + step, "{wait:?} after a step of {step:?}, {straight:?} without");
        }
    }
    Ok(())
}

/// Checks that a key is as good as new after the time it says, after half a day, years and for ever.
fn check_rest<A: Algorithm>(
    limiter: Limiter<u64, A>,
    scale: &Scale,
    trace: &[Raw],
    years: u64,
) -> Result<(), TestCaseError> {
    let now = play(&limiter, scale, trace, |_| {});
    let spans = [Duration::from_secs(43_200), Duration::from_secs(31_536_000 * years), Duration::MAX];
    for key in 0..KEYS {
        let resting = limiter.peek_at(&key, now);
        for rest in spans.into_iter().chain([resting.reset_after()]) {
            let then = scale.last().min(now + rest);
            let rested = limiter.peek_at(&key, then);
            let is_full = rested.remaining() == rested.limit() && rested.reset_after().is_zero();
            if resting.reset_after() < scale.last().since(now) {
                let enough = then.since(now) >= resting.reset_after();
                prop_assert_eq!(is_full, enough, "{:?}, then {:?}", resting, rested);
            }
        }
        let then = now + resting.reset_after();
        if then < scale.last() {
            prop_assert!(limiter.check_n_at(&key, resting.limit(), then).is_allowed());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(1_500))]

    #[test]
    fn the_bucket_decides_as_exact_arithmetic_does(
        quota in exact_quota(), sweeps in unseen_sweeps(), trace in trace(120),
    ) {
        play_bucket(quota, sweeps, &trace).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn the_bucket_rounds_an_odd_interval_up_to_the_slow_side(
        quota in rounded_quota(), sweeps in unseen_sweeps(), trace in trace(80),
    ) {
        play_bucket(quota, sweeps, &trace).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn every_call_of_every_algorithm_decides_as_exact_arithmetic_does(
        quota in call_quota(), choice in 0..12u8, sweeps in unseen_sweeps(), trace in trace(120),
    ) {
        play_all_calls(quota, choice, sweeps, &trace).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn the_fixed_window_decides_as_exact_arithmetic_does(
        quota in window_quota(), sweeps in unseen_sweeps(), trace in trace(120),
    ) {
        play_fixed(quota, sweeps, &trace).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn the_sliding_counter_decides_as_exact_arithmetic_does(
        quota in window_quota(), sweeps in unseen_sweeps(), trace in trace(120),
    ) {
        play_counter(quota, sweeps, &trace).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn the_log_decides_as_exact_arithmetic_does(
        quota in log_quota(), count_denied: bool, sweeps in unseen_sweeps(), trace in trace(120),
    ) {
        play_log(quota, sweeps, count_denied, &trace).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn no_span_admits_more_than_the_burst_and_what_flowed_back(
        quota in bucket_quota(), wild: bool, trace in trace(150),
    ) {
        let scale = Scale::of_bucket(&quota, if wild { Sweeps::Unbounded } else { Sweeps::Always });
        for calls in admitted(&bucket(quota), &scale, &trace) {
            check_spans(&calls, |span| bucket_bound(&quota, span))?;
        }
    }

    #[test]
    fn no_trailing_period_of_a_log_admits_more_than_the_limit(
        quota in log_quota(), count_denied: bool, wild: bool, trace in trace(150),
    ) {
        let scale = Scale::of_log(&quota, if wild { Sweeps::Unbounded } else { Sweeps::Always });
        for calls in admitted(&log(quota, count_denied), &scale, &trace) {
            check_spans(&calls, |span| {
                // As many whole periods as a half-open window can cut the span into.
                u128::from(quota.limit()) * (u128::from(span / period_ns(&quota)) + 1)
            })?;
        }
    }

    #[test]
    fn a_call_to_a_bucket_passes_after_its_wait_and_not_a_tick_earlier(
        quota in bucket_quota(), sweeps in unseen_sweeps(), trace in trace(60), cost: u64,
    ) {
        let scale = Scale::of_bucket(&quota, sweeps);
        check_waits(|| bucket(quota), &scale, &trace, 1)?;
        check_waits(|| bucket(quota), &scale, &trace, quota.burst())?;
        check_waits(|| bucket(quota), &scale, &trace, cost % (quota.burst() + 1))?;
        check_waits(|| bucket(quota), &scale, &trace, cost)?;
    }

    #[test]
    fn a_call_to_a_log_passes_after_its_wait_and_not_a_tick_earlier(
        quota in log_quota(), count_denied: bool, sweeps in unseen_sweeps(), trace in trace(60), cost: u64,
    ) {
        let scale = Scale::of_log(&quota, sweeps);
        check_waits(|| log(quota, count_denied), &scale, &trace, 1)?;
        check_waits(|| log(quota, count_denied), &scale, &trace, quota.limit())?;
        check_waits(|| log(quota, count_denied), &scale, &trace, cost % (quota.limit() + 1))?;
    }

    #[test]
    fn a_denied_call_to_a_bucket_changes_nothing(
        quota in bucket_quota(), sweeps in unseen_sweeps(), trace in trace(80),
    ) {
        check_denials_leave_no_mark(|| bucket(quota), &Scale::of_bucket(&quota, sweeps), &trace)?;
    }

    #[test]
    fn a_denied_call_to_a_log_changes_nothing(
        quota in log_quota(), sweeps in unseen_sweeps(), trace in trace(80),
    ) {
        check_denials_leave_no_mark(|| log(quota, false), &Scale::of_log(&quota, sweeps), &trace)?;
    }

    #[test]
    fn what_remains_in_a_bucket_is_what_passes(
        quota in bucket_quota(), sweeps in unseen_sweeps(), trace in trace(40),
    ) {
        check_remaining(|| bucket(quota), &Scale::of_bucket(&quota, sweeps), &trace)?;
    }

    #[test]
    fn what_remains_in_a_log_is_what_passes(
        quota in log_quota(), count_denied: bool, sweeps in unseen_sweeps(), trace in trace(40),
    ) {
        check_remaining(|| log(quota, count_denied), &Scale::of_log(&quota, sweeps), &trace)?;
    }

    #[test]
    fn time_that_steps_back_is_no_gift_to_a_bucket_and_no_lock_out(
        quota in bucket_quota(), trace in trace(60), step_ms in select(&[1, 1_600, 3_600_000][..]), cost: u64,
    ) {
        let (limiter, now) = played(bucket(quota), &Scale::of_bucket(&quota, Sweeps::Never), &trace);
        check_step_back(&limiter, now, Duration::from_millis(step_ms), 1)?;
        check_step_back(&limiter, now, Duration::from_millis(step_ms), 1 + cost % quota.burst())?;
    }

    #[test]
    fn time_that_steps_back_is_no_gift_to_a_log_and_no_lock_out(
        quota in log_quota(), trace in trace(60), step_ms in select(&[1, 1_600, 3_600_000][..]), cost: u64,
    ) {
        let (limiter, now) = played(log(quota, false), &Scale::of_log(&quota, Sweeps::Never), &trace);
        check_step_back(&limiter, now, Duration::from_millis(step_ms), 1)?;
        check_step_back(&limiter, now, Duration::from_millis(step_ms), 1 + cost % quota.limit())?;
    }

    #[test]
    fn no_span_of_a_window_admits_more_than_the_limit_in_each_window_it_touches(
        quota in window_quota(), wild: bool, trace in trace(150),
    ) {
        let sweeps = if wild { Sweeps::Unbounded } else { Sweeps::Always };
        let touched = |span: u64| u128::from(span / period_ns(&quota)) + 2;
        for calls in admitted(&fixed(quota), &Scale::of_windows(&quota, sweeps, 1), &trace) {
            check_spans(&calls, |span| u128::from(quota.limit()) * touched(span))?;
        }
        for calls in admitted(&counter(quota), &Scale::of_windows(&quota, sweeps, 2), &trace) {
            // Within less than a period the window before weighs something: one fewer than two limits.
            let saved = |span: u64| u128::from(span < period_ns(&quota));
            check_spans(&calls, |span| u128::from(quota.limit()) * touched(span) - saved(span))?;
        }
    }

    #[test]
    fn a_window_gives_nothing_away_over_the_whole_range_of_ticks(quota in window_quota(), trace in trace(60)) {
        let scale = Scale::new(&quota, Sweeps::Never, Tick::MAX);
        let most = |span: u64| u128::from(quota.limit()) * (u128::from(span / period_ns(&quota)) + 2);
        for calls in admitted(&fixed(quota), &scale, &trace) {
            check_spans(&calls, most)?;
        }
        for calls in admitted(&counter(quota), &scale, &trace) {
            check_spans(&calls, most)?;
        }
    }

    #[test]
    fn a_call_to_a_window_passes_after_its_wait_and_not_a_tick_earlier(
        quota in window_quota(), sweeps in unseen_sweeps(), trace in trace(60), cost: u64,
    ) {
        for cost in [1, quota.limit(), cost % (quota.limit() + 1), cost] {
            check_waits(|| fixed(quota), &Scale::of_windows(&quota, sweeps, 1), &trace, cost)?;
            check_waits(|| counter(quota), &Scale::of_windows(&quota, sweeps, 2), &trace, cost)?;
        }
    }

    #[test]
    fn a_denied_call_to_a_window_changes_nothing(
        quota in window_quota(), sweeps in unseen_sweeps(), trace in trace(80),
    ) {
        check_denials_leave_no_mark(|| fixed(quota), &Scale::of_windows(&quota, sweeps, 1), &trace)?;
        check_denials_leave_no_mark(|| counter(quota), &Scale::of_windows(&quota, sweeps, 2), &trace)?;
    }

    #[test]
    fn what_remains_in_a_window_is_what_passes(
        quota in window_quota(), sweeps in unseen_sweeps(), trace in trace(40),
    ) {
        check_remaining(|| fixed(quota), &Scale::of_windows(&quota, sweeps, 1), &trace)?;
        check_remaining(|| counter(quota), &Scale::of_windows(&quota, sweeps, 2), &trace)?;
    }

    #[test]
    fn time_that_steps_back_is_no_gift_to_a_window_and_no_lock_out(
        quota in window_quota(), trace in trace(60), step_ms in select(&[1, 1_600, 3_600_000][..]), cost: u64,
    ) {
        let step = Duration::from_millis(step_ms);
        for cost in [1, 1 + cost % quota.limit()] {
            let (limiter, now) = played(fixed(quota), &Scale::of_windows(&quota, Sweeps::Never, 1), &trace);
            check_step_back(&limiter, now, step, cost)?;
            let (limiter, now) = played(counter(quota), &Scale::of_windows(&quota, Sweeps::Never, 2), &trace);
            check_step_back(&limiter, now, step, cost)?;
        }
    }

    #[test]
    fn rest_makes_a_window_as_good_as_new(quota in window_quota(), trace in trace(60), years in 0..300u64) {
        check_rest(fixed(quota), &Scale::of_windows(&quota, Sweeps::Never, 1), &trace, years)?;
        check_rest(counter(quota), &Scale::of_windows(&quota, Sweeps::Never, 2), &trace, years)?;
    }

    #[test]
    fn rest_makes_a_key_as_good_as_new(
        quota in bucket_quota(), log_quota in log_quota(), trace in trace(60), years in 0..300u64,
    ) {
        check_rest(bucket(quota), &Scale::of_bucket(&quota, Sweeps::Never), &trace, years)?;
        check_rest(log(log_quota, false), &Scale::of_log(&log_quota, Sweeps::Never), &trace, years)?;
    }

    #[test]
    fn a_bucket_gives_nothing_away_over_the_whole_range_of_ticks(quota in bucket_quota(), trace in trace(60)) {
        for calls in admitted(&bucket(quota), &Scale::new(&quota, Sweeps::Never, Tick::MAX), &trace) {
            check_spans(&calls, |span| bucket_bound(&quota, span))?;
        }
    }

    #[test]
    fn the_long_run_rate_is_the_quota_at_any_cadence(
        quota in slow_or_fast(), cadence_ns in cadence(), clump in 1..64u64, gap in 1..100u64,
    ) {
        check_rate(&quota, cadence_ns, clump, gap)?;
    }
}

/// Returns rates from one in 300 years to ten million a second, with room for two.
fn slow_or_fast() -> impl Strategy<Value = Quota> {
    let slow = (1..=9u64, magnitudes(63)).prop_map(|(limit, period)| quota(limit, period, 2));
    let fast = (1..=10_000_000u64, select(&[1_000_000_000, 60_000_000_000, 3_600_000_000_000][..]))
        .prop_map(|(limit, period)| quota(limit, period, 2));
    prop_oneof![slow, fast].prop_filter("at most ten million a second", |quota| {
        let (interval, scale) = interval(quota);
        interval >= 100 * scale && resolution(quota).is_some()
    })
}

/// Returns polling intervals from a nanosecond to a day.
fn cadence() -> impl Strategy<Value = u64> {
    magnitudes(47).prop_map(|ns| ns.min(86_400_000_000_000))
}

/// Polls a drained bucket in clumps, each call `cadence_ns` after the last, with a rest of `gap` hundredths of an
/// interval between clumps, and checks that what passed is the rate times the time.
fn check_rate(quota: &Quota, cadence_ns: u64, clump: u64, gap: u64) -> Result<(), TestCaseError> {
    let (interval, scale) = interval(quota);
    let interval_ns = u64::try_from(interval / scale).expect("an interval fits");
    let limiter = bucket(*quota);
    let start = Tick::from_nanos(1_000_000_000);
    prop_assert!(limiter.check_n_at(&0, 2, start).is_allowed());
    let (mut now, mut passed, mut calls) = (start, 0_u64, 0_u64);
    while calls < 4_000 {
        for _ in 0..clump {
            now = now + Duration::from_nanos(cadence_ns);
            passed += u64::from(limiter.check_at(&0, now).is_allowed());
            calls += 1;
        }
        now = now + Duration::from_nanos(interval_ns / 100 * gap);
    }
    if now > Scale::of_bucket(quota, Sweeps::Never).last() {
        return Ok(());
    }
    let flowed = (now.since(start).as_nanos() * scale / interval) as f64;
    // The bucket holds two, so nothing is lost while no pause is longer than one interval.
    let pause_ns = u128::from(cadence_ns) + u128::from(interval_ns / 100 * gap);
    let wanted = if pause_ns * scale <= interval { flowed } else { flowed.min(calls as f64) };
    prop_assert!(passed as f64 <= flowed * 1.001 + 1.0, "{passed} passed, {flowed} flowed back");
    if pause_ns * scale <= interval || cadence_ns > interval_ns {
        prop_assert!(passed as f64 >= wanted * 0.999 - 1.0, "{passed} passed of {calls}, {flowed} flowed back");
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn a_bucket_is_refused_when_its_arithmetic_cannot_hold_it_and_only_then(quota in any_quota()) {
        let built = Limiter::<u64>::builder(quota).sweeper(false).build();
        prop_assert_eq!(built.is_ok(), resolution(&quota).is_some(), "{:?}", built.err());
    }

    #[test]
    fn a_log_has_no_burst_beside_its_limit(quota in log_quota(), burst in 1..400u64) {
        let quota = quota.with_burst(burst).expect("a sound burst");
        let built = Limiter::<u64, SlidingLog>::builder(quota).sweeper(false).build();
        prop_assert_eq!(built.is_ok(), burst == quota.limit(), "{:?}", built.err());
    }

    #[test]
    fn addresses_are_one_key_exactly_when_their_networks_are(
        one: u128, other: u128, common in 0..=128u32, bits in 0..=128u8, four: u32,
    ) {
        // Two addresses that share their first `common` bits.
        let mask = |bits: u32| if bits == 0 { 0 } else { u128::MAX << (128 - bits) };
        let other = (one & mask(common)) | (other & !mask(common));
        let [one, other] = [one, other].map(Ipv6Addr::from_bits);
        prop_assume!(one.to_ipv4_mapped().is_none() && other.to_ipv4_mapped().is_none());
        let same = |bits: u32| (one.to_bits() ^ other.to_bits()) & mask(bits) == 0;
        prop_assert_eq!(Address::from(one) == Address::from(other), same(64));
        prop_assert_eq!(Address::from(IpAddr::V6(one)), Address::from(one));
        let [short, long] = [one, other].map(|ip| Address::with_prefix(IpAddr::V6(ip), bits));
        prop_assert_eq!(short == long, same(bits.into()));

        let four = Ipv4Addr::from_bits(four);
        let spellings = [IpAddr::V4(four), IpAddr::V6(four.to_ipv6_mapped())];
        for spelling in spellings {
            prop_assert_eq!(Address::from(spelling), Address::from(four));
            prop_assert_eq!(Address::with_prefix(spelling, bits), Address::from(four));
            prop_assert_ne!(Address::from(spelling), Address::from(Ipv4Addr::from_bits(four.to_bits() ^ 1)));
        }
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn keys_and_memory_stay_under_the_cap_whatever_arrives(
        max_keys in 1..600usize,
        overflow in select(&[Overflow::Deny, Overflow::Allow, Overflow::Share][..]),
        arrivals in prop::collection::vec((0..4u8, 1..400u64, 0..5_000_000_000u64), 1..12),
    ) {
        let limiter = still(Limiter::<u64>::builder(quota(2, 1_000_000_000, 2)).max_keys(max_keys).overflow(overflow));
        let (mut now, mut fresh) = (Tick::ZERO, 1_000_u64);
        for (kind, keys, ns) in arrivals {
            now = now + Duration::from_nanos(ns);
            for idx in 0..keys {
                let key = if kind == 0 { idx } else { fresh + idx };
                let before = limiter.stats();
                let decision = limiter.check_at(&key, now);
                let after = limiter.stats();
                prop_assert!(after.keys <= max_keys as u64, "{after:?}");
                if after.overflowed == before.overflowed && kind != 0 {
                    prop_assert_eq!((decision.is_allowed(), decision.remaining()), (true, 1));
                }
            }
            fresh += if kind == 0 { 0 } else { keys };
            if kind == 3 {
                limiter.sweep_at(now);
            }
        }
        let room = 64 * max_keys as u64 + (384 << 10);
        prop_assert!(limiter.stats().bytes <= room, "{:?} for {max_keys} keys", limiter.stats());
    }
}
