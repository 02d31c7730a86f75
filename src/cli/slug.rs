//! `agent-test slug`.

use serde_json::json;

use super::{Context, parse_route};
use crate::exit::{Exit, Failure};
use crate::route::Slug;
use crate::state::{REPORTS_DIR, SCREENSHOTS_DIR};

/// Which route.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The route, in the campaign or not
    #[arg(value_name = "ROUTE")]
    route: String,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let route = parse_route(&args.route)?;
    let project = context.project();
    // Two routes of a campaign may not share a slug, so the campaign decides where there is one.
    let slug = if project.has_state() { project.read()?.slug(&route) } else { Slug::of(&route) };
    context.answer(
        json!({
            "route": route,
            "slug": slug,
            "reportFile": format!("{REPORTS_DIR}/{slug}.json"),
            "bugReportFile": format!("{REPORTS_DIR}/{slug}-bugs.md"),
            "screenshotsDir": format!("{SCREENSHOTS_DIR}/{slug}/"),
        }),
        slug.as_str(),
    )
}
