//! No tests: an application whose one page can be made to behave otherwise, and a run that was recorded on it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::sandbox::{Answer, Sandbox};

/// How the application behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As it was when the run was recorded: "Save" answers 500, "Sum" throws.
    Broken,
    /// Both work.
    Fixed,
    /// "Save" fails every second time.
    Half,
    /// "Save" fails at another endpoint.
    Elsewhere,
    /// "Save" is called "Keep", and works.
    Renamed,
    /// "Save" is called "Keep", and answers 500 as it did.
    RenamedBroken,
    /// "Save" is gone, and a button that deletes is new.
    Trap,
    /// "Save" is called "Keep", and "Save" stands on the button beside it, which deletes.
    Swapped,
    /// "Save" is disabled.
    Disabled,
    /// "Save" works, and comes late.
    Late,
    /// "Save" is never answered.
    Waits,
    /// Every page is a maintenance page with status 200.
    Maintenance,
    /// Every page is the login page.
    Login,
}

/// The application, on a port of its own. Gone when dropped.
pub struct App {
    pub url: String,
    mode: Arc<Mutex<Mode>>,
    log: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl App {
    pub fn start(mode: Mode) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (mode, log, saves) =
            (Arc::new(Mutex::new(mode)), Arc::<Mutex<Vec<String>>>::default(), AtomicUsize::new(0));
        let (asked, saves) = (log.clone(), Arc::new(saves));
        let state = mode.clone();
        let app = Router::new().fallback(move |uri: Uri| {
            asked.lock().unwrap().push(uri.path().to_owned());
            let mode = *state.lock().unwrap();
            let saves = saves.clone();
            async move {
                if mode == Mode::Waits && uri.path() == "/api/save" {
                    std::future::pending::<()>().await;
                }
                answer(mode, uri.path(), &saves)
            }
        });
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, mode, log, _runtime: runtime }
    }

    pub fn become_(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }

    pub fn asked(&self, path: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|seen| *seen == path).count()
    }
}

fn answer(mode: Mode, path: &str, saves: &AtomicUsize) -> Response {
    let html = |text: String| ([(header::CONTENT_TYPE, "text/html")], text).into_response();
    let fails = StatusCode::INTERNAL_SERVER_ERROR.into_response();
    match path {
        "/favicon.ico" => StatusCode::NO_CONTENT.into_response(),
        "/api/save" => match mode {
            Mode::Broken | Mode::RenamedBroken => fails,
            Mode::Half if saves.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => fails,
            _ => "{}".into_response(),
        },
        "/api/keep" if mode == Mode::Elsewhere => fails,
        "/login" => {
            html("<title>Sign in</title><form><input name=u><input type=password><button>Go</button></form>".to_owned())
        }
        _ if path.starts_with("/api/") => "{}".into_response(),
        _ if mode == Mode::Maintenance => {
            html("<title>Sorry</title><h1>Down for maintenance</h1><p>We will be back soon.".to_owned())
        }
        _ if mode == Mode::Login => (StatusCode::FOUND, [(header::LOCATION, "/login")]).into_response(),
        "/notes" => html(page(mode)),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn page(mode: Mode) -> String {
    let save = match mode {
        Mode::Renamed | Mode::RenamedBroken | Mode::Swapped => "Keep",
        Mode::Trap => "Delete notes",
        _ => "Save",
    };
    let other = if mode == Mode::Swapped { "Save" } else { "Look" };
    let api = if mode == Mode::Elsewhere { "/api/keep" } else { "/api/save" };
    let sum = if mode == Mode::Broken { "null.total" } else { "show('7')" };
    let disabled = if mode == Mode::Disabled { "disabled" } else { "" };
    let late = if mode == Mode::Late { "hidden" } else { "" };
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Notes</title><h1>Notes</h1><p id=out>-</p>\
         <script>const show = (text) => {{ document.getElementById('out').textContent = text; }};\
         const ask = (path) => fetch(path).then(() => show(path));</script>\
         <button onclick=\"document.getElementById('more').hidden = false\">Open</button>\
         <div id=more hidden><p><button id=s {late} {disabled} onclick=\"ask('{api}')\">{save}</button></p>\
         <section><button onclick=\"ask('/api/other')\">{other}</button></section></div>\
         <button onclick=\"{sum}\">Sum</button>\
         <script>if ('{late}') setTimeout(() => {{ document.getElementById('s').hidden = false; }}, 900);</script>"
    )
}

/// A project with the run that was recorded on the broken application.
struct Recorded {
    url: String,
    run: String,
}

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| {
    let (app, sandbox) = (App::start(Mode::Broken), Sandbox::new());
    let document = sandbox.run(&["explore", "/notes", "--base-url", &app.url, "--json"]).exits(1).json();
    let run = sandbox.read(document["run"].as_str().expect("a run file"));
    Recorded { url: app.url.clone(), run }
});

/// A project that holds the recorded run as `2026-05-02T10-15-00Z`, on this application.
pub fn project(app: &App) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".agent-test/runs/2026-05-02T10-15-00Z.json", &RECORDED.run.replace(&RECORDED.url, &app.url));
    sandbox
}

/// The recorded run.
pub fn recorded() -> Value {
    serde_json::from_str(&RECORDED.run).unwrap()
}

/// `verify --json` with further arguments.
pub fn verify(sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    sandbox.run(&[&["verify", "--json"], arguments].concat())
}

/// Fingerprint V2 of the bug whose location ends so.
pub fn key(location: &str) -> String {
    let run = recorded();
    let bugs = run["bugs"].as_array().unwrap();
    let bug = bugs.iter().find(|bug| bug["location"].as_str().unwrap().ends_with(location));
    bug.unwrap_or_else(|| panic!("no bug at {location}: {bugs:#?}"))["fingerprintV2"].as_str().unwrap().to_owned()
}

/// The bug of a report whose location ends so.
#[track_caller]
pub fn bug<'a>(report: &'a Value, location: &str) -> &'a Value {
    let bugs = report["bugs"].as_array().expect("bugs");
    let found = bugs.iter().find(|bug| bug["location"].as_str().unwrap().ends_with(location));
    found.unwrap_or_else(|| panic!("no bug at {location}: {report:#}"))
}

/// Every file below a directory with its bytes.
pub fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = walkdir::WalkDir::new(root)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().display().to_string(), std::fs::read(entry.path()).unwrap()))
        .collect();
    all.sort();
    all
}
