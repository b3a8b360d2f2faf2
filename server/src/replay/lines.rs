//! The lines of a text, whatever their length, in bounded memory.

use std::io::{self, ErrorKind, Read};

use memchr::memchr;

use crate::access_log::MAX_LINE;

/// How much is read at a time; more than the longest line.
const CAPACITY: usize = 4 * MAX_LINE;

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    text: R,
    buffer: Vec<u8>,
    /// What has been read and not been handed out: from `start` to `end`.
    start: usize,
    end: usize,
    number: u64,
    is_over: bool,
}

/// One line.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// The number of the line, the first being 1.
    pub(super) number: u64,
    /// The line without its end; of a line that is longer than [`MAX_LINE`] only as much as shows that.
    pub(super) bytes: &'a [u8],
}

impl<R: Read> Lines<R> {
    /// Starts at the first line.
    pub(super) fn new(text: R) -> Self {
        Self { text, buffer: vec![0; CAPACITY], start: 0, end: 0, number: 0, is_over: false }
    }

    /// Returns the next line.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = 0;
        loop {
            if let Some(found) = memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                let (from, to) = (self.start, self.start + searched + found);
                self.start = to + 1;
                return Ok(Some(self.line(from, to)));
            }
            searched = self.end - self.start;
            if self.is_over {
                let (from, to) = (self.start, self.end);
                self.start = to;
                return Ok((from < to).then(|| self.line(from, to)));
            }
            if searched > MAX_LINE + 1 {
                return self.overlong().map(Some);
            }
            self.fill()?;
        }
    }

    /// Counts the line between two places and returns it.
    fn line(&mut self, from: usize, to: usize) -> Line<'_> {
        self.number += 1;
        let bytes = &self.buffer[from..to];
        Line { number: self.number, bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes) }
    }

    /// Returns the beginning of a line that is too long, and passes over the rest of it.
    fn overlong(&mut self) -> io::Result<Line<'_>> {
        let kept = MAX_LINE + 1;
        self.buffer.copy_within(self.start..self.start + kept, 0);
        (self.start, self.end) = (kept, kept);
        loop {
            let read = self.read(kept)?;
            let fresh = &self.buffer[kept..kept + read];
            let found = memchr(b'\n', fresh);
            if let Some(found) = found {
                (self.start, self.end) = (kept + found + 1, kept + read);
            }
            if found.is_some() || self.is_over {
                return Ok(self.line(0, kept));
            }
        }
    }

    /// Moves what is left to the front and reads more behind it.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        self.end += self.read(self.end)?;
        Ok(())
    }

    /// Reads into the buffer from a place on and returns how much; nothing means that the text is over.
    fn read(&mut self, from: usize) -> io::Result<usize> {
        loop {
            match self.text.read(&mut self.buffer[from..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) => {
                    self.is_over = true;
                    return Ok(0);
                }
                outcome => return outcome,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that comes in pieces of a few bytes.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(self.0.len()).min(buffer.len());
            buffer[..size].copy_from_slice(&self.0[..size]);
            self.0 = &self.0[size..];
            Ok(size)
        }
    }

    /// Returns the numbers and lengths of all lines of a text that comes in pieces of a size.
    fn lengths(text: &[u8], piece: usize) -> Vec<(u64, usize)> {
        let mut lines = Lines::new(Trickle(text, piece));
        let mut lengths = Vec::new();
        while let Some(line) = lines.next().expect("a text that can be read") {
            lengths.push((line.number, line.bytes.len()));
        }
        lengths
    }

    #[test]
    fn lines_end_with_the_text_too() {
        for piece in [1, 2, 3, 100] {
            assert_eq!(lengths(b"", piece), []);
            assert_eq!(lengths(b"\n", piece), [(1, 0)]);
            assert_eq!(lengths(b"abc", piece), [(1, 3)]);
            assert_eq!(lengths(b"abc\r\n\nde\r", piece), [(1, 3), (2, 0), (3, 2)]);
        }
    }

    #[test]
    fn long_lines_are_cut_and_the_next_is_whole() {
        for (length, kept) in [
            (MAX_LINE - 1, MAX_LINE - 1),
            (MAX_LINE, MAX_LINE),
            (MAX_LINE + 1, MAX_LINE + 1),
            (CAPACITY - 1, MAX_LINE + 1),
            (CAPACITY, MAX_LINE + 1),
            (CAPACITY * 3 + 7, MAX_LINE + 1),
        ] {
            let mut text = vec![b'x'; length];
            text.extend_from_slice(b"\nabc\n");
            for piece in [1000, CAPACITY, MAX_LINE + 1] {
                let lengths = lengths(&text, piece);
                assert_eq!(lengths.len(), 2);
                assert_eq!(lengths[0].1.min(MAX_LINE + 1), kept, "{length} in pieces of {piece}");
                assert_eq!(lengths[1], (2, 3));
            }
        }
        assert_eq!(lengths(&vec![b'x'; CAPACITY * 2], 4096).len(), 1);
    }
}
