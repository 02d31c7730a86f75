//! `agent-test requeue`.

use super::{Context, parse_routes};
use crate::exit::{Exit, Failure};

/// Which completed routes; their reports are kept as earlier versions.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Completed routes
    #[arg(required = true, value_name = "ROUTE")]
    routes: Vec<String>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let moved = context.project().requeue(&parse_routes(&args.routes)?)?;
    super::moved(context, "requeued", &moved, "every one of these routes is pending already")
}
