//! The block: a key that is denied until a tick, whatever it spent.

use crate::algorithm::{Ask, Pure, Step};
use crate::clock::Tick;
use crate::decision::Decision;

/// A word that holds one more than the tick until which its key is blocked.
///
/// [`Ask::Charge`] blocks for so many nanoseconds, or longer if the key is blocked for longer; [`Ask::Refund`] lifts the
/// block. A verdict is the time that is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block;

impl Pure for Block {
    type Verdict = u64;

    fn rested(&self) -> u64 {
        1
    }

    #[inline(always)]
    fn spend(&self, word: u64, now: Tick, _cost: u64) -> Step<u64> {
        // The last tick of all never comes.
        let left_ns = if word == Tick::MAX.as_nanos() { u64::MAX - 1 } else { word.saturating_sub(now.as_nanos() + 1) };
        Step::Keep(left_ns)
    }

    fn adjust(&self, word: u64, now: Tick, ask: Ask) -> Step<u64> {
        match ask {
            Ask::Charge(span_ns) => {
                let until = now.as_nanos().saturating_add(span_ns).saturating_add(1);
                Step::Set(until.min(Tick::MAX.as_nanos()).max(word), span_ns)
            }
            Ask::Refund(_) if word > 0 => Step::Set(self.rested(), 0),
            _ => self.spend(word, now, 0),
        }
    }

    fn blocked(&self, _wait_ns: u64) -> u64 {
        0
    }

    fn decision(&self, left_ns: u64) -> Decision {
        Decision { allowed: left_ns == 0, limit: 0, remaining: 0, reset_after_ns: left_ns, wait_ns: left_ns }
    }

    fn convert(&self, word: u64, _now: Tick, _from: &Self) -> u64 {
        word
    }

    #[inline]
    fn is_idle(&self, word: u64, now: Tick) -> bool {
        word < Tick::MAX.as_nanos() && word <= now.as_nanos() + 1
    }
}
