//! The pump: reads every event of the connection, in order, and turns it into evidence. It also answers what cannot
//! wait: paused requests (by the guard), JavaScript dialogs, new windows and frames.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::cdp::{Cdp, CdpEvent};
use super::evidence::{Evidence, Note, Request};
use super::guard::{Decision, Mode, Outgoing, Policy};

/// The script that every document gets before the page's own code.
pub(super) const PAGE_SCRIPT: &str =
    concat!(include_str!("page/hook.js"), "\n", include_str!("page/look.js"), "\n", include_str!("page/scene.js"));

/// What the pump and the session share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) cdp: Cdp,
    pub(super) evidence: Evidence,
    pub(super) policy: Arc<Policy>,
    pub(super) mode: Arc<Mutex<Acting>>,
    /// Sessions by target id; the first page is the one we work in.
    pub(super) pages: Arc<Mutex<Pages>>,
    pub(super) ready: watch::Sender<usize>,
}

/// What we are doing, and on which document.
#[derive(Default)]
pub(super) struct Acting {
    /// What we are doing.
    pub(super) mode: Mode,
    /// The document that windows show now, as the browser names it.
    pub(super) shown: String,
    /// The document that was shown when the present action began.
    pub(super) began_on: String,
}

/// The windows that are open.
#[derive(Default)]
pub(super) struct Pages {
    /// Target id and session of each window, oldest first.
    pub(super) windows: Vec<(String, String)>,
    /// Main frame of each session: its target id.
    main_frame: HashMap<String, String>,
}

impl Shared {
    fn is_main_frame(&self, session: Option<&str>, frame: &str) -> bool {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        session.is_some_and(|session| pages.main_frame.get(session).is_some_and(|main| main == frame))
    }
}

/// Who is told what: user contexts, and the DevTools sessions in them.
#[derive(Default)]
pub(super) struct Board(Mutex<Members>);

#[derive(Default)]
struct Members {
    contexts: HashMap<String, Shared>,
    /// Context of each DevTools session.
    sessions: HashMap<String, String>,
}

impl Board {
    fn members(&self) -> std::sync::MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events of this context go to `shared` from now on.
    pub(super) fn join(&self, context: &str, shared: Shared) {
        self.members().contexts.insert(context.to_owned(), shared);
    }

    /// Nobody hears of this context any more.
    pub(super) fn leave(&self, context: &str) {
        let mut members = self.members();
        members.contexts.remove(context);
        members.sessions.retain(|_, of| of != context);
    }

    /// Whose event it is.
    fn owner(&self, event: &CdpEvent) -> Option<Shared> {
        let mut members = self.members();
        if event.method == "Target.attachedToTarget" {
            let context = text(&event.params, "/targetInfo/browserContextId");
            let shared = members.contexts.get(&context).cloned();
            if shared.is_some() {
                members.sessions.insert(text(&event.params, "/sessionId"), context);
            }
            return shared;
        }
        let detached = (event.method == "Target.detachedFromTarget").then(|| text(&event.params, "/sessionId"));
        let session = detached.as_deref().or(event.session.as_deref())?;
        let context = match &detached {
            Some(gone) => members.sessions.remove(gone)?,
            None => members.sessions.get(session)?.clone(),
        };
        members.contexts.get(&context).cloned()
    }
}

/// Runs until the connection ends.
pub(super) async fn run(cdp: Cdp, board: Arc<Board>, mut events: mpsc::UnboundedReceiver<CdpEvent>) {
    let mut count = 0;
    cdp.handled(count);
    while let Some(event) = events.recv().await {
        match board.owner(&event) {
            Some(shared) => handle(&shared, event),
            // A window of nobody's (the browser's own first one; one of a context that just ended) is not held up.
            None if event.method == "Target.attachedToTarget" => {
                cdp.send(Some(&text(&event.params, "/sessionId")), "Runtime.runIfWaitingForDebugger", json!({}));
            }
            None => {}
        }
        count += 1;
        cdp.handled(count);
    }
    cdp.handled(u64::MAX);
    for shared in board.members().contexts.values() {
        shared.evidence.note(Note::Lost);
    }
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn handle(shared: &Shared, event: CdpEvent) {
    let params = &event.params;
    let session = event.session.as_deref();
    match event.method.as_str() {
        "Target.attachedToTarget" => attached(shared, params),
        "Target.detachedFromTarget" => {
            let gone = text(params, "/sessionId");
            let mut pages = shared.pages.lock().unwrap_or_else(PoisonError::into_inner);
            pages.windows.retain(|(_, session)| *session != gone);
            pages.main_frame.remove(&gone);
        }
        "Fetch.requestPaused" => paused(shared, session, params),
        "Network.requestWillBeSent" => {
            let kind = text(params, "/type");
            let frame = text(params, "/frameId");
            let top = kind == "Document" && shared.is_main_frame(session, &frame);
            shared.evidence.began(request(&text(params, "/requestId"), params, &kind, top));
        }
        "Network.responseReceived" => {
            let status =
                params.pointer("/response/status").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
            let mime = text(params, "/response/mimeType");
            shared.evidence.update(&text(params, "/requestId"), |request| {
                request.status = status;
                request.mime = Some(mime);
                // An event stream never finishes.
                if request.kind == "EventSource" || request.mime.as_deref() == Some("text/event-stream") {
                    request.done = true;
                }
            });
        }
        "Network.loadingFinished" => shared.evidence.update(&text(params, "/requestId"), |request| request.done = true),
        "Network.loadingFailed" => {
            let error = text(params, "/errorText");
            shared.evidence.update(&text(params, "/requestId"), |request| {
                request.done = true;
                request.error = Some(error);
            });
        }
        "Runtime.exceptionThrown" => shared.evidence.note(exception(params)),
        "Runtime.consoleAPICalled" if text(params, "/type") == "error" => {
            let words: Vec<String> = params["args"].as_array().into_iter().flatten().map(printed).collect();
            let url = text(params, "/stackTrace/callFrames/0/url");
            shared.evidence.note(Note::ConsoleError { text: first_line(&words.join(" ")), url });
        }
        "Log.entryAdded" if text(params, "/entry/level") == "error" => {
            let url = text(params, "/entry/url");
            shared.evidence.note(Note::ConsoleError { text: first_line(&text(params, "/entry/text")), url });
        }
        "Page.javascriptDialogOpening" => dialog(shared, session, params),
        "Page.fileChooserOpened" => shared.evidence.note(Note::FileChooser),
        "Page.downloadWillBegin" => {
            shared.evidence.note(Note::Download { name: text(params, "/suggestedFilename") });
        }
        "Inspector.targetCrashed" => shared.evidence.note(Note::Crashed),
        "Page.frameNavigated" if params.pointer("/frame/parentId").is_none() && session.is_some() => {
            if shared.is_main_frame(session, &text(params, "/frame/id")) {
                let loader = text(params, "/frame/loaderId");
                shared.evidence.replaced(&loader);
                shared.mode.lock().unwrap_or_else(PoisonError::into_inner).shown = loader;
            }
            shared.evidence.note(Note::Committed { url: text(params, "/frame/url") });
        }
        "Page.navigatedWithinDocument" if shared.is_main_frame(session, &text(params, "/frameId")) => {
            shared.evidence.note(Note::Moved { url: text(params, "/url") });
        }
        _ => {}
    }
}

fn request(id: &str, params: &Value, kind: &str, top_document: bool) -> Request {
    Request {
        id: id.to_owned(),
        method: text(params, "/request/method"),
        url: text(params, "/request/url"),
        kind: kind.to_owned(),
        top_document,
        status: None,
        mime: None,
        error: None,
        done: false,
        refused: None,
        out_of_scope: false,
        started: Instant::now(),
        loader: text(params, "/loaderId"),
    }
}

/// A new window or frame: it waits until it has our hook and our guard.
fn attached(shared: &Shared, params: &Value) {
    let session = text(params, "/sessionId");
    let target = text(params, "/targetInfo/targetId");
    let kind = text(params, "/targetInfo/type");
    let url = text(params, "/targetInfo/url");
    let waiting = params["waitingForDebugger"].as_bool().unwrap_or(false);
    let id = Some(session.as_str());
    let cdp = &shared.cdp;
    if matches!(kind.as_str(), "worker" | "shared_worker" | "service_worker") {
        // What a worker asks for is guarded as well.
        cdp.send(id, "Network.enable", json!({}));
        cdp.send(id, "Fetch.enable", json!({ "patterns": [{ "urlPattern": "*", "requestStage": "Request" }] }));
    }
    if matches!(kind.as_str(), "page" | "iframe") {
        cdp.send(id, "Page.enable", json!({}));
        // Windows of several contexts are open at once; each is to behave as the one in front.
        cdp.send(id, "Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        cdp.send(id, "Runtime.enable", json!({}));
        cdp.send(id, "Network.enable", json!({}));
        cdp.send(id, "Log.enable", json!({}));
        cdp.send(id, "Network.setBypassServiceWorker", json!({ "bypass": true }));
        // Every kind: an image can carry a deletion as well as a form can.
        let patterns = json!([{ "urlPattern": "*", "requestStage": "Request" }]);
        cdp.send(id, "Fetch.enable", json!({ "patterns": patterns }));
        cdp.send(id, "Page.addScriptToEvaluateOnNewDocument", json!({ "source": PAGE_SCRIPT, "runImmediately": true }));
        cdp.send(
            id,
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        );
        cdp.send(id, "Page.setInterceptFileChooserDialog", json!({ "enabled": true }));
    }
    if waiting {
        cdp.send(id, "Runtime.runIfWaitingForDebugger", json!({}));
    }
    if kind == "page" && !url.starts_with("devtools://") && !url.starts_with("chrome-extension://") {
        let mut pages = shared.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.windows.iter().any(|(known, _)| *known == target) {
            return;
        }
        pages.main_frame.insert(session.clone(), target.clone());
        let first = pages.windows.is_empty();
        pages.windows.push((target.clone(), session.clone()));
        let count = pages.windows.len();
        drop(pages);
        if !first {
            shared.evidence.note(Note::Window { target, session, url });
        }
        shared.ready.send_replace(count);
    }
}

fn paused(shared: &Shared, session: Option<&str>, params: &Value) {
    let fetch_id = text(params, "/requestId");
    let network_id = params["networkId"].as_str().map_or_else(|| fetch_id.clone(), str::to_owned);
    let kind = text(params, "/resourceType");
    let method = text(params, "/request/method");
    let url = text(params, "/request/url");
    let top_document = kind == "Document" && shared.is_main_frame(session, &text(params, "/frameId"));
    let mode = {
        let acting = shared.mode.lock().unwrap_or_else(PoisonError::into_inner);
        // A page that the action has opened asks for its own data; that is not the action any more.
        let loader = shared.evidence.loader_of(&network_id);
        let of_new_page = kind != "Document"
            && loader.is_some_and(|loader| !loader.is_empty() && loader == acting.shown && loader != acting.began_on);
        if of_new_page { Mode::Load } else { acting.mode }
    };
    let decision = shared.policy.decide(mode, &Outgoing { method: &method, url: &url, kind: &kind, top_document });
    let stop = |why: Option<&'static str>| {
        // The Network event may come before or after; both meet in one entry.
        shared.evidence.began(request(&network_id, params, &kind, top_document));
        shared.evidence.update(&network_id, |request| {
            request.refused = why;
            request.out_of_scope = why.is_none();
            request.done = true;
        });
        if kind == "Document" {
            // "No content" leaves the present page where it is.
            let answer = json!({ "requestId": fetch_id, "responseCode": 204 });
            shared.cdp.send(session, "Fetch.fulfillRequest", answer);
        } else {
            let answer = json!({ "requestId": fetch_id, "errorReason": "BlockedByClient" });
            shared.cdp.send(session, "Fetch.failRequest", answer);
        }
    };
    match decision {
        Decision::Pass => {
            shared.cdp.send(session, "Fetch.continueRequest", json!({ "requestId": fetch_id }));
        }
        Decision::Refuse(why) => stop(Some(why)),
        Decision::OutOfScope => stop(None),
    }
}

fn dialog(shared: &Shared, session: Option<&str>, params: &Value) {
    let kind = text(params, "/type");
    // An alert has only one answer; leaving a page is ours to decide; a question is answered with Cancel.
    let accept = matches!(kind.as_str(), "alert" | "beforeunload") || shared.policy.safe_to_mutate;
    super::journal::note("dialog", || json!(kind));
    shared.cdp.send(session, "Page.handleJavaScriptDialog", json!({ "accept": accept }));
    shared.evidence.note(Note::Dialog { kind, text: first_line(&text(params, "/message")), accepted: accept });
}

fn exception(params: &Value) -> Note {
    let details = &params["exceptionDetails"];
    let description = text(details, "/exception/description");
    let value = printed(&details["exception"]);
    let line = if description.is_empty() {
        let head = text(details, "/text");
        if value.is_empty() { head } else { format!("{head} {value}") }
    } else {
        description
    };
    let class = text(details, "/exception/className");
    let frame = details["stackTrace"]["callFrames"].as_array().and_then(|frames| frames.first()).map_or_else(
        || file_of(&text(details, "/url")),
        |frame| format!("{}@{}", text(frame, "/functionName"), file_of(&text(frame, "/url"))),
    );
    let url = Some(text(details, "/stackTrace/callFrames/0/url"))
        .filter(|url| !url.is_empty())
        .unwrap_or_else(|| text(details, "/url"));
    let class = if class.is_empty() { "Error".to_owned() } else { class };
    Note::Exception { text: first_line(&line), class, frame, url }
}

fn file_of(url: &str) -> String {
    url::Url::parse(url).map_or_else(|_| url.to_owned(), |url| url.path().to_owned())
}

fn printed(argument: &Value) -> String {
    if let Some(value) = argument.get("value") {
        return value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    }
    text(argument, "/description")
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    line.chars().take(400).collect()
}
