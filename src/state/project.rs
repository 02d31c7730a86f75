//! A project directory: where the files of a campaign lie, and the one read-modify-write of its state.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::StateError;
use super::history::{Change, Ground, HistoryLine, Who};
use super::model::{SCHEMA_VERSION, State};
use crate::route::Slug;
use crate::store::{self, BootTime, Clock, FileKind, FileLock, Ids};

/// The state file.
pub const STATE_FILE: &str = ".monkey-test-state.json";
/// Its lock; never deleted while in use.
const LOCK_FILE: &str = ".monkey-test-state.lock";
/// The route map.
pub const ROUTE_MAP: &str = "ROUTE_MAP.md";
/// Folder of the reports.
pub const REPORTS_DIR: &str = "monkey-test-reports";
/// Folder of the screenshots.
pub const SCREENSHOTS_DIR: &str = "monkey-test-screenshots";
/// Folder of our own files.
pub const OWN_DIR: &str = ".agent-test";
/// Name of the final report in the folder of reports.
pub const FINAL_REPORT: &str = "FINAL-REPORT.md";

/// A file larger than this is no state.
pub(super) const LARGEST_STATE: u64 = 160 << 20;
/// Litter in the folders of outputs, where writers take no lock, is swept at this age.
const OLD_LITTER: Duration = Duration::from_hours(1);

/// A project directory. Cheap to clone.
#[derive(Clone)]
pub struct Project {
    root: PathBuf,
    clock: Clock,
    ids: Ids,
    lock_timeout: Duration,
    warn: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Project {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Project").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Project {
    /// The project in this directory.
    #[must_use]
    pub fn open(root: impl Into<PathBuf>, clock: Clock) -> Self {
        let warn = Arc::new(|_: &str| ());
        Self { root: root.into(), clock, ids: Ids::random(), lock_timeout: store::lock_timeout(), warn }
    }

    /// The same project; what is odd about its state, but no reason to refuse it, is said here.
    #[must_use]
    pub fn warning(mut self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.warn = Arc::new(warn);
        self
    }

    /// The same project with another source of tokens.
    #[must_use]
    pub fn with_ids(mut self, ids: Ids) -> Self {
        self.ids = ids;
        self
    }

    /// The directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    pub(super) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The state file.
    #[must_use]
    pub fn state_path(&self) -> PathBuf {
        self.root.join(STATE_FILE)
    }

    /// The route map.
    #[must_use]
    pub fn route_map_path(&self) -> PathBuf {
        self.root.join(ROUTE_MAP)
    }

    /// Folder of the reports.
    #[must_use]
    pub fn reports_dir(&self) -> PathBuf {
        self.root.join(REPORTS_DIR)
    }

    /// Folder of our own files.
    #[must_use]
    pub fn own_dir(&self) -> PathBuf {
        self.root.join(OWN_DIR)
    }

    /// The report of a route.
    #[must_use]
    pub fn report_path(&self, slug: &Slug) -> PathBuf {
        self.reports_dir().join(format!("{slug}.json"))
    }

    /// The bug report of a route.
    #[must_use]
    pub fn bug_report_path(&self, slug: &Slug) -> PathBuf {
        self.reports_dir().join(format!("{slug}-bugs.md"))
    }

    /// Folder of a route's screenshots.
    #[must_use]
    pub fn screenshots_of(&self, slug: &Slug) -> PathBuf {
        self.root.join(SCREENSHOTS_DIR).join(slug.as_str())
    }

    /// The final report.
    #[must_use]
    pub fn final_report_path(&self) -> PathBuf {
        self.reports_dir().join(FINAL_REPORT)
    }

    /// Whether there is a state here.
    #[must_use]
    pub fn has_state(&self) -> bool {
        store::exists(&self.state_path()) != FileKind::Missing
    }

    /// As [`Project::has_state`], where what cannot be looked at must not pass for missing, nor for there.
    ///
    /// # Errors
    /// When the system does not let us look, or a symbolic link without a target stands there.
    pub(super) fn state_stands(&self) -> Result<bool, StateError> {
        let path = self.state_path();
        match store::dangling(&path) {
            Some(target) => Err(leads_nowhere(path, &target)),
            None => Ok(store::kind(&path)? != FileKind::Missing),
        }
    }

    /// The digest that the final report on the disk carries.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn final_report_digest(&self) -> Result<Option<String>, StateError> {
        let text = store::read_to_string_if_exists(&self.final_report_path())?;
        Ok(text.as_deref().and_then(super::digest_in).map(str::to_owned))
    }

    /// Reads the state, without a lock: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// When there is none, it cannot be read or understood, or a route stands in it twice.
    pub fn read(&self) -> Result<State, StateError> {
        let state = self.read_quietly()?;
        self.warn_of(&state);
        Ok(state)
    }

    /// Warns of what is odd about a state, but no reason to refuse it.
    fn warn_of(&self, state: &State) {
        let wrong = state.wrong_counters();
        if !wrong.is_empty() {
            let names: Vec<&str> = wrong.iter().map(|(name, ..)| *name).collect();
            self.warn(&format!(
                "the state's counters are off ({}): its lists count, and the next change writes the counters right",
                names.join(", ")
            ));
        }
        if state.journal.byte_order_mark {
            self.warn("the state begins with a byte-order mark: it is kept, but other readers may stumble over it");
        }
        for (route, word) in state.unknown_words() {
            self.warn(&format!("`{route}` has the unknown status `{word}`: it is kept"));
        }
    }

    pub(super) fn warn(&self, text: &str) {
        (self.warn)(text);
    }

    /// As [`Project::read`], for a caller that tells the findings itself.
    pub(super) fn read_quietly(&self) -> Result<State, StateError> {
        self.unambiguous(self.read_as_it_is()?)
    }

    /// Reads the state even when a route stands in it twice.
    pub(super) fn read_as_it_is(&self) -> Result<State, StateError> {
        Ok(self.parsed()?.0)
    }

    /// As [`Project::read_as_it_is`], with the digest of the file.
    pub(super) fn parsed(&self) -> Result<(State, String), StateError> {
        let path = self.state_path();
        let Some(text) = self.read_text()? else { return Err(StateError::NoState { path }) };
        let digest = store::quick_digest(&[text.as_bytes()]);
        let byte_order_mark = text.starts_with('\u{feff}');
        let mut state = State::from_text(text).map_err(|problem| StateError::Broken { path, problem })?;
        state.journal.byte_order_mark = byte_order_mark;
        state.journal.boot = BootTime::now();
        state.align_leases(self.now());
        Ok((state, digest))
    }

    pub(super) fn read_text(&self) -> Result<Option<String>, StateError> {
        let path = self.state_path();
        let broken = |problem: String| Err(StateError::Broken { path: path.clone(), problem });
        let no_file = |problem: String| Err(StateError::NoFile { path: path.clone(), problem });
        match store::kind(&path)? {
            FileKind::Missing => {
                return match store::dangling(&path) {
                    Some(target) => Err(leads_nowhere(path, &target)),
                    None => Ok(None),
                };
            }
            FileKind::File => {}
            FileKind::Directory => return no_file("it is a directory".into()),
            // Reading it could wait for ever.
            FileKind::Special => return no_file("it is a pipe or a device, not a file".into()),
        }
        let size = store::size(&path);
        if size > LARGEST_STATE {
            return no_file(format!("it is {} MB large, which no state is", size / 1_000_000));
        }
        match store::read_bytes(&path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => broken("it is not UTF-8 text".into()),
            },
            Err(_) if store::exists(&path) == FileKind::Missing => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn unambiguous(&self, state: State) -> Result<State, StateError> {
        let places = state.twice();
        if places.is_empty() { Ok(state) } else { Err(StateError::Ambiguous { path: self.state_path(), places }) }
    }

    /// The one way to change the state: lock, read, apply, check, write, unlock. When the function refuses or changes
    /// nothing, nothing is written. What was done is written to the history.
    ///
    /// # Errors
    /// What the function refuses; what [`Project::read`] refuses; a newer schema; an older state that was brought back;
    /// the lock; the disk.
    pub fn transact<T>(
        &self,
        change: impl FnOnce(&mut State, DateTime<Utc>) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        if !self.state_stands()? {
            return Err(StateError::NoState { path: self.state_path() });
        }
        let _lock = self.lock()?;
        let (state, digest) = self.parsed()?;
        let mut state = self.unambiguous(state)?;
        self.warn_of(&state);
        self.refuse_newer(&state)?;
        self.refuse_older(&state, &digest, self.last_known())?;
        let now = self.now();
        let answer = change(&mut state, now)?;
        if state.changed {
            self.write(state, Some(digest), now)?;
        } else {
            // Perhaps the command before this one could not tell whether its change would last: now it is told.
            store::make_durable(&self.state_path())?;
        }
        Ok(answer)
    }

    /// A newer program's state is read, but never written.
    pub(super) fn refuse_newer(&self, state: &State) -> Result<(), StateError> {
        let version = state.schema_version();
        if version > SCHEMA_VERSION { Err(StateError::Newer { path: self.state_path(), version }) } else { Ok(()) }
    }

    /// Takes the project's lock and sweeps what killed writers left.
    pub(super) fn lock(&self) -> Result<FileLock, StateError> {
        let lock = FileLock::acquire(&self.root.join(LOCK_FILE), self.lock_timeout)?;
        store::sweep(&self.root, Duration::ZERO);
        store::sweep(&self.reports_dir(), OLD_LITTER);
        Ok(lock)
    }

    /// Writes the state, then its history and its copy; the caller holds the lock. `before` is the digest of the file
    /// that is replaced.
    pub(super) fn write(&self, mut state: State, before: Option<String>, now: DateTime<Utc>) -> Result<(), StateError> {
        let end = self.history_end();
        let known = self.last_known().map_or(0, |known| known.seq);
        let seq = known.max(state.transition().unwrap_or(0)) + 1;
        state.top.set(super::age::TRANSITION, &seq);
        state.settle(now);
        // No transition may do this; if one did, the file would be refused from then on.
        let state = self.unambiguous(state)?;
        let rope = state.rope();
        let mut parts = rope.parts();
        if state.journal.byte_order_mark {
            parts.insert(0, "\u{feff}".as_bytes());
        }
        let written = store::write_atomic_parts(&self.state_path(), &parts);
        if matches!(written, Ok(()) | Err(store::StoreError::NotDurable { .. })) {
            let journal = &state.journal;
            let event = journal.change.clone().unwrap_or(Change::Edit);
            let line = HistoryLine {
                seq,
                at: now,
                ground: matches!(event, Change::Init | Change::Repair).then(|| Ground::of(&state)),
                event,
                routes: journal.routes.clone(),
                detail: journal.detail.clone(),
                who: Who::this(journal.worker.clone()),
                before,
                after: Some(store::quick_digest(&parts)),
                undid: journal.undid,
                undo: state.undo_notes(),
            };
            self.write_history(&line, &end, &state);
            self.keep_copy(&state, &parts, now);
        }
        Ok(written?)
    }

    /// A free name beside the state for a copy of it that is kept, dated.
    pub(super) fn dated_copy(&self, now: DateTime<Utc>) -> PathBuf {
        let path = |name: &str| self.root.join(format!("{name}.json"));
        let stem = format!(".monkey-test-state.{}", now.format("%Y-%m-%dT%H-%M-%SZ"));
        path(&store::free_name(&stem, |name| store::exists(&path(name)) != FileKind::Missing))
    }

    /// A path as it is written into the state: relative to the project, with `/`.
    pub(super) fn relative(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    }
}

fn leads_nowhere(path: PathBuf, target: &Path) -> StateError {
    let problem = format!("it is a symbolic link to `{}`, which does not exist", target.display());
    StateError::NoFile { path, problem }
}
