//! The lock between processes.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::StoreError;
use super::write::{again, refuse_read_only_directory};

/// How long a command waits for another one, unless the environment says otherwise.
pub const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// How long to wait for the lock: `AGENT_TEST_LOCK_TIMEOUT` in seconds, or the default.
#[must_use]
pub fn lock_timeout() -> Duration {
    crate::env::get(crate::env::LOCK_TIMEOUT)
        .and_then(|text| text.parse::<f64>().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(DEFAULT_LOCK_TIMEOUT)
}

/// Holds a lock file until it is dropped. The file itself stays.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the exclusive lock on this file, creating it when it is missing, and waits for at most `timeout`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process keeps it for longer; [`StoreError::Write`] when the file cannot be
    /// opened.
    pub fn acquire(path: &Path, timeout: Duration) -> Result<Self, StoreError> {
        let fail = |source| StoreError::Write { path: path.into(), source };
        let start = Instant::now();
        let mut wait = Duration::from_millis(1);
        loop {
            let file = open(path)?;
            let taken = match file.try_lock() {
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                taken => taken,
            };
            match taken {
                // A file that was deleted and made anew in the meantime would lock nobody out.
                Ok(()) => {
                    if is_current(&file, path).map_err(fail)? {
                        return Ok(Self { _file: file });
                    }
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(fail(source)),
            }
            let waited = start.elapsed();
            if waited >= timeout {
                return Err(StoreError::Locked { path: path.into(), waited });
            }
            std::thread::sleep(wait.min(timeout.saturating_sub(waited)));
            wait = (wait * 2).min(Duration::from_millis(25));
        }
    }
}

fn open(path: &Path) -> Result<File, StoreError> {
    if let Ok(target) = again(|| std::fs::read_link(path)) {
        return Err(StoreError::Symlink { path: path.into(), target });
    }
    let fail = |source| StoreError::Write { path: path.into(), source };
    match File::options().write(true).open(path) {
        Ok(file) => Ok(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse_read_only_directory(path)?;
            File::options().write(true).create(true).truncate(false).open(path).map_err(fail)
        }
        // Another user's lock file can still be locked.
        Err(error) => File::open(path).map_err(|_| fail(error)),
    }
}

#[cfg(unix)]
fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = again(|| file.metadata())?;
    match again(|| std::fs::metadata(path)) {
        Ok(there) => Ok((held.dev(), held.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_current(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_waits_and_then_gives_up_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let error = FileLock::acquire(&path, Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("x.lock"), "{error}");
        drop(held);
        let _again = FileLock::acquire(&path, Duration::ZERO).unwrap();
    }
}
