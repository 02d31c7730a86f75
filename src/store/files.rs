//! Reading and small changes, with the path in every error.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

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

/// A file larger than this is not read: it would fill the memory. States, reports, pictures and logs are far below.
const LARGEST_FILE: u64 = 512 << 20;

/// Reads a file: a plain one, of at most 512 MiB.
///
/// # Errors
/// [`StoreError::Read`], also when a directory, a device, a pipe or a link that leads nowhere stands there.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, StoreError> {
    read_at_most(path, LARGEST_FILE)
}

fn read_at_most(path: &Path, largest: u64) -> Result<Vec<u8>, StoreError> {
    let fail = |source| StoreError::Read { path: path.into(), source };
    // A pipe or device would hold the reader for ever.
    match kind(path)? {
        FileKind::Directory => {
            return Err(fail(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file")));
        }
        FileKind::Special => {
            return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a directory")));
        }
        FileKind::Missing | FileKind::File => {}
    }
    let read = || {
        let file = std::fs::File::open(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len().min(largest)).unwrap_or_default());
        file.take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes: Vec<u8> = again(read).map_err(|error: io::Error| match dangling(path) {
        Some(target) if error.kind() == io::ErrorKind::NotFound => fail(leads_nowhere(&target)),
        _ => fail(error),
    })?;
    if bytes.len() as u64 > largest {
        let text = format!("it is larger than {} MB", largest / 1_000_000);
        return Err(fail(io::Error::new(io::ErrorKind::FileTooLarge, text)));
    }
    Ok(bytes)
}

/// Where a symbolic link that leads to nothing points; none for everything else.
#[must_use]
pub fn dangling(path: &Path) -> Option<PathBuf> {
    (exists(path) == FileKind::Missing).then(|| std::fs::read_link(path).ok())?
}

fn leads_nowhere(target: &Path) -> io::Error {
    let text = format!("it is a symbolic link to `{}`, which does not exist", target.display());
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// What stands where a directory has to be, and is none; nothing when it is one, or when nothing is there.
#[must_use]
pub fn no_directory(path: &Path) -> Option<StoreError> {
    let fail = |source| Some(StoreError::Write { path: path.into(), source });
    match kind(path) {
        Ok(FileKind::Directory) => None,
        Ok(FileKind::File) => fail(io::Error::new(io::ErrorKind::NotADirectory, "it is a file, not a directory")),
        Ok(FileKind::Special) => {
            fail(io::Error::new(io::ErrorKind::NotADirectory, "it is a device or a pipe, not a directory"))
        }
        Ok(FileKind::Missing) => dangling(path)
            .and_then(|target| fail(io::Error::new(io::ErrorKind::NotADirectory, leads_nowhere(&target).to_string()))),
        Err(StoreError::Read { source, .. }) => fail(source),
        Err(error) => Some(error),
    }
}

/// Reads a text file.
///
/// # Errors
/// As [`read_bytes`], also when it is not UTF-8.
pub fn read_to_string(path: &Path) -> Result<String, StoreError> {
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let text = format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to() + 1);
        StoreError::Read { path: path.into(), source: io::Error::new(io::ErrorKind::InvalidData, text) }
    })
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
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && exists(path) == FileKind::Directory => Ok(()),
        // The first on the way that is no directory is what has to be moved.
        Err(source) => Err(path
            .ancestors()
            .filter(|part| !part.as_os_str().is_empty())
            .filter_map(no_directory)
            .last()
            .unwrap_or(StoreError::Write { path: path.into(), source })),
        Ok(()) => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::{Exit, Explain, Failure};

    #[track_caller]
    fn refused(error: StoreError, says: &str) {
        assert_eq!((error.exit(), error.hint().is_some()), (Exit::Usage, true), "{error}");
        let text = Failure::from(error).message;
        assert!(text.contains(says), "{text}");
    }

    #[test]
    fn what_is_no_readable_file_is_refused_with_what_it_is_and_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("latin"), [b'a', 0xe9]).unwrap();
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        std::os::unix::fs::symlink("gone", at("dangling")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for (name, says) in [
            ("missing", "No such file"),
            ("latin/below", "latin/below"),
            ("", "it is a directory, not a file"),
            ("latin", "it is not UTF-8 text (byte 2)"),
            ("loop", "symbolic link"),
            ("dangling", "it is a symbolic link to `gone`, which does not exist"),
            ("pipe", "it is neither a file nor a directory"),
        ] {
            refused(read_to_string(&at(name)).unwrap_err(), says);
        }
        refused(read_bytes(Path::new("/dev/zero")).unwrap_err(), "neither a file nor a directory");
    }

    #[test]
    fn a_file_beyond_the_limit_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "1234").unwrap();
        assert_eq!(read_at_most(&path, 4).unwrap(), b"1234");
        refused(read_at_most(&path, 3).unwrap_err(), "it is larger than");
    }

    #[test]
    fn a_directory_that_cannot_be_made_names_what_stands_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("gone", at("dangling")).unwrap();
        std::os::unix::fs::symlink("loop", at("loop")).unwrap();
        for (name, says) in [
            ("file", "file`, what stood there is unchanged: it is a file, not a directory"),
            ("file/below/it", "file`, what stood there is unchanged: it is a file, not a directory"),
            ("dangling", "it is a symbolic link to `gone`, which does not exist"),
            ("loop", "symbolic link"),
        ] {
            refused(create_dir(&at(name)).unwrap_err(), says);
        }
    }
}
