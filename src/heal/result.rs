//! What a heal came to: for programs, for a pull request, and as an exit code. Pure.

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diagnose::FailureKind;
use super::free::Evidence;
use super::vrt::Review;
use crate::exit::Exit;
use crate::llm::ModelUse;

/// How a heal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Red before, green now, and proved; the repair stands.
    Fixed,
    /// The review rejects a visual change.
    Regression,
    /// A person must look.
    NeedsReview,
    /// Sometimes green, sometimes red; nothing was changed.
    Flaky,
    /// Attempts, budget or ideas ran out.
    GiveUp,
    /// A visual change is intended (only where nothing was to be promoted).
    IntentionalChange,
    /// There was nothing to heal.
    AlreadyGreen,
    /// The application or the browser is not there.
    Environment,
    /// Several elements are equally good.
    Ambiguous,
    /// The test seems right, and the application wrong.
    AppRegressionSuspected,
}

impl Verdict {
    /// 0 for fixed and already green, 1 for everything else.
    #[must_use]
    pub fn exit(self) -> Exit {
        if matches!(self, Self::Fixed | Self::AlreadyGreen) { Exit::Ok } else { Exit::Found }
    }

    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Regression => "regression",
            Self::NeedsReview => "needs-review",
            Self::Flaky => "flaky",
            Self::GiveUp => "give-up",
            Self::IntentionalChange => "intentional-change",
            Self::AlreadyGreen => "already-green",
            Self::Environment => "environment",
            Self::Ambiguous => "ambiguous",
            Self::AppRegressionSuspected => "app-regression-suspected",
        }
    }
}

/// One attempt at one failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The test.
    pub test: String,
    /// What kind of failure it was about.
    pub kind: FailureKind,
    /// `free`, or the model.
    pub tier: String,
    /// `locate` or `review`.
    pub phase: String,
    /// `applied`, `refused`, `abstained`, `failed`, `accepted`, `rejected`.
    pub outcome: String,
    /// Why.
    pub reason: String,
    /// The file that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The locator before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The locator after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// The element before and after, and how sure that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// USD that it cost.
    pub cost_usd: f64,
}

/// What proves a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// Green runs in a row after the repair.
    pub green_runs: u32,
    /// Tests that ran, before and after.
    pub tests_run: usize,
    /// Tests that went red when an expectation of theirs was turned false.
    pub falsified: Vec<String>,
}

/// What a heal came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealResult {
    /// How it ended.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// The test file.
    pub file: PathBuf,
    /// Every attempt.
    pub attempts: Vec<Attempt>,
    /// Reviews of screenshots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Review>,
    /// The repair as a unified diff (of a verdict other than fixed: what was tried or is proposed; it does not stand).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// Baselines that were promoted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promoted: Vec<PathBuf>,
    /// What proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Runs of the test command.
    pub test_runs: u32,
    /// Every call of a model, with what it cost.
    pub model: ModelUse,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What a batch came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchResult {
    /// Each file.
    pub entries: Vec<BatchEntry>,
    /// Files that were fixed.
    pub fixed: usize,
    /// USD spent on all.
    pub total_cost_usd: f64,
}

/// One file of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchEntry {
    /// The file.
    pub file: PathBuf,
    /// What it came to; absent: it was skipped or could not be healed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<HealResult>,
    /// Whether it was skipped, because the budget of the batch was spent.
    pub skipped: bool,
    /// Why it could not be healed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl BatchResult {
    /// 0 when every file is fixed or green.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let fine = |entry: &BatchEntry| entry.result.as_ref().is_some_and(|result| result.verdict.exit() == Exit::Ok);
        if self.entries.iter().all(fine) { Exit::Ok } else { Exit::Found }
    }

    /// A summary for a pull request.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Healed tests\n\n| file | verdict | reason |\n| --- | --- | --- |\n");
        for entry in &self.entries {
            let (verdict, reason) = match (&entry.result, &entry.error) {
                (Some(result), _) => (result.verdict.word(), cell(&result.reason)),
                (None, Some(error)) => ("error", cell(error)),
                (None, None) => ("skipped", "the budget of the batch is spent".to_owned()),
            };
            let _ = writeln!(text, "| {} | {verdict} | {reason} |", cell(&entry.file.display().to_string()));
        }
        let _ = writeln!(text, "\n{} of {} fixed, {:.4} USD.\n", self.fixed, self.entries.len(), self.total_cost_usd);
        for result in self.entries.iter().filter_map(|entry| entry.result.as_ref()) {
            text.push_str(&result.markdown());
            text.push('\n');
        }
        text
    }
}

impl HealResult {
    /// A summary for a pull request.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "## {}: `{}`\n\n{}\n",
            self.verdict.word(),
            cell(&self.file.display().to_string()),
            cell(&self.reason)
        );
        if !self.attempts.is_empty() {
            text.push_str("\n| test | failure | tier | outcome | before | after | score | reason |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
            for attempt in &self.attempts {
                let kind = serde_json::to_value(attempt.kind)
                    .ok()
                    .and_then(|kind| kind.as_str().map(str::to_owned))
                    .unwrap_or_default();
                let score =
                    attempt.evidence.as_ref().map(|evidence| format!("{:.2}", evidence.score)).unwrap_or_default();
                let code =
                    |text: &Option<String>| text.as_ref().map(|text| format!("`{}`", cell(text))).unwrap_or_default();
                let _ = writeln!(
                    text,
                    "| {} | {kind} | {} | {} | {} | {} | {score} | {} |",
                    cell(&attempt.test),
                    cell(&attempt.tier),
                    attempt.outcome,
                    code(&attempt.old),
                    code(&attempt.new),
                    cell(&attempt.reason)
                );
            }
        }
        for review in &self.reviews {
            let _ = writeln!(
                text,
                "\n* `{}`: {} ({:.2}): {}",
                cell(&review.name),
                review.verdict.word(),
                review.confidence,
                cell(&review.reason)
            );
        }
        if let Some(proof) = &self.proof {
            let _ = writeln!(
                text,
                "\nProof: {} green runs of {} tests; turned red with a false expectation: {}.",
                proof.green_runs,
                proof.tests_run,
                if proof.falsified.is_empty() { "not needed".to_owned() } else { cell(&proof.falsified.join(", ")) }
            );
        }
        if !self.diff.is_empty() {
            // A fence longer than any in the diff.
            let fence = "`".repeat(self.diff.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1);
            let stands = if self.verdict == Verdict::Fixed { "" } else { "\nThis does not stand; it was put back:\n" };
            let _ = writeln!(text, "{stands}\n{fence}diff\n{}{fence}", self.diff);
        }
        let _ = writeln!(
            text,
            "\n{}; {} runs of the test command, {:.1} s.",
            self.model.line(),
            self.test_runs,
            self.duration_ms as f64 / 1000.0
        );
        text
    }
}

/// One line that cannot leave its cell.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;").replace('`', "'")
}

/// A unified diff.
#[must_use]
pub fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    similar::TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(2)
        .header(&format!("a/{name}"), &format!("b/{name}"))
        .to_string()
}
