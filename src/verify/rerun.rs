//! Replays a whole run, flow by flow, into a run of its own.
//!
//! The explorer goes back and forth on a route; its flow is a tree of ways. A rerun plays each way that no longer one
//! contains, in a fresh session, and takes each step's outcome from the first time it is played.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use url::Url;

use super::error::VerifyError;
use super::heal::ModelHealer;
use super::proposals::Proposal;
use super::rebase::rebase;
use super::verdict::verdict;
use crate::event::{EventKind, Events};
use crate::maze::{Bug, FireRate, Severity};
use crate::replay::{Ask, End, Healer, Outcome, Stage, Witness, bug_at, is_explained, outcome, witness_healing};
use crate::store::Clock;
use crate::trace::{Flow, Locator, RunFile, RunSettings, StepStatus, TraceStep};

/// A run that was played again.
#[derive(Clone, Debug)]
pub struct Rerun {
    /// The new run; its id is still to be given.
    pub run: RunFile,
    /// Steps that were played.
    pub played: usize,
    /// Steps whose target was not found, or that could not be done.
    pub missed: usize,
    /// Steps that ended otherwise than in the recording.
    pub differing: Vec<Differing>,
    /// Bugs of the run that did not fire: where, and what came of them.
    pub silent: Vec<(String, Outcome)>,
    /// Targets that were found anew.
    pub proposals: Vec<Proposal>,
    /// Flows of a plan that ended early: which, and why.
    pub stopped: Vec<(String, String)>,
}

/// A step that ended otherwise than in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// Title of its flow.
    pub flow: String,
    /// Its index in the flow.
    pub step: u32,
    /// What it does, for people: `click button "Save"`.
    pub what: String,
    /// How it ended in the recording.
    pub was: StepStatus,
    /// How it ended now.
    pub now: StepStatus,
    /// What failed, now or in the recording.
    pub error: Option<String>,
}

impl Differing {
    fn of(flow: &Flow, recorded: &TraceStep, now: &TraceStep) -> Self {
        let target =
            recorded.locator.as_ref().map_or_else(|| recorded.value.clone().unwrap_or_default(), Locator::describe);
        Self {
            flow: flow.title.clone(),
            step: recorded.index,
            what: format!("{} {target}", recorded.tool).trim_end().to_owned(),
            was: recorded.status.clone(),
            now: now.status.clone(),
            error: now.error.clone().or_else(|| recorded.error.clone()),
        }
    }
}

/// Plays every flow of a run again. With a healer, a target that is missing is asked for.
///
/// # Errors
/// [`VerifyError::NoTrace`] when it holds no trace; [`VerifyError::Model`] when the model cannot be asked at all;
/// [`VerifyError::Session`].
pub async fn rerun(
    stage: &Stage,
    run: &RunFile,
    healer: Option<&ModelHealer>,
    events: &Events,
    clock: &Clock,
) -> Result<Rerun, VerifyError> {
    if run.flows.iter().all(|flow| flow.trace.is_empty()) {
        return Err(VerifyError::NoTrace(run.id.clone()));
    }
    let recorded = Url::parse(&run.base_url).unwrap_or_else(|_| stage.base.clone());
    let began = clock.now();
    let mut again = Rerun::begin(empty(run, stage, began));
    let asks = healer.map(|healer| healer as &dyn Healer);
    let mut first: Option<String> = None;
    for flow in &run.flows {
        let mut outcomes: BTreeMap<u32, TraceStep> = BTreeMap::new();
        for way in ways(flow) {
            let steps: Vec<TraceStep> =
                way.iter().filter_map(|index| flow.trace.iter().find(|step| step.index == *index).cloned()).collect();
            let steps = rebase(&steps, &recorded, &stage.base);
            let seen = witness_healing(stage, &steps, Ask::of(stage.settings.limits.settle_ms, []), asks).await?;
            again.propose(healer, &flow.title, None, &steps, &seen.steps, matches!(seen.end, End::Reached(_)));
            if let End::Stopped { at, why, .. } = &seen.end {
                first.get_or_insert_with(|| format!("step {at}: {why}"));
            }
            if let Some(bug) = new_bug(run, flow, &seen)
                && !again.run.bugs.iter().any(|known| known.fingerprint_v3 == bug.fingerprint_v3)
            {
                again.run.bugs.push(bug);
            }
            for step in seen.steps {
                let known = outcomes.get(&step.index).is_some_and(|known| known.status != StepStatus::NotAttempted);
                if !known {
                    outcomes.insert(step.index, step);
                }
            }
        }
        again.count(flow, &outcomes);
        let trace: Vec<TraceStep> = outcomes.into_values().collect();
        events.emit(clock.now(), EventKind::FlowReplayed { flow: flow.title.clone(), steps: trace.len() });
        again.run.flows.push(Flow { trace, ..flow.clone() });
    }
    if again.played == 0 {
        let why = first.unwrap_or_else(|| "no flow has a step".to_owned());
        return Err(VerifyError::NothingPlayed { run: run.id.clone(), why });
    }
    for bug in &run.bugs {
        let mut trace = rebase(&bug.trace, &recorded, &stage.base);
        let seen = witness_healing(stage, &trace, Ask::of(stage.settings.limits.settle_ms, [bug]), asks).await?;
        let outcome = outcome(bug, &seen, &run.bugs);
        let judged = matches!(outcome, Outcome::Fired | Outcome::Clean);
        again.propose(healer, &bug.location, Some(bug), &trace, &seen.steps, judged);
        for (step, played) in trace.iter_mut().zip(&seen.steps).filter(|(_, played)| played.resolution.is_some()) {
            step.locator.clone_from(&played.locator);
            step.resolution.clone_from(&played.resolution);
        }
        events.emit(
            clock.now(),
            EventKind::BugVerified {
                location: bug.location.clone(),
                verdict: verdict(std::iter::once(&outcome)).to_string(),
            },
        );
        let tried = bug.fire_rate.unwrap_or(FireRate { fired: 0, attempts: 0 });
        if outcome == Outcome::Fired {
            let rate = FireRate { fired: tried.fired + 1, attempts: tried.attempts + 1 };
            again.run.bugs.push(Bug { trace, fire_rate: Some(rate), source: Some("rerun".to_owned()), ..bug.clone() });
        } else {
            again.silent.push((bug.location.clone(), outcome));
        }
    }
    if let Some(error) = healer.and_then(ModelHealer::refused) {
        return Err(error.into());
    }
    again.run.finished_at = Some(clock.now());
    Ok(again)
}

impl Rerun {
    pub(super) fn begin(run: RunFile) -> Self {
        Self {
            run,
            played: 0,
            missed: 0,
            differing: Vec::new(),
            silent: Vec::new(),
            proposals: Vec::new(),
            stopped: Vec::new(),
        }
    }

    /// The new run without what was found up to now.
    pub(super) fn empty_run(&self) -> RunFile {
        RunFile { flows: Vec::new(), bugs: Vec::new(), ..self.run.clone() }
    }

    fn propose(
        &mut self,
        healer: Option<&ModelHealer>,
        location: &str,
        bug: Option<&Bug>,
        recorded: &[TraceStep],
        played: &[TraceStep],
        judged: bool,
    ) {
        for healed in healer.map(|healer| healer.healed(recorded, played)).unwrap_or_default() {
            let page = recorded.iter().find(|step| step.index == healed.index);
            let page = page.map(|step| step.url_before.clone()).unwrap_or_default();
            let known = self.proposals.iter_mut().find(|known| {
                known.location == location && known.healed.old == healed.old && known.healed.new == healed.new
            });
            match known {
                Some(known) => known.judged |= judged,
                None => self.proposals.push(Proposal {
                    location: location.to_owned(),
                    fingerprint: bug.and_then(|bug| bug.fingerprint_v2.clone().or_else(|| bug.fingerprint.clone())),
                    healed,
                    page,
                    judged,
                    accepted: false,
                }),
            }
        }
    }

    fn count(&mut self, flow: &Flow, outcomes: &BTreeMap<u32, TraceStep>) {
        for step in &flow.trace {
            let Some(now) = outcomes.get(&step.index) else { continue };
            self.played += usize::from(now.status != StepStatus::NotAttempted);
            self.missed += usize::from(now.error.as_deref().is_some_and(|error| error.contains("locator_mismatch")));
            if now.status != step.status {
                self.differing.push(Differing::of(flow, step, now));
            }
        }
    }
}

pub(super) fn empty(run: &RunFile, stage: &Stage, now: DateTime<Utc>) -> RunFile {
    let new = stage.run_file(now, "rerun");
    let settings = RunSettings { storage_state: run.settings.storage_state.clone(), ..new.settings };
    RunFile { settings, ..new }
}

/// The ways of a flow that are to be played: of the explorer's, those that no other one contains; else the trace itself.
fn ways(flow: &Flow) -> Vec<Vec<u32>> {
    if flow.paths.is_empty() {
        return vec![flow.trace.iter().map(|step| step.index).collect()];
    }
    let all: Vec<&Vec<u32>> = flow.paths.iter().map(|path| &path.steps).collect();
    let mut chosen: Vec<Vec<u32>> = Vec::new();
    for way in &all {
        let is_part = all.iter().any(|other| other.len() > way.len() && other.starts_with(way));
        if !is_part && !chosen.contains(*way) {
            chosen.push((*way).clone());
        }
    }
    if chosen.is_empty() { vec![vec![0]] } else { chosen }
}

/// A failure that no bug of the run explains, as a bug with the way to it.
pub(super) fn new_bug(run: &RunFile, flow: &Flow, seen: &Witness) -> Option<Bug> {
    let finding = match &seen.end {
        End::Stopped { finding, .. } => finding.as_deref()?,
        End::Reached(sight) => sight.findings.iter().find(|finding| {
            finding.severity != Severity::Minor && !run.bugs.iter().any(|bug| is_explained(bug, finding))
        })?,
    };
    if run.bugs.iter().any(|bug| is_explained(bug, finding)) {
        return None;
    }
    bug_at(finding, &flow.title, &seen.steps, "rerun")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_longest_ways_of_an_explored_route_are_played() {
        let flow: Flow = serde_json::from_value(serde_json::json!({
            "id": "a", "title": "/a", "trace": [], "paths": [
                { "traceRef": "a#1", "steps": [0, 1] }, { "traceRef": "a#2", "steps": [0, 1, 2] },
                { "traceRef": "a#3", "steps": [0, 3] }
            ]
        }))
        .unwrap();
        assert_eq!(ways(&flow), [vec![0, 1, 2], vec![0, 3]]);
    }

    #[test]
    fn a_step_that_ended_otherwise_is_told_with_both_ends_and_why() {
        let trace = |status: &str, error: Option<&str>| {
            serde_json::json!([{
                "index": 3, "tool": "click", "startedAt": "2026-05-02T10:15:00Z", "status": status, "error": error,
                "locator": { "role": "button", "name": "Save" }
            }])
        };
        let flow = |trace| -> Flow {
            serde_json::from_value(serde_json::json!({ "id": "a", "title": "/a", "trace": trace })).unwrap()
        };
        let (was, now) = (flow(trace("passed", None)), flow(trace("failed", Some("no answer"))));
        let run: RunFile =
            crate::verify::runs::parse_run(r#"{"flows":[{"trace":[]}]}"#, "2026-05-02T10-15-00Z").unwrap();
        let mut rerun = Rerun::begin(run);
        rerun.count(&was, &now.trace.iter().map(|step| (step.index, step.clone())).collect());
        rerun.count(&was, &was.trace.iter().map(|step| (step.index, step.clone())).collect());
        assert_eq!(
            rerun.differing,
            [Differing {
                flow: "/a".to_owned(),
                step: 3,
                what: "click button \"Save\"".to_owned(),
                was: StepStatus::Passed,
                now: StepStatus::Failed,
                error: Some("no answer".to_owned()),
            }]
        );
    }
}
