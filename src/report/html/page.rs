//! The page's parts, from the top down.

use maud::{Markup, html};

use super::fragment;
use super::map::{FAMILIES, class_of, picture, short_id, tree};
use super::shots::Shots;
use crate::maze::{Coverage, RouteStatus, ScriptCoverage};
use crate::report::aggregate::{Aggregate, BugGroup, RoutePart, console_errors, plural, skipped, span, when};
use crate::report::final_md::{figures, summary};
use crate::report::input::{TO_PROJECT, file_name, from_reports};
use crate::report::markdown::{HEADING_LIMIT, TEXT_LIMIT, href, one_line};
use crate::report::review::{Level, ReviewedBug};
use crate::report::route_md::{code_line, step_text};

fn short(text: &str) -> String {
    one_line(text, HEADING_LIMIT)
}

fn long(text: &str) -> String {
    one_line(text, TEXT_LIMIT)
}

/// `16,050`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn route_id(slug: &str) -> String {
    format!("route-{slug}")
}

fn route_href(slug: &str) -> String {
    format!("#{}", fragment(&route_id(slug)))
}

/// Everything below `<body>`.
pub(super) fn body(campaign: &Aggregate, shots: &Shots) -> Markup {
    html! {
        (header(campaign))
        (bar(campaign))
        main {
            @if let Some(note) = &shots.note { p.banner { (note) } }
            (health(campaign))
            (bugs(campaign, shots))
            (routes(campaign, shots))
            (not_tested(campaign))
            (coverage(campaign))
            section #recommendations {
                h2 { "Recommendations" }
                ol.advice { @for advice in &campaign.recommendations { li { (long(advice)) } } }
            }
            section #statistics {
                h2 { "Statistics" }
                dl.figures { @for (name, value) in figures(campaign) { div { dt { (name) } dd { (value) } } } }
            }
        }
        footer {
            "Written " (when(campaign.generated_at)) " by agent-test " (env!("CARGO_PKG_VERSION")) ". State " code { (short(&campaign.digest)) } "."
        }
    }
}

fn header(campaign: &Aggregate) -> Markup {
    let t = &campaign.totals;
    let percent = |part: u64, all: u64| part.saturating_mul(100).checked_div(all).unwrap_or(0);
    html! {
        header.top {
            p.kicker { "Final report" }
            h1 { (short(&campaign.project)) }
            p.meta { (short(&campaign.base_url)) " · campaign began " (when(campaign.created_at)) " · written " (when(campaign.generated_at)) }
            p.lead { (summary(campaign)) }
            dl.glance {
                div { dt { "Routes tested" } dd { (t.tested) small { "of " (t.routes) } }
                    p { (t.clean) " without issues" @if t.failed > 0 { ", " span.sev-c { (t.failed) " failed" } } @if t.pending > 0 { ", " (t.pending) " pending" } } }
                div.sev-c { dt { "Critical bugs" } dd { (t.bugs.critical) } p { (t.distinct.critical) " different" } }
                div.sev-M { dt { "Major bugs" } dd { (t.bugs.major) } p { (t.distinct.major) " different" } }
                div.sev-m { dt { "Minor bugs" } dd { (t.bugs.minor) } p { (t.distinct.minor) " different" } }
                div { dt { "Operations" } dd { (grouped(t.operations.total)) }
                    p { (grouped(t.operations.passed)) " passed, " (grouped(t.operations.failed)) " failed, " (grouped(t.operations.disabled)) " disabled" } }
                div { dt { "Elements acted on" } dd { (percent(t.coverage.acted_on, t.coverage.found)) small { "%" } }
                    p { (grouped(t.coverage.acted_on)) " of " (grouped(t.coverage.found)) ", " (grouped(t.coverage.refused)) " refused, " (grouped(t.skipped())) " skipped" } }
            }
        }
    }
}

fn bar(campaign: &Aggregate) -> Markup {
    let t = &campaign.totals;
    let no_bugs = campaign.routes.iter().filter(|route| route.bugs.total() == 0).count();
    html! {
        nav.bar aria-label="Filter" {
            @for (id, name, n, class) in [
                ("f-c", "Critical", t.bugs.critical, "sev-c"),
                ("f-M", "Major", t.bugs.major, "sev-M"),
                ("f-m", "Minor", t.bugs.minor, "sev-m"),
                ("f-0", "Without bugs", no_bugs, "sev-0"),
            ] {
                label class=(class) { input type="checkbox" id=(id) checked autocomplete="off"; span { (name) " " b { (n) } } }
            }
            input #q type="search" placeholder="Filter by text" aria-label="Filter by text" autocomplete="off" hidden;
            span #hits role="status" {}
            span.jump {
                a href="#bugs" { "Bugs" }
                a href="#routes" { "Routes" }
                a href="#recommendations" { "Recommendations" }
            }
        }
    }
}

/// Classes by which the filter finds a route.
fn levels(route: &RoutePart) -> String {
    let mut classes = vec!["f"];
    for level in Level::ALL {
        if route.bugs.at(level) > 0 {
            classes.push(filter_class(level));
        }
    }
    if route.bugs.total() == 0 {
        classes.push("l-0");
    }
    classes.join(" ")
}

fn filter_class(level: Level) -> &'static str {
    match level {
        Level::Critical => "l-c",
        Level::Major => "l-M",
        Level::Minor => "l-m",
    }
}

fn status_class(status: &RouteStatus) -> &'static str {
    match status {
        RouteStatus::Pass => "st-pass",
        RouteStatus::Partial => "st-partial",
        RouteStatus::Fail => "st-fail",
        RouteStatus::Other(_) => "st-other",
    }
}

fn number(n: usize, class: &str) -> Markup {
    html! { td.num .(if n == 0 { "zero" } else { class }) { (n) } }
}

fn health(campaign: &Aggregate) -> Markup {
    html! {
        section #health {
            h2 { "Route health" }
            div.scroll {
                table {
                    thead {
                        tr {
                            th { "Route" } th { "Status" } th.num title="Critical" { "C" } th.num title="Major" { "M" } th.num title="Minor" { "m" }
                            th.num { "Acted on" } th { "Maze map" } th { "Review" } th.num { "Time" }
                        }
                    }
                    tbody {
                        @for route in &campaign.routes {
                            tr class=(levels(route)) data-route=(route.slug()) {
                                td.at { a href=(route_href(route.slug())) { (short(route.route())) } }
                                td { span.status .(status_class(&route.report.status)) { (one_line(route.report.status.as_str(), 24)) } }
                                (number(route.bugs.critical, "sev-c"))
                                (number(route.bugs.major, "sev-M"))
                                (number(route.bugs.minor, "sev-m"))
                                td.num { (route.coverage.acted_on) span.of { "/" (route.coverage.found) } }
                                td.map { @if let Some(map) = picture(route) { (map) } @else { span.zero { "no elements" } } }
                                td .(if route.review_status == crate::report::ReviewStatus::Failed { "sev-c" } else { "quiet" }) { (route.review_status.as_str()) }
                                td.num.quiet { @if let Some(ms) = route.report.duration_ms { (span(ms)) } }
                            }
                        }
                    }
                    tfoot {
                        tr {
                            th { (plural(campaign.totals.tested, "route")) } td {}
                            td.num { (campaign.totals.bugs.critical) } td.num { (campaign.totals.bugs.major) } td.num { (campaign.totals.bugs.minor) }
                            td.num { (grouped(campaign.totals.coverage.acted_on)) span.of { "/" (grouped(campaign.totals.coverage.found)) } }
                            td {} td {} td {}
                        }
                    }
                }
            }
            (legend())
        }
    }
}

fn legend() -> Markup {
    html! {
        ul.legend aria-label="Colours of the maze map" {
            @for (class, name) in FAMILIES { li class=(class) { (name) } }
        }
    }
}

fn bugs(campaign: &Aggregate, shots: &Shots) -> Markup {
    let few = campaign.groups.len() <= 12;
    html! {
        section #bugs {
            h2 { "Bugs" }
            @for level in Level::ALL {
                h3 class=(format!("f {} {}", filter_class(level), class_of(level))) {
                    (level.title()) " bugs " span.count { (campaign.totals.bugs.at(level)) }
                    @if campaign.totals.distinct.at(level) < campaign.totals.bugs.at(level) {
                        span.count { ", " (campaign.totals.distinct.at(level)) " different" }
                    }
                }
                @for group in campaign.groups_at(level) { (bug_group(campaign, shots, group, few || level == Level::Critical)) }
                @if campaign.totals.bugs.at(level) == 0 { p class=(format!("quiet f {}", filter_class(level))) { "None." } }
            }
        }
    }
}

fn bug_group(campaign: &Aggregate, shots: &Shots, group: &BugGroup, open: bool) -> Markup {
    let members: Vec<(&RoutePart, &ReviewedBug)> = campaign.members(group).collect();
    let Some((route, first)) = members.first().copied() else { return html! {} };
    let bug = &first.bug;
    let shot = bug.screenshot.as_deref().map(|name| (name, shots.show(route, name)));
    html! {
        details.bug .(class_of(group.level)) .f .(filter_class(group.level)) open[open] {
            summary {
                span.id { (first.id) }
                span.what { (short(&bug.description)) }
                @if members.len() > 1 { span.tag { (members.len()) "× on " (plural(group.routes, "route")) } }
                @if first.is_unconfirmed() { span.tag.warn { "unconfirmed" } }
            }
            // The anchors are inside, so that a browser unfolds the bug for a link to it.
            @for (_, member) in &members { span.anchor id=(member.id) {} }
            div.bug-body {
                dl {
                    dt { "Where" }
                    dd {
                        a href=(route_href(route.slug())) { (short(route.route())) }
                        @if !bug.location.is_empty() && bug.location != route.route() { br; (long(&bug.location)) }
                    }
                    @if !bug.also_at.is_empty() {
                        dt { "Also at" }
                        dd {
                            @for place in bug.also_at.iter().take(10) { (short(place)) br; }
                            @if bug.also_at.len() > 10 { "and " (bug.also_at.len() - 10) " more" }
                        }
                    }
                    @if members.len() > 1 {
                        dt { "Equal bugs" }
                        dd.equal {
                            @for (route, bug) in members.iter().skip(1) {
                                a href=(route_href(route.slug())) title=(short(&bug.bug.location)) { (bug.id) }
                                @if bug.is_unconfirmed() { " (unconfirmed)" }
                                " "
                            }
                        }
                    }
                    @if !bug.expected.is_empty() { dt { "Expected" } dd { (long(&bug.expected)) } }
                    @if !bug.actual.is_empty() { dt { "Actual" } dd { (long(&bug.actual)) } }
                    @if let Some(certainty) = first.certainty() { dt { "Certainty" } dd { (certainty) } }
                    dt { "Found by" }
                    dd {
                        (first.source.as_str())
                        @if let Some(kind) = &bug.kind { ", " (one_line(&kind.as_str().replace('_', " "), 40)) }
                        @if bug.severity.as_str() != group.level.as_str() { ", called “" (one_line(bug.severity.as_str(), 40)) "” there" }
                    }
                    @if !bug.trace.is_empty() {
                        dt { "Steps" }
                        dd { ol { @for step in &bug.trace { li { (long(&step_text(step))) } } } }
                    }
                    @if !bug.evidence.is_empty() {
                        dt { "Evidence" }
                        dd { @for line in bug.evidence.iter().take(10) { code { (long(line)) } br; } @if bug.evidence.len() > 10 { "and " (bug.evidence.len() - 10) " more" } }
                    }
                    @if let Some((kind, value)) = first.fingerprint() { dt { "Fingerprint" } dd { code { (one_line(value, 64)) } " " span.quiet { (kind) } } }
                }
                @match shot {
                    Some((name, Some(picture))) => { figure { (picture) figcaption { (one_line(name, 120)) } } }
                    Some((name, None)) => { figure.missing { "screenshot " (one_line(name, 120)) " is missing" } }
                    None => {}
                }
            }
        }
    }
}

fn routes(campaign: &Aggregate, shots: &Shots) -> Markup {
    html! {
        section #routes {
            h2 { "Routes" span.tools hidden { button type="button" data-fold="open" { "Unfold all" } button type="button" data-fold="close" { "Fold all" } } }
            @for route in &campaign.routes { (one_route(route, shots)) }
        }
    }
}

fn one_route(route: &RoutePart, shots: &Shots) -> Markup {
    let report = &route.report;
    let landing = report
        .screenshots
        .iter()
        .find(|name| name.starts_with("01"))
        .or(report.screenshots.last())
        .and_then(|name| shots.show(route, name).map(|shot| (name, shot)));
    let console = console_errors(report);
    html! {
        details.route .(levels(route)) data-route=(route.slug()) {
            summary {
                span.status .(status_class(&report.status)) { (one_line(report.status.as_str(), 24)) }
                h3 { (short(route.route())) }
                @if !report.page_info.title.is_empty() { span.title { (short(&report.page_info.title)) } }
                span.sums {
                    @for bug in &route.review.bugs { span.dot .(class_of(bug.level)) title=(bug.id) {} }
                    span.of { (route.coverage.acted_on) "/" (route.coverage.found) }
                }
            }
            div.route-body id=(route_id(route.slug())) {
                (facts(route))
                @if !route.review.bugs.is_empty() {
                    ul.bug-list {
                        @for bug in &route.review.bugs {
                            li { a.bug-mark .(class_of(bug.level)) href=(format!("#{}", fragment(&bug.id))) { (short_id(&bug.id, route.slug())) } " " (short(&bug.bug.description)) }
                        }
                    }
                }
                @if route.review.no_test_data { p.banner { "No test data: test this route again." } }
                div.map-and-view {
                    // A browser that runs the script parses a map only when it is unfolded, one that does not shows it.
                    div.map { noscript { (tree(route, shots)) } }
                    div.view aria-live="polite" {
                        @if let Some((name, shot)) = landing { figure { (shot) figcaption { (one_line(name, 120)) } } }
                    }
                }
                @if !report.screenshots.is_empty() {
                    div.strip {
                        @for name in &report.screenshots {
                            @if let Some(shot) = shots.show(route, name) { details.pic { summary { (one_line(name, 120)) } (shot) } }
                        }
                    }
                }
                (texts("Console errors", &console))
                (texts("Noise, not the application's bugs", &report.noise))
                (texts("Notes of the review", &route.review.notes))
            }
        }
    }
}

fn facts(route: &RoutePart) -> Markup {
    let report = &route.report;
    let page = &report.page_info;
    let coverage = &route.coverage;
    html! {
        @if let Some(summary) = &report.summary { p { (long(summary)) } }
        @if let Some(error) = &report.error { p.banner { (long(error)) } }
        dl.facts {
            div { dt { "Tested" } dd { (when(report.tested_at)) @if let Some(ms) = report.duration_ms { ", " (span(ms)) } } }
            div { dt { "Operations" } dd { (route.operations.total) ": " (route.operations.passed) " passed, " (route.operations.failed) " failed, " (route.operations.disabled) " disabled" } }
            div { dt { "Elements" } dd {
                (grouped(coverage.found)) " found, " (grouped(coverage.acted_on)) " acted on, " (grouped(coverage.disabled)) " disabled, " (grouped(coverage.refused)) " refused, " (skipped(coverage)) " skipped"
                @for (reason, n) in coverage.skipped.iter().take(12) { br; span.quiet { (n) " " (short(reason)) } }
            } }
            @if let Some(line) = code_line(coverage) { div { dt { "JavaScript" } dd { (line) } } }
            @if page.has_table { div { dt { "Table" } dd { (page.row_count) " rows" @if !page.column_headers.is_empty() { ": " (short(&page.column_headers.join(", "))) } } } }
            @if !page.tabs.is_empty() { div { dt { "Tabs" } dd { (short(&page.tabs.join(", "))) } } }
            @for limit in report.limits.iter().take(12) { div.limit { dt { "Limit reached" } dd { (long(limit)) } } }
            div { dt { "Files" } dd {
                a href=(href(&format!("{}.json", route.slug()))) { (short(&format!("{}.json", route.slug()))) }
                @if let Some(file) = &route.bug_report_file { ", " a href=(href(&from_reports(file))) { (short(file.rsplit('/').next().unwrap_or(file))) } }
                @if report.screenshots.iter().any(|name| file_name(name, &route.screenshots_dir).is_some()) { ", " a href=(format!("{TO_PROJECT}{}", href(&route.screenshots_dir))) { "screenshots" } }
            } }
        }
    }
}

/// A folded list, at most 50 long.
fn texts(name: &str, texts: &[impl AsRef<str>]) -> Markup {
    html! {
        @if !texts.is_empty() {
            details.texts {
                summary { (name) " " span.count { (texts.len()) } }
                ul { @for text in texts.iter().take(50) { li { (long(text.as_ref())) } } }
                @if texts.len() > 50 { p.quiet { "and " (texts.len() - 50) " more in the route's JSON report" } }
            }
        }
    }
}

fn not_tested(campaign: &Aggregate) -> Markup {
    html! {
        @if !campaign.failed.is_empty() || !campaign.pending.is_empty() {
            section #not-tested {
                h2 { "Routes not tested " span.count { (campaign.failed.len() + campaign.pending.len()) } }
                div.scroll { table {
                    thead { tr { th { "Route" } th { "State" } th.num { "Retries" } th { "Error" } } }
                    tbody {
                        @for failed in &campaign.failed {
                            tr { td.at { (short(&failed.route)) } td { span.status.st-fail { "failed" } } td.num { (failed.retry_count) } td.wrap { (long(&failed.error)) } }
                        }
                        @for route in &campaign.pending {
                            tr { td.at { (short(route)) } td { span.status.st-other { "pending" } } td {} td {} }
                        }
                    }
                } }
            }
        }
    }
}

/// Scripts shown in the report.
const SCRIPTS: usize = 20;

/// The application's own scripts, the one with the most code that never ran first.
fn scripts(coverage: &Coverage) -> Markup {
    let mut all: Vec<&ScriptCoverage> = coverage.scripts.iter().collect();
    all.sort_by_key(|script| std::cmp::Reverse(script.bytes.saturating_sub(script.used_bytes)));
    html! {
        @if !all.is_empty() {
            table {
                thead { tr { th { "Script" } th.num { "Bytes" } th.num { "Ran" } th.num { "Never ran" } } }
                tbody { @for script in all.iter().take(SCRIPTS) { tr {
                    td { (short(&script.url)) }
                    td.num { (grouped(script.bytes)) }
                    td.num { (script.used_bytes.saturating_mul(100).checked_div(script.bytes).unwrap_or(0)) " %" }
                    td.num { (grouped(script.bytes.saturating_sub(script.used_bytes))) }
                } } }
            }
            @if all.len() > SCRIPTS { p.quiet { "and " (all.len() - SCRIPTS) " more" } }
        }
    }
}

fn coverage(campaign: &Aggregate) -> Markup {
    let coverage = &campaign.totals.coverage;
    html! {
        section #coverage {
            h2 { "Coverage and limits" }
            dl.facts {
                div { dt { "Found" } dd { (grouped(coverage.found)) } }
                div { dt { "Acted on" } dd { (grouped(coverage.acted_on)) } }
                div { dt { "Disabled" } dd { (grouped(coverage.disabled)) } }
                div { dt { "Refused" } dd { (grouped(coverage.refused)) } }
                @for (reason, n) in &coverage.skipped { div { dt { "Skipped" } dd { (n) " " span.quiet { (short(reason)) } } } }
                @if let Some(line) = code_line(coverage) { div { dt { "JavaScript" } dd { "at least " (line) } } }
                @for route in &campaign.routes { @for limit in &route.report.limits {
                    div.limit { dt { "Limit reached" } dd { a href=(route_href(route.slug())) { (short(route.route())) } " " (long(limit)) } }
                } }
            }
            (scripts(coverage))
        }
    }
}
