//! `agent-test export`: bugs of a run as tests that stand alone.

use std::path::PathBuf;

use serde_json::json;
use url::Url;

use super::engine::{EngineArgs, named_run};
use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::export::{Document, ExportError, Terms, file_stem, spec, write};
use crate::maze::Bug;
use crate::store::free_name;
use crate::verify::chosen;

/// Write bugs of a run as tests that stand alone
///
/// With `--playwright` each bug becomes one spec that needs nothing but `@playwright/test`: it plays the bug's trace,
/// carries the oracles, fails as long as the bug is there (`bug: …`) and passes once it is repaired. An earlier step
/// that cannot be done fails as `not reached: …`, another fault as `changed: …`.
///
/// Needs no browser. A bug that cannot be expressed is left out and told with the reason; when none is left, the command
/// ends with 2. A file of the same content is left alone, one of another content is only replaced with --force.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The run: its id, its file, or a directory of runs (default: the latest)
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only the bug of this fingerprint, or of one that begins like this; may be given several times
    #[arg(long = "bug", value_name = "FINGERPRINT")]
    bugs: Vec<String>,
    /// Write Playwright specs (`*.spec.ts`)
    #[arg(long)]
    playwright: bool,
    /// Directory for the files
    #[arg(long, value_name = "DIR", default_value = "agent-test-export")]
    out: PathBuf,
    /// Known bugs: specs that are expected to fail, and tell when a bug is gone
    #[arg(long)]
    known_bad: bool,
    /// Write over files of other content
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let source = named_run(context, args.run.as_deref())?;
    let run = &source.run;
    let bugs = chosen(run, &args.bugs)?;
    let entered = EngineArgs::default().stage(context, run, None)?;
    // What the run was recorded on, whatever the settings say now: its traces hold that address.
    let base = Url::parse(&run.base_url).unwrap_or(entered.base);
    let terms = Terms { base, settings: entered.settings, known_bad: args.known_bad };
    let mut documents: Vec<Document> = Vec::new();
    let mut written: Vec<&Bug> = Vec::new();
    let mut left_out = Vec::new();
    for bug in &bugs {
        match spec(run, bug, &terms) {
            Ok(text) => {
                let is_taken = |name: &str| documents.iter().any(|document| document.name == format!("{name}.spec.ts"));
                let name = format!("{}.spec.ts", free_name(&file_stem(bug), is_taken));
                documents.push(Document { name, text });
                written.push(bug);
            }
            Err(refusal) => left_out.push((bug, refusal.to_string())),
        }
    }
    if documents.is_empty() {
        let why = left_out.first().map_or_else(|| "it holds no bug".to_owned(), |(_, why)| why.clone());
        return Err(ExportError::Nothing { run: run.id.clone(), why }.into());
    }
    let files = write(&args.out, &documents, args.force)?;
    let key = |bug: &Bug| bug.fingerprint_v2.clone().or_else(|| bug.fingerprint.clone());
    let mut text = String::new();
    for file in &files {
        text.push_str(&format!("{}  {}\n", if file.unchanged { "unchanged" } else { "written  " }, file.path.display()));
    }
    for (bug, why) in &left_out {
        text.push_str(&format!("left out   {}: {} ({why})\n", bug.location, bug.description));
    }
    text.push_str(&format!("{} of the run {}", counted(files.len(), "spec"), run.id));
    let files: Vec<_> = files
        .iter()
        .zip(&written)
        .map(|(file, bug)| json!({ "path": file.path, "unchanged": file.unchanged, "fingerprint": key(bug), "location": bug.location, "kind": bug.kind }))
        .collect();
    let left_out: Vec<_> = left_out
        .iter()
        .map(|(bug, why)| json!({ "fingerprint": key(bug), "location": bug.location, "description": bug.description, "why": why }))
        .collect();
    context.answer(json!({ "run": run.id, "directory": args.out, "files": files, "leftOut": left_out }), text)
}
