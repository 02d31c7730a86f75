//! What came of flows: the answer of `flow --json`, and the lines for people and CI.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::act::{HealDiff, StepCache};
use super::recording::{CACHE, CacheMode, Cost};
use crate::exit::Exit;
use crate::llm::ModelUse;
use crate::report::{Case, CaseEnd};

/// How something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It passed in a later attempt.
    Flaky,
    /// It failed.
    Failed,
    /// A recording is stale, under strictness.
    Stale,
    /// It could not be run: no agent, no answer, no browser.
    Error,
    /// Something before it failed.
    Skipped,
}

/// One step of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// Number of the step, from 1.
    pub number: usize,
    /// Its line in the file.
    pub line: u64,
    /// What it does.
    pub step: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Milliseconds.
    pub duration_ms: u64,
    /// A word for programs, when it did not pass: `REPLAY_STALE`, `STEP_FAILED`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How its recording served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<StepCache>,
    /// What a healed step does otherwise than its recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heal_diff: Option<HealDiff>,
    /// Declared overlays that were put away on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed: Option<u32>,
    /// What should be looked at though it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// A check that could follow this step, without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggest: Option<String>,
}

/// One attempt at a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptResult {
    /// 0 = the first.
    pub index: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Milliseconds.
    pub duration_ms: u64,
    /// Its steps.
    pub steps: Vec<StepResult>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowResult {
    /// Its file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Which repetition (0 = the first).
    pub repeat: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Its attempts.
    pub attempts: Vec<AttemptResult>,
}

/// How recordings served in a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CacheCounts {
    /// Steps that were replayed whole.
    pub replayed: usize,
    /// Steps that were handed off.
    pub handed_off: usize,
    /// Steps that the agent did from their beginning.
    pub missed: usize,
    /// Targets that were found on the ladder of `--relocate`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub relocated: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

/// What came of a run of flows: the answer of `flow --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowReport {
    /// Version of this format.
    pub schema_version: u32,
    /// The flows, in order.
    pub flows: Vec<FlowResult>,
    /// How recordings served.
    pub cache: CacheCounts,
    /// What replays saved, as their recordings took it.
    pub saved: Cost,
    /// What was spent on a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUse>,
    /// What the browsers did: the run file, relative to the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Bugs of the application that were met on the way; the run file holds them.
    #[serde(default)]
    pub bugs: usize,
    /// The exit code.
    pub exit_code: u8,
}

impl FlowReport {
    /// What came of these flows.
    #[must_use]
    pub fn new(flows: Vec<FlowResult>, model: Option<ModelUse>) -> Self {
        let mut cache = CacheCounts::default();
        let mut saved = Cost { usd: Some(0.0), ..Cost::default() };
        let steps = || flows.iter().flat_map(|flow| &flow.attempts).flat_map(|attempt| &attempt.steps);
        for step in steps().filter_map(|step| step.cache.as_ref()) {
            match step.mode {
                CacheMode::SelfFinalized => cache.replayed += 1,
                CacheMode::AgentConcluded => cache.handed_off += 1,
                CacheMode::Missed => cache.missed += 1,
            }
            cache.relocated += step.relocated.unwrap_or_default();
            if let Some(cost) = &step.saved {
                saved.calls += cost.calls;
                saved.tokens += cost.tokens;
                saved.ms += cost.ms;
                saved.usd = saved.usd.zip(cost.usd).map(|(sum, usd)| sum + usd);
            }
        }
        let any = |outcome: Outcome| flows.iter().any(|flow| flow.outcome == outcome);
        let engine = steps().any(|step| step.code.as_deref() == Some("ENGINE"));
        let exit = if engine {
            Exit::Engine
        } else if any(Outcome::Stale) || steps().any(|step| step.code.as_deref() == Some("NO_AGENT")) {
            Exit::Usage
        } else if any(Outcome::Failed) || any(Outcome::Error) {
            Exit::Found
        } else {
            Exit::Ok
        };
        Self { schema_version: 1, flows, cache, saved, model, run: None, bugs: 0, exit_code: exit.code() }
    }

    /// Says where the run is kept, and what was met.
    #[must_use]
    pub fn kept(self, file: String, bugs: usize) -> Self {
        Self { run: Some(file), bugs, ..self }
    }

    /// For people: where what was met can be played again; empty when nothing was.
    #[must_use]
    pub fn run_line(&self) -> String {
        let Some(file) = self.run.as_ref().filter(|_| self.bugs > 0) else { return String::new() };
        let bugs = if self.bugs == 1 { "1 bug".to_owned() } else { format!("{} bugs", self.bugs) };
        format!("Bugs   {bugs} met on the way, in {file}; `agent-test verify` plays them again")
    }

    /// How the command ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.exit_code {
            0 => Exit::Ok,
            1 => Exit::Found,
            2 => Exit::Usage,
            _ => Exit::Engine,
        }
    }

    /// `Cache  4 replayed · 1 handed off · 1 missed`; empty without a step that could be cached.
    #[must_use]
    pub fn cache_line(&self) -> String {
        let parts = [
            (self.cache.replayed, "replayed"),
            (self.cache.handed_off, "handed off"),
            (self.cache.missed, "missed"),
            (self.cache.relocated, "relocated"),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        if parts.is_empty() { String::new() } else { format!("Cache  {}", parts.join(" · ")) }
    }

    /// What replays saved, in one line; empty when none did.
    #[must_use]
    pub fn saved_line(&self) -> String {
        let Cost { calls, tokens, usd, ms } = &self.saved;
        if self.cache.replayed == 0 {
            return String::new();
        }
        let money = usd.filter(|usd| *usd > 0.0).map(|usd| format!(", {usd:.4} USD")).unwrap_or_default();
        format!(
            "Saved  {}, {tokens} tokens{money}, {:.1} s",
            crate::ui::counted(*calls as usize, "model call"),
            *ms as f64 / 1000.0
        )
    }

    /// The cases for JUnit.
    #[must_use]
    pub fn cases(&self) -> Vec<Case> {
        self.flows.iter().map(FlowResult::case).collect()
    }
}

impl FlowResult {
    fn case(&self) -> Case {
        let last = self.attempts.last();
        let bad = last.and_then(|attempt| attempt.steps.iter().find(|step| step.error.is_some()));
        let text: Vec<String> = self.attempts.iter().flat_map(AttemptResult::lines).collect();
        let parts = || {
            let code = bad.and_then(|step| step.code.clone()).unwrap_or_else(|| "failed".to_owned());
            let error = bad.and_then(|step| step.error.clone()).unwrap_or_default();
            (
                code,
                bad.map_or_else(String::new, |step| {
                    format!("step {} ({}:{}): {error}", step.number, self.file, step.line)
                }),
                text.join("\n"),
            )
        };
        let end = match self.outcome {
            Outcome::Passed | Outcome::Flaky | Outcome::Skipped => CaseEnd::Passed,
            Outcome::Failed => {
                let (code, message, text) = parts();
                CaseEnd::Failed(code, message, text)
            }
            Outcome::Stale | Outcome::Error => {
                let (code, message, text) = parts();
                CaseEnd::Error(code, message, text)
            }
        };
        let name =
            if self.repeat == 0 { self.name.clone() } else { format!("{} (repeat {})", self.name, self.repeat + 1) };
        Case {
            suite: self.file.clone(),
            name,
            ms: self.attempts.iter().map(|attempt| attempt.duration_ms).sum(),
            end,
            out: text.join("\n"),
        }
    }
}

impl AttemptResult {
    /// Its steps for people: one line each, and what the cache did below it.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.index > 0 {
            lines.push(format!("  attempt {}", self.index + 1));
        }
        for step in &self.steps {
            let mark = match step.outcome {
                Outcome::Passed | Outcome::Flaky => "ok",
                Outcome::Skipped => "--",
                Outcome::Failed | Outcome::Stale | Outcome::Error => "no",
            };
            lines.push(format!("  {mark}  {} ({:.1} s)", step.step, step.duration_ms as f64 / 1000.0));
            if let Some(cache) = &step.cache {
                lines.push(format!("      {}", cache.line()));
            }
            if let Some(diff) = &step.heal_diff {
                lines.push(format!("      was: {}", diff.old_actions.join("; ")));
                lines.push(format!("      now: {}", diff.new_actions.join("; ")));
                if !diff.new_alerts.is_empty() {
                    lines.push(format!("      new alerts: {}", diff.new_alerts.join("; ")));
                }
            }
            if let Some(warning) = &step.warning {
                lines.push(format!("      warning: {warning}"));
            }
            if let Some(error) = &step.error {
                let code = step.code.as_deref().unwrap_or("failed");
                lines.push(format!("      {code}: {error}"));
            }
        }
        lines
    }
}

impl StepCache {
    /// One line for people, in the order that a reader asks.
    #[must_use]
    pub fn line(&self) -> String {
        let reason = self.reason.map(super::recording::Reason::phrase).unwrap_or_default();
        let what = match self.mode {
            CacheMode::SelfFinalized => format!("replayed all {} recorded actions, no model call", self.total_actions),
            CacheMode::AgentConcluded => format!(
                "replayed {} of {} recorded actions, then the agent took over: {reason}",
                self.replayed_actions, self.total_actions
            ),
            CacheMode::Missed => format!("no replay: {reason}"),
        };
        let mut parts = vec![what];
        parts.extend(self.relocated.map(|many| format!("{many} relocated")));
        parts.extend(self.recorded_with.as_ref().map(|who| format!("recorded with `{who}`")));
        parts.extend(self.detail.clone());
        parts.extend(self.write.map(|write| match &self.not_written {
            Some(why) => format!("{}: {why}", write.phrase()),
            None => write.phrase().to_owned(),
        }));
        parts.extend(self.not_recorded.as_ref().map(|why| format!("not recorded: {why}")));
        let place = self.place.clone().unwrap_or_else(|| format!("{CACHE}/{}.json", self.entry));
        format!("cache: {} (`{place}`)", parts.join("; "))
    }
}

impl Outcome {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Flaky => "flaky",
            Self::Failed => "failed",
            Self::Stale => "stale",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}
