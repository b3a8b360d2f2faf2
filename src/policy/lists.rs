//! Allow and deny lists: of ranges of addresses, and of exact values.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use crate::policy::range::{AddressRange, RangeError};

/// Which of the two lists an entry stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listing {
    /// Passes, whatever bans and limits say.
    Allow,
    /// Is denied, unless it is allowed too.
    Deny,
}

/// What the lists say of a value: the list that decides, and the entry that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listed {
    listing: Listing,
    entry: u32,
}

impl Listed {
    /// Returns the list that decides.
    #[must_use]
    pub fn listing(self) -> Listing {
        self.listing
    }

    /// Returns the place of the entry among all that were added, of both lists, from 0 on.
    #[must_use]
    pub fn entry(self) -> usize {
        self.entry as usize
    }
}

/// A verdict in 32 bits: the entry's place and, in the highest bit, the list. All ones: no entry.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Verdict(u32);

impl Verdict {
    /// No entry.
    const NONE: Self = Self(u32::MAX);
    /// The bit of the deny list.
    const DENY: u32 = 1 << 31;

    /// Packs what is listed.
    fn new(listed: Listed) -> Self {
        Self(listed.entry | if listed.listing == Listing::Deny { Self::DENY } else { 0 })
    }

    /// Unpacks what is listed.
    fn listed(self) -> Option<Listed> {
        let listing = if self.0 & Self::DENY == 0 { Listing::Allow } else { Listing::Deny };
        (self != Self::NONE).then_some(Listed { listing, entry: self.0 & !Self::DENY })
    }
}

/// Allow and deny lists of ranges of addresses.
///
/// If a range of the allow list holds an address, it is allowed, however long the prefix of a range of the deny list that
/// holds it too. Within a list the longest prefix decides, and of equal ranges the one that was added first. The lists do
/// not change once they are built: build new ones, and swap them as a whole.
///
/// # Examples
///
/// ```
/// use tollgate::policy::{AddressLists, Listing};
///
/// let mut builder = AddressLists::builder();
/// builder.add_text(Listing::Deny, ["203.0.113.0/24", "2001:db8::/32"])?;
/// builder.add_text(Listing::Allow, ["203.0.113.7"])?;
/// let lists = builder.build();
/// let listing = |address: &str| lists.find(address.parse().unwrap()).map(|listed| listed.listing());
/// assert_eq!(listing("203.0.113.1"), Some(Listing::Deny));
/// assert_eq!(listing("203.0.113.7"), Some(Listing::Allow));
/// assert_eq!(listing("198.51.100.1"), None);
/// # Ok::<(), tollgate::policy::ListError>(())
/// ```
pub struct AddressLists {
    v4: Spans<u32>,
    v6: Spans<u128>,
}

impl AddressLists {
    /// Begins lists without entries.
    ///
    /// # Examples
    ///
    /// See [`AddressLists`].
    pub fn builder() -> AddressListsBuilder {
        AddressListsBuilder { entries: Vec::new() }
    }

    /// Returns what the lists say of an address; a mapped IPv4 address counts as IPv4.
    ///
    /// # Cost
    ///
    /// One block of 16 starts for each factor of 16 in the number of entries.
    ///
    /// # Examples
    ///
    /// See [`AddressLists`].
    #[inline]
    #[must_use]
    pub fn find(&self, address: IpAddr) -> Option<Listed> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.v4.find(address.to_bits()),
            IpAddr::V6(address) => self.v6.find(address.to_bits()),
        }
    }

    /// Returns the bytes of memory that the lists take.
    ///
    /// Each entry makes two spans at most: 8.3 bytes each for IPv4, 21.1 for IPv6.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::policy::{AddressLists, Listing};
    ///
    /// let mut builder = AddressLists::builder();
    /// builder.add_text(Listing::Deny, (0..250).map(|i| format!("10.0.{i}.0/25")))?;
    /// assert!(builder.build().bytes() < 250 * 20);
    /// # Ok::<(), tollgate::policy::ListError>(())
    /// ```
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }
}

impl fmt::Debug for AddressLists {
    /// Leaves the entries out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressLists").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

/// Gathers the entries of [`AddressLists`].
#[derive(Clone, Debug)]
#[must_use = "it makes no lists until it is built"]
pub struct AddressListsBuilder {
    entries: Vec<(AddressRange, Listing)>,
}

impl AddressListsBuilder {
    /// Adds one range to a list.
    ///
    /// # Errors
    ///
    /// [`ListError::TooMany`] beyond 2^31 - 1 entries.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::policy::{AddressLists, Listing};
    ///
    /// let mut builder = AddressLists::builder();
    /// builder.add(Listing::Deny, "10.0.0.0/8".parse().unwrap())?;
    /// let found = builder.build().find("10.1.2.3".parse().unwrap()).unwrap();
    /// assert_eq!((found.listing(), found.entry()), (Listing::Deny, 0));
    /// # Ok::<(), tollgate::policy::ListError>(())
    /// ```
    pub fn add(&mut self, listing: Listing, range: AddressRange) -> Result<(), ListError> {
        entry_number(self.entries.len())?;
        self.entries.push((range, listing));
        Ok(())
    }

    /// Adds ranges in their notation to a list; those before one that is no range stay added.
    ///
    /// # Errors
    ///
    /// [`ListError::Range`] at the first text that is no range, with its place among these texts;
    /// [`ListError::TooMany`] beyond 2^31 - 1 entries.
    ///
    /// # Examples
    ///
    /// ```
    /// use tollgate::policy::{AddressLists, Listing};
    ///
    /// let error = AddressLists::builder().add_text(Listing::Deny, ["10.0.0.0/8", "10.1.2.3/16"]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "entry 1, \"10.1.2.3/16\": 10.1.2.3/16 has bits set after its prefix: \
    ///      write 10.1.0.0/16, or 10.1.2.3/32 for the one address",
    /// );
    /// ```
    pub fn add_text<T: AsRef<str>>(
        &mut self,
        listing: Listing,
        texts: impl IntoIterator<Item = T>,
    ) -> Result<(), ListError> {
        for (idx, text) in texts.into_iter().enumerate() {
            let text = text.as_ref();
            let range = text.parse().map_err(|error| ListError::Range { idx, text: excerpt(text), error })?;
            self.add(listing, range)?;
        }
        Ok(())
    }

    /// Builds the lists.
    ///
    /// # Cost
    ///
    /// Sorts the entries.
    ///
    /// # Examples
    ///
    /// See [`AddressLists`].
    #[must_use]
    pub fn build(self) -> AddressLists {
        let mut v4 = Vec::new();
        let mut v6 = Vec::new();
        for (entry, (range, listing)) in (0..).zip(self.entries) {
            let verdict = Verdict::new(Listed { listing, entry });
            match (range.first(), range.last()) {
                (IpAddr::V4(first), IpAddr::V4(last)) => v4.push((first.to_bits(), last.to_bits(), verdict)),
                (IpAddr::V6(first), IpAddr::V6(last)) => v6.push((first.to_bits(), last.to_bits(), verdict)),
                _ => unreachable!("both ends of a range are of one family"),
            }
        }
        AddressLists { v4: Spans::new(v4), v6: Spans::new(v6) }
    }
}

/// An address as a number.
trait Bits: Copy + Ord {
    /// The first address of all.
    const ZERO: Self;

    /// Returns the next address, if there is one.
    fn next(self) -> Option<Self>;
}

impl Bits for u32 {
    const ZERO: Self = 0;

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Bits for u128 {
    const ZERO: Self = 0;

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// All addresses of a family, cut where the verdict changes.
struct Spans<T> {
    /// The first address of each span, ascending; the first of all is 0.
    starts: Box<[T]>,
    /// The verdict on each span.
    verdicts: Box<[Verdict]>,
    /// Above the starts: each level has the first of every 16 of the level below. The smallest comes first.
    levels: Box<[Box<[T]>]>,
}

impl<T: Bits> Spans<T> {
    /// How many starts are compared at once.
    const BLOCK: usize = 16;

    /// Cuts the addresses by ranges with their first and last address, which overlap only if one holds the other.
    fn new(mut ranges: Vec<(T, T, Verdict)>) -> Self {
        // Outer ranges before inner ones; of equal ones the later before the earlier, so that the earlier is innermost.
        ranges.sort_unstable_by(|one, other| {
            let place = |verdict: Verdict| verdict.0 & !Verdict::DENY;
            (one.0, other.1, place(other.2)).cmp(&(other.0, one.1, place(one.2)))
        });
        let mut cuts = Cuts { starts: vec![T::ZERO], verdicts: vec![Verdict::NONE] };
        let mut open: Vec<(T, Verdict)> = Vec::new();
        for (first, last, own) in ranges {
            close(&mut open, Some(first), &mut cuts);
            let outer = open.last().map_or(Verdict::NONE, |(_, verdict)| *verdict);
            let is_allowed = |verdict: Verdict| verdict.listed().is_some_and(|it| it.listing == Listing::Allow);
            let verdict = if is_allowed(outer) && !is_allowed(own) { outer } else { own };
            cuts.cut(first, verdict);
            open.push((last, verdict));
        }
        close(&mut open, None, &mut cuts);
        let (starts, verdicts) = (cuts.starts.into_boxed_slice(), cuts.verdicts.into_boxed_slice());
        let mut levels: Vec<Box<[T]>> = Vec::new();
        while levels.last().unwrap_or(&starts).len() > Self::BLOCK {
            let below = levels.last().unwrap_or(&starts);
            levels.push(below.iter().copied().step_by(Self::BLOCK).collect());
        }
        levels.reverse();
        Self { starts, verdicts, levels: levels.into_boxed_slice() }
    }

    /// Returns the verdict on an address.
    #[inline]
    fn find(&self, address: T) -> Option<Listed> {
        let mut at = 0;
        for level in self.levels.iter().chain([&self.starts]) {
            let from = at * Self::BLOCK;
            let block = &level[from..level.len().min(from + Self::BLOCK)];
            // Counts all without a branch: where the address stands in a block cannot be foreseen. The first start of a
            // block is never above the address, because the level above led here.
            at = from + block.iter().map(|start| usize::from(*start <= address)).sum::<usize>() - 1;
        }
        self.verdicts[at].listed()
    }

    /// Returns the bytes of all levels.
    fn bytes(&self) -> usize {
        let starts: usize = self.levels.iter().chain([&self.starts]).map(|level| size_of_val(&**level)).sum();
        starts + size_of_val(&*self.verdicts)
    }
}

/// Spans on their way.
struct Cuts<T> {
    starts: Vec<T>,
    verdicts: Vec<Verdict>,
}

impl<T: Bits> Cuts<T> {
    /// Says that the verdict holds from an address on, which is no lower than the last one.
    fn cut(&mut self, start: T, verdict: Verdict) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.verdicts.pop();
        }
        if self.verdicts.last() != Some(&verdict) {
            self.starts.push(start);
            self.verdicts.push(verdict);
        }
    }
}

/// Ends the ranges that end before an address, or all.
fn close<T: Bits>(open: &mut Vec<(T, Verdict)>, before: Option<T>, cuts: &mut Cuts<T>) {
    while let Some((last, _)) = open.pop_if(|(last, _)| before.is_none_or(|before| *last < before)) {
        if let Some(next) = last.next() {
            cuts.cut(next, open.last().map_or(Verdict::NONE, |(_, verdict)| *verdict));
        }
    }
}

/// Allow and deny lists of exact values of one attribute, such as users or user agents.
///
/// A value that stands in both lists is allowed. Of equal entries of a list the first counts. Values are hashed with
/// secrets of the lists' own, so nobody can choose values that collide.
///
/// # Examples
///
/// ```
/// use tollgate::policy::{Listing, ValueLists};
///
/// let agents = ValueLists::new([(Listing::Deny, "BadBot/1.0"), (Listing::Allow, "Monitor")])?;
/// assert_eq!(agents.find("BadBot/1.0").map(|listed| listed.listing()), Some(Listing::Deny));
/// assert_eq!(agents.find("Monitor").map(|listed| listed.entry()), Some(1));
/// assert_eq!(agents.find("badbot/1.0"), None);
/// # Ok::<(), tollgate::policy::ListError>(())
/// ```
pub struct ValueLists {
    values: HashMap<Box<str>, Listed, ahash::RandomState>,
}

impl ValueLists {
    /// Makes lists of these entries.
    ///
    /// # Errors
    ///
    /// [`ListError::TooMany`] beyond 2^31 - 1 entries.
    ///
    /// # Examples
    ///
    /// See [`ValueLists`].
    pub fn new<T: Into<Box<str>>>(entries: impl IntoIterator<Item = (Listing, T)>) -> Result<Self, ListError> {
        let mut values: HashMap<Box<str>, Listed, _> = HashMap::with_hasher(ahash::RandomState::new());
        for (idx, (listing, value)) in entries.into_iter().enumerate() {
            let listed = Listed { listing, entry: entry_number(idx)? };
            let present = values.entry(value.into()).or_insert(listed);
            if listing == Listing::Allow && present.listing == Listing::Deny {
                *present = listed;
            }
        }
        values.shrink_to_fit();
        Ok(Self { values })
    }

    /// Returns what the lists say of a value.
    ///
    /// # Cost
    ///
    /// Hashes the value: bound its length before.
    ///
    /// # Examples
    ///
    /// See [`ValueLists`].
    #[must_use]
    pub fn find(&self, value: &str) -> Option<Listed> {
        self.values.get(value).copied()
    }
}

impl fmt::Debug for ValueLists {
    /// Leaves the entries out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueLists").field("len", &self.values.len()).finish_non_exhaustive()
    }
}

/// Why lists were not built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListError {
    /// A text is no range.
    Range {
        /// Its place among the texts, from 0 on.
        idx: usize,
        /// The text, cut after 64 characters.
        text: String,
        /// What is wrong with it.
        error: RangeError,
    },
    /// There are more entries than can be numbered.
    TooMany,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { idx, text, error } => write!(f, "entry {idx}, {text:?}: {error}"),
            Self::TooMany => write!(f, "more than {} entries: leave some out", MOST_ENTRIES),
        }
    }
}

impl std::error::Error for ListError {}

/// How many entries can be numbered: the number of the last one would look like no entry.
const MOST_ENTRIES: u32 = Verdict::DENY - 1;

/// Returns the number of an entry.
fn entry_number(idx: usize) -> Result<u32, ListError> {
    u32::try_from(idx).ok().filter(|idx| *idx < MOST_ENTRIES).ok_or(ListError::TooMany)
}

/// Returns as much of a text as an error should show.
fn excerpt(text: &str) -> String {
    text.chars().take(64).collect()
}
