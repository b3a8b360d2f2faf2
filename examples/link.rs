//! Linking the library: five calls in ten seconds for each user, then seven calls by one of them.
//!
//! Run it with `cargo run --example link`.

use tollgate::{Limiter, SlidingLog};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter: Limiter<str, SlidingLog> = Limiter::new("5/10s".parse()?)?;

    for call in 1..=7 {
        let decision = limiter.check("ann");
        match decision.retry_after() {
            _ if decision.is_allowed() => println!("call {call}: passes, {} left", decision.remaining()),
            Some(wait) => println!("call {call}: denied, passes in {wait:.1?}"),
            None => println!("call {call}: denied, can never pass"),
        }
    }
    assert!(limiter.check("bob").is_allowed(), "each key has its own limit");
    Ok(())
}
