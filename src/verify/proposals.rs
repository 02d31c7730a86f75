//! What was found anew, kept beside the runs, and written into a stored run only when somebody asks for it.

use std::path::Path;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::error::VerifyError;
use super::heal::HealedStep;
use super::verdict::Verdict;
use super::verifier::VerifyReport;
use crate::llm::ModelUse;
use crate::maze::Bug;
use crate::store::{self, FileLock, StoreError};
use crate::trace::Locator;
use crate::trace::fingerprint::path_template;

const PROPOSALS: &str = ".agent-test/proposals";

/// Locators that were found anew, with what they were found for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proposals {
    /// Version of this format.
    pub schema_version: u32,
    /// The run.
    pub run: String,
    /// When they were made (UTC).
    pub created_at: DateTime<Utc>,
    /// The proposals.
    pub proposals: Vec<Proposal>,
    /// What the model was asked and what it cost.
    pub model: ModelUse,
}

/// One target that was found anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// The bug or the flow: where.
    pub location: String,
    /// Fingerprint V2 of the bug, or its legacy one; absent for a flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The target.
    pub healed: HealedStep,
    /// Address of the page that it stands on.
    pub page: String,
    /// Whether the replay came to its end with it, so that the oracles judged it. Only such a proposal can be accepted.
    pub judged: bool,
    /// Whether it was written into the stored run.
    pub accepted: bool,
}

/// What was found anew while these bugs were verified, each target of a bug once.
#[must_use]
pub fn proposals_of(bugs: &[Bug], report: &VerifyReport) -> Vec<Proposal> {
    let mut all: Vec<Proposal> = Vec::new();
    for (bug, told) in bugs.iter().zip(&report.bugs) {
        let first = all.len();
        let reached = matches!(told.verdict, Verdict::Healed | Verdict::StillBroken | Verdict::Flaky);
        for attempt in &told.attempts {
            let judged = matches!(attempt.outcome.as_str(), "fired" | "clean") && reached;
            for healed in &attempt.healed {
                let page = bug.trace.iter().find(|step| step.index == healed.index);
                let known = all.iter_mut().skip(first).find(|known| known.healed.index == healed.index);
                if let Some(known) = known {
                    known.judged |= judged;
                    continue;
                }
                all.push(Proposal {
                    location: bug.location.clone(),
                    fingerprint: bug.fingerprint_v2.clone().or_else(|| bug.fingerprint.clone()),
                    healed: healed.clone(),
                    page: page.map(|step| step.url_before.clone()).unwrap_or_default(),
                    judged,
                    accepted: false,
                });
            }
        }
    }
    all
}

/// Keeps proposals; gives back the file's path, relative to the project.
///
/// # Errors
/// When it cannot be written.
pub fn keep_proposals(root: &Path, proposals: &Proposals) -> Result<String, StoreError> {
    let bytes = serde_json::to_vec_pretty(proposals).unwrap_or_default();
    let name = store::write_dated(&root.join(PROPOSALS), proposals.created_at, &bytes)?;
    Ok(format!("{PROPOSALS}/{name}"))
}

/// Writes the judged proposals into the locators of a stored run; nothing else of the file changes. The earlier file is
/// kept beside it. Gives back how many targets were rewritten.
///
/// # Errors
/// [`VerifyError::Unreadable`], [`VerifyError::Store`].
pub fn accept(file: &Path, proposals: &mut [Proposal]) -> Result<usize, VerifyError> {
    if !proposals.iter().any(|proposal| proposal.judged) {
        return Ok(0);
    }
    let directory = file.parent().unwrap_or(Path::new("."));
    let _lock = FileLock::acquire(&directory.join("runs.lock"), store::lock_timeout())?;
    let before = store::read_to_string(file)?;
    let unreadable =
        |error: serde_json::Error| VerifyError::Unreadable { path: file.into(), problem: error.to_string() };
    let mut run: Value = serde_json::from_str(before.trim_start_matches('\u{feff}')).map_err(unreadable)?;
    let rewritten = rewrite(&mut run, proposals);
    if rewritten == 0 {
        return Ok(0);
    }
    let taken = store::file_names(directory)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let kept = store::free_name(&format!("{name}.before-heal"), |name| taken.contains(name));
    store::write_atomic(&directory.join(kept), before.as_bytes())?;
    store::write_atomic(file, &serde_json::to_vec_pretty(&run).map_err(unreadable)?)?;
    Ok(rewritten)
}

/// Puts the judged locators into every trace below: of the same action, on the same page, with the same old locator.
fn rewrite(value: &mut Value, proposals: &mut [Proposal]) -> usize {
    match value {
        Value::Array(items) => items.iter_mut().map(|item| rewrite(item, proposals)).sum(),
        Value::Object(fields) => fields
            .iter_mut()
            .map(|(name, field)| match field.as_array_mut() {
                Some(steps) if name == "trace" => steps.iter_mut().filter_map(|step| put(step, proposals)).count(),
                _ => rewrite(field, proposals),
            })
            .sum(),
        _ => 0,
    }
}

fn put(step: &mut Value, proposals: &mut [Proposal]) -> Option<()> {
    let old: Locator = serde_json::from_value(step.get("locator")?.clone()).ok()?;
    let page = template(step.get("urlBefore").and_then(Value::as_str).unwrap_or_default());
    let fitting = proposals
        .iter_mut()
        .find(|proposal| proposal.judged && proposal.healed.old == old && template(&proposal.page) == page)?;
    *step.get_mut("locator")? = serde_json::to_value(&fitting.healed.new).ok()?;
    fitting.accepted = true;
    Some(())
}

fn template(url: &str) -> String {
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| path_template(&url))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn locator(name: &str) -> Locator {
        Locator { role: Some("button".into()), name: Some(name.into()), ..Locator::default() }
    }

    fn proposal(judged: bool) -> Proposal {
        let healed = HealedStep {
            index: 1,
            old: locator("Save"),
            new: locator("Keep"),
            reason: "renamed".into(),
            model: "openai/m".into(),
            cost_usd: None,
        };
        let page = "http://a.b/notes/7".into();
        Proposal { location: "/notes > Save".into(), fingerprint: None, healed, page, judged, accepted: false }
    }

    fn run() -> Value {
        let step = |page: &str, name: &str| json!({ "index": 1, "tool": "click", "urlBefore": page, "locator": { "role": "button", "name": name }, "own": [1, { "x": 2 }] });
        json!({
            "foreign": { "deep": true },
            "flows": [{ "trace": [step("http://a.b/notes/9", "Save"), step("http://a.b/other", "Save")] }],
            "bugs": [{ "fingerprint": "f", "trace": [step("http://a.b/notes/7", "Save"), step("http://a.b/notes/7", "Open")] }]
        })
    }

    #[test]
    fn only_the_judged_target_of_that_page_is_rewritten_and_unknown_fields_survive() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("r.json");
        let before = run().to_string();
        store::write_atomic(&file, before.as_bytes()).unwrap();
        let mut proposals = [proposal(true)];
        assert_eq!(accept(&file, &mut proposals).unwrap(), 2);
        let mut expected = run();
        expected["flows"][0]["trace"][0]["locator"]["name"] = json!("Keep");
        expected["bugs"][0]["trace"][0]["locator"]["name"] = json!("Keep");
        let now: Value = serde_json::from_str(&store::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(now, expected);
        assert!(proposals[0].accepted);
        let kept = store::read_to_string(&directory.path().join("r.json.before-heal")).unwrap();
        assert_eq!(kept, before);
    }

    #[test]
    fn what_no_oracle_judged_is_never_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("r.json");
        store::write_atomic(&file, run().to_string().as_bytes()).unwrap();
        assert_eq!(accept(&file, &mut [proposal(false)]).unwrap(), 0);
        assert_eq!(store::read_to_string(&file).unwrap(), run().to_string());
        assert_eq!(store::file_names(directory.path()).unwrap().len(), 1);
    }
}
