//! `agent-test block`.

use serde_json::json;

use super::Context;
use crate::exit::{Exit, Failure};

/// Why nothing can go on.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Why nothing can go on, for example `login answers 502`
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let reason = super::required_text("--reason", &args.reason)?;
    let changed = context.project().block(reason)?;
    context.answer(json!({ "blockedReason": reason, "changed": changed }), format!("blocked: {reason}"))
}
