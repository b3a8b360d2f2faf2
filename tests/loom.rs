//! Models of the races in the table and in the ring: every interleaving within the bounds is run.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=2 cargo test --profile loom --features loom --test loom
//! ```
//!
//! Each model is named after the race it rules out. Memory that was freed is watched: whoever touches it fails the model.
#![cfg(loom)]

use std::time::Duration;

use loom::sync::Arc;
use loom::thread;
use tollgate::{LogModel, Model, Quota, SlidingLog, Tick, TokenBucket};

/// The key that the models fight for.
const KEY: u64 = 3 << 40;
/// A key that is idle when the models sweep.
const IDLE: u64 = 5 << 41;

/// Returns the quota of a notation.
fn quota(text: &str) -> Quota {
    text.parse().expect(text)
}

/// Returns a tick by its second.
fn second(s: u64) -> Tick {
    Tick::ZERO + Duration::from_secs(s)
}

/// Runs the same work in so many threads beside this one, and adds up what they return.
fn race<T: Send + Sync + 'static>(shared: &Arc<T>, threads: usize, work: fn(&T) -> u64) -> u64 {
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let shared = Arc::clone(shared);
            thread::spawn(move || work(&shared))
        })
        .collect();
    let own = work(shared);
    own + others.into_iter().map(|other| other.join().expect("a model's thread ends")).sum::<u64>()
}

/// Makes a table in which `KEY` has one of two tokens left, and `IDLE` can be evicted at second 100.
fn half_idle() -> Arc<Model<TokenBucket>> {
    let table = Arc::new(Model::token_buckets(quota("2/1000s")));
    assert!(table.check(IDLE, Tick::ZERO));
    assert!(table.check(KEY, second(2000)));
    table
}

#[test]
fn two_inserts_of_one_key_meet_in_one_slot() {
    loom::model(|| {
        let table = Arc::new(Model::token_buckets(quota("1/h")));
        let allowed = race(&table, 2, |table| u64::from(table.check(KEY, Tick::ZERO)));
        assert_eq!((allowed, table.keys()), (1, 1));
    });
}

#[test]
fn three_inserts_of_two_keys_count_two() {
    loom::model(|| {
        let table = Arc::new(Model::token_buckets(quota("1/h")));
        let other = Arc::clone(&table);
        let third = thread::spawn(move || u64::from(other.check(IDLE, Tick::ZERO)));
        let allowed = race(&table, 2, |table| u64::from(table.check(KEY, Tick::ZERO)));
        assert_eq!(allowed, 1);
        assert_eq!(third.join().expect("a model's thread ends"), 1);
        assert_eq!(table.keys(), 2);
    });
}

#[test]
fn a_check_against_the_freeze_of_its_word_is_counted_once() {
    loom::model(|| {
        let table = half_idle();
        let sweeper = Arc::clone(&table);
        let sweep = thread::spawn(move || sweeper.sweep(second(2000)));
        let allowed = u64::from(table.check(KEY, second(2000))) + u64::from(table.check(KEY, second(2000)));
        sweep.join().expect("a model's thread ends");
        assert_eq!(allowed, 1);
        assert_eq!(table.remaining(KEY, second(2000)), 0);
        assert_eq!((table.keys(), table.evicted()), (1, 1));
    });
}

#[test]
fn a_check_against_a_carry_over_by_another_check_is_counted_once() {
    loom::model(|| {
        let table = half_idle();
        let sweeper = Arc::clone(&table);
        let sweep = thread::spawn(move || sweeper.sweep(second(2000)));
        let allowed = race(&table, 2, |table| u64::from(table.check(KEY, second(2000))));
        sweep.join().expect("a model's thread ends");
        assert_eq!(allowed, 1);
        assert_eq!(table.remaining(KEY, second(2000)), 0);
    });
}

#[test]
fn an_insert_against_the_seal_of_its_slot_is_counted_once() {
    loom::model(|| {
        let table = Arc::new(Model::token_buckets(quota("1/1000s")));
        assert!(table.check(IDLE, Tick::ZERO));
        let sweeper = Arc::clone(&table);
        let sweep = thread::spawn(move || sweeper.sweep(second(2000)));
        let allowed = race(&table, 2, |table| u64::from(table.check(KEY, second(2000))));
        sweep.join().expect("a model's thread ends");
        assert_eq!(allowed, 1);
        assert_eq!(table.remaining(KEY, second(2000)), 0);
        table.sweep(second(2000));
        assert_eq!((table.keys(), table.evicted()), (1, 1));
    });
}

#[test]
fn two_helpers_end_one_move_and_retire_one_segment() {
    loom::model(|| {
        let table = half_idle();
        race(&table, 2, |table| {
            table.sweep(second(2000));
            0
        });
        assert_eq!((table.keys(), table.evicted()), (1, 1));
        assert_eq!(table.remaining(KEY, second(2000)), 1);
    });
}

#[test]
fn a_second_growth_waits_for_nobody_and_loses_nothing() {
    /// Inserts two keys of its own.
    fn insert(table: &Model<TokenBucket>, from: u64) -> u64 {
        (from..from + 2).map(|key| u64::from(table.check(key << 40, Tick::ZERO))).sum()
    }

    loom::model(|| {
        let table = Arc::new(Model::token_buckets(quota("1/h")));
        // Three of the first segment's four slots: the next key makes it grow, and two more the one after it.
        (1..=3).for_each(|key| assert!(table.check(key << 40, Tick::ZERO)));
        let other = Arc::clone(&table);
        let inserts = thread::spawn(move || insert(&other, 10));
        let allowed = insert(&table, 20) + inserts.join().expect("a model's thread ends");
        assert_eq!((allowed, table.keys()), (4, 7));
        let spent = [1, 2, 3, 10, 11, 20, 21].iter().filter(|key| table.remaining(*key << 40, Tick::ZERO) == 0);
        assert_eq!(spent.count(), 7);
    });
}

#[test]
fn a_reader_against_reclaim_never_touches_freed_memory() {
    loom::model(|| {
        let table = half_idle();
        let sweeper = Arc::clone(&table);
        let sweep = thread::spawn(move || {
            sweeper.sweep(second(2000));
            // By now the key itself is idle: its segment goes the way of the first.
            sweeper.sweep(second(9000));
        });
        let _ = table.remaining(KEY, second(2000));
        let _ = table.remaining(KEY, second(2000));
        sweep.join().expect("a model's thread ends");
        // A reader that met the frozen word may have carried it over: then it is evicted the next time.
        assert_eq!(table.keys() + table.evicted(), 2);
    });
}

#[test]
fn two_claims_of_the_last_place_in_a_ring_admit_one() {
    loom::model(|| {
        let log = Arc::new(LogModel::new(quota("1/10s")));
        let allowed = race(&log, 2, |log| u64::from(log.check_n(1, second(1))));
        assert_eq!((allowed, log.remaining(second(1))), (1, 0));
        assert_eq!(log.remaining(second(11)), 1);
    });
}

#[test]
fn a_claim_against_an_unwritten_stamp_admits_no_more_than_the_limit() {
    loom::model(|| {
        let log = Arc::new(LogModel::new(quota("1/10s")));
        assert!(log.check_n(1, Tick::ZERO));
        // The stamp of the lap before has expired; whoever claims first leaves the slot unwritten for a moment.
        let allowed = race(&log, 3, |log| u64::from(log.check_n(1, second(10))));
        assert_eq!((allowed, log.remaining(second(10))), (1, 0));
    });
}

#[test]
fn a_growing_ring_against_claims_loses_no_stamp() {
    loom::model(|| {
        let log = Arc::new(LogModel::new(quota("3/10s")));
        assert!(log.check_n(1, Tick::ZERO));
        let allowed = race(&log, 2, |log| u64::from(log.check_n(1, second(1))));
        assert_eq!((allowed, log.remaining(second(1))), (2, 0));
        assert_eq!(log.remaining(second(10)), 1, "the first stamp went over into the larger ring");
    });
}

#[test]
fn a_ring_closed_against_a_claim_is_either_evicted_or_charged() {
    loom::model(|| {
        let table: Arc<Model<SlidingLog>> = Arc::new(Model::sliding_logs(quota("1/10s")));
        assert!(table.check(KEY, Tick::ZERO));
        let sweeper = Arc::clone(&table);
        let sweep = thread::spawn(move || sweeper.sweep(second(100)));
        let allowed = u64::from(table.check(KEY, second(100))) + u64::from(table.check(KEY, second(100)));
        sweep.join().expect("a model's thread ends");
        assert_eq!((allowed, table.remaining(KEY, second(100))), (1, 0));
    });
}

#[test]
fn rings_carried_by_two_helpers_are_freed_once() {
    loom::model(|| {
        let table: Arc<Model<SlidingLog>> = Arc::new(Model::sliding_logs(quota("2/10s")));
        assert!(table.check(IDLE, Tick::ZERO));
        assert!(table.check(KEY, second(100)));
        let sweeper = Arc::clone(&table);
        let sweep = thread::spawn(move || sweeper.sweep(second(100)));
        let allowed = race(&table, 2, |table| u64::from(table.check(KEY, second(100))));
        sweep.join().expect("a model's thread ends");
        assert_eq!((allowed, table.remaining(KEY, second(100))), (1, 0));
    });
}
