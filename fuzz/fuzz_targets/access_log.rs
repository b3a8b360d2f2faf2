//! Reads access logs of any bytes: none makes it panic, and an entry holds nothing but parts of its line.
#![no_main]

#[allow(dead_code, reason = "the server uses the rest")]
#[path = "../../server/src/access_log/mod.rs"]
mod access_log;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|log: &[u8]| {
    for line in log.split(|byte| *byte == b'\n') {
        match access_log::parse_line(line) {
            Ok(entry) => {
                for part in [entry.host, entry.user, entry.request, entry.path()] {
                    assert!(line.windows(part.len().max(1)).any(|window| window == part) || part.is_empty());
                }
                assert!(entry.status.is_none_or(|status| status < 1_000), "{entry:?}");
                assert_eq!(access_log::parse_line(line), Ok(entry));
                assert!(access_log::shown_time(entry.unix_seconds).is_ascii());
            }
            Err(malformed) => assert!(!malformed.to_string().is_empty()),
        }
    }
});
