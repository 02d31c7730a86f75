//! `agent-test heartbeat`.

use serde_json::json;

use super::Context;
use crate::exit::{Exit, Failure};
use crate::state::{parse_lease, stamp};

/// Which lease, and for how long.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Token of the lease
    #[arg(long, value_name = "TOKEN")]
    token: String,
    /// How long from now, such as 90s, 15m or 1h (default: as long as it was claimed for)
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let lease = args.lease.as_deref().map(parse_lease).transpose();
    let lease = lease.map_err(|problem| Failure::usage("bad_argument", format!("--lease: {problem}")))?;
    let (route, end) = context.project().heartbeat(&args.token, lease)?;
    context.answer(json!({ "route": route, "expiresAt": end }), format!("{route} is held until {}", stamp(end)))
}
