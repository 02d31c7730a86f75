//! Logs: lines at the end of a file, of which only the end is read. A log may lose its last line; nothing else may.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::{FileKind, StoreError, exists};

/// How much of a log's end is read at first.
const PIECE: u64 = 16 * 1024;

/// The last whole line of a log, and whether the file ends in the middle of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// The last line that ends with a line break, without it.
    pub line: Option<String>,
    /// Whether something stands after it: a writer was killed.
    pub torn: bool,
    /// Size of the file, in bytes.
    pub size: u64,
}

/// Reads the end of a log; an empty one when it is missing. Costs what its last line costs, however long the log is.
///
/// # Errors
/// [`StoreError::Read`].
pub fn log_end(path: &Path) -> Result<LogEnd, StoreError> {
    let fail = |source| StoreError::Read { path: path.into(), source };
    match exists(path) {
        FileKind::Missing => return Ok(LogEnd::default()),
        FileKind::File => {}
        FileKind::Directory | FileKind::Special => return Err(fail(io::ErrorKind::IsADirectory.into())),
    }
    let mut file = File::open(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    let mut piece = PIECE.min(size);
    loop {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(size - piece)).map_err(fail)?;
        (&mut file).take(piece).read_to_end(&mut bytes).map_err(fail)?;
        let torn = bytes.last().is_some_and(|byte| *byte != b'\n');
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').and_then(|end| bytes.get(..end)).unwrap_or_default();
        match whole.iter().rposition(|byte| *byte == b'\n') {
            None if piece < size => piece = (piece * 8).min(size),
            before => {
                let line = whole.get(before.map_or(0, |at| at + 1)..).unwrap_or_default();
                let line = (!line.is_empty()).then(|| String::from_utf8_lossy(line).into_owned());
                return Ok(LogEnd { line, torn, size });
            }
        }
    }
}

/// Appends a line to a log in one write, making the log and its directory; `torn` ends a line that was begun first. It
/// is not synced: a power loss may take the last lines.
///
/// # Errors
/// [`StoreError::Write`], [`StoreError::Symlink`].
pub fn append_line(path: &Path, line: &str, torn: bool) -> Result<(), StoreError> {
    if let Ok(target) = std::fs::read_link(path) {
        return Err(StoreError::Symlink { path: path.into(), target });
    }
    let fail = |source| StoreError::Write { path: path.into(), source };
    if let Some(parent) = path.parent() {
        super::create_dir(parent)?;
    }
    if exists(path) == FileKind::Special {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a directory")));
    }
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if torn {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let mut file = File::options().append(true).create(true).open(path).map_err(fail)?;
    file.write_all(&bytes).map_err(fail)
}

/// Size of a file in bytes; 0 when there is none.
#[must_use]
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

/// Puts a copy in place by a rename, without syncing it: for what can be made again. The caller holds a lock, so what a
/// killed writer left under the one temporary name is written over.
///
/// # Errors
/// [`StoreError::Write`], [`StoreError::Symlink`].
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    if let Ok(target) = std::fs::read_link(path) {
        return Err(StoreError::Symlink { path: path.into(), target });
    }
    let fail = |source| StoreError::Write { path: path.into(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    super::create_dir(folder)?;
    let new = path.with_added_extension("new");
    if new.is_symlink() {
        super::remove_file(&new)?;
    }
    std::fs::write(&new, bytes).map_err(fail)?;
    std::fs::rename(&new, path).map_err(fail)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_line_is_found_however_long_it_is_and_whatever_was_torn() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/log");
        assert_eq!(log_end(&path).unwrap(), LogEnd::default());
        append_line(&path, "one", false).unwrap();
        let long = "x".repeat(100_000);
        append_line(&path, &long, false).unwrap();
        assert_eq!(log_end(&path).unwrap().line, Some(long.clone()));
        std::fs::write(&path, format!("one\n{long}\nhalf a li")).unwrap();
        let end = log_end(&path).unwrap();
        assert_eq!((end.line.as_deref(), end.torn), (Some(long.as_str()), true));
        append_line(&path, "two", end.torn).unwrap();
        assert_eq!(log_end(&path).unwrap().line.as_deref(), Some("two"));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4);
    }

    #[test]
    fn a_directory_in_its_place_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(log_end(dir.path()).is_err());
        assert!(append_line(dir.path(), "x", false).is_err());
    }
}
