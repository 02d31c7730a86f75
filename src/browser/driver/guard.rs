//! The guard: a small process that outlives us by a moment, and takes the browsers with it.
//!
//! It reads a pipe whose write end only we hold. `group N` names the group to end; `bye` sends the guard home. When the
//! pipe closes without a `bye`, we are dead: the guard kills the group and removes the home. It stands in a session of
//! its own and is deaf to Ctrl-C, hang-up and `SIGTERM`, or it would go first.
//!
//! In our own program the guard is the program itself, started again with a hidden command. A program that merely links
//! the library has no such command: there a few lines of `/bin/sh` do the same, without the look at command lines.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::error::DriverError;
use super::{home, process, sweep};

/// The hidden command's name.
const COMMAND: &str = "__guard";
const READY: &str = "ready";
const BYE: &str = "bye";
/// How long a guard may take to come up; a machine under load is slow to start a program.
const UP: Duration = Duration::from_secs(20);

const SHELL: &str = r#"
trap '' INT TERM HUP QUIT
group=
echo ready
while read -r word value; do
  case $word in
    group) group=$value ;;
    bye) exit 0 ;;
  esac
done
[ -n "$group" ] && kill -9 "-$group" 2>/dev/null
tries=0
while [ -d "$1" ] && [ "$tries" -lt 40 ]; do
  rm -rf -- "$1" 2>/dev/null
  tries=$((tries + 1))
  [ -d "$1" ] && sleep 0.05
done
"#;

/// What stands guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardProgram {
    /// An `agent-test` binary, started with its hidden command.
    AgentTest(PathBuf),
    /// A few lines of `/bin/sh`.
    Shell,
}

impl GuardProgram {
    /// This executable when it is `agent-test`, else the shell: a stranger's executable is never started.
    #[must_use]
    pub fn of_this_process() -> Self {
        let Ok(this) = std::env::current_exe() else { return Self::Shell };
        // A binary that was rebuilt meanwhile is reported as `agent-test (deleted)`.
        let ours = this
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name == "agent-test" || name == "agent-test (deleted)");
        match (ours, cfg!(target_os = "linux")) {
            (false, _) => Self::Shell,
            (true, true) => Self::AgentTest("/proc/self/exe".into()),
            (true, false) => Self::AgentTest(this),
        }
    }

    fn command(&self, dir: &Path) -> Command {
        match self {
            Self::AgentTest(path) => {
                let mut command = Command::new(path);
                command.arg0("agent-test").arg(COMMAND).arg(dir);
                command
            }
            Self::Shell => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", SHELL, "agent-test-guard"]).arg(dir);
                // No session of its own, but a group: Ctrl-C goes to the terminal's foreground group only.
                command.env("PATH", "/usr/bin:/bin").process_group(0);
                command
            }
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::AgentTest(path) => path,
            Self::Shell => Path::new("/bin/sh"),
        }
    }
}

/// A guard on duty. Dropped without [`Guard::dismiss`], it acts as if we had died.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Posts a guard for a home and waits until it is on duty.
    pub(super) async fn post(program: &GuardProgram, dir: &Path) -> Result<Self, DriverError> {
        let failed = |source| DriverError::Spawn { path: program.path().to_owned(), source };
        let mut child = program
            .command(dir)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let pipe = child.stdin.take();
        let (said, heard) = tokio::sync::oneshot::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut line = String::new();
                let _ = BufReader::new(stdout).read_line(&mut line);
                let _ = said.send(line.trim_end() == READY);
            });
        }
        let guard = Self { child, pipe };
        if let Ok(Ok(true)) = tokio::time::timeout(UP, heard).await {
            return Ok(guard);
        }
        guard.dismiss();
        Err(failed(std::io::Error::other("the guard process did not come up")))
    }

    /// Its process number.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Names the group that must not outlive us.
    pub(super) fn watch(&mut self, group: u32) -> std::io::Result<()> {
        self.say(&format!("group {group}"))
    }

    fn say(&mut self, line: &str) -> std::io::Result<()> {
        match &mut self.pipe {
            Some(pipe) => {
                writeln!(pipe, "{line}")?;
                pipe.flush()
            }
            None => Ok(()),
        }
    }

    /// Sends the guard home: nothing is left to guard.
    pub(super) fn dismiss(mut self) {
        let _ = self.say(BYE);
        drop(self.pipe.take());
        let child = &mut self.child;
        if !process::wait_until(Duration::from_secs(2), || !matches!(child.try_wait(), Ok(None))) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The guard's own life, behind the hidden command: until `bye`, or until whoever posted it is dead.
///
/// # Errors
/// When this process cannot make itself deaf to signals; no guard is on duty then, and its poster is told so by the
/// missing line on stdout.
pub fn serve_guard(dir: &Path) -> std::io::Result<()> {
    // Only fails when we lead a group already (started by hand): the signals below are ignored all the same.
    let _ = rustix::process::setsid();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        // A handler once installed stays for the life of the process, also when nobody listens to it.
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()] {
            drop(signal(kind)?);
        }
        Ok::<_, std::io::Error>(())
    })?;
    println_ready()?;
    let mut group = None;
    for line in std::io::stdin().lock().lines() {
        match line.as_deref().map(str::trim) {
            Ok(BYE) => return Ok(()),
            Ok(line) => group = line.strip_prefix("group ").and_then(|number| number.parse().ok()).or(group),
            Err(_) => break,
        }
    }
    if let Some(group) = group {
        process::signal_group(group, Signal::KILL);
    }
    sweep::kill_residents(dir);
    home::remove(dir);
    Ok(())
}

/// The handshake is a word between two processes of ours, not an answer to a reader: it does not go through the printer.
fn println_ready() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{READY}")?;
    out.flush()
}
