//! The shortest trace that still fires the same bug (`trace-and-verify.md` 3.1).
//!
//! Order: a baseline (a bug that fires in fewer than half of ten attempts is refused); a later beginning (the failing step's
//! own page first); steps that do nothing; delta debugging over the steps of one page together, then over single steps;
//! single steps until none can be left out; proof.
//!
//! Invariants
//! * Only the same key counts: another failure that is met on the way is told, and never accepted (slippage).
//! * Oracles, login, guard, window and everything else that a replay is played with stay as they are.
//! * Whatever ends it (a deadline, Ctrl-C, a crash), what was tried is on disk; the next call goes on from there.
//! * The run is not rewritten: the result is a run of its own, the long trace beside the short one in it.

mod plan;
mod progress;
mod shrink;

use std::path::Path;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::plan::{Candidate, between, idle, segments, starts};
use self::progress::Progress;
use self::shrink::{cdd, one_by_one};
use super::error::VerifyError;
use super::rebase::rebase;
use super::reset::reset;
use super::verdict::repeats_for;
use crate::event::{EventKind, Events};
use crate::maze::{Bug, FireRate, Severity};
use crate::replay::{Ask, Outcome, Stage, outcome, witness};
use crate::store::{self, Clock, StoreError};
use crate::trace::{Flow, RunFile, TraceStep};

/// Directory of the results, below the project.
const DIRECTORY: &str = ".agent-test/minimised";
/// Attempts of the baseline at most, and how many of them must fire.
const BASELINE: FireRate = FireRate { fired: 5, attempts: 10 };

/// How traces are shortened.
#[derive(Clone, Debug)]
pub struct MinimiseOptions {
    /// Time for each bug; what was reached by then is the result.
    pub deadline: Duration,
    /// Run by the shell before each replay.
    pub reset_command: Option<String>,
}

/// What came of one bug's trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Minimised {
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
    /// Steps of the trace as it was.
    pub steps_before: usize,
    /// Steps that are left; the same number when nothing was done.
    pub steps_after: usize,
    /// Whether no single step can be left out any more.
    pub complete: bool,
    /// Replays that were played, those of earlier calls included.
    pub replays: u32,
    /// Steps that those replays played.
    pub steps_played: u64,
    /// How often it fired before.
    pub baseline: FireRate,
    /// How often the short trace fired when it was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<FireRate>,
    /// Why there is no short trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Other failures that were met on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_seen: Vec<String>,
    /// The run that holds the short trace, relative to the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// What came of the bugs of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MinimiseReport {
    /// The run.
    pub run: String,
    /// The bugs, in the order of the run.
    pub bugs: Vec<Minimised>,
    /// 1 when a bug fires too seldom to be shortened.
    pub exit_code: u8,
}

impl MinimiseReport {
    /// A report on these bugs.
    #[must_use]
    pub fn new(run: String, bugs: Vec<Minimised>) -> Self {
        let exit_code = u8::from(bugs.iter().any(|bug| bug.reason.is_some() && !bug.complete));
        Self { run, bugs, exit_code }
    }
}

/// Shortens the trace of one bug, and keeps the result.
///
/// # Errors
/// [`VerifyError::Session`] when the browser gives no session; [`VerifyError::Store`].
pub async fn minimise(
    stage: &Stage,
    run: &RunFile,
    bug: &Bug,
    options: &MinimiseOptions,
    root: &Path,
    events: &Events,
    clock: &Clock,
) -> Result<Minimised, VerifyError> {
    let recorded = url::Url::parse(&run.base_url).unwrap_or_else(|_| stage.base.clone());
    let trace = rebase(&bug.trace, &recorded, &stage.base);
    let place = result_place(run, bug);
    let mut shrinker = Shrinker {
        stage,
        run,
        bug,
        best: Candidate::whole(&trace),
        trace,
        options,
        began: Instant::now(),
        patience_ms: stage.settings.limits.settle_ms,
        tries: 1,
        progress: Progress::load(&root.join(format!("{place}.progress.json")), &bug.trace),
        events,
        clock,
    };
    if bug.trace.len() < 3 {
        return Ok(shrinker.told(Some(String::from("nothing stands between its opening and its failing step")), true));
    }
    let complete = match shrinker.shrink().await {
        Ok(()) => true,
        Err(Stop::Deadline) => false,
        Err(Stop::Seldom(why)) => return Ok(shrinker.told(Some(why), false)),
        Err(Stop::Failed(error)) => return Err(error),
    };
    if !complete && shrinker.best == Candidate::whole(&shrinker.trace) {
        return Ok(shrinker.told(None, false));
    }
    let proof = shrinker.prove().await?;
    let mut told = shrinker.told(None, complete);
    told.proof = Some(proof);
    if proof.fired == 0 {
        told.steps_after = told.steps_before;
        told.reason = Some("the short trace did not fire again, so it is not kept".to_owned());
        return Ok(told);
    }
    if told.steps_after < told.steps_before {
        told.file = Some(keep(root, &place, &shrinker.result(proof))?);
    }
    if complete {
        shrinker.progress.forget()?;
    }
    Ok(told)
}

/// Where the result of a bug lies, without its ending.
fn result_place(run: &RunFile, bug: &Bug) -> String {
    let key = bug.fingerprint_v3.as_ref().or(bug.fingerprint_v2.as_ref()).or(bug.fingerprint.as_ref());
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).take(80).collect()
    };
    format!("{DIRECTORY}/{}-{}", plain(&run.id), plain(key.map_or("bug", String::as_str)))
}

fn keep(root: &Path, place: &str, run: &RunFile) -> Result<String, StoreError> {
    let file = format!("{place}.json");
    store::create_dir(&root.join(DIRECTORY))?;
    store::write_atomic(&root.join(&file), &serde_json::to_vec_pretty(run).unwrap_or_default())?;
    Ok(file)
}

/// Why shortening ended early.
enum Stop {
    Deadline,
    /// It fires too seldom, and how often.
    Seldom(String),
    Failed(VerifyError),
}

impl<E: Into<VerifyError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

struct Shrinker<'a> {
    stage: &'a Stage,
    run: &'a RunFile,
    bug: &'a Bug,
    /// The trace, at the address where it is played.
    trace: Vec<TraceStep>,
    /// The shortest that fired so far.
    best: Candidate,
    options: &'a MinimiseOptions,
    began: Instant,
    patience_ms: u64,
    /// Replays after which a candidate that did not fire counts as one that does not.
    tries: u32,
    progress: Progress,
    events: &'a Events,
    clock: &'a Clock,
}

impl Shrinker<'_> {
    /// Whether the trace fires often enough to be shortened; gives the step time-out as well.
    async fn baseline(&mut self) -> Result<(), Stop> {
        let whole = self.trace.clone();
        let mut blocked = None;
        while !self.progress.baseline_is_known() {
            self.is_in_time()?;
            let (outcome, slowest_ms) = self.play(&whole).await?;
            if outcome == Outcome::Fired {
                self.progress.slowest_ms = self.progress.slowest_ms.max(slowest_ms);
            } else {
                blocked = outcome.why().map(str::to_owned).or(blocked);
            }
            self.progress.note_baseline(outcome == Outcome::Fired)?;
        }
        let FireRate { fired, attempts } = self.progress.baseline;
        // What was never reached says nothing about how often it fires.
        if let Some(why) = blocked.as_ref().filter(|why| fired == 0 && why.starts_with("network: ")) {
            self.progress.forget()?;
            return Err(VerifyError::NothingPlayed { run: self.run.id.clone(), why: why.clone() }.into());
        }
        if fired * BASELINE.attempts < BASELINE.fired * attempts || fired == 0 {
            self.progress.forget()?;
            let why = blocked.map(|why| format!(": {why}")).unwrap_or_default();
            return Err(Stop::Seldom(format!("the whole trace fired in {fired} of {attempts} attempts only{why}")));
        }
        // A target that comes late was waited for in the slowest hit; twice that is enough for a miss.
        let limit = self.stage.settings.limits.settle_ms;
        self.patience_ms = (self.progress.slowest_ms * 2).clamp(300, limit.max(300));
        // So often that one which fires like the whole is not missed but once in twenty times; always fired: once more
        // for one that did not.
        self.tries = if fired == attempts { 1 } else { repeats_for(Some(self.progress.baseline)) };
        Ok(())
    }

    fn is_in_time(&self) -> Result<(), Stop> {
        if self.began.elapsed() > self.options.deadline { Err(Stop::Deadline) } else { Ok(()) }
    }

    async fn shrink(&mut self) -> Result<(), Stop> {
        self.baseline().await?;
        self.begin_later().await?;
        let start = self.best.start;
        let drop = idle(&self.trace);
        let busy: Vec<usize> = self.best.keep.iter().copied().filter(|place| !drop.contains(place)).collect();
        if busy.len() < self.best.keep.len() && !self.fires(&Candidate { start, keep: busy }).await? {
            let (first, second): (Vec<usize>, Vec<usize>) = {
                let drop: Vec<usize> = drop.into_iter().filter(|place| self.best.keep.contains(place)).collect();
                let (first, second) = drop.split_at(drop.len() / 2);
                (first.to_vec(), second.to_vec())
            };
            for half in [second, first] {
                let keep = self.best.keep.iter().copied().filter(|place| !half.contains(place)).collect();
                self.fires(&Candidate { start, keep }).await?;
            }
        }
        let pages = segments(&self.trace, &self.best.keep);
        if pages.len() > 1 {
            let mut fires = async |keep: &[usize]| self.fires(&Candidate { start, keep: keep.to_vec() }).await;
            cdd(pages, &mut fires).await?;
        }
        let single = |keep: &[usize]| -> Vec<Vec<usize>> { keep.iter().map(|place| vec![*place]).collect() };
        let units = single(&self.best.keep);
        let mut fires = async |keep: &[usize]| self.fires(&Candidate { start, keep: keep.to_vec() }).await;
        let units = cdd(units, &mut fires).await?;
        one_by_one(units, &mut fires).await?;
        Ok(())
    }

    /// Opens a later page directly: the failing step's own, else the latest that fires (found by halving).
    async fn begin_later(&mut self) -> Result<(), Stop> {
        let nothing_between = Candidate { start: 0, keep: Vec::new() };
        if self.fires(&nothing_between).await? {
            return Ok(());
        }
        let starts = starts(&self.trace);
        let candidate = |start: usize, trace: &[TraceStep]| Candidate { start, keep: between(trace, start) };
        if let Some(latest) = starts.first()
            && self.fires(&candidate(*latest, &self.trace)).await?
        {
            return Ok(());
        }
        // The later a page, the likelier is something missing: the ones behind a page that does not fire are left out.
        let (mut fails, mut works) = (0, starts.len());
        while works - fails > 1 {
            let middle = fails.midpoint(works);
            let Some(start) = starts.get(middle) else { break };
            if self.fires(&candidate(*start, &self.trace)).await? {
                works = middle;
            } else {
                fails = middle;
            }
        }
        Ok(())
    }

    /// Whether a candidate fires; played at most as often as the bug's rate asks for, and never twice.
    async fn fires(&mut self, candidate: &Candidate) -> Result<bool, Stop> {
        let steps = candidate.steps(&self.trace);
        if let Some(known) = self.progress.known(candidate) {
            if known {
                self.accept(candidate);
            }
            return Ok(known);
        }
        let mut fired = false;
        for _ in 0..self.tries {
            self.is_in_time()?;
            let (outcome, _) = self.play(&steps).await?;
            match outcome {
                Outcome::Fired => {
                    fired = true;
                    break;
                }
                Outcome::Changed { what, .. } => self.progress.also_seen(what),
                Outcome::Clean | Outcome::Blocked { .. } => {}
            }
        }
        self.progress.note(candidate, fired)?;
        if fired {
            self.accept(candidate);
            let kind = EventKind::TraceShortened { location: self.bug.location.clone(), steps: steps.len() };
            self.events.emit(self.clock.now(), kind);
        }
        Ok(fired)
    }

    fn accept(&mut self, candidate: &Candidate) {
        if candidate.steps(&self.trace).len() <= self.best.steps(&self.trace).len() {
            self.best = candidate.clone();
        }
    }

    /// Plays steps in a fresh session; gives back what the bug did, and how long the slowest step took.
    async fn play(&mut self, steps: &[TraceStep]) -> Result<(Outcome, u64), VerifyError> {
        self.progress.replays += 1;
        if let Some(command) = &self.options.reset_command
            && let Err(why) = reset(command).await
        {
            return Ok((Outcome::Blocked { at: None, why }, 0));
        }
        let ask = Ask::of(self.patience_ms, [self.bug]);
        let seen = witness(self.stage, steps, ask).await?;
        let done = seen.steps.iter().filter(|step| step.duration_ms > 0);
        self.progress.steps_played += done.clone().count() as u64;
        // Opening a page tells nothing about how late a target comes.
        let slowest = done.skip(1).map(|step| step.duration_ms).max().unwrap_or(0);
        Ok((outcome(self.bug, &seen, &self.run.bugs), slowest))
    }

    /// Plays the short trace as often as the bug's rate asks for.
    async fn prove(&mut self) -> Result<FireRate, VerifyError> {
        let steps = self.best.steps(&self.trace);
        let mut proof = FireRate { fired: 0, attempts: 0 };
        for _ in 0..repeats_for(Some(self.progress.baseline)) {
            let (outcome, _) = self.play(&steps).await?;
            proof.attempts += 1;
            proof.fired += u32::from(outcome == Outcome::Fired);
        }
        self.progress.save()?;
        Ok(proof)
    }

    fn told(&self, reason: Option<String>, complete: bool) -> Minimised {
        let short = if reason.is_some() { self.trace.len() } else { self.best.steps(&self.trace).len() };
        Minimised {
            fingerprint: self.bug.fingerprint.clone(),
            fingerprint_v2: self.bug.fingerprint_v2.clone(),
            severity: self.bug.severity.clone(),
            location: self.bug.location.clone(),
            steps_before: self.trace.len(),
            steps_after: short,
            complete,
            replays: self.progress.replays,
            steps_played: self.progress.steps_played,
            baseline: self.progress.baseline,
            proof: None,
            reason,
            also_seen: self.progress.seen.clone(),
            file: None,
        }
    }

    /// The run that holds the bug with the short trace, and the long one beside it.
    fn result(&self, proof: FireRate) -> RunFile {
        let long =
            if self.bug.original_trace.is_empty() { self.trace.clone() } else { self.bug.original_trace.clone() };
        let trace = self.best.steps(&self.trace);
        let flow = Flow {
            id: "minimised".to_owned(),
            title: self.bug.location.clone(),
            trace: trace.clone(),
            paths: Vec::new(),
            plan: Vec::new(),
        };
        let bug = Bug { trace, original_trace: long, fire_rate: Some(proof), ..self.bug.clone() };
        RunFile {
            base_url: self.stage.base.to_string(),
            finished_at: Some(self.clock.now()),
            flows: vec![flow],
            bugs: vec![bug],
            ..self.run.clone()
        }
    }
}
