//! Every number of the campaign, counted once.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::input::{CampaignInput, FailedRoute, REPORT_MISSING, ReviewStatus, RouteInput};
use super::review::{Level, ReviewedBug, RouteReview, review_with};
use super::tally::{BugCounts, coverage_of, operations_of};
use crate::maze::{Coverage, OperationsCount, RouteReport, RouteStatus};

/// A campaign, reviewed and counted.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// The project's name.
    pub project: String,
    /// Address of the application.
    pub base_url: String,
    /// When the campaign began (UTC).
    pub created_at: DateTime<Utc>,
    /// When this report is written (UTC).
    pub generated_at: DateTime<Utc>,
    /// Digest of the state that is reported on.
    pub digest: String,
    /// The sums.
    pub totals: Totals,
    /// The tested routes, in the order of the campaign.
    pub routes: Vec<RoutePart>,
    /// The bugs, equal ones together: the worst first, then what shows on most routes.
    pub groups: Vec<BugGroup>,
    /// Routes that could not be tested.
    pub failed: Vec<FailedRoute>,
    /// Routes that were not tested yet.
    pub pending: Vec<String>,
    /// What to do next, as plain sentences.
    pub recommendations: Vec<String>,
}

/// One tested route.
#[derive(Clone, Debug)]
pub struct RoutePart {
    /// Its report.
    pub report: RouteReport,
    /// Its review.
    pub review: RouteReview,
    /// How far the review is.
    pub review_status: ReviewStatus,
    /// Bugs by severity.
    pub bugs: BugCounts,
    /// Operations; the total is the sum of its parts.
    pub operations: OperationsCount,
    /// The account of elements.
    pub coverage: Coverage,
    /// Folder of its screenshots, relative to the project root.
    pub screenshots_dir: String,
    /// Its bug report, relative to the project root.
    pub bug_report_file: Option<String>,
}

impl RoutePart {
    fn new(mut input: RouteInput) -> Self {
        // The campaign's name of the route counts; a report that names another one is told of.
        let named = std::mem::replace(&mut input.report.route, input.route);
        let mut review = review_with(
            &input.report,
            &input.slug,
            &input.screenshots_dir,
            input.screenshot_files.as_ref(),
            input.bug_report.as_deref(),
        );
        if named != input.report.route {
            review.notes.push(format!("the report names the route `{named}`"));
        }
        Self {
            bugs: BugCounts::of(&review.bugs),
            operations: operations_of(&input.report, &review.bugs),
            coverage: coverage_of(&input.report),
            review,
            review_status: input.review_status,
            report: input.report,
            screenshots_dir: input.screenshots_dir,
            bug_report_file: input.bug_report_file,
        }
    }

    /// The route.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.report.route
    }

    /// Its slug.
    #[must_use]
    pub fn slug(&self) -> &str {
        &self.review.slug
    }

    /// Tested, but its report cannot be read.
    #[must_use]
    pub fn is_report_missing(&self) -> bool {
        self.report.status.as_str() == REPORT_MISSING
    }

    /// Tested, and nothing is wrong with it.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.bugs.total() == 0
            && self.report.status != RouteStatus::Fail
            && !self.is_report_missing()
            && !self.review.no_test_data
    }
}

/// Equal bugs of one severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BugGroup {
    /// Their severity.
    pub level: Level,
    /// What they have in common; `None` for a bug without a fingerprint, which stands alone.
    pub fingerprint: Option<String>,
    /// Index of the route in [`Aggregate::routes`] and of the bug in its review.
    pub members: Vec<(usize, usize)>,
    /// Routes that show it.
    pub routes: usize,
}

/// The campaign's sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Routes of the campaign: tested, failed and pending.
    pub routes: usize,
    /// Routes with a report.
    pub tested: usize,
    /// Routes that could not be tested.
    pub failed: usize,
    /// Routes not tested yet.
    pub pending: usize,
    /// Tested routes by the report's status: `pass`.
    pub status_pass: usize,
    /// `partial`.
    pub status_partial: usize,
    /// `fail`.
    pub status_fail: usize,
    /// A status of another vocabulary.
    pub status_other: usize,
    /// Tested routes whose report cannot be read.
    pub report_missing: usize,
    /// Tested routes without an issue.
    pub clean: usize,
    /// Reviewed routes.
    pub reviewed: usize,
    /// Routes that wait for their review.
    pub review_pending: usize,
    /// Routes whose review failed.
    pub review_failed: usize,
    /// Bugs, summed over the routes.
    pub bugs: BugCounts,
    /// Different bugs: groups, by severity.
    pub distinct: BugCounts,
    /// Bugs that the review found.
    pub reviewer_found: usize,
    /// Bugs that a replay did not show again.
    pub unconfirmed: usize,
    /// Operations.
    pub operations: OperationsCount,
    /// The account of elements.
    pub coverage: Coverage,
    /// Messages of the console at level error.
    pub console_errors: usize,
    /// Routes on which a limit was reached.
    pub limited: usize,
    /// Time that the tests took, in milliseconds.
    pub duration_ms: u64,
}

impl Totals {
    /// Elements that were skipped, whatever the reason.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        skipped(&self.coverage)
    }
}

/// Elements that were skipped, whatever the reason.
pub(super) fn skipped(coverage: &Coverage) -> u64 {
    coverage.skipped.values().fold(0, |sum, n| sum.saturating_add(*n))
}

/// Every message of the console at level error; the landing page's may stand apart.
pub(super) fn console_errors(report: &RouteReport) -> Vec<&str> {
    let mut all: Vec<&str> = report.console_errors.iter().map(String::as_str).collect();
    all.extend(
        report
            .page_info
            .console_errors
            .iter()
            .map(String::as_str)
            .filter(|m| !report.console_errors.iter().any(|c| c == m)),
    );
    all
}

impl Aggregate {
    /// Reviews every route and counts.
    #[must_use]
    pub fn new(input: CampaignInput) -> Self {
        let routes: Vec<RoutePart> = input.routes.into_iter().map(RoutePart::new).collect();
        let groups = group(&routes);
        let totals = sum(&routes, &groups, input.failed.len(), input.pending.len());
        let mut aggregate = Self {
            project: input.project,
            base_url: input.base_url,
            created_at: input.created_at,
            generated_at: input.generated_at,
            digest: input.digest,
            totals,
            routes,
            groups,
            failed: input.failed,
            pending: input.pending,
            recommendations: Vec::new(),
        };
        aggregate.recommendations = aggregate.recommend();
        aggregate
    }

    /// The route and the bug at a place of [`BugGroup::members`].
    #[must_use]
    pub fn member(&self, (route, bug): (usize, usize)) -> Option<(&RoutePart, &ReviewedBug)> {
        let route = self.routes.get(route)?;
        route.review.bugs.get(bug).map(|bug| (route, bug))
    }

    /// The members of a group; the first one speaks for all.
    pub fn members<'a>(&'a self, group: &'a BugGroup) -> impl Iterator<Item = (&'a RoutePart, &'a ReviewedBug)> {
        group.members.iter().filter_map(|at| self.member(*at))
    }

    /// Groups of one severity.
    pub fn groups_at(&self, level: Level) -> impl Iterator<Item = &BugGroup> {
        self.groups.iter().filter(move |group| group.level == level)
    }

    /// Whether a build should fail: a non-minor bug is present.
    #[must_use]
    pub fn has_non_minor(&self) -> bool {
        self.totals.bugs.non_minor() > 0
    }

    fn recommend(&self) -> Vec<String> {
        let totals = &self.totals;
        let mut advice = Vec::new();
        for level in [Level::Critical, Level::Major] {
            let ids: Vec<&str> = self
                .groups_at(level)
                .filter_map(|group| self.members(group).next())
                .map(|(_, bug)| bug.id.as_str())
                .collect();
            if !ids.is_empty() {
                let when = if level == Level::Critical { "first" } else { "before a release" };
                let what = plural(ids.len(), &format!("{} bug", level.as_str()));
                advice.push(format!("Fix {what} {when}: {}.", some(&ids)));
            }
        }
        for group in self.groups.iter().filter(|group| group.routes > 1).take(5) {
            if let Some((_, bug)) = self.members(group).next() {
                advice.push(format!("{} shows on {} routes: one fix should close all of them.", bug.id, group.routes));
            }
        }
        if totals.unconfirmed > 0 {
            advice.push(format!(
                "Look by hand at {} that no replay showed again.",
                plural(totals.unconfirmed, "unconfirmed bug")
            ));
        }
        let missing: Vec<&str> =
            self.routes.iter().filter(|route| route.is_report_missing()).map(RoutePart::route).collect();
        if !missing.is_empty() {
            advice.push(format!("Put the reports back, or requeue and test again: {}.", some(&missing)));
        }
        let empty: Vec<&str> = self
            .routes
            .iter()
            .filter(|r| r.review.no_test_data && !r.is_report_missing())
            .map(RoutePart::route)
            .collect();
        if !empty.is_empty() {
            advice.push(format!("Test again, there is no test data: {}.", some(&empty)));
        }
        let untestable: Vec<&str> = self
            .routes
            .iter()
            .filter(|r| r.report.status == RouteStatus::Fail && !r.review.no_test_data)
            .map(RoutePart::route)
            .collect();
        if !untestable.is_empty() {
            advice
                .push(format!("Find out why these could not be tested, then test them again: {}.", some(&untestable)));
        }
        if !self.failed.is_empty() {
            let failed: Vec<&str> = self.failed.iter().map(|failed| failed.route.as_str()).collect();
            advice.push(format!("Retry {}: {}.", plural(failed.len(), "failed route"), some(&failed)));
        }
        if totals.pending > 0 {
            advice.push(format!("Go on with the campaign: {} not tested yet.", are(totals.pending, "route")));
        }
        if totals.review_pending + totals.review_failed > 0 {
            advice.push(format!(
                "Review what is left: {} pending, {} failed.",
                totals.review_pending, totals.review_failed
            ));
        }
        if totals.limited > 0 {
            advice.push(format!(
                "{} reached a limit, so part of the map is missing: raise the limit and test again where it matters.",
                plural(totals.limited, "route")
            ));
        }
        if totals.coverage.refused > 0 {
            let refused = usize::try_from(totals.coverage.refused).unwrap_or(usize::MAX);
            advice.push(format!(
                "{} refused as destructive: test such elements on a copy of the application whose data may change.",
                were(refused, "element")
            ));
        }
        if advice.is_empty() {
            advice.push("Nothing to do: every route was tested and no bug was found.".to_owned());
        }
        advice
    }
}

fn group(routes: &[RoutePart]) -> Vec<BugGroup> {
    let mut groups: Vec<BugGroup> = Vec::new();
    let mut by_key: BTreeMap<(Level, &str, String), usize> = BTreeMap::new();
    for (r, route) in routes.iter().enumerate() {
        for (b, bug) in route.review.bugs.iter().enumerate() {
            let known = bug.group().and_then(|(kind, value)| {
                let next = groups.len();
                let at = *by_key.entry((bug.level, kind, value)).or_insert(next);
                groups.get_mut(at)
            });
            if let Some(group) = known {
                if group.members.last().is_none_or(|last| last.0 != r) {
                    group.routes += 1;
                }
                group.members.push((r, b));
            } else {
                groups.push(BugGroup {
                    level: bug.level,
                    fingerprint: bug.fingerprint().map(|(_, value)| value.to_owned()),
                    members: vec![(r, b)],
                    routes: 1,
                });
            }
        }
    }
    groups.sort_by_key(|group| (group.level, std::cmp::Reverse(group.routes)));
    groups
}

fn sum(routes: &[RoutePart], groups: &[BugGroup], failed: usize, pending: usize) -> Totals {
    let mut totals =
        Totals { routes: routes.len() + failed + pending, tested: routes.len(), failed, pending, ..Totals::default() };
    for route in routes {
        match route.report.status {
            RouteStatus::Pass => totals.status_pass += 1,
            RouteStatus::Partial => totals.status_partial += 1,
            RouteStatus::Fail => totals.status_fail += 1,
            RouteStatus::Other(_) if route.is_report_missing() => totals.report_missing += 1,
            RouteStatus::Other(_) => totals.status_other += 1,
        }
        match route.review_status {
            ReviewStatus::Complete => totals.reviewed += 1,
            ReviewStatus::Pending => totals.review_pending += 1,
            ReviewStatus::Failed => totals.review_failed += 1,
        }
        totals.clean += usize::from(route.is_clean());
        totals.bugs.add(route.bugs);
        for bug in &route.review.bugs {
            totals.reviewer_found += usize::from(bug.source == super::review::BugSource::ReviewerFound);
            totals.unconfirmed += usize::from(bug.is_unconfirmed());
        }
        let operations = &mut totals.operations;
        operations.total = operations.total.saturating_add(route.operations.total);
        operations.passed = operations.passed.saturating_add(route.operations.passed);
        operations.failed = operations.failed.saturating_add(route.operations.failed);
        operations.disabled = operations.disabled.saturating_add(route.operations.disabled);
        let coverage = &mut totals.coverage;
        coverage.found = coverage.found.saturating_add(route.coverage.found);
        coverage.acted_on = coverage.acted_on.saturating_add(route.coverage.acted_on);
        coverage.disabled = coverage.disabled.saturating_add(route.coverage.disabled);
        coverage.refused = coverage.refused.saturating_add(route.coverage.refused);
        for script in &route.coverage.scripts {
            match coverage.scripts.iter_mut().find(|known| known.url == script.url) {
                // Which parts ran is not kept, so what one route reached is the least that all of them did.
                Some(known) => {
                    known.bytes = known.bytes.max(script.bytes);
                    known.used_bytes = known.used_bytes.max(script.used_bytes);
                }
                None => coverage.scripts.push(script.clone()),
            }
        }
        for (reason, n) in &route.coverage.skipped {
            let sum = coverage.skipped.entry(reason.clone()).or_default();
            *sum = sum.saturating_add(*n);
        }
        totals.console_errors += console_errors(&route.report).len();
        totals.limited += usize::from(!route.report.limits.is_empty());
        totals.duration_ms = totals.duration_ms.saturating_add(route.report.duration_ms.unwrap_or(0));
    }
    for group in groups {
        match group.level {
            Level::Critical => totals.distinct.critical += 1,
            Level::Major => totals.distinct.major += 1,
            Level::Minor => totals.distinct.minor += 1,
        }
    }
    totals
}

/// `1 route`, `2 routes`.
pub(super) fn plural(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

fn are(n: usize, word: &str) -> String {
    format!("{} {}", plural(n, word), if n == 1 { "is" } else { "are" })
}

fn were(n: usize, word: &str) -> String {
    format!("{} {}", plural(n, word), if n == 1 { "was" } else { "were" })
}

/// The first eight, and how many more.
fn some(names: &[&str]) -> String {
    let shown: Vec<&str> = names.iter().copied().take(8).collect();
    let more = names.len() - shown.len();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// `1 h 02 min`, `3 min 20 s`, `4.2 s`.
pub(super) fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `2026-05-02 10:15 UTC`.
pub(super) fn when(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}
