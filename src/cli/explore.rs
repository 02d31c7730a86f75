//! `agent-test explore`: the built-in explorer alone, no campaign needed.

use serde_json::json;

use super::context::Context;
use super::progress::Progress;
use super::signals::stop_on_signal;
use crate::dispatch::Workshop;
use crate::exit::{Exit, Failure};
use crate::maze::{RouteReport, Severity};
use crate::route::{Route, Slugs};
use crate::state::Project;
use crate::ui::in_one_line;

/// Explore routes by themselves, without a campaign
///
/// Writes the same reports and screenshots as a campaign does, and changes no state.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Routes to explore, such as `/orders`
    #[arg(required = true, value_name = "ROUTE")]
    routes: Vec<String>,
    #[command(flatten)]
    engine: super::engine::EngineArgs,
    #[command(flatten)]
    explore: super::engine::ExploreArgs,
}

pub(crate) fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let routes: Vec<Route> = args.routes.iter().map(|text| Route::parse(text)).collect::<Result<_, _>>()?;
    context.say_worktree();
    let project = Project::open(&context.project, context.clock.clone());
    let state = if project.has_state() { Some(project.read()?) } else { None };
    let options = args.engine.workshop(context, state.as_ref(), routes.clone(), None, &args.explore)?;
    let mut slugs = Slugs::default();
    let jobs: Vec<_> = routes.iter().map(|route| (route.clone(), slugs.give(route))).collect();
    let progress = Progress::new(&context.ui, 1, routes.len());
    let outcome = super::block_on(async {
        let workshop = Workshop::open(project, options, context.clock.clone(), progress.events()).await?;
        let mut done: Vec<(RouteReport, std::path::PathBuf)> = Vec::new();
        let mut stop = stop_on_signal(&context.ui)?;
        for (route, slug) in &jobs {
            let work = workshop.explore(0, route, slug);
            tokio::select! {
                explored = work => done.push(explored?),
                _ = stop.wait_for(|stop| *stop) => {
                    workshop.abandon(route, slug);
                    let _ = workshop.close().await;
                    return Err(Failure::engine("interrupted", format!("interrupted while exploring {route}")));
                }
            }
            progress.route_done(0, done.last().map(|(report, _)| report));
        }
        let run_file = workshop.close().await?;
        Ok::<_, Failure>((done, run_file))
    })?;
    progress.finish();
    let (done, run_file) = outcome?;
    let bad = done.iter().any(|(report, _)| report.bugs.iter().any(|bug| bug.severity != Severity::Minor));
    let exit = if bad { Exit::Found } else { Exit::Ok };
    for (report, path) in &done {
        context.ui.out(text(report, &relative(context, path)));
    }
    context.ui.json(&json!({
        "routes": done.iter().map(|(report, path)| json!({
            "route": report.route,
            "status": report.status,
            "report": relative(context, path),
            "bugs": report.bugs,
            "operations_count": report.operations_count,
            "coverage": report.coverage,
            "limits": report.limits,
            "duration_ms": report.duration_ms,
        })).collect::<Vec<_>>(),
        "run": run_file,
        "exitCode": exit.code(),
    }));
    Ok(exit)
}

fn relative(context: &Context, path: &std::path::Path) -> String {
    path.strip_prefix(&context.project).unwrap_or(path).display().to_string()
}

/// A route's outcome for a person.
pub(crate) fn text(report: &RouteReport, path: &str) -> String {
    let mut out = format!("{}  {}  {}\n", report.route, report.status, report.summary.clone().unwrap_or_default());
    for bug in &report.bugs {
        let more =
            if bug.also_at.is_empty() { String::new() } else { format!(" (and {} more places)", bug.also_at.len()) };
        let doubt = if bug.confirmed == Some(false) { " [not confirmed]" } else { "" };
        out.push_str(&format!(
            "  {:<8}  {}{more}{doubt}\n            {}\n",
            bug.severity,
            in_one_line(&bug.location),
            in_one_line(&bug.description)
        ));
    }
    for limit in &report.limits {
        out.push_str(&format!("  limit     {}\n", in_one_line(limit)));
    }
    out.push_str(&format!("  report    {path}\n"));
    out
}
