//! The route report: what one subagent found out about one route.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::vocab::{ActionResult, BugKind, NodeState, NodeType, RouteStatus, Severity};
use crate::trace::{FingerprintParts, Locator, TraceStep};

/// The report of one route: `monkey-test-reports/{slug}.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteReport {
    /// The route as it stands in the campaign.
    pub route: String,
    /// When the test ended (UTC).
    pub tested_at: DateTime<Utc>,
    /// Outcome.
    pub status: RouteStatus,
    /// What the landing page is.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<PageInfo>")]
    pub page_info: PageInfo,
    /// Every interactive element and what came of it.
    pub action_tree: ActionTree,
    /// What is wrong.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<Vec<Bug>>")]
    pub bugs: Vec<Bug>,
    /// Messages of the browser's console at level error, as text.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<Vec<String>>")]
    pub console_errors: Vec<String>,
    /// Counts; `total` is the sum of passed, failed and disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_count: Option<OperationsCount>,
    /// Screenshots that belong to no node (login, landing, final), as file names in the route's folder.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub screenshots: Vec<String>,
    /// Brief summary for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How long the route took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// An account of the elements: found, acted on, not acted on and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Limits that were reached, each with what was left undone.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub limits: Vec<String>,
    /// Noise that is not a bug of the application: third-party failures, requests that we stopped.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub noise: Vec<String>,
    /// Run file that holds the traces, relative to the project root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_file: Option<String>,
    /// Why the route could not be tested (status `fail`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Who wrote the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
}

/// What the landing page is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageInfo {
    /// The document's title.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<String>")]
    pub title: String,
    /// Whether there is a table or grid.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<bool>")]
    pub has_table: bool,
    /// Rows of the first table.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub row_count: u64,
    /// Column headers of the first table.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<Vec<String>>")]
    pub column_headers: Vec<String>,
    /// Names of the tabs on the page.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub tabs: Vec<String>,
    /// The address after the page had loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Messages of the console during the load.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub console_errors: Vec<String>,
}

/// The maze map, by the part of the page in which an element was met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionTree {
    /// Everything outside tables and the detail page.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<Vec<Node>>")]
    pub toolbar: Vec<Node>,
    /// The first row's actions.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<Vec<Node>>")]
    pub row_actions: Vec<Node>,
    /// Actions in the header of the detail page.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<Vec<Node>>")]
    pub detail_header_actions: Vec<Node>,
    /// The detail page's tabs.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<Vec<Node>>")]
    pub detail_tabs: Vec<Node>,
}

impl ActionTree {
    /// The four parts with their key names, in the order of the report.
    #[must_use]
    pub fn sections(&self) -> [(&'static str, &[Node]); 4] {
        [
            ("toolbar", &self.toolbar),
            ("row_actions", &self.row_actions),
            ("detail_header_actions", &self.detail_header_actions),
            ("detail_tabs", &self.detail_tabs),
        ]
    }

    /// Visits every node, parents first, with its section and the labels of its ancestors.
    pub fn visit<'a>(&'a self, mut see: impl FnMut(&'static str, &[&'a str], &'a Node)) {
        fn walk<'a>(
            section: &'static str,
            path: &mut Vec<&'a str>,
            nodes: &'a [Node],
            see: &mut impl FnMut(&'static str, &[&'a str], &'a Node),
        ) {
            for node in nodes {
                see(section, path, node);
                path.push(&node.label);
                walk(section, path, &node.children, see);
                path.pop();
            }
        }
        for (section, nodes) in self.sections() {
            walk(section, &mut Vec::new(), nodes, &mut see);
        }
    }
}

/// One interactive element and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Visible or accessible name.
    pub label: String,
    /// What kind of control it is.
    #[serde(rename = "type", default = "unclassified", deserialize_with = "null_is_unclassified")]
    #[schemars(with = "Option<NodeType>")]
    pub node_type: NodeType,
    /// Whether it could be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<NodeState>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_result: Option<ActionResult>,
    /// Screenshot, a file name in the route's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<String>,
    /// Anything a reader should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Accessible role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How to find it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locator: Option<Locator>,
    /// Index of the last step of the trace that acts on it, in the route's flow of the run file: `flow-id#index`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_ref: Option<String>,
    /// How long the action took to settle, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Requests that the action issued: `METHOD path -> status`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub requests: Vec<String>,
    /// The address after the action, when it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_after: Option<String>,
    /// Why it was not acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped_reason: Option<String>,
    /// What the action led to.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<Vec<Node>>")]
    pub children: Vec<Node>,
}

fn unclassified() -> NodeType {
    NodeType::Unclassified
}

fn null_is_unclassified<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NodeType, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(unclassified))
}

/// Reads `null` as the value of a key that is absent: other writers put it there.
fn null_is_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A fault of the application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bug {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub description: String,
    /// Where: the route, then the labels of the path to it (`/orders > Export > CSV`).
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<String>")]
    pub location: String,
    /// What should have happened.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<String>")]
    pub expected: String,
    /// What happened.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<String>")]
    pub actual: String,
    /// Evidence, a file name in the route's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<String>,
    /// What kind of fault it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<BugKind>,
    /// Legacy fingerprint: 16 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Fingerprint over category, URL template, role and name, and signal.
    #[serde(rename = "fingerprintV2", default, skip_serializing_if = "Option::is_none")]
    pub fingerprint_v2: Option<String>,
    /// The finer fingerprint: adds the failing endpoint or the exception's type and top frame.
    #[serde(rename = "fingerprintV3", default, skip_serializing_if = "Option::is_none")]
    pub fingerprint_v3: Option<String>,
    /// What the fingerprints are made of.
    #[serde(rename = "fingerprintParts", default, skip_serializing_if = "Option::is_none")]
    pub fingerprint_parts: Option<FingerprintParts>,
    /// The steps that lead to it, through the failing one.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<TraceStep>>")]
    pub trace: Vec<TraceStep>,
    /// The whole trace, when the other one was shortened.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<TraceStep>>")]
    pub original_trace: Vec<TraceStep>,
    /// `explorer`, `tester-reported` or `reviewer-found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// `true` when a replay in a fresh session showed it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// How often it fired: `fired / attempts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fire_rate: Option<FireRate>,
    /// How many places of this route show it (equal bugs are one entry).
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub also_at: Vec<String>,
    /// Console messages and failed requests that belong to it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub evidence: Vec<String>,
}

/// How often a bug fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FireRate {
    /// Times it fired.
    pub fired: u32,
    /// Times it was tried.
    pub attempts: u32,
}

/// Counts of what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationsCount {
    /// Sum of passed, failed and disabled.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub total: u64,
    /// Enabled nodes acted on without a bug.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub passed: u64,
    /// Enabled nodes acted on with a bug.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub failed: u64,
    /// Disabled nodes.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub disabled: u64,
}

/// An account per element: acted on, or not and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Elements found.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub found: u64,
    /// Acted on.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub acted_on: u64,
    /// Disabled.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub disabled: u64,
    /// Refused because they are destructive.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<u64>")]
    pub refused: u64,
    /// Skipped, by reason.
    #[serde(default, deserialize_with = "null_is_default")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, u64>>")]
    pub skipped: std::collections::BTreeMap<String, u64>,
    /// How much of the application's own scripts ran, where the browser can tell.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<ScriptCoverage>>")]
    pub scripts: Vec<ScriptCoverage>,
}

/// How much of a script ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptCoverage {
    /// Its address; inline scripts go by that of their page.
    pub url: String,
    /// Its length in UTF-16 units, which are bytes for a script of ASCII.
    pub bytes: u64,
    /// How much of it ran.
    pub used_bytes: u64,
}

impl Coverage {
    /// Length of all scripts, and how much of them ran.
    #[must_use]
    pub fn code(&self) -> (u64, u64) {
        self.scripts.iter().fold((0, 0), |(bytes, used), script| {
            (u64::saturating_add(bytes, script.bytes), u64::saturating_add(used, script.used_bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_reads_like_an_absent_key() {
        let with_null = json!({
            "route": "/a", "tested_at": "2026-05-02T10:15:00Z", "status": "pass", "page_info": null, "bugs": null,
            "console_errors": null, "screenshots": null, "limits": null, "noise": null, "operations_count": null,
            "action_tree": {
                "toolbar": [ { "label": "Save", "type": null, "state": null, "requests": null, "children": null } ],
                "row_actions": null, "detail_header_actions": null, "detail_tabs": null
            }
        });
        let without = json!({
            "route": "/a", "tested_at": "2026-05-02T10:15:00Z", "status": "pass",
            "action_tree": { "toolbar": [ { "label": "Save" } ] }
        });
        let read = |value| serde_json::from_value::<RouteReport>(value).unwrap();
        assert_eq!(read(with_null), read(without));
    }

    #[test]
    fn null_inside_page_info_bugs_and_counts_reads_like_an_absent_key() {
        let page: PageInfo =
            serde_json::from_value(json!({ "title": null, "has_table": null, "row_count": null })).unwrap();
        assert_eq!(page, PageInfo::default());
        let bug: Bug = serde_json::from_value(
            json!({ "severity": "minor", "description": "d", "location": null, "trace": null, "evidence": null }),
        )
        .unwrap();
        assert_eq!((bug.location.as_str(), bug.trace.len()), ("", 0));
        let count: OperationsCount = serde_json::from_value(json!({ "total": 3, "failed": null })).unwrap();
        assert_eq!(count, OperationsCount { total: 3, ..OperationsCount::default() });
    }

    #[test]
    fn coverage_may_be_told_in_part() {
        let coverage: Coverage = serde_json::from_value(json!({ "found": 4, "skipped": null })).unwrap();
        assert_eq!(coverage, Coverage { found: 4, ..Coverage::default() });
    }
}
