//! The sweep: what owners left that died together with their guards, and nothing else.

use std::path::Path;

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Homes of dead owners that were removed.
    pub homes: usize,
    /// Browser and driver processes that were killed.
    pub processes: usize,
}

/// Ends browsers and drivers whose owner is dead, and removes their homes.
///
/// A process is one of them only when an argument of its command line names a directory inside a dead owner's home.
/// Outside Linux no command line can be read: there only the directories go.
#[must_use]
pub fn sweep(runtime_dir: &Path) -> Swept {
    let mut swept = Swept::default();
    for home in super::home::abandoned(runtime_dir) {
        swept.processes += kill_residents(&home.dir);
        swept.homes += usize::from(super::home::remove(&home.dir));
    }
    swept
}

/// Whether a command line belongs to a browser or driver that lives in this home.
#[cfg(any(target_os = "linux", test))]
fn lives_in(home: &Path, arguments: &[std::ffi::OsString]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    arguments.iter().any(|argument| {
        let argument = argument.as_bytes();
        [b"--user-data-dir=".as_slice(), b"--log-path="]
            .iter()
            .filter_map(|option| argument.strip_prefix(*option))
            .any(|path| Path::new(std::ffi::OsStr::from_bytes(path)).starts_with(home))
    })
}

/// Kills every process that lives in this home, with the groups that such a process leads. Returns how many it hit.
#[cfg(target_os = "linux")]
pub(super) fn kill_residents(home: &Path) -> usize {
    use super::process::{all, arguments, kill_if, signal_group, stat, wait_until};

    let resident = |process: u32| lives_in(home, &arguments(process));
    let mut killed = std::collections::BTreeSet::new();
    // Again until none is left: a browser that was being started shows up a moment later.
    wait_until(std::time::Duration::from_secs(2), || {
        let found: Vec<u32> = all().filter(|process| resident(*process)).collect();
        for process in &found {
            if stat(*process).is_some_and(|stat| stat.group == *process) {
                // chromedriver leads its group, and all that is in it came from it.
                signal_group(*process, rustix::process::Signal::KILL);
                killed.insert(*process);
            } else if kill_if(*process, || resident(*process)) {
                killed.insert(*process);
            }
        }
        found.is_empty()
    });
    killed.len()
}

/// Nothing: command lines cannot be read here.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill_residents(_home: &Path) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arguments: &[&str]) -> Vec<std::ffi::OsString> {
        arguments.iter().map(Into::into).collect()
    }

    #[test]
    fn only_a_directory_inside_the_home_makes_a_resident() {
        let home = Path::new("/tmp/r/agent-test-browser-7-9-0");
        assert!(lives_in(home, &line(&["chromium", "--user-data-dir=/tmp/r/agent-test-browser-7-9-0/profile-1"])));
        assert!(lives_in(home, &line(&["chromedriver", "--log-path=/tmp/r/agent-test-browser-7-9-0/d.log"])));
        assert!(!lives_in(home, &line(&["chromium", "--user-data-dir=/tmp/r/agent-test-browser-7-9-01/profile-1"])));
        assert!(!lives_in(home, &line(&["chromium", "--user-data-dir=/home/me/.config/chromium"])));
        assert!(!lives_in(home, &line(&["vim", "/tmp/r/agent-test-browser-7-9-0/profile-1"])));
        assert!(!lives_in(home, &line(&[])));
    }

    #[test]
    fn a_directory_that_is_not_ours_stays() {
        let runtime = tempfile::tempdir().unwrap();
        std::fs::create_dir(runtime.path().join("somebody-else")).unwrap();
        std::fs::create_dir(runtime.path().join("agent-test-browser-1")).unwrap();
        assert_eq!(sweep(runtime.path()), Swept::default());
        assert_eq!(std::fs::read_dir(runtime.path()).unwrap().count(), 2);
    }
}
