//! The atomics of the crate: the standard library's, or those of the model checker.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::thread_local;
#[cfg(not(loom))]
pub(crate) use std::thread_local;

/// Lets other threads run.
pub(crate) fn yield_now() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    std::thread::yield_now();
}

/// Keeps the compiler, though not the processor, from moving memory accesses across.
#[inline]
pub(crate) fn compiler_fence() {
    #[cfg(not(loom))]
    // SeqCst: the light side of an asymmetric barrier; `reclaim::heavy_barrier` is the other.
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}
