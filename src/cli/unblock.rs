//! `agent-test unblock`.

use serde_json::json;

use super::Context;
use crate::exit::{Exit, Failure};

/// Takes no arguments.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(context: &Context, _: Args) -> Result<Exit, Failure> {
    let changed = context.project().unblock()?;
    let text = if changed { "the campaign goes on" } else { "the campaign was not blocked" };
    context.answer(json!({ "changed": changed }), text)
}
