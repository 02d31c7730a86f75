//! How a session moves between pages, and waits: until the screen is still, never for a fixed time.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::json;
use url::Url;

use super::cdp::CdpError;
use super::evidence::{Mark, Note};
use super::guard::Mode;
use super::journal::note;
use super::screen::Still;
use super::session::Session;
use super::session_error::SessionError;

impl Session {
    /// Waits until the screen is still: nothing changed for 30 ms, no timer due soon, no finite animation, no counted
    /// request since the mark in flight; or until `cap_ms` have passed.
    ///
    /// # Errors
    /// [`SessionError::Hung`] when the page does not answer; as [`Session::evaluate`].
    pub async fn still(&self, since: Mark, cap_ms: u64) -> Result<Still, SessionError> {
        self.still_in(&self.page(), since, cap_ms, None).await
    }

    /// Like [`Session::still`]; but when another document than `from` is there by then, it need only have loaded: its
    /// timers and animations are not waited for.
    ///
    /// # Errors
    /// As [`Session::still`].
    pub async fn still_or_loaded(&self, since: Mark, cap_ms: u64, from: &str) -> Result<Still, SessionError> {
        self.still_in(&self.page(), since, cap_ms, Some(from)).await
    }

    /// Like [`Session::still`] for another window.
    ///
    /// # Errors
    /// As [`Session::still`].
    pub async fn window_still(&self, window: &str, since: Mark, cap_ms: u64) -> Result<Still, SessionError> {
        self.still_in(window, since, cap_ms, None).await
    }

    async fn still_in(&self, page: &str, since: Mark, cap_ms: u64, from: Option<&str>) -> Result<Still, SessionError> {
        let began = Instant::now();
        let cap = Duration::from_millis(cap_ms);
        loop {
            let left = cap.saturating_sub(began.elapsed());
            let timers = json!(*self.timers.lock().unwrap_or_else(PoisonError::into_inner));
            let call = format!("still(30, {}, {timers}, {})", left.as_millis(), json!(from));
            let answer = self.ask::<Still>(page, &call, left + self.patience).await;
            let mut still = match answer {
                Ok(still) => still,
                Err(SessionError::Cdp(CdpError::Timeout { method, ms })) => {
                    return Err(SessionError::Hung { url: String::new(), message: format!("{method} within {ms} ms") });
                }
                Err(error) => return Err(error),
            };
            self.learn(&still);
            still.ms = began.elapsed().as_secs_f64() * 1000.0;
            tracing::debug!(ms = still.ms, still = still.still, reason = ?still.reason, held = ?still.held, in_flight = self.shared.evidence.in_flight(since, u128::from(cap_ms)), "still");
            if !still.still {
                return Ok(still);
            }
            if self.shared.evidence.in_flight(since, u128::from(cap_ms)) == 0 {
                return Ok(still);
            }
            // A request is under way: what it brings changes the screen.
            let evidence = &self.shared.evidence;
            let done = || (evidence.in_flight(since, u128::from(cap_ms)) == 0).then_some(());
            if evidence.until(began + cap, done).await.is_none() {
                tracing::debug!(requests = ?evidence.under_way(since), "never still");
                evidence.give_up(since);
                return Ok(Still { still: false, reason: Some("request".to_owned()), ..still });
            }
        }
    }

    /// Timers that did nothing when the page was loaded are not waited for at its next load in this session.
    fn learn(&self, still: &Still) {
        let mut timers = self.timers.lock().unwrap_or_else(PoisonError::into_inner);
        timers.extend(still.idle.iter().cloned());
        timers.retain(|key| !still.busy.contains(key));
    }

    /// Waits until anything of the page changes, at most so many milliseconds.
    ///
    /// # Errors
    /// As [`Session::evaluate`].
    pub async fn changed(&self, within_ms: u64) -> Result<bool, SessionError> {
        let patience = Duration::from_millis(within_ms) + self.patience;
        self.ask(&self.page(), &format!("change({within_ms})"), patience).await
    }

    /// Opens an address and waits until the screen is still.
    ///
    /// # Errors
    /// [`SessionError::Unreachable`] when the browser shows its own error page; as [`Session::still`].
    pub async fn goto(&self, url: &Url, cap_ms: u64) -> Result<Still, SessionError> {
        self.set_mode(Mode::Load);
        note("goto", || json!(url.as_str()));
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
        let evidence = &self.shared.evidence;
        let ends =
            |note: &Note| matches!(note, Note::Committed { .. } | Note::Download { .. } | Note::Crashed | Note::Lost);
        evidence.until(Instant::now() + within, || evidence.since(mark).notes.iter().any(ends).then_some(())).await;
    }

    /// Goes back in history, if there is anything; gives back how the screen became still, or nothing.
    ///
    /// # Errors
    /// As [`Session::still`].
    pub async fn back(&self, cap_ms: u64) -> Result<Option<Still>, SessionError> {
        self.set_mode(Mode::Load);
        let history = self.page_call("Page.getNavigationHistory", json!({})).await?;
        let at = history["currentIndex"].as_u64().unwrap_or(0);
        let previous = at.checked_sub(1).and_then(|index| history["entries"].get(usize::try_from(index).ok()?));
        let Some(previous) = previous else { return Ok(None) };
        if previous["url"].as_str().is_some_and(|url| url.starts_with("about:") || url.starts_with("data:")) {
            return Ok(None);
        }
        note("back", || previous["url"].clone());
        let mark = self.shared.evidence.mark();
        self.page_call("Page.navigateToHistoryEntry", json!({ "entryId": previous["id"] })).await?;
        let evidence = &self.shared.evidence;
        let came = |note: &Note| matches!(note, Note::Committed { .. } | Note::Moved { .. });
        let deadline = Instant::now() + Duration::from_millis(cap_ms);
        evidence.until(deadline, || evidence.since(mark).notes.iter().any(came).then_some(())).await;
        Ok(Some(self.still(mark, cap_ms).await?))
    }
}
