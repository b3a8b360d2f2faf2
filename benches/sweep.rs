//! A sweep over a hundred thousand keys: none of them idle, half of them, all of them.
#![allow(missing_docs)]

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use tollgate::{Limiter, Quota, Tick};

/// The keys in the table.
const KEYS: u64 = 100_000;

/// Makes a limiter of which every `one_in`-th key stays busy, none if that is 0.
fn filled(one_in: u64) -> Limiter<u64> {
    let quota = Quota::new(1_000, Duration::from_secs(1_000)).expect("a quota");
    let limiter: Limiter<u64> = Limiter::builder(quota).sweeper(false).build().expect("a limiter");
    for key in 0..KEYS {
        let is_busy = one_in > 0 && key % one_in == 0;
        assert!(limiter.check_n_at(&key, if is_busy { 1_000 } else { 1 }, Tick::ZERO).is_allowed());
    }
    limiter
}

/// Sweeps when the keys that are not busy have been idle for a while.
fn sweep(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sweep");
    let later = Tick::ZERO + Duration::from_secs(10);
    for (name, one_in) in [("live", 1), ("half", 2), ("idle", 0)] {
        group.bench_function(BenchmarkId::new(name, KEYS), |bencher| {
            bencher.iter_batched_ref(|| filled(one_in), |limiter| limiter.sweep_at(later), BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// Short runs: these benches are for comparing two states of the code.
fn brief() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
}

criterion_group!(name = benches; config = brief(); targets = sweep);
criterion_main!(benches);
