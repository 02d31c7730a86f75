//! One browser session: begun and ended through WebDriver, watched and driven through its DevTools socket.
//!
//! Invariants: the guard is in force before the first page is opened; every window and frame has our hook before its own
//! code runs; a session is closed on every path ([`Session::close`], and the driver's process group behind it).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thirtyfour::prelude::*;
use tokio::sync::watch;

use super::cdp::Cdp;
use super::driver::Driver;
use super::evidence::Evidence;
use super::guard::{Mode, Policy};
use super::pump::{self, Acting, PAGE_SCRIPT, Pages, Shared};

use super::session_error::SessionError;

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
    pub(super) shared: Shared,
    /// The window that we work in.
    page: Mutex<String>,
    pump: tokio::task::JoinHandle<()>,
    /// A command may take this long before the page counts as hung.
    pub(super) patience: Duration,
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
                let session = Self {
                    driver: Some(driver),
                    shared,
                    page: Mutex::new(page),
                    pump,
                    patience: Duration::from_secs(8),
                    owned: None,
                };
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
        self.evaluate_in(&self.page(), script, self.patience).await
    }

    async fn evaluate_in<T: DeserializeOwned>(
        &self,
        page: &str,
        script: &str,
        patience: Duration,
    ) -> Result<T, SessionError> {
        let params = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let answer = self.shared.cdp.call_within(Some(page), "Runtime.evaluate", params, patience).await?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            let text = thrown.pointer("/exception/description").or_else(|| thrown.get("text")).and_then(Value::as_str);
            let message = text.and_then(|text| text.lines().next()).unwrap_or("it threw").to_owned();
            return Err(SessionError::Answer { url: String::new(), message });
        }
        let value = &answer["result"]["value"];
        let parsed = match value.as_str() {
            Some(text) => serde_json::from_str(text).or_else(|_| serde_json::from_value(value.clone())),
            None => serde_json::from_value(value.clone()),
        };
        parsed.map_err(|error| SessionError::Answer { url: String::new(), message: error.to_string() })
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
            let _ = self.shared.cdp.call(None, "Target.closeTarget", json!({ "targetId": target })).await;
        }
        let _ = self.page_call("Page.bringToFront", json!({})).await;
        Ok(())
    }

    /// Breaks a script that never ends; gives back whether the page answers again.
    pub async fn unhang(&self) -> bool {
        self.shared.cdp.send(Some(&self.page()), "Runtime.terminateExecution", json!({}));
        self.evaluate_in::<Value>(&self.page(), "1", Duration::from_secs(2)).await.is_ok()
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
