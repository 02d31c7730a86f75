//! From the state and its files to the reports of the campaign.

use std::path::Path;

use crate::maze::{ActionTree, PageInfo, RouteReport, RouteStatus};
use crate::report::{
    Aggregate, CampaignInput, FailedRoute, REPORT_MISSING, ReviewStatus, RouteInput, final_html, final_markdown, junit,
};
use crate::route::Slug;
use crate::state::{self, Completed, FINAL_REPORT, Next, Project, REPORTS_DIR, SCREENSHOTS_DIR, State};
use crate::store;

use super::error::CampaignError;

/// The reports that were written.
#[derive(Debug)]
pub struct Written {
    /// What they say.
    pub aggregate: Aggregate,
    /// Whether this is the final report of the campaign, or one on the way.
    pub is_final: bool,
    /// `FINAL-REPORT.md`, relative to the project.
    pub markdown: String,
    /// `FINAL-REPORT.html`.
    pub html: String,
    /// `junit.xml`.
    pub junit: String,
}

/// Reviews and counts the campaign as it stands. Writes nothing.
#[must_use]
pub fn aggregate(project: &Project, state: &State) -> Aggregate {
    let slugs = state.slugs();
    let routes = state
        .completed()
        .iter()
        .map(|entry| {
            let slug = slugs.get(&entry.route).unwrap_or_else(|| state.slug(&entry.route));
            route_input(project, entry, &slug).unwrap_or_else(|why| without_report(project, entry, &slug, why))
        })
        .collect();
    let failed = state.failed().iter().map(|entry| FailedRoute {
        route: entry.route.to_string(),
        error: entry.error.clone().or_else(|| entry.last_error.clone()).unwrap_or_default(),
        retry_count: entry.retry_count.unwrap_or(0),
    });
    Aggregate::new(CampaignInput {
        project: state.project(),
        base_url: state.base_url(),
        created_at: state.created_at().unwrap_or_else(|| project.now()),
        generated_at: project.now(),
        digest: state.digest(),
        routes,
        failed: failed.collect(),
        pending: state.pending().iter().map(|entry| entry.route.to_string()).collect(),
    })
}

/// Writes FINAL-REPORT.md, FINAL-REPORT.html and junit.xml from the state as it is. When everything is tested and
/// reviewed, the state notes that the final report stands.
///
/// # Errors
/// [`CampaignError`]: the state, the disk.
pub fn write_reports(project: &Project) -> Result<Written, CampaignError> {
    let state = project.read()?;
    let is_final = matches!(project.next(&state)?, Next::FinalReport | Next::Done);
    let aggregate = aggregate(project, &state);
    let folder = project.reports_dir();
    store::create_dir(&folder)?;
    let html = final_html(&aggregate, |path| store::read_bytes(&project.root().join(path)).ok());
    store::write_atomic(&folder.join("FINAL-REPORT.html"), html.as_bytes())?;
    store::write_atomic(&folder.join("junit.xml"), junit(&aggregate)?.as_bytes())?;
    // The Markdown carries the digest that makes the campaign done: it comes last.
    store::write_atomic(&folder.join(FINAL_REPORT), final_markdown(&aggregate).as_bytes())?;
    if is_final {
        project.report_written(&aggregate.digest)?;
    }
    Ok(Written {
        aggregate,
        is_final,
        markdown: format!("{REPORTS_DIR}/{FINAL_REPORT}"),
        html: format!("{REPORTS_DIR}/FINAL-REPORT.html"),
        junit: format!("{REPORTS_DIR}/junit.xml"),
    })
}

/// A tested route with its files, or why its report cannot be had.
pub(super) fn route_input(project: &Project, entry: &Completed, slug: &Slug) -> Result<RouteInput, String> {
    let file = entry.report_file.clone().unwrap_or_else(|| format!("{REPORTS_DIR}/{slug}.json"));
    let bytes = store::read_bytes(&project.root().join(&file)).map_err(|_| {
        let noted = entry.status.as_ref().map_or("tested", |status| status.as_str());
        let bugs = crate::ui::counted(usize::try_from(entry.bugs_count.unwrap_or(0)).unwrap_or(usize::MAX), "bug");
        format!("its report `{file}` cannot be read; the state noted `{noted}`, {bugs}")
    })?;
    let report = serde_json::from_slice(&bytes).map_err(|error| format!("`{file}` is not a route report: {error}"))?;
    Ok(with_report(project, entry, slug, report))
}

fn with_report(project: &Project, entry: &Completed, slug: &Slug, report: RouteReport) -> RouteInput {
    let dir = entry.screenshots_dir.clone().unwrap_or_else(|| format!("{SCREENSHOTS_DIR}/{slug}/"));
    let reviewed = entry.review() == state::ReviewStatus::Complete;
    let bug_report_file = entry.bug_report_file.clone().filter(|_| reviewed);
    let read = |file: &String| store::read_to_string(&project.root().join(file)).ok();
    RouteInput {
        route: entry.route.to_string(),
        slug: slug.to_string(),
        screenshot_files: names(&project.root().join(&dir)),
        screenshots_dir: dir,
        bug_report: bug_report_file.as_ref().and_then(read),
        bug_report_file,
        review_status: match entry.review() {
            state::ReviewStatus::Complete => ReviewStatus::Complete,
            state::ReviewStatus::Failed => ReviewStatus::Failed,
            _ => ReviewStatus::Pending,
        },
        report,
    }
}

/// A completed route whose report is lost still stands in the final report, with the reason.
fn without_report(project: &Project, entry: &Completed, slug: &Slug, why: String) -> RouteInput {
    let report = RouteReport {
        route: entry.route.to_string(),
        tested_at: entry.tested_at.unwrap_or_else(|| project.now()),
        status: RouteStatus::Other(REPORT_MISSING.to_owned()),
        page_info: PageInfo::default(),
        action_tree: ActionTree::default(),
        bugs: Vec::new(),
        console_errors: Vec::new(),
        operations_count: None,
        screenshots: Vec::new(),
        summary: None,
        duration_ms: None,
        coverage: None,
        limits: Vec::new(),
        noise: Vec::new(),
        run_file: None,
        error: Some(why),
        generator: None,
    };
    with_report(project, entry, slug, report)
}

fn names(folder: &Path) -> Option<std::collections::BTreeSet<String>> {
    Some(store::file_names(folder).ok()?.into_iter().collect())
}
