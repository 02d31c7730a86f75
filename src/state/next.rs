//! What comes next: decided from the lists and the final report's digest, never from counters or file times.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::model::{State, stamp};
use crate::route::Route;
use crate::store;

/// The line in FINAL-REPORT.md that carries the digest begins so.
const MARK: &str = "<!-- agent-test digest:";

/// Hex digits of a digest.
const DIGEST_DIGITS: usize = 32;

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Next {
    /// Routes wait for their test.
    Testing {
        /// Free to claim.
        free: Vec<Route>,
        /// Held by a worker.
        leased: Vec<Route>,
    },
    /// Routes wait for their review.
    Review {
        /// Free to claim.
        free: Vec<Route>,
        /// Held by a worker.
        leased: Vec<Route>,
    },
    /// The final report is missing, or is not of this state.
    FinalReport,
    /// Nothing is left to do.
    Done,
    /// Somebody said that nothing can go on.
    Blocked {
        /// Why.
        reason: String,
    },
}

impl Next {
    /// The phase's name.
    #[must_use]
    pub fn phase(&self) -> &'static str {
        match self {
            Self::Testing { .. } => "testing",
            Self::Review { .. } => "review",
            Self::FinalReport => "final_report",
            Self::Done => "done",
            Self::Blocked { .. } => "blocked",
        }
    }
}

/// What comes next; `on_disk` is the digest in FINAL-REPORT.md ([`digest_in`]), when there is one.
#[must_use]
pub fn next(state: &State, on_disk: Option<&str>, now: DateTime<Utc>) -> Next {
    if let Some(reason) = state.blocked() {
        return Next::Blocked { reason };
    }
    let leases = state.live_leases(now);
    let split = |routes: &mut dyn Iterator<Item = &Route>| -> (Vec<Route>, Vec<Route>) {
        routes.cloned().partition(|route| !leases.contains_key(route.key().as_ref()))
    };
    if !state.pending().is_empty() {
        let (free, leased) = split(&mut state.pending().iter().map(|entry| &entry.route));
        return Next::Testing { free, leased };
    }
    let (free, leased) = split(&mut state.awaiting_review());
    if !free.is_empty() || !leased.is_empty() {
        return Next::Review { free, leased };
    }
    let digest = digest(state);
    let written = state.final_report().is_some_and(|report| report.digest == digest);
    if written && on_disk == Some(digest.as_str()) { Next::Done } else { Next::FinalReport }
}

/// A digest of what the final report reports on. Times of the state itself, leases and settings are not part of it.
#[must_use]
pub fn digest(state: &State) -> String {
    let mut lines: Vec<String> = state
        .completed()
        .iter()
        .map(|entry| {
            format!(
                "completed\t{:?}\t{:?}\t{:?}\t{:?}\t{}\t{:?}\t{:?}",
                entry.route.as_str(),
                entry.tested_at.map(stamp),
                entry.status.as_ref().map(ToString::to_string),
                entry.bugs_count,
                entry.review(),
                entry.bug_report_file,
                entry.report_sha256,
            )
        })
        .chain(state.failed().iter().map(|entry| {
            format!("failed\t{:?}\t{:?}\t{:?}", entry.route.as_str(), entry.failed_at.map(stamp), entry.error)
        }))
        .chain(state.pending().iter().map(|entry| format!("pending\t{:?}", entry.route.as_str())))
        .collect();
    lines.sort_unstable();
    let text = format!("{}\n{}\n{}\n", state.project(), state.base_url(), lines.join("\n"));
    store::sha256_hex(text).chars().take(DIGEST_DIGITS).collect()
}

/// The line that carries a digest in FINAL-REPORT.md.
#[must_use]
pub fn digest_line(digest: &str) -> String {
    format!("{MARK} {digest} -->")
}

/// The digest that a FINAL-REPORT.md carries.
#[must_use]
pub fn digest_in(report: &str) -> Option<&str> {
    report.lines().find_map(|line| Some(line.trim().strip_prefix(MARK)?.strip_suffix("-->")?.trim()))
}
