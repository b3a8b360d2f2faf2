//! The table: a lock-free map from the identity of a key to its word.
//!
//! A directory of segments, chosen by the top bits of the identity; those below choose a line in it. Growing,
//! shrinking and evicting are one thing: moving to another segment (`migrate`). `docs/design.md` tells the protocol.

mod cell;
mod migrate;
#[cfg(loom)]
pub(crate) mod model;
#[cfg(loom)]
pub(crate) mod quarantine;
mod reclaim;
mod resident;
mod segment;
mod versions;
mod word;

pub(crate) use self::cell::Cell;
pub(crate) use self::reclaim::{Guard, Heap, enter};
pub(crate) use self::resident::{Answer, Resident};

use std::fmt;
use std::ptr;

use crossbeam_utils::CachePadded;

use crate::algorithm::Ask;
use crate::clock::Tick;
use crate::decision::Decision;
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::table::segment::{Claim, FROZEN, Found, Line, SEGMENT_BITS, Segment};
use crate::table::versions::Versions;

/// What a new key gets when the table holds as many keys as it may, and no idle one can be evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// It is denied, and told to come back in a second.
    Deny,
    /// It is allowed, and nothing is counted for it.
    Allow,
    /// All such keys together are treated as one key.
    #[default]
    Share,
}

/// The segments of a table.
pub(crate) const SEGMENTS: usize = 1 << SEGMENT_BITS;

/// A map from identities to the words of one algorithm.
#[derive(Debug)]
pub(crate) struct Table<A: Resident> {
    /// How words are counted, and the word of all keys that found no room.
    versions: Versions<A>,
    directory: [AtomicPtr<Line>; SEGMENTS],
    /// How many identities stand in the table, or are about to.
    keys: CachePadded<AtomicU64>,
    evicted: AtomicU64,
    overflowed: AtomicU64,
    /// The segment in which room is made next for keys of others.
    next_victim: AtomicUsize,
    /// Until when nobody looks for room again.
    full_until_ns: AtomicU64,
    max_keys: u64,
    overflow: Overflow,
    /// Dropped last: it frees what the rest retires.
    heap: Heap,
}

impl<A: Resident> Table<A> {
    /// How long a key is left in the table after it became idle, for threads whose reading of the clock is older.
    const MARGIN: std::time::Duration = std::time::Duration::from_secs(1);
    /// What a denied key that found no room is told to wait.
    const OVERFLOW_RETRY_NS: u64 = 1_000_000_000;

    /// Makes an empty table.
    pub(crate) fn new(algorithm: A, max_keys: u64, overflow: Overflow) -> Self {
        Self {
            versions: Versions::new(algorithm),
            directory: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            keys: CachePadded::new(AtomicU64::new(0)),
            evicted: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            next_victim: AtomicUsize::new(0),
            full_until_ns: AtomicU64::new(0),
            max_keys,
            overflow,
            heap: Heap::new(),
        }
    }

    /// Decides about one check of the key with this identity.
    #[inline(always)]
    pub(crate) fn check(&self, guard: &Guard, id: u64, now: Tick, cost: u64) -> Decision {
        let ask = Ask::Spend(cost);
        // Each spells out its own answer: what the caller does not look at need not be worked out then.
        match self.apply_here(guard, id, now, ask) {
            Some(answer) => answer.decision(),
            None => self.apply_elsewhere(guard, id, now, ask).decision(),
        }
    }

    /// Does what is asked of the key with this identity.
    pub(crate) fn apply<'g>(&'g self, guard: &'g Guard, id: u64, now: Tick, ask: Ask) -> Answer<'g, A> {
        match self.apply_here(guard, id, now, ask) {
            Some(answer) => answer,
            None => self.apply_elsewhere(guard, id, now, ask),
        }
    }

    /// Does what is asked if the key has a word in the directory's segment, and one that is not on the move.
    #[inline(always)]
    fn apply_here<'g>(&'g self, guard: &'g Guard, id: u64, now: Tick, ask: Ask) -> Option<Answer<'g, A>> {
        // No closure holds the charge: as a function of its own it would cost more than the rest.
        match self.current(guard, Self::index(id)).map(|segment| (segment, segment.find(id))) {
            Some((segment, Found::Here(word))) => self.charge(guard, segment, word, now, ask),
            _ => None,
        }
    }

    /// Returns the algorithm.
    #[inline(always)]
    pub(crate) fn algorithm<'g>(&'g self, guard: &'g Guard) -> &'g A {
        self.versions.algorithm(guard, self.versions.current())
    }

    /// Begins to fetch the line in which an identity is looked for first.
    #[inline(always)]
    pub(crate) fn prefetch(&self, guard: &Guard, id: u64) {
        if let Some(segment) = self.current(guard, Self::index(id)) {
            segment.prefetch(id);
        }
    }

    /// Does what is asked of a key that has no word yet, or whose word is on the move.
    #[cold]
    #[inline(never)]
    fn apply_elsewhere<'g>(&'g self, guard: &'g Guard, id: u64, now: Tick, ask: Ask) -> Answer<'g, A> {
        let index = Self::index(id);
        let mut segment = self.current_or_first(guard, index);
        let mut may_evict = true;
        loop {
            match segment.find(id) {
                Found::Here(word) => {
                    if let Some(answer) = self.charge(guard, segment, word, now, ask) {
                        return answer;
                    }
                    let next = self.successor(guard, index, segment, now);
                    // Acquire: pairs with the Release by which the word came to name what it names.
                    let word = word.load(Ordering::Acquire) & !FROZEN;
                    self.carry(guard, id, word, segment, next, now);
                    segment = next;
                }
                Found::Sealed => segment = self.successor(guard, index, segment, now),
                Found::Absent if segment.used().is_closed() => {
                    // Whoever was granted a slot before the close must not insert this key behind our back.
                    if segment.seal(id).is_none() {
                        segment = self.successor(guard, index, segment, now);
                    }
                }
                Found::Absent => {
                    let algorithm = self.versions.algorithm(guard, segment.version());
                    if let Some(verdict) = algorithm.unspent(now, ask) {
                        return Answer { verdict, algorithm };
                    }
                    if !self.insert(guard, index, segment, id, now) {
                        if !may_evict || !self.make_room(guard, index, now) {
                            return self.apply_overflowed(guard, segment.version(), now, ask);
                        }
                        may_evict = false;
                    }
                }
            }
        }
    }

    /// Steps on a word of a segment until the step holds; `None` if the word is frozen.
    #[inline(always)]
    fn charge<'g>(
        &'g self,
        guard: &'g Guard,
        segment: Segment<'g>,
        word: &AtomicU64,
        now: Tick,
        ask: Ask,
    ) -> Option<Answer<'g, A>> {
        // SAFETY: the table's words are of their segment's version, and charged with the table's heap.
        unsafe { self.versions.charge(guard, &self.heap, segment.version(), word, now, ask) }
    }

    /// Tries to give the key a slot in the segment, or changes what stands in the way; `false` if there are too many
    /// keys.
    fn insert(&self, guard: &Guard, index: usize, segment: Segment<'_>, id: u64, now: Tick) -> bool {
        if !segment.used().is_settled() {
            self.help(guard, index, now);
        }
        match segment.claim_fresh() {
            Claim::Granted => {}
            Claim::Closed => return true,
            Claim::Full => {
                if segment.used().is_settled() {
                    self.successor(guard, index, segment, now);
                } else {
                    self.finish(guard, index, now);
                }
                return true;
            }
        }
        // Relaxed, here and below: the count publishes nothing; it only has to be exact. It is raised before the key
        // stands in the table, so that no key is ever over the bound.
        let has_room = self.keys.fetch_add(1, Ordering::Relaxed) < self.max_keys;
        if !has_room || !segment.insert(id).is_some_and(|(_, is_new)| is_new) {
            segment.unclaim_fresh();
            self.keys.fetch_sub(1, Ordering::Relaxed);
        }
        has_room
    }

    /// Does what is asked of a key for which there is no room.
    fn apply_overflowed<'g>(&'g self, guard: &'g Guard, version: usize, now: Tick, ask: Ask) -> Answer<'g, A> {
        // Relaxed: a statistic.
        self.overflowed.fetch_add(1, Ordering::Relaxed);
        let algorithm = self.versions.algorithm(guard, version);
        let shared = |ask| self.versions.apply(guard, &self.heap, version, now, ask);
        match self.overflow {
            Overflow::Share => shared(ask),
            Overflow::Allow => match algorithm.unspent(now, Ask::Spend(0)) {
                Some(verdict) => Answer { verdict, algorithm },
                None => shared(Ask::Spend(0)),
            },
            Overflow::Deny => Answer { verdict: algorithm.blocked(Self::OVERFLOW_RETRY_NS), algorithm },
        }
    }

    /// Returns the place in the directory for an identity.
    #[inline(always)]
    fn index(id: u64) -> usize {
        id.unbounded_shr(64 - SEGMENT_BITS) as usize
    }

    /// Returns the segment that stands in the directory.
    #[inline(always)]
    fn current<'g>(&'g self, _guard: &'g Guard, index: usize) -> Option<Segment<'g>> {
        // Acquire: pairs with the Release of the exchanges that put a segment there.
        let tagged = self.directory[index].load(Ordering::Acquire);
        // SAFETY: a segment is retired after it left the directory, and the guard keeps it from being freed.
        unsafe { Segment::from_tagged(tagged) }
    }

    /// Returns the segment that stands in the directory, which becomes a new one if there is none.
    fn current_or_first<'g>(&'g self, guard: &'g Guard, index: usize) -> Segment<'g> {
        if let Some(segment) = self.current(guard, index) {
            return segment;
        }
        let first = Segment::allocate(Segment::SMALLEST, None, self.versions.current(), &self.heap);
        // Release: publishes the segment. Acquire on failure: pairs with it.
        let placed =
            self.directory[index].compare_exchange(ptr::null_mut(), first.tag(), Ordering::Release, Ordering::Acquire);
        match placed {
            Ok(_) => first,
            Err(winner) => {
                self.free_unseen(first);
                // SAFETY: as in `current`; a failed exchange found a segment.
                unsafe { Segment::from_tagged(winner) }.expect("a directory never goes back to null")
            }
        }
    }

    /// Frees a segment that was never published.
    fn free_unseen(&self, segment: Segment<'_>) {
        // SAFETY: nobody else ever saw it; it is freed through the list like all others.
        unsafe { self.heap.retire(segment.tag().cast(), segment.byte_count(), Segment::free::<A>) };
    }

    /// Returns the tick at which a key must have been idle to be evicted at `now`.
    fn horizon(now: Tick) -> Tick {
        now - Self::MARGIN
    }

    /// Returns how many keys the table holds.
    pub(crate) fn key_count(&self) -> u64 {
        // Relaxed: a statistic.
        self.keys.load(Ordering::Relaxed).min(self.max_keys)
    }

    /// Returns how many keys were evicted.
    pub(crate) fn evicted(&self) -> u64 {
        // Relaxed: a statistic.
        self.evicted.load(Ordering::Relaxed)
    }

    /// Returns how many checks found no room for their key.
    pub(crate) fn overflowed(&self) -> u64 {
        // Relaxed: a statistic.
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Returns the bytes allocated for segments, and for what the words name.
    pub(crate) fn bytes(&self) -> usize {
        self.heap.bytes()
    }

    /// Frees what was retired and can no longer be held.
    pub(crate) fn collect(&self) {
        self.heap.collect();
    }
}

impl<A: Resident> Drop for Table<A> {
    fn drop(&mut self) {
        self.versions.release(&self.heap);
        for entry in &self.directory {
            // Relaxed: nobody else has the table any more.
            let mut tagged = entry.load(Ordering::Relaxed);
            // SAFETY: a table being dropped has no readers, so every segment it reaches lives.
            while let Some(segment) = unsafe { Segment::from_tagged(tagged) } {
                tagged = segment.next().map_or(ptr::null_mut(), Segment::tag);
                self.free_unseen(segment);
            }
        }
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deny => "deny",
            Self::Allow => "allow",
            Self::Share => "share",
        })
    }
}
