//! `agent-test doctor`: is everything here that the program needs, and does a browser really open?

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::browser::driver::{
    Driver, DriverError, DriverOptions, default_runtime_dir, find_browser, find_chromedriver, install_hint,
    probe_session, version_of,
};
use crate::cli::Context;
use crate::exit::{Exit, Explain, Failure};
use crate::state::STATE_FILE;

/// Check the browser, its driver and this machine, and say what to do about what is missing
///
/// Ends with 0 when nothing is missing (a warning is not), 2 when the project or a setting is wrong, 3 when the browser
/// or its driver is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not open a browser
    #[arg(long)]
    quick: bool,
    /// Path of the Chromium or Chrome binary
    #[arg(long, value_name = "PATH")]
    chrome: Option<PathBuf>,
    /// Path of the chromedriver binary
    #[arg(long, value_name = "PATH")]
    chromedriver: Option<PathBuf>,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Grade {
    Ok,
    Warn,
    Fail,
}

/// One line of the answer.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    grade: Grade,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    todo: Option<String>,
    #[serde(skip)]
    exit: Exit,
}

/// The whole answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Diagnosis {
    checks: Vec<Check>,
    exit_code: u8,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, grade: Grade::Ok, found: found.into(), todo: None, exit: Exit::Ok }
    }

    fn warn(name: &'static str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { grade: Grade::Warn, todo: Some(todo.into()), ..Self::ok(name, found) }
    }

    fn fail(name: &'static str, failure: Failure) -> Self {
        Self { grade: Grade::Fail, todo: failure.hint, exit: failure.exit, ..Self::ok(name, failure.message) }
    }
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let checks = super::block_on(examine(context, &args))?;
    let exit = checks.iter().map(|check| check.exit).max().unwrap_or(Exit::Ok);
    for check in &checks {
        context.ui.out(line(context, check));
    }
    context.ui.json(&Diagnosis { checks, exit_code: exit.code() });
    Ok(exit)
}

fn line(context: &Context, check: &Check) -> String {
    let grade = match check.grade {
        Grade::Ok => context.ui.paint("32", "ok  "),
        Grade::Warn => context.ui.paint("33", "warn"),
        Grade::Fail => context.ui.paint("31", "fail"),
    };
    let mut line = format!("{grade}  {:<12}  {}", check.name, check.found);
    if let Some(todo) = &check.todo {
        line.push_str(&format!("\n      {:<12}  -> {todo}", ""));
    }
    line
}

async fn examine(context: &Context, args: &Args) -> Vec<Check> {
    let mut checks = Vec::new();
    let chrome = find_browser(args.chrome.as_deref());
    let chromedriver = find_chromedriver(args.chromedriver.as_deref());
    let pair = chrome.as_ref().ok().cloned().zip(chromedriver.as_ref().ok().cloned());
    checks.push(program("browser", chrome).await);
    checks.push(program("chromedriver", chromedriver).await);
    if let Some((chrome, chromedriver)) = &pair {
        checks.push(versions(chrome, chromedriver).await);
    }
    checks.push(project(&context.project));
    checks.extend(version_control(context).await);
    checks.push(port());
    checks.push(localhost());
    checks.push(shared_memory());
    let runtime_dir = match default_runtime_dir() {
        Ok(dir) => {
            checks.push(Check::ok("profiles", dir.display().to_string()));
            Some(dir)
        }
        Err(error) => {
            checks.push(Check::fail("profiles", error.into()));
            None
        }
    };
    checks.push(node().await);
    if let (false, Some((chrome, chromedriver)), Some(runtime_dir)) = (args.quick, pair, runtime_dir) {
        context.ui.note("opening a browser ...");
        let options = DriverOptions { chrome: Some(chrome), chromedriver: Some(chromedriver), runtime_dir };
        checks.push(session(&options).await);
    }
    checks
}

async fn program(name: &'static str, found: Result<PathBuf, DriverError>) -> Check {
    match found {
        Err(error) => Check::fail(name, error.into()),
        Ok(path) => match version_of(&path).await {
            Some(version) => Check::ok(name, format!("{version} at {}", path.display())),
            None => Check::warn(
                name,
                format!("{} does not tell its version", path.display()),
                format!("if no browser opens, {}", install_hint()),
            ),
        },
    }
}

async fn versions(chrome: &Path, chromedriver: &Path) -> Check {
    let pair = crate::browser::driver::Binaries { chrome: chrome.to_owned(), chromedriver: chromedriver.to_owned() };
    match pair.check_versions().await {
        Ok(()) => Check::ok("versions", "the browser and its driver fit"),
        Err(error) => Check::fail("versions", error.into()),
    }
}

fn project(dir: &Path) -> Check {
    // A nameless file: nothing stays behind, whatever happens.
    match tempfile::tempfile_in(dir) {
        Ok(_) => Check::ok("project", format!("{} is writable", dir.display())),
        Err(error) => Check::fail(
            "project",
            Failure::usage("project_not_writable", format!("cannot write in {}: {error}", dir.display()))
                .hinted("make the directory writable, or name another with --project-dir"),
        ),
    }
}

/// A state under version control is brought back, older, by a change of branch, and conflicts in a merge.
async fn version_control(context: &Context) -> Option<Check> {
    if !context.project().is_in_git() {
        return None;
    }
    let mut git = tokio::process::Command::new("git");
    git.arg("-C").arg(&context.project).args(["ls-files", "--", STATE_FILE, ".agent-test/history.jsonl"]);
    git.stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(std::time::Duration::from_secs(5), git.output()).await.ok()?.ok()?;
    let tracked = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>().join(", ");
    Some(if tracked.is_empty() {
        Check::ok("git", "the campaign's state is not under version control")
    } else {
        Check::warn(
            "git",
            format!("git tracks {tracked}: a change of branch would bring an older state back"),
            "take it out of the index and keep the file; `init` puts it into .git/info/exclude",
        )
    })
}

fn port() -> Check {
    match std::net::TcpListener::bind(("127.0.0.1", 0)) {
        Ok(_) => Check::ok("loopback", "a port on 127.0.0.1 can be opened"),
        Err(error) => Check::fail(
            "loopback",
            Failure::engine("no_loopback", format!("cannot open a port on 127.0.0.1: {error}"))
                .hinted("bring up the loopback interface; in a sandbox, allow local sockets"),
        ),
    }
}

/// chromedriver reaches its browser by the name, not by the address.
fn localhost() -> Check {
    use std::net::ToSocketAddrs;
    match ("localhost", 0).to_socket_addrs().map(|found| found.filter(|address| address.ip().is_loopback()).count()) {
        Ok(1..) => Check::ok("localhost", "the name leads to this machine"),
        _ => Check::fail(
            "localhost",
            Failure::engine("no_localhost", "the name `localhost` does not lead to this machine").hinted(
                "add the line `127.0.0.1 localhost` to /etc/hosts: chromedriver talks to its browser by that name",
            ),
        ),
    }
}

fn shared_memory() -> Check {
    const NAME: &str = "/dev/shm";
    if !cfg!(target_os = "linux") {
        return Check::ok(NAME, "not needed here");
    }
    let todo = "mount a tmpfs there (docker: --shm-size=1g), or pages may crash under load";
    match rustix::fs::statvfs(NAME) {
        Ok(found) => {
            let mib = found.f_blocks.saturating_mul(found.f_frsize) / (1 << 20);
            if mib < 256 {
                Check::warn(NAME, format!("only {mib} MiB of shared memory"), todo)
            } else {
                Check::ok(NAME, format!("{mib} MiB of shared memory"))
            }
        }
        Err(error) => Check::warn(NAME, format!("no shared memory ({error})"), todo),
    }
}

async fn node() -> Check {
    match version_of_node().await {
        Some(version) => Check::ok("node", version),
        None => Check::warn("node", "not found", "only needed to heal Playwright tests: install Node.js for that"),
    }
}

async fn version_of_node() -> Option<String> {
    let output = tokio::process::Command::new("node")
        .arg("--version")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(std::time::Duration::from_secs(5), output).await.ok()?.ok()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

async fn session(options: &DriverOptions) -> Check {
    let driver = match Driver::start(options).await {
        Ok(driver) => driver,
        Err(error) => return Check::fail("session", error.into()),
    };
    let probed = probe_session(&driver).await;
    driver.stop().await;
    match probed {
        Ok(probe) => Check::ok("session", format!("{} opened and answered in {} ms", probe.browser, probe.took_ms)),
        Err(error) => {
            let exit = error.exit();
            let last = driver.last_lines();
            let mut failure = Failure::from(error).hinted(session_todo());
            if let Some(line) = last.last() {
                failure.message.push_str(&format!("; the driver said last: {line}"));
            }
            failure.exit = exit;
            Check::fail("session", failure)
        }
    }
}

fn session_todo() -> String {
    format!(
        "check that the browser starts by itself with --headless, and that both come from one source; {}",
        install_hint()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_check_decides() {
        assert!(Exit::Engine > Exit::Usage && Exit::Usage > Exit::Ok);
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_the_caller_s_to_change() {
        let check = project(Path::new("/proc"));
        assert_eq!((check.grade, check.exit), (Grade::Fail, Exit::Usage));
    }
}
