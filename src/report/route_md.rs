//! The bug report of one route: `monkey-test-reports/{slug}-bugs.md`.

use super::aggregate::{console_errors, plural, skipped, span, when};
use super::input::{TO_PROJECT, file_name};
use super::markdown::{Table, cell, href, link, para};
use super::review::{Level, ReviewedBug, RouteReview};
use super::tally::{BugCounts, coverage_of, operations_of};
use crate::maze::{Coverage, RouteReport};

/// Renders a route's bug report. It lies in the reports folder; `screenshots_dir` is relative to the project root.
#[must_use]
pub fn bugs_markdown(report: &RouteReport, review: &RouteReview, screenshots_dir: &str) -> String {
    let counts = BugCounts::of(&review.bugs);
    let operations = operations_of(report, &review.bugs);
    let coverage = coverage_of(report);
    let mut out = format!("# Bug Report: {}\n\n", cell(&review.route));

    let mut head = format!("Tested {}, status **{}**", when(report.tested_at), cell(report.status.as_str()));
    if let Some(ms) = report.duration_ms {
        head.push_str(&format!(", took {}", span(ms)));
    }
    out.push_str(&format!("> {head}\\\n"));
    if !report.page_info.title.is_empty() {
        out.push_str(&format!("> Page title: {}\\\n", cell(&report.page_info.title)));
    }
    out.push_str(&format!(
        "> Report: {}, screenshots: {}\n\n",
        link(&format!("{}.json", review.slug), &format!("{}.json", review.slug)),
        link(&folder(screenshots_dir), &format!("{TO_PROJECT}{}", folder(screenshots_dir))),
    ));

    out.push_str("## Summary\n\n");
    if let Some(summary) = &report.summary {
        out.push_str(&format!("Tester's summary: {}\n\n", para(summary)));
    }
    let mut table = Table::new(&["Severity", ">Bugs"]);
    for level in Level::ALL {
        table.row(&[level.title().to_owned(), counts.at(level).to_string()]);
    }
    table.row(&["**Total**".to_owned(), format!("**{}**", counts.total())]);
    out.push_str(&table.done());
    out.push_str(&format!(
        "Operations: {} ({} passed, {} failed, {} disabled)\n\n",
        operations.total, operations.passed, operations.failed, operations.disabled
    ));

    for level in Level::ALL {
        let bugs: Vec<&ReviewedBug> = review.bugs.iter().filter(|bug| bug.level == level).collect();
        out.push_str(&format!("## {} Bugs ({})\n\n", level.title(), bugs.len()));
        if bugs.is_empty() {
            out.push_str("None.\n\n");
        }
        for bug in bugs {
            out.push_str(&format!("### {}: {}\n\n", cell(&bug.id), cell(&bug.bug.description)));
            out.push_str(&bug_body(bug, screenshots_dir));
        }
    }

    out.push_str("## Coverage and Limits\n\n");
    out.push_str(&coverage_lines(&coverage, ""));
    for limit in &report.limits {
        out.push_str(&format!("- Limit reached: {}\n", para(limit)));
    }
    out.push('\n');

    out.push_str(&bullets("## Console Errors", &console_errors(report)));
    out.push_str(&bullets("## Noise (not the application's bugs)", &report.noise));
    out.push_str(&bullets("## Notes of the Review", &review.notes));
    format!("{}\n", out.trim_end())
}

fn folder(dir: &str) -> String {
    format!("{}/", dir.trim_end_matches('/'))
}

/// At most 20 of them.
fn bullets(heading: &str, texts: &[impl AsRef<str>]) -> String {
    if texts.is_empty() {
        return String::new();
    }
    let mut out = format!("{heading}\n\n");
    for text in texts.iter().take(20) {
        out.push_str(&format!("- {}\n", para(text.as_ref())));
    }
    if texts.len() > 20 {
        out.push_str(&format!("- … and {} more in the route's JSON report\n", texts.len() - 20));
    }
    out.push('\n');
    out
}

/// Found, acted on, and every reason for the rest. `bound` leads the share of the code that ran, where it is none of one
/// route.
pub(super) fn coverage_lines(coverage: &Coverage, bound: &str) -> String {
    let mut out = format!(
        "- Elements: {} found, {} acted on, {} disabled, {} refused as destructive, {} skipped\n",
        coverage.found,
        coverage.acted_on,
        coverage.disabled,
        coverage.refused,
        skipped(coverage)
    );
    for (reason, n) in &coverage.skipped {
        out.push_str(&format!("- Skipped: {n} ({})\n", cell(reason)));
    }
    if let Some(line) = code_line(coverage) {
        out.push_str(&format!("- JavaScript: {bound}{line}\n"));
    }
    out
}

/// How much of the application's own code ran: `41 % of 812 kB ran, in 7 scripts of the application's own`.
pub(super) fn code_line(coverage: &Coverage) -> Option<String> {
    let (bytes, used) = coverage.code();
    (bytes > 0).then(|| {
        let share = used.saturating_mul(100) / bytes;
        let scripts = plural(coverage.scripts.len(), "script");
        format!("{share} % of {} kB ran, in {scripts} of the application's own", bytes.div_ceil(1000))
    })
}

/// Everything about one bug below its heading.
pub(super) fn bug_body(reviewed: &ReviewedBug, screenshots_dir: &str) -> String {
    let bug = &reviewed.bug;
    let mut out = String::new();
    let mut item = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("- **{name}:** {value}\n"));
        }
    };
    item("Severity", &cell(bug.severity.as_str()));
    item("Source", reviewed.source.as_str());
    if let Some(kind) = &bug.kind {
        item("Kind", &cell(&kind.as_str().replace('_', " ")));
    }
    item("Location", &para(&bug.location));
    if !bug.also_at.is_empty() {
        let places: Vec<String> = bug.also_at.iter().take(10).map(|place| cell(place)).collect();
        let more = bug.also_at.len() - places.len();
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        item(&format!("Also at ({})", bug.also_at.len()), &format!("{}{more}", places.join("; ")));
    }
    item("Expected", &para(&bug.expected));
    item("Actual", &para(&bug.actual));
    item("Certainty", &reviewed.certainty().map(|text| mark(&text)).unwrap_or_default());
    if let Some((kind, value)) = reviewed.fingerprint() {
        item("Fingerprint", &format!("{} ({kind})", cell(value)));
    }
    let shot = bug.screenshot.as_deref().map(|name| (name, file_name(name, screenshots_dir)));
    match shot {
        Some((_, Some(file))) => item("Screenshot", &cell(file)),
        Some((name, None)) => item("Screenshot", &format!("{} (not a file of this route)", cell(name))),
        None => item("Screenshot", "none"),
    }
    out.push('\n');
    if let Some((_, Some(file))) = shot {
        let path = href(&format!("{TO_PROJECT}{}{file}", folder(screenshots_dir)));
        out.push_str(&format!("![{}]({path})\n\n", cell(&reviewed.id)));
    }
    if !bug.trace.is_empty() {
        out.push_str(&format!("Steps to reproduce ({}):\n\n", plural(bug.trace.len(), "step")));
        for (n, step) in bug.trace.iter().enumerate() {
            out.push_str(&format!("{}. {}\n", n + 1, para(&step_text(step))));
        }
        out.push('\n');
    }
    if !bug.evidence.is_empty() {
        out.push_str("Evidence:\n\n");
        for line in bug.evidence.iter().take(10) {
            out.push_str(&format!("- {}\n", para(line)));
        }
        if bug.evidence.len() > 10 {
            out.push_str(&format!("- … and {} more in the route's JSON report\n", bug.evidence.len() - 10));
        }
        out.push('\n');
    }
    out
}

fn mark(certainty: &str) -> String {
    certainty
        .strip_prefix("UNCONFIRMED")
        .map_or_else(|| cell(certainty), |rest| format!("**UNCONFIRMED**{}", cell(rest)))
}

/// `click button "Save" -> HTTP 500`.
pub(super) fn step_text(step: &crate::trace::TraceStep) -> String {
    let mut text = step.tool.as_str().to_owned();
    if let Some(locator) = &step.locator {
        text.push_str(&format!(" {}", locator.describe()));
    }
    if let Some(value) = &step.value {
        text.push_str(&format!(" {value}"));
    }
    if let Some(error) = step.error.as_ref().or(step.observation.as_ref()) {
        text.push_str(&format!(" → {error}"));
    }
    text
}
