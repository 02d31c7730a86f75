//! `agent-test complete`.

use std::path::PathBuf;

use serde_json::json;

use super::{Context, counted, parse_route};
use crate::exit::{Exit, Failure};

/// Which route, with which report.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The route
    #[arg(value_name = "ROUTE")]
    route: String,
    /// Its report; brought to its place in monkey-test-reports/ when it lies elsewhere
    #[arg(long, value_name = "FILE")]
    report: PathBuf,
    /// Token of the lease; needed while the lease lives
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let route = parse_route(&args.route)?;
    let project = context.project();
    let done = project.hand_in(&route, &context.file(&args.report), args.token.as_deref())?;
    let entry = done.entry.as_ref();
    let status = entry.and_then(|entry| entry.status.clone());
    let bugs = entry.and_then(|entry| entry.bugs_count).unwrap_or(0);
    let text = if done.changed {
        format!("completed {route}: {}", counted(usize::try_from(bugs).unwrap_or(usize::MAX), "bug"))
    } else {
        format!("unchanged {route} was completed with this report before")
    };
    context.answer(
        json!({
            "route": route,
            "slug": done.slug,
            "changed": done.changed,
            "status": status,
            "bugsCount": bugs,
            "reportFile": entry.and_then(|entry| entry.report_file.clone()),
        }),
        text,
    )
}
