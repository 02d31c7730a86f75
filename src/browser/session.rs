//! One browser session: begun and ended through WebDriver, watched and driven through its DevTools socket.
//!
//! Invariants: the guard is in force before the first page is opened; every window and frame has our hook before its own
//! code runs; a session is closed on every path ([`Session::close`], and the driver's process group behind it).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thirtyfour::prelude::*;
use tokio::sync::watch;
use url::Url;

use super::cdp::{Cdp, CdpError};
use super::driver::Driver;
use super::evidence::{Evidence, Mark, Note};
use super::guard::{Mode, Policy};
use super::pump::{self, Acting, PAGE_SCRIPT, Pages, Shared};
use super::screen::{Found, Look, Point, Still, Tally};
use crate::exit::{Exit, Explain};

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// WebDriver gave no session.
    #[error("the WebDriver at `{url}` gave no browser session: {message}")]
    Start {
        /// The WebDriver.
        url: String,
        /// Its words, first line.
        message: String,
    },
    /// The browser has no DevTools socket.
    #[error("the browser behind `{url}` offers no DevTools address, so its requests cannot be guarded")]
    NoDevTools {
        /// The WebDriver.
        url: String,
    },
    /// The application could not be reached.
    #[error("cannot open `{url}`: {reason}")]
    Unreachable {
        /// Address.
        url: String,
        /// The browser's words.
        reason: String,
    },
    /// The page hangs.
    #[error("the page at `{url}` does not answer: {message}")]
    Hung {
        /// Address.
        url: String,
        /// What was asked.
        message: String,
    },
    /// The connection or a command failed.
    #[error(transparent)]
    Cdp(#[from] CdpError),
    /// The page's answer was not what our script gives.
    #[error("the page at `{url}` answered our script with something else: {message}")]
    Answer {
        /// Address.
        url: String,
        /// Why.
        message: String,
    },
}

impl Explain for SessionError {
    fn exit(&self) -> Exit {
        Exit::Engine
    }

    fn hint(&self) -> Option<String> {
        Some(
            match self {
                Self::Start { .. } => "`agent-test doctor` checks browser, driver and their versions",
                Self::NoDevTools { .. } => "use Chromium or Chrome; on a Grid, a node that reports `se:cdp`",
                Self::Unreachable { .. } => "is the application running, and is the base URL right?",
                Self::Hung { .. } => "the page blocks its own main thread",
                Self::Cdp(_) | Self::Answer { .. } => return None,
            }
            .to_owned(),
        )
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Start { .. } => "no_browser_session",
            Self::NoDevTools { .. } => "no_devtools",
            Self::Unreachable { .. } => "unreachable",
            Self::Hung { .. } => "page_hung",
            Self::Cdp(_) => "browser_lost",
            Self::Answer { .. } => "page_answer",
        }
    }
}

/// How a session is begun.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// WebDriver address.
    pub webdriver: String,
    /// Browser binary (only for a driver of our own).
    pub chrome: Option<PathBuf>,
    /// Profile directory (only for a driver of our own).
    pub profile: Option<PathBuf>,
    /// Window size in CSS pixels.
    pub viewport: (u32, u32),
    /// What may leave.
    pub policy: Policy,
    /// Cookies and local storage to begin with (Playwright's storage-state format).
    pub storage_state: Option<Value>,
}

/// One browser session.
pub struct Session {
    driver: Option<WebDriver>,
    shared: Shared,
    page: String,
    pump: tokio::task::JoinHandle<()>,
    /// A command may take this long before the page counts as hung.
    patience: Duration,
    /// The profile directory that goes with the session.
    owned: Option<(Arc<Driver>, PathBuf)>,
}

const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-search-engine-choice-screen",
    "--disable-features=Translate,MediaRouter,OptimizationHints,HttpsUpgrades",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    "--lang=en-US",
    // The browser's own accessible role and name, readable in our one look.
    "--enable-blink-features=ComputedAccessibilityInfo",
];

impl Session {
    /// Begins a session and puts the guard in force.
    ///
    /// # Errors
    /// [`SessionError::Start`], [`SessionError::NoDevTools`], [`SessionError::Cdp`].
    pub async fn start(options: SessionOptions) -> Result<Self, SessionError> {
        super::install_tls();
        let start = |message: String| SessionError::Start { url: options.webdriver.clone(), message };
        let mut caps = DesiredCapabilities::chrome();
        let add = |caps: &mut thirtyfour::ChromeCapabilities, flag: &str| {
            caps.add_arg(flag).map_err(|error| start(brief(&error)))
        };
        for flag in FLAGS {
            add(&mut caps, flag)?;
        }
        let (width, height) = options.viewport;
        add(&mut caps, &format!("--window-size={width},{height}"))?;
        if let Some(profile) = &options.profile {
            add(&mut caps, &format!("--user-data-dir={}", profile.display()))?;
        }
        if let Some(chrome) = &options.chrome {
            caps.set_binary(&chrome.to_string_lossy()).map_err(|error| start(brief(&error)))?;
        }
        for (key, value) in [("unhandledPromptBehavior", "ignore"), ("pageLoadStrategy", "none")] {
            caps.set(key, value).map_err(|error| start(brief(&error)))?;
        }
        let driver = WebDriver::new(&options.webdriver, caps).await.map_err(|error| start(brief(&error)))?;
        match Self::watch(&driver, &options).await {
            Ok((shared, page, pump)) => {
                let session =
                    Self { driver: Some(driver), shared, page, pump, patience: Duration::from_secs(8), owned: None };
                session.prepare(&options).await?;
                Ok(session)
            }
            Err(error) => {
                let _ = driver.quit().await;
                Err(error)
            }
        }
    }

    async fn watch(
        driver: &WebDriver,
        options: &SessionOptions,
    ) -> Result<(Shared, String, tokio::task::JoinHandle<()>), SessionError> {
        let socket = devtools_address(driver, &options.webdriver).await?;
        let (cdp, events) = Cdp::connect(&socket).await?;
        let (ready, mut windows) = watch::channel(0);
        let shared = Shared {
            cdp: cdp.clone(),
            evidence: Evidence::default(),
            policy: Arc::new(options.policy.clone()),
            mode: Arc::new(Mutex::new(Acting::default())),
            pages: Arc::new(Mutex::new(Pages::default())),
            ready,
        };
        let pump = tokio::spawn(pump::run(shared.clone(), events));
        cdp.call(
            None,
            "Target.setAutoAttach",
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true }),
        )
        .await?;
        cdp.send(None, "Browser.setDownloadBehavior", json!({ "behavior": "deny", "eventsEnabled": true }));
        let wait = windows.wait_for(|count| *count > 0);
        let attached = tokio::time::timeout(Duration::from_secs(10), wait).await.is_ok_and(|changed| changed.is_ok());
        let page =
            shared.pages.lock().unwrap_or_else(PoisonError::into_inner).windows.first().map(|(_, page)| page.clone());
        match page {
            Some(page) if attached => Ok((shared, page, pump)),
            _ => {
                pump.abort();
                Err(SessionError::NoDevTools { url: options.webdriver.clone() })
            }
        }
    }

    async fn prepare(&self, options: &SessionOptions) -> Result<(), SessionError> {
        let (width, height) = options.viewport;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.page_call("Emulation.setDeviceMetricsOverride", metrics).await?;
        // Keeps the accessibility tree alive between looks; without it each name is computed from nothing.
        self.page_call("Accessibility.enable", json!({})).await?;
        if let Some(state) = &options.storage_state {
            let cookies = state["cookies"].clone();
            if cookies.as_array().is_some_and(|list| !list.is_empty()) {
                self.shared.cdp.call(None, "Storage.setCookies", json!({ "cookies": cookies })).await?;
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

    /// The session's profile is removed when it ends.
    #[must_use]
    pub(super) fn owning(mut self, driver: Arc<Driver>, profile: PathBuf) -> Self {
        self.owned = Some((driver, profile));
        self
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
        Ok(self.shared.cdp.call_within(Some(&self.page), method, params, self.patience).await?)
    }

    /// Runs a script in the page and reads its answer (a JSON text, or a plain value).
    ///
    /// # Errors
    /// [`SessionError::Cdp`] when the page is gone or hangs; [`SessionError::Answer`].
    pub async fn evaluate<T: DeserializeOwned>(&self, script: &str) -> Result<T, SessionError> {
        self.evaluate_in(&self.page, script, self.patience).await
    }

    async fn evaluate_in<T: DeserializeOwned>(
        &self,
        page: &str,
        script: &str,
        patience: Duration,
    ) -> Result<T, SessionError> {
        let params = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let answer = self.shared.cdp.call_within(Some(page), "Runtime.evaluate", params, patience).await?;
        let value = &answer["result"]["value"];
        let parsed = match value.as_str() {
            Some(text) => serde_json::from_str(text).or_else(|_| serde_json::from_value(value.clone())),
            None => serde_json::from_value(value.clone()),
        };
        parsed.map_err(|error| SessionError::Answer {
            url: String::new(),
            message: answer
                .pointer("/exceptionDetails/exception/description")
                .and_then(Value::as_str)
                .map_or_else(|| error.to_string(), |text| text.lines().next().unwrap_or_default().to_owned()),
        })
    }

    /// Calls a function of our hook; brings the hook in where a document has none.
    async fn ask<T: DeserializeOwned>(&self, page: &str, call: &str, patience: Duration) -> Result<T, SessionError> {
        let script =
            format!("window[Symbol.for('agent-test')]?.look ? window[Symbol.for('agent-test')].{call} : 'no hook'");
        let deadline = Instant::now() + patience;
        let mut hooked = false;
        loop {
            match self.evaluate_in::<Value>(page, &script, patience).await {
                Ok(Value::String(text)) if text == "no hook" && !hooked => {
                    hooked = true;
                    let _ = self.evaluate_in::<Value>(page, &format!("{PAGE_SCRIPT}\n0"), patience).await;
                }
                Ok(value) => {
                    return serde_json::from_value(value)
                        .map_err(|error| SessionError::Answer { url: String::new(), message: error.to_string() });
                }
                // A navigation took the document away in the middle: ask the next one.
                Err(SessionError::Cdp(error)) if error.is_page_gone() && Instant::now() < deadline => {
                    let _ = tokio::time::timeout(Duration::from_millis(50), self.shared.evidence.changed()).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes a look at the window that we work in.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn look(&self, most_nodes: u64) -> Result<Look, SessionError> {
        let began = Instant::now();
        let look: Look =
            self.ask(&self.page, &format!("look({{nodes: {most_nodes}}})"), Duration::from_secs(15)).await?;
        tracing::debug!(
            ms = began.elapsed().as_millis(),
            nodes = look.nodes,
            elements = look.elements.len(),
            url = look.url,
            "look"
        );
        Ok(look)
    }

    /// Takes a look at another window.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn look_at_window(&self, window: &str, most_nodes: u64) -> Result<Look, SessionError> {
        self.ask(window, &format!("look({{nodes: {most_nodes}}})"), self.patience).await
    }

    /// Where to press an element; scrolls it into view.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn point(&self, uid: u64) -> Result<Point, SessionError> {
        self.ask(&self.page, &format!("point({uid})"), self.patience).await
    }

    /// A point of the window that belongs to no control.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn blank_point(&self) -> Result<Point, SessionError> {
        self.ask(&self.page, "blank()", self.patience).await
    }

    /// What the page keeps in its storage beyond a load.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn storage(&self) -> Result<Value, SessionError> {
        self.ask(&self.page, "keep()", self.patience).await
    }

    /// Puts the page's storage back to what it was.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn put_storage_back(&self, kept: &Value) -> Result<(), SessionError> {
        self.ask::<Value>(&self.page, &format!("putBack({kept})"), self.patience).await.map(|_| ())
    }

    /// Finds an element by a recorded locator.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn find(&self, locator: &crate::trace::Locator) -> Result<Found, SessionError> {
        let locator = serde_json::to_string(locator).unwrap_or_default();
        self.ask(&self.page, &format!("find({locator})"), self.patience).await
    }

    /// What the page has counted so far.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn tally(&self) -> Result<Tally, SessionError> {
        self.ask(&self.page, "tally()", self.patience).await
    }

    /// Waits until the screen is still: nothing changed for 30 ms, no timer due soon, no finite animation, no counted
    /// request since the mark in flight; or until `cap_ms` have passed.
    ///
    /// # Errors
    /// [`SessionError::Hung`] when the page does not answer; as [`Session::evaluate`].
    pub async fn still(&self, since: Mark, cap_ms: u64) -> Result<Still, SessionError> {
        self.still_in(&self.page, since, cap_ms).await
    }

    /// Like [`Session::still`] for another window.
    ///
    /// # Errors
    /// As [`Session::still`].
    pub async fn window_still(&self, window: &str, since: Mark, cap_ms: u64) -> Result<Still, SessionError> {
        self.still_in(window, since, cap_ms).await
    }

    async fn still_in(&self, page: &str, since: Mark, cap_ms: u64) -> Result<Still, SessionError> {
        let began = Instant::now();
        let cap = Duration::from_millis(cap_ms);
        loop {
            let left = cap.saturating_sub(began.elapsed());
            let call = format!("still(30, {})", left.as_millis());
            let answer = self.ask::<Still>(page, &call, left + self.patience).await;
            let mut still = match answer {
                Ok(still) => still,
                Err(SessionError::Cdp(CdpError::Timeout { method, ms })) => {
                    return Err(SessionError::Hung { url: String::new(), message: format!("{method} within {ms} ms") });
                }
                Err(error) => return Err(error),
            };
            still.ms = began.elapsed().as_secs_f64() * 1000.0;
            tracing::debug!(ms = still.ms, still = still.still, reason = ?still.reason, in_flight = self.shared.evidence.in_flight(since, u128::from(cap_ms)), "still");
            if !still.still {
                return Ok(still);
            }
            if self.shared.evidence.in_flight(since, u128::from(cap_ms)) == 0 {
                return Ok(still);
            }
            // A request is under way: what it brings changes the screen.
            while self.shared.evidence.in_flight(since, u128::from(cap_ms)) > 0 {
                let left = cap.saturating_sub(began.elapsed());
                if left.is_zero() {
                    tracing::debug!(requests = ?self.shared.evidence.under_way(since), "never still");
                    self.shared.evidence.give_up(since);
                    return Ok(Still { still: false, reason: Some("request".to_owned()), ms: still.ms });
                }
                let _ =
                    tokio::time::timeout(left.min(Duration::from_millis(250)), self.shared.evidence.changed()).await;
            }
        }
    }

    /// Opens an address and waits until the screen is still.
    ///
    /// # Errors
    /// [`SessionError::Unreachable`] when the browser shows its own error page; as [`Session::still`].
    pub async fn goto(&self, url: &Url, cap_ms: u64) -> Result<Still, SessionError> {
        self.set_mode(Mode::Load);
        let mark = self.shared.evidence.mark();
        let answer = self.page_call("Page.navigate", json!({ "url": url.as_str() })).await?;
        if let Some(reason) = answer["errorText"].as_str()
            && reason != "net::ERR_ABORTED"
        {
            return Err(SessionError::Unreachable { url: url.to_string(), reason: reason.to_owned() });
        }
        // Same document (only the fragment differs): nothing is committed.
        if answer["loaderId"].is_string() {
            self.committed(mark, Duration::from_millis(cap_ms)).await;
        }
        self.still(mark, cap_ms).await
    }

    async fn committed(&self, mark: Mark, within: Duration) {
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            let since = self.shared.evidence.since(mark);
            if since
                .notes
                .iter()
                .any(|note| matches!(note, Note::Committed { .. } | Note::Download { .. } | Note::Crashed))
            {
                return;
            }
            let _ = tokio::time::timeout(Duration::from_millis(100), self.shared.evidence.changed()).await;
        }
    }

    /// Goes back in history, if there is anything; gives back whether it did.
    ///
    /// # Errors
    /// As [`Session::still`].
    pub async fn back(&self, cap_ms: u64) -> Result<bool, SessionError> {
        self.set_mode(Mode::Load);
        let history = self.page_call("Page.getNavigationHistory", json!({})).await?;
        let at = history["currentIndex"].as_u64().unwrap_or(0);
        let previous = at.checked_sub(1).and_then(|index| history["entries"].get(usize::try_from(index).ok()?));
        let Some(previous) = previous else { return Ok(false) };
        if previous["url"].as_str().is_some_and(|url| url.starts_with("about:") || url.starts_with("data:")) {
            return Ok(false);
        }
        let mark = self.shared.evidence.mark();
        self.page_call("Page.navigateToHistoryEntry", json!({ "entryId": previous["id"] })).await?;
        let deadline = Instant::now() + Duration::from_millis(cap_ms);
        while Instant::now() < deadline {
            let since = self.shared.evidence.since(mark);
            if since.notes.iter().any(|note| matches!(note, Note::Committed { .. } | Note::Moved { .. })) {
                break;
            }
            let _ = tokio::time::timeout(Duration::from_millis(100), self.shared.evidence.changed()).await;
        }
        self.still(mark, cap_ms).await?;
        Ok(true)
    }

    /// Moves the pointer.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn move_to(&self, x: f64, y: f64) -> Result<(), SessionError> {
        self.page_call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y })).await?;
        Ok(())
    }

    /// Presses and releases the left button.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn press_button(&self, x: f64, y: f64) -> Result<(), SessionError> {
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            // A page that blocks its main thread in the handler answers late or never; the wait that follows tells.
            match self.page_call("Input.dispatchMouseEvent", params).await {
                Ok(_) => {}
                Err(SessionError::Cdp(error)) if error.is_page_gone() => return Ok(()),
                Err(SessionError::Cdp(CdpError::Timeout { method, ms })) => {
                    return Err(SessionError::Hung { url: String::new(), message: format!("{method} within {ms} ms") });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Presses a key by its name (`Escape`, `Enter`, `Tab`).
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn press_key(&self, key: &str) -> Result<(), SessionError> {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "ArrowDown" => 40,
            _ => 27,
        };
        for kind in ["rawKeyDown", "keyUp"] {
            let mut params = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if key == "Enter" && kind == "rawKeyDown" {
                params["type"] = json!("keyDown");
                params["text"] = json!("\r");
            }
            self.page_call("Input.dispatchKeyEvent", params).await?;
        }
        Ok(())
    }

    /// Types a text into the element that has the focus.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn type_text(&self, text: &str) -> Result<(), SessionError> {
        self.page_call("Input.insertText", json!({ "text": text })).await?;
        Ok(())
    }

    /// Takes a screenshot of the window, as PNG.
    ///
    /// # Errors
    /// [`SessionError::Cdp`], [`SessionError::Answer`].
    pub async fn screenshot(&self) -> Result<Vec<u8>, SessionError> {
        self.screenshot_of(&self.page).await
    }

    /// Takes a screenshot of another window, as PNG.
    ///
    /// # Errors
    /// As [`Session::screenshot`].
    pub async fn screenshot_of(&self, window: &str) -> Result<Vec<u8>, SessionError> {
        let params = json!({ "format": "png", "optimizeForSpeed": true });
        let answer = self.shared.cdp.call_within(Some(window), "Page.captureScreenshot", params, self.patience).await?;
        let data = answer["data"].as_str().unwrap_or_default();
        base64::engine::general_purpose::STANDARD
            .decode(data)
            .map_err(|error| SessionError::Answer { url: String::new(), message: error.to_string() })
    }

    /// Closes every window but the one that we work in.
    ///
    /// # Errors
    /// [`SessionError::Cdp`].
    pub async fn close_other_windows(&self) -> Result<(), SessionError> {
        let others: Vec<String> = {
            let pages = self.shared.pages.lock().unwrap_or_else(PoisonError::into_inner);
            pages
                .windows
                .iter()
                .filter(|(_, session)| *session != self.page)
                .map(|(target, _)| target.clone())
                .collect()
        };
        for target in others {
            let _ = self.shared.cdp.call(None, "Target.closeTarget", json!({ "targetId": target })).await;
        }
        let _ = self.page_call("Page.bringToFront", json!({})).await;
        Ok(())
    }

    /// Breaks a script that never ends; gives back whether the page answers again.
    pub async fn unhang(&self) -> bool {
        self.shared.cdp.send(Some(&self.page), "Runtime.terminateExecution", json!({}));
        self.evaluate_in::<Value>(&self.page, "1", Duration::from_secs(2)).await.is_ok()
    }

    /// Ends the session.
    pub async fn close(mut self) {
        if let Some(driver) = self.driver.take() {
            let _ = tokio::time::timeout(Duration::from_secs(10), driver.quit()).await;
        }
        self.pump.abort();
        if let Some((driver, profile)) = self.owned.take() {
            driver.forget_profile(&profile);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.pump.abort();
        if let Some(driver) = self.driver.take() {
            // Dropped in mid-flight (a cancelled worker): the library's own drop would block the executor, so the
            // session is ended in the background; the driver's process group goes in any case.
            if let Ok(handle) = tokio::runtime::Handle::try_current() {
                handle.spawn(async move {
                    let _ = tokio::time::timeout(Duration::from_secs(5), driver.quit()).await;
                });
            } else {
                let _ = driver.leak();
            }
        }
    }
}

/// The first line, without the driver's stack trace.
fn brief(error: &WebDriverError) -> String {
    let text = error.to_string();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
    let message =
        text.lines().map(str::trim).find(|line| line.contains("session not created") || line.contains("Message"));
    message.unwrap_or(line).chars().take(300).collect()
}

/// Address of the browser's own DevTools socket.
async fn devtools_address(driver: &WebDriver, webdriver: &str) -> Result<String, SessionError> {
    let missing = || SessionError::NoDevTools { url: webdriver.to_owned() };
    let caps = driver.capabilities();
    if let Some(url) = caps.get("se:cdp").and_then(Value::as_str) {
        return Ok(url.to_owned());
    }
    let address = caps
        .get("goog:chromeOptions")
        .or_else(|| caps.get("ms:edgeOptions"))
        .and_then(|options| options.get("debuggerAddress"))
        .and_then(Value::as_str)
        .ok_or_else(missing)?;
    let version: Value = reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(5))
        .build()
        .map_err(|_| missing())?
        .get(format!("http://{address}/json/version"))
        .send()
        .await
        .map_err(|_| missing())?
        .json()
        .await
        .map_err(|_| missing())?;
    version["webSocketDebuggerUrl"].as_str().map(str::to_owned).ok_or_else(missing)
}
