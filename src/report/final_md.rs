//! `FINAL-REPORT.md`.

use super::aggregate::{Aggregate, BugGroup, RoutePart, plural, span, when};
use super::input::from_reports;
use super::markdown::{Table, cell, link, para};
use super::review::Level;
use super::route_md::{bug_body, coverage_lines};

/// Renders the campaign's report in Markdown.
#[must_use]
pub fn final_markdown(campaign: &Aggregate) -> String {
    let mut out =
        format!("# Final Report: {}\n\n{}\n\n", cell(&campaign.project), super::digest_line(&campaign.digest));
    out.push_str(&format!(
        "> Application: {}\\\n> Campaign began {}, report written {}\n\n",
        cell(&campaign.base_url),
        when(campaign.created_at),
        when(campaign.generated_at)
    ));
    out.push_str(&format!("## Executive Summary\n\n{}\n\n", summary(campaign)));
    statistics(campaign, &mut out);
    health(campaign, &mut out);
    for level in Level::ALL {
        bugs(campaign, level, &mut out);
    }
    clean(campaign, &mut out);
    not_tested(campaign, &mut out);
    limits(campaign, &mut out);
    out.push_str("## Recommendations\n\n");
    for (n, advice) in campaign.recommendations.iter().enumerate() {
        out.push_str(&format!("{}. {}\n", n + 1, para(advice)));
    }
    format!("{}\n", out.trim_end())
}

/// The campaign in a few sentences, as plain text.
pub(super) fn summary(campaign: &Aggregate) -> String {
    let totals = &campaign.totals;
    let mut text = format!("{} of {} tested", totals.tested, plural(totals.routes, "route"));
    if totals.failed > 0 {
        text.push_str(&format!(", {} failed", totals.failed));
    }
    if totals.pending > 0 {
        text.push_str(&format!(", {} still pending", totals.pending));
    }
    text.push_str(". ");
    if totals.bugs.total() == 0 {
        text.push_str("No bug was found. ");
    } else {
        text.push_str(&format!(
            "{} found ({} critical, {} major, {} minor)",
            plural(totals.bugs.total(), "bug"),
            totals.bugs.critical,
            totals.bugs.major,
            totals.bugs.minor
        ));
        if totals.distinct.total() < totals.bugs.total() {
            text.push_str(&format!(", {} different", totals.distinct.total()));
        }
        text.push_str(". ");
        if totals.unconfirmed > 0 {
            text.push_str(&format!("{} of them unconfirmed. ", totals.unconfirmed));
        }
    }
    text.push_str(&format!(
        "{} without issues. {} of {} acted on.",
        plural(totals.clean, "route"),
        totals.coverage.acted_on,
        plural(usize::try_from(totals.coverage.found).unwrap_or(usize::MAX), "element")
    ));
    text
}

/// Name and value of every statistic, for all formats.
pub(super) fn figures(campaign: &Aggregate) -> Vec<(&'static str, String)> {
    let t = &campaign.totals;
    let mut all = vec![
        ("Routes in the campaign", t.routes.to_string()),
        ("Routes tested", t.tested.to_string()),
        ("Routes failed", t.failed.to_string()),
        ("Routes pending", t.pending.to_string()),
        ("Status pass", t.status_pass.to_string()),
        ("Status partial", t.status_partial.to_string()),
        ("Status fail", t.status_fail.to_string()),
    ];
    if t.report_missing > 0 {
        all.push(("Report missing", t.report_missing.to_string()));
    }
    if t.status_other > 0 {
        all.push(("Status of another vocabulary", t.status_other.to_string()));
    }
    all.extend([
        ("Routes without issues", t.clean.to_string()),
        ("Routes reviewed", format!("{} ({} pending, {} failed)", t.reviewed, t.review_pending, t.review_failed)),
        ("Bugs", t.bugs.total().to_string()),
        ("Critical bugs", t.bugs.critical.to_string()),
        ("Major bugs", t.bugs.major.to_string()),
        ("Minor bugs", t.bugs.minor.to_string()),
        ("Different bugs", t.distinct.total().to_string()),
        ("Bugs found by the review", t.reviewer_found.to_string()),
        ("Unconfirmed bugs", t.unconfirmed.to_string()),
        ("Operations", t.operations.total.to_string()),
        ("Operations passed", t.operations.passed.to_string()),
        ("Operations failed", t.operations.failed.to_string()),
        ("Operations disabled", t.operations.disabled.to_string()),
        ("Elements found", t.coverage.found.to_string()),
        ("Elements acted on", t.coverage.acted_on.to_string()),
        ("Elements disabled", t.coverage.disabled.to_string()),
        ("Elements refused as destructive", t.coverage.refused.to_string()),
        ("Elements skipped", t.skipped().to_string()),
        ("Console errors", t.console_errors.to_string()),
    ]);
    if t.duration_ms > 0 {
        all.push(("Time in the browser", span(t.duration_ms)));
    }
    all
}

fn statistics(campaign: &Aggregate, out: &mut String) {
    out.push_str("## Statistics\n\n");
    let mut table = Table::new(&["Measure", ">Count"]);
    for (name, value) in figures(campaign) {
        table.row(&[name, &value]);
    }
    out.push_str(&table.done());
}

fn health(campaign: &Aggregate, out: &mut String) {
    out.push_str("## Route Health Table\n\n");
    let mut table = Table::new(&[
        "Route",
        "Status",
        ">Critical",
        ">Major",
        ">Minor",
        ">Operations",
        ">Passed",
        ">Failed",
        ">Disabled",
        ">Acted on",
        "Review",
        "Bug report",
    ]);
    for route in &campaign.routes {
        let ops = &route.operations;
        table.row(&[
            cell(route.route()),
            cell(route.report.status.as_str()),
            route.bugs.critical.to_string(),
            route.bugs.major.to_string(),
            route.bugs.minor.to_string(),
            ops.total.to_string(),
            ops.passed.to_string(),
            ops.failed.to_string(),
            ops.disabled.to_string(),
            format!("{}/{}", route.coverage.acted_on, route.coverage.found),
            route.review_status.as_str().to_owned(),
            bug_report_link(route),
        ]);
    }
    let t = &campaign.totals;
    table.row(&[
        "**Total**".to_owned(),
        String::new(),
        format!("**{}**", t.bugs.critical),
        format!("**{}**", t.bugs.major),
        format!("**{}**", t.bugs.minor),
        format!("**{}**", t.operations.total),
        format!("**{}**", t.operations.passed),
        format!("**{}**", t.operations.failed),
        format!("**{}**", t.operations.disabled),
        format!("**{}/{}**", t.coverage.acted_on, t.coverage.found),
        String::new(),
        String::new(),
    ]);
    out.push_str(&table.done());
}

fn bug_report_link(route: &RoutePart) -> String {
    route
        .bug_report_file
        .as_ref()
        .map_or_else(|| "none".to_owned(), |path| link(path.rsplit('/').next().unwrap_or(path), &from_reports(path)))
}

fn bugs(campaign: &Aggregate, level: Level, out: &mut String) {
    let total = campaign.totals.bugs.at(level);
    let distinct = campaign.totals.distinct.at(level);
    let note = if distinct < total { format!(", {distinct} different") } else { String::new() };
    out.push_str(&format!("## {} Bugs ({total}{note})\n\n", level.title()));
    if total == 0 {
        out.push_str("None.\n\n");
    }
    for group in campaign.groups_at(level) {
        one_group(campaign, group, out);
    }
}

fn one_group(campaign: &Aggregate, group: &BugGroup, out: &mut String) {
    let Some((route, bug)) = campaign.members(group).next() else { return };
    out.push_str(&format!("### {}: {}\n\n", cell(&bug.id), cell(&bug.bug.description)));
    if group.members.len() > 1 {
        out.push_str(&format!("**{} equal bugs on {}:**\n\n", group.members.len(), plural(group.routes, "route")));
        for (route, bug) in campaign.members(group) {
            let unsure = if bug.is_unconfirmed() { ", unconfirmed" } else { "" };
            out.push_str(&format!("- {} on {}{unsure}\n", cell(&bug.id), cell(route.route())));
        }
        out.push_str("\nThe first of them:\n\n");
    } else {
        out.push_str(&format!("- **Route:** {}\n", cell(route.route())));
    }
    out.push_str(&bug_body(bug, &route.screenshots_dir));
}

fn clean(campaign: &Aggregate, out: &mut String) {
    out.push_str(&format!("## Routes Without Issues ({})\n\n", campaign.totals.clean));
    if campaign.totals.clean == 0 {
        out.push_str("None.\n");
    }
    for route in campaign.routes.iter().filter(|route| route.is_clean()) {
        out.push_str(&format!(
            "- {} ({}, {} of {} elements acted on)\n",
            cell(route.route()),
            plural(usize::try_from(route.operations.total).unwrap_or(usize::MAX), "operation"),
            route.coverage.acted_on,
            route.coverage.found
        ));
    }
    out.push('\n');
}

fn not_tested(campaign: &Aggregate, out: &mut String) {
    let n = campaign.totals.failed + campaign.totals.pending;
    if n == 0 {
        return;
    }
    out.push_str(&format!("## Routes Not Tested ({n})\n\n"));
    if campaign.failed.is_empty() {
        for route in &campaign.pending {
            out.push_str(&format!("- {} (pending)\n", cell(route)));
        }
        out.push('\n');
        return;
    }
    let mut table = Table::new(&["Route", "State", ">Retries", "Error"]);
    for failed in &campaign.failed {
        table.row(&[cell(&failed.route), "failed".to_owned(), failed.retry_count.to_string(), cell(&failed.error)]);
    }
    for route in &campaign.pending {
        table.row(&[cell(route), "pending".to_owned(), String::new(), String::new()]);
    }
    out.push_str(&table.done());
}

fn limits(campaign: &Aggregate, out: &mut String) {
    out.push_str("## Coverage and Limits\n\n");
    out.push_str(&coverage_lines(&campaign.totals.coverage, "at least "));
    for route in &campaign.routes {
        for limit in &route.report.limits {
            out.push_str(&format!("- Limit reached on {}: {}\n", cell(route.route()), para(limit)));
        }
        for note in &route.review.notes {
            out.push_str(&format!("- Note on {}: {}\n", cell(route.route()), para(note)));
        }
    }
    out.push('\n');
}
