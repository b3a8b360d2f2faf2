//! A crawler that waits for its turn: many tasks, one rate, nobody denied.
//!
//! ```text
//! cargo run --example wait --features async
//! ```

use std::time::{Duration, Instant};

use tollgate::{Limiter, WaitError, WaitOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter: Limiter<str> = Limiter::new("50/s burst 5".parse()?)?;
    let begin = Instant::now();
    let tasks: Vec<_> = (0..20)
        .map(|page| {
            let turn = limiter.until_ready("example.org");
            tokio::spawn(async move {
                turn.await?;
                println!("page {page:>2} after {:>3} ms", begin.elapsed().as_millis());
                Ok::<(), WaitError>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    // Five at once, the other fifteen 20 ms apart.
    assert!(begin.elapsed() >= Duration::from_millis(290));

    let impatient = WaitOptions::new().within(Duration::from_millis(30));
    assert_eq!(limiter.until_ready_with("example.org", 5, impatient).await, Err(WaitError::TooLate));
    Ok(())
}
