//! What a transition writes down about itself while it works: what it does, to which routes, and how they stood before.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claims::Lease;
use super::entry::{Completed, Entry, Failed, Pending};
use super::history::{Change, KeptFile, Undo};
use super::model::State;
use super::raw::pretty;
use crate::route::Route;
use crate::store::{self, BootTime};

/// A transition that touches more than this (in bytes) cannot be taken back: the history would grow with the campaign.
const LARGEST_UNDO: usize = 1 << 20;

/// A route of the state, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Touched {
    /// The route.
    pub route: Route,
    /// Its list (`pending`, `completed`, `failed`); absent: the campaign does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// Its place in the list.
    #[serde(default)]
    pub place: usize,
    /// Its entry as JSON text; absent: the plain route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Its lease as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// What is known of its attempts, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<String>,
}

impl Touched {
    fn size(&self) -> usize {
        let texts = [&self.entry, &self.claim, &self.attempts];
        self.route.as_str().len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }

    /// The same without layout and without its place in the list, which moves when others do.
    fn normal(&self) -> String {
        let plain = |text: &Option<String>| {
            let text = text.as_deref()?;
            serde_json::from_str::<serde_json::Value>(text).map_or_else(|_| text.to_owned(), |v| v.to_string()).into()
        };
        let [entry, claim, attempts]: [Option<String>; 3] =
            [plain(&self.entry), plain(&self.claim), plain(&self.attempts)];
        format!("{:?} {:?} {entry:?} {claim:?} {attempts:?}", self.route.key(), self.list)
    }
}

/// The notes of one transition.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    /// The clock since this machine's start, for leases.
    pub(super) boot: Option<BootTime>,
    /// Whether the file begins with a byte-order mark.
    pub(super) byte_order_mark: bool,
    pub(super) change: Option<Change>,
    pub(super) routes: Vec<Route>,
    pub(super) worker: Option<String>,
    pub(super) detail: Option<String>,
    pub(super) undid: Option<u64>,
    pub(super) files: Vec<KeptFile>,
    touched: Vec<Touched>,
    keys: BTreeMap<String, Option<String>>,
    too_large: bool,
}

impl State {
    /// A transition begins: what it is, and which routes it touches. Called before anything is changed.
    pub(super) fn begin(&mut self, change: Change, routes: &[Route], token: Option<&str>) {
        self.journal.worker = token.and_then(|token| {
            let lease = routes.iter().find_map(|route| self.claims.get_as::<Lease>(&route.key()))?;
            (lease.token == token).then_some(lease.worker)
        });
        let keys: &[&str] = match change {
            Change::Block | Change::Unblock => &["meta.status", "meta.blocked_reason"],
            Change::Add | Change::Drop => &["dropped"],
            Change::Report => &["final_report"],
            _ => &[],
        };
        self.journal.keys = keys.iter().map(|key| ((*key).to_owned(), self.key_text(key))).collect();
        self.journal.routes = routes.to_vec();
        let before = self.slices(routes);
        self.journal.too_large = before.iter().map(Touched::size).sum::<usize>() > LARGEST_UNDO;
        self.journal.touched = if self.journal.too_large { Vec::new() } else { before };
        self.journal.change = Some(change);
    }

    /// More about the transition, for the history.
    pub(super) fn note(&mut self, detail: impl Into<String>) {
        const LONGEST: usize = 300;
        let detail: String = detail.into();
        let mut short: String = detail.chars().take(LONGEST).collect();
        if short.len() < detail.len() {
            short.push_str(" ...");
        }
        self.journal.detail = Some(short);
    }

    /// What taking the transition back needs; `None` when it cannot be taken back.
    pub(super) fn undo_notes(&self) -> Option<Undo> {
        let journal = &self.journal;
        let one_way =
            matches!(journal.change, None | Some(Change::Init | Change::Repair | Change::Undo | Change::Edit));
        if journal.too_large || one_way {
            return None;
        }
        let routes = journal.touched.clone();
        let (keys, files) = (journal.keys.clone(), journal.files.clone());
        let left = self.left(&Undo { routes, keys, files, left: String::new() });
        Some(Undo { routes: journal.touched.clone(), keys: journal.keys.clone(), files: journal.files.clone(), left })
    }

    /// Digest of what this undo is about, as it stands now.
    pub(super) fn left(&self, undo: &Undo) -> String {
        let routes: Vec<Route> = undo.routes.iter().map(|touched| touched.route.clone()).collect();
        let mut lines: Vec<String> = self.slices(&routes).iter().map(Touched::normal).collect();
        lines.extend(undo.keys.keys().map(|key| format!("{key} {:?}", self.key_text(key))));
        store::quick_digest(&[lines.join("\n").as_bytes()])
    }

    /// Puts everything back that this undo is about.
    pub(super) fn take_back(&mut self, undo: &Undo) -> Result<(), String> {
        let keys: std::collections::HashSet<String> =
            undo.routes.iter().map(|touched| touched.route.key().into_owned()).collect();
        let stays = |route: &Route| !keys.contains(route.key().as_ref());
        self.completed.retain(|entry| stays(&entry.route));
        self.failed.retain(|entry| stays(&entry.route));
        self.pending.retain(|entry| stays(&entry.route));
        let mut touched: Vec<&Touched> = undo.routes.iter().collect();
        touched.sort_by_key(|touched| touched.place);
        for before in touched {
            let text = before.entry.clone().unwrap_or_else(|| pretty(&before.route, 0));
            match before.list.as_deref() {
                Some("completed") => put(&mut self.completed, before.place, Completed::read(text.into())?),
                Some("failed") => put(&mut self.failed, before.place, Failed::read(text.into())?),
                Some("pending") => put(&mut self.pending, before.place, Pending::read(text.into())?),
                _ => {}
            }
            let key = before.route.key();
            for (object, text) in [(&mut self.claims, &before.claim), (&mut self.attempts, &before.attempts)] {
                match text {
                    Some(text) => object.set_text(&key, text.clone()),
                    None => drop(object.remove(&key)),
                }
            }
        }
        for (key, text) in &undo.keys {
            let (object, key) = match key.strip_prefix("meta.") {
                Some(key) => (&mut self.meta, key),
                None => (&mut self.top, key.as_str()),
            };
            match text {
                Some(text) => object.set_text(key, text.clone()),
                None => drop(object.remove(key)),
            }
        }
        self.touch();
        Ok(())
    }

    fn key_text(&self, key: &str) -> Option<String> {
        let text = match key.strip_prefix("meta.") {
            Some(key) => self.meta.get(key),
            None => self.top.get(key),
        };
        text.map(str::to_owned)
    }

    /// These routes as they stand, each once, in the order in which they are named.
    fn slices(&self, routes: &[Route]) -> Vec<Touched> {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut slices: Vec<Touched> = Vec::new();
        for route in routes {
            let key = route.key().into_owned();
            if places.contains_key(&key) {
                continue;
            }
            let text = |object: &super::raw::Object| object.get(&key).map(str::to_owned);
            slices.push(Touched {
                route: route.clone(),
                list: None,
                place: 0,
                entry: None,
                claim: text(&self.claims),
                attempts: text(&self.attempts),
            });
            places.insert(key, slices.len() - 1);
        }
        let mut left = slices.len();
        let mut look = |list: &str, place: usize, route: &Route, text: &str| {
            let slice = if slices.len() == 1 {
                slices.first_mut().filter(|slice| slice.route == *route)
            } else {
                places.get(route.key().as_ref()).and_then(|at| slices.get_mut(*at))
            };
            if let Some(slice) = slice {
                slice.list = Some(list.to_owned());
                slice.place = place;
                slice.route = route.clone();
                slice.entry = (text != pretty(route, 0)).then(|| text.to_owned());
                left = left.saturating_sub(1);
            }
            left > 0
        };
        let _ = self.pending.iter().enumerate().all(|(at, entry)| look("pending", at, &entry.route, entry.text()))
            && self.completed.iter().enumerate().all(|(at, entry)| look("completed", at, &entry.route, entry.text()))
            && self.failed.iter().enumerate().all(|(at, entry)| look("failed", at, &entry.route, entry.text()));
        slices
    }
}

fn put<T>(list: &mut Vec<T>, place: usize, entry: T) {
    list.insert(place.min(list.len()), entry);
}
