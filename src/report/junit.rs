//! JUnit: one suite per campaign, one case per route.
//!
//! A route with a critical or major bug fails; a route that could not be tested is an error; a pending one is skipped.
//! Minor bugs stand in the case's output and fail nothing.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::aggregate::{Aggregate, RoutePart};
use super::error::ReportError;
use super::input::REPORT_MISSING;
use super::markdown::{TEXT_LIMIT, one_line};
use super::review::{Level, ReviewedBug};
use crate::maze::RouteStatus;

/// Renders the campaign for CI.
///
/// # Errors
/// When the XML cannot be written.
pub fn junit(campaign: &Aggregate) -> Result<String, ReportError> {
    let mut report = Report::new(format!("agent-test: {}", campaign.project));
    report.set_timestamp(campaign.generated_at);
    report.set_time(Duration::from_millis(campaign.totals.duration_ms));
    let mut suite = TestSuite::new(campaign.project.clone());
    suite.set_timestamp(campaign.generated_at);
    suite.set_time(Duration::from_millis(campaign.totals.duration_ms));
    suite.add_property(Property::new("base_url", campaign.base_url.clone()));
    suite.add_property(Property::new("digest", campaign.digest.clone()));
    suite.add_test_cases(campaign.routes.iter().map(tested));
    for failed in &campaign.failed {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("route_failed");
        status.set_message(one_line(&failed.error, TEXT_LIMIT));
        status.set_description(format!("{}, tried again: {}", failed.error, failed.retry_count));
        suite.add_test_case(case(&failed.route, status));
    }
    for route in &campaign.pending {
        let mut status = TestCaseStatus::skipped();
        status.set_message("not tested yet");
        suite.add_test_case(case(route, status));
    }
    report.add_test_suite(suite);
    report.to_string().map_err(|source| ReportError::Junit { project: campaign.project.clone(), source })
}

fn case(route: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(route, status);
    case.set_classname("agent-test.route");
    case
}

fn tested(route: &RoutePart) -> TestCase {
    let severe: Vec<&ReviewedBug> = route.review.bugs.iter().filter(|bug| bug.level != Level::Minor).collect();
    let status = if let Some(worst) = severe.first() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(worst.level.as_str());
        let more = match severe.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        status.set_message(format!("{}: {}{more}", worst.id, one_line(&worst.bug.description, TEXT_LIMIT)));
        status.set_description(severe.iter().map(|bug| describe(bug)).collect::<Vec<_>>().join("\n\n"));
        status
    } else if route.report.status == RouteStatus::Fail || route.is_report_missing() || route.review.no_test_data {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type(if route.is_report_missing() { REPORT_MISSING } else { "could_not_be_tested" });
        let why = route.report.error.as_deref().or(route.review.notes.first().map(String::as_str));
        status.set_message(one_line(why.unwrap_or("the report says `fail`"), TEXT_LIMIT));
        status
    } else {
        TestCaseStatus::success()
    };
    let mut case = case(route.route(), status);
    case.set_timestamp(route.report.tested_at);
    if let Some(ms) = route.report.duration_ms {
        case.set_time(Duration::from_millis(ms));
    }
    case.set_assertions(usize::try_from(route.operations.total).unwrap_or(usize::MAX));
    let minor: Vec<String> = route.review.bugs.iter().filter(|bug| bug.level == Level::Minor).map(describe).collect();
    if !minor.is_empty() {
        case.set_system_out(minor.join("\n\n"));
    }
    case
}

fn describe(bug: &ReviewedBug) -> String {
    let line = |name: &str, value: &str| {
        if value.is_empty() { String::new() } else { format!("\n  {name}: {}", one_line(value, TEXT_LIMIT)) }
    };
    format!(
        "{} [{}] {}{}{}{}{}{}",
        bug.id,
        bug.level.as_str(),
        one_line(&bug.bug.description, TEXT_LIMIT),
        line("location", &bug.bug.location),
        line("expected", &bug.bug.expected),
        line("actual", &bug.bug.actual),
        line("certainty", &bug.certainty().unwrap_or_default()),
        line("screenshot", bug.bug.screenshot.as_deref().unwrap_or_default()),
    )
}
