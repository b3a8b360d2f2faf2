//! What the models of `tests/loom.rs` see of the table.

use crate::algorithm::{Ask, BucketOptions, LogOptions, Receipt, SlidingLog, TokenBucket};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::quota::Quota;
use crate::table::{Cell, Overflow, Resident, Table, enter, quarantine};

/// Returns the token bucket of a model.
fn bucket(quota: Quota) -> TokenBucket {
    TokenBucket::new(&quota, BucketOptions::default(), Tick::ZERO).expect("the model's quota is sound")
}

/// Returns the sliding log of a model.
fn log(quota: Quota) -> SlidingLog {
    SlidingLog::new(&quota, LogOptions::default()).expect("the model's quota is sound")
}

/// A table of one segment that begins with one line.
#[derive(Debug)]
pub struct Model<A: Resident>(Table<A>);

impl Model<TokenBucket> {
    /// Makes a table of token buckets.
    pub fn token_buckets(quota: Quota) -> Self {
        Self(Table::new(bucket(quota), 100, Overflow::Deny))
    }

    /// Changes the quota.
    pub fn set_quota(&self, quota: Quota, now: Tick) {
        self.0.change(bucket(quota), now);
    }
}

impl Model<SlidingLog> {
    /// Makes a table of sliding logs.
    pub fn sliding_logs(quota: Quota) -> Self {
        Self(Table::new(log(quota), 100, Overflow::Deny))
    }

    /// Changes the quota.
    pub fn set_quota(&self, quota: Quota, now: Tick) {
        self.0.change(log(quota), now);
    }
}

impl<A: Resident> Model<A> {
    /// Checks a key by its identity; tells whether it was allowed.
    pub fn check(&self, id: u64, now: Tick) -> bool {
        self.0.check(&enter(), id, now, 1).allowed
    }

    /// Gives back what a key has spent.
    pub fn refund(&self, id: u64, cost: u64, now: Tick) {
        let _ = self.0.apply(&enter(), id, now, Ask::Refund(cost));
    }

    /// Spends whether or not it fits.
    pub fn charge(&self, id: u64, cost: u64, now: Tick) {
        let _ = self.0.apply(&enter(), id, now, Ask::Charge(cost));
    }

    /// Reserves one, however late it is due.
    pub fn reserve(&self, id: u64, now: Tick) -> Option<Reserved> {
        Reserved::new(self.0.apply(&enter(), id, now, Ask::Reserve(1, u64::MAX)).reservation(1))
    }

    /// Gives a reservation back.
    pub fn cancel(&self, id: u64, reserved: Reserved, now: Tick) {
        let _ = self.0.apply(&enter(), id, now, Ask::Cancel(reserved.receipt));
    }

    /// Returns how many more checks of a key would pass.
    pub fn remaining(&self, id: u64, now: Tick) -> u64 {
        self.0.check(&enter(), id, now, 0).remaining
    }

    /// Sweeps the table and frees what nobody holds.
    pub fn sweep(&self, now: Tick) {
        self.0.sweep(&enter(), 0, now);
        self.0.collect();
    }

    /// Returns how many keys the table holds.
    pub fn keys(&self) -> u64 {
        self.0.key_count()
    }

    /// Returns how many keys were evicted.
    pub fn evicted(&self) -> u64 {
        self.0.evicted()
    }
}

impl<A: Resident> Drop for Model<A> {
    fn drop(&mut self) {
        quarantine::clear();
    }
}

/// What was reserved.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    /// How long until it is due.
    pub delay_ns: u64,
    receipt: Receipt,
}

impl Reserved {
    /// Reads the answer about reserving one.
    fn new(reservation: Result<(Decision, Receipt), Decision>) -> Option<Self> {
        let (decision, receipt) = reservation.ok()?;
        Some(Self { delay_ns: decision.wait_ns, receipt })
    }
}

/// One sliding log in a cell.
#[derive(Debug)]
pub struct LogModel(Cell<SlidingLog>);

impl LogModel {
    /// Makes a log.
    pub fn new(quota: Quota) -> Self {
        Self(Cell::new(log(quota)))
    }

    /// Changes the quota.
    pub fn set_quota(&self, quota: Quota, now: Tick) {
        self.0.change(log(quota), now);
    }

    /// Checks; tells whether it was allowed.
    pub fn check_n(&self, cost: u64, now: Tick) -> bool {
        self.0.check(&enter(), now, cost).allowed
    }

    /// Gives back what was spent.
    pub fn refund(&self, cost: u64, now: Tick) {
        let _ = self.0.apply(&enter(), now, Ask::Refund(cost));
    }

    /// Reserves one, however late it is due.
    pub fn reserve(&self, now: Tick) -> Option<Reserved> {
        Reserved::new(self.0.apply(&enter(), now, Ask::Reserve(1, u64::MAX)).reservation(1))
    }

    /// Gives a reservation back.
    pub fn cancel(&self, reserved: Reserved, now: Tick) {
        let _ = self.0.apply(&enter(), now, Ask::Cancel(reserved.receipt));
    }

    /// Returns how many more checks would pass.
    pub fn remaining(&self, now: Tick) -> u64 {
        self.0.check(&enter(), now, 0).remaining
    }
}

impl Drop for LogModel {
    fn drop(&mut self) {
        quarantine::clear();
    }
}
