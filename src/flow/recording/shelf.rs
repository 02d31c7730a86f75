//! Where recordings lie: three places with keys in them, behind a trait, so that a library's user can keep them elsewhere.
//! The files of the project are its first implementation.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use super::entry::MOST_BYTES;
use crate::exit::{Exit, Explain};
use crate::store::{self, FileKind, FileLock, StoreError, sha256_hex};

/// Directory of recordings, below the project; meant to be committed.
pub const CACHE: &str = ".agent-test/cache";
const QUARANTINE: &str = ".agent-test/cache-quarantine";
const PROPOSALS: &str = ".agent-test/cache-proposals";

/// What lies under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Recordings, which are played.
    Recordings,
    /// Recordings that were taken away, each with its reason.
    Quarantine,
    /// Recordings that a run which may not write proposes.
    Proposals,
}

impl Place {
    /// More bytes than this are not read.
    #[must_use]
    pub fn most_bytes(self) -> usize {
        match self {
            Self::Recordings | Self::Proposals => MOST_BYTES,
            // A recording in a string of JSON: what is no text takes most, and at most six characters each.
            Self::Quarantine => 8 * MOST_BYTES,
        }
    }
}

/// What was read under a key, and what it is compared by when it is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    bytes: Vec<u8>,
    size: u64,
    version: String,
}

impl Stored {
    /// These bytes, known again by their digest.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let version = sha256_hex(&bytes);
        Self::with_version(bytes, version)
    }

    /// These bytes, known again by a word of the store's own: a revision, an `ETag`.
    #[must_use]
    pub fn with_version(bytes: Vec<u8>, version: impl Into<String>) -> Self {
        Self { size: bytes.len() as u64, bytes, version: version.into() }
    }

    /// Something too large to be read, of so many bytes, known again by this word.
    #[must_use]
    pub fn unread(size: u64, version: impl Into<String>) -> Self {
        Self { bytes: Vec::new(), size, version: version.into() }
    }

    /// The bytes.
    ///
    /// # Errors
    /// That it is too large, for people.
    pub fn bytes(&self, most: usize) -> Result<&[u8], String> {
        if self.size > most as u64 {
            return Err(format!("it is larger than {most} bytes"));
        }
        Ok(&self.bytes)
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// By what the store knows it again.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// A file of the project.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store takes nothing away.
    #[error("the store of recordings cannot delete, so {0} stays in it")]
    CannotDelete(String),
    /// What lies there is too large to be kept elsewhere whole.
    #[error("{place} was left where it is: {why}, and less of it would be kept than there is")]
    TooLarge {
        /// Where it lies.
        place: String,
        /// How large it is.
        why: String,
    },
    /// What the store says.
    #[error("the store of recordings: {0}")]
    Other(String),
}

impl Explain for ShelfError {
    fn exit(&self) -> Exit {
        match self {
            Self::Store(error) => error.exit(),
            Self::CannotDelete(_) | Self::TooLarge { .. } => Exit::Usage,
            Self::Other(_) => Exit::Engine,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::CannotDelete(_) => Some("take it away where the recordings are kept".to_owned()),
            Self::TooLarge { .. } => {
                Some("no recording is that large: look at what it is, and move it away".to_owned())
            }
            Self::Other(_) => None,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::CannotDelete(_) => "cannot_delete",
            Self::TooLarge { .. } => "too_large",
            Self::Other(_) => "store_failed",
        }
    }
}

/// A store of recordings. A key is 64 hexadecimal digits.
///
/// The calls may block: a run makes them where that holds nothing else up. One that fails, or panics, makes a run slower
/// and never fails it: what cannot be read is a miss, what cannot be written is told as `not-written`.
pub trait Shelf: Debug + Send + Sync {
    /// What lies under this key; none when nothing does. What is larger than [`Place::most_bytes`] need not be read:
    /// [`Stored::unread`].
    ///
    /// # Errors
    /// [`ShelfError`].
    fn read(&self, place: Place, key: &str) -> Result<Option<Stored>, ShelfError>;

    /// Puts this content there, or takes away what is there (none), when it is still of the version that was read (none:
    /// when nothing is there). Gives back whether it was.
    ///
    /// # Errors
    /// [`ShelfError`]; [`ShelfError::CannotDelete`] of a store that takes nothing away.
    fn swap(&self, place: Place, key: &str, was: Option<&str>, content: Option<&[u8]>) -> Result<bool, ShelfError>;

    /// Every key that has something there. A store that cannot list says so: then nobody is told of a recording that lies
    /// under an earlier key of its step.
    ///
    /// # Errors
    /// [`ShelfError`].
    fn keys(&self, place: Place) -> Result<Vec<String>, ShelfError>;

    /// Where it lies, for people.
    fn place_of(&self, place: Place, key: &str) -> String {
        match place {
            Place::Recordings => key.to_owned(),
            Place::Quarantine => format!("{key} in quarantine"),
            Place::Proposals => format!("{key} of the proposals"),
        }
    }
}

/// The files of a project: one for each recording.
#[derive(Clone, Debug)]
pub struct FileShelf {
    root: PathBuf,
}

impl FileShelf {
    /// The files of the project in this directory.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn directory(&self, place: Place) -> PathBuf {
        self.root.join(directory(place))
    }

    fn file(&self, place: Place, key: &str) -> PathBuf {
        self.directory(place).join(format!("{key}.json"))
    }
}

fn directory(place: Place) -> &'static str {
    match place {
        Place::Recordings => CACHE,
        Place::Quarantine => QUARANTINE,
        Place::Proposals => PROPOSALS,
    }
}

impl Shelf for FileShelf {
    fn read(&self, place: Place, key: &str) -> Result<Option<Stored>, ShelfError> {
        let path = self.file(place, key);
        match store::kind(&path)? {
            FileKind::Missing => return Ok(None),
            FileKind::File => {}
            _ => return Err(StoreError::Read { path, source: std::io::ErrorKind::InvalidInput.into() }.into()),
        }
        let size = store::size(&path);
        if size > place.most_bytes() as u64 {
            // Not even read: whoever made it, it is none of ours.
            return Ok(Some(Stored::unread(size, format!("{size} bytes"))));
        }
        Ok(Some(Stored::new(store::read_bytes(&path)?)))
    }

    fn swap(&self, place: Place, key: &str, was: Option<&str>, content: Option<&[u8]>) -> Result<bool, ShelfError> {
        store::create_dir(&self.root.join(".agent-test"))?;
        let _lock = FileLock::acquire(&self.root.join(".agent-test/cache.lock"), store::lock_timeout())?;
        if self.read(place, key)?.as_ref().map(Stored::version) != was {
            return Ok(false);
        }
        let file = self.file(place, key);
        match content {
            Some(content) => {
                store::create_dir(&self.directory(place))?;
                store::write_private(&file, content)?;
            }
            None => store::remove_file(&file)?,
        }
        Ok(true)
    }

    fn keys(&self, place: Place) -> Result<Vec<String>, ShelfError> {
        let is_key = |name: &&str| name.len() == 64 && name.chars().all(|c| c.is_ascii_hexdigit());
        let names = store::file_names(&self.directory(place))?;
        Ok(names.iter().filter_map(|name| name.strip_suffix(".json").filter(is_key).map(str::to_owned)).collect())
    }

    fn place_of(&self, place: Place, key: &str) -> String {
        format!("{}/{key}.json", directory(place))
    }
}

#[cfg(test)]
pub(super) mod fixture {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;

    /// A store in memory.
    #[derive(Debug, Default)]
    pub(in crate::flow::recording) struct Memory {
        pub(in crate::flow::recording) all: Mutex<BTreeMap<(Place, String), Vec<u8>>>,
        pub(in crate::flow::recording) cannot_delete: bool,
    }

    impl Shelf for Memory {
        fn read(&self, place: Place, key: &str) -> Result<Option<Stored>, ShelfError> {
            Ok(self.all.lock().unwrap().get(&(place, key.to_owned())).cloned().map(Stored::new))
        }

        fn swap(&self, place: Place, key: &str, was: Option<&str>, content: Option<&[u8]>) -> Result<bool, ShelfError> {
            if self.read(place, key)?.as_ref().map(Stored::version) != was {
                return Ok(false);
            }
            let at = (place, key.to_owned());
            match content {
                Some(content) => drop(self.all.lock().unwrap().insert(at, content.to_owned())),
                None if self.cannot_delete => return Err(ShelfError::CannotDelete(self.place_of(place, key))),
                None => drop(self.all.lock().unwrap().remove(&at)),
            }
            Ok(true)
        }

        fn keys(&self, place: Place) -> Result<Vec<String>, ShelfError> {
            let all = self.all.lock().unwrap();
            Ok(all.keys().filter(|(at, _)| *at == place).map(|(_, key)| key.clone()).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_only_where_nobody_else_has_changed_it_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (shelf, key) = (FileShelf::new(dir.path()), "a".repeat(64));
        let swap =
            |was: Option<&str>, content: Option<&[u8]>| shelf.swap(Place::Recordings, &key, was, content).unwrap();
        assert!(swap(None, Some(b"one")) && !swap(None, Some(b"two")));
        let one = shelf.read(Place::Recordings, &key).unwrap().unwrap();
        assert!(swap(Some(one.version()), Some(b"two")) && !swap(Some(one.version()), None));
        let file = dir.path().join(shelf.place_of(Place::Recordings, &key));
        assert_eq!(
            (std::fs::read(&file).unwrap(), file.metadata().unwrap().permissions().mode() & 0o777),
            (b"two".to_vec(), 0o600)
        );
        assert_eq!(shelf.keys(Place::Recordings).unwrap(), [key.as_str()]);
    }

    #[test]
    fn what_is_too_large_is_not_even_read() {
        let dir = tempfile::tempdir().unwrap();
        let (shelf, key) = (FileShelf::new(dir.path()), "c".repeat(64));
        std::fs::create_dir_all(dir.path().join(CACHE)).unwrap();
        std::fs::write(shelf.file(Place::Recordings, &key), vec![b'x'; MOST_BYTES + 5]).unwrap();
        let stored = shelf.read(Place::Recordings, &key).unwrap().unwrap();
        assert_eq!((stored.bytes.len(), stored.size()), (0, MOST_BYTES as u64 + 5));
        assert!(stored.bytes(MOST_BYTES).is_err());
    }
}
