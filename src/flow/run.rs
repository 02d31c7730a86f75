//! Runs flows: repetitions, attempts, workers; settles what their steps recorded.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};

use super::act::{Acted, Counts, Goal, Mode, Player, Work, act};
use super::agent::{Agent, AgentError, Turn};
use super::chronicle::Chronicle;
use super::error::FlowError;
use super::expect::{fitting, shows};
use super::file::{Does, Extract, Flow, Heal, Step};
use super::params::{Secrets, Values};
use super::prepare::{TARGET, secrets, step_key};
use super::recording::{CacheStore, Write};
use super::result::{AttemptResult, FlowReport, FlowResult, Outcome, StepResult};
use super::settlement::{Ended, Pending, Settled, settle_all};
use crate::browser::{Scene, Session, SessionError};
use crate::event::{EventKind, Events};
use crate::llm::ModelUse;
use crate::maze::Bug;
use crate::replay::Stage;
use crate::store::{Clock, Ids, free_name};
use crate::trace::{self, RunFile, Tool, TraceStep};

/// The code of a step in which the oracles found a fault of the application.
const PAGE_FAULT: &str = "PAGE_FAULT";

/// How flows are run.
#[derive(Clone, Debug)]
pub struct FlowOptions {
    /// How often each flow is run.
    pub repeat_each: u32,
    /// How often a flow that failed is tried again.
    pub retries: u32,
    /// Browsers side by side.
    pub workers: usize,
    /// How recordings are used.
    pub mode: Mode,
    /// A stale recording fails its step.
    pub strict: bool,
    /// Give up on a target as soon as the screen stands still without it.
    pub fast_miss: bool,
    /// Look for a target that does not read as recorded by its test id or its name alone.
    pub relocate: bool,
    /// What is tested, when not the usual: recordings are kept for each target.
    pub target: Option<String>,
    /// Most steps of the run that may be handed to an agent because their recording is stale.
    pub heal_budget: Option<u32>,
    /// Parameters, in place of those of the files.
    pub params: BTreeMap<String, String>,
}

/// What a run of flows is done with.
pub struct Runner<'a> {
    /// The application.
    pub stage: &'a Stage,
    /// Who finishes what a replay cannot.
    pub agent: Option<Arc<dyn Agent>>,
    /// The recordings.
    pub store: CacheStore,
    /// How.
    pub options: FlowOptions,
    /// Who is told what happens.
    pub events: &'a Events,
    /// The time.
    pub clock: &'a Clock,
    /// Words that no other run has.
    pub ids: Ids,
    heals: AtomicU32,
    recorded: Mutex<Vec<(trace::Flow, Vec<Bug>)>>,
}

/// What is known on the way through an attempt.
struct Way<'a> {
    flow: &'a Flow,
    values: Values,
    secrets: Secrets,
    attempt: u32,
    pending: Vec<Pending>,
    verified: Option<usize>,
    /// Every failure so far was a model that gave no answer, or a fault of the application: neither says anything of a
    /// recording.
    no_answer: bool,
}

impl<'a> Runner<'a> {
    /// A run of flows.
    #[must_use]
    pub fn new(
        stage: &'a Stage,
        agent: Option<Arc<dyn Agent>>,
        store: CacheStore,
        options: FlowOptions,
        events: &'a Events,
        clock: &'a Clock,
    ) -> Self {
        Self {
            stage,
            agent,
            store,
            options,
            events,
            clock,
            ids: Ids::random(),
            heals: AtomicU32::new(0),
            recorded: Mutex::default(),
        }
    }

    /// Runs them all. Repetitions of one flow come one after the other.
    ///
    /// # Errors
    /// [`FlowError`]: a parameter or secret that is missing, before anything is run.
    pub async fn run(&self, flows: &[Flow], spent: impl FnOnce() -> Option<ModelUse>) -> Result<FlowReport, FlowError> {
        let prepared: Vec<(&Flow, Secrets)> =
            flows.iter().map(|flow| Ok((flow, secrets(flow)?))).collect::<Result<_, FlowError>>()?;
        for flow in flows {
            self.values(flow)?;
        }
        // Boxed: the compiler cannot tell that a closure over borrowed flows is general enough for a task of its own.
        let mut jobs: Vec<BoxFuture<'_, Result<Vec<FlowResult>, FlowError>>> = Vec::new();
        for (flow, secrets) in prepared {
            jobs.push(self.repeated(flow, secrets).boxed());
        }
        let workers = self.options.workers.max(1);
        let done: Vec<Result<Vec<FlowResult>, FlowError>> =
            futures_util::stream::iter(jobs).buffered(workers).collect().await;
        let mut results = Vec::new();
        for flow in done {
            results.extend(flow?);
        }
        Ok(FlowReport::new(results, spent()))
    }

    async fn repeated(&self, flow: &Flow, secrets: Secrets) -> Result<Vec<FlowResult>, FlowError> {
        let mut results = Vec::new();
        for repeat in 0..self.options.repeat_each.max(1) {
            results.push(self.flow(flow, &secrets, repeat).await?);
        }
        Ok(results)
    }

    fn values(&self, flow: &Flow) -> Result<Values, FlowError> {
        let own: BTreeMap<String, String> = self
            .options
            .params
            .iter()
            .filter(|(name, _)| flow.params.contains_key(*name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let token: String = self.ids.token().chars().filter(char::is_ascii_alphanumeric).collect();
        let word = token.get(token.len().saturating_sub(10)..).unwrap_or(&token).to_owned();
        Values::new(&flow.params, &own, &word).map_err(|name| FlowError::NoParam { flow: flow.name.clone(), name })
    }

    async fn flow(&self, flow: &Flow, secrets: &Secrets, repeat: u32) -> Result<FlowResult, FlowError> {
        let name = secrets.hide(&flow.name);
        let mut attempts = Vec::new();
        for attempt in 0..=self.options.retries {
            let done = self.attempt(flow, secrets, attempt).await?;
            let outcome = done.outcome;
            attempts.push(done);
            // A stale recording is no flake: a second attempt would run live, and pass.
            if outcome != Outcome::Failed {
                break;
            }
        }
        let last = attempts.last().map_or(Outcome::Error, |attempt| attempt.outcome);
        let outcome = if last == Outcome::Passed && attempts.len() > 1 { Outcome::Flaky } else { last };
        self.events
            .emit(self.clock.now(), EventKind::FlowDone { flow: name.clone(), outcome: outcome.word().to_owned() });
        Ok(FlowResult { file: flow.file.clone(), name, repeat, outcome, attempts })
    }

    async fn attempt(&self, flow: &Flow, secrets: &Secrets, attempt: u32) -> Result<AttemptResult, FlowError> {
        let began = Instant::now();
        let mut way = Way {
            flow,
            values: self.values(flow)?,
            secrets: secrets.clone(),
            attempt,
            pending: Vec::new(),
            verified: None,
            no_answer: true,
        };
        let session = match self.stage.session().await {
            Ok(session) => session,
            Err(error) => return Err(FlowError::Stage(error.into())),
        };
        let chronicle = Chronicle::new(way.secrets.hide(&flow.name), self.stage.oracles());
        let mut steps: Vec<StepResult> = Vec::new();
        let mut outcome = Outcome::Passed;
        for (at, step) in flow.steps.iter().enumerate() {
            let mut result = StepResult {
                number: at + 1,
                line: step.line,
                step: way.secrets.hide(&way.values.fill(&step.does.line())),
                outcome: Outcome::Skipped,
                duration_ms: 0,
                code: None,
                error: None,
                cache: None,
                heal_diff: None,
                warning: None,
                dismissed: None,
                suggest: None,
            };
            if outcome == Outcome::Passed {
                let start = Instant::now();
                let done = self.step((&session, &chronicle), &mut way, at, step, &mut result).await;
                result.duration_ms = start.elapsed().as_millis() as u64;
                result.outcome = match done {
                    Ok(()) => Outcome::Passed,
                    Err(fault) => {
                        way.no_answer &= matches!(fault.0, "NO_VERDICT" | PAGE_FAULT);
                        result.error = Some(way.secrets.hide(&fault.1));
                        result.code = Some(fault.0.to_owned());
                        match fault.0 {
                            "REPLAY_STALE" => Outcome::Stale,
                            "NO_AGENT" | "NO_VERDICT" | "ENGINE" => Outcome::Error,
                            _ => Outcome::Failed,
                        }
                    }
                };
                outcome = result.outcome;
            }
            steps.push(result);
        }
        session.close().await;
        self.keep(flow, chronicle);
        self.settle(&mut way, outcome, &mut steps).await;
        Ok(AttemptResult { index: attempt, outcome, duration_ms: began.elapsed().as_millis() as u64, steps })
    }

    /// Keeps what an attempt did, for the run file.
    fn keep(&self, flow: &Flow, chronicle: Chronicle) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let stem = Path::new(&flow.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let id = free_name(&stem, |id| recorded.iter().any(|(flow, _)| flow.id == id));
        recorded.push(chronicle.into_parts(id));
    }

    /// What the browsers did, as a run that is not written yet; none when nothing was done.
    #[must_use]
    pub fn run_file(&self, began: DateTime<Utc>) -> Option<RunFile> {
        let recorded = std::mem::take(&mut *self.recorded.lock().unwrap_or_else(PoisonError::into_inner));
        let mut run = self.stage.run_file(began, "flow");
        for (flow, bugs) in recorded.into_iter().filter(|(flow, _)| !flow.trace.is_empty()) {
            run.flows.push(flow);
            for bug in bugs {
                let known = run.bugs.iter_mut().find(|known| known.fingerprint_v3 == bug.fingerprint_v3);
                match known {
                    Some(known) if known.location == bug.location || known.also_at.contains(&bug.location) => {}
                    Some(known) => known.also_at.push(bug.location),
                    None => run.bugs.push(bug),
                }
            }
        }
        run.finished_at = Some(self.clock.now());
        (!run.flows.is_empty()).then_some(run)
    }

    /// What becomes of the recordings of an attempt.
    async fn settle(&self, way: &mut Way<'_>, outcome: Outcome, steps: &mut [StepResult]) {
        let pending = std::mem::take(&mut way.pending);
        let staged: Vec<usize> = pending.iter().map(|pending| pending.step).collect();
        let ended = Ended {
            mode: self.options.mode,
            attempt: way.attempt,
            verified: way.verified,
            no_answer: outcome != Outcome::Passed && way.no_answer,
            now: self.clock.now(),
        };
        let settled = self.store.aside(move |store| settle_all(store, pending, ended)).await;
        let settled = settled.unwrap_or_else(|why| {
            let lost = |step| Settled { step, write: Some(Write::NotWritten), trouble: Some(why.clone()) };
            staged.into_iter().map(lost).collect()
        });
        for Settled { step, write, trouble } in settled {
            if let Some(cache) = steps.get_mut(step).and_then(|step| step.cache.as_mut()) {
                cache.write = write.or(cache.write);
                cache.not_written = trouble.map(|why| way.secrets.hide(&why));
            }
        }
    }

    async fn step(
        &self,
        (session, chronicle): (&Session, &Chronicle),
        way: &mut Way<'_>,
        at: usize,
        step: &Step,
        result: &mut StepResult,
    ) -> Result<(), (&'static str, String)> {
        let counts = Counts::default();
        let player = Player {
            session,
            stage: self.stage,
            secrets: &way.secrets.clone(),
            labels: &way.flow.labels,
            dismiss: &way.flow.dismiss,
            relocate: self.options.relocate,
            counts: &counts,
            chronicle,
            clock: self.clock,
        };
        let done = self.does(player, way, (at, step), result).await;
        chronicle.take_in(session, None);
        let faults = chronicle.faults().join("; ");
        let done = match done {
            done if faults.is_empty() => done,
            Ok(()) => Err((PAGE_FAULT, faults)),
            Err((code, why)) => Err((code, format!("{why}; and the application: {faults}"))),
        };
        result.dismissed = Some(counts.dismissed()).filter(|many| *many > 0);
        done
    }

    async fn does(
        &self,
        player: Player<'_>,
        way: &mut Way<'_>,
        (at, step): (usize, &Step),
        result: &mut StepResult,
    ) -> Result<(), (&'static str, String)> {
        let session = player.session;
        let limit = Duration::from_millis(step.timeout_ms);
        match &step.does {
            Does::Open(address) => {
                let address = way.values.fill(address);
                let url = self
                    .stage
                    .base
                    .join(&address)
                    .map_err(|error| ("BAD_ADDRESS", format!("`{address}` is no address: {error}")))?;
                if !session.policy().is_own(&url) {
                    return Err(("BAD_ADDRESS", format!("{url} is not the application, and is never opened")));
                }
                let shown = way.secrets.hide(url.as_str());
                let step = TraceStep::new(Tool::Goto, "about:blank", self.clock.now());
                player.chronicle.begin(session, TraceStep { value: Some(shown), ..step });
                match self.stage.open(session, &url).await {
                    Ok(opened) => {
                        player.chronicle.take_in(session, Some(&way.secrets.hide(&opened.effect.look.url)));
                        Ok(())
                    }
                    Err(error) => {
                        player.chronicle.withdraw();
                        Err(("ENGINE", error.to_string()))
                    }
                }
            }
            Does::Act(words) => self.goal(player, way, (at, step, words), result).await,
            Does::Expect(expect) => {
                let expect = expect.filled(&way.values);
                self.until(&player, limit, |scene| shows(&expect, scene, &self.stage.base)).await?;
                way.verified = Some(at);
                Ok(())
            }
            Does::Assert(words) => {
                self.judged(&player, way, words, Duration::ZERO).await?;
                way.verified = Some(at);
                Ok(())
            }
            Does::WaitFor(words) => {
                self.judged(&player, way, words, limit).await?;
                way.verified = Some(at);
                Ok(())
            }
            Does::Extract(values) => {
                for (name, value) in values {
                    let read = self.read(&player, way, value, limit).await?;
                    way.values.set(name, read);
                }
                Ok(())
            }
        }
    }

    async fn goal(
        &self,
        player: Player<'_>,
        way: &mut Way<'_>,
        (at, step, words): (usize, &Step, &str),
        result: &mut StepResult,
    ) -> Result<(), (&'static str, String)> {
        let target = self.options.target.as_deref().unwrap_or(TARGET);
        let key = step_key(way.flow, &way.values, &way.secrets, target, at, words);
        let owned = |owner: &'static str| {
            self.events.emit(
                self.clock.now(),
                EventKind::StepOwned { flow: way.secrets.hide(&way.flow.name), step: at + 1, owner: owner.to_owned() },
            );
        };
        let may_heal = self.options.heal_budget.is_none_or(|most| self.heals.load(Ordering::Relaxed) < most);
        let work = Work {
            player,
            agent: self.agent.as_deref(),
            store: &self.store,
            mode: self.options.mode,
            strict: self.options.strict,
            fast_miss: self.options.fast_miss,
            attempt: way.attempt,
            values: &way.values,
            now: self.clock.now(),
            owned: &owned,
        };
        let context = way.values.fill(&way.flow.context_of(step.agent.as_deref()));
        let goal = Goal {
            goal: way.values.fill(words),
            context: &context,
            key: key.clone(),
            heal: step.heal,
            may_heal,
            limit: Duration::from_millis(step.timeout_ms),
        };
        let acted: Acted = act(&work, goal).await.map_err(|error| ("ENGINE", error.to_string()))?;
        if let Some(cache) = &acted.cache
            && acted.was.is_some()
            && cache.reason.is_some_and(super::recording::Reason::is_stale)
            && acted.cost.calls > 0
        {
            self.heals.fetch_add(1, Ordering::Relaxed);
            if step.heal == Heal::Warn {
                result.warning = Some("this step healed; look at what it does now".to_owned());
            }
        }
        result.cache = acted.cache;
        result.heal_diff = acted.diff;
        result.suggest = acted.suggest.filter(|_| acted.fault.is_none());
        if self.options.mode != Mode::Off {
            way.pending.push(Pending {
                step: at,
                key: key.digest(),
                keyed_by: key.keyed_by(),
                staged: acted.staged,
                was: acted.was,
            });
        }
        acted.fault.map_or(Ok(()), |fault| Err((fault.code, fault.message)))
    }

    /// Looks until it holds, or the time is up.
    async fn until<T>(
        &self,
        player: &Player<'_>,
        limit: Duration,
        holds: impl Fn(&Scene) -> Result<T, String>,
    ) -> Result<T, (&'static str, String)> {
        let began = Instant::now();
        let lost = |error: SessionError| ("ENGINE", error.to_string());
        let mut first = true;
        loop {
            let scene = player.scene(first).await.map_err(lost)?;
            first = false;
            let why = match holds(&scene) {
                Ok(value) => return Ok(value),
                Err(why) => why,
            };
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(("EXPECT_FAILED", why));
            }
            player.session.changed((left.as_millis() as u64).clamp(1, 250)).await.map_err(lost)?;
        }
    }

    async fn judged(
        &self,
        player: &Player<'_>,
        way: &Way<'_>,
        words: &str,
        limit: Duration,
    ) -> Result<(), (&'static str, String)> {
        let agent = self.agent.as_deref().ok_or_else(no_agent)?;
        let began = Instant::now();
        let words = way.values.fill(words);
        let mut pause = Duration::from_millis(500);
        loop {
            let scene = player.scene(true).await.map_err(|error| ("ENGINE", error.to_string()))?;
            let told = agent.judge(question(way, &words, &scene)).await.map_err(fault)?.value;
            if told.holds {
                return Ok(());
            }
            if began.elapsed() + pause > limit {
                return Err(("ASSERT_FAILED", format!("{words}: {}", told.reason)));
            }
            // Nothing is asked twice of the same screen without need: until something changes, or for a while.
            player.session.changed(pause.as_millis() as u64).await.map_err(|error| ("ENGINE", error.to_string()))?;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    async fn read(
        &self,
        player: &Player<'_>,
        way: &Way<'_>,
        value: &Extract,
        limit: Duration,
    ) -> Result<String, (&'static str, String)> {
        match value {
            Extract::Node(expect) => {
                let expect = expect.filled(&way.values);
                self.until(player, limit, |scene| match fitting(&expect, &scene.nodes).as_slice() {
                    [one] => Ok(one
                        .value
                        .clone()
                        .unwrap_or_else(|| if one.text.is_empty() { one.name.clone() } else { one.text.clone() })),
                    many => Err(format!("{} on the screen fit {}, expected one", many.len(), expect.describe())),
                })
                .await
            }
            Extract::Words(words) => {
                let agent = self.agent.as_deref().ok_or_else(no_agent)?;
                let scene = player.scene(true).await.map_err(|error| ("ENGINE", error.to_string()))?;
                let words = way.values.fill(words);
                let told = agent.read(question(way, &words, &scene)).await.map_err(fault)?;
                told.value.value.ok_or(("EXTRACT_FAILED", format!("the screen does not show {words}")))
            }
        }
    }
}

/// A question about the screen as it is, which nobody acts on.
fn question<'a>(way: &'a Way<'_>, words: &'a str, scene: &'a Scene) -> Turn<'a> {
    Turn { goal: words, context: &way.flow.context, hand_off: None, history: &[], secrets: &[], scene }
}

fn no_agent() -> (&'static str, String) {
    ("NO_AGENT", "this step asks a model, and none is configured; name one with --model or --agent-command, or write it as `expect`".to_owned())
}

fn fault(error: AgentError) -> (&'static str, String) {
    let code = match error {
        AgentError::None(_) => "NO_AGENT",
        AgentError::NoAnswer(_) => "NO_VERDICT",
        AgentError::Invalid(_) | AgentError::Spent(_) => "STEP_FAILED",
    };
    (code, error.to_string())
}
