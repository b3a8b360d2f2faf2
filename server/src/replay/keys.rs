//! The distinct keys of a log, exactly, each with a number.

use ahash::RandomState;
use hashbrown::HashTable;

/// Numbers keys in the order in which they are first seen.
///
/// The keys stand one after the other in one text, so that millions of short ones cost little more than their bytes.
#[derive(Debug, Default)]
pub(super) struct Keys {
    text: Vec<u8>,
    /// Where each key ends; it begins where the one before ends.
    ends: Vec<usize>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl Keys {
    /// Returns the number of a key; `None` when there are more keys than numbers.
    pub(super) fn number(&mut self, key: &[u8]) -> Option<u32> {
        let Self { text, ends, numbers, hasher } = self;
        let hash = hasher.hash_one(key);
        if let Some(number) = numbers.find(hash, |number| slice(text, ends, *number) == key) {
            return Some(*number);
        }
        let number = u32::try_from(ends.len()).ok()?;
        text.extend_from_slice(key);
        ends.push(text.len());
        numbers.insert_unique(hash, number, |number| hasher.hash_one(slice(text, ends, *number)));
        Some(number)
    }

    /// Returns how many keys there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the key of a number that was handed out.
    pub(super) fn key(&self, number: u32) -> &[u8] {
        slice(&self.text, &self.ends, number)
    }
}

/// Returns the key of a number.
fn slice<'a>(text: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let idx = number as usize;
    let start = if idx == 0 { 0 } else { ends[idx - 1] };
    &text[start..ends[idx]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_one_number() {
        let mut keys = Keys::default();
        let texts: Vec<Vec<u8>> = (0..5000_u32).map(|n| n.to_string().into_bytes()).chain([Vec::new()]).collect();
        for _ in 0..2 {
            for (expected, text) in (0..).zip(&texts) {
                assert_eq!(keys.number(text), Some(expected));
            }
        }
        assert_eq!(keys.len(), texts.len());
        assert!((0..).zip(&texts).all(|(number, text)| keys.key(number) == text));
    }
}
