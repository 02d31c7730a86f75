//! `explore` and its neighbours with what they cannot use: each says which, and ends by the exit code of whose turn it is.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::explore_kit::Site;
use crate::sandbox::{Answer, Sandbox};

const PAGES: &[(&str, &str)] = &[("/a", "<button onclick='hit(`a`)'>Press</button>")];

fn run_with(sandbox: &Sandbox, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
    sandbox.command(arguments).envs(variables.iter().copied()).output().expect("the built binary starts").into()
}

/// The error in the document of a command that failed.
#[track_caller]
fn refused(sandbox: &Sandbox, arguments: &[&str], code: i32, error: &str) -> String {
    let answer = sandbox.run(&[arguments, &["--json"]].concat()).exits(code);
    let document = answer.json();
    assert_eq!((&document["error"]["code"], &document["exitCode"]), (&error.into(), &code.into()), "{document:#}");
    format!("{}{}", answer.stdout, answer.stderr)
}

/// Processes that carry this sandbox in their environment, with their names.
fn processes_of(sandbox: &Sandbox) -> Vec<(Pid, String)> {
    let mark = format!("HOME={}", sandbox.path().display()).into_bytes();
    let carries = |path: &std::path::Path| {
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: std::path::PathBuf| {
        let pid = Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?)?;
        Some((pid, std::fs::read_to_string(path.join("comm")).ok()?.trim().to_owned()))
    };
    all.filter(|path| carries(path)).filter_map(named).collect()
}

/// The browsers of a command that runs in this sandbox, not its driver.
pub fn browsers_of(sandbox: &Sandbox) -> Vec<Pid> {
    let is_browser = |name: &str| name.starts_with("chrom") && !name.starts_with("chromedriver");
    processes_of(sandbox).into_iter().filter(|(_, name)| is_browser(name)).map(|(pid, _)| pid).collect()
}

#[track_caller]
fn assert_nothing_runs(sandbox: &Sandbox) {
    let start = Instant::now();
    while !processes_of(sandbox).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(5), "left running: {:?}", processes_of(sandbox));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An address where nobody listens.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn without_an_address_of_the_application_it_says_where_to_name_one() {
    let text = refused(&Sandbox::new(), &["explore", "/a"], 2, "no_base_url");
    assert!(text.contains("--base-url"), "{text}");
}

#[test]
fn an_address_with_credentials_is_refused_and_not_repeated() {
    let arguments = ["explore", "/a", "--base-url", "http://me:geheim@127.0.0.1:9/"];
    let answer = Sandbox::new().run(&arguments).exits(2);
    assert!(!answer.stderr.contains("geheim") && !answer.stdout.contains("geheim"), "{}", answer.stderr);
    assert!(answer.stderr.contains("AGENT_TEST_PASSWORD"), "{}", answer.stderr);
}

#[test]
fn what_is_no_route_is_refused_by_name() {
    let sandbox = Sandbox::new();
    for text in ["../up", "ftp://elsewhere/x", ""] {
        let answer = sandbox.run(&["explore", text, "--base-url", "http://127.0.0.1:9", "--json"]).exits(2);
        assert_eq!(answer.json()["error"]["code"], "not_a_route", "{text}: {}", answer.stdout);
    }
    assert!(std::fs::read_dir(sandbox.path()).unwrap().next().is_none(), "nothing is written");
}

#[test]
fn an_application_that_is_down_is_named_and_no_driver_is_left() {
    let (sandbox, url) = (Sandbox::new(), nowhere());
    let text = refused(&sandbox, &["explore", "/a", "--base-url", &url], 3, "unreachable");
    assert!(text.contains(&url) && text.contains("cannot be reached"), "{text}");
    assert_nothing_runs(&sandbox);
    assert!(!sandbox.file("monkey-test-reports/a.json").exists());
}

#[test]
fn a_browser_or_driver_that_is_not_where_it_was_said_to_be_is_named() {
    let site = Site::start(PAGES, "");
    for (name, path) in [("AGENT_TEST_CHROME", "/no/such/browser"), ("AGENT_TEST_CHROMEDRIVER", "/no/such/driver")] {
        let sandbox = crate::sandbox::Sandbox::new();
        sandbox.run(&["init", "--base-url", &site.url, "--route", "/a"]).exits(0);
        for command in [&["explore", "/a"][..], &["run"]] {
            let answer = run_with(&sandbox, &[command, &["--json"]].concat(), &[(name, path)]).exits(2);
            assert_eq!(answer.json()["error"]["code"], "named_program_missing");
            assert!(answer.stderr.contains(name) && answer.stderr.contains(path), "{}", answer.stderr);
        }
        assert_eq!(sandbox.run(&["status", "--json"]).json()["free"], 1, "the route is given back");
        assert_nothing_runs(&sandbox);
    }
}

#[test]
fn a_webdriver_that_does_not_answer_is_named() {
    let (site, url) = (Site::start(PAGES, ""), nowhere());
    let arguments = ["explore", "/a", "--base-url", &site.url, "--webdriver", &url];
    let text = refused(&Sandbox::new(), &arguments, 3, "webdriver_unreachable");
    assert!(text.contains(&url), "{text}");
}

#[test]
fn a_project_that_cannot_be_written_is_said_to_be_one() {
    let site = Site::start(PAGES, "");
    let sandbox = Sandbox::new();
    sandbox.write("monkey-test-reports", "a file where the reports belong");
    let arguments = ["explore", "/a", "--base-url", &site.url, "--json"];
    let answer = sandbox.run(&arguments).exits(2);
    assert!(answer.stderr.contains("monkey-test-reports"), "{}", answer.stderr);
    assert_nothing_runs(&sandbox);

    let outer = Sandbox::new();
    outer.write("project", "a file where the project belongs");
    let place = outer.file("project");
    let answer = run_with(&outer, &arguments, &[("AGENT_TEST_PROJECT_DIR", place.to_str().unwrap())]);
    assert!(answer.code >= 2 && answer.stderr.contains("project"), "{}: {}", answer.code, answer.stderr);
    assert_eq!(outer.read("project"), "a file where the project belongs");
    assert_nothing_runs(&outer);
}

#[test]
fn a_storage_state_that_is_none_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("half.json", "{\"cookies\": [");
    let site = Site::start(PAGES, "");
    sandbox.write("other.json", "{\"a\": 1}");
    for file in ["half.json", "missing.json", "other.json"] {
        let arguments = ["explore", "/a", "--base-url", &site.url, "--storage-state", file];
        let text = refused(&sandbox, &arguments, 2, "bad_storage_state");
        assert!(text.contains(file), "{text}");
    }
    assert!(site.requests().is_empty(), "nothing is opened before all input is good");
}

#[test]
fn cookies_of_a_storage_state_begin_the_session() {
    let pages: &[(&str, &str)] = &[("/in/page", "<button onclick='hit(`page`)'>Press</button>")];
    let site = Site::start(pages, "");
    let sandbox = Sandbox::new();
    sandbox.write(
        "in.json",
        r#"{"cookies":[{"name":"session","value":"in","domain":"127.0.0.1","path":"/","expires":-1,"httpOnly":true,"secure":false,"sameSite":"Lax"}],"origins":[]}"#,
    );
    let arguments = ["explore", "/in/page", "--base-url", &site.url, "--storage-state", "in.json"];
    sandbox.run(&arguments).exits(0);
    assert!(site.requests().iter().any(|seen| seen.path == "/hit/page"), "{:?}", site.requests());
}

/// A chromedriver that somebody else started.
struct Foreign {
    child: Child,
    url: String,
}

impl Foreign {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").env("TMPDIR", sandbox.path()).process_group(0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("chromedriver");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines
            .find_map(|line| Some(line.split_once("successfully on port ")?.1.trim_end_matches('.').to_owned()))
            .expect("its port");
        Self { child, url: format!("http://127.0.0.1:{port}") }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

#[test]
fn a_webdriver_that_somebody_else_started_is_used_and_left_running() {
    let (site, sandbox, elsewhere) = (Site::start(PAGES, ""), Sandbox::new(), Sandbox::new());
    let mut foreign = Foreign::start(&elsewhere);
    let arguments = ["explore", "/a", "--base-url", &site.url, "--webdriver", &foreign.url, "--json"];
    let document = sandbox.run(&arguments).exits(0).json();
    assert_eq!(document["routes"][0]["coverage"]["acted_on"], 1, "{document:#}");
    assert!(site.requests().iter().any(|seen| seen.path == "/hit/a"));
    assert!(foreign.child.try_wait().unwrap().is_none(), "it goes on");
    assert_nothing_runs(&sandbox);
}

#[test]
fn a_port_that_is_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let answer = Sandbox::new().run(&["demo", "--serve", "--port", &port]);
    assert!(answer.code >= 2 && answer.stderr.contains(&port) && answer.stderr.contains("--port"), "{}", answer.stderr);
}

#[test]
fn a_page_that_takes_its_browser_down_every_time_is_given_up_and_the_others_go_on() {
    let pages: &[(&str, &str)] = &[("/a", "<button>Press</button>"), ("/kills", "<script>fetch('/poll')</script>")];
    let site = Site::start(pages, "");
    let sandbox = Sandbox::new();
    sandbox.run(&["init", "--base-url", &site.url, "--route", "/kills", "--route", "/a"]).exits(0);
    let mut command = sandbox.command(&["run", "--workers", "1", "--no-confirm"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the built binary starts");
    // The page is no sooner loaded than its browser is gone.
    let (start, mut visits) = (Instant::now(), 0);
    let ended = loop {
        let now = site.requests().iter().filter(|seen| seen.path == "/poll").count();
        if now > visits {
            visits = now;
            for pid in browsers_of(&sandbox) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        if start.elapsed() > Duration::from_mins(4) {
            let _ = rustix::process::kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::TERM);
            child.wait().unwrap();
            panic!("still at it after {visits} visits");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let state = crate::campaign_kit::state(&sandbox);
    assert_eq!(ended.code(), Some(1), "{state:#}");
    assert_eq!((&state["failed"][0]["route"], &state["completed"][0]["route"]), (&"/kills".into(), &"/a".into()));
    assert_eq!(state["attempts"]["/kills"]["errors"].as_array().map(Vec::len), Some(3), "{state:#}");
    assert!(sandbox.read("monkey-test-reports/FINAL-REPORT.md").contains("/kills"));
    assert_nothing_runs(&sandbox);
}
