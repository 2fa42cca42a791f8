//! The binary: parse, call, print the error chain, give the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    agenteval::cli::main().into()
}
