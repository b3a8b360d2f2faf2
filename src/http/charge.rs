//! What a request asks of a limiter.

/// Whose key pays for a request, and how much.
///
/// # Examples
///
/// ```
/// use tollgate::http::Charge;
///
/// assert_eq!(Charge::one("ann"), Charge::new("ann", 1));
/// assert_eq!(Charge::new("ann", 5).cost(), 5);
/// assert_eq!(Charge::one("ann").key(), &"ann");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Charge<T> {
    key: T,
    cost: u64,
}

impl<T> Charge<T> {
    /// Makes a charge of `cost` to `key`; a cost of zero only looks.
    pub const fn new(key: T, cost: u64) -> Self {
        Self { key, cost }
    }

    /// Makes a charge of one to `key`.
    pub const fn one(key: T) -> Self {
        Self::new(key, 1)
    }

    /// Returns the key.
    pub const fn key(&self) -> &T {
        &self.key
    }

    /// Returns the cost.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// Returns the key and the cost.
    pub(crate) fn into_parts(self) -> (T, u64) {
        (self.key, self.cost)
    }
}
