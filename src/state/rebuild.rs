//! A state that is lost or cannot be understood is rebuilt: from its copy, the history, ROUTE_MAP.md and the reports.

use std::collections::HashSet;

use regex::Regex;

use super::check::{Finding, Repair};
use super::handin::read_report;
use super::model::State;
use super::project::{Project, ROUTE_MAP};
use super::{InitRequest, StateError, conflict, replay};
use crate::maze::RouteReport;
use crate::route::{Route, RouteMap};
use crate::settings::{Config, Overrides};
use crate::store::{self, FileKind};
use crate::ui::counted;

/// Small damage that loses nothing is mended: commas before a closing bracket, and what stands after the end.
pub(super) fn mend(project: &Project, problem: &str) -> Option<(State, Finding, String)> {
    let text = String::from_utf8(store::read_bytes(&project.state_path()).ok()?).ok()?;
    let without_commas = without_trailing_commas(&text);
    let first =
        serde_json::Deserializer::from_str(&without_commas).into_iter::<&serde_json::value::RawValue>().next()?.ok()?;
    let state = State::parse(first.get()).ok()?;
    let action = if first.get().trim().len() == without_commas.trim().len() {
        "take out the commas before closing brackets; nothing else is changed"
    } else {
        "take out what stands after the end of the state; nothing else is changed"
    };
    let finding = Finding {
        code: "unreadable",
        route: None,
        message: format!("the state cannot be understood: {problem}"),
        repair: Some(action.to_owned()),
    };
    Some((state, finding, action.to_owned()))
}

/// The text without commas that stand before a closing bracket, outside strings.
fn without_trailing_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for (place, letter) in text.char_indices() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
        } else if letter == '"' {
            in_string = true;
        } else if letter == ',' {
            let rest = text.get(place + 1..).unwrap_or_default().trim_start();
            if rest.starts_with([']', '}']) {
                continue;
            }
        }
        out.push(letter);
    }
    out
}

/// Finds or builds a state from what lies in the project; `broken` says what is wrong with the file that stands there.
/// The copy in the git directory is the best source, then the history, then the route map; each with the reports.
pub(super) fn rebuild(project: &Project, broken: Option<String>) -> Result<(State, Repair), StateError> {
    let mut repair = Repair::default();
    let text = if broken.is_some() {
        store::read_bytes(&project.state_path())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    } else {
        String::new()
    };
    let conflict = conflict::resolve(project, &text)?;
    let message =
        broken.map_or("there is no state".to_owned(), |problem| format!("the state cannot be understood: {problem}"));
    repair.findings.push(Finding { code: "unreadable", route: None, message, repair: Some("rebuild it".into()) });
    repair.unknown.extend(conflict::told_sides(&text));
    let mut state = if let Some((state, action)) = conflict {
        repair.actions.push(action);
        state
    } else if let Some((state, action)) = replay::from_copy(project) {
        repair.actions.push(action);
        repair.unknown.push("what was done after that copy and is not in the history".into());
        state
    } else if let Some((state, action)) = replay::from_history(project)? {
        repair.actions.push(action);
        repair.unknown.push("leases: every route is free".into());
        state
    } else {
        return from_map(project, &text, repair);
    };
    let first = state.transition().unwrap_or(0);
    let replayed = replay::replay(project, &mut state, first)?;
    repair.actions.extend(replayed.actions);
    repair.unknown.extend(replayed.unknown);
    if replayed.lines == 0 && store::exists(&project.history_path()) == FileKind::Missing {
        let completed = complete_from_reports(project, &mut state)?.0;
        if completed > 0 {
            repair.actions.push(format!("complete {} that has its report", counted(completed, "pending route")));
        }
    }
    Ok((state, repair))
}

/// As [`rebuild`], from the route map and the reports alone.
fn from_map(project: &Project, text: &str, mut repair: Repair) -> Result<(State, Repair), StateError> {
    let map = store::read_to_string_if_exists(&project.route_map_path())?.and_then(|text| RouteMap::parse(&text).ok());
    let mut routes: Vec<Route> = map.iter().flat_map(|map| &map.routes).map(|entry| entry.route.clone()).collect();
    let from_map = routes.len();
    let mut known: HashSet<Route> = routes.iter().cloned().collect();
    routes.extend(reported_routes(project)?.into_iter().filter(|route| known.insert(route.clone())));
    if routes.is_empty() {
        let mut problem = format!("there is no copy, no history, no route in {ROUTE_MAP} and no report");
        // Of a conflict, what can be told is told here too.
        for line in conflict::told_sides(text) {
            problem.push_str("; ");
            problem.push_str(&line);
        }
        return Err(StateError::NothingToRebuild { path: project.state_path(), problem });
    }
    let config = Config::from_env()?.or(Config::from_file(project.root())?);
    let base_url = salvage(text, "base_url").or(config.base_url);
    if base_url.is_none() {
        repair.unknown.push("the base URL; set AGENT_TEST_BASE_URL or base_url in agent-test.toml".into());
    }
    let name = salvage(text, "project")
        .or(config.project)
        .or_else(|| project.root().canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned()));
    let request = InitRequest {
        project: name.unwrap_or_default(),
        base_url: base_url.unwrap_or_default(),
        routes,
        settings: Overrides::default(),
        force: false,
    };
    let mut state = State::initialize(&request, project.now())?;
    let (completed, reviewed) = complete_from_reports(project, &mut state)?;
    repair.actions.push(format!(
        "rebuild the state: {} ({from_map} from {ROUTE_MAP}), {completed} completed with their reports, {reviewed} of them reviewed, {} pending",
        counted(request.routes.len(), "route"),
        request.routes.len() - completed,
    ));
    repair.unknown.push("which routes of the map were selected: all of them are taken".into());
    repair
        .unknown
        .push("which routes had failed, how often they were retried, and leases: they are pending and free".into());
    Ok((state, repair))
}

/// Completes each pending route that has a valid report, and notes its review when there is a bug report. Gives back how
/// many of each.
pub(super) fn complete_from_reports(project: &Project, state: &mut State) -> Result<(usize, usize), StateError> {
    let (mut completed, mut reviewed) = (0, 0);
    let pending: Vec<Route> = state.pending().iter().map(|entry| entry.route.clone()).collect();
    for route in &pending {
        let slug = state.slug(route);
        let Ok(facts) = read_report(project, route, &slug, &project.report_path(&slug)) else { continue };
        state.drop_lease(route);
        state.complete(route, &facts, None, project.now())?;
        completed += 1;
        let bugs = project.bug_report_path(&slug);
        if store::exists(&bugs) == FileKind::File {
            state.review_complete(route, &project.relative(&bugs), None, project.now())?;
            reviewed += 1;
        }
    }
    Ok((completed, reviewed))
}

/// Routes that reports in the folder are about.
fn reported_routes(project: &Project) -> Result<Vec<Route>, StateError> {
    let mut names: Vec<String> = store::file_names(&project.reports_dir())?.into_iter().collect();
    names.sort_unstable();
    let reports = names.iter().filter(|name| name.to_lowercase().ends_with(".json"));
    Ok(reports
        .filter_map(|name| store::read_bytes(&project.reports_dir().join(name)).ok())
        .filter_map(|bytes| serde_json::from_slice::<RouteReport>(&bytes).ok())
        .filter_map(|report| Route::parse(&report.route).ok())
        .collect())
}

/// A string of `meta` that can still be read in a broken file.
fn salvage(text: &str, key: &str) -> Option<String> {
    let pattern = Regex::new(&format!("\"{key}\"\\s*:\\s*(\"(?:[^\"\\\\]|\\\\.)*\")")).ok()?;
    serde_json::from_str(pattern.captures(text)?.get(1)?.as_str()).ok()
}
