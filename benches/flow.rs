//! What a replayed flow costs, beside a Playwright script that does the same steps by hand: the same browser, the same pages,
//! in turn, in the same run; with the end checks on.
//!
//! `make bench-flow`; the last line is `flow: ratio R (goal 1.5)`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot go on says so by panicking")]

mod script;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_test::event::Events;
use agent_test::flow::recording::{CacheMode, CacheStore};
use agent_test::flow::{
    Agent, AgentError, Flow, FlowOptions, Judgement, Mode, Move, Outcome, Reading, Runner, Told, Tool, Turn, parse,
};
use agent_test::replay::{EnterOptions, Stage};
use agent_test::settings::Settings;
use agent_test::store::Clock;
use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use url::Url;

use script::Script;

/// Replays of each flow by each side.
const ROUNDS: usize = 9;
/// What a flow may cost, as a multiple of the script.
const GOAL: f64 = 1.5;

/// Presses what the goal names, in order.
struct Scripted;

impl Agent for Scripted {
    fn label(&self) -> String {
        "script".to_owned()
    }

    fn act<'a>(&'a self, turn: Turn<'a>) -> BoxFuture<'a, Result<Told<Move>, AgentError>> {
        let name = turn.goal.split(", ").nth(turn.history.len());
        let number = name.and_then(|name| turn.scene.nodes.iter().position(|node| node.control && node.name == name));
        let tool = if number.is_some() { Tool::Tap } else { Tool::Done };
        let value = Move { tool, number: number.map(|at| at + 1), to: None, text: None, reason: String::new() };
        async move { Ok(Told { value, calls: 1, tokens: 0, usd: None }) }.boxed()
    }

    fn judge<'a>(&'a self, _: Turn<'a>) -> BoxFuture<'a, Result<Told<Judgement>, AgentError>> {
        async { Err(AgentError::NoAnswer(String::new())) }.boxed()
    }

    fn read<'a>(&'a self, _: Turn<'a>) -> BoxFuture<'a, Result<Told<Reading>, AgentError>> {
        async { Err(AgentError::NoAnswer(String::new())) }.boxed()
    }
}

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
    let project = tempfile::tempdir().unwrap();
    let (stage, _) = options.prepare(project.path()).unwrap().enter().await.unwrap();
    let mut script = Script::start();
    println!("{:<10}  {:>5}  {:>12}  {:>12}  {:>6}", "flow", "taps", "ours", "Playwright", "ratio");
    let (mut ours_sum, mut theirs_sum) = (0.0, 0.0);
    for (name, role, taps, says) in
        [("clicks", "button", 20, "did"), ("requests", "button", 12, "answer"), ("pages", "link", 12, "page")]
    {
        let (label, end) = match name {
            "clicks" => ("Do", ""),
            "requests" => ("Ask", ""),
            _ => ("Page", " ready"),
        };
        let page = if name == "pages" { "pages/0" } else { name };
        let names: Vec<String> = (1..=taps).map(|n| format!("{label} {n}")).collect();
        let last = format!("{says} {taps}{end}");
        let text = format!(
            "name: {name}\nsteps:\n  - open: /{page}\n  - act: {}\n  - expect: {{ text: {last} }}\n",
            names.join(", ")
        );
        let flow = parse(&format!("flows/{name}.yaml"), &text).unwrap();
        let trace = trace(&base, page, role, &names, says, end);
        // The first of ours records, the first of theirs warms the caches.
        play(&stage, &flow, project.path(), CacheMode::Missed).await;
        script.play(&trace);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(play(&stage, &flow, project.path(), CacheMode::SelfFinalized).await);
            theirs.push(script.play(&trace)[0]);
        }
        let (mine, his) = (median(&mut ours), median(&mut theirs));
        println!("{name:<10}  {taps:>5}  {mine:>9.0} ms  {his:>9.0} ms  {:>6.2}", mine / his);
        ours_sum += mine;
        theirs_sum += his;
    }
    stage.launcher.stop().await;
    println!("ms for the whole flow without its session, median of {ROUNDS} replays");
    println!("flow: ratio {:.2} (goal {GOAL})", ours_sum / theirs_sum);
}

/// Milliseconds of the steps.
async fn play(stage: &Stage, flow: &Flow, project: &Path, expected: CacheMode) -> f64 {
    let options = FlowOptions {
        repeat_each: 1,
        retries: 0,
        workers: 1,
        mode: Mode::ReadWrite,
        strict: false,
        fast_miss: false,
        relocate: false,
        target: None,
        heal_budget: None,
        params: BTreeMap::new(),
    };
    let (events, clock) = (Events::ignore(), Clock::from_env());
    let agent: Arc<dyn Agent> = Arc::new(Scripted);
    let runner = Runner::new(stage, Some(agent), CacheStore::new(project), options, &events, &clock);
    let report = runner.run(std::slice::from_ref(flow), || None).await.unwrap();
    let attempt = &report.flows[0].attempts[0];
    assert_eq!(attempt.outcome, Outcome::Passed, "{:#?}", attempt.lines());
    assert_eq!(attempt.steps[1].cache.as_ref().unwrap().mode, expected, "{:#?}", attempt.lines());
    attempt.steps.iter().map(|step| step.duration_ms).sum::<u64>() as f64
}

fn median(of: &mut [f64]) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// The same flow for the script; `observation` is the text that a step waits for.
fn trace(base: &str, page: &str, role: &str, names: &[String], says: &str, end: &str) -> Value {
    let mut steps = vec![json!({ "tool": "goto", "value": format!("{base}/{page}"), "observation": "ready" })];
    for (number, name) in (1..).zip(names) {
        steps.push(json!({ "tool": "click", "locator": { "role": role, "name": name }, "observation": format!("{says} {number}{end}") }));
    }
    json!(steps)
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
        "<!doctype html><html lang=en><title>Bench</title><h1>Bench</h1><p role=status id=out>{text}</p>\
         <script>const say = (text) => {{ document.getElementById('out').textContent = text; }};</script>{body}"
    );
    ([(header::CONTENT_TYPE, "text/html")], html).into_response()
}
