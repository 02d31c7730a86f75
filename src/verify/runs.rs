//! Finds and reads runs: the latest, one by its id, a file, a store of this program or of the seed's (`.monkeytest`).
//!
//! Reading is lenient towards other writers: a run without traces, with other names for its address, with bugs inside its
//! flows. What is missing is filled in; nothing that is there is changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::VerifyError;
use crate::store;
use crate::trace::RunFile;

/// Highest version of the run file that this program reads.
const KNOWN: u32 = 1;
/// Our own store, below the project.
const OWN: &str = ".agent-test/runs";
/// The seed's store.
const FOREIGN: &str = ".monkeytest";

/// A run that was read.
#[derive(Clone, Debug)]
pub struct RunSource {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub run: RunFile,
    /// Later runs that could not be read, each with the reason, when the latest was asked for.
    pub passed_over: Vec<String>,
}

/// Finds a run: nothing is the latest of the project (runs of flows that met no bug aside); else an id, a run file, or a
/// directory of runs.
///
/// # Errors
/// [`VerifyError::NoRun`], [`VerifyError::Unreadable`], [`VerifyError::Newer`].
pub fn find_run(root: &Path, name: Option<&str>) -> Result<RunSource, VerifyError> {
    let Some(name) = name else {
        return latest(&list_runs(root), &format!("neither `{OWN}` nor `{FOREIGN}` holds one"));
    };
    if name.trim().is_empty() {
        return Err(VerifyError::NoRun { place: "its name is empty".to_owned() });
    }
    let path = root.join(name);
    if path.is_dir() {
        return latest(&files_in(&path), &format!("`{name}` holds none"));
    }
    // An id is no path: it cannot lead out of the store.
    let is_id = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !name.starts_with('.');
    if is_id {
        let known = list_runs(root).into_iter().rev().find(|file| file.file_stem().is_some_and(|stem| stem == name));
        if let Some(file) = known {
            return read_run(&file);
        }
    }
    if path.exists() {
        return read_run(&path);
    }
    Err(VerifyError::NoRun { place: format!("`{name}` is neither the id of a run nor a file") })
}

/// The files of every run of a project, the oldest first.
fn list_runs(root: &Path) -> Vec<PathBuf> {
    let mut files = files_in(&root.join(FOREIGN));
    files.extend(files_in(&root.join(FOREIGN).join("runs")));
    files.extend(files_in(&root.join(OWN)));
    files.sort_by_key(|file| sort_key(file));
    files
}

/// Ids begin with their time. One that was taken within the same second has a number behind it.
fn sort_key(file: &Path) -> (String, u32) {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match stem.rsplit_once("Z-").map(|(time, number)| (time.to_owned(), number.parse())) {
        Some((time, Ok(number))) => (format!("{time}Z"), number),
        _ => (stem, 1),
    }
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let names = store::file_names(directory).unwrap_or_default();
    let mut files: Vec<PathBuf> =
        names.into_iter().filter(|name| is_json(name)).map(|name| directory.join(name)).collect();
    files.sort_by_key(|file| sort_key(file));
    files
}

/// Whether a file's name ends as ours do.
pub(super) fn is_json(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "json")
}

fn latest(files: &[PathBuf], none: &str) -> Result<RunSource, VerifyError> {
    let (mut first, mut quiet) = (None, None);
    let mut passed_over = Vec::new();
    for file in files.iter().rev() {
        match read_run(file) {
            // Flows run every hour; one that met no bug says nothing of those that an exploration found.
            Ok(source) if source.run.source.as_deref() == Some("flow") && source.run.bugs.is_empty() => {
                quiet.get_or_insert(source);
            }
            Ok(source) => return Ok(RunSource { passed_over, ..source }),
            Err(error) => {
                passed_over.push(error.to_string());
                first.get_or_insert(error);
            }
        }
    }
    if let Some(source) = quiet {
        return Ok(RunSource { passed_over, ..source });
    }
    Err(first.unwrap_or_else(|| VerifyError::NoRun { place: none.to_owned() }))
}

/// Reads a run file.
///
/// # Errors
/// [`VerifyError::Unreadable`] with the file and the place in it; [`VerifyError::Newer`].
fn read_run(path: &Path) -> Result<RunSource, VerifyError> {
    let unreadable = |problem: String| VerifyError::Unreadable { path: path.into(), problem };
    let text = store::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match parse_run(&text, &id) {
        Ok(run) => Ok(RunSource { path: path.into(), run, passed_over: Vec::new() }),
        Err(Misfit::Newer(version)) => Err(VerifyError::Newer { path: path.into(), version, known: KNOWN }),
        Err(Misfit::Problem(problem)) => Err(unreadable(problem)),
    }
}

/// Reads a run from its text, as [`find_run`] reads a file; `id` is its name when it gives none.
///
/// # Errors
/// Why it is no run, for people.
pub fn run_from_text(text: &str, id: &str) -> Result<RunFile, String> {
    parse_run(text, id).map_err(|misfit| match misfit {
        Misfit::Newer(version) => format!("it has format version {version}, this program reads up to {KNOWN}"),
        Misfit::Problem(problem) => problem,
    })
}

/// Why a text is no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// Of a later format.
    Newer(u64),
    /// Something else.
    Problem(String),
}

/// Reads a run from its text; `id` is its name when it gives none.
///
/// # Errors
/// [`Misfit`].
pub(super) fn parse_run(text: &str, id: &str) -> Result<RunFile, Misfit> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| Misfit::Problem(error.to_string()))?;
    let Value::Object(mut run) = value else { return Err(Misfit::Problem("it is no JSON object".to_owned())) };
    if let Some(version) = run.get("schemaVersion").and_then(Value::as_u64)
        && version > u64::from(KNOWN)
    {
        return Err(Misfit::Newer(version));
    }
    if !run.contains_key("flows") && !run.contains_key("bugs") {
        return Err(Misfit::Problem("it holds neither flows nor bugs, so it is no run".to_owned()));
    }
    fill_in(&mut run, id);
    let run: RunFile =
        serde_json::from_value(Value::Object(run)).map_err(|error| Misfit::Problem(error.to_string()))?;
    let traces = run.flows.iter().map(|flow| (&flow.title, &flow.trace));
    let traces = traces.chain(run.bugs.iter().map(|bug| (&bug.location, &bug.trace)));
    for (of, trace) in traces {
        let mut known = BTreeSet::new();
        if let Some(twice) = trace.iter().find(|step| !known.insert(step.index)) {
            return Err(Misfit::Problem(format!("two steps of the trace of \"{of}\" have the index {}", twice.index)));
        }
    }
    Ok(run)
}

/// Fills in what other writers leave out or name otherwise.
fn fill_in(run: &mut Map<String, Value>, id: &str) {
    rename(run, "baseUrl", &["base_url", "url", "startUrl", "target"]);
    rename(run, "startedAt", &["started_at", "createdAt", "timestamp"]);
    default(run, "id", json!(id));
    default(run, "baseUrl", json!(""));
    default(run, "startedAt", json!(time_in(id)));
    default(run, "flows", json!([]));
    default(run, "bugs", json!([]));
    let started = run.get("startedAt").cloned().unwrap_or_default();
    let mut inner = Vec::new();
    for (number, flow) in list(run.get_mut("flows")).enumerate() {
        let Value::Object(flow) = flow else { continue };
        rename(flow, "title", &["name", "label", "goal"]);
        let name = flow.get("id").and_then(Value::as_str).map_or_else(|| format!("flow-{}", number + 1), str::to_owned);
        flow.insert("id".to_owned(), json!(name));
        default(flow, "title", json!(name));
        default(flow, "trace", json!([]));
        fill_in_plan(flow);
        for (index, step) in list(flow.get_mut("trace")).enumerate() {
            fill_in_step(step, index, &started);
        }
        inner.extend(list(flow.get_mut("bugs")).map(Value::take));
        flow.remove("bugs");
    }
    if let Some(Value::Array(bugs)) = run.get_mut("bugs") {
        bugs.extend(inner);
        for bug in bugs {
            let Value::Object(bug) = bug else { continue };
            rename(bug, "description", &["title", "summary", "message"]);
            rename(bug, "location", &["url", "place"]);
            default(bug, "description", json!("(no description)"));
            default(bug, "severity", json!("major"));
            for (index, step) in list(bug.get_mut("trace")).enumerate() {
                fill_in_step(step, index, &started);
            }
        }
    }
}

/// A plan is a list of texts, or of objects that hold one, by whatever name.
fn fill_in_plan(flow: &mut Map<String, Value>) {
    let listed = ["plan", "steps", "actions", "instructions"].iter().find_map(|name| match flow.get(*name)? {
        Value::Array(items) => Some(items.clone()),
        Value::Object(plan) => {
            ["steps", "actions", "instructions"].iter().find_map(|name| plan.get(*name)?.as_array().cloned())
        }
        _ => None,
    });
    let text = |item: &Value, names: &[&str]| {
        let text = names.iter().find_map(|name| item.get(*name)?.as_str())?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let plan: Vec<Value> = listed
        .unwrap_or_default()
        .iter()
        .filter_map(|item| match item {
            Value::String(text) => (!text.trim().is_empty()).then(|| json!({ "instruction": text.trim() })),
            item => {
                let instruction = text(item, &["instruction", "action", "description", "text", "step"])?;
                let expected = text(item, &["expected", "expect", "expectedResult", "expected_result"]);
                Some(json!({ "instruction": instruction, "expected": expected }))
            }
        })
        .collect();
    flow.insert("plan".to_owned(), Value::Array(plan));
}

fn fill_in_step(step: &mut Value, index: usize, started: &Value) {
    let Value::Object(step) = step else { return };
    default(step, "index", json!(index));
    default(step, "startedAt", started.clone());
    default(step, "status", json!("passed"));
    default(step, "tool", json!("noop"));
}

fn list(value: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    value.and_then(Value::as_array_mut).into_iter().flatten()
}

fn rename(object: &mut Map<String, Value>, name: &str, others: &[&str]) {
    if object.get(name).is_some_and(|value| !value.is_null()) {
        return;
    }
    if let Some(value) = others.iter().find_map(|other| object.get(*other).filter(|value| value.is_string()).cloned()) {
        object.insert(name.to_owned(), value);
    }
}

fn default(object: &mut Map<String, Value>, name: &str, value: Value) {
    if object.get(name).is_none_or(Value::is_null) {
        object.insert(name.to_owned(), value);
    }
}

/// The time that an id begins with (`2026-05-02T10-15-00Z`), or the beginning of time.
fn time_in(id: &str) -> String {
    chrono::NaiveDateTime::parse_from_str(id.get(..20).unwrap_or_default(), "%Y-%m-%dT%H-%M-%SZ")
        .map_or_else(|_| "1970-01-01T00:00:00Z".to_owned(), |time| time.and_utc().to_rfc3339())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{StepStatus, Tool};

    #[test]
    fn a_run_of_the_seeds_shape_is_read() {
        let text = r#"{"url": "http://a.b", "flows": [{"name": "Buy", "trace": [
            {"index": 0, "tool": "goto", "value": "http://a.b/", "status": "passed"},
            {"index": 1, "tool": "click", "locator": {"testId": "buy", "css": ".b"}, "status": "failed", "error": "x"}],
            "bugs": [{"title": "It throws", "fingerprint": "aaaaaaaaaaaaaaaa"}]}]}"#;
        let run = parse_run(text, "2026-05-02T10-15-00Z").unwrap();
        assert_eq!((run.id.as_str(), run.base_url.as_str()), ("2026-05-02T10-15-00Z", "http://a.b"));
        assert_eq!(run.started_at.to_rfc3339(), "2026-05-02T10:15:00+00:00");
        assert_eq!((run.flows[0].title.as_str(), &run.flows[0].trace[1].tool), ("Buy", &Tool::Click));
        assert_eq!(run.flows[0].trace[1].status, StepStatus::Failed);
        assert_eq!(run.bugs[0].description, "It throws");
    }

    #[test]
    fn a_run_from_before_traces_is_read() {
        let run = parse_run(r#"{"flows": [{}], "bugs": [{"fingerprint": "b", "severity": "minor"}]}"#, "old").unwrap();
        assert!(run.flows[0].trace.is_empty() && run.bugs[0].trace.is_empty());
    }

    #[test]
    fn a_plan_is_read_in_every_form_that_is_about() {
        let plans = r#"{"flows": [
            {"plan": ["Open the cart", " "]},
            {"steps": [{"action": "Open the cart", "expected": "It is empty"}, {"tool": "click"}, 7]},
            {"plan": {"steps": [{"description": "Open the cart"}]}},
            {"instructions": [{"instruction": "Open the cart"}], "plan": null}]}"#;
        let run = parse_run(plans, "x").unwrap();
        let read: Vec<Vec<&str>> = run
            .flows
            .iter()
            .map(|flow| flow.plan.iter().map(|planned| planned.instruction.as_str()).collect())
            .collect();
        assert_eq!(read, vec![vec!["Open the cart"]; 4]);
        assert_eq!(run.flows[1].plan[0].expected.as_deref(), Some("It is empty"));
    }

    #[test]
    fn what_is_no_run_is_told() {
        assert_eq!(parse_run(r#"{"schemaVersion": 9, "flows": 7}"#, "x"), Err(Misfit::Newer(9)));
        assert!(matches!(parse_run("[]", "x"), Err(Misfit::Problem(_))));
        assert!(matches!(parse_run("{\"flows\": [", "x"), Err(Misfit::Problem(text)) if text.contains("line 1")));
        let twice = r#"{"flows": [{"trace": [{"index": 1}, {"index": 1}]}]}"#;
        assert!(matches!(parse_run(twice, "x"), Err(Misfit::Problem(text)) if text.contains("have the index 1")));
        assert!(matches!(parse_run("{}", "x"), Err(Misfit::Problem(text)) if text.contains("no run")));
    }

    #[test]
    fn runs_sort_by_time_and_then_by_number() {
        let mut names =
            ["2026-05-02T10-15-00Z-10", "2026-05-02T10-15-00Z", "2026-05-02T10-15-00Z-2", "2026-05-01T10-15-00Z"];
        names.sort_by_key(|name| sort_key(Path::new(&format!("{name}.json"))));
        assert_eq!(
            names,
            ["2026-05-01T10-15-00Z", "2026-05-02T10-15-00Z", "2026-05-02T10-15-00Z-2", "2026-05-02T10-15-00Z-10"]
        );
    }
}
