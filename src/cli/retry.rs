//! `agent-test retry`.

use super::{Context, parse_routes};
use crate::exit::{Exit, Failure};

/// Which failed routes.
#[derive(clap::Args, Debug)]
#[group(required = true)]
pub(crate) struct Args {
    /// Failed routes
    #[arg(value_name = "ROUTE", conflicts_with = "all")]
    routes: Vec<String>,
    /// Every failed route
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let moved = context.project().retry(&parse_routes(&args.routes)?)?;
    super::moved(context, "retried", &moved, "no route of these has failed")
}
