//! Where a log comes from: a file or the standard input, plain or compressed.

use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// The first two bytes of everything that gzip has made.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A log that is open.
pub(crate) struct Input {
    /// The text of the log, decompressed.
    pub(crate) text: Box<dyn Read>,
    /// Shows how much of the file has been read, if somebody watches.
    pub(crate) progress: ProgressBar,
    /// What errors call the log.
    pub(crate) name: String,
    is_compressed: bool,
}

/// Opens a log; `-` is the standard input.
pub(crate) fn open(path: &Path) -> Result<Input, Failure> {
    let is_stdin = path.as_os_str() == "-";
    let name = if is_stdin { "the standard input".to_owned() } else { path.display().to_string() };
    let (raw, size): (Box<dyn Read>, Option<u64>) = if is_stdin {
        (Box::new(io::stdin()), None)
    } else {
        let file = File::open(path).map_err(|error| Failure::io(format_args!("cannot open {name}: {error}")))?;
        let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        (Box::new(file), size)
    };
    let progress = progress(size);
    let mut raw = progress.wrap_read(raw);
    let head = head(&mut raw).map_err(|error| Failure::io(format_args!("cannot read {name}: {error}")))?;
    let is_compressed = head == GZIP;
    let raw = Cursor::new(head).chain(raw);
    let text: Box<dyn Read> = if is_compressed {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, raw)))
    } else {
        Box::new(raw)
    };
    Ok(Input { text, progress, name, is_compressed })
}

impl Input {
    /// Says why the text could not be read to its end.
    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        let name = &self.name;
        match error.kind() {
            ErrorKind::UnexpectedEof if self.is_compressed => {
                Failure::io(format_args!("cannot read {name}: the gzip file is cut short"))
            }
            ErrorKind::InvalidData | ErrorKind::InvalidInput if self.is_compressed => {
                Failure::io(format_args!("cannot read {name}: the gzip file is corrupt: {error}"))
            }
            _ => Failure::io(format_args!("cannot read {name}: {error}")),
        }
    }
}

/// Reads the first two bytes, or as many as there are.
fn head(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(GZIP.len());
    raw.take(GZIP.len() as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Returns a bar that shows how much of a file has been read; nobody sees it unless the standard error is a terminal.
fn progress(size: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match size {
        Some(size) => (ProgressBar::new(size), "reading {bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}"),
        None => (ProgressBar::new_spinner(), "reading {spinner} {bytes} {bytes_per_sec}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
