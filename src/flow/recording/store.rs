//! What is done with recordings: read, saved, taken away into quarantine, proposed. Every change compares with what was
//! read: of two runs that share a key, the later one does not undo the earlier one's work. Where they lie is a [`Shelf`]'s
//! business.
//!
//! Invariants
//! * Nothing is taken away before all of it lies in quarantine.
//! * Nothing that a store holds is trusted: every entry goes through the same reader.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::entry::{Entry, MOST_BYTES};
use super::shelf::{FileShelf, Place, Shelf, ShelfError, Stored};
use super::sign::Signer;

/// The recordings of a project. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CacheStore {
    shelf: Arc<dyn Shelf>,
    signer: Option<Signer>,
    is_custom: bool,
}

/// A recording that was taken away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quarantined {
    /// Its key.
    pub key: String,
    /// Why.
    pub reason: String,
    /// When (UTC).
    pub at: DateTime<Utc>,
    /// The file as it was.
    pub content: String,
    /// The content is Base64, since it was no text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_base64: bool,
}

impl Quarantined {
    fn new(key: &str, bytes: &[u8], reason: &str, at: DateTime<Utc>) -> Self {
        let (content, is_base64) = match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), false),
            Err(_) => (STANDARD.encode(bytes), true),
        };
        Self { key: key.to_owned(), reason: reason.to_owned(), at, content, is_base64 }
    }

    /// The bytes as they were; none when somebody has changed them.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        if self.is_base64 { STANDARD.decode(&self.content).ok() } else { Some(self.content.clone().into_bytes()) }
    }

    fn parse(stored: &Stored) -> Option<Self> {
        serde_json::from_slice(stored.bytes(Place::Quarantine.most_bytes()).ok()?).ok()
    }

    fn text(&self) -> String {
        format!("{:#}\n", serde_json::to_value(self).unwrap_or_default())
    }
}

impl Stored {
    /// Reads the entry, to play it: see [`Entry::parse`].
    ///
    /// # Errors
    /// What does not fit, for people.
    pub fn entry(&self, base: &Url, is_own: &dyn Fn(&Url) -> bool) -> Result<Entry, String> {
        Entry::parse(self.bytes(MOST_BYTES)?, base, is_own)
    }

    /// Reads the entry, to show it: see [`Entry::parse_for_people`].
    ///
    /// # Errors
    /// What does not fit, for people.
    pub fn entry_for_people(&self) -> Result<Entry, String> {
        Entry::parse_for_people(self.bytes(MOST_BYTES)?)
    }
}

impl CacheStore {
    /// The recordings of the project in this directory.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { shelf: Arc::new(FileShelf::new(root)), signer: None, is_custom: false }
    }

    /// Recordings that lie elsewhere, in place of the project's files.
    #[must_use]
    pub fn on(shelf: Arc<dyn Shelf>) -> Self {
        Self { shelf, signer: None, is_custom: true }
    }

    /// The same with the project's key, when there is one: what is written is signed, and what is played must be.
    #[must_use]
    pub fn signed_with(self, key: Option<String>) -> Self {
        Self { signer: key.map(Signer::new), ..self }
    }

    /// The same with the key of the environment.
    #[must_use]
    pub fn signed(self) -> Self {
        self.signed_with(crate::env::get(crate::env::CACHE_KEY))
    }

    /// Does something with the recordings where it may block, and holds nothing else up.
    ///
    /// # Errors
    /// That the store panicked, for people.
    pub async fn aside<T: Send + 'static>(&self, does: impl FnOnce(&Self) -> T + Send + 'static) -> Result<T, String> {
        let store = self.clone();
        let done = tokio::task::spawn_blocking(move || does(&store)).await;
        done.map_err(|error| format!("the store of recordings did not answer: {error}"))
    }

    /// Whether it takes the place of the project's files.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.is_custom
    }

    /// Whether the entry under this key may be played.
    ///
    /// # Errors
    /// That nobody who has the project's key has signed it.
    pub fn vouches_for(&self, key: &str, entry: &Entry) -> Result<(), String> {
        match &self.signer {
            Some(signer) if !signer.knows(key, entry) => Err(format!(
                "it bears no signature of the key in {}: look at it, then `agent-test cache sign`",
                crate::env::CACHE_KEY
            )),
            _ => Ok(()),
        }
    }

    /// Signs the entry under this key; gives back whether there was one that needed it.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn sign(&self, key: &str) -> Result<bool, ShelfError> {
        let Some(stored) = self.read(key)? else { return Ok(false) };
        let Ok(entry) = stored.entry_for_people() else { return Ok(false) };
        if self.signer.is_none() || self.vouches_for(key, &entry).is_ok() {
            return Ok(false);
        }
        self.save(key, &entry, Some(stored.version()))
    }

    /// Whether there is a key to sign with.
    #[must_use]
    pub fn signs(&self) -> bool {
        self.signer.is_some()
    }

    /// Where an entry lies, for people: a path relative to the project, or what the store calls it.
    #[must_use]
    pub fn place_of(&self, key: &str) -> String {
        self.shelf.place_of(Place::Recordings, key)
    }

    /// Reads an entry; none when there is none.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn read(&self, key: &str) -> Result<Option<Stored>, ShelfError> {
        self.shelf.read(Place::Recordings, key)
    }

    /// Writes an entry, unless somebody else has changed it since it was read. Gives back whether it was written.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn save(&self, key: &str, entry: &Entry, was: Option<&str>) -> Result<bool, ShelfError> {
        self.shelf.swap(Place::Recordings, key, was, Some(self.text(key, entry).as_bytes()))
    }

    fn text(&self, key: &str, entry: &Entry) -> String {
        let signed = self.signer.as_ref().map(|signer| signer.signed(key, entry));
        signed.as_ref().unwrap_or(entry).text()
    }

    /// Takes an entry away into quarantine, unless somebody else has changed it since it was read.
    ///
    /// # Errors
    /// [`ShelfError`]: also when not all of it could be kept, or the store takes nothing away; then it stays.
    pub fn evict(&self, key: &str, was: &str, reason: &str, at: DateTime<Utc>) -> Result<bool, ShelfError> {
        self.displace(key, was, None, (reason, at))
    }

    /// Puts something else, or nothing, in the place of an entry, which goes into quarantine.
    fn displace(
        &self,
        key: &str,
        was: &str,
        content: Option<&[u8]>,
        (reason, at): (&str, DateTime<Utc>),
    ) -> Result<bool, ShelfError> {
        let Some(now) = self.read(key)?.filter(|now| now.version() == was) else { return Ok(false) };
        let bytes = now.bytes(MOST_BYTES).map_err(|why| ShelfError::TooLarge {
            place: self.place_of(key),
            why: format!("{why} ({})", now.size()),
        })?;
        let kept = Quarantined::new(key, bytes, reason, at).text();
        let before = self.shelf.read(Place::Quarantine, key)?;
        if !self.shelf.swap(Place::Quarantine, key, before.as_ref().map(Stored::version), Some(kept.as_bytes()))? {
            return Ok(false);
        }
        let done = self.shelf.swap(Place::Recordings, key, Some(was), content);
        if !matches!(done, Ok(true)) {
            // It stays: so what lay in quarantine before comes back, as far as the store lets it.
            let ours = self.shelf.read(Place::Quarantine, key)?;
            if let Some(ours) = ours.filter(|ours| ours.bytes(Place::Quarantine.most_bytes()) == Ok(kept.as_bytes())) {
                let content = before.as_ref().and_then(|before| before.bytes(Place::Quarantine.most_bytes()).ok());
                let _ = self.shelf.swap(Place::Quarantine, key, Some(ours.version()), content);
            }
        }
        done
    }

    /// Puts what was taken away back; gives back why it had gone. An entry that stands there is not replaced.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn undo(&self, key: &str) -> Result<Option<Quarantined>, ShelfError> {
        let Some(stored) = self.shelf.read(Place::Quarantine, key)? else { return Ok(None) };
        let Some(kept) = Quarantined::parse(&stored) else { return Ok(None) };
        let Some(bytes) = kept.bytes() else { return Ok(None) };
        if !self.shelf.swap(Place::Recordings, key, None, Some(&bytes))? {
            return Ok(None);
        }
        self.shelf.swap(Place::Quarantine, key, Some(stored.version()), None)?;
        Ok(Some(kept))
    }

    /// Keeps an entry that may not be written here; gives back where, for people. An earlier proposal is replaced.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn propose(&self, key: &str, entry: &Entry) -> Result<String, ShelfError> {
        let place = self.shelf.place_of(Place::Proposals, key);
        let was = self.shelf.read(Place::Proposals, key)?;
        let written =
            self.shelf.swap(Place::Proposals, key, was.as_ref().map(Stored::version), Some(entry.text().as_bytes()))?;
        if written { Ok(place) } else { Err(ShelfError::Other(format!("another run proposes {place} at this moment"))) }
    }

    /// Takes a proposal into the cache; what stood there goes into quarantine. Gives back whether there was one.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn apply(&self, key: &str, at: DateTime<Utc>) -> Result<bool, ShelfError> {
        let Some(proposed) = self.shelf.read(Place::Proposals, key)? else { return Ok(false) };
        let Ok(entry) = proposed.entry_for_people() else { return Ok(false) };
        let saved = match self.read(key)? {
            Some(old) => {
                let text = self.text(key, &entry);
                self.displace(key, old.version(), Some(text.as_bytes()), ("a proposal took its place", at))?
            }
            None => self.save(key, &entry, None)?,
        };
        if saved {
            self.shelf.swap(Place::Proposals, key, Some(proposed.version()), None)?;
        }
        Ok(saved)
    }

    /// Renames an entry, when nothing stands under the new key.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn rekey(&self, old: &str, new: &str, entry: &Entry) -> Result<bool, ShelfError> {
        let Some(stored) = self.read(old)? else { return Ok(false) };
        if !self.save(new, entry, None)? {
            return Ok(false);
        }
        self.shelf.swap(Place::Recordings, old, Some(stored.version()), None)?;
        Ok(true)
    }

    /// Every key that has an entry, sorted.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn keys(&self) -> Result<Vec<String>, ShelfError> {
        self.keys_in(Place::Recordings)
    }

    fn keys_in(&self, place: Place) -> Result<Vec<String>, ShelfError> {
        let mut keys = self.shelf.keys(place)?;
        keys.sort();
        Ok(keys)
    }

    /// Everything in quarantine, sorted by key.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn quarantined(&self) -> Result<Vec<Quarantined>, ShelfError> {
        let read = |key: String| match self.shelf.read(Place::Quarantine, &key) {
            Ok(stored) => stored.as_ref().and_then(Quarantined::parse).map(Ok),
            Err(error) => Some(Err(error)),
        };
        self.keys_in(Place::Quarantine)?.into_iter().filter_map(read).collect()
    }

    /// Every key that has a proposal, sorted.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn proposed(&self) -> Result<Vec<String>, ShelfError> {
        self.keys_in(Place::Proposals)
    }

    /// The proposal under a key.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn proposal(&self, key: &str) -> Result<Option<Entry>, ShelfError> {
        Ok(self.shelf.read(Place::Proposals, key)?.and_then(|stored| stored.entry_for_people().ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::recording::fixture::entry;
    use crate::flow::recording::shelf::fixture::Memory;

    fn at() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    /// A test on the project's files and on a store of the caller's.
    fn on_each(test: impl Fn(&CacheStore)) {
        let dir = tempfile::tempdir().unwrap();
        test(&CacheStore::new(dir.path()));
        test(&CacheStore::on(Arc::new(Memory::default())));
    }

    #[test]
    fn of_two_writers_that_read_the_same_the_second_one_does_not_write() {
        on_each(|store| {
            let key = "a".repeat(64);
            assert!(store.save(&key, &entry(), None).unwrap());
            assert!(!store.save(&key, &entry(), None).unwrap());
            let read = store.read(&key).unwrap().unwrap();
            let mut other = entry();
            other.summary = "theirs".into();
            assert!(store.save(&key, &other, Some(read.version())).unwrap());
            assert!(!store.save(&key, &entry(), Some(read.version())).unwrap());
            assert!(!store.evict(&key, read.version(), "mine", at()).unwrap());
            assert_eq!(store.read(&key).unwrap().unwrap().entry_for_people().unwrap().summary, "theirs");
        });
    }

    #[test]
    fn what_was_taken_away_comes_back_byte_for_byte() {
        on_each(|store| {
            // Also what is no text at all.
            for bytes in [entry().text().as_bytes(), b"\xff\xfe no text"] {
                let key = "b".repeat(64);
                store.shelf.swap(Place::Recordings, &key, None, Some(bytes)).unwrap();
                let read = store.read(&key).unwrap().unwrap();
                assert!(store.evict(&key, read.version(), "it failed", at()).unwrap());
                assert_eq!(
                    (store.read(&key).unwrap(), store.quarantined().unwrap()[0].reason.as_str()),
                    (None, "it failed")
                );
                assert_eq!(store.undo(&key).unwrap().unwrap().reason, "it failed");
                assert_eq!(store.read(&key).unwrap(), Some(read.clone()));
                assert!(store.quarantined().unwrap().is_empty());
                store.evict(&key, read.version(), "make room", at()).unwrap();
            }
        });
    }

    #[test]
    fn what_is_too_large_stays_where_it_is_since_less_of_it_would_be_kept() {
        on_each(|store| {
            let key = "c".repeat(64);
            store.shelf.swap(Place::Recordings, &key, None, Some(&vec![b'x'; MOST_BYTES + 5])).unwrap();
            let stored = store.read(&key).unwrap().unwrap();
            assert!(stored.entry_for_people().unwrap_err().contains("larger"));
            let error = store.evict(&key, stored.version(), "it is none", at()).unwrap_err();
            assert!(matches!(error, ShelfError::TooLarge { .. }), "{error}");
            assert_eq!((store.read(&key).unwrap(), store.quarantined().unwrap().len()), (Some(stored), 0));
        });
    }

    #[test]
    fn where_nothing_can_be_deleted_an_entry_stays_and_that_is_said() {
        let store = CacheStore::on(Arc::new(Memory { cannot_delete: true, ..Memory::default() }));
        let key = "d".repeat(64);
        store.save(&key, &entry(), None).unwrap();
        let read = store.read(&key).unwrap().unwrap();
        let error = store.evict(&key, read.version(), "it failed", at()).unwrap_err();
        assert!(error.to_string().contains("cannot delete"), "{error}");
        assert_eq!(store.read(&key).unwrap(), Some(read));
    }

    #[test]
    fn a_proposal_takes_the_place_of_an_entry_which_goes_into_quarantine() {
        on_each(|store| {
            let key = "e".repeat(64);
            let new = Entry { summary: "new".into(), ..entry() };
            store.save(&key, &entry(), None).unwrap();
            store.propose(&key, &Entry { summary: "first".into(), ..entry() }).unwrap();
            store.propose(&key, &new).unwrap();
            assert!(store.apply(&key, at()).unwrap() && !store.apply(&key, at()).unwrap());
            assert_eq!(store.read(&key).unwrap().unwrap().entry_for_people().unwrap(), new);
            assert_eq!(store.quarantined().unwrap()[0].bytes().unwrap(), entry().text().into_bytes());
            assert!(store.proposed().unwrap().is_empty());
        });
    }
}
