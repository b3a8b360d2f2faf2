//! The program tollgate; see [`tollgate_server`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate_server::run(std::env::args_os())
}
