//! `agent-test minimise`: the shortest trace that still fires a bug.

use std::fmt::Write as _;
use std::time::Duration;

use super::engine::{BugArgs, EngineArgs};
use super::progress::Progress;
use super::signals::stop_on_signal;
use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::maze::Bug;
use crate::ui::in_one_line;
use crate::verify::{MinimiseOptions, MinimiseReport, Minimised, minimise};

/// Shorten the traces of bugs to the steps that are needed
///
/// Needs no model. Replays the trace without some of its steps, in a fresh session each time, and keeps what still fires
/// the same bug; another failure on the way is told and never accepted. The result is a run of its own in
/// `.agent-test/minimised/`, with the whole trace beside the short one; `verify` and `export` take it by its path. What
/// was tried is kept: after the deadline or Ctrl-C the same command goes on. Ends with 1 when a bug fires too seldom to be
/// shortened.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    bugs: BugArgs,
    /// Seconds for each bug; what was reached by then is the result
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    deadline: u64,
    /// Run this by the shell before each replay
    #[arg(long, value_name = "COMMAND")]
    reset_command: Option<String>,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let (source, bugs) = args.bugs.find(context)?;
    let (bugs, without): (Vec<Bug>, Vec<Bug>) = bugs.into_iter().partition(|bug| !bug.trace.is_empty());
    for bug in &without {
        context.ui.warn(format!("{}: there is no trace to shorten", bug.location));
    }
    if bugs.is_empty() {
        let message = format!("no bug of the run {} has a trace to shorten", source.run.id);
        return Err(Failure::usage("no_trace", message).hinted("`agent-test fingerprint list` shows the bugs of a run"));
    }
    let entered = args.engine.stage(context, &source, None)?;
    let options = MinimiseOptions { deadline: Duration::from_secs(args.deadline), reset_command: args.reset_command };
    let prepared = entered.prepare(&context.project)?;
    let progress = Progress::new(&context.ui, 1, bugs.len());
    let events = progress.events();
    let done = super::block_on(async {
        let mut stop = stop_on_signal(&context.ui)?;
        let (stage, _) = prepared.enter().await?;
        let work = async {
            let mut done = Vec::new();
            for bug in &bugs {
                let minimised =
                    minimise(&stage, &source.run, bug, &options, &context.project, &events, &context.clock).await?;
                context.ui.note(line(&minimised));
                done.push(minimised);
            }
            Ok::<_, Failure>(done)
        };
        let done = tokio::select! {
            done = work => done,
            _ = stop.wait_for(|stop| *stop) => Err(interrupted()),
        };
        stage.launcher.stop().await;
        done
    })?;
    progress.finish();
    let report = MinimiseReport::new(source.run.id, done?);
    let document = serde_json::to_value(&report)
        .map_err(|error| Failure::engine("internal", format!("cannot write the results: {error}")))?;
    context.ui.json(&document);
    context.ui.out(text(&report.bugs));
    Ok(if report.exit_code == 0 { Exit::Ok } else { Exit::Found })
}

fn interrupted() -> Failure {
    Failure::engine("interrupted", "interrupted: the browsers are closed; what was tried is kept")
        .hinted("the same command goes on from it")
}

fn line(bug: &Minimised) -> String {
    format!("{}: {} of {}", in_one_line(&bug.location), bug.steps_after, counted(bug.steps_before, "step"))
}

/// The results for a person.
fn text(done: &[Minimised]) -> String {
    let mut out = String::new();
    for bug in done {
        let key = bug.fingerprint_v2.as_deref().or(bug.fingerprint.as_deref()).unwrap_or("-");
        let steps = format!("{} -> {}", bug.steps_before, bug.steps_after);
        let _ = writeln!(out, "{steps:<10}  {key:<16}  {}", in_one_line(&bug.location));
        let mut say = |line: &str| {
            let _ = writeln!(out, "{:<10}  {line}", "");
        };
        match (&bug.reason, &bug.proof) {
            (Some(reason), _) => say(reason),
            (None, Some(proof)) => say(&format!(
                "fired {} of {} again; {} ({})",
                proof.fired,
                proof.attempts,
                counted(bug.replays as usize, "replay"),
                counted(usize::try_from(bug.steps_played).unwrap_or(usize::MAX), "step")
            )),
            (None, None) => {}
        }
        if bug.complete && bug.reason.is_none() && bug.steps_after == bug.steps_before {
            say("every step is needed");
        }
        if bug.reason.is_none() && !bug.complete {
            say("the time ran out: the same command goes on from here");
        }
        for seen in &bug.also_seen {
            say(&format!("also seen: {seen}"));
        }
        if let Some(file) = &bug.file {
            say(file);
        }
    }
    out
}
