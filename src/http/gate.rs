//! What a layer decides through.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use crate::decision::Decision;
use crate::limiter::{Algorithm, Limiter};

/// Decides whether a key may spend, and takes corrections afterwards; `T` is the key that a layer reads from requests.
///
/// A [`Limiter`] is a gate of one rule.
///
/// # Examples
///
/// ```
/// use tollgate::Limiter;
/// use tollgate::http::Gate;
///
/// let limiter: Limiter<str> = Limiter::new("2/min".parse()?)?;
/// let key = "ann".to_owned();
/// let (decision, rule) = Gate::check(&limiter, &key, 2);
/// assert_eq!((decision.is_allowed(), decision.remaining(), rule), (true, 0, 0));
/// assert_eq!(Gate::refund(&limiter, &key, 1).remaining(), 1);
/// assert_eq!(Gate::charge(&limiter, &key, 1).remaining(), 0);
/// # Ok::<(), tollgate::QuotaError>(())
/// ```
pub trait Gate<T> {
    /// Spends `cost` of `key` if it fits; returns the decision and the index of the rule that bound it, from zero.
    fn check(&self, key: &T, cost: u64) -> (Decision, usize);

    /// Gives back `cost` that `key` has spent; returns what a look says afterwards.
    fn refund(&self, key: &T, cost: u64) -> Decision;

    /// Spends `cost` of `key` whether or not it fits; returns what a look says afterwards.
    fn charge(&self, key: &T, cost: u64) -> Decision;
}

impl<K, A, H, T> Gate<T> for Limiter<K, A, H>
where
    K: Hash + ?Sized,
    A: Algorithm,
    H: BuildHasher,
    T: Borrow<K>,
{
    fn check(&self, key: &T, cost: u64) -> (Decision, usize) {
        (self.check_n::<K>(key.borrow(), cost), 0)
    }

    fn refund(&self, key: &T, cost: u64) -> Decision {
        Limiter::refund::<K>(self, key.borrow(), cost)
    }

    fn charge(&self, key: &T, cost: u64) -> Decision {
        Limiter::charge::<K>(self, key.borrow(), cost)
    }
}
