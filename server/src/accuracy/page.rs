//! The page: tables in Markdown, around the picture.

use std::fmt::Write;
use std::path::Path;

use crate::accuracy::Comparison;
use crate::accuracy::search;
use crate::accuracy::traffic::{ATTACKS, HASTE, Traffic, ZIPF_KEYS, ZIPF_PERIODS};
use crate::cli::AccuracyOptions;
use crate::failure::one_line;

/// Returns the page in Markdown.
pub(super) fn page(comparison: &Comparison, options: &AccuracyOptions) -> String {
    let (quota, limit) = (&comparison.quota, comparison.quota.limit());
    let mut text = format!(
        "# How accurate each algorithm is\n\n\
         How much passes when the limit is {quota} for each key (L = {limit}): at most, as proven; in the worst case that a\n\
         search found; and on traffic. The last part tells how often each decides otherwise than an exact log would.\n\n\
         ![Requests passed over time, and the most in a period]({})\n\n## The most in any one period\n\n",
        link(&options.svg, &options.markdown)
    );
    write_most(&mut text, comparison);
    let _ = write!(
        text,
        "\nA period here has one of its two ends: a request that is exactly a period old counts no longer, as in the log. The\n\
         burst b of the buckets is the limit. The bounds hold for a clock that never steps back.\n\n\
         ## How the worst is reached\n\n"
    );
    write_worst(&mut text, comparison);
    let _ = write!(
        text,
        "\nTimes are in periods since the limiter began. The search climbs from random schedules of up to {} bursts and even\n\
         trains of requests of one client, by random changes, and tries at most {} of them on the library's own limiter.\n\
         Where the bound is reached, {} are enough. What a schedule does without is left out afterwards.\n\n\
         ## Against an exact log\n\n",
        search::MOST_TRAINS,
        search::MOST_TRIED,
        search::LEAST_TRIED
    );
    write_errors(&mut text, comparison);
    write_notes(&mut text, comparison);
    let _ = write!(text, "\nThis page and its picture are made by\n\n```sh\n{}\n```\n", command(options));
    text
}

/// Writes the table of bounds and of the most that passed.
fn write_most(text: &mut String, comparison: &Comparison) {
    let Comparison { traffics, rows, .. } = comparison;
    let titles = traffics.iter().map(|traffic| traffic.title.to_owned());
    let head = ["algorithm", "bound", "that is", "worst found"].map(str::to_owned);
    write_row(text, head.into_iter().chain(titles));
    write_row(text, ["---", "---"].into_iter().chain(vec!["--:"; 2 + traffics.len()]).map(str::to_owned));
    for row in rows {
        let figures = [row.contender.choice.name().to_owned(), row.contender.formula.to_owned()];
        let counts = [row.bound, row.worst.most].into_iter().chain(row.errors.iter().map(|errors| errors.most));
        write_row(text, figures.into_iter().chain(counts.map(|count| count.to_string())));
    }
}

/// Writes the table of the worst schedules.
fn write_worst(text: &mut String, comparison: &Comparison) {
    write_row(text, ["algorithm", "why no more can pass", "requests that reach the worst found"].map(str::to_owned));
    write_row(text, ["---"; 3].map(str::to_owned));
    for row in &comparison.rows {
        let schedule = row.worst.schedule.shown(&comparison.quota);
        write_row(text, [row.contender.choice.name().to_owned(), row.contender.reason.to_owned(), schedule]);
    }
}

/// Writes the table of errors.
fn write_errors(text: &mut String, comparison: &Comparison) {
    let Comparison { traffics, rows, .. } = comparison;
    let titles =
        traffics.iter().flat_map(|Traffic { title, .. }| [format!("{title}: wrongly admitted"), "denied".to_owned()]);
    write_row(text, ["algorithm".to_owned()].into_iter().chain(titles));
    write_row(text, ["---"].into_iter().chain(vec!["--:"; 2 * traffics.len()]).map(str::to_owned));
    for row in rows {
        let shares = row.errors.iter().flat_map(|errors| {
            [errors.wrongly_admitted, errors.wrongly_denied].map(|count| percent(count, errors.offered))
        });
        write_row(text, [row.contender.choice.name().to_owned()].into_iter().chain(shares));
    }
}

/// Writes what an error is and what the traffics are.
fn write_notes(text: &mut String, comparison: &Comparison) {
    let limit = comparison.quota.limit();
    let _ = write!(
        text,
        "\nIn per cent of all requests offered. The algorithm and the exact log decide on the same requests, each by what it\n\
         let pass itself. *Wrongly admitted* passed and was denied by the log; *wrongly denied* was denied and passed the log.\n\n\
         - **adversary**: one key, {ATTACKS} attacks, one at every second edge of the windows: {limit} requests in the last\n  \
         1/{HASTE} of a period before it and {limit} in the first 1/{HASTE} after, evenly ({} in all).\n\
         - **Zipf**: {ZIPF_KEYS} keys by Zipf's law with exponent 1, at random moments of {ZIPF_PERIODS} periods, twice as many\n  \
         requests as all keys together may spend ({} in all).\n",
        2 * limit * ATTACKS,
        2 * limit * ZIPF_KEYS * ZIPF_PERIODS
    );
    if let Some(log) = comparison.traffics.get(2) {
        let requests = log.requests.len();
        let _ = writeln!(
            text,
            "- **real log**: the {requests} requests of the access log named below, each address a key; its times are whole\n  \
             seconds."
        );
    }
}

/// Writes a row of a table.
fn write_row(text: &mut String, cells: impl IntoIterator<Item = String>) {
    for cell in cells {
        let _ = write!(text, "| {cell} ");
    }
    text.push_str("|\n");
}

/// Returns a share in per cent, rounded to hundredths.
fn percent(part: u64, all: u64) -> String {
    let hundredths = (part * 10_000 + all / 2) / all.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Returns where the page finds the picture: by its name alone if it lies beside the page.
fn link(picture: &Path, page: &Path) -> String {
    let shown = if picture.parent() == page.parent() { name(picture) } else { one_line(&picture.to_string_lossy()) };
    // In angle brackets, a link may have blanks.
    if shown.contains([' ', '(', ')']) { format!("<{shown}>") } else { shown }
}

/// Returns the command that makes the page, in the folder of each file.
fn command(options: &AccuracyOptions) -> String {
    let log = options.log.as_deref().map_or_else(String::new, |log| format!(" --log {}", quoted(&name(log))));
    let (limit, svg, markdown) = (&options.limit, quoted(&name(&options.svg)), quoted(&name(&options.markdown)));
    format!("tollgate accuracy --limit {}{log} --svg {svg} --markdown {markdown}", quoted(&limit.to_string()))
}

/// Returns the name of a file without its folder, so that the page is the same wherever it is made.
fn name(path: &Path) -> String {
    one_line(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

/// Returns a word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
