//! The atomic write, and the sweeping of what a killed writer leaves.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atomicwrites::{AllowOverwrite, AtomicFile};

use super::StoreError;

/// Name that `atomicwrites` gives to its temporary directories.
const LITTER: &str = ".atomicwrite";
/// The only file in them.
const LITTER_FILE: &str = "tmpfile.tmp";

/// Replaces the file's content as a whole, or leaves the old one as it is.
///
/// Mode and owner of an existing file are kept. A symlink is followed only to a file below its own directory.
///
/// # Errors
/// [`StoreError::Write`] before the new file stands, [`StoreError::NotDurable`] after, [`StoreError::Symlink`].
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let target = resolve(path)?;
    let old = std::fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|data| data.permissions().readonly()) {
        return Err(StoreError::Write { path: path.into(), source: io::ErrorKind::PermissionDenied.into() });
    }
    refuse_read_only_directory(&target)?;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut written = None;
        let result = AtomicFile::new(&target, AllowOverwrite).write(|file| {
            if let Some(old) = &old {
                keep_mode_and_owner(file, old)?;
            }
            file.write_all(bytes)?;
            written = Some(file.metadata()?);
            Ok::<_, io::Error>(())
        });
        let source = match result.map_err(io::Error::from) {
            Ok(()) => return Ok(()),
            Err(source) => source,
        };
        if written.is_some_and(|written| stands_at(&target, &written)) {
            return Err(StoreError::NotDurable { path: path.into(), source });
        }
        // Somebody else's sweep took our temporary directory away.
        let swept = source.kind() == io::ErrorKind::NotFound && target.parent().is_some_and(Path::is_dir);
        if !(swept && attempt < 3) {
            return Err(StoreError::Write { path: path.into(), source });
        }
    }
}

/// Where a write to this path goes.
fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
    if !path.is_symlink() {
        return Ok(path.to_path_buf());
    }
    let fail = |source| StoreError::Read { path: path.into(), source };
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
    match std::fs::metadata(parent) {
        Ok(data) if data.permissions().readonly() => {
            Err(StoreError::Write { path: path.into(), source: io::ErrorKind::PermissionDenied.into() })
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn keep_mode_and_owner(file: &std::fs::File, old: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give a file away; for anyone else the group is worth a try.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()))
            .or_else(|_| std::os::unix::fs::fchown(file, None, Some(old.gid())));
    }
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_mode_and_owner(_: &std::fs::File, _: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Whether the file that was written is the one that stands at the target now.
#[cfg(unix)]
fn stands_at(target: &Path, written: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(target).is_ok_and(|there| (there.dev(), there.ino()) == (written.dev(), written.ino()))
}

#[cfg(not(unix))]
fn stands_at(_: &Path, _: &std::fs::Metadata) -> bool {
    false
}

/// Removes what killed writers left in this directory, when it is at least this old. Best effort.
///
/// With an age of zero the caller must hold the lock that every writer of the directory takes.
pub fn sweep(directory: &Path, age: Duration) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let is_litter = entry.file_name().to_str().is_some_and(|name| name.starts_with(LITTER))
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_litter {
            continue;
        }
        let old_enough = age.is_zero()
            || entry
                .metadata()
                .and_then(|data| data.modified())
                .is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed >= age));
        if old_enough {
            // Takes only what the writer makes: a directory that holds anything else stays.
            let _ = std::fs::remove_file(entry.path().join(LITTER_FILE));
            let _ = std::fs::remove_dir(entry.path());
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
        sweep(dir.path(), Duration::from_hours(1));
        assert!(dir.path().join(".atomicwriteAbC").exists());
        sweep(dir.path(), Duration::ZERO);
        assert!(!dir.path().join(".atomicwriteAbC").exists());
        assert!(dir.path().join(".atomicwriteOther/mine").exists());
    }
}
