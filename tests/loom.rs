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

/// Runs a model in every interleaving with as many preemptions as the environment says.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Runs the first hundred thousand interleavings of a model that has too many with as many preemptions as the
/// environment says.
fn explore_in_part(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.max_permutations = Some(100_000);
    builder.check(model);
}

/// Runs a long model, or one of three threads, with one preemption: with two it takes minutes.
fn explore_briefly(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 20_000;
    builder.preemption_bound = Some(1);
    // Only the model of the second move has more; its first hundred thousand interleavings are run.
    builder.max_permutations = Some(100_000);
    builder.check(model);
}

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
    explore(|| {
        let table = Arc::new(Model::token_buckets(quota("1/h")));
        let allowed = race(&table, 2, |table| u64::from(table.check(KEY, Tick::ZERO)));
        assert_eq!((allowed, table.keys()), (1, 1));
    });
}

#[test]
fn three_inserts_of_two_keys_count_two() {
    explore_briefly(|| {
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
    explore(|| {
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
    explore_briefly(|| {
        let table = half_idle();
        let sweeper = Arc::clone(&table);
        let sweep = thread::spawn(move || sweeper.sweep(second(2000)));
        let allowed = race(&table, 2, |table| u64::from(table.check(KEY, second(2000))));
        sweep.join().expect("a model's thread ends");
        assert_eq!(allowed, 1);
        assert_eq!(table.remaining(KEY, second(2000)), 0);
    });
}

/// Has a key that comes anew checked by so many threads, twice by each, while its segment is moved.
fn insert_against_seal(threads: usize) {
    let table = Arc::new(Model::token_buckets(quota("1/1000s")));
    assert!(table.check(IDLE, Tick::ZERO));
    let sweeper = Arc::clone(&table);
    let sweep = thread::spawn(move || sweeper.sweep(second(2000)));
    let allowed = race(&table, threads, |table| {
        u64::from(table.check(KEY, second(2000))) + u64::from(table.check(KEY, second(2000)))
    });
    sweep.join().expect("a model's thread ends");
    assert_eq!((allowed, table.remaining(KEY, second(2000))), (1, 0));
    table.sweep(second(2000));
    assert_eq!(table.keys(), 1);
}

#[test]
fn an_insert_against_the_seal_of_its_slot_is_counted_once() {
    explore(|| insert_against_seal(1));
}

#[test]
fn two_inserts_against_the_seal_of_their_slot_are_counted_once() {
    explore_briefly(|| insert_against_seal(2));
}

#[test]
fn two_helpers_end_one_move_and_retire_one_segment() {
    let model = || {
        let table = half_idle();
        race(&table, 2, |table| {
            table.sweep(second(2000));
            0
        });
        assert_eq!((table.keys(), table.evicted()), (1, 1));
        assert_eq!(table.remaining(KEY, second(2000)), 1);
    };
    explore_briefly(model);
    explore_in_part(model);
}

#[test]
fn a_second_move_waits_for_nobody_and_loses_nothing() {
    explore_briefly(|| {
        let table = Arc::new(Model::token_buckets(quota("1/1000s")));
        // Three of the four slots, and two of the keys idle: the next key starts a move to a segment of the same size,
        // which has no room for new keys before that move is over: whoever needs it ends the move of the other. The
        // last key then has to replace that segment too.
        assert!(table.check(1 << 40, Tick::ZERO));
        assert!(table.check(2 << 40, Tick::ZERO));
        assert!(table.check(KEY, second(2000)));
        let other = Arc::clone(&table);
        let insert = thread::spawn(move || u64::from(other.check(10 << 40, second(2000))));
        let allowed = u64::from(table.check(20 << 40, second(2000)));
        assert_eq!(allowed + insert.join().expect("a model's thread ends"), 2);
        assert!(table.check(21 << 40, second(2000)));
        let keys = [KEY, 10 << 40, 20 << 40, 21 << 40];
        assert!(keys.iter().all(|key| table.remaining(*key, second(2000)) == 0));
        table.sweep(second(2000));
        // A key whose segment moves between its insert and its charge is inserted again: the first slot counts as evicted.
        assert_eq!(table.keys(), 4);
        assert!(table.evicted() >= 2);
    });
}

#[test]
fn a_reader_against_reclaim_never_touches_freed_memory() {
    explore(|| {
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
    explore(|| {
        let log = Arc::new(LogModel::new(quota("1/10s")));
        let allowed = race(&log, 2, |log| u64::from(log.check_n(1, second(1))));
        assert_eq!((allowed, log.remaining(second(1))), (1, 0));
        assert_eq!(log.remaining(second(11)), 1);
    });
}

#[test]
fn a_claim_against_an_unwritten_stamp_admits_no_more_than_the_limit() {
    explore_briefly(|| {
        let log = Arc::new(LogModel::new(quota("1/10s")));
        assert!(log.check_n(1, Tick::ZERO));
        // The stamp of the lap before has expired; whoever claims first leaves the slot unwritten for a moment.
        let allowed = race(&log, 3, |log| u64::from(log.check_n(1, second(10))));
        assert_eq!((allowed, log.remaining(second(10))), (1, 0));
    });
}

#[test]
fn a_growing_ring_against_claims_loses_no_stamp() {
    explore(|| {
        let log = Arc::new(LogModel::new(quota("3/10s")));
        assert!(log.check_n(1, Tick::ZERO));
        let allowed = race(&log, 2, |log| u64::from(log.check_n(1, second(1))));
        assert_eq!((allowed, log.remaining(second(1))), (2, 0));
        assert_eq!(log.remaining(second(10)), 1, "the first stamp went over into the larger ring");
    });
}

#[test]
fn a_ring_closed_against_a_claim_is_either_evicted_or_charged() {
    explore(|| {
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
    explore_briefly(|| {
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

#[test]
fn a_refund_against_checks_is_counted_once() {
    explore(|| {
        let table = Arc::new(Model::token_buckets(quota("2/1000s")));
        assert!(table.check(KEY, second(2000)));
        let other = Arc::clone(&table);
        let refund = thread::spawn(move || other.refund(KEY, 1, second(2000)));
        let allowed = u64::from(table.check(KEY, second(2000))) + u64::from(table.check(KEY, second(2000)));
        refund.join().expect("a model's thread ends");
        assert!(allowed == 1 || allowed == 2);
        assert_eq!(table.remaining(KEY, second(2000)), 2 - allowed);
    });
}

#[test]
fn a_refund_and_a_charge_against_the_freeze_of_their_word_are_counted_once() {
    explore(|| {
        let table = half_idle();
        let sweeper = Arc::clone(&table);
        let sweep = thread::spawn(move || sweeper.sweep(second(2000)));
        table.charge(KEY, 2, second(2000));
        table.refund(KEY, 1, second(2000));
        sweep.join().expect("a model's thread ends");
        assert_eq!(table.remaining(KEY, second(2000)), 0);
        table.refund(KEY, 1, second(2000));
        assert_eq!(table.remaining(KEY, second(2000)), 1);
    });
}

#[test]
fn a_reservation_against_a_check_lets_one_pass_now_and_one_later() {
    explore(|| {
        let table = Arc::new(Model::token_buckets(quota("1/10s")));
        let other = Arc::clone(&table);
        let check = thread::spawn(move || other.check(KEY, second(50)));
        let reserved = table.reserve(KEY, second(50)).expect("it may wait for ever");
        let is_checked = check.join().expect("a model's thread ends");
        assert_eq!(reserved.delay_ns, if is_checked { 10_000_000_000 } else { 0 });
        assert_eq!(table.remaining(KEY, second(59)), 0);
        table.cancel(KEY, reserved, second(50));
        // Nobody has built on it: what is left is what the check took.
        assert_eq!(table.remaining(KEY, second(50)), u64::from(!is_checked));
        assert_eq!(table.remaining(KEY, second(60)), 1);
    });
}

#[test]
fn a_reservation_cancelled_against_a_check_never_lets_two_pass() {
    explore(|| {
        let table = Arc::new(Model::token_buckets(quota("1/10s")));
        let reserved = table.reserve(KEY, second(50)).expect("a fresh key has room");
        let other = Arc::clone(&table);
        let check = thread::spawn(move || other.check(KEY, second(50)));
        table.cancel(KEY, reserved, second(50));
        let is_checked = check.join().expect("a model's thread ends");
        assert_eq!(table.remaining(KEY, second(50)), u64::from(!is_checked));
    });
}

#[test]
fn a_refund_that_closes_a_ring_against_claims_loses_none_of_them() {
    explore(|| {
        let log = Arc::new(LogModel::new(quota("2/10s")));
        assert!(log.check_n(1, second(1)));
        let other = Arc::clone(&log);
        let refund = thread::spawn(move || other.refund(1, second(1)));
        let allowed = u64::from(log.check_n(1, second(1))) + u64::from(log.check_n(1, second(1)));
        refund.join().expect("a model's thread ends");
        assert!(allowed == 1 || allowed == 2);
        assert_eq!(log.remaining(second(1)), 2 - allowed);
    });
}

#[test]
fn a_reservation_of_a_log_against_a_check_lets_one_pass_now_and_one_later() {
    explore(|| {
        let log = Arc::new(LogModel::new(quota("1/10s")));
        let other = Arc::clone(&log);
        let check = thread::spawn(move || other.check_n(1, second(50)));
        let reserved = log.reserve(second(50));
        let is_checked = check.join().expect("a model's thread ends");
        // While the stamp of the check is unwritten nobody knows when it ends, and nothing is reserved.
        let Some(reserved) = reserved else { return assert!(is_checked) };
        assert_eq!(reserved.delay_ns, if is_checked { 10_000_000_000 } else { 0 });
        assert_eq!(log.remaining(second(59)), 0);
        log.cancel(reserved, second(50));
        assert_eq!(log.remaining(second(50)), u64::from(!is_checked));
        assert_eq!(log.remaining(second(60)), 1);
    });
}

#[test]
fn a_reservation_of_a_log_cancelled_against_a_check_never_lets_two_pass() {
    explore(|| {
        let log = Arc::new(LogModel::new(quota("1/10s")));
        let reserved = log.reserve(second(50)).expect("a fresh key has room");
        let other = Arc::clone(&log);
        let check = thread::spawn(move || other.check_n(1, second(50)));
        log.cancel(reserved, second(50));
        let is_checked = check.join().expect("a model's thread ends");
        assert_eq!(log.remaining(second(50)), u64::from(!is_checked));
    });
}

#[test]
fn a_change_of_quota_keeps_what_is_spent_of_a_bucket() {
    explore_briefly(|| {
        let model = Arc::new(Model::token_buckets(quota("1/s burst 2")));
        let before = u64::from(model.check(KEY, second(1)));
        let (changed, checked) = (Arc::clone(&model), Arc::clone(&model));
        let change = thread::spawn(move || changed.set_quota(quota("1/s burst 3"), second(1)));
        let check = thread::spawn(move || u64::from(checked.check(KEY, second(1))));
        let meanwhile = check.join().expect("no panic");
        change.join().expect("no panic");
        assert_eq!(before + meanwhile, 2, "both quotas let two pass");
        assert_eq!(model.remaining(KEY, second(1)), 1);
        model.sweep(second(1));
    });
}

#[test]
fn a_change_of_quota_finds_a_key_that_comes_meanwhile() {
    explore_briefly(|| {
        let model = Arc::new(Model::token_buckets(quota("1/s burst 1")));
        let checked = Arc::clone(&model);
        let check = thread::spawn(move || u64::from(checked.check(KEY, second(1))));
        model.set_quota(quota("1/s burst 2"), second(1));
        assert_eq!(check.join().expect("no panic"), 1);
        assert_eq!(model.remaining(KEY, second(1)), 1);
        model.sweep(second(1));
    });
}

#[test]
fn a_change_of_quota_keeps_the_stamps_of_a_log() {
    raise_beside_two_checks(
        || Model::sliding_logs(quota("1/s")),
        |model| model.check(KEY, second(1)),
        |model| model.set_quota(quota("2/s"), second(1)),
        |model| {
            let remaining = model.remaining(KEY, second(1));
            model.sweep(second(1));
            remaining
        },
    );
}

#[test]
fn a_change_of_quota_takes_over_a_word_that_stands_alone() {
    raise_beside_two_checks(
        || LogModel::new(quota("1/s")),
        |model| model.check_n(1, second(1)),
        |model| model.set_quota(quota("2/s"), second(1)),
        |model| model.remaining(second(1)),
    );
}

/// Raises a limit from one to two while two are checked.
fn raise_beside_two_checks<M: Send + Sync + 'static>(
    make: fn() -> M,
    check: fn(&M) -> bool,
    raise: fn(&M),
    remaining: fn(&M) -> u64,
) {
    explore_briefly(move || {
        let model = Arc::new(make());
        let checked = Arc::clone(&model);
        let checks = thread::spawn(move || (0..2).map(|_| u64::from(check(&checked))).sum::<u64>());
        raise(&model);
        let passed = checks.join().expect("no panic");
        assert!(passed > 0, "the first passes under either quota");
        assert_eq!(passed + remaining(&model), 2);
    });
}
