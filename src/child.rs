//! Programs of the user's that we start: none outlives us unless it may.

use std::process::Stdio;

use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStdin, Command};

/// The processes of a program that was started as the leader of a group of its own (`process_group(0)`).
///
/// They die when this is dropped, and also when we are killed: a shell that holds the end of a pipe of ours notices.
#[derive(Debug)]
pub struct ProcessGroup {
    id: Option<Pid>,
    watch: Option<(Child, Option<ChildStdin>)>,
}

impl ProcessGroup {
    /// The group of this program.
    #[must_use]
    pub fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let mut group = Self { id, watch: None };
        if let Some(id) = id {
            let mut watch = Command::new("sh");
            watch.arg("-c").arg("trap '' INT TERM HUP QUIT; read -r word || kill -9 \"-$1\"").arg("agent-test-watch");
            watch.arg(id.as_raw_nonzero().to_string()).process_group(0);
            watch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            group.watch = watch.spawn().ok().map(|mut watch| {
                let stdin = watch.stdin.take();
                (watch, stdin)
            });
        }
        group
    }

    /// Leaves them to themselves: what a program that ended has left running is its user's.
    pub fn keep(mut self) {
        self.id = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let _ = rustix::process::kill_process_group(id, Signal::KILL);
        }
        if let Some((mut watch, stdin)) = self.watch.take() {
            // Ended before its pipe closes: the number may be another's by then.
            let _ = watch.start_kill();
            drop(stdin);
        }
    }
}
