//! The review of completed routes: in this process, without a browser.

use super::error::CampaignError;
use super::files::route_input;
use crate::event::{EventKind, Events};
use crate::exit::Failure;
use crate::report::{bugs_markdown, review};
use crate::route::Route;
use crate::state::{Project, StateError};
use crate::store;

/// Reviews these routes and writes their bug reports; gives back how many were dealt with. A route that somebody else
/// took or moved meanwhile is left.
pub(super) fn review_routes(
    project: &Project,
    routes: &[Route],
    events: &Events,
    stop: &dyn Fn() -> bool,
) -> Result<usize, CampaignError> {
    let state = project.read()?;
    let mut dealt = 0;
    for route in routes {
        if stop() {
            break;
        }
        let Some(entry) = state.completed().iter().find(|entry| entry.route == *route) else { continue };
        let slug = state.slug(route);
        let noted = match route_input(project, entry, &slug) {
            Ok(input) => {
                let review =
                    review(&input.report, &input.slug, &input.screenshots_dir, input.screenshot_files.as_ref());
                let path = project.bug_report_path(&slug);
                store::write_atomic(&path, bugs_markdown(&input.report, &review, &input.screenshots_dir).as_bytes())?;
                project.review_complete(route, &path, None).map(|_| Some(review.bugs.len()))
            }
            Err(why) => {
                let text = format!("{route}: it cannot be reviewed: {why}");
                events.emit(project.now(), EventKind::Warned { text });
                project.review_fail(route, &why, None).map(|_| None)
            }
        };
        match noted {
            Ok(bugs) => {
                dealt += 1;
                if let Some(bugs) = bugs {
                    events.emit(project.now(), EventKind::RouteReviewed { route: route.to_string(), bugs });
                }
            }
            Err(
                error @ (StateError::Leased { .. } | StateError::WrongPlace { .. } | StateError::UnknownRoute { .. }),
            ) => {
                let text = Failure::from(error).message;
                events.emit(project.now(), EventKind::Warned { text });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(dealt)
}
