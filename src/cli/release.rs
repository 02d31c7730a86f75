//! `agent-test release`.

use serde_json::json;

use super::Context;
use crate::exit::{Exit, Failure};

/// Which lease.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Token of the lease
    #[arg(long, value_name = "TOKEN")]
    token: String,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let route = context.project().release(&args.token)?;
    let text = match &route {
        Some(route) => format!("released  {route}"),
        None => "unchanged there is no lease under this token".to_owned(),
    };
    context.answer(json!({ "route": route, "changed": route.is_some() }), text)
}
