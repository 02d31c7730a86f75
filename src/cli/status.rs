//! `agent-test status`.

use super::Context;
use crate::exit::{Exit, Failure};

/// Takes no arguments.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(context: &Context, _: Args) -> Result<Exit, Failure> {
    let standing = context.project().standing()?;
    context.standing(&standing)
}
