//! What becomes of the recordings of an attempt, once it has ended. Trouble with the store is a slower run, never a failed
//! one: it is told beside the step.

use chrono::{DateTime, Utc};

use super::act::Mode;
use super::recording::{CacheStore, Deed, Entry, KeyedBy, ShelfError, Staged, Stored, Write, settle};

/// What a step staged.
pub(super) struct Pending {
    /// Index of the step.
    pub(super) step: usize,
    /// Key of the recording.
    pub(super) key: String,
    /// What the key was made from.
    pub(super) keyed_by: KeyedBy,
    /// What is to become of the recording.
    pub(super) staged: Staged<Entry>,
    /// What was read of it.
    pub(super) was: Option<Stored>,
}

/// How the attempt ended, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// How recordings are used.
    pub(super) mode: Mode,
    /// Which attempt it was (0 = the first).
    pub(super) attempt: u32,
    /// Index of the last step that checked something.
    pub(super) verified: Option<usize>,
    /// It failed for nothing but a model that gave no answer.
    pub(super) no_answer: bool,
    /// The time.
    pub(super) now: DateTime<Utc>,
}

/// What became of the recording of a step.
pub(super) struct Settled {
    /// Index of the step.
    pub(super) step: usize,
    /// What was done.
    pub(super) write: Option<Write>,
    /// Why the store did not do it.
    pub(super) trouble: Option<String>,
}

/// Writes and takes away what the steps staged.
pub(super) fn settle_all(store: &CacheStore, pending: Vec<Pending>, ended: Ended) -> Vec<Settled> {
    let settle_one = |pending: Pending| {
        let step = pending.step;
        match one(store, pending, ended) {
            Ok(write) => Settled { step, write, trouble: None },
            Err(why) => Settled { step, write: Some(Write::NotWritten), trouble: Some(why) },
        }
    };
    pending.into_iter().map(settle_one).collect()
}

fn one(store: &CacheStore, pending: Pending, ended: Ended) -> Result<Option<Write>, String> {
    let confirmed = ended.verified.is_some_and(|verified| pending.step < verified);
    let may = ended.mode == Mode::ReadWrite;
    let Pending { key, keyed_by, staged, was, .. } = pending;
    let version = was.as_ref().map(Stored::version);
    let done = |done: Result<bool, ShelfError>, word: Write| match done {
        Ok(true) => Ok(Some(word)),
        Ok(false) => Err("somebody else has changed it since it was read".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    match settle(staged, was.is_some(), confirmed, ended.no_answer) {
        Deed::Leave(Some(Write::Kept)) => {
            if may && confirmed {
                complete(store, &key, keyed_by, was.as_ref());
            }
            Ok(Some(Write::Kept))
        }
        Deed::Leave(write) => Ok(write),
        Deed::Save(entry) if may => {
            let old = was.as_ref().and_then(|was| was.entry_for_people().ok());
            if old.is_some_and(|old| old.is_same_flow(&entry)) {
                return Ok(Some(Write::Kept));
            }
            // A retry did not look: whatever stands there now is replaced.
            let now = if ended.attempt > 0 { store.read(&key).map_err(|error| error.to_string())? } else { None };
            let version = if ended.attempt > 0 { now.as_ref().map(Stored::version) } else { version };
            done(store.save(&key, &entry, version), Write::Saved)
        }
        Deed::Save(entry) if was.is_some() => done(store.propose(&key, &entry).map(|_| true), Write::Proposed),
        Deed::Remove(reason, word) if may => {
            done(store.evict(&key, version.unwrap_or_default(), reason, ended.now), word)
        }
        Deed::Save(_) | Deed::Remove(..) => Ok(None),
    }
}

/// What an older entry does not say of its key is filled in once.
fn complete(store: &CacheStore, key: &str, keyed_by: KeyedBy, was: Option<&Stored>) {
    let Some(was) = was else { return };
    if let Ok(entry) = was.entry_for_people()
        && entry.keyed_by.is_none()
    {
        let entry = Entry { keyed_by: Some(keyed_by), ..entry };
        // Trouble with the store is no failure, and the next replay tries again.
        let _ = store.save(key, &entry, Some(was.version()));
    }
}
