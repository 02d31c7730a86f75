//! What was verified before: one report per `verify`, so that a bug that comes back is known to have been fixed.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::runs::is_json;
use super::verdict::Verdict;
use super::verifier::VerifyReport;
use crate::store::{self, StoreError};

const REPORTS: &str = ".agent-test/verify";

/// Keeps a report; gives back its path, relative to the project.
///
/// # Errors
/// When it cannot be written.
pub fn keep_report(root: &Path, report: &VerifyReport) -> Result<String, StoreError> {
    let bytes = serde_json::to_vec_pretty(report).unwrap_or_default();
    let name = store::write_dated(&root.join(REPORTS), report.started_at, &bytes)?;
    Ok(format!("{REPORTS}/{name}"))
}

/// Fingerprints of bugs whose latest verdict is fixed, with its time. Reports that cannot be read count for nothing.
#[must_use]
pub fn fixed_bugs(root: &Path) -> Vec<(String, DateTime<Utc>)> {
    let directory = root.join(REPORTS);
    let mut names: Vec<String> =
        store::file_names(&directory).unwrap_or_default().into_iter().filter(|name| is_json(name)).collect();
    names.sort();
    let mut fixed: Vec<(String, DateTime<Utc>)> = Vec::new();
    for name in names {
        let Ok(text) = store::read_to_string(&directory.join(&name)) else { continue };
        let Ok(report) = serde_json::from_str::<VerifyReport>(&text) else { continue };
        for bug in report.bugs {
            let Some(key) = bug.fingerprint_v2.or(bug.fingerprint) else { continue };
            match bug.verdict {
                Verdict::Fixed => fixed.push((key, report.started_at)),
                // What says nothing takes nothing back.
                Verdict::Blocked | Verdict::Healed => {}
                _ => fixed.retain(|(known, _)| *known != key),
            }
        }
    }
    fixed
}
