//! No tests: an application whose pages drift, and an agent that does what a goal's name says.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::model_kit::{Asked, ModelServer, Reply, made_move};
use crate::sandbox::{Answer, Sandbox};

/// What makes a page.
pub type Page = fn(path: &str, mode: &str) -> Option<String>;

/// An application on a port of its own; its pages depend on a mode. Whatever is pressed is written down.
pub struct Lab {
    pub url: String,
    mode: Arc<Mutex<String>>,
    pressed: Arc<Mutex<Vec<String>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Lab {
    pub fn start(page: Page) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mode = Arc::new(Mutex::new(String::new()));
        let pressed = Arc::<Mutex<Vec<String>>>::default();
        let (current, log) = (mode.clone(), pressed.clone());
        let app = Router::new().fallback(move |uri: Uri| {
            let mode = current.lock().unwrap().clone();
            let answer: Response = if let Some(what) = uri.path().strip_prefix("/did/") {
                let what = percent_encoding::percent_decode_str(what).decode_utf8_lossy().into_owned();
                log.lock().unwrap().push(what);
                StatusCode::NO_CONTENT.into_response()
            } else {
                let path = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
                match page(&path, &mode) {
                    Some(body) if body.starts_with("!404 ") => {
                        (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "text/html")], html(&body[5..])).into_response()
                    }
                    Some(body) => ([(header::CONTENT_TYPE, "text/html")], html(&body)).into_response(),
                    None => StatusCode::NO_CONTENT.into_response(),
                }
            };
            async move { answer }
        });
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, mode, pressed, _runtime: runtime }
    }

    pub fn set(&self, mode: &str) {
        mode.clone_into(&mut self.mode.lock().unwrap());
    }

    /// What was pressed since the last time.
    pub fn pressed(&self) -> Vec<String> {
        std::mem::take(&mut self.pressed.lock().unwrap())
    }

    /// Arguments of a run of flows.
    pub fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["flow", "flows", "--json", "--base-url", &self.url, "--fast-miss"], more].concat()
    }

    /// Runs the flows without anybody to ask.
    pub fn run_alone(&self, sandbox: &Sandbox, more: &[&str]) -> Answer {
        sandbox.run(&self.arguments(more))
    }
}

fn html(body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><title>Lab</title><body><script>\
         const did = (what) => fetch('/did/' + encodeURIComponent(what));\
         const say = (text, id = 'out') => {{ document.getElementById(id).textContent = text; }};\
         </script>{body}"
    )
}

/// Moves that a goal asks for: `tap "A"; type "B" into "C"; done`.
pub fn by_goal(asked: &Asked) -> Value {
    let words = asked.words();
    let goal = words.lines().find_map(|line| line.strip_prefix("The goal: ")).unwrap_or_default();
    let history = words.split("Your moves so far:").nth(1).unwrap_or_default();
    let history = history.split("The current screen").next().unwrap_or_default();
    let made = history.lines().filter(|line| line.ends_with(": done")).count();
    let Some(part) = goal.split("; ").nth(made) else { return made_move(asked, "done", None, None) };
    let quoted: Vec<&str> = part.split('\'').skip(1).step_by(2).collect();
    let tool = part.split(' ').next().unwrap_or_default();
    match quoted.as_slice() {
        // What no number names: an address, a key, a point.
        [text] if part.contains(" there") || part.contains(" anywhere") => made_move(asked, tool, None, Some(text)),
        [name] => made_move(asked, tool, Some(name), None),
        [text, name] if tool == "drag" => {
            let mut both = made_move(asked, tool, Some(text), None);
            both["to"] = made_move(asked, tool, Some(name), None)["number"].clone();
            both
        }
        [text, name] => made_move(asked, tool, Some(name), Some(text)),
        _ => made_move(asked, "done", None, None),
    }
}

/// A step of the report: the first flow, this attempt, this number from 1.
pub fn step(report: &Value, number: usize) -> Value {
    report["flows"][0]["attempts"][0]["steps"][number - 1].clone()
}

/// Files below a directory of the project.
pub fn names(sandbox: &Sandbox, directory: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(sandbox.file(directory)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Recordings may be written.
pub const RW: &[&str] = &["--cache", "read-write"];

/// Runs the flows with this model.
pub fn run(lab: &Lab, sandbox: &Sandbox, model: &ModelServer, more: &[&str]) -> Answer {
    model.command(sandbox, "openai", &lab.arguments(more)).output().unwrap().into()
}

/// Writes a flow whose goals say their moves, records its steps, and gives back the paths of its recordings.
#[track_caller]
pub fn record(lab: &Lab, sandbox: &Sandbox, flow: &str) -> Vec<String> {
    sandbox.write("flows/f.yaml", flow);
    let report = run(lab, sandbox, &ModelServer::start(&[Reply::Make(by_goal)]), RW).exits(0).json();
    let recorded = recordings(sandbox);
    assert!(!recorded.is_empty(), "{report:#}");
    lab.pressed();
    recorded
}

/// Paths of the recordings.
pub fn recordings(sandbox: &Sandbox) -> Vec<String> {
    names(sandbox, ".agent-test/cache").into_iter().map(|name| format!(".agent-test/cache/{name}")).collect()
}

/// A recording, changed by hand.
pub fn edit(sandbox: &Sandbox, path: &str, change: impl FnOnce(&mut Value)) {
    let mut entry: Value = serde_json::from_str(&sandbox.read(path)).unwrap();
    change(&mut entry);
    sandbox.write(path, &format!("{entry:#}\n"));
}
