//! Two threads at once: one hot key, many keys, and a hot key that is denied.
#![allow(missing_docs)]

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tollgate::{Algorithm, Clock, Limiter, Quota, SlidingLog, TokenBucket};

/// The threads that check.
const THREADS: u64 = 2;

/// Returns the time that each of the threads needs for so many checks of `0..count`.
fn race<A: Algorithm>(limiter: &Limiter<u64, A>, count: u64, checks: u64) -> Duration {
    let barrier = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        let runs: Vec<_> = (1..=THREADS)
            .map(|seed| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut step = seed;
                    barrier.wait();
                    let start = Instant::now();
                    let mut allowed = 0;
                    for _ in 0..checks {
                        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        allowed += u64::from(limiter.check(&((step >> 33) % count)).is_allowed());
                    }
                    std::hint::black_box(allowed);
                    start.elapsed()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("a thread of the race ends")).max().unwrap_or_default()
    })
}

/// Builds a limiter with the coarse clock.
fn limiter<A: Algorithm>(limit: u64, period: Duration) -> Limiter<u64, A> {
    let quota = Quota::new(limit, period).expect("a quota");
    Limiter::builder(quota).clock(Clock::coarse()).build().expect("a limiter")
}

/// All the races.
fn contended(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("contended");
    let second = Duration::from_secs(1);
    for count in [1, 1_000, 100_000] {
        let generous = limiter::<TokenBucket>(1_000_000_000, second);
        group.bench_function(BenchmarkId::new("allowed", count), |bencher| {
            bencher.iter_custom(|checks| race(&generous, count, checks));
        });
    }
    let spent = limiter::<TokenBucket>(1, second * 86_400);
    group.bench_function("denied/1", |bencher| bencher.iter_custom(|checks| race(&spent, 1, checks)));
    let log = limiter::<SlidingLog>(1_000, second);
    group.bench_function("log/1", |bencher| bencher.iter_custom(|checks| race(&log, 1, checks)));
    group.finish();
}

/// Short runs: these benches are for comparing two states of the code.
fn brief() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1))
}

criterion_group!(name = benches; config = brief(); targets = contended);
criterion_main!(benches);
