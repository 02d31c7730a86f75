//! The entries of the three lists: a typed view for reading, the raw text for writing.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::raw::{Object, lenient};
use crate::maze::{OperationsCount, RouteStatus, open_enum};
use crate::route::Route;

/// How far an entry is indented in the file.
pub(super) const ENTRY_DEPTH: usize = 2;

open_enum! {
    /// Where the review of a completed route stands.
    ReviewStatus {
        /// Not reviewed yet.
        Pending = "review_pending",
        /// Reviewed; its bug report exists.
        Complete = "review_complete",
        /// The review failed.
        Failed = "review_failed",
    }
}

/// A tested route.
#[derive(Clone, Debug, Deserialize)]
pub struct Completed {
    /// The route.
    pub route: Route,
    /// When the test ended.
    #[serde(default, deserialize_with = "lenient")]
    pub tested_at: Option<DateTime<Utc>>,
    /// Outcome.
    #[serde(default, deserialize_with = "lenient")]
    pub status: Option<RouteStatus>,
    /// Bugs in its report.
    #[serde(default, deserialize_with = "lenient")]
    pub bugs_count: Option<u64>,
    /// What was done.
    #[serde(default, deserialize_with = "lenient")]
    pub operations_count: Option<OperationsCount>,
    /// Folder of its screenshots, relative to the project.
    #[serde(default, deserialize_with = "lenient")]
    pub screenshots_dir: Option<String>,
    /// Its report, relative to the project.
    #[serde(default, deserialize_with = "lenient")]
    pub report_file: Option<String>,
    /// Brief summary for people.
    #[serde(default, deserialize_with = "lenient")]
    pub summary: Option<String>,
    /// Where its review stands; absent counts as pending.
    #[serde(default, deserialize_with = "lenient")]
    pub review_status: Option<ReviewStatus>,
    /// Its bug report, relative to the project.
    #[serde(default, deserialize_with = "lenient")]
    pub bug_report_file: Option<String>,
    /// SHA-256 of the report as it was handed in (our own key).
    #[serde(default, deserialize_with = "lenient")]
    pub report_sha256: Option<String>,
    #[serde(skip)]
    pub(super) text: String,
}

impl Completed {
    /// Where the review stands; an absent or unknown word counts as pending.
    #[must_use]
    pub fn review(&self) -> ReviewStatus {
        match &self.review_status {
            Some(ReviewStatus::Complete) => ReviewStatus::Complete,
            Some(ReviewStatus::Failed) => ReviewStatus::Failed,
            _ => ReviewStatus::Pending,
        }
    }
}

/// A route that could not be tested.
#[derive(Clone, Debug, Deserialize)]
pub struct Failed {
    /// The route.
    pub route: Route,
    /// When it was given up.
    #[serde(default, deserialize_with = "lenient")]
    pub failed_at: Option<DateTime<Utc>>,
    /// Why.
    #[serde(default, deserialize_with = "lenient")]
    pub error: Option<String>,
    /// How often it has been tried again.
    #[serde(default, deserialize_with = "lenient")]
    pub retry_count: Option<u32>,
    /// The latest error.
    #[serde(default, deserialize_with = "lenient")]
    pub last_error: Option<String>,
    #[serde(skip)]
    pub(super) text: String,
}

/// A route that waits for its test.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The route.
    pub route: Route,
    pub(super) text: String,
}

impl Pending {
    pub(super) fn new(route: Route) -> Self {
        let text = super::raw::pretty(&route, 0);
        Self { route, text }
    }
}

/// One entry of the file with its text.
pub(super) trait Entry: Sized {
    fn read(text: String) -> Result<Self, String>;
    fn text(&self) -> &str;

    /// The same entry with some keys changed in place.
    fn edited(&self, edit: impl FnOnce(&mut Object)) -> Self
    where
        Self: Clone,
    {
        let mut object = Object::parse(self.text(), ENTRY_DEPTH).unwrap_or_else(|_| Object::new(ENTRY_DEPTH));
        edit(&mut object);
        // What we set is readable; if it were not, the entry stays as it was.
        Self::read(object.render()).unwrap_or_else(|_| self.clone())
    }
}

impl Entry for Completed {
    fn read(text: String) -> Result<Self, String> {
        let mut entry: Self = serde_json::from_str(&text).map_err(without_position)?;
        entry.text = text;
        Ok(entry)
    }

    fn text(&self) -> &str {
        &self.text
    }
}

impl Entry for Failed {
    fn read(text: String) -> Result<Self, String> {
        let mut entry: Self = serde_json::from_str(&text).map_err(without_position)?;
        entry.text = text;
        Ok(entry)
    }

    fn text(&self) -> &str {
        &self.text
    }
}

impl Entry for Pending {
    /// A bare string; an object with a route is read too.
    fn read(text: String) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Wrapped {
            route: Route,
        }
        let route = if text.starts_with('{') {
            serde_json::from_str::<Wrapped>(&text).map_err(without_position)?.route
        } else {
            serde_json::from_str::<Route>(&text).map_err(without_position)?
        };
        Ok(Self { route, text })
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// The position inside an entry would mislead: the entry itself is named.
fn without_position(error: serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// What a transition writes of a completed route.
#[derive(Clone, Debug, Serialize)]
pub struct CompletedFacts {
    /// When the test ended.
    pub tested_at: DateTime<Utc>,
    /// Outcome.
    pub status: RouteStatus,
    /// Bugs in the report.
    pub bugs_count: u64,
    /// What was done.
    pub operations_count: OperationsCount,
    /// Folder of the screenshots, relative to the project.
    pub screenshots_dir: String,
    /// The report, relative to the project.
    pub report_file: String,
    /// Brief summary.
    pub summary: String,
    /// SHA-256 of the report's bytes.
    pub report_sha256: String,
}
