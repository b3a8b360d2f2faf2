//! Time: ticks, and the only code in the crate that reads a clock.

use std::fmt;
use std::sync::OnceLock;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::sync::{AtomicU64, Ordering};

/// A moment: nanoseconds since the clock it came from was made, below 2^63.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::Tick;
///
/// let later = Tick::ZERO + Duration::from_millis(5);
/// assert_eq!(later.as_nanos(), 5_000_000);
/// assert_eq!(later.since(Tick::ZERO), Duration::from_millis(5));
/// assert_eq!(Tick::ZERO.since(later), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// The first tick.
    pub const ZERO: Self = Self(0);
    /// The last tick, 292 years after the first.
    pub const MAX: Self = Self(u64::MAX >> 1);

    /// Makes a tick from nanoseconds; what is past [`Tick::MAX`] becomes [`Tick::MAX`].
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        if ns > Self::MAX.0 { Self::MAX } else { Self(ns) }
    }

    /// Returns the nanoseconds since the clock began.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to this tick, zero if `earlier` is the later one.
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Tick {
    type Output = Self;

    /// Returns the tick that much later, at most [`Tick::MAX`].
    fn add(self, span: Duration) -> Self {
        Self::from_nanos(self.0.saturating_add(saturating_nanos(span)))
    }
}

impl std::ops::Sub<Duration> for Tick {
    type Output = Self;

    /// Returns the tick that much earlier, at least [`Tick::ZERO`].
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(saturating_nanos(span)))
    }
}

/// Returns a duration's nanoseconds, at most `u64::MAX`.
pub(crate) fn saturating_nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the time since 1970 in UTC by the wall clock; zero if that shows an earlier year.
pub(crate) fn unix_time() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// A source of ticks, cheap to clone; clones share their beginning.
///
/// | source | a reading costs about | resolution |
/// |---|---|---|
/// | [`Clock::precise`] | 10 ns | that of the processor's time stamp counter |
/// | [`Clock::coarse`] | 0.3 ns | 1 ms, kept by one thread for the whole process |
/// | [`ManualClock::clock`] | 0.3 ns | set by hand, for tests and replays |
///
/// # Examples
///
/// ```
/// use tollgate::Clock;
///
/// let clock = Clock::precise();
/// let first = clock.now();
/// assert!(clock.now() >= first);
/// ```
#[derive(Clone)]
pub struct Clock(Source);

/// Where a clock's ticks come from.
#[derive(Clone)]
enum Source {
    /// The time stamp counter, from a raw reading on.
    Counter { clock: quanta::Clock, origin: u64 },
    /// The operating system's monotonic clock, where the counter is not to be trusted.
    System(std::time::Instant),
    /// The shared ticker.
    Coarse(Arc<Ticker>),
    /// A hand-set tick.
    Manual(Arc<CachePadded<AtomicU64>>),
}

impl Clock {
    /// Makes a clock that reads the processor's time stamp counter through [`quanta`], or the operating system's
    /// monotonic clock where the kernel itself does not trust that counter.
    ///
    /// # Cost
    ///
    /// The first one in a process measures the counter's rate, which takes up to 200 ms.
    pub fn precise() -> Self {
        if counter_is_trusted() {
            let clock = quanta::Clock::new();
            let origin = clock.raw();
            Self(Source::Counter { clock, origin })
        } else {
            Self(Source::System(std::time::Instant::now()))
        }
    }

    /// Makes a clock that one thread moves on every millisecond for all coarse clocks of the process.
    ///
    /// A reading is one load of a shared word. It lags by up to a millisecond, by more while the machine does not
    /// run the ticker thread; a lagging clock refills later and so never admits more. The thread ends with the
    /// last coarse clock. Where no thread can be started the clock is a precise one.
    pub fn coarse() -> Self {
        Ticker::shared().map_or_else(|_| Self::precise(), |ticker| Self(Source::Coarse(ticker)))
    }

    /// Returns the present tick.
    #[inline(always)]
    pub fn now(&self) -> Tick {
        // Direct branches only: an indirect jump here costs the overlap of one check's cache miss with the next one's.
        match &self.0 {
            // Relaxed: the tick is the whole message, nothing is published through it.
            Source::Coarse(ticker) => Tick(ticker.now_ns.load(Ordering::Relaxed)),
            Source::Counter { clock, origin } => Tick::from_nanos(clock.delta_as_nanos(*origin, clock.raw())),
            _ => self.now_otherwise(),
        }
    }

    /// Returns the present tick of the sources that are not in a hurry.
    #[inline(never)]
    fn now_otherwise(&self) -> Tick {
        match &self.0 {
            Source::System(origin) => Tick::from_nanos(saturating_nanos(origin.elapsed())),
            // Relaxed: as for the ticker; tests that move the clock order it by other means.
            Source::Manual(now_ns) => Tick(now_ns.load(Ordering::Relaxed)),
            Source::Coarse(_) | Source::Counter { .. } => self.now(),
        }
    }
}

impl Default for Clock {
    /// Makes a precise clock.
    fn default() -> Self {
        Self::precise()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Source::Counter { .. } => "precise (time stamp counter)",
            Source::System(_) => "precise (monotonic clock)",
            Source::Coarse(_) => "coarse",
            Source::Manual(_) => "manual",
        };
        write!(f, "Clock({name}, {:?})", self.now())
    }
}

/// Tells whether the kernel keeps its own time by the time stamp counter.
///
/// Linux stops using the counter when it finds it unstable, for example in a virtual machine that moves between
/// hosts. Where the kernel does not say, quanta's own look at the processor decides.
fn counter_is_trusted() -> bool {
    static TRUSTED: OnceLock<bool> = OnceLock::new();
    *TRUSTED.get_or_init(|| {
        if cfg!(miri) || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return false;
        }
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        match std::fs::read_to_string(path) {
            Ok(name) => matches!(name.trim(), "tsc" | "arch_sys_counter"),
            Err(_) => !cfg!(target_os = "linux"),
        }
    })
}

/// A clock that moves only when it is told to.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use tollgate::{ManualClock, Tick};
///
/// let manual = ManualClock::new();
/// let clock = manual.clock();
/// manual.advance(Duration::from_secs(2));
/// assert_eq!(clock.now(), Tick::from_nanos(2_000_000_000));
/// manual.set(Tick::ZERO);
/// assert_eq!(clock.now(), Tick::ZERO);
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<CachePadded<AtomicU64>>);

impl ManualClock {
    /// Makes a clock that stands at [`Tick::ZERO`].
    pub fn new() -> Self {
        Self(Arc::new(CachePadded::new(AtomicU64::new(0))))
    }

    /// Returns a clock to give to a limiter; it follows this one.
    pub fn clock(&self) -> Clock {
        Clock(Source::Manual(Arc::clone(&self.0)))
    }

    /// Sets the tick, backwards too.
    pub fn set(&self, now: Tick) {
        // Relaxed: see `Clock::now`.
        self.0.store(now.0, Ordering::Relaxed);
    }

    /// Moves the clock on, at most to [`Tick::MAX`].
    pub fn advance(&self, span: Duration) {
        // Relaxed: see `Clock::now`.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some((Tick(now) + span).0));
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

/// The word that the ticker thread moves on.
struct Ticker {
    now_ns: CachePadded<AtomicU64>,
}

impl Ticker {
    /// How often the thread writes.
    const INTERVAL: Duration = Duration::from_millis(1);

    /// Returns the process's ticker, and starts its thread if there is none.
    fn shared() -> std::io::Result<Arc<Self>> {
        static SHARED: Mutex<Weak<Ticker>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock();
        if let Some(ticker) = shared.upgrade() {
            return Ok(ticker);
        }
        let ticker = Arc::new(Self { now_ns: CachePadded::new(AtomicU64::new(0)) });
        let weak = Arc::downgrade(&ticker);
        let origin = std::time::Instant::now();
        std::thread::Builder::new().name("tollgate-ticker".into()).spawn({
            let weak = Weak::clone(&weak);
            move || {
                while let Some(ticker) = weak.upgrade() {
                    let now = Tick::from_nanos(saturating_nanos(origin.elapsed()));
                    // Relaxed: see `Clock::now`; this thread is the only writer.
                    ticker.now_ns.store(now.0, Ordering::Relaxed);
                    drop(ticker);
                    std::thread::sleep(Self::INTERVAL);
                }
            }
        })?;
        *shared = weak;
        Ok(ticker)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ticks_saturate_at_both_ends() {
        assert_eq!(Tick::from_nanos(u64::MAX), Tick::MAX);
        assert_eq!(Tick::MAX + Duration::MAX, Tick::MAX);
        assert_eq!(Tick::from_nanos(5) - Duration::from_secs(1), Tick::ZERO);
        assert_eq!(Tick::ZERO.since(Tick::MAX), Duration::ZERO);
    }

    #[test]
    fn real_clocks_move_forward() {
        for clock in [Clock::precise(), Clock::coarse(), Clock(Source::System(std::time::Instant::now()))] {
            let start = clock.now();
            while clock.now() == start {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(clock.now() > start, "{clock:?}");
        }
    }

    #[test]
    fn coarse_clocks_share_one_beginning() {
        let (one, other) = (Clock::coarse(), Clock::coarse());
        let (Source::Coarse(one), Source::Coarse(other)) = (one.0, other.0) else {
            panic!("a coarse clock is kept by the ticker");
        };
        assert!(Arc::ptr_eq(&one, &other));
    }
}
