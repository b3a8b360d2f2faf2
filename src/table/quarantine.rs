//! Memory that was freed in a run of a model: kept until its end, so that whoever still uses it is found out.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The addresses of what was freed.
static FREED: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// Marks memory as freed.
pub(crate) fn free(address: usize) {
    let mut freed = FREED.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(freed.get_or_insert_default().insert(address), "memory is freed once");
}

/// Panics if the memory was freed.
pub(crate) fn assert_alive(address: usize) {
    let freed = FREED.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(!freed.as_ref().is_some_and(|freed| freed.contains(&address)), "memory is used after it was freed");
}

/// Forgets what was freed; the memory itself is given to the next runs never, so that addresses stay apart.
pub(crate) fn clear() {
    FREED.lock().unwrap_or_else(PoisonError::into_inner).take();
}
