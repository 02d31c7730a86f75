//! Transitions of the review phase, of blocking, and of the final report.

use chrono::{DateTime, Utc};

use super::StateError;
use super::entry::{Entry, ReviewStatus};
use super::history::Change;
use super::model::{FinalReport, Place, State};
use crate::route::Route;

impl State {
    /// Notes that a completed route was reviewed. The same bug report a second time changes nothing.
    ///
    /// # Errors
    /// When the route is unknown or not completed, was reviewed with another bug report, or its lease asks for another
    /// token.
    pub fn review_complete(
        &mut self,
        route: &Route,
        bug_report_file: &str,
        token: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<bool, StateError> {
        let doing = "complete the review of";
        let place = self.require(doing, route)?;
        match &place {
            Place::Completed(ReviewStatus::Complete) => {
                let same = self
                    .completed
                    .iter()
                    .any(|entry| entry.route == *route && entry.bug_report_file.as_deref() == Some(bug_report_file));
                return if same {
                    Ok(false)
                } else {
                    Err(StateError::WrongPlace { doing, route: route.clone(), place })
                };
            }
            Place::Completed(_) => {}
            _ => return Err(StateError::WrongPlace { doing, route: route.clone(), place }),
        }
        self.check_token(doing, route, token, now)?;
        self.begin(Change::ReviewComplete, std::slice::from_ref(route), token);
        self.note(bug_report_file);
        self.edit_completed(route, |object| {
            object.set("review_status", &ReviewStatus::Complete);
            object.set("bug_report_file", &bug_report_file);
            object.remove("review_error");
        });
        self.drop_lease(route);
        Ok(true)
    }

    /// Notes that the review of a completed route failed. Gives back how often that has happened.
    ///
    /// # Errors
    /// When the route is unknown or not completed, or its lease asks for another token.
    pub fn review_fail(
        &mut self,
        route: &Route,
        error: &str,
        token: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<u32, StateError> {
        let doing = "fail the review of";
        let place = self.require(doing, route)?;
        if !matches!(place, Place::Completed(_)) {
            return Err(StateError::WrongPlace { doing, route: route.clone(), place });
        }
        self.check_token(doing, route, token, now)?;
        self.begin(Change::ReviewFail, std::slice::from_ref(route), token);
        self.note(error);
        let attempts = self.attempts(route).review_attempts.saturating_add(1);
        self.edit_attempts(route, |object| object.set("review_attempts", &attempts));
        self.edit_completed(route, |object| {
            object.set("review_status", &ReviewStatus::Failed);
            object.set("review_error", &error);
        });
        self.drop_lease(route);
        Ok(attempts)
    }

    pub(super) fn edit_completed(&mut self, route: &Route, edit: impl FnOnce(&mut super::raw::Object)) {
        if let Some(entry) = self.completed.iter_mut().find(|entry| entry.route == *route) {
            *entry = entry.edited(edit);
            self.changed = true;
        }
    }

    /// Blocks the campaign.
    pub fn block(&mut self, reason: &str) -> bool {
        if self.blocked().as_deref() == Some(reason) {
            return false;
        }
        self.begin(Change::Block, &[], None);
        self.note(reason);
        self.meta.set("status", &"blocked");
        self.meta.set("blocked_reason", &reason);
        self.touch();
        true
    }

    /// Takes the block away; says whether there was one.
    pub fn unblock(&mut self) -> bool {
        if self.blocked().is_none() {
            return false;
        }
        self.begin(Change::Unblock, &[], None);
        self.meta.remove("status");
        self.meta.remove("blocked_reason");
        self.touch();
        true
    }

    /// Notes that the final report with this digest stands on the disk.
    pub fn report_written(&mut self, digest: &str, now: DateTime<Utc>) -> bool {
        if self.final_report().is_some_and(|report| report.digest == digest) {
            return false;
        }
        self.begin(Change::Report, &[], None);
        self.top.set("final_report", &FinalReport { digest: digest.to_owned(), written_at: now });
        self.touch();
        true
    }
}
