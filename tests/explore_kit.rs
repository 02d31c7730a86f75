//! No tests: a small web application inside the test process that writes down every request, and an exploration of it
//! whose outcome many tests read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::Value;

use crate::sandbox::{Answer, Sandbox};

/// Who may enter the pages below `/in/`.
pub const USERNAME: &str = "visitor";
/// Stands in no file of the program, whatever the application does with it.
pub const PASSWORD: &str = "geheim-7Qx-owl";

/// A request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub method: String,
    /// Path with query.
    pub path: String,
}

/// Pages on a port of their own. Gone when dropped.
pub struct Site {
    pub url: String,
    log: Arc<Mutex<Vec<Seen>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Site {
    /// `OTHER` in a page becomes the address `other`.
    pub fn start(pages: &'static [(&'static str, &'static str)], other: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let (writes, other) = (log.clone(), Arc::<str>::from(other));
        let app = Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            writes.lock().unwrap().push(Seen { method: method.to_string(), path: uri.to_string() });
            answer(pages, other.clone(), method, uri, headers, body)
        });
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, log, _runtime: runtime }
    }

    pub fn requests(&self) -> Vec<Seen> {
        self.log.lock().unwrap().clone()
    }
}

async fn answer(
    pages: &[(&str, &str)],
    other: Arc<str>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path();
    let signed_in = headers.get(header::COOKIE).is_some_and(|cookie| cookie == "session=in");
    let to = |place: &'static str| (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response();
    match path {
        "/login" if method == Method::POST => {
            let right = String::from_utf8_lossy(&body) == format!("u={USERNAME}&p={PASSWORD}");
            return if right {
                let head = [(header::LOCATION, "/in/home"), (header::SET_COOKIE, "session=in; Path=/; HttpOnly")];
                (StatusCode::SEE_OTHER, head).into_response()
            } else {
                to("/login")
            };
        }
        "/in/billing" => return to("/login"),
        "/favicon.ico" => return StatusCode::NO_CONTENT.into_response(),
        "/500" => return (StatusCode::INTERNAL_SERVER_ERROR, "<h1>Internal server error</h1>").into_response(),
        "/404" => return StatusCode::NOT_FOUND.into_response(),
        "/poll" => std::future::pending().await,
        "/events" => {
            let first = stream::once(std::future::ready(Ok::<_, std::convert::Infallible>("data: 1\n\n")));
            let body = Body::from_stream(first.chain(stream::pending()));
            return ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response();
        }
        "/figures.csv" => {
            let head =
                [(header::CONTENT_TYPE, "text/csv"), (header::CONTENT_DISPOSITION, "attachment; filename=figures.csv")];
            return (head, "a,b\n1,2\n").into_response();
        }
        _ if path.starts_with("/in/") && !signed_in => return to("/login"),
        _ if path.starts_with("/hit/") || path.starts_with("/forbidden/") || path.starts_with("/api/") => {
            return ([(header::CONTENT_TYPE, "application/json")], "{}").into_response();
        }
        _ => {}
    }
    let Some((_, body)) = pages.iter().find(|(route, _)| *route == path) else {
        return (StatusCode::NOT_FOUND, "<h1>Nothing here</h1>").into_response();
    };
    // A page that begins with a doctype is served as it is.
    let text = if body.starts_with("<!doctype") {
        (*body).to_owned()
    } else {
        format!(
            "<!doctype html><html lang=en><meta charset=utf-8><title>Page {path}</title><h1>Page {path}</h1><p id=out>-</p>\
             <script>const get = (id) => document.getElementById(id);\
             const show = (text) => {{ get('out').textContent = text; }};\
             const hit = (what) => {{ show(what); fetch('/hit/' + what); }};</script>{body}"
        )
    };
    ([(header::CONTENT_TYPE, "text/html")], text.replace("OTHER", &other).replace("PASSWORD", PASSWORD)).into_response()
}

/// What one call of `explore` left, read into memory.
pub struct Ran {
    pub answer: Answer,
    /// The document on stdout.
    pub document: Value,
    /// Reports by route.
    pub reports: BTreeMap<String, Value>,
    /// Names of the screenshots on the disk, by slug.
    pub shots: BTreeMap<String, BTreeSet<String>>,
    /// The run file.
    pub run: Value,
    /// Every file that is no picture.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What the application was asked.
    pub requests: Vec<Seen>,
    /// What the other origin was asked.
    pub elsewhere: Vec<Seen>,
}

impl Ran {
    /// Explores routes of `pages` with these options.
    pub fn explore(
        pages: &'static [(&'static str, &'static str)],
        routes: &[&str],
        options: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        Self::explore_set(pages, routes, options, variables, "")
    }

    /// The same with these settings.
    pub fn explore_set(
        pages: &'static [(&'static str, &'static str)],
        routes: &[&str],
        options: &[&str],
        variables: &[(&str, &str)],
        settings: &str,
    ) -> Self {
        let other = Site::start(&[], "");
        let site = Site::start(pages, &other.url);
        let sandbox = Sandbox::new();
        if !settings.is_empty() {
            sandbox.write("agent-test.toml", settings);
        }
        let arguments = [&["explore", "--json", "--base-url", &site.url], options, routes].concat();
        let output = sandbox.command(&arguments).envs(variables.iter().copied()).output();
        let answer: Answer = output.expect("the built binary starts").into();
        assert!(answer.code <= 1, "exit {}: {}\n{}", answer.code, answer.stderr, answer.stdout);
        let document = answer.json();
        let json = |name: &str| -> Value { serde_json::from_str(&sandbox.read(name)).expect("a JSON document") };
        let reports = document["routes"].as_array().unwrap().iter();
        let reports = reports
            .map(|route| (route["route"].as_str().unwrap().to_owned(), json(route["report"].as_str().unwrap())))
            .collect();
        let run = json(document["run"].as_str().expect("a run file"));
        let (mut shots, mut files) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeMap::new());
        for entry in walkdir::WalkDir::new(sandbox.path()) {
            let entry = entry.unwrap();
            let path = entry.path().strip_prefix(sandbox.path()).unwrap().to_owned();
            let name = entry.file_name().to_str().unwrap().to_owned();
            if !entry.file_type().is_file() {
                continue;
            }
            if path.extension().is_some_and(|ending| ending == "png") {
                let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
                shots.entry(folder).or_default().insert(name);
            } else {
                files.insert(path.display().to_string(), std::fs::read(entry.path()).unwrap());
            }
        }
        let (requests, elsewhere) = (site.requests(), other.requests());
        Self { answer, document, reports, shots, run, files, requests, elsewhere }
    }

    #[track_caller]
    pub fn report(&self, route: &str) -> &Value {
        self.reports.get(route).unwrap_or_else(|| panic!("no report of {route}"))
    }

    #[track_caller]
    pub fn bugs(&self, route: &str) -> &Vec<Value> {
        self.report(route)["bugs"].as_array().unwrap()
    }

    /// The first node with this label, anywhere in a route's tree.
    #[track_caller]
    pub fn node(&self, route: &str, label: &str) -> &Value {
        let all = nodes(self.report(route));
        let found = all.iter().find(|node| node["label"] == label);
        found.unwrap_or_else(|| panic!("no node {label:?} on {route}: {:#}", self.report(route)["action_tree"]))
    }

    /// What came of the first node with this label.
    #[track_caller]
    pub fn result(&self, route: &str, label: &str) -> &str {
        self.node(route, label)["action_result"].as_str().unwrap()
    }

    /// Paths asked for with this method.
    pub fn asked(&self, method: &str, path: &str) -> usize {
        self.requests.iter().filter(|seen| seen.method == method && seen.path == path).count()
    }

    /// Fails the test unless the application was asked for `/hit/{what}`.
    #[track_caller]
    pub fn assert_hit(&self, what: &str) {
        assert!(self.asked("GET", &format!("/hit/{what}")) > 0, "/hit/{what} was never asked for");
    }

    /// Fails the test if anything below this path was asked for.
    #[track_caller]
    pub fn assert_untouched(&self, prefix: &str) {
        let touched: Vec<&Seen> = self.requests.iter().filter(|seen| seen.path.starts_with(prefix)).collect();
        assert!(touched.is_empty(), "{touched:?}");
    }
}

/// Labels of a node's children.
pub fn children(node: &Value) -> Vec<&str> {
    node["children"].as_array().unwrap().iter().filter_map(|child| child["label"].as_str()).collect()
}

/// Every node of a report, parents first.
pub fn nodes(report: &Value) -> Vec<&Value> {
    fn below<'a>(list: &'a Value, all: &mut Vec<&'a Value>) {
        for node in list.as_array().into_iter().flatten() {
            all.push(node);
            below(&node["children"], all);
        }
    }
    let mut all = Vec::new();
    for section in ["toolbar", "row_actions", "detail_header_actions", "detail_tabs"] {
        below(&report["action_tree"][section], &mut all);
    }
    all
}
