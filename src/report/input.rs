//! What a report is made of, as the campaign's room gathers it.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::maze::RouteReport;

/// A campaign as it stands, ready to be reported on.
#[derive(Clone, Debug)]
pub struct CampaignInput {
    /// The project's name.
    pub project: String,
    /// Address of the application.
    pub base_url: String,
    /// When the campaign began (UTC).
    pub created_at: DateTime<Utc>,
    /// When this report is written (UTC).
    pub generated_at: DateTime<Utc>,
    /// Digest of the state that is reported on.
    pub digest: String,
    /// Routes with a report.
    pub routes: Vec<RouteInput>,
    /// Routes that could not be tested.
    pub failed: Vec<FailedRoute>,
    /// Routes that were not tested yet.
    pub pending: Vec<String>,
}

/// A tested route.
#[derive(Clone, Debug)]
pub struct RouteInput {
    /// The route as it stands in the campaign.
    pub route: String,
    /// Its slug, unique in the campaign.
    pub slug: String,
    /// Its report.
    pub report: RouteReport,
    /// Folder of its screenshots, relative to the project root, as in the state (`monkey-test-screenshots/orders/`).
    pub screenshots_dir: String,
    /// Names of the files in that folder; `None` when nobody looked.
    pub screenshot_files: Option<BTreeSet<String>>,
    /// Its bug report, relative to the project root.
    pub bug_report_file: Option<String>,
    /// Text of its bug report, when an outside reviewer wrote it: bugs that only stand there are taken in.
    pub bug_report: Option<String>,
    /// How far its review is.
    pub review_status: ReviewStatus,
}

/// Status of a tested route whose report cannot be read: what it found is not known, and is not "no bugs".
pub const REPORT_MISSING: &str = "report_missing";

/// How far the review of a route is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewStatus {
    /// Not reviewed yet.
    Pending,
    /// Reviewed.
    Complete,
    /// The review failed.
    Failed,
}

impl ReviewStatus {
    /// A word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Complete => "complete",
            Self::Failed => "failed",
        }
    }
}

/// A route that could not be tested.
#[derive(Clone, Debug)]
pub struct FailedRoute {
    /// The route.
    pub route: String,
    /// Why.
    pub error: String,
    /// How often it was tried again.
    pub retry_count: u32,
}

/// Folder in which the reports lie, seen from the project root, and the way back from it.
pub(super) const TO_PROJECT: &str = "../";

/// A path of the project, seen from the folder of the reports.
pub(super) fn from_reports(path: &str) -> String {
    match path.strip_prefix("monkey-test-reports/") {
        Some(file) if !file.contains('/') => file.to_owned(),
        _ => format!("{TO_PROJECT}{path}"),
    }
}

/// A screenshot's plain file name, or nothing when the name could lead elsewhere.
///
/// Reports of other writers name the file with its folder; that is read too, when the folder is the route's own.
pub(super) fn file_name<'a>(name: &'a str, screenshots_dir: &str) -> Option<&'a str> {
    let dir = screenshots_dir.trim_end_matches('/');
    let name = name.strip_prefix("./").unwrap_or(name);
    let name = name.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name);
    let plain =
        !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0']) && name.len() < 256;
    plain.then_some(name)
}
