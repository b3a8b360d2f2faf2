//! Reclamation: memory is freed when no thread can hold it any more.
//!
//! Readers announce the epoch in a record of their own with plain stores; whoever frees pays for the barrier
//! (`membarrier` on Linux). One set of records serves all owners in the process.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence};

/// What one thread announces.
struct Record {
    /// The epoch in which its thread reads, 0 while it does not.
    epoch: AtomicU64,
    /// Whether a living thread has the record.
    taken: AtomicBool,
    /// Its place in the order in which records were made.
    index: usize,
    /// The record made before it.
    older: *const CachePadded<Record>,
}

// SAFETY: `older` is written before the record is shared and only read afterwards; the rest is atomic.
unsafe impl Sync for Record {}

/// The epoch and everybody's records.
struct Domain {
    epoch: AtomicU64,
    newest: AtomicPtr<CachePadded<Record>>,
    count: AtomicUsize,
}

#[cfg(not(loom))]
static DOMAIN: Domain =
    Domain { epoch: AtomicU64::new(1), newest: AtomicPtr::new(ptr::null_mut()), count: AtomicUsize::new(0) };

#[cfg(loom)]
loom::lazy_static! {
    static ref DOMAIN: Domain =
        Domain { epoch: AtomicU64::new(1), newest: AtomicPtr::new(ptr::null_mut()), count: AtomicUsize::new(0) };
}

#[cfg(not(loom))]
crate::sync::thread_local! {
    /// This thread's record, if announcing needs no fence; without a destructor, so that reading it is one load.
    static RECORD: Cell<Option<&'static CachePadded<Record>>> = const { Cell::new(None) };
    /// This thread's record in any case.
    static OWN: Cell<Option<&'static CachePadded<Record>>> = const { Cell::new(None) };
    /// Gives the record back when the thread ends.
    static RETURN: Return = const { Return };
}

#[cfg(loom)]
crate::sync::thread_local! {
    static RECORD: Cell<Option<&'static CachePadded<Record>>> = Cell::new(None);
    static OWN: Cell<Option<&'static CachePadded<Record>>> = Cell::new(None);
    static RETURN: Return = Return;
}

/// Gives a thread's record back to the domain on drop.
struct Return;

impl Drop for Return {
    fn drop(&mut self) {
        let _ = RECORD.try_with(Cell::take);
        if let Ok(Some(record)) = OWN.try_with(Cell::take) {
            // Release: pairs with the Acquire of `Domain::claim`; the next owner continues after this one.
            record.taken.store(false, Ordering::Release);
        }
    }
}

/// While it lives, nothing that its thread reaches is freed.
pub(crate) struct Guard {
    record: &'static CachePadded<Record>,
    /// A guard stays on its thread.
    unsendable: PhantomData<*const ()>,
}

impl Guard {
    /// Returns a small number that no other living thread has; numbers of threads that ended are used again.
    #[inline]
    pub(crate) fn thread_index(&self) -> usize {
        self.record.index
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("thread", &self.record.index).finish_non_exhaustive()
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: pairs with the Acquire of `Domain::oldest`; what this thread read, it read before that.
        self.record.epoch.store(0, Ordering::Release);
    }
}

/// Announces that this thread reads shared memory.
///
/// Guards do not nest: no code of a user's runs under one.
#[inline(always)]
pub(crate) fn enter() -> Guard {
    let Some(record) = RECORD.with(Cell::get) else { return enter_fenced() };
    announce(record);
    compiler_fence();
    Guard { record, unsendable: PhantomData }
}

/// Writes the present epoch into a record.
#[inline(always)]
fn announce(record: &Record) {
    // Relaxed: only this thread writes its record.
    debug_assert_eq!(record.epoch.load(Ordering::Relaxed), 0, "guards do not nest");
    // Acquire: pairs with the AcqRel of `Heap::collect`: whoever reads in an epoch sees what was unlinked before it.
    let epoch = DOMAIN.epoch.load(Ordering::Acquire);
    // Relaxed: the barrier that follows orders it before everything that is read under the guard.
    record.epoch.store(epoch, Ordering::Relaxed);
}

/// Announces with a real fence: a thread's first time, and always where the freeing side has no heavy barrier.
#[cold]
#[inline(never)]
fn enter_fenced() -> Guard {
    let record = OWN.with(Cell::get).unwrap_or_else(register);
    announce(record);
    // SeqCst: pairs with the fence in `heavy_barrier`.
    fence(Ordering::SeqCst);
    Guard { record, unsendable: PhantomData }
}

/// Finds or makes a record for this thread.
fn register() -> &'static CachePadded<Record> {
    let record = DOMAIN.claim();
    OWN.with(|cell| cell.set(Some(record)));
    if asymmetric_barrier_works() {
        RECORD.with(|cell| cell.set(Some(record)));
    }
    // A thread that checks while its own destructors run keeps its record for good: nobody is left to return it.
    let _ = RETURN.try_with(|_| ());
    record
}

impl Domain {
    /// Takes a record that no thread has, or makes one.
    fn claim(&self) -> &'static CachePadded<Record> {
        for record in self.records() {
            // Acquire: pairs with the Release of `Return`. Relaxed on failure: nothing was taken.
            let taken = record.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                return record;
            }
        }
        // Relaxed: only the uniqueness of the number counts.
        let index = self.count.fetch_add(1, Ordering::Relaxed);
        let record = Box::leak(Box::new(CachePadded::new(Record {
            epoch: AtomicU64::new(0),
            taken: AtomicBool::new(true),
            index,
            older: ptr::null(),
        })));
        // Relaxed: the exchange below reads it again.
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            record.older = newest;
            // Release: publishes the record to `records`. Relaxed on failure: tried again.
            match self.newest.compare_exchange(newest, record, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return record,
                Err(winner) => newest = winner,
            }
        }
    }

    /// Walks all records, the newest first.
    fn records(&self) -> impl Iterator<Item = &'static CachePadded<Record>> {
        // Acquire: pairs with the Release that published the record, and through it all older ones.
        let mut next = self.newest.load(Ordering::Acquire).cast_const();
        std::iter::from_fn(move || {
            // SAFETY: records are leaked, so a pointer to one is valid for good; the list ends in null.
            let record: &'static CachePadded<Record> = unsafe { next.as_ref() }?;
            next = record.older;
            Some(record)
        })
    }

    /// Returns the oldest epoch in which anybody reads, `u64::MAX` if nobody does.
    fn oldest(&self) -> u64 {
        // Acquire: pairs with the Release of `Guard::drop`: what a past reader did is over.
        self.records()
            .map(|record| record.epoch.load(Ordering::Acquire))
            .filter(|epoch| *epoch != 0)
            .min()
            .unwrap_or(u64::MAX)
    }
}

/// Tells whether the kernel runs a barrier on all threads of the process for us, and signs the process up for it.
fn asymmetric_barrier_works() -> bool {
    #[cfg(all(target_os = "linux", not(loom), not(miri)))]
    {
        static WORKS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *WORKS.get_or_init(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
    }
    #[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
    false
}

/// Asks the kernel for a memory barrier, or for the right to ask for one; tells whether it did.
#[cfg(all(target_os = "linux", not(loom), not(miri)))]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes three numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Orders everything before it, in all threads, against what this thread reads afterwards; tells whether it could.
fn heavy_barrier() -> bool {
    // SeqCst: pairs with the fence in `enter_fenced`.
    fence(Ordering::SeqCst);
    #[cfg(all(target_os = "linux", not(loom), not(miri)))]
    if asymmetric_barrier_works() {
        return membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    }
    true
}

/// How an object is freed; it may retire others on the way.
pub(crate) type Free = unsafe fn(*mut (), &Heap);

/// An object that waits until nobody can hold it.
struct Retired {
    object: *mut (),
    free: Free,
    bytes: usize,
    /// The epoch from which on readers cannot reach it; 0 until one was drawn.
    from: u64,
    next: *mut Retired,
}

/// How much waits to be freed, and how much may before the one who adds to it frees.
///
/// All is relaxed: a matter of cost alone.
#[cfg(not(loom))]
struct Due {
    objects: AtomicUsize,
    bytes: AtomicUsize,
    most_objects: AtomicUsize,
    most_bytes: AtomicUsize,
}

#[cfg(not(loom))]
impl Due {
    /// The objects that may come to wait after one collection and before the next.
    const OBJECTS: usize = 256;
    /// The bytes that may come to wait after one collection and before the next.
    const BYTES: usize = 1 << 20;

    /// Makes an empty account.
    fn new() -> Self {
        Self {
            objects: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            most_objects: AtomicUsize::new(Self::OBJECTS),
            most_bytes: AtomicUsize::new(Self::BYTES),
        }
    }

    /// Counts a retired object; tells whether a collection is due.
    fn add(&self, bytes: usize) -> bool {
        let objects = self.objects.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        objects >= self.most_objects.load(Ordering::Relaxed) || bytes >= self.most_bytes.load(Ordering::Relaxed)
    }

    /// Counts a freed object.
    fn remove(&self, bytes: usize) {
        self.objects.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Chooses how much more may wait, given what must wait on: a part of it, so that an object is looked at a few
    /// times even if a reader holds a crowd of them for long.
    fn restart(&self) {
        let objects = self.objects.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.most_objects.store(objects + Self::OBJECTS.max(objects / 4), Ordering::Relaxed);
        self.most_bytes.store(bytes + Self::BYTES.max(bytes / 4), Ordering::Relaxed);
    }
}

/// What one owner has allocated, and what of it waits to be freed.
pub struct Heap {
    retired: AtomicPtr<Retired>,
    bytes: AtomicUsize,
    /// Models collect when they say so: there would be more interleavings, and nothing new in them.
    #[cfg(not(loom))]
    due: Due,
}

impl Heap {
    /// Makes an empty account.
    pub(crate) fn new() -> Self {
        Self {
            retired: AtomicPtr::new(ptr::null_mut()),
            bytes: AtomicUsize::new(0),
            #[cfg(not(loom))]
            due: Due::new(),
        }
    }

    /// Adds an allocation to the account.
    pub(crate) fn add_bytes(&self, bytes: usize) {
        // Relaxed: a statistic.
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that are in use or wait to be freed.
    pub(crate) fn bytes(&self) -> usize {
        // Relaxed: a statistic.
        self.bytes.load(Ordering::Relaxed)
    }

    /// Frees an object once no reader can hold it.
    ///
    /// # Safety
    ///
    /// The object was counted by `add_bytes` with as many bytes, is unlinked from everything that a thread
    /// without a guard can reach, and is given to this function once; `free` frees it.
    pub(crate) unsafe fn retire(&self, object: *mut (), bytes: usize, free: Free) {
        let node = Box::into_raw(Box::new(Retired { object, free, bytes, from: 0, next: ptr::null_mut() }));
        // SAFETY: the node is one we own.
        unsafe { self.push(node, node) };
        #[cfg(not(loom))]
        if self.due.add(bytes) {
            self.collect();
        }
    }

    /// Puts a chain of nodes on the list.
    ///
    /// # Safety
    ///
    /// The caller owns all nodes from `first` to `last`.
    unsafe fn push(&self, first: *mut Retired, last: *mut Retired) {
        // Relaxed: the exchange below reads it again.
        let mut head = self.retired.load(Ordering::Relaxed);
        loop {
            // SAFETY: `last` is ours until the exchange succeeds.
            unsafe { (*last).next = head };
            // Release: pairs with the Acquire of `collect`. Relaxed on failure: tried again.
            match self.retired.compare_exchange(head, first, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(winner) => head = winner,
            }
        }
    }

    /// Frees what no reader can hold.
    pub(crate) fn collect(&self) {
        // Relaxed: a look before the swap.
        if self.retired.load(Ordering::Relaxed).is_null() {
            return;
        }
        // Acquire: pairs with the Release of `push`: the nodes, and the unlinking before, are visible.
        let mut node = self.retired.swap(ptr::null_mut(), Ordering::Acquire);
        // AcqRel: pairs with the Acquire of `enter`: readers of the new epoch see what was unlinked.
        let from = DOMAIN.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        let oldest = if heavy_barrier() { DOMAIN.oldest() } else { 0 };
        while !node.is_null() {
            // SAFETY: the swap gave us every node of the chain.
            let mut retired = unsafe { Box::from_raw(node) };
            node = retired.next;
            if retired.from == 0 {
                retired.from = from;
            }
            if retired.from <= oldest {
                self.free(&retired);
            } else {
                let kept = Box::into_raw(retired);
                // SAFETY: the node is one we own.
                unsafe { self.push(kept, kept) };
            }
        }
        #[cfg(not(loom))]
        self.due.restart();
    }

    /// Frees one object.
    fn free(&self, retired: &Retired) {
        // Relaxed: a statistic.
        self.bytes.fetch_sub(retired.bytes, Ordering::Relaxed);
        #[cfg(not(loom))]
        self.due.remove(retired.bytes);
        // SAFETY: `retire` was promised that this frees the object, and nobody can hold it now.
        unsafe { (retired.free)(retired.object, self) };
    }
}

impl Drop for Heap {
    /// Frees everything: whoever held something held a reference to the owner too.
    fn drop(&mut self) {
        loop {
            // Acquire: pairs with the Release of `push`.
            let node = self.retired.swap(ptr::null_mut(), Ordering::Acquire);
            if node.is_null() {
                return;
            }
            let mut next = node;
            while !next.is_null() {
                // SAFETY: the swap gave us every node of the chain.
                let retired = unsafe { Box::from_raw(next) };
                next = retired.next;
                self.free(&retired);
            }
        }
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}
