//! `run`, `resume`, `report`: whole campaigns on a small application, with a real browser and real signals.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::campaign_kit::state;
use crate::sandbox::{Answer, Sandbox};

/// A small application: `/a` is fine, `/bug` has a button that throws, `/gate` answers only when it is opened, `/broken`
/// closes the connection, `/private` asks for a login that is always refused.
struct App {
    address: SocketAddr,
    /// Somebody asked for `/gate`.
    asked: Arc<Notify>,
    open: watch::Sender<bool>,
    stop: Arc<AtomicBool>,
    /// What was asked for below `/hit/`.
    hits: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl App {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Notify::new());
        let stop = Arc::new(AtomicBool::new(false));
        let (open, is_open) = watch::channel(false);
        let hits = Arc::new(Mutex::new(Vec::new()));
        let (notify, stopped, noted) = (asked.clone(), stop.clone(), hits.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (notify, is_open, stopped) = (notify.clone(), is_open.clone(), stopped.clone());
                let noted = noted.clone();
                tokio::spawn(async move { answer(stream, &notify, is_open, &stopped, &noted).await });
            }
        });
        Self { address, asked, open, stop, hits, task }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A started campaign of these routes.
    fn campaign(&self, routes: &[&str]) -> Sandbox {
        let sandbox = Sandbox::new();
        let url = self.url();
        let mut arguments = vec!["init", "--base-url", &url, "--project", "small"];
        for route in routes {
            arguments.extend(["--route", route]);
        }
        sandbox.run(&arguments).exits(0);
        sandbox
    }

    /// Nobody listens any more, and what hangs is cut off.
    async fn go_down(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.task.abort();
        let _ = (&mut self.task).await;
        self.open.send_replace(true);
    }
}

async fn answer(
    mut stream: TcpStream,
    asked: &Notify,
    mut open: watch::Receiver<bool>,
    stop: &AtomicBool,
    hits: &Mutex<Vec<String>>,
) {
    let mut request = vec![0; 8192];
    let read = stream.read(&mut request).await.unwrap_or(0);
    let line = String::from_utf8_lossy(&request[..read]).lines().next().unwrap_or_default().to_owned();
    let path = line.split(' ').nth(1).unwrap_or("/");
    let login = "<form method=post action=/login><label>User <input name=u></label>\
        <label>Password <input type=password name=p></label><button>Sign in</button></form>";
    hits.lock().unwrap().extend(path.strip_prefix("/hit/").map(str::to_owned));
    let (status, body) = match path {
        "/broken" => return,
        "/gate" => {
            asked.notify_one();
            let _ = open.wait_for(|open| *open).await;
            if stop.load(Ordering::SeqCst) {
                return;
            }
            ("200 OK", "<button onclick=\"this.textContent='Pressed'\">Press</button>")
        }
        "/bug" => ("200 OK", "<button onclick=\"throw new Error('planted')\">Break</button>"),
        "/deep" => ("200 OK", DEEP),
        "/long" => ("200 OK", LONG),
        "/private" => ("302 Found\r\nLocation: /login", ""),
        "/login" => ("200 OK", login),
        "/favicon.ico" => ("204 No Content", ""),
        _ => ("200 OK", "<button onclick=\"this.textContent='Pressed'\">Press</button>"),
    };
    let page = format!("<!doctype html><title>Small</title><h1>Page {path}</h1>{body}");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.len()
    );
    let _ = stream.write_all(format!("{head}{page}").as_bytes()).await;
}

/// Seven buttons, one of which asks for `/gate`.
const LONG: &str = "<p id=said></p><script>for (const name of ['Ash', 'Beech', 'Cedar', 'Gate', 'Dogwood', 'Elm', 'Fir']) {\
    const button = document.createElement('button'); button.textContent = name; document.body.append(button);\
    button.onclick = () => { document.getElementById('said').textContent = name; fetch(name === 'Gate' ? '/gate' : '/hit/' + name); }; }</script>";

/// Each button reveals the next one, deeper than a walk goes.
const DEEP: &str = "<div id=more></div><script>const names = ['Ash', 'Beech', 'Cedar', 'Dogwood', 'Elm', 'Fir', 'Ginkgo', 'Hazel', 'Ivy', 'Juniper'];\
    const next = (level) => { const button = document.createElement(['button', 'a', 'summary'][level % 3]);\
    button.textContent = names[level]; button.setAttribute('role', ['button', 'menuitem', 'tab'][level % 3]); button.tabIndex = 0;\
    button.onclick = () => { if (names[level + 1] && !button.dataset.done) { button.dataset.done = 1; next(level + 1); } };\
    document.getElementById('more').append(button); }; next(0);</script>";

/// Runs the program to its end while the application of the test answers.
async fn run(sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    finish(start(sandbox, arguments)).await
}

fn start(sandbox: &Sandbox, arguments: &[&str]) -> Child {
    let mut command = sandbox.command(arguments);
    command.env("AGENT_TEST_USERNAME", "me").env("AGENT_TEST_PASSWORD", "wrong");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the built binary starts")
}

async fn finish(child: Child) -> Answer {
    tokio::task::spawn_blocking(|| child.wait_with_output().unwrap().into()).await.unwrap()
}

fn kill(child: &Child, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
}

async fn asked(app: &App) {
    tokio::time::timeout(Duration::from_mins(1), app.asked.notified()).await.expect("the page is opened");
}

/// Each screenshot that a report names exists, and each one on the disk is named by its report.
fn assert_screenshots_agree(sandbox: &Sandbox, slug: &str) {
    let report: Value = serde_json::from_str(&sandbox.read(&format!("monkey-test-reports/{slug}.json"))).unwrap();
    let mut named = BTreeSet::new();
    collect(&report, &mut named);
    let folder = std::fs::read_dir(sandbox.file(&format!("monkey-test-screenshots/{slug}"))).unwrap();
    let there: BTreeSet<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(named, there, "{report:#}");
}

fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match (key.as_str(), value) {
                    // Steps name it with its folder.
                    ("screenshot", Value::String(name)) => names.extend(name.rsplit('/').next().map(str::to_owned)),
                    ("screenshots", Value::Array(list)) => {
                        names.extend(list.iter().filter_map(|name| name.as_str().map(str::to_owned)));
                    }
                    _ => collect(value, names),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, names)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_runs_through_all_phases_and_its_files_agree() {
    let app = App::start().await;
    let sandbox = app.campaign(&["/a", "/bug"]);
    let answer = run(&sandbox, &["run", "--workers", "2", "--json"]).await.exits(1);
    let document = answer.json();
    assert_eq!((&document["phase"], &document["exitCode"]), (&"done".into(), &1.into()));
    assert_eq!(document["counts"]["review_complete"], 2, "{document:#}");
    let bug = &document["routes"].as_array().unwrap().iter().find(|route| route["route"] == "/bug").unwrap()["bugs"][0];
    assert!(bug["description"].as_str().unwrap().contains("planted"), "{document:#}");
    for format in ["markdown", "html", "junit"] {
        let text = sandbox.read(document["reports"][format].as_str().unwrap());
        assert!(text.contains("planted"), "{format}");
    }
    for slug in ["a", "bug"] {
        assert_screenshots_agree(&sandbox, slug);
        assert!(sandbox.read(&format!("monkey-test-reports/{slug}-bugs.md")).contains("Bug Report"));
    }
    let run_file: Value = serde_json::from_str(&sandbox.read(document["runs"][0].as_str().unwrap())).unwrap();
    assert_eq!(run_file["flows"].as_array().unwrap().len(), 2);
    let state = state(&sandbox);
    assert!(state.get("claims").is_none_or(|claims| claims.as_object().unwrap().is_empty()), "{state:#}");

    // Nothing is left to do: said at once, by the same exit code, and nothing is written.
    let before = sandbox.read(".monkey-test-state.json");
    let again = run(&sandbox, &["resume", "--json"]).await.exits(1).json();
    assert_eq!(again["runs"], serde_json::json!([]));
    assert_eq!(sandbox.run(&["resume", "--plan", "--json"]).exits(0).json(), sandbox.run(&["status", "--json"]).json());
    sandbox.run(&["report"]).exits(1);
    assert_eq!(sandbox.read(".monkey-test-state.json"), before);
    sandbox.run(&["check"]).exits(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_interrupted_gives_its_route_back_and_is_resumed() {
    let app = App::start().await;
    let sandbox = app.campaign(&["/gate"]);
    let child = start(&sandbox, &["run"]);
    asked(&app).await;
    kill(&child, Signal::INT);
    let answer = finish(child).await.exits(3);
    assert!(answer.stderr.contains("`agent-test resume` goes on"), "{}", answer.stderr);
    let standing = sandbox.run(&["status", "--json"]).json();
    assert_eq!((&standing["free"], &standing["leased"]), (&1.into(), &0.into()), "{standing:#}");
    assert!(state(&sandbox).get("attempts").is_none());
    app.open.send_replace(true);
    let answer = run(&sandbox, &["resume"]).await.exits(0);
    assert!(answer.stdout.contains("waiting   /gate"), "{}", answer.stdout);
    assert_screenshots_agree(&sandbox, "gate");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_as_deep_as_a_walk_may_go_is_gone_into_to_the_limit() {
    let app = App::start().await;
    let sandbox = app.campaign(&["/deep"]);
    run(&sandbox, &["run", "--no-confirm"]).await.exits(0);
    let report: Value = serde_json::from_str(&sandbox.read("monkey-test-reports/deep.json")).unwrap();
    let mut node = &report["action_tree"]["toolbar"][0];
    for name in ["Ash", "Beech", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel"] {
        assert_eq!(node["label"], name, "{report:#}");
        node = &node["children"][0];
    }
    assert!(report["limits"].to_string().contains("deeper than 8"), "{:#}", report["limits"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exploration_that_is_told_to_end_leaves_no_half_report() {
    let app = App::start().await;
    let sandbox = Sandbox::new();
    for signal in [Signal::INT, Signal::TERM] {
        let child = start(&sandbox, &["explore", "/gate", "--base-url", &app.url()]);
        asked(&app).await;
        kill(&child, signal);
        let answer = finish(child).await.exits(3);
        assert!(answer.stderr.contains("interrupted while exploring /gate"), "{}", answer.stderr);
        assert!(!sandbox.file("monkey-test-reports/gate.json").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exploration_that_is_cut_off_leaves_the_earlier_report_with_its_pictures() {
    let app = App::start().await;
    let sandbox = Sandbox::new();
    let url = app.url();
    let explore = ["explore", "/gate", "--base-url", &url, "--no-confirm"];
    app.open.send_replace(true);
    run(&sandbox, &explore).await.exits(0);
    asked(&app).await;
    app.open.send_replace(false);
    let report = sandbox.read("monkey-test-reports/gate.json");
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let child = start(&sandbox, &explore);
        asked(&app).await;
        kill(&child, signal);
        finish(child).await;
        assert_eq!(sandbox.read("monkey-test-reports/gate.json"), report);
        assert_screenshots_agree(&sandbox, "gate");
    }
    // The next one takes their place, and nothing of those that were cut off is left.
    app.open.send_replace(true);
    run(&sandbox, &explore).await.exits(0);
    assert_screenshots_agree(&sandbox, "gate");
    let runs = std::fs::read_dir(sandbox.file(".agent-test/runs")).unwrap();
    let left: Vec<String> = runs.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|name| !name.contains(".parts")), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_that_was_cut_off_goes_on_from_its_last_finished_branch() {
    for signal in [Signal::INT, Signal::KILL] {
        let app = App::start().await;
        let sandbox = app.campaign(&["/long"]);
        let child = start(&sandbox, &["run"]);
        asked(&app).await;
        kill(&child, signal);
        finish(child).await;
        assert_eq!(*app.hits.lock().unwrap(), ["Ash", "Beech", "Cedar"]);
        app.open.send_replace(true);
        let answer = run(&sandbox, &["resume"]).await.exits(0);
        assert!(answer.stderr.contains("/long goes on: "), "{}", answer.stderr);
        let report: Value = serde_json::from_str(&sandbox.read("monkey-test-reports/long.json")).unwrap();
        let toolbar = report["action_tree"]["toolbar"].as_array().unwrap();
        let labels: Vec<&str> = toolbar.iter().filter_map(|node| node["label"].as_str()).collect();
        assert_eq!(labels, ["Ash", "Beech", "Cedar", "Gate", "Dogwood", "Elm", "Fir"]);
        assert!(toolbar.iter().all(|node| node["action_result"] == "content_changed"), "{report:#}");
        assert_eq!((&report["coverage"]["found"], &report["coverage"]["acted_on"]), (&7.into(), &7.into()));
        assert_eq!(report["operations_count"]["passed"], 7);
        // The first branch is written down at once, further ones every two seconds.
        let again = app.hits.lock().unwrap().iter().filter(|name| *name == "Ash").count();
        assert_eq!(again, 1, "{:?}", app.hits.lock().unwrap());
        assert_screenshots_agree(&sandbox, "long");
        assert!(!sandbox.file(".agent-test/unfinished/long.json").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_of_another_campaign_is_not_believed() {
    let app = App::start().await;
    let sandbox = app.campaign(&["/long"]);
    let child = start(&sandbox, &["run"]);
    asked(&app).await;
    kill(&child, Signal::KILL);
    finish(child).await;
    std::fs::remove_file(sandbox.file(".monkey-test-state.json")).unwrap();
    app.open.send_replace(true);
    sandbox.run(&["init", "--base-url", &app.url(), "--project", "small", "--route", "/long", "--force"]);
    let answer = run(&sandbox, &["run"]).await.exits(0);
    assert!(!answer.stderr.contains("goes on"), "{}", answer.stderr);
    assert_eq!(app.hits.lock().unwrap().iter().filter(|name| *name == "Ash").count(), 2);
    assert_screenshots_agree(&sandbox, "long");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_route_of_a_run_that_was_killed_is_free_at_once() {
    let app = App::start().await;
    let sandbox = app.campaign(&["/gate"]);
    let child = start(&sandbox, &["run"]);
    asked(&app).await;
    kill(&child, Signal::KILL);
    finish(child).await.exits(-1);
    assert_eq!(sandbox.run(&["status", "--json"]).json()["leased"], 1);
    app.open.send_replace(true);
    run(&sandbox, &["run"]).await.exits(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_that_is_down_or_goes_down_leaves_its_routes_pending() {
    let mut app = App::start().await;
    let sandbox = app.campaign(&["/gate", "/a"]);
    let child = start(&sandbox, &["run", "--workers", "1"]);
    asked(&app).await;
    app.go_down().await;
    let answer = finish(child).await.exits(3);
    assert!(answer.stderr.contains("cannot be reached"), "{}", answer.stderr);
    let answer = run(&sandbox, &["run", "--json"]).await.exits(3).json();
    assert_eq!((&answer["error"]["code"], &answer["counts"]["pending"]), (&"unreachable".into(), &2.into()));
    let state = state(&sandbox);
    assert!(state.get("attempts").is_none(), "{state:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_that_fails_every_time_is_given_up_after_three_and_the_rest_goes_on() {
    let app = App::start().await;
    let sandbox = app.campaign(&["/broken", "/a"]);
    let answer = run(&sandbox, &["run", "--workers", "1"]).await.exits(1);
    assert!(answer.stderr.contains("/broken") && answer.stderr.contains("given up"), "{}", answer.stderr);
    let state = state(&sandbox);
    assert_eq!(state["failed"][0]["route"], "/broken");
    assert!(state["failed"][0]["error"].as_str().unwrap().contains("/broken"), "{state:#}");
    assert_eq!(state["completed"][0]["review_status"], "review_complete");
    assert!(sandbox.read("monkey-test-reports/FINAL-REPORT.md").contains("/broken"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_login_blocks_the_campaign() {
    let app = App::start().await;
    let sandbox = app.campaign(&["/private"]);
    let answer = run(&sandbox, &["run", "--json"]).await.exits(3).json();
    assert_eq!((&answer["phase"], &answer["error"]["code"]), (&"blocked".into(), &"blocked".into()), "{answer:#}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("login"), "{answer:#}");
    assert!(!answer.to_string().contains("wrong"), "{answer:#}");
    assert_eq!(answer["counts"]["pending"], 1);
    run(&sandbox, &["resume"]).await.exits(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_dies_is_replaced() {
    let app = App::start().await;
    let sandbox = app.campaign(&["/gate"]);
    let child = start(&sandbox, &["run"]);
    asked(&app).await;
    for group in drivers_of(child.id()) {
        rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    }
    app.open.send_replace(true);
    let answer = finish(child).await.exits(0);
    assert!(answer.stderr.contains("another one is started"), "{}", answer.stderr);
}

/// The chromedrivers that this process started; each leads its group.
fn drivers_of(parent: u32) -> Vec<Pid> {
    let children = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (name, rest) = stat.rsplit_once(')')?;
        let is_child = rest.split_whitespace().nth(1)? == parent.to_string();
        (is_child && name.contains("chromedriver")).then(|| Pid::from_raw(pid))?
    });
    let found: Vec<Pid> = children.collect();
    assert!(!found.is_empty(), "no chromedriver was started");
    found
}

#[test]
fn what_others_hold_is_left_and_said() {
    let sandbox = crate::campaign_kit::campaign(&["/a"]);
    sandbox.run(&["claim", "--worker", "somebody"]).exits(0);
    let answer = sandbox.run(&["run", "--json"]).exits(3).json();
    assert_eq!(answer["error"]["code"], "held", "{answer:#}");
}

#[test]
fn a_run_without_a_campaign_says_how_to_begin() {
    for command in ["run", "resume", "report"] {
        let answer = Sandbox::new().run(&[command]).exits(2);
        assert!(answer.stderr.contains("agent-test init"), "{}", answer.stderr);
    }
}

#[test]
fn a_completed_route_without_its_report_fails_its_review_and_stands_in_the_final_report() {
    let sandbox = crate::campaign_kit::campaign(&["/a", "/b"]);
    crate::campaign_kit::complete(&sandbox, "/a");
    crate::campaign_kit::complete(&sandbox, "/b");
    std::fs::remove_file(sandbox.file("monkey-test-reports/a.json")).unwrap();
    sandbox.run(&["run"]).exits(1);
    let state = state(&sandbox);
    let status: Vec<&Value> =
        state["completed"].as_array().unwrap().iter().map(|entry| &entry["review_status"]).collect();
    assert_eq!(status, ["review_failed", "review_complete"]);
    assert!(sandbox.read("monkey-test-reports/FINAL-REPORT.md").contains("cannot be read"));
    assert_eq!(sandbox.run(&["status", "--json"]).json()["phase"], "done");
}

#[test]
fn a_report_that_is_gone_is_told_as_gone_and_not_as_a_route_without_bugs() {
    let sandbox = crate::campaign_kit::campaign(&["/a"]);
    crate::campaign_kit::complete(&sandbox, "/a");
    std::fs::remove_file(sandbox.file("monkey-test-reports/a.json")).unwrap();
    let answer = sandbox.run(&["report"]).exits(1);
    assert!(answer.stdout.contains("/a  report missing: its report `monkey-test-reports/a.json`"), "{}", answer.stdout);
    assert!(answer.stdout.contains("the state noted"), "{}", answer.stdout);
    let route = sandbox.run(&["report", "--json"]).exits(1).json()["routes"][0].clone();
    assert_eq!(route["status"], "report_missing", "{route:#}");
    assert!(route["error"].as_str().unwrap().contains("cannot be read"), "{route:#}");
    assert!(sandbox.read("monkey-test-reports/junit.xml").contains("report_missing"));
    assert!(sandbox.read("monkey-test-reports/FINAL-REPORT.md").contains("Put the reports back"));
}

#[test]
fn a_report_on_the_way_does_not_end_the_campaign() {
    let sandbox = crate::campaign_kit::campaign(&["/a", "/b"]);
    crate::campaign_kit::complete(&sandbox, "/a");
    let answer = sandbox.run(&["report", "--json"]).exits(1).json();
    assert_eq!(answer["final"], false);
    assert!(sandbox.read("monkey-test-reports/junit.xml").contains("/b"));
    assert!(state(&sandbox).get("final_report").is_none());
    assert_eq!(sandbox.run(&["status", "--json"]).json()["phase"], "testing");
}

#[test]
fn the_demo_replaces_nothing_but_an_earlier_demo() {
    let sandbox = Sandbox::new();
    sandbox.write("mine/notes.txt", "mine");
    let answer = sandbox.run(&["demo", "--out", "mine"]).exits(2);
    assert!(answer.stderr.contains("holds something else"), "{}", answer.stderr);
}
