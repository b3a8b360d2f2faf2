//! Lists of operations, played to a limiter and to the oracle.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tollgate::{
    Algorithm, Builder, Clock, Decision, FixedWindow, IntervalBucket, LeakyBucket, Limiter, ManualClock, OwnWindow,
    Quota, Reservation, SlidingCounter, SlidingLog, Tick, TokenBucket,
};

use super::oracle::{Booking, Call, Oracle, Rule, Verdict};

/// An operation in the form that generators make: what to do, to which key, and how much.
pub(crate) type Raw = (u8, u8, u64);

/// How many keys a trace touches.
pub(crate) const KEYS: u64 = 3;

/// How long a key must have been idle before it is evicted.
pub(crate) const EVICT_MARGIN_NS: u64 = 1_000_000_000;

/// One operation of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// A call, or a peek if the cost is zero.
    Check { key: u64, cost: u64 },
    /// Any other call.
    Adjust { key: u64, call: Call },
    /// The oldest reservation that stands is given back.
    Cancel,
    /// Time goes on by so many nanoseconds.
    Forward(u64),
    /// Time steps back by so many nanoseconds.
    Back(u64),
    /// One pass over the table.
    Sweep,
    /// So many keys arrive that were never seen, and make the table grow.
    Crowd(u64),
}

/// When the table is swept, and so how far time may step back before an eviction can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sweeps {
    /// Never, nor does the table grow; time steps back as far as it likes.
    Never,
    /// Where the trace says so; time never steps back past the margin.
    AsTold,
    /// After every operation; time never steps back past the margin.
    Always,
    /// Where the trace says so, and time steps back as far as it likes.
    Unbounded,
}

/// What gives the numbers of a raw operation their size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    limit: u64,
    interval_ns: u64,
    period_ns: u64,
    sweeps: Sweeps,
    last: Tick,
    /// Whether there are other calls than checks.
    adjusts: bool,
    /// Whether a key that was never seen may spend all of its limit.
    is_full_at_first: bool,
}

impl Scale {
    /// Returns the scale of traces that are played to a bucket: they end before its word is full.
    pub(crate) fn of_bucket(quota: &Quota, sweeps: Sweeps) -> Self {
        Self::new(quota, sweeps, last_of_bucket(quota))
    }

    /// Returns the scale of traces that are played to a log: the last two ticks are one to it.
    pub(crate) fn of_log(quota: &Quota, sweeps: Sweeps) -> Self {
        Self::new(quota, sweeps, Tick::MAX - Duration::from_nanos(1))
    }

    /// Returns the scale of traces that are played to windows with so many counts in a word: they end two windows
    /// before the last one that can be numbered.
    pub(crate) fn of_windows(quota: &Quota, sweeps: Sweeps, counts: u32) -> Self {
        Self::new(quota, sweeps, last_of_windows(quota, counts))
    }

    /// Returns the scale of traces that end at `last`.
    pub(crate) fn new(quota: &Quota, sweeps: Sweeps, last: Tick) -> Self {
        let period_ns = u64::try_from(quota.period().as_nanos()).expect("a period fits");
        let interval_ns = period_ns.div_ceil(quota.limit());
        Self { limit: quota.burst(), interval_ns, period_ns, sweeps, last, adjusts: false, is_full_at_first: true }
    }

    /// Has the traces make every call there is.
    pub(crate) fn with_all_calls(self) -> Self {
        Self { adjusts: true, ..self }
    }

    /// Returns the last tick of traces.
    pub(crate) fn last(&self) -> Tick {
        self.last
    }

    /// Reads a raw operation that is no check.
    fn adjustment(&self, kind: u8, key: u64, amount: u64) -> Op {
        let cost = amount % self.limit.saturating_add(2);
        let within = match amount % 5 {
            0 => 0,
            1 => self.interval_ns.saturating_mul(3),
            2 => self.period_ns,
            3 => amount % self.period_ns.saturating_mul(3),
            _ => u64::MAX,
        };
        let call = match kind % 16 {
            0..=2 => Call::Refund(cost),
            3 | 4 => Call::Charge(cost),
            5 => Call::Charge(1),
            6 => Call::Refund(amount),
            7 => Call::Reset,
            8 => Call::Block(amount % self.period_ns.saturating_mul(2)),
            9..=11 => Call::Reserve(1, within),
            12 | 13 => Call::Reserve(cost, within),
            _ => return Op::Cancel,
        };
        Op::Adjust { key, call }
    }

    /// Reads a raw operation.
    pub(crate) fn op(&self, (kind, key, amount): Raw) -> Op {
        let key = u64::from(key) % KEYS;
        let around = |ns: u64| Op::Forward(ns.saturating_add(amount % 3).saturating_sub(1));
        if self.adjusts && kind >= 126 {
            return self.adjustment(kind, key, amount);
        }
        match kind % 21 {
            0..=5 => Op::Check { key, cost: 1 },
            6 | 7 => Op::Check { key, cost: amount % self.limit.saturating_add(2) },
            8 => Op::Check { key, cost: amount },
            9 => Op::Check { key, cost: 0 },
            10 => Op::Forward(amount % 1_000),
            11 => Op::Forward(amount % self.interval_ns.saturating_mul(4)),
            12 => around(self.interval_ns),
            13 => around(self.period_ns),
            14 => Op::Forward(amount % 31_536_000_000_000_000),
            15 => Op::Forward(amount % self.period_ns),
            16 => Op::Back(amount % 1_600_000_000),
            17 => Op::Back(amount % 3_600_000_000_000),
            18 => Op::Back(amount % self.interval_ns.saturating_mul(2)),
            19 => Op::Crowd(amount % 200),
            _ => Op::Sweep,
        }
    }
}

/// One operation as it was carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) idx: usize,
    pub(crate) op: Op,
    pub(crate) now: Tick,
    pub(crate) decision: Option<Decision>,
    /// The operation that made the reservation which this one cancelled.
    pub(crate) cancelled: Option<usize>,
}

/// Plays a trace to a limiter, shows each operation to `visit`, and returns the tick at its end.
pub(crate) fn play<A: Algorithm>(
    limiter: &Limiter<u64, A>,
    scale: &Scale,
    trace: &[Raw],
    mut visit: impl FnMut(Event),
) -> Tick {
    let (mut now, mut latest, mut crowd) = (Tick::ZERO, Tick::ZERO, KEYS);
    let mut reservations = VecDeque::new();
    for (idx, raw) in trace.iter().enumerate() {
        let op = scale.op(*raw);
        let (mut decision, mut cancelled) = (None, None);
        match op {
            Op::Check { key, cost } => decision = Some(limiter.check_n_at(&key, cost, now)),
            Op::Adjust { key, call } => {
                let reserved = adjust(limiter, key, call, now, &mut decision);
                reservations.extend(reserved.map(|reservation| (idx, reservation)));
            }
            Op::Cancel => {
                if let Some((idx, reservation)) = reservations.pop_front() {
                    reservation.cancel_at(now);
                    cancelled = Some(idx);
                }
            }
            Op::Forward(ns) => now = scale.last.min(now + Duration::from_nanos(ns)),
            Op::Back(ns) => {
                now = now - Duration::from_nanos(ns);
                if matches!(scale.sweeps, Sweeps::AsTold | Sweeps::Always) {
                    now = now.max(latest - Duration::from_nanos(EVICT_MARGIN_NS));
                }
            }
            Op::Sweep | Op::Crowd(_) if scale.sweeps == Sweeps::Never => {}
            Op::Crowd(more) => {
                for key in crowd..crowd + more {
                    let first = limiter.check_at(&key, now);
                    let is_fresh = first.is_allowed() && first.remaining() == first.limit() - 1;
                    assert!(is_fresh || !scale.is_full_at_first, "{first:?} for a new key");
                }
                crowd += more;
            }
            Op::Sweep => drop(limiter.sweep_at(now)),
        }
        latest = latest.max(now);
        if scale.sweeps == Sweeps::Always {
            limiter.sweep_at(now);
        }
        visit(Event { idx, op, now, decision, cancelled });
    }
    now
}

/// Makes a call that is no check, and says what it answered and reserved.
fn adjust<'a, A: Algorithm>(
    limiter: &'a Limiter<u64, A>,
    key: u64,
    call: Call,
    now: Tick,
    decision: &mut Option<Decision>,
) -> Option<Reservation<'a, A>> {
    match call {
        Call::Check(cost) => *decision = Some(limiter.check_n_at(&key, cost, now)),
        Call::Charge(cost) => *decision = Some(limiter.charge_at(&key, cost, now)),
        Call::Refund(cost) => *decision = Some(limiter.refund_at(&key, cost, now)),
        Call::Reset => limiter.reset_at(&key, now),
        Call::Block(span_ns) => assert!(limiter.block_at(&key, Duration::from_nanos(span_ns), now)),
        Call::Reserve(cost, within_ns) => {
            let reserved = limiter.reserve_at(&key, cost, Duration::from_nanos(within_ns), now);
            return reserved.map_err(|denial| *decision = Some(denial)).ok();
        }
    }
    None
}

/// Plays a trace to a limiter and the oracle and tells where they first differ.
fn compare<A: Algorithm>(
    limiter: &Limiter<u64, A>,
    oracle: &Oracle,
    scale: &Scale,
    trace: &[Raw],
) -> Result<(), String> {
    let mut told = String::new();
    let mut differs = None;
    let mut bookings: HashMap<usize, Booking> = HashMap::new();
    play(limiter, scale, trace, |event| {
        if differs.is_some() {
            return;
        }
        told += &format!("\n  {:>3}  at {:>20}  {:?}", event.idx, event.now.as_nanos(), event.op);
        let now_ns = event.now.as_nanos();
        let (key, call) = match event.op {
            Op::Check { key, cost } => (key, Call::Check(cost)),
            Op::Adjust { key, call } => (key, call),
            Op::Cancel => {
                if let Some(booking) = event.cancelled.and_then(|idx| bookings.remove(&idx)) {
                    oracle.cancel(&booking, now_ns);
                }
                return;
            }
            _ => return,
        };
        let (verdict, booking) = oracle.book(key, call, now_ns);
        if matches!(call, Call::Reserve(..)) && verdict.allowed {
            bookings.insert(event.idx, booking);
        }
        let is_silent = matches!(call, Call::Reset | Call::Block(_) | Call::Reserve(..));
        let same = event.decision.map_or(is_silent && verdict.allowed | matches!(call, Call::Block(_)), |decision| {
            agree(&decision, &verdict, event.now, scale.last)
        });
        if !same {
            let (is, quota) = (event.decision, limiter.quota());
            differs = Some(format!("is {is:?}\n  but must be {verdict:?}\n  for {quota:?}"));
        }
    });
    differs.map_or(Ok(()), |what| Err(format!("{told}\n  {what}")))
}

/// Tells whether a limiter decided as the oracle does; a wait that ends past the last tick may saturate there.
fn agree(decision: &Decision, verdict: &Verdict, now: Tick, last: Tick) -> bool {
    let end = u128::from(last.since(now).as_nanos() as u64);
    let same = |is: Duration, must: u128| is.as_nanos() == must || (must >= end && is.as_nanos() >= end);
    decision.is_allowed() == verdict.allowed
        && u128::from(decision.remaining()) == verdict.remaining
        && same(decision.reset_after(), verdict.reset_after_ns)
        && (same(decision.delay(), verdict.delay_ns) || verdict.reset_after_ns >= end)
        && match (decision.retry_after(), verdict.retry_after_ns) {
            (Some(is), Some(must)) => same(is, must),
            (is, must) => is.is_none() && must.is_none(),
        }
}

/// Returns the interval between two unit calls as a fraction in lowest terms, in nanoseconds.
pub(crate) fn interval(quota: &Quota) -> (u128, u128) {
    let (period, limit) = (quota.period().as_nanos(), u128::from(quota.limit()));
    let (mut a, mut b) = (period, limit);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (period / a, limit / a)
}

/// Returns the interval as a bucket keeps it, and the parts of a nanosecond it is counted in: exact where up to 64
/// parts make that possible, else rounded up to a 64th, or to a nanosecond where 64ths are too many; `None` where
/// that cannot be held.
pub(crate) fn resolution(quota: &Quota) -> Option<(u128, u128)> {
    let (interval, scale) = interval(quota);
    let fits = |interval: u128| interval < 1 << 64 && interval.saturating_mul(u128::from(quota.burst()) - 1) <= 1 << 62;
    let rounded = [64, 1].map(|parts| ((interval * parts).div_ceil(scale), parts));
    let exact = Some((interval, scale)).filter(|_| scale <= 64 && fits(interval));
    exact.or_else(|| rounded.into_iter().find(|(interval, _)| *interval >= 1_000 && fits(*interval)))
}

/// Returns the last tick at which a bucket can be charged in full, so that its word does not saturate.
fn last_of_bucket(quota: &Quota) -> Tick {
    let (interval, parts) = resolution(quota).expect("a quota that can be held");
    // A burst of one may wait for ever all the same: a saturated word denies until the very last tick.
    let burst = if quota.burst() == 1 { parts } else { interval * u128::from(quota.burst()) };
    // The word counts from 1.
    let last = u128::from(Tick::MAX.as_nanos() - 1).saturating_sub(burst) / parts;
    Tick::from_nanos(last.try_into().expect("it is below the last tick"))
}

/// Returns the last tick of the last but two windows that fit a word beside so many counts up to the limit, or the last
/// tick of all.
fn last_of_windows(quota: &Quota, counts: u32) -> Tick {
    let bits = 64 - quota.limit().leading_zeros();
    let windows = (1_u128 << (63 - counts * bits)) - 1;
    let last = (windows.saturating_sub(2) * quota.period().as_nanos()).saturating_sub(1);
    Tick::from_nanos(last.min(Tick::MAX.as_nanos().into()) as u64)
}

/// Returns what a fixed window must do.
pub(crate) fn fixed_rule(quota: &Quota) -> Rule {
    Rule::Fixed { limit: quota.limit().into(), period_ns: quota.period().as_nanos() }
}

/// Returns what a sliding counter must do.
pub(crate) fn counter_rule(quota: &Quota) -> Rule {
    Rule::Counter { limit: quota.limit().into(), period_ns: quota.period().as_nanos() }
}

/// Makes a fixed window that only moves as it is told.
pub(crate) fn fixed(quota: Quota) -> Limiter<u64, FixedWindow> {
    still(Limiter::builder(quota))
}

/// Makes a sliding counter that only moves as it is told.
pub(crate) fn counter(quota: Quota) -> Limiter<u64, SlidingCounter> {
    still(Limiter::builder(quota))
}

/// Plays a trace to a fixed window and the oracle.
pub(crate) fn play_fixed(quota: Quota, sweeps: Sweeps, trace: &[Raw]) -> Result<(), String> {
    let oracle = Oracle::new(fixed_rule(&quota));
    compare(&fixed(quota), &oracle, &Scale::of_windows(&quota, sweeps, 1), trace)
}

/// Plays a trace to a sliding counter and the oracle.
pub(crate) fn play_counter(quota: Quota, sweeps: Sweeps, trace: &[Raw]) -> Result<(), String> {
    let oracle = Oracle::new(counter_rule(&quota));
    compare(&counter(quota), &oracle, &Scale::of_windows(&quota, sweeps, 2), trace)
}

/// Returns what a bucket must do.
pub(crate) fn bucket_rule(quota: &Quota) -> Rule {
    let (interval, scale) = resolution(quota).expect("a quota that can be held");
    let burst = quota.burst().into();
    Rule::Bucket { interval, scale, burst, initial: burst, queue: None }
}

/// Returns what a log must do.
pub(crate) fn log_rule(quota: &Quota, count_denied: bool) -> Rule {
    Rule::Log { limit: quota.limit().into(), period_ns: quota.period().as_nanos(), count_denied }
}

/// Makes a limiter that only moves as it is told, without a thread of its own.
pub(crate) fn still<A: Algorithm>(builder: Builder<u64, A>) -> Limiter<u64, A> {
    builder.clock(still_clock()).sweeper(false).build().expect("a quota that can be held")
}

/// Returns a clock that stands at zero.
pub(crate) fn still_clock() -> Clock {
    ManualClock::new().clock()
}

/// Makes a bucket that only moves as it is told.
pub(crate) fn bucket(quota: Quota) -> Limiter<u64, TokenBucket> {
    still(Limiter::builder(quota))
}

/// Makes a log that only moves as it is told.
pub(crate) fn log(quota: Quota, count_denied: bool) -> Limiter<u64, SlidingLog> {
    still(Limiter::<u64, SlidingLog>::builder(quota).count_denied(count_denied))
}

/// Plays a trace to a bucket and the oracle, unless a bucket cannot hold the quota.
pub(crate) fn play_bucket(quota: Quota, sweeps: Sweeps, trace: &[Raw]) -> Result<(), String> {
    if resolution(&quota).is_none() {
        return Ok(());
    }
    let oracle = Oracle::new(bucket_rule(&quota));
    compare(&bucket(quota), &oracle, &Scale::of_bucket(&quota, sweeps), trace)
}

/// Plays a trace to a log and the oracle.
pub(crate) fn play_log(quota: Quota, sweeps: Sweeps, count_denied: bool, trace: &[Raw]) -> Result<(), String> {
    let oracle = Oracle::new(log_rule(&quota, count_denied));
    compare(&log(quota, count_denied), &oracle, &Scale::of_log(&quota, sweeps), trace)
}

/// Returns a scale that ends so early that no debt of a trace fills a word, and makes every call; `None` for quotas whose
/// bursts are too long for that.
fn every_call(quota: &Quota, sweeps: Sweeps) -> Option<Scale> {
    let (interval, parts) = resolution(quota)?;
    let burst = interval * u128::from(quota.burst());
    // A trace has some hundred calls, each of at most a burst and one.
    (parts <= 64 && burst < 1 << 50 && quota.period().as_nanos() < 1 << 52)
        .then(|| Scale::new(quota, sweeps, Tick::from_nanos(1 << 56)).with_all_calls())
}

/// Plays a trace of every call to the algorithm of this number and to the oracle, unless a debt of the trace would be more
/// than its word holds. Twelve numbers make a difference.
pub(crate) fn play_all_calls(quota: Quota, choice: u8, sweeps: Sweeps, trace: &[Raw]) -> Result<(), String> {
    let Some(scale) = every_call(&quota, sweeps) else { return Ok(()) };
    let (limit, period_ns, burst) = (u128::from(quota.limit()), quota.period().as_nanos(), u128::from(quota.burst()));
    let even = quota.with_burst(quota.limit()).expect("a limit is a burst");
    let even_scale = Scale { limit: quota.limit(), ..scale };
    let (interval, parts) = resolution(&quota).expect("it was held above");
    let bucket = |initial, queue| Oracle::new(Rule::Bucket { interval, scale: parts, burst, initial, queue });
    let leaky = |undelayed: u64| still(Limiter::<u64, LeakyBucket>::builder(quota).queue(undelayed));
    match choice % 12 {
        0 => compare(&self::bucket(quota), &bucket(burst, None), &scale, trace),
        1 => {
            let scale = Scale { is_full_at_first: false, ..scale };
            let limiter = still(Limiter::<u64, TokenBucket>::builder(quota).initial(0));
            compare(&limiter, &bucket(0, None), &scale, trace)
        }
        2 => compare(&still(Limiter::<u64, LeakyBucket>::builder(quota)), &bucket(burst, None), &scale, trace),
        3 => compare(&leaky(0), &bucket(burst, Some(0)), &scale, trace),
        4 => compare(&leaky(2), &bucket(burst, Some(2)), &scale, trace),
        5 | 6 => {
            let oracle = Oracle::new(Rule::Interval { limit, period_ns, burst });
            compare(&still(Limiter::<u64, IntervalBucket>::builder(quota)), &oracle, &scale, trace)
        }
        7 => compare(&fixed(even), &Oracle::new(fixed_rule(&even)), &even_scale, trace),
        8 => {
            compare(&still(Limiter::<u64, OwnWindow>::builder(even)), &Oracle::new(own_rule(&even)), &even_scale, trace)
        }
        9 => compare(&counter(even), &Oracle::new(counter_rule(&even)), &even_scale, trace),
        10 => compare(&log(even, false), &Oracle::new(log_rule(&even, false)), &even_scale, trace),
        _ => compare(&log(even, true), &Oracle::new(log_rule(&even, true)), &even_scale, trace),
    }
}

/// Returns what a window of the key's own must do: it goes in steps that leave 58 bits of nanoseconds beside a count of up
/// to four times the limit.
fn own_rule(quota: &Quota) -> Rule {
    let count_bits = 64 - quota.limit().leading_zeros() + 2;
    let step_ns = 1 << count_bits.saturating_sub(5);
    let period_ns = quota.period().as_nanos();
    let period = if step_ns == 1 { period_ns } else { period_ns.div_ceil(step_ns) + 1 };
    Rule::Own { limit: quota.limit().into(), period, step_ns, highest: (1 << count_bits) - 1 }
}
