//! One thread: what a check costs, by clock, number of keys, kind of key, verdict and algorithm.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tollgate::{
    Algorithm, Clock, FixedWindow, Limiter, Quota, SingleLimiter, SlidingCounter, SlidingLog, Tick, TokenBucket,
};

/// A quota that lets everything pass.
fn generous() -> Quota {
    Quota::new(1_000_000, Duration::from_secs(1)).and_then(|quota| quota.with_burst(4_000_000_000)).expect("a quota")
}

/// Steps through `0..count` in an order that no prefetcher foresees.
fn scattered(step: &mut u64, count: u64) -> u64 {
    *step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*step >> 33) % count
}

/// Checks of integer keys that pass, by clock and number of keys.
fn allowed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    for count in [1, 1_000, 1_000_000] {
        for (name, clock) in [("coarse", Clock::coarse()), ("precise", Clock::precise())] {
            let limiter: Limiter<u64> = Limiter::builder(generous()).clock(clock).build().expect("a limiter");
            (0..count).for_each(|key| assert!(limiter.check_n(&key, 1_000_000_000).is_allowed()));
            let mut step = 1;
            group.bench_function(BenchmarkId::new(name, count), |bencher| {
                bencher.iter(|| limiter.check(&scattered(&mut step, count)).is_allowed());
            });
            let now = limiter.now();
            if name == "coarse" {
                group.bench_function(BenchmarkId::new("given", count), |bencher| {
                    bencher.iter(|| limiter.check_at(&scattered(&mut step, count), now).is_allowed());
                });
            }
        }
    }
    group.finish();
}

/// One key: a string, an integer that is denied, and a limiter of its own.
fn kinds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kind");
    let strings: Limiter<str> = Limiter::builder(generous()).clock(Clock::coarse()).build().expect("a limiter");
    group.bench_function("string/allowed", |bencher| {
        bencher.iter(|| strings.check(black_box("203.0.113.77")).is_allowed());
    });
    let spent = Quota::new(1, Duration::from_secs(86_400)).expect("a quota");
    let denied: Limiter<u64> = Limiter::builder(spent).clock(Clock::coarse()).build().expect("a limiter");
    group.bench_function("integer/denied", |bencher| bencher.iter(|| denied.check(black_box(&7)).is_allowed()));
    let single: SingleLimiter = SingleLimiter::builder(generous()).clock(Clock::coarse()).build().expect("a limiter");
    group.bench_function("single/allowed", |bencher| bencher.iter(|| single.check().is_allowed()));
    group.finish();
}

/// The sliding log at a given time: full rings whose oldest stamp has just expired, and full rings.
fn log(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("log");
    for limit in [10, 100, 1_000u64] {
        let quota = Quota::new(limit, Duration::from_nanos(limit * 100)).expect("a quota");
        let limiter: Limiter<u64, SlidingLog> = Limiter::builder(quota).sweeper(false).build().expect("a limiter");
        let mut now = Tick::ZERO;
        group.bench_function(BenchmarkId::new("allowed", limit), |bencher| {
            bencher.iter(|| {
                now = now + Duration::from_nanos(100);
                limiter.check_at(&1, now).is_allowed()
            });
        });
        (0..limit).for_each(|_| assert!(limiter.check_at(&2, Tick::ZERO).is_allowed()));
        group.bench_function(BenchmarkId::new("denied", limit), |bencher| {
            bencher.iter(|| limiter.check_at(black_box(&2), Tick::ZERO).is_allowed());
        });
    }
    group.finish();
}

/// The algorithms of one word at the coarse clock's time: a million keys, and one that is spent most of the time.
fn words(criterion: &mut Criterion) {
    fn one<A: Algorithm>(criterion: &mut Criterion, name: &str) {
        let quota = Quota::new(100_000, Duration::from_secs(1)).expect("a quota");
        let limiter: Limiter<u64, A> = Limiter::builder(quota).clock(Clock::coarse()).build().expect("a limiter");
        for count in [1, 1_000_000] {
            (0..count).for_each(|key| assert!(limiter.check(&key).limit() > 0));
            let mut step = 1;
            criterion.bench_function(&format!("word/{name}/{count}"), |bencher| {
                bencher.iter(|| limiter.check(&scattered(&mut step, count)).remaining());
            });
        }
    }
    one::<TokenBucket>(criterion, "token-bucket");
    one::<FixedWindow>(criterion, "fixed-window");
    one::<SlidingCounter>(criterion, "sliding-counter");
}

/// A thousand keys of ten million, one by one and together.
fn many(criterion: &mut Criterion) {
    const KEYS: u64 = 10_000_000;
    let mut group = criterion.benchmark_group("many");
    let limiter: Limiter<u64> = Limiter::new(generous()).expect("a limiter");
    (0..KEYS).for_each(|key| assert!(limiter.check_n(&key, 1_000_000_000).is_allowed()));
    let mut step = 1;
    let mut draw = move || (0..1_000).map(|_| scattered(&mut step, KEYS)).collect::<Vec<u64>>();
    group.throughput(Throughput::Elements(1_000));
    group.bench_function("single", |bencher| {
        let check = |keys: Vec<u64>| keys.iter().filter(|key| limiter.check(*key).is_allowed()).count();
        bencher.iter_batched(&mut draw, check, criterion::BatchSize::SmallInput);
    });
    group.bench_function("together", |bencher| {
        let check = |keys: Vec<u64>| limiter.check_many(&keys).iter().filter(|decision| decision.is_allowed()).count();
        bencher.iter_batched(&mut draw, check, criterion::BatchSize::SmallInput);
    });
    group.finish();
}

/// Short runs: these benches are for comparing two states of the code.
fn brief() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1))
}

criterion_group!(name = benches; config = brief(); targets = allowed, kinds, words, log, many);
criterion_main!(benches);
