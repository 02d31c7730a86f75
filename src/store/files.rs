//! Reading and small changes, with the path in every error.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use chrono::{DateTime, Utc};

use super::digest::{DigestSet, table_digest};
use super::lock::{FileLock, lock_timeout};
use super::write::again;
use super::{StoreError, write_atomic};

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A device, socket or pipe, or what the system does not let us look at.
    Special,
}

/// What stands at this path (symlinks followed); what the system does not let us look at counts as special.
#[must_use]
pub fn exists(path: &Path) -> FileKind {
    kind(path).unwrap_or(FileKind::Special)
}

/// What stands at this path (symlinks followed).
///
/// # Errors
/// [`StoreError::Read`] when the system does not let us look.
pub fn kind(path: &Path) -> Result<FileKind, StoreError> {
    match again(|| std::fs::metadata(path)) {
        Ok(data) if data.is_file() => Ok(FileKind::File),
        Ok(data) if data.is_dir() => Ok(FileKind::Directory),
        Ok(_) => Ok(FileKind::Special),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(FileKind::Missing)
        }
        Err(source) => Err(StoreError::Read { path: path.into(), source }),
    }
}

/// Reads a file.
///
/// # Errors
/// [`StoreError::Read`].
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, StoreError> {
    std::fs::read(path).map_err(|source| StoreError::Read { path: path.into(), source })
}

/// Reads a text file.
///
/// # Errors
/// [`StoreError::Read`], also when it is not UTF-8.
pub fn read_to_string(path: &Path) -> Result<String, StoreError> {
    // A pipe or device would hold the reader for ever.
    if matches!(kind(path), Ok(FileKind::Special)) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a directory");
        return Err(StoreError::Read { path: path.into(), source });
    }
    std::fs::read_to_string(path).map_err(|source| StoreError::Read { path: path.into(), source })
}

/// Reads a text file that may be missing.
///
/// # Errors
/// As [`read_to_string`], but a missing file is `None`.
pub fn read_to_string_if_exists(path: &Path) -> Result<Option<String>, StoreError> {
    match read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(StoreError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names of everything in a directory; empty when it is missing.
///
/// # Errors
/// [`StoreError::Read`].
pub fn file_names(directory: &Path) -> Result<HashSet<String>, StoreError> {
    list(directory, |name| name.to_string_lossy().into_owned())
}

/// Lists a directory; empty when it is missing.
fn list<T, C: FromIterator<T> + Default>(directory: &Path, of: impl Fn(&OsStr) -> T) -> Result<C, StoreError> {
    match again(|| names(directory, |name, _| Some(of(name)))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(C::default()),
        answer => answer.map_err(|source| StoreError::Read { path: directory.into(), source }),
    }
}

/// What a directory holds, and of which kind it is as far as the listing tells. The standard library's listing panics
/// when the directory cannot be closed.
pub(super) fn names<T, C: FromIterator<T>>(
    directory: &Path,
    of: impl Fn(&OsStr, rustix::fs::FileType) -> Option<T>,
) -> io::Result<C> {
    use std::os::unix::ffi::OsStrExt;
    let entries = rustix::fs::Dir::new(std::fs::File::open(directory)?)?;
    let entries = entries.map(|entry| {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        Ok(if matches!(name, b"." | b"..") { None } else { of(OsStr::from_bytes(name), entry.file_type()) })
    });
    entries.filter_map(io::Result::transpose).collect()
}

/// The names of everything in a directory, for asking whether one is there: as digests, which cost a tenth of names.
#[derive(Clone, Debug, Default)]
pub struct Listing(DigestSet);

impl Listing {
    /// Lists a directory; empty when it is missing.
    ///
    /// # Errors
    /// [`StoreError::Read`].
    pub fn of(directory: &Path) -> Result<Self, StoreError> {
        list(directory, |name| table_digest(name.as_encoded_bytes().iter().copied())).map(Self)
    }

    /// Whether a file of this name is there.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(&table_digest(name.bytes()))
    }
}

/// The name itself, or with a number behind it (`name-2`, `name-3`, ...): the first that is not taken.
#[must_use]
pub fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut free = name.to_owned();
    let mut number = 2_u32;
    while is_taken(&free) {
        free = format!("{name}-{number}");
        number += 1;
    }
    free
}

/// Makes a directory with its parents; nothing to do when it is there.
///
/// # Errors
/// [`StoreError::Write`].
pub fn create_dir(path: &Path) -> Result<(), StoreError> {
    match again(|| std::fs::create_dir_all(path)) {
        // The library looks only once whether what stands there is a directory, and is interrupted too.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && kind(path)? == FileKind::Directory => Ok(()),
        done => done.map_err(|source| StoreError::Write { path: path.into(), source }),
    }
}

/// Copies a file's bytes to another place, atomically; makes the place's directory.
///
/// # Errors
/// [`StoreError::Read`], [`StoreError::Write`], or [`StoreError::CopyNotDurable`]: a copy is a step of something else,
/// which must not be taken for done.
pub fn copy_into(from: &Path, to: &Path) -> Result<(), StoreError> {
    let bytes = read_bytes(from)?;
    if let Some(parent) = to.parent() {
        create_dir(parent)?;
    }
    write_atomic(to, &bytes).map_err(|error| match error {
        StoreError::NotDurable { path, source } => StoreError::CopyNotDurable { path, source },
        error => error,
    })
}

/// Writes a new file into a directory, named after a time (`2026-05-02T10-15-00Z.json`, with a number behind it when that is
/// taken). Gives back its name.
///
/// # Errors
/// As [`FileLock::acquire`] and [`write_atomic`].
pub fn write_dated(directory: &Path, at: DateTime<Utc>, bytes: &[u8]) -> Result<String, StoreError> {
    create_dir(directory)?;
    let _lock = FileLock::acquire(&directory.join("names.lock"), lock_timeout())?;
    let stem = at.format("%Y-%m-%dT%H-%M-%SZ").to_string();
    let taken = file_names(directory)?;
    let name = format!("{}.json", free_name(&stem, |stem| taken.contains(&format!("{stem}.json"))));
    write_atomic(&directory.join(&name), bytes)?;
    Ok(name)
}

/// How deep `names_below` goes.
const DEEPEST: usize = 6;

/// Paths of the files below a directory, relative to it, at most six directories deep. What cannot be read is left
/// out; symbolic links are not followed.
#[must_use]
pub fn names_below(directory: &Path) -> Vec<String> {
    fn walk(root: &Path, at: &Path, depth: usize, out: &mut Vec<String>) {
        let Ok(entries) = std::fs::read_dir(at) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < DEEPEST {
                walk(root, &path, depth + 1, out);
            } else if let Ok(name) = path.strip_prefix(root) {
                out.push(name.to_string_lossy().into_owned());
            }
        }
    }
    let mut names = Vec::new();
    walk(directory, directory, 0, &mut names);
    names
}

/// When a file was last written; none when that cannot be told.
#[must_use]
pub fn modified(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// Removes a directory when nothing is left in it.
pub fn remove_empty_dir(directory: &Path) {
    let _ = std::fs::remove_dir(directory);
}

/// Removes a file; nothing to do when it is gone.
///
/// # Errors
/// [`StoreError::Write`].
pub fn remove_file(path: &Path) -> Result<(), StoreError> {
    match again(|| std::fs::remove_file(path)) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::Write { path: path.into(), source }),
        _ => Ok(()),
    }
}
