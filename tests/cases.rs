//! Limits that went wrong somewhere, each with others of its family.
#![cfg(not(loom))]

mod support;

use std::net::IpAddr;
use std::time::Duration;

use tollgate::{
    Address, Algorithm, Decision, FixedWindow, Limiter, ManualClock, Overflow, Quota, SingleLimiter, SlidingCounter,
    SlidingLog, Tick,
};

use support::quotas::quota;
use support::trace::{bucket, counter, fixed, log, still};

/// A second in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Returns the tick at so many milliseconds.
fn at(ms: u64) -> Tick {
    Tick::from_nanos(ms * 1_000_000)
}

/// Reads a quota that must be one.
fn read(text: &str) -> Quota {
    text.parse().expect("a sound quota")
}

/// Makes so many calls at one tick and returns the answers.
fn calls<A: Algorithm>(limiter: &Limiter<u64, A>, key: u64, n: usize, now: Tick) -> Vec<Decision> {
    (0..n).map(|_| limiter.check_at(&key, now)).collect()
}

/// Makes so many calls at one tick and returns how many passed.
fn passed<A: Algorithm>(limiter: &Limiter<u64, A>, key: u64, n: usize, now: Tick) -> usize {
    calls(limiter, key, n, now).iter().filter(|decision| decision.is_allowed()).count()
}

#[test]
fn a_log_admits_its_limit_at_one_tick_and_counts_down() {
    for limit in [1, 2, 5, 8, 9, 64, 100] {
        for now in [at(0), at(7), Tick::from_nanos(u64::MAX / 3)] {
            let limiter = log(quota(limit, 10 * SECOND, limit), false);
            let answers = calls(&limiter, 0, limit as usize + 2, now);
            for (idx, answer) in answers.iter().enumerate() {
                let idx = idx as u64;
                assert_eq!(answer.is_allowed(), idx < limit, "call {idx} of limit {limit}");
                assert_eq!(answer.remaining(), (limit - 1).saturating_sub(idx));
                assert_eq!(answer.limit(), limit);
            }
            assert_eq!(answers[limit as usize].retry_after(), Some(Duration::from_secs(10)));
        }
    }
}

#[test]
fn a_log_forgets_a_call_one_period_later() {
    let limiter = log(read("5/10s"), false);
    assert_eq!(passed(&limiter, 0, 5, at(0)), 5);
    assert_eq!(passed(&limiter, 0, 1, Tick::from_nanos(10 * SECOND - 1)), 0);
    assert_eq!(passed(&limiter, 0, 1, at(10_001)), 1);

    for (limit, period) in [(1, 1), (1, SECOND), (5, 10 * SECOND), (70, 60 * SECOND), (3, 86_400 * SECOND)] {
        let limiter = log(quota(limit, period, limit), false);
        for lap in 0..5 {
            let start = lap * period;
            assert_eq!(passed(&limiter, 0, limit as usize, Tick::from_nanos(start)), limit as usize);
            assert_eq!(passed(&limiter, 0, 1, Tick::from_nanos(start + period - 1)), 0, "{limit} per {period}");
        }
    }
}

#[test]
fn a_log_has_no_window_whose_end_can_be_played() {
    let limiter = log(read("100/s"), false);
    assert_eq!(passed(&limiter, 0, 100, at(900)), 100);
    assert_eq!(passed(&limiter, 0, 100, at(1_100)), 0);
    assert_eq!(passed(&limiter, 0, 100, at(1_900)), 100);

    // Calls spread over the period come back one by one, each when its own time has passed.
    let limiter = log(read("10/10s"), false);
    for second in 0..10 {
        assert_eq!(passed(&limiter, 0, 1, at(second * 1_000)), 1);
    }
    for second in 10..40 {
        assert_eq!(passed(&limiter, 0, 3, at(second * 1_000)), 1);
    }
}

#[test]
fn each_algorithm_has_its_own_answer_to_two_batches_around_the_end_of_a_window() {
    fn second_batch<A: Algorithm>(limiter: &Limiter<u64, A>) -> usize {
        assert_eq!(passed(limiter, 0, 100, at(900)), 100);
        passed(limiter, 0, 100, at(1_100))
    }
    let quota = read("100/s");
    assert_eq!(second_batch(&log(quota, false)), 0);
    assert_eq!(second_batch(&counter(quota)), 10);
    assert_eq!(second_batch(&fixed(quota)), 100);
}

#[test]
fn two_idle_windows_clear_a_sliding_counter() {
    let limiter = counter(read("10/10s"));
    assert_eq!(passed(&limiter, 0, 10, at(0)), 10);
    let decision = limiter.check_at(&0, at(25_000));
    assert_eq!((decision.is_allowed(), decision.remaining()), (true, 9));
}

#[test]
fn a_window_counts_down_and_starts_again() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>, next: u64) {
        let answers = calls(limiter, 0, 7, at(3_000));
        let remaining: Vec<_> = answers.iter().map(Decision::remaining).collect();
        assert_eq!(remaining, [4, 3, 2, 1, 0, 0, 0]);
        assert_eq!(answers[5].retry_after(), Some(Duration::from_millis(next - 3_000)));
        assert_eq!(passed(limiter, 0, 1, Tick::from_nanos(next * 1_000_000 - 1)), 0);
        assert_eq!(passed(limiter, 0, 1, at(next)), 1);
    }
    check(&fixed(read("5/10s")), 10_000);
    // A fifth of the five must be out of sight.
    check(&counter(read("5/10s")), 12_000);
}

#[test]
fn a_drained_bucket_polled_each_millisecond_admits_its_rate() {
    for rate in [1, 3, 7, 64, 100, 333, 999] {
        let limiter = bucket(quota(rate, SECOND, rate));
        assert!(limiter.check_n_at(&0, rate, at(0)).is_allowed());
        let within_a_second: usize = (1..=1_000).map(|ms| passed(&limiter, 0, 1, at(ms))).sum();
        assert!(within_a_second.abs_diff(rate as usize) <= 1, "{within_a_second} of {rate}");
        let within_a_minute: usize = (1_001..=60_000).step_by(7).map(|ms| passed(&limiter, 0, 8, at(ms))).sum();
        assert!(within_a_minute.abs_diff(59 * rate as usize) <= 8 + 59 * rate as usize / 1_000);
    }
}

#[test]
fn a_bucket_keeps_the_fractions_of_what_flowed_back() {
    let limiter = bucket(read("1/10s burst 5"));
    assert!(limiter.check_n_at(&0, 5, at(0)).is_allowed());
    assert_eq!(passed(&limiter, 0, 3, at(25_000)), 2);
    assert_eq!(passed(&limiter, 0, 2, at(30_000)), 1);

    // However often somebody asks in between, the third comes back after three intervals.
    let limiter = bucket(read("3/10s"));
    assert!(limiter.check_n_at(&0, 3, at(0)).is_allowed());
    let passes: Vec<u64> = (1..=10_000).filter(|ms| limiter.check_at(&0, at(*ms)).is_allowed()).collect();
    assert_eq!(passes, [3_334, 6_667, 10_000]);
}

#[test]
fn an_interval_that_is_no_whole_second_does_not_shut_the_first_call_out() {
    for (limit, seconds) in [(10, 13), (7, 10), (3, 1), (1_000, 999), (59, 60), (1, 86_401)] {
        let limiter = bucket(quota(limit, seconds * SECOND, 1));
        assert_eq!(passed(&limiter, 0, 2, at(0)), 1, "{limit} per {seconds} s");
        let next = Tick::from_nanos((seconds * SECOND).div_ceil(limit));
        assert_eq!(passed(&limiter, 0, 2, next), 1, "{limit} per {seconds} s");
    }
}

#[test]
fn a_call_exactly_one_interval_later_passes() {
    for (limit, period) in [(1, 3_600 * SECOND), (1, SECOND), (1, 1), (2, 3_600 * SECOND), (5, 60 * SECOND)] {
        let limiter = bucket(quota(limit, period, 1));
        for lap in 0..20 {
            let due = lap * period / limit;
            if due > 0 {
                assert_eq!(passed(&limiter, 0, 1, Tick::from_nanos(due - 1)), 0, "{limit} per {period} at {lap}");
            }
            assert_eq!(passed(&limiter, 0, 1, Tick::from_nanos(due)), 1, "{limit} per {period} at {lap}");
        }
    }
}

#[test]
fn a_wait_of_centuries_saturates() {
    let almost = Tick::MAX - Duration::from_nanos(1);
    for period in [10_000_000_000 * SECOND, u64::MAX, u64::MAX / 2 + 1] {
        for now in [at(0), at(1), Tick::from_nanos(1 << 62), almost] {
            let limiter = bucket(quota(1, period, 1));
            let answers = calls(&limiter, 0, 3, now);
            assert_eq!(answers.iter().map(Decision::is_allowed).collect::<Vec<_>>(), [true, false, false]);
            for answer in &answers[1..] {
                // A bucket counts ticks from 1: the last two are one to it.
                assert!(answer.retry_after() >= Some(almost.since(now)), "{answer:?}");
                assert!(answer.reset_after() >= almost.since(now), "{answer:?}");
            }
            assert_eq!(passed(&limiter, 0, 1, almost), 0);
        }
        let limiter = log(quota(1, period, 1), false);
        let answers = calls(&limiter, 0, 2, at(5));
        assert!(answers[0].is_allowed() && !answers[1].is_allowed());
        assert!(answers[1].retry_after() >= Some(Tick::MAX.since(at(5))), "{answers:?}");
    }
}

#[test]
fn a_window_of_centuries_ends_when_it_should() {
    let period = 1 << 62;
    let (next, limit) = (Tick::from_nanos(period + 1), 4);
    let limiter = counter(quota(limit, period, limit));
    assert_eq!((passed(&limiter, 0, 4, at(0)), passed(&limiter, 0, 1, next)), (4, 0));
    // One of the four is out of sight after a quarter of the second window, and one of its ticks has gone by.
    assert_eq!(limiter.check_at(&0, next).retry_after(), Some(Duration::from_nanos(period / 4 - 1)));
    let limiter = fixed(quota(limit, period, limit));
    assert_eq!(passed(&limiter, 0, 5, at(0)), 4);
    assert_eq!(limiter.check_at(&0, at(0)).retry_after(), Some(Duration::from_nanos(period)));
    assert_eq!(passed(&limiter, 0, 5, next), 4);
}

#[test]
fn a_cost_above_the_limit_never_passes_and_spends_nothing() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>, limit: u64) {
        let half = limit.div_ceil(2);
        for (key, spent) in [(0, half), (1, 0)] {
            assert!(limiter.check_n_at(&key, spent, at(0)).is_allowed());
            for cost in [limit + 1, limit * 10, (1 << 31) + 1, 1 << 32, 1 << 63, u64::MAX] {
                let denied = limiter.check_n_at(&key, cost, at(0));
                assert_eq!((denied.is_allowed(), denied.retry_after()), (false, None), "cost {cost}, limit {limit}");
                assert_eq!(denied.remaining(), limit - spent);
            }
            assert!(limiter.check_n_at(&key, limit - spent, at(0)).is_allowed());
        }
    }
    for limit in [1, 2, 10, 100, 300] {
        check(&bucket(quota(limit, 60 * SECOND, limit)), limit);
        check(&log(quota(limit, 60 * SECOND, limit), false), limit);
        check(&log(quota(limit, 60 * SECOND, limit), true), limit);
    }
    check(&bucket(quota(3, SECOND, 1_000_000)), 1_000_000);
}

#[test]
fn numbers_too_large_to_multiply_admit_nothing() {
    for cost in [(1 << 31) + 1, (1 << 32) + 1, 1 << 33, (1 << 63) + 1, u64::MAX] {
        for (limit, period) in [(1, u64::MAX), (1, u64::MAX / 2), (1, 1 << 33), (2, u64::MAX), (1, 1)] {
            for now in [Tick::ZERO, at(1), Tick::MAX] {
                let built = Limiter::<u64>::builder(quota(limit, period, 1)).sweeper(false).build();
                let Ok(limiter) = built else { continue };
                let denied = limiter.check_n_at(&0, cost, now);
                assert_eq!((denied.is_allowed(), denied.retry_after()), (false, None), "{cost} of {limit}/{period}");
            }
        }
    }
}

#[test]
fn one_site_of_an_ipv6_network_is_one_client() {
    let limiter: Limiter<Address> =
        Limiter::builder(read("5/min")).clock(ManualClock::new().clock()).build().expect("a sound quota");
    let passes = |ip: &str, key: fn(IpAddr) -> Address| {
        let key = key(ip.parse().expect("an address"));
        u32::from(limiter.check(&key).is_allowed())
    };
    let of_one_site: u32 = (0..200).map(|host| passes(&format!("2001:db8:1:2::{host:x}"), Address::from)).sum();
    assert_eq!(of_one_site, 5);
    let of_many_sites: u32 = (3..203).map(|site| passes(&format!("2001:db8:1:{site:x}::1"), Address::from)).sum();
    assert_eq!(of_many_sites, 200);
    let of_many_hosts: u32 = (0..200).map(|host| passes(&format!("198.51.100.{host}"), Address::from)).sum();
    assert_eq!(of_many_hosts, 200);

    // A provider that gives each customer a /48.
    let wide: fn(IpAddr) -> Address = |ip| Address::with_prefix(ip, 48);
    let of_one_customer: u32 = (0..200).map(|site| passes(&format!("2001:db8:9:{site:x}::1"), wide)).sum();
    assert_eq!(of_one_customer, 5);
}

#[test]
fn every_spelling_of_an_address_is_one_client() {
    let key = |ip: &str| Address::from(ip.parse::<IpAddr>().expect("an address"));
    let limiter: Limiter<Address> =
        Limiter::builder(read("3/min")).clock(ManualClock::new().clock()).build().expect("a sound quota");
    for ip in ["::ffff:1.2.3.4", "1.2.3.4", "::ffff:102:304"] {
        assert_eq!(key(ip), key("1.2.3.4"));
        assert!(limiter.check(&key(ip)).is_allowed());
    }
    assert_eq!(limiter.stats().keys, 1);
    assert!(!limiter.check(&key("0:0:0:0:0:ffff:0102:0304")).is_allowed());
    assert!(limiter.check(&key("::ffff:5.6.7.8")).is_allowed());
    assert_ne!(key("::ffff:5.6.7.8"), key("1.2.3.4"));
    assert_eq!(key("2001:DB8::1"), key("2001:0db8:0000:0000:0000:0000:0000:0001"));
    // Not mapped, only alike.
    assert_ne!(key("::1.2.3.4"), key("1.2.3.4"));
    assert_ne!(key("0:0:0:ffff::102:304"), key("1.2.3.4"));
}

#[test]
fn a_flood_of_keys_that_come_once_stays_under_the_cap_and_leaves_live_keys_alone() {
    let (cap, flood) = if cfg!(debug_assertions) { (100_000, 1_000_000) } else { (1_000_000, 10_000_000) };
    const LIVE: u64 = u64::MAX;
    for overflow in [Overflow::Deny, Overflow::Allow, Overflow::Share] {
        // A key that comes once is idle after a millisecond, the live one after ten minutes.
        let limiter = still(Limiter::<u64>::builder(read("1000/s burst 1000000")).max_keys(cap).overflow(overflow));
        assert!(limiter.check_n_at(&LIVE, 600_000, at(0)).is_allowed());
        for key in 0..flood {
            let _ = limiter.check_at(&key, at(key / 200));
        }
        let stats = limiter.stats();
        assert!(stats.keys <= cap as u64, "{stats:?}");
        // While segments move, each stands twice, and neither need be full.
        assert!(stats.bytes <= 128 * cap as u64, "{stats:?}");
        assert_eq!(stats.allowed + stats.denied, flood + 1);
        // At 200 a millisecond, a flood can keep more keys alive through the margin of a second than the cap holds.
        assert_eq!(stats.overflowed > 0, 200_000 > cap, "{stats:?}");

        let now = at(flood / 200);
        let spent = 600_000 - flood / 200;
        assert_eq!(limiter.peek_at(&LIVE, now).remaining(), 1_000_000 - spent);
        assert!(!limiter.check_n_at(&LIVE, 1_000_001 - spent, now).is_allowed());
        assert!(limiter.check_n_at(&LIVE, 1_000_000 - spent, now).is_allowed());
    }
}

#[test]
fn a_key_past_the_cap_meets_the_rule_its_owner_chose() {
    let cap = 100;
    for (overflow, first, second) in
        [(Overflow::Deny, false, false), (Overflow::Allow, true, true), (Overflow::Share, true, true)]
    {
        fn fill<A: Algorithm>(limiter: &Limiter<u64, A>, cap: u64) {
            for key in 0..cap {
                assert!(limiter.check_n_at(&key, 3, at(0)).is_allowed(), "key {key} under the cap");
            }
            assert_eq!((limiter.stats().keys, limiter.stats().overflowed), (cap, 0));
        }
        fn check<A: Algorithm>(limiter: &Limiter<u64, A>, cap: u64, first: bool, second: bool, shared: bool) {
            fill(limiter, cap);
            for turn in 0..20 {
                let (one, other) = (cap + turn, cap + 1_000 + turn);
                let spent = shared && turn >= 5;
                assert_eq!(limiter.check_at(&one, at(0)).is_allowed(), first && !spent, "turn {turn}");
                assert_eq!(limiter.check_at(&other, at(0)).is_allowed(), second && !spent, "turn {turn}");
            }
            let stats = limiter.stats();
            assert_eq!((stats.keys, stats.overflowed), (cap, 40));
            assert_eq!(stats.allowed + stats.denied, cap + 40);
            // Those that were there first go on as if nothing had happened.
            for key in 0..cap {
                assert_eq!(passed(limiter, key, 10, at(0)), 7, "key {key}");
            }
        }
        let shared = overflow == Overflow::Share;
        let log = Limiter::<u64, SlidingLog>::builder(read("10/s"));
        check(
            &still(Limiter::<u64>::builder(read("10/s")).max_keys(100).overflow(overflow)),
            cap,
            first,
            second,
            shared,
        );
        check(&still(log.max_keys(100).overflow(overflow)), cap, first, second, shared);
    }
}

#[test]
fn idle_keys_make_room_for_new_ones_though_nobody_sweeps() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>, cap: u64) {
        for generation in 0..5 {
            for key in 0..cap {
                let key = generation * cap + key;
                assert_eq!(passed(limiter, key, 11, at(generation * 60_000)), 10, "key {key} of {cap}");
            }
            let stats = limiter.stats();
            assert!(stats.keys <= cap && stats.overflowed == 0, "{stats:?} with a cap of {cap}");
        }
    }
    for cap in [1, 2, 10, 100, 5_000] {
        let log = Limiter::<u64, SlidingLog>::builder(read("10/s"));
        let counter = Limiter::<u64, SlidingCounter>::builder(read("10/s"));
        check(&still(counter.max_keys(cap as usize).overflow(Overflow::Deny)), cap);
        let fixed = Limiter::<u64, FixedWindow>::builder(read("10/s"));
        check(&still(fixed.max_keys(cap as usize).overflow(Overflow::Deny)), cap);
        let bucket = Limiter::<u64>::builder(read("10/s"));
        check(&still(bucket.max_keys(cap as usize).overflow(Overflow::Deny)), cap);
        check(&still(log.max_keys(cap as usize).overflow(Overflow::Deny)), cap);
    }
}

#[test]
fn a_sweep_drops_what_is_idle_and_nothing_else() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>) {
        for key in 0..500 {
            assert!(limiter.check_at(&key, at(0)).is_allowed());
        }
        for key in 500..1_000 {
            assert!(limiter.check_n_at(&key, 10, at(500)).is_allowed());
        }
        assert_eq!(limiter.stats().keys, 1_000);
        assert_eq!(limiter.sweep_at(at(999)), 0);
        // Where less than a quarter is idle it is not worth the trouble.
        let evicted = limiter.sweep_at(at(2_000));
        let stats = limiter.stats();
        assert!((400..=500).contains(&evicted), "{evicted} of 500 idle keys were evicted");
        assert_eq!((stats.keys, stats.evicted), (1_000 - evicted, evicted));
        for key in 500..1_000 {
            assert_eq!(limiter.peek_at(&key, at(500)).remaining(), 0);
        }
        assert_eq!(limiter.sweep_at(at(20_000)), 1_000 - evicted);
        assert_eq!((limiter.stats().keys, limiter.stats().evicted), (0, 1_000));
        for key in 0..1_000 {
            assert_eq!(passed(limiter, key, 11, at(20_000)), 10);
        }
    }
    check(&bucket(read("10/10s")));
    check(&bucket(read("10/s")));
    check(&log(read("10/s"), false));
}

#[test]
fn memory_comes_back_when_a_crowd_has_gone() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>) {
        let empty = limiter.stats().bytes;
        for key in 0..50_000 {
            assert!(limiter.check_at(&key, at(0)).is_allowed());
        }
        let full = limiter.stats().bytes;
        assert!(full >= 50_000 * 16, "{full} bytes");
        // A thread of another test that was interrupted in a check holds up what is freed, for as long as it does not run.
        let is_back = |stats: &tollgate::Stats| stats.bytes <= empty + full / 10;
        for pass in 0..2_000 {
            limiter.sweep_at(at(60_000 + pass));
            if is_back(&limiter.stats()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let stats = limiter.stats();
        assert_eq!(stats.keys, 0);
        assert!(is_back(&stats), "{} bytes, {empty} when empty, {full} when full", stats.bytes);
    }
    check(&bucket(read("10/s")));
    check(&log(read("10/s"), false));
}

#[test]
fn counting_what_was_denied_keeps_a_stubborn_caller_out() {
    let limiter = log(read("5/10s"), true);
    assert_eq!(passed(&limiter, 0, 8, at(0)), 5);
    assert_eq!(passed(&limiter, 0, 1, at(9_000)), 0);
    // The denied calls at 0 pushed the first ones out of the log, and the one at 9 s stands.
    assert_eq!(passed(&limiter, 0, 9, at(10_000)), 4);
    // Nine attempts at 10 s fill the log; with no pause of a whole period nothing passes any more.
    for second in 11..60 {
        assert_eq!(passed(&limiter, 0, 5, at(second * 1_000)), 0, "at {second} s");
    }
    assert_eq!(passed(&limiter, 0, 9, at(69_000)), 5);
    // What can never pass leaves no mark, and neither does a look.
    assert!(!limiter.check_n_at(&1, 6, at(0)).is_allowed());
    assert!(limiter.peek_at(&1, at(0)).is_allowed());
    assert_eq!(passed(&limiter, 1, 6, at(0)), 5);
}

#[test]
fn whoever_asks_for_up_to_so_much_gets_what_is_left() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>) {
        let mut granted = Vec::new();
        for most in [0, 4, 4, 4, 1, u64::MAX, 0] {
            granted.push(limiter.check_up_to_at(&0, most, at(0)).0);
        }
        assert_eq!(granted, [0, 4, 4, 2, 0, 0, 0]);
        let (_, denied) = limiter.check_up_to_at(&0, 7, at(0));
        assert_eq!(denied, limiter.check_at(&0, at(0)));
        assert_eq!(limiter.check_up_to_at(&1, u64::MAX, at(0)).0, 10);
        // A call that asks for nothing is a look.
        assert_eq!((limiter.stats().allowed, limiter.stats().denied), (4, 4));
    }
    let quota = read("10/10s");
    check(&bucket(quota));
    check(&fixed(quota));
    check(&counter(quota));
    check(&log(quota, false));
}

#[test]
fn many_keys_at_once_are_decided_one_after_the_other() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>, twin: &Limiter<u64, A>) {
        // Not whole batches, keys that come twice in one batch, and a table that grows on the way.
        let keys: Vec<u64> = (0..5_003).map(|idx| idx * idx % 1_009).collect();
        for round in 0..3 {
            let expected: Vec<_> = keys.iter().map(|key| twin.check_at(key, at(round))).collect();
            assert_eq!(limiter.check_many_at(&keys, at(round)), expected);
        }
        let (stats, expected) = (limiter.stats(), twin.stats());
        assert_eq!((stats.allowed, stats.denied, stats.keys), (expected.allowed, expected.denied, expected.keys));
        assert!(limiter.check_many_at::<u64>(&[], at(9)).is_empty());
    }
    let quota = read("7/s");
    check(&bucket(quota), &bucket(quota));
    check(&fixed(quota), &fixed(quota));
    check(&counter(quota), &counter(quota));
    check(&log(quota, true), &log(quota, true));
}

#[test]
fn a_single_limiter_counts_everybody_as_one() {
    let manual = ManualClock::new();
    let limiter: SingleLimiter = SingleLimiter::builder(read("5/10s")).clock(manual.clock()).build().expect("sound");
    let log = SingleLimiter::<SlidingLog>::builder(read("5/10s")).clock(manual.clock()).build().expect("sound");
    for left in (0..5).rev() {
        assert_eq!(limiter.check().remaining(), left);
        assert_eq!(log.check().remaining(), left);
    }
    assert_eq!(limiter.check().retry_after(), Some(Duration::from_secs(2)));
    assert_eq!(log.check().retry_after(), Some(Duration::from_secs(10)));
    assert!(limiter.check_n_at(2, at(4_000)).is_allowed());
    assert!(!log.check_n_at(1, at(4_000)).is_allowed());
    assert_eq!((limiter.peek_at(at(4_000)).remaining(), log.peek_at(at(10_000)).remaining()), (0, 5));
    manual.set(at(6_000));
    assert_eq!(limiter.peek().remaining(), 1);
    assert_eq!((limiter.check_n(6).retry_after(), log.check_n(6).retry_after()), (None, None));
    assert!(limiter.check_at(at(6_000)).is_allowed());
    manual.set(at(10_000));
    assert!(log.check_n(5).is_allowed());
}

#[test]
fn keys_of_any_kind_are_told_apart() {
    let limiter: Limiter<str> = Limiter::builder(read("1/h")).sweeper(false).build().expect("sound");
    let pairs: Limiter<(u32, String)> = Limiter::builder(read("1/h")).sweeper(false).build().expect("sound");
    let numbers: Limiter<u64> = Limiter::builder(read("1/h")).sweeper(false).build().expect("sound");
    for idx in 0..10_000 {
        assert!(limiter.check(&*format!("user {idx}")).is_allowed());
        assert!(pairs.check(&(idx, String::from("/login"))).is_allowed());
        // Numbers that differ in few bits, and those that hashers like to keep as their marks.
        assert!(numbers.check(&(u64::from(idx) << 32)).is_allowed());
        assert!(numbers.check(&(u64::MAX - u64::from(idx))).is_allowed());
    }
    assert!(!limiter.check("user 77").is_allowed());
    assert!(!pairs.check(&(77, String::from("/login"))).is_allowed());
    assert!(pairs.check(&(77, String::from("/logout"))).is_allowed());
    assert!(!numbers.check(&0).is_allowed() && !numbers.check(&u64::MAX).is_allowed());
    assert_eq!(numbers.stats().keys, 20_000);
}
