//! The history: `.agent-test/history.jsonl`, one line per transition, written after the state itself and under its lock.
//!
//! It is no source of truth: a transition never reads more than its last line, and when it cannot be written the
//! transition stands and a warning is given. It answers who did what (`log`), holds what `undo` needs, tells an older
//! state that was brought back (by the number of the last transition), and helps a repair.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::journal::Touched;
use super::model::State;
use super::{Project, StateError};
use crate::maze::open_enum;
use crate::route::Route;
use crate::settings::Overrides;
use crate::store;

/// Its name in our own folder.
const HISTORY_FILE: &str = "history.jsonl";
/// Each time the file grows over a multiple of this, what is old is reduced.
const COMPACT_EVERY: u64 = 8 << 20;
/// What stays as it is then, in bytes from the end.
const KEPT_WHOLE: usize = 2 << 20;

open_enum! {
    /// What a transition did.
    Change {
        /// The campaign began.
        Init = "init",
        /// Routes were given out under leases.
        Claim = "claim",
        /// A lease was lengthened.
        Heartbeat = "heartbeat",
        /// Leases were given back.
        Release = "release",
        /// A report was handed in.
        Complete = "complete",
        /// A route could not be tested.
        Fail = "fail",
        /// A subagent crashed; its route stayed pending.
        Crash = "crash",
        /// Failed routes were put back.
        Retry = "retry",
        /// Completed routes were put back.
        Requeue = "requeue",
        /// A bug report was handed in.
        ReviewComplete = "review_complete",
        /// A review failed.
        ReviewFail = "review_fail",
        /// The campaign was blocked.
        Block = "block",
        /// The block was taken away.
        Unblock = "unblock",
        /// New routes.
        Add = "add",
        /// Pending routes were taken out.
        Drop = "drop",
        /// The final report was written.
        Report = "report",
        /// An earlier transition was taken back.
        Undo = "undo",
        /// The state was repaired.
        Repair = "repair",
        /// Older lines were reduced to this one.
        Compacted = "compacted",
        /// Something else.
        Edit = "edit",
    }
}

/// Who did it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Who {
    /// The worker, as it called itself when it claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Number of the process.
    pub pid: u32,
    /// Name of the machine.
    pub host: String,
    /// The session, when `AGENT_TEST_SESSION` names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Who {
    /// This process.
    pub(super) fn this(worker: Option<String>) -> Self {
        let session = crate::env::get(crate::env::SESSION);
        Self { worker, pid: std::process::id(), host: store::host_name(), session }
    }

    /// For a person: the worker, else the session, else the process.
    #[must_use]
    pub fn name(&self) -> String {
        self.worker.clone().or_else(|| self.session.clone()).unwrap_or_else(|| format!("process {}", self.pid))
    }
}

/// A route that could not be tested, as a later repair needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroundFailure {
    /// The route.
    pub route: Route,
    /// Why.
    pub error: String,
}

/// What a repair can stand on: the campaign without its outcomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ground {
    /// The project's name.
    pub project: String,
    /// Address of the application.
    pub base_url: String,
    /// What the campaign was started with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Overrides>,
    /// Every route.
    pub routes: Vec<Route>,
    /// Those that could not be tested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<GroundFailure>,
}

impl Ground {
    pub(super) fn of(state: &State) -> Self {
        let failed = state.failed.iter().map(|entry| GroundFailure {
            route: entry.route.clone(),
            error: entry.last_error.clone().or_else(|| entry.error.clone()).unwrap_or_default(),
        });
        Self {
            project: state.project(),
            base_url: state.base_url(),
            settings: state.top.get_as("settings"),
            routes: state.routes().cloned().collect(),
            failed: failed.collect(),
        }
    }
}

/// A file that a transition put aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptFile {
    /// Where it lay, relative to the project.
    pub was: String,
    /// Where its copy lies, relative to the project.
    pub copy: String,
}

/// What taking a transition back needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Undo {
    /// The routes that were touched, as they stood before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Touched>,
    /// Other values of the state before, by key, as JSON text; null: not there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, Option<String>>,
    /// Files that were put aside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<KeptFile>,
    /// Digest of the same routes and values afterwards: when they differ now, something came in between.
    pub left: String,
}

/// One line of the history: a transition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryLine {
    /// Number of the transition; the state carries that of its last one.
    pub seq: u64,
    /// When (UTC).
    pub at: DateTime<Utc>,
    /// What.
    pub event: Change,
    /// The routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// More about it, such as the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Who.
    #[serde(default)]
    pub who: Who,
    /// Digest of the state file before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Digest of the state file afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Number of the transition that this one took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undid: Option<u64>,
    /// What a repair can stand on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
    /// What taking it back needs; absent when it cannot be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
}

/// Which lines to show.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Only those that touch this route.
    pub route: Option<Route>,
    /// Only those of this worker or session.
    pub worker: Option<String>,
    /// At most so many, the latest.
    pub limit: Option<usize>,
}

impl LogFilter {
    fn takes(&self, line: &HistoryLine) -> bool {
        let of_route = self.route.as_ref().is_none_or(|route| line.routes.contains(route));
        let of_worker = self
            .worker
            .as_ref()
            .is_none_or(|worker| line.who.worker.as_ref() == Some(worker) || line.who.session.as_ref() == Some(worker));
        of_route && of_worker
    }
}

/// A line as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// The line.
    pub line: HistoryLine,
    /// Whether the state file was changed by something else between the transition before and this one.
    pub edited_before: bool,
}

/// The number of a line without reading the rest of it.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
    at: DateTime<Utc>,
}

/// What is known of the end of the history.
#[derive(Clone, Debug, Default)]
pub(super) struct HistoryEnd {
    /// Number and time of the last transition.
    pub(super) last: Option<(u64, DateTime<Utc>)>,
    torn: bool,
    size: u64,
}

impl Project {
    pub(super) fn history_path(&self) -> PathBuf {
        self.own_dir().join(HISTORY_FILE)
    }

    /// The end of the history; what cannot be read counts as nothing.
    pub(super) fn history_end(&self) -> HistoryEnd {
        let Ok(end) = store::log_end(&self.history_path()) else { return HistoryEnd::default() };
        let mut last = end.line.as_deref().and_then(|line| serde_json::from_str::<Numbered>(line).ok());
        if last.is_none() && end.size > 0 {
            // The last line is no line of ours: what a power loss or a hand left. Rare, so everything is read.
            last = self.history().unwrap_or_default().pop().map(|line| Numbered { seq: line.seq, at: line.at });
        }
        HistoryEnd { last: last.map(|line| (line.seq, line.at)), torn: end.torn, size: end.size }
    }

    /// Every line that can be read, the oldest first.
    ///
    /// # Errors
    /// When the history is there and cannot be read, or something else stands where its directory has to be.
    pub fn history(&self) -> Result<Vec<HistoryLine>, StateError> {
        if let Some(error) = store::no_directory(&self.own_dir()) {
            return Err(error.into());
        }
        let path = self.history_path();
        if store::exists(&path) == store::FileKind::Missing {
            return Ok(Vec::new());
        }
        let bytes = store::read_bytes(&path)?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// The lines that are asked for, the oldest first.
    ///
    /// # Errors
    /// As [`Project::history`].
    pub fn log(&self, filter: &LogFilter) -> Result<Vec<Logged>, StateError> {
        let mut last: Option<(u64, Option<String>)> = None;
        let shown = self.history()?.into_iter().map(|line| {
            let edited_before = last.as_ref().is_some_and(|(seq, after)| {
                line.seq == seq + 1 && line.before.is_some() && after.is_some() && line.before != *after
            });
            last = Some((line.seq, line.after.clone()));
            Logged { line, edited_before }
        });
        let mut lines: Vec<Logged> = shown.filter(|shown| filter.takes(&shown.line)).collect();
        if let Some(limit) = filter.limit {
            lines.drain(..lines.len().saturating_sub(limit));
        }
        Ok(lines)
    }

    /// Appends a line; the caller holds the lock. What goes wrong is warned of: the state stands.
    pub(super) fn write_history(&self, line: &HistoryLine, end: &HistoryEnd, state: &State) {
        let text = match serde_json::to_string(line) {
            Ok(text) => text,
            Err(error) => return self.warn(&format!("the history was not written: {error}")),
        };
        if let Err(error) = store::append_line(&self.history_path(), &text, end.torn) {
            return self.warn(&format!("the change is made, but the history was not written: {error}"));
        }
        let size = end.size + text.len() as u64 + 1;
        if size / COMPACT_EVERY > end.size / COMPACT_EVERY
            && let Err(error) = self.compact_history(line, state)
        {
            self.warn(&format!("the history grows: it could not be reduced: {error}"));
        }
    }

    /// Replaces all but the end of the history by one line that a repair can stand on.
    fn compact_history(&self, last: &HistoryLine, state: &State) -> Result<(), StateError> {
        let path = self.history_path();
        let bytes = store::read_bytes(&path)?;
        let cut = bytes.len().saturating_sub(KEPT_WHOLE);
        let rest = bytes.get(cut..).unwrap_or_default();
        let kept = rest.iter().position(|byte| *byte == b'\n').and_then(|end| rest.get(end + 1..)).unwrap_or_default();
        let gone = bytes.len() - kept.len();
        let count = bytes.get(..gone).unwrap_or_default().split(|byte| *byte == b'\n').count().saturating_sub(1);
        let first = kept.split(|byte| *byte == b'\n').find_map(|line| serde_json::from_slice::<Numbered>(line).ok());
        let line = HistoryLine {
            seq: first.as_ref().map_or(last.seq, |line| line.seq.saturating_sub(1)),
            at: first.map_or(last.at, |line| line.at),
            event: Change::Compacted,
            routes: Vec::new(),
            detail: Some(format!("{count} older lines")),
            who: last.who.clone(),
            before: None,
            after: None,
            undid: None,
            ground: Some(Ground::of(state)),
            undo: None,
        };
        let mut text = serde_json::to_vec(&line).map_err(|error| StateError::Argument(error.to_string()))?;
        text.push(b'\n');
        text.extend_from_slice(kept);
        Ok(store::write_atomic(&path, &text)?)
    }
}
