//! Waiting one's turn: who may ask next, and the future that asks.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_timer::Delay;
use parking_lot::Mutex;

use crate::clock::{Tick, saturating_nanos};
use crate::decision::Decision;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// How long to wait for a turn, and by how much to come late on purpose.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::WaitOptions;
///
/// let patient = WaitOptions::new().within(Duration::from_secs(5)).jitter(Duration::from_millis(50));
/// assert_ne!(patient, WaitOptions::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "options do nothing before a limiter is asked with them"]
pub struct WaitOptions {
    within: Option<Duration>,
    jitter: Duration,
}

impl WaitOptions {
    /// Waits as long as it takes, and not longer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up after so long by the limiter's clock, or at once if the turn is known to come later.
    pub fn within(self, span: Duration) -> Self {
        Self { within: Some(span), ..self }
    }

    /// Adds up to so much, at random, to each sleep, so that those who wait on many machines do not come all at once.
    pub fn jitter(self, most: Duration) -> Self {
        Self { jitter: most, ..self }
    }
}

/// Why a wait ended without a turn. Nothing was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// It costs more than ever passes at once.
    Never {
        /// The cost.
        cost: u64,
        /// The most that passes at once.
        limit: u64,
    },
    /// Its turn does not come in time.
    TooLate,
    /// So many wait already that nobody else may.
    TooManyWaiters {
        /// The bound.
        most: usize,
    },
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never { cost, limit } => write!(f, "a cost of {cost} never passes: take {limit} or less"),
            Self::TooLate => f.write_str("the turn does not come within the time that was given"),
            Self::TooManyWaiters { most } => write!(f, "{most} wait already: try again later, or raise `max_waiters`"),
        }
    }
}

impl std::error::Error for WaitError {}

/// Those who wait, in a queue for each key.
///
/// A key's queue orders them by their tickets, which count up; the first asks the limiter, and the others sleep.
pub(crate) struct Waiters {
    shards: [Mutex<HashMap<u64, BTreeMap<u64, Waker>>>; Self::SHARDS],
    count: AtomicUsize,
    most: usize,
    next_ticket: AtomicU64,
}

impl Waiters {
    /// The bound unless another is chosen.
    pub(crate) const MOST: usize = 1 << 16;
    /// How many locks share the queues.
    const SHARDS: usize = 16;

    /// Makes queues for so many.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            count: AtomicUsize::new(0),
            most,
            next_ticket: AtomicU64::new(0),
        }
    }

    /// Returns the queues among which that of an identity is.
    fn shard(&self, id: u64) -> &Mutex<HashMap<u64, BTreeMap<u64, Waker>>> {
        &self.shards[(id >> 32) as usize % Self::SHARDS]
    }

    /// Tells whether nobody waits for an identity.
    fn is_free(&self, id: u64) -> bool {
        // Relaxed: whoever misses one that came just now is no later than that one.
        self.count.load(Ordering::Relaxed) == 0 || !self.shard(id).lock().contains_key(&id)
    }

    /// Queues up; `None` if there are too many.
    fn enter(&self, id: u64, waker: &Waker) -> Option<u64> {
        // Relaxed: only the number counts.
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.most {
            // Relaxed: as above.
            self.count.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let mut queues = self.shard(id).lock();
        // Relaxed: within one queue the lock orders the tickets.
        let ticket = self.next_ticket.fetch_add(1, Ordering::Relaxed);
        queues.entry(id).or_default().insert(ticket, waker.clone());
        Some(ticket)
    }

    /// Tells whether it is a ticket's turn; if not now, the waker is called when it is.
    fn is_first(&self, id: u64, ticket: u64, waker: &Waker) -> bool {
        let mut queues = self.shard(id).lock();
        let Some(queue) = queues.get_mut(&id) else { return false };
        queue.entry(ticket).and_modify(|seen| seen.clone_from(waker));
        queue.first_key_value().is_some_and(|(first, _)| *first == ticket)
    }

    /// Leaves the queue, and wakes whoever is first from then on.
    fn leave(&self, id: u64, ticket: u64) {
        let mut queues = self.shard(id).lock();
        let Some(queue) = queues.get_mut(&id) else { return };
        let was_first = queue.first_key_value().is_some_and(|(first, _)| *first == ticket);
        queue.remove(&ticket);
        let next = if was_first { queue.first_key_value().map(|(_, waker)| waker.clone()) } else { None };
        if queue.is_empty() {
            queues.remove(&id);
            if queues.is_empty() {
                queues.shrink_to_fit();
            }
        }
        drop(queues);
        // Relaxed: only the number counts.
        self.count.fetch_sub(1, Ordering::Relaxed);
        next.into_iter().for_each(Waker::wake);
    }

    /// Has the first who waits for an identity look again: something was given back.
    pub(crate) fn nudge(&self, id: u64) {
        // Relaxed: who is missed looks when it would have looked anyway.
        if self.count.load(Ordering::Relaxed) > 0 {
            let queues = self.shard(id).lock();
            let first = queues.get(&id).and_then(|queue| queue.first_key_value()).map(|(_, waker)| waker.clone());
            drop(queues);
            first.into_iter().for_each(Waker::wake);
        }
    }

    /// Has the first of each queue look again: the quota changed.
    pub(crate) fn nudge_all(&self) {
        for shard in &self.shards {
            let queues = shard.lock();
            let first = |queue: &BTreeMap<_, Waker>| queue.first_key_value().map(|(_, waker)| waker.clone());
            let wakers: Vec<Waker> = queues.values().filter_map(first).collect();
            drop(queues);
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Returns how many wait.
    pub(crate) fn count(&self) -> usize {
        // Relaxed: a statistic.
        self.count.load(Ordering::Relaxed)
    }
}

/// What is waited for: a limiter, and a key of it.
pub(crate) trait Turn: Unpin {
    /// Returns those who wait.
    fn waiters(&self) -> &Waiters;

    /// Returns the identity of the key.
    fn id(&self) -> u64;

    /// Reads the limiter's clock.
    fn now(&self) -> Tick;

    /// Spends if it passes at this moment without a delay.
    fn try_now(&self, cost: u64, now: Tick) -> Decision;

    /// Counts how the wait ended.
    fn count(&self, cost: u64, is_allowed: bool);
}

/// Asks whenever it is its turn, until it passes.
pub(crate) struct Ready<T: Turn> {
    turn: T,
    cost: u64,
    deadline: Option<Tick>,
    jitter_ns: u64,
    ticket: Option<u64>,
    timer: Option<Delay>,
}

impl<T: Turn> Ready<T> {
    /// The longest sleep, after which the clock is looked at again.
    const LONGEST: Duration = Duration::from_secs(3_600);

    /// Begins to wait: what is given as time runs from now on.
    pub(crate) fn new(turn: T, cost: u64, options: WaitOptions) -> Self {
        let deadline = options.within.map(|within| turn.now() + within);
        Self { turn, cost, deadline, jitter_ns: saturating_nanos(options.jitter), ticket: None, timer: None }
    }

    /// Asks if it is this one's turn: breaks if it passed, or tells how long to sleep before one looks again.
    fn advance(&mut self, waker: &Waker) -> Result<ControlFlow<(), Duration>, WaitError> {
        let id = self.turn.id();
        let ticket = match self.ticket {
            Some(ticket) => ticket,
            None => {
                if self.turn.waiters().is_free(id) && self.ask()?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let waiters = self.turn.waiters();
                let full = WaitError::TooManyWaiters { most: waiters.most };
                *self.ticket.insert(waiters.enter(id, waker).ok_or(full)?)
            }
        };
        if self.turn.waiters().is_first(id, ticket, waker) {
            return self.ask();
        }
        match self.left(self.turn.now()) {
            Duration::ZERO => Err(WaitError::TooLate),
            left => Ok(ControlFlow::Continue(left)),
        }
    }

    /// Asks the limiter: breaks if it passed, or tells how long to sleep.
    fn ask(&self) -> Result<ControlFlow<(), Duration>, WaitError> {
        let now = self.turn.now();
        let decision = self.turn.try_now(self.cost, now);
        if decision.is_allowed() {
            return Ok(ControlFlow::Break(()));
        }
        let never = WaitError::Never { cost: self.cost, limit: decision.limit() };
        let (wait, left) = (decision.retry_after().ok_or(never)?, self.left(now));
        if wait > left {
            return Err(WaitError::TooLate);
        }
        Ok(ControlFlow::Continue(wait.saturating_add(self.lateness()).min(left)))
    }

    /// Returns the time until the wait is over.
    fn left(&self, now: Tick) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| deadline.since(now))
    }

    /// Returns by how much to be late this time.
    fn lateness(&self) -> Duration {
        match self.jitter_ns {
            0 => Duration::ZERO,
            jitter_ns => Duration::from_nanos(RandomState::new().hash_one(self.ticket) % jitter_ns.saturating_add(1)),
        }
    }
}

impl<T: Turn> Future for Ready<T> {
    type Output = Result<(), WaitError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            let end = match this.advance(cx.waker()) {
                Ok(ControlFlow::Break(())) => Ok(()),
                Ok(ControlFlow::Continue(sleep)) => {
                    let timer = this.timer.insert(Delay::new(sleep.min(Self::LONGEST)));
                    if Pin::new(timer).poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    continue;
                }
                Err(error) => Err(error),
            };
            this.turn.count(this.cost, end.is_ok());
            this.leave();
            return Poll::Ready(end);
        }
    }
}

impl<T: Turn> Ready<T> {
    /// Leaves the queue.
    fn leave(&mut self) {
        self.timer = None;
        if let Some(ticket) = self.ticket.take() {
            self.turn.waiters().leave(self.turn.id(), ticket);
        }
    }
}

impl<T: Turn> Drop for Ready<T> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_first_come_first_served_and_leave_nothing_behind() {
        let waiters = Waiters::new(3);
        let waker = Waker::noop();
        let tickets: Vec<u64> = (0..3).map(|_| waiters.enter(7, waker).expect("room for three")).collect();
        assert_eq!(waiters.enter(8, waker), None);
        assert!(waiters.is_first(7, tickets[0], waker) && !waiters.is_first(7, tickets[1], waker));
        waiters.leave(7, tickets[1]);
        waiters.leave(7, tickets[0]);
        assert!(waiters.is_first(7, tickets[2], waker));
        assert!(!waiters.is_free(7) && waiters.is_free(8));
        waiters.leave(7, tickets[2]);
        assert!(waiters.is_free(7) && waiters.count() == 0);
        assert!(waiters.shards.iter().all(|shard| shard.lock().is_empty()));
    }

    /// A limiter that is never asked.
    struct Idle(Waiters);

    impl Turn for Idle {
        fn waiters(&self) -> &Waiters {
            &self.0
        }

        fn id(&self) -> u64 {
            0
        }

        fn now(&self) -> Tick {
            Tick::ZERO
        }

        fn try_now(&self, _cost: u64, _now: Tick) -> Decision {
            unreachable!("nobody waits")
        }

        fn count(&self, _cost: u64, _is_allowed: bool) {}
    }

    #[test]
    fn a_jitter_is_spread_from_nothing_to_the_most() {
        let most = Duration::from_millis(8);
        let ready = Ready::new(Idle(Waiters::new(0)), 1, WaitOptions::new().jitter(most));
        let mut quarters = [0; 4];
        for _ in 0..400 {
            let late = ready.lateness();
            assert!(late <= most);
            quarters[(late.as_micros() / 2_001) as usize] += 1;
        }
        assert!(quarters.iter().all(|count| *count > 40), "{quarters:?}");
        let punctual = Ready::new(Idle(Waiters::new(0)), 1, WaitOptions::new());
        assert_eq!(punctual.lateness(), Duration::ZERO);
    }
}
