//! The maze map of one route: the small picture of it, and the tree that unfolds.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::fragment;
use super::shots::Shots;
use crate::maze::{ActionResult, Node, NodeState};
use crate::report::aggregate::{RoutePart, span};
use crate::report::markdown::{HEADING_LIMIT, TEXT_LIMIT, one_line};
use crate::report::review::{Level, node_bugs, place_of};

/// Families of results: class, and what it says in the legend.
pub(super) const FAMILIES: &[(&str, &str)] = &[
    ("open", "opened something"),
    ("go", "went elsewhere"),
    ("change", "changed the screen"),
    ("none", "no response"),
    ("err", "error"),
    ("off", "disabled"),
    ("held", "refused or skipped"),
    ("other", "no result"),
];

/// The family of a node's result.
fn family(node: &Node) -> &'static str {
    match &node.action_result {
        Some(
            ActionResult::DialogOpened
            | ActionResult::ConfirmationDialog
            | ActionResult::DropdownOpened
            | ActionResult::SubmenuOpened
            | ActionResult::WizardOpened,
        ) => "open",
        Some(
            ActionResult::PageNavigated
            | ActionResult::NewWindow
            | ActionResult::DownloadStarted
            | ActionResult::FileChooser,
        ) => "go",
        Some(ActionResult::ContentChanged | ActionResult::ToastNotification) => "change",
        Some(ActionResult::Error) => "err",
        Some(ActionResult::Refused | ActionResult::Skipped | ActionResult::OutOfScope) => "held",
        Some(ActionResult::NotClickable) => "off",
        _ if node.state == Some(NodeState::Disabled) => "off",
        Some(ActionResult::NoResponse) => "none",
        Some(ActionResult::Other(_)) | None => "other",
    }
}

/// A section's name for people.
pub(super) fn section_name(key: &'static str) -> &'static str {
    match key {
        "toolbar" => "Toolbar",
        "row_actions" => "Row actions",
        "detail_header_actions" => "Detail page, header",
        "detail_tabs" => "Detail page, tabs",
        other => other,
    }
}

/// The whole tree at a glance: depth downwards, one column per leaf, coloured by result.
pub(super) fn picture(route: &RoutePart) -> Option<Markup> {
    let mut paths: BTreeMap<&'static str, String> = BTreeMap::new();
    let mut x = 0_usize;
    let mut depth = 0_usize;
    for (_, nodes) in route.report.action_tree.sections() {
        if nodes.is_empty() {
            continue;
        }
        // A gap between sections.
        if x > 0 {
            x += 1;
        }
        draw(nodes, 0, &mut x, &mut depth, &mut paths);
    }
    if x == 0 {
        return None;
    }
    let height = depth + 1;
    Some(html! {
        svg.pic-map viewBox=(format!("0 0 {x} {height}")) preserveAspectRatio="none" width=((x * 7).clamp(60, 200)) height=((height * 7).min(30))
            role="img" aria-label=(format!("maze map of {}", one_line(route.route(), HEADING_LIMIT))) {
            @for (class, path) in &paths { path class=(class) d=(path) {} }
        }
    })
}

fn draw(nodes: &[Node], level: usize, x: &mut usize, depth: &mut usize, paths: &mut BTreeMap<&'static str, String>) {
    *depth = (*depth).max(level);
    for node in nodes {
        let left = *x;
        draw(&node.children, level + 1, x, depth, paths);
        if *x == left {
            *x += 1;
        }
        let width = *x - left;
        // A hair's breadth stays free to the right and below.
        paths.entry(family(node)).or_default().push_str(&format!(
            "M{left} {level}h{}v.86h-{}z",
            less(width),
            less(width)
        ));
    }
}

/// The width without a fifth of a column.
fn less(width: usize) -> String {
    format!("{}.8", width.saturating_sub(1))
}

/// The tree of one route.
pub(super) fn tree(route: &RoutePart, shots: &Shots) -> Markup {
    let mut n = 0_usize;
    html! {
        @for (key, nodes) in route.report.action_tree.sections() {
            @if !nodes.is_empty() {
                h5 { (section_name(key)) " " span.count { (count(nodes)) } }
                ul.tree { @for node in nodes { (branch(route, shots, &mut Vec::new(), node, &mut n)) } }
            }
        }
    }
}

fn count(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| 1 + count(&node.children)).sum()
}

fn branch<'a>(route: &RoutePart, shots: &Shots, path: &mut Vec<&'a str>, node: &'a Node, n: &mut usize) -> Markup {
    *n += 1;
    let place = place_of(route.route(), path, &node.label);
    let row = row(route, shots, &place, node);
    let extra = extra(route, shots, node);
    if node.children.is_empty() {
        return html! { li class=(family(node)) { div.n { (row) } (extra) } };
    }
    path.push(&node.label);
    let children: Vec<Markup> = node.children.iter().map(|child| branch(route, shots, path, child, n)).collect();
    path.pop();
    html! {
        li class=(family(node)) {
            // The first level is folded: a route must fit on a screen.
            details {
                summary.n { (row) span.count { (count(&node.children)) } }
                (extra)
                ul { @for child in &children { (child) } }
            }
        }
    }
}

fn row(route: &RoutePart, shots: &Shots, place: &str, node: &Node) -> Markup {
    let mut result = node.action_result.as_ref().map(|result| one_line(&result.as_str().replace('_', " "), 40));
    // Only what a person would notice.
    if let (Some(result), Some(ms @ 1000..)) = (&mut result, node.duration_ms) {
        result.push_str(&format!(", {}", span(ms)));
    }
    let bugs: Vec<_> = node_bugs(place, node, route.route(), &route.review.bugs).collect();
    let label = one_line(&node.label, HEADING_LIMIT);
    html! {
        b { @if label.is_empty() { "(no name)" } @else { (label) } }
        small { (one_line(&node.node_type.as_str().replace('_', " "), 40)) }
        @if let Some(result) = result { em { (result) } }
        @if node.state == Some(NodeState::Disabled) && node.action_result != Some(ActionResult::NotClickable) { em { "disabled" } }
        @for bug in bugs {
            a.bug-mark .(class_of(bug.level)) href=(format!("#{}", fragment(&bug.id))) { (short_id(&bug.id, route.slug())) }
        }
        @if node.screenshot.as_deref().is_some_and(|name| shots.has(route, name)) { i.cam title="screenshot" {} }
    }
}

/// `C1` of `BUG-orders-C1`.
pub(super) fn short_id<'a>(id: &'a str, slug: &str) -> &'a str {
    id.strip_prefix("BUG-").and_then(|id| id.strip_prefix(slug)).and_then(|id| id.strip_prefix('-')).unwrap_or(id)
}

/// The class of a severity.
pub(super) fn class_of(level: Level) -> &'static str {
    match level {
        Level::Critical => "sev-c",
        Level::Major => "sev-M",
        Level::Minor => "sev-m",
    }
}

/// What stands beside the selected node: its screenshot and everything that is known of it.
fn extra(route: &RoutePart, shots: &Shots, node: &Node) -> Markup {
    let shot = node.screenshot.as_deref().map(|name| (name, shots.show(route, name)));
    let mut facts: Vec<(&str, String)> = Vec::new();
    if let Some(note) = &node.note {
        facts.push(("Note", one_line(note, TEXT_LIMIT)));
    }
    if let Some(reason) = &node.skipped_reason {
        facts.push(("Not acted on", one_line(reason, TEXT_LIMIT)));
    }
    if let Some(url) = &node.url_after {
        facts.push(("Went to", one_line(url, TEXT_LIMIT)));
    }
    for request in node.requests.iter().take(8) {
        facts.push(("Request", one_line(request, TEXT_LIMIT)));
    }
    if node.requests.len() > 8 {
        facts.push(("Request", format!("and {} more", node.requests.len() - 8)));
    }
    if shot.is_none() && facts.is_empty() {
        return html! {};
    }
    html! {
        div.x {
            @if !facts.is_empty() {
                dl { @for (name, value) in &facts { dt { (name) } dd { (value) } } }
            }
            @if let Some((name, picture)) = shot {
                @if let Some(picture) = picture {
                    details.pic { summary { (one_line(name, 120)) } (picture) }
                } @else {
                    p.missing { "screenshot " (one_line(name, 120)) " is missing" }
                }
            }
        }
    }
}
