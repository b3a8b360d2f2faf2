//! Quotas that change while the limiter is at work.
#![cfg(not(loom))]

mod support;

use std::time::Duration;

use proptest::prelude::*;
use tollgate::{
    Algorithm, FixedWindow, IntervalBucket, LeakyBucket, Limiter, ManualClock, Overflow, OwnWindow, Quota, QuotaError,
    SingleLimiter, SlidingCounter, SlidingLog, Tick, TokenBucket,
};

/// Reads a quota that must be one.
fn read(text: &str) -> Quota {
    text.parse().expect("a sound quota")
}

/// Returns the tick at so many milliseconds.
fn at(ms: u64) -> Tick {
    Tick::from_nanos(ms * 1_000_000)
}

/// Makes a limiter that nobody sweeps, on a clock that stands still.
fn limiter<A: Algorithm>(quota: Quota) -> Limiter<u64, A> {
    Limiter::builder(quota).clock(ManualClock::new().clock()).sweeper(false).build().expect("a sound quota")
}

/// Returns how many pass at once.
fn passed<A: Algorithm>(limiter: &Limiter<u64, A>, now: Tick) -> u64 {
    limiter.check_up_to_at(&7, u64::MAX, now).0
}

/// Runs a check for every algorithm.
macro_rules! for_each_algorithm {
    ($check:ident) => {
        for_each_algorithm!($check of TokenBucket IntervalBucket LeakyBucket FixedWindow OwnWindow SlidingCounter SlidingLog)
    };
    ($check:ident of $($algorithm:ident)*) => {
        $($check::<$algorithm>();)*
    };
}

#[test]
fn a_raise_gives_nothing_for_the_past() {
    let hour = 3_600_000;
    let idle: Limiter<u64> = limiter(read("1/s burst 10"));
    assert_eq!(passed(&idle, at(0)), 10);
    idle.set_quota_at(read("1000/s burst 10"), at(hour)).expect("a sound quota");
    assert_eq!(passed(&idle, at(hour)), 10);

    fn check<A: Algorithm>() {
        let limiter: Limiter<u64, A> = limiter(read("10/min"));
        assert_eq!(passed(&limiter, at(0)), 10);
        limiter.set_quota_at(read("30/min"), at(0)).expect("a sound quota");
        assert_eq!(limiter.quota(), read("30/min"));
        // A bucket keeps the time until it is full, all others keep the count.
        assert!(matches!(passed(&limiter, at(0)), 0 | 20), "{limiter:?}");
    }
    for_each_algorithm!(check);
}

#[test]
fn nobody_is_locked_out_by_a_debt_measured_under_the_old_rate() {
    let limiter: Limiter<u64> = limiter(read("1/s burst 10"));
    assert_eq!(passed(&limiter, at(0)), 10);
    limiter.set_quota_at(read("1000/s burst 10"), at(5_000)).expect("a sound quota");
    assert_eq!(passed(&limiter, at(5_020)), 10);
}

#[test]
fn a_cut_takes_effect_at_once() {
    fn check<A: Algorithm>() {
        let limiter: Limiter<u64, A> = limiter(read("10/min"));
        assert!(limiter.check_n_at(&7, 6, at(0)).is_allowed());
        assert!(limiter.check_n_at(&8, 2, at(0)).is_allowed());
        limiter.set_quota_at(read("5/min"), at(0)).expect("a sound quota");
        // Six of ten tokens are 36 s until the bucket is full, which are three of five.
        let name = std::any::type_name::<A>();
        let keeps_time = name.ends_with("TokenBucket") || name.ends_with("LeakyBucket");
        assert_eq!(passed(&limiter, at(0)), if keeps_time { 2 } else { 0 }, "{name}");
        assert!(limiter.check_n_at(&8, 6, at(0)).retry_after().is_none(), "6 are never there");
        assert_eq!(limiter.peek_at(&9, at(0)).remaining(), 5);
        assert_eq!(limiter.peek_at(&7, at(0)).limit(), 5);
    }
    for_each_algorithm!(check);
}

#[test]
fn a_quota_that_the_word_cannot_hold_changes_nothing() {
    let bucket: Limiter<u64> = limiter(read("10/s"));
    assert!(matches!(bucket.set_quota_at(read("70000001/s"), at(0)), Err(QuotaError::RateTooHigh { .. })));
    let log: Limiter<u64, SlidingLog> = limiter(read("10/s"));
    let refused = log.set_quota_at(read("10/s burst 20"), at(0));
    assert_eq!(refused, Err(QuotaError::BurstWithoutBucket { burst: 20, limit: 10 }));
    for limiter in [bucket.quota(), log.quota()] {
        assert_eq!(limiter, read("10/s"));
    }
    assert_eq!((passed(&bucket, at(0)), passed(&log, at(0))), (10, 10));
}

#[test]
fn the_key_of_all_without_room_and_a_limiter_of_one_keep_what_was_spent() {
    fn check<A: Algorithm>() {
        let full: Limiter<u64, A> = Limiter::builder(read("10/min"))
            .clock(ManualClock::new().clock())
            .max_keys(0)
            .overflow(Overflow::Share)
            .build()
            .expect("a sound quota");
        let one: SingleLimiter<A> =
            SingleLimiter::builder(read("10/min")).clock(ManualClock::new().clock()).build().expect("a sound quota");
        for quota in ["10/min", "20/min", "5/hour", "10/min"] {
            full.set_quota_at(read(quota), at(0)).expect("a sound quota");
            one.set_quota_at(read(quota), at(0)).expect("a sound quota");
            assert_eq!(one.quota(), read(quota));
            let passes = full.check_up_to_at(&1, 100, at(0)).0;
            assert_eq!(one.check_up_to_at(100, at(0)).0, passes, "{full:?}");
            assert_eq!(full.check_up_to_at(&2, 100, at(0)).0, 0, "{full:?}");
            assert!(quota != "10/min" || full.stats().overflowed > 0);
        }
    }
    for_each_algorithm!(check);
}

#[test]
fn tokens_to_begin_with_are_counted_from_when_the_limiter_began() {
    let manual = ManualClock::new();
    let limiter: Limiter<u64> =
        Limiter::builder(read("10/s")).clock(manual.clock()).initial(2).sweeper(false).build().expect("a quota");
    limiter.set_quota_at(read("10/s burst 1"), at(0)).expect("more to begin with than there is room for");
    assert_eq!(passed(&limiter, at(0)), 1);
    limiter.set_quota_at(read("10/s burst 20"), at(500)).expect("a sound quota");
    assert_eq!(limiter.peek_at(&8, at(500)).remaining(), 7, "two, and five that came back");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3_000 }))]

    /// Whatever the two quotas, and whatever was spent: after one full refill of the new one all of it is there.
    #[test]
    fn one_full_refill_of_the_new_quota_forgets_the_old(
        old in (1_u64..200, 1_u64..100_000),
        new in (1_u64..200, 1_u64..100_000),
        spent in 1_u64..200,
        changed_ms in 0_u64..200_000,
    ) {
        fn check<A: Algorithm>(old: Quota, new: Quota, spent: u64, changed: Tick) -> Result<(), TestCaseError> {
            let limiter: Limiter<u64, A> = limiter(old);
            let _ = limiter.check_up_to_at(&7, spent, at(0));
            let _ = limiter.check_up_to_at(&7, spent, changed);
            let before = limiter.peek_at(&7, changed);
            limiter.set_quota_at(new, changed).expect("a sound quota");
            let after = limiter.peek_at(&7, changed);
            prop_assert!(after.remaining() <= new.limit());
            prop_assert!(before.remaining() < old.limit() || after.remaining() == new.limit(), "{before:?} {after:?}");
            // A window of the key's own lasts up to two steps longer, a counter needs a second window.
            let windows = if std::any::type_name::<A>().contains("SlidingCounter") { 2 } else { 1 };
            let refilled = changed + new.period() * windows + new.period() / 900;
            prop_assert_eq!(limiter.peek_at(&7, refilled).remaining(), new.limit(), "{:?}", limiter);
            prop_assert_eq!(passed(&limiter, refilled), new.limit());
            Ok(())
        }
        let quota = |(limit, ms)| Quota::new(limit, Duration::from_millis(ms)).expect("a sound quota");
        let (old, new, changed) = (quota(old), quota(new), at(changed_ms));
        check::<TokenBucket>(old, new, spent, changed)?;
        check::<IntervalBucket>(old, new, spent, changed)?;
        check::<LeakyBucket>(old, new, spent, changed)?;
        check::<FixedWindow>(old, new, spent, changed)?;
        check::<OwnWindow>(old, new, spent, changed)?;
        check::<SlidingCounter>(old, new, spent, changed)?;
        check::<SlidingLog>(old, new, spent, changed)?;
    }
}
