//! The run file of one execution: each finished route leaves its part at once, and the parts become one file at the end.
//! Parts of a process that died are joined by the next one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::maze::Bug;
use crate::store::{self, FileLock, Owner, StoreError};
use crate::trace::{Flow, RunFile, RunSettings};

const RUNS: &str = ".agent-test/runs";

/// The log of one run.
#[derive(Clone, Debug)]
pub struct RunLog {
    id: String,
    root: PathBuf,
    head: RunFile,
}

impl RunLog {
    /// Begins a run, and joins what dead ones left. `root` is the project root.
    ///
    /// # Errors
    /// When the directory of runs cannot be written to.
    pub fn begin(root: &Path, base_url: &str, settings: RunSettings, now: DateTime<Utc>) -> Result<Self, StoreError> {
        let runs = root.join(RUNS);
        store::create_dir(&runs)?;
        let _lock = FileLock::acquire(&runs.join("runs.lock"), store::lock_timeout())?;
        let id = free_id(&runs, now);
        let head = RunFile {
            schema_version: 1,
            id: id.clone(),
            base_url: base_url.to_owned(),
            source: Some("explorer".to_owned()),
            started_at: now,
            finished_at: None,
            tool_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            settings,
            flows: Vec::new(),
            bugs: Vec::new(),
        };
        store::create_dir(&runs.join(format!("{id}.parts")))?;
        let log = Self { id, root: root.to_owned(), head };
        let owner = format!("{}\n", Owner::this());
        store::write_evidence(&log.parts().join("owner"), owner.as_bytes())?;
        let text = serde_json::to_vec(&log.head).unwrap_or_default();
        store::write_evidence(&log.parts().join("head.json"), &text)?;
        log.join_dead(&runs);
        Ok(log)
    }

    /// Path of the run file, relative to the project.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{RUNS}/{}.json", self.id)
    }

    /// Where this process keeps what is not finished; gone when the run is joined.
    pub(crate) fn parts(&self) -> PathBuf {
        self.root.join(RUNS).join(format!("{}.parts", self.id))
    }

    /// Keeps a finished route's flow and bugs.
    ///
    /// # Errors
    /// When the part cannot be written.
    pub fn add(&self, flow: &Flow, bugs: &[Bug]) -> Result<(), StoreError> {
        let text = serde_json::to_vec(&(flow, bugs)).unwrap_or_default();
        store::write_atomic(&self.parts().join(format!("{}.part.json", flow.id)), &text)
    }

    /// Joins the parts into the run file.
    ///
    /// # Errors
    /// When the run file cannot be written; the parts stay.
    pub fn finish(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        join(&self.parts(), &self.root.join(self.file()), self.head.clone(), Some(now))
    }

    /// Joins the parts of runs whose process is gone.
    fn join_dead(&self, runs: &Path) {
        let Ok(names) = store::file_names(runs) else { return };
        for name in names.iter().filter_map(|name| name.strip_suffix(".parts")).filter(|name| *name != self.id) {
            let parts = runs.join(format!("{name}.parts"));
            let owner = store::read_to_string(&parts.join("owner")).unwrap_or_default();
            if owner.trim().parse::<Owner>().is_ok_and(|owner| !owner.is_dead()) {
                continue;
            }
            let head =
                store::read_to_string(&parts.join("head.json")).ok().and_then(|text| serde_json::from_str(&text).ok());
            if let Some(head) = head
                && let Err(error) = join(&parts, &runs.join(format!("{name}.json")), head, None)
            {
                tracing::warn!("cannot join the run {name}: {error}");
            }
        }
    }
}

/// An id that no run has: the time, with a number behind it when a run of the same second has it.
fn free_id(runs: &Path, now: DateTime<Utc>) -> String {
    store::free_name(&now.format("%Y-%m-%dT%H-%M-%SZ").to_string(), |id| {
        runs.join(format!("{id}.json")).exists() || runs.join(format!("{id}.parts")).exists()
    })
}

/// Keeps a run that was made as a whole: gives it an id and writes its file. Gives back the file's path, relative to the
/// project.
///
/// # Errors
/// When it cannot be written.
pub fn keep_run(root: &Path, run: &mut RunFile) -> Result<String, StoreError> {
    let runs = root.join(RUNS);
    store::create_dir(&runs)?;
    let _lock = FileLock::acquire(&runs.join("runs.lock"), store::lock_timeout())?;
    run.id = free_id(&runs, run.started_at);
    let file = format!("{RUNS}/{}.json", run.id);
    store::write_atomic(&root.join(&file), &serde_json::to_vec_pretty(run).unwrap_or_default())?;
    Ok(file)
}

fn join(parts: &Path, file: &Path, mut run: RunFile, finished: Option<DateTime<Utc>>) -> Result<(), StoreError> {
    let mut names: Vec<String> =
        store::file_names(parts)?.into_iter().filter(|name| name.ends_with(".part.json")).collect();
    names.sort();
    for name in names {
        let text = store::read_to_string(&parts.join(&name))?;
        if let Ok((flow, bugs)) = serde_json::from_str::<(Flow, Vec<Bug>)>(&text) {
            run.flows.push(flow);
            run.bugs.extend(bugs);
        }
    }
    run.finished_at = finished;
    if !run.flows.is_empty() {
        let text = serde_json::to_vec_pretty(&run).unwrap_or_default();
        store::write_atomic(file, &text)?;
    }
    store::remove_tree(parts)
}

/// Removes litter that no living run owns; `age` is how old it must be.
pub(crate) fn sweep_litter(root: &Path, age: Duration) {
    store::sweep(&root.join(RUNS), age);
}
