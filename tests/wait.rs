//! Waiting for a turn: in order, bounded, and without a trace of those who gave up.
#![cfg(all(not(loom), feature = "async"))]

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tollgate::{
    Algorithm, Builder, IntervalBucket, LeakyBucket, Limiter, ManualClock, SingleLimiter, SlidingLog, TokenBucket,
    WaitError, WaitOptions,
};

/// Counts how often it is woken.
#[derive(Default)]
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A wait that is polled by hand.
type Wait = Pin<Box<dyn Future<Output = Result<(), WaitError>> + Send>>;

/// Polls a wait once.
fn poll(wait: &mut Wait, alarm: &Arc<Alarm>) -> Poll<Result<(), WaitError>> {
    wait.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(alarm))))
}

/// Builds a limiter whose time stands until it is told.
fn by_hand<A: Algorithm>(builder: Builder<u64, A>) -> (Limiter<u64, A>, ManualClock) {
    let manual = ManualClock::new();
    (builder.clock(manual.clock()).build().expect("a quota that can be held"), manual)
}

/// Returns a builder for a quota.
fn builder<A: Algorithm>(quota: &str) -> Builder<u64, A> {
    Limiter::builder(quota.parse().expect("a quota"))
}

#[tokio::test]
async fn those_who_wait_pass_in_the_order_in_which_they_came_and_at_the_rate() {
    let limiter: Limiter<str> = Limiter::new("1/3ms".parse().expect("a quota")).expect("a limiter");
    let order = Arc::new(Mutex::new(Vec::new()));
    let begin = Instant::now();
    let waits: Vec<_> = (0..20)
        .map(|place| {
            let (wait, order) = (limiter.until_ready("a"), Arc::clone(&order));
            tokio::spawn(async move {
                wait.await.expect("nobody gives up");
                order.lock().expect("no panic").push(place);
            })
        })
        .collect();
    for wait in waits {
        wait.await.expect("a task without a panic");
    }
    assert_eq!(*order.lock().expect("no panic"), (0..20).collect::<Vec<_>>());
    assert!(begin.elapsed() >= Duration::from_millis(19 * 3), "{:?}", begin.elapsed());
    assert_eq!((limiter.stats().allowed, limiter.stats().denied, limiter.waiting()), (20, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_that_wait_for_many_keys_all_pass_and_none_too_early() {
    let limiter: Limiter<u64> = Limiter::new("2/4ms burst 1".parse().expect("a quota")).expect("a limiter");
    let begin = Instant::now();
    let waits: Vec<_> = (0..200_u64)
        .map(|idx| {
            let limiter = limiter.clone();
            tokio::spawn(async move { limiter.until_ready(&(idx % 8)).await })
        })
        .collect();
    for wait in waits {
        assert!(wait.await.expect("a task without a panic").is_ok());
    }
    assert!(begin.elapsed() >= Duration::from_millis(24 * 2), "{:?}", begin.elapsed());
    assert_eq!((limiter.stats().allowed, limiter.waiting()), (200, 0));
}

#[test]
fn whoever_gives_up_leaves_no_debt_and_passes_the_turn_on() {
    fn check<A: Algorithm>(builder: Builder<u64, A>) {
        let (limiter, manual) = by_hand(builder);
        assert!(limiter.check(&7).is_allowed());
        let alarms: Vec<Arc<Alarm>> = (0..3).map(|_| Arc::default()).collect();
        let mut waits: Vec<Wait> = (0..3).map(|_| Box::pin(limiter.until_ready(&7)) as Wait).collect();
        for (wait, alarm) in waits.iter_mut().zip(&alarms) {
            assert!(poll(wait, alarm).is_pending());
        }
        assert_eq!(limiter.waiting(), 3);
        // In the middle, then at the front: only the one who is next is woken.
        drop(waits.remove(1));
        assert_eq!(alarms[2].0.load(Ordering::SeqCst), 0);
        drop(waits.remove(0));
        assert_eq!(alarms[2].0.load(Ordering::SeqCst), 1);
        assert!(poll(&mut waits[0], &alarms[2]).is_pending());
        manual.advance(Duration::from_secs(3_600));
        assert!(matches!(poll(&mut waits[0], &alarms[2]), Poll::Ready(Ok(()))));
        assert_eq!(limiter.waiting(), 0);
        manual.advance(Duration::from_secs(3_600));
        assert_eq!(limiter.peek(&7).remaining(), 1, "{limiter:?}");
        assert_eq!((limiter.stats().allowed, limiter.stats().denied), (2, 0));
    }
    check(builder::<TokenBucket>("1/h"));
    check(builder::<IntervalBucket>("1/h"));
    check(builder::<LeakyBucket>("1/h").queue(0));
    check(builder::<SlidingLog>("1/h"));
    check(builder::<SlidingLog>("1/h").count_denied(true));
}

#[test]
fn a_queue_is_waited_for_before_it_is_entered() {
    let (limiter, manual) = by_hand(builder::<LeakyBucket>("10/s burst 5").queue(0));
    let alarm = Arc::default();
    assert!(limiter.check(&7).is_allowed());
    let mut wait: Wait = Box::pin(limiter.until_ready(&7));
    assert!(poll(&mut wait, &alarm).is_pending());
    assert_eq!(limiter.peek(&7).remaining(), 4, "a wait has no place in the queue");
    manual.advance(Duration::from_millis(100));
    assert_eq!(poll(&mut wait, &alarm), Poll::Ready(Ok(())));
    assert_eq!(limiter.check(&7).delay(), Duration::from_millis(100), "it was due at once");
}

#[test]
fn what_is_given_back_wakes_whoever_is_next() {
    let (limiter, _manual) = by_hand(builder::<TokenBucket>("3/h"));
    let single: SingleLimiter = SingleLimiter::builder("3/h".parse().expect("a quota"))
        .clock(ManualClock::new().clock())
        .build()
        .expect("sound");
    let ways: [(Wait, &dyn Fn()); 4] = [
        (Box::pin(limiter.until_ready(&1)), &|| assert_eq!(limiter.refund(&1, 1).remaining(), 1)),
        (Box::pin(limiter.until_ready(&2)), &|| limiter.reset(&2)),
        (Box::pin(single.until_ready()), &|| assert_eq!(single.refund(1).remaining(), 1)),
        (Box::pin(single.until_ready()), &|| single.reset()),
    ];
    for key in [1, 2] {
        assert!(limiter.check_n(&key, 3).is_allowed());
    }
    assert!(single.check_n(3).is_allowed());
    for (mut wait, give) in ways {
        let alarm = Arc::default();
        assert!(poll(&mut wait, &alarm).is_pending());
        assert_eq!(alarm.0.load(Ordering::SeqCst), 0);
        give();
        assert_eq!(alarm.0.load(Ordering::SeqCst), 1);
        assert!(poll(&mut wait, &alarm).is_ready());
    }
}

#[test]
fn a_blocked_key_waits_for_the_end_of_its_block() {
    let (limiter, manual) = by_hand(builder::<TokenBucket>("3/s"));
    let alarm = Arc::default();
    assert!(limiter.block(&7, Duration::from_secs(60)));
    let mut wait: Wait = Box::pin(limiter.until_ready(&7));
    assert!(poll(&mut wait, &alarm).is_pending());
    let soon = WaitOptions::new().within(Duration::from_secs(59));
    let mut impatient: Wait = Box::pin(limiter.until_ready_with(&7, 1, soon));
    assert!(poll(&mut impatient, &alarm).is_pending(), "it is not its turn to know");
    manual.advance(Duration::from_secs(60));
    assert!(matches!(poll(&mut wait, &alarm), Poll::Ready(Ok(()))));
}

#[test]
fn no_more_wait_than_may() {
    let (limiter, _manual) = by_hand(builder::<TokenBucket>("1/h").max_waiters(2));
    let alarm = Arc::default();
    assert!(limiter.check(&7).is_allowed() && limiter.check(&8).is_allowed());
    let mut waits: Vec<Wait> = [7, 8, 7].map(|key| Box::pin(limiter.until_ready(&key)) as Wait).into();
    assert!(poll(&mut waits[0], &alarm).is_pending());
    assert!(poll(&mut waits[1], &alarm).is_pending());
    assert_eq!(poll(&mut waits[2], &alarm), Poll::Ready(Err(WaitError::TooManyWaiters { most: 2 })));
    assert!(limiter.until_ready(&9).poll_once(&alarm).is_ready(), "who need not wait may come");
    drop(waits.remove(1));
    let mut again: Wait = Box::pin(limiter.until_ready(&7));
    assert!(poll(&mut again, &alarm).is_pending());
    assert_eq!((limiter.waiting(), limiter.stats().denied), (2, 1));
}

/// Polls a future where it stands.
trait PollOnce: Future + Sized {
    fn poll_once(self, alarm: &Arc<Alarm>) -> Poll<Self::Output> {
        pin!(self).poll(&mut Context::from_waker(&Waker::from(Arc::clone(alarm))))
    }
}

impl<F: Future> PollOnce for F {}

#[tokio::test]
async fn a_wait_gives_up_in_time_whether_it_is_first_or_not() {
    let limiter: Limiter<u64> = Limiter::new("2/h".parse().expect("a quota")).expect("a limiter");
    assert!(limiter.check_n(&7, 2).is_allowed());
    let soon = WaitOptions::new().within(Duration::from_millis(30)).jitter(Duration::from_secs(9));
    // The first knows at once that its turn comes too late.
    assert_eq!(limiter.until_ready_with(&7, 1, soon).await, Err(WaitError::TooLate));
    let mut first: Wait = Box::pin(limiter.until_ready(&7));
    assert!(poll(&mut first, &Arc::default()).is_pending());
    let begin = Instant::now();
    assert_eq!(limiter.until_ready_with(&7, 1, soon).await, Err(WaitError::TooLate));
    assert!(begin.elapsed() >= Duration::from_millis(30));
    assert_eq!(limiter.waiting(), 1);
    let never = Err(WaitError::Never { cost: 3, limit: 2 });
    assert_eq!(limiter.until_ready_with(&8, 3, soon).await, never);
    assert!(limiter.until_ready_with(&7, 0, soon).await.is_err(), "even a look waits for those before it");
}

#[tokio::test]
async fn a_jitter_makes_a_wait_longer_but_never_longer_than_it_may_be() {
    let limiter: Limiter<u64> = Limiter::new("1/10ms".parse().expect("a quota")).expect("a limiter");
    let options = WaitOptions::new().jitter(Duration::from_millis(5)).within(Duration::from_secs(60));
    let begin = Instant::now();
    for _ in 0..6 {
        assert!(limiter.until_ready_with(&7, 1, options).await.is_ok());
    }
    assert!(begin.elapsed() >= Duration::from_millis(50));
}

#[test]
fn errors_say_what_to_do() {
    let messages = [
        (WaitError::Never { cost: 6, limit: 5 }, "a cost of 6 never passes: take 5 or less"),
        (WaitError::TooLate, "the turn does not come within the time that was given"),
        (WaitError::TooManyWaiters { most: 9 }, "9 wait already: try again later, or raise `max_waiters`"),
    ];
    for (error, message) in messages {
        assert_eq!(error.to_string(), message);
    }
}
