//! The state as values: read from text, written back as text.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use super::claims::Lease;
use super::entry::{Completed, Entry, Failed, Pending, ReviewStatus};
use super::journal::Journal;
use super::raw::{Object, list_texts, pretty};
use super::scan::{LISTS, scan};
use super::text::Rope;
use crate::route::{Route, Slug, Slugs};
use crate::settings::{Config, Overrides};
use crate::store::{DigestSet, table_digest};

/// The version of the state file that this program writes.
pub const SCHEMA_VERSION: u64 = 1;

/// A time as it stands in the file.
#[must_use]
pub fn stamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Where a route stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Waits for its test.
    Pending,
    /// Tested.
    Completed(ReviewStatus),
    /// Could not be tested.
    Failed,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => f.write_str("pending"),
            Self::Failed => f.write_str("failed"),
            Self::Completed(review) => write!(f, "completed ({review})"),
        }
    }
}

/// The counters of `meta`, derived from the lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Counts {
    /// Every route of the campaign.
    pub total_routes: usize,
    /// Completed.
    pub tested: usize,
    /// Waiting for their test.
    pub pending: usize,
    /// Could not be tested.
    pub failed: usize,
    /// Completed, waiting for review.
    pub review_pending: usize,
    /// Reviewed.
    pub review_complete: usize,
    /// Review failed.
    pub review_failed: usize,
}

/// The final report that was written last, as the state remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalReport {
    /// Digest of what it reports on.
    pub digest: String,
    /// When.
    pub written_at: DateTime<Utc>,
}

/// What is known of a route's attempts (our own key `attempts`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Attempts {
    /// How often it was tried again after a failure.
    pub retry_count: u32,
    /// Subagents that crashed on it since the last retry.
    pub crashes: u32,
    /// Reviews that failed.
    pub review_attempts: u32,
}

/// The state of a campaign.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) top: Object,
    pub(super) meta: Object,
    pub(super) completed: Vec<Completed>,
    pub(super) failed: Vec<Failed>,
    pub(super) pending: Vec<Pending>,
    pub(super) claims: Object,
    pub(super) attempts: Object,
    pub(super) changed: bool,
    pub(super) journal: Journal,
}

impl State {
    /// An empty campaign.
    pub(super) fn empty(now: DateTime<Utc>, project: &str, base_url: &str) -> Self {
        let mut meta = Object::new(1);
        meta.set("project", &project);
        meta.set("base_url", &base_url);
        meta.set("created_at", &stamp(now));
        Self {
            top: Object::new(0),
            meta,
            completed: Vec::new(),
            failed: Vec::new(),
            pending: Vec::new(),
            claims: Object::new(1),
            attempts: Object::new(1),
            changed: true,
            journal: Journal::default(),
        }
    }

    /// Reads a state. Whether a route stands twice is not looked at here: see [`State::twice`].
    ///
    /// # Errors
    /// What is wrong, with line and column, or with the entry's name.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::from_text(text.to_owned())
    }

    /// As [`State::parse`], keeping the text: entries stay ranges of it.
    ///
    /// # Errors
    /// As [`State::parse`].
    pub fn from_text(mut text: String) -> Result<Self, String> {
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        let file = Arc::new(text);
        match Self::quickly(&file) {
            Some(state) => Ok(state),
            None => Self::thoroughly(&file),
        }
    }

    /// The way of a plain file; `None` when there is anything unusual in it.
    pub(super) fn quickly(file: &Arc<String>) -> Option<Self> {
        let scan = scan(file)?;
        let mut top = Object::new(0);
        for (key, value) in scan.top {
            let key = file.get(key)?;
            // The lists live in their own fields; only their place in the file is kept here.
            let text = if LISTS.contains(&key) { "[]" } else { file.get(value)? };
            top.append(key, text.to_owned());
        }
        let [completed, failed, pending] = scan.lists;
        let completed = completed.into_iter().map(|entry| Entry::from_scan(file, entry)).collect::<Option<_>>()?;
        let failed = failed.into_iter().map(|entry| Entry::from_scan(file, entry)).collect::<Option<_>>()?;
        let pending = pending.into_iter().map(|entry| Entry::from_scan(file, entry)).collect::<Option<_>>()?;
        Self::assemble(top, completed, failed, pending).ok()
    }

    /// The way of any file: what is wrong with it is found and named.
    pub(super) fn thoroughly(text: &str) -> Result<Self, String> {
        let top = Object::parse(text, 0).map_err(|error| broken(text, &error))?;
        if let Some(key) = top.doubled() {
            return Err(format!("the key `{key}` stands twice: which of them counts is not known"));
        }
        // What is wrong with `meta` is told before what is wrong with an entry.
        meta_of(&top)?;
        let completed = read_list(&top, "completed")?;
        let failed = read_list(&top, "failed")?;
        let pending = read_list(&top, "pending")?;
        Self::assemble(top, completed, failed, pending)
    }

    fn assemble(
        mut top: Object,
        completed: Vec<Completed>,
        failed: Vec<Failed>,
        pending: Vec<Pending>,
    ) -> Result<Self, String> {
        let meta = meta_of(&top)?;
        for key in ["claims", "attempts", "slugs", "settings"] {
            if top.get(key).is_some_and(|text| !text.starts_with('{')) {
                return Err(format!("`{key}` is not an object"));
            }
        }
        let (claims, attempts) = (top.object("claims"), top.object("attempts"));
        // These live in their own fields.
        for key in LISTS.into_iter().chain(["meta", "claims", "attempts"]) {
            if top.get(key).is_some() {
                top.set_text(key, String::new());
            }
        }
        Ok(Self {
            top,
            meta,
            completed,
            failed,
            pending,
            claims,
            attempts,
            changed: false,
            journal: Journal::default(),
        })
    }

    /// The whole file.
    #[must_use]
    pub fn render(&self) -> String {
        self.rope().into()
    }

    /// The whole file in parts: long runs that no transition touched are ranges of the file that was read.
    pub(super) fn rope(&self) -> Rope<'_> {
        let mut top = self.top.clone();
        top.set_object("meta", &self.meta);
        for key in LISTS {
            top.set_text(key, String::new());
        }
        for (key, object) in [("claims", &self.claims), ("attempts", &self.attempts)] {
            if object.is_empty() {
                top.remove(key);
            } else {
                top.set_object(key, object);
            }
        }
        let mut rope = Rope::default();
        rope.push("{");
        for (place, (key, text)) in top.entries().enumerate() {
            rope.push(if place == 0 { "\n  " } else { ",\n  " });
            rope.push(&pretty(&key, 0));
            rope.push(": ");
            // Of a key that stands twice, the last is the list; only its text was taken out.
            match key {
                "completed" if text.is_empty() => rope.push_list(self.completed.iter().map(Entry::raw), 1),
                "failed" if text.is_empty() => rope.push_list(self.failed.iter().map(Entry::raw), 1),
                "pending" if text.is_empty() => rope.push_list(self.pending.iter().map(Entry::raw), 1),
                _ => rope.push(text),
            }
        }
        rope.push("\n}\n");
        rope
    }

    /// Sets what is derived: the counters and the time of the last change.
    pub(super) fn settle(&mut self, now: DateTime<Utc>) {
        let counts = self.counts();
        let before = self.last_updated().map_or(now, |updated| updated.max(now));
        let latest = self.latest_after(before).unwrap_or(before);
        self.meta.set("last_updated", &stamp(latest));
        for (key, count) in counts.named() {
            // Readers of the first format do not know this one: it is written once it says something.
            if key != "review_failed" || count > 0 || self.meta.get(key).is_some() {
                self.meta.set(key, &count);
            }
        }
        let slugs = self.special_slugs();
        if !slugs.is_empty() {
            let mut object = self.top.object("slugs");
            for (route, slug) in slugs {
                object.set(&route, &slug);
            }
            self.top.set_object("slugs", &object);
        }
    }

    /// The time of the latest test or failure, when it is after this one.
    pub(super) fn latest_after(&self, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let text = stamp(at);
        let tests = self.completed.iter().filter_map(|entry| entry.tested_after(at, &text));
        tests.chain(self.failed.iter().filter_map(|entry| entry.failed_at)).filter(|time| *time > at).max()
    }

    /// The counters, from the lists.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            total_routes: self.completed.len() + self.failed.len() + self.pending.len(),
            tested: self.completed.len(),
            pending: self.pending.len(),
            failed: self.failed.len(),
            ..Counts::default()
        };
        for entry in &self.completed {
            match entry.review() {
                ReviewStatus::Complete => counts.review_complete += 1,
                ReviewStatus::Failed => counts.review_failed += 1,
                _ => counts.review_pending += 1,
            }
        }
        counts
    }

    /// Counters in the file that are not what the lists say: name, in the file, in truth.
    #[must_use]
    pub fn wrong_counters(&self) -> Vec<(&'static str, Option<u64>, usize)> {
        self.counts()
            .named()
            .into_iter()
            .map(|(key, truth)| (key, self.meta.get_as::<u64>(key), truth))
            .filter(|(key, written, truth)| {
                *written != Some(*truth as u64) && !(*key == "review_failed" && written.is_none() && *truth == 0)
            })
            .collect()
    }

    /// What `meta` holds under a key, as it stands there; `absent` when it does not.
    pub(super) fn meta_text(&self, key: &str) -> String {
        self.meta.get(key).map_or_else(|| "absent".to_owned(), |text| text.chars().take(40).collect())
    }

    /// Status words of another writer, with their routes.
    #[must_use]
    pub fn unknown_words(&self) -> Vec<(Route, String)> {
        let words = self.completed.iter().flat_map(|entry| {
            let review = match &entry.review_status {
                Some(ReviewStatus::Other(word)) => Some(word.clone()),
                _ => None,
            };
            let status = match &entry.status {
                Some(crate::maze::RouteStatus::Other(word)) => Some(word.clone()),
                _ => None,
            };
            review.into_iter().chain(status).map(|word| (entry.route.clone(), word))
        });
        words.collect()
    }

    /// Routes that stand in more than one place, with their places.
    #[must_use]
    pub fn twice(&self) -> Vec<(Route, String)> {
        let routes = self.completed.len() + self.failed.len() + self.pending.len();
        let mut digests = DigestSet::with_capacity_and_hasher(routes, std::hash::BuildHasherDefault::default());
        if self.routes().all(|route| digests.insert(table_digest(route.key().bytes()))) {
            return Vec::new();
        }
        let mut seen: HashMap<&Route, &'static str> = HashMap::new();
        let mut twice: Vec<(Route, String)> = Vec::new();
        let all = (self.completed.iter().map(|e| (&e.route, "completed")))
            .chain(self.failed.iter().map(|e| (&e.route, "failed")))
            .chain(self.pending.iter().map(|e| (&e.route, "pending")));
        for (route, list) in all {
            if let Some(first) = seen.get(route) {
                match twice.iter_mut().find(|(known, _)| known == route) {
                    Some((_, places)) => places.push_str(&format!(" and {list}")),
                    None => twice.push((route.clone(), format!("{first} and {list}"))),
                }
            } else {
                seen.insert(route, list);
            }
        }
        twice
    }

    /// Tested routes, in the order of their completion.
    #[must_use]
    pub fn completed(&self) -> &[Completed] {
        &self.completed
    }

    /// Routes that could not be tested.
    #[must_use]
    pub fn failed(&self) -> &[Failed] {
        &self.failed
    }

    /// Routes that wait for their test, in their order.
    #[must_use]
    pub fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// Every route.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        (self.completed.iter().map(|entry| &entry.route))
            .chain(self.failed.iter().map(|entry| &entry.route))
            .chain(self.pending.iter().map(|entry| &entry.route))
    }

    /// Where a route stands; `None` when the campaign does not have it.
    #[must_use]
    pub fn place(&self, route: &Route) -> Option<Place> {
        if self.pending.iter().any(|entry| entry.route == *route) {
            Some(Place::Pending)
        } else if let Some(entry) = self.completed.iter().find(|entry| entry.route == *route) {
            Some(Place::Completed(entry.review()))
        } else {
            self.failed.iter().any(|entry| entry.route == *route).then_some(Place::Failed)
        }
    }

    /// The project's name.
    #[must_use]
    pub fn project(&self) -> String {
        self.meta.get_as("project").unwrap_or_default()
    }

    /// Address of the application, as it was written.
    #[must_use]
    pub fn base_url(&self) -> String {
        self.meta.get_as("base_url").unwrap_or_default()
    }

    /// When the campaign began.
    #[must_use]
    pub fn created_at(&self) -> Option<DateTime<Utc>> {
        self.meta.get_as("created_at")
    }

    /// When the state last changed.
    #[must_use]
    pub fn last_updated(&self) -> Option<DateTime<Utc>> {
        self.meta.get_as("last_updated")
    }

    /// The file's version; absent counts as 1.
    #[must_use]
    pub fn schema_version(&self) -> u64 {
        self.meta.get("schema_version").map_or(1, |text| serde_json::from_str(text).unwrap_or(u64::MAX))
    }

    /// Why the campaign is blocked, when it is.
    #[must_use]
    pub fn blocked(&self) -> Option<String> {
        (self.meta.get_as::<String>("status").as_deref() == Some("blocked"))
            .then(|| self.meta.get_as::<String>("blocked_reason").unwrap_or_else(|| "no reason was given".to_owned()))
    }

    /// The campaign's own settings: the last source in the order.
    #[must_use]
    pub fn config(&self) -> Config {
        Config {
            base_url: Some(self.base_url()).filter(|url| !url.is_empty()),
            project: Some(self.project()).filter(|name| !name.is_empty()),
            settings: self.top.get_as::<Overrides>("settings").unwrap_or_default(),
        }
    }

    /// The final report that was written last.
    #[must_use]
    pub fn final_report(&self) -> Option<FinalReport> {
        self.top.get_as("final_report")
    }

    /// What is known of a route's attempts.
    #[must_use]
    pub fn attempts(&self, route: &Route) -> Attempts {
        self.attempts.get_as(&route.key()).unwrap_or_default()
    }

    /// Edits what is known of a route's attempts.
    pub(super) fn edit_attempts(&mut self, route: &Route, edit: impl FnOnce(&mut Object)) {
        let key = route.key();
        let mut object = self.attempts.object(&key);
        edit(&mut object);
        if object.is_empty() {
            self.attempts.remove(&key);
        } else {
            self.attempts.set_object(&key, &object);
        }
        self.changed = true;
    }

    /// The slugs of every route of the campaign: those that the file holds first, then by the rule, in the lists' order.
    #[must_use]
    pub fn slugs(&self) -> Slugs {
        let mut slugs = Slugs::with_capacity(self.completed.len() + self.failed.len() + self.pending.len());
        for (route, text) in self.top.object("slugs").entries() {
            let slug = serde_json::from_str::<String>(text).ok().and_then(|slug| Slug::from_file(&slug));
            if let (Ok(route), Some(slug)) = (Route::parse(route), slug) {
                slugs.keep(&route, slug);
            }
        }
        for route in self.routes() {
            slugs.note(route);
        }
        slugs
    }

    /// The slug of a route of this campaign (or the one that it would get).
    #[must_use]
    pub fn slug(&self, route: &Route) -> Slug {
        self.slugs().give(route)
    }

    /// Slugs that are not the plain rule's, and so must be written, in the lists' order.
    fn special_slugs(&self) -> Vec<(String, String)> {
        let slugs = self.slugs();
        let plain = |route: &Route| {
            let key = route.key();
            let name = key.trim_start_matches('/').replace('/', "_");
            if name.is_empty() { "root".to_owned() } else { name }
        };
        if slugs.odd().next().is_none() {
            return Vec::new();
        }
        let odd: HashMap<&str, &Slug> = slugs.odd().collect();
        self.routes()
            .filter_map(|route| Some((route, *odd.get(route.key().as_ref())?)))
            .filter(|(route, slug)| slug.as_str() != plain(route))
            .map(|(route, slug)| (route.key().into_owned(), slug.to_string()))
            .collect()
    }

    /// The leases that live now, by the key of their route.
    #[must_use]
    pub fn live_leases(&self, now: DateTime<Utc>) -> HashMap<String, Lease> {
        self.claims
            .entries()
            .filter_map(|(key, text)| Some((key.to_owned(), serde_json::from_str::<Lease>(text).ok()?)))
            .filter(|(_, lease)| lease.lives(now))
            .collect()
    }

    /// Tells that a transition changed something.
    pub(super) fn touch(&mut self) {
        self.changed = true;
    }

    /// A digest of what the final report reports on: the routes, their outcomes and their reviews.
    #[must_use]
    pub fn digest(&self) -> String {
        super::next::digest(self)
    }

    /// The routes of the campaign, as a set.
    #[must_use]
    pub fn route_set(&self) -> HashSet<Route> {
        self.routes().cloned().collect()
    }
}

impl Counts {
    fn named(self) -> [(&'static str, usize); 7] {
        [
            ("total_routes", self.total_routes),
            ("tested", self.tested),
            ("pending", self.pending),
            ("failed", self.failed),
            ("review_pending", self.review_pending),
            ("review_complete", self.review_complete),
            ("review_failed", self.review_failed),
        ]
    }
}

fn meta_of(top: &Object) -> Result<Object, String> {
    let text = top.get("meta").ok_or("it has no `meta`")?;
    let meta = Object::parse(text, 1).map_err(|_| "`meta` is not an object".to_owned())?;
    match meta.doubled() {
        Some(key) => Err(format!("`meta` has the key `{key}` twice: which of them counts is not known")),
        None => Ok(meta),
    }
}

fn read_list<T: Entry>(top: &Object, key: &str) -> Result<Vec<T>, String> {
    let Some(text) = top.get(key) else { return Ok(Vec::new()) };
    let texts = list_texts(text).map_err(|_| format!("`{key}` is not a list"))?;
    texts
        .into_iter()
        .enumerate()
        .map(|(place, text)| T::read(text.into()).map_err(|problem| format!("{key}[{place}]: {problem}")))
        .collect()
}

/// What is wrong with a text that is no JSON object, for a person.
fn broken(text: &str, error: &serde_json::Error) -> String {
    if text.trim().is_empty() {
        return "it is empty".to_owned();
    }
    if text.bytes().all(|byte| byte == 0) {
        return "it holds only NUL bytes, as after a power loss".to_owned();
    }
    let conflict = text.lines().position(|line| {
        let line = line.trim_start();
        line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>") || line.starts_with("|||||||")
    });
    match conflict {
        Some(line) => format!("it holds {} (line {}, column 1); {error}", super::conflict::named(text), line + 1),
        None if error.is_eof() => format!("it ends too early: {error}"),
        None => error.to_string(),
    }
}
