//! One browser session: a user context, watched and driven through the browser's DevTools connection.
//!
//! Invariants: the guard is in force before the first page is opened; every window and frame has our hook before its own
//! code runs; a session is closed on every path ([`Session::close`] or its drop, and the driver's process group behind it).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::evidence::Evidence;
use super::guard::{Mode, Policy};
use super::host::Host;
use super::journal::note;
use super::pump::{Acting, PAGE_SCRIPT, Pages, Shared};
use super::session_error::SessionError;

/// How a session is begun.
#[derive(Clone, Debug)]
pub(super) struct SessionOptions {
    /// Window size in CSS pixels.
    pub(super) viewport: (u32, u32),
    /// What may leave.
    pub(super) policy: Policy,
    /// Cookies and local storage to begin with (Playwright's storage-state format).
    pub(super) storage_state: Option<Arc<Value>>,
}

/// One browser session: a user context of its own in a running browser.
pub struct Session {
    host: Arc<Host>,
    /// The user context; empty once it was ended.
    context: String,
    pub(super) shared: Shared,
    /// The window that we work in.
    page: Mutex<String>,
    /// Timers that pages set while they load and that do nothing, by delay and code.
    pub(super) timers: Mutex<std::collections::BTreeSet<String>>,
    /// A command may take this long before the page counts as hung.
    pub(super) patience: Duration,
}

impl Session {
    /// Begins a session and puts the guard in force.
    ///
    /// # Errors
    /// [`SessionError::NoDevTools`] when no window comes, [`SessionError::Cdp`].
    pub(super) async fn start(host: Arc<Host>, options: &SessionOptions) -> Result<Self, SessionError> {
        let (ready, mut windows) = watch::channel(0);
        let shared = Shared {
            cdp: host.cdp.clone(),
            evidence: Evidence::default(),
            policy: Arc::new(options.policy.clone()),
            mode: Arc::new(Mutex::new(Acting::default())),
            pages: Arc::new(Mutex::new(Pages::default())),
            ready,
        };
        let context = host.begin_context(&shared).await?;
        // From here on a failure drops the session, and the context with it.
        let session = Self {
            host,
            context,
            shared,
            page: Mutex::new(String::new()),
            timers: Mutex::default(),
            patience: Duration::from_secs(8),
        };
        let (width, height) = options.viewport;
        let window = json!({
            "url": "about:blank", "browserContextId": session.context, "newWindow": true, "width": width, "height": height
        });
        session.shared.cdp.call(None, "Target.createTarget", window).await?;
        let wait = windows.wait_for(|count| *count > 0);
        let attached = tokio::time::timeout(Duration::from_secs(10), wait).await.is_ok_and(|changed| changed.is_ok());
        let page = session.window(0).filter(|_| attached).ok_or(SessionError::NoWindow)?;
        *session.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
        session.prepare(options).await?;
        note("session", || json!(null));
        Ok(session)
    }

    async fn prepare(&self, options: &SessionOptions) -> Result<(), SessionError> {
        let (width, height) = options.viewport;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.page_call("Emulation.setDeviceMetricsOverride", metrics).await?;
        // Keeps the accessibility tree alive between looks; without it each name is computed from nothing.
        self.page_call("Accessibility.enable", json!({})).await?;
        if let Some(state) = &options.storage_state {
            let cookies = &state["cookies"];
            if cookies.as_array().is_some_and(|list| !list.is_empty()) {
                let params = json!({ "cookies": cookies, "browserContextId": self.context });
                self.shared.cdp.call(None, "Storage.setCookies", params).await?;
            }
            for origin in state["origins"].as_array().into_iter().flatten() {
                let source = format!(
                    "if (location.origin === {}) for (const {{name, value}} of {}) if (localStorage.getItem(name) === null) localStorage.setItem(name, value);",
                    origin["origin"], origin["localStorage"]
                );
                self.page_call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source })).await?;
            }
        }
        Ok(())
    }

    /// The record of what the browser told.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.shared.evidence
    }

    /// What may leave.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.shared.policy
    }

    /// DevTools session of the window that we work in.
    pub(super) fn page(&self) -> String {
        self.page.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Works in another window from now on: 0 is the first, the others follow in the order in which they opened. Waits
    /// until it is there; gives back whether it is.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn work_in(&self, window: usize, within: Duration) -> Result<bool, SessionError> {
        let mut windows = self.shared.ready.subscribe();
        let wait = windows.wait_for(|_| self.window(window).is_some());
        let _ = tokio::time::timeout(within, wait).await;
        let Some(found) = self.window(window) else { return Ok(false) };
        if found != self.page() {
            *self.page.lock().unwrap_or_else(PoisonError::into_inner) = found;
            self.page_call("Page.bringToFront", json!({})).await?;
        }
        Ok(true)
    }

    fn window(&self, number: usize) -> Option<String> {
        let pages = self.shared.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.windows.get(number).map(|(_, session)| session.clone())
    }

    /// Tells the guard what we are doing.
    pub fn set_mode(&self, mode: Mode) {
        let mut acting = self.shared.mode.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = acting.shown.clone();
        *acting = Acting { mode, began_on: shown.clone(), shown };
    }

    /// Sends a command to the window that we work in.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn page_call(&self, method: &str, params: Value) -> Result<Value, SessionError> {
        Ok(self.shared.cdp.call_within(Some(&self.page()), method, params, self.patience).await?)
    }

    /// Runs a script in the page and reads its answer (a JSON text, or a plain value).
    ///
    /// # Errors
    /// [`SessionError::Cdp`] when the page is gone or hangs; [`SessionError::Answer`].
    pub async fn evaluate<T: DeserializeOwned>(&self, script: &str) -> Result<T, SessionError> {
        parsed(self.evaluate_in(&self.page(), script, self.patience).await?)
    }

    async fn evaluate_in(&self, page: &str, script: &str, patience: Duration) -> Result<Value, SessionError> {
        let params = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.shared.cdp.call_within(Some(page), "Runtime.evaluate", params, patience).await?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            let text = thrown.pointer("/exception/description").or_else(|| thrown.get("text")).and_then(Value::as_str);
            let message = text.and_then(|text| text.lines().next()).unwrap_or("it threw").to_owned();
            return Err(SessionError::Answer { url: String::new(), message });
        }
        Ok(answer["result"]["value"].take())
    }

    /// Calls a function of our hook; brings the hook in where a document has none.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        page: &str,
        call: &str,
        patience: Duration,
    ) -> Result<T, SessionError> {
        let script =
            format!("window[Symbol.for('agent-test')]?.look ? window[Symbol.for('agent-test')].{call} : 'no hook'");
        let deadline = Instant::now() + patience;
        let (mut hooked, mut gone) = (false, 0);
        loop {
            match self.evaluate_in(page, &script, patience).await {
                Ok(Value::String(text)) if text == "no hook" && !hooked => {
                    hooked = true;
                    let _ = self.evaluate_in(page, &format!("{PAGE_SCRIPT}\n0"), patience).await;
                }
                Ok(value) => return parsed(value),
                // A navigation took the document away in the middle: ask the next one, which mostly is there already.
                Err(SessionError::Cdp(error)) if error.is_page_gone() && Instant::now() < deadline => {
                    gone += 1;
                    if gone > 1 {
                        let wait = Duration::from_millis(50);
                        let _ = tokio::time::timeout(wait, self.shared.evidence.changed()).await;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Closes every window but the one that we work in.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn close_other_windows(&self) -> Result<(), SessionError> {
        let page = self.page();
        let others: Vec<String> = {
            let pages = self.shared.pages.lock().unwrap_or_else(PoisonError::into_inner);
            pages.windows.iter().filter(|(_, session)| *session != page).map(|(target, _)| target.clone()).collect()
        };
        for target in others {
            note("close window", || json!(null));
            let _ = self.shared.cdp.call(None, "Target.closeTarget", json!({ "targetId": target })).await;
        }
        let _ = self.page_call("Page.bringToFront", json!({})).await;
        Ok(())
    }

    /// Breaks a script that never ends; gives back whether the page answers again.
    pub async fn unhang(&self) -> bool {
        self.shared.cdp.send(Some(&self.page()), "Runtime.terminateExecution", json!({}));
        self.evaluate_in(&self.page(), "1", Duration::from_secs(2)).await.is_ok()
    }

    /// Ends the session.
    pub async fn close(mut self) {
        note("end", || json!(null));
        let context = std::mem::take(&mut self.context);
        self.host.end_context(&context, Duration::from_secs(5)).await;
    }
}

/// Reads a script's answer: a JSON text, or a plain value.
fn parsed<T: DeserializeOwned>(value: Value) -> Result<T, SessionError> {
    let read = match value.as_str() {
        Some(text) => serde_json::from_str(text).or_else(|_| serde_json::from_value(value.clone())),
        None => serde_json::from_value(value),
    };
    read.map_err(|error| SessionError::Answer { url: String::new(), message: error.to_string() })
}

impl Drop for Session {
    fn drop(&mut self) {
        // Dropped in mid-flight: a cancelled worker, or a session that could not begin.
        if !self.context.is_empty() {
            self.host.drop_context(&self.context);
        }
    }
}
