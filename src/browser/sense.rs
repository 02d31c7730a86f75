//! What a session sees: looks, points, storage, pictures. Each is one round trip.

use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use super::screen::{Aim, Choice, Found, Look, Point, Tally};
use super::session::Session;
use super::session_error::SessionError;

impl Session {
    /// Takes a look at the window that we work in.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn look(&self, most_nodes: u64) -> Result<Look, SessionError> {
        self.take_look(&format!("look({{nodes: {most_nodes}}})")).await
    }

    /// Takes a look that tells everything but the controls: at a page that is not gone into.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn glance(&self, most_nodes: u64) -> Result<Look, SessionError> {
        self.take_look(&format!("look({{nodes: {most_nodes}, glance: true}})")).await
    }

    async fn take_look(&self, call: &str) -> Result<Look, SessionError> {
        let began = Instant::now();
        let look: Look = self.ask(&self.page(), call, Duration::from_secs(15)).await?;
        super::journal::look(&look, began.elapsed().as_secs_f64() * 1000.0);
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
        self.ask(&self.page(), &format!("point({uid})"), self.patience).await
    }

    /// Whether a press at this point would hit an element of the last look, and the counts before it.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn aim(&self, uid: u64, x: f64, y: f64) -> Result<Aim, SessionError> {
        self.ask(&self.page(), &format!("aim({uid}, {x}, {y})"), self.patience).await
    }

    /// A point of the window that belongs to no control.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn blank_point(&self) -> Result<Point, SessionError> {
        self.ask(&self.page(), "blank()", self.patience).await
    }

    /// What the page keeps in its storage beyond a load.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn storage(&self) -> Result<Value, SessionError> {
        self.ask(&self.page(), "keep()", self.patience).await
    }

    /// Puts the page's storage back to what it was.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn put_storage_back(&self, kept: &Value) -> Result<(), SessionError> {
        super::journal::note("storage", || Value::Null);
        self.ask::<Value>(&self.page(), &format!("putBack({kept})"), self.patience).await.map(|_| ())
    }

    /// The options of a list of the last look, in order; none when it is gone or is no list.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn options(&self, uid: u64) -> Result<Vec<Choice>, SessionError> {
        self.ask(&self.page(), &format!("options({uid})"), self.patience).await
    }

    /// Finds an element by a recorded locator.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn find(&self, locator: &crate::trace::Locator) -> Result<Found, SessionError> {
        let locator = serde_json::to_string(locator).unwrap_or_default();
        self.ask(&self.page(), &format!("find({locator})"), self.patience).await
    }

    /// What the page has counted so far.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn tally(&self) -> Result<Tally, SessionError> {
        self.ask(&self.page(), "tally()", self.patience).await
    }

    /// Takes a screenshot of the window, as PNG.
    ///
    /// # Errors
    /// [`SessionError::Cdp`], [`SessionError::Answer`].
    pub async fn screenshot(&self) -> Result<Vec<u8>, SessionError> {
        self.screenshot_of(&self.page()).await
    }

    /// Takes a screenshot of another window, as PNG.
    ///
    /// # Errors
    /// As [`Session::screenshot`].
    pub async fn screenshot_of(&self, window: &str) -> Result<Vec<u8>, SessionError> {
        super::journal::note("shot", || json!({ "other": window != self.page() }));
        let params = json!({ "format": "png", "optimizeForSpeed": true });
        let answer = self.shared.cdp.call_within(Some(window), "Page.captureScreenshot", params, self.patience).await?;
        let data = answer["data"].as_str().unwrap_or_default();
        base64::engine::general_purpose::STANDARD
            .decode(data)
            .map_err(|error| SessionError::Answer { url: String::new(), message: error.to_string() })
    }
}
