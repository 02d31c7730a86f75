//! `agent-test fail`.

use serde_json::json;

use super::{Context, parse_route, required_text};
use crate::exit::{Exit, Failure};

/// Which route, and why.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The route
    #[arg(value_name = "ROUTE")]
    route: String,
    /// Why it could not be tested
    #[arg(long, value_name = "TEXT")]
    error: String,
    /// Token of the lease; needed while the lease lives
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let route = parse_route(&args.route)?;
    let error = required_text("--error", &args.error)?;
    let changed = context.project().fail(&route, error, args.token.as_deref())?;
    let text = if changed { format!("failed    {route}") } else { format!("unchanged {route} had failed so before") };
    context.answer(json!({ "route": route, "error": error, "changed": changed }), text)
}
