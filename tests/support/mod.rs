//! What several test files need.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod oracle;
pub(crate) mod quotas;
pub(crate) mod trace;
