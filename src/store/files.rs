//! Reading and small changes, with the path in every error.

use std::collections::HashSet;
use std::io;
use std::path::Path;

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
    /// A device, socket or pipe.
    Special,
}

/// What stands at this path (symlinks followed).
#[must_use]
pub fn exists(path: &Path) -> FileKind {
    match std::fs::metadata(path) {
        Ok(data) if data.is_file() => FileKind::File,
        Ok(data) if data.is_dir() => FileKind::Directory,
        Ok(_) => FileKind::Special,
        Err(_) => FileKind::Missing,
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
    if exists(path) == FileKind::Special {
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
    let fail = |source| StoreError::Read { path: directory.into(), source };
    match std::fs::read_dir(directory) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()).map_err(fail))
            .collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HashSet::new()),
        Err(error) => Err(fail(error)),
    }
}

/// Makes a directory with its parents; nothing to do when it is there.
///
/// # Errors
/// [`StoreError::Write`].
pub fn create_dir(path: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(path).map_err(|source| StoreError::Write { path: path.into(), source })
}

/// Copies a file's bytes to another place, atomically; makes the place's directory.
///
/// # Errors
/// [`StoreError::Read`] or [`StoreError::Write`].
pub fn copy_into(from: &Path, to: &Path) -> Result<(), StoreError> {
    let bytes = read_bytes(from)?;
    if let Some(parent) = to.parent() {
        create_dir(parent)?;
    }
    write_atomic(to, &bytes)
}

/// Removes a file; nothing to do when it is gone.
///
/// # Errors
/// [`StoreError::Write`].
pub fn remove_file(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::Write { path: path.into(), source }),
        _ => Ok(()),
    }
}
