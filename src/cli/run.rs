//! `agent-test run`: all phases of a campaign.

use std::path::Path;

use serde_json::json;

use super::engine::{EngineArgs, ExploreArgs};
use super::progress::Progress;
use super::{Context, counted};
use crate::campaign::{self, Ended, Outcome};
use crate::dispatch::WorkshopOptions;
use crate::exit::{Exit, Failure};
use crate::report::Aggregate;
use crate::state::Project;

/// Do everything that the campaign still needs: test, review, report
///
/// Each route gets a fresh browser session of its own. Ctrl-C gives the routes in hand back and ends; `agent-test resume`
/// goes on from there, in any later session.
///
/// Ends with 0 when nothing is found, with 1 when there is a bug that is not minor or a route could not be tested, with
/// 3 when it could not be done to the end: no browser, application unreachable, campaign blocked, interrupted.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    crew: CrewArgs,
}

/// Options of commands that run a campaign.
#[derive(clap::Args, Debug)]
pub(crate) struct CrewArgs {
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    explore: ExploreArgs,
    /// Browsers side by side (default: half the cores, at least 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    context.warn_of(&context.project().standing()?);
    go_on(context, &args.crew)
}

/// Goes on with the campaign that stands in the project.
pub(crate) fn go_on(context: &Context, args: &CrewArgs) -> Result<Exit, Failure> {
    let project = context.project();
    project.require_current()?;
    let options = args.engine.workshop(context, Some(&project.read()?), Vec::new(), args.workers, &args.explore)?;
    let outcome = work(context, &project, options)?;
    tell(context, &project, &outcome)
}

/// Runs the campaign with progress and signals.
pub(crate) fn work(context: &Context, project: &Project, options: WorkshopOptions) -> Result<Outcome, Failure> {
    super::block_on(async {
        let stop = super::signals::stop_on_signal(&context.ui)?;
        drive(context, project, &options, stop).await
    })?
}

/// Runs the campaign with progress.
pub(crate) async fn drive(
    context: &Context,
    project: &Project,
    options: &WorkshopOptions,
    stop: tokio::sync::watch::Receiver<bool>,
) -> Result<Outcome, Failure> {
    let counts = project.read()?.counts();
    let workers = (options.settings.workers as usize).min(counts.pending);
    // A campaign that lies elsewhere (the demo's) has its files there.
    let place = if project.root() == context.project { Path::new("") } else { project.root() };
    let progress =
        Progress::new(&context.ui, workers, counts.total_routes).with_done(counts.tested + counts.failed).below(place);
    let outcome = campaign::run(project, options, &context.clock, &progress.events(), stop).await;
    progress.finish();
    Ok(outcome?)
}

/// What stopped a run before its end.
pub(crate) fn stopped(ended: &Ended) -> Option<Failure> {
    Some(match ended {
        Ended::Done => return None,
        Ended::Blocked { reason } => Failure::engine("blocked", format!("the campaign is blocked: {reason}"))
            .hinted("when the cause is gone, clear it with `agent-test unblock`, then `agent-test resume`"),
        Ended::Interrupted => {
            Failure::engine("interrupted", "interrupted: nothing is lost, the routes in hand are pending again")
                .hinted("`agent-test resume` goes on")
        }
        Ended::Unreachable(error) => Failure::engine("unreachable", error.to_string())
            .hinted("start the application, or correct the base URL; `agent-test resume` goes on"),
        Ended::Held { routes } => {
            let (count, verb) = (counted(*routes, "route"), if *routes == 1 { "is" } else { "are" });
            Failure::engine("held", format!("{count} {verb} in the hands of other workers, nothing else is left to do"))
                .hinted("`agent-test status` names them; `agent-test resume` goes on when they are handed in or their leases have run out")
        }
    })
}

/// The exit code that a finished campaign stands for.
pub(crate) fn verdict(aggregate: &Aggregate) -> Exit {
    let totals = &aggregate.totals;
    if aggregate.has_non_minor() || totals.failed + totals.report_missing > 0 { Exit::Found } else { Exit::Ok }
}

fn tell(context: &Context, project: &Project, outcome: &Outcome) -> Result<Exit, Failure> {
    let state = project.read()?;
    let aggregate = campaign::aggregate(project, &state);
    let failure = stopped(&outcome.ended);
    let exit = failure.as_ref().map_or_else(|| verdict(&aggregate), |failure| failure.exit);
    let reports = failure.is_none().then(reports);
    let mut document = document(&aggregate);
    document["phase"] = project.next(&state)?.phase().into();
    document["counts"] = json!(state.counts());
    document["reports"] = json!(reports);
    document["runs"] = json!(outcome.runs);
    if let Some(failure) = &failure {
        document["error"] = json!({ "code": failure.code, "message": failure.message, "hint": failure.hint });
    }
    document["exitCode"] = exit.code().into();
    context.ui.json(&document);
    context.ui.out(text(&aggregate, failure.is_none()));
    if let Some(failure) = &failure {
        context.ui.error(failure);
    }
    Ok(exit)
}

/// The campaign's routes and bugs, for programs.
pub(crate) fn document(aggregate: &Aggregate) -> serde_json::Value {
    let tested = aggregate.routes.iter().map(|part| {
        json!({
            "route": part.route(),
            "status": part.report.status,
            "error": part.report.error,
            "review": part.review_status.as_str(),
            "bugs": part.review.bugs.iter().map(|bug| json!({
                "id": bug.id,
                "severity": bug.bug.severity,
                "kind": bug.bug.kind,
                "description": bug.bug.description,
                "location": bug.bug.location,
                "screenshot": bug.bug.screenshot,
            })).collect::<Vec<_>>(),
            "bugReport": part.bug_report_file,
        })
    });
    let failed = aggregate
        .failed
        .iter()
        .map(|route| json!({ "route": route.route, "status": "not_tested", "error": route.error, "bugs": [] }));
    let pending = aggregate.pending.iter().map(|route| json!({ "route": route, "status": "pending", "bugs": [] }));
    let bugs = aggregate.totals.bugs;
    json!({
        "project": aggregate.project,
        "baseUrl": aggregate.base_url,
        "routes": tested.chain(failed).chain(pending).collect::<Vec<_>>(),
        "bugs": { "critical": bugs.critical, "major": bugs.major, "minor": bugs.minor },
    })
}

/// Where the campaign's reports lie.
pub(crate) fn reports() -> serde_json::Value {
    let dir = crate::state::REPORTS_DIR;
    json!({
        "markdown": format!("{dir}/{}", crate::state::FINAL_REPORT),
        "html": format!("{dir}/FINAL-REPORT.html"),
        "junit": format!("{dir}/junit.xml"),
    })
}

/// The campaign for a person.
pub(crate) fn text(aggregate: &Aggregate, with_reports: bool) -> String {
    let (totals, bugs) = (&aggregate.totals, aggregate.totals.bugs);
    let mut out = format!("tested    {} of {}\n", totals.tested, counted(totals.routes, "route"));
    if totals.failed > 0 {
        out.push_str(&format!("failed    {} could not be tested\n", counted(totals.failed, "route")));
    }
    out.push_str(&format!("bugs      {} critical, {} major, {} minor\n", bugs.critical, bugs.major, bugs.minor));
    for part in aggregate.routes.iter().filter(|part| !part.is_clean()) {
        let what = match &part.report.error {
            Some(why) if part.is_report_missing() => format!("report missing: {why}"),
            _ => format!("{}, {}", part.report.status, counted(part.bugs.total(), "bug")),
        };
        out.push_str(&format!("  {}  {what}\n", part.route()));
    }
    for failed in &aggregate.failed {
        out.push_str(&format!("  {}  not tested: {}\n", failed.route, failed.error));
    }
    if with_reports {
        let dir = crate::state::REPORTS_DIR;
        out.push_str(&format!(
            "report    {dir}/FINAL-REPORT.html\n          {dir}/{}\n          {dir}/junit.xml\n",
            crate::state::FINAL_REPORT
        ));
    }
    out
}
