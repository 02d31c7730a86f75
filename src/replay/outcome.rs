//! Whether a bug fired in a replay. Pure: a bug, what was witnessed, an outcome.

use super::oracle::Finding;
use super::witness::{End, Sight, Witness};
use crate::maze::{Bug, BugKind};
use crate::trace::{FingerprintParts, StepStatus};

/// What one replay says about one bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It fired.
    Fired,
    /// The failing step was done, and nothing was wrong.
    Clean,
    /// The failing step failed, but in another way.
    Changed {
        /// What is wrong now.
        what: String,
        /// Its finer fingerprint.
        key: String,
    },
    /// Nothing can be said.
    Blocked {
        /// Index of the step that could not be done.
        at: Option<u32>,
        /// Why.
        why: String,
    },
}

impl Outcome {
    /// `fired`, `clean`, `changed` or `blocked`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Clean => "clean",
            Self::Changed { .. } => "changed",
            Self::Blocked { .. } => "blocked",
        }
    }

    /// Why it is blocked, or what is wrong now.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Changed { what, .. } => Some(what),
            Self::Blocked { why, .. } => Some(why),
            _ => None,
        }
    }

    /// Index of the step that could not be done.
    #[must_use]
    pub fn at(&self) -> Option<u32> {
        match self {
            Self::Blocked { at, .. } => *at,
            _ => None,
        }
    }
}

/// What a replay says about a bug. `known` are the bugs of the same run: what they explain is no change of this one.
#[must_use]
pub fn outcome(bug: &Bug, witness: &Witness, known: &[Bug]) -> Outcome {
    // Of our own traces the last step is the failing one; without it nothing was tried.
    if bug.kind.is_some() && bug.trace.last().is_some_and(|step| step.status == StepStatus::Passed) {
        return Outcome::Blocked { at: None, why: "its trace ends before the failing step".to_owned() };
    }
    let sight = match &witness.end {
        End::Stopped { at, why, .. } => return Outcome::Blocked { at: Some(*at), why: why.clone() },
        End::Reached(sight) => sight,
    };
    if fires(bug, sight) {
        return Outcome::Fired;
    }
    let at = witness.steps.last().map(|step| step.index);
    if let Some(request) = sight.effect.since.requests.iter().find(|request| request.refused.is_some())
        && !bug.trace.last().is_some_and(|step| step.requests.iter().any(|request| request.refused))
    {
        let why = format!("{} {} would change data and was stopped", request.method, request.url);
        return Outcome::Blocked { at, why };
    }
    let slow = matches!(bug.kind, Some(BugKind::NeverLoads)) || category(bug) == Some("timeout");
    if slow && !sight.effect.still.still {
        return Outcome::Blocked { at, why: "the screen was not still in time, which says nothing".to_owned() };
    }
    let unexplained = sight.findings.iter().find(|finding| {
        matters(bug, finding) && !known.iter().any(|other| !same_bug(other, bug) && is_explained(other, finding))
    });
    match unexplained {
        Some(finding) => Outcome::Changed { what: finding.description.clone(), key: key_of(bug, finding) },
        None => Outcome::Clean,
    }
}

fn same_bug(one: &Bug, other: &Bug) -> bool {
    std::ptr::eq(one, other)
        || (one.fingerprint_v3.is_some() && one.fingerprint_v3 == other.fingerprint_v3)
        || (one.fingerprint_parts.is_none() && one.fingerprint == other.fingerprint)
}

fn category(bug: &Bug) -> Option<&str> {
    bug.fingerprint_parts.as_ref().map(|parts| parts.category.as_str())
}

/// A fault that says the failing step still fails: not a picture that is missing beside it.
fn matters(bug: &Bug, finding: &Finding) -> bool {
    let step_level = matches!(
        finding.kind,
        BugKind::Exception
            | BugKind::HttpError
            | BugKind::Crash
            | BugKind::DisabledControl
            | BugKind::MissingText
            | BugKind::ErrorMessage
            | BugKind::BlankPage
    );
    step_level || bug.kind.as_ref() == Some(&finding.kind)
}

/// Whether a finding is this known bug.
#[must_use]
pub fn is_explained(other: &Bug, finding: &Finding) -> bool {
    other.fingerprint_parts.as_ref().is_some_and(|parts| {
        parts.category == finding.category && parts.signal == finding.signal && parts.detail == finding.detail
    })
}

/// The finer fingerprint that the finding would have at the bug's place.
fn key_of(bug: &Bug, finding: &Finding) -> String {
    let place = bug.fingerprint_parts.clone().unwrap_or_default();
    FingerprintParts {
        category: finding.category.to_owned(),
        signal: finding.signal.clone(),
        detail: finding.detail.clone(),
        ..place
    }
    .v3()
}

/// Whether the bug shows in what was seen.
fn fires(bug: &Bug, sight: &Sight) -> bool {
    match &bug.kind {
        Some(BugKind::DeadControl) => !sight.effect.is_any(),
        Some(BugKind::FocusTrap) => sight.trapped,
        Some(BugKind::NeverLoads) => sight.effect.look.spinners > 0,
        Some(BugKind::LoginRedirect) => sight.effect.look.passwords > 0,
        kind => sight.findings.iter().any(|finding| shows(bug, kind.as_ref(), finding)),
    }
}

fn shows(bug: &Bug, kind: Option<&BugKind>, finding: &Finding) -> bool {
    let Some(parts) = &bug.fingerprint_parts else {
        // A bug of an old run: any failure of its step is it.
        return matters(bug, finding);
    };
    match kind {
        Some(kind) => finding.kind == *kind && finding.signal == parts.signal && finding.detail == parts.detail,
        // Written by another program: its words for the class of an error may be others than ours.
        None => finding.category == parts.category && (parts.detail.is_empty() || finding.detail == parts.detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::{Look, Request, Since, Still};
    use crate::maze::Severity;
    use crate::replay::Effect;
    use crate::replay::oracle;

    fn finding(detail: &str) -> Finding {
        Finding {
            kind: BugKind::HttpError,
            severity: Severity::Major,
            description: format!("{detail} fails"),
            category: "network",
            signal: "http-5xx".into(),
            detail: detail.into(),
            ..oracle::dead_control("x")
        }
    }

    fn bug(kind: Option<BugKind>, finding: &Finding) -> Bug {
        let parts = FingerprintParts {
            version: 2,
            category: finding.category.into(),
            location: "http://a.b/x".into(),
            signal: finding.signal.clone(),
            detail: finding.detail.clone(),
            ..FingerprintParts::default()
        };
        let mut bug: Bug = serde_json::from_value(serde_json::json!({
            "severity": "major", "description": finding.description, "fingerprint": finding.detail
        }))
        .unwrap();
        bug.kind = kind;
        bug.fingerprint_v3 = Some(parts.v3());
        bug.fingerprint_parts = Some(parts);
        bug
    }

    fn reached(findings: Vec<Finding>) -> Witness {
        let still = Still { still: true, ..Still::default() };
        let effect = Effect { still, ..Effect::of_look(Look::default()) };
        let sight = Sight { effect, before: None, findings, trapped: false };
        Witness { end: End::Reached(Box::new(sight)), steps: Vec::new(), drift: Vec::new(), duration_ms: 1 }
    }

    fn of(bug: &Bug, witness: &Witness) -> Outcome {
        outcome(bug, witness, &[])
    }

    #[test]
    fn the_same_failure_fires_and_none_is_clean() {
        let bug = bug(Some(BugKind::HttpError), &finding("GET /a 500"));
        assert_eq!(of(&bug, &reached(vec![finding("GET /a 500")])), Outcome::Fired);
        assert_eq!(of(&bug, &reached(vec![])), Outcome::Clean);
    }

    #[test]
    fn another_failure_of_the_same_step_is_a_change_unless_another_bug_explains_it() {
        let one = bug(Some(BugKind::HttpError), &finding("GET /a 500"));
        let other = bug(Some(BugKind::HttpError), &finding("GET /b 500"));
        let witness = reached(vec![finding("GET /b 500")]);
        assert!(matches!(of(&one, &witness), Outcome::Changed { .. }));
        assert_eq!(outcome(&one, &witness, std::slice::from_ref(&other)), Outcome::Clean);
    }

    #[test]
    fn a_picture_that_is_missing_beside_it_is_no_change() {
        let bug = bug(Some(BugKind::HttpError), &finding("GET /a 500"));
        let picture = Finding { kind: BugKind::BrokenImage, ..finding("GET /p.png") };
        assert_eq!(of(&bug, &reached(vec![picture])), Outcome::Clean);
    }

    #[test]
    fn a_step_that_was_not_reached_says_nothing() {
        let bug = bug(Some(BugKind::HttpError), &finding("GET /a 500"));
        let mut witness = reached(vec![]);
        witness.end = End::Stopped { at: 3, why: "locator_mismatch".into(), finding: None };
        assert_eq!(of(&bug, &witness), Outcome::Blocked { at: Some(3), why: "locator_mismatch".into() });
    }

    #[test]
    fn a_request_that_we_stopped_ourselves_is_never_clean() {
        let bug = bug(Some(BugKind::HttpError), &finding("POST /a 500"));
        let mut witness = reached(vec![]);
        if let End::Reached(sight) = &mut witness.end {
            sight.effect.since = Since { requests: vec![Request::stopped("XHR")], ..Since::default() };
        }
        assert!(matches!(of(&bug, &witness), Outcome::Blocked { .. }));
    }

    #[test]
    fn a_time_out_near_the_limit_is_no_proof() {
        let bug = bug(Some(BugKind::NeverLoads), &finding(""));
        let mut witness = reached(vec![]);
        if let End::Reached(sight) = &mut witness.end {
            sight.effect.still.still = false;
        }
        assert!(matches!(of(&bug, &witness), Outcome::Blocked { .. }));
    }

    #[test]
    fn any_failure_is_the_bug_of_a_run_that_knew_no_parts() {
        let mut old = bug(None, &finding("GET /a 500"));
        old.fingerprint_parts = None;
        assert_eq!(of(&old, &reached(vec![finding("GET /z 500")])), Outcome::Fired);
        assert_eq!(of(&old, &reached(vec![])), Outcome::Clean);
    }

    #[test]
    fn another_programs_bug_is_known_by_its_category() {
        let bug = bug(None, &Finding { signal: "server-error".into(), detail: String::new(), ..finding("") });
        assert_eq!(of(&bug, &reached(vec![finding("GET /a 500")])), Outcome::Fired);
    }
}
