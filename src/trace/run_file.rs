//! The run file: one recorded execution with its flows, trace steps and bugs (`.agent-test/runs/{id}.json`).

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::step::TraceStep;
use crate::maze::Bug;

/// One recorded execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunFile {
    /// Version of this format; absent = 1. A higher major version is refused.
    #[serde(default = "one")]
    pub schema_version: u32,
    /// UTC time with `:` replaced by `-`, and a suffix when taken: `2026-05-02T10-15-00Z`.
    pub id: String,
    /// Address of the application.
    pub base_url: String,
    /// Who acted in it: `explorer`, `flow` or `rerun`; absent in runs of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it began (UTC).
    pub started_at: DateTime<Utc>,
    /// When it ended (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<DateTime<Utc>>,
    /// Version of the program that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// Settings that a replay must repeat.
    #[serde(default)]
    pub settings: RunSettings,
    /// What was played: one flow per route for the explorer.
    pub flows: Vec<Flow>,
    /// What was found.
    #[serde(default)]
    pub bugs: Vec<Bug>,
}

fn one() -> u32 {
    1
}

/// Settings that a replay must repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSettings {
    /// Whether the strict oracles were on; absent: they were, as they are unless told otherwise.
    #[serde(default = "on")]
    pub strict_oracles: bool,
    /// Whether a same-site 5xx fails a step; absent: it does.
    #[serde(default = "on")]
    pub fail_on_5xx: bool,
    /// Whether destructive actions were allowed.
    #[serde(default)]
    pub safe_to_mutate: bool,
    /// Window size in CSS pixels, `[width, height]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewport: Option<[u32; 2]>,
    /// Storage-state file that the session began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_state: Option<String>,
}

fn on() -> bool {
    true
}

impl Default for RunSettings {
    fn default() -> Self {
        Self { strict_oracles: true, fail_on_5xx: true, safe_to_mutate: false, viewport: None, storage_state: None }
    }
}

/// A sequence of steps in one browser session.
///
/// The explorer goes back and forth; `path` tells how to reach a node: the indices of the steps that lead to it from the
/// opening navigation, so that a node's trace is `steps[path[0]], steps[path[1]], …`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Flow {
    /// Unique in the run; the explorer's is the route's slug.
    pub id: String,
    /// What it is about; the explorer's is the route.
    pub title: String,
    /// The steps as they happened.
    pub trace: Vec<TraceStep>,
    /// The instructions that the steps came from, where they came from any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlannedStep>,
    /// For each node of the route's action tree: the steps that reach it, through the node's own action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<NodePath>,
}

/// One instruction of a flow's plan, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedStep {
    /// What to do.
    pub instruction: String,
    /// What should be seen then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
}

/// The way to one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePath {
    /// `flow-id#index`: the node's `trace_ref`.
    pub trace_ref: String,
    /// Indices of the steps that lead there, the node's own step last.
    pub steps: Vec<u32>,
}
