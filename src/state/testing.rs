//! Transitions of the testing phase: complete, fail, crash, retry, requeue.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::entry::{Completed, CompletedFacts, ENTRY_DEPTH, Entry, Failed, Pending, ReviewStatus};
use super::history::Change;
use super::model::{Place, State, stamp};
use super::raw::{Object, list_texts, pretty, render_list};
use super::{MAX_CRASHES, StateError};
use crate::route::Route;
use crate::ui::counted;

/// What a crash led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Crash {
    /// Crashes since the last retry, with this one.
    pub attempts: u32,
    /// Whether the route was given up.
    pub failed: bool,
}

/// An error of an earlier attempt.
#[derive(Serialize)]
struct ErrorRecord<'a> {
    at: String,
    error: &'a str,
}

impl State {
    /// Moves a pending route to completed, awaiting review. The same report a second time changes nothing.
    ///
    /// # Errors
    /// When the route is unknown or elsewhere, or its lease asks for another token.
    pub fn complete(
        &mut self,
        route: &Route,
        facts: &CompletedFacts,
        token: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<bool, StateError> {
        let doing = "complete";
        match self.require(doing, route)? {
            Place::Pending => {}
            place => {
                let same = self.completed.iter().any(|entry| {
                    entry.route == *route && entry.report_sha256.as_deref() == Some(facts.report_sha256.as_str())
                });
                return if same {
                    Ok(false)
                } else {
                    Err(StateError::WrongPlace { doing, route: route.clone(), place })
                };
            }
        }
        self.check_token(doing, route, token, now)?;
        self.begin(Change::Complete, std::slice::from_ref(route), token);
        self.note(format!(
            "{}, {}",
            facts.status,
            counted(usize::try_from(facts.bugs_count).unwrap_or(usize::MAX), "bug")
        ));
        let route = self.take_pending(route);
        let key = route.key().into_owned();
        // A route that was tested before gets its old entry back, with whatever another writer had put into it.
        let earlier = self.attempts.object(&key).remove("completed");
        let mut object =
            earlier.and_then(|text| Object::parse(&text, ENTRY_DEPTH).ok()).unwrap_or_else(|| Object::new(ENTRY_DEPTH));
        if object.get("route").is_none() {
            object.set("route", &route);
        }
        object.set("tested_at", &stamp(facts.tested_at));
        object.set("status", &facts.status);
        object.set("bugs_count", &facts.bugs_count);
        object.set("operations_count", &facts.operations_count);
        object.set("screenshots_dir", &facts.screenshots_dir);
        object.set("report_file", &facts.report_file);
        object.set("summary", &facts.summary);
        object.set("review_status", &ReviewStatus::Pending);
        object.set("bug_report_file", &());
        object.set("report_sha256", &facts.report_sha256);
        object.remove("review_error");
        let entry = Completed::read(object.render().into()).map_err(StateError::Argument)?;
        self.completed.push(entry);
        if self.attempts.get(&key).is_some() {
            self.edit_attempts(&route, |object| {
                object.remove("completed");
                object.remove("review_attempts");
            });
        }
        self.drop_lease(&route);
        self.touch();
        Ok(true)
    }

    /// Moves a pending route to failed. The same error a second time changes nothing.
    ///
    /// # Errors
    /// When the route is unknown or elsewhere, or its lease asks for another token.
    pub fn fail(
        &mut self,
        route: &Route,
        error: &str,
        token: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<bool, StateError> {
        let doing = "fail";
        match self.require(doing, route)? {
            Place::Pending => {}
            place => {
                let same = |entry: &Failed| entry.route == *route && entry.last_error.as_deref() == Some(error);
                let same = self.failed.iter().any(same);
                return if same {
                    Ok(false)
                } else {
                    Err(StateError::WrongPlace { doing, route: route.clone(), place })
                };
            }
        }
        self.check_token(doing, route, token, now)?;
        self.begin(Change::Fail, std::slice::from_ref(route), token);
        self.note(error);
        self.give_up(route, error, now)?;
        Ok(true)
    }

    fn give_up(&mut self, route: &Route, error: &str, now: DateTime<Utc>) -> Result<(), StateError> {
        let route = self.take_pending(route);
        let attempts = self.attempts(&route);
        let earlier = self.attempts.object(&route.key()).remove("failed");
        let mut object =
            earlier.and_then(|text| Object::parse(&text, ENTRY_DEPTH).ok()).unwrap_or_else(|| Object::new(ENTRY_DEPTH));
        if object.get("route").is_none() {
            object.set("route", &route);
        }
        object.set("failed_at", &stamp(now));
        object.set("error", &error);
        object.set("retry_count", &attempts.retry_count);
        object.set("last_error", &error);
        self.failed.push(Failed::read(object.render().into()).map_err(StateError::Argument)?);
        self.record_error(&route, error, now);
        self.edit_attempts(&route, |object| {
            object.remove("failed");
        });
        self.drop_lease(&route);
        self.touch();
        Ok(())
    }

    /// Counts a crashed subagent: the route stays pending and its lease is given back. After three crashes since the
    /// last retry the route is given up with the cause.
    ///
    /// # Errors
    /// When the route is unknown or not pending, or its lease asks for another token.
    pub fn crash(
        &mut self,
        route: &Route,
        token: Option<&str>,
        error: &str,
        now: DateTime<Utc>,
    ) -> Result<Crash, StateError> {
        let doing = "count a crash of";
        match self.require(doing, route)? {
            Place::Pending => {}
            place => return Err(StateError::WrongPlace { doing, route: route.clone(), place }),
        }
        // A subagent that outlived its lease still crashed, unless somebody else has the route now.
        let leased = self.live_leases(now).contains_key(route.key().as_ref());
        self.check_token(doing, route, token.filter(|_| leased), now)?;
        let attempts = self.attempts(route).crashes.saturating_add(1);
        let change = if attempts >= MAX_CRASHES { Change::Fail } else { Change::Crash };
        self.begin(change, std::slice::from_ref(route), token);
        self.note(error);
        self.edit_attempts(route, |object| object.set("crashes", &attempts));
        self.drop_lease(route);
        let failed = attempts >= MAX_CRASHES;
        if failed {
            self.give_up(route, error, now)?;
        } else {
            self.record_error(route, error, now);
        }
        self.touch();
        Ok(Crash { attempts, failed })
    }

    /// Moves failed routes back to pending and counts the retry; no route means all of them. Gives back those that
    /// moved; a route that is pending already is left alone.
    ///
    /// # Errors
    /// When a route is unknown or completed; then none moves.
    pub fn retry(&mut self, routes: &[Route], now: DateTime<Utc>) -> Result<Vec<Route>, StateError> {
        for route in routes {
            match self.require("retry", route)? {
                Place::Completed(review) => {
                    let place = Place::Completed(review);
                    return Err(StateError::WrongPlace { doing: "retry", route: route.clone(), place });
                }
                Place::Failed | Place::Pending => {}
            }
        }
        let going = self.failed.iter().map(|entry| &entry.route);
        let going: Vec<Route> = going.filter(|route| routes.is_empty() || routes.contains(route)).cloned().collect();
        self.begin(Change::Retry, &going, None);
        let (moved, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.failed)
            .into_iter()
            .partition(|entry| routes.is_empty() || routes.contains(&entry.route));
        self.failed = kept;
        for entry in &moved {
            let count = entry.retry_count.unwrap_or(0).max(self.attempts(&entry.route).retry_count).saturating_add(1);
            if self.attempts.object(&entry.route.key()).get("errors").is_none()
                && let Some(error) = entry.last_error.as_ref().or(entry.error.as_ref())
            {
                // A failure that another writer noted: its error would be lost with the entry.
                self.record_error(&entry.route, error, entry.failed_at.unwrap_or(now));
            }
            self.edit_attempts(&entry.route, |object| {
                object.set("retry_count", &count);
                object.remove("crashes");
                object.set_text("failed", entry.text().to_owned());
            });
            self.pending.push(Pending::new(entry.route.clone()));
        }
        if !moved.is_empty() {
            self.touch();
        }
        Ok(moved.into_iter().map(|entry| entry.route).collect())
    }

    /// Moves completed routes back to pending. Gives back those that moved, with their old entries; a route that is
    /// pending already is left alone.
    ///
    /// # Errors
    /// When a route is unknown or failed, or under a lease that lives; then none moves.
    pub fn requeue(&mut self, routes: &[Route], now: DateTime<Utc>) -> Result<Vec<Completed>, StateError> {
        for route in routes {
            match self.require("requeue", route)? {
                Place::Failed => {
                    return Err(StateError::WrongPlace {
                        doing: "requeue",
                        route: route.clone(),
                        place: Place::Failed,
                    });
                }
                Place::Completed(_) => self.check_token("requeue", route, None, now)?,
                Place::Pending => {}
            }
        }
        let going = self.completed.iter().map(|entry| &entry.route);
        let going: Vec<Route> = going.filter(|route| routes.contains(route)).cloned().collect();
        self.begin(Change::Requeue, &going, None);
        let (moved, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.completed).into_iter().partition(|entry| routes.contains(&entry.route));
        self.completed = kept;
        for entry in &moved {
            self.edit_attempts(&entry.route, |object| {
                object.set_text("completed", entry.text().to_owned());
                object.remove("review_attempts");
            });
            self.drop_lease(&entry.route);
            self.pending.push(Pending::new(entry.route.clone()));
        }
        if !moved.is_empty() {
            self.touch();
        }
        Ok(moved)
    }

    pub(super) fn require(&self, doing: &'static str, route: &Route) -> Result<Place, StateError> {
        self.place(route).ok_or_else(|| StateError::UnknownRoute { doing, route: route.clone() })
    }

    /// Takes a route out of pending, as it was written.
    fn take_pending(&mut self, route: &Route) -> Route {
        match self.pending.iter().position(|entry| entry.route == *route) {
            Some(place) => self.pending.remove(place).route,
            None => route.clone(),
        }
    }

    /// Adds to the history of a route's errors.
    pub(super) fn record_error(&mut self, route: &Route, error: &str, at: DateTime<Utc>) {
        self.edit_attempts(route, |object| {
            let mut errors = object.get("errors").and_then(|text| list_texts(text).ok()).unwrap_or_default();
            errors.push(pretty(&ErrorRecord { at: stamp(at), error }, 4));
            object.set_text("errors", render_list(errors.iter().map(String::as_str), 3));
        });
    }
}
