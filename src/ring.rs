//! The ring: the stamps of one key's sliding log.
//!
//! A word names a ring; the ring's `head` is the key's state. Positions count admissions; each slot carries the parity
//! of its lap beside its stamp, so that a slot that was claimed but not written yet is told from the lap before.
//! A ring that is too small, or whose key is evicted, is closed for good and replaced.

#[cfg(not(loom))]
use std::alloc::dealloc;
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ptr::{self, NonNull};

use crate::algorithm::{Ask, Receipt, SlidingLog, Stamp, Step, Usage};
use crate::clock::Tick;
use crate::decision::Decision;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use crate::table::{Heap, Resident};

/// The head of a ring that takes no claims any more.
const CLOSED: u64 = 1 << 63;

/// What stands in front of the slots.
#[repr(C)]
struct Ring {
    /// The next position to claim, and [`CLOSED`].
    head: AtomicU64,
    /// The oldest position that had not expired at the newest claim, or an older one: where counting begins.
    tail: AtomicU64,
    /// The places that hold a word for this ring.
    places: AtomicU32,
    /// The number of slots.
    capacity: u32,
}

/// A count of claims as laps and an index, so that no division finds the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    lap: u32,
    idx: u32,
}

impl Position {
    /// Reads the word of a head or a tail.
    #[inline(always)]
    fn read(word: u64) -> Self {
        Self { lap: (word >> 32) as u32 & (u32::MAX >> 1), idx: word as u32 }
    }

    /// Writes the word; laps begin again after 2^31.
    #[inline(always)]
    fn word(self) -> u64 {
        u64::from(self.lap & (u32::MAX >> 1)) << 32 | u64::from(self.idx)
    }

    /// Returns the position `n` later in a ring of `capacity`, with `n` at most that.
    #[inline(always)]
    fn after(self, n: u32, capacity: u32) -> Self {
        let idx = u64::from(self.idx) + u64::from(n);
        if idx < u64::from(capacity) {
            Self { lap: self.lap, idx: idx as u32 }
        } else {
            Self { lap: self.lap.wrapping_add(1), idx: (idx - u64::from(capacity)) as u32 }
        }
    }

    /// Returns the position a lap earlier.
    #[inline(always)]
    fn lap_before(self) -> Self {
        Self { lap: self.lap.wrapping_sub(1), ..self }
    }

    /// Returns the position before this one in a ring of `capacity`.
    #[inline(always)]
    fn before_in(self, capacity: u32) -> Self {
        self.lap_before().after(capacity - 1, capacity)
    }

    /// Returns what a slot written at this position carries in its lowest bit.
    #[inline(always)]
    fn parity(self) -> u64 {
        u64::from(self.lap.wrapping_add(1) & 1)
    }

    /// Returns how many positions lie between this one and a later one, at most `capacity`.
    #[inline(always)]
    fn distance(self, later: Self, capacity: u32) -> u32 {
        match later.lap.wrapping_sub(self.lap) & (u32::MAX >> 1) {
            0 => later.idx.saturating_sub(self.idx),
            1 => (capacity - self.idx.min(capacity)).saturating_add(later.idx).min(capacity),
            _ => capacity,
        }
    }
}

/// A ring that a guard keeps alive.
#[derive(Clone, Copy)]
struct RingRef<'g> {
    ring: &'g Ring,
    start: NonNull<Ring>,
}

impl<'g> RingRef<'g> {
    /// The slots of a new ring.
    const SMALLEST: u32 = if cfg!(loom) { 1 } else { 4 };

    /// Returns the ring that a word names.
    ///
    /// # Safety
    ///
    /// The word is one of [`RingRef::word`], and the ring lives for `'g`.
    unsafe fn named(word: u64) -> Self {
        let start = ptr::with_exposed_provenance_mut::<Ring>(word as usize);
        // SAFETY: the caller says that the ring lives, so the pointer is not null.
        let start = unsafe { NonNull::new_unchecked(start) };
        #[cfg(loom)]
        crate::table::quarantine::assert_alive(start.as_ptr().addr());
        // SAFETY: the ring was initialised, is only shared, and lives for `'g`.
        Self { ring: unsafe { start.as_ref() }, start }
    }

    /// Allocates a ring that holds these stamps already; its one reference is the caller's.
    fn allocate(capacity: u32, stamps: &[Stamp], heap: &Heap) -> Self {
        let layout = layout(capacity);
        // SAFETY: the layout holds at least a header.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(memory.cast::<Ring>()) else { handle_alloc_error(layout) };
        heap.add_bytes(layout.size());
        let head = Position { lap: 0, idx: 0 }.after(stamps.len() as u32, capacity);
        // SAFETY: the memory is large enough, and nobody else has it.
        unsafe {
            start.write(Ring {
                head: AtomicU64::new(head.word()),
                tail: AtomicU64::new(0),
                places: AtomicU32::new(1),
                capacity,
            });
        }
        #[cfg(loom)]
        for idx in 0..capacity as usize {
            // SAFETY: the slot is inside the allocation.
            unsafe { start.add(1).cast::<AtomicU64>().add(idx).write(AtomicU64::new(0)) };
        }
        // SAFETY: the header was just written.
        let ring = Self { ring: unsafe { start.as_ref() }, start };
        let mut position = Position { lap: 0, idx: 0 };
        for stamp in stamps {
            ring.write(position, *stamp);
            position = position.after(1, capacity);
        }
        ring
    }

    /// Returns the word that names the ring.
    fn word(self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// Returns the slot of a position.
    #[inline(always)]
    fn slot(self, position: Position) -> &'g AtomicU64 {
        debug_assert!(position.idx < self.ring.capacity, "a position lies inside its ring");
        // SAFETY: the slots stand right behind the header, inside the allocation.
        let slots = unsafe { self.start.add(1) }.cast::<AtomicU64>();
        // SAFETY: positions wrap at the capacity, so the index is below it.
        let slot = unsafe { slots.add(position.idx as usize) };
        // SAFETY: every slot was initialised, is only shared, and lives as long as the ring.
        unsafe { slot.as_ref() }
    }

    /// Returns the stamp that was written at a position, `None` while its owner has yet to write it.
    #[inline(always)]
    fn read(self, position: Position) -> Option<Stamp> {
        // Acquire: pairs with the Release of `write`; together with the claim it keeps laps apart.
        let seen = self.slot(position).load(Ordering::Acquire);
        (seen & 1 == position.parity()).then_some(Stamp(seen >> 1))
    }

    /// Writes the stamp of a claimed position.
    #[inline(always)]
    fn write(self, position: Position, stamp: Stamp) {
        // Release: pairs with the Acquire of `read`.
        self.slot(position).store(stamp.0 << 1 | position.parity(), Ordering::Release);
    }

    /// Returns the position before another.
    #[inline(always)]
    fn before(self, position: Position) -> Position {
        position.before_in(self.ring.capacity)
    }

    /// Returns the head, and whether the ring is closed.
    #[inline(always)]
    fn head(self) -> (u64, bool) {
        // Acquire: pairs with the Release of `claim`: who sees the claim sees what was read before it.
        let head = self.ring.head.load(Ordering::Acquire);
        (head & !CLOSED, head & CLOSED != 0)
    }

    /// Tells whether the head still is what it was, so that what was read in between belongs together.
    #[inline]
    fn is_still(self, head: u64) -> bool {
        // Acquire: orders the reads of slots before the read of the head below.
        fence(Ordering::Acquire);
        // Relaxed: the fence above orders it.
        self.ring.head.load(Ordering::Relaxed) == head
    }

    /// Counts the stamps after `edge`, the last of which is `newest`; a claimed slot that is not written yet counts.
    /// What had expired at a claim stays so, however far time steps back: counting begins at the tail.
    #[inline(always)]
    fn count_fresh(self, head: Position, edge: Stamp, newest: Stamp) -> u32 {
        if newest <= edge {
            return 0;
        }
        let (first, count) = self.since_tail(head);
        count - self.count_expired(first, count, edge)
    }

    /// Returns the position of the tail, and how many there are from it to the head.
    #[inline(always)]
    fn since_tail(self, head: Position) -> (Position, u32) {
        let capacity = self.ring.capacity;
        // Acquire: pairs with the Release of `claim`: who sees the tail sees the stamp that made it so.
        let count = Position::read(self.ring.tail.load(Ordering::Acquire)).distance(head, capacity);
        (head.lap_before().after(capacity - count, capacity), count)
    }

    /// Counts how many of `count` stamps from a position on are at or before `edge`: those come first.
    #[inline(always)]
    fn count_expired(self, first: Position, count: u32, edge: Stamp) -> u32 {
        let is_expired = |n: u32| self.read(first.after(n, self.ring.capacity)).is_some_and(|stamp| stamp <= edge);
        if count == 0 || !is_expired(0) { 0 } else { partition_point(count, is_expired) }
    }

    /// Tells whether the `n` oldest slots are written and, if `edge` is given, at or before it; those before the tail had
    /// expired at an earlier claim.
    #[inline(always)]
    fn can_take(self, head: Position, n: u32, edge: Option<Stamp>) -> bool {
        let capacity = self.ring.capacity;
        let oldest = head.lap_before();
        let is_forgotten = |j| j < capacity - self.since_tail(head).1;
        (0..n).all(|j| {
            let stamp = self.read(oldest.after(j, capacity));
            stamp.is_some_and(|stamp| edge.is_none_or(|edge| stamp <= edge || is_forgotten(j)))
        })
    }

    /// Claims `n` positions from `head` on, if nobody was faster, and stamps them; `fresh` count from then on.
    #[inline(always)]
    fn claim(self, head: u64, n: u32, stamp: Stamp, fresh: u32) -> bool {
        let capacity = self.ring.capacity;
        let first = Position::read(head);
        let next = first.after(n, capacity).word();
        // AcqRel: Release keeps the reads of the oldest stamps before the claim, Acquire the writes of the new ones
        // after it; both pair with the Acquire of `head`. Relaxed on failure: read again.
        let claimed = self.ring.head.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if claimed {
            (0..n).for_each(|j| self.write(first.after(j, capacity), stamp));
            let tail = Position::read(next).lap_before().after(capacity - fresh, capacity).word();
            // Release: pairs with the Acquire of `count_fresh`. An older tail from another thread does no harm: counting
            // only begins earlier then.
            self.ring.tail.store(tail, Ordering::Release);
        }
        claimed
    }

    /// Closes the ring if its head still is `head`; tells whether it is closed.
    fn close(self, head: u64) -> bool {
        // AcqRel: as in `claim`. Acquire on failure: as in `head`.
        match self.ring.head.compare_exchange(head, head | CLOSED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(seen) => seen & CLOSED != 0,
        }
    }

    /// Returns the stamps of this closed ring from its tail on, oldest first.
    fn stamps(self, head: Position, now: Stamp) -> Vec<Stamp> {
        let (tail, count) = self.since_tail(head);
        let mut newest = Stamp::NEVER;
        let mut stamps = Vec::with_capacity(count as usize);
        for j in 0..count {
            // A slot that its owner has yet to write is fresh: take it as written now.
            newest = newest.max(self.read(tail.after(j, self.ring.capacity)).unwrap_or(now));
            stamps.push(newest);
        }
        stamps
    }

    /// Makes a ring of these stamps with room for `n` more, up to `limit` in all.
    fn holding(stamps: &[Stamp], n: u32, limit: u32, heap: &Heap) -> Self {
        let wanted = (stamps.len() as u32).saturating_add(n).next_power_of_two().max(Self::SMALLEST);
        Self::allocate(wanted.min(limit).max(stamps.len() as u32), stamps, heap)
    }
}

/// Returns the first number below `count` for which `is_before` is false; it is true for 0. Short runs cost least.
#[inline(never)]
fn partition_point(count: u32, is_before: impl Fn(u32) -> bool) -> u32 {
    // Below `low` all are true. Steps of 1, 2, 4 ... find an end, halving the place in between.
    let (mut low, mut step) = (1, 1);
    while count - low >= step && is_before(low + step - 1) {
        low += step;
        step = step.saturating_mul(2);
    }
    let mut high = count.min(low.saturating_add(step - 1));
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the layout of a ring.
fn layout(capacity: u32) -> Layout {
    let size = size_of::<Ring>() + size_of::<AtomicU64>() * capacity as usize;
    Layout::from_size_align(size, align_of::<Ring>()).expect("a ring is smaller than the address space")
}

/// Frees a ring.
///
/// # Safety
///
/// `object` came from [`RingRef::word`], and nobody can reach the ring.
unsafe fn free(object: *mut (), _heap: &Heap) {
    let start = object.cast::<Ring>();
    // SAFETY: the caller hands over the only pointer to an initialised ring.
    #[cfg(not(loom))]
    let capacity = unsafe { (*start).capacity };
    #[cfg(loom)]
    crate::table::quarantine::free(start.addr());
    // SAFETY: `allocate` used the same layout.
    #[cfg(not(loom))]
    unsafe {
        dealloc(start.cast(), layout(capacity));
    };
}

/// What a step of a log finds out.
#[derive(Clone, Copy, Debug)]
pub struct LogVerdict {
    decision: Decision,
    /// The stamp that was written, if any was.
    stamp: Stamp,
}

/// What came of asking an open ring.
enum Outcome {
    /// The verdict holds.
    Decided(LogVerdict),
    /// Somebody else claimed in between.
    Raced,
    /// There is room under the limit but not in the ring.
    TooSmall,
}

impl SlidingLog {
    /// Asks an open ring for a place: to spend, to charge or to reserve.
    #[inline(always)]
    fn try_spend(&self, ring: RingRef<'_>, head: u64, now: Tick, ask: Ask) -> Outcome {
        let (cost, is_recorded) = match ask {
            Ask::Charge(cost) => (cost.min(u64::from(self.limit)), true),
            Ask::Spend(cost) => (cost, self.count_denied),
            Ask::Reserve(cost, _) => (cost, false),
            Ask::Refund(_) | Ask::Cancel(_) => (0, false),
        };
        let position = Position::read(head);
        let stamp = self.present(ring, position, now);
        let edge = self.edge(now);
        let newest = ring.read(ring.before(position)).unwrap_or(stamp);
        let fresh = ring.count_fresh(position, edge, newest);
        let usage = Usage { fresh, newest: if fresh == 0 { Stamp::NEVER } else { newest } };
        let still = |decision| {
            if ring.is_still(head) { Outcome::Decided(LogVerdict { decision, stamp }) } else { Outcome::Raced }
        };
        let n = match u32::try_from(cost) {
            Ok(0) => return still(self.outcome(true, usage, now, 0)),
            Ok(n) if n <= self.limit => n,
            _ => return still(self.outcome(false, usage, now, Decision::NEVER)),
        };
        let wanted = u64::from(fresh) + u64::from(n);
        let fits = wanted <= u64::from(self.limit);
        if !fits && !is_recorded {
            let wait_ns = self.wait_ns(ring, position, usage, n, now);
            return match ask {
                Ask::Reserve(_, within_ns) => match self.due(now, wait_ns).map(|due| due.max(newest)) {
                    Some(due) => match due.after_ns(now).checked_sub(within_ns) {
                        None | Some(0) => self.try_book(ring, head, now, n, due),
                        Some(wait_ns) => still(self.outcome(false, usage, now, wait_ns)),
                    },
                    None => still(self.outcome(false, usage, now, Decision::NEVER - 1)),
                },
                _ => still(self.outcome(false, usage, now, wait_ns)),
            };
        }
        let capacity = ring.ring.capacity;
        if capacity < self.limit && wanted > u64::from(capacity) {
            return Outcome::TooSmall;
        }
        if !ring.can_take(position, n, fits.then_some(edge)) {
            // The owner of one of these slots stands between its claim and its stamp.
            let usage = Usage { fresh: self.limit, ..usage };
            return still(self.outcome(false, usage, now, self.wait_ns(ring, position, usage, n, now)));
        }
        let after = Usage { fresh: wanted.min(u64::from(self.limit)) as u32, newest: stamp };
        if !ring.claim(head, n, stamp, after.fresh) {
            return Outcome::Raced;
        }
        let is_allowed = fits || matches!(ask, Ask::Charge(_));
        let wait_ns = if is_allowed { 0 } else { self.wait_ns(ring, position.after(n, capacity), after, n, now) };
        Outcome::Decided(LogVerdict { decision: self.outcome(is_allowed, after, now, wait_ns), stamp })
    }

    /// Returns the stamp of a moment so much later, if ticks go on for so long.
    fn due(&self, now: Tick, wait_ns: u64) -> Option<Stamp> {
        let due_ns = now.as_nanos().saturating_add(wait_ns);
        (due_ns < Tick::MAX.as_nanos()).then(|| Stamp::at(Tick::from_nanos(due_ns)))
    }

    /// Asks an open ring for a place at a later moment, at which `n` more fit.
    fn try_book(&self, ring: RingRef<'_>, head: u64, now: Tick, n: u32, due: Stamp) -> Outcome {
        let (position, capacity) = (Position::read(head), ring.ring.capacity);
        let edge = self.edge(due.tick());
        let newest = ring.read(ring.before(position)).unwrap_or(due);
        let fresh = ring.count_fresh(position, edge, newest).saturating_add(n);
        // Until it is due all that counts now stays, as much as the limit.
        if capacity < self.limit {
            return Outcome::TooSmall;
        }
        let usage = Usage { fresh: self.limit, newest: due };
        if fresh > self.limit || !ring.can_take(position, n, Some(edge)) {
            // The owner of one of these slots stands between its claim and its stamp.
            let decision = self.outcome(false, usage, now, self.expires_after_ns(due, now).max(1));
            return if ring.is_still(head) {
                Outcome::Decided(LogVerdict { decision, stamp: due })
            } else {
                Outcome::Raced
            };
        }
        // Who comes before it is due counts all there is.
        if !ring.claim(head, n, due, capacity) {
            return Outcome::Raced;
        }
        Outcome::Decided(LogVerdict { decision: self.outcome(true, usage, now, due.after_ns(now)), stamp: due })
    }

    /// Gives back: replaces the ring by one without the stamps that are given back.
    ///
    /// A stamp that lies ahead took the place of one a period before it, which may still count: that one comes back.
    #[inline(never)]
    fn give_back(&self, ring: RingRef<'_>, now: Tick, ask: Ask, heap: &Heap) -> Step<LogVerdict> {
        let present = Stamp::at(now);
        let edge = self.edge(now);
        let (head, is_closed) = ring.head();
        if !is_closed {
            let newest = ring.read(ring.before(Position::read(head)));
            if newest.is_some_and(|newest| newest <= edge) && ring.is_still(head) {
                return Step::Keep(self.holding(&[], now));
            }
            if !ring.close(head) {
                return self.give_back(ring, now, ask, heap);
            }
        }
        let position = Position::read(ring.head().0);
        let mut stamps = ring.stamps(position, present);
        let (wanted, only) = match ask {
            Ask::Cancel(Receipt { cost, after, .. }) => (cost, Some(Stamp(after))),
            Ask::Refund(cost) => (cost, None),
            Ask::Spend(_) | Ask::Charge(_) | Ask::Reserve(..) => (0, None),
        };
        let end = only.map_or(stamps.len(), |only| stamps.partition_point(|stamp| *stamp <= only));
        let begin = only.map_or(edge, |only| edge.max(Stamp(only.0.saturating_sub(1))));
        let begin = stamps.partition_point(|stamp| *stamp <= begin).min(end);
        let begin = begin.max(end.saturating_sub(usize::try_from(wanted).unwrap_or(usize::MAX)));
        let displaced = stamps.drain(begin..end).map(|stamp| Stamp(stamp.0.saturating_sub(self.period_ns)));
        let displaced: Vec<Stamp> = displaced.filter(|stamp| *stamp > edge).collect();
        stamps.extend(displaced);
        stamps.sort_unstable();
        Step::Set(RingRef::holding(&stamps, 0, self.limit, heap).word(), self.holding(&stamps, now))
    }

    /// Returns the verdict of a look at a log with these stamps.
    fn holding(&self, stamps: &[Stamp], now: Tick) -> LogVerdict {
        let newest = stamps.last().copied().unwrap_or(Stamp::NEVER);
        let edge = self.edge(now);
        let fresh = stamps.iter().filter(|stamp| **stamp > edge).count() as u32;
        let usage = Usage { fresh, newest: if fresh == 0 { Stamp::NEVER } else { newest } };
        LogVerdict { decision: self.outcome(true, usage, now, 0), stamp: Stamp::NEVER }
    }

    /// Returns the stamp of a request at `now`: time that goes backwards counts as no time.
    #[inline(always)]
    fn present(&self, ring: RingRef<'_>, head: Position, now: Tick) -> Stamp {
        Stamp::at(now).max(ring.read(ring.before(head)).unwrap_or(Stamp::NEVER))
    }

    /// Returns the time until so many stamps have expired that `n` more fit.
    fn wait_ns(&self, ring: RingRef<'_>, head: Position, usage: Usage, n: u32, now: Tick) -> u64 {
        let capacity = ring.ring.capacity;
        let fresh = usage.fresh.min(capacity);
        let excess = (u64::from(fresh) + u64::from(n)).saturating_sub(u64::from(self.limit)).max(1) as u32;
        let decisive = head.lap_before().after(capacity - fresh + excess - 1, capacity);
        self.expires_after_ns(ring.read(decisive).unwrap_or(usage.newest), now).max(1)
    }

    /// Returns how many places it takes: none for what can never pass.
    fn room_for(&self, ask: Ask) -> u32 {
        match ask {
            Ask::Spend(cost) | Ask::Reserve(cost, _) => {
                u32::try_from(cost).ok().filter(|n| *n <= self.limit).unwrap_or(0)
            }
            Ask::Charge(cost) => u32::try_from(cost).unwrap_or(u32::MAX).min(self.limit),
            Ask::Refund(_) | Ask::Cancel(_) => 0,
        }
    }

    /// Tells whether every stamp of a ring had expired at `now`.
    fn has_expired(&self, ring: RingRef<'_>, head: u64, now: Tick) -> bool {
        let newest = ring.read(ring.before(Position::read(head)));
        newest.is_some_and(|newest| newest <= self.edge(now))
    }
}

// SAFETY: each place that holds a ring's word is counted in the ring, and the last one to give it up retires it.
unsafe impl Resident for SlidingLog {
    type Verdict = LogVerdict;

    const OWNS_MEMORY: bool = true;

    #[inline]
    unsafe fn step(&self, word: u64, now: Tick, ask: Ask, heap: &Heap) -> Step<LogVerdict> {
        if word == 0 {
            return self.unspent(now, ask).map_or_else(
                || {
                    let room = self.room_for(ask).next_power_of_two().max(RingRef::SMALLEST);
                    Step::Swap(RingRef::allocate(room.min(self.limit), &[], heap).word())
                },
                Step::Keep,
            );
        }
        // SAFETY: the caller's guard keeps the ring that the word names.
        let ring = unsafe { RingRef::named(word) };
        if matches!(ask, Ask::Refund(1..) | Ask::Cancel(_)) {
            return self.give_back(ring, now, ask, heap);
        }
        loop {
            let (head, is_closed) = ring.head();
            if is_closed {
                let position = Position::read(head);
                let stamps = ring.stamps(position, Stamp::at(now));
                return Step::Swap(RingRef::holding(&stamps, self.room_for(ask), self.limit, heap).word());
            }
            match self.try_spend(ring, head, now, ask) {
                Outcome::Decided(verdict) => return Step::Keep(verdict),
                Outcome::Raced => {}
                Outcome::TooSmall => {
                    ring.close(head);
                }
            }
        }
    }

    fn unspent(&self, now: Tick, ask: Ask) -> Option<LogVerdict> {
        let unused = Usage { fresh: 0, newest: Stamp::NEVER };
        let (allowed, wait_ns) = match ask {
            Ask::Spend(1..) | Ask::Reserve(1.., _) | Ask::Charge(1..) if self.room_for(ask) > 0 => return None,
            Ask::Spend(1..) | Ask::Reserve(1.., _) => (false, Decision::NEVER),
            _ => (true, 0),
        };
        Some(LogVerdict { decision: self.outcome(allowed, unused, now, wait_ns), stamp: Stamp::NEVER })
    }

    fn blocked(&self, wait_ns: u64) -> LogVerdict {
        let used = Usage { fresh: self.limit, newest: Stamp::NEVER };
        let decision = Decision { reset_after_ns: wait_ns, ..self.outcome(false, used, Tick::ZERO, wait_ns) };
        LogVerdict { decision, stamp: Stamp::NEVER }
    }

    #[inline(always)]
    fn decision(&self, verdict: LogVerdict) -> Decision {
        verdict.decision
    }

    fn receipt(&self, verdict: LogVerdict, cost: u64) -> Receipt {
        Receipt { cost, before: 0, after: verdict.stamp.0 }
    }

    fn convert(&self, word: u64, _now: Tick, _from: &Self) -> u64 {
        // The stamps are the same, whatever counts them.
        word
    }

    unsafe fn is_idle(&self, word: u64, now: Tick) -> bool {
        // SAFETY: the caller's guard keeps the ring that the word names.
        let ring = unsafe { RingRef::named(word) };
        self.has_expired(ring, ring.head().0, now)
    }

    unsafe fn evict(&self, word: u64, now: Tick) -> bool {
        // SAFETY: the caller's guard keeps the ring that the word names.
        let ring = unsafe { RingRef::named(word) };
        loop {
            let (head, is_closed) = ring.head();
            if !self.has_expired(ring, head, now) {
                return false;
            }
            // A closed ring with nothing fresh in it says the same as no ring, to whoever still meets it.
            if is_closed || ring.close(head) {
                return true;
            }
        }
    }

    unsafe fn retain(word: u64) {
        // SAFETY: the caller's guard keeps the ring that the word names.
        let ring = unsafe { RingRef::named(word) };
        // Relaxed: a reference is only made from a place that holds one.
        ring.ring.places.fetch_add(1, Ordering::Relaxed);
    }

    unsafe fn release(word: u64, heap: &Heap) {
        // SAFETY: the reference that is given up keeps the ring.
        let ring = unsafe { RingRef::named(word) };
        let bytes = layout(ring.ring.capacity).size();
        // AcqRel: the last one to give up its reference retires the ring after all others are done with theirs.
        if ring.ring.places.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: no place holds the word any more; the allocation was counted with these bytes.
            unsafe { heap.retire(ring.start.as_ptr().cast(), bytes, free) };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn positions_count_across_laps() {
        let capacity = 5;
        let mut position = Position { lap: 0, idx: 0 };
        for n in 0..23u32 {
            assert_eq!((position.lap, position.idx), (n / capacity, n % capacity));
            let later = position.after(3, capacity);
            assert_eq!(position.distance(later, capacity), 3);
            assert_eq!(later.before_in(capacity), position.after(2, capacity));
            assert_eq!(position.lap_before().after(capacity, capacity), position);
            assert_eq!(Position::read(position.word()), position);
            position = position.after(1, capacity);
        }
        assert_eq!(Position { lap: 0, idx: 0 }.distance(position, capacity), capacity);
        let last = Position { lap: u32::MAX >> 1, idx: 4 };
        let first = Position::read(last.after(1, capacity).word());
        assert_eq!((first.lap, first.idx), (0, 0), "laps begin again");
        assert_eq!(last.distance(first, capacity), 1);
        assert_ne!(last.parity(), first.parity());
    }

    #[test]
    fn partition_points_are_found_at_every_distance() {
        for count in 1..70 {
            for point in 1..=count {
                assert_eq!(partition_point(count, |n| n < point), point, "{point} of {count}");
            }
        }
        assert_eq!(partition_point(u32::MAX, |n| n < u32::MAX - 1), u32::MAX - 1);
    }
}
