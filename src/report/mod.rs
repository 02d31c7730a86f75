//! What people read of a campaign: bug reports per route, FINAL-REPORT as Markdown and HTML, and JUnit.
//!
//! Everything here is a function from values to text. The campaign's room gathers a [`CampaignInput`] from the state and
//! the files; [`Aggregate::new`] reviews every route and counts everything once; the renderers only print what stands
//! in the aggregate. So the formats cannot disagree about a number.
//!
//! Invariants:
//! * every bug has one id, unique in the campaign, and stands in exactly one group; a group has one severity;
//! * a total is the sum of the routes' numbers, whatever a report claims in its own counts;
//! * text that came from a page is data: escaped for its format, shortened where it is long, never a link or a path;
//! * a screenshot is named by a plain file name in its route's folder; any other name is reported, never opened.

mod aggregate;
mod cases;
mod error;
mod final_md;
mod html;
mod input;
mod junit;
mod markdown;
mod outside;
mod review;
mod route_md;
mod tally;

pub use aggregate::{Aggregate, BugGroup, RoutePart, Totals};
pub use cases::{Case, CaseEnd, junit_of_cases};
pub use error::ReportError;
pub use final_md::final_markdown;
pub use html::{EMBED_LIMIT_BYTES, final_html};
pub use input::{CampaignInput, FailedRoute, REPORT_MISSING, ReviewStatus, RouteInput};
pub use junit::junit;
pub use review::{BugSource, Level, ReviewedBug, RouteReview, review};
pub use route_md::bugs_markdown;
pub use tally::{BugCounts, coverage_of, operations_of};

/// The line by which a final report says which state of the campaign it reports on.
#[must_use]
pub fn digest_line(digest: &str) -> String {
    let word: String = digest.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '.')).collect();
    format!("<!-- agent-test digest: {word} -->")
}

/// The digest that a final report names, when it names one.
#[must_use]
pub fn digest_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<!-- agent-test digest: ")?;
    rest.split_once(" -->").map(|(digest, _)| digest)
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
