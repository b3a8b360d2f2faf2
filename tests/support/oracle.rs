//! The limiter that is too plain to be wrong: exact arithmetic, one map, one lock.

use std::collections::HashMap;
use std::sync::Mutex;

/// What is asked of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Check(u64),
    Charge(u64),
    Refund(u64),
    /// So much, within so many nanoseconds.
    Reserve(u64, u64),
    /// For so many nanoseconds.
    Block(u64),
    Reset,
}

/// What must be said of one call; a wait of `None` is "never".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) allowed: bool,
    pub(crate) remaining: u128,
    pub(crate) retry_after_ns: Option<u128>,
    pub(crate) reset_after_ns: u128,
    pub(crate) delay_ns: u128,
}

/// The rule that is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Up to `burst` at once, one more for each `interval / scale` ns, `initial` of them at the first tick. As a queue, all
    /// but so many beside the first wait for their turn.
    Bucket { interval: u128, scale: u128, burst: u128, initial: u128, queue: Option<u128> },
    /// Up to `burst` at once, `limit` more at the end of each period.
    Interval { limit: u128, period_ns: u128, burst: u128 },
    /// Up to `limit` in any trailing period; `count_denied` records what was denied as well.
    Log { limit: u128, period_ns: u128, count_denied: bool },
    /// Up to `limit` in each window of a period, which all have in common.
    Fixed { limit: u128, period_ns: u128 },
    /// Up to `limit` in each window that opens with a request; time and period go in steps of so many nanoseconds, and no more
    /// than `highest` is counted.
    Own { limit: u128, period: u128, step_ns: u128, highest: u128 },
    /// Up to `limit` in a window, with the window before weighed by its part within the trailing period.
    Counter { limit: u128, period_ns: u128 },
}

/// One key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Key {
    /// The arrival of a bucket; or a window, what it and what the one before it counts.
    word: (u128, u128, u128),
    /// The stamps of a log, oldest first.
    stamps: Vec<u128>,
    blocked_until: u128,
}

/// What a reservation was, so that it can be given back.
#[derive(Clone, Debug)]
pub(crate) struct Booking {
    key: u64,
    cost: u64,
    before: (u128, u128, u128),
    after: (u128, u128, u128),
    stamp: u128,
}

/// Many keys under one rule.
#[derive(Debug)]
pub(crate) struct Oracle(Rule, Mutex<HashMap<u64, Key>>);

impl Oracle {
    pub(crate) fn new(rule: Rule) -> Self {
        Self(rule, Mutex::default())
    }

    /// Answers a call.
    pub(crate) fn call(&self, key: u64, call: Call, now_ns: u64) -> Verdict {
        self.book(key, call, now_ns).0
    }

    /// Answers a call, and says what a reservation changed.
    pub(crate) fn book(&self, id: u64, call: Call, now_ns: u64) -> (Verdict, Booking) {
        let mut keys = self.1.lock().expect("no call panics");
        let key = keys.entry(id).or_default();
        let now = u128::from(now_ns);
        match call {
            Call::Block(span) => key.blocked_until = key.blocked_until.max(now + u128::from(span)),
            Call::Reset => key.blocked_until = 0,
            _ => {}
        }
        let call = if call == Call::Reset { Call::Refund(u64::MAX) } else { call };
        let before = key.word;
        let left = key.blocked_until.saturating_sub(now);
        let verdict = match call {
            Call::Check(_) | Call::Reserve(..) | Call::Block(_) if left > 0 => {
                Verdict { allowed: false, remaining: 0, retry_after_ns: Some(left), reset_after_ns: left, delay_ns: 0 }
            }
            call => self.0.answer(key, call, now),
        };
        let cost = if let Call::Reserve(cost, _) = call { cost } else { 0 };
        let stamp = key.stamps.last().copied().unwrap_or_default();
        (verdict, Booking { key: id, cost, before, after: key.word, stamp })
    }

    /// Gives a reservation back: a word if nobody has touched it since, the stamps of a log in any case.
    pub(crate) fn cancel(&self, booking: &Booking, now_ns: u64) {
        let mut keys = self.1.lock().expect("no call panics");
        let key = keys.entry(booking.key).or_default();
        if let Rule::Log { period_ns, .. } = self.0 {
            take_back(&mut key.stamps, u128::from(now_ns), period_ns, booking.cost, Some(booking.stamp));
        } else if key.word == booking.after && booking.cost > 0 {
            key.word = booking.before;
        }
    }
}

/// Takes up to `cost` of the newest stamps that count, or only such as are equal to one, out of a log. Those that lie ahead
/// leave a stamp a period earlier, whose place they took.
fn take_back(stamps: &mut Vec<u128>, now: u128, period_ns: u128, cost: u64, only: Option<u128>) {
    let mut displaced = Vec::new();
    for _ in 0..cost.min(stamps.len() as u64) {
        let counts = |stamp: &u128| *stamp + period_ns > now && only.is_none_or(|only| *stamp == only);
        let Some(at) = stamps.iter().rposition(counts) else { break };
        let stamp = stamps.remove(at);
        displaced.extend(stamp.checked_sub(period_ns).filter(|_| stamp > now));
    }
    stamps.extend(displaced);
    stamps[..].sort_unstable();
}

impl Rule {
    /// Answers a call of a key that is not blocked.
    fn answer(self, key: &mut Key, call: Call, now: u128) -> Verdict {
        match self {
            Self::Bucket { interval, scale, burst, initial, queue } => {
                let floor = (burst - initial) * interval;
                key.word.0 = key.word.0.max(floor);
                let bucket = Bucket { interval, burst, queue, floor, now: now * scale };
                bucket.answer(key, call, |parts| parts.div_ceil(scale))
            }
            Self::Interval { limit, period_ns, burst } => {
                let bucket = Bucket { interval: 1, burst, queue: None, floor: 0, now: now / period_ns * limit };
                let ns = |tokens: u128| (tokens.div_ceil(limit) * period_ns).saturating_sub(now % period_ns);
                let ns = move |tokens: u128| if tokens == 0 { 0 } else { ns(tokens) };
                bucket.answer(key, call, ns)
            }
            Self::Log { limit, period_ns, count_denied } => answer_log(key, call, now, limit, period_ns, count_denied),
            Self::Fixed { limit, period_ns } => {
                let window = (now / period_ns).max(key.word.0);
                let mut count = key.word.1;
                for _ in key.word.0..window {
                    count = count.saturating_sub(limit);
                    if count == 0 {
                        break;
                    }
                }
                let end = |further| (window + 1 + further) * period_ns;
                answer_window(key, call, now, (window, count), (limit, u128::MAX), end)
            }
            Self::Own { limit, period, step_ns, highest } => {
                let (mut opened, mut count) = (key.word.0, key.word.1);
                let present = now / step_ns;
                while count > 0 && present >= opened + period {
                    (opened, count) = (opened + period, count.saturating_sub(limit));
                }
                let opened = if count == 0 { present } else { opened };
                let end = |further| (opened + (further + 1) * period) * step_ns;
                answer_window(key, call, now, (opened, count), (limit, highest), end)
            }
            Self::Counter { limit, period_ns } => answer_counter(key, call, now, limit, period_ns),
        }
    }
}

/// A bucket at a moment, in units of its own.
struct Bucket {
    interval: u128,
    burst: u128,
    queue: Option<u128>,
    /// The arrival of a key never seen.
    floor: u128,
    now: u128,
}

impl Bucket {
    fn answer(self, key: &mut Key, call: Call, ns: impl Fn(u128) -> u128) -> Verdict {
        let Self { interval, burst, queue, floor, now } = self;
        let (arrival, full) = (&mut key.word.0, now + burst * interval);
        let start = now.max(*arrival);
        let delay = |end: u128, cost: u128| match queue {
            Some(undelayed) => (end - cost * interval - now).saturating_sub(undelayed * interval),
            None => end.saturating_sub(full),
        };
        let (mut allowed, mut wait, mut cost) = (true, Some(0), 0);
        match call {
            Call::Check(n) | Call::Reserve(n, _) if n > 0 => {
                cost = u128::from(n);
                let end = start + cost * interval;
                let (late, fits) = (ns(end.saturating_sub(full)), end <= full);
                let (passes, waits) = match call {
                    Call::Check(_) => (fits, late),
                    // A queue takes no more than its burst, however long the caller would wait.
                    _ if queue.is_some() && !fits => (false, late),
                    Call::Reserve(_, within) => {
                        let due = ns(delay(end, cost));
                        (due <= within.into(), due.saturating_sub(within.into()))
                    }
                    _ => (true, 0),
                };
                allowed = passes && cost <= burst;
                wait = (cost <= burst).then_some(waits);
                if allowed {
                    (*arrival, wait) = (end, Some(0));
                }
            }
            Call::Charge(n) if n > 0 => *arrival = start + u128::from(n) * interval,
            Call::Refund(n) if n > 0 && start > now => {
                *arrival = start.saturating_sub(u128::from(n).saturating_mul(interval)).max(now).max(floor);
            }
            _ => {}
        }
        let end = now.max(*arrival);
        Verdict {
            allowed,
            remaining: full.saturating_sub(end) / interval,
            retry_after_ns: wait,
            reset_after_ns: ns(end - now),
            delay_ns: if allowed { ns(delay(end, cost)) } else { 0 },
        }
    }
}

/// Answers for a count in a window of which the ends of those to come are known.
fn answer_window(
    key: &mut Key,
    call: Call,
    now: u128,
    (window, mut count): (u128, u128),
    (limit, highest): (u128, u128),
    end: impl Fn(u128) -> u128,
) -> Verdict {
    // The first window at whose start no more than `most` is left.
    let left_after = |count: u128, most: u128| {
        let passed = (1..).find(|passed| count.saturating_sub(passed * limit) <= most).expect("each pays some off");
        end(passed - 1) - now
    };
    let (mut allowed, mut wait) = (true, Some(0));
    let before = count;
    match call {
        Call::Check(n) if n > 0 => {
            let cost = u128::from(n);
            allowed = count + cost <= limit;
            wait = (cost <= limit).then(|| if allowed { 0 } else { left_after(count, limit - cost) });
            count += if allowed { cost } else { 0 };
        }
        Call::Reserve(n, within) if n > 0 => {
            let cost = u128::from(n);
            let whole = (0..).find(|full| count <= full * limit || (count + cost).div_ceil(limit) <= full + 1);
            let full = whole.expect("some window has room") * limit;
            let booked = if count >= full { count + cost } else { full + cost };
            // The window in which all of it lies.
            let ahead = booked.div_ceil(limit) - 1;
            let delay = match ahead {
                _ if booked > highest => u128::from(u64::MAX),
                0 => 0,
                _ => end(ahead - 1) - now,
            };
            allowed = cost <= limit && delay <= within.into() && booked <= highest;
            let within = if booked > highest { 0 } else { u128::from(within) };
            wait = (cost <= limit).then(|| delay.saturating_sub(within));
            count = if allowed { booked } else { count };
        }
        Call::Charge(n) => count = (count + u128::from(n)).min(highest),
        Call::Refund(n) => count = count.saturating_sub(n.into()),
        _ => {}
    }
    if count != before {
        key.word = (window, count, 0);
    }
    Verdict {
        allowed,
        remaining: limit.saturating_sub(count),
        retry_after_ns: wait.map(|wait| if allowed { 0 } else { wait }),
        reset_after_ns: if count == 0 { 0 } else { left_after(count, 0) },
        delay_ns: if allowed && count > limit { left_after(count, limit) } else { 0 },
    }
}

/// Answers for the counts of two windows.
fn answer_counter(key: &mut Key, call: Call, now: u128, limit: u128, period_ns: u128) -> Verdict {
    // Time that goes back before the window of the last call counts as that window's start.
    let at = now.max(key.word.0 * period_ns);
    // The counts of the window of a moment and of the one before it, if nothing is spent meanwhile.
    let counts = |word: (u128, u128, u128), at: u128| match at / period_ns - word.0 {
        0 => (word.1, word.2),
        1 => (0, word.1),
        _ => (0, 0),
    };
    // What counts, in parts of a period each: whole calls of the window, parts of those before.
    let weight = |word, at: u128| {
        let (current, before) = counts(word, at);
        current * period_ns + before * (period_ns - at % period_ns)
    };
    // What passes once passes from then on: halve until it is found.
    let passes_at = |word: (u128, u128, u128), from: u128, cost: u128| {
        let passes = |at| weight(word, at) + cost * period_ns <= limit * period_ns;
        let (mut denied, mut passed) = (from, from + 2 * period_ns);
        while passed - denied > 1 {
            let middle = denied.midpoint(passed);
            if passes(middle) { passed = middle } else { denied = middle }
        }
        if passes(from) { from } else { passed }
    };
    let (current, before) = counts(key.word, at);
    let (mut allowed, mut wait, mut delay) = (true, Some(0), 0);
    match call {
        Call::Check(n) | Call::Reserve(n, _) if n > 0 => {
            let cost = u128::from(n);
            let within = if let Call::Reserve(_, within) = call { u128::from(within) } else { 0 };
            let due = if cost <= limit { passes_at(key.word, at, cost) } else { at };
            let late = if due == at { 0 } else { (due - now).saturating_sub(within) };
            allowed = cost <= limit && if matches!(call, Call::Check(_)) { due == at } else { late == 0 };
            wait = (cost <= limit).then_some(late);
            if allowed {
                let (current, before) = counts(key.word, due);
                delay = if due == at { 0 } else { due - now };
                key.word = (due / period_ns, current + cost, before);
            }
        }
        Call::Charge(n) if n > 0 => key.word = (at / period_ns, current + u128::from(n), before),
        Call::Refund(n) if n > 0 && current + before > 0 => {
            let rest = u128::from(n).saturating_sub(current);
            key.word = (at / period_ns, current.saturating_sub(n.into()), before.saturating_sub(rest));
        }
        _ => {}
    }
    let at = now.max(key.word.0 * period_ns);
    let (current, before) = counts(key.word, at);
    let end = (at / period_ns + 1) * period_ns - now;
    if !matches!(call, Call::Check(1..) | Call::Reserve(1.., _)) {
        delay = if weight(key.word, at) > limit * period_ns { passes_at(key.word, at, 0) - now } else { 0 };
    }
    Verdict {
        allowed,
        remaining: limit.saturating_sub(weight(key.word, at).div_ceil(period_ns)),
        retry_after_ns: wait.map(|wait| if allowed { 0 } else { wait }),
        reset_after_ns: match (current, before) {
            (0, 0) => 0,
            (0, _) => end,
            _ => end + period_ns,
        },
        delay_ns: if allowed { delay } else { 0 },
    }
}

/// Answers for the stamps of a log.
fn answer_log(key: &mut Key, call: Call, now: u128, limit: u128, period_ns: u128, count_denied: bool) -> Verdict {
    let stamps = &mut key.stamps;
    let live = |stamps: &Vec<u128>| stamps.iter().filter(|stamp| **stamp + period_ns > now).count() as u128;
    let (mut allowed, mut wait, mut delay) = (true, Some(0), 0);
    let record = |stamps: &mut Vec<u128>, cost: u128, at| {
        // What has expired when something is recorded stays so, however far time steps back.
        stamps.retain(|stamp| *stamp + period_ns > now);
        stamps.extend((0..cost).map(|_| at));
        stamps.drain(..stamps.len().saturating_sub(limit as usize));
    };
    // Stamps never go back.
    let at = stamps.last().map_or(now, |newest| now.max(*newest));
    match call {
        Call::Check(n) | Call::Reserve(n, _) if n > 0 => {
            let cost = u128::from(n);
            let within = if let Call::Reserve(_, within) = call { Some(u128::from(within)) } else { None };
            allowed = live(stamps) + cost <= limit;
            if cost <= limit && (allowed || (count_denied && within.is_none())) {
                record(stamps, cost, at);
            }
            let last_to_go = |stamps: &Vec<u128>| stamps[stamps.len() + cost as usize - limit as usize - 1];
            let mut late = if allowed || cost > limit { 0 } else { last_to_go(stamps) + period_ns - now };
            if within.is_some() && late > 0 {
                // Reservations are due one after the other.
                late = late.max(at - now);
            }
            if let Some(within) = within.filter(|within| !allowed && cost <= limit && late <= *within) {
                (allowed, delay) = (true, late.min(within));
                record(stamps, cost, now + late);
            }
            wait = (cost <= limit).then(|| late.saturating_sub(within.unwrap_or(0)));
        }
        Call::Charge(n) if n > 0 => record(stamps, u128::from(n).min(limit), at),
        Call::Refund(n) => take_back(stamps, now, period_ns, n, None),
        _ => {}
    }
    Verdict {
        allowed,
        remaining: limit - live(stamps),
        retry_after_ns: wait.map(|wait| if allowed { 0 } else { wait }),
        reset_after_ns: stamps.last().map_or(0, |newest| (*newest + period_ns).saturating_sub(now)),
        delay_ns: delay,
    }
}
