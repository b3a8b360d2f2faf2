//! Many threads at once: what passes in all is exactly what one thread would have been given.
#![cfg(not(loom))]

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use tollgate::{
    Algorithm, Builder, FixedWindow, IntervalBucket, LeakyBucket, Limiter, ManualClock, Overflow, OwnWindow, Quota,
    SingleBuilder, SingleLimiter, SlidingCounter, SlidingLog, Tick, TokenBucket,
};

use support::oracle::{Call, Oracle, Rule};
use support::quotas::quota;
use support::trace::{bucket_rule, counter_rule, fixed_rule, log_rule};

/// How many threads check.
const THREADS: usize = 3;

/// A second in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Where time stands: late enough for ghosts to be idle.
const NOON: Tick = Tick::from_nanos(43_200 * SECOND);

/// Returns the first number in debug builds, the second in optimised ones.
fn sized<T>(debug: T, release: T) -> T {
    if cfg!(debug_assertions) { debug } else { release }
}

/// Builds a limiter whose time stands at noon.
fn at_noon<A: Algorithm>(builder: Builder<u64, A>) -> Limiter<u64, A> {
    let manual = ManualClock::new();
    manual.set(NOON);
    builder.clock(manual.clock()).sweeper(false).build().expect("a quota that can be held")
}

/// Runs `work` in several threads that start at once, numbered from 0, and returns what they return.
fn threads<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(count);
    thread::scope(|scope| {
        let run = |thread| {
            start.wait();
            work(thread)
        };
        let handles: Vec<_> = (0..count).map(|thread| scope.spawn(move || run(thread))).collect();
        handles.into_iter().map(|handle| handle.join().expect("a thread without a panic")).collect()
    })
}

/// Runs `work` while one more thread does `aside` again and again, the first time before `work` begins; tells how often it
/// did.
fn beside<T>(aside: impl Fn() + Sync, work: impl FnOnce() -> T) -> (T, u64) {
    let done = AtomicBool::new(false);
    let (begun, has_begun) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let (done, aside) = (&done, &aside);
        let turns = scope.spawn(move || {
            let mut turns = 0;
            while !done.load(Ordering::Relaxed) {
                aside();
                turns += 1;
                // Nobody listens any more after the first time.
                let _ = begun.send(());
            }
            turns
        });
        // It fails only where the other thread panics, which is told when it is joined.
        let _ = has_begun.recv();
        drop(has_begun);
        // However the work ends, the other thread must not go on.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        let turns = turns.join().expect("a thread without a panic");
        (result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), turns)
    })
}

/// Puts keys into the table that are idle at noon, so that sweeps have something to evict.
fn haunt<A: Algorithm>(limiter: &Limiter<u64, A>, ghosts: u64) {
    for ghost in 0..ghosts {
        assert!(limiter.check_at(&(u64::MAX - ghost), Tick::ZERO).is_allowed());
    }
}

/// Has every thread check every key `calls` times, and demands that each key was allowed `limit` times in all.
fn check_totals<A: Algorithm>(limiter: &Limiter<u64, A>, first: u64, keys: u64, calls: u64, limit: u64) {
    let before = limiter.stats();
    let allowed = threads(THREADS, |thread| {
        let mut allowed = vec![0_u64; keys as usize];
        for turn in 0..calls {
            for step in 0..keys {
                // Each thread goes round from a place of its own, so that they meet and part.
                let key = (step + (thread as u64 + turn) * 7) % keys;
                allowed[key as usize] += u64::from(limiter.check(&(first + key)).is_allowed());
            }
        }
        allowed
    });
    for key in 0..keys as usize {
        let sum: u64 = allowed.iter().map(|of_thread| of_thread[key]).sum();
        assert_eq!(sum, limit.min(calls * THREADS as u64), "key {key} of {keys}");
        assert_eq!(limiter.check(&(first + key as u64)).is_allowed(), calls * (THREADS as u64) < limit);
    }
    let after = limiter.stats();
    assert_eq!(after.allowed + after.denied, before.allowed + before.denied + keys * (calls * THREADS as u64 + 1));
    let allowed: u64 = allowed.iter().flatten().sum();
    assert_eq!(after.allowed, before.allowed + allowed + keys * u64::from(calls * (THREADS as u64) < limit));
}

#[test]
fn every_key_of_a_growing_table_gets_exactly_its_burst() {
    let limiter = at_noon(Limiter::<u64>::builder(quota(5, 3_600 * SECOND, 5)));
    check_totals(&limiter, 0, sized(20_000, 200_000), 3, 5);
}

#[test]
fn every_key_gets_exactly_its_burst_while_others_are_swept_away() {
    fn check<A: Algorithm>(builder: impl Fn(Quota) -> Builder<u64, A>, keys: u64) {
        // What is haunted by ghosts needs a window that is over at noon.
        let limiter = at_noon(builder(quota(5, 3_600 * SECOND, 5)));
        haunt(&limiter, keys);
        let ((), sweeps) = beside(
            || {
                limiter.sweep();
            },
            || check_totals(&limiter, 0, keys, 3, 5),
        );
        assert!(sweeps > 0);
        while limiter.stats().keys > keys {
            assert!(limiter.sweep() > 0, "{:?}", limiter.stats());
        }
        assert_eq!(limiter.stats().keys, keys);
        assert!(limiter.stats().evicted >= keys, "{:?}", limiter.stats());
    }
    check(Limiter::<u64, TokenBucket>::builder, sized(20_000, 200_000));
    check(Limiter::<u64, IntervalBucket>::builder, sized(5_000, 50_000));
    check(Limiter::<u64, LeakyBucket>::builder, sized(5_000, 50_000));
    check(|quota| Limiter::<u64, LeakyBucket>::builder(quota).queue(0), sized(5_000, 50_000));
    check(Limiter::<u64, FixedWindow>::builder, sized(5_000, 50_000));
    check(Limiter::<u64, OwnWindow>::builder, sized(5_000, 50_000));
    check(Limiter::<u64, SlidingCounter>::builder, sized(5_000, 50_000));
}

/// Runs a check for each algorithm, with limiters whose time stands at noon.
macro_rules! for_each_algorithm {
    ($check:ident, $quota:expr, $($argument:expr),*) => {
        $check(&at_noon(Limiter::<u64, TokenBucket>::builder($quota)), $($argument),*);
        $check(&at_noon(Limiter::<u64, IntervalBucket>::builder($quota)), $($argument),*);
        $check(&at_noon(Limiter::<u64, LeakyBucket>::builder($quota)), $($argument),*);
        $check(&at_noon(Limiter::<u64, LeakyBucket>::builder($quota).queue(3)), $($argument),*);
        $check(&at_noon(Limiter::<u64, FixedWindow>::builder($quota)), $($argument),*);
        $check(&at_noon(Limiter::<u64, OwnWindow>::builder($quota)), $($argument),*);
        $check(&at_noon(Limiter::<u64, SlidingCounter>::builder($quota)), $($argument),*);
        $check(&at_noon(Limiter::<u64, SlidingLog>::builder($quota)), $($argument),*);
    };
}

#[test]
fn what_is_charged_and_given_back_by_all_threads_leaves_what_was_left() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>, keys: u64) {
        for key in 0..keys {
            assert!(limiter.check_n(&key, 40).is_allowed());
        }
        let (_, sweeps) = beside(
            || {
                limiter.sweep();
            },
            || {
                threads(THREADS, |thread| {
                    for turn in 0..20 {
                        for key in (0..keys).map(|key| (key + (thread as u64 + turn) * 7) % keys) {
                            // At any moment at most nine are charged beside the forty: no debt is forgotten.
                            let _ = limiter.charge(&key, 3);
                            let _ = limiter.refund(&key, 3);
                        }
                    }
                })
            },
        );
        assert!(sweeps > 0);
        for key in 0..keys {
            assert_eq!(limiter.peek(&key).remaining(), 60, "key {key} of {limiter:?}");
        }
    }
    for_each_algorithm!(check, quota(100, 3_600 * SECOND, 100), sized(50, 500));
}

#[test]
fn what_is_given_back_is_given_once_more() {
    fn check<A: Algorithm>(limiter: &Limiter<u64, A>, rounds: u64) {
        for key in 0..rounds {
            assert_eq!(limiter.check_up_to(&key, 100).0, 100);
            let balance: i64 = threads(THREADS, |thread| {
                // One gives back, the others take what they can.
                let mut balance = 0;
                for _ in 0..30 {
                    if thread == 0 {
                        let _ = limiter.refund(&key, 2);
                        balance -= 2;
                    } else {
                        balance += i64::from(limiter.check(&key).is_allowed());
                    }
                }
                balance
            })
            .into_iter()
            .sum();
            assert_eq!(i128::from(limiter.peek(&key).remaining()), -i128::from(balance), "key {key} of {limiter:?}");
        }
    }
    for_each_algorithm!(check, quota(100, 3_600 * SECOND, 100), sized(50, 500));
}

#[test]
fn reservations_of_all_threads_are_due_one_after_the_other() {
    /// How many are reserved of a key.
    const COUNT: usize = 24;

    fn check<A: Algorithm>(builder: Builder<u64, A>, rounds: u64) {
        let limiter = at_noon(builder);
        // A log does not reserve while another thread stands between its claim and its stamp.
        let reserve = |key: u64| {
            let mut tries = (0..10_000_000).map(|_| limiter.reserve(&key, 1, Duration::MAX));
            tries.find_map(|reserved| reserved.ok().map(|reserved| reserved.delay())).expect("some try succeeds")
        };
        let alone: Vec<Duration> = (0..COUNT).map(|_| reserve(u64::MAX)).collect();
        for key in 0..rounds {
            let each = threads(THREADS, |_| (0..COUNT / THREADS).map(|_| reserve(key)).collect::<Vec<_>>());
            let mut together = each.concat();
            together.sort_unstable();
            assert_eq!(together, alone, "key {key} of {limiter:?}");
        }
    }
    let quota = quota(7, SECOND, 7);
    check(Limiter::<u64, TokenBucket>::builder(quota), sized(30, 300));
    check(Limiter::<u64, IntervalBucket>::builder(quota), sized(30, 300));
    check(Limiter::<u64, LeakyBucket>::builder(quota), sized(30, 300));
    check(Limiter::<u64, FixedWindow>::builder(quota), sized(30, 300));
    check(Limiter::<u64, OwnWindow>::builder(quota), sized(30, 300));
    check(Limiter::<u64, SlidingCounter>::builder(quota), sized(30, 300));
    check(Limiter::<u64, SlidingLog>::builder(quota), sized(30, 300));
}

#[test]
fn every_log_gets_exactly_its_limit_while_rings_grow_and_others_are_swept_away() {
    let keys = sized(500, 5_000);
    let limiter = at_noon(Limiter::<u64, SlidingLog>::builder(quota(37, 3_600 * SECOND, 37)));
    haunt(&limiter, keys);
    let ((), sweeps) = beside(
        || {
            limiter.sweep();
        },
        || check_totals(&limiter, 0, keys, 14, 37),
    );
    assert!(sweeps > 0);
}

#[test]
fn a_log_with_room_never_denies_while_its_ring_grows() {
    let keys = sized(20, 200);
    let limiter = at_noon(Limiter::<u64, SlidingLog>::builder(quota(1_000, 3_600 * SECOND, 1_000)));
    check_totals(&limiter, 0, keys, 300, 1_000);
}

#[test]
fn costs_of_many_threads_add_up_to_the_burst() {
    fn check<A: Algorithm>(builder: Builder<u64, A>, rounds: u64) {
        let limiter = at_noon(builder);
        for key in 0..rounds {
            let spent: u64 = threads(THREADS, |thread| {
                // Costs of 1, 2 and 4: whatever is left in the end is less than the least of them.
                let cost = 1 << thread;
                (0..100).map(|_| if limiter.check_n(&key, cost).is_allowed() { cost } else { 0 }).sum::<u64>()
            })
            .into_iter()
            .sum();
            assert_eq!((spent, limiter.peek(&key).remaining()), (100, 0));
        }
    }
    check(Limiter::<u64>::builder(quota(100, 3_600 * SECOND, 100)), sized(50, 500));
    check(Limiter::<u64, FixedWindow>::builder(quota(100, 3_600 * SECOND, 100)), sized(50, 500));
    check(Limiter::<u64, SlidingCounter>::builder(quota(100, 3_600 * SECOND, 100)), sized(50, 500));
    check(Limiter::<u64, SlidingLog>::builder(quota(100, 3_600 * SECOND, 100)), sized(50, 500));
}

#[test]
fn shares_of_many_threads_add_up_to_the_limit() {
    fn check<A: Algorithm>(builder: Builder<u64, A>, keys: u64) {
        let limiter = at_noon(builder);
        let asked: Vec<u64> = (0..keys).collect();
        let granted: u64 = threads(THREADS, |thread| {
            // Some ask for what there is, some for many keys at once.
            let mut granted = 0;
            for _ in 0..60 {
                if thread % 2 == 0 {
                    granted += asked.iter().map(|key| limiter.check_up_to(key, 3).0).sum::<u64>();
                } else {
                    let decisions = limiter.check_many(&asked);
                    granted += decisions.iter().filter(|decision| decision.is_allowed()).count() as u64;
                }
            }
            granted
        })
        .into_iter()
        .sum();
        assert_eq!(granted, 100 * keys);
    }
    check(Limiter::<u64>::builder(quota(100, 3_600 * SECOND, 100)), sized(100, 1_000));
    check(Limiter::<u64, FixedWindow>::builder(quota(100, 3_600 * SECOND, 100)), sized(100, 1_000));
    check(Limiter::<u64, SlidingCounter>::builder(quota(100, 3_600 * SECOND, 100)), sized(100, 1_000));
    check(Limiter::<u64, SlidingLog>::builder(quota(100, 3_600 * SECOND, 100)), sized(100, 1_000));
}

#[test]
fn the_first_check_of_a_key_may_be_raced() {
    fn check<A: Algorithm>(builder: Builder<u64, A>, rounds: u64) {
        let limiter = at_noon(builder);
        let together = Barrier::new(THREADS);
        let sweeping = || {
            limiter.sweep();
        };
        let (allowed, _) = beside(sweeping, || {
            threads(THREADS, |_| {
                let mut allowed = Vec::new();
                for key in 0..rounds {
                    together.wait();
                    allowed.push((0..3).filter(|_| limiter.check(&key).is_allowed()).count());
                }
                allowed
            })
        });
        for key in 0..rounds as usize {
            assert_eq!(allowed.iter().map(|of_thread| of_thread[key]).sum::<usize>(), 2, "key {key}");
        }
        assert_eq!(limiter.stats().keys, rounds);
    }
    check(Limiter::<u64>::builder(quota(2, 3_600 * SECOND, 2)), sized(2_000, 20_000));
    check(Limiter::<u64, FixedWindow>::builder(quota(2, 3_600 * SECOND, 2)), sized(1_000, 10_000));
    check(Limiter::<u64, SlidingCounter>::builder(quota(2, 3_600 * SECOND, 2)), sized(1_000, 10_000));
    check(Limiter::<u64, SlidingLog>::builder(quota(2, 3_600 * SECOND, 2)), sized(2_000, 20_000));
}

#[test]
fn a_table_with_room_for_its_keys_turns_none_of_them_away() {
    fn check<A: Algorithm>(builder: impl Fn() -> Builder<u64, A>, keys: u64, rounds: usize) {
        for _ in 0..rounds {
            // A thread that comes second with a key counts it until it notices.
            let max_keys = keys as usize + THREADS - 1;
            let limiter = at_noon(builder().max_keys(max_keys).overflow(Overflow::Deny));
            check_totals(&limiter, 0, keys, 2, 5);
            assert_eq!((limiter.stats().keys, limiter.stats().overflowed), (keys, 0));
        }
    }
    check(|| Limiter::<u64>::builder(quota(5, 3_600 * SECOND, 5)), 1_000, sized(20, 200));
    check(|| Limiter::<u64, SlidingLog>::builder(quota(5, 3_600 * SECOND, 5)), 1_000, sized(5, 50));
}

#[test]
fn keys_that_come_and_go_are_decided_as_by_one_thread() {
    /// Replays phases in each of which time stands still, with the table swept without pause.
    fn check<A: Algorithm>(builder: Builder<u64, A>, rule: Rule, phases: u64) {
        const KEYS: u64 = 400;
        const CALLS: u64 = 4;
        let manual = ManualClock::new();
        let limiter = builder.clock(manual.clock()).sweeper(false).build().expect("a quota that can be held");
        let oracle = Oracle::new(rule);
        let sweeping = || {
            limiter.sweep();
        };
        let ((), sweeps) = beside(sweeping, || {
            for phase in 0..phases {
                // Short steps and long: within an interval, past a period, past the margin of eviction.
                let step_ms = [40, 330, 1_200, 4_500, 7][phase as usize % 5];
                manual.advance(Duration::from_millis(step_ms));
                if step_ms > 4_000 {
                    limiter.sweep();
                }
                let touched = |key: u64| (key * 31 + phase * 17) % 5 < 3;
                let allowed = threads(THREADS, |thread| {
                    let mut allowed = vec![0; KEYS as usize];
                    for step in 0..KEYS * CALLS {
                        let key = (step + thread as u64 * 100) % KEYS;
                        if touched(key) {
                            allowed[key as usize] += u64::from(limiter.check(&key).is_allowed());
                        }
                    }
                    allowed
                });
                let now = limiter.now().as_nanos();
                for key in (0..KEYS).filter(|key| touched(*key)) {
                    let must =
                        (0..CALLS * THREADS as u64).filter(|_| oracle.call(key, Call::Check(1), now).allowed).count();
                    let sum: u64 = allowed.iter().map(|of_thread| of_thread[key as usize]).sum();
                    assert_eq!(sum, must as u64, "key {key} in phase {phase} at {now}");
                }
            }
        });
        assert!(sweeps > 0 && limiter.stats().evicted > 0, "{sweeps} sweeps, {:?}", limiter.stats());
    }
    let quotas: [Quota; 2] = [quota(7, SECOND, 7), quota(10, 3 * SECOND, 10)];
    for quota in quotas {
        check(Limiter::<u64>::builder(quota), bucket_rule(&quota), sized(100, 1_000));
        check(Limiter::<u64, FixedWindow>::builder(quota), fixed_rule(&quota), sized(100, 1_000));
        check(Limiter::<u64, SlidingCounter>::builder(quota), counter_rule(&quota), sized(100, 1_000));
        check(Limiter::<u64, SlidingLog>::builder(quota), log_rule(&quota, false), sized(100, 1_000));
        let counting = Limiter::<u64, SlidingLog>::builder(quota).count_denied(true);
        check(counting, log_rule(&quota, true), sized(100, 1_000));
    }
}

#[test]
fn a_clock_that_runs_on_gives_no_key_more_than_its_rate() {
    /// Checks few keys while time runs; in `span` at most `most` may pass for each.
    fn check<A: Algorithm>(builder: Builder<u64, A>, span: Duration, most: u64) {
        const KEYS: u64 = 40;
        let manual = ManualClock::new();
        let limiter = builder.clock(manual.clock()).sweeper(false).build().expect("a quota that can be held");
        let end = Tick::ZERO + span;
        let running = || {
            let now = limiter.now();
            // Now and then so far that keys become idle and are evicted.
            let step = if now.as_nanos() % 50 < 3 { 2_500_000_001 } else { 20_000_003 };
            manual.set(end.min(now + Duration::from_nanos(step)));
            limiter.sweep();
        };
        let (allowed, _) = beside(running, || {
            threads(THREADS, |thread| {
                let mut allowed = vec![0; KEYS as usize];
                let first = thread as u64 * 10;
                let mut step = first;
                // A thread that only gets to run when the time is over still asks for each key.
                while limiter.now() < end || step < first + KEYS {
                    let key = step % KEYS;
                    allowed[key as usize] += u64::from(limiter.check(&key).is_allowed());
                    step += 1;
                }
                allowed
            })
        });
        // A thread that was held up for more than the margin may ask once with the time of then.
        let stale = THREADS as u64 * span.as_secs();
        for key in 0..KEYS as usize {
            let sum: u64 = allowed.iter().map(|of_thread| of_thread[key]).sum();
            assert!(sum <= most + stale, "{sum} passed for key {key}, at most {most} + {stale}");
        }
        let allowed: u64 = allowed.iter().flatten().sum();
        assert!(allowed > 0 && limiter.stats().allowed == allowed, "{allowed} passed, {:?}", limiter.stats());
    }
    let span = Duration::from_secs(sized(60, 600));
    let seconds = span.as_secs();
    check(Limiter::<u64>::builder(quota(100, SECOND, 50)), span, 50 + 100 * seconds);
    check(Limiter::<u64, FixedWindow>::builder(quota(100, SECOND, 100)), span, 100 * (seconds + 1));
    check(Limiter::<u64, SlidingCounter>::builder(quota(100, SECOND, 100)), span, 100 * (seconds + 1));
    check(Limiter::<u64, SlidingLog>::builder(quota(100, SECOND, 100)), span, 100 * (seconds + 1));
}

#[test]
fn denied_attempts_of_all_threads_are_counted() {
    let manual = ManualClock::new();
    let quota = quota(37, 10 * SECOND, 37);
    let limiter: Limiter<u64, SlidingLog> = Limiter::<u64, SlidingLog>::builder(quota)
        .count_denied(true)
        .clock(manual.clock())
        .sweeper(false)
        .build()
        .expect("a quota that can be held");
    for key in 0..sized(100, 1_000) {
        manual.set(NOON);
        let passed = |calls: usize| -> usize {
            threads(THREADS, |_| (0..calls).filter(|_| limiter.check(&key).is_allowed()).count()).into_iter().sum()
        };
        assert_eq!(passed(20), 37);
        // 36 attempts a nanosecond early leave one stamp of noon, so one more passes a nanosecond later.
        manual.advance(Duration::from_nanos(10 * SECOND - 1));
        assert_eq!(passed(12), 0);
        manual.advance(Duration::from_nanos(1));
        assert_eq!(passed(15), 1);
        // By now the log is full of attempts of this tick.
        manual.advance(Duration::from_nanos(10 * SECOND - 1));
        assert_eq!(passed(1), 0);
        manual.advance(Duration::from_nanos(10 * SECOND));
        assert_eq!(passed(20), 37);
    }
}

#[test]
fn one_limiter_for_all_is_shared_by_all_threads() {
    fn check<A: Algorithm>(build: impl Fn(ManualClock) -> SingleBuilder<A>, rounds: usize) {
        for _ in 0..rounds {
            let manual = ManualClock::new();
            let limiter: SingleLimiter<A> = build(manual.clone()).build().expect("a quota that can be held");
            for period in 0..5 {
                manual.set(Tick::from_nanos(period * 10 * SECOND));
                let passed: usize =
                    threads(THREADS, |_| (0..400).filter(|_| limiter.check().is_allowed()).count()).into_iter().sum();
                assert_eq!(passed, 1_000, "in period {period}");
            }
        }
    }
    let quota = quota(1_000, 10 * SECOND, 1_000);
    check(|manual| SingleLimiter::<TokenBucket>::builder(quota).clock(manual.clock()), sized(20, 200));
    check(|manual| SingleLimiter::<SlidingLog>::builder(quota).clock(manual.clock()), sized(20, 200));
}

#[test]
fn a_full_table_never_holds_more_than_its_keys() {
    const CAP: u64 = 2_000;
    fn check<A: Algorithm>(builder: Builder<u64, A>, overflow: Overflow) {
        let limiter = at_noon(builder.max_keys(CAP as usize).overflow(overflow));
        let watching = || {
            let stats = limiter.stats();
            assert!(stats.keys <= CAP, "{stats:?}");
            limiter.sweep();
        };
        let calls = 2_000;
        let (allowed, _) = beside(watching, || {
            threads(THREADS, |thread| {
                let key = |idx: u64| idx * THREADS as u64 + thread as u64;
                (0..calls).filter(|idx| limiter.check(&key(*idx)).is_allowed()).count() as u64
            })
        });
        let (allowed, calls) = (allowed.into_iter().sum::<u64>(), calls * THREADS as u64);
        let stats = limiter.stats();
        assert_eq!(stats.keys, CAP);
        assert_eq!((stats.allowed, stats.allowed + stats.denied), (allowed, calls));
        assert_eq!(stats.overflowed, calls - CAP);
        let of_the_others = match overflow {
            Overflow::Deny => 0,
            Overflow::Allow => calls - CAP,
            Overflow::Share => 3,
        };
        assert_eq!(allowed, CAP + of_the_others);
    }
    for overflow in [Overflow::Deny, Overflow::Allow, Overflow::Share] {
        check(Limiter::<u64>::builder(quota(3, 3_600 * SECOND, 3)), overflow);
        check(Limiter::<u64, SlidingLog>::builder(quota(3, 3_600 * SECOND, 3)), overflow);
    }
}

#[test]
fn handles_may_be_dropped_while_others_work() {
    fn check<A: Algorithm>(builder: impl Fn() -> Builder<u64, A> + Sync, rounds: u64) {
        for _ in 0..rounds {
            let last = Arc::new(AtomicU64::new(0));
            let manual = ManualClock::new();
            let limiter = builder().clock(manual.clock()).build().expect("a quota that can be held");
            thread::scope(|scope| {
                for thread in 0..THREADS as u64 {
                    let (limiter, manual, last) = (limiter.clone(), manual.clone(), Arc::clone(&last));
                    scope.spawn(move || {
                        // Each ends at a time of its own, and the last one takes the table with it.
                        for key in 0..200 * (thread + 1) {
                            assert!(limiter.check(&(key << 2 | thread)).is_allowed());
                            if key % 64 == 0 {
                                manual.advance(Duration::from_secs(5));
                                limiter.sweep();
                            }
                        }
                        drop(limiter);
                        last.fetch_add(1, Ordering::Relaxed);
                    });
                }
                drop(limiter);
            });
            assert_eq!(last.load(Ordering::Relaxed), THREADS as u64);
        }
    }
    check(|| Limiter::<u64>::builder(quota(9, SECOND, 9)), sized(30, 300));
    check(|| Limiter::<u64, SlidingLog>::builder(quota(9, SECOND, 9)), sized(30, 300));
}

#[test]
fn threads_that_end_leave_their_counts_behind() {
    let limiter = at_noon(Limiter::<u64>::builder(quota(5, SECOND, 5)));
    for round in 0..sized(40, 400) {
        threads(20, |thread| {
            for key in 0..10 {
                let _ = limiter.check(&(key + thread as u64));
            }
        });
        let stats = limiter.stats();
        assert_eq!(stats.allowed + stats.denied, (round + 1) * 200);
    }
}

#[test]
fn what_is_spent_while_the_quota_rises_is_what_the_last_quota_holds() {
    /// The last limit.
    const MOST: u64 = 24;

    fn check<A: Algorithm>(builder: fn(Quota) -> Builder<u64, A>, raised: fn(u64) -> Quota) {
        let limiter = at_noon(builder(raised(1)));
        for round in 0..sized(3, 30) {
            let keys: Vec<u64> = (0..40).map(|key| round * 40 + key).collect();
            limiter.set_quota(raised(1)).expect("a sound quota");
            let pass = || keys.iter().map(|key| u64::from(limiter.check(key).is_allowed())).sum::<u64>();
            let (during, _) = beside(
                || {
                    limiter.sweep();
                },
                || {
                    threads(THREADS, |thread| {
                        if thread > 0 {
                            return (0..60).map(|_| pass()).sum::<u64>();
                        }
                        (2..=MOST).for_each(|most| limiter.set_quota(raised(most)).expect("a sound quota"));
                        0
                    })
                },
            );
            let after = keys.iter().map(|key| limiter.check_up_to(key, 1_000).0).sum::<u64>();
            assert_eq!(during.iter().sum::<u64>() + after, MOST * keys.len() as u64, "{limiter:?}");
        }
    }
    // A bucket keeps the time until it is full, so its rate stays and its burst grows; the others keep what they counted.
    let burst = |most| quota(1, 3_600 * SECOND, most);
    let limit = |most| quota(most, 3_600 * SECOND, most);
    check(Limiter::<u64, TokenBucket>::builder, burst);
    check(Limiter::<u64, IntervalBucket>::builder, burst);
    check(Limiter::<u64, LeakyBucket>::builder, burst);
    check(Limiter::<u64, FixedWindow>::builder, limit);
    check(Limiter::<u64, OwnWindow>::builder, limit);
    check(Limiter::<u64, SlidingCounter>::builder, limit);
    check(Limiter::<u64, SlidingLog>::builder, limit);
}
