//! Going back to a level by the cheapest way that reaches it, and checking that it did: already there; close what is
//! open; back in history; scroll; open again what the last step opened; else open the route again and play the way.

use std::time::{Duration, Instant};

use super::choose::Candidate;
use super::signature::find_again;
use super::walk::{Level, Walker, kinds};
use crate::browser::{Element, Look, SessionError, Tally};
use crate::event::EventKind;
use crate::replay::oracle::{self, Finding};
use crate::replay::{Played, Player, Stepped, close_down_to, play, scroll_to};
use crate::trace::{TraceStep, page_key};

/// How often a lost browser is replaced within one route.
const RENEWALS: u32 = 3;

impl Walker<'_> {
    /// Stands on the level again and finds the candidate there; none when it cannot be reached.
    pub(super) async fn ensure(
        &mut self,
        level: &Level,
        at: &Look,
        candidate: &Candidate,
    ) -> Result<Option<Element>, SessionError> {
        if let Some(element) = self.here(level, at, candidate, false) {
            return Ok(Some(element));
        }
        if page_key(&self.look.url) == level.page && kinds(&self.look).len() > level.overlays.len() {
            self.close_extra(&level.overlays).await?;
            if let Some(element) = self.here(level, at, candidate, false) {
                return Ok(Some(element));
            }
        }
        if page_key(&self.look.url) != level.page
            && let Some(still) = self.session.back(self.terms().cap_ms).await?
        {
            self.look = match self.left.take() {
                // The very page that was left, kept by the browser, and nothing has changed on it: it is known already.
                Some((left, counted)) if is_as_left(&still.tally, &counted) => left,
                _ => self.session.look(self.terms().nodes).await?,
            };
            if kinds(&self.look).len() > level.overlays.len() {
                self.close_extra(&level.overlays).await?;
            }
            if let Some(element) = self.here(level, at, candidate, false) {
                return Ok(Some(element));
            }
        }
        if let Some(element) = self.scrolled(level, at, candidate, false).await? {
            return Ok(Some(element));
        }
        if self.reopen(level).await?
            && let Some(element) = self.here(level, at, candidate, false)
        {
            return Ok(Some(element));
        }
        if !self.replay(level).await? {
            return Ok(None);
        }
        if let Some(element) = self.here(level, at, candidate, true) {
            return Ok(Some(element));
        }
        self.scrolled(level, at, candidate, true).await
    }

    /// `by_place` only on a screen that was made anew: elsewhere another element may have taken the place.
    fn here(&self, level: &Level, at: &Look, candidate: &Candidate, by_place: bool) -> Option<Element> {
        let fits = page_key(&self.look.url) == level.page && kinds(&self.look) == level.overlays;
        if !fits {
            return None;
        }
        let by_place = by_place && (candidate.scroll - self.look.scroll_y).abs() < 2;
        find_again(&candidate.element, at, candidate.nth, &self.look, by_place).cloned()
    }

    async fn scrolled(
        &mut self,
        level: &Level,
        at: &Look,
        candidate: &Candidate,
        by_place: bool,
    ) -> Result<Option<Element>, SessionError> {
        if page_key(&self.look.url) != level.page || (candidate.scroll - self.look.scroll_y).abs() < 2 {
            return Ok(None);
        }
        self.look = scroll_to(&self.session, candidate.scroll, self.terms()).await?;
        Ok(self.here(level, at, candidate, by_place))
    }

    /// Opens again what the last steps of the way opened, when it is all that is missing: a menu closes with each choice.
    async fn reopen(&mut self, level: &Level) -> Result<bool, SessionError> {
        if page_key(&self.look.url) != level.page {
            return Ok(false);
        }
        let missing = level.overlays.len().saturating_sub(kinds(&self.look).len());
        let trace = self.record.trace(&level.steps);
        let last = trace.get(trace.len().saturating_sub(missing)..).unwrap_or_default();
        let here = |step: &TraceStep| step.locator.is_some() && page_key(&step.url_before) == level.page;
        if last.is_empty() || !last.iter().all(here) {
            return Ok(false);
        }
        let mut player = Player::new(&self.session, self.terms(), 0, Some(self.look.clone())).on(&self.plan.stage);
        for step in last {
            match player.step(step).await? {
                Stepped::Done { effect, .. } if effect.hung.is_none() => self.look = effect.look,
                _ => {
                    self.look = self.session.look(self.terms().nodes).await?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Opens the route again and plays the way to the level. Gives back whether the way could be played.
    pub(super) async fn replay(&mut self, level: &Level) -> Result<bool, SessionError> {
        self.note_code_if_due().await;
        if let Some(kept) = self.storage.clone() {
            // An open page may be of another origin or hang; the replay itself tells.
            let _ = self.session.put_storage_back(&kept).await;
        }
        let steps = self.record.trace(&level.steps);
        match play(&self.session, &steps, self.terms()).await? {
            Played::Reached(last) => {
                if last.hung.is_some() {
                    return Ok(false);
                }
                self.look = last.look;
                Ok(page_key(&self.look.url) == level.page)
            }
            Played::Stopped { .. } => {
                self.look = self.session.look(self.terms().nodes).await?;
                Ok(false)
            }
        }
    }

    /// Closes what is open beyond these overlays. Gives back whether nothing more is open than should be.
    pub(super) async fn close_extra(&mut self, wanted: &[String]) -> Result<bool, SessionError> {
        let (look, closed) = close_down_to(&self.session, self.look.clone(), wanted.len(), self.terms()).await?;
        self.look = look;
        Ok(closed)
    }

    /// Gives a screen that says it is loading the time that any screen has; a finding when it still says so.
    pub(super) async fn wait_for_loading(&mut self, usual: u32) -> Result<Option<Finding>, SessionError> {
        let cap = self.plan.stage.settings.limits.settle_ms;
        let began = Instant::now();
        loop {
            let waited = began.elapsed().as_millis() as u64;
            if waited >= cap {
                return Ok(Some(oracle::never_loads(&self.look, waited)));
            }
            let _ = tokio::time::timeout(Duration::from_millis(400), self.session.evidence().changed()).await;
            self.look = self.session.look(self.terms().nodes).await?;
            if self.look.spinners <= usual {
                return Ok(None);
            }
        }
    }

    /// Replaces a lost browser by a fresh session on the route; gives the error back when it has been done too often.
    pub(super) async fn renew(&mut self, why: SessionError) -> Result<(), SessionError> {
        self.renewals += 1;
        if self.renewals > RENEWALS {
            return Err(why);
        }
        self.emit(EventKind::Warned { text: format!("{}: {why}; a fresh browser session goes on", self.plan.route) });
        let fresh = self.plan.stage.session().await?;
        let _ = fresh.watch_code().await;
        let old = std::mem::replace(&mut self.session, fresh);
        old.close().await;
        let Ok(url) = self.plan.route.url(&self.plan.stage.base) else { return Err(why) };
        let opened = self.plan.stage.open(&self.session, &url).await;
        match opened {
            Ok(opened) => {
                self.look = opened.effect.look;
                Ok(())
            }
            Err(_) => Err(why),
        }
    }
}

/// Whether nothing has changed on a page since it was counted: the same document, and no change, effect or scrolling.
fn is_as_left(now: &Tally, left: &Tally) -> bool {
    let counts = |tally: &Tally| (tally.changes, tally.effects, tally.scrolled);
    !now.doc.is_empty() && now.doc == left.doc && now.url == left.url && counts(now) == counts(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_it_was_left_only_when_it_is_the_same_and_nothing_changed() {
        let left = Tally { doc: "a".into(), changes: 4, url: "http://a.b/x".into(), ..Tally::default() };
        let focused = Tally { focused: 1, ..left.clone() };
        assert!(is_as_left(&focused, &left));
        for now in [
            Tally { doc: "b".into(), ..left.clone() },
            Tally { changes: 5, ..left.clone() },
            Tally { scrolled: 1, ..left.clone() },
            Tally { url: "http://a.b/y".into(), ..left.clone() },
        ] {
            assert!(!is_as_left(&now, &left));
        }
        assert!(!is_as_left(&Tally::default(), &Tally::default()));
    }
}
