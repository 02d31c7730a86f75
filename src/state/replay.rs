//! Bringing a state forward by the history: what was done is done again, as far as the files still bear it out.

use std::collections::HashSet;

use super::entry::ReviewStatus;
use super::handin::read_report;
use super::history::{Change, HistoryLine};
use super::model::{Place, State, stamp};
use super::{InitRequest, Project, StateError};
use crate::route::Route;
use crate::store::{self, FileKind};
use crate::ui::counted;

/// What a replay did.
#[derive(Debug, Default)]
pub(super) struct Replayed {
    /// Lines of the history that were gone through.
    pub(super) lines: usize,
    /// Number of the last one, or where it began.
    pub(super) last: u64,
    pub(super) actions: Vec<String>,
    pub(super) unknown: Vec<String>,
}

/// The copy in the git directory, and what taking it is called.
pub(super) fn from_copy(project: &Project) -> Option<(State, String)> {
    let (state, known) = project.copied_state()?;
    let action = format!(
        "take the copy in the git directory, of {} (transition {}: {})",
        stamp(known.at),
        known.transition,
        told(&state)
    );
    Some((state, action))
}

/// A state as the history's last ground has it.
pub(super) fn from_history(project: &Project) -> Result<Option<(State, String)>, StateError> {
    began_since(project, 0)
}

/// A state as the last ground after this transition has it.
pub(super) fn began_since(project: &Project, after: u64) -> Result<Option<(State, String)>, StateError> {
    let lines = project.history()?;
    // Ground that later events only add to; an `init` begins another campaign, whatever came before.
    let firm = |line: &&HistoryLine| match line.event {
        Change::Init => true,
        _ => after == 0,
    };
    let Some(line) = lines
        .iter()
        .rev()
        .filter(|line| line.seq > after || after == 0)
        .filter(firm)
        .find(|line| line.ground.is_some())
    else {
        return Ok(None);
    };
    let Some(ground) = line.ground.clone().filter(|ground| !ground.routes.is_empty()) else { return Ok(None) };
    let request = InitRequest {
        project: ground.project,
        base_url: ground.base_url,
        routes: ground.routes,
        settings: ground.settings.unwrap_or_default(),
        force: false,
    };
    let mut state = State::initialize(&request, line.at)?;
    for failure in &ground.failed {
        state.fail(&failure.route, &failure.error, None, line.at)?;
    }
    state.top.set(super::age::TRANSITION, &line.seq);
    let mut action =
        format!("rebuild the state from the history of {}: {}", stamp(line.at), counted(request.routes.len(), "route"));
    if line.event != Change::Init {
        // That ground says which routes there are, not which were completed: reports do.
        let (completed, _) = super::rebuild::complete_from_reports(project, &mut state)?;
        action.push_str(&format!(", {completed} completed with their reports"));
    }
    Ok(Some((state, action)))
}

/// `2 completed, 1 failed, 3 pending`.
pub(super) fn told(state: &State) -> String {
    let counts = state.counts();
    format!("{} completed, {} failed, {} pending", counts.tested, counts.failed, counts.pending)
}

/// Does again what the history says was done after this transition.
pub(super) fn replay(project: &Project, state: &mut State, after: u64) -> Result<Replayed, StateError> {
    let all = project.history()?;
    let mut replayed = Replayed { last: after, ..Replayed::default() };
    let undone: HashSet<u64> = all.iter().filter_map(|line| line.undid).collect();
    let before = state.counts();
    for line in all.iter().filter(|line| line.seq > after) {
        replayed.lines += 1;
        replayed.last = replayed.last.max(line.seq);
        if undone.contains(&line.seq) {
            continue;
        }
        if let Some(undid) = line.undid.filter(|undid| *undid <= after) {
            match all.iter().find(|line| line.seq == undid).and_then(|line| line.undo.as_ref()) {
                Some(undo) => state.take_back(undo).map_err(StateError::Argument)?,
                None => replayed.unknown.push(format!("how to take back transition {undid} again")),
            }
            continue;
        }
        for route in &line.routes {
            again(project, state, line, route, &mut replayed)?;
        }
        match (&line.event, &line.detail) {
            (Change::Block, Some(reason)) => drop(state.block(reason)),
            (Change::Unblock, _) => drop(state.unblock()),
            _ => {}
        }
    }
    if replayed.lines > 0 {
        let now = state.counts();
        replayed.actions.push(format!(
            "bring it forward by the {} that the history has since: {} in place of {} completed, {} in place of {} failed",
            counted(replayed.lines, "transition"),
            now.tested,
            before.tested,
            now.failed,
            before.failed
        ));
    }
    Ok(replayed)
}

/// One route of one line.
fn again(
    project: &Project,
    state: &mut State,
    line: &HistoryLine,
    route: &Route,
    replayed: &mut Replayed,
) -> Result<(), StateError> {
    let one = std::slice::from_ref(route);
    let detail = line.detail.as_deref().unwrap_or_default();
    let place = state.place(route);
    if matches!(
        line.event,
        Change::Complete | Change::Fail | Change::Drop | Change::ReviewComplete | Change::ReviewFail
    ) {
        state.drop_lease(route);
    }
    match (&line.event, place) {
        (Change::Add, None) => drop(state.add(one)),
        (Change::Drop, Some(Place::Pending)) => drop(state.drop_routes(one, line.at)?),
        (Change::Complete, Some(Place::Pending)) => {
            let slug = state.slug(route);
            match read_report(project, route, &slug, &project.report_path(&slug)) {
                Ok(facts) => drop(state.complete(route, &facts, None, line.at)?),
                Err(_) => replayed
                    .unknown
                    .push(format!("what the test of `{route}` found: its report is gone, so it is pending")),
            }
        }
        (Change::Fail, Some(Place::Pending)) => drop(state.fail(route, detail, None, line.at)?),
        (Change::Retry, Some(Place::Failed)) => drop(state.retry(one, line.at)?),
        (Change::Requeue, Some(Place::Completed(_))) => drop(state.requeue(one, line.at)?),
        (Change::ReviewComplete, Some(Place::Completed(ReviewStatus::Pending | ReviewStatus::Failed))) => {
            if store::exists(&project.root().join(detail)) == FileKind::File {
                state.review_complete(route, detail, None, line.at)?;
            } else {
                replayed.unknown.push(format!("the review of `{route}`: its bug report is gone"));
            }
        }
        (Change::ReviewFail, Some(Place::Completed(_))) => drop(state.review_fail(route, detail, None, line.at)?),
        _ => {}
    }
    Ok(())
}
