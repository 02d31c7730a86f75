//! The driver process: found, started, watched, and dead when we are.
//!
//! chromedriver leaves its browsers behind when it alone is killed, and nobody tells a child that its parent got a
//! `SIGKILL`. So three lines of defence stand behind each other:
//!
//! 1. [`Driver::stop`] and `Drop` end the whole process group that chromedriver leads; every browser is in it.
//! 2. A guard process holds the read end of a pipe whose write end is ours. However we die (a signal, an abort,
//!    `kill -9`), the pipe closes without its goodbye, and the guard kills the group and removes its files.
//! 3. The sweep at the next start finds what an owner left that died together with its guard.
//!
//! Invariants
//! * Everything of one driver lies in one directory of its own (its *home*), named after the owner's pid and start
//!   time and locked for as long as the owner lives. Profiles lie inside; the driver's log path too, so that the command
//!   line of each process tells whose it is.
//! * Nothing is killed by its name: only a group that we lead, or a process whose command line carries a dead owner's
//!   home.
//! * chromedriver is reaped only after its group is empty, so that the group's number cannot be taken by a stranger
//!   while we may still signal it (Linux; elsewhere the window is one poll long).

mod error;
mod find;
mod guard;
mod home;
mod launch;
mod probe;
mod process;
mod sweep;

pub use error::{DriverError, install_hint};
pub use find::{Binaries, Version, find_browser, find_chromedriver, version_of};
pub use guard::{GuardProgram, serve_guard};
pub use home::default_runtime_dir;
pub use launch::{Driver, DriverOptions};
pub use probe::{Probe, is_root, open_session, probe_session, reach_webdriver};
pub use sweep::{Swept, sweep};
