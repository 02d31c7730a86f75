//! What is left of a route that was cut off: after each finished branch the exploration so far is written down, so that the
//! next one goes on with the branches that are missing. It is evidence of one attempt: written without a flush, gone when
//! the route is done, and not believed when the application, the settings or the program are other ones, or after a day.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::choose::Candidate;
use super::plan::Plan;
use super::record::Recorded;
use super::shots::Section;
use super::walk::Walker;
use crate::maze::{Coverage, Node, OperationsCount};
use crate::replay::redact_value;
use crate::store;

/// An exploration so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// What it was made with: program, application, settings. Another one begins anew.
    pub(super) made_with: String,
    /// When it was written.
    pub(super) at: DateTime<Utc>,
    /// Key of the page that the route opened.
    pub(super) page: String,
    /// Finished branches, by [`branch_key`].
    pub(super) branches: BTreeMap<String, Node>,
    /// Sections whose elements are counted.
    pub(super) sections: BTreeSet<String>,
    pub(super) recorded: Recorded,
    pub(super) coverage: Coverage,
    pub(super) operations: OperationsCount,
    pub(super) limits: Vec<String>,
    pub(super) extra_shots: Vec<String>,
    pub(super) seen: BTreeSet<String>,
    pub(super) families: BTreeMap<String, u32>,
    pub(super) screens: BTreeSet<String>,
    pub(super) pages: BTreeSet<String>,
    pub(super) actions: u32,
    pub(super) detail: Option<Vec<u32>>,
}

/// How long what was left is believed.
const BELIEVED: TimeDelta = TimeDelta::hours(24);
/// It is written this often at most.
const PAUSE: Duration = Duration::from_secs(2);

/// What an exploration is made with: one that was made with something else is another one.
fn made_with(plan: &Plan, campaign: &str) -> String {
    let settings = &plan.stage.settings;
    let with = serde_json::json!([
        env!("CARGO_PKG_VERSION"),
        campaign,
        plan.route.as_str(),
        plan.stage.base.as_str(),
        settings.safe_to_mutate,
        settings.allow_request,
        settings.own_origins,
        settings.viewport,
        settings.context_menus,
        settings.strict_oracles,
        settings.fail_on_5xx,
        plan.stage.credentials.is_some(),
    ]);
    with.to_string()
}

/// What was left of this route, when it is to be believed.
pub(super) fn left_of(plan: &Plan) -> Option<Checkpoint> {
    let unfinished = plan.unfinished.as_ref()?;
    let text = store::read_to_string_if_exists(&unfinished.path).ok()??;
    let left: Checkpoint = serde_json::from_str(&text).ok()?;
    let age = plan.clock.now() - left.at;
    let shots_stand = left.recorded.shots().all(|name| plan.shots.join(name).is_file());
    (left.made_with == made_with(plan, &unfinished.campaign) && age < BELIEVED && shots_stand).then_some(left)
}

/// Forgets what was left of a route.
pub fn forget(path: &Path) {
    if store::exists(path) == store::FileKind::File
        && let Err(error) = store::remove_file(path)
    {
        tracing::warn!("{error}");
    }
}

/// What tells a branch from others of its route.
pub(super) fn branch_key(section: Section, candidate: &Candidate, signature: &str) -> String {
    format!("{section:?}|{signature}|{}|{}", candidate.nth, candidate.way.label(&candidate.element))
}

impl Walker<'_> {
    /// Goes on from what was left. Gives back how many branches were finished.
    pub(super) fn take_up(&mut self, left: Checkpoint) -> usize {
        self.record.take_up(left.recorded);
        self.coverage = left.coverage;
        self.operations = left.operations;
        self.limits = left.limits;
        self.extra_shots = left.extra_shots;
        self.seen = left.seen.into_iter().collect();
        self.families = left.families.into_iter().collect();
        self.screens = left.screens.into_iter().collect();
        self.pages = left.pages.into_iter().collect();
        self.actions = left.actions;
        self.detail = left.detail;
        self.taken_up.clone_from(&left.sections);
        self.sections = left.sections;
        self.branches = left.branches;
        self.branches.len()
    }

    /// Writes down that a branch is finished.
    pub(super) fn finish_branch(&mut self, key: String, node: &Node) {
        let Some(unfinished) = &self.plan.unfinished else { return };
        self.branches.insert(key, node.clone());
        if self.written.is_some_and(|at| at.elapsed() < PAUSE) {
            return;
        }
        let so_far = Checkpoint {
            made_with: made_with(self.plan, &unfinished.campaign),
            at: self.plan.clock.now(),
            page: self.page.clone(),
            branches: self.branches.clone(),
            sections: self.sections.clone(),
            recorded: self.record.recorded(),
            coverage: self.coverage.clone(),
            operations: self.operations,
            limits: self.limits.clone(),
            extra_shots: self.extra_shots.clone(),
            seen: self.seen.iter().cloned().collect(),
            families: self.families.iter().map(|(family, count)| (family.clone(), *count)).collect(),
            screens: self.screens.iter().cloned().collect(),
            pages: self.pages.iter().cloned().collect(),
            actions: self.actions,
            detail: self.detail.clone(),
        };
        let Ok(mut value) = serde_json::to_value(&so_far) else { return };
        redact_value(&mut value, self.plan.stage.credentials.as_ref());
        if let Err(error) = store::write_unsynced(&unfinished.path, value.to_string().as_bytes()) {
            tracing::debug!("the branches that are finished could not be written down: {error}");
        }
        self.written = Some(Instant::now());
    }
}
