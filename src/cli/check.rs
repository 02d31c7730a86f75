//! `agent-test check`.

use serde_json::json;

use super::Context;
use crate::exit::{Exit, Failure};
use crate::state::Finding;

/// What to do about what is found.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Repair what can be repaired; the old state is kept beside the new one
    #[arg(long)]
    repair: bool,
    /// With --repair: only say what it would do
    #[arg(long, requires = "repair")]
    dry_run: bool,
}

/// Ends with 0 when all is well, 1 when something is wrong, 2 when the state cannot be read.
pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let project = context.project();
    if !args.repair {
        let findings = project.check()?;
        let exit = if findings.is_empty() { Exit::Ok } else { Exit::Found };
        context.ui.json(&json!({ "findings": findings, "exitCode": exit.code() }));
        context.ui.out(if findings.is_empty() { "all is well".to_owned() } else { lines(&findings) });
        return Ok(exit);
    }
    let repair = project.repair(args.dry_run)?;
    // What has no repair is left, and a dry run leaves everything.
    let left = repair.findings.iter().any(|finding| args.dry_run || finding.repair.is_none());
    let exit = if left { Exit::Found } else { Exit::Ok };
    context.ui.json(&json!({
        "findings": repair.findings,
        "actions": repair.actions,
        "unknown": repair.unknown,
        "done": repair.done,
        "kept": repair.kept,
        "exitCode": exit.code(),
    }));
    let mut text = String::new();
    if repair.actions.is_empty() {
        text.push_str(if repair.findings.is_empty() {
            "all is well, nothing to repair"
        } else {
            "nothing can be repaired"
        });
    }
    for action in &repair.actions {
        text.push_str(&format!("{} {action}\n", if repair.done { "done " } else { "would" }));
    }
    for unknown in &repair.unknown {
        text.push_str(&format!("could not know {unknown}\n"));
    }
    if let Some(kept) = &repair.kept {
        text.push_str(&format!("the old state is kept as {kept}\n"));
    }
    context.ui.out(text);
    Ok(exit)
}

fn lines(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.code.len()).max().unwrap_or(0);
    let lines = findings.iter().map(|finding| format!("{:<width$}  {}", finding.code, finding.message));
    lines.collect::<Vec<_>>().join("\n")
}
