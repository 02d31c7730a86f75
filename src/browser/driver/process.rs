//! Facts about processes, and signals to them, without a line of unsafe code.
//!
//! Linux answers from `/proc`; elsewhere only what `kill(2)` with signal 0 can tell is known.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// How often a dying process is looked at.
pub(super) const POLL: Duration = Duration::from_millis(10);

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().filter(|raw| *raw > 1).and_then(Pid::from_raw)
}

/// Sends a signal to every process of a group; a group that is gone is no error.
pub(super) fn signal_group(group: u32, signal: Signal) {
    if let Some(group) = pid(group) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Whether a process of this number exists (a zombie counts).
#[cfg(any(not(target_os = "linux"), test))]
pub(super) fn exists(process: u32) -> bool {
    pid(process).is_some_and(|process| match rustix::process::test_kill_process(process) {
        Ok(()) => true,
        Err(error) => error == rustix::io::Errno::PERM,
    })
}

/// Waits, blocking, until `done` says so; false when the time was up first.
pub(super) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if done() {
            return true;
        }
        if start.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(POLL);
    }
}

/// When the process started, in the kernel's ticks since boot; 0 where that cannot be known, nothing when it does not
/// run (a zombie is dead, whether or not anybody reaped it).
pub(super) fn start_time(process: u32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        stat(process).filter(|stat| stat.runs).map(|stat| stat.started)
    }
    #[cfg(not(target_os = "linux"))]
    {
        exists(process).then_some(0)
    }
}

/// Whether any process of the group still runs. Zombies do not count: whoever is pid 1 may never reap them.
pub(super) fn group_runs(group: u32) -> bool {
    #[cfg(target_os = "linux")]
    {
        all().any(|process| stat(process).is_some_and(|stat| stat.group == group && stat.runs))
    }
    #[cfg(not(target_os = "linux"))]
    {
        pid(group).is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::unix::ffi::OsStringExt;

    use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::pid;

    /// Every process that is visible here.
    pub(in super::super) fn all() -> impl Iterator<Item = u32> {
        std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
    }

    /// The arguments of a process; empty for a kernel thread, a zombie, or a process that is gone.
    pub(in super::super) fn arguments(process: u32) -> Vec<std::ffi::OsString> {
        let bytes = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let mut arguments: Vec<_> =
            bytes.split(|byte| *byte == 0).map(|part| std::ffi::OsString::from_vec(part.to_vec())).collect();
        // The list ends with a NUL, not with an empty argument.
        arguments.pop();
        arguments
    }

    /// Kills a process if it is still the one that `is_it` recognises.
    ///
    /// The process is pinned before it is looked at again, so that a number which was freed and taken by a stranger in
    /// between cannot be hit.
    pub(in super::super) fn kill_if(process: u32, is_it: impl Fn() -> bool) -> bool {
        let Some(pid) = pid(process) else { return false };
        let Ok(pinned) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        is_it() && pidfd_send_signal(&pinned, Signal::KILL).is_ok()
    }
}

#[cfg(target_os = "linux")]
pub(super) use crate::store::process_stat as stat;
#[cfg(target_os = "linux")]
pub(super) use linux::{all, arguments, kill_if};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_exists_and_has_a_start_time() {
        assert!(exists(std::process::id()));
        assert!(start_time(std::process::id()).is_some());
    }
}
