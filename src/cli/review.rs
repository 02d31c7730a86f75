//! `agent-test review complete` and `agent-test review fail`.

use std::path::PathBuf;

use serde_json::json;

use super::{Context, parse_route, required_text};
use crate::exit::{Exit, Failure};
use crate::state::MAX_REVIEWS;

/// How the review ended.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    outcome: Outcome,
}

#[derive(clap::Subcommand, Debug)]
enum Outcome {
    /// Hand in a route's bug report
    Complete {
        /// The route
        #[arg(value_name = "ROUTE")]
        route: String,
        /// Its bug report (Markdown)
        #[arg(long, value_name = "FILE")]
        bug_report: PathBuf,
        /// Token of the lease; needed while the lease lives
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
    },
    /// Note that a route could not be reviewed
    Fail {
        /// The route
        #[arg(value_name = "ROUTE")]
        route: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        error: String,
        /// Token of the lease; needed while the lease lives
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
    },
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let project = context.project();
    match args.outcome {
        Outcome::Complete { route, bug_report, token } => {
            let route = parse_route(&route)?;
            let changed = project.review_complete(&route, &context.file(&bug_report), token.as_deref())?;
            let text = if changed {
                format!("reviewed  {route}")
            } else {
                format!("unchanged {route} was reviewed so before")
            };
            context.answer(json!({ "route": route, "reviewStatus": "review_complete", "changed": changed }), text)
        }
        Outcome::Fail { route, error, token } => {
            let route = parse_route(&route)?;
            let error = required_text("--error", &error)?;
            let attempts = project.review_fail(&route, error, token.as_deref())?;
            let again = if attempts < MAX_REVIEWS { "it will be tried again" } else { "it is not tried again" };
            context.answer(
                json!({ "route": route, "reviewStatus": "review_failed", "attempts": attempts, "changed": true }),
                format!("the review of {route} failed ({attempts} of {MAX_REVIEWS}): {again}"),
            )
        }
    }
}
