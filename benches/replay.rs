//! What a step of a replay costs, beside a Playwright script that does the same steps with the same oracles: the same
//! browser, the same pages, in turn, in the same run. A replay's fresh session is told apart from its steps.
//!
//! `make bench-replay`; the last line is `replay: ratio R (goal 1.2)`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot go on says so by panicking")]

mod script;

use std::path::Path;
use std::time::Duration;

use agent_test::replay::{Ask, End, EnterOptions, Stage, witness};
use agent_test::settings::Settings;
use agent_test::trace::TraceStep;
use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use url::Url;

use script::Script;

/// Replays of each trace by each side.
const ROUNDS: usize = 9;
/// What a step may cost, as a multiple of the script's.
const GOAL: f64 = 1.2;

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run());
}

async fn run() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let options = EnterOptions {
        base: Url::parse(&base).unwrap(),
        settings: Settings::default(),
        webdriver: None,
        credentials: None,
    };
    let (stage, _) = options.prepare(Path::new(".")).unwrap().enter().await.unwrap();
    let mut script = Script::start();
    println!(
        "{:<10}  {:>5}  {:>12}  {:>12}  {:>6}  {:>15}",
        "trace", "steps", "ours", "Playwright", "ratio", "session/context"
    );
    let (mut ours_sum, mut theirs_sum) = (0.0, 0.0);
    for (name, trace) in traces(&base) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let one = replay(&stage, &trace).await;
            let other = script.play(&trace);
            // The first of each warms the caches.
            if round > 0 {
                ours.push(one);
                theirs.push(other);
            }
        }
        let steps = trace.len();
        let (mine, his) = (median(&ours, 0) / steps as f64, median(&theirs, 0) / steps as f64);
        println!(
            "{name:<10}  {steps:>5}  {mine:>9.1} ms  {his:>9.1} ms  {:>6.2}  {:>4.0} / {:>3.0} ms",
            mine / his,
            median(&ours, 1),
            median(&theirs, 1)
        );
        ours_sum += mine;
        theirs_sum += his;
    }
    stage.launcher.stop().await;
    println!("ms for each step, median of {ROUNDS} replays");
    println!("replay: ratio {:.2} (goal {GOAL})", ours_sum / theirs_sum);
}

/// Milliseconds of the steps, and of the rest.
async fn replay(stage: &Stage, trace: &[TraceStep]) -> [f64; 2] {
    let seen = witness(stage, trace, Ask { patience_ms: 5000, close: false }).await.unwrap();
    let End::Reached(sight) = &seen.end else { panic!("{:?}", seen.end) };
    assert!(sight.findings.is_empty(), "{:?}", sight.findings);
    let steps: u64 = seen.steps.iter().map(|step| step.duration_ms).sum();
    [steps as f64, seen.duration_ms.saturating_sub(steps) as f64]
}

fn median(of: &[[f64; 2]], which: usize) -> f64 {
    let mut all: Vec<f64> = of.iter().map(|times| times[which]).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Clicks that change a text, clicks that ask the server, links to other pages. A step's `observation` is the text that
/// it brings, which the script waits for.
fn traces(base: &str) -> Vec<(&'static str, Vec<TraceStep>)> {
    let step = |tool: &str, locator: Value, value: Value, observation: String| {
        json!({ "index": 0, "tool": tool, "locator": locator, "value": value, "observation": observation,
            "startedAt": "2026-05-02T10:15:00Z", "status": "passed" })
    };
    let opening = |page: &str| {
        let url = format!("{base}/{page}");
        let mut step = step("goto", Value::Null, json!(url), "ready".to_owned());
        step["urlAfter"] = json!(url);
        step
    };
    let click = |role: &str, name: String, text: String| {
        step("click", json!({ "role": role, "name": name }), Value::Null, text)
    };
    let finish = |steps: Vec<Value>| -> Vec<TraceStep> {
        steps
            .into_iter()
            .zip(0..)
            .map(|(mut step, index)| {
                step["index"] = json!(index);
                serde_json::from_value(step).unwrap()
            })
            .collect()
    };
    let clicks = (1..=20).map(|n| click("button", format!("Do {n}"), format!("did {n}")));
    let requests = (1..=12).map(|n| click("button", format!("Ask {n}"), format!("answer {n}")));
    let links = (1..=12).map(|n| click("link", format!("Page {n}"), format!("page {n} ready")));
    vec![
        ("clicks", finish(std::iter::once(opening("clicks")).chain(clicks).collect())),
        ("requests", finish(std::iter::once(opening("requests")).chain(requests).collect())),
        ("pages", finish(std::iter::once(opening("pages/0")).chain(links).collect())),
    ]
}

async fn answer(uri: Uri) -> Response {
    let path = uri.path();
    let all = |make: &dyn Fn(usize) -> String| (1..=60).map(make).collect::<String>();
    let (text, body) = match path {
        "/favicon.ico" => return StatusCode::NO_CONTENT.into_response(),
        "/clicks" => ("ready".to_owned(), all(&|n| format!("<button onclick=\"say('did {n}')\">Do {n}</button>"))),
        "/requests" => (
            "ready".to_owned(),
            all(&|n| format!("<button onclick=\"fetch('/api/{n}').then((a) => a.text()).then(say)\">Ask {n}</button>")),
        ),
        _ => {
            if let Some(number) = path.strip_prefix("/api/") {
                tokio::time::sleep(Duration::from_millis(20)).await;
                return format!("answer {number}").into_response();
            }
            let text = match path.trim_start_matches("/pages/") {
                "0" => "ready".to_owned(),
                number => format!("page {number} ready"),
            };
            (text, all(&|n| format!("<a href=/pages/{n}>Page {n}</a> ")))
        }
    };
    let html = format!(
        "<!doctype html><html lang=en><title>Bench</title><h1>Bench</h1><p id=out>{text}</p>\
         <script>const say = (text) => {{ document.getElementById('out').textContent = text; }};</script>{body}"
    );
    ([(header::CONTENT_TYPE, "text/html")], html).into_response()
}
