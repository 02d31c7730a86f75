//! Real chromedriver, real Chromium, real signals: nothing of ours outlives us, and nothing of others is touched.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use agent_test::browser::driver::{
    Driver, DriverError, DriverOptions, Swept, find_browser, open_session, probe_session, reach_webdriver, sweep,
};
use agent_test::exit::Explain;
use rustix::process::{Pid, Signal};

use crate::sandbox::Sandbox;

/// How long after our death everything must be gone. The promise is one second; the machine may be busy.
const SOON: Duration = Duration::from_secs(15);

/// A process that has a browser open.
struct Holder {
    child: Child,
    group: u32,
    guard: u32,
    profile: PathBuf,
}

impl Holder {
    /// Starts one as the leader of a group of its own, as a shell does with a foreground job.
    fn start(sandbox: &Sandbox, options: &[&str]) -> Self {
        let runtime = sandbox.file("runtime");
        let mut arguments = vec!["__hold-driver", runtime.to_str().unwrap()];
        arguments.extend(options);
        let mut child = hearing(&sandbox.command(&arguments))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let output = child.wait_with_output().unwrap();
            panic!("the holder opened no browser: {}", String::from_utf8_lossy(&output.stderr));
        }
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        let number = |key: &str| u32::try_from(said[key].as_u64().unwrap()).unwrap();
        Self {
            group: number("group"),
            guard: number("guard"),
            profile: said["profile"].as_str().unwrap().into(),
            child,
        }
    }

    fn home(&self) -> &Path {
        self.profile.parent().unwrap()
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process_group(pid(self.child.id()), signal).unwrap();
    }

    #[track_caller]
    fn leaves_nothing(&self) {
        let start = Instant::now();
        assert!(
            eventually(SOON, || members(self.group).is_empty() && !self.home().exists()),
            "left after {:?}: processes {:?}, home there: {}",
            start.elapsed(),
            members(self.group),
            self.home().exists()
        );
        assert!(eventually(SOON, || !runs(self.guard)), "the guard is still there");
    }
}

/// The same command, hearing the signals of a terminal also where whoever started the tests ignores them: in the
/// background of a shell, under `nohup`.
fn hearing(command: &Command) -> Command {
    let mut hearing = Command::new("env");
    hearing.arg("--default-signal=HUP,INT").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => hearing.env(name, value),
            None => hearing.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        hearing.current_dir(directory);
    }
    hearing
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Only if the test failed is there anything in it.
        if !members(self.group).is_empty() {
            let _ = rustix::process::kill_process_group(pid(self.group), Signal::KILL);
        }
    }
}

fn pid(raw: u32) -> Pid {
    Pid::from_raw(i32::try_from(raw).unwrap()).unwrap()
}

fn eventually(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// State and group of a process, from `/proc`.
fn stat(process: u32) -> Option<(String, u32)> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = line.rsplit_once(')')?.1.split_whitespace().map(str::to_owned);
    Some((fields.next()?, fields.nth(1)?.parse().ok()?))
}

fn runs(process: u32) -> bool {
    stat(process).is_some_and(|(state, _)| state != "Z" && state != "X")
}

fn processes() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn members(group: u32) -> Vec<u32> {
    processes().filter(|process| runs(*process) && stat(*process).is_some_and(|(_, its)| its == group)).collect()
}

fn mentions(process: u32, path: &Path) -> bool {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(path.to_str().unwrap())
}

/// A browser that is not ours, with a command line that looks like ours.
struct Stranger(Child);

impl Stranger {
    fn start(profile: &Path) -> Self {
        let child = Command::new(find_browser(None).unwrap())
            .args(["--headless=new", "--no-sandbox", "--no-first-run", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .env("TMPDIR", profile.parent().unwrap().parent().unwrap())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stranger = Self(child);
        assert!(eventually(Duration::from_secs(30), || profile.join("DevToolsActivePort").exists()));
        stranger
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process_group(pid(self.0.id()), Signal::KILL);
        let _ = self.0.wait();
    }
}

fn program(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn all_browser_processes_are_in_the_group_that_dies_with_us() {
    let sandbox = Sandbox::new();
    let holder = Holder::start(&sandbox, &[]);
    let ours: Vec<u32> = processes().filter(|p| mentions(*p, &holder.profile)).collect();
    assert!(!ours.is_empty());
    for process in ours {
        assert_eq!(stat(process).unwrap().1, holder.group);
    }
    assert!(members(holder.group).len() > 3);
    assert_ne!(stat(holder.guard).unwrap().1, stat(holder.child.id()).unwrap().1);
}

#[test]
fn a_killed_owner_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let holder = Holder::start(&sandbox, &[]);
    // The owner's whole group, without a chance to react.
    holder.signal(Signal::KILL);
    holder.leaves_nothing();
}

#[test]
fn the_shell_stands_guard_for_programs_that_merely_link_the_library() {
    let sandbox = Sandbox::new();
    let holder = Holder::start(&sandbox, &["--shell-guard"]);
    holder.signal(Signal::KILL);
    holder.leaves_nothing();
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let holder = Holder::start(&sandbox, &[]);
    holder.signal(Signal::INT);
    holder.leaves_nothing();
}

#[test]
fn a_closed_terminal_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let holder = Holder::start(&sandbox, &[]);
    // The guard is asked too, and must not go before its work is done.
    for deaf in [Signal::HUP, Signal::TERM, Signal::INT] {
        rustix::process::kill_process(pid(holder.guard), deaf).unwrap();
    }
    holder.signal(Signal::HUP);
    holder.leaves_nothing();
}

#[test]
fn a_panic_with_a_browser_open_ends_the_process_and_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let mut holder = Holder::start(&sandbox, &["--panic"]);
    assert!(eventually(Duration::from_secs(15), || holder.child.try_wait().unwrap().is_some()), "the process hangs");
    assert_eq!(holder.child.wait().unwrap().code(), Some(101));
    holder.leaves_nothing();
}

#[test]
fn an_orderly_end_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let mut holder = Holder::start(&sandbox, &[]);
    drop(holder.child.stdin.take());
    assert_eq!(holder.child.wait().unwrap().code(), Some(0));
    holder.leaves_nothing();
}

#[test]
fn the_next_start_clears_what_a_guardless_owner_left_and_spares_everybody_else() {
    let sandbox = Sandbox::new();
    let runtime = sandbox.file("runtime");
    let living = Holder::start(&sandbox, &[]);
    let mut dead = Holder::start(&sandbox, &[]);
    let stranger = Stranger::start(&runtime.join("agent-test-browser-stranger").join("profile-0"));
    // The guard first, so that only the sweep is left.
    rustix::process::kill_process(pid(dead.guard), Signal::KILL).unwrap();
    dead.signal(Signal::KILL);
    // Its first thread may be dead while another one still holds the lock: only the end of all of them is its end.
    dead.child.wait().unwrap();
    assert!(!members(dead.group).is_empty(), "something else cleared it");

    let swept = sweep(&runtime);

    assert_eq!(swept.homes, 1);
    assert!(swept.processes >= 1);
    dead.leaves_nothing();
    assert!(runs(stranger.0.id()) && runs(living.child.id()));
    assert!(members(living.group).len() > 3 && living.home().is_dir());
    assert_eq!(sweep(&runtime), Swept::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_opens_sessions_with_profiles_of_their_own_and_stops() {
    let runtime = tempfile::tempdir().unwrap();
    let driver = Driver::start(&DriverOptions::new(runtime.path())).await.unwrap();
    assert_eq!(driver.url().host_str(), Some("127.0.0.1"));
    reach_webdriver(driver.url()).await.unwrap();
    let (one, two) = tokio::join!(probe_session(&driver), probe_session(&driver));
    assert!(one.unwrap().browser.starts_with("chrome"));
    two.unwrap();
    assert!(driver.is_running());

    driver.stop().await;
    driver.stop().await;

    assert!(!driver.is_running());
    assert!(members(driver.process_group()).is_empty());
    assert_eq!(std::fs::read_dir(runtime.path()).unwrap().count(), 0);
    let error = reach_webdriver(driver.url()).await.unwrap_err();
    assert_eq!(error.code(), "webdriver_unreachable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_driver_ends_a_browser_that_is_still_open() {
    let runtime = tempfile::tempdir().unwrap();
    let driver = Driver::start(&DriverOptions::new(runtime.path())).await.unwrap();
    let profile = driver.profile_dir();
    let session = open_session(driver.url(), Some((driver.chrome_path(), &profile))).await.unwrap();
    // Nobody is left who could answer its goodbye.
    session.leak().unwrap();
    let group = driver.process_group();
    drop(driver);
    assert!(members(group).is_empty());
    assert_eq!(std::fs::read_dir(runtime.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_died_alone_is_noticed_and_its_browsers_are_ended() {
    let runtime = tempfile::tempdir().unwrap();
    let driver = Driver::start(&DriverOptions::new(runtime.path())).await.unwrap();
    let profile = driver.profile_dir();
    let session = open_session(driver.url(), Some((driver.chrome_path(), &profile))).await.unwrap();
    session.leak().unwrap();
    rustix::process::kill_process(pid(driver.process_group()), Signal::KILL).unwrap();
    assert!(eventually(SOON, || !driver.is_running()));
    assert!(!members(driver.process_group()).is_empty(), "the browsers went by themselves");
    driver.stop().await;
    assert!(members(driver.process_group()).is_empty());
}

#[tokio::test]
async fn a_driver_that_ends_at_once_is_quoted() {
    let dir = tempfile::tempdir().unwrap();
    let fake = dir.path().join("chromedriver");
    program(&fake, "[ \"$1\" = --version ] && exit 0; echo 'cannot open display' >&2; exit 1");
    let runtime = dir.path().join("runtime");
    let options = DriverOptions { chromedriver: Some(fake), ..DriverOptions::new(&runtime) };
    let error = Driver::start(&options).await.unwrap_err();
    assert!(matches!(error, DriverError::NotUp { .. }), "{error}");
    assert!(error.to_string().contains("ended before it said its port"), "{error}");
    assert!(error.to_string().contains("cannot open display"), "{error}");
    assert_eq!(std::fs::read_dir(runtime).unwrap().count(), 0);
}

#[tokio::test]
async fn a_driver_of_another_major_version_is_refused_with_both_versions() {
    let dir = tempfile::tempdir().unwrap();
    let fake = dir.path().join("chromedriver");
    program(&fake, "echo 'ChromeDriver 7.1.2 (x)'; echo 'ChromeDriver was started successfully on port 9.'");
    let options = DriverOptions { chromedriver: Some(fake), ..DriverOptions::new(dir.path().join("runtime")) };
    let error = Driver::start(&options).await.unwrap_err();
    assert_eq!(error.code(), "versions_differ");
    assert!(error.to_string().starts_with("chromedriver 7.1.2 cannot drive browser "), "{error}");
}

#[tokio::test]
async fn what_answers_but_is_no_webdriver_is_told_apart_from_silence() {
    let app = axum::Router::new().fallback(|| async { "hello" });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let error = reach_webdriver(&url).await.unwrap_err();
    assert!(error.to_string().ends_with("what answers there is no WebDriver"), "{error}");
    server.abort();
}
