//! The sweeper: one thread that evicts idle keys from all limiters of the process.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

/// What the sweeper sweeps.
pub(crate) trait Sweep: Send + Sync {
    /// Does a bounded piece of the work that is due.
    fn sweep_some(&self);
}

/// How long the thread sleeps between two pieces of work.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// The limiters to sweep, and whether a thread does it.
struct Registry {
    limiters: Vec<Weak<dyn Sweep>>,
    is_running: bool,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { limiters: Vec::new(), is_running: false });

/// Has a limiter swept until it is dropped; `false` if no thread can be started.
pub(crate) fn register(limiter: Weak<dyn Sweep>) -> bool {
    let mut registry = REGISTRY.lock();
    registry.limiters.push(limiter);
    if !registry.is_running {
        registry.is_running = std::thread::Builder::new().name("tollgate-sweeper".into()).spawn(run).is_ok();
    }
    registry.is_running
}

/// Sweeps until there is no limiter left. The thread holds no limiter while it sleeps.
fn run() {
    loop {
        std::thread::sleep(PAUSE);
        for limiter in living() {
            limiter.sweep_some();
        }
        let mut registry = REGISTRY.lock();
        if registry.limiters.iter().all(|limiter| limiter.strong_count() == 0) {
            registry.limiters.clear();
            registry.is_running = false;
            return;
        }
    }
}

/// Returns the limiters that still live, and forgets the others.
fn living() -> Vec<Arc<dyn Sweep>> {
    let mut registry = REGISTRY.lock();
    registry.limiters.retain(|limiter| limiter.strong_count() > 0);
    registry.limiters.iter().filter_map(Weak::upgrade).collect()
}
