//! No tests: an application whose bug needs certain steps, and traces on it with steps that it does not need.
//!
//! Every page `/p/NAME` has sixty buttons `Do 1` to `Do 60`, links to other pages and a button `Fail`. What was pressed is
//! kept for the session. `Fail` throws when everything in `?need=` was pressed, and throws something else when nothing of it
//! was; `?odds=N` lets it throw in every Nth session only.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// What the bug throws.
const WORDS: &str = "TypeError: every needed step was done";

/// The application, on a port of its own. Gone when dropped.
pub struct Lab {
    pub url: String,
    _runtime: tokio::runtime::Runtime,
}

impl Lab {
    /// The bug needs these buttons pressed; it fires in every `odds`th session.
    pub fn start(need: &[usize], odds: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (need, sessions) = (Arc::new(json!(need).to_string()), Arc::new(AtomicUsize::new(0)));
        let app = Router::new().fallback(move |uri: Uri, headers: HeaderMap| {
            let (need, sessions) = (need.clone(), sessions.clone());
            async move { answer(uri.path(), &headers, &need, odds, &sessions) }
        });
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, _runtime: runtime }
    }

    /// A run with one bug, whose trace goes through these pages and presses these buttons; the last page's `Fail` fails.
    pub fn run(&self, pages: &[(&str, Vec<usize>)]) -> Value {
        let mut trace = Vec::new();
        let mut here = String::new();
        for (page, buttons) in pages {
            let there = format!("{}/p/{page}", self.url);
            trace.push(if here.is_empty() {
                json!({ "tool": "goto", "value": there, "urlAfter": there })
            } else {
                json!({ "tool": "click", "locator": { "role": "link", "name": format!("To {page}") },
                    "urlBefore": here, "urlAfter": there })
            });
            here = there;
            trace.extend(buttons.iter().map(|button| Self::press(&format!("Do {button}"), &here, "passed")));
        }
        trace.push(Self::press("Fail", &here, "failed"));
        self.run_of(trace)
    }

    pub fn press(name: &str, here: &str, status: &str) -> Value {
        json!({ "tool": "click", "locator": { "role": "button", "name": name }, "status": status,
            "urlBefore": here, "urlAfter": here })
    }

    /// A run with the lab's bug at the end of this trace.
    pub fn run_of(&self, trace: Vec<Value>) -> Value {
        let trace: Vec<Value> = trace
            .into_iter()
            .zip(0..)
            .map(|(mut step, index)| {
                step["index"] = json!(index);
                step["startedAt"] = json!("2026-05-02T10:15:00Z");
                step
            })
            .collect();
        json!({ "id": "2026-05-02T10-15-00Z", "baseUrl": self.url, "startedAt": "2026-05-02T10:15:00Z",
            "flows": [{ "id": "lab", "title": "lab", "trace": trace }],
            "bugs": [{ "severity": "major", "description": WORDS, "location": "/p > Fail", "kind": "exception",
                "fingerprint": "aaaaaaaaaaaaaaaa", "fingerprintV2": "bbbbbbbbbbbbbbbb",
                "fingerprintV3": "cccccccccccccccc",
                "fingerprintParts": { "version": 2, "category": "page-error", "location": self.url, "role": "button",
                    "name": "Fail", "signal": "TypeError", "detail": format!("TypeError fail@/lab.js {WORDS}") },
                "trace": trace }] })
    }
}

fn answer(path: &str, headers: &HeaderMap, need: &str, odds: usize, sessions: &AtomicUsize) -> Response {
    let cookies = headers.get(header::COOKIE).and_then(|cookie| cookie.to_str().ok()).unwrap_or_default();
    match path {
        "/favicon.ico" => StatusCode::NO_CONTENT.into_response(),
        "/lab.js" => script(need, sessions.fetch_add(1, Ordering::Relaxed).is_multiple_of(odds)).into_response(),
        "/private" if !cookies.contains("in=1") => (StatusCode::FOUND, [(header::LOCATION, "/enter")]).into_response(),
        "/enter" => {
            let form = "<title>Enter</title><h1>Enter</h1><input aria-label=Code>\
                        <button onclick=\"document.cookie = 'in=1;path=/'; location = '/private'\">Enter</button>";
            ([(header::CONTENT_TYPE, "text/html")], form).into_response()
        }
        _ => ([(header::CONTENT_TYPE, "text/html")], page(path)).into_response(),
    }
}

fn script(need: &str, armed: bool) -> ([(header::HeaderName, &'static str); 2], String) {
    let text = format!(
        "const need = {need}, armed = {armed};\
         const done = JSON.parse(sessionStorage.done ?? '[]');\
         function press(number) {{ done.push(number); sessionStorage.done = JSON.stringify(done);\
           document.getElementById('out').textContent = done.join(' '); }}\
         function fail() {{ if (armed && need.every((n) => done.includes(n))) throw new TypeError('every needed step was done');\
           if (need.length && !need.some((n) => done.includes(n))) throw new RangeError('nothing was done'); }}"
    );
    ([(header::CONTENT_TYPE, "text/javascript"), (header::CACHE_CONTROL, "no-store")], text)
}

fn page(path: &str) -> String {
    let buttons = (1..=60).map(|n| format!("<button onclick=press({n})>Do {n}</button>")).collect::<Vec<_>>().concat();
    let links: String = ["a", "b", "c"].map(|name| format!("<a href=/p/{name}>To {name}</a> ")).concat();
    format!(
        "<!doctype html><html lang=en><title>Lab {path}</title><h1>Lab {path}</h1><p id=out>-</p>\
         <script src=/lab.js></script>{links}{buttons}<button onclick=fail()>Fail</button>"
    )
}
