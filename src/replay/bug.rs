//! What a fault that was met is written down as: a bug with the way to it, and what a step did over the wire.

use url::Url;

use super::oracle::Finding;
use crate::browser::{Note, Since};
use crate::maze::{Bug, FireRate};
use crate::trace::fingerprint::{legacy, url_template};
use crate::trace::{DialogAnswer, FingerprintParts, StepRequest, StepStatus, TraceStep};

/// A finding at the last of these steps as a bug. `title` names the flow, `source` who met it. None when nothing was done.
#[must_use]
pub fn bug_at(finding: &Finding, title: &str, steps: &[TraceStep], source: &str) -> Option<Bug> {
    let done = steps.iter().filter(|step| step.status != StepStatus::NotAttempted);
    let trace: Vec<TraceStep> = done.zip(0..).map(|(step, index)| TraceStep { index, ..step.clone() }).collect();
    let last = trace.last()?;
    let locator = last.locator.clone().unwrap_or_default();
    let parts = FingerprintParts {
        version: 2,
        category: finding.category.to_owned(),
        location: Url::parse(&last.url_before).map_or_else(|_| last.url_before.clone(), |url| url_template(&url)),
        role: locator.role.clone().unwrap_or_default(),
        name: locator.name.clone().unwrap_or_default(),
        signal: finding.signal.clone(),
        detail: finding.detail.clone(),
    };
    let target = last.locator.as_ref().map(|locator| format!(" > {}", locator.describe())).unwrap_or_default();
    let location = format!("{title}{target}");
    Some(Bug {
        severity: finding.severity.clone(),
        description: finding.description.clone(),
        expected: finding.expected.clone(),
        actual: finding.actual.clone(),
        screenshot: None,
        kind: Some(finding.kind.clone()),
        fingerprint: Some(legacy(&location, &last.tool.to_string(), &finding.signal)),
        fingerprint_v2: Some(parts.v2()),
        fingerprint_v3: Some(parts.v3()),
        fingerprint_parts: Some(parts),
        trace,
        original_trace: Vec::new(),
        source: Some(source.to_owned()),
        confirmed: None,
        fire_rate: Some(FireRate { fired: 1, attempts: 1 }),
        also_at: Vec::new(),
        evidence: finding.evidence.clone(),
        location,
    })
}

/// The requests of a step that a reader of its trace wants to see; at most thirty.
#[must_use]
pub fn step_requests(since: &Since) -> Vec<StepRequest> {
    since
        .requests
        .iter()
        .filter(|request| matches!(request.kind.as_str(), "Document" | "XHR" | "Fetch" | "Ping" | "EventSource"))
        .take(30)
        .map(|request| StepRequest {
            method: request.method.clone(),
            url: request.url.chars().take(500).collect(),
            kind: request.kind.to_lowercase(),
            status: request.status,
            error: request.error.clone(),
            refused: request.refused.is_some() || request.out_of_scope,
        })
        .collect()
}

/// The first dialog of a step, with the answer that it got.
#[must_use]
pub fn step_dialog(since: &Since) -> Option<DialogAnswer> {
    since.notes.iter().find_map(|note| match note {
        Note::Dialog { kind, text, accepted } => {
            Some(DialogAnswer { kind: kind.clone(), text: text.clone(), accepted: *accepted })
        }
        _ => None,
    })
}
