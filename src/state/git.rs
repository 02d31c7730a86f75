//! What git knows of the project's directory, read from its files: no git is run.
//!
//! A linked worktree has a file `.git` that leads to the main checkout's git directory: there one finds the main checkout,
//! whose campaign is everybody's. Our files are kept out of version control by `info/exclude`, and a copy of the state
//! lies in the git directory, where `git clean` and `git stash` do not reach.

use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::model::State;
use super::project::{OWN_DIR, Project, REPORTS_DIR, SCREENSHOTS_DIR};
use crate::store::{self, FileKind};

/// Heads our lines in `info/exclude`.
const EXCLUDE_MARK: &str = "# agent-test: a campaign's own files";
/// A copy of the state is made at most so often, except when the phase changes.
const COPY_EVERY: TimeDelta = TimeDelta::minutes(1);

/// A checkout of a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// Its top directory.
    pub top: PathBuf,
    /// Its own git directory.
    pub git_dir: PathBuf,
    /// The directory that all checkouts of the repository share.
    pub common_dir: PathBuf,
}

impl Checkout {
    /// The checkout that this directory lies in.
    #[must_use]
    pub fn of(directory: &Path) -> Option<Self> {
        let directory = directory.canonicalize().ok()?;
        let (top, mark) = directory.ancestors().map(|top| (top, top.join(".git"))).find(|(_, mark)| mark.exists())?;
        let git_dir = if mark.is_dir() {
            mark
        } else {
            let text = store::read_to_string(&mark).ok()?;
            top.join(text.lines().next()?.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?
        };
        let common_dir = match store::read_to_string_if_exists(&git_dir.join("commondir")) {
            Ok(Some(text)) => git_dir.join(text.trim()).canonicalize().ok()?,
            _ => git_dir.clone(),
        };
        // Any directory may be called `.git`.
        common_dir.join("HEAD").exists().then(|| Self { top: top.to_owned(), git_dir, common_dir })
    }

    /// The main checkout, when this is a linked worktree of it.
    #[must_use]
    pub fn main(&self) -> Option<PathBuf> {
        let linked = self.git_dir != self.common_dir && self.common_dir.file_name().is_some_and(|name| name == ".git");
        self.common_dir.parent().filter(|main| linked && main.is_dir()).map(Path::to_path_buf)
    }
}

/// What is written beside the copy of the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownCopy {
    /// Number of the state's last transition.
    pub(super) transition: u64,
    /// When the copy was made.
    pub(super) at: DateTime<Utc>,
    /// The campaign's phase then.
    phase: String,
}

fn phase_of(state: &State) -> &'static str {
    if state.blocked().is_some() {
        "blocked"
    } else if !state.pending().is_empty() {
        "testing"
    } else if state.awaiting_review().next().is_some() {
        "review"
    } else {
        "final_report"
    }
}

impl Project {
    /// The project's root below the top of its checkout, with `/`; empty when it is the top itself.
    fn below_top(&self, checkout: &Checkout) -> Option<String> {
        let root = self.root().canonicalize().ok()?;
        let below = root.strip_prefix(&checkout.top).ok()?;
        Some(below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/"))
    }

    /// Where the copy of the state lies.
    fn copy_dir(&self) -> Option<PathBuf> {
        let checkout = Checkout::of(self.root())?;
        let below = self.below_top(&checkout)?;
        let name =
            if below.is_empty() { "root".to_owned() } else { store::sha256_hex(below).chars().take(16).collect() };
        Some(checkout.git_dir.join("agent-test").join(name))
    }

    /// What is known of the copy.
    pub(super) fn known_copy(&self) -> Option<KnownCopy> {
        read_known(&self.copy_dir()?)
    }

    /// The copy's state, when it can be understood.
    pub(super) fn copied_state(&self) -> Option<(State, KnownCopy)> {
        let dir = self.copy_dir()?;
        let known = read_known(&dir)?;
        let text = store::read_to_string(&dir.join("state.json")).ok()?;
        let state = State::parse(&text).ok().filter(|state| state.twice().is_empty())?;
        Some((state, known))
    }

    /// Keeps a copy of the state that was just written, when one is due. Best effort: it is never read as truth.
    pub(super) fn keep_copy(&self, state: &State, parts: &[&[u8]], now: DateTime<Utc>) {
        let Some(dir) = self.copy_dir() else { return };
        let phase = phase_of(state);
        let due = read_known(&dir).is_none_or(|known| known.phase != phase || (now - known.at).abs() >= COPY_EVERY);
        if !due {
            return;
        }
        let known = KnownCopy { transition: state.transition().unwrap_or(0), at: now, phase: phase.to_owned() };
        if store::write_unsynced(&dir.join("state.json"), &parts.concat()).is_ok()
            && let Ok(text) = serde_json::to_vec(&known)
        {
            let _ = store::write_unsynced(&dir.join("known.json"), &text);
        }
    }

    /// A campaign begins where none stands: the copy of one that was lost is put aside, so that the new one's does not
    /// replace it. Gives back where it lies now.
    pub(super) fn keep_earlier_copy(&self) -> Option<PathBuf> {
        let dir = self.copy_dir()?;
        let earlier = dir.join("earlier-state.json");
        let text = store::read_bytes(&dir.join("state.json")).ok()?;
        store::write_unsynced(&earlier, &text).ok()?;
        Some(earlier)
    }

    /// Puts the campaign's own files into `info/exclude` of the repository. Gives back the file when it was changed.
    ///
    /// # Errors
    /// Why it could not be written; nothing depends on it.
    pub fn exclude_from_git(&self) -> Result<Option<PathBuf>, super::StateError> {
        let Some(checkout) = Checkout::of(self.root()) else { return Ok(None) };
        let Some(below) = self.below_top(&checkout) else { return Ok(None) };
        let path = checkout.common_dir.join("info").join("exclude");
        let old = store::read_to_string_if_exists(&path)?.unwrap_or_default();
        let known: std::collections::HashSet<&str> = old.lines().map(str::trim).collect();
        let missing: Vec<String> = patterns(&below).into_iter().filter(|line| !known.contains(line.as_str())).collect();
        if missing.is_empty() {
            return Ok(None);
        }
        let mut text = old.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if !known.contains(EXCLUDE_MARK) {
            text.push_str(EXCLUDE_MARK);
            text.push('\n');
        }
        for line in missing {
            text.push_str(&line);
            text.push('\n');
        }
        store::create_dir(&checkout.common_dir.join("info"))?;
        store::write_atomic(&path, text.as_bytes())?;
        Ok(Some(path))
    }

    /// Whether the project lies in a git checkout.
    #[must_use]
    pub fn is_in_git(&self) -> bool {
        Checkout::of(self.root()).is_some()
    }
}

fn read_known(dir: &Path) -> Option<KnownCopy> {
    let path = dir.join("known.json");
    if store::exists(&path) != FileKind::File {
        return None;
    }
    serde_json::from_slice(&store::read_bytes(&path).ok()?).ok()
}

/// Our files, for `info/exclude`. What teams commit (`.agent-test/cache/`) is not among them.
fn patterns(below: &str) -> Vec<String> {
    // These letters mean something in a pattern.
    let mut root = String::from("/");
    for letter in below.chars() {
        if matches!(letter, '*' | '?' | '[' | '\\') {
            root.push('\\');
        }
        root.push(letter);
    }
    if !below.is_empty() {
        root.push('/');
    }
    [
        ".monkey-test-state.json".to_owned(),
        ".monkey-test-state.lock".to_owned(),
        ".monkey-test-state.*.json".to_owned(),
        ".monkey-test-loop-state.json".to_owned(),
        format!("{REPORTS_DIR}/"),
        format!("{SCREENSHOTS_DIR}/"),
        format!("{OWN_DIR}/*"),
    ]
    .into_iter()
    .map(|line| format!("{root}{line}"))
    .chain([format!("!{root}{OWN_DIR}/cache/")])
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_anchored_at_the_project_and_spare_the_cache() {
        assert_eq!(patterns("")[0], "/.monkey-test-state.json");
        assert_eq!(patterns("apps/[a]")[0], "/apps/\\[a]/.monkey-test-state.json");
        assert_eq!(patterns("").last().map(String::as_str), Some("!/.agent-test/cache/"));
    }

    #[test]
    fn a_linked_worktree_leads_to_its_main_checkout_without_running_git() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let git_dir = root.join("main/.git/worktrees/w");
        std::fs::create_dir_all(&git_dir).unwrap();
        std::fs::create_dir_all(root.join("linked/sub")).unwrap();
        std::fs::write(root.join("main/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        std::fs::write(root.join("linked/.git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        let linked = Checkout::of(&root.join("linked/sub")).unwrap();
        assert_eq!((linked.top.clone(), linked.main()), (root.join("linked"), Some(root.join("main"))));
        assert_eq!(Checkout::of(&root.join("main")).unwrap().main(), None);
    }
}
