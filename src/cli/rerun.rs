//! `agent-test rerun`: plays a recorded run again, without a model, into a run of its own.

use serde_json::json;

use super::engine::{EngineArgs, named_run};
use super::progress::Progress;
use super::signals::stop_on_signal;
use super::{Context, counted};
use crate::dispatch::keep_run;
use crate::exit::{Exit, Failure};
use crate::maze::Severity;
use crate::verify::rerun;

/// Play a recorded run again, exactly as it was recorded
///
/// No model is asked. A step whose target is not found fails with `locator_mismatch`, and the rest of its way is not
/// attempted. Writes a run of its own. Ends with 1 when a bug that is not minor is present.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The run: its id, its file, or a directory of runs (default: the latest)
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let source = named_run(context, args.run.as_deref())?;
    let options = args.engine.stage(context, &source.run, None)?;
    let prepared = options.prepare(&context.project)?;
    let progress = Progress::new(&context.ui, 1, source.run.flows.len() + source.run.bugs.len());
    let events = progress.events();
    let done = super::block_on(async {
        let mut stop = stop_on_signal(&context.ui)?;
        let (stage, _) = prepared.enter().await?;
        let done = tokio::select! {
            done = rerun(&stage, &source.run, &events, &context.clock) => done.map_err(Failure::from),
            _ = stop.wait_for(|stop| *stop) => Err(interrupted()),
        };
        stage.launcher.stop().await;
        done
    })?;
    progress.finish();
    let mut done = done?;
    let file = keep_run(&context.project, &mut done.run)?;
    let bad = done.run.bugs.iter().any(|bug| bug.severity != Severity::Minor);
    let exit = if bad { Exit::Found } else { Exit::Ok };
    let steps: usize = source.run.flows.iter().map(|flow| flow.trace.len()).sum();
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
        "differing": done.differing,
        "bugs": done.run.bugs,
        "notFired": silent,
        "exitCode": exit.code(),
    }));
    let mut text = format!(
        "run        {} again\nsteps      {} played of {steps}, {} not found, {} ended otherwise\nbugs       {} present, {} did not fire\n",
        source.run.id,
        done.played,
        done.missed,
        done.differing,
        done.run.bugs.len(),
        done.silent.len(),
    );
    for bug in &done.run.bugs {
        text.push_str(&format!("  {:<8}  {}\n            {}\n", bug.severity, bug.location, bug.description));
    }
    for (location, outcome) in &done.silent {
        let why = outcome.why().map(|why| format!(": {why}")).unwrap_or_default();
        text.push_str(&format!("  {:<8}  {location}{why}\n", outcome.word()));
    }
    text.push_str(&format!("written    {file}\n"));
    context.ui.out(text);
    if done.run.bugs.is_empty() && done.missed > 0 {
        context.ui.note(format!(
            "{} could not be found again: see their `locator_mismatch` in the run",
            counted(done.missed, "target")
        ));
    }
    Ok(exit)
}

/// Ctrl-C or SIGTERM.
pub(super) fn interrupted() -> Failure {
    Failure::engine("interrupted", "interrupted: the browsers are closed, and nothing was written")
}
