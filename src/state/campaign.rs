//! The transitions as they are called: each one read-modify-write of the project's state.

use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::handin::{oddities, read_report};
use super::history::KeptFile;
use super::model::{Place, State};
use super::project::{OWN_DIR, Project, REPORTS_DIR, SCREENSHOTS_DIR};
use super::{Added, Claim, ClaimRequest, Completed, Crash, InitRequest, Initialized, Lease, Next, StateError};
use crate::route::{Route, RouteMap, Slug};
use crate::settings::Config;
use crate::store;

/// What handing in a report led to.
#[derive(Clone, Debug)]
pub struct HandedIn {
    /// Whether the state changed; `false`: the route was completed with this report before.
    pub changed: bool,
    /// The route's slug.
    pub slug: Slug,
    /// The route's entry.
    pub entry: Option<Completed>,
}

impl Project {
    /// Begins a campaign: only these routes, pending, and the directories of its outputs. The same campaign again is
    /// nothing to do.
    ///
    /// # Errors
    /// [`StateError::Exists`] when another campaign stands here and `force` is not set; the disk.
    pub fn init(&self, request: &InitRequest) -> Result<Initialized, StateError> {
        let now = self.now();
        let state = State::initialize(request, now)?;
        let _lock = self.lock()?;
        let mut kept = None;
        if self.state_stands()? {
            if request.force {
                if let Ok(old) = self.read_as_it_is() {
                    self.refuse_newer(&old)?;
                }
                let copy = self.dated_copy(now);
                store::copy_into(&self.state_path(), &copy)?;
                kept = Some(self.relative(&copy));
            } else {
                let old = self.read()?;
                if let Some(difference) = old.difference(request) {
                    return Err(StateError::Exists { path: self.state_path(), difference });
                }
                return Ok(Initialized { created: false, kept, routes: old.counts().total_routes });
            }
        }
        // `force` begins anew on purpose.
        if !request.force
            && let Some(copy) = self.keep_earlier_copy()
        {
            self.warn(&format!(
                "a copy of an earlier campaign's state lay in the git directory; it is kept as `{}`",
                copy.display()
            ));
        }
        for folder in [REPORTS_DIR, SCREENSHOTS_DIR, OWN_DIR] {
            store::create_dir(&self.root().join(folder))?;
        }
        let routes = state.counts().total_routes;
        let before = if kept.is_some() {
            self.read_text().ok().flatten().map(|text| store::quick_digest(&[text.as_bytes()]))
        } else {
            None
        };
        self.write(state, before, now)?;
        Ok(Initialized { created: true, kept, routes })
    }

    /// The campaign's own settings, without a word about the rest of the state; the defaults when there is no state.
    ///
    /// # Errors
    /// When the state cannot be read or understood.
    pub fn read_settings(&self) -> Result<Config, StateError> {
        if self.state_stands()? { Ok(self.read_as_it_is()?.config()) } else { Ok(Config::default()) }
    }

    /// Writes ROUTE_MAP.md. A different map that stands there is kept; gives back where, relative to the project.
    ///
    /// # Errors
    /// The lock; the disk.
    pub fn write_route_map(&self, map: &RouteMap, source: &str) -> Result<Option<String>, StateError> {
        let _lock = self.lock()?;
        let path = self.route_map_path();
        let old = store::read_to_string_if_exists(&path)?;
        let same = old.as_deref().and_then(|text| RouteMap::parse(text).ok()).is_some_and(|old| {
            (&old.routes, &old.categories, &old.excluded) == (&map.routes, &map.categories, &map.excluded)
        });
        if same {
            return Ok(None);
        }
        let kept = match old {
            Some(_) => self.keep_earlier(&path, "route-map")?.map(|copy| self.relative(&copy)),
            None => None,
        };
        store::write_atomic(&path, map.render(self.now(), source).as_bytes())?;
        Ok(kept)
    }

    /// Gives out routes under leases; see [`State::claim`].
    ///
    /// # Errors
    /// As [`State::claim`] and [`Project::transact`].
    pub fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claim>, StateError> {
        self.transact(|state, now| state.claim(request, now, self.ids()))
    }

    /// Lengthens a lease; see [`State::heartbeat`].
    ///
    /// # Errors
    /// As [`State::heartbeat`] and [`Project::transact`].
    pub fn heartbeat(&self, token: &str, lease: Option<Duration>) -> Result<(Route, DateTime<Utc>), StateError> {
        self.transact(|state, now| state.heartbeat(token, lease, now))
    }

    /// Gives a lease back; `None` when there was none.
    ///
    /// # Errors
    /// As [`Project::transact`].
    pub fn release(&self, token: &str) -> Result<Option<Route>, StateError> {
        self.transact(|state, _| Ok(state.release(token)))
    }

    /// Gives back every lease that is of this kind, such as those of a process that died. Gives back the routes.
    ///
    /// # Errors
    /// As [`Project::transact`].
    pub fn release_where(&self, is_it: impl Fn(&Lease) -> bool) -> Result<Vec<Route>, StateError> {
        self.transact(|state, _| Ok(state.release_where(is_it)))
    }

    /// Completes a route with its report: it is read, checked, brought to `monkey-test-reports/{slug}.json` when it lies
    /// elsewhere, and its counts and summary are taken. Says whether anything changed.
    ///
    /// # Errors
    /// [`StateError::BadReport`]; as [`State::complete`] and [`Project::transact`].
    pub fn complete(&self, route: &Route, report: &Path, token: Option<&str>) -> Result<bool, StateError> {
        Ok(self.hand_in(route, report, token)?.changed)
    }

    /// As [`Project::complete`], with what the state says of the route afterwards.
    ///
    /// # Errors
    /// As [`Project::complete`].
    pub fn hand_in(&self, route: &Route, report: &Path, token: Option<&str>) -> Result<HandedIn, StateError> {
        self.transact(|state, now| {
            state.require("complete", route)?;
            let slug = state.slug(route);
            let facts = read_report(self, route, &slug, report)?;
            let changed = state.complete(route, &facts, token, now)?;
            if changed {
                for odd in oddities(report) {
                    self.warn(&format!("the report `{}` of `{route}`: {odd}", report.display()));
                }
                self.bring(report, &self.report_path(&slug), &slug)?;
            }
            let entry = state.completed().iter().rev().find(|entry| entry.route == *route).cloned();
            Ok(HandedIn { changed, slug, entry })
        })
    }

    /// Fails a pending route; see [`State::fail`].
    ///
    /// # Errors
    /// As [`State::fail`] and [`Project::transact`].
    pub fn fail(&self, route: &Route, error: &str, token: Option<&str>) -> Result<bool, StateError> {
        self.transact(|state, now| state.fail(route, error, token, now))
    }

    /// Counts a crashed subagent; see [`State::crash`].
    ///
    /// # Errors
    /// As [`State::crash`] and [`Project::transact`].
    pub fn crash(&self, route: &Route, token: Option<&str>, error: &str) -> Result<Crash, StateError> {
        self.transact(|state, now| state.crash(route, token, error, now))
    }

    /// Puts failed routes back to pending (none named: all); see [`State::retry`].
    ///
    /// # Errors
    /// As [`State::retry`] and [`Project::transact`].
    pub fn retry(&self, routes: &[Route]) -> Result<Vec<Route>, StateError> {
        self.transact(|state, now| state.retry(routes, now))
    }

    /// Puts completed routes back to pending; their reports are kept in `.agent-test/earlier/`.
    ///
    /// # Errors
    /// As [`State::requeue`] and [`Project::transact`].
    pub fn requeue(&self, routes: &[Route]) -> Result<Vec<Route>, StateError> {
        let mut old_files = Vec::new();
        let moved = self.transact(|state, now| {
            let moved = state.requeue(routes, now)?;
            for entry in &moved {
                let slug = state.slug(&entry.route);
                for file in self.files_of(entry) {
                    if let Some(copy) = self.keep_earlier(&file, slug.as_str())? {
                        let (was, copy) = (self.relative(&file), self.relative(&copy));
                        state.journal.files.push(KeptFile { was, copy });
                        old_files.push(file);
                    }
                }
            }
            Ok(moved)
        })?;
        if old_files.is_empty() {
            return Ok(moved.into_iter().map(|entry| entry.route).collect());
        }
        // Only now: an old report must not complete the route anew, but until the state was written it was needed.
        let _lock = self.lock()?;
        let state = self.read()?;
        for entry in moved.iter().filter(|entry| state.place(&entry.route) == Some(Place::Pending)) {
            for file in self.files_of(entry).into_iter().filter(|file| old_files.contains(file)) {
                store::remove_file(&file)?;
            }
        }
        Ok(moved.into_iter().map(|entry| entry.route).collect())
    }

    /// The report and bug report of an entry, when they lie in the folder of reports.
    fn files_of(&self, entry: &Completed) -> Vec<std::path::PathBuf> {
        [&entry.report_file, &entry.bug_report_file]
            .into_iter()
            .flatten()
            .map(|file| self.root().join(file))
            .filter(|path| path.parent() == Some(self.reports_dir().as_path()))
            .collect()
    }

    /// Notes a review; the bug report is brought to `monkey-test-reports/{slug}-bugs.md` when it lies outside the
    /// project. Says whether anything changed.
    ///
    /// # Errors
    /// [`StateError::BadFile`]; as [`State::review_complete`] and [`Project::transact`].
    pub fn review_complete(&self, route: &Route, bug_report: &Path, token: Option<&str>) -> Result<bool, StateError> {
        self.transact(|state, now| {
            let doing = "complete the review of";
            state.require(doing, route)?;
            Self::require_file(doing, route, bug_report)?;
            let slug = state.slug(route);
            let place = self.bug_report_path(&slug);
            let inside = match (bug_report.canonicalize(), self.root().canonicalize()) {
                (Ok(file), Ok(root)) => file.strip_prefix(root).ok().map(|file| self.root().join(file)),
                _ => None,
            };
            let changed =
                state.review_complete(route, &self.relative(inside.as_deref().unwrap_or(&place)), token, now)?;
            if changed && inside.is_none() {
                self.bring(bug_report, &place, &slug)?;
            }
            Ok(changed)
        })
    }

    /// Notes that a review failed; gives back how often. See [`State::review_fail`].
    ///
    /// # Errors
    /// As [`State::review_fail`] and [`Project::transact`].
    pub fn review_fail(&self, route: &Route, error: &str, token: Option<&str>) -> Result<u32, StateError> {
        self.transact(|state, now| state.review_fail(route, error, token, now))
    }

    /// Blocks the campaign. Says whether anything changed.
    ///
    /// # Errors
    /// As [`Project::transact`].
    pub fn block(&self, reason: &str) -> Result<bool, StateError> {
        self.transact(|state, _| Ok(state.block(reason)))
    }

    /// Takes the block away. Says whether anything changed.
    ///
    /// # Errors
    /// As [`Project::transact`].
    pub fn unblock(&self) -> Result<bool, StateError> {
        self.transact(|state, _| Ok(state.unblock()))
    }

    /// Takes in new routes.
    ///
    /// # Errors
    /// As [`Project::transact`].
    pub fn add(&self, routes: &[Route]) -> Result<Added, StateError> {
        self.transact(|state, _| Ok(state.add(routes)))
    }

    /// Takes pending routes out; see [`State::drop_routes`].
    ///
    /// # Errors
    /// As [`State::drop_routes`] and [`Project::transact`].
    pub fn drop_routes(&self, routes: &[Route]) -> Result<Added, StateError> {
        self.transact(|state, now| state.drop_routes(routes, now))
    }

    /// Notes that the final report with this digest stands on the disk. Says whether anything changed.
    ///
    /// # Errors
    /// As [`Project::transact`].
    pub fn report_written(&self, digest: &str) -> Result<bool, StateError> {
        self.transact(|state, now| Ok(state.report_written(digest, now)))
    }

    /// What comes next, from this state and the final report on the disk.
    ///
    /// # Errors
    /// When the final report cannot be read.
    pub fn next(&self, state: &State) -> Result<Next, StateError> {
        Ok(super::next(state, self.final_report_digest()?.as_deref(), self.now()))
    }
}
