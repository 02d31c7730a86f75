//! Starts chromedriver and ends it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitId, WaitIdOptions};
use tokio::sync::mpsc;
use url::Url;

use super::error::DriverError;
use super::find::Binaries;
use super::guard::{Guard, GuardProgram};
use super::home::{self, Home};
use super::process::{POLL, group_runs, signal_group};
use super::sweep::sweep;

/// So often a driver that met a taken port is started again.
const PORT_TRIES: u32 = 3;

/// How long chromedriver may take to say its port. It needs a tenth of a second on an idle machine.
const UP: Duration = Duration::from_secs(30);
/// How long browsers may take to close by themselves.
const GRACE: Duration = Duration::from_millis(1500);
/// How long a killed group may take to be gone before we stop waiting for it.
const GONE: Duration = Duration::from_secs(5);
/// How many of the driver's last lines are kept.
const LINES: usize = 20;

/// What to start, and where its files go.
#[derive(Clone, Debug, Default)]
pub struct DriverOptions {
    /// The browser; else the environment's, else the one found.
    pub chrome: Option<PathBuf>,
    /// chromedriver; else the environment's, else the one found.
    pub chromedriver: Option<PathBuf>,
    /// Where homes with profiles are made; the same directory at each start, or the sweep finds nothing.
    pub runtime_dir: PathBuf,
}

impl DriverOptions {
    /// Programs as found, files in this directory.
    #[must_use]
    pub fn new(runtime_dir: impl Into<PathBuf>) -> Self {
        Self { chrome: None, chromedriver: None, runtime_dir: runtime_dir.into() }
    }
}

/// A running chromedriver of ours. Dropping it ends it, with every browser that it started.
#[derive(Debug)]
pub struct Driver {
    url: Url,
    binaries: Binaries,
    group: u32,
    home: PathBuf,
    running: Mutex<Option<Running>>,
    said: Said,
}

impl Driver {
    /// Clears what dead owners left, then starts chromedriver on a free loopback port and waits until it listens.
    ///
    /// # Errors
    /// When a program is missing, the two do not fit, or the driver does not come up. Nothing is left running then.
    pub async fn start(options: &DriverOptions) -> Result<Self, DriverError> {
        Self::start_guarded(options, &GuardProgram::of_this_process()).await
    }

    /// The same with a guard of the caller's choice.
    ///
    /// # Errors
    /// As [`Driver::start`].
    pub async fn start_guarded(options: &DriverOptions, guard: &GuardProgram) -> Result<Self, DriverError> {
        let mut left = PORT_TRIES;
        loop {
            match Self::start_once(options, guard).await {
                // The driver takes a free port of IPv6, and another program may have the same of IPv4.
                Err(DriverError::NotUp { last_lines, .. })
                    if left > 0 && last_lines.iter().any(|line| line.contains("port not available")) =>
                {
                    left -= 1;
                }
                started => return started,
            }
        }
    }

    async fn start_once(options: &DriverOptions, guard: &GuardProgram) -> Result<Self, DriverError> {
        let binaries = Binaries::find(options.chrome.as_deref(), options.chromedriver.as_deref())?;
        let swept = sweep(&options.runtime_dir);
        if swept != super::Swept::default() {
            tracing::info!(homes = swept.homes, processes = swept.processes, "cleared what a dead owner left");
        }
        let home = Home::create(&options.runtime_dir)?;
        let guard = match Guard::post(guard, home.dir()).await {
            Ok(guard) => guard,
            // A binary that cannot start itself again is no reason to run unguarded.
            Err(_) if *guard != GuardProgram::Shell => Guard::post(&GuardProgram::Shell, home.dir()).await?,
            Err(error) => return Err(error),
        };
        let said = Said::default();
        let (running, mut ports) = Running::spawn(&binaries.chromedriver, home, guard, &said)?;
        let group = running.child.id();
        let home = running.home.dir().to_owned();

        let listens = tokio::time::timeout(UP, ports.recv());
        let (port, fit) = tokio::join!(listens, binaries.check_versions());
        fit?;
        let path = binaries.chromedriver.clone();
        let port = match port {
            Ok(Some(port)) => port,
            Ok(None) => return Err(DriverError::not_up(path, "ended before it said its port", said.lines())),
            Err(_) => return Err(DriverError::silent(path, UP, said.lines())),
        };
        let url = Url::parse(&format!("http://127.0.0.1:{port}"))
            .map_err(|error| DriverError::not_up(path, format!("said a port that is none ({error})"), said.lines()))?;
        Ok(Self { url, binaries, group, home, running: Mutex::new(Some(running)), said })
    }

    /// Where it listens: `http://127.0.0.1:PORT/`.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The browser that belongs to it; sessions name it as their binary.
    #[must_use]
    pub fn chrome_path(&self) -> &Path {
        &self.binaries.chrome
    }

    /// The driver's program.
    #[must_use]
    pub fn chromedriver_path(&self) -> &Path {
        &self.binaries.chromedriver
    }

    /// A path for one session's `--user-data-dir`, different at each call. The browser makes the directory; it goes
    /// when the driver ends, or earlier with [`Driver::forget_profile`].
    #[must_use]
    pub fn profile_dir(&self) -> PathBuf {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().map_or_else(|| self.home.join("profile-ended"), |running| running.home.profile())
    }

    /// Removes a profile whose session has ended; any other path is left alone.
    pub fn forget_profile(&self, profile: &Path) {
        if profile.parent() == Some(self.home.as_path()) && profile.is_dir() {
            // What does not go now goes with the home.
            let _ = std::fs::remove_dir_all(profile);
        }
    }

    /// The number of the process group that holds chromedriver and its browsers.
    #[must_use]
    pub fn process_group(&self) -> u32 {
        self.group
    }

    /// The number of the guard process; nothing once the driver was stopped.
    #[must_use]
    pub fn guard_process(&self) -> Option<u32> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().and_then(|running| running.guard.as_ref()).map(Guard::process)
    }

    /// Whether chromedriver itself still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().is_some_and(Running::leads)
    }

    /// The driver's last lines, oldest first, for error messages.
    #[must_use]
    pub fn last_lines(&self) -> Vec<String> {
        self.said.lines()
    }

    /// Ends the driver and all its browsers, and removes their files. A second call does nothing.
    pub async fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut running) = running {
            let mut ending = running.ask_to_end();
            while !running.has_ended(&mut ending) {
                tokio::time::sleep(POLL).await;
            }
            // Dropped here (or when this future is), which does the rest.
        }
    }
}

/// The processes and files of a driver. Dropping it ends them all, blocking for a moment.
#[derive(Debug)]
struct Running {
    child: Child,
    guard: Option<Guard>,
    home: Home,
}

/// How far an end has come.
#[derive(Clone, Copy, Debug)]
struct Ending {
    since: Instant,
    killed: bool,
}

impl Running {
    fn spawn(
        chromedriver: &Path,
        home: Home,
        guard: Guard,
        said: &Said,
    ) -> Result<(Self, mpsc::UnboundedReceiver<u16>), DriverError> {
        let mut log = std::ffi::OsString::from("--log-path=");
        log.push(home.log());
        let mut command = Command::new(chromedriver);
        if let Some(temp) = home.temp() {
            command.env("TMPDIR", temp);
        }
        let spawned = command
            .arg("--port=0")
            .arg(log)
            .env("BREAKPAD_DUMP_LOCATION", home.crashes())
            .stdin(Stdio::null())
            // Browsers inherit these. Ours would stay open in them, and whoever waits for our output would wait on.
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let child = match spawned {
            Ok(child) => child,
            Err(source) => {
                guard.dismiss();
                return Err(DriverError::Spawn { path: chromedriver.to_owned(), source });
            }
        };
        let mut running = Self { child, guard: Some(guard), home };
        let group = running.child.id();
        if let Some(guard) = &mut running.guard
            && let Err(source) = guard.watch(group)
        {
            return Err(DriverError::Spawn { path: chromedriver.to_owned(), source });
        }
        let (port, ports) = mpsc::unbounded_channel();
        if let Some(stderr) = running.child.stderr.take() {
            said.listen(stderr, None);
        }
        if let Some(stdout) = running.child.stdout.take() {
            said.listen(stdout, Some(port));
        }
        Ok((running, ports))
    }

    /// Whether chromedriver runs, looked at without reaping it.
    fn leads(&self) -> bool {
        let Some(pid) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) else {
            return false;
        };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(rustix::process::waitid(WaitId::Pid(pid), look), Ok(None))
    }

    fn ask_to_end(&self) -> Ending {
        signal_group(self.child.id(), Signal::TERM);
        Ending { since: Instant::now(), killed: false }
    }

    /// One look at the ending group; harder when it takes too long. True when it is gone, or will not go.
    fn has_ended(&mut self, ending: &mut Ending) -> bool {
        if cfg!(not(target_os = "linux")) {
            // Elsewhere a zombie counts as a member.
            let _ = self.child.try_wait();
        }
        if !group_runs(self.child.id()) {
            return true;
        }
        if !ending.killed && ending.since.elapsed() > GRACE {
            signal_group(self.child.id(), Signal::KILL);
            ending.killed = true;
        }
        ending.since.elapsed() > GRACE + GONE
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut ending = self.ask_to_end();
        while !self.has_ended(&mut ending) {
            std::thread::sleep(POLL);
        }
        signal_group(self.child.id(), Signal::KILL);
        let _ = self.child.wait();
        home::remove(self.home.dir());
        // Last: until here the guard would finish the work if we died in the middle of it.
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
    }
}

/// The driver's last lines, read as they come so that it never blocks on a full pipe.
#[derive(Clone, Debug, Default)]
struct Said(Arc<Mutex<VecDeque<String>>>);

impl Said {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn keep(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(300).collect());
    }

    fn listen(&self, pipe: impl Read + Send + 'static, port: Option<mpsc::UnboundedSender<u16>>) {
        let said = self.clone();
        std::thread::spawn(move || {
            let mut port = port;
            let mut reader = BufReader::new(pipe);
            let mut bytes = Vec::new();
            while reader.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
                let line = String::from_utf8_lossy(&bytes);
                said.keep(line.trim_end());
                if let Some(number) = port_of(&line)
                    && let Some(port) = port.take()
                {
                    let _ = port.send(number);
                }
                bytes.clear();
            }
        });
    }
}

/// The port in `ChromeDriver was started successfully on port 39803.`
fn port_of(line: &str) -> Option<u16> {
    line.split_once("started successfully on port ")?.1.trim_end().trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_line_that_says_it_listens() {
        assert_eq!(port_of("ChromeDriver was started successfully on port 39803.\n"), Some(39803));
        assert_eq!(port_of("Starting ChromeDriver 156.0.8078.114 (x) on port 0"), None);
        assert_eq!(port_of("was started successfully on port x"), None);
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let said = Said::default();
        for number in 0..LINES + 5 {
            said.keep(&number.to_string());
        }
        assert_eq!(said.lines().len(), LINES);
        assert_eq!(said.lines().first().map(String::as_str), Some("5"));
    }
}
