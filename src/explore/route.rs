//! One route, start to end: session, login, landing, toolbar, first row, detail page, final state, confirmation, report.

use std::collections::HashSet;
use std::time::Instant;

use url::Url;

use super::checkpoint;
use super::choose::Candidate;
use super::confirm;
use super::plan::Plan;
use super::record::{Place, Record};
use super::shots::Section;
use super::signature::{appeared, shared_key, signature};
use super::walk::{Level, Walker};
use crate::browser::{Look, Note, SessionError};
use crate::event::EventKind;
use crate::exit::{Exit, Explain};
use crate::maze::{ActionTree, PageInfo, RouteReport, RouteStatus, ScriptCoverage};
use crate::replay::oracle::{self, Finding, Moment};
use crate::replay::{Opened, StageError, is_login_address, redact_value, scroll_to};
use crate::route::RouteError;
use crate::store::{self, StoreError};
use crate::trace::{Flow, Tool, page_key};

/// Why a route could not be explored.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The route makes no address with the base URL.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The browser was lost, or the application cannot be reached.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Evidence could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The login failed: the campaign is blocked.
    #[error("the login failed: {0}")]
    Login(String),
    /// The page took its browser down.
    #[error("the page crashed while it was opened")]
    Crashed,
}

impl From<StageError> for ExploreError {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Session(error) => Self::Session(error),
            StageError::Login(why) => Self::Login(why),
        }
    }
}

impl Explain for ExploreError {
    fn exit(&self) -> Exit {
        match self {
            Self::Route(error) => error.exit(),
            Self::Session(error) => error.exit(),
            Self::Store(error) => error.exit(),
            Self::Login(_) => Exit::Usage,
            Self::Crashed => Exit::Engine,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Route(error) => error.hint(),
            Self::Session(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Login(_) => Some(format!(
                "check {} and {}, or describe the login in `agent-test.toml` under [login]",
                crate::env::USERNAME,
                crate::env::PASSWORD
            )),
            Self::Crashed => None,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Route(error) => error.code(),
            Self::Session(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Login(_) => "login_failed",
            Self::Crashed => "page_crashed",
        }
    }
}

/// What an exploration leaves.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The route's report.
    pub report: RouteReport,
    /// Its flow for the run file.
    pub flow: Flow,
}

/// Explores one route.
///
/// # Errors
/// [`ExploreError`]: nothing was learned, and the route is to be tried again.
pub async fn explore(plan: &Plan) -> Result<Explored, ExploreError> {
    let left = checkpoint::left_of(plan);
    if left.is_none() {
        store::fresh_evidence_dir(&plan.shots, "png")?;
    }
    let started = Instant::now();
    let began = plan.clock.now();
    let url = plan.route.url(&plan.stage.base)?;
    let session = plan.stage.session().await?;
    plan.events.emit(plan.clock.now(), EventKind::SessionStarted { route: plan.route.to_string() });
    // Where the browser cannot tell, the report is without it.
    let _ = session.watch_code().await;
    let opened = match plan.stage.open(&session, &url).await {
        Ok(opened) => opened,
        Err(error) => {
            session.close().await;
            return Err(error.into());
        }
    };
    if opened.effect.since.notes.iter().any(|note| matches!(note, Note::Crashed | Note::Lost)) {
        session.close().await;
        return Err(ExploreError::Crashed);
    }
    let mut record = Record::new(plan.slug.to_string(), plan.shots.clone(), plan.shot_prefix.clone());
    let effect = &opened.effect;
    record.step(
        Tool::Goto,
        None,
        Some(url.to_string()),
        began,
        started.elapsed().as_millis() as u64,
        ("about:blank", &effect.look.url),
        &effect.since,
        format!("opened \"{}\"", effect.look.title),
        effect.hung.clone(),
    );
    let mut walker = Walker::new(plan, session, record, effect.look.clone(), started);
    walker.logged_in = opened.logged_in;
    match left {
        Some(left) if left.page == walker.page && effect.hung.is_none() => {
            let branches = walker.take_up(left);
            walker.emit(EventKind::RouteResumed { route: plan.route.to_string(), branches });
        }
        // Another page is shown now: what was found on the one before is worth nothing.
        Some(_) => store::fresh_evidence_dir(&plan.shots, "png")?,
        None => {}
    }
    let walked = whole_route(&mut walker, &opened, &url).await;
    let (tree, page) = match walked {
        Ok(walked) => walked,
        Err(error) => {
            walker.session.close().await;
            return Err(error);
        }
    };
    let shown = walker.look.url.clone();
    walker.note_code(&shown).await;
    let Walker { session, mut record, mut coverage, code, operations, limits, extra_shots, .. } = walker;
    coverage.scripts = code
        .scripts()
        .into_iter()
        .map(|script| ScriptCoverage { url: script.url, bytes: script.length, used_bytes: script.used })
        .collect();
    session.close().await;
    if plan.confirm {
        confirm::confirm(plan, &mut record).await;
    }
    let mut explored = compose(plan, record, tree, page, started);
    explored.report.coverage = Some(coverage);
    explored.report.operations_count = Some(crate::maze::OperationsCount {
        total: operations.passed + operations.failed + operations.disabled,
        ..operations
    });
    explored.report.limits = limits;
    explored.report.screenshots = extra_shots;
    if let Some(unfinished) = &plan.unfinished {
        checkpoint::forget(&unfinished.path);
    }
    let summary = summarise(&explored.report);
    explored.report.summary = Some(summary);
    Ok(redacted(plan, explored))
}

/// Name of the first screenshot of the route itself.
const LANDING: &str = "01-table-page";

/// Landing, toolbar, rows, detail page, final state.
async fn whole_route(
    walker: &mut Walker<'_>,
    opened: &Opened,
    url: &Url,
) -> Result<(ActionTree, PageInfo), ExploreError> {
    let plan = walker.plan;
    if let Some(png) = opened.login_shot.as_ref().filter(|_| walker.taken_up.is_empty()) {
        let file = walker.record.shot("00-login-success", png)?;
        walker.extra_shots.push(file);
    }
    let effect = &opened.effect;
    let landing = match walker.extra_shots.iter().find(|file| file.starts_with(LANDING)).cloned() {
        // One that was cut off took it.
        Some(file) => Some(file),
        None => {
            let file = walker.shoot(LANDING).await;
            walker.extra_shots.extend(file.clone());
            file
        }
    };
    if let Some(file) = &landing {
        walker.record.step_shot(0, file);
    }
    walker.record.console_of(&effect.since);
    let console = walker.record.console.clone();
    let look = effect.look.clone();
    walker.emit(EventKind::ScreenLooked { route: plan.route.to_string(), elements: look.elements.len() });
    let mut findings = landing_findings(walker, opened, url);
    if effect.hung.is_none() && look.spinners > 0 {
        findings.extend(walker.wait_for_loading(0).await?);
    }
    if let Some(finding) = findings.first() {
        let text = finding.description.clone();
        walker.record.fail_step(0, &text);
    }
    let place = Place { route: plan.route.as_str(), labels: &[], element: None, url: &look.url, steps: &[0] };
    walker.file(&findings, &place, landing.as_deref());
    let mut tree = ActionTree::default();
    if effect.hung.is_none() {
        if let Some(why) = effect.still.reason.as_ref().filter(|_| !effect.still.still) {
            walker
                .limits
                .push(format!("the page was never still within {} ms ({why})", plan.stage.settings.limits.settle_ms));
        }
        walker.storage = walker.session.storage().await.ok();
        walk_sections(walker, &mut tree).await?;
        let last = walker.shoot("07-final-state").await;
        walker.extra_shots.extend(last);
    }
    let table = look.table.as_ref();
    let page = PageInfo {
        title: look.title.clone(),
        has_table: table.is_some(),
        row_count: table.map_or(0, |table| table.rows),
        column_headers: table.map(|table| table.headers.clone()).unwrap_or_default(),
        tabs: look.tabs.clone(),
        url: Some(look.url.clone()),
        console_errors: console,
    };
    Ok((tree, page))
}

/// What is wrong with the page as it was opened.
fn landing_findings(walker: &mut Walker<'_>, opened: &Opened, url: &Url) -> Vec<Finding> {
    let effect = &opened.effect;
    if let Some(message) = &effect.hung {
        return vec![Finding { of_page: true, ..oracle::hang(message) }];
    }
    let judged = oracle::judge(&effect.since, walker.session.policy(), Moment::Load).under(walker.plan.stage.oracles());
    walker.record.noise.extend(judged.noise);
    let mut findings: Vec<Finding> =
        judged.findings.into_iter().map(|finding| Finding { of_page: true, ..finding }).collect();
    let failed = effect.since.documents().any(|request| request.status.is_some_and(|status| status >= 400));
    findings.extend(oracle::judge_page(&effect.look, failed));
    let elsewhere = page_key(&effect.look.url) != page_key(url.as_str());
    if opened.logged_in && elsewhere && effect.look.passwords == 1 && is_login_address(&effect.look.url) {
        findings.push(Finding { of_page: true, ..oracle::login_redirect(&effect.look.url) });
    }
    findings
}

/// How often a page is scrolled by one window before its elements are taken as known.
const SCROLLS: usize = 12;

/// So many elements of rows are expected to be acted on.
const MOST_ROWS: usize = 12;

/// Scrolls through the page, so that what is lazy appears, and gathers its elements with the place they were seen at.
async fn survey(walker: &mut Walker<'_>) -> Result<(Look, Vec<Candidate>), SessionError> {
    let mut at = walker.look.clone();
    let mut found = Walker::candidates(&at, at.scroll_y);
    let mut known: HashSet<String> = at.elements.iter().map(|element| signature(element, &at)).collect();
    let mut height = at.view_height.max(1);
    let mut y = at.scroll_y;
    for _ in 0..SCROLLS {
        if y + height >= walker.look.scroll_height - 2 {
            break;
        }
        y += height * 4 / 5;
        let look = scroll_to(&walker.session, y, walker.terms()).await?;
        for mut candidate in Walker::candidates(&look, look.scroll_y) {
            if known.insert(signature(&candidate.element, &look)) {
                candidate.order += found.len();
                // The level's look must know them too, so that they can be told apart from what appears later.
                at.elements.push(candidate.element.clone());
                found.push(candidate);
            }
        }
        height = look.view_height.max(1);
        let stuck = look.scroll_y < y - height / 2;
        walker.look = look;
        if stuck {
            break;
        }
    }
    if walker.look.scroll_y != 0 {
        walker.look = scroll_to(&walker.session, 0, walker.terms()).await?;
    }
    Ok((at, found))
}

async fn walk_sections(walker: &mut Walker<'_>, tree: &mut ActionTree) -> Result<(), SessionError> {
    let (at, found) = survey(walker).await?;
    for frame in at.frames.iter().filter(|frame| frame.skipped.is_some()) {
        let why = frame.skipped.clone().unwrap_or_default();
        walker.limits.push(format!(
            "a frame was not entered ({why}): {}",
            if frame.url.is_empty() { &frame.css } else { &frame.url }
        ));
    }
    if at.truncated {
        walker.limits.push(format!("only the first {} nodes of the page were read", at.nodes));
    }
    let (rows, toolbar): (Vec<Candidate>, Vec<Candidate>) =
        found.into_iter().partition(|candidate| candidate.element.row.is_some());
    // Where data may change, the frame that all pages share comes last: what is behind an account menu may empty the
    // whole application.
    let (frame, toolbar): (Vec<Candidate>, Vec<Candidate>) = if walker.plan.stage.settings.safe_to_mutate {
        toolbar.into_iter().partition(|candidate| shared_key(&candidate.element).is_some())
    } else {
        (Vec::new(), toolbar)
    };
    let level = Level::of(&at, vec![0], Section::Toolbar);
    // Of equal rows only a few are gone into.
    walker.later = rows.len().min(MOST_ROWS) + frame.len();
    tree.toolbar = walker.walk(&level, &at, toolbar).await?;
    walker.later = frame.len();
    let rows_level = Level { section: Section::RowActions, ..level.clone() };
    tree.row_actions = walker.walk(&rows_level, &at, rows).await?;
    if let Some(steps) = walker.detail.clone() {
        detail(walker, &at, steps, tree).await?;
    }
    walker.later = 0;
    if !frame.is_empty() {
        let mut nodes = walker.walk(&level, &at, frame).await?;
        nodes.append(&mut tree.toolbar);
        tree.toolbar = nodes;
    }
    Ok(())
}

/// The detail page that the first row leads to: its header actions, then its tabs.
async fn detail(
    walker: &mut Walker<'_>,
    list: &Look,
    steps: Vec<u32>,
    tree: &mut ActionTree,
) -> Result<(), SessionError> {
    let probe = Level { page: String::new(), ..Level::of(list, steps.clone(), Section::DetailHeader) };
    walker.replay(&probe).await?;
    if page_key(&walker.look.url) == page_key(&list.url) {
        walker.limits.push("the detail page could not be opened again".to_owned());
        return Ok(());
    }
    let shot = walker.shoot("04-detail-page").await;
    walker.extra_shots.extend(shot);
    let (at, found) = survey(walker).await?;
    let new = appeared(list, &at);
    let own: HashSet<u64> = new.iter().filter_map(|index| at.elements.get(*index)).map(|element| element.uid).collect();
    let found: Vec<Candidate> = found
        .into_iter()
        .filter(|candidate| own.contains(&candidate.element.uid) && shared_key(&candidate.element).is_none())
        .collect();
    let (tabs, header): (Vec<Candidate>, Vec<Candidate>) =
        found.into_iter().partition(|candidate| candidate.element.role == "tab");
    let level = Level::of(&at, steps, Section::DetailHeader);
    tree.detail_header_actions = walker.walk(&level, &at, header).await?;
    let level = Level { section: Section::DetailTabs, ..level };
    tree.detail_tabs = walker.walk(&level, &at, tabs).await?;
    Ok(())
}

fn compose(plan: &Plan, record: Record, tree: ActionTree, page: PageInfo, started: Instant) -> Explored {
    let hung = record.steps.first().is_some_and(|step| step.error.as_deref() == Some("The page hangs"));
    let status = if hung {
        RouteStatus::Fail
    } else if record.bugs.is_empty() {
        RouteStatus::Pass
    } else {
        RouteStatus::Partial
    };
    let mut bugs = record.bugs;
    bugs.sort_by_key(|bug| bug.severity.rank());
    let report = RouteReport {
        route: plan.route.to_string(),
        tested_at: plan.clock.now(),
        error: hung.then(|| "the page hangs while it is opened".to_owned()),
        status,
        page_info: page,
        action_tree: tree,
        bugs,
        console_errors: record.console,
        operations_count: None,
        screenshots: Vec::new(),
        summary: None,
        duration_ms: Some(started.elapsed().as_millis() as u64),
        coverage: None,
        limits: Vec::new(),
        noise: record.noise.into_iter().take(200).collect(),
        run_file: Some(plan.run_file.clone()),
        generator: Some(format!("agent-test {}", env!("CARGO_PKG_VERSION"))),
    };
    let flow = Flow {
        id: plan.slug.to_string(),
        title: plan.route.to_string(),
        trace: record.steps,
        plan: Vec::new(),
        paths: record.paths,
    };
    Explored { report, flow }
}

fn summarise(report: &RouteReport) -> String {
    let coverage = report.coverage.clone().unwrap_or_default();
    let bugs = match report.bugs.len() {
        0 => "no bugs".to_owned(),
        1 => "1 bug".to_owned(),
        count => format!("{count} bugs"),
    };
    let rest: u64 = coverage.skipped.values().sum();
    let mut text = format!(
        "{} found, {} acted on, {bugs}",
        if coverage.found == 1 { "1 element".to_owned() } else { format!("{} elements", coverage.found) },
        coverage.acted_on
    );
    for (count, word) in [(coverage.disabled, "disabled"), (coverage.refused, "refused"), (rest, "left out")] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}

/// Takes a secret that a page or a request showed out of everything that goes to the disk.
fn redacted(plan: &Plan, explored: Explored) -> Explored {
    let Some(credentials) = plan.stage.credentials.as_ref() else { return explored };
    let through = |value: serde_json::Value| {
        let mut value = value;
        redact_value(&mut value, Some(credentials));
        value
    };
    let report = serde_json::to_value(&explored.report).map(through).and_then(serde_json::from_value);
    let flow = serde_json::to_value(&explored.flow).map(through).and_then(serde_json::from_value);
    match (report, flow) {
        (Ok(report), Ok(flow)) => Explored { report, flow },
        _ => explored,
    }
}
