//! A running browser: begun through WebDriver, watched through one DevTools connection, host of user contexts.
//!
//! A session is a user context of its own: no cookie, storage, cache or permission of another one, at a quarter of what a
//! new browser costs (`make bench-replay` shows both). Renderers are never shared between contexts, so a page that hangs
//! or crashes takes no other session with it; a browser that crashes is replaced at the next session.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use thirtyfour::prelude::*;

use super::cdp::Cdp;
use super::driver::Driver;
use super::pump::{self, Board, Shared};
use super::session_error::SessionError;

/// How a browser is begun.
#[derive(Clone, Debug)]
pub(super) struct HostOptions {
    /// WebDriver address.
    pub(super) webdriver: String,
    /// A driver of our own, and the profile directory of the browser.
    pub(super) own: Option<(Arc<Driver>, PathBuf)>,
    /// Window size in CSS pixels.
    pub(super) viewport: (u32, u32),
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

/// Sessions that one browser hosts before the next one gets a new browser: what a browser never gives back stays bounded.
const MOST: usize = 200;
/// A WebDriver that hears nothing ends its session (a Grid after five minutes).
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// A running browser.
pub(super) struct Host {
    driver: Mutex<Option<WebDriver>>,
    pub(super) cdp: Cdp,
    pub(super) board: Arc<Board>,
    pump: tokio::task::JoinHandle<()>,
    keep: tokio::task::JoinHandle<()>,
    own: Option<(Arc<Driver>, PathBuf)>,
    hosted: AtomicUsize,
    /// It did not end a context in time, or could not begin one.
    spent: AtomicBool,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("hosted", &self.hosted).field("spent", &self.spent).finish_non_exhaustive()
    }
}

impl Host {
    /// Begins a browser.
    ///
    /// # Errors
    /// [`SessionError::Start`], [`SessionError::NoDevTools`], [`SessionError::Cdp`].
    pub(super) async fn start(options: &HostOptions) -> Result<Self, SessionError> {
        super::install_tls();
        let start =
            |error: &WebDriverError| SessionError::Start { url: options.webdriver.clone(), message: brief(error) };
        let caps = capabilities(options).map_err(|error| start(&error))?;
        let driver = WebDriver::new(&options.webdriver, caps).await.map_err(|error| start(&error))?;
        match Self::watch(&driver, options).await {
            Ok((cdp, board, pump)) => {
                let kept = driver.clone();
                let keep = tokio::spawn(async move {
                    loop {
                        tokio::time::sleep(KEEP_ALIVE).await;
                        let _ = kept.title().await;
                    }
                });
                Ok(Self {
                    driver: Mutex::new(Some(driver)),
                    cdp,
                    board,
                    pump,
                    keep,
                    own: options.own.clone(),
                    hosted: AtomicUsize::new(0),
                    spent: AtomicBool::new(false),
                })
            }
            Err(error) => {
                let _ = driver.quit().await;
                Err(error)
            }
        }
    }

    async fn watch(
        driver: &WebDriver,
        options: &HostOptions,
    ) -> Result<(Cdp, Arc<Board>, tokio::task::JoinHandle<()>), SessionError> {
        let socket = devtools_address(driver, &options.webdriver).await?;
        let (cdp, events) = Cdp::connect(&socket).await?;
        let board = Arc::new(Board::default());
        let pump = tokio::spawn(pump::run(cdp.clone(), board.clone(), events));
        let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        match cdp.call(None, "Target.setAutoAttach", attach).await {
            Ok(_) => Ok((cdp, board, pump)),
            Err(error) => {
                pump.abort();
                Err(error.into())
            }
        }
    }

    /// Whether a further session may begin here.
    pub(super) fn is_fit(&self) -> bool {
        !self.cdp.has_ended()
            && !self.spent.load(Ordering::Relaxed)
            && self.hosted.load(Ordering::Relaxed) < MOST
            && self.own.as_ref().is_none_or(|(driver, _)| driver.is_running())
    }

    /// No further session begins here.
    pub(super) fn spend(&self) {
        self.spent.store(true, Ordering::Relaxed);
    }

    /// Begins a user context, whose events go to `shared` from the first one on; gives back its id.
    pub(super) async fn begin_context(&self, shared: &Shared) -> Result<String, SessionError> {
        self.hosted.fetch_add(1, Ordering::Relaxed);
        let answer = self.cdp.call(None, "Target.createBrowserContext", json!({ "disposeOnDetach": true })).await?;
        let context = answer["browserContextId"].as_str().unwrap_or_default().to_owned();
        self.board.join(&context, shared.clone());
        let deny = json!({ "behavior": "deny", "browserContextId": context, "eventsEnabled": true });
        self.cdp.send(None, "Browser.setDownloadBehavior", deny);
        Ok(context)
    }

    /// Ends a user context with all its windows.
    pub(super) async fn end_context(&self, context: &str, within: Duration) {
        self.board.leave(context);
        let params = json!({ "browserContextId": context });
        if self.cdp.call_within(None, "Target.disposeBrowserContext", params, within).await.is_err() {
            self.spend();
        }
    }

    /// The same without waiting for it.
    pub(super) fn drop_context(&self, context: &str) {
        self.board.leave(context);
        self.cdp.send(None, "Target.disposeBrowserContext", json!({ "browserContextId": context }));
    }

    /// Ends the browser.
    pub(super) async fn quit(&self) {
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.keep.abort();
        if let Some(driver) = driver {
            let _ = tokio::time::timeout(Duration::from_secs(10), driver.quit()).await;
        }
        self.pump.abort();
        if let Some((driver, profile)) = &self.own {
            driver.forget_profile(profile);
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.keep.abort();
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(driver) = driver else { return };
        let own = self.own.take();
        let pump = self.pump.abort_handle();
        // The library's own drop would block the executor, so the browser is ended in the background; a driver of ours
        // takes it along in any case.
        if let Ok(handle) = tokio::runtime::Handle::try_current() {
            handle.spawn(async move {
                let _ = tokio::time::timeout(Duration::from_secs(10), driver.quit()).await;
                pump.abort();
                if let Some((driver, profile)) = own {
                    driver.forget_profile(&profile);
                }
            });
        } else {
            pump.abort();
            let _ = driver.leak();
        }
    }
}

fn capabilities(options: &HostOptions) -> Result<thirtyfour::ChromeCapabilities, WebDriverError> {
    let mut caps = DesiredCapabilities::chrome();
    for flag in FLAGS {
        caps.add_arg(flag)?;
    }
    let (width, height) = options.viewport;
    caps.add_arg(&format!("--window-size={width},{height}"))?;
    if let Some((driver, profile)) = &options.own {
        caps.add_arg(&format!("--user-data-dir={}", profile.display()))?;
        caps.set_binary(&driver.chrome_path().to_string_lossy())?;
    }
    for (key, value) in [("unhandledPromptBehavior", "ignore"), ("pageLoadStrategy", "none")] {
        caps.set(key, value)?;
    }
    Ok(caps)
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
