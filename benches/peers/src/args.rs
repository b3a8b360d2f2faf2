//! The command line.

use crate::workload::{MORE, PLAIN, Scale};

/// What `--help` prints.
const HELP: &str = "\
Measures tollgate beside the rate limiters its users would take instead.

Usage: tollgate-peers [options]

  --quick            five contenders at six workloads, under a minute
  --json             one JSON object a line instead of tables
  --workload NAME    only this workload; may be repeated
  --contender NAME   only this contender; may be repeated
  --tiny             everything in miniature, to see that it runs; the figures say nothing
  --help             this text

Times are nanoseconds per check and thread: elapsed time x threads / checks, the median of
interleaved rounds. Progress goes to stderr.
";

/// What the command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Args {
    /// Whether to write JSON.
    pub(crate) json: bool,
    /// Whether to run the quick part alone.
    pub(crate) quick: bool,
    /// Whether to run in miniature.
    pub(crate) tiny: bool,
    workloads: Vec<String>,
    contenders: Vec<String>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Measure.
    Run(Args),
    /// Print the help.
    Help(&'static str),
    /// Fill a table and print how much memory it took; the program runs itself so.
    MeasureMemory {
        /// The contender.
        contender: String,
        /// Its kind of keys.
        kind: String,
        /// How many keys.
        keys: u32,
    },
}

/// The hidden first argument of [`Command::MeasureMemory`].
pub(crate) const MEASURE_MEMORY: &str = "measure-memory";

/// Reads the command line, or returns what is wrong with it.
pub(crate) fn read(mut words: impl Iterator<Item = String>, known: &[&str]) -> Result<Command, String> {
    let mut args = Args::default();
    let mut is_first = true;
    while let Some(word) = words.next() {
        match word.as_str() {
            MEASURE_MEMORY if is_first => return memory(words),
            "--json" => args.json = true,
            "--quick" => args.quick = true,
            "--tiny" => args.tiny = true,
            "--workload" => args.workloads.push(words.next().ok_or("--workload needs a name")?),
            "--contender" => args.contenders.push(words.next().ok_or("--contender needs a name")?),
            "--help" | "-h" => return Ok(Command::Help(HELP)),
            _ => return Err(format!("unknown argument '{word}', see --help")),
        }
        is_first = false;
    }
    args.validate(known)?;
    Ok(Command::Run(args))
}

/// Reads what is to be measured in a process of its own.
fn memory(mut words: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut next = || words.next().ok_or("a contender, a kind of keys and a number of keys are needed");
    let (contender, kind, keys) = (next()?, next()?, next()?);
    let keys = keys.parse().map_err(|_| format!("'{keys}' is no number of keys"))?;
    Ok(Command::MeasureMemory { contender, kind, keys })
}

impl Args {
    /// Returns how large everything is to be.
    pub(crate) fn scale(&self) -> Scale {
        match (self.tiny, self.quick) {
            (true, _) => Scale::TINY,
            (false, true) => Scale::QUICK,
            (false, false) => Scale::FULL,
        }
    }

    /// Tells whether a workload is asked for.
    pub(crate) fn takes_workload(&self, name: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|asked| asked == name)
    }

    /// Tells whether a contender is asked for.
    pub(crate) fn takes_contender(&self, name: &str) -> bool {
        self.contenders.is_empty() || self.contenders.iter().any(|asked| asked == name)
    }

    /// Refuses names that nothing has.
    fn validate(&self, known: &[&str]) -> Result<(), String> {
        if let Some(asked) = self.workloads.iter().find(|asked| !self.has_workload(asked)) {
            let run = if self.quick { "quick" } else { "full" };
            return Err(format!("the {run} run has no workload '{asked}'"));
        }
        match self.contenders.iter().find(|asked| !known.contains(&asked.as_str())) {
            Some(asked) => Err(format!("there is no contender '{asked}'")),
            None => Ok(()),
        }
    }

    /// Tells whether the run that is asked for has a workload.
    fn has_workload(&self, name: &str) -> bool {
        let mut integers = PLAIN.iter().map(|workload| workload.names.0);
        let strings = PLAIN.iter().filter_map(|workload| workload.names.1);
        let mut full = strings.chain(MORE);
        integers.any(|known| known == name) || (!self.quick && full.any(|known| known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a line.
    fn line(text: &str) -> Result<Command, String> {
        read(text.split_whitespace().map(str::to_owned), &["governor"])
    }

    #[test]
    fn a_line_is_understood() {
        let Ok(Command::Run(args)) = line("--json --quick --workload hot --contender governor") else {
            panic!("a sound line");
        };
        assert!(args.json && args.quick && !args.tiny);
        assert!(args.takes_workload("hot") && !args.takes_workload("denied"));
        assert!(args.takes_contender("governor") && !args.takes_contender("floor"));
    }

    #[test]
    fn what_is_unknown_is_named() {
        for (text, named) in [
            ("--fast", "--fast"),
            ("--workload", "--workload"),
            ("--workload cold", "cold"),
            ("--quick --workload churn", "churn"),
            ("--quick --workload hot-string", "hot-string"),
            ("--contender nobody", "nobody"),
            ("measure-memory governor integer many", "many"),
        ] {
            let refused = line(text).expect_err(text);
            assert!(refused.contains(named), "{text}: {refused}");
        }
    }
}
