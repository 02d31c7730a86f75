//! Gives out fresh sessions: in a browser of a driver of our own, or of a running WebDriver.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::driver::Driver;
use super::guard::Policy;
use super::host::{Host, HostOptions};
use super::session::{Session, SessionOptions};
use super::session_error::SessionError;

/// Gives out fresh sessions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Launcher {
    driver: Option<Arc<Driver>>,
    webdriver: Url,
    storage_state: Option<Arc<Value>>,
    viewport: [u32; 2],
    /// The browser that hosts the next session; begun when the first one is asked for.
    host: Arc<Mutex<Option<Arc<Host>>>>,
}

/// The window of a session that is not told otherwise, in CSS pixels: width, height.
const VIEWPORT: [u32; 2] = [1280, 800];

impl Launcher {
    /// Sessions come from this driver of ours.
    #[must_use]
    pub fn own(driver: Driver) -> Self {
        Self {
            webdriver: driver.url().clone(),
            driver: Some(Arc::new(driver)),
            storage_state: None,
            viewport: VIEWPORT,
            host: Arc::default(),
        }
    }

    /// Sessions come from a running WebDriver.
    #[must_use]
    pub fn remote(webdriver: Url) -> Self {
        Self { driver: None, webdriver, storage_state: None, viewport: VIEWPORT, host: Arc::default() }
    }

    /// Sessions begin with these cookies and this local storage (Playwright's storage-state format).
    #[must_use]
    pub fn with_storage_state(mut self, state: Option<Value>) -> Self {
        self.storage_state = state.map(Arc::new);
        self
    }

    /// Sessions have a window of this size: width, height in CSS pixels.
    #[must_use]
    pub fn with_viewport(mut self, viewport: [u32; 2]) -> Self {
        self.viewport = viewport;
        self
    }

    /// Begins a fresh session: no cookie, storage or page of another one.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn session(&self, policy: Policy) -> Result<Session, SessionError> {
        let viewport = (self.viewport[0], self.viewport[1]);
        let options = SessionOptions { viewport, policy, storage_state: self.storage_state.clone() };
        let host = self.host().await?;
        match Session::start(host.clone(), &options).await {
            // The browser is ill, or ended between two sessions: one try with a new one.
            Err(SessionError::Cdp(_) | SessionError::NoWindow) => {
                host.spend();
                Session::start(self.host().await?, &options).await
            }
            begun => begun,
        }
    }

    /// The browser of the next session. One that is fit for no more ends with its last session.
    async fn host(&self) -> Result<Arc<Host>, SessionError> {
        let mut present = self.host.lock().await;
        if let Some(host) = present.as_ref().filter(|host| host.is_fit()) {
            return Ok(host.clone());
        }
        let own = self.driver.as_ref().map(|driver| (driver.clone(), driver.profile_dir()));
        let options =
            HostOptions { webdriver: self.webdriver.to_string(), own, viewport: (self.viewport[0], self.viewport[1]) };
        match Host::start(&options).await {
            Ok(host) => Ok(present.insert(Arc::new(host)).clone()),
            Err(error) => {
                if let Some((driver, profile)) = &options.own {
                    driver.forget_profile(profile);
                }
                Err(error)
            }
        }
    }

    /// Ends the browser, and a driver of our own with whatever it started.
    pub async fn stop(&self) {
        let host = self.host.lock().await.take();
        match (&self.driver, host) {
            (Some(driver), _) => driver.stop().await,
            (None, Some(host)) => host.quit().await,
            (None, None) => {}
        }
    }
}
