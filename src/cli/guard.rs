//! `agent-test __guard DIR` (hidden): the guard process of a driver. People have no use for it.

use std::path::PathBuf;

use crate::exit::{Exit, Failure};

/// Ends a driver's browsers when the process that started this one is gone (used by the program itself).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The driver's directory
    dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    crate::browser::driver::serve_guard(&args.dir)
        .map(|()| Exit::Ok)
        .map_err(|error| Failure::engine("guard_failed", format!("cannot stand guard: {error}")))
}
