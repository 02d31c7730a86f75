//! The trace step and its locator: one action with what came of it.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::maze::open_enum;

open_enum! {
    /// What a step does.
    Tool {
        /// Opens an address.
        Goto = "goto",
        /// Clicks.
        Click = "click",
        /// Clicks twice.
        DoubleClick = "dblclick",
        /// Clicks with the right button.
        RightClick = "right_click",
        /// Presses, and releases after most of a second.
        Hold = "hold",
        /// Types a text into a field.
        Fill = "fill",
        /// Presses a key.
        Press = "press",
        /// Moves the pointer over an element.
        Hover = "hover",
        /// Chooses an option.
        Select = "select",
        /// Sets the files of a file field.
        Upload = "upload",
        /// Scrolls.
        Scroll = "scroll",
        /// Goes back in history.
        Back = "back",
        /// Waits for the screen to be still.
        Wait = "wait",
        /// Checks that a text is visible.
        AssertText = "assert_text",
        /// Does nothing.
        Noop = "noop",
    }
}

impl Tool {
    /// Whether it needs a target.
    #[must_use]
    pub fn is_pointed(&self) -> bool {
        matches!(
            self,
            Self::Click
                | Self::DoubleClick
                | Self::RightClick
                | Self::Hold
                | Self::Hover
                | Self::Fill
                | Self::Select
                | Self::Upload
        )
    }
}

open_enum! {
    /// How a step ended.
    StepStatus {
        /// It did what it should.
        Passed = "passed",
        /// It failed, or an oracle failed it.
        Failed = "failed",
        /// It was left out on purpose.
        Skipped = "skipped",
        /// The flow had ended before.
        NotAttempted = "not_attempted",
    }
}

/// How to find a target again. Rungs are tried from the top; one is used only when exactly one visible element matches
/// and its role agrees (seed 000, `trace-and-verify.md` decision 6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Locator {
    /// Value of a test id attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
    /// Accessible role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Accessible name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Label of a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Placeholder of a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Visible text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// CSS path from the root that owns the element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub css: Option<String>,
    /// CSS paths of the frames that lead to the element, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frame: Vec<String>,
    /// CSS paths of the shadow hosts that lead to the element, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadow: Vec<String>,
    /// Which of several equal elements (0 = the first); present only when no rung is unique. Unstable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u32>,
}

impl Locator {
    /// A short text for people: `button "Save"`.
    #[must_use]
    pub fn describe(&self) -> String {
        let role = self.role.as_deref().unwrap_or("element");
        let name = [&self.name, &self.label, &self.text, &self.placeholder, &self.test_id, &self.css]
            .into_iter()
            .flatten()
            .next();
        name.map_or_else(|| role.to_owned(), |name| format!("{role} \"{name}\""))
    }
}

/// A request that a step issued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepRequest {
    /// HTTP method.
    pub method: String,
    /// Address.
    pub url: String,
    /// `document`, `xhr`, `fetch`, `script`, `image`, …
    pub kind: String,
    /// HTTP status, when an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Stopped by us before it left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

/// One resolved action with what came of it (seed 000).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceStep {
    /// 0 is the opening navigation; planned steps start at 1.
    pub index: u32,
    /// What it does.
    pub tool: Tool,
    /// Its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locator: Option<Locator>,
    /// Text typed, key pressed (`Control+K`), option chosen (label or value; several as a JSON list), address opened, or
    /// file uploaded (path below the project; several as a JSON list). A secret is a reference (`env:NAME`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Address before.
    #[serde(default)]
    pub url_before: String,
    /// Address after.
    #[serde(default)]
    pub url_after: String,
    /// When it began (UTC).
    pub started_at: DateTime<Utc>,
    /// How long it took until the screen was still, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// How it ended.
    pub status: StepStatus,
    /// What was seen to happen, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<String>,
    /// What failed, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Screenshot, relative to the project root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<String>,
    /// `healed` when a model found the target anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<String>,
    /// Answer given to a JavaScript dialog: `dismiss`, or `accept`, and the dialog's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<DialogAnswer>,
    /// Which window the step acted in (0 = the first).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tab: u32,
    /// Requests that the step issued.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<StepRequest>,
    /// Faults that the recording did not hold against the step: another page's own, seen while the step opened it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
}

impl TraceStep {
    /// A step on this page, as yet without target, value and outcome.
    #[must_use]
    pub fn new(tool: Tool, url: &str, at: DateTime<Utc>) -> Self {
        Self {
            index: 0,
            tool,
            locator: None,
            value: None,
            url_before: url.to_owned(),
            url_after: url.to_owned(),
            started_at: at,
            duration_ms: 0,
            status: StepStatus::Passed,
            observation: None,
            error: None,
            screenshot: None,
            resolution: None,
            dialog: None,
            tab: 0,
            requests: Vec::new(),
            set_aside: Vec::new(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// What a JavaScript dialog asked and what was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DialogAnswer {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// Its text.
    pub text: String,
    /// Whether it was accepted.
    pub accepted: bool,
}
