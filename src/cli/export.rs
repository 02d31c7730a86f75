//! `agent-test export`: bugs of a run as tests that stand alone.

use std::path::PathBuf;

use serde_json::{Value, json};
use url::Url;

use super::engine::{BugArgs, EngineArgs};
use super::{Context, counted};
use crate::exit::{Exit, Failure};
use crate::export::{Document, ExportError, Format, Terms, export, write};
use crate::maze::Bug;
use crate::settings::parse_base_url;
use crate::trace::RunFile;
use crate::ui::in_one_line;
use crate::verify::rebase;

/// Write bugs of a run as tests that stand alone
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
    /// Write over files of other content
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
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
    let directory = args.out.display().to_string();
    context.answer(json!({ "run": run.id, "directory": directory, "files": rows, "leftOut": missing }), text)
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
