//! The review of one route: ids, equal bugs made one, and what can be found in the report without a browser.

use std::collections::BTreeSet;

use super::input::file_name;
use crate::maze::{ActionResult, Bug, Node, RouteReport, Severity};

/// A severity as it is counted. A word that only its writer knows counts as minor, as in the bug's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The route cannot be used.
    Critical,
    /// A function is broken.
    Major,
    /// A blemish.
    Minor,
}

impl Level {
    /// All, the worst first.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Major, Self::Minor];

    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Major => "major",
            Self::Minor => "minor",
        }
    }

    /// The word at the beginning of a heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Critical => "Critical",
            Self::Major => "Major",
            Self::Minor => "Minor",
        }
    }

    /// The letter in a bug's id.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Critical => 'C',
            Self::Major => 'M',
            Self::Minor => 'm',
        }
    }
}

impl From<&Severity> for Level {
    fn from(severity: &Severity) -> Self {
        match severity {
            Severity::Critical => Self::Critical,
            Severity::Major => Self::Major,
            Severity::Minor | Severity::Other(_) => Self::Minor,
        }
    }
}

/// Who found a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BugSource {
    /// It stands in the route's report.
    TesterReported,
    /// The review found it.
    ReviewerFound,
}

impl BugSource {
    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TesterReported => "tester-reported",
            Self::ReviewerFound => "reviewer-found",
        }
    }
}

/// A bug with its id.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewedBug {
    /// `BUG-{slug}-{C|M|m}{n}`, unique in the campaign.
    pub id: String,
    /// How it is counted.
    pub level: Level,
    /// Who found it.
    pub source: BugSource,
    /// The bug.
    pub bug: Bug,
}

impl ReviewedBug {
    /// The key by which equal bugs of many routes are one group: one cause is one bug, wherever it shows.
    #[must_use]
    pub fn group(&self) -> Option<(&'static str, String)> {
        let cause = self.bug.fingerprint_parts.as_ref().and_then(crate::trace::FingerprintParts::cause);
        let known = || self.fingerprint().map(|(kind, value)| (kind, value.to_owned()));
        cause.map(|cause| ("cause", cause)).or_else(known)
    }

    /// The finest key that is known of it; `None` when nothing but its text is.
    #[must_use]
    pub fn fingerprint(&self) -> Option<(&'static str, &str)> {
        let found =
            |key: &'static str, value: &'_ Option<String>| value.as_ref().is_some_and(|v| !v.is_empty()).then_some(key);
        let bug = &self.bug;
        let key = found("v3", &bug.fingerprint_v3)
            .or_else(|| found("v2", &bug.fingerprint_v2))
            .or_else(|| found("legacy", &bug.fingerprint))?;
        let value = match key {
            "v3" => &bug.fingerprint_v3,
            "v2" => &bug.fingerprint_v2,
            _ => &bug.fingerprint,
        };
        value.as_deref().map(|value| (key, value))
    }

    /// Whether a replay was tried and did not show it again.
    #[must_use]
    pub fn is_unconfirmed(&self) -> bool {
        self.bug.confirmed == Some(false)
    }

    /// What is known about its coming back, in words; `None` when it was never replayed.
    #[must_use]
    pub fn certainty(&self) -> Option<String> {
        let rate = self.bug.fire_rate.map(|rate| {
            let times = if rate.attempts == 1 { "attempt" } else { "attempts" };
            format!("fired in {} of {} {times}", rate.fired, rate.attempts)
        });
        match (self.bug.confirmed, rate) {
            (Some(true), None) => Some("confirmed by a replay".to_owned()),
            (Some(true), Some(rate)) => Some(format!("confirmed by a replay, {rate}")),
            (Some(false), None) => Some("UNCONFIRMED: a replay did not show it again".to_owned()),
            (Some(false), Some(rate)) => Some(format!("UNCONFIRMED: {rate}")),
            (None, rate) => rate,
        }
    }

    /// Every place that shows it, the first first.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.bug.location.as_str())
            .chain(self.bug.also_at.iter().map(String::as_str))
            .filter(|place| !place.is_empty())
    }
}

/// What the review of a route says.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteReview {
    /// The route.
    pub route: String,
    /// Its slug.
    pub slug: String,
    /// Its bugs, the worst first.
    pub bugs: Vec<ReviewedBug>,
    /// What a reader should know about the report itself.
    pub notes: Vec<String>,
    /// There is nothing to judge the route by: it should be tested again.
    pub no_test_data: bool,
}

/// Reviews a route's report. `files` are the names in its screenshots folder (`screenshots_dir`), when somebody looked.
#[must_use]
pub fn review(
    report: &RouteReport,
    slug: &str,
    screenshots_dir: &str,
    files: Option<&BTreeSet<String>>,
) -> RouteReview {
    review_with(report, slug, screenshots_dir, files, None)
}

/// [`review`], with the bug report that an outside reviewer wrote.
pub(super) fn review_with(
    report: &RouteReport,
    slug: &str,
    screenshots_dir: &str,
    files: Option<&BTreeSet<String>>,
    outside: Option<&str>,
) -> RouteReview {
    let mut found: Vec<Found> = Vec::new();
    let mut merged = 0_usize;
    for bug in &report.bugs {
        if let Some(known) = found.iter_mut().find(|known| is_twin(&known.bug, bug)) {
            merged += 1;
            absorb(&mut known.bug, bug);
        } else {
            let source = match bug.source.as_deref() {
                Some("reviewer-found") => BugSource::ReviewerFound,
                _ => BugSource::TesterReported,
            };
            found.push(Found { source, bug: bug.clone(), wanted: None });
        }
    }
    found.extend(uncited_errors(report).into_iter().map(Found::by_review));

    let is_missing = report.status.as_str() == super::input::REPORT_MISSING;
    let no_test_data = !is_missing && has_no_data(report, files);
    let mut notes = Vec::new();
    if no_test_data {
        notes.push("no test data: the report holds no element and no screenshot; test this route again".to_owned());
    }
    if let Some(error) = &report.error {
        notes.push(if is_missing { error.clone() } else { format!("the route could not be tested: {error}") });
    }
    if merged > 0 {
        let what = if merged == 1 { "bug was" } else { "bugs were" };
        notes.push(format!(
            "{merged} reported {what} equal to another one (same screenshot, same description) and merged"
        ));
    }
    if let Some(text) = outside {
        super::outside::take_in(&mut found, text, slug);
    }
    notes.extend(screenshot_notes(report, screenshots_dir, files));
    notes.extend(consistency_notes(report));
    RouteReview { route: report.route.clone(), slug: slug.to_owned(), bugs: number(slug, found), notes, no_test_data }
}

/// A bug that has no id yet.
pub(super) struct Found {
    pub(super) source: BugSource,
    pub(super) bug: Bug,
    /// The id that an outside reviewer gave it.
    pub(super) wanted: Option<String>,
}

impl Found {
    pub(super) fn by_review(bug: Bug) -> Self {
        Self { source: BugSource::ReviewerFound, bug, wanted: None }
    }
}

/// Sorts bugs, the worst first, and gives them their ids: an outside reviewer's where it fits, else the next free one.
fn number(slug: &str, mut found: Vec<Found>) -> Vec<ReviewedBug> {
    found.sort_by_key(|found| Level::from(&found.bug.severity));
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for found in &mut found {
        let prefix = format!("BUG-{slug}-{}", Level::from(&found.bug.severity).letter());
        let fits = |id: &String| {
            id.strip_prefix(&prefix)
                .is_some_and(|n| n.parse::<u32>().is_ok_and(|number| number > 0 && number.to_string() == n))
        };
        found.wanted = found.wanted.take().filter(|id| fits(id) && taken.insert(id.clone()));
    }
    found
        .into_iter()
        .map(|Found { source, bug, wanted }| {
            let level = Level::from(&bug.severity);
            let id = wanted.unwrap_or_else(|| {
                let mut n = 1_usize;
                loop {
                    let id = format!("BUG-{slug}-{}{n}", level.letter());
                    if taken.insert(id.clone()) {
                        break id;
                    }
                    n += 1;
                }
            });
            ReviewedBug { id, level, source, bug }
        })
        .collect()
}

pub(super) fn is_twin(known: &Bug, bug: &Bug) -> bool {
    known.screenshot == bug.screenshot && known.description.trim() == bug.description.trim()
}

/// The known bug takes in the places of its twin, and the worse severity.
fn absorb(known: &mut Bug, twin: &Bug) {
    for place in std::iter::once(&twin.location).chain(&twin.also_at) {
        if !place.is_empty() && *place != known.location && !known.also_at.contains(place) {
            known.also_at.push(place.clone());
        }
    }
    if twin.severity.rank() < known.severity.rank() {
        known.severity = twin.severity.clone();
    }
}

/// `/orders > Export > CSV`.
pub(super) fn place_of(route: &str, path: &[&str], label: &str) -> String {
    let mut place = route.to_owned();
    for part in path.iter().copied().chain(std::iter::once(label)) {
        place.push_str(" > ");
        place.push_str(part);
    }
    place
}

/// Whether a bug speaks of this node.
///
/// Our own reports name the whole path. Other writers name a place in their own words; there the last part must be the
/// node's label.
fn cites(bug: &Bug, place: &str, node: &Node, route: &str) -> bool {
    if node.screenshot.is_some() && bug.screenshot == node.screenshot {
        return true;
    }
    std::iter::once(&bug.location).chain(&bug.also_at).any(|location| {
        if location.starts_with(route) && location.contains(" > ") {
            return location == place;
        }
        let last = location.rsplit(['>', '→', '/', '›']);
        last.map(str::trim)
            .find(|part| !part.is_empty())
            .is_some_and(|part| part.eq_ignore_ascii_case(node.label.trim()))
    }) || (bug.location.is_empty() && node.label.chars().count() > 3 && bug.description.contains(&node.label))
}

/// The bugs that speak of this node.
pub(super) fn node_bugs<'a>(
    place: &'a str,
    node: &'a Node,
    route: &'a str,
    bugs: &'a [ReviewedBug],
) -> impl Iterator<Item = &'a ReviewedBug> {
    bugs.iter().filter(move |bug| cites(&bug.bug, place, node, route))
}

/// Nodes whose action ended in an error that no bug speaks of.
fn uncited_errors(report: &RouteReport) -> Vec<Bug> {
    let mut bugs = Vec::new();
    report.action_tree.visit(|_, path, node| {
        if node.action_result != Some(ActionResult::Error) {
            return;
        }
        let place = place_of(&report.route, path, &node.label);
        if report.bugs.iter().any(|bug| cites(bug, &place, node, &report.route)) {
            return;
        }
        let failed: Vec<String> = node.requests.iter().filter(|request| is_failed(request)).cloned().collect();
        bugs.push(Bug {
            severity: Severity::Major,
            description: format!("`{}` ends in an error", node.label),
            location: place,
            expected: "the action succeeds, or its control is disabled".to_owned(),
            actual: node.note.clone().unwrap_or_else(|| "the report records an error and says no more".to_owned()),
            screenshot: node.screenshot.clone(),
            kind: None,
            fingerprint: None,
            fingerprint_v2: None,
            fingerprint_v3: None,
            fingerprint_parts: None,
            trace: Vec::new(),
            original_trace: Vec::new(),
            source: Some(BugSource::ReviewerFound.as_str().to_owned()),
            confirmed: None,
            fire_rate: None,
            also_at: Vec::new(),
            evidence: failed,
        });
    });
    bugs
}

/// `METHOD path -> status`, with a status of 400 or more.
fn is_failed(request: &str) -> bool {
    request
        .rsplit_once("-> ")
        .and_then(|(_, status)| status.trim().parse::<u16>().ok())
        .is_some_and(|status| status >= 400)
}

fn has_no_data(report: &RouteReport, files: Option<&BTreeSet<String>>) -> bool {
    let no_nodes = report.action_tree.sections().iter().all(|(_, nodes)| nodes.is_empty());
    let no_shots = files.map_or(report.screenshots.is_empty(), BTreeSet::is_empty);
    no_nodes && no_shots
}

/// Every screenshot that the report names, in its order, each once.
pub(super) fn named_screenshots(report: &RouteReport) -> Vec<&str> {
    let mut names: Vec<&str> = report.screenshots.iter().map(String::as_str).collect();
    report.action_tree.visit(|_, _, node| names.extend(node.screenshot.as_deref()));
    names.extend(report.bugs.iter().filter_map(|bug| bug.screenshot.as_deref()));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

fn screenshot_notes(report: &RouteReport, dir: &str, files: Option<&BTreeSet<String>>) -> Vec<String> {
    let mut notes = Vec::new();
    let named = named_screenshots(report);
    let (plain, strange): (Vec<&str>, Vec<&str>) = named.iter().partition(|name| file_name(name, dir).is_some());
    if !strange.is_empty() {
        notes.push(format!("not a file name in the route's screenshots folder, left out: {}", list(&strange)));
    }
    if let Some(files) = files {
        let plain: Vec<&str> = plain.iter().filter_map(|name| file_name(name, dir)).collect();
        let missing: Vec<&str> = plain.iter().copied().filter(|name| !files.contains(*name)).collect();
        if !missing.is_empty() {
            notes.push(format!("named in the report and missing in the screenshots folder: {}", list(&missing)));
        }
        let unnamed: Vec<&str> = files.iter().map(String::as_str).filter(|file| !plain.contains(file)).collect();
        if !unnamed.is_empty() {
            notes.push(format!("in the screenshots folder and not named in the report: {}", list(&unnamed)));
        }
    }
    let bare = report.bugs.iter().filter(|bug| bug.screenshot.is_none()).count();
    if bare > 0 {
        notes.push(format!("{bare} of {} reported bugs cite no screenshot", report.bugs.len()));
    }
    notes
}

fn consistency_notes(report: &RouteReport) -> Vec<String> {
    use crate::maze::RouteStatus;
    let mut notes = Vec::new();
    if report.status == RouteStatus::Pass && !report.bugs.is_empty() {
        notes.push(format!("the report says `pass` and lists {} bugs", report.bugs.len()));
    }
    if report.status == RouteStatus::Partial && report.bugs.is_empty() {
        notes.push("the report says `partial` and lists no bug".to_owned());
    }
    if let Some(count) = report.operations_count {
        let sum = count.passed.saturating_add(count.failed).saturating_add(count.disabled);
        if sum != count.total {
            notes.push(format!("the report counts {} operations, its parts add up to {sum}", count.total));
        }
    }
    let mut unknown = BTreeSet::new();
    report.action_tree.visit(|_, _, node| {
        if let Some(ActionResult::Other(word)) = &node.action_result {
            unknown.insert(word.as_str());
        }
    });
    if !unknown.is_empty() {
        let words: Vec<&str> = unknown.into_iter().collect();
        notes.push(format!("action results of another vocabulary, kept as they are: {}", list(&words)));
    }
    notes
}

/// The first ten, and how many more.
fn list(names: &[&str]) -> String {
    let shown: Vec<&str> = names.iter().copied().take(10).collect();
    let more = names.len().saturating_sub(shown.len());
    let text = shown.join(", ");
    if more == 0 { text } else { format!("{text} and {more} more") }
}
