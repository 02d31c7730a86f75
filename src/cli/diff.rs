//! `agent-test diff`: what changed between two runs.

use std::fmt::Write as _;

use super::engine::named_run;
use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::ui::in_one_line;
use crate::verify::{DiffReport, diff, fixed_bugs};

/// Compare the bugs of two runs
///
/// Bugs are the same by fingerprint V2 where both have it, else by the legacy one. One that is gone is told apart by
/// whether its step was done again; one is `reopened` that `verify` found fixed at the address of the later run. Ends
/// with 1 when a bug that is not minor is new or came back.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The earlier run: its id, its file, or a directory of runs
    #[arg(value_name = "FROM")]
    from: String,
    /// The later run (default: the latest)
    #[arg(value_name = "TO")]
    to: Option<String>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let from = named_run(context, Some(&args.from))?;
    let to = named_run(context, args.to.as_deref())?;
    let report = diff(&from.run, &to.run, &fixed_bugs(&context.project, &to.run.base_url));
    let document = serde_json::to_value(&report)
        .map_err(|error| Failure::engine("internal", format!("cannot write the comparison: {error}")))?;
    context.ui.json(&document);
    context.ui.out(text(&report));
    Ok(if report.exit_code == 0 { Exit::Ok } else { Exit::Found })
}

fn text(report: &DiffReport) -> String {
    let mut out = String::new();
    for bug in &report.bugs {
        let word = bug.change.to_string();
        let _ = writeln!(
            out,
            "{word:<14}  {:<16}  {:<8}  {}",
            bug.fingerprint,
            bug.severity.to_string(),
            in_one_line(&bug.location)
        );
        let _ = writeln!(out, "{:<14}  {}", "", in_one_line(&bug.description));
        if !bug.matches.is_empty() {
            let _ = writeln!(out, "{:<14}  stands for {}", "", bug.matches.join(", "));
        }
    }
    let _ = writeln!(out, "{} from {} to {}", counted(report.bugs.len(), "bug"), report.from, report.to);
    out
}
