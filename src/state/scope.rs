//! Which routes a campaign has: initialize, add, drop.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::StateError;
use super::entry::Pending;
use super::history::Change;
use super::model::{Place, State};
use crate::route::Route;
use crate::settings::Overrides;
use crate::store;
use crate::ui::counted;

/// A campaign to begin.
#[derive(Clone, Debug)]
pub struct InitRequest {
    /// The project's name.
    pub project: String,
    /// Address of the application, already checked.
    pub base_url: String,
    /// The selected routes, in the order of the route map.
    pub routes: Vec<Route>,
    /// What the caller set.
    pub settings: Overrides,
    /// Begin anew although a campaign stands here; the old state is kept as a dated copy.
    pub force: bool,
}

/// How beginning a campaign ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Initialized {
    /// Whether a state was made; `false`: the same campaign stood there already.
    pub created: bool,
    /// Where the state that stood there before is kept, relative to the project.
    pub kept: Option<String>,
    /// Routes of the campaign.
    pub routes: usize,
}

/// What adding or dropping did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Added {
    /// Routes that came or went.
    pub changed: Vec<Route>,
    /// Routes for which nothing was to do.
    pub unchanged: Vec<Route>,
}

/// A short digest of a scope, so that the same `init` is known again after routes were added or dropped.
fn scope_digest(routes: &[Route]) -> String {
    let mut keys: Vec<_> = routes.iter().map(Route::key).collect();
    keys.sort_unstable();
    keys.dedup();
    store::sha256_hex(keys.join("\n")).chars().take(16).collect()
}

impl State {
    /// A new campaign of these routes, all pending.
    ///
    /// # Errors
    /// When there is no route.
    pub fn initialize(request: &InitRequest, now: DateTime<Utc>) -> Result<Self, StateError> {
        if request.routes.is_empty() {
            return Err(StateError::Argument("a campaign needs at least one route".into()));
        }
        let mut state = Self::empty(now, &request.project, &request.base_url);
        let mut seen = HashSet::new();
        state.pending = request.routes.iter().filter(|route| seen.insert(*route)).cloned().map(Pending::new).collect();
        state.top.set("meta", &());
        state.top.set("completed", &());
        state.top.set("failed", &());
        state.top.set("pending", &());
        if request.settings != Overrides::default() {
            state.top.set("settings", &request.settings);
        }
        state.top.set("scope", &scope_digest(&request.routes));
        state.begin(Change::Init, &[], None);
        let count = state.pending.len();
        state.note(counted(count, "route"));
        Ok(state)
    }

    /// How this campaign differs from the one that is asked for; `None` when it does not.
    #[must_use]
    pub fn difference(&self, request: &InitRequest) -> Option<String> {
        let same_url = |url: &str| url.trim_end_matches('/').to_owned();
        if same_url(&self.base_url()) != same_url(&request.base_url) {
            return Some(format!("another base URL ({})", self.base_url()));
        }
        let wanted: HashSet<Route> = request.routes.iter().cloned().collect();
        let has = self.route_set();
        let same = has == wanted || self.top.get_as::<String>("scope") == Some(scope_digest(&request.routes));
        (!same).then(|| {
            let missing = wanted.difference(&has).count();
            format!("another scope ({} routes, {missing} of those asked for are not among them)", has.len())
        })
    }

    /// Takes in new routes as pending.
    pub fn add(&mut self, routes: &[Route]) -> Added {
        let mut has = self.route_set();
        let (changed, unchanged): (Vec<Route>, Vec<Route>) =
            routes.iter().cloned().partition(|route| has.insert(route.clone()));
        if !changed.is_empty() {
            self.begin(Change::Add, &changed, None);
        }
        self.pending.extend(changed.iter().cloned().map(Pending::new));
        if !changed.is_empty() {
            let dropped: Vec<Route> = self.dropped().into_iter().filter(|route| !changed.contains(route)).collect();
            self.set_dropped(&dropped);
            self.touch();
        }
        Added { changed, unchanged }
    }

    /// Takes pending routes out of the campaign. A route that was dropped before is left alone.
    ///
    /// # Errors
    /// When a route is unknown, not pending, or under a lease that lives; then none goes.
    pub fn drop_routes(&mut self, routes: &[Route], now: DateTime<Utc>) -> Result<Added, StateError> {
        let mut dropped = self.dropped();
        let mut result = Added::default();
        for route in routes {
            match self.place(route) {
                None if dropped.contains(route) => result.unchanged.push(route.clone()),
                None => return Err(StateError::UnknownRoute { doing: "drop", route: route.clone() }),
                Some(Place::Pending) => {
                    self.check_token("drop", route, None, now)?;
                    result.changed.push(route.clone());
                }
                Some(place) => return Err(StateError::WrongPlace { doing: "drop", route: route.clone(), place }),
            }
        }
        if !result.changed.is_empty() {
            self.begin(Change::Drop, &result.changed, None);
            let gone: HashSet<&Route> = result.changed.iter().collect();
            self.pending.retain(|entry| !gone.contains(&entry.route));
            for route in &result.changed {
                self.drop_lease(route);
                if !dropped.contains(route) {
                    dropped.push(route.clone());
                }
            }
            self.set_dropped(&dropped);
            self.touch();
        }
        Ok(result)
    }

    fn dropped(&self) -> Vec<Route> {
        self.top.get_as("dropped").unwrap_or_default()
    }

    fn set_dropped(&mut self, routes: &[Route]) {
        if !routes.is_empty() {
            self.top.set("dropped", &routes);
        } else if self.top.get("dropped").is_some() {
            self.top.remove("dropped");
        }
    }
}
