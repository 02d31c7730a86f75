//! `agent-test add`.

use serde_json::json;

use super::{Context, parse_routes};
use crate::exit::{Exit, Failure};

/// Routes to take in.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Routes, such as `/settings/general`
    #[arg(required = true, value_name = "ROUTE")]
    routes: Vec<String>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let routes = parse_routes(&args.routes)?;
    let result = context.project().add(&routes)?;
    let mut text: Vec<String> = result.changed.iter().map(|route| format!("added     {route}")).collect();
    text.extend(result.unchanged.iter().map(|route| format!("unchanged {route} (in the campaign already)")));
    context.answer(json!({ "added": result.changed, "unchanged": result.unchanged }), text.join("\n"))
}
