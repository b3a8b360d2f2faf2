//! A segment: lines of four identities and four words, with a header in front of them.

use std::alloc::{Layout, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::table::reclaim::Heap;
use crate::table::resident::Resident;

/// An identity that no key has: the slot was never used.
pub(super) const EMPTY: u64 = 0;
/// An identity that no key has: the slot was closed before anybody used it.
pub(super) const SEALED: u64 = u64::MAX;
/// The bit of a word that ends its life in this segment.
pub(super) const FROZEN: u64 = 1 << 63;

/// The bits of an identity that choose its segment.
pub(super) const SEGMENT_BITS: u32 = if cfg!(loom) { 0 } else { 4 };

/// The slots of a line.
pub(super) const SLOTS: usize = 4;

/// One cache line: four slots.
#[cfg_attr(not(loom), repr(C, align(64)))]
#[cfg_attr(loom, repr(C, align(128)))]
#[derive(Debug)]
pub(super) struct Line {
    pub(super) ids: [AtomicU64; SLOTS],
    pub(super) words: [AtomicU64; SLOTS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Line>() == 64, "a line is one cache line");

/// What a segment knows of itself; it stands right before the lines, and its alignment is theirs.
#[repr(C, align(128))]
#[derive(Debug)]
struct Header {
    /// See [`Used`].
    used: AtomicU64,
    /// The slots that the segment before this one may still carry over.
    reserve: u64,
    /// The segment that takes over, as [`Segment::tag`] writes it; null while none does.
    next: AtomicPtr<Line>,
    /// The lines that some thread has taken on itself to move.
    claimed: AtomicUsize,
    /// The lines that were moved, and in the upper half the identities found in them.
    moved: AtomicU64,
}

/// How many slots of a segment are used, and in what state it is; a copy of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Used(u64);

impl Used {
    /// No slot is used for a key that is new here any more.
    const CLOSED: u64 = 1 << 63;
    /// Nothing is carried over from the segment before any more.
    const SETTLED: u64 = 1 << 62;
    /// One slot used for what was carried over.
    const CARRIED: u64 = 1 << 31;
    /// One slot used for a key that is new here.
    const FRESH: u64 = 1;

    /// Returns the slots used for keys that are new here.
    fn fresh(self) -> u64 {
        self.0 & (Self::CARRIED - 1)
    }

    /// Returns the slots used for what was carried over.
    pub(super) fn carried(self) -> u64 {
        (self.0 & (Self::SETTLED - 1)) >> 31
    }

    /// Tells whether no key is inserted here any more.
    pub(super) fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    /// Tells whether everything was carried over.
    pub(super) fn is_settled(self) -> bool {
        self.0 & Self::SETTLED != 0
    }

    /// Returns the slots that are used or spoken for.
    pub(super) fn total(self, reserve: u64) -> u64 {
        if self.is_settled() { self.fresh() + self.carried() } else { self.fresh() + reserve.max(self.carried()) }
    }
}

/// What became of an attempt to speak for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// A slot is certain to be free.
    Granted,
    /// The segment is closed to this kind of key; its successor, or the fact that all was carried, takes over.
    Closed,
    /// Too many slots are used.
    Full,
}

/// Where an identity was found, or where it was not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'g> {
    /// Its word.
    Here(&'g AtomicU64),
    /// A slot that was never used: the key is not here.
    Absent,
    /// A sealed slot: the key is not here and never will be.
    Sealed,
}

/// A segment that a guard, or the sole owner, keeps alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'g> {
    lines: NonNull<Line>,
    /// How far an identity is shifted so that the bits that choose its line stand where the line's offset has them.
    shift: u32,
    /// The version of the algorithm by which the words are counted: 0 or 1.
    version: usize,
    lifetime: PhantomData<&'g Line>,
}

impl<'g> Segment<'g> {
    /// The logarithm of the lines of the smallest segment.
    pub(super) const SMALLEST: u32 = if cfg!(loom) { 0 } else { 2 };
    /// The logarithm of the lines of the largest segment.
    const LARGEST: u32 = 28;
    /// The shift with which no bit of an identity chooses a line, because there is only one.
    const NO_BITS: u32 = 64 - size_of::<Line>().ilog2();

    /// The bit of a tag that holds the version, between those of the shift and those of the pointer.
    const VERSION_BIT: u32 = 6;
    /// The bits of a tag that are the pointer.
    const POINTER: usize = !0 << (Self::VERSION_BIT + 1);

    /// Allocates a segment of `2^log2` lines of a version, into which up to `reserve` words will be carried.
    pub(super) fn allocate(log2: u32, reserve: Option<u64>, version: usize, heap: &Heap) -> Self {
        let layout = Self::layout(log2);
        let memory = memory::allocate(layout);
        let Some(start) = NonNull::new(memory) else { handle_alloc_error(layout) };
        heap.add_bytes(layout.size());
        let settled = if reserve.is_none() { Used::SETTLED } else { 0 };
        let header = start.cast::<Header>();
        // SAFETY: the memory is large and aligned enough for the layout's header, and nobody else has it.
        unsafe {
            header.write(Header {
                used: AtomicU64::new(settled),
                reserve: reserve.unwrap_or(0),
                next: AtomicPtr::new(ptr::null_mut()),
                claimed: AtomicUsize::new(0),
                moved: AtomicU64::new(0),
            });
        }
        // SAFETY: the lines stand right behind the header, inside the allocation.
        let lines = unsafe { header.add(1) }.cast::<Line>();
        #[cfg(loom)]
        for idx in 0..1usize << log2 {
            let zeros = || std::array::from_fn(|_| AtomicU64::new(0));
            // SAFETY: the line is inside the allocation.
            unsafe { lines.add(idx).write(Line { ids: zeros(), words: zeros() }) };
        }
        Self { lines, shift: Self::NO_BITS - log2, version, lifetime: PhantomData }
    }

    /// Returns the layout of a segment of `2^log2` lines.
    fn layout(log2: u32) -> Layout {
        let size = size_of::<Header>() + (size_of::<Line>() << log2);
        Layout::from_size_align(size, align_of::<Header>()).expect("a segment is smaller than the address space")
    }

    /// Reads what [`Segment::tag`] wrote; null is no segment.
    ///
    /// # Safety
    ///
    /// The segment lives for `'g`.
    #[inline]
    pub(super) unsafe fn from_tagged(tagged: *mut Line) -> Option<Self> {
        let shift = (tagged.addr() & ((1 << Self::VERSION_BIT) - 1)) as u32;
        let version = tagged.addr() >> Self::VERSION_BIT & 1;
        let lines = NonNull::new(tagged.map_addr(|addr| addr & Self::POINTER))?;
        Some(Self { lines, shift, version, lifetime: PhantomData })
    }

    /// Returns the pointer with the shift and the version in the bits that alignment leaves free.
    pub(super) fn tag(self) -> *mut Line {
        self.lines.as_ptr().map_addr(|addr| addr | self.version << Self::VERSION_BIT | self.shift as usize)
    }

    /// Returns the version of the algorithm by which the words are counted.
    #[inline(always)]
    pub(super) fn version(self) -> usize {
        self.version
    }

    /// Returns the logarithm of the lines.
    pub(super) fn log2(self) -> u32 {
        Self::NO_BITS - self.shift
    }

    /// Returns the number of lines.
    #[inline]
    pub(super) fn line_count(self) -> usize {
        1 << self.log2()
    }

    /// Returns the header.
    fn header(self) -> &'g Header {
        // SAFETY: `allocate` put the header right before the lines.
        let header = unsafe { self.lines.cast::<Header>().sub(1) };
        #[cfg(loom)]
        crate::table::quarantine::assert_alive(header.as_ptr().addr());
        // SAFETY: it was initialised there, is only shared, and lives for `'g`.
        unsafe { header.as_ref() }
    }

    /// Returns the line at an index, counted from the front again past the last.
    #[inline]
    pub(super) fn line(self, idx: usize) -> &'g Line {
        // SAFETY: the mask keeps the index inside the segment.
        let line = unsafe { self.lines.add(idx & (self.line_count() - 1)) };
        // SAFETY: every line was initialised (zeros are valid), is only shared, and lives for `'g`.
        unsafe { line.as_ref() }
    }

    /// Returns where, in bytes behind the first line, the line begins in which an identity is looked for first.
    ///
    /// The top bits of the identity chose the segment; those below choose the line.
    #[inline(always)]
    fn home_offset(self, id: u64) -> usize {
        // The bits that choose the line come to stand right above those of an offset inside a line.
        ((id << SEGMENT_BITS) >> self.shift) as usize & !(size_of::<Line>() - 1)
    }

    /// Returns the index of the line in which an identity is looked for first.
    fn home(self, id: u64) -> usize {
        self.home_offset(id) / size_of::<Line>()
    }

    /// Looks for an identity.
    #[inline(always)]
    pub(super) fn find(self, id: u64) -> Found<'g> {
        #[cfg(loom)]
        self.header();
        // SAFETY: the shift leaves as many bits as choose one of the lines.
        let line = unsafe { self.lines.byte_add(self.home_offset(id)) };
        // SAFETY: as in `line`.
        match find_in(unsafe { line.as_ref() }, id) {
            Some(found) => found,
            None => self.find_behind(id),
        }
    }

    /// Begins to fetch the line in which an identity is looked for first, to be written.
    #[inline(always)]
    pub(super) fn prefetch(self, id: u64) {
        #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            let line = self.lines.as_ptr().wrapping_byte_add(self.home_offset(id));
            // SAFETY: a prefetch reads nothing that the program sees, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(line.cast()) };
        }
        #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
        let _ = id;
    }

    /// Looks for an identity in the lines behind its first.
    #[inline(never)]
    fn find_behind(self, id: u64) -> Found<'g> {
        let home = self.home(id);
        // If every slot has another key, this one cannot be inserted here either.
        (1..self.line_count()).find_map(|step| find_in(self.line(home + step), id)).unwrap_or(Found::Sealed)
    }

    /// Puts an identity into the first unused slot, or finds it; the caller was granted a slot.
    ///
    /// Tells whether the slot is new; `None` if a sealed slot came first.
    pub(super) fn insert(self, id: u64) -> Option<(&'g AtomicU64, bool)> {
        let home = self.home(id);
        for step in 0..self.line_count() {
            let line = self.line(home + step);
            for (slot, word) in line.ids.iter().zip(&line.words) {
                // Acquire: as in `find`.
                let mut seen = slot.load(Ordering::Acquire);
                if seen == EMPTY {
                    // Relaxed: the word behind is valid from the start, nothing is published. Acquire on failure: as
                    // in `find`.
                    match slot.compare_exchange(EMPTY, id, Ordering::Relaxed, Ordering::Acquire) {
                        Ok(_) => return Some((word, true)),
                        Err(winner) => seen = winner,
                    }
                }
                if seen == id {
                    return Some((word, false));
                }
                if seen == SEALED {
                    return None;
                }
            }
        }
        None
    }

    /// Closes the slot that an identity would take, or finds its word if it has one here.
    pub(super) fn seal(self, id: u64) -> Option<&'g AtomicU64> {
        let home = self.home(id);
        for step in 0..self.line_count() {
            let line = self.line(home + step);
            for (slot, word) in line.ids.iter().zip(&line.words) {
                match seal_slot(slot) {
                    SEALED => return None,
                    seen if seen == id => return Some(word),
                    _ => {}
                }
            }
        }
        None
    }

    /// Returns the state of use.
    pub(super) fn used(self) -> Used {
        // Acquire: pairs with the Release of `settle` and `close`.
        Used(self.header().used.load(Ordering::Acquire))
    }

    /// Returns the slots that are used or spoken for.
    pub(super) fn occupied(self) -> u64 {
        self.used().total(self.header().reserve)
    }

    /// Returns the most slots that may be used by a segment of `2^log2` lines while it is filled from another.
    pub(super) fn hard_limit(log2: u32) -> u64 {
        let slots = (SLOTS as u64) << log2;
        slots - (slots / 16).max(1)
    }

    /// Returns the most slots that are used before the segment is replaced.
    pub(super) fn soft_limit(log2: u32) -> u64 {
        ((SLOTS as u64) << log2) * 13 / 16
    }

    /// Speaks for a slot for a key that is new here.
    pub(super) fn claim_fresh(self) -> Claim {
        let header = self.header();
        self.claim(Used::FRESH, |used| {
            let limit = if used.is_settled() { Self::soft_limit(self.log2()) } else { Self::hard_limit(self.log2()) };
            if used.is_closed() {
                Claim::Closed
            } else if used.total(header.reserve) >= limit {
                Claim::Full
            } else {
                Claim::Granted
            }
        })
    }

    /// Speaks for a slot for a word that is carried over.
    pub(super) fn claim_carried(self) -> Claim {
        self.claim(Used::CARRIED, |used| if used.is_settled() { Claim::Closed } else { Claim::Granted })
    }

    /// Adds to the count if `rule` grants it.
    fn claim(self, unit: u64, rule: impl Fn(Used) -> Claim) -> Claim {
        let mut used = self.used();
        loop {
            let claim = rule(used);
            if claim != Claim::Granted {
                return claim;
            }
            // Relaxed: the count publishes nothing; it only has to be exact. Acquire on failure: as in `used`.
            let seen =
                self.header().used.compare_exchange_weak(used.0, used.0 + unit, Ordering::Relaxed, Ordering::Acquire);
            match seen {
                Ok(_) => return Claim::Granted,
                Err(winner) => used = Used(winner),
            }
        }
    }

    /// Gives back a slot for a new key.
    pub(super) fn unclaim_fresh(self) {
        // Relaxed: as in `claim`.
        self.header().used.fetch_sub(Used::FRESH, Ordering::Relaxed);
    }

    /// Gives back a slot for a carried word; returns the state before.
    pub(super) fn unclaim_carried(self) -> Used {
        // Relaxed: as in `claim`.
        Used(self.header().used.fetch_sub(Used::CARRIED, Ordering::Relaxed))
    }

    /// Closes the segment to new keys; `false` if it is not settled yet.
    pub(super) fn close(self) -> bool {
        let mut used = self.used();
        while !used.is_closed() {
            if !used.is_settled() {
                return false;
            }
            // Release: pairs with the Acquire of `used`. Acquire on failure: as there.
            let closed = used.0 | Used::CLOSED;
            match self.header().used.compare_exchange_weak(used.0, closed, Ordering::Release, Ordering::Acquire) {
                Ok(_) => break,
                Err(winner) => used = Used(winner),
            }
        }
        true
    }

    /// Says that everything was carried over; returns the state if nobody said so before.
    pub(super) fn settle(self) -> Option<Used> {
        // AcqRel: Release pairs with the Acquire of `used`: whoever sees it settled sees all that was carried.
        // Acquire: so does the one who settles, of what others carried.
        let before = Used(self.header().used.fetch_or(Used::SETTLED, Ordering::AcqRel));
        (!before.is_settled()).then_some(before)
    }

    /// Returns the segment that takes over.
    pub(super) fn next(self) -> Option<Self> {
        // Acquire: pairs with the Release of `publish_next`.
        let next = self.header().next.load(Ordering::Acquire);
        // SAFETY: a segment is retired only after the one before it, so it lives as long as this one is reached.
        unsafe { Self::from_tagged(next) }
    }

    /// Makes `candidate` the segment that takes over; returns the one that does and whether it is the candidate.
    pub(super) fn publish_next(self, candidate: Self) -> (Self, bool) {
        // Release: publishes the candidate's header and lines. Acquire on failure: pairs with it.
        let seen =
            self.header().next.compare_exchange(ptr::null_mut(), candidate.tag(), Ordering::Release, Ordering::Acquire);
        match seen {
            Ok(_) => (candidate, true),
            // SAFETY: as in `next`; a failed exchange found a segment, not null.
            Err(winner) => (unsafe { Self::from_tagged(winner) }.unwrap_or(candidate), false),
        }
    }

    /// Takes up to `count` lines that nobody has taken to move; an empty range if all are.
    pub(super) fn claim_lines(self, count: usize) -> std::ops::Range<usize> {
        let claimed = &self.header().claimed;
        let all = self.line_count();
        // Relaxed: the counter only shares out the work.
        if claimed.load(Ordering::Relaxed) >= all {
            return all..all;
        }
        // Relaxed: as above.
        let start = claimed.fetch_add(count, Ordering::Relaxed).min(all);
        start..(start + count).min(all)
    }

    /// Reports lines as moved, with the identities found in them; returns all identities if these were the last.
    pub(super) fn report_moved(self, lines: usize, ids: u64) -> Option<u64> {
        let more = lines as u64 | ids << 32;
        // AcqRel: Release pairs with the Acquire of the one who reports the last lines and then settles.
        let moved = self.header().moved.fetch_add(more, Ordering::AcqRel) + more;
        (moved as u32 as usize == self.line_count()).then_some(moved >> 32)
    }

    /// Returns the logarithm of the lines that `live` of `occupied` words call for.
    pub(super) fn fitting(live: u64, occupied: u64) -> u32 {
        (Self::SMALLEST..Self::LARGEST)
            .find(|log2| {
                let slots = (SLOTS as u64) << log2;
                occupied <= Self::hard_limit(*log2) - (slots / 16).min(1) && live <= slots * 5 / 8
            })
            .unwrap_or(Self::LARGEST)
    }

    /// Frees a segment and the references of its words.
    ///
    /// # Safety
    ///
    /// `object` is a tagged pointer from [`Segment::tag`], nobody can reach the segment, and `heap` is its owner's.
    pub(super) unsafe fn free<A: Resident>(object: *mut (), heap: &Heap) {
        // SAFETY: the caller hands over the only pointer.
        let Some(segment) = (unsafe { Segment::<'_>::from_tagged(object.cast()) }) else { return };
        if A::OWNS_MEMORY {
            for idx in 0..segment.line_count() {
                for word in &segment.line(idx).words {
                    // Relaxed: nobody else can reach the word.
                    let word = word.load(Ordering::Relaxed) & !FROZEN;
                    if word != 0 {
                        // SAFETY: this place held a reference and is going away.
                        unsafe { A::release(word, heap) };
                    }
                }
            }
        }
        // SAFETY: the header stands right before the lines.
        let header = unsafe { segment.lines.cast::<Header>().sub(1) };
        #[cfg(loom)]
        crate::table::quarantine::free(header.as_ptr().addr());
        // SAFETY: `allocate` got exactly this memory, and it is given back once.
        #[cfg(not(loom))]
        unsafe {
            memory::free(header.cast(), Self::layout(segment.log2()))
        };
    }

    /// Returns the bytes that the segment was allocated with.
    pub(super) fn byte_count(self) -> usize {
        Self::layout(self.log2()).size()
    }
}

/// Looks for an identity in one line; `None` if every slot has another key.
#[inline(always)]
fn find_in(line: &Line, id: u64) -> Option<Found<'_>> {
    // Acquire: pairs with the Release that sealed a slot, so that `next` is seen after SEALED.
    let ids: [u64; SLOTS] = std::array::from_fn(|slot| line.ids[slot].load(Ordering::Acquire));
    // Without branches: where in the line a key stands cannot be foreseen.
    let hits = ids.iter().enumerate().fold(0u32, |hits, (slot, seen)| hits | u32::from(*seen == id) << slot);
    if hits != 0 {
        return Some(Found::Here(&line.words[hits.trailing_zeros() as usize % SLOTS]));
    }
    // The first unused slot decides: a key beyond it would have taken it.
    ids.iter().find_map(|seen| match *seen {
        EMPTY => Some(Found::Absent),
        SEALED => Some(Found::Sealed),
        _ => None,
    })
}

/// Closes a slot if it was never used; returns what stands in it now.
pub(super) fn seal_slot(slot: &AtomicU64) -> u64 {
    // Release: pairs with the Acquire of `find`: whoever meets SEALED sees the next segment. Acquire on failure:
    // as in `find`.
    match slot.compare_exchange(EMPTY, SEALED, Ordering::Release, Ordering::Acquire) {
        Ok(_) => SEALED,
        Err(seen) => seen,
    }
}

/// Where segments come from: the system directly for large ones, so that freeing one gives its pages back.
mod memory {
    #[cfg(not(loom))]
    use std::alloc::dealloc;
    use std::alloc::{Layout, alloc_zeroed};
    #[cfg(not(loom))]
    use std::ptr::NonNull;

    /// Returns zeroed memory, or null if there is none.
    pub(super) fn allocate(layout: Layout) -> *mut u8 {
        #[cfg(all(target_os = "linux", not(miri)))]
        if layout.size() >= mapped::SMALLEST {
            return mapped::allocate(layout.size());
        }
        // SAFETY: a segment's layout is never of size zero.
        unsafe { alloc_zeroed(layout) }
    }

    /// Frees memory.
    ///
    /// # Safety
    ///
    /// `allocate` returned it for the same layout, and nobody uses it any more.
    #[cfg(not(loom))]
    pub(super) unsafe fn free(start: NonNull<u8>, layout: Layout) {
        #[cfg(all(target_os = "linux", not(miri)))]
        if layout.size() >= mapped::SMALLEST {
            // SAFETY: the caller's promise is the same.
            return unsafe { mapped::free(start, layout.size()) };
        }
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(start.as_ptr(), layout) };
    }

    /// Anonymous mappings.
    #[cfg(all(target_os = "linux", not(miri)))]
    mod mapped {
        use std::ptr;
        #[cfg(not(loom))]
        use std::ptr::NonNull;

        /// The size from which on memory is mapped, which is that of a huge page: random access to a table of many
        /// small pages spends more on finding the page than on the line.
        pub(super) const SMALLEST: usize = 2 << 20;

        /// Maps memory that begins at a huge page, or returns null.
        pub(super) fn allocate(size: usize) -> *mut u8 {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: an anonymous mapping at an address of the system's choice touches nothing that exists.
            let wide = unsafe { libc::mmap(ptr::null_mut(), size + SMALLEST, protection, flags, -1, 0) };
            if wide == libc::MAP_FAILED {
                return ptr::null_mut();
            }
            let wide = wide.cast::<u8>();
            let before = wide.align_offset(SMALLEST);
            // SAFETY: the offset is below the huge page's size that was added.
            let start = unsafe { wide.add(before) };
            // SAFETY: the part before the start belongs to the mapping and is not used.
            unsafe { unmap(wide, before) };
            // SAFETY: the end of the memory lies inside the mapping.
            let end = unsafe { start.add(size.next_multiple_of(4096)) };
            // SAFETY: the part behind the end belongs to the mapping and is not used.
            unsafe { unmap(end, (SMALLEST - before).saturating_sub(size.next_multiple_of(4096) - size)) };
            // SAFETY: the range is ours. Without huge pages all works the same, so an error does not matter.
            unsafe { libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE) };
            start
        }

        /// Gives a range of pages back, if it is not empty.
        ///
        /// # Safety
        ///
        /// The range is part of a mapping of ours that nobody uses.
        unsafe fn unmap(start: *mut u8, size: usize) {
            if size > 0 {
                // SAFETY: the caller's promise.
                let done = unsafe { libc::munmap(start.cast(), size) };
                debug_assert_eq!(done, 0, "a range of our own can be unmapped");
            }
        }

        /// Frees what `allocate` returned for the same size.
        ///
        /// # Safety
        ///
        /// Nobody uses the memory any more.
        #[cfg(not(loom))]
        pub(super) unsafe fn free(start: NonNull<u8>, size: usize) {
            // SAFETY: exactly this range was left of the mapping.
            unsafe { unmap(start.as_ptr(), size) };
        }
    }
}
