//! Moving a segment: how a table grows, shrinks and evicts while it is used.

use std::time::Duration;

use crate::clock::Tick;
use crate::sync::Ordering;
use crate::table::reclaim::{Guard, enter};
use crate::table::resident::Resident;
use crate::table::segment::{Claim, EMPTY, FROZEN, Found, Line, SEALED, SLOTS, Segment, seal_slot};
use crate::table::{SEGMENTS, Table, word};

/// The lines that one insert moves on the way.
const CHUNK: usize = 8;
/// The lines that a key without room moves to make some.
const ROOM: usize = 1024;
/// How long nobody looks for room again when all segments were looked at in vain.
const FULL_FOR: Duration = Duration::from_millis(10);
/// The lines that are looked at to guess how many keys of a segment are idle.
const SAMPLE: usize = 64;
/// The lines that are looked at to tell whether a segment has idle keys enough to be worth a move.
const GLANCE: usize = 16;
/// The lines of a segment that is moved for one idle key if there is no other room: a kilobyte.
const SMALL: usize = 16;

/// How many identities some lines hold, and how many of them are idle.
#[derive(Clone, Copy, Debug, Default)]
struct Census {
    used: u64,
    idle: u64,
}

impl<A: Resident> Table<A> {
    /// Returns the segment that takes over from one that is full or closed, and begins the move if nobody has.
    pub(super) fn successor<'g>(
        &'g self,
        guard: &'g Guard,
        index: usize,
        segment: Segment<'g>,
        now: Tick,
    ) -> Segment<'g> {
        if let Some(next) = segment.next() {
            return next;
        }
        while !segment.close() {
            self.finish(guard, index, now);
        }
        // Only the directory's own segment is ever replaced: one move at a time.
        if let Some(before) = self.current(guard, index)
            && before.next().is_some_and(|next| next.tag() == segment.tag())
        {
            self.swap_directory(index, before, segment);
        }
        let occupied = segment.occupied();
        let census = self.census(guard, segment, now, SAMPLE);
        let live = (occupied * (census.used - census.idle)).div_ceil(census.used.max(1));
        // Read after the segment was met: what follows a segment of the current version is of that version.
        let version = self.versions.current();
        let candidate = Segment::allocate(Segment::fitting(live, occupied), Some(occupied), version, &self.heap);
        let (next, is_ours) = segment.publish_next(candidate);
        if !is_ours {
            self.free_unseen(candidate);
        }
        next
    }

    /// Counts identities and idle keys in up to `most` lines, spread over the segment.
    fn census(&self, guard: &Guard, segment: Segment<'_>, now: Tick, most: usize) -> Census {
        let algorithm = self.versions.algorithm(guard, segment.version());
        let horizon = Self::horizon(now);
        let stride = (segment.line_count() / most).max(1);
        let mut census = Census::default();
        for idx in (0..segment.line_count()).step_by(stride) {
            let Line { ids, words } = segment.line(idx);
            for (id, word) in ids.iter().zip(words) {
                // Relaxed: a look; the word below is valid whatever the identity.
                if matches!(id.load(Ordering::Relaxed), EMPTY | SEALED) {
                    continue;
                }
                // Acquire: pairs with the Release by which the word came to name what it names.
                let value = word.load(Ordering::Acquire) & !FROZEN;
                census.used += 1;
                // SAFETY: the word was read under the guard, from this table.
                census.idle += u64::from(value == 0 || unsafe { algorithm.is_idle(value, horizon) });
            }
        }
        census
    }

    /// Moves a few lines of the segment in the directory, if it is being replaced.
    pub(super) fn help(&self, guard: &Guard, index: usize, now: Tick) {
        self.help_with(guard, index, now, CHUNK);
    }

    /// Moves up to `count` lines of the segment in the directory; returns how many it took.
    fn help_with(&self, guard: &Guard, index: usize, now: Tick, count: usize) -> usize {
        let Some(old) = self.current(guard, index) else { return 0 };
        let Some(next) = old.next() else { return 0 };
        let lines = old.claim_lines(count);
        let taken = lines.len();
        if taken > 0 {
            let ids = self.move_lines(guard, old, next, lines, now);
            if let Some(ids) = old.report_moved(taken, ids) {
                self.complete(index, old, next, ids);
            }
        }
        taken
    }

    /// Finishes the move of the segment in the directory, without waiting for anybody.
    pub(super) fn finish(&self, guard: &Guard, index: usize, now: Tick) {
        let Some(old) = self.current(guard, index) else { return };
        let Some(next) = old.next() else { return };
        // Fewer lines than asked for were the last.
        while self.help_with(guard, index, now, CHUNK * 8) == CHUNK * 8 {}
        if !next.used().is_settled() {
            // Others are not done with lines they took: moving a line twice does no harm.
            let ids = self.move_lines(guard, old, next, 0..old.line_count(), now);
            self.complete(index, old, next, ids);
        }
        self.swap_directory(index, old, next);
    }

    /// Moves lines: seals unused slots, freezes words, and carries over those that are not idle. Returns the
    /// identities it met.
    fn move_lines(
        &self,
        guard: &Guard,
        old: Segment<'_>,
        next: Segment<'_>,
        lines: std::ops::Range<usize>,
        now: Tick,
    ) -> u64 {
        let algorithm = self.versions.algorithm(guard, old.version());
        let horizon = Self::horizon(now);
        let mut met = 0;
        for idx in lines {
            let Line { ids, words } = old.line(idx);
            for slot in 0..SLOTS {
                let id = seal_slot(&ids[slot]);
                if id == SEALED {
                    continue;
                }
                met += 1;
                // AcqRel: Release pairs with the Acquire of `charge`: whoever meets FROZEN sees the next segment.
                // Acquire: what the word names is visible.
                let word = words[slot].fetch_or(FROZEN, Ordering::AcqRel) & !FROZEN;
                // SAFETY: this place of the table holds the word, and the guard of the caller keeps the place.
                if word != 0 && !unsafe { algorithm.evict(word, horizon) } {
                    self.carry(guard, id, word, old, next, now);
                }
            }
        }
        met
    }

    /// Takes a frozen word over into the next segment, converted to its version, unless somebody has.
    pub(super) fn carry(&self, guard: &Guard, id: u64, word: u64, old: Segment<'_>, next: Segment<'_>, now: Tick) {
        if word == 0 {
            return;
        }
        let place = match next.find(id) {
            Found::Here(place) => place,
            Found::Sealed => return,
            Found::Absent => {
                // Settled: everything was carried over or idle.
                if next.claim_carried() != Claim::Granted {
                    return;
                }
                match next.insert(id) {
                    Some((place, true)) => place,
                    Some((place, false)) => {
                        self.unclaim_carried(next);
                        place
                    }
                    None => return self.unclaim_carried(next),
                }
            }
        };
        let converted = self.versions.convert(guard, word, old.version(), next.version(), now);
        // SAFETY: the old segment, which the caller's guard keeps, holds the reference to what both words name.
        unsafe { word::place::<A>(place, converted, &self.heap) };
    }

    /// Gives back a slot for a carried word, and mends the counts if they were drawn up in between.
    fn unclaim_carried(&self, next: Segment<'_>) {
        if next.unclaim_carried().is_settled() {
            // Relaxed: the counts publish nothing.
            self.keys.fetch_sub(1, Ordering::Relaxed);
            // Relaxed: as above.
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends a move of which every line is done.
    fn complete(&self, index: usize, old: Segment<'_>, next: Segment<'_>, ids: u64) {
        if let Some(used) = next.settle() {
            // Claims in flight can make this negative for a moment; wrapping adds up all the same.
            let evicted = ids.wrapping_sub(used.carried());
            // Relaxed: the counts publish nothing.
            self.keys.fetch_sub(evicted, Ordering::Relaxed);
            // Relaxed: as above.
            self.evicted.fetch_add(evicted, Ordering::Relaxed);
        }
        self.swap_directory(index, old, next);
    }

    /// Puts the next segment into the directory, and retires the old one if this thread was the one to do it.
    fn swap_directory(&self, index: usize, old: Segment<'_>, next: Segment<'_>) {
        // AcqRel: Release publishes the next segment to `current`; Acquire makes what the old one held visible to the
        // one who frees it. Relaxed on failure: somebody else did it.
        let swapped =
            self.directory[index].compare_exchange(old.tag(), next.tag(), Ordering::AcqRel, Ordering::Relaxed);
        if swapped.is_ok() {
            // SAFETY: the old segment just left the directory, the only way to it, and was allocated with these bytes.
            unsafe { self.heap.retire(old.tag().cast(), old.byte_count(), Segment::free::<A>) };
        }
    }

    /// Begins or furthers evictions for a key that found no room; tells whether there is some now.
    ///
    /// The key's own segment is tried first, then the others in turn. One call moves no more than [`ROOM`] lines, so
    /// a large segment is moved by several keys without room. If no segment has idle keys nobody tries again for
    /// a while, so that a flood of new keys costs little.
    pub(super) fn make_room(&self, guard: &Guard, index: usize, now: Tick) -> bool {
        // Relaxed: when to try again is only a matter of cost.
        if now.as_nanos() < self.full_until_ns.load(Ordering::Relaxed) {
            return false;
        }
        let mut lines = ROOM;
        let mut candidate = index;
        for _ in 0..=SEGMENTS {
            lines -= self.evict_some(guard, candidate, now, lines);
            // Relaxed: a look; the claim that follows is exact.
            if self.keys.load(Ordering::Relaxed) < self.max_keys {
                return true;
            }
            if lines == 0 {
                return false;
            }
            // Relaxed: whichever segment is next.
            candidate = self.next_victim.fetch_add(1, Ordering::Relaxed) % SEGMENTS;
        }
        // Relaxed: as above.
        self.full_until_ns.store((now + FULL_FOR).as_nanos(), Ordering::Relaxed);
        false
    }

    /// Moves up to `most` lines of a segment if it is being replaced, or if enough of its keys are idle; returns how
    /// many it moved.
    fn evict_some(&self, guard: &Guard, index: usize, now: Tick, most: usize) -> usize {
        let Some(segment) = self.current(guard, index) else { return 0 };
        if segment.next().is_none() {
            let census = self.census(guard, segment, now, GLANCE);
            // Moving a large segment for less would cost those who flood nothing and us much.
            let is_worth_it = census.idle * 8 >= census.used || segment.line_count() <= SMALL;
            if census.idle == 0 || !is_worth_it {
                return 0;
            }
            self.successor(guard, index, segment, now);
        }
        self.help_with(guard, index, now, most)
    }

    /// Counts by another algorithm from now on, and keeps what was spent. No two threads do this at a time, and this one
    /// has no guard.
    ///
    /// A check that began before this returned may still be decided by the algorithm before; none that begins afterwards.
    pub(crate) fn change(&self, algorithm: A, now: Tick) {
        self.versions.change(algorithm, &self.heap, now);
        for index in 0..SEGMENTS {
            let guard = enter();
            loop {
                let segment = self.current_or_first(&guard, index);
                if segment.version() == self.versions.current() {
                    break;
                }
                self.successor(&guard, index, segment, now);
                self.finish(&guard, index, now);
            }
        }
        self.versions.let_go(&self.heap);
        self.heap.collect();
    }

    /// Evicts from one segment if enough of its keys are idle, and gives unused memory back; returns the lines
    /// that it looked at.
    pub(crate) fn sweep(&self, guard: &Guard, index: usize, now: Tick) -> usize {
        let Some(segment) = self.current(guard, index) else { return 0 };
        if segment.next().is_some() {
            self.finish(guard, index, now);
            return segment.line_count();
        }
        let Census { used, idle } = self.census(guard, segment, now, usize::MAX);
        let is_roomy = Segment::fitting(used - idle, segment.occupied()) + 2 <= segment.log2();
        if (idle > 0 && idle * 4 >= used) || is_roomy {
            self.successor(guard, index, segment, now);
            self.finish(guard, index, now);
        }
        segment.line_count()
    }
}
