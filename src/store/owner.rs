//! Who works: a process, told apart from every other, so that the dead one's work is free again at once.

use std::fmt;
use std::str::FromStr;

use super::process_stat;

/// A process: machine, process namespace, number, start time. The text is `HOST.NAMESPACE/PID.START`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    machine: String,
    pid: u32,
    started: u64,
}

impl Owner {
    /// This process.
    #[must_use]
    pub fn this() -> Self {
        let pid = std::process::id();
        Self { machine: machine(), pid, started: start_time(pid).unwrap_or(0) }
    }

    /// Whether the process certainly does not run any more. One of another machine, or where start times cannot be
    /// known, never is.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.started != 0 && self.machine == machine() && start_time(self.pid) != Some(self.started)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}.{}", self.machine, self.pid, self.started)
    }
}

impl FromStr for Owner {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (machine, process) = text.rsplit_once('/').ok_or(())?;
        let (pid, started) = process.split_once('.').ok_or(())?;
        Ok(Self {
            machine: machine.to_owned(),
            pid: pid.parse().map_err(|_| ())?,
            started: started.parse().map_err(|_| ())?,
        })
    }
}

/// The host's name with the namespace of its process numbers: a container counts its own.
fn machine() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().replace(['/', ' '], "-");
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok();
    let namespace: String = namespace
        .iter()
        .flat_map(|link| link.to_string_lossy().chars().collect::<Vec<_>>())
        .filter(char::is_ascii_digit)
        .collect();
    format!("{host}.{namespace}")
}

/// When a process started; nothing when it does not run, a zombie counts as dead.
fn start_time(pid: u32) -> Option<u64> {
    process_stat(pid).filter(|stat| stat.runs).map(|stat| stat.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_survives_its_text() {
        let this = Owner::this();
        assert!(!this.is_dead());
        assert_eq!(this.to_string().parse(), Ok(this));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_number_that_was_taken_again_is_another_process() {
        let this = Owner::this();
        assert!(Owner { started: this.started + 1, ..this }.is_dead());
    }

    #[test]
    fn a_process_of_another_machine_is_never_dead() {
        assert!(!Owner { machine: "elsewhere.1".into(), pid: 1, started: 1 }.is_dead());
    }

    #[test]
    fn a_worker_of_another_kind_is_no_process() {
        assert_eq!("someone".parse::<Owner>(), Err(()));
        assert_eq!("a/b".parse::<Owner>(), Err(()));
    }
}
