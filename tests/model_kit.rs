//! No tests: a model server that speaks the providers' own shapes, answers from a script, and counts.

use std::collections::VecDeque;
use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// The key that the tests use; it must be seen nowhere.
pub const KEY: &str = "sk-geheim-4711";

/// What the model answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The control of this name, whatever its number.
    Pick(&'static str),
    /// The next action of a plan: the tool, the control's name, a value.
    Act(&'static str, Option<&'static str>, Option<&'static str>),
    /// A move in a flow: the tool, the thing's name, a text.
    Move(&'static str, Option<&'static str>, Option<&'static str>),
    /// What this makes of the question.
    Make(fn(&Asked) -> Value),
    /// This text.
    Say(&'static str),
    /// A status, with a text that repeats the key.
    Status(u16),
    /// A status with these headers.
    Later(u16, &'static [(&'static str, &'static str)]),
    /// A redirect to another address.
    Moved(String),
    /// More than anybody reads.
    Flood,
    /// Nothing, ever.
    Hang,
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub key: String,
    pub body: Value,
}

impl Asked {
    /// Everything that was said to the model, system and user.
    pub fn words(&self) -> String {
        let texts = [
            self.body.pointer("/messages/0/content"),
            self.body.pointer("/messages/1/content"),
            self.body.pointer("/system"),
            self.body.pointer("/systemInstruction/parts/0/text"),
            self.body.pointer("/contents/0/parts/0/text"),
        ];
        texts.into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// The server, on a port of its own. Gone when dropped.
pub struct ModelServer {
    pub url: String,
    log: Arc<Mutex<Vec<Asked>>>,
    _runtime: tokio::runtime::Runtime,
}

impl ModelServer {
    /// Answers these in turn, and the last one ever after.
    pub fn start(script: &[Reply]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let log = Arc::<Mutex<Vec<Asked>>>::default();
        let (asked, script) = (log.clone(), Arc::new(Mutex::new(VecDeque::from(script.to_vec()))));
        let app = Router::new().fallback(move |uri: Uri, headers: HeaderMap, body: Bytes| {
            let head =
                |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
            let bearer = head("authorization").trim_start_matches("Bearer ").to_owned();
            let key = [head("x-api-key"), head("x-goog-api-key"), bearer].concat();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let request = Asked { path: uri.path().to_owned(), key, body };
            asked.lock().unwrap().push(request.clone());
            let mut script = script.lock().unwrap();
            let reply = if script.len() > 1 { script.pop_front() } else { script.front().cloned() };
            let reply = reply.unwrap_or(Reply::Hang);
            async move {
                if matches!(reply, Reply::Hang) {
                    std::future::pending::<()>().await;
                }
                answer(&request, &reply)
            }
        });
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, log, _runtime: runtime }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    pub fn calls(&self) -> usize {
        self.asked().len()
    }

    /// The program with this server as its model, of this provider.
    pub fn command(&self, sandbox: &Sandbox, provider: &str, arguments: &[&str]) -> Command {
        let url = match provider {
            "anthropic" | "gemini" => self.url.clone(),
            _ => format!("{}/v1", self.url),
        };
        let model = format!("{provider}/test-model");
        let mut command = sandbox.command(&[arguments, &["--model", &model, "--model-url", &url]].concat());
        command.env(format!("{}_API_KEY", provider.to_uppercase()), KEY);
        command
    }
}

fn answer(request: &Asked, reply: &Reply) -> Response {
    let text = match reply {
        Reply::Pick(name) => json!({
            "number": number(request, name), "same_purpose": true, "reason": format!("it was renamed to {name}")
        })
        .to_string(),
        Reply::Act(tool, name, value) => {
            let number = name.map(|name| number(request, name));
            json!({ "tool": tool, "number": number, "value": value, "finished": true, "reason": "as told" }).to_string()
        }
        Reply::Move(tool, name, text) => made_move(request, tool, *name, *text).to_string(),
        Reply::Make(make) => make(request).to_string(),
        Reply::Say(text) => (*text).to_owned(),
        Reply::Status(status) => {
            let body = json!({ "error": { "message": format!("no luck with the key {KEY}") } });
            return (StatusCode::from_u16(*status).unwrap(), axum::Json(body)).into_response();
        }
        Reply::Later(status, headers) => {
            let headers: HeaderMap =
                headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
            return (StatusCode::from_u16(*status).unwrap(), headers, "not now").into_response();
        }
        Reply::Moved(to) => return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to.clone())]).into_response(),
        Reply::Flood => return "x".repeat(6 << 20).into_response(),
        Reply::Hang => String::new(),
    };
    let body = if request.path.ends_with("/v1/messages") {
        let content = match serde_json::from_str::<Value>(&text) {
            Ok(input) => json!([{ "type": "tool_use", "id": "t", "name": "answer", "input": input }]),
            Err(_) => json!([{ "type": "text", "text": text }]),
        };
        json!({ "content": content, "stop_reason": "end_turn", "usage": { "input_tokens": 1000, "output_tokens": 50 } })
    } else if request.path.ends_with(":generateContent") {
        json!({
            "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 1000, "candidatesTokenCount": 50 }
        })
    } else if request.path.ends_with("/chat/completions") {
        json!({
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1000, "completion_tokens": 50 }
        })
    } else {
        return StatusCode::NOT_FOUND.into_response();
    };
    axum::Json(body).into_response()
}

/// A move in a flow, on the thing of this name.
pub fn made_move(request: &Asked, tool: &str, name: Option<&str>, text: Option<&str>) -> Value {
    json!({ "tool": tool, "number": name.map(|name| number(request, name)), "text": text, "reason": "as told" })
}

/// The number under which the question lists this control; 0 when it does not.
fn number(request: &Asked, name: &str) -> u64 {
    let words = request.words();
    let line = words
        .lines()
        .find(|line| line.contains(&format!(" \"{name}\"")) && line.starts_with(|c: char| c.is_ascii_digit()));
    line.and_then(|line| line.split('.').next()?.parse().ok()).unwrap_or(0)
}
