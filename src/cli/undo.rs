//! `agent-test undo`.

use super::Context;
use crate::exit::{Exit, Failure};

/// Take the last transition back
///
/// Refused when what it touched was changed since. Reports are never deleted by it. Doing it again takes back the
/// transition before.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only say what would be taken back
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let undone = context.project().undo(args.dry_run)?;
    let routes: Vec<String> = undone.routes.iter().map(ToString::to_string).collect();
    let word = if undone.done { "undone   " } else { "would undo" };
    let mut text =
        format!("{word} {} (number {}, by {}) {}", undone.event, undone.transition, undone.by, routes.join(" "));
    for file in &undone.restored {
        text.push_str(&format!("\n{} {file}", if undone.done { "put back " } else { "would put back" }));
    }
    let document = serde_json::to_value(&undone)
        .map_err(|error| Failure::engine("internal", format!("cannot write what was undone: {error}")))?;
    context.answer(document, text.trim_end())
}
