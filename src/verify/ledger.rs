//! What was verified before: one report per `verify`, so that a bug that comes back is known to have been fixed.

use std::path::Path;

use chrono::{DateTime, Utc};
use url::Url;

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

/// Fingerprints of bugs whose latest verdict at this address is fixed, with its time. A verdict of another address says
/// nothing about this one: a fix may stand there and not here. Reports that cannot be read count for nothing.
#[must_use]
pub fn fixed_bugs(root: &Path, base_url: &str) -> Vec<(String, DateTime<Utc>)> {
    let directory = root.join(REPORTS);
    let mut names: Vec<String> =
        store::file_names(&directory).unwrap_or_default().into_iter().filter(|name| is_json(name)).collect();
    names.sort();
    let mut fixed: Vec<(String, DateTime<Utc>)> = Vec::new();
    for name in names {
        let Ok(text) = store::read_to_string(&directory.join(&name)) else { continue };
        let Ok(report) = serde_json::from_str::<VerifyReport>(&text) else { continue };
        if !same_origin(&report.base_url, base_url) {
            continue;
        }
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

fn same_origin(a: &str, b: &str) -> bool {
    match (Url::parse(a), Url::parse(b)) {
        (Ok(a), Ok(b)) => a.origin() == b.origin(),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_known_as_fixed_only_at_the_address_where_it_was_verified() {
        let dir = tempfile::tempdir().unwrap();
        let report: VerifyReport = serde_json::from_value(serde_json::json!({
            "run": "r", "baseUrl": "http://localhost:5001/", "startedAt": "2026-05-02T10:15:00Z", "exitCode": 0,
            "bugs": [{
                "verdict": "fixed", "fingerprintV2": "k", "severity": "major", "location": "l", "description": "d",
                "clean": 1, "fired": 0, "attempts": []
            }]
        }))
        .unwrap();
        keep_report(dir.path(), &report).unwrap();
        assert_eq!(fixed_bugs(dir.path(), "http://localhost:5001").len(), 1);
        assert_eq!(fixed_bugs(dir.path(), "http://localhost:5000"), []);
    }
}
