//! `agent-test rerun`: plays a recorded run again, without a model, into a run of its own.

use serde_json::json;

use super::engine::{EngineArgs, named_run};
use super::model::{HEAL_CALLS, HealArgs, Kept, ModelArgs, PLAN_CALLS, healed_line};
use super::progress::Progress;
use super::signals::stop_on_signal;
use super::{Context, counted};
use crate::dispatch::keep_run;
use crate::event::Events;
use crate::exit::{Exit, Failure};
use crate::llm::{LlmError, Model, ModelUse};
use crate::maze::Severity;
use crate::replay::Stage;
use crate::settings::ModelSettings;
use crate::store::Clock;
use crate::trace::RunFile;
use crate::ui::in_one_line;
use crate::verify::{ModelHealer, Rerun, VerifyError, play_plan, rerun};

/// Play a recorded run again, exactly as it was recorded
///
/// No model is asked, unless --heal is given, or the run holds a plan and no trace. A step whose target is not found fails
/// with `locator_mismatch`, and the rest of its way is not attempted. Writes a run of its own. Ends with 1 when a bug that
/// is not minor is present.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The run: its id, its file, or a directory of runs (default: the latest)
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    heal: HealArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    model: ModelArgs,
}

/// So many steps that ended otherwise are told one by one.
const TOLD: usize = 10;

/// What is played, and who is asked.
enum Asked {
    Nobody,
    ToHeal(ModelHealer),
    ForThePlan(Model),
}

impl Asked {
    fn of(args: &Args, run: &RunFile, settings: &ModelSettings) -> Result<Self, Failure> {
        if run.flows.iter().any(|flow| !flow.trace.is_empty()) {
            if !args.heal.heal {
                return Ok(Self::Nobody);
            }
            return Ok(Self::ToHeal(ModelHealer::new(args.model.open(settings, HEAL_CALLS)?)));
        }
        if run.flows.iter().all(|flow| flow.plan.is_empty()) {
            return Err(VerifyError::NoPlan(run.id.clone()).into());
        }
        match args.model.open(settings, PLAN_CALLS) {
            Ok(model) => Ok(Self::ForThePlan(model)),
            Err(LlmError::NotConfigured) => Err(VerifyError::NoTrace(run.id.clone()).into()),
            Err(error) => Err(error.into()),
        }
    }

    fn spent(&self) -> Option<ModelUse> {
        match self {
            Self::Nobody => None,
            Self::ToHeal(healer) => Some(healer.spent()),
            Self::ForThePlan(model) => Some(model.spent()),
        }
    }
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let source = named_run(context, args.run.as_deref())?;
    let options = args.engine.stage(context, &source, None)?;
    let asked = Asked::of(&args, &source.run, &options.settings.model)?;
    if let Asked::ForThePlan(model) = &asked {
        let (id, who) = (&source.run.id, model.label());
        context.ui.note(format!("the run {id} holds no trace: its plan is played by the model ({who})"));
    }
    let prepared = options.prepare(&context.project)?;
    let progress = Progress::new(&context.ui, 1, source.run.flows.len() + source.run.bugs.len());
    let events = progress.events();
    let done = super::block_on(async {
        let mut stop = stop_on_signal(&context.ui)?;
        let (stage, _) = prepared.enter().await?;
        let done = tokio::select! {
            done = play(&stage, &source.run, &asked, &events, &context.clock) => done.map_err(Failure::from),
            _ = stop.wait_for(|stop| *stop) => Err(interrupted()),
        };
        stage.launcher.stop().await;
        done
    })?;
    progress.finish();
    let mut done = done?;
    let anew: Vec<String> = done.proposals.iter().map(|proposal| healed_line(&proposal.healed)).collect();
    let kept = match asked.spent() {
        Some(model) => args.heal.keep(context, &source, std::mem::take(&mut done.proposals), model)?,
        None => Kept::default(),
    };
    let file = keep_run(&context.project, &mut done.run)?;
    let bad = done.run.bugs.iter().any(|bug| bug.severity != Severity::Minor);
    let exit = if bad { Exit::Found } else { Exit::Ok };
    let of_plan = matches!(asked, Asked::ForThePlan(_));
    let flows = if of_plan { &done.run.flows } else { &source.run.flows };
    let steps: usize = flows.iter().map(|flow| flow.trace.len()).sum();
    let healed = done.run.flows.iter().flat_map(|flow| &flow.trace).filter(|step| step.resolution.is_some()).count();
    let silent: Vec<_> = done
        .silent
        .iter()
        .map(|(location, outcome)| json!({ "location": location, "outcome": outcome.word(), "why": outcome.why() }))
        .collect();
    context.ui.json(&json!({
        "rerun": source.run.id,
        "run": file,
        "steps": steps,
        "played": done.played,
        "missed": done.missed,
        "differing": done.differing.len(),
        "differingSteps": done.differing,
        "bugs": done.run.bugs,
        "notFired": silent,
        "ofPlan": of_plan,
        "stopped": done.stopped,
        "healed": healed,
        "model": asked.spent(),
        "proposals": kept.file,
        "accepted": kept.accepted,
        "exitCode": exit.code(),
    }));
    let mut text = format!(
        "run        {} again\nsteps      {} played of {steps}, {} not found, {} ended otherwise\nbugs       {} present, {} did not fire\n",
        source.run.id,
        done.played,
        done.missed,
        done.differing.len(),
        done.run.bugs.len(),
        done.silent.len(),
    );
    for bug in &done.run.bugs {
        text.push_str(&format!(
            "  {:<8}  {}\n            {}\n",
            bug.severity,
            in_one_line(&bug.location),
            in_one_line(&bug.description)
        ));
    }
    for (location, outcome) in &done.silent {
        let why = outcome.why().map(|why| format!(": {why}")).unwrap_or_default();
        text.push_str(&format!("  {:<8}  {location}{why}\n", outcome.word(), location = in_one_line(location)));
    }
    for step in done.differing.iter().take(TOLD) {
        let why = step.error.as_deref().map(|why| format!(": {}", in_one_line(why))).unwrap_or_default();
        text.push_str(&format!(
            "  {:<8}  {} step {} ({}) was {}, now {}{why}\n",
            "other end",
            in_one_line(&step.flow),
            step.step,
            in_one_line(&step.what),
            step.was,
            step.now
        ));
    }
    if done.differing.len() > TOLD {
        text.push_str(&format!("  and {} more; --json tells all\n", done.differing.len() - TOLD));
    }
    for (flow, why) in &done.stopped {
        text.push_str(&format!("  {:<8}  {flow}: {why}\n", "stopped"));
    }
    if healed > 0 {
        text.push_str(&format!("healed     {}\n", counted(healed, "step")));
        for line in anew {
            text.push_str(&format!("           {line}\n"));
        }
    }
    if let Some(model) = asked.spent().filter(|model| model.calls > 0) {
        text.push_str(&format!("model      {}\n", model.line()));
    }
    text.push_str(&format!("written    {file}\n"));
    text.push_str(&kept.lines(&source));
    context.ui.out(text);
    if done.run.bugs.is_empty() && done.missed > 0 {
        context.ui.note(format!(
            "{} could not be found again: see their `locator_mismatch` in the run",
            counted(done.missed, "target")
        ));
    }
    Ok(exit)
}

async fn play(
    stage: &Stage,
    run: &RunFile,
    asked: &Asked,
    events: &Events,
    clock: &Clock,
) -> Result<Rerun, VerifyError> {
    match asked {
        Asked::Nobody => rerun(stage, run, None, events, clock).await,
        Asked::ToHeal(healer) => rerun(stage, run, Some(healer), events, clock).await,
        Asked::ForThePlan(model) => play_plan(stage, run, model, events, clock).await,
    }
}

/// Ctrl-C or SIGTERM.
pub(super) fn interrupted() -> Failure {
    Failure::engine("interrupted", "interrupted: the browsers are closed, and nothing was written")
}
