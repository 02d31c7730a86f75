//! The shape of the state file as a type: for its JSON Schema, and for readers that want all of it at once.
//!
//! Nothing is written through it: [`super::State`] edits the file in place, so that foreign keys survive.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claims::ClaimPhase;
use super::entry::ReviewStatus;
use crate::maze::{OperationsCount, RouteStatus};
use crate::route::Route;
use crate::settings::Overrides;

/// `.monkey-test-state.json`: the state of a campaign. Unknown keys are kept at any depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateFile {
    /// The campaign and its counters.
    pub meta: MetaDocument,
    /// Tested routes.
    #[serde(default)]
    pub completed: Vec<CompletedDocument>,
    /// Routes that could not be tested.
    #[serde(default)]
    pub failed: Vec<FailedDocument>,
    /// Routes that wait for their test.
    #[serde(default)]
    pub pending: Vec<Route>,
    /// Leases by route (our own key).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, LeaseDocument>,
    /// Earlier attempts by route (our own key).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attempts: BTreeMap<String, AttemptsDocument>,
    /// Slugs that do not follow from their route alone, by route (our own key).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slugs: BTreeMap<String, String>,
    /// What the campaign was started with (our own key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Overrides>,
    /// Digest of the routes that the campaign was started with (our own key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Routes that were taken out (our own key).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Route>,
    /// The final report that was written last (our own key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_report: Option<FinalReportDocument>,
    /// Number of the last transition (our own key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<u64>,
}

/// The campaign and its counters, which follow from the lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetaDocument {
    /// The project's name.
    pub project: String,
    /// Address of the application under test.
    pub base_url: String,
    /// When the campaign began (UTC).
    pub created_at: DateTime<Utc>,
    /// When the state last changed (UTC).
    pub last_updated: DateTime<Utc>,
    /// Every route of the campaign.
    pub total_routes: u64,
    /// Number of completed routes.
    pub tested: u64,
    /// Number of pending routes.
    pub pending: u64,
    /// Number of failed routes.
    pub failed: u64,
    /// Completed routes that wait for review.
    pub review_pending: u64,
    /// Reviewed routes.
    pub review_complete: u64,
    /// Routes whose review failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_failed: Option<u64>,
    /// `blocked` when nothing can go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Why it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// Version of this format; absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u64>,
}

/// A tested route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompletedDocument {
    /// The route.
    pub route: Route,
    /// When the test ended (UTC).
    pub tested_at: DateTime<Utc>,
    /// Outcome.
    pub status: RouteStatus,
    /// Bugs in its report.
    pub bugs_count: u64,
    /// What was done.
    pub operations_count: OperationsCount,
    /// Folder of its screenshots, relative to the project.
    pub screenshots_dir: String,
    /// Its report, relative to the project.
    pub report_file: String,
    /// Brief summary for people.
    pub summary: String,
    /// Where its review stands.
    pub review_status: ReviewStatus,
    /// Its bug report, relative to the project; null until it is reviewed.
    #[serde(default)]
    pub bug_report_file: Option<String>,
    /// Why the last review failed (our own key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_error: Option<String>,
    /// SHA-256 of the report as it was handed in (our own key).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_sha256: Option<String>,
}

/// A route that could not be tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedDocument {
    /// The route.
    pub route: Route,
    /// When it was given up (UTC).
    pub failed_at: DateTime<Utc>,
    /// Why.
    pub error: String,
    /// How often it has been tried again.
    #[serde(default)]
    pub retry_count: u32,
    /// The latest error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseDocument {
    /// Needed to hand the work in.
    pub token: String,
    /// Who holds it.
    pub worker: String,
    /// For what.
    pub phase: ClaimPhase,
    /// Since when (UTC).
    pub claimed_at: DateTime<Utc>,
    /// Until when (UTC).
    pub expires_at: DateTime<Utc>,
    /// How long one period is, in seconds.
    #[serde(default)]
    pub lease_s: u64,
    /// The same end by the clock of the machine on which it was claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<super::boot::BootEnd>,
}

/// What is known of a route's earlier attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AttemptsDocument {
    /// How often it was tried again after a failure.
    pub retry_count: u32,
    /// Subagents that crashed on it since the last retry.
    pub crashes: u32,
    /// Reviews that failed.
    pub review_attempts: u32,
    /// Errors, the oldest first.
    pub errors: Vec<ErrorDocument>,
}

/// An error of an earlier attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDocument {
    /// When (UTC).
    pub at: DateTime<Utc>,
    /// What.
    pub error: String,
}

/// The final report that was written last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FinalReportDocument {
    /// Digest of what it reports on.
    pub digest: String,
    /// When (UTC).
    pub written_at: DateTime<Utc>,
}
