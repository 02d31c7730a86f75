//! A driver's home: the one directory that holds everything of it, and whose name and lock say who owns it.

use std::fs::File;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::error::DriverError;
use super::process;

const PREFIX: &str = "agent-test-browser-";
const LOCK: &str = "owner.lock";

/// Who made a home: a process, told apart from a later one of the same number by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pid: u32,
    started: u64,
}

impl Owner {
    fn this_process() -> Self {
        let pid = std::process::id();
        Self { pid, started: process::start_time(pid).unwrap_or(0) }
    }

    fn is_alive(self) -> bool {
        process::start_time(self.pid) == Some(self.started)
    }

    /// The owner that a directory's name tells; nothing when it is not one of ours.
    fn of_name(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let pid = parts.next()?.parse().ok()?;
        let started = parts.next()?.parse().ok()?;
        let _serial: u32 = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { pid, started })
    }
}

/// A driver's home, ours for as long as this value lives; removed with it.
#[derive(Debug)]
pub(super) struct Home {
    dir: PathBuf,
    profiles: AtomicU32,
    // Held, never read: the kernel lets it go when we die, also inside another pid namespace.
    _lock: File,
}

impl Home {
    /// Makes a home in the runtime directory.
    pub(super) fn create(runtime_dir: &Path) -> Result<Self, DriverError> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let failed = |source| DriverError::RuntimeDir { path: runtime_dir.to_owned(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(runtime_dir).map_err(failed)?;
        // Command lines are compared with this path, letter by letter: no links, nothing relative.
        let runtime_dir = runtime_dir.canonicalize().map_err(failed)?;
        let owner = Owner::this_process();
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let dir = runtime_dir.join(format!("{PREFIX}{}-{}-{serial}", owner.pid, owner.started));
            match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => {
                    let lock = File::create(dir.join(LOCK)).map_err(failed)?;
                    lock.lock().map_err(failed)?;
                    return Ok(Self { dir, profiles: AtomicU32::new(0), _lock: lock });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A path for one session's profile that no other session has; the browser makes the directory.
    pub(super) fn profile(&self) -> PathBuf {
        self.dir.join(format!("profile-{}", self.profiles.fetch_add(1, Ordering::Relaxed)))
    }

    /// Where browsers put temporary files, made now; nothing when the path would be too long for the socket that they
    /// put there (its limit is 104 bytes on macOS, 108 on Linux).
    pub(super) fn temp(&self) -> Option<PathBuf> {
        const SOCKET: &str = "/org.chromium.Chromium.XXXXXX/SingletonSocket";
        let temp = self.dir.join("t");
        let fits = temp.as_os_str().len() + SOCKET.len() < 104;
        (fits && std::fs::DirBuilder::new().mode(0o700).create(&temp).is_ok()).then_some(temp)
    }

    /// Where crash dumps go: not into the user's own configuration.
    pub(super) fn crashes(&self) -> PathBuf {
        self.dir.join("crashes")
    }

    /// Where the driver logs. That the command line tells whose driver it is matters more than the log.
    pub(super) fn log(&self) -> PathBuf {
        self.dir.join("chromedriver.log")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        remove(&self.dir);
    }
}

/// A home whose owner is dead. While it is cleared its lock is held, if it got as far as having one.
#[derive(Debug)]
pub(super) struct Abandoned {
    pub(super) dir: PathBuf,
    _lock: Option<File>,
}

/// The homes in a runtime directory whose owners are dead.
pub(super) fn abandoned(runtime_dir: &Path) -> Vec<Abandoned> {
    let Ok(runtime_dir) = runtime_dir.canonicalize() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(&runtime_dir) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| {
            let owner = entry.file_name().to_str().and_then(Owner::of_name)?;
            if_abandoned(owner, entry.path())
        })
        .collect()
}

fn if_abandoned(owner: Owner, dir: PathBuf) -> Option<Abandoned> {
    let Ok(lock) = File::open(dir.join(LOCK)) else {
        // Its owner died before it could lock, or the clearing of this home was cut short.
        return (!owner.is_alive()).then_some(Abandoned { dir, _lock: None });
    };
    // Where start times are unknown, a number that was taken again looks alive: the lock alone decides then.
    if owner.is_alive() && (owner.started != 0 || owner.pid == std::process::id()) {
        return None;
    }
    lock.try_lock().is_ok().then_some(Abandoned { dir, _lock: Some(lock) })
}

/// Removes a home. A dying browser may still write into it, so that a few attempts may be needed.
pub(super) fn remove(dir: &Path) -> bool {
    process::wait_until(std::time::Duration::from_secs(2), || match std::fs::remove_dir_all(dir) {
        Ok(()) => true,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    })
}

/// Where browsers live between start and stop: a directory of this user's in the system's temporary directory.
///
/// It is the same one at each start, so that the sweep finds what an earlier process left.
///
/// # Errors
/// When the directory cannot be made, or is not this user's own.
pub fn default_runtime_dir() -> Result<PathBuf, DriverError> {
    let user = rustix::process::getuid().as_raw();
    let path = std::env::temp_dir().join(format!("agent-test-{user}"));
    let failed = |source| DriverError::RuntimeDir { path: path.clone(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
    let found = std::fs::symlink_metadata(&path).map_err(failed)?;
    if found.is_dir() && found.uid() == user { Ok(path) } else { Err(DriverError::ForeignRuntimeDir { path }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_tells_its_owner() {
        let runtime = tempfile::tempdir().unwrap();
        let home = Home::create(runtime.path()).unwrap();
        let name = home.dir().file_name().unwrap().to_str().unwrap();
        assert_eq!(Owner::of_name(name), Some(Owner::this_process()));
    }

    #[test]
    fn other_names_have_no_owner() {
        for name in ["", "agent-test-browser-", "agent-test-browser-1-2", "agent-test-browser-1-2-3-4", "x-1-2-3"] {
            assert_eq!(Owner::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn each_profile_is_new_and_lies_in_the_home() {
        let runtime = tempfile::tempdir().unwrap();
        let home = Home::create(runtime.path()).unwrap();
        let (one, two) = (home.profile(), home.profile());
        assert_ne!(one, two);
        assert!(one.starts_with(home.dir()) && two.starts_with(home.dir()));
    }

    #[test]
    fn a_living_owner_s_home_is_not_abandoned() {
        let runtime = tempfile::tempdir().unwrap();
        let _home = Home::create(runtime.path()).unwrap();
        assert!(abandoned(runtime.path()).is_empty());
    }

    #[test]
    fn a_home_whose_lock_is_held_is_not_abandoned_even_if_its_owner_cannot_be_seen() {
        let runtime = tempfile::tempdir().unwrap();
        let dir = runtime.path().join(format!("{PREFIX}4194400-1-0"));
        std::fs::create_dir(&dir).unwrap();
        let lock = File::create(dir.join(LOCK)).unwrap();
        lock.lock().unwrap();
        assert!(abandoned(runtime.path()).is_empty());
        drop(lock);
        assert_eq!(abandoned(runtime.path()).len(), 1);
    }
}
