//! `agent-test resume`: where the campaign stands, then on from there.

use super::Context;
use super::run::CrewArgs;
use crate::exit::{Exit, Failure};

/// Say where the campaign stands and go on from there
///
/// The same as `agent-test run` after `agent-test status`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only say where it stands and what comes next
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    crew: CrewArgs,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let standing = context.project().standing()?;
    if args.plan {
        return context.standing(&standing);
    }
    if context.ui.is_json() {
        context.warn_of(&standing);
    } else {
        context.standing(&standing)?;
    }
    super::run::go_on(context, &args.crew)
}
