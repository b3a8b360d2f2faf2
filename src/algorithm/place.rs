//! Where a tick lies among windows.

/// Where a tick lies as a word sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The window.
    pub(super) window: u64,
    /// The time until the window ends, counted from its start if the tick lies before that.
    pub(super) rest_ns: u64,
    /// How far the tick lies before the window: time went backwards.
    pub(super) lag_ns: u64,
}
