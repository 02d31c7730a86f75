//! Plays the traces of bugs again, several times, side by side, and gives each bug its verdict.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::error::VerifyError;
use super::heal::{HealedStep, ModelHealer};
use super::rebase::rebase;
use super::reset::reset;
use super::verdict::{Verdict, failure_bound, repeats_for, verdict, with_healing};
use crate::browser::SessionError;
use crate::event::{EventKind, Events};
use crate::llm::ModelUse;
use crate::maze::{Bug, Severity};
use crate::replay::{Ask, Healer, Outcome, Stage, outcome, witness_healing};
use crate::store::Clock;
use crate::trace::RunFile;

/// How bugs are verified.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Attempts at each bug; none: what its observed fire rate asks for.
    pub repeat: Option<u32>,
    /// Browsers side by side.
    pub workers: usize,
    /// Run by the shell before each attempt; attempts then come one after the other.
    pub reset_command: Option<String>,
    /// Where the bugs are known to be: a bug is only called fixed when it still fires there.
    pub known_bad: Option<Url>,
    /// Whether a blocked bug fails the process.
    pub fail_on_blocked: bool,
    /// Whether a healed bug fails the process.
    pub fail_on_healed: bool,
    /// Who is asked where a missing target is now; none: nobody.
    pub healer: Option<Arc<ModelHealer>>,
}

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptReport {
    /// `fired`, `clean`, `changed` or `blocked`.
    pub outcome: String,
    /// Index of the step that could not be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// Why it is blocked, or what is wrong now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Locators that held only by a lower rung.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<String>,
    /// Targets that were found anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub healed: Vec<HealedStep>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// The positive control of a bug: whether it still fires where it is known to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Control {
    /// Where.
    pub url: String,
    /// Whether it fired.
    pub fired: bool,
    /// Attempts that were needed or made.
    pub attempts: u32,
}

/// What became of one bug.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BugVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where that is not plain from the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Legacy fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Fingerprint V2.
    #[serde(rename = "fingerprintV2", default, skip_serializing_if = "Option::is_none")]
    pub fingerprint_v2: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub location: String,
    /// What is wrong.
    pub description: String,
    /// Clean attempts.
    pub clean: u32,
    /// Attempts in which it fired.
    pub fired: u32,
    /// Failure rate that remains possible at 95 % confidence, in percent; only for a bug that is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_below_percent: Option<f64>,
    /// Fingerprint V3 of what fails now, for a bug that changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// The positive control, when one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// Every attempt.
    pub attempts: Vec<AttemptReport>,
}

/// What became of the bugs of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// The run.
    pub run: String,
    /// Where it was verified.
    pub base_url: String,
    /// When it began (UTC).
    pub started_at: chrono::DateTime<chrono::Utc>,
    /// The bugs, in the order of the run.
    pub bugs: Vec<BugVerdict>,
    /// What the model was asked and what it cost, when one was configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUse>,
    /// File with the locators that were found anew, relative to the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposals: Option<String>,
    /// Targets of the stored run that were rewritten, when that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<usize>,
    /// 1 when a bug is still_broken, flaky or changed (and on blocked or healed ones where that was asked for).
    pub exit_code: u8,
}

/// Verifies these bugs of a run on a stage.
///
/// # Errors
/// [`VerifyError::NoBase`]; [`VerifyError::Session`] when the browser gives no session.
pub async fn verify(
    stage: &Stage,
    run: &RunFile,
    bugs: &[Bug],
    options: &VerifyOptions,
    events: &Events,
    clock: &Clock,
) -> Result<VerifyReport, VerifyError> {
    let started_at = clock.now();
    let recorded = Url::parse(&run.base_url).unwrap_or_else(|_| stage.base.clone());
    // A command that resets the application would pull it away under the attempts beside it.
    let workers = if options.reset_command.is_some() { 1 } else { options.workers.max(1) };
    let jobs: VecDeque<(usize, u32)> = bugs
        .iter()
        .enumerate()
        .flat_map(|(index, bug)| {
            let repeat = options.repeat.unwrap_or_else(|| repeats_for(bug.fire_rate));
            (0..repeat.max(1)).map(move |_| (index, repeat))
        })
        .collect();
    let queue = Arc::new(Mutex::new(jobs));
    let attempts: Vec<Mutex<Vec<(Outcome, AttemptReport)>>> = bugs.iter().map(|_| Mutex::default()).collect();
    let bench = Bench { stage, run, recorded: &recorded, options };
    let emit = |bug: &Bug, verdict: &Verdict| {
        let kind = EventKind::BugVerified { location: bug.location.clone(), verdict: verdict.to_string() };
        events.emit(clock.now(), kind);
    };
    // With a positive control or a whole trace to come, what the attempts say is not the verdict yet.
    let has_more_to_come = |bug: &Bug| options.known_bad.is_some() || !bug.original_trace.is_empty();
    let work = (0..workers).map(|_| async {
        while let Some((index, repeat)) = next(&queue) {
            let (Some(bug), Some(done)) = (bugs.get(index), attempts.get(index)) else { break };
            let attempt = bench.attempt(bug, &stage.base).await?;
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push(attempt);
            if done.len() >= repeat as usize && !has_more_to_come(bug) {
                emit(bug, &together(&done));
            }
        }
        Ok::<(), SessionError>(())
    });
    for ended in join_all(work).await {
        ended?;
    }
    let mut verdicts = Vec::new();
    for (bug, attempts) in bugs.iter().zip(attempts) {
        let attempts = attempts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut told = sum_up(bug, attempts);
        if told.verdict == Verdict::Fixed && !bug.original_trace.is_empty() {
            bench.whole(bug, &mut told).await?;
        }
        if let Some(known_bad) = &options.known_bad
            && matches!(told.verdict, Verdict::Fixed | Verdict::Healed)
        {
            let (control, blocked) = bench.control(bug, known_bad).await?;
            if !control.fired {
                told.reason = Some(match blocked {
                    Some(why) => format!("clean here, but its step was not reached at {}: {why}", control.url),
                    None => format!(
                        "clean here, but it does not fire at {} either, so nothing shows that this replay would see it",
                        control.url
                    ),
                });
                told.verdict = Verdict::Blocked;
                told.remaining_below_percent = None;
            }
            told.control = Some(control);
        }
        if has_more_to_come(bug) {
            emit(bug, &told.verdict);
        }
        verdicts.push(told);
    }
    let fails = |bug: &BugVerdict| {
        bug.verdict.is_failure()
            || (options.fail_on_blocked && bug.verdict == Verdict::Blocked)
            || (options.fail_on_healed && bug.verdict == Verdict::Healed)
    };
    let exit_code = u8::from(verdicts.iter().any(fails));
    if let Some(error) = options.healer.as_ref().and_then(|healer| healer.refused()) {
        return Err(error.into());
    }
    Ok(VerifyReport {
        run: run.id.clone(),
        base_url: stage.base.to_string(),
        started_at,
        bugs: verdicts,
        model: options.healer.as_ref().map(|healer| healer.spent()),
        proposals: None,
        accepted: None,
        exit_code,
    })
}

fn next(queue: &Mutex<VecDeque<(usize, u32)>>) -> Option<(usize, u32)> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// What every attempt shares.
struct Bench<'a> {
    stage: &'a Stage,
    run: &'a RunFile,
    recorded: &'a Url,
    options: &'a VerifyOptions,
}

/// Attempts at a positive control before the bug counts as not firing there.
const CONTROLS: u32 = 5;

impl Bench<'_> {
    async fn attempt(&self, bug: &Bug, base: &Url) -> Result<(Outcome, AttemptReport), SessionError> {
        if let Some(command) = &self.options.reset_command
            && let Err(why) = reset(command).await
        {
            return Ok(told(Outcome::Blocked { at: None, why }, Vec::new(), Vec::new(), 0));
        }
        let trace = rebase(&bug.trace, self.recorded, base);
        let stage = Stage { base: base.clone(), ..self.stage.clone() };
        let ask = Ask::of(stage.settings.limits.settle_ms, [bug]);
        let healer = self.options.healer.as_deref();
        let seen = witness_healing(&stage, &trace, ask, healer.map(|healer| healer as &dyn Healer)).await?;
        let outcome = outcome(bug, &seen, &self.run.bugs);
        let healed = healer.map(|healer| healer.healed(&trace, &seen.steps)).unwrap_or_default();
        Ok(told(outcome, seen.drift, healed, seen.duration_ms))
    }

    /// A shortened trace may be clean because another way round is repaired: the whole one has to be clean as well.
    async fn whole(&self, bug: &Bug, told: &mut BugVerdict) -> Result<(), SessionError> {
        let whole = Bug { trace: bug.original_trace.clone(), ..bug.clone() };
        let (outcome, report) = self.attempt(&whole, &self.stage.base).await?;
        told.attempts.push(report);
        if outcome == Outcome::Fired {
            told.verdict = Verdict::StillBroken;
            told.fired += 1;
            told.remaining_below_percent = None;
            told.reason = Some("the shortened trace is clean, the whole one still fires".to_owned());
        } else if outcome == Outcome::Clean {
            told.clean += 1;
        }
        Ok(())
    }

    /// Whether the bug fires where it is known to be; and why that cannot be told, when its step is not reached there.
    async fn control(&self, bug: &Bug, known_bad: &Url) -> Result<(Control, Option<String>), SessionError> {
        let mut attempts = 0;
        let mut blocked = None;
        let most = repeats_for(bug.fire_rate).max(CONTROLS);
        while attempts < most && (blocked.is_none() || attempts < 2) {
            attempts += 1;
            match self.attempt(bug, known_bad).await?.0 {
                Outcome::Fired => {
                    return Ok((Control { url: known_bad.to_string(), fired: true, attempts }, None));
                }
                Outcome::Blocked { why, .. } => blocked = Some(why),
                _ => {}
            }
        }
        Ok((Control { url: known_bad.to_string(), fired: false, attempts }, blocked))
    }
}

fn together(attempts: &[(Outcome, AttemptReport)]) -> Verdict {
    let healed = attempts.iter().any(|(_, report)| !report.healed.is_empty());
    with_healing(verdict(attempts.iter().map(|(outcome, _)| outcome)), healed)
}

fn told(outcome: Outcome, drift: Vec<String>, healed: Vec<HealedStep>, duration_ms: u64) -> (Outcome, AttemptReport) {
    let report = AttemptReport {
        outcome: outcome.word().to_owned(),
        at: outcome.at(),
        why: outcome.why().map(str::to_owned),
        drift,
        healed,
        duration_ms,
    };
    (outcome, report)
}

/// Puts the attempts at a bug together.
fn sum_up(bug: &Bug, attempts: Vec<(Outcome, AttemptReport)>) -> BugVerdict {
    let outcomes = || attempts.iter().map(|(outcome, _)| outcome);
    let given = together(&attempts);
    let count =
        |wanted: &Outcome| u32::try_from(outcomes().filter(|outcome| *outcome == wanted).count()).unwrap_or(u32::MAX);
    let (clean, fired) = (count(&Outcome::Clean), count(&Outcome::Fired));
    // The first attempt of the kind that gave the verdict says why.
    let telling = outcomes().find(|outcome| match given {
        Verdict::Blocked => matches!(outcome, Outcome::Blocked { .. }),
        Verdict::Changed => matches!(outcome, Outcome::Changed { .. }),
        _ => false,
    });
    let (reason, now) = match telling {
        Some(Outcome::Blocked { at: Some(at), why }) => (Some(format!("step {at}: {why}")), None),
        Some(Outcome::Blocked { at: None, why }) => (Some(why.clone()), None),
        Some(Outcome::Changed { what, key }) => (Some(format!("now: {what}")), Some(key.clone())),
        _ => (None, None),
    };
    let bound = failure_bound(clean).filter(|_| given == Verdict::Fixed);
    BugVerdict {
        reason,
        fingerprint: bug.fingerprint.clone(),
        fingerprint_v2: bug.fingerprint_v2.clone(),
        severity: bug.severity.clone(),
        location: bug.location.clone(),
        description: bug.description.clone(),
        clean,
        fired,
        remaining_below_percent: bound.map(|bound| (bound * 10.0).round() / 10.0),
        now,
        control: None,
        attempts: attempts.into_iter().map(|(_, report)| report).collect(),
        verdict: given,
    }
}
