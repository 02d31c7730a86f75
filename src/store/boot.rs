//! The clock that counts since this machine was started: it cannot be set, and it goes on in suspend.

/// A reading of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootTime {
    /// Which start of which machine.
    pub id: String,
    /// Milliseconds since then.
    pub ms: u64,
}

impl BootTime {
    /// Now; `None` where the system does not tell which start it is, and when a test set the wall clock alone
    /// (`AGENT_TEST_INTERNAL_BOOT` is `ID:MILLISECONDS`).
    #[must_use]
    pub fn now() -> Option<Self> {
        if let Some(text) = crate::env::get(crate::env::TEST_BOOT) {
            let (id, ms) = text.rsplit_once(':')?;
            return Some(Self { id: id.to_owned(), ms: ms.parse().ok()? });
        }
        if crate::env::is_set(crate::env::TEST_NOW) {
            return None;
        }
        real()
    }
}

#[cfg(target_os = "linux")]
fn real() -> Option<BootTime> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let ms = u64::try_from(now.tv_sec).ok()?.checked_mul(1000)? + u64::try_from(now.tv_nsec / 1_000_000).ok()?;
    (!id.is_empty()).then_some(BootTime { id, ms })
}

#[cfg(not(target_os = "linux"))]
fn real() -> Option<BootTime> {
    None
}

/// This machine's name.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn it_goes_on_and_names_one_start() {
        let (a, b) = (super::real().unwrap(), super::real().unwrap());
        assert!(a.id == b.id && a.ms <= b.ms);
    }
}
