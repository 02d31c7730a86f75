//! Parses, runs, and turns the outcome into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    agent_test::cli::main().into()
}
