//! What decides beside quotas: who is let in or kept out before any limit is asked.
//!
//! The order of a decision is: allow list, deny list, bans, then the limits.

mod lists;
mod range;

pub use self::lists::{AddressLists, AddressListsBuilder, ListError, Listed, Listing, ValueLists};
pub use self::range::{AddressRange, RangeError};
