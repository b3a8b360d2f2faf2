//! Why the program ends with anything but success.

use std::fmt;
use std::process::ExitCode;

/// What went wrong, in one line, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// Blames the command line: exit code 2.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// Blames the world: exit code 1.
    pub(crate) fn io(message: impl fmt::Display) -> Self {
        Self { code: 1, message: message.to_string() }
    }

    /// Prints the line on the standard error stream and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        use std::io::Write;
        // Nobody is left to be told if this fails too.
        let _ = writeln!(std::io::stderr(), "tollgate: {}", one_line(&self.message));
        ExitCode::from(self.code)
    }
}

/// Returns a text on one line, with nothing in it that could command a terminal.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    printable(&words.join(" "))
}

/// Returns a text with its control characters replaced.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if is_unprintable(c) { '\u{fffd}' } else { c }).collect()
}

/// Tells whether a character controls the terminal or the direction of its text.
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fit_a_line_and_command_nothing() {
        assert_eq!(one_line("a\n  b\t\x1b[31mc\u{202e}d"), "a b \u{fffd}[31mc\u{fffd}d");
    }
}
