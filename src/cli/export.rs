//! `agent-test export`: bugs of a run, or flows, as tests that stand alone.

use std::path::PathBuf;

use serde_json::{Value, json};
use url::Url;

use super::engine::{BugArgs, EngineArgs};
use super::flow::{known_params, pair};
use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::export::{Document, ExportError, FlowTerms, Flows, Format, Terms, export, flow_specs, write};
use crate::flow::recording::CacheStore;
use crate::flow::{TARGET, known_secrets, load};
use crate::maze::Bug;
use crate::settings::parse_base_url;
use crate::trace::RunFile;
use crate::ui::in_one_line;
use crate::verify::rebase;

/// Write bugs of a run, or flows, as tests that stand alone
///
/// With --playwright each bug becomes one spec that needs nothing but `@playwright/test`: it plays the bug's trace and
/// carries the oracles. It fails as long as the bug is there (`bug: …`) and passes once it is repaired; a last step that
/// fails in another way is `changed: …`, and an earlier one that cannot be done `not reached: …`. The address comes from
/// BASE_URL, secrets from the environment, and requests that would change data are stopped unless the run allowed them.
///
/// With --recorder-json it becomes a recording that Chrome's DevTools and `@puppeteer/replay` play. That format knows no
/// login (replay it where you are logged in), no guard at the network (a bug whose steps could change data is left out)
/// and no references to secrets (left out too). The bug's check stands at its end where the page itself can answer it.
///
/// With --flow FILE a flow becomes a Playwright test: its `expect` steps as expects, its goal steps as what was recorded of
/// them, with what proved their ends. Parameters marked `unique` and secrets come from the environment. A flow with a step
/// that asks a model, that has no recording, or whose recording stops at a gap is left out, and each such step is told: the
/// command ends with 1, or with 2 when no flow is left.
///
/// Needs no browser. A bug that cannot be expressed is left out and told with the reason; when none is left, the command
/// ends with 2. A file of the same content is left alone, one of another content is only replaced with --force.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("format").required(true).multiple(true))]
pub(crate) struct Args {
    #[command(flatten)]
    bugs: BugArgs,
    /// Write Playwright specs (`*.spec.ts`)
    #[arg(long, group = "format")]
    playwright: bool,
    /// Write recordings for Chrome's DevTools and `@puppeteer/replay` (`*.recording.json`)
    #[arg(long, group = "format")]
    recorder_json: bool,
    /// Directory for the files
    #[arg(long, value_name = "DIR", default_value = "agent-test-export")]
    out: PathBuf,
    /// Write this address of the application in place of the recorded one
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Known bugs: specs that are expected to fail, and that tell when a bug is gone
    #[arg(long)]
    known_bad: bool,
    /// Write these flows in place of bugs: flow files, or directories of them; with --playwright
    #[arg(long = "flow", value_name = "FILE", num_args = 1.., conflicts_with_all = ["run", "bugs", "known_bad", "recorder_json"])]
    flows: Vec<PathBuf>,
    /// Set a parameter of the flows: name=value; may be given several times
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair, requires = "flows")]
    params: Vec<(String, String)>,
    /// Take the flows' recordings for this target (default: chromium)
    #[arg(long, value_name = "NAME", requires = "flows")]
    target: Option<String>,
    /// Write over files of other content
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    if !args.flows.is_empty() {
        return export_flows(context, &args);
    }
    let (source, chosen_bugs) = args.bugs.find(context)?;
    let entered = EngineArgs::default().terms(context, &source, None)?;
    // What the run was recorded on, whatever the settings say now: its traces hold that address.
    let recorded = Url::parse(&source.run.base_url).unwrap_or(entered.base);
    let named = args.base_url.as_deref().map(parse_base_url).transpose()?;
    let (run, bugs) = match &named {
        Some(base) => moved(&source.run, &chosen_bugs, &recorded, base),
        None => (source.run.clone(), chosen_bugs),
    };
    let terms = Terms { base: named.unwrap_or(recorded), settings: entered.settings, known_bad: args.known_bad };
    let mut files = Vec::new();
    let mut left_out = Vec::new();
    for (wanted, format) in [(args.playwright, Format::Playwright), (args.recorder_json, Format::Recorder)] {
        if wanted {
            let (written, not) = export(&run, &bugs, &terms, format);
            files.extend(written);
            left_out.extend(not);
        }
    }
    if files.is_empty() {
        let why = left_out.first().map_or_else(|| "it holds no bug".to_owned(), |left| left.why.clone());
        return Err(ExportError::Nothing { run: run.id.clone(), why }.into());
    }
    let documents: Vec<Document> = files.iter().map(|file| file.document.clone()).collect();
    let written = write(&args.out, &documents, args.force)?;
    let mut text = String::new();
    let mut rows = Vec::new();
    for (file, done) in files.iter().zip(&written) {
        text.push_str(&format!(
            "{:<9}  {}\n",
            if done.unchanged { "unchanged" } else { "written" },
            done.path.display()
        ));
        for note in &file.notes {
            text.push_str(&format!("{:<9}  {note}\n", ""));
        }
        rows.push(row(
            file.bug,
            file.format,
            json!({ "path": done.path.display().to_string(), "unchanged": done.unchanged, "notes": file.notes }),
        ));
    }
    let mut missing = Vec::new();
    for left in &left_out {
        text.push_str(&format!(
            "{:<9}  {} ({}): {}\n",
            "left out",
            in_one_line(&left.bug.description),
            in_one_line(&left.bug.location),
            left.why
        ));
        missing.push(row(left.bug, left.format, json!({ "description": left.bug.description, "why": left.why })));
    }
    text.push_str(&format!("{} of the run {}", counted(rows.len(), "file"), run.id));
    if args.recorder_json {
        text.push_str("\na recording carries no login: replay it in a browser that is logged in");
    }
    context.answer(
        json!({ "run": run.id, "directory": args.out.display().to_string(), "files": rows, "leftOut": missing }),
        text,
    )
}

fn export_flows(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let files: Vec<PathBuf> = args.flows.iter().map(|file| context.file(file)).collect();
    let flows = load(&context.project, &files)?;
    let engine = EngineArgs { base_url: args.base_url.clone(), ..EngineArgs::default() };
    let entered = engine.flow_stage(context)?;
    let store = CacheStore::new(&context.project).signed();
    let terms = FlowTerms {
        base: entered.base,
        settings: entered.settings,
        target: args.target.clone().unwrap_or_else(|| TARGET.to_owned()),
        params: args.params.iter().cloned().collect(),
    };
    known_params(&terms.params, &flows)?;
    let Flows { specs, missing } = flow_specs(&flows, &store, &terms)?;
    let documents: Vec<Document> = specs.iter().map(|(_, spec)| spec.document.clone()).collect();
    let written = write(&args.out, &documents, args.force)?;
    let mut text = String::new();
    let mut rows = Vec::new();
    for ((flow, spec), done) in specs.iter().zip(&written) {
        let word = if done.unchanged { "unchanged" } else { "written" };
        text.push_str(&format!("{word:<9}  {}\n", done.path.display()));
        for note in &spec.notes {
            text.push_str(&format!("{:<9}  {note}\n", ""));
        }
        rows.push(json!({ "format": "playwright", "flow": known_secrets(flow).hide(&flow.name), "file": flow.file, "path": done.path.display().to_string(), "unchanged": done.unchanged, "notes": spec.notes }));
    }
    for one in &missing {
        text.push_str(&format!("{:<9}  {one}\n", "left out"));
    }
    text.push_str(&counted(rows.len(), "file"));
    let left: Vec<Value> = missing
        .iter()
        .map(|one| json!({ "file": one.file, "step": one.step, "line": one.line, "says": one.says, "why": one.why }))
        .collect();
    let exit = if missing.is_empty() { Exit::Ok } else { Exit::Found };
    context.ui.json(&json!({ "directory": args.out.display().to_string(), "files": rows, "leftOut": left, "exitCode": exit.code() }));
    context.ui.out(text);
    Ok(exit)
}

fn row(bug: &Bug, format: Format, more: Value) -> Value {
    let mut row = json!({
        "format": format.word(),
        "fingerprint": bug.fingerprint_v2.as_ref().or(bug.fingerprint.as_ref()),
        "kind": bug.kind,
        "location": bug.location,
    });
    if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
        row.extend(more);
    }
    row
}

/// The run and the bugs as if they had been recorded at another address.
fn moved(run: &RunFile, bugs: &[Bug], from: &Url, to: &Url) -> (RunFile, Vec<Bug>) {
    let move_bug = |bug: &Bug| Bug { trace: rebase(&bug.trace, from, to), ..bug.clone() };
    let mut run = run.clone();
    run.base_url = to.to_string();
    run.bugs = run.bugs.iter().map(move_bug).collect();
    for flow in &mut run.flows {
        flow.trace = rebase(&flow.trace, from, to);
    }
    (run, bugs.iter().map(move_bug).collect())
}
