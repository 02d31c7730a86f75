//! The atomic write, and the sweeping of what a killed writer leaves.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::StoreError;
use super::files::names;

/// Names of temporary files begin so.
const LITTER: &str = ".agent-test-write-";
/// Names that earlier versions gave to their temporary directories, and the only file in them.
const OLD_LITTER: (&str, &str) = (".atomicwrite", "tmpfile.tmp");

/// How often a call that a signal interrupts is made again.
const INTERRUPTIONS: u32 = 100;

/// Replaces the file's content as a whole, or leaves the old one as it is.
///
/// Mode and owner of an existing file are kept. A symlink is followed only to a file below its own directory.
///
/// # Errors
/// [`StoreError::Write`] before the new file stands, [`StoreError::NotDurable`] after, [`StoreError::Symlink`].
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_atomic_parts(path, &[bytes])
}

/// As [`write_atomic`], for a content in parts.
///
/// # Errors
/// As [`write_atomic`].
pub fn write_atomic_parts(path: &Path, parts: &[&[u8]]) -> Result<(), StoreError> {
    // What the process's mask leaves of it, as for any new file.
    write(path, parts, 0o666)
}

/// As [`write_atomic`]; a new file is its owner's alone.
///
/// # Errors
/// As [`write_atomic`].
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write(path, &[bytes], 0o600)
}

fn write(path: &Path, parts: &[&[u8]], mode: u32) -> Result<(), StoreError> {
    let target = resolve(path)?;
    let failed = |source| StoreError::Write { path: path.into(), source };
    let old = match again(|| std::fs::metadata(&target)) {
        Ok(data) => Some(data),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // Without it, mode and owner would be lost.
        Err(error) => return Err(failed(error)),
    };
    if old.as_ref().is_some_and(|data| data.permissions().readonly()) {
        return Err(failed(io::ErrorKind::PermissionDenied.into()));
    }
    refuse_read_only_directory(&target)?;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let source = match replace(&target, parts, old.as_ref(), mode) {
            Ok(()) => return Ok(()),
            Err(Stopped::After(source)) => return Err(StoreError::NotDurable { path: path.into(), source }),
            Err(Stopped::Before(source)) => source,
        };
        // Somebody else's sweep took our temporary file away.
        let swept = source.kind() == io::ErrorKind::NotFound && target.parent().is_some_and(Path::is_dir);
        if !(swept && attempt < 3) {
            return Err(failed(source));
        }
    }
}

/// Where a replacement stopped: before the rename, or after it.
enum Stopped {
    Before(io::Error),
    After(io::Error),
}

/// Writes the temporary file beside the target, syncs it, renames it over, syncs the directory.
fn replace(target: &Path, parts: &[&[u8]], old: Option<&Metadata>, mode: u32) -> Result<(), Stopped> {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(LITTER).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut temporary = again(|| builder.tempfile_in(parent)).map_err(Stopped::Before)?;
    fill(temporary.as_file_mut(), parts, old).map_err(Stopped::Before)?;
    // From here on the temporary name is ours to remove; open handles would hinder the rename on some systems.
    let (_, from) = temporary.into_parts();
    let mut interruptions = 0;
    loop {
        // Renames, and syncs the directory.
        let error = match atomicwrites::replace_atomic(&from, target) {
            Ok(()) => {
                // The name is gone; nothing is left to remove.
                let _ = from.keep();
                return Ok(());
            }
            Err(error) => error,
        };
        if again(|| from.symlink_metadata()).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let _ = from.keep();
            return Err(Stopped::After(error));
        }
        interruptions += 1;
        if error.kind() != io::ErrorKind::Interrupted || interruptions > INTERRUPTIONS {
            return Err(Stopped::Before(error));
        }
    }
}

fn fill(file: &mut File, parts: &[&[u8]], old: Option<&Metadata>) -> io::Result<()> {
    if let Some(old) = old {
        again(|| keep_mode_and_owner(file, old))?;
    }
    // Interruptions of these two are retried by the library.
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.sync_all()
}

/// Makes sure that the file which stands here survives a power loss, whoever wrote it.
///
/// # Errors
/// [`StoreError::NotDurable`].
pub fn make_durable(path: &Path) -> Result<(), StoreError> {
    let sync = |path: &Path| again(|| File::open(path)?.sync_all());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = sync(path).and_then(|()| if cfg!(unix) { sync(parent) } else { Ok(()) });
    synced.map_err(|source| StoreError::NotDurable { path: path.into(), source })
}

/// Makes a call again that a signal interrupted.
pub(super) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut interruptions = 0;
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted && interruptions < INTERRUPTIONS => {
                interruptions += 1;
            }
            answer => return answer,
        }
    }
}

/// Where a write to this path goes.
fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
    let fail = |source| StoreError::Read { path: path.into(), source };
    match again(|| path.symlink_metadata()) {
        Ok(data) if data.is_symlink() => {}
        // What is wrong with it otherwise is seen when it is written.
        _ => return Ok(path.to_path_buf()),
    }
    let target = path.canonicalize().map_err(fail)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if target.starts_with(parent.canonicalize().map_err(fail)?) {
        Ok(target)
    } else {
        Err(StoreError::Symlink { path: path.into(), target })
    }
}

/// A directory without write permission is a statement, also towards root.
pub(super) fn refuse_read_only_directory(path: &Path) -> Result<(), StoreError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match again(|| std::fs::metadata(parent)) {
        Ok(data) if data.permissions().readonly() => {
            Err(StoreError::Write { path: path.into(), source: io::ErrorKind::PermissionDenied.into() })
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn keep_mode_and_owner(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give a file away; for anyone else the group is worth a try.
        let give = |uid| again(|| fchown(file, uid, Some(old.gid())));
        let _ = give(Some(old.uid())).or_else(|_| give(None));
    }
    if new.mode() == old.mode() { Ok(()) } else { file.set_permissions(old.permissions()) }
}

#[cfg(not(unix))]
fn keep_mode_and_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Removes what killed writers left in this directory, when it is at least this old. Best effort.
///
/// With an age of zero the caller must hold the lock that every writer of the directory takes.
pub fn sweep(directory: &Path, age: Duration) {
    let litter = |name: &OsStr, _| {
        let text = name.to_str()?;
        (text.starts_with(LITTER) || text.starts_with(OLD_LITTER.0)).then(|| directory.join(name))
    };
    let Ok(found) = again(|| names::<PathBuf, Vec<_>>(directory, litter)) else { return };
    for path in found {
        let Ok(data) = again(|| path.symlink_metadata()) else { continue };
        let old_enough =
            age.is_zero() || data.modified().is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed >= age));
        if old_enough && data.is_file() {
            let _ = again(|| std::fs::remove_file(&path));
        } else if old_enough && data.is_dir() {
            // Takes only what the writer made: a directory that holds anything else stays.
            let _ = again(|| std::fs::remove_file(path.join(OLD_LITTER.1)));
            let _ = again(|| std::fs::remove_dir(&path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_mode_of_a_replaced_file_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write_atomic(&path, b"one").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_directory_is_not_followed_and_one_inside_is() {
        let outside = tempfile::tempdir().unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("x"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path().join("x"), dir.path().join("out")).unwrap();
        assert!(matches!(write_atomic(&dir.path().join("out"), b"y"), Err(StoreError::Symlink { .. })));
        assert_eq!(std::fs::read(outside.path().join("x")).unwrap(), b"x");
        std::fs::write(dir.path().join("real"), "x").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("in")).unwrap();
        write_atomic(&dir.path().join("in"), b"y").unwrap();
        assert_eq!(std::fs::read(dir.path().join("real")).unwrap(), b"y");
        assert!(dir.path().join("in").is_symlink());
    }

    #[test]
    fn sweeping_takes_only_a_writers_litter() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".atomicwriteAbC")).unwrap();
        std::fs::write(dir.path().join(".atomicwriteAbC/tmpfile.tmp"), "x").unwrap();
        std::fs::create_dir(dir.path().join(".atomicwriteOther")).unwrap();
        std::fs::write(dir.path().join(".atomicwriteOther/mine"), "x").unwrap();
        std::fs::write(dir.path().join(".agent-test-write-x.tmp"), "x").unwrap();
        sweep(dir.path(), Duration::from_hours(1));
        assert!(dir.path().join(".agent-test-write-x.tmp").exists());
        assert!(dir.path().join(".atomicwriteAbC").exists());
        sweep(dir.path(), Duration::ZERO);
        assert!(!dir.path().join(".atomicwriteAbC").exists());
        assert!(!dir.path().join(".agent-test-write-x.tmp").exists());
        assert!(dir.path().join(".atomicwriteOther/mine").exists());
    }
}
