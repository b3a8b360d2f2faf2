//! What the models of `tests/loom.rs` see of the table.

use crate::algorithm::{LogOptions, SlidingLog, TokenBucket};
use crate::clock::Tick;
use crate::quota::Quota;
use crate::table::{Cell, Overflow, Resident, Table, enter, quarantine};

/// A table of one segment that begins with one line.
#[derive(Debug)]
pub struct Model<A: Resident>(Table<A>);

impl Model<TokenBucket> {
    /// Makes a table of token buckets.
    pub fn token_buckets(quota: Quota) -> Self {
        Self(Table::new(TokenBucket::new(&quota).expect("the model's quota is sound"), 100, Overflow::Deny))
    }
}

impl Model<SlidingLog> {
    /// Makes a table of sliding logs.
    pub fn sliding_logs(quota: Quota) -> Self {
        let log = SlidingLog::new(&quota, LogOptions::default()).expect("the model's quota is sound");
        Self(Table::new(log, 100, Overflow::Deny))
    }
}

impl<A: Resident> Model<A> {
    /// Checks a key by its identity; tells whether it was allowed.
    pub fn check(&self, id: u64, now: Tick) -> bool {
        self.0.check(&enter(), id, now, 1).allowed
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

/// One sliding log in a cell.
#[derive(Debug)]
pub struct LogModel(Cell<SlidingLog>);

impl LogModel {
    /// Makes a log.
    pub fn new(quota: Quota) -> Self {
        Self(Cell::new(SlidingLog::new(&quota, LogOptions::default()).expect("the model's quota is sound")))
    }

    /// Checks; tells whether it was allowed.
    pub fn check_n(&self, cost: u64, now: Tick) -> bool {
        self.0.check(&enter(), now, cost).allowed
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
