//! Gives out fresh sessions: from a driver of our own, or from a running WebDriver.

use std::sync::Arc;

use serde_json::Value;
use url::Url;

use super::driver::Driver;
use super::guard::Policy;
use super::session::{Session, SessionOptions};
use super::session_error::SessionError;

/// Gives out fresh sessions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Launcher {
    driver: Option<Arc<Driver>>,
    webdriver: Url,
    storage_state: Option<Arc<Value>>,
    viewport: [u32; 2],
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
        }
    }

    /// Sessions come from a running WebDriver.
    #[must_use]
    pub fn remote(webdriver: Url) -> Self {
        Self { driver: None, webdriver, storage_state: None, viewport: VIEWPORT }
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

    /// Begins a fresh session.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn session(&self, policy: Policy) -> Result<Session, SessionError> {
        let profile = self.driver.as_ref().map(|driver| driver.profile_dir());
        let options = SessionOptions {
            webdriver: self.webdriver.to_string(),
            chrome: self.driver.as_ref().map(|driver| driver.chrome_path().to_owned()),
            profile,
            viewport: (self.viewport[0], self.viewport[1]),
            policy,
            storage_state: self.storage_state.as_deref().cloned(),
        };
        let profile = options.profile.clone();
        let begun = Session::start(options).await;
        if let (Some(driver), Some(profile)) = (&self.driver, profile) {
            match begun {
                Ok(session) => return Ok(session.owning(driver.clone(), profile)),
                Err(error) => {
                    driver.forget_profile(&profile);
                    return Err(error);
                }
            }
        }
        begun
    }

    /// Ends a driver of our own, with every browser that it started.
    pub async fn stop(&self) {
        if let Some(driver) = &self.driver {
            driver.stop().await;
        }
    }
}
