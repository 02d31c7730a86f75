//! Counts of one route: bugs by severity, operations, coverage.
//!
//! An explorer's report brings its own account; for a report without one it is drawn from the action tree, so that
//! every route has the same columns.

use super::review::{Level, ReviewedBug, node_bugs, place_of};
use crate::maze::{ActionResult, Coverage, Node, NodeState, OperationsCount, RouteReport};

/// Bugs by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BugCounts {
    /// The route cannot be used.
    pub critical: usize,
    /// A function is broken.
    pub major: usize,
    /// A blemish, or a severity that only its writer knows.
    pub minor: usize,
}

impl BugCounts {
    /// Counts these bugs.
    #[must_use]
    pub fn of(bugs: &[ReviewedBug]) -> Self {
        let mut counts = Self::default();
        for bug in bugs {
            match bug.level {
                Level::Critical => counts.critical += 1,
                Level::Major => counts.major += 1,
                Level::Minor => counts.minor += 1,
            }
        }
        counts
    }

    /// All of them.
    #[must_use]
    pub fn total(self) -> usize {
        self.critical + self.major + self.minor
    }

    /// Those that fail a build.
    #[must_use]
    pub fn non_minor(self) -> usize {
        self.critical + self.major
    }

    /// Those of one severity.
    #[must_use]
    pub fn at(self, level: Level) -> usize {
        match level {
            Level::Critical => self.critical,
            Level::Major => self.major,
            Level::Minor => self.minor,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.critical += other.critical;
        self.major += other.major;
        self.minor += other.minor;
    }
}

/// How a node counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dealt<'a> {
    ActedOn,
    Disabled,
    Refused,
    Skipped(&'a str),
}

fn dealt(node: &Node) -> Dealt<'_> {
    let disabled = node.state == Some(NodeState::Disabled);
    match &node.action_result {
        Some(ActionResult::Refused) => Dealt::Refused,
        Some(ActionResult::Skipped) => Dealt::Skipped(node.skipped_reason.as_deref().unwrap_or("no reason given")),
        Some(ActionResult::OutOfScope) => {
            Dealt::Skipped(node.skipped_reason.as_deref().unwrap_or("leads out of the application"))
        }
        Some(ActionResult::NotClickable) => Dealt::Disabled,
        _ if disabled => Dealt::Disabled,
        // A wizard's step has a shot and no result: it was looked at.
        None if node.screenshot.is_none() => {
            Dealt::Skipped(node.skipped_reason.as_deref().unwrap_or("no result recorded"))
        }
        _ => Dealt::ActedOn,
    }
}

/// The route's account of elements: its own, or one drawn from the tree.
#[must_use]
pub fn coverage_of(report: &RouteReport) -> Coverage {
    if let Some(coverage) = &report.coverage {
        return coverage.clone();
    }
    let mut coverage = Coverage::default();
    report.action_tree.visit(|_, _, node| {
        coverage.found += 1;
        match dealt(node) {
            Dealt::ActedOn => coverage.acted_on += 1,
            Dealt::Disabled => coverage.disabled += 1,
            Dealt::Refused => coverage.refused += 1,
            Dealt::Skipped(reason) => *coverage.skipped.entry(reason.to_owned()).or_default() += 1,
        }
    });
    coverage
}

/// The route's operations: its own counts with the total set right, or counts drawn from the tree.
#[must_use]
pub fn operations_of(report: &RouteReport, bugs: &[ReviewedBug]) -> OperationsCount {
    let mut count = report.operations_count.unwrap_or_else(|| {
        let mut count = OperationsCount::default();
        report.action_tree.visit(|_, path, node| match dealt(node) {
            Dealt::ActedOn => {
                let bad = node.action_result == Some(ActionResult::Error)
                    || node_bugs(&place_of(&report.route, path, &node.label), node, &report.route, bugs)
                        .next()
                        .is_some();
                if bad { count.failed += 1 } else { count.passed += 1 }
            }
            Dealt::Disabled => count.disabled += 1,
            Dealt::Refused | Dealt::Skipped(_) => {}
        });
        count
    });
    count.total = count.passed.saturating_add(count.failed).saturating_add(count.disabled);
    count
}
