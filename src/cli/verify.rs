//! `agent-test verify`: what became of the bugs of a run.

use std::fmt::Write as _;
use std::sync::Arc;

use url::Url;

use super::engine::{BugArgs, EngineArgs};
use super::model::{HEAL_CALLS, HealArgs, Kept, ModelArgs, healed_line};
use super::progress::Progress;
use super::rerun::interrupted;
use super::signals::stop_on_signal;
use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::settings::parse_address;
use crate::ui::in_one_line;
use crate::verify::{BugVerdict, ModelHealer, Verdict, VerifyOptions, VerifyReport, keep_report, proposals_of, verify};

/// Play the traces of bugs again and say what became of each
///
/// Needs no model unless --heal is given, and changes no stored run unless --accept-heal is. Verdicts: fixed,
/// still_broken, flaky, changed (the step fails in another way), blocked (the failing step was not reached: nothing is
/// known), healed (with --heal: a target was found anew, and the bug did not fire). Ends with 1 when a bug is still_broken, flaky or changed; a blocked or healed one does not fail
/// the process unless --fail-on-blocked or --fail-on-healed is given.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    bugs: BugArgs,
    /// Attempts at each bug, or `auto`: as many as its observed fire rate asks for
    #[arg(long, value_name = "N", default_value = "1", value_parser = repeat)]
    repeat: Repeat,
    /// Browsers side by side (default: half the cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// Run this by the shell before each attempt; attempts then come one after the other
    #[arg(long, value_name = "COMMAND")]
    reset_command: Option<String>,
    /// Call a bug fixed only when it still fires at this address, where it is known to be
    #[arg(long, value_name = "URL")]
    known_bad_url: Option<String>,
    /// End with 1 when a bug is blocked
    #[arg(long)]
    fail_on_blocked: bool,
    /// End with 1 when a bug is healed
    #[arg(long)]
    fail_on_healed: bool,
    #[command(flatten)]
    heal: HealArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(Clone, Copy, Debug)]
enum Repeat {
    Times(u32),
    Auto,
}

fn repeat(text: &str) -> Result<Repeat, String> {
    if text == "auto" {
        return Ok(Repeat::Auto);
    }
    match text.parse::<u32>() {
        Ok(times) if (1..=1000).contains(&times) => Ok(Repeat::Times(times)),
        _ => Err("expected a number from 1 to 1000, or `auto`".to_owned()),
    }
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let (source, bugs) = args.bugs.find(context)?;
    let known_bad: Option<Url> =
        args.known_bad_url.as_deref().map(|text| parse_address("--known-bad-url", text)).transpose()?;
    let entered = args.engine.stage(context, &source, args.workers)?;
    let healer = if args.heal.heal {
        Some(Arc::new(ModelHealer::new(args.model.open(&entered.settings.model, HEAL_CALLS)?)))
    } else {
        None
    };
    let options = VerifyOptions {
        repeat: match args.repeat {
            Repeat::Times(times) => Some(times),
            Repeat::Auto => None,
        },
        workers: entered.settings.workers as usize,
        reset_command: args.reset_command,
        known_bad,
        fail_on_blocked: args.fail_on_blocked,
        fail_on_healed: args.fail_on_healed,
        healer,
    };
    if bugs.is_empty() {
        context.ui.note(format!("the run {} holds no bug", source.run.id));
    }
    let prepared = entered.prepare(&context.project)?;
    let progress = Progress::new(&context.ui, 1, bugs.len());
    let events = progress.events();
    let report = super::block_on(async {
        let mut stop = stop_on_signal(&context.ui)?;
        let (stage, _) = prepared.enter().await?;
        let report = tokio::select! {
            report = verify(&stage, &source.run, &bugs, &options, &events, &context.clock) => report.map_err(Failure::from),
            _ = stop.wait_for(|stop| *stop) => Err(interrupted()),
        };
        stage.launcher.stop().await;
        report
    })?;
    progress.finish();
    let mut report = report?;
    let mut kept = Kept::default();
    if let Some(model) = report.model.clone() {
        kept = args.heal.keep(context, &source, proposals_of(&bugs, &report), model)?;
        report.proposals.clone_from(&kept.file);
        report.accepted = kept.accepted;
    }
    // The verdicts are there; that they are not remembered is no reason to withhold them.
    if let Err(error) = keep_report(&context.project, &report) {
        context.ui.warn(format!("these verdicts are not remembered: {error}"));
    }
    let document = serde_json::to_value(&report)
        .map_err(|error| Failure::engine("internal", format!("cannot write the verdicts: {error}")))?;
    context.ui.json(&document);
    context.ui.out(format!("{}{}", text(&report), kept.lines(&source)));
    Ok(if report.exit_code == 0 { Exit::Ok } else { Exit::Found })
}

/// The verdicts for a person.
fn text(report: &VerifyReport) -> String {
    let mut out = String::new();
    for bug in &report.bugs {
        let key = bug.fingerprint_v2.as_deref().or(bug.fingerprint.as_deref()).unwrap_or("-");
        let tries = bug.attempts.len();
        let told = match &bug.verdict {
            Verdict::Fixed | Verdict::Healed => format!("clean {} of {tries}", bug.clean),
            _ => format!("fired {} of {tries}", bug.fired),
        };
        let _ = writeln!(out, "{:<12}  {key:<16}  {told:<14}  {}", bug.verdict.to_string(), in_one_line(&bug.location));
        let _ = writeln!(out, "{:<12}  {}", "", in_one_line(&bug.description));
        for line in notes(bug) {
            let _ = writeln!(out, "{:<12}  {}", "", in_one_line(&line));
        }
    }
    let count = |verdict: &Verdict| report.bugs.iter().filter(|bug| bug.verdict == *verdict).count();
    let parts: Vec<String> = Verdict::WORDS
        .iter()
        .map(|word| (*word, count(&Verdict::from(*word))))
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let _ = writeln!(out, "{} of the run {}{parts}", counted(report.bugs.len(), "bug"), report.run);
    let once = report.bugs.iter().any(|bug| bug.verdict == Verdict::Fixed && bug.clean == 1);
    if once {
        let _ = writeln!(
            out,
            "fixed by one clean attempt each; --repeat auto tries as often as each bug's fire rate asks for"
        );
    }
    if count(&Verdict::Blocked) > 0 {
        let _ = writeln!(out, "blocked is not fixed: nothing is known");
    }
    if count(&Verdict::Healed) > 0 {
        let _ = writeln!(out, "healed is not fixed: look at what was pressed");
    }
    if let Some(model) = report.model.as_ref().filter(|model| model.calls > 0) {
        let _ = writeln!(out, "{}", model.line());
    }
    out
}

fn notes(bug: &BugVerdict) -> Vec<String> {
    let mut lines: Vec<String> = bug.reason.iter().cloned().collect();
    // One clean attempt says little; the figure is worth a line once there are more.
    if let Some(bound) = bug.remaining_below_percent.filter(|_| bug.clean > 1) {
        lines.push(format!(
            "clean {} of {}; remaining failure rate below {bound} % at 95 %",
            bug.clean,
            bug.attempts.len()
        ));
    }
    if let Some(control) = bug.control.as_ref().filter(|control| control.fired) {
        lines.push(format!("still fires at {}, so this replay would have seen it", control.url));
    }
    let mut drift: Vec<&String> = bug.attempts.iter().flat_map(|attempt| &attempt.drift).collect();
    drift.dedup();
    let mut healed: Vec<String> = bug.attempts.iter().flat_map(|attempt| &attempt.healed).map(healed_line).collect();
    healed.sort();
    healed.dedup();
    lines.extend(healed);
    lines.extend(drift.into_iter().take(3).map(|rung| format!("drifted: {rung}")));
    lines
}
