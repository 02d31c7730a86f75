//! Where recordings lie: one file for each, quarantine for those that were taken away, proposals for those that may not be
//! written here. Every change compares with what was read: of two runs that share a key, the later one does not undo the
//! earlier one's work.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::{Entry, MOST_BYTES};
use super::sign::Signer;
use crate::store::{self, FileKind, FileLock, StoreError, sha256_hex};

/// Directory of recordings, below the project; meant to be committed.
pub const CACHE: &str = ".agent-test/cache";
const QUARANTINE: &str = ".agent-test/cache-quarantine";
const PROPOSALS: &str = ".agent-test/cache-proposals";

/// The recordings of a project.
#[derive(Clone, Debug)]
pub struct CacheStore {
    root: PathBuf,
    signer: Option<Signer>,
}

/// What was read, and what it is compared by when it is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Their digest.
    pub digest: String,
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
}

impl CacheStore {
    /// The recordings of the project in this directory.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), signer: None }
    }

    /// The same with the project's key, when there is one: what is written is signed, and what is played must be.
    #[must_use]
    pub fn signed_with(self, key: Option<String>) -> Self {
        Self { signer: key.map(Signer::new), ..self }
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
    /// [`StoreError`].
    pub fn sign(&self, key: &str) -> Result<bool, StoreError> {
        let Some(stored) = self.read(key)? else { return Ok(false) };
        let Ok(entry) = Entry::parse_for_people(&stored.bytes) else { return Ok(false) };
        if self.signer.is_none() || self.vouches_for(key, &entry).is_ok() {
            return Ok(false);
        }
        self.save(key, &entry, Some(&stored.digest))
    }

    /// Whether there is a key to sign with.
    #[must_use]
    pub fn signs(&self) -> bool {
        self.signer.is_some()
    }

    /// Path of an entry relative to the project.
    #[must_use]
    pub fn path(key: &str) -> String {
        format!("{CACHE}/{key}.json")
    }

    fn file(&self, key: &str) -> PathBuf {
        self.root.join(Self::path(key))
    }

    fn lock(&self) -> Result<FileLock, StoreError> {
        store::create_dir(&self.root.join(".agent-test"))?;
        FileLock::acquire(&self.root.join(".agent-test/cache.lock"), store::lock_timeout())
    }

    /// Reads an entry; none when there is none.
    ///
    /// # Errors
    /// [`StoreError::Read`]; also when it is larger than an entry may be.
    pub fn read(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        let path = self.file(key);
        match store::kind(&path)? {
            FileKind::Missing => return Ok(None),
            FileKind::File => {}
            _ => return Err(StoreError::Read { path, source: std::io::ErrorKind::InvalidInput.into() }),
        }
        if store::size(&path) > MOST_BYTES as u64 {
            // Not even read: whoever made it, it is none of ours.
            return Ok(Some(Stored { bytes: vec![b' '; MOST_BYTES + 1], digest: String::new() }));
        }
        let bytes = store::read_bytes(&path)?;
        let digest = sha256_hex(&bytes);
        Ok(Some(Stored { bytes, digest }))
    }

    /// Writes an entry, unless somebody else has changed it since it was read. Gives back whether it was written.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn save(&self, key: &str, entry: &Entry, was: Option<&str>) -> Result<bool, StoreError> {
        let _lock = self.lock()?;
        if self.read(key)?.map(|now| now.digest).as_deref() != was {
            return Ok(false);
        }
        store::create_dir(&self.root.join(CACHE))?;
        let signed = self.signer.as_ref().map(|signer| signer.signed(key, entry));
        store::write_atomic(&self.file(key), signed.as_ref().unwrap_or(entry).text().as_bytes())?;
        Ok(true)
    }

    /// Takes an entry away into quarantine, unless somebody else has changed it since it was read.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn evict(&self, key: &str, was: &str, reason: &str, at: DateTime<Utc>) -> Result<bool, StoreError> {
        let _lock = self.lock()?;
        let Some(now) = self.read(key)?.filter(|now| now.digest == was) else { return Ok(false) };
        let content = String::from_utf8_lossy(&now.bytes).into_owned();
        let kept = Quarantined { key: key.to_owned(), reason: reason.to_owned(), at, content };
        store::create_dir(&self.root.join(QUARANTINE))?;
        let text = format!("{:#}\n", serde_json::to_value(&kept).unwrap_or_default());
        store::write_atomic(&self.root.join(QUARANTINE).join(format!("{key}.json")), text.as_bytes())?;
        store::remove_file(&self.file(key))?;
        Ok(true)
    }

    /// Puts what was taken away back; gives back why it had gone. An entry that stands there is not replaced.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn undo(&self, key: &str) -> Result<Option<Quarantined>, StoreError> {
        let _lock = self.lock()?;
        let place = self.root.join(QUARANTINE).join(format!("{key}.json"));
        let Some(kept) = read_quarantined(&place)? else { return Ok(None) };
        if self.read(key)?.is_some() {
            return Ok(None);
        }
        store::create_dir(&self.root.join(CACHE))?;
        store::write_atomic(&self.file(key), kept.content.as_bytes())?;
        store::remove_file(&place)?;
        Ok(Some(kept))
    }

    /// Keeps an entry that may not be written here; gives back its path relative to the project.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn propose(&self, key: &str, entry: &Entry) -> Result<String, StoreError> {
        let _lock = self.lock()?;
        store::create_dir(&self.root.join(PROPOSALS))?;
        let path = format!("{PROPOSALS}/{key}.json");
        store::write_atomic(&self.root.join(&path), entry.text().as_bytes())?;
        Ok(path)
    }

    /// Takes a proposal into the cache; what stood there goes into quarantine. Gives back whether there was one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn apply(&self, key: &str, at: DateTime<Utc>) -> Result<bool, StoreError> {
        let Some(entry) = self.proposal(key)? else { return Ok(false) };
        if let Some(old) = self.read(key)? {
            self.evict(key, &old.digest, "a proposal took its place", at)?;
        }
        let saved = self.save(key, &entry, None)?;
        if saved {
            store::remove_file(&self.root.join(PROPOSALS).join(format!("{key}.json")))?;
        }
        Ok(saved)
    }

    /// Renames an entry, when nothing stands under the new key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rekey(&self, old: &str, new: &str, entry: &Entry) -> Result<bool, StoreError> {
        let Some(stored) = self.read(old)? else { return Ok(false) };
        if !self.save(new, entry, None)? {
            return Ok(false);
        }
        let _lock = self.lock()?;
        if self.read(old)?.is_some_and(|now| now.digest == stored.digest) {
            store::remove_file(&self.file(old))?;
        }
        Ok(true)
    }

    /// Every key that has an entry, sorted.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn keys(&self) -> Result<Vec<String>, StoreError> {
        keys_in(&self.root.join(CACHE))
    }

    /// Every key that has something in quarantine, sorted.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn quarantined(&self) -> Result<Vec<Quarantined>, StoreError> {
        let directory = self.root.join(QUARANTINE);
        let read = |key: String| read_quarantined(&directory.join(format!("{key}.json"))).transpose();
        keys_in(&directory)?.into_iter().filter_map(read).collect()
    }

    /// Every key that has a proposal, sorted.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn proposed(&self) -> Result<Vec<String>, StoreError> {
        keys_in(&self.root.join(PROPOSALS))
    }

    /// The proposal under a key.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn proposal(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        let path = self.root.join(PROPOSALS).join(format!("{key}.json"));
        let Some(text) = store::read_to_string_if_exists(&path)? else { return Ok(None) };
        Ok(Entry::parse_for_people(text.as_bytes()).ok())
    }
}

fn read_quarantined(path: &Path) -> Result<Option<Quarantined>, StoreError> {
    let text = store::read_to_string_if_exists(path)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn keys_in(directory: &Path) -> Result<Vec<String>, StoreError> {
    let is_key = |name: &&str| name.len() == 64 && name.chars().all(|c| c.is_ascii_hexdigit());
    let mut keys: Vec<String> = store::file_names(directory)?
        .iter()
        .filter_map(|name| name.strip_suffix(".json").filter(is_key).map(str::to_owned))
        .collect();
    keys.sort();
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::recording::fixture::entry;

    fn at() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    #[test]
    fn of_two_writers_that_read_the_same_the_second_one_does_not_write() {
        let dir = tempfile::tempdir().unwrap();
        let (store, key) = (CacheStore::new(dir.path()), "a".repeat(64));
        assert!(store.save(&key, &entry(), None).unwrap());
        assert!(!store.save(&key, &entry(), None).unwrap());
        let read = store.read(&key).unwrap().unwrap();
        let mut other = entry();
        other.summary = "theirs".into();
        assert!(store.save(&key, &other, Some(&read.digest)).unwrap());
        assert!(!store.save(&key, &entry(), Some(&read.digest)).unwrap());
        assert!(!store.evict(&key, &read.digest, "mine", at()).unwrap());
        assert!(String::from_utf8(store.read(&key).unwrap().unwrap().bytes).unwrap().contains("theirs"));
    }

    #[test]
    fn what_was_taken_away_comes_back_byte_for_byte() {
        let dir = tempfile::tempdir().unwrap();
        let (store, key) = (CacheStore::new(dir.path()), "b".repeat(64));
        store.save(&key, &entry(), None).unwrap();
        let read = store.read(&key).unwrap().unwrap();
        assert!(store.evict(&key, &read.digest, "it failed", at()).unwrap());
        assert_eq!((store.read(&key).unwrap(), store.quarantined().unwrap()[0].reason.as_str()), (None, "it failed"));
        assert_eq!(store.undo(&key).unwrap().unwrap().reason, "it failed");
        assert_eq!(store.read(&key).unwrap(), Some(read));
        assert!(store.quarantined().unwrap().is_empty());
    }

    #[test]
    fn an_entry_that_is_too_large_is_not_even_read() {
        let dir = tempfile::tempdir().unwrap();
        let (store, key) = (CacheStore::new(dir.path()), "c".repeat(64));
        std::fs::create_dir_all(dir.path().join(CACHE)).unwrap();
        std::fs::write(dir.path().join(CacheStore::path(&key)), vec![b'x'; MOST_BYTES + 5]).unwrap();
        let bytes = store.read(&key).unwrap().unwrap().bytes;
        assert!(Entry::parse_for_people(&bytes).is_err());
    }
}
