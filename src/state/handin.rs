//! What is handed in: a route report is read and checked before it may complete its route.

use std::path::Path;

use super::StateError;
use super::entry::CompletedFacts;
use super::project::{Project, REPORTS_DIR, SCREENSHOTS_DIR};
use crate::maze::{ActionResult, NodeState, OperationsCount, RouteReport, RouteStatus, Severity};
use crate::route::{Route, Slug};
use crate::store::{self, FileKind};
use crate::ui::counted;

/// Missing screenshots that a message names.
const NAMED: usize = 5;

/// Reads the report of a route and checks it: it is a report, of this route, and every screenshot that it names is
/// there.
pub(super) fn read_report(
    project: &Project,
    route: &Route,
    slug: &Slug,
    path: &Path,
) -> Result<CompletedFacts, StateError> {
    let bad = |problem: String| StateError::BadReport { route: route.clone(), path: path.into(), problem };
    match store::kind(path)? {
        FileKind::File => {}
        FileKind::Missing => return Err(bad("it does not exist".into())),
        FileKind::Directory | FileKind::Special => return Err(bad("it is not a file".into())),
    }
    let bytes = store::read_bytes(path)?;
    let report: RouteReport =
        serde_json::from_slice(&bytes).map_err(|error| bad(format!("it is not a route report: {error}")))?;
    match Route::parse(&report.route) {
        Ok(named) if named == *route => {}
        _ => return Err(bad(format!("it is of the route `{}`", report.route))),
    }
    let folder = project.screenshots_of(slug);
    let there = store::file_names(&folder)?;
    let mut missing: Vec<&str> = Vec::new();
    for name in screenshots(&report) {
        let plain = file_name(name, slug).ok_or_else(|| bad(format!("the screenshot `{name}` is not a file name")))?;
        if !there.contains(plain) && !missing.contains(&plain) {
            missing.push(plain);
        }
    }
    if !missing.is_empty() {
        let more = if missing.len() > NAMED { format!(" and {} more", missing.len() - NAMED) } else { String::new() };
        missing.truncate(NAMED);
        return Err(bad(format!(
            "it names screenshots that are not in {SCREENSHOTS_DIR}/{slug}/: {}{more}",
            missing.join(", ")
        )));
    }
    let operations_count = count_operations(&report);
    let bugs_count = report.bugs.len() as u64;
    let facts = CompletedFacts {
        tested_at: report.tested_at,
        status: report.status.clone(),
        bugs_count,
        operations_count,
        screenshots_dir: format!("{SCREENSHOTS_DIR}/{slug}/"),
        report_file: format!("{REPORTS_DIR}/{slug}.json"),
        summary: report.summary.clone().unwrap_or_else(|| {
            let number = |count: u64, word: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), word);
            format!(
                "{}, {} failed, {}",
                number(operations_count.total, "operation"),
                operations_count.failed,
                number(bugs_count, "bug")
            )
        }),
        report_sha256: store::sha256_hex(&bytes),
    };
    Ok(facts)
}

/// What a report says that cannot be, or not in our words: it is taken all the same, and said.
pub(super) fn oddities(path: &Path) -> Vec<String> {
    let Ok(report) = store::read_bytes(path).and_then(|bytes| {
        serde_json::from_slice::<RouteReport>(&bytes)
            .map_err(|error| store::StoreError::Read { path: path.into(), source: error.into() })
    }) else {
        return Vec::new();
    };
    let mut odd = Vec::new();
    if let Some(count) = report.operations_count
        && Some(count.total) != add_up(&count)
    {
        odd.push(format!(
            "its operations_count does not add up ({} passed, {} failed and {} disabled of {}): it is counted from the action tree",
            count.passed, count.failed, count.disabled, count.total
        ));
    }
    if let RouteStatus::Other(word) = &report.status {
        odd.push(format!("its status `{word}` is none of {}: it is kept", RouteStatus::WORDS.join(", ")));
    }
    let mut words: Vec<&str> = Vec::new();
    for bug in &report.bugs {
        if let Severity::Other(word) = &bug.severity
            && !words.contains(&word.as_str())
        {
            words.push(word);
            odd.push(format!("its severity `{word}` is none of {}: it counts as minor", Severity::WORDS.join(", ")));
        }
    }
    odd
}

fn add_up(count: &OperationsCount) -> Option<u64> {
    count.passed.checked_add(count.failed)?.checked_add(count.disabled)
}

/// Every screenshot that a report names.
fn screenshots(report: &RouteReport) -> Vec<&str> {
    let mut names: Vec<&str> = report.screenshots.iter().map(String::as_str).collect();
    names.extend(report.bugs.iter().filter_map(|bug| bug.screenshot.as_deref()));
    report.action_tree.visit(|_, _, node| names.extend(node.screenshot.as_deref()));
    names.retain(|name| !name.is_empty());
    names
}

/// The plain file name; agents also write it with its folder.
fn file_name<'a>(name: &'a str, slug: &Slug) -> Option<&'a str> {
    let name = name.strip_prefix("./").unwrap_or(name);
    let name = name.strip_prefix(&format!("{SCREENSHOTS_DIR}/{slug}/")).unwrap_or(name);
    (!name.contains(['/', '\\']) && name != "..").then_some(name)
}

/// The counts of a report: as it gives them when they add up, otherwise from its tree.
#[must_use]
pub fn count_operations(report: &RouteReport) -> OperationsCount {
    if let Some(count) = report.operations_count
        && Some(count.total) == add_up(&count)
    {
        return count;
    }
    let mut count = OperationsCount::default();
    report.action_tree.visit(|_, _, node| {
        if node.state == Some(NodeState::Disabled) || node.action_result == Some(ActionResult::NotClickable) {
            count.disabled += 1;
        } else {
            match node.action_result {
                Some(ActionResult::Error) => count.failed += 1,
                None | Some(ActionResult::Skipped | ActionResult::Refused | ActionResult::OutOfScope) => {}
                Some(_) => count.passed += 1,
            }
        }
    });
    count.total = count.passed + count.failed + count.disabled;
    count
}
