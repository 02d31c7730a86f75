//! What one exploration is told, and what the explorations of a campaign share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::Events;
use crate::replay::Stage;
use crate::route::{Route, Slug};
use crate::store::Clock;
use crate::trace::page_key;

/// What one exploration is told.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The route.
    pub route: Route,
    /// Its slug.
    pub slug: Slug,
    /// The application.
    pub stage: Stage,
    /// Directory that the screenshots are written to; where they lie in the end is what `shot_prefix` says.
    pub shots: PathBuf,
    /// The same, relative to the project, with a trailing slash.
    pub shot_prefix: String,
    /// Every route of the campaign: a page that is one of them is explored as itself.
    pub known: Arc<Vec<Route>>,
    /// Where the run's traces will lie, relative to the project.
    pub run_file: String,
    /// Where events go.
    pub events: Events,
    /// The clock.
    pub clock: Clock,
    /// Elements of the shared header and navigation that were explored on another route.
    pub shared: Shared,
    /// Whether each new bug is played once more in a fresh session.
    pub confirm: bool,
    /// Where the branches that are finished are written down, so that a route that is cut off goes on with the others;
    /// nowhere when it is to begin anew.
    pub unfinished: Option<Unfinished>,
}

/// Where the finished branches of a route are written down.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// The file.
    pub path: PathBuf,
    /// What tells the campaign from others.
    pub campaign: String,
}

impl Plan {
    /// The route of the campaign that this address is, when it is one.
    #[must_use]
    pub fn route_at(&self, url: &str) -> Option<&Route> {
        let key = page_key(url);
        let key = key.trim_end_matches('/');
        self.known.iter().find(|route| {
            route.url(&self.stage.base).is_ok_and(|url| page_key(url.as_str()).trim_end_matches('/') == key)
        })
    }
}

/// Elements that every route shares, explored once in a campaign. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    known: Arc<Mutex<HashMap<String, String>>>,
}

impl Shared {
    /// What an earlier run of the campaign explored: element key and route.
    #[must_use]
    pub fn with(known: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { known: Arc::new(Mutex::new(known.into_iter().collect())) }
    }

    /// Takes an element for a route; gives back the other route when it is taken already.
    #[must_use]
    pub fn take(&self, key: &str, route: &str) -> Option<String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(key) {
            Some(other) if other != route => Some(other.clone()),
            Some(_) => None,
            None => {
                known.insert(key.to_owned(), route.to_owned());
                None
            }
        }
    }

    /// Forgets what a route had taken: it was not finished.
    pub fn give_back(&self, route: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, owner| owner != route);
    }

    /// Everything that is known: element key and route, sorted.
    #[must_use]
    pub fn all(&self) -> Vec<(String, String)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<_> = known.iter().map(|(key, route)| (key.clone(), route.clone())).collect();
        list.sort();
        list
    }
}
