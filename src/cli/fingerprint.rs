//! `agent-test fingerprint`: what makes two bugs the same bug.

use std::fmt::Write as _;

use serde_json::json;

use super::engine::named_run;
use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::maze::Bug;
use crate::ui::in_one_line;
use crate::verify::chosen;

/// The fingerprints of bugs, and what they are made of
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Show what the fingerprints of a bug are made of
    Explain {
        /// Any of its fingerprints, or the beginning of one
        #[arg(value_name = "FINGERPRINT")]
        key: String,
        /// The run: its id, its file, or a directory of runs (default: the latest)
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
    },
    /// List the bugs of a run with their fingerprints
    List {
        /// The run: its id, its file, or a directory of runs (default: the latest)
        #[arg(value_name = "RUN")]
        run: Option<String>,
    },
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    match args.what {
        What::Explain { key, run } => {
            let source = named_run(context, run.as_deref())?;
            let bugs = chosen(&source.run, &[key])?;
            let text: Vec<String> = bugs.iter().map(explain).collect();
            let bugs: Vec<_> = bugs.iter().map(document).collect();
            context.answer(json!({ "run": source.run.id, "bugs": bugs }), text.join("\n"))
        }
        What::List { run } => {
            let source = named_run(context, run.as_deref())?;
            let mut text = String::new();
            for bug in &source.run.bugs {
                let key = bug.fingerprint_v2.as_deref().or(bug.fingerprint.as_deref()).unwrap_or("-");
                let _ = writeln!(text, "{key:<16}  {:<8}  {}", bug.severity.to_string(), in_one_line(&bug.location));
                let _ = writeln!(text, "{:<16}  {}", "", in_one_line(&bug.description));
            }
            let _ = writeln!(text, "{} in the run {}", counted(source.run.bugs.len(), "bug"), source.run.id);
            let bugs: Vec<_> = source.run.bugs.iter().map(document).collect();
            context.answer(json!({ "run": source.run.id, "bugs": bugs }), text)
        }
    }
}

fn document(bug: &Bug) -> serde_json::Value {
    json!({
        "fingerprint": bug.fingerprint,
        "fingerprintV2": bug.fingerprint_v2,
        "fingerprintV3": bug.fingerprint_v3,
        "fingerprintParts": bug.fingerprint_parts,
        "severity": bug.severity,
        "location": bug.location,
        "description": bug.description,
        "places": 1 + bug.also_at.len(),
    })
}

/// Each part with the keys that it goes into.
fn explain(bug: &Bug) -> String {
    let mut out = format!("{}\n{}\n", in_one_line(&bug.description), in_one_line(&bug.location));
    let none = "-".to_owned();
    for (name, key) in [("V2", &bug.fingerprint_v2), ("V3", &bug.fingerprint_v3), ("legacy", &bug.fingerprint)] {
        let _ = writeln!(out, "  {name:<10}  {}", key.as_ref().unwrap_or(&none));
    }
    match &bug.fingerprint_parts {
        None => {
            let _ = writeln!(out, "  its run was written without the parts; only the legacy key counts");
        }
        Some(parts) => {
            for (name, value, keys) in [
                ("category", &parts.category, "V2 V3"),
                ("location", &parts.location, "V2 V3"),
                ("role", &parts.role, "V2 V3"),
                ("name", &parts.name, "V2 V3 (numbers stripped)"),
                ("signal", &parts.signal, "V2 V3"),
                ("detail", &parts.detail, "V3"),
            ] {
                let value = if value.is_empty() { none.clone() } else { in_one_line(value) };
                let _ = writeln!(out, "  {name:<10}  {value}  [{keys}]");
            }
            if bug.fingerprint_v2.as_ref().is_some_and(|key| parts.version == 2 && *key != parts.v2()) {
                let _ = writeln!(out, "  the parts do not hash to V2: another program wrote them");
            }
        }
    }
    out
}
