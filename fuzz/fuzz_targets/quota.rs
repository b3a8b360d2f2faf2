//! Reads quotas from any text: none makes it panic, and what is written is read back.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use tollgate::Quota;

fuzz_target!(|text: &str| -> Corpus {
    match text.parse::<Quota>() {
        Ok(quota) => {
            let written = quota.to_string();
            assert_eq!(written.parse(), Ok(quota), "{text:?} was written as {written:?}");
            assert_eq!(written.parse().map(|again: Quota| again.to_string()), Ok(written));
        }
        Err(refused) => assert!(!refused.to_string().contains(char::is_control), "{refused:?}"),
    }
    Corpus::Keep
});
