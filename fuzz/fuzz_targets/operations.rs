//! Plays a list of operations to a limiter and to the oracle: they must decide alike.
#![no_main]

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/oracle.rs"]
mod oracle;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/trace.rs"]
mod trace;

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tollgate::Quota;
use trace::{Raw, Sweeps};

fuzz_target!(|input: (u64, u64, u64, u8, Option<u8>, Vec<Raw>)| {
    let (limit, period, burst, choice, every_call, trace) = input;
    let Ok(quota) = Quota::new(limit, Duration::from_nanos(period)) else { return };
    let sweeps = [Sweeps::Never, Sweeps::AsTold, Sweeps::Always][usize::from(choice >> 4) % 3];
    // Two counts up to a thousand leave room for nine years of such windows.
    let fits_windows = limit <= 1_000 && period >= 1 << 16;
    if let Some(algorithm) = every_call {
        // The oracle goes through the windows of a debt one by one.
        let Ok(quota) = quota.with_burst(burst) else { return };
        if limit <= 1_000 && burst <= 1_000 && period >= 1_000 {
            trace::play_all_calls(quota, algorithm, sweeps, &trace).unwrap_or_else(|difference| panic!("{difference}"));
        }
        return;
    }
    let outcome = match choice & 7 {
        0 if limit <= 1_000 => trace::play_log(quota, sweeps, false, &trace),
        1 if limit <= 1_000 => trace::play_log(quota, sweeps, true, &trace),
        2 | 3 if fits_windows => trace::play_fixed(quota, sweeps, &trace),
        4 | 5 if fits_windows => trace::play_counter(quota, sweeps, &trace),
        _ => quota.with_burst(burst).map_or(Ok(()), |quota| trace::play_bucket(quota, sweeps, &trace)),
    };
    outcome.unwrap_or_else(|difference| panic!("{difference}"));
});
