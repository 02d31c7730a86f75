//! What changed between two runs. Pure.
//!
//! A bug that is gone is not thereby fixed: its place may not have been visited. The words say which it is.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pair::same;
use crate::maze::{Bug, open_enum};
use crate::trace::RunFile;

open_enum! {
    /// What became of a bug from one run to the other.
    Change {
        /// Only the later run has it.
        New = "new",
        /// Both have it.
        Persisting = "persisting",
        /// Only the earlier run has it, and the later one did the step that showed it.
        NotReproduced = "not_reproduced",
        /// Only the earlier run has it, and the later one did not come to its place.
        NotExercised = "not_exercised",
        /// The later run has it, though it had been verified as fixed before.
        Reopened = "reopened",
    }
}

/// One bug in the comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// What became of it.
    pub change: Change,
    /// V2 where it has one, else the legacy fingerprint.
    pub fingerprint: String,
    /// How bad it is.
    pub severity: crate::maze::Severity,
    /// Where.
    pub location: String,
    /// What is wrong.
    pub description: String,
    /// Bugs of the other run that it stands for: more than one where an old key matches several new ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
}

/// The comparison of two runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffReport {
    /// Id of the earlier run.
    pub from: String,
    /// Id of the later run.
    pub to: String,
    /// Every bug of either, new and reopened ones first.
    pub bugs: Vec<Difference>,
    /// 1 when a non-minor bug is new or reopened.
    pub exit_code: u8,
}

/// Compares two runs; `fixed` are the bugs that were verified as fixed, with their times.
#[must_use]
pub fn diff(from: &RunFile, to: &RunFile, fixed: &[(String, DateTime<Utc>)]) -> DiffReport {
    let was_fixed =
        |bug: &Bug| fixed.iter().any(|(key, at)| *at <= to.started_at && super::pair::matches_key(bug, key));
    let mut bugs = Vec::new();
    for bug in unique(&to.bugs) {
        let matches: Vec<String> = unique(&from.bugs).filter(|old| same(old, bug)).map(key_of).collect();
        let change = match (was_fixed(bug), matches.is_empty()) {
            (true, _) => Change::Reopened,
            (false, true) => Change::New,
            (false, false) => Change::Persisting,
        };
        bugs.push(difference(bug, change, matches));
    }
    let places: HashSet<String> = to.flows.iter().flat_map(exercised).collect();
    for bug in unique(&from.bugs).filter(|old| !to.bugs.iter().any(|new| same(old, new))) {
        let reached = bug.trace.last().is_some_and(|step| places.contains(&place_of(step)));
        let change = if reached { Change::NotReproduced } else { Change::NotExercised };
        bugs.push(difference(bug, change, Vec::new()));
    }
    bugs.sort_by_key(|bug| (rank(&bug.change), bug.severity.rank()));
    let bad = bugs.iter().any(|bug| {
        matches!(bug.change, Change::New | Change::Reopened) && bug.severity != crate::maze::Severity::Minor
    });
    DiffReport { from: from.id.clone(), to: to.id.clone(), bugs, exit_code: u8::from(bad) }
}

fn rank(change: &Change) -> u8 {
    match change {
        Change::Reopened => 0,
        Change::New => 1,
        Change::Persisting => 2,
        Change::NotReproduced => 3,
        _ => 4,
    }
}

/// One of each bug: the same one found on many routes counts once.
fn unique(bugs: &[Bug]) -> impl Iterator<Item = &Bug> {
    let mut seen = HashSet::new();
    bugs.iter().filter(move |bug| seen.insert(key_of(bug)))
}

fn key_of(bug: &Bug) -> String {
    bug.fingerprint_v2.clone().or_else(|| bug.fingerprint.clone()).unwrap_or_else(|| bug.description.clone())
}

fn difference(bug: &Bug, change: Change, matches: Vec<String>) -> Difference {
    Difference {
        change,
        fingerprint: key_of(bug),
        severity: bug.severity.clone(),
        location: bug.location.clone(),
        description: bug.description.clone(),
        matches: if matches.len() > 1 { matches } else { Vec::new() },
    }
}

/// The steps that a flow did, by what they act on and where.
fn exercised(flow: &crate::trace::Flow) -> impl Iterator<Item = String> {
    flow.trace.iter().filter(|step| step.status != crate::trace::StepStatus::NotAttempted).map(place_of)
}

/// Page and target of a step, without what varies between visits.
fn place_of(step: &crate::trace::TraceStep) -> String {
    let url = if step.locator.is_none() { step.value.as_ref().unwrap_or(&step.url_before) } else { &step.url_before };
    let page = url::Url::parse(url).map_or_else(|_| url.clone(), |url| crate::trace::fingerprint::path_template(&url));
    let target = step.locator.as_ref().map(|locator| {
        let name =
            [&locator.test_id, &locator.name, &locator.label, &locator.text, &locator.css].into_iter().flatten().next();
        format!("{:?} {name:?} {:?}", locator.role, locator.nth)
    });
    format!("{} {page} {}", step.tool, target.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> RunFile {
        super::super::runs::parse_run(text, "2026-05-02T10-15-00Z").unwrap()
    }

    fn step(target: &str) -> String {
        format!(r#"{{"tool":"click","urlBefore":"http://a.b/x/1","locator":{{"role":"button","name":"{target}"}}}}"#)
    }

    fn with(bugs: &[(&str, &str)], steps: &[&str]) -> RunFile {
        let bugs: Vec<String> = bugs
            .iter()
            .map(|(key, target)| {
                format!(r#"{{"severity":"major","description":"{key}","fingerprint":"1{key}","fingerprintV2":"2{key}","trace":[{}]}}"#, step(target))
            })
            .collect();
        let steps: Vec<String> = steps.iter().map(|target| step(target)).collect();
        run(&format!(r#"{{"flows":[{{"trace":[{}]}}],"bugs":[{}]}}"#, steps.join(","), bugs.join(",")))
    }

    fn changes(report: &DiffReport) -> Vec<(String, Change)> {
        report.bugs.iter().map(|bug| (bug.description.clone(), bug.change.clone())).collect()
    }

    #[test]
    fn equal_runs_have_nothing_new_and_nothing_gone() {
        let one = with(&[("a", "Save")], &["Save"]);
        let report = diff(&one, &one, &[]);
        assert_eq!(changes(&report), [("a".to_owned(), Change::Persisting)]);
        assert_eq!(report.exit_code, 0);
    }

    #[test]
    fn gone_is_told_apart_by_whether_the_step_was_done() {
        let before = with(&[("a", "Save"), ("b", "Send")], &["Save", "Send"]);
        let after = with(&[("c", "Save")], &["Save"]);
        let report = diff(&before, &after, &[]);
        assert_eq!(
            changes(&report),
            [
                ("c".to_owned(), Change::New),
                ("a".to_owned(), Change::NotReproduced),
                ("b".to_owned(), Change::NotExercised)
            ]
        );
        assert_eq!(report.exit_code, 1);
    }

    #[test]
    fn a_bug_that_was_verified_as_fixed_and_is_seen_again_is_reopened_unless_the_run_is_older() {
        let run = with(&[("aaaaaaa", "Save")], &["Save"]);
        let at = |text: &str| vec![("2aaaaaaa".to_owned(), text.parse().unwrap())];
        assert_eq!(diff(&run, &run, &at("2026-05-01T00:00:00Z")).bugs[0].change, Change::Reopened);
        assert_eq!(diff(&run, &run, &at("2026-06-01T00:00:00Z")).bugs[0].change, Change::Persisting);
    }

    #[test]
    fn one_old_key_may_stand_for_several_new_bugs() {
        let mut old = with(&[("a", "Save")], &[]);
        old.bugs[0].fingerprint_v2 = None;
        let mut new = with(&[("a", "Save"), ("b", "Save")], &[]);
        new.bugs[1].fingerprint = Some("1a".to_owned());
        let report = diff(&old, &new, &[]);
        assert!(report.bugs.iter().all(|bug| bug.change == Change::Persisting), "{report:?}");
        let back = diff(&new, &old, &[]);
        assert_eq!(back.bugs[0].matches.len(), 2);
    }
}
